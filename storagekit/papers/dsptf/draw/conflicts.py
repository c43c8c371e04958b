"""Messages and conflicts, drawn: tables 5 and 6."""

from collections.abc import Mapping

import altair as alt
import pandas as pd
import xarray as xr

from storagekit.axes import title
from storagekit.charts.marks import curves, paper_points
from storagekit.charts.theme import finished


def table5(messages: xr.DataArray, paper: Mapping[str, float]) -> alt.TopLevelMixin:
    """Messages per request beyond two for each replica."""
    rows = (
        (messages.sel(statistic="mean", drop=True) - 2 * messages.replicas)
        .rename("extra")
        .to_dataframe()
        .reset_index()
        .assign(series="ours")
    )
    said = rows.copy().assign(series="paper")
    said["extra"] = [
        paper[f"dsptf.table5.way{r}[{b}]"] - 2 * r for r, b in zip(said["replicas"], said["bricks"], strict=True)
    ]
    base = alt.Chart(pd.concat([said, rows])).encode(
        x=alt.X("bricks:O", title=title("bricks"), axis=alt.Axis(labelAngle=0)),
        y=alt.Y("extra", title="Messages per request beyond 2N"),
        color=alt.Color("replicas:N", title=title("replicas")),
        shape=alt.Shape("series:N", title=None),
    )
    chart = base.mark_point(size=90, filled=True, opacity=0.9).properties(width=420, height=260)
    return finished(chart, "Table 5: messages per request", "2N for N replicas, and N more for every further claim")


def table6(summary: xr.Dataset, paper: Mapping[str, float]) -> alt.TopLevelMixin:
    """Share of requests with conflicting claims."""
    titles = (title("replicas"), "Requests claimed twice (%)", "Reads, claim window")
    rows = summary.contested_requests.stack(setting=["read_share", "latency"])
    names = [f"{share:.0%}, {latency * 1e6:.0f} µs" for share, latency in rows.setting.values]
    rows = rows.drop_vars(["setting", "read_share", "latency"]).assign_coords(setting=names)
    said = [(r, 100 * paper[f"dsptf.table6.conflicts[{r}]"]) for r in summary.replicas.values.tolist()]
    chart = alt.layer(
        curves(rows, "replicas", "setting", titles=titles, factor=100), paper_points(said, "replicas", titles[:2])
    ).resolve_scale(color="independent")
    return finished(
        chart, "Table 6: conflicting claims", "16 outstanding; diamonds: the paper, which gives no share of reads"
    )
