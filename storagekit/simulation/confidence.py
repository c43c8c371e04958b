"""How sure a mean is."""

import numpy as np
import xarray as xr

from storagekit.core.errors import InputError
from storagekit.core.kinds import Kind, a, takes, text
from storagekit.core.student_t import half_width

DATA, ARRAY = a(xr.Dataset, "a Dataset, as sk.replicate(...) returns"), a(xr.DataArray, "one variable of a Dataset")
# how sure an interval is; at 1 it has no ends
LEVEL = Kind(least=0, most=1 - 1e-12, above=True)
STATISTICS = ["mean", "low", "high"]


@takes(data=DATA, dim=text, level=LEVEL)
def interval(data: xr.Dataset, dim: str = "seed", level: float = 0.95) -> xr.Dataset:
    """Mean and confidence interval over independent replications along `dim` (Student's t).

    The result has a dimension `statistic` (mean, low, high) in place of `dim`; with a single replication low and high are
    NaN. Values that are NaN are left out. Attributes are kept. Raises InputError without that dimension.

    >>> import storagekit as sk, xarray as xr
    >>> measured = xr.Dataset({"response": ("seed", [4.0, 5.0, 6.0])})
    >>> [round(float(value), 2) for value in sk.interval(measured).response]
    [5.0, 2.52, 7.48]
    """
    if dim not in data.dims:
        raise InputError(
            f"no dimension {dim!r} to take an interval over: run `replicate` or `sweep` with several seeds"
        )
    kept = data[[name for name, variable in data.data_vars.items() if dim in variable.dims]]
    count = kept.count(dim).where(kept.count(dim) > 1)
    mean = kept.mean(dim, keep_attrs=True)
    errors = count.map(lambda n: xr.apply_ufunc(half_width, n, kwargs={"level": level}))
    half = kept.std(dim, ddof=1) * errors / np.sqrt(count)
    combined = xr.concat([mean, mean - half, mean + half], dim=xr.IndexVariable("statistic", STATISTICS))
    combined.attrs = {**data.attrs, "confidence": level, "replications": data.sizes[dim]}
    return combined


@takes(numerator=ARRAY, denominator=ARRAY, dim=text, level=LEVEL)
def ratio(numerator: xr.DataArray, denominator: xr.DataArray, dim: str = "seed", level: float = 0.95) -> xr.DataArray:
    """Mean and interval of a ratio of two paired measurements (common random numbers make the pairs alike).

    >>> import storagekit as sk, xarray as xr
    >>> ours, theirs = xr.DataArray([12.0, 22.0, 33.0], dims="seed"), xr.DataArray([10.0, 20.0, 30.0], dims="seed")
    >>> [round(float(value), 2) for value in sk.ratio(ours, theirs)]
    [1.13, 0.99, 1.28]
    """
    return interval((numerator / denominator).to_dataset(name="ratio"), dim, level)["ratio"]
