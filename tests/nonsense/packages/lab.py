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


def _export(name, path):
    """Export a page without most of its results, which take a minute and are always equal."""
    with tempfile.TemporaryDirectory() as folder, mock.patch("storagekit.charts.live.exported._answers", _few):
        return lab.export(name, Path(folder) / path if isinstance(path, str) else path)


def _few(dashboard, controls):
    return {"specs": [], "points": []}


VALID_CALLS = {
    "lab.LabPage": ValidCall(lambda: {"title": "A page", "lead": "one", "dashboard": dashboard}),
    "lab.export": ValidCall(lambda: {"name": "bound", "path": "page.html"}, through=_export),
    "lab.open": ValidCall(lambda: {"name": "bound", "weight_f": 2.0}),
    "lab.page": ValidCall(lambda: {"name": "bound"}),
    "lab.quietly": ValidCall(lambda: {"call": dashboard}),
}
NOT_ATTACKED: dict[str, str] = {}
