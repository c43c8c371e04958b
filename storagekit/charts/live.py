"""Charts that answer: controls over a chart in JupyterLab, and pages that stay alive without a kernel or a network."""

from collections.abc import Callable, Mapping
from html import escape
from typing import TYPE_CHECKING, Any

import altair as alt

if TYPE_CHECKING:
    from IPython.display import HTML
    from ipywidgets import ValueWidget, VBox


def live(answer: Callable[..., Any], draw: Callable[[Any], Any], controls: Mapping[str, "ValueWidget"]) -> "VBox":
    """Controls above a chart that is redrawn in place, for JupyterLab.

    answer: asked with the value of each control by its name; draw: makes a chart of what it answers.
    """
    from ipywidgets import VBox

    def drawn() -> Any:
        return draw(answer(**{name: control.value for name, control in controls.items()}))

    view = alt.JupyterChart(drawn())

    def redraw(_change) -> None:
        view.chart = drawn()

    for control in controls.values():
        control.observe(redraw, "value")
    return VBox([*controls.values(), view])


def offline(chart: alt.TopLevelMixin, height: int = 460) -> "HTML":
    """A chart with all that it needs to answer clicks, in JupyterLab and in a page that is sent on; about 1 MB."""
    from IPython.display import HTML

    page = escape(chart.to_html(inline=True), quote=True)
    frame = f'<iframe srcdoc="{page}" style="border: none; width: 100%; height: {height}px"></iframe>'
    return HTML(f"<div>{frame}</div>")
