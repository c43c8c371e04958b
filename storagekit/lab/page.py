"""A page of the lab: a board with its introduction, opened in JupyterLab or written as one HTML file."""

from collections.abc import Callable
from dataclasses import dataclass
from inspect import signature
from typing import TYPE_CHECKING, Annotated, Any

from storagekit.charts import Board, live
from storagekit.core.validation import called, validate_fields

if TYPE_CHECKING:
    from ipywidgets import Box


@dataclass(frozen=True)
class LabPage:
    """A page of the lab.

    title and lead: plain text above the board in an exported page. board: function that returns the board; its
    arguments are initial values of controls.
    """

    title: str
    lead: str
    board: Annotated[Callable[..., Board], called]

    def __post_init__(self):
        validate_fields(self)

    def live(self, **begin: Any) -> "Box":
        """Return the board for JupyterLab.

        `begin` sets initial values by the arguments of `board` or by the names of controls.
        """
        makes = signature(self.board).parameters
        made = self.board(**{name: value for name, value in begin.items() if name in makes})
        return live(made.beginning(**{name: value for name, value in begin.items() if name not in makes}))
