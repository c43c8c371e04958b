"""Chart of figures 5 and 7: requests of a stream to two bricks, with their delays."""

from collections.abc import Mapping

import altair as alt
import numpy as np
import xarray as xr

from storagekit.charts.panels import headed, side_by_side
from storagekit.charts.theme import finished
from storagekit.papers.dsfq.draw.palette import BLUE, ORANGE

HEIGHT = 90
CLAIM = "dsfq.example_delays"
# Names of the requests to A in the claims, for one coordinator, and names of the two coordinators.
ONE, TWO = ("first", "second", "third"), ("first", "second")


def example_delays(data: xr.Dataset, paper: Mapping[str, float]) -> alt.TopLevelMixin:
    """Return a chart with a box for each request.

    A box shows the delay of the request, its delay in the paper, and its coordinator.

    Parameters
    ----------
    data : Dataset
        Result of `example_delays`.
    paper : mapping of str to float
        Values of the paper by claim.

    Returns
    -------
    altair.TopLevelMixin
        The chart has a panel for each setting of `data`. The delays are costs.
    """
    said = _said(data, paper)
    rows = data.assign(paper=said).to_dataframe().reset_index()
    rows["said"] = ["" if np.isnan(one) else f"paper: {one:g}" for one in rows["paper"].to_numpy()]
    panels = []
    for setting in data.setting.values.tolist():
        base = alt.Chart(rows[rows["setting"] == setting]).encode(
            x=alt.X("request:O", title="Request of the stream", axis=alt.Axis(labelAngle=0)),
            y=alt.Y("brick:N", title="Brick"),
        )
        scale = alt.Scale(domain=[1, 2], range=[BLUE, ORANGE])
        box = base.mark_rect(stroke="white", strokeWidth=3).encode(
            color=alt.Color("coordinator:N", title="Coordinator", scale=scale)
        )
        text = base.mark_text(fontSize=15, fontWeight="bold", color="white", dy=-4).encode(text="delay:Q")
        below = base.mark_text(fontSize=10, color="white", dy=12).encode(text="said:N")
        panels.append(headed(alt.layer(box, text, below).properties(height=HEIGHT), setting.capitalize(), 280))
    given, alike = int(said.notnull().sum()), int((said == data.delay).sum())
    return finished(
        side_by_side(panels, legends="shared"),
        "Figures 5 and 7: delays of the requests",
        f"{alike} of {given} simulated delays equal the delays of the paper.",
        "The delay of a request is the cost that its coordinator has sent to the other brick since its last request to "
        "this brick.",
    )


def _said(data: xr.Dataset, paper: Mapping[str, float]) -> xr.DataArray:
    """Return the delays of the paper for requests to A, NaN for other requests."""
    said = xr.full_like(data.delay, np.nan, dtype=float)
    to_a = np.flatnonzero(data.brick.values == "A")
    for position, name in zip(to_a, ONE, strict=False):
        said[0, position] = paper.get(f"{CLAIM}.one[{name}]", np.nan)
    coordinator = data.coordinator.values[1]
    for number, name in enumerate(TWO, 1):
        for index, position in enumerate(to_a[coordinator[to_a] == number]):
            said[1, position] = paper.get(f"{CLAIM}.two[{name},{index}]", np.nan)
    return said
