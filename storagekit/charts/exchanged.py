"""A chart drawn once, of which every answer brings other rows: what a page needs that is redrawn while somebody drags."""

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from functools import cache
from typing import Any

import altair as alt

Rows = Sequence[Mapping[str, Any]]


class Exchanged(alt.TopLevelMixin):
    """A chart over named data (`alt.NamedData`), and the rows of each name.

    draw: makes the chart, whose titles, scales and parameters are the same for all rows; it is called once, as building a
    chart of a dozen layers takes a third of a second.
    """

    def __init__(self, draw: Callable[[], alt.TopLevelMixin], rows: Mapping[str, Rows]):
        self._draw, self._rows = draw, rows

    def to_dict(self, validate: bool = True, **_more: Any) -> dict[str, Any]:
        spec = deepcopy(_spec(self._draw))
        rows = {name: list(some) for name, some in self._rows.items()}
        return spec | {"datasets": spec.get("datasets", {}) | rows}


@cache
def _spec(draw: Callable[[], alt.TopLevelMixin]) -> dict[str, Any]:
    return draw().to_dict()
