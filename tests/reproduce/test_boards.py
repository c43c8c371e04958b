"""The site has either all boards of the lab, made by the present code, or none."""

import sys

import pytest

from storagekit import lab
from storagekit.reproduce import cache
from storagekit.reproduce.site import boards, pages

# replaces the process that writes boards: it writes their names and fails at the board given as FAILS
WRITES = """
import pathlib, sys
for name in NAMES:
    if name == "FAILS": sys.exit("no such board")
    pathlib.Path(sys.argv[3], name + ".html").write_text(name)
    print(name, flush=True)
"""


@pytest.fixture
def python(tmp_path, monkeypatch):
    def instead(fails: str = ""):
        script = tmp_path / "python"
        script.write_text(
            f"#!{sys.executable}\n" + WRITES.replace("FAILS", fails).replace("NAMES", repr(list(boards.BOARDS)))
        )
        script.chmod(0o755)
        monkeypatch.setattr(boards.sys, "executable", str(script))

    return instead


def test_boards_are_made_once_and_again_where_the_code_has_changed(tmp_path, python, monkeypatch):
    python()
    made = []
    assert boards.there(tmp_path) == {}
    assert boards.export(tmp_path, {}, lambda: made.append(1)) == ""
    assert len(made) == len(boards.BOARDS) and boards.there(tmp_path) == boards.BOARDS
    assert (tmp_path / "lab" / "array.html").read_text() == "array"
    monkeypatch.setattr(cache, "fingerprint", lambda *given: "of other code")
    assert not boards.are_current(tmp_path) and boards.there(tmp_path) == {}


def test_a_failing_board_is_named_and_the_set_counts_as_incomplete(tmp_path, python):
    python(fails="fair")
    assert boards.export(tmp_path, {}, lambda: None) == "the lab's page fair was not written: no such board"
    assert boards.there(tmp_path) == {}


def test_every_board_is_written_and_then_named(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(lab, "export", lambda name, path: path.write_text(name))
    monkeypatch.setattr(boards.sys, "argv", ["-c", str(tmp_path)])
    boards.main()
    assert capsys.readouterr().out.split() == list(boards.BOARDS)
    assert [path.name for path in sorted(tmp_path.iterdir())] == sorted(f"{name}.html" for name in boards.BOARDS)


def test_the_first_page_links_to_the_existing_boards():
    assert "lab/array.html" in pages.index((), {}, {}, {"array": "which <way>"})
    assert "which &lt;way&gt;" in pages.index((), {}, {}, {"array": "which <way>"})
    assert "lab/" not in pages.index((), {}, {})
