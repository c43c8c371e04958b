"""How sure a mean is."""

import numpy as np
import xarray as xr
from scipy import stats

from storagekit.errors import InputError

STATISTICS = ["mean", "low", "high"]


def interval(data: xr.Dataset, dim: str = "seed", level: float = 0.95) -> xr.Dataset:
    """Mean and confidence interval over independent replications along `dim` (Student's t).

    The result has a dimension `statistic` (mean, low, high) in place of `dim`; with a single replication low and high are
    NaN. Values that are NaN are left out. Attributes are kept. Raises InputError without that dimension.
    """
    if dim not in data.dims:
        raise InputError(
            f"no dimension {dim!r} to take an interval over: run `replicate` or `sweep` with several seeds"
        )
    kept = data[[name for name, variable in data.data_vars.items() if dim in variable.dims]]
    count = kept.count(dim).where(kept.count(dim) > 1)
    mean = kept.mean(dim, keep_attrs=True)
    half = kept.std(dim, ddof=1) * count.map(lambda n: _student(n, level)) / np.sqrt(count)
    combined = xr.concat([mean, mean - half, mean + half], dim=xr.IndexVariable("statistic", STATISTICS))
    combined.attrs = {**data.attrs, "confidence": level, "replications": data.sizes[dim]}
    return combined


def _student(count: xr.DataArray, level: float) -> xr.DataArray:
    """The two-sided quantile of Student's t for a mean of `count` replications."""
    return xr.apply_ufunc(lambda n: stats.t.ppf(0.5 + level / 2, n - 1), count)


def ratio(numerator: xr.DataArray, denominator: xr.DataArray, dim: str = "seed", level: float = 0.95) -> xr.DataArray:
    """Mean and interval of a ratio of two paired measurements (common random numbers make the pairs alike)."""
    return interval((numerator / denominator).to_dataset(name="ratio"), dim, level)["ratio"]
