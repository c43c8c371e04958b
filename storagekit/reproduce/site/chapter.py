"""A paper's page: its executed notebook, with anchors for links, and with links to the files in the paper's folder."""

import ast
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from html import escape
from typing import Any

from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell, new_notebook, new_output

from storagekit.reproduce.files import picture_size
from storagekit.reproduce.scorecard import ScorecardRow

_SVG, _HTML = "image/svg+xml", "text/html"
# The tag of a cell whose code is hidden until a click.
_FOLDED = "hide-input"
# Suffixes of files with numbers, and the text of their links.
_KINDS = {"summary.csv": "means", "csv": "CSV", "nc": "NetCDF"}


@dataclass(frozen=True)
class PageLocation:
    """The location of an exhibit on its paper's page.

    Parameters
    ----------
    paper : str
        Key of the paper.
    chart : str
        Id of the picture, or of the exhibit's claims if it has no picture.
    code, prose : str
        Id of the cell that makes the exhibit, and id of the text before this cell.
    data : str
        Name of the files with the exhibit's numbers, without suffix; empty without files.
    alt : str
        Description of the picture; empty without a picture.
    size : tuple of str
        Width and height of the picture in pixels; empty if unknown.
    files : tuple of str
        Names of the existing files with the exhibit's numbers.
    """

    paper: str
    chart: str
    code: str
    prose: str
    data: str
    alt: str = ""
    size: tuple[str, ...] = ()
    files: tuple[str, ...] = ()

    def links(self, to: str) -> str:
        """Return HTML links to the files with the exhibit's numbers. to: as in `picture`."""
        return ", ".join(
            f'<a href="{to}{self.paper}/{self.data}.{suffix}">{kind}</a>'
            for suffix, kind in _KINDS.items()
            if f"{self.data}.{suffix}" in self.files
        )

    def picture(self, to: str) -> str:
        """Return the picture as an HTML element with its final size.

        The size keeps a link to an anchor exact while pictures load.

        Parameters
        ----------
        to : str
            Path from the page to the folder of the results, "" or "../".
        """
        size = "".join(f' {name}="{value}"' for name, value in zip(("width", "height"), self.size, strict=False))
        return f'<img src="{to}{self.paper}/{self.data}.svg" alt="{escape(self.alt)}"{size} loading="lazy">'


def title(notebook: NotebookNode, paper: str) -> str:
    """Return the name of the paper in the notebook's first heading, or the paper's key without a heading."""
    first = notebook.cells[0].source.partition("\n")[0] if notebook.cells else ""
    return first.lstrip("# ").partition(",")[0] if first.startswith("# ") else paper


def locations(notebook: NotebookNode, rows: Sequence[ScorecardRow], files: Collection[str]) -> dict[str, PageLocation]:
    """Return the location of each exhibit on the page of an executed notebook, in the order of the notebook.

    Parameters
    ----------
    notebook : NotebookNode
        The executed notebook.
    rows : sequence of ScorecardRow
        Rows of the scorecard.
    files : collection of str
        Names of the files in the notebook's folder.
    """
    exhibits = {row.id: row.exhibit for row in rows}
    found: dict[str, PageLocation] = {}
    prose = 0
    for number, cell in enumerate(notebook.cells):
        if cell.cell_type == "markdown":
            prose = number
        anchors = f"code-{number}", f"prose-{prose}"
        for exhibit, alt, size in exhibits_of(cell):
            paper, _, shown = exhibit.partition(".")
            its = tuple(name for name in files if name.startswith(f"{shown}."))
            found[exhibit] = PageLocation(paper, exhibit, *anchors, shown, alt, size, its)
        for exhibit in dict.fromkeys(exhibits[claim] for claim in _claimed(cell)):
            found.setdefault(exhibit, PageLocation(exhibit.partition(".")[0], exhibit, *anchors, ""))
    return found


def chapter(notebook: NotebookNode, paper: str, rows: Sequence[ScorecardRow], files: Collection[str]) -> NotebookNode:
    """Return the page of a paper as a notebook for MyST.

    Code is folded, and progress bars are left out. Pictures are read from files in the paper's folder.

    Parameters
    ----------
    notebook : NotebookNode
        The executed notebook.
    paper : str
        Key of the paper.
    rows, files
        As in `locations`.
    """
    stands = locations(notebook, rows, files)
    spoken_of = {location.prose for location in stands.values()}
    cells = []
    for number, cell in enumerate(notebook.cells):
        if cell.cell_type == "markdown":
            anchor = f'<span id="prose-{number}"></span>\n\n' if f"prose-{number}" in spoken_of else ""
            cells.append(new_markdown_cell(anchor + cell.source))
        elif cell.cell_type == "code":
            cells += _code(cell, number, paper, stands, rows)
    cells.insert(1, new_markdown_cell(_beside(paper, notebook)))
    return new_notebook(cells=cells, metadata={"language_info": {"name": "python", "pygments_lexer": "python"}})


