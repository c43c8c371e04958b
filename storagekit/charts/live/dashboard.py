"""A dashboard: controls, a function that computes an answer, its text and its chart."""

import io
import json
import warnings
from collections.abc import Callable, Mapping
from contextlib import redirect_stderr
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import altair as alt
import pandas as pd
from altair.utils.schemapi import debug_mode

from storagekit.charts.live import words as wording
from storagekit.charts.live.controls import Control
from storagekit.core.errors import InputError
from storagekit.core.validation import called, instance_of, validate_fields

if TYPE_CHECKING:
    from ipywidgets import ValueWidget

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class DashboardContent:
    """The content of a dashboard at given values of its controls.

    Parameters
    ----------
    said : str
        Text as HTML.
    spec : dict or None
        The chart in Vega-Lite, which refers to its tables of rows by name. None if there is no chart for these values.
    data : dict of str to list of dict
        The tables of rows by name. The names are the names in the `Template`, or `rows_0`, `rows_1` and so on.
    possible : bool
        Whether there is an answer for these values, by default true. If it is false, `said` is the message of the
        error.
    """

    said: str
    spec: dict[str, Any] | None = field(repr=False)
    data: dict[str, Rows] = field(repr=False)
    possible: bool = True


@dataclass(frozen=True)
class Dashboard:
    """A question with controls.

    Parameters
    ----------
    answer : callable
        Function of the values of the controls, by their names. It raises InputError if the values are not possible
        together; the dashboard then shows the message of the error.
    draw : callable
        Function that returns the chart of an answer, or fills a `Template`, which is faster. If only the rows of the
        chart change, only the rows are sent. Titles and scales should therefore be the same for every answer, and each
        parameter of the chart needs a fixed name.
    controls : mapping of str to Control
        The controls by the argument names of `answer`, in the order of display. A widget of ipywidgets is possible too,
        except in an exported page.
    words : callable
        Function that returns an answer as text, with the headline first, or as `AnswerText`; by default the text is the
        printed form of the answer.
    waiting : str
        Text that is shown until the first answer is computed, by default none. If it is given, the dashboard is shown
        before the first call of `answer`.

    Raises
    ------
    InputError
        If a function cannot be called, or if `controls` is not a mapping.
    """

    answer: Annotated[Callable[..., Any], called]
    draw: Annotated["Callable[[Any], alt.TopLevelMixin | FilledDashboard]", called]
    controls: Annotated[Mapping[str, "Control | ValueWidget"], instance_of(Mapping, "controls by name")]
    words: Annotated[Callable[[Any], Any], called] = str
    waiting: str = ""

    def __post_init__(self):
        validate_fields(self)

    def beginning(self, **values: Any) -> "Dashboard":
        """Return the same dashboard with other initial values of some controls. The keywords are the names of the controls.

        Raises InputError if the dashboard has no such control, or if the control cannot have this value.
        """
        controls = dict(self.controls)
        for name, value in values.items():
            control = controls.get(name)
            if not isinstance(control, Control):
                known = ", ".join(one for one, its in controls.items() if isinstance(its, Control))
                raise InputError(
                    f"control {name!r}: the dashboard has no such control with an initial value; give one of {known}"
                )
            controls[name] = control.beginning(value)
        return replace(self, controls=controls)

    def shown(self, values: Mapping[str, Any]) -> DashboardContent:
        """Return the content at given values of the controls. Nothing is printed; warnings become notes in the text."""
        with warnings.catch_warnings(record=True) as noted, redirect_stderr(io.StringIO()):
            warnings.simplefilter("default")
            try:
                answer = self.answer(**values)
                said = wording.html(self.words(answer))
                # validation takes longer than drawing, and the next answer has the same structure
                with debug_mode(False):
                    drawn = self.draw(answer)
                    spec, data = drawn if isinstance(drawn, FilledDashboard) else taken_apart(drawn)
            except InputError as fault:
                return DashboardContent(wording.impossible(fault), None, {}, possible=False)
            except Exception as fault:  # any other error is shown on the page, not in the server's log
                return DashboardContent(wording.broken(fault), None, {}, possible=False)
        return DashboardContent(said + wording.noted(sorted({str(one.message) for one in noted})), spec, data)


class FilledDashboard(NamedTuple):
    """A chart in Vega-Lite without its rows, and the rows by name.

    Parameters
    ----------
    spec : dict
        The chart, which refers to its tables of rows by name.
    data : dict of str to list of dict
        The tables of rows by these names, one dictionary for each row.
    """

    spec: dict[str, Any]
    data: dict[str, Rows]


class Template:
    """A chart that is built once, for rows that change. Building a chart takes longer than computing most answers.

    Parameters
    ----------
    make : callable
        Function without arguments that returns the chart, with `alt.NamedData(name)` instead of rows. It is called
        once, for the first answer.

    Raises
    ------
    InputError
        If `make` cannot be called.
    """

    def __init__(self, make: Callable[[], alt.TopLevelMixin]):
        self._make = called("make", make)

    @cached_property
    def spec(self) -> dict[str, Any]:
        """Return the chart in Vega-Lite, without rows."""
        return self._make().to_dict()

    def filled(self, **rows: pd.DataFrame) -> FilledDashboard:
        """Return the chart filled with the given rows. The keywords are the names of the rows in the chart."""
        return FilledDashboard(
            self.spec, {name: json.loads(str(some.to_json(orient="records"))) for name, some in rows.items()}
        )


def taken_apart(chart: alt.TopLevelMixin) -> FilledDashboard:
    """Return a chart in Vega-Lite without its rows, and the rows by the name that refers to them in the chart.

    Altair names each table of rows by a hash of its content, so the charts of two answers would differ. This function
    numbers the tables instead.
    """
    spec = chart.to_dict(validate=False)
    held, data = spec.pop("datasets", {}), {}

    def renamed(node: Any) -> Any:
        if isinstance(node, list):
            return [renamed(one) for one in node]
        if not isinstance(node, dict):
            return node
        made = {}
        for key, value in node.items():
            if key == "data" and isinstance(value, dict) and value.get("name") in held:
                name = f"rows_{len(data)}"
                data[name] = held[value["name"]]
                made[key] = {"name": name}
            else:
                made[key] = renamed(value)
        return made

    return FilledDashboard(renamed(spec), data)
