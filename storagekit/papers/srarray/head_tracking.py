"""Head tracking by software: table 2 (section 3.2)."""

import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import xarray as xr

from storagekit.analytic.headtracking import (
    HeadTracking,
    TrackedAccess,
    accesses,
    accuracy,
    adjust_slack,
    confidence,
    prediction_error,
)
from storagekit.calibrate import demerit
from storagekit.core.provenance import made_by
from storagekit.core.units import US
from storagekit.papers.measurement import Measurement
from storagekit.papers.srarray.disk import QUICK, ArrayEffort, paper_drive
from storagekit.papers.srarray.disk_array import ArrayRun, on_axes, over_windows, small

ARRAY = "2x3x1"
TRACKING = (
    "The value is from a Monte Carlo simulation of a predictor of the head position. The paper does not give the "
    "noise, so it is assumed: a mean delay of time stamps of 30 us, a drift of the spindle speed of 0.2 ppm in two "
    "minutes, and a deviation of seek times of 30 us. The predictor takes the phase from the latest read. It takes "
    "the revolution time from two reads, whose distance in time gives the smallest error under this noise."
)


def table2(
    effort: ArrayEffort = QUICK,
    *,
    intervals: Sequence[float] = (30.0, 60.0, 120.0, 240.0, 480.0),
    slacks: Sequence[float] = (0.0, 1.0, 2.0, 3.0, 4.0),
    base: xr.Dataset | None = None,
) -> xr.Dataset:
    """Return the accuracy of predictions of the head position, from a Monte Carlo simulation (section 3.2 and table 2).

    Parameters
    ----------
    effort : ArrayEffort
        The number of accesses is 40 times `loop_requests`. The seed is `first_seed`.
    intervals : sequence of float
        Times between two recalibrations, seconds.
    slacks : sequence of float
        Slacks, the margins before the target sector, in sectors.
    base : Dataset, optional
        Result of `fig6` for Cello base, which includes the array of table 2. By default this array is simulated.

    Returns
    -------
    Dataset
        Over `interval`: `within`, the fraction of predictions that are within 1% of a revolution. Over `slack`:
        `misses`, the fraction of accesses that miss the target sector; `mean_error`, `sd_error` and `demerit`, seconds;
        `demerit_share`, the demerit divided by the access time. `access`: mean time of an access of Cello base on 2x3x1
        in the simulation, seconds. This mean includes accesses that write delayed copies, and the time excludes the
        processing before the access. `kept_slack`: slack at the end of the feedback loop, sectors. `on_target`:
        fraction of the accesses with the slack `kept_slack` that do not miss the target sector, in another simulation.

    References
    ----------
    srarray, section 3.2 and table 2.
    """
    began = time.perf_counter()
    seed, count = effort.first_seed, 40 * effort.loop_requests
    drive = paper_drive()
    runs = (
        on_axes(over_windows(effort, "Cello base", small(effort), [ArrayRun(ARRAY)]), ["layout"])
        if base is None
        else base
    )
    array = runs.sel(layout=ARRAY).mean("seed")
    before = float(drive.overhead)
    default, access = HeadTracking.like(drive), replace(TrackedAccess.like(drive), seek_mean=float(array.seek) - before)
    tracked = [replace(default, interval=seconds) for seconds in intervals]
    within = [float(confidence(prediction_error(model, count, seed=seed))) for model in tracked]
    seen = [accesses(default, access, slack, count, seed=seed) for slack in slacks]
    found = [accuracy(one) for one in seen]
    apart = [demerit(one.predicted, one.measured) for one in seen]
    kept = float(np.asarray(adjust_slack(default, access, 0.0, seed=seed).sectors).ravel()[-1])
    others = accesses(default, access, kept, count, seed=seed + 1)
    by_slack = {
        "misses": [one.misses for one in found],
        "mean_error": [one.mean_error for one in found],
        "sd_error": [one.sd_error for one in found],
        "demerit": apart,
        "demerit_share": [each / one.access_time for each, one in zip(apart, found, strict=True)],
    }
    data = xr.Dataset(
        {"within": ("interval", within)}
        | {name: ("slack", [float(value) for value in values]) for name, values in by_slack.items()}
        | {
            "kept_slack": kept,
            "on_target": 1 - float(others.missed.mean()),
            "access": float(array.service_time) - before,
        },
        coords={"interval": list(intervals), "slack": list(slacks)},
    )
    made = made_by("simulated", [seed], time.perf_counter() - began)
    facts = {name: array.attrs[name] for name in ("drive", "scenario")} | {"requests": f"{count} accesses"}
    return data.assign_attrs(made | facts, paper="srarray", exhibit="srarray.table2", seed=seed, samples=count)


def table2_findings(data: xr.Dataset) -> list[Measurement]:
    """Return the findings on the claims of table 2 and section 3.2.

    Parameters
    ----------
    data : Dataset
        Result of `table2`. The findings use the slack that is nearest to the slack of the feedback loop, rounded to
        whole sectors and at least one.

    Returns
    -------
    list of Measurement
        One finding for each claim of `srarray.table2`.

    References
    ----------
    srarray, section 3.2 and table 2.
    """
    kept = float(data.kept_slack)
    row = data.sel(slack=max(1.0, round(kept)), method="nearest")
    at = (
        f"The slack, the margin before the target sector, is {float(row.slack):.0f} sectors. The paper does not give "
        f"its slack. {TRACKING}"
    )
    others = ", ".join(f"{float(m):.2%} at {float(s):.0f}" for s, m in zip(data.slack, data.misses, strict=True))
    within = ", ".join(f"{float(w):.1%} at {float(s):.0f} s" for s, w in zip(data.interval, data.within, strict=True))
    return [
        Measurement(
            "srarray.table2.misses",
            float(row.misses),
            note=f"The fractions of accesses that miss their target, by slack in sectors, are {others}. {at}",
        ),
        Measurement(
            "srarray.table2.mean_error",
            float(row.mean_error) / US,
            note=f"The mean error is zero by construction. {at}",
        ),
        Measurement("srarray.table2.sd_error", float(row.sd_error) / US, note=at),
        Measurement(
            "srarray.table2.access",
            float(data.access) / US,
            basis="stand-in",
            note="The value is the mean time of seek, rotation and transfer over all accesses of the simulated "
            "array. It includes accesses that write delayed copies, and excludes the processing before an access. "
            "The paper does not state whether its value includes these accesses, or the processing.",
        ),
        Measurement("srarray.table2.demerit", float(row.demerit) / US, note=at),
        Measurement("srarray.table2.demerit_share", float(row.demerit_share), note=at),
        Measurement(
            "srarray.head.recalibration",
            float(data.within.sel(interval=120)),
            note="The shares of predictions of the head position that are within 1% of a revolution, by time between "
            f"recalibrations, are {within}. {TRACKING}",
        ),
        Measurement(
            "srarray.head.slack",
            float(data.on_target),
            holds=bool(data.on_target > 0.99),
            note=(
                "The value is the fraction of accesses that reach their target sector, after the feedback has "
                "adjusted the slack. The claim holds if the fraction is above 99%. The feedback ends at a slack of "
                f"{kept:.1f} sectors, because it aims at half of the allowed misses. {TRACKING}"
            ),
        ),
    ]
