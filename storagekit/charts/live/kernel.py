"""A dashboard in JupyterLab: Python computes every answer, and text and chart are updated in place."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING, Any

import altair as alt

from storagekit.charts.live import words as wording
from storagekit.charts.live.controls import Control
from storagekit.charts.live.dashboard import Dashboard, DashboardContent
from storagekit.core.errors import InputError
from storagekit.core.optional_packages import require_extra
from storagekit.core.validation import shown

if TYPE_CHECKING:
    from ipywidgets import HTML, Box, ValueWidget

    from storagekit.charts.live.drawing import Drawing

# seconds between the change of a control and its answer; the answer includes all changes during this time
_PAUSE = 0.005
_QUIET = '<span style="color: #888; font-size: 85%">{}</span>'


def live(
    dashboard: Dashboard | Callable[..., Any],
    draw: Callable[[Any], alt.TopLevelMixin] | None = None,
    controls: "Mapping[str, Control | ValueWidget] | None" = None,
    words: Callable[[Any], Any] = str,
) -> "Box":
    """Return a dashboard with its controls, its text and its chart for JupyterLab.

    While a slider is dragged, at most one answer is pending. It is computed from the values that the controls have at
    the start of the computation, so the last answer is always for the last values. If the values are not possible, an
    error message replaces the text, and the chart of the last answer fades.

    Parameters
    ----------
    dashboard : Dashboard or callable
        The dashboard, or the function `answer` of a new dashboard.
    draw : callable, optional
        The function `draw` of the new dashboard. It has no effect with a `Dashboard`.
    controls : mapping of str to Control, optional
        The controls of the new dashboard. They have no effect with a `Dashboard`.
    words : callable
        The function `words` of the new dashboard, by default the printed form of the answer. It has no effect with a
        `Dashboard`.

    Returns
    -------
    Box
        The widgets (ipywidgets): controls on the left, text and chart on the right.

    Raises
    ------
    InputError
        If `dashboard` is a function and `draw` or `controls` is missing, or if ipywidgets or anywidget is not installed.
    """
    require_extra("lab", "ipywidgets", "anywidget")
    from ipywidgets import HTML, Box, Layout, VBox

    from storagekit.charts.live.drawing import Drawing

    if not isinstance(dashboard, Dashboard):
        if draw is None or controls is None:
            raise InputError(
                f"dashboard {shown(dashboard)}: give a Dashboard, or an answer function with draw and controls"
            )
        dashboard = Dashboard(dashboard, draw, controls, words)
    widgets = {name: one.widget() if isinstance(one, Control) else one for name, one in dashboard.controls.items()}
    _aligned(list(widgets.values()))
    answering = Answering(dashboard, widgets, HTML(), Drawing(), HTML())
    if dashboard.waiting:
        answering.said.value = wording.html(dashboard.waiting)
        answering.changed(None)
    else:
        answering.answer()
    for widget in widgets.values():
        widget.observe(answering.changed, "value")
    left = VBox([*widgets.values(), answering.state], layout=Layout(flex="0 0 auto"))
    right = VBox([answering.said, answering.drawing], layout=Layout(flex="1 1 480px", min_width="320px"))
    return Box([left, right], layout=Layout(display="flex", flex_flow="row wrap", grid_gap="8px 28px"))


@dataclass
class Answering:
    """Computes the answer after a control has changed: later if an event loop runs, otherwise immediately."""

    dashboard: Dashboard
    controls: "Mapping[str, ValueWidget]"
    said: "HTML"
    drawing: "Drawing"
    state: "HTML"
    pending: bool = False
    answers: int = field(default=0)

    def changed(self, _change: Any) -> None:
        if self.pending:
            return
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            self.answer()
            return
        self.pending = True
        loop.call_later(_PAUSE, self.answer)

    def values(self) -> dict[str, Any]:
        """Return the current values."""
        chosen = {name: widget.value for name, widget in self.controls.items()}
        known = self.dashboard.controls
        return {
            name: control.meaning(chosen[name]) if isinstance(control, Control) else chosen[name]
            for name, control in known.items()
        }

    def answer(self) -> None:
        self.pending = False
        begin = perf_counter()
        self.state.value = _QUIET.format("computing ...")
        self.show(self.dashboard.shown(self.values()))
        self.answers += 1
        self.state.value = _QUIET.format(f"computed in {_time(perf_counter() - begin)}")

    def show(self, shown: DashboardContent) -> None:
        self.said.value = shown.said
        with self.drawing.hold_sync():
            self.drawing.faded = not shown.possible
            if shown.spec is not None:
                self.drawing.spec, self.drawing.data = shown.spec, shown.data


def _time(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds >= 1 else f"{1e3 * seconds:.0f} ms"


def _aligned(widgets: list[Any]) -> None:
    """Give all controls the same width.

    The labels of sliders get the width of the longest label. A choice takes the width that its own label leaves.
    """
    sliders = [one for one in widgets if hasattr(one, "readout")]
    longest = max((len(one.description) for one in sliders), default=0)
    wide = f"{0.52 * longest + 1:.1f}em"
    for one in widgets:
        if hasattr(one.style, "description_width"):
            one.style.description_width = wide if one in sliders else "initial"
        one.layout.width = f"max(24em, calc({wide} + 15em))"
