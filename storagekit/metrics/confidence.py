"""How sure a mean is."""

import numpy as np
import xarray as xr
from scipy import stats

STATISTICS = ["mean", "low", "high"]


def interval(data: xr.Dataset, dim: str = "seed", level: float = 0.95) -> xr.Dataset:
    """Mean and confidence interval over independent replications along `dim` (Student's t).

    The result has a dimension `statistic` (mean, low, high) in place of `dim`; with a single replication low and high are
    NaN. Attributes are kept.
    """
    kept = data[[name for name, variable in data.data_vars.items() if dim in variable.dims]]
    count = data.sizes[dim]
    mean = kept.mean(dim, keep_attrs=True)
    if count > 1:
        half = kept.std(dim, ddof=1, keep_attrs=True) * (stats.t.ppf(0.5 + level / 2, count - 1) / np.sqrt(count))
    else:
        half = mean * np.nan
    combined = xr.concat([mean, mean - half, mean + half], dim=xr.IndexVariable("statistic", STATISTICS))
    combined.attrs = {**data.attrs, "confidence": level, "replications": count}
    return combined


def ratio(numerator: xr.DataArray, denominator: xr.DataArray, dim: str = "seed", level: float = 0.95) -> xr.DataArray:
    """Mean and interval of a ratio of two paired measurements (common random numbers make the pairs alike)."""
    return interval((numerator / denominator).to_dataset(name="ratio"), dim, level)["ratio"]
