"""Charts of the cluster: the nodes of table I and the volumes of table II."""

import altair as alt
import pandas as pd
import xarray as xr

from storagekit.charts.panels import headed
from storagekit.charts.paper import figures
from storagekit.charts.theme import finished
from storagekit.papers.ars.draw.palette import BY_NAME, NAMES, PERCENT

GB, MB, KB = 2**30, 2**20, 2**10
# Columns of table I: variable, heading, factor to the unit shown, and format.
FIGURES = (
    ("capacity", "GB per disk", 1e-9, ",.1f"),
    ("rpm", "rpm", 1.0, ",.0f"),
    ("seek", "Mean seek (ms)", 1e3, ".1f"),
)
# Columns of the cells of a table.
CELL = ["row", "figure", "ours", "paper"]
PLACED = {"scaled": "Scaled until the volumes fit", "wrapped": "Published size, wrapped addresses"}


def table1(data: xr.Dataset) -> alt.TopLevelMixin:
    """Return a table of the properties of each node. Below each simulated number is the number of the paper.

    Parameters
    ----------
    data : Dataset
        Result of `table1`.

    Returns
    -------
    altair.TopLevelMixin
        The table has a row for each node. Sizes are in GB of 10^9 bytes, and seek times in ms.
    """
    rows = []
    for node in data.node.values.tolist():
        one = data.sel(node=node)
        for name, heading, factor, form in FIGURES:
            ours, said = (format(float(one[name].sel(kind=kind)) * factor, form) for kind in ("ours", "published"))
            rows.append((NAMES[node], heading, ours, said))
        rows.append((NAMES[node], "GB for data", format(float(one.room) * 1e-9, ",.1f"), ""))
    drawn = figures(pd.DataFrame(rows, columns=CELL), "row", "figure").properties(width=480)
    return finished(
        drawn,
        "Table I: properties of the nodes",
        _farthest(data),
        "Each cell shows the simulated value, and the value of the paper below it.",
    )


def _farthest(data: xr.Dataset) -> str:
    """Return a sentence with the simulated number that has the largest relative difference from the paper."""
    off = {
        (heading, node): float(ours / said) - 1
        for name, heading, _, _ in FIGURES
        for node, ours, said in zip(
            data.node.values.tolist(), data[name].sel(kind="ours"), data[name].sel(kind="published"), strict=True
        )
    }
    (heading, node), most = max(off.items(), key=lambda one: abs(one[1]))
    what = heading.partition(" (")[0].lower() if "(" in heading else heading
    return f"The largest difference from the paper is {most:+.0%} ({what} of node {node})."


def table2(data: xr.Dataset, nodes: xr.Dataset) -> alt.TopLevelMixin:
    """Return a table of the volumes for each layout, and bars of the percentage of segments with a part on each node.

    Parameters
    ----------
    data : Dataset
        Result of `table2`.
    nodes : Dataset
        Result of `table1`.

    Returns
    -------
    altair.TopLevelMixin
        Sizes are in GB of 2^30 bytes and MB of 2^20 bytes.
    """
    panels = []
    for name in data.layout.values.tolist():
        one = data.sel(layout=name)
        left = headed(figures(_figures(one), "row", "figure"), PLACED[name], 330)
        panels.append(alt.hconcat(left, _where(one), spacing=40, bounds="flush"))
    return finished(
        alt.vconcat(*panels, spacing=36),
        "Table II: properties of the volumes",
        _room(data, nodes),
        "A GB has 2^30 bytes.",
    )


def _room(data: xr.Dataset, nodes: xr.Dataset) -> str:
    """Return sentences on the space that the published volumes need and the nodes have, and on nodes without data."""
    wanted, has = float(data.stored.sel(layout="wrapped").sum()) / GB, float(nodes.room.sum()) / GB
    on = data.on.sel(layout="scaled")
    left = [
        f"node {int(one.node)} has no {one.volume.item()} data"
        for one in on.stack(pair=["volume", "node"]).transpose("pair")
        if float(one) == 0
    ]
    text = " and ".join(left) or "every node has a part of each volume"
    return f"The published volumes need {wanted:.0f} GB, but the nodes have {has:.0f} GB. In the scaled layout {text}."


def _figures(one: xr.Dataset) -> pd.DataFrame:
    rows = []
    for volume in one.volume.values.tolist():
        its = one.sel(volume=volume)
        code = f"{int(its.needed)} of {int(its.parts)}" if int(its.needed) > 1 else f"{int(its.parts)} copies"
        said = {
            "Data (GB)": f"{float(its.capacity) / GB:.0f}",
            "Stored (GB)": f"{float(its.stored) / GB:.0f}",
            "Segment (MB)": f"{float(its.segment) / MB:.0f}",
            "Kept as": code,
        }
        rows += [(volume, heading, words, "") for heading, words in said.items()]
    return pd.DataFrame(rows, columns=CELL)


def _where(one: xr.Dataset) -> alt.Chart:
    """Return bars of the percentage of the segments that have a copy or fragment on each node."""
    rows = (one.on * PERCENT).rename("share").reset_coords(drop=True).to_dataframe().reset_index()
    rows["name"] = rows["node"].map(NAMES)
    shade = alt.Scale(domain=list(BY_NAME), range=list(BY_NAME.values()))
    return (
        alt.Chart(rows)
        .mark_bar()
        .encode(
            x=alt.X("share:Q", title="Segments that have a part on the node (%)", scale=alt.Scale(domain=[0, 100])),
            y=alt.Y("volume:N", title=None, sort=None, axis=alt.Axis(labels=False, ticks=False)),
            yOffset=alt.YOffset("name:N", sort=list(BY_NAME)),
            color=alt.Color("name:N", title="Node", scale=shade),
        )
        .properties(width=240, height=46 * one.sizes["volume"])
    )
