"""The drive model beside DiskSim, drawn: figure 5."""

from collections.abc import Mapping

import altair as alt
import pandas as pd
import xarray as xr

from storagekit.axes import title
from storagekit.charts.marks import Side, lines
from storagekit.charts.theme import PAPER, finished
from storagekit.papers.srarray.draw.palette import BLUE, GREEN, ORANGE, PERCENT

POLICIES = {"FCFS": GREEN, "LOOK": ORANGE, "SPTF": BLUE}


def fig5(witness: xr.Dataset, paper: Mapping[str, float]) -> alt.TopLevelMixin:
    """Our throughput (`ours`) less DiskSim's (`reference`), relative, by depth and policy; band: the paper's bound."""
    bound = PERCENT * paper["srarray.fig5.discrepancy"]
    band = pd.DataFrame({"low": [-bound], "high": [bound]})
    height = Side("Ours less DiskSim's throughput (%)", PERCENT, alt.Scale(domain=[-1.5 * bound, 1.5 * bound]))
    ticks = alt.Axis(values=witness.depth.values.tolist(), format="d")
    across = Side(title("depth"), scale=alt.Scale(type="log", base=2, nice=False, padding=8), axis=ticks)
    error = witness.ours / witness.reference - 1
    drawn = lines(error, "depth", "policy", POLICIES, (across, height), title("policy"))
    shade = alt.Chart(band).mark_rect(color=PAPER, opacity=0.1).encode(y=alt.Y("low", title=height.title), y2="high")
    return finished(
        alt.layer(shade, drawn),
        "Figure 5: our simulator beside an independent one",
        f"one Atlas 10K, 4 KB random reads; band: the {bound:.0f}% within which the paper's simulator met its prototype",
    )
