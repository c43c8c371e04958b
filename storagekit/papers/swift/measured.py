"""Measurements of the prototype that the paper prints (section 4, tables 1 to 4), and checks of the printed intervals.

Rates are in the paper's KB/s. The paper does not define a KB in bytes, but only ratios of the figures are used.
"""

import csv

import numpy as np
import xarray as xr
from scipy import stats

from storagekit.core.provenance import made_by
from storagekit.core.resources import data_path

SAMPLES = 8
STUDENT = float(stats.t.ppf(0.95, SAMPLES - 1)) / SAMPLES**0.5
"""Half-width of a 90% interval, in units of the sample standard deviation: t_{0.95,7} / sqrt 8."""
NORMAL = float(stats.norm.ppf(0.95)) / SAMPLES**0.5
"""Half-width as in `STUDENT`, but with the normal quantile instead of t, which would require the true deviation."""
EXACT = 1e-9
LIMIT_ROUNDING = 0.5
_KEYS = ("table", "operation", "size_mb")
_FIGURES = ("mean", "deviation", "min", "max", "low", "high")


def measured_tables() -> xr.Dataset:
    """Return the printed figures of tables 1 to 4.

    Returns
    -------
    Dataset
        Variables over `table` (1 to 4), `operation` (read, write) and `size` (MB), KB/s. `mean`, `deviation`, `min`,
        `max`: the printed figures. `low`, `high`: limits of the printed 90% interval. `figure_rounding`: half a unit of
        the last significant digit of the mean, minimum and maximum. `deviation_rounding`: half a unit of the last
        printed digit of the deviation. Coordinate `system`, shape `[table]`: name of the measured system.

    Notes
    -----
    Means, minima and maxima have three significant digits; in table 4 all of these numbers end in 0. Limits of
    intervals are whole numbers.

    References
    ----------
    data/reference/swift_prototype.csv.
    """
    with data_path("reference", "swift_prototype.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    tables, operations, sizes = (list(dict.fromkeys(row[name] for row in rows)) for name in _KEYS)
    shape = (len(tables), len(operations), len(sizes))
    axes = ("table", "operation", "size")
    figures = {name: (axes, np.reshape([float(row[name]) for row in rows], shape)) for name in _FIGURES}
    decimals = [len(row["deviation"].partition(".")[2]) for row in rows]
    data = xr.Dataset(
        figures | {"deviation_rounding": (axes, np.reshape([0.5 * 10.0**-digits for digits in decimals], shape))},
        coords={"table": [int(name) for name in tables], "operation": operations, "size": [int(mb) for mb in sizes]},
    )
    data["figure_rounding"] = xr.where(data["mean"] < 1000, 0.5, 5.0)
    systems = list(dict.fromkeys(row["system"] for row in rows))
    facts = made_by("analytic") | {"paper": "swift", "unit": "KB/s", "samples": SAMPLES}
    return data.assign_coords(system=("table", systems)).assign_attrs(facts)


def limits(data: xr.Dataset, factor: float = STUDENT) -> xr.Dataset:
    """Return recomputed intervals, and their differences from the printed intervals beyond the effect of rounding.

    Parameters
    ----------
    data : Dataset
        Result of `measured_tables`.
    factor : float
        Half-width of an interval, in units of the sample standard deviation; by default `STUDENT`.

    Returns
    -------
    Dataset
        Variables over `table`, `operation` and `size`, KB/s. `low`, `high`: limits from the printed mean and deviation.
        `beyond`: the larger of the two differences between a printed and a recomputed limit, minus the largest
        difference that the rounding of mean, deviation and limit explains; 0 if rounding explains the whole difference.
        `off_centre`: the difference between the centre of the printed interval and the mean, minus the rounding of the
        mean. `needed_low`, `needed_high`: range of the deviations from which the printed limits would follow; NaN if
        the centre alone differs by more than rounding.

    Notes
    -----
        limits = mean +- factor deviation

    Two limits L and H are determined by their centre (L + H) / 2 and their half-width (H - L) / 2. The larger error of
    the two limits is |error of centre| + |error of half-width|.
    """
    half = factor * data.deviation
    centre, width = (data.low + data.high) / 2, (data.high - data.low) / 2
    off_centre = np.maximum(abs(centre - data["mean"]) - data.figure_rounding, 0.0)
    off_width = np.maximum(abs(width - half) - factor * data.deviation_rounding, 0.0)
    beyond = off_centre + off_width - LIMIT_ROUNDING
    room = (LIMIT_ROUNDING - off_centre).where(off_centre <= LIMIT_ROUNDING)
    return xr.Dataset(
        {
            "low": data["mean"] - half,
            "high": data["mean"] + half,
            "off_centre": off_centre,
            "beyond": beyond.where(beyond > EXACT, 0.0),
            "needed_low": np.maximum(width - room, 0.0) / factor,
            "needed_high": (width + room) / factor,
        }
    )


def deviation_bounds(mean: float, least: float, most: float, samples: int = SAMPLES) -> tuple[float, float]:
    """Return the smallest and the largest sample standard deviation of n numbers with given mean, minimum and maximum.

    The sample variance has the divisor n - 1.

    Parameters
    ----------
    mean, least, most : float
        Mean, minimum and maximum, in any unit.
    samples : int
        The number n, by default 8.

    Returns
    -------
    low, high : float
        The deviations, in the same unit; NaN if no n numbers have this mean, minimum and maximum.

    Notes
    -----
    One number is the minimum and one is the maximum. The deviation is smallest if the n - 2 other numbers are equal,
    because the sum of squares is convex. The deviation is largest if all except one of these n - 2 numbers are at the
    minimum or the maximum, and the last one has the value that gives the mean. With n even and the mean in the middle
    of the range, the two deviations are range / sqrt(2 (n - 1)) and range sqrt(n / (4 (n - 1))).
    """
    others = samples - 2
    rest = samples * mean - least - most
    if not others * least - EXACT <= rest <= others * most + EXACT:
        return np.nan, np.nan
    ends = [least, most]
    span = most - least
    at_most = min(int((rest - others * least) / span), others - 1) if span else others - 1
    between = rest - at_most * most - (others - 1 - at_most) * least
    close = np.array([*ends, *[rest / others] * others])
    apart = np.array([*ends, *[most] * at_most, *[least] * (others - 1 - at_most), between])
    low, high = (float(np.sqrt(((one - mean) ** 2).sum() / (samples - 1))) for one in (close, apart))
    return low, high


def possible_deviations(data: xr.Dataset) -> xr.Dataset:
    """Return the smallest and the largest deviation of eight samples with the printed mean, minimum and maximum, KB/s.

    Parameters
    ----------
    data : Dataset
        Result of `measured_tables`.

    Returns
    -------
    Dataset
        `least` and `greatest` over `table`, `operation` and `size`, KB/s.

    Notes
    -----
    The mean, the minimum and the maximum may be any numbers that round to the printed figures. The smallest deviation
    has the largest such minimum and the smallest such maximum. The largest deviation has the smallest minimum and the
    largest maximum. Both deviations also depend on the mean, so the function tries 41 means that round to the printed
    mean. At some means every sample can be at the minimum or the maximum. Between two such means the largest deviation
    is a convex function of the mean. For the largest deviation the function therefore also tries these means; together
    with the two limits of the rounding they are sufficient.
    """

    def bounds(mean: float, least: float, most: float, rounding: float):
        tried = np.linspace(mean - rounding, mean + rounding, 41)
        narrow = (least + rounding, max(least + rounding, most - rounding))
        wide = (least - rounding, most + rounding)
        kinks = wide[0] + (wide[1] - wide[0]) * np.arange(1, SAMPLES) / SAMPLES
        middle = np.clip(np.mean(narrow), mean - rounding, mean + rounding)
        near = [deviation_bounds(float(one), *narrow)[0] for one in (*tried, middle)]
        far = [deviation_bounds(float(one), *wide)[1] for one in (*tried, *kinks[abs(kinks - mean) <= rounding])]
        return np.nanmin(near), np.nanmax(far)

    least, greatest = xr.apply_ufunc(
        bounds, data["mean"], data["min"], data["max"], data.figure_rounding, vectorize=True, output_core_dims=[[], []]
    )
    return xr.Dataset({"least": least, "greatest": greatest})


def checked_tables() -> xr.Dataset:
    """Return the printed figures of tables 1 to 4 with two checks of each row.

    Returns
    -------
    Dataset
        The variables of `measured_tables`, and others over the same dimensions, KB/s. `again_low`, `again_high`: limits
        recomputed with Student's t. `beyond`, `off_centre`, `needed_low`, `needed_high`: as in `limits`.
        `beyond_normal`: as `beyond`, but for limits recomputed with the normal quantile. `beyond_cut`: as `beyond`, but
        if the paper truncated the limits to whole numbers instead of rounding them. `least`, `greatest`: as in
        `possible_deviations`. `impossible`: whether eight samples with this mean, minimum and maximum cannot have the
        printed deviation.
    """
    data = measured_tables()
    again, possible = limits(data), possible_deviations(data)
    rounding = data.deviation_rounding + EXACT
    outside = (data.deviation + rounding < possible.least) | (data.deviation - rounding > possible.greatest)
    checks = xr.merge([again.rename(low="again_low", high="again_high"), possible])
    cut = data.assign(low=data.low + LIMIT_ROUNDING, high=data.high + LIMIT_ROUNDING)
    others = {"beyond_normal": limits(data, NORMAL).beyond, "beyond_cut": limits(cut).beyond}
    return data.assign(checks).assign(others).assign(impossible=outside)
