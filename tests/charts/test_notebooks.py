"""Notebooks contain a parameters cell, prose, calls and charts: no definitions, no loops, no saved outputs."""

import ast
import json
from pathlib import Path

import pytest

import storagekit

ROOT = Path(storagekit.__file__).parent.parent
NOTEBOOKS = sorted([*ROOT.glob("reproductions/*.ipynb"), *ROOT.glob("notebooks/*.ipynb")])
KEPT_OUT = (
    ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda,
    ast.For, ast.While, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp,
)  # fmt: skip


def cells(path: Path) -> list[dict]:
    return [cell for cell in json.loads(path.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_only_calls(path):
    found = [
        (number, type(node).__name__)
        for number, cell in enumerate(cells(path))
        for node in ast.walk(ast.parse("".join(cell["source"])))
        if isinstance(node, KEPT_OUT)
    ]
    assert not found


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_stored_without_outputs(path):
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in cells(path))


@pytest.mark.parametrize("path", [one for one in NOTEBOOKS if one.parent.name == "reproductions"], ids=lambda p: p.stem)
def test_a_reproduction_has_the_parameters_of_the_runner(path):
    tagged = [cell for cell in cells(path) if "parameters" in cell["metadata"].get("tags", [])]
    assert len(tagged) == 1
    names = {node.id for node in ast.walk(ast.parse("".join(tagged[0]["source"]))) if isinstance(node, ast.Name)}
    assert {"profile", "seed", "out"} <= names
