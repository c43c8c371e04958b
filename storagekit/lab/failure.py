"""The failure of a disk: response times during the rebuild, capacity and the probability of a loss, with sliders."""

import math
from dataclasses import dataclass

import pandas as pd

from storagekit.charts import AnswerText, ChoiceControl, Dashboard, Slider, StepsControl
from storagekit.charts.live import FilledDashboard
from storagekit.core.errors import InputError
from storagekit.core.units import HOUR, KB, MS, SECTOR
from storagekit.faults import Failures
from storagekit.lab.draw.ranked import Bars, Span, ranked, ranking, spanned
from storagekit.lab.drives import KNOWN, drive_of
from storagekit.lab.page import LabPage
from storagekit.plan import schemes
from storagekit.plan.schemes_after_failure import FailureRanking, SchemeAfterFailure
from storagekit.plan.schemes_durability import DurabilityRanking, SchemeDurability

_TB, _MB = 1e12, 1e6
_CHART = ranking(
    (
        Span("Mean response time: without a failure | during the rebuild (ms)"),
        Bars("usable", "Capacity (TB)", ",.0f"),
        Bars("nines", "Nines of durability in a year", ".1f"),
    ),
    "Scheme",
)
_LISTED = 8


@dataclass(frozen=True)
class FailedDisk:
    """The schemes of a question after the failure of a disk, and their durability.

    disks: number of disks of the question.
    """

    disks: int
    after: FailureRanking
    durable: DurabilityRanking

    def durability(self, one: SchemeAfterFailure) -> SchemeDurability | None:
        """Return the durability of a scheme; None if its rebuild never ends."""
        return {each.name: each for each in self.durable.ranking}.get(one.name)


def answer(
    drive: str,
    disks: int,
    data: float,
    size: float,
    read_share: float,
    rate: float,
    tolerate: int,
    rebuild: float,
    afr: float,
) -> FailedDisk:
    """Return the response times after a failure and the durability for the values of the controls.

    drive: a name in `KNOWN`. data: percent of the raw capacity. rebuild: rate of the rebuild, MB/s. afr: percent of the
    disks that fail in a year.

    Raises InputError if no scheme with redundancy is feasible.
    """
    spindle = drive_of(drive)
    found = schemes(
        spindle,
        disks,
        data=data / 100 * disks * float(spindle.capacity) * SECTOR,
        size=size * KB,
        read_share=read_share / 100,
        rate=rate,
        tolerate=tolerate,
    )
    if not found.feasible:
        raise InputError(f"no scheme of {disks} drives meets these requirements: {found.binding}")
    after = found.after_failure(rebuild * _MB)
    if not after.feasible:
        raise InputError(f"no scheme of {disks} drives survives a failure: {after.binding}")
    return FailedDisk(disks, after, found.durability(Failures(afr / 100), rebuild_rate=rebuild * _MB))


def words(found: FailedDisk) -> AnswerText:
    """Return a text: the scheme with the shortest response time during the rebuild, its rebuild, and its durability."""
    best, durable = found.after.ranking[0], found.durable.recommended
    if math.isinf(best.rebuilding_mean):
        fastest = max(found.after.ranking, key=lambda one: one.fastest)
        headline = f"No scheme can be rebuilt at this rate: {fastest.name} allows {fastest.fastest / _MB:.0f} MB/s"
        lines = ["Reduce the rate of the rebuild or the load, or add drives."]
    else:
        headline = f"{best.name}, of {best.prediction.scheme.disks} drives"
        lines = [
            f"Mean response time {best.mean / MS:.1f} ms without a failure, {best.lost_mean / MS:.1f} ms while a disk is "
            f"lost, and {best.rebuilding_mean / MS:.1f} ms during the rebuild (99th percentile "
            f"{best.rebuilding_p99 / MS:.0f} ms), with the busiest disks {best.rebuilding_utilization:.0%} busy.",
            f"The rebuild takes {best.rebuild / HOUR:.0f} hours; at most {best.fastest / _MB:.0f} MB/s are possible.",
        ]
    if durable is not None:
        lines.append(
            f"{durable.name} is the most durable: it loses data in a year with probability {durable.loss_probability:.2g}."
        )
    return AnswerText(headline, lines, _table(found))


def _table(found: FailedDisk) -> pd.DataFrame:
    shown = found.after.ranking[:_LISTED]
    losses = [found.durability(one) for one in shown]
    return pd.DataFrame(
        {
            "mean (ms)": [one.mean / MS for one in shown],
            "disk lost (ms)": [one.lost_mean / MS for one in shown],
            "rebuilding (ms)": [one.rebuilding_mean / MS for one in shown],
            "rebuild (h)": [one.rebuild / HOUR for one in shown],
            "capacity (TB)": [one.prediction.usable / _TB for one in shown],
            "loss a year": ["" if one is None else f"{one.loss_probability:.2g}" for one in losses],
        },
        index=pd.Index([one.name for one in shown], name="scheme"),
    )


def draw(found: FailedDisk) -> FilledDashboard:
    """Return the chart: response times without a failure and during the rebuild, capacity, and nines of durability."""
    every = found.after.ranking
    losses = [found.durability(one) for one in every]
    during = [one.rebuilding_mean / MS if math.isfinite(one.rebuilding_mean) else math.nan for one in every]
    columns = spanned([one.mean / MS for one in every], during) | {
        "name": [one.name for one in every],
        "usable": [one.prediction.usable / _TB for one in every],
        "nines": [math.nan if one is None else one.nines for one in losses],
    }
    return _CHART.filled(rows=ranked(pd.DataFrame(columns)))


def dashboard() -> Dashboard:
    """Return the interactive page with its controls, as a `Dashboard`."""
    controls = {
        "drive": ChoiceControl("Drive", {name: name for name in KNOWN}, few=list(KNOWN)[:1]),
        "disks": Slider("Drives", 24, 4, 60, few=[24]),
        "data": Slider("Data (% of raw capacity)", 40, 1, 80, few=[40]),
        "size": StepsControl("Request size (KB)", 64, [4, 8, 16, 32, 64, 128, 256, 512, 1024], few=[64]),
        "read_share": Slider("Reads (%)", 80, 0, 100, 5, few=[80]),
        "rate": Slider("Requests/s", 600, 20, 5000, 20, few=[200, 600]),
        "tolerate": Slider("Failures to tolerate", 1, 1, 3, few=[1, 2]),
        "rebuild": Slider("Rebuild (MB/s)", 20, 1, 200, few=[5, 20, 40]),
        "afr": Slider("Disks that fail in a year (%)", 1.4, 0.1, 20, 0.1, few=[1.4, 5]),
    }
    return Dashboard(answer, draw, controls, words)


PAGE = LabPage(
    "When a disk fails",
    "What happens to response times while a disk is lost and rebuilt, how long does the rebuild take, and how likely is a "
    "loss of data? All results on this page are computed from formulas.",
    dashboard,
)
