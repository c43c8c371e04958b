"""Chart of this simulator compared with independent programs: figure 5 (section 3.5)."""

from collections.abc import Mapping

import altair as alt
import pandas as pd
import xarray as xr

from storagekit.charts.marks import AxisStyle, Layered, lines
from storagekit.charts.panels import headed, side_by_side
from storagekit.charts.theme import PAPER, finished
from storagekit.core.axes import title
from storagekit.papers.srarray.draw.palette import BLUE, GREEN, ORANGE, PERCENT, VERMILION

POLICIES = {"FCFS": GREEN, "LOOK": ORANGE, "SPTF": BLUE}
SHARES = {"100%": BLUE, "50%": VERMILION}
PANEL = 280
BASIS = ("this simulator", "scalar program")


def fig5(data: xr.Dataset, paper: Mapping[str, float]) -> alt.TopLevelMixin:
    """Return a chart of our throughput, and of its differences from the scalar program and from DiskSim (figure 5).

    Parameters
    ----------
    data : Dataset
        Result of `storagekit.papers.srarray.fig5`.
    paper : mapping of str to float
        The paper's number of each claim, by the identifier of the claim.

    Returns
    -------
    altair.TopLevelMixin
        The throughput is in IO/s, and the differences are in %.

    Notes
    -----
    The first panel shows the throughput of the array by queue and fraction of reads, in this simulator and in the
    scalar program. The second panel shows the difference of the two throughputs in percent. The third panel shows the
    difference from DiskSim on one disk in percent, by depth and policy. A band shows the paper's bound.
    """
    bound = PERCENT * paper["srarray.fig5.discrepancy"]
    named = data.assign_coords(read_share=[f"{share:.0%}" for share in data.read_share.values])
    rate = AxisStyle("Throughput (IO/s)", scale=alt.Scale(domain=[0, 1.05 * float(data.array.max())]))

    def by_queue(values: xr.DataArray, height: AxisStyle, model: xr.DataArray | None = None) -> Layered:
        sides = (_doubling(data.queue), height)
        return lines(values, "queue", "read_share", SHARES, sides, title("read_share"), model=model, basis=BASIS)

    array = by_queue(named.array, rate, named.array_witness)
    apart = by_queue(named.array / named.array_witness - 1, _difference("the program's", bound))
    disk = lines(
        data.disk / data.disk_witness - 1,
        "depth",
        "policy",
        POLICIES,
        (_doubling(data.depth), _difference("DiskSim's", bound)),
        title("policy"),
    )
    panels = [
        headed(array, "2x3 array under RSATF, 512 B", PANEL),
        headed(_over_band(apart, bound), "2x3 array, difference from the scalar program", PANEL),
        headed(_over_band(disk, bound), "One Atlas 10K, 4 KB reads", PANEL),
    ]
    return finished(
        alt.hconcat(side_by_side(panels[:2], legends="shared"), panels[2], spacing=30).resolve_scale(
            color="independent", shape="independent", strokeDash="independent"
        ),
        "Figure 5: throughput of this simulator and of independent programs",
        f"The simulator differs by at most {_most(data.array, data.array_witness):.1f}% from the scalar program and "
        f"by at most {_most(data.disk, data.disk_witness):.1f}% from DiskSim. The paper's simulator was within "
        f"{bound:g}% of its prototype.",
        "The scalar program is an independent program, written from the paper's text. The requests are random. "
        "Whiskers are 95% intervals. The grey band is the paper's limit for the difference between its simulator and "
        "its prototype.",
        legends="bottom",
    )


def _most(ours: xr.DataArray, theirs: xr.DataArray) -> float:
    """Return the largest magnitude of a relative difference of our means from another program's values, percent."""
    return PERCENT * float(abs(ours.sel(statistic="mean") / theirs - 1).max())


def _doubling(axis: xr.DataArray) -> AxisStyle:
    """Return a logarithmic axis of outstanding requests, with ticks at the simulated values."""
    ticks = alt.Axis(values=axis.values.tolist(), format="d")
    return AxisStyle(title(str(axis.name)), scale=alt.Scale(type="log", base=2, nice=False, padding=8), axis=ticks)


def _difference(whose: str, bound: float) -> AxisStyle:
    """Return an axis of the difference of our values from another program, in percent, in a range that includes the bound.

    whose: the other program in the possessive, such as "DiskSim's".
    """
    return AxisStyle(f"This simulator minus {whose} (%)", PERCENT, alt.Scale(domain=[-1.5 * bound, 1.5 * bound]))


def _over_band(drawn: Layered, bound: float) -> Layered:
    """Return a chart of differences in percent over a band from minus `bound` to plus `bound`."""
    band = pd.DataFrame({"low": [-bound], "high": [bound]})
    base = alt.Chart(band)
    shade = base.mark_rect(color=PAPER, opacity=0.1).encode(y=alt.Y("low"), y2="high")
    name = base.mark_text(align="left", baseline="bottom", dx=4, dy=-2, color=PAPER).encode(x=alt.value(0), y="high")
    return alt.layer(shade, name.encode(text=alt.value(f"paper: within {bound:g}%")), drawn)
