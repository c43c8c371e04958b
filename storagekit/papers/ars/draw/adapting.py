"""Chart of the unit interval of ARS as it adapts to a slow node."""

import altair as alt
import pandas as pd
import xarray as xr

from storagekit.charts.theme import PAPER, finished
from storagekit.papers.ars.draw.palette import BY_NAME, NAMES, UNMAPPED

FREE = -1


def adapting(data: xr.Dataset) -> alt.TopLevelMixin:
    """Return a chart that shows which node each offset of the unit interval belongs to.

    The horizontal axis is the offset; time runs downwards.

    Parameters
    ----------
    data : Dataset
        Result of `adapting`.

    Returns
    -------
    altair.TopLevelMixin
        The chart has the offset (0 to 1), the time in s, and a colour for each node.
    """
    every = float(data.time[0])
    width = 1 / data.sizes["subregion"]
    rows = (
        data[["owner", "filled"]]
        .to_dataframe()
        .reset_index()
        .query("owner != @FREE and filled > 0")
        .assign(
            begin=lambda row: row["subregion"] * width,
            end=lambda row: row["subregion"] * width + row["filled"],
            until=lambda row: row["time"] + every,
            node=lambda row: row["owner"].map(NAMES),
        )
    )
    last = float(data.time[-1]) + every
    whole = pd.DataFrame({"begin": [0.0], "end": [1.0], "time": [every], "until": [last]})
    x = alt.X("begin:Q", title="Offset in the unit interval", scale=alt.Scale(domain=[0, 1], nice=False))
    y = alt.Y("time:Q", title="Time (s)", scale=alt.Scale(domain=[last, every], nice=False))
    back = alt.Chart(whole).mark_rect(color=UNMAPPED).encode(x=x, x2="end:Q", y=y, y2="until:Q")
    present = [name for name in BY_NAME if name in set(rows["node"])]
    shade = alt.Scale(domain=present, range=[BY_NAME[name] for name in present])
    mapped = (
        alt.Chart(rows)
        .mark_rect()
        .encode(x=x, x2="end:Q", y=y, y2="until:Q", color=alt.Color("node:N", title="Node", scale=shade, sort=present))
    )
    edges = pd.DataFrame({"at": [number * width for number in range(1, data.sizes["subregion"])]})
    grid = alt.Chart(edges).mark_rule(color="white", strokeWidth=2).encode(x="at:Q")
    moments = pd.DataFrame({"at": [data.attrs["slows"], data.attrs["recovers"]], "words": ["half speed", "full speed"]})
    rule = alt.Chart(moments).mark_rule(color="black", strokeDash=[4, 3]).encode(y="at:Q")
    text = (
        alt.Chart(moments).mark_text(align="left", dx=6, color=PAPER).encode(x=alt.value(560), y="at:Q", text="words")
    )
    return finished(
        alt.layer(back, mapped, grid, rule, text).properties(width=560, height=400),
        "The unit interval of a client while a node is slow",
        f"{_share(data)}",
        f"All requests are reads of {data.attrs['setting']} data. The client computes the performance of the nodes "
        f"every {data.attrs['window']:g} s. Grey parts are not mapped to a node: a key with an offset in a grey part "
        "is hashed again.",
    )


def _share(data: xr.Dataset) -> str:
    """Return a sentence with the slow node's share of the mapped length before, during and after its slowdown."""
    of = data.attrs
    share = data.filled.where(data.owner == of["node"]).sum("subregion") / data.filled.sum("subregion")
    slow = (data.time >= of["slows"]) & (data.time < of["recovers"])
    before, while_slow, after = (
        float(share.where(when).mean()) for when in (data.time < of["slows"], slow, data.time >= of["recovers"])
    )
    return (
        f"Node {of['node']} has {before:.0%} of the mapped length before it slows down, {while_slow:.0%} while it is "
        f"slow, and {after:.0%} afterwards."
    )
