"""A page of the lab: a board with what stands above it, opened in JupyterLab or written as one HTML file."""

from collections.abc import Callable
from dataclasses import dataclass
from inspect import signature
from typing import TYPE_CHECKING, Any

from storagekit.charts import Board, live
from storagekit.core.kinds import called, hold, text

if TYPE_CHECKING:
    from ipywidgets import Box


@dataclass(frozen=True)
class LabPage:
    """title and lead: what stands above the board in an exported page, plain text; board: makes it, controls at their
    beginnings or where it is told to begin."""

    title: str
    lead: str
    board: Callable[..., Board]

    def __post_init__(self):
        hold(self, title=text, lead=text, board=called)

    def live(self, **begin: Any) -> "Box":
        """The board in JupyterLab, its controls at the values of `begin`, by what makes the board or by their names."""
        makes = signature(self.board).parameters
        made = self.board(**{name: value for name, value in begin.items() if name in makes})
        return live(made.beginning(**{name: value for name, value in begin.items() if name not in makes}))
