"""Names may contain terminal escapes, HTML or invalid bytes: they are shown and have no effect."""

import json
import os
import re
import sys
import unicodedata
from pathlib import Path

import nbformat
import pandas as pd
import pytest
import typer
from helpers import leaves

from storagekit.charts.live import words
from storagekit.cli import main as cli
from storagekit.core.errors import InputError, harmless
from storagekit.core.resources import data_path
from storagekit.reproduce import printing
from storagekit.reproduce.notebooks import _what
from storagekit.reproduce.provenance import in_svg
from storagekit.reproduce.site import chapter, pages

# a colour, a window title, a line break, right-to-left writing, half a character, and HTML
TERMINAL = "n\x1b[31m\x1b]0;t\x07\x9b2J\u202e\udcff"
HTML = "<script>alert(1)</script>\"'&"
NAME = TERMINAL + HTML


def is_harmless(text: str) -> bool:
    return not [one for one in text if unicodedata.category(one) in ("Cc", "Cf", "Cs") and one not in "\n\t"]


def test_invisible_characters_are_written_as_python_escapes():
    assert harmless("a µ “quoted” name, 5\u00a0ms") == "a µ “quoted” name, 5\u00a0ms"
    assert harmless(TERMINAL) == "n\\x1b[31m\\x1b]0;t\\x07\\x9b2J\\u202e\\udcff"
    assert harmless("a\nb\tc\r", "\n\t") == "a\nb\tc\\r"
    assert str(InputError(f"{TERMINAL}:\nno")) == f"{harmless(TERMINAL)}:\nno"


COMMANDS = dict(leaves(typer.main.get_command(cli.app)))


def attacks(command):
    """Yield argument lists with the name in place of every option and argument in turn, and of all arguments at once."""
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    options = [one for one in command.params if one.param_type_name == "option"]
    filled = [NAME] * len(arguments)
    valued = [max(one.opts, key=len) for one in options if not one.is_flag and not one.is_eager]
    if filled:
        yield filled
    for option in valued:
        yield [*filled, option, NAME]
    yield [*filled, f"--{NAME}"]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_command_shows_every_name_harmlessly(command, storagekit, tmp_path, monkeypatch):
    """The test finds all commands on the command line, so that new commands are included."""
    monkeypatch.chdir(tmp_path)
    for words_given in attacks(COMMANDS[command]):
        status, text, stderr = storagekit(*command, *words_given)
        assert is_harmless(text) and is_harmless(stderr), words_given
        assert status != 0 and text == ""
        assert stderr.count("\n") == 1 and stderr.startswith("storagekit: "), (words_given, stderr)


def test_files_are_named_harmlessly_in_tables(storagekit, tmp_path):
    trace = tmp_path / f"{NAME.replace('/', '')}.spc"
    trace.write_text("".join(f"0,{8 * one},512,r,0.{one:02}\n" for one in range(60)))
    status, text, stderr = storagekit("trace", "info", str(trace))
    assert (status, stderr) == (0, "") and "\\x1b[31m" in text and is_harmless(text)


def test_a_drive_is_named_harmlessly(storagekit, tmp_path):
    facts = json.loads(data_path("drives", "atlas10k.json").read_text(encoding="utf-8"))
    drive = tmp_path / "mine.json"
    drive.write_text(json.dumps(facts | {"name": NAME, "source": NAME}))
    status, text, stderr = storagekit("drive", "show", str(drive))
    assert (status, stderr) == (0, "") and "\\x1b[31m" in text and is_harmless(text)


def test_a_character_outside_the_encoding_is_no_error(monkeypatch, tmp_path):
    with open(tmp_path / "said", "w", encoding="ascii") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        with printing.harmlessly():
            print("5 µs", os.fsdecode(b"\xff"))
            sys.stdout.writelines(["a\n", "\x1b"])
    assert (tmp_path / "said").read_text() == "5 \\xb5s \\udcff\na\n\\x1b"


def test_text_of_a_dashboard_is_escaped():
    table = pd.DataFrame({HTML: [HTML]}, index=pd.Index([HTML], name=HTML))
    shown_text = words.AnswerText(HTML, [HTML], table)
    for page in (words.html(shown_text), words.html(f"{HTML}\n{HTML}"), words.noted([HTML])):
        assert "<script" not in page and "&lt;script" in page
    for fault in (words.impossible(InputError(NAME)), words.broken(ValueError(NAME))):
        assert "<script" not in fault and "&lt;script" in fault


def test_pages_of_the_book_show_the_parameters_of_a_notebook():
    parameters = {"profile": HTML, "seed": HTML}
    notebook = nbformat.v4.new_notebook(metadata={"papermill": {"parameters": parameters}})
    notebook.cells = [nbformat.v4.new_markdown_cell("# A paper"), nbformat.v4.new_markdown_cell("On.")]
    page = "".join(cell.source for cell in chapter.chapter(notebook, "dsptf", (), ()).cells)
    assert "&lt;script" in page and "<script" not in page
    assert "<script" not in pages.index((), {}, {}, {"array": HTML})


def test_an_error_of_a_notebook_and_a_picture_are_shown():
    assert _what(ValueError(NAME)) == f"ValueError: {harmless(NAME)}"
    picture = in_svg("<svg></svg>", {"paper": NAME}, NAME)
    assert is_harmless(picture) and "<script" not in picture
    assert not re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f]", picture)  # XML does not allow these
    assert Path(os.fsdecode(b"\xff")).name == "\udcff"
