"""Panels of an exhibit: a small heading each, in a row or in several."""

from collections.abc import Sequence
from typing import Literal

import altair as alt

from storagekit.charts.marks import Layered

PANEL = 320


def headed(chart: Layered, heading: str, width: float = PANEL, offset: float = 6) -> Layered:
    """A panel with a small heading of its own, `offset` above it."""
    return chart.properties(title=alt.TitleParams(heading, fontSize=12, offset=offset), width=width)


def side_by_side(panels: Sequence[Layered], *, legends: Literal["shared", "independent"]) -> alt.HConcatChart:
    """Panels in a row, with one legend for all or one for each."""
    return alt.hconcat(*panels, spacing=30).resolve_scale(color=legends, shape=legends)


def in_rows(
    panels: Sequence[Layered], across: int, *, y: Literal["shared", "independent"] = "independent"
) -> alt.VConcatChart:
    """So many panels `across` in each row, with one legend for all; y: whether the panels of a row have one scale."""
    rows = [
        alt.hconcat(*panels[first : first + across], spacing=30).resolve_scale(y=y)
        for first in range(0, len(panels), across)
    ]
    return alt.vconcat(*rows, spacing=24).resolve_scale(color="shared", shape="shared")
