"""`storagekit export`: write an interactive page of the lab as one HTML file."""

import os
from pathlib import Path
from typing import Annotated

import typer

from storagekit.cli import completion
from storagekit.core.errors import InputError

# the names in `storagekit.lab.PAGES`; they are repeated here so that help does not wait for the import of that package
LAB_PAGES = "tour, striping, sessions, array, sr_array, protocol, adaptive, trace, own_drive, fair, bound or failure"


def join(app: typer.Typer) -> None:
    """Add `export` to the command line."""
    app.command()(export)


def export(
    page: Annotated[
        str, typer.Argument(metavar="PAGE", help=f"Page to export: {LAB_PAGES}.", autocompletion=completion.lab_pages)
    ],
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="HTML file to write; by default PAGE.html.")] = None,
) -> None:
    """Write a page of the lab as one HTML file that works without Python and without a network.

    The command computes all results of the page, which takes up to two minutes.
    """
    from storagekit import lab

    chosen, path = lab.page(page), out or Path(f"{page}.html")
    if not path.parent.is_dir():
        raise InputError(f"folder {str(path.parent)!r}: no such folder; create it, or give another file")
    if path.is_dir() or not path.name:
        raise InputError(f"file {str(path)!r}: this is a folder; give a file, for example {path / (page + '.html')}")
    if not os.access(path.parent, os.W_OK):
        raise InputError(f"folder {str(path.parent)!r}: not writable; give a file in another folder")
    print(f"{chosen.title}: {lab.export(page, path)}")
