"""Build the site and move it to its final location. An incomplete site is not left there."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode
from tqdm import tqdm

from storagekit.core.atomic_files import write_text
from storagekit.core.resources import PACKAGE, docs_path, reproduction_path
from storagekit.reproduce import cache, claims
from storagekit.reproduce.files import digest
from storagekit.reproduce.folders import private
from storagekit.reproduce.report import csv_text
from storagekit.reproduce.scorecard import ScorecardRow
from storagekit.reproduce.site import chapter, growing, lab_pages, pages

RECORD = "site.json"
FIRST_PAGE = "index.html"
_VERSIONS = ("sphinx", "myst-nb", "furo", "latex2mathml")
# Progress lines of Sphinx for its three long steps.
_STEP = re.compile(r"(reading sources|writing output|highlighting module code)\W+(\d+)%")
_STEPS = ("reading sources", "writing output", "highlighting module code")


class SiteError(RuntimeError):
    """Raised if the site could not be built; the message is from Sphinx or the operating system.

    The results of the run are unchanged.
    """


@dataclass(frozen=True)
class Site:
    """The site of the results in a folder.

    Parameters
    ----------
    out : Path
        Folder of the results.
    rows : sequence of ScorecardRow
        Rows of the scorecard.
    failures : mapping of str to str
        For each paper whose notebook failed, the reason; empty by default.
    packages : sequence of str
        Full names of the packages in the reference; all by default.
    docs : Path
        Folder of Markdown documents; the package's folder by default.
    """

    out: Path
    rows: Sequence[ScorecardRow]
    failures: Mapping[str, str] = field(default_factory=dict)
    packages: Sequence[str] = ()
    docs: Path = field(default_factory=docs_path)

    def is_current(self) -> bool:
        """Return whether `out` contains the complete site of these results."""
        record = _read(self.out)
        files = record.get("files", ())
        there = FIRST_PAGE in files and all((self.out / name).is_file() for name in files)
        return there and record["fingerprint"] == self._fingerprint()

    def write(self) -> str:
        """Build the site: OUT/index.html and its pages.

        The files of an earlier site are removed, even if the new site cannot be built.

        Returns
        -------
        str
            Warnings of Sphinx, "" if there are no warnings.

        Raises
        ------
        SiteError
            If the site could not be built.
        """
        wanted = self._fingerprint()
        try:
            with private(self.out) as workshop:
                self._write_sources(workshop / "sources")
                warned = _sphinx(workshop, self.packages)
                write_text(workshop / "site" / growing.PAGE, growing.MOVED)
                _clear(self.out)
                self._publish(workshop / "site", wanted)
        except Exception as fault:  # a user's notebook may contain anything; the results must stay valid
            with suppress(OSError):
                _clear(self.out)
            raise SiteError(f"the site was not made: {fault}; the results in {self.out} are complete") from fault
        return warned

    def _fingerprint(self) -> str:
        """Return a digest of all inputs that determine the content of the site."""
        total = hashlib.sha256(csv_text(self.rows).encode())
        roots = [PACKAGE, *([] if self.docs.is_relative_to(PACKAGE) else [self.docs])]
        inputs = [path for root in roots for path in sorted(root.rglob("*")) if "__pycache__" not in path.parts]
        inputs += [self.out / name / cache.FINGERPRINT for name in (*claims.papers(), lab_pages.FOLDER)]
        for path in inputs:
            if path.is_file():
                total.update(f"{path.name} {digest(path)}\n".encode())
        rest = [dict(self.failures), list(self.packages), [version(name) for name in _VERSIONS]]
        total.update(json.dumps(rest).encode())
        return total.hexdigest()

    def _write_sources(self, folder: Path) -> None:
        notebooks = {paper: _notebook(self.out, paper) for paper in claims.papers()}
        titles = {paper: chapter.title(notebook, paper) for paper, notebook in notebooks.items()}
        ran = {paper: notebooks[paper] for paper in notebooks if cache.is_finished(self.out, paper)}
        files = {paper: sorted(path.name for path in (self.out / paper).iterdir()) for paper in ran}
        locations = {
            exhibit: location
            for paper, notebook in ran.items()
            for exhibit, location in chapter.locations(notebook, self.rows, files[paper]).items()
        }
        shutil.copytree(self.docs, folder / "docs")
        for paper, name in titles.items():
            if paper in ran:
                page = chapter.chapter(ran[paper], paper, self.rows, files[paper])
            else:
                page = self._unwritten(paper, name)
            write_text(folder / "papers" / f"{paper}.ipynb", nbformat.writes(page))
        says = {one.id: one.says for paper in titles for one in claims.load_claims(paper)}
        write_text(folder / "index.md", pages.index(self.rows, titles, locations, lab_pages.there(self.out)))
        write_text(folder / "scorecard.md", pages.scorecard(self.rows, says, titles, locations))
        write_text(folder / "gallery.md", pages.gallery(titles, locations))

    def _unwritten(self, paper: str, name: str) -> NotebookNode:
        why = f"This paper has not run. Run it with `storagekit reproduce {paper}`."
        if paper in self.failures:
            why = f"The notebook failed:\n\n```text\n{self.failures[paper].replace('```', '')}\n```"
        return chapter.unwritten(name, why)

    def _publish(self, site: Path, wanted: str) -> None:
        """Move the files from Sphinx to their final location. The start page is last: it exists only if all others do.

        The record with all names is written first, so that a later run can remove an incomplete site. wanted: the
        fingerprint.
        """
        made = [path.relative_to(site) for path in site.rglob("*") if path.is_file() and not path.name.startswith(".")]
        self._mark(site, cache.UNFINISHED, made)
        for name in sorted(made, key=lambda name: name.as_posix() == FIRST_PAGE):
            (self.out / name).parent.mkdir(parents=True, exist_ok=True)
            os.replace(site / name, self.out / name)
        self._mark(site, wanted, made)

    def _mark(self, site: Path, fingerprint: str, made: Sequence[Path]) -> None:
        record = {"fingerprint": fingerprint, "files": sorted(name.as_posix() for name in made)}
        write_text(site / RECORD, json.dumps(record, indent=1) + "\n")
        os.replace(site / RECORD, self.out / RECORD)


def _notebook(out: Path, paper: str) -> NotebookNode:
    """Return the executed notebook of a paper, or its source if it has not run."""
    ran = out / paper / f"{paper}.ipynb"
    path = ran if ran.exists() else reproduction_path(paper)
    return nbformat.read(path, as_version=4) if path.exists() else nbformat.v4.new_notebook()


def _sphinx(workshop: Path, packages: Sequence[str]) -> str:
    """Run Sphinx over the sources and return its warnings.

    Sphinx runs in a separate process, because it changes global state of its process.
    """
    command = [sys.executable, "-m", "sphinx", "--builder", "html", "--conf-dir", str(Path(__file__).parent)]
    command += ["-D", f"storagekit_packages={','.join(packages)}"] if packages else []
    command += ["--doctree-dir", *(str(workshop / name) for name in ("doctrees", "sources", "site"))]
    how: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "text": True, "encoding": "utf-8"}
    environment = os.environ | {"PYTHONIOENCODING": "utf-8", "NO_COLOR": "1"}
    with (
        (workshop / "warnings.txt").open("w+", encoding="utf-8") as said,
        tqdm(total=100, desc="site", unit="%") as bar,
        subprocess.Popen(command, stderr=said, env=environment, **how) as process,
    ):
        try:
            for done in _done(process.stdout):
                bar.update(done - bar.n)
        except BaseException:  # otherwise the exit of the block would wait for the process
            process.kill()
            raise
        status = process.wait()
        said.seek(0)
        warned = said.read().strip()
    if status:
        last = warned.splitlines()[-1] if warned else f"exit status {status}"
        raise SiteError(f"sphinx: {last}")
    return warned


def _done(lines: Any) -> Iterator[int]:
    """Yield the progress in percent, after each line of Sphinx's output that reports progress."""
    for line in lines:
        found = _STEP.search(line)
        if found:
            yield (100 * _STEPS.index(found[1]) + int(found[2])) // len(_STEPS)


def _clear(out: Path) -> None:
    """Remove the files of an earlier site, and the folders that become empty; other files stay."""
    names = [RECORD, FIRST_PAGE, *_read(out).get("files", ())]
    for name in names:
        (out / name).unlink(missing_ok=True)
    folders = {parent for name in names for parent in Path(name).parents if parent != Path(".")}
    for folder in sorted(folders, key=lambda one: len(one.parts), reverse=True):
        if (out / folder).is_dir() and not any((out / folder).iterdir()):
            (out / folder).rmdir()


def _read(out: Path) -> dict[str, Any]:
    """Return the record of the site in `out`; empty if it is missing or invalid."""
    try:
        record = json.loads((out / RECORD).read_text(encoding="utf-8"))
        inside = all(name and not Path(name).is_absolute() and ".." not in Path(name).parts for name in record["files"])
        valid = isinstance(record["files"], list) and isinstance(record["fingerprint"], str)
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return {}
    return record if inside and valid else {}
