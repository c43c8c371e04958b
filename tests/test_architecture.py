"""Rooms look only where DESIGN lets them: the import-linter contracts of pyproject.toml, and what they cannot say."""

from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from pathlib import Path

import grimp
import pytest
from importlinter.cli import lint_imports

import storagekit

ROOT = Path(storagekit.__file__).parent.parent
MOST_LINES = 400


@pytest.mark.skipif(not (ROOT / "pyproject.toml").exists(), reason="needs a checkout, this is an installed package")
def test_imports_keep_to_the_contracts(monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    status = lint_imports(config_filename=str(ROOT / "pyproject.toml"), no_cache=True)
    assert status == 0, capsys.readouterr().out


@pytest.fixture(scope="module")
def imports() -> dict[str, set[str]]:
    """Every module of the package and those that it imports, in functions and for type checkers too."""
    graph = grimp.build_graph("storagekit", cache_dir=None)
    return {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}


def circle(imports: dict[str, set[str]], depth: int) -> list[str]:
    """A circle of imports between the packages at `depth` below storagekit, or files above that; nothing where none is."""

    def room(module: str) -> str:
        return ".".join(module.split(".")[: depth + 1])

    rooms: dict[str, set[str]] = {}
    for module, wanted in imports.items():
        rooms.setdefault(room(module), set()).update(room(one) for one in wanted)
    try:
        TopologicalSorter({name: wanted - {name} for name, wanted in rooms.items()}).prepare()
    except CycleError as fault:
        return fault.args[1]
    return []


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_no_room_and_no_file_imports_itself_by_way_of_others(imports, depth):
    assert not circle(imports, depth)


def test_a_circle_would_be_seen():
    names = [f"storagekit.{room}.{file}" for room, file in (("a", "x"), ("b", "y"), ("a", "z"), ("a", "x"))]
    assert circle({one: {other} for one, other in pairwise(names[:3])}, 1)
    assert not circle({one: {other} for one, other in pairwise(names[:3])}, 2)
    assert circle({one: {other} for one, other in pairwise(names)}, 2)


def test_altair_is_for_charts_alone():
    """`charts`, the `draw` of a paper and of the lab, and the pages that reproduce shows."""
    drawing = [
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "storagekit").rglob("*.py")
        if "altair" in path.read_text()
    ]
    allowed = (
        "storagekit/charts/",
        "storagekit/lab/draw/",
        "storagekit/papers/{}/draw/",
        "storagekit/reproduce/",
        "storagekit/cli/",
    )
    papers = [path.name for path in (ROOT / "storagekit" / "papers").iterdir() if path.is_dir()]
    homes = tuple(home.format(paper) for home in allowed for paper in papers)
    assert not [path for path in drawing if not path.startswith(homes)]


def test_files_stay_short_enough_to_read():
    long = {path.name: len(path.read_text().splitlines()) for path in (ROOT / "storagekit").rglob("*.py")}
    assert not {name: lines for name, lines in long.items() if lines > MOST_LINES}
