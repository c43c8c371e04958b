"""Panels of an exhibit, each with a small heading, in one row or in several."""

from collections.abc import Sequence
from typing import Literal

import altair as alt

from storagekit.charts.marks import Layered

PANEL = 320


def scales(**channels: Literal["shared", "independent"]) -> alt.Resolve:
    """Return which scales panels share, for `resolve` of a chart of several panels."""
    return alt.Resolve(scale=alt.ScaleResolveMap(**channels))


def headed(chart: Layered, heading: str, width: float = PANEL, offset: float = 6) -> Layered:
    """Return a panel with a small heading, `offset` pixels above it."""
    return chart.properties(title=alt.TitleParams(heading, fontSize=12, offset=offset), width=width)


def side_by_side(panels: Sequence[Layered], *, legends: Literal["shared", "independent"]) -> alt.HConcatChart:
    """Return panels in a row, with one legend for all panels or one legend for each panel."""
    return alt.hconcat(*panels, spacing=30, resolve=scales(color=legends, shape=legends))


def in_rows(
    panels: Sequence[Layered], across: int, *, y: Literal["shared", "independent"] = "independent"
) -> alt.VConcatChart:
    """Return panels in rows of `across` panels, with one legend. y: whether the panels of a row share a scale."""
    rows = [
        alt.hconcat(*panels[first : first + across], spacing=30, resolve=scales(y=y))
        for first in range(0, len(panels), across)
    ]
    return alt.vconcat(*rows, spacing=24, resolve=scales(color="shared", shape="shared"))
