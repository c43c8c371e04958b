"""A working folder with copies of the notebooks; a notebook that the user has changed is never overwritten."""

import hashlib
import json
import re
from pathlib import Path
from typing import NamedTuple

from storagekit.core.atomic_files import write_text
from storagekit.core.errors import InputError
from storagekit.core.resources import notebooks_path, reproductions_path

# record of the copies; it distinguishes a page that the user has changed from an unchanged page of an older package
RECORD = ".storagekit-lab.json"
PAPERS = "papers"


class FolderReport(NamedTuple):
    """The content of a folder: all pages, and the pages that the user has changed.

    Paths are relative to the folder and have no suffix.
    """

    pages: list[str]
    kept: list[str]


def fill(folder: Path) -> FolderReport:
    """Copy the pages of the package into `folder`, and the notebooks of the papers into its subfolder papers/.

    A page that the user has only run counts as unchanged, because outputs are not compared. Raises InputError if the
    folder cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        record = _record(folder)
        kept = [name for name, source in _shipped().items() if not _brought(folder, name, source, record)]
        write_text(folder / RECORD, json.dumps(record, indent=1) + "\n")
    except OSError as fault:
        reason = fault.strerror or fault
        raise InputError(f"folder {str(folder)!r}: {reason}; give a writable folder, --folder DIR") from fault
    return FolderReport(_pages(folder), kept)


def find(page: str, folder: Path, pages: list[str]) -> str:
    """Return the path, relative to `folder`, of the notebook that is named `page` or opens the lab page `page`.

    The folder and the suffix of `page` are optional. Raises InputError if there is no such notebook.
    """
    wanted = page.removesuffix(".ipynb")
    for name in (wanted, f"{PAPERS}/{wanted}", _with_page(wanted)):
        if name in pages:
            return f"{name}.ipynb"
    raise InputError(f"page {page[:60]!r}: not in {str(folder)!r}; give one of {', '.join(pages)}")


def _with_page(lab_page: str) -> str | None:
    """Return the name of the package's notebook that opens the lab page `lab_page`; None if there is none."""
    opens = re.compile(rf'lab\.open\(\s*"{re.escape(lab_page)}"')
    for name, path in _shipped().items():
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        if any(opens.search("".join(cell["source"])) for cell in cells):
            return name
    return None


def _shipped() -> dict[str, Path]:
    homes = (("", notebooks_path()), (f"{PAPERS}/", reproductions_path()))
    return {f"{folder}{path.stem}": path for folder, home in homes for path in sorted(home.glob("*.ipynb"))}


def _pages(folder: Path) -> list[str]:
    found = [*sorted(folder.glob("*.ipynb")), *sorted((folder / PAPERS).glob("*.ipynb"))]
    return [path.relative_to(folder).with_suffix("").as_posix() for path in found]


def _brought(folder: Path, name: str, source: Path, record: dict[str, str]) -> bool:
    """Copy a page into `folder` unless the user has changed the copy. Return whether the copy equals the source.

    record: digest of each copied page. The function updates the record.
    """
    target = folder / f"{name}.ipynb"
    text = source.read_text(encoding="utf-8")
    ours = _digest(text)
    theirs = ""
    if target.exists():
        theirs = _digest(target.read_text(encoding="utf-8", errors="replace"))
        if theirs != ours and theirs != record.get(name):
            return False
    if theirs != ours:
        write_text(target, text)
    record[name] = ours
    return True


def _record(folder: Path) -> dict[str, str]:
    try:
        found = json.loads((folder / RECORD).read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _digest(text: str) -> str:
    """Return the digest of the types and sources of a notebook's cells; of the whole text if it is not a notebook."""
    try:
        cells = [(cell["cell_type"], "".join(cell["source"])) for cell in json.loads(text)["cells"]]
        text = json.dumps([cell for cell in cells if cell[1].strip()])
    except (ValueError, KeyError, TypeError):
        pass
    return hashlib.sha256(text.encode()).hexdigest()
