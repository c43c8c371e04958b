"""Confidence intervals of means over independent runs."""

from typing import Annotated

import numpy as np
import xarray as xr

from storagekit.core.errors import InputError
from storagekit.core.student_t import half_width
from storagekit.core.validation import Validator, instance_of, validate

DATA, ARRAY = (
    instance_of(xr.Dataset, "a Dataset, such as the result of sk.replicate(...)"),
    instance_of(xr.DataArray, "one variable of a Dataset"),
)
# confidence level of an interval; it is below 1, because the interval is unbounded at level 1
LEVEL = Validator(least=0, most=1 - 1e-12, above=True)
STATISTICS = ["mean", "low", "high"]


@validate
def interval(data: Annotated[xr.Dataset, DATA], dim: str = "seed", level: Annotated[float, LEVEL] = 0.95) -> xr.Dataset:
    """Return the mean and its confidence interval over independent replications along `dim` (Student's t).

    NaN values are left out. Attributes are kept.

    Parameters
    ----------
    data : Dataset
        The measures. Variables without the dimension `dim` are left out.
    dim : str
        Dimension of the replications, by default "seed".
    level : float
        Confidence level, above 0 and below 1, by default 0.95.

    Returns
    -------
    Dataset
        The variables with the dimension `statistic` (mean, low, high) instead of `dim`. With a single replication, low
        and high are NaN.

    Raises
    ------
    InputError
        If `data` does not have the dimension.

    Examples
    --------
    >>> import storagekit as sk, xarray as xr
    >>> measured = xr.Dataset({"response": ("seed", [4.0, 5.0, 6.0])})
    >>> [round(float(value), 2) for value in sk.interval(measured).response]
    [5.0, 2.52, 7.48]
    """
    if dim not in data.dims:
        raise InputError(
            f"the data have no dimension {dim!r} for an interval: run `replicate` or `sweep` with several seeds"
        )
    kept = data[[name for name, variable in data.data_vars.items() if dim in variable.dims]]
    count = kept.count(dim).where(kept.count(dim) > 1)
    mean = kept.mean(dim, keep_attrs=True)
    errors = count.map(lambda n: xr.apply_ufunc(half_width, n, kwargs={"level": level}))
    half = kept.std(dim, ddof=1) * errors / np.sqrt(count)
    combined = xr.concat([mean, mean - half, mean + half], dim=xr.IndexVariable("statistic", STATISTICS))
    combined.attrs = {**data.attrs, "confidence": level, "replications": data.sizes[dim]}
    return combined


@validate
def ratio(
    numerator: Annotated[xr.DataArray, ARRAY],
    denominator: Annotated[xr.DataArray, ARRAY],
    dim: str = "seed",
    level: Annotated[float, LEVEL] = 0.95,
) -> xr.DataArray:
    """Return the mean and the confidence interval of the ratio of two paired measurements.

    Common random numbers correlate the two measurements of a pair. The correlation narrows the interval.

    Parameters
    ----------
    numerator, denominator : DataArray
        The measurements, paired along `dim`.
    dim : str
        Dimension of the replications, by default "seed".
    level : float
        Confidence level, above 0 and below 1, by default 0.95.

    Returns
    -------
    DataArray
        The ratio, with the dimension `statistic` (mean, low, high) instead of `dim`.

    Raises
    ------
    InputError
        If the measurements do not have the dimension.

    Examples
    --------
    >>> import storagekit as sk, xarray as xr
    >>> ours, theirs = xr.DataArray([12.0, 22.0, 33.0], dims="seed"), xr.DataArray([10.0, 20.0, 30.0], dims="seed")
    >>> [round(float(value), 2) for value in sk.ratio(ours, theirs)]
    [1.13, 0.99, 1.28]
    """
    return interval((numerator / denominator).to_dataset(name="ratio"), dim, level)["ratio"]
