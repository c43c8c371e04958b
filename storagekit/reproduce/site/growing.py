"""The results of an unfinished run: OUT/progress.html and OUT/scorecard.csv, which grow with every exhibit.

Files of unfinished papers are in OUT/.storagekit-unfinished, so that they are not mistaken for finished results.
"""

import os
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from threading import Lock

from nbformat import NotebookNode

from storagekit.core.atomic_files import write_text
from storagekit.reproduce.claims import Claim, load_claims
from storagekit.reproduce.page import load_measurements
from storagekit.reproduce.report import html_table, share_table, write_scorecard
from storagekit.reproduce.scorecard import MET, ScorecardRow, score
from storagekit.reproduce.site.chapter import PageLocation, exhibits_of

PAGE = "progress.html"
UNFINISHED = ".storagekit-unfinished"
WAITING, RUNNING, STOPPED, FINISHED, FAILED = "waiting", "running", "stopped", "finished", "failed"
# Seconds after which a browser reloads the page.
_REFRESH = 10
_NOTES = {
    WAITING: "not measured yet: the notebook has not started",
    RUNNING: "not measured yet: the notebook is running",
    STOPPED: "not measured: the run was stopped; repeat the command to continue",
    FINISHED: "",
    FAILED: "the notebook failed",
}
_STYLE = """
body { font: 15px system-ui, sans-serif; color: #222; background: #fff; margin: 1.5rem auto; max-width: 80rem;
  padding: 0 1rem }
.unfinished { background: #fff3c4; padding: .5rem .75rem; border-left: 4px solid #d9a400 }
table.papers td, table.papers th { text-align: left; padding: .2rem 1.2rem .2rem 0 }
.exhibits { display: grid; grid-template-columns: repeat(auto-fill, minmax(24rem, 1fr)); gap: 1.5rem }
figure { margin: 0 } figure img { max-width: 100%; height: auto } figcaption { font-size: 13px; color: #444 }
"""
# The content of the page after the site is built.
MOVED = (
    '<!doctype html><meta charset="utf-8"><title>storagekit</title><meta http-equiv="refresh" content="0; url=index.html">'
    '<a href="index.html">The results</a>'
)


@dataclass
class _Part:
    """The progress of one paper: its total number of exhibits, its claims, its state, and its results so far."""

    paper: str
    total: int
    claims: Sequence[Claim]
    state: str = WAITING
    locations: dict[str, PageLocation] = field(default_factory=dict)
    rows: Sequence[ScorecardRow] = ()

    @property
    def met(self) -> int:
        """Return the number of claims met so far."""
        return sum(row.verdict in MET for row in self.rows)

    @property
    def judged(self) -> int:
        """Return the number of claims that have a measured value so far."""
        return sum(row.verdict != "not-run" for row in self.rows)


class Growing:
    """A page that shows the results of a run so far and reloads itself.

    Parameters
    ----------
    out : Path
        Folder of the results.
    papers : mapping of str to int
        Number of exhibits of each paper that runs.
    others : sequence of ScorecardRow
        Rows of the scorecard of papers that do not run; none by default.
    """

    def __init__(self, out: Path, papers: Mapping[str, int], others: Sequence[ScorecardRow] = ()):
        self._out, self._others = out, others
        self._parts = {paper: _Part(paper, total, load_claims(paper)) for paper, total in papers.items()}
        self._lock = Lock()
        self._written = ""
        self._scored = False

    @property
    def page(self) -> Path:
        """Return the path of the page."""
        return self._out / PAGE

    def begin(self) -> None:
        """Remove the unfinished files of an earlier run, and write an empty page if a paper runs."""
        forget(self._out)
        if self._parts:
            self._score_and_write()

    def starts(self, paper: str) -> None:
        """Record that a notebook begins."""
        with self._changing():
            self._parts[paper].state = RUNNING
            self._score_and_write()

    def cell(self, paper: str, cell: NotebookNode, made: Path) -> None:
        """Record that a cell of a notebook has run. made: the private folder with the files of the paper."""
        with self._changing():
            part = self._parts[paper]
            files = _copied(made, self._out / UNFINISHED / paper)
            for exhibit, alt, size in exhibits_of(cell):
                name = exhibit.partition(".")[2]
                its = tuple(file for file in files if file.startswith(f"{name}."))
                part.locations[exhibit] = PageLocation(f"{UNFINISHED}/{paper}", exhibit, "", "", name, alt, size, its)
            self._score_and_write()

    def ends(self, paper: str, failed: bool) -> None:
        """Record that a notebook has ended. The files of a notebook that did not fail are in OUT/<paper>."""
        with self._changing():
            part = self._parts[paper]
            part.state = FAILED if failed else FINISHED
            if failed:
                part.locations.clear()
            self._score_and_write()

    def stop(self) -> bool:
        """Record that the run was stopped, and return whether any result exists.

        Without results the page is removed.
        """
        anything = any(part.locations for part in self._parts.values())
        with self._changing():
            for part in self._parts.values():
                part.state = STOPPED if part.state in (WAITING, RUNNING) else part.state
            if anything:
                self._score_and_write()
            else:
                self.close()
        return anything

    def close(self) -> None:
        """Remove the unfinished files, and the page unless the site has replaced it."""
        forget(self._out)
        with suppress(OSError):
            if self.page.read_text(encoding="utf-8") == self._written:
                self.page.unlink()

    def shown(self, paper: str) -> int:
        """Return the number of exhibits that a paper has shown so far."""
        return len(self._parts[paper].locations)

    def claims(self) -> tuple[int, int]:
        """Return the number of claims met so far, and the number of claims that have a measured value so far."""
        parts = self._parts.values()
        return sum(one.met for one in parts), sum(one.judged for one in parts)

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """Allow one change of the page at a time. A page that cannot be written does not stop the run."""
        with self._lock, suppress(OSError):
            yield

    def _score_and_write(self) -> None:
        for part in self._parts.values():
            found = () if part.state == FAILED else load_measurements(self._out / UNFINISHED, part.paper)
            part.rows = score(part.claims, found, _NOTES[part.state])
        rows = [row for part in self._parts.values() for row in part.rows]
        self._scored = self._scored or any(row.verdict != "not-run" for row in rows)
        if self._scored:
            write_scorecard([*self._others, *rows], self._out)
        text = _page(list(self._parts.values()), rows)
        write_text(self.page, text)
        self._written = text


