"""Valid calls of pages of the lab."""

import tempfile
from functools import cache
from pathlib import Path
from unittest import mock

from nonsense.attack import ValidCall

from storagekit import lab
from storagekit.charts import Dashboard


@cache
def dashboard() -> Dashboard:
    return lab.page("bound").dashboard()


def _export(name, path, script):
    """Export a page without most of its results, which take a minute and are always equal."""
    with tempfile.TemporaryDirectory() as folder, mock.patch("storagekit.charts.live.exported._answers", _few):
        files = (Path(folder) / one if isinstance(one, str) else one for one in (path, script))
        return lab.export(name, next(files), script=next(files))


def _few(dashboard, controls):
    return {"specs": [], "points": []}


VALID_CALLS = {
    "lab.LabPage": ValidCall(lambda: {"title": "A page", "lead": "one", "dashboard": dashboard}),
    "lab.export": ValidCall(
        lambda: {"name": "bound", "path": "page.html", "script": "page.js"}, through=_export, optional=("script",)
    ),
    "lab.open": ValidCall(lambda: {"name": "bound", "weight_f": 2.0}),
    "lab.page": ValidCall(lambda: {"name": "bound"}),
    "lab.quietly": ValidCall(lambda: {"call": dashboard}),
}
NOT_ATTACKED: dict[str, str] = {}
