"""Response times against memory and disks, drawn: figure 11."""

from collections.abc import Mapping

import altair as alt
import numpy as np
import xarray as xr

from storagekit.charts.marks import AxisStyle
from storagekit.charts.panels import headed, side_by_side
from storagekit.charts.paper import dropped_points
from storagekit.charts.theme import finished
from storagekit.charts.words import counted, listed
from storagekit.core.axes import title
from storagekit.papers.srarray.draw.palette import RESPONSE, TO_MS
from storagekit.papers.srarray.draw.rates import by_rate
from storagekit.papers.srarray.draw.replays import at_disks

# disks, scale of the rate and claim, by the workload; key of table 3, whose data are what the paper charges for a disk
BREAK_EVEN = {
    "Cello base": ((2, 1.0, "cello_double"), (4, 1.0, "cello_four"), (2, 3.0, "cello_triple")),
    "TPC-C": ((18, 1.0, "tpcc[rate_1]"), (18, 3.0, "tpcc[rate_3]")),
}
KEYS = {"Cello base": "cello_base", "TPC-C": "tpcc"}
MEMORY = f"{title('memory')} (MB)"


def fig11(summary: xr.Dataset, paper: Mapping[str, float]) -> alt.TopLevelMixin:
    """Response time with more disks (`with_disks`) and with memory in bytes (`with_memory`), by `scale` of the rate.

    The attribute `workload` says whose it is. A diamond stands where the paper's break-even puts the memory, at the height
    of our array of as many disks.
    """
    workload = str(summary.attrs["workload"])
    pair = (summary.with_disks, summary.with_memory)
    most = max(float(one.sel(statistic="mean").max()) for one in pair) * TO_MS
    height = AxisStyle(RESPONSE, TO_MS, alt.Scale(domain=[0, 1.1 * most]))
    disks = alt.Axis(values=summary.disks.values.tolist(), format="d")
    left = by_rate(pair[0], "disks", AxisStyle(title("disks"), axis=disks), height)
    right = by_rate(pair[1], "memory", AxisStyle(MEMORY, 1e-6, axis=alt.Axis(tickCount=6, format=",d")), height)
    asked = BREAK_EVEN[workload]
    said = [_same_price(summary, paper, workload, *one) for one in asked]
    right = alt.layer(right, dropped_points(said, "memory", (MEMORY, RESPONSE), steps=3))
    found = [
        f"{_memory(summary, disks, scale)} MB for {words} (paper: {at:,.0f})"
        for (disks, scale, _), (at, _, words) in zip(asked, said, strict=True)
    ]
    if gained := _fewer(summary, paper, workload):
        left = alt.layer(left, dropped_points([gained], "disks", (title("disks"), RESPONSE)))
    return finished(
        side_by_side([headed(left, "More disks"), headed(right, "More memory")], legends="shared").resolve_scale(
            y="shared"
        ),
        f"Figure 11: more disks or more memory, {workload}",
        f"Memory as good as more disks: {listed(found)}.",
        f"Stand-in; the memory is an LRU cache beside {counted(int(summary.disks.min()), 'disk')}. Diamonds: the paper's "
        "break-even at the height of our disks. Whiskers: 95% intervals.",
        legends="bottom",
    )


def _same_price(
    summary: xr.Dataset, paper: Mapping[str, float], workload: str, disks: int, scale: float, claim: str
) -> tuple[float, float, str]:
    """Memory in MB, from the break-even ratio of a claim; response time in ms of ours with so many disks; what that is."""
    added = disks - int(summary.disks.min())
    memory = added * 1e3 * paper[f"srarray.table3.{KEYS[workload]}[gb]"] / paper[f"srarray.fig11.{claim}"]
    height = at_disks(summary.with_disks, disks=disks, scale=scale)
    return memory, height, f"{disks} disks, rate {scale:g}"


def _memory(summary: xr.Dataset, disks: int, scale: float) -> str:
    """The memory in MB with which ours answers as soon as with so many disks."""
    height = at_disks(summary.with_disks, disks=disks, scale=scale)
    times = TO_MS * summary.with_memory.sel(scale=scale, statistic="mean").values
    if times.min() > height:
        return f"more than {float(summary.memory.max()) / 1e6:,.0f}"
    # more memory makes nothing slower, but for chance
    return f"{np.interp(-height, -np.minimum.accumulate(times), summary.memory.values / 1e6):,.0f}"


def _fewer(summary: xr.Dataset, paper: Mapping[str, float], workload: str) -> tuple[float, float, str] | None:
    """Where the paper's gain of 36 over 18 disks puts 18, from our 36; of TPC-C alone."""
    if workload != "TPC-C":
        return None
    ours = at_disks(summary.with_disks, disks=36, scale=3.0)
    return 18, ours * paper["srarray.fig11.tpcc_disks"], "18 disks by our 36, rate 3"
