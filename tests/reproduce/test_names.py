"""Names may hold anything: escapes that a terminal obeys, HTML that a page obeys, bytes that are no text. They are shown."""

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

# a colour, a title for the terminal's window, a line of its own, writing from right to left, half a character, and HTML
TERMINAL = "n\x1b[31m\x1b]0;t\x07\x9b2J\u202e\udcff"
HTML = "<script>alert(1)</script>\"'&"
NAME = TERMINAL + HTML


def is_harmless(text: str) -> bool:
    return not [one for one in text if unicodedata.category(one) in ("Cc", "Cf", "Cs") and one not in "\n\t"]


def test_what_is_not_seen_is_written_as_python_does():
    assert harmless("a µ “quoted” name, 5\u00a0ms") == "a µ “quoted” name, 5\u00a0ms"
    assert harmless(TERMINAL) == "n\\x1b[31m\\x1b]0;t\\x07\\x9b2J\\u202e\\udcff"
    assert harmless("a\nb\tc\r", "\n\t") == "a\nb\tc\\r"
    assert str(InputError(f"{TERMINAL}:\nno")) == f"{harmless(TERMINAL)}:\nno"


COMMANDS = dict(leaves(typer.main.get_command(cli.app)))


def attacks(command):
    """The name in the place of every option and argument in turn, and of all arguments at once."""
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
    """No command has to know of it: found by looking through the command line."""
    monkeypatch.chdir(tmp_path)
    for words_given in attacks(COMMANDS[command]):
        status, text, told = storagekit(*command, *words_given)
        assert is_harmless(text) and is_harmless(told), words_given
        assert status != 0 and text == ""
        assert told.count("\n") == 1 and told.startswith("storagekit: "), (words_given, told)


def test_files_are_named_harmlessly_in_tables(storagekit, tmp_path):
    trace = tmp_path / f"{NAME.replace('/', '')}.spc"
    trace.write_text("".join(f"0,{8 * one},512,r,0.{one}\n" for one in range(60)))
    status, text, told = storagekit("trace", "info", str(trace))
    assert (status, told) == (0, "") and "\\x1b[31m" in text and is_harmless(text)


def test_a_drive_is_named_harmlessly(storagekit, tmp_path):
    facts = json.loads(data_path("drives", "atlas10k.json").read_text(encoding="utf-8"))
    drive = tmp_path / "mine.json"
    drive.write_text(json.dumps(facts | {"name": NAME, "source": NAME}))
    status, text, told = storagekit("drive", "show", str(drive))
    assert (status, told) == (0, "") and "\\x1b[31m" in text and is_harmless(text)


def test_what_an_encoding_lacks_is_no_error(monkeypatch, tmp_path):
    with open(tmp_path / "said", "w", encoding="ascii") as said:
        monkeypatch.setattr(sys, "stdout", said)
        with printing.harmlessly():
            print("5 µs", os.fsdecode(b"\xff"))
            sys.stdout.writelines(["a\n", "\x1b"])
    assert (tmp_path / "said").read_text() == "5 \\xb5s \\udcff\na\n\\x1b"


def test_words_of_a_board_are_shown_and_not_obeyed():
    table = pd.DataFrame({HTML: [HTML]}, index=pd.Index([HTML], name=HTML))
    told = words.Said(HTML, [HTML], table)
    for page in (words.html(told), words.html(f"{HTML}\n{HTML}"), words.noted([HTML])):
        assert "<script" not in page and "&lt;script" in page
    for fault in (words.impossible(InputError(NAME)), words.broken(ValueError(NAME))):
        assert "<script" not in fault and "&lt;script" in fault


def test_pages_of_the_book_show_what_a_notebook_was_asked():
    asked = {"profile": HTML, "seed": HTML}
    notebook = nbformat.v4.new_notebook(metadata={"papermill": {"parameters": asked}})
    notebook.cells = [nbformat.v4.new_markdown_cell("# A paper"), nbformat.v4.new_markdown_cell("On.")]
    page = "".join(cell.source for cell in chapter.chapter(notebook, "dsptf", (), ()).cells)
    assert "&lt;script" in page and "<script" not in page
    assert "<script" not in pages.index((), {}, {}, {"array": HTML})


def test_an_error_of_a_notebook_and_a_picture_are_shown():
    assert _what(ValueError(NAME)) == f"ValueError: {harmless(NAME)}"
    picture = in_svg("<svg></svg>", {"paper": NAME}, NAME)
    assert is_harmless(picture) and "<script" not in picture
    assert not re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f]", picture)  # no XML may have these
    assert Path(os.fsdecode(b"\xff")).name == "\udcff"
