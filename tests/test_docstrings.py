"""Docstrings and pages: their form, their spelling and their links. Examples run in test_public_api and test_docs."""

import ast
import inspect
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from numpydoc.validate import ERROR_MSGS, validate

import storagekit

ROOT = Path(__file__).parents[1]
PACKAGE = Path(storagekit.__file__).parent
# Checks of numpydoc that are left out, because they require optional sections in every docstring: "See Also" (SA01) with a
# description of each entry (SA04), "Examples" (EX01) and an extended summary (ES01).
LEFT_OUT = {"SA01", "SA04", "EX01", "ES01"}
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted(ROOT.glob("docs/**/*.md")),
    ROOT / "benchmarks/README.md",
]

checkout = pytest.mark.skipif(not (ROOT / "pyproject.toml").exists(), reason="needs a checkout")


def exported() -> list[str]:
    """Return the full names of all classes and functions that packages export."""
    names = set()
    for init in PACKAGE.rglob("__init__.py"):
        for node in ast.walk(ast.parse(init.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("storagekit."):
                public = [alias.name for alias in node.names if not alias.name.startswith("_")]
                names |= {(node.module, name) for name in public}
    found = [(module, name, getattr(import_module(module), name, None)) for module, name in sorted(names)]
    return [f"{module}.{name}" for module, name, one in found if inspect.isclass(one) or inspect.isroutine(one)]


def test_public_names_pass_numpydocs_validation():
    names = exported()
    assert len(names) > 500
    wrong = {name: [one for one in validate(name)["errors"] if one[0] not in LEFT_OUT] for name in names}
    assert {name: errors for name, errors in wrong.items() if errors} == {}
    assert set(ERROR_MSGS) > LEFT_OUT


def test_public_methods_have_a_docstring_or_inherit_one():
    bare = []
    for name in exported():
        module, _, kind = name.rpartition(".")
        one = getattr(import_module(module), kind)
        if inspect.isclass(one):
            own = [method for method in vars(one) if not method.startswith("_")]
            callable_ones = [method for method in own if inspect.isroutine(inspect.getattr_static(one, method))]
            bare += [f"{name}.{method}" for method in callable_ones if not documented(one, method)]
    assert bare == []


def documented(kind: type, method: str) -> bool:
    """Return whether a method, or the one that it replaces, has a docstring; Python does not inherit those of properties."""
    return any(inspect.getdoc(vars(base)[method]) for base in kind.__mro__ if method in vars(base))


@checkout
def test_ruff_finds_nothing():
    done = subprocess.run(
        [sys.executable, "-m", "ruff", "check", "--no-cache", str(ROOT)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout


@checkout
def test_words_are_spelled_as_in_a_dictionary():
    where = [
        "storagekit",
        "docs",
        "data",
        "notebooks",
        "reproductions",
        "tests",
        "benchmarks",
        "README.md",
        "CHANGES.md",
    ]
    command = [sys.executable, "-m", "codespell_lib", *where, "CONTRIBUTING.md", "dev.py"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stdout


@checkout
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_to_files_and_have_a_text(page):
    links = re.findall(r"\[([^\]]*)\]\(([^)\s]+)\)", page.read_text(encoding="utf-8"))
    assert [target for text, target in links if not text] == []
    local = [target.partition("#")[0] for _, target in links if "://" not in target]
    assert [target for target in local if target and not (page.parent / target).exists()] == []
