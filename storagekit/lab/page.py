"""A page of the lab: a title, an introduction and an interactive part, for JupyterLab or as one HTML file."""

from collections.abc import Callable
from dataclasses import dataclass
from inspect import signature
from typing import TYPE_CHECKING, Annotated, Any

from storagekit.charts import Dashboard, live
from storagekit.core.validation import called, validate_fields

if TYPE_CHECKING:
    from ipywidgets import Box


@dataclass(frozen=True)
class LabPage:
    """A page of the lab.

    Parameters
    ----------
    title, lead : str
        Plain text at the top of an exported page: the title, and the introduction below it.
    dashboard : callable
        Function that returns the interactive part, a `Dashboard`. Its arguments are initial values of controls.

    Raises
    ------
    InputError
        If `dashboard` cannot be called.
    """

    title: str
    lead: str
    dashboard: Annotated[Callable[..., Dashboard], called]

    def __post_init__(self):
        validate_fields(self)

    def live(self, **begin: Any) -> "Box":
        """Return the interactive part of the page for JupyterLab.

        `begin` gives initial values, keyed by the arguments of `dashboard` or by the names of controls.
        """
        makes = signature(self.dashboard).parameters
        made = self.dashboard(**{name: value for name, value in begin.items() if name in makes})
        return live(made.beginning(**{name: value for name, value in begin.items() if name not in makes}))
