"""What the unit interval promises, drawn: hashes to find a node, and keys that move."""

import altair as alt
import pandas as pd
import xarray as xr

from storagekit.charts.marks import Layered
from storagekit.charts.panels import headed, side_by_side
from storagekit.charts.theme import HEIGHT, PAPER, finished
from storagekit.papers.ars.draw.palette import BLUE, GREEN, ORANGE, PERCENT, PURPLE

KINDS = {"least": "the least there must", "tuned": "tuned", "afresh": "built afresh"}
COLOUR = dict(zip(KINDS.values(), (BLUE, GREEN, ORANGE), strict=True))
FOUND = {"probes": "one node", "probes_m": "two nodes"}


def moves(seen: xr.Dataset, moved: xr.Dataset) -> alt.TopLevelMixin:
    """Hashes for a key, and keys that move with a change of metrics, by number of nodes. seen, moved: of `histories` and
    `moves`."""
    rows = pd.concat([_mean(moved[name], PERCENT).assign(kind=words) for name, words in KINDS.items()])
    shade = alt.Scale(domain=list(COLOUR), range=list(COLOUR.values()))
    right = (
        alt.Chart(rows)
        .mark_bar()
        .encode(
            x=_nodes(),
            xOffset=alt.XOffset("kind:N", sort=list(COLOUR)),
            y=alt.Y("value:Q", title="Keys that move (%)"),
            color=alt.Color("kind:N", title="Interval", scale=shade, sort=list(COLOUR)),
        )
        .properties(height=HEIGHT)
    )
    panels = [
        headed(_probes(seen), "Hashes to find"),
        headed(alt.layer(right), "Keys that go elsewhere after a change"),
    ]
    return finished(
        side_by_side(panels, legends="independent"),
        "The unit interval: two hashes a node, few keys moving",
        f"metrics that wander at random; means over {int(seen.tunes.sum()):,} intervals and {moved.sizes['change']} changes",
    )


def _probes(seen: xr.Dataset) -> Layered:
    rows = pd.concat([_mean(seen[name], 1.0).assign(found=words) for name, words in FOUND.items()])
    shade = alt.Scale(domain=list(FOUND.values()), range=[GREEN, PURPLE])
    point = (
        alt.Chart(rows)
        .mark_point(filled=True, size=70, opacity=1)
        .encode(
            x=_nodes(),
            y=alt.Y("value:Q", title="Hashes", scale=alt.Scale(domain=[0, 5])),
            color=alt.Color("found:N", title="Of so many", scale=shade, sort=list(FOUND.values())),
        )
    )
    rule = alt.Chart(pd.DataFrame({"said": [2.0, 4.0]})).mark_rule(color=PAPER, strokeDash=[2, 3]).encode(y="said:Q")
    return alt.layer(rule, point).properties(height=HEIGHT)


def _nodes() -> alt.X:
    return alt.X("nodes:O", title="Nodes", axis=alt.Axis(labelAngle=0))


def _mean(values: xr.DataArray, factor: float) -> pd.DataFrame:
    over = [dim for dim in values.dims if dim != "nodes"]
    return (values.mean(over) * factor).rename("value").reset_coords(drop=True).to_dataframe().reset_index()
