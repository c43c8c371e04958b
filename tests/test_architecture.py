"""The architecture: the import-linter contracts of pyproject.toml, no circular imports, and the coupling of modules."""

import ast
import importlib
import importlib.util
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from pathlib import Path

import grimp
import pytest
from importlinter.cli import lint_imports

import storagekit

ROOT = Path(storagekit.__file__).parent.parent
# limit of modules from other packages (without core) that one module may import
MOST_IMPORTED = 14


@pytest.mark.skipif(not (ROOT / "pyproject.toml").exists(), reason="needs a checkout, this is an installed package")
def test_imports_keep_to_the_contracts(monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    status = lint_imports(config_filename=str(ROOT / "pyproject.toml"), no_cache=True)
    assert status == 0, capsys.readouterr().out


@pytest.fixture(scope="module")
def imports() -> dict[str, set[str]]:
    """Every module of the package and its imports, also those in functions and for type checkers."""
    graph = grimp.build_graph("storagekit", cache_dir=None)
    return {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}


def circle(imports: dict[str, set[str]], depth: int) -> list[str]:
    """Return a circular import between the packages at `depth` below storagekit, or an empty list."""

    def package(module: str) -> str:
        return ".".join(module.split(".")[: depth + 1])

    packages: dict[str, set[str]] = {}
    for module, wanted in imports.items():
        packages.setdefault(package(module), set()).update(package(one) for one in wanted)
    try:
        TopologicalSorter({name: wanted - {name} for name, wanted in packages.items()}).prepare()
    except CycleError as fault:
        return fault.args[1]
    return []


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_no_package_and_no_module_imports_itself_through_others(imports, depth):
    assert not circle(imports, depth)


def test_a_circular_import_is_found():
    names = [f"storagekit.{package}.{file}" for package, file in (("a", "x"), ("b", "y"), ("a", "z"), ("a", "x"))]
    assert circle({one: {other} for one, other in pairwise(names[:3])}, 1)
    assert not circle({one: {other} for one, other in pairwise(names[:3])}, 2)
    assert circle({one: {other} for one, other in pairwise(names)}, 2)


def test_altair_is_for_charts_alone():
    """Only `charts`, the `draw` of a paper and of the lab, and the pages of `reproduce` use it."""
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


def coupled(imports: dict[str, set[str]]) -> dict[str, int]:
    """Return the modules that import more than `MOST_IMPORTED` modules of other packages, with the numbers of these.

    The top of the package is left out: it shows the public names of all packages.
    """

    def package(module: str) -> str:
        return ".".join(module.split(".")[:2])

    found = {
        module: sum(package(one) not in (package(module), "storagekit.core") for one in wanted)
        for module, wanted in imports.items()
        if module != "storagekit"
    }
    return {module: number for module, number in found.items() if number > MOST_IMPORTED}


def test_no_module_depends_on_many_others(imports):
    assert not coupled(imports)


def test_a_module_that_depends_on_many_others_is_found():
    others = {f"storagekit.b.file_{number}" for number in range(MOST_IMPORTED + 1)}
    assert coupled({"storagekit.a.x": others}) == {"storagekit.a.x": MOST_IMPORTED + 1}
    assert not coupled({"storagekit.b.x": others, "storagekit": others})


@pytest.mark.skipif(not (ROOT / "benchmarks").exists(), reason="needs a checkout, this is an installed package")
def test_the_benchmarks_import_existing_names():
    """Tests do not run the benchmarks, so that a renamed function could break them unnoticed."""
    imported = [
        (path.name, node.module, name.name)
        for path in sorted((ROOT / "benchmarks").glob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("storagekit")
        for name in node.names
    ]
    assert len(imported) > 40
    assert [entry for entry in imported if not _exists(*entry[1:])] == []


def _exists(module: str, name: str) -> bool:
    found = importlib.import_module(module)
    return hasattr(found, name) or (hasattr(found, "__path__") and bool(importlib.util.find_spec(f"{module}.{name}")))
