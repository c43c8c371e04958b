"""The site has either all pages of the lab, made by the present code, or none."""

import sys

import pytest

from storagekit import lab
from storagekit.reproduce import cache
from storagekit.reproduce.site import lab_pages, pages

# replaces the process that writes pages: it writes their names and fails at the page given as FAILS
WRITES = """
import pathlib, sys
pathlib.Path(sys.argv[3], SCRIPT).write_text("draws")
for name in NAMES:
    if name == "FAILS": sys.exit("no such page")
    pathlib.Path(sys.argv[3], name + ".html").write_text(name)
    print(name, flush=True)
"""


@pytest.fixture
def python(tmp_path, monkeypatch):
    def instead(fails: str = ""):
        script = tmp_path / "python"
        script.write_text(
            f"#!{sys.executable}\n"
            + WRITES.replace("FAILS", fails)
            .replace("NAMES", repr(list(lab_pages.LAB_PAGES)))
            .replace("SCRIPT", repr(lab_pages.SCRIPT))
        )
        script.chmod(0o755)
        monkeypatch.setattr(lab_pages.sys, "executable", str(script))

    return instead


def test_lab_pages_are_made_once_and_again_where_the_code_has_changed(tmp_path, python, monkeypatch):
    python()
    made = []
    assert lab_pages.there(tmp_path) == {}
    assert lab_pages.export(tmp_path, {}, lambda: made.append(1)) == ""
    assert len(made) == len(lab_pages.LAB_PAGES) and lab_pages.there(tmp_path) == lab_pages.LAB_PAGES
    assert (tmp_path / "lab" / "array.html").read_text() == "array"
    monkeypatch.setattr(cache, "fingerprint", lambda *given: "of other code")
    assert not lab_pages.are_current(tmp_path) and lab_pages.there(tmp_path) == {}


def test_a_failing_page_is_named_and_the_set_counts_as_incomplete(tmp_path, python):
    python(fails="fair")
    assert lab_pages.export(tmp_path, {}, lambda: None) == "the lab's page fair was not written: no such page"
    assert lab_pages.there(tmp_path) == {}


def test_every_page_is_written_and_then_named(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(lab, "export", lambda name, path, script: path.write_text(script.name))
    monkeypatch.setattr(lab_pages.sys, "argv", ["-c", str(tmp_path)])
    lab_pages.main()
    assert capsys.readouterr().out.split() == list(lab_pages.LAB_PAGES)
    assert [path.name for path in sorted(tmp_path.iterdir())] == sorted(f"{name}.html" for name in lab_pages.LAB_PAGES)


def test_the_first_page_links_to_the_existing_lab_pages():
    assert "lab/array.html" in pages.index((), {}, {}, {"array": "which <way>"})
    assert "which &lt;way&gt;" in pages.index((), {}, {}, {"array": "which <way>"})
    assert "lab/" not in pages.index((), {}, {})
