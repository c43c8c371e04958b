"""Measurements of the prototype (swift, section 4, tables 1 to 4), and checks of their printed intervals.

Rates are in the paper's KB/s. The paper does not define a KB in bytes, and all uses of the figures are ratios.
"""

import csv

import numpy as np
import xarray as xr
from scipy import stats

from storagekit.core.provenance import made_by
from storagekit.core.resources import data_path

SAMPLES = 8
STUDENT = float(stats.t.ppf(0.95, SAMPLES - 1)) / SAMPLES**0.5
"""Half of a 90% interval, in sample deviations: t_{0.95,7} / sqrt 8."""
NORMAL = float(stats.norm.ppf(0.95)) / SAMPLES**0.5
"""The same with the normal quantile in t's place, as if the deviation were known."""
EXACT = 1e-9
LIMIT_ROUNDING = 0.5
_KEYS = ("table", "operation", "size_mb")
_FIGURES = ("mean", "deviation", "min", "max", "low", "high")


def measured_tables() -> xr.Dataset:
    """Return the printed figures of tables 1 to 4.

    Returns
    -------
    Dataset
        Variables over `table` (1 to 4), `operation` (read, write) and `size` (MB), KB/s. `mean`, `deviation`, `min` and
        `max`. `low`, `high`: 90% interval. `figure_rounding`, `deviation_rounding`: half a unit of the last printed
        digit. Coordinate `system`, shape `[table]`.

    Notes
    -----
    Means, minima and maxima have three significant digits; in table 4 all of them end in 0. Limits of intervals are
    whole numbers.

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
        figures | {"deviation_rounding": (axes, np.reshape([0.5 * 10.0**-places for places in decimals], shape))},
        coords={"table": [int(name) for name in tables], "operation": operations, "size": [int(mb) for mb in sizes]},
    )
    data["figure_rounding"] = xr.where(data["mean"] < 1000, 0.5, 5.0)
    systems = list(dict.fromkeys(row["system"] for row in rows))
    told = made_by("analytic") | {"paper": "swift", "unit": "KB/s", "samples": SAMPLES}
    return data.assign_coords(system=("table", systems)).assign_attrs(told)


def limits(data: xr.Dataset, factor: float = STUDENT) -> xr.Dataset:
    """Return the recomputed intervals, and their distances from the printed ones beyond any rounding.

    Parameters
    ----------
    data : Dataset
        Result of `measured_tables`.
    factor : float
        Half-width of an interval, in sample deviations, by default with Student's t.

    Returns
    -------
    Dataset
        Variables over `table`, `operation` and `size`, KB/s. `low`, `high`: limits from the printed mean and deviation.
        `beyond`: distance of at least one printed limit from the limits that follow from the mean and the deviation,
        whatever their rounding. Half a unit is subtracted for the rounding of the limit itself. It is 0 if the row
        follows. `off_centre`: the part of the centre in this distance. `needed_low`, `needed_high`: range of deviations
        with which the row follows; NaN if its centre alone is too far off.

    Notes
    -----
        limits = mean +- factor deviation

    For limits L and H only the centre (L + H) / 2 and the half-width (H - L) / 2 matter. The larger error of the two
    limits is |error of centre| + |error of half-width|.
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
    """Return the smallest and the largest sample deviation (n - 1) of n numbers with given mean, minimum and maximum.

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
    The deviation is smallest if the n - 2 other numbers are equal, because the sum of squares is convex. It is largest
    if all of them but one are at the two ends, and the last one gives the mean. With n even and the mean in the middle
    the two deviations are range / sqrt(2 (n - 1)) and range sqrt(n / 4 (n - 1)).
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
    Each of the three figures may be any number that rounds to the printed one. For the smallest deviation the ends are
    as near as possible, for the largest as far apart as possible. Both deviations also depend on the mean, for which 41
    values within its rounding are tried. The largest deviation is convex between the means at which every sample is at
    an end. These means and the limits of the rounding are therefore sufficient, and they are among the values tried.
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
        `beyond_normal`: with the normal quantile. `beyond_cut`: for limits that are truncated to whole numbers instead
        of rounded. `least`, `greatest`: as in `possible_deviations`. `impossible`: whether no eight samples with this
        mean, minimum and maximum have the printed deviation.
    """
    data = measured_tables()
    again, possible = limits(data), possible_deviations(data)
    rounding = data.deviation_rounding + EXACT
    outside = (data.deviation + rounding < possible.least) | (data.deviation - rounding > possible.greatest)
    checks = xr.merge([again.rename(low="again_low", high="again_high"), possible])
    cut = data.assign(low=data.low + LIMIT_ROUNDING, high=data.high + LIMIT_ROUNDING)
    others = {"beyond_normal": limits(data, NORMAL).beyond, "beyond_cut": limits(cut).beyond}
    return data.assign(checks).assign(others).assign(impossible=outside)
