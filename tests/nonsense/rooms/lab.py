"""How pages of the lab are asked."""

import tempfile
from functools import cache
from pathlib import Path
from unittest import mock

from nonsense.attack import Face

from storagekit import lab
from storagekit.charts import Board


@cache
def board() -> Board:
    return lab.page("bound").board()


def _export(name, path):
    """As asked, but for the answers, which take a minute and are the same every time."""
    with tempfile.TemporaryDirectory() as folder, mock.patch("storagekit.charts.live.exported._asked", _few):
        return lab.export(name, Path(folder) / path if isinstance(path, str) else path)


def _few(board, controls):
    return {"specs": [], "points": []}


FACES = {
    "lab.LabPage": Face(lambda: {"title": "A page", "lead": "one", "board": board}),
    "lab.export": Face(lambda: {"name": "bound", "path": "page.html"}, through=_export),
    "lab.open": Face(lambda: {"name": "bound", "weight_f": 2.0}),
    "lab.page": Face(lambda: {"name": "bound"}),
    "lab.quietly": Face(lambda: {"call": board}),
}
NOT_ASKED: dict[str, str] = {}
