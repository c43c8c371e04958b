"""Chart of response times against the number of disks and against the memory: figure 11 (section 4.1)."""

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

# For each workload, tuples of the number of disks, the scale of the rate, and the claim. `KEYS` gives the name of the
# workload in table 3. The paper counts a disk at the price of as much disk space as the data set needs.
BREAK_EVEN = {
    "Cello base": ((2, 1.0, "cello_double"), (4, 1.0, "cello_four"), (2, 3.0, "cello_triple")),
    "TPC-C": ((18, 1.0, "tpcc[rate_1]"), (18, 3.0, "tpcc[rate_3]")),
}
KEYS = {"Cello base": "cello_base", "TPC-C": "tpcc"}
MEMORY = f"{title('memory')} (MB)"


def fig11(summary: xr.Dataset, paper: Mapping[str, float]) -> alt.TopLevelMixin:
    """Return a chart of the response time with more disks and with more memory, for each scale of the rate (figure 11).

    Parameters
    ----------
    summary : Dataset
        Response times in seconds: `with_disks`, over `scale`, `statistic` and `disks`, and `with_memory`, over `scale`,
        `statistic` and `memory` (bytes). The attribute `workload` is the name of the workload.
    paper : mapping of str to float
        The paper's number of each claim, by the identifier of the claim.

    Returns
    -------
    altair.TopLevelMixin
        Response times are in ms, and memory in MB of 10^6 bytes.

    Notes
    -----
    A diamond in the right panel marks the paper's break-even memory for a number of disks. Its height is the response
    time of our array with this number of disks. For TPC-C, a diamond in the left panel marks the response time that the
    paper implies for 18 disks: our response time with 36 disks, multiplied by the paper's ratio of the response times
    with 18 and with 36 disks.
    """
    workload = str(summary.attrs["workload"])
    pair = (summary.with_disks, summary.with_memory)
    most = max(float(one.sel(statistic="mean").max()) for one in pair) * TO_MS
    height = AxisStyle(RESPONSE, TO_MS, alt.Scale(domain=[0, 1.1 * most]))
    disks = alt.Axis(values=summary.disks.values.tolist(), format="d")
    left = by_rate(pair[0], "disks", AxisStyle(title("disks"), axis=disks), height)
    right = by_rate(pair[1], "memory", AxisStyle(MEMORY, 1e-6, axis=alt.Axis(tickCount=6, format=",d")), height)
    break_even = BREAK_EVEN[workload]
    said = [_same_price(summary, paper, workload, *one) for one in break_even]
    right = alt.layer(right, dropped_points(said, "memory", (MEMORY, RESPONSE), steps=3))
    found = [
        f"{_memory(summary, disks, scale)} MB for {words} (paper: {at:,.0f})"
        for (disks, scale, _), (at, _, words) in zip(break_even, said, strict=True)
    ]
    gain = ""
    if gained := _fewer(summary, paper, workload):
        left = alt.layer(left, dropped_points([gained], "disks", (title("disks"), RESPONSE)))
        gain = (
            "The diamond in the left panel marks the response time that the paper implies for 18 disks: our response "
            "time with 36 disks, multiplied by the paper's ratio of the response times with 18 and with 36 disks. "
        )
    return finished(
        side_by_side([headed(left, "More disks"), headed(right, "More memory")], legends="shared").resolve_scale(
            y="shared"
        ),
        f"Figure 11: response time with more disks or more memory, {workload}",
        f"The memory that gives the same response time as more disks is {listed(found)}.",
        "The trace is synthetic. The memory is an LRU cache in front of "
        f"{counted(int(summary.disks.min()), 'disk')}. A diamond in the right panel marks the paper's break-even "
        "memory for the number of disks that is named below the diamond, and our response time with this number of "
        f"disks. {gain}Whiskers are 95% intervals.",
        legends="bottom",
    )


def _same_price(
    summary: xr.Dataset, paper: Mapping[str, float], workload: str, disks: int, scale: float, claim: str
) -> tuple[float, float, str]:
    """Return a point of the right panel and its name: the memory (MB) and the response time (ms).

    The memory costs as much as the added disks at the price ratio of the claim. The response time is simulated, for
    our array with `disks` disks.
    """
    added = disks - int(summary.disks.min())
    memory = added * 1e3 * paper[f"srarray.table3.{KEYS[workload]}[gb]"] / paper[f"srarray.fig11.{claim}"]
    height = at_disks(summary.with_disks, disks=disks, scale=scale)
    return memory, height, f"{disks} disks, rate {scale:g}"


def _memory(summary: xr.Dataset, disks: int, scale: float) -> str:
    """Return, as text, the memory in MB with which our response time is the same as with `disks` disks."""
    height = at_disks(summary.with_disks, disks=disks, scale=scale)
    times = TO_MS * summary.with_memory.sel(scale=scale, statistic="mean").values
    if times.min() > height:
        return f"more than {float(summary.memory.max()) / 1e6:,.0f}"
    # More memory makes no request slower, except by chance.
    return f"{np.interp(-height, -np.minimum.accumulate(times), summary.memory.values / 1e6):,.0f}"


def _fewer(summary: xr.Dataset, paper: Mapping[str, float], workload: str) -> tuple[float, float, str] | None:
    """Return a point of the left panel and its name: 18 disks, and the response time (ms) that the paper implies.

    The response time is our response time with 36 disks, multiplied by the paper's ratio of the response times with 18
    and with 36 disks, at three times the rate of TPC-C. For other workloads the function returns None.
    """
    if workload != "TPC-C":
        return None
    ours = at_disks(summary.with_disks, disks=36, scale=3.0)
    return 18, ours * paper["srarray.fig11.tpcc_disks"], "18 disks, rate 3"
