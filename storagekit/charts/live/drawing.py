"""The chart of a board in JupyterLab: a drawing whose rows are exchanged, with all its scripts inside."""

from functools import cache
from pathlib import Path

import anywidget
import traitlets
import vl_convert

_SCRIPT = Path(__file__).with_name("drawing.js")


@cache
def _bundle() -> str:
    """The script with Vega in it, about 1 MB; it takes a second to make."""
    return vl_convert.javascript_bundle(_SCRIPT.read_text(encoding="utf-8"))


class Drawing(anywidget.AnyWidget):
    """spec: a chart in Vega-Lite without rows; data: these, by name; faded: whether they are those of another question."""

    spec = traitlets.Dict().tag(sync=True)
    data = traitlets.Dict().tag(sync=True)
    faded = traitlets.Bool(False).tag(sync=True)

    def __init__(self, **given):
        super().__init__(_esm=_bundle(), **given)
