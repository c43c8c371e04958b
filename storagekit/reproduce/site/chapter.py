"""A paper's page: its executed notebook, with names for what can be linked to and links to what lies beside it."""

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
# what hides a cell's code behind a word to click on
_FOLDED = "hide-input"
# files with numbers, and what their links are called
_KINDS = {"summary.csv": "means", "csv": "CSV", "nc": "NetCDF"}


@dataclass(frozen=True)
class PageLocation:
    """Where an exhibit stands on its paper's page.

    chart: the id of its picture, of its claims where it has none. code, prose: the ids of the cell that makes it and of what
    is said before. data: the name of the files with its numbers, "" where it has none of its own; files: those that there
    are. alt: what its picture shows, "" where there is none. size: of the picture, width and height in pixels, as far as
    known.
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
        """Links to the files with its numbers. to: as in `picture`."""
        return ", ".join(
            f'<a href="{to}{self.paper}/{self.data}.{suffix}">{kind}</a>'
            for suffix, kind in _KINDS.items()
            if f"{self.data}.{suffix}" in self.files
        )

    def picture(self, to: str) -> str:
        """The picture as an HTML element, as large as it will be before it is loaded: a link to a place keeps its aim.

        to: from the page to the folder of the results, "" or "../".
        """
        size = "".join(f' {name}="{value}"' for name, value in zip(("width", "height"), self.size, strict=False))
        return f'<img src="{to}{self.paper}/{self.data}.svg" alt="{escape(self.alt)}"{size} loading="lazy">'


def title(notebook: NotebookNode, paper: str) -> str:
    """What the notebook's first heading calls the paper, by its key where there is none."""
    first = notebook.cells[0].source.partition("\n")[0] if notebook.cells else ""
    return first.lstrip("# ").partition(",")[0] if first.startswith("# ") else paper


def places(notebook: NotebookNode, rows: Sequence[ScorecardRow], files: Collection[str]) -> dict[str, PageLocation]:
    """The exhibits that an executed notebook shows or states claims of, in its order.

    rows: of the scorecard. files: the names of the files that lie beside the notebook.
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
    """The page of `paper` as a notebook for MyST: code folded, progress bars left out, pictures taken from beside the page.

    rows, files: as in `places`.
    """
    stands = places(notebook, rows, files)
    spoken_of = {place.prose for place in stands.values()}
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
    """The page of a paper of which there is no finished run. why: in Markdown."""
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
    """An output as the page has it; what went to stderr, progress bars above all, stays in the notebook.

    without: the exhibits whose claims a table of claims holds and that have no picture.
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


def _below(place: PageLocation, source: str, number: int, claims: int) -> str:
    """What stands below a chart: its claims, its data, its code."""
    its = f'<a href="../scorecard.html#exhibit={place.chart}">{claims} claim{"s" * (claims != 1)}</a>'
    parts = [*([its] if claims else []), f"data: {place.links('../')}"]
    calls = _calls(source, place.paper)
    made_by = "".join(f", {{py:obj}}`{called} <storagekit.papers.{path}>`" for called, path in calls)
    parts.append(f'code: <a href="#code-{number}">the cell above</a>{made_by}')
    return f'<span class="beside">{" · ".join(parts)}</span>'


def _calls(source: str, paper: str) -> list[tuple[str, str]]:
    """The functions of the paper's room that a cell calls: as it calls them, and where they are in `papers`."""
    homes = {paper: paper, "draw": f"{paper}.draw"}
    with suppress(SyntaxError):
        return _named(ast.parse(source), homes)
    # a cell of the notebook's own language, as %%time
    return []


def _named(cell: ast.AST, homes: Mapping[str, str]) -> list[tuple[str, str]]:
    calls = [node.func for node in ast.walk(cell) if isinstance(node, ast.Call)]
    named = [call for call in calls if isinstance(call, ast.Attribute)]
    called = {(call.value.id, call.attr) for call in named if isinstance(call.value, ast.Name)}
    return [(f"{room}.{name}", f"{homes[room]}.{name}") for room, name in sorted(called) if room in homes]


def _beside(paper: str, notebook: NotebookNode) -> str:
    """What stands below a page's title: how the run was asked for, and what else there is of it."""
    given: Mapping[str, Any] = notebook.metadata.get("papermill", {}).get("parameters", {})
    asked = [escape(f"{name} {given[name]}") for name in ("profile", "seed") if name in given]
    links = [
        f'<a href="../scorecard.html#paper={paper}">its claims</a>',
        f'<a href="../{paper}/{paper}.ipynb">the notebook as it ran</a>',
    ]
    return f'<span class="beside">{" · ".join([*asked, *links])}</span>'


def exhibits_of(cell: NotebookNode) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """The exhibits whose pictures a cell shows, each with what it shows in words and its size."""
    for output in cell.get("outputs", ()):
        about = output.get("metadata", {}).get(_SVG, {})
        if "exhibit" in about:
            size = about["size"] if "size" in about else picture_size(output["data"][_SVG])
            yield about["exhibit"], about.get("alt") or about["exhibit"], tuple(size)


def _claimed(cell: NotebookNode) -> list[str]:
    """The ids of the claims that a cell states measurements of."""
    told: Iterable[Any] = (output.get("metadata", {}).get(_HTML, {}) for output in cell.get("outputs", ()))
    return [claim for about in told for claim in about.get("claims", ())]
