"""Charts of the unit interval: number of hashes needed to find a node, and fraction of keys that move."""

from collections.abc import Mapping

import altair as alt
import numpy as np
import pandas as pd
import xarray as xr

from storagekit.charts.bars import grouped
from storagekit.charts.marks import DASH, AxisStyle, Layered
from storagekit.charts.panels import headed
from storagekit.charts.theme import HEIGHT, PAPER, finished
from storagekit.papers.ars.draw.palette import BLUE, GREEN, ORANGE, PERCENT, PURPLE

KINDS = {"least": "minimum", "tuned": "tuned", "afresh": "rebuilt"}
COLOUR = dict(zip(KINDS.values(), (BLUE, GREEN, ORANGE), strict=True))
# Word in the legend and number of nodes to find, by variable.
FOUND = {"probes": ("one node", 1), "probes_m": ("two nodes", 2)}


def moves(seen: xr.Dataset, moved: xr.Dataset, paper: Mapping[str, float]) -> alt.TopLevelMixin:
    """Return charts of the number of hashes needed to find a node, and of the fraction of keys that move.

    Keys move when the performance metrics change. Both charts have a mark for each number of nodes.

    Parameters
    ----------
    seen : Dataset
        Result of `histories`.
    moved : Dataset
        Result of `moves`, averaged over the dimension `change`. The new dimension `statistic` contains the mean and its
        interval.
    paper : mapping of str to float
        Numbers of the paper by identifier of the claim. "ars.algorithm.probes" is the number of hashes needed to find
        one node.

    Returns
    -------
    altair.TopLevelMixin
        The first chart has the number of hashes per key, and the second chart the moved keys in %.
    """
    kinds = xr.concat([moved[name] for name in KINDS], xr.Variable("kind", list(KINDS.values())))
    side = AxisStyle("Keys that move (%)", PERCENT)
    bars = grouped(kinds, "nodes", "kind", COLOUR, side, "Interval", heading="Nodes", form=".0f", width=64)
    panels = [
        headed(_probes(seen, paper["ars.algorithm.probes"]), "Hashes per key"),
        headed(bars, "Keys that move after a change"),
    ]
    mean = moved.sel(statistic="mean")
    stay = 1 - float(mean.strayed.mean()) / float(mean.covered.mean())
    tuned, afresh = (float(mean[name].mean()) for name in ("tuned", "afresh"))
    worst = max(float(abs(seen[name] / count).max()) for name, (_, count) in FOUND.items())
    return finished(
        alt.hconcat(*panels, spacing=30).resolve_scale(color="independent", fill="independent"),
        "The unit interval: number of hashes needed to find a node, and fraction of keys that move to another node",
        f"The mean number of hashes per node is at most {worst:.2f}. On average, {tuned:.0%} of the keys move if the "
        f"interval is tuned, and {afresh:.0%} if it is rebuilt.",
        f"Of the keys whose offset still belongs to the same node after a change, {stay:.1%} stay with this node "
        "(paper: with high probability). The performance metrics change at random. The numbers of hashes are means "
        f"over {int(seen.tunes.sum()):,} intervals. The fractions of keys are means over "
        f"{moved.attrs['replications']} changes. Whiskers are 95% intervals.",
    )


def _probes(seen: xr.Dataset, said: float) -> Layered:
    """Return points of the mean number of hashes, and lines at the paper's number.

    said: the paper's number of hashes for each node that a search must find.
    """
    rows = pd.concat(
        [
            pd.DataFrame({"nodes": seen.nodes.values, "value": np.ravel(seen[name].values), "found": words})
            for name, (words, _) in FOUND.items()
        ]
    )
    names = [words for words, _ in FOUND.values()]
    shade = alt.Scale(domain=names, range=[GREEN, PURPLE])
    key = alt.Legend(symbolType="circle", symbolOpacity=1)
    top = alt.Scale(
        domain=[0, 1.25 * max(float(rows["value"].to_numpy().max()), said * max(count for _, count in FOUND.values()))]
    )
    point = (
        alt.Chart(rows)
        .mark_point(filled=True, size=70, opacity=1)
        .encode(
            x=alt.X("nodes:O", title="Nodes", axis=alt.Axis(labelAngle=0)),
            y=alt.Y("value:Q", title="Hashes", scale=top),
            color=alt.Color("found:N", title="Nodes to find", scale=shade, sort=names, legend=key),
        )
    )
    paper = pd.DataFrame({"said": [said * count for _, count in FOUND.values()], "series": "paper"})
    line = alt.Fill(
        "series:N",
        title=None,
        scale=alt.Scale(domain=["paper"], range=[PAPER]),
        legend=alt.Legend(symbolType=DASH, symbolStrokeWidth=0),
    )
    rule = alt.Chart(paper).mark_rule(color=PAPER, strokeDash=[2, 3]).encode(y="said:Q", fill=line)
    return alt.layer(rule, point).properties(height=HEIGHT)