def _copied(made: Path, folder: Path) -> list[str]:
    """Link or copy the files that a notebook has written so far into `folder`, and return their names."""
    folder.mkdir(parents=True, exist_ok=True)
    files = sorted(path for path in made.iterdir() if path.is_file() and not path.name.startswith("."))
    for path in files:
        there = folder / path.name
        if not (there.exists() and there.samefile(path)):
            there.unlink(missing_ok=True)
            try:
                os.link(path, there)
            except OSError:
                shutil.copyfile(path, there)
    return [path.name for path in files]


def _page(parts: Sequence[_Part], rows: Sequence[ScorecardRow]) -> str:
    """Return the page as HTML, with the state of each paper, and the charts and claims so far."""
    stopped = any(part.state == STOPPED for part in parts)
    under_way = "The run was stopped. Repeat the command to continue." if stopped else "The run is not finished."
    measured = [row for row in rows if row.verdict != "not-run"]
    says = {one.id: one.says for part in parts for one in part.claims}
    scored = f"<h2>Claims so far</h2>{share_table(measured)}{html_table(measured, says)}" if measured else ""
    refresh = "" if stopped else f'<meta http-equiv="refresh" content="{_REFRESH}">'
    return (
        f'<!doctype html>\n<html lang="en"><meta charset="utf-8">{refresh}<title>storagekit: results so far</title>'
        f"<style>{_STYLE}</style>\n<h1>Results so far</h1>\n"
        f'<p class="unfinished">{under_way} This page shows the results until {time.strftime("%H:%M:%S")}. '
        "Results of unfinished papers may still change.</p>\n"
        f"{_papers(parts)}\n{''.join(_exhibits(part) for part in parts)}\n{scored}</html>\n"
    )


def _papers(parts: Sequence[_Part]) -> str:
    """Return the table of papers: state, exhibits and claims."""
    lines = "".join(
        f"<tr><td>{escape(part.paper)}</td><td>{part.state}</td><td>{len(part.locations)} of "
        f"{part.total}</td><td>{part.met} of {part.judged} judged claims met ({len(part.rows)} in total)</td></tr>"
        for part in parts
    )
    head = "".join(f"<th>{name}</th>" for name in ("paper", "notebook", "exhibits", "claims"))
    return f'<table class="papers"><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table>'


def _exhibits(part: _Part) -> str:
    """Return the charts of a paper so far, the newest first."""
    figures = "".join(
        f"<figure>{location.picture('')}<figcaption>{escape(exhibit)}: {location.links('')}</figcaption></figure>"
        for exhibit, location in reversed(part.locations.items())
    )
    return f'<h2>{escape(part.paper)}</h2><div class="exhibits">{figures}</div>' if figures else ""


def forget(out: Path) -> None:
    """Remove the files of unfinished papers."""
    shutil.rmtree(out / UNFINISHED, ignore_errors=True)
