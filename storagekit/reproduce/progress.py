"""Show the progress of a run, on a terminal and on a page."""

import ast
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock

from nbformat import NotebookNode
from tqdm import tqdm

from storagekit.reproduce import parameters
from storagekit.reproduce.printing import say
from storagekit.reproduce.scorecard import ScorecardRow
from storagekit.reproduce.site.growing import Growing

# The tag of the cell that shows a paper's first result.
HEADLINE = "headline"


def exhibits(notebook: Path) -> int:
    """Return the number of exhibits that a notebook shows: its calls of `show`."""
    return sum(_shows(cell.source) for cell in parameters.read_notebook(notebook).cells if cell.cell_type == "code")


def _shows(source: str) -> int:
    with suppress(SyntaxError):
        calls = [node.func for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
        return sum(isinstance(call, ast.Attribute) and call.attr == "show" for call in calls)
    # A cell with IPython syntax, such as %%time, does not parse.
    return 0


def is_headline(cell: NotebookNode) -> bool:
    """Return whether a cell shows the headline of its paper."""
    return HEADLINE in cell.metadata.get("tags", ())


def has_headline(notebook: Path) -> bool:
    """Return whether a notebook has a cell that shows the headline of its paper."""
    return any(map(is_headline, parameters.read_notebook(notebook).cells))


class Progress:
    """The progress of a run: a bar on stderr and a page that grows.

    The bar has one step for each exhibit and for each page of the lab.

    Parameters
    ----------
    page : Growing
        The page.
    bar : tqdm
        The bar.
    papers : mapping of str to int
        Number of exhibits of each paper.
    """

    def __init__(self, page: Growing, bar: tqdm, papers: Mapping[str, int]):
        self._page, self._bar, self._lock = page, bar, Lock()
        self._left = dict(papers)

    def starts(self, paper: str) -> None:
        """Record that a notebook begins."""
        self._page.starts(paper)

    def cell(self, paper: str, cell: NotebookNode, made: Path) -> None:
        """Record that a cell of a notebook has run. made: the folder with the files of the paper."""
        before = self._page.shown(paper)
        self._page.cell(paper, cell, made)
        self._step(paper, self._page.shown(paper) - before)

    def ends(self, paper: str, failed: bool) -> None:
        """Record that a notebook has ended. The bar skips the exhibits that the notebook did not show."""
        self._page.ends(paper, failed)
        self._step(paper, self._left[paper])

    def lab_page(self) -> None:
        """Record that a page of the lab is written."""
        with self._lock:
            self._bar.update()

    def _step(self, paper: str, count: int) -> None:
        met, judged = self._page.claims()
        with self._lock:
            self._left[paper] -= count
            self._bar.set_postfix_str(f"{met} of {judged} claims met so far", refresh=False)
            self._bar.update(count)


@contextmanager
def showing(out: Path, papers: Mapping[str, int], others: Sequence[ScorecardRow], lab_pages: int) -> Iterator[Progress]:
    """Show the progress of a run until the block ends. If the run is stopped, print the location of its results.

    Parameters
    ----------
    out : Path
        Folder of the results.
    papers : mapping of str to int
        Number of exhibits of each paper that runs.
    others : sequence of ScorecardRow
        Rows of the scorecard of papers that do not run.
    lab_pages : int
        Number of pages of the lab that the run writes.
    """
    page = Growing(out, papers, others)
    total = sum(papers.values()) + lab_pages
    label = " ".join([*papers, *(["lab"] if lab_pages else [])])
    page.begin()
    if papers:
        say(f"results so far, updated during the run: {page.page}")
    with tqdm(total=total, desc=label, unit="exhibit", smoothing=0, disable=not total) as bar:
        try:
            yield Progress(page, bar, papers)
        except BaseException:
            if page.stop():
                say(f"results so far: {page.page}; repeat the command to continue")
            raise
    page.close()
