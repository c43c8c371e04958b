"""The pages of docs/: their examples run as typed, and promises name existing tests."""

import re
import shlex
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest
from command_line import storagekit  # noqa: F401  a fixture

ROOT = Path(__file__).parents[1]
PAGES = sorted(ROOT.glob("docs/*/*.md"))


def commands(page: Path) -> list[str]:
    """The commands in the shell examples of a page."""
    blocks = re.findall(r"^```sh\n(.*?)^```$", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    found = [line for block in blocks for line in block.splitlines() if line.startswith("storagekit ")]
    # the tests run them without a shell
    assert not [line for line in found if re.search(r"[|&;$]| > ", line)]
    return found


COMMANDED = [page for page in PAGES if commands(page)]
RUNNING = [page for page in PAGES if "```python" in page.read_text(encoding="utf-8")]

pytestmark = pytest.mark.skipif(not PAGES, reason="needs a checkout, this is an installed package")


@pytest.mark.parametrize("page", RUNNING, ids=lambda page: page.stem)
def test_the_examples_of_a_page_run_one_after_the_other(page, monkeypatch):
    """All examples of a page run in one namespace, from the top of the checkout, where a reader types them."""
    monkeypatch.chdir(ROOT)
    blocks = re.findall(r"^```python\n(.*?)^```$", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    module = ModuleType("example")
    # some examples define classes, whose annotations are looked up in their module
    monkeypatch.setitem(sys.modules, "example", module)
    exec(compile("\n".join(blocks), page.name, "exec"), module.__dict__)


@pytest.mark.parametrize("page", COMMANDED, ids=lambda page: page.stem)
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
