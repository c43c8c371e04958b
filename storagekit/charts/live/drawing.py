"""The chart of a dashboard in JupyterLab: a widget with all scripts, in which only the rows are replaced."""

from functools import cache
from pathlib import Path

import anywidget
import traitlets
import vl_convert

_SCRIPT = Path(__file__).with_name("drawing.js")


@cache
def _bundle() -> str:
    """Return the script with Vega, about 1 MB. Bundling takes a second."""
    return vl_convert.javascript_bundle(_SCRIPT.read_text(encoding="utf-8"))


class Drawing(anywidget.AnyWidget):
    """The widget of a chart.

    spec: a chart in Vega-Lite without rows; data: the rows by name; faded: whether the rows are outdated.
    """

    spec = traitlets.Dict().tag(sync=True)
    data = traitlets.Dict().tag(sync=True)
    faded = traitlets.Bool(False).tag(sync=True)

    def __init__(self, **given):
        super().__init__(_esm=_bundle(), **given)
