"""Fixtures of the tests of the command line and of reproduction runs: tiny notebooks, and the command line itself."""

import sys
from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from storagekit.cli import main as cli

PARAMETERS = 'out = "build"\nprofile = "quick"\nseed = 0\nruns = 4\nscale = 1.5\nflag = False'


@pytest.fixture
def storagekit(monkeypatch, capsys):
    """Run the command line in this process: status, stdout, stderr."""

    def call(*arguments: str):
        monkeypatch.setattr(sys, "argv", ["storagekit", *arguments])
        with pytest.raises(SystemExit) as left:
            cli.main()
        said = capsys.readouterr()
        return left.value.code or 0, said.out, said.err

    return call


@pytest.fixture
def notebooks(tmp_path) -> Path:
    """An empty folder of reproduction notebooks."""
    folder = tmp_path / "notebooks"
    folder.mkdir()
    return folder


@pytest.fixture
def write(notebooks) -> Callable[..., Path]:
    """Write a notebook: its name, the source of its cells, and of its parameters cell."""

    def write_notebook(name: str, *cells: str, parameters: str = PARAMETERS) -> Path:
        page = new_notebook(
            cells=[
                new_markdown_cell("# A tiny page"),
                new_code_cell(parameters, metadata={"tags": ["parameters"]}),
                *(new_code_cell(source) for source in cells),
            ]
        )
        path = notebooks / f"{name}.ipynb"
        nbformat.write(page, path)
        return path

    return write_notebook
