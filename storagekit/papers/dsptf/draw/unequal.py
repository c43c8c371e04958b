"""Bricks of unequal speed, drawn: table 4, and the sweep of its slow brick."""

from collections.abc import Mapping, Sequence

import altair as alt
import pandas as pd
import xarray as xr

from storagekit.axes import title
from storagekit.charts.marks import Layered, curves, paper_scale, table
from storagekit.charts.panels import headed, side_by_side
from storagekit.charts.theme import HEIGHT, finished
from storagekit.papers.dsptf.draw.palette import FIVE, KEYS, room_for, schemes_in

BRICKS = {0: "fast", 1: "slow"}
MEANINGS = {"service": "all of an access", "rotation": "the rotation", "seek": "the seek"}
# and what is no half of the speed
ALL = {**{name: f"{words}, twice" for name, words in MEANINGS.items()}, "degraded": "all of an access, 1.5 times"}
THROUGHPUT = "Throughput (IO/s)"


def table4(throughput: xr.DataArray, paper: Mapping[str, float]) -> alt.TopLevelMixin:
    """Throughput of the fast brick (left) and the slow one (right) by scheme, a bar for each meaning of half the speed.

    throughput: over `scheme`, `slowness`, `brick` and `statistic`.
    """
    rows, order = table(throughput), schemes_in(throughput, FIVE)
    rows["slowness"] = [ALL[name] for name in rows["slowness"]]
    said = pd.DataFrame(
        [
            (scheme, paper[f"dsptf.table4.{name}[{KEYS[scheme]}]"], name)
            for scheme in order
            for name in BRICKS.values()
            if scheme in KEYS
        ],
        columns=["scheme", "paper", "brick"],
    )
    top = room_for(rows, *said["paper"])
    panels = [
        headed(
            _grouped(rows.query("brick == @number"), said.query("brick == @name"), top, order).properties(
                height=HEIGHT
            ),
            f"The {name} brick",
            380,
        )
        for number, name in BRICKS.items()
    ]
    return finished(
        side_by_side(panels, legends="shared"),
        "Table 4: a fast and a slow brick",
        "90% reads, 16 outstanding; dash: the paper; weighted hashing sends 2 to 1, 3 to 2 where all takes 1.5 times as long",
    )


def _grouped(rows: pd.DataFrame, said: pd.DataFrame, top: float, order: Sequence[str]) -> Layered:
    """Bars by scheme, side by side for each meaning, and the paper's dash across them."""
    meanings = list(ALL.values())
    x = alt.X("scheme:N", title=None, sort=list(order), axis=alt.Axis(labelAngle=0))
    offset = alt.XOffset("slowness:N", sort=meanings)
    shades = alt.Scale(domain=meanings, range=["#6baed6", "#fdbe85", "#a1d99b", "#bcbddc"])
    base = alt.Chart(rows).encode(x=x, xOffset=offset)
    height = alt.Y("mean", title=f"{THROUGHPUT}", scale=alt.Scale(domain=[0, top]))
    bar = base.mark_bar().encode(y=height, color=alt.Color("slowness:N", title="Takes as long", scale=shades))
    whisker = base.mark_rule(strokeWidth=1.5).encode(y="low", y2="high")
    number = base.mark_text(fontSize=10, baseline="bottom").encode(
        y=alt.value(HEIGHT - 4), text=alt.Text("mean", format=".0f")
    )
    dash = (
        alt.Chart(said.assign(series="paper"))
        .mark_tick(thickness=3, width={"band": 0.9})
        .encode(x=x, y="paper", fill=alt.Fill("series:N", title=None, scale=paper_scale()))
    )
    return alt.layer(bar, whisker, number, dash)


def speeds(throughput: xr.DataArray) -> alt.TopLevelMixin:
    """Throughput of both bricks against the slow one's `speed` by scheme; rows for bricks, columns for meanings."""
    top = alt.Scale(domain=[0, 1.05 * float(throughput.sel(statistic="mean").max())])
    slower = alt.Scale(reverse=True, nice=False, domain=[0, 100])
    rows = []
    for brick, name in BRICKS.items():
        panels = []
        for number, slowness in enumerate(name for name in ALL if name in throughput.slowness):
            titles = (title("speed") + " (%)", THROUGHPUT if number == 0 else "", title("scheme"))
            drawn = curves(
                throughput.sel(brick=brick, slowness=slowness),
                "speed",
                "scheme",
                titles=titles,
                x_factor=100,
                x_scale=slower,
                y_scale=top,
                order=schemes_in(throughput, FIVE),
            )
            what = f"as {MEANINGS[slowness]} slows" if slowness in MEANINGS else "degraded as much"
            panels.append(headed(drawn.properties(height=190), f"{name.capitalize()} brick, {what}", 220))
        rows.append(side_by_side(panels, legends="shared"))
    return finished(
        alt.vconcat(*rows).resolve_scale(color="shared", strokeDash="shared"),
        "The slow brick slows further",
        "the loop of table 4; speed as it is said: at half of it slow parts take twice as long, degraded 1.5 times",
    )
