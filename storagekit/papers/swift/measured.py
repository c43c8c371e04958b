"""What the prototype's authors measured (swift, section 4, tables 1 to 4), and whether their intervals follow from it.

Rates stay in the paper's KB/s: it does not say how many bytes a KB has, and every use of the figures is a ratio of two.
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
    """The printed figures by `table` (1 to 4), `operation` (read, write) and `size` (MB), in KB/s.

    `mean`, `deviation`, `min`, `max`, `low` and `high` (of the 90% interval); `figure_rounding` and `deviation_rounding`:
    half a unit of the last digit printed. Means, least and greatest samples have three significant figures (those of table 4
    all end in 0), limits are whole. Coordinate `system` [table]. Source: data/reference/swift_prototype.csv.
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
    """The intervals recomputed, and by how much the printed ones miss them whatever the rounding; KB/s.

        mean +- factor deviation

    data: as `measured_tables` gives it. `low`, `high`: from the printed mean and deviation. `beyond`: how far at least one
    printed limit is from what some mean and deviation that round to the printed ones would give, less the half unit of its
    own rounding: 0 where the row follows. Of limits L and H only centre (L + H) / 2 and half-width (H - L) / 2 count: the
    greater of both limits' errors is |error of centre| + |error of half-width|. `off_centre`: of these the first.
    `needed_low`, `needed_high`: the deviations that make a row follow; NaN where its centre alone is too far off.
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
    """The smallest and the greatest sample deviation (n - 1) of n numbers with that mean, least and most.

    Smallest: the n - 2 others are equal, as the sum of squares is convex. Greatest: they are at the two ends, all but the one
    that makes up the mean. With n even and the mean midway these are range / sqrt(2 (n - 1)) and range sqrt(n / 4 (n - 1)).
    NaN, NaN where no n numbers are so.
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
    """`least` and `greatest` deviation that eight samples with the printed mean, min and max can have, KB/s.

    Each of the three may be anything that rounds to what is printed. Least: the ends as near as they may be. Greatest: as far
    apart. Both depend on the mean too, which is tried at 41 places within its rounding; the greatest is convex between the
    places where every sample is at an end, so these and the limits of the rounding are enough, and are among those tried.
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
    """`measured_tables` with both checks of each row, KB/s.

    `again_low` and `again_high`: the limits recomputed with Student's t; `beyond`, `off_centre`, `needed_low`, `needed_high`:
    see `limits`; `beyond_normal`: with the normal quantile; `beyond_cut`: were limits cut to whole numbers, not rounded;
    `least`, `greatest`: see `possible_deviations`; `impossible`: whether no eight samples with that mean, min and max have
    the printed deviation.
    """
    data = measured_tables()
    again, possible = limits(data), possible_deviations(data)
    rounding = data.deviation_rounding + EXACT
    outside = (data.deviation + rounding < possible.least) | (data.deviation - rounding > possible.greatest)
    checks = xr.merge([again.rename(low="again_low", high="again_high"), possible])
    cut = data.assign(low=data.low + LIMIT_ROUNDING, high=data.high + LIMIT_ROUNDING)
    others = {"beyond_normal": limits(data, NORMAL).beyond, "beyond_cut": limits(cut).beyond}
    return data.assign(checks).assign(others).assign(impossible=outside)