def unwritten(name: str, why: str) -> NotebookNode:
    """Return the page of a paper without a finished run. why: the reason, in Markdown."""
    return new_notebook(cells=[new_markdown_cell(f"# {name}\n\n{why}")])


def _code(
    cell: NotebookNode, number: int, paper: str, stands: Mapping[str, PageLocation], rows: Sequence[ScorecardRow]
) -> Iterator[NotebookNode]:
    claimed = _claimed(cell)
    shown = [exhibit for exhibit, *_ in exhibits_of(cell)]
    if shown or claimed:
        yield new_markdown_cell(f'<span id="code-{number}"></span>')
    tags = [*cell.metadata.get("tags", ()), _FOLDED]
    without = dict.fromkeys(row.exhibit for row in rows if row.id in claimed and not stands[row.exhibit].alt)
    outputs = [one for old in cell.outputs for one in _output(old, stands, list(without))]
    yield NotebookNode(cell | {"metadata": NotebookNode(tags=tags), "outputs": outputs})
    for exhibit in shown:
        claims = sum(row.exhibit == exhibit for row in rows)
        yield new_markdown_cell(_below(stands[exhibit], cell.source, number, claims))


def _output(output: NotebookNode, stands: Mapping[str, PageLocation], without: Sequence[str]) -> Iterator[NotebookNode]:
    """Yield an output in the form of the page. Output to stderr, mostly progress bars, stays in the notebook only.

    without: the exhibits that have no picture, but have claims in a table of claims.
    """
    data, about = output.get("data", {}), output.get("metadata", {})
    exhibit = about.get(_SVG, {}).get("exhibit")
    if output.get("name") == "stderr":
        return
    if exhibit:
        yield _html(f'<figure class="exhibit" id="{exhibit}">{stands[exhibit].picture("../")}</figure>')
    elif _SVG in data:
        yield _html(f'<figure class="exhibit">{data[_SVG]}</figure>')
    elif "claims" in about.get(_HTML, {}):
        named = "".join(f'<span id="{exhibit}"></span>' for exhibit in without)
        yield _html(f'<div class="claims">{named}{data[_HTML]}</div>')
    else:
        yield output


def _html(text: str) -> NotebookNode:
    return new_output("display_data", {_HTML: text})


def _below(location: PageLocation, source: str, number: int, claims: int) -> str:
    """Return the line below a chart, with links to its claims, its data and its code."""
    its = f'<a href="../scorecard.html#exhibit={location.chart}">{claims} claim{"s" * (claims != 1)}</a>'
    parts = [*([its] if claims else []), f"data: {location.links('../')}"]
    calls = _calls(source, location.paper)
    made_by = "".join(f", {{py:obj}}`{called} <storagekit.papers.{path}>`" for called, path in calls)
    parts.append(f'code: <a href="#code-{number}">the cell above</a>{made_by}')
    return f'<span class="beside">{" · ".join(parts)}</span>'


def _calls(source: str, paper: str) -> list[tuple[str, str]]:
    """Return the functions of the paper's package that a cell calls, as pairs of the called name and its full path."""
    homes = {paper: paper, "draw": f"{paper}.draw"}
    with suppress(SyntaxError):
        return _named(ast.parse(source), homes)
    # A cell with IPython syntax, such as %%time, does not parse.
    return []


def _named(cell: ast.AST, homes: Mapping[str, str]) -> list[tuple[str, str]]:
    calls = [node.func for node in ast.walk(cell) if isinstance(node, ast.Call)]
    named = [call for call in calls if isinstance(call, ast.Attribute)]
    called = {(call.value.id, call.attr) for call in named if isinstance(call.value, ast.Name)}
    return [(f"{room}.{name}", f"{homes[room]}.{name}") for room, name in sorted(called) if room in homes]


def _beside(paper: str, notebook: NotebookNode) -> str:
    """Return the line below a page's title: the parameters of the run, and links to further material."""
    given: Mapping[str, Any] = notebook.metadata.get("papermill", {}).get("parameters", {})
    settings = [escape(f"{name} {given[name]}") for name in ("profile", "seed") if name in given]
    links = [
        f'<a href="../scorecard.html#paper={paper}">claims of the paper</a>',
        f'<a href="../{paper}/{paper}.ipynb">executed notebook</a>',
    ]
    return f'<span class="beside">{" · ".join([*settings, *links])}</span>'


def exhibits_of(cell: NotebookNode) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Yield the exhibits whose pictures a cell shows, each with its description and its size."""
    for output in cell.get("outputs", ()):
        about = output.get("metadata", {}).get(_SVG, {})
        if "exhibit" in about:
            size = about["size"] if "size" in about else picture_size(output["data"][_SVG])
            yield about["exhibit"], about.get("alt") or about["exhibit"], tuple(size)


def _claimed(cell: NotebookNode) -> list[str]:
    """Return the ids of the claims for which a cell states measurements."""
    metadata: Iterable[Any] = (output.get("metadata", {}).get(_HTML, {}) for output in cell.get("outputs", ()))
    return [claim for about in metadata for claim in about.get("claims", ())]
