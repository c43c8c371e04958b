"""Every name of the package that a notebook imports, or reads from an imported module, exists.

The notebooks of the papers take minutes, so that no other test runs them.
"""

import ast
import importlib
import json
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
NOTEBOOKS = [*sorted(ROOT.glob("reproductions/*.ipynb")), *sorted(ROOT.glob("notebooks/*.ipynb"))]


def code_of(path: Path) -> ast.Module:
    cells = [cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"]
    lines = [line for cell in cells for line in "".join(cell["source"]).splitlines() if not line.startswith("%")]
    return ast.parse("\n".join(lines))


def imported(tree: ast.Module) -> dict[str, object]:
    """Return the objects of the package that a notebook imports, by their names in the notebook."""
    found: dict[str, object] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for one in node.names:
                if one.name.split(".")[0] == "storagekit":
                    found[one.asname or "storagekit"] = importlib.import_module(one.name)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "storagekit":
            for one in node.names:
                try:
                    found[one.asname or one.name] = getattr(importlib.import_module(node.module), one.name)
                except AttributeError:
                    found[one.asname or one.name] = importlib.import_module(f"{node.module}.{one.name}")
    return found


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_names_of_a_notebook_exist(path):
    tree = code_of(path)
    names = imported(tree)
    assert names, "a notebook imports the package"
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            module = names.get(node.value.id)
            if isinstance(module, ModuleType):
                assert hasattr(module, node.attr), f"{node.value.id}.{node.attr}"
