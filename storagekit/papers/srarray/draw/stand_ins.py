"""Stand-ins beside their traces, drawn: table 3."""

import altair as alt
import pandas as pd
import xarray as xr

from storagekit.axes import title
from storagekit.charts.theme import HEIGHT, PAPER, WIDTH, finished
from storagekit.papers.srarray.draw.palette import BLUE, GREEN, ORANGE, PERCENT

WORKLOADS = {"Cello base": BLUE, "Cello disk 6": ORANGE, "TPC-C": GREEN}


def table3(data: xr.Dataset) -> alt.TopLevelMixin:
    """Relative error of each stand-in's figures (`measured`) against the published ones (`target`)."""
    error = (data.measured / data.target.where(data.target != 0) - 1) * PERCENT
    frame = error.rename("error").reset_coords(drop=True).to_dataframe().reset_index().dropna()
    frame["words"] = [str(name).replace("_", " ") for name in frame["quantity"]]
    titles = "Stand-in less published (%)"
    names = [name for name in WORKLOADS if name in set(frame["workload"])]
    scale = alt.Scale(domain=names, range=[WORKLOADS[name] for name in names])
    point = (
        alt.Chart(frame)
        .mark_point(size=80, filled=True, opacity=0.9)
        .encode(
            y=alt.Y("words:N", title=title("quantity"), sort=None),
            yOffset=alt.YOffset("workload:N", sort=names),
            x=alt.X("error", title=titles),
            color=alt.Color("workload:N", title=title("workload"), scale=scale),
            shape=alt.Shape("workload:N", title=title("workload"), scale=alt.Scale(domain=names)),
        )
    )
    zero = alt.Chart(pd.DataFrame({"error": [0.0]})).mark_rule(color=PAPER, strokeDash=[2, 3]).encode(x="error")
    return finished(
        alt.layer(zero, point).properties(width=WIDTH, height=HEIGHT + 40),
        "Table 3: the stand-ins against the published figures",
        "counts and duration of a part are scaled to the whole; a published 0 is left out",
    )
