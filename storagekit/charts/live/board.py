"""A question with controls: what is asked, what is answered, how that is said and drawn."""

import io
import json
import warnings
from collections.abc import Callable, Mapping
from contextlib import redirect_stderr
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import altair as alt
import pandas as pd
from altair.utils.schemapi import debug_mode

from storagekit.charts.live import words as wording
from storagekit.charts.live.controls import Control
from storagekit.core.errors import InputError
from storagekit.core.kinds import a, called, hold, text

if TYPE_CHECKING:
    from ipywidgets import ValueWidget

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Shown:
    """What a board shows at some values. said: HTML; spec: the chart in Vega-Lite, its rows by the names `rows_0`, `rows_1`
    and so on; data: these. spec is None where there is nothing to draw: the values are not `possible`."""

    said: str
    spec: dict[str, Any] | None = field(repr=False)
    data: dict[str, Rows] = field(repr=False)
    possible: bool = True


@dataclass(frozen=True)
class Board:
    """A question with controls.

    answer: asked with the value of each control by its name; raises InputError where these are not possible together, which
    is said in words. draw: makes a chart of an answer; only its rows are sent on where all else stays as it was, so that
    titles and scales should be the same for every answer, and parameters have names; or fills a `Template`, which is
    quicker. words: says an answer, as text with the headline first or as `Said`; by default what it prints. controls: by the
    names that `answer` knows, in the order shown.
    waiting: what is said until the first answer is there; where it is given, the board is shown before it is asked.
    """

    answer: Callable[..., Any]
    draw: "Callable[[Any], alt.TopLevelMixin | Filled]"
    controls: Mapping[str, "Control | ValueWidget"]
    words: Callable[[Any], Any] = str
    waiting: str = ""

    def __post_init__(self):
        hold(self, answer=called, draw=called, controls=a(Mapping, "controls by name"), words=called, waiting=text)

    def beginning(self, **values: Any) -> "Board":
        """The same board with controls that begin at these values, by their names. Raises InputError where it has no such
        control, or the control no such value."""
        controls = dict(self.controls)
        for name, value in values.items():
            control = controls.get(name)
            if not isinstance(control, Control):
                known = ", ".join(one for one, its in controls.items() if isinstance(its, Control))
                raise InputError(
                    f"{name!r}: no control of the board begins where it is told by that name; there are {known}"
                )
            controls[name] = control.beginning(value)
        return replace(self, controls=controls)

    def shown(self, values: Mapping[str, Any]) -> Shown:
        """What it shows at these values; nothing is printed, warnings become notes among the words."""
        with warnings.catch_warnings(record=True) as noted, redirect_stderr(io.StringIO()):
            warnings.simplefilter("default")
            try:
                answer = self.answer(**values)
                said = wording.html(self.words(answer))
                # validating takes longer than drawing, and says nothing new of the next answer
                with debug_mode(False):
                    drawn = self.draw(answer)
                    spec, data = drawn if isinstance(drawn, FilledBoard) else taken_apart(drawn)
            except InputError as fault:
                return Shown(wording.impossible(fault), None, {}, possible=False)
            except Exception as fault:  # whatever it is, its place is the page and not the server's log
                return Shown(wording.broken(fault), None, {}, possible=False)
        return Shown(said + wording.noted(sorted({str(one.message) for one in noted})), spec, data)


class FilledBoard(NamedTuple):
    """A chart in Vega-Lite without its rows, and these by name."""

    spec: dict[str, Any]
    data: dict[str, Rows]


class Template:
    """A chart that is drawn once, for rows that change; making a chart takes longer than most answers.

    make: the chart, of `alt.NamedData(name)` in the place of rows.
    """

    def __init__(self, make: Callable[[], alt.TopLevelMixin]):
        self._make = called("make", make)

    @cached_property
    def spec(self) -> dict[str, Any]:
        return self._make().to_dict()

    def filled(self, **rows: pd.DataFrame) -> FilledBoard:
        """The chart of these rows, by the names that it has for them."""
        return FilledBoard(
            self.spec, {name: json.loads(str(some.to_json(orient="records"))) for name, some in rows.items()}
        )


def taken_apart(chart: alt.TopLevelMixin) -> FilledBoard:
    """A chart in Vega-Lite without its rows, and these by the names that it has for them.

    Altair names rows by what is in them, so that every answer would be another chart: here they are numbered.
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

    return FilledBoard(renamed(spec), data)
