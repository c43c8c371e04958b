"""The pages of docs/: their examples run as typed, and promises name existing tests.

The examples of long pages are slow tests. By default, each kind of example runs on a shorter page, and the calls of all pages
fit the functions that they name.
"""

import ast
import inspect
import re
import shlex
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest
from command_line import storagekit  # noqa: F401  a fixture
from helpers import slow_but

ROOT = Path(__file__).parents[1]
PAGES = sorted(ROOT.glob("docs/*/*.md"))


def blocks(page: Path, language: str) -> list[str]:
    """The examples of a page in a language."""
    text = page.read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def commands(page: Path) -> list[str]:
    """The commands in the shell examples of a page."""
    found = [line for block in blocks(page, "sh") for line in block.splitlines() if line.startswith("storagekit ")]
    # the tests run them without a shell
    assert not [line for line in found if re.search(r"[|&;$]| > ", line)]
    return found


COMMANDED = [page for page in PAGES if commands(page)]
RUNNING = [page for page in PAGES if blocks(page, "python")]
# a scheduler of the reader's own and simulations; a sweep over the axes of an exhibit; derivatives; streams; plans
QUICK_PYTHON = {
    "scheduler",
    "exhibit",
    "gradients",
    "tenants",
    "drive",
    "durability",
    "growth",
    "what_to_buy",
    "trace_formats",
}
# the cloud trace is described, converted, compared and replayed like that of a server
QUICK_COMMANDS = {page.stem for page in COMMANDED} - {"server_trace"}

pytestmark = pytest.mark.skipif(not PAGES, reason="needs a checkout, this is an installed package")


def slow_beside(kept: set[str], pages: list[Path]) -> list:
    """The pages, all except those in `kept` marked slow."""
    return slow_but([page for page in pages if page.stem in kept], pages)


@pytest.mark.parametrize("page", slow_beside(QUICK_PYTHON, RUNNING), ids=lambda page: page.stem)
def test_the_examples_of_a_page_run_one_after_the_other(page, monkeypatch):
    """All examples of a page run in one namespace, from the top of the checkout, where a reader types them."""
    monkeypatch.chdir(ROOT)
    module = ModuleType("example")
    # some examples define classes, whose annotations are looked up in their module
    monkeypatch.setitem(sys.modules, "example", module)
    exec(compile("\n".join(blocks(page, "python")), page.name, "exec"), module.__dict__)


def meant(node: ast.AST, names: dict[str, object]) -> object:
    """What an expression such as `sk.plan.schemes` means, or None if it is not an imported name or an attribute of one."""
    if isinstance(node, ast.Name):
        return names.get(node.id)
    if not isinstance(node, ast.Attribute):
        return None
    of = meant(node.value, names)
    if inspect.ismodule(of) or (inspect.isclass(of) and of is not object):
        assert hasattr(of, node.attr), f"{ast.unparse(node)}: there is no {node.attr}"
        return getattr(of, node.attr)
    return None


def imported(tree: ast.AST) -> dict[str, object]:
    """What the imports of an example define."""
    names: dict[str, object] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for one in node.names:
                module = import_module(one.name)
                names[one.asname or one.name.split(".")[0]] = (
                    module if one.asname else sys.modules[one.name.split(".")[0]]
                )
        if isinstance(node, ast.ImportFrom):
            assert node.module
            space: dict[str, object] = {}
            exec(compile(ast.Module([node], []), node.module, "exec"), space)
            names |= {name: value for name, value in space.items() if name != "__builtins__"}
    return names


@pytest.mark.parametrize("page", RUNNING, ids=lambda page: page.stem)
def test_the_calls_of_a_page_fit_the_functions_that_they_name(page):
    """Without a run: each imported name and attribute exists, and each function has the parameters that a call gives."""
    tree = ast.parse("\n".join(blocks(page, "python")))
    names = imported(tree)
    calls = 0
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            meant(node, names)
        called = meant(node.func, names) if isinstance(node, ast.Call) else None
        if not callable(called) or getattr(called, "__module__", "").split(".")[0] != "storagekit":
            continue
        given = [one for one in node.args if not isinstance(one, ast.Starred)]
        keywords = [one.arg for one in node.keywords if one.arg]
        whole = len(given) + len(keywords) == len(node.args) + len(node.keywords)
        signature = inspect.signature(called)
        bind = signature.bind if whole else signature.bind_partial
        bind(*given if whole else (), **dict.fromkeys(keywords))
        calls += 1
    assert calls or not any(getattr(one, "__name__", "") == "storagekit" for one in names.values())


@pytest.mark.parametrize("page", slow_beside(QUICK_COMMANDS, COMMANDED), ids=lambda page: page.stem)
def test_the_commands_of_a_page_run_one_after_the_other(page, tmp_path, monkeypatch, storagekit):  # noqa: F811
    """All commands of a page run in one folder with the data of the checkout, where a reader types them."""
    (tmp_path / "data").symlink_to(ROOT / "data")
    monkeypatch.chdir(tmp_path)
    for line in commands(page):
        status, out, err = storagekit(*shlex.split(line)[1:])
        assert status == 0 and out, f"{line}\n{err[-2000:]}"


def test_every_promise_names_existing_tests():
    page = (ROOT / "docs" / "model" / "promises.md").read_text(encoding="utf-8")
    rows = [row for row in page.splitlines() if row.startswith("| ") and not row.startswith("| promise")]
    assert len(rows) > 10
    for row in rows:
        named = re.findall(r"`(tests/[a-z_/]+\.py)::(test_[a-z0-9_]+)`", row)
        assert named, row
        for file, test in named:
            assert f"def {test}(" in (ROOT / file).read_text(encoding="utf-8"), f"{file}::{test}"


def test_the_glossary_names_public_classes_and_functions():
    page = (ROOT / "docs" / "reference" / "glossary.md").read_text(encoding="utf-8")
    named = re.findall(r"\[`(storagekit[\w.]*)\.(\w+)`\]\(", page)
    assert len(named) > 30
    assert [one for one in named if not hasattr(import_module(one[0]), one[1])] == []
