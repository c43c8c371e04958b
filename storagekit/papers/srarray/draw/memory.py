"""Response times against memory and disks, drawn: figure 11."""

from collections.abc import Mapping

import altair as alt
import xarray as xr

from storagekit.axes import title
from storagekit.charts.marks import Side, named_points
from storagekit.charts.panels import headed, side_by_side
from storagekit.charts.theme import finished
from storagekit.papers.srarray.draw.palette import RESPONSE, TO_MS
from storagekit.papers.srarray.draw.rates import by_rate
from storagekit.papers.srarray.draw.replays import at_disks

# Cello base in bytes (table 3), which is what the paper charges for a disk; disks, scale of the rate and claim
DATA = 8.4e9
BREAK_EVEN = {"Cello base": ((2, 1.0, "cello_double"), (4, 1.0, "cello_four"), (2, 3.0, "cello_triple"))}


def fig11(summary: xr.Dataset, paper: Mapping[str, float]) -> alt.TopLevelMixin:
    """Response time with more disks (`with_disks`) and with memory in bytes (`with_memory`), by `scale` of the rate.

    The attribute `workload` says whose it is. A diamond stands where the paper's break-even puts the memory, at the height
    of our array of as many disks.
    """
    workload = str(summary.attrs["workload"])
    pair = (summary.with_disks, summary.with_memory)
    most = max(float(one.sel(statistic="mean").max()) for one in pair) * TO_MS
    height = Side(RESPONSE, TO_MS, alt.Scale(domain=[0, 1.1 * most]))
    left = by_rate(pair[0], "disks", Side(title("disks")), height)
    right = by_rate(pair[1], "memory", Side(f"{title('memory')} (MB)", 1e-6), height)
    said = [_same_price(summary, paper, *one) for one in BREAK_EVEN.get(workload, ())]
    if said:
        right = alt.layer(right, named_points(said, "memory", (f"{title('memory')} (MB)", RESPONSE), "left"))
    note = "; diamonds: the memory that the paper finds as good as so many disks" if said else ""
    return finished(
        side_by_side([headed(left, "More disks"), headed(right, "More memory")], legends="shared").resolve_scale(
            y="shared"
        ),
        f"Figure 11: more disks or more memory, {workload}",
        f"stand-in; the memory is an LRU cache, and the disks stay at {int(summary.disks.min())}{note}",
    )


def _same_price(summary: xr.Dataset, paper: Mapping[str, float], disks: int, scale: float, claim: str):
    """Memory in MB, from the break-even ratio of a claim; response time in ms of ours with so many disks."""
    added = disks - int(summary.disks.min())
    memory = added * DATA / paper[f"srarray.fig11.{claim}"] / 1e6
    words = f"{disks} disks, rate {scale:g}"
    return memory, at_disks(summary.with_disks, disks=disks, scale=scale), words
