"""Charts of bricks of unequal speed: table 4, and other speeds of the slow brick."""

from collections.abc import Mapping, Sequence

import altair as alt
import numpy as np
import pandas as pd
import xarray as xr

from storagekit.charts.marks import STANDING, Layered, curves, paper_fill, paper_points, positions, table
from storagekit.charts.panels import headed, side_by_side
from storagekit.charts.theme import finished
from storagekit.charts.words import listed, span
from storagekit.core.axes import title
from storagekit.papers.dsptf.claims import FAST, SLOW, TABLE4
from storagekit.papers.dsptf.draw.palette import FIVE, PERCENT, caption, room_for, schemes_in

BRICKS = {FAST: "fast", SLOW: "slow"}
MEANINGS = {"service": "the whole access", "rotation": "the rotation", "seek": "the seek"}
# Words for all meanings of the speed. Under "degraded" the speed is not halved.
ALL = {**{name: f"{words}, twice" for name, words in MEANINGS.items()}, "degraded": "the whole access, 1.5 times"}
THROUGHPUT = "Throughput (IO/s)"
# Height of a bar in a group, pixels.
ROW = 14


def table4(throughput: xr.DataArray, paper: Mapping[str, float]) -> alt.TopLevelMixin:
    """Draw the throughput of the fast and the slow brick by scheme, with a bar for each meaning of half the speed.

    Parameters
    ----------
    throughput : DataArray
        Throughput over `scheme`, `slowness`, `brick` and `statistic`.
    paper : mapping of str to float
        Numbers of the paper by identifier of the claim.

    Returns
    -------
    altair.TopLevelMixin
        The throughput is in IO/s.
    """
    rows, order = table(throughput), schemes_in(throughput, FIVE)
    said = TABLE4.numbers(paper).reindex(scheme=order)
    rows["slowness"] = [ALL[name] for name in rows["slowness"]]
    top = 1.1 * room_for(rows, *said.values.ravel())
    panels = [
        headed(
            _grouped(rows.query("brick == @number"), said.sel(brick=number), top, order, named=number == 0),
            f"The {name} brick",
            360,
        )
        for number, name in BRICKS.items()
    ]
    off = _off(throughput, said)
    found = []
    if off:
        nearest = min(off, key=lambda name: off[name])
        others = span([PERCENT * far for name, far in off.items() if name != nearest])
        found = [
            f"The meaning of half the speed that is nearest to the paper is: {ALL[nearest]}. Its throughputs differ "
            f"from the paper by {PERCENT * off[nearest]:.0f}% on average (other meanings: {others}%)"
        ]
    return finished(
        side_by_side(panels, legends="shared"),
        "Table 4: throughput of a fast and a slow brick",
        caption(found, order),
        "The loop has 90% reads and 16 requests outstanding. Half the speed can mean that the whole access, the "
        "rotation or the seek takes twice as long, or that the whole access takes 1.5 times as long. Weighted hashing "
        "sends two of three requests to the fast brick, or three of five in the last case. Dashes are the paper's "
        "values, and whiskers are 95% intervals.",
        legends="bottom",
    )


def _off(throughput: xr.DataArray, said: xr.DataArray) -> dict[str, float]:
    """Return the mean relative difference from the paper's throughputs for each meaning of half the speed."""
    apart = abs(throughput.sel(statistic="mean") / said - 1).mean(["scheme", "brick"]).dropna("slowness")
    return dict(zip(apart.slowness.values.tolist(), apart.values.tolist(), strict=True))


def _grouped(rows: pd.DataFrame, said: xr.DataArray, top: float, order: Sequence[str], named: bool) -> Layered:
    """Return a group of horizontal bars for each scheme, with a dash for the paper's value.

    A group has a bar for each meaning of half the speed.
    """
    meanings = [name for name in ALL.values() if name in set(rows["slowness"])]
    y = alt.Y(
        "scheme:N", title=None, sort=list(order), axis=alt.Axis() if named else alt.Axis(labels=False, ticks=False)
    )
    offset = alt.YOffset("slowness:N", sort=meanings)
    shades = alt.Scale(domain=list(ALL.values()), range=["#6baed6", "#fdbe85", "#a1d99b", "#bcbddc"])
    base = alt.Chart(rows).encode(y=y, yOffset=offset)
    width = alt.X("mean", title=THROUGHPUT, scale=alt.Scale(domain=[0, top]))
    bar = base.mark_bar().encode(x=width, color=alt.Color("slowness:N", title="Takes longer", scale=shades))
    whisker = base.mark_rule(strokeWidth=1.5).encode(x="low", x2="high")
    number = base.mark_text(fontSize=10, align="left").encode(x=alt.value(4), text=alt.Text("mean", format=".0f"))
    dash = (
        alt.Chart(pd.DataFrame(positions(said), columns=["scheme", "paper"]).assign(series="paper"))
        .mark_tick(thickness=3, height={"band": 0.95}, opacity=1)
        .encode(y=y, x="paper", fill=paper_fill(STANDING))
    )
    return alt.layer(bar, whisker, number, dash).properties(height=ROW * len(order) * len(meanings))


def speeds(throughput: xr.DataArray, paper: Mapping[str, float]) -> alt.TopLevelMixin:
    """Draw the throughput of both bricks against the speed of the slow brick.

    Each brick has a row of panels, and each meaning of the speed has a column.

    Parameters
    ----------
    throughput : DataArray
        Throughput over `scheme`, `slowness`, `brick`, `speed` and `statistic`.
    paper : mapping of str to float
        Numbers of the paper by identifier of the claim.

    Returns
    -------
    altair.TopLevelMixin
        The throughput is in IO/s, and the speed in % of full speed.

    Notes
    -----
    The paper's throughputs of table 4 are drawn at half the speed under every meaning.
    """
    order = schemes_in(throughput, FIVE)
    said = TABLE4.numbers(paper).reindex(scheme=order)
    most = np.nanmax([throughput.sel(statistic="mean").max(), *said.values.ravel()])
    top = alt.Scale(domain=[0, 1.05 * float(most)])
    slower = alt.Scale(reverse=True, nice=False, domain=[-5, 105])
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
                order=order,
            )
            half = [(50.0, value) for _, value in positions(said.sel(brick=brick))]
            marked = alt.layer(drawn, paper_points(half, "speed", titles[:2]))
            what = f"{MEANINGS[slowness]} is slower" if slowness in MEANINGS else "the whole access is degraded"
            panels.append(headed(marked.properties(height=190), f"{name.capitalize()} brick, {what}", 205))
        rows.append(side_by_side(panels, legends="shared"))
    fast = throughput.sel(brick=0, statistic="mean")
    left = PERCENT * fast.sel(speed=0.5, method="nearest") / fast.sel(speed=1.0)
    kept = [
        f"{span(left.sel(scheme=scheme).values)}% ({scheme})" for scheme in ("D-SPTF", "Hashing") if scheme in order
    ]
    found = (
        [f"With a slow brick at half the speed, the fast brick keeps {listed(kept)} of its throughput"] if kept else []
    )
    return finished(
        alt.vconcat(*rows).resolve_scale(color="shared", shape="shared", strokeDash="shared"),
        "Throughput of both bricks by the speed of the slow brick",
        caption(found, order),
        "The loop is the loop of table 4. At half the speed, a part of the access that is slower takes twice as long, "
        "and a whole access that is degraded takes 1.5 times as long. Diamonds are the values of the paper's table 4. "
        "Whiskers are 95% intervals.",
        legends="bottom",
    )
