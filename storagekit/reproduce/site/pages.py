"""The pages that are not notebooks: the start page, the scorecard with its filters, and the gallery."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape

from storagekit.reproduce.claims import EVIDENCE
from storagekit.reproduce.report import NOTHING, RULES, html_table, share_table, summary
from storagekit.reproduce.scorecard import VERDICTS, ScorecardRow
from storagekit.reproduce.site.chapter import PageLocation

# Pictures of the start page, if the run has them: a protocol, a layout, a sustained rate.
_FIRST = {
    "dsptf.fig5": "throughput per brick by the number of replicas, for several protocols that select the replica",
    "srarray.fig6": "response time by number of disks, for several layouts",
    "swift.fig6": "data-rate that a client can sustain by number of disks, for several striping units",
}

_INDEX = """\
---
hide-toc: true
---

# storagekit

Storage systems of many drives: simulations, formulas, and comparisons with the five papers that proposed them. Every number
and chart of this site comes from runs of the linked code. [The scorecard](scorecard.md) has a row for each claim of the
papers, with its verdict. Claims that are not met are listed too.

{shares}

The table shows the number of judged claims that are met, by kind of evidence. Only the first column of numbers shows how
well a paper is reproduced; [the scorecard](scorecard.md) explains the other columns.

{pictures}

## Contents

- **The papers**: {papers}.
- [The scorecard](scorecard.md): the papers' claims, the measured values, and the evidence of each row.
- [The gallery](gallery.md): every chart of this run.{lab}
- [Tutorials](docs/tutorials/index.md), [how-tos](docs/howto/index.md), and [the model and its limits](docs/model/index.md).
- [Reference](docs/reference/index.md): every public name, from its docstring, with its source.

{toctrees}
"""
_SCRIPT = """
<p><a href="scorecard.csv">This table as CSV</a></p>
<script src="_static/scorecard.js"></script>"""
_SECTIONS = {
    "Results": ("scorecard", "gallery"),
    "Docs": ("docs/tutorials/index", "docs/howto/index", "docs/model/index", "docs/reference/index"),
}


def index(
    rows: Sequence[ScorecardRow],
    titles: Mapping[str, str],
    locations: Mapping[str, PageLocation],
    lab: Mapping[str, str] = NOTHING,
) -> str:
    """Return the start page, in MyST.

    Parameters
    ----------
    rows : sequence of ScorecardRow
        Rows of the scorecard.
    titles : mapping of str to str
        Title of each paper, by the key of the paper.
    locations : mapping of str to PageLocation
        Location of each exhibit of the run.
    lab : mapping of str to str
        Subject of each lab page that exists, keyed by name; none by default.
    """
    names = {paper: f'<a href="papers/{paper}.html">{escape(name)}</a>' for paper, name in titles.items()}
    shown = [name for name in _FIRST if name in locations] or [
        name for name, location in locations.items() if location.alt
    ][:3]
    pictures = "".join(_picture(name, locations[name], titles[_paper(name)], _FIRST.get(name)) for name in shown)
    sections = {"Papers": [f"papers/{paper}" for paper in titles]} | _SECTIONS
    return _INDEX.format(
        shares=_raw(f'<div class="shares">{share_table(rows, names)}</div>') if rows else "No paper has run yet.",
        pictures=_raw(f'<div class="pictures">{pictures}</div>'),
        papers=", ".join(f"[{name}](papers/{paper}.ipynb)" for paper, name in titles.items()),
        lab="\n- Interactive pages: " + ", ".join(_lab_page(*one) for one in lab.items()) + "." if lab else "",
        toctrees="\n\n".join(_toctree(caption, pages) for caption, pages in sections.items()),
    )


def _lab_page(name: str, about: str) -> str:
    return f'<a href="lab/{name}.html">{escape(about)}</a>'


def gallery(titles: Mapping[str, str], locations: Mapping[str, PageLocation]) -> str:
    """Return a page in MyST with every picture of the run, paper by paper. Each picture links to its location."""
    parts = [
        "---\nhide-toc: true\n---\n\n# Gallery\n\nThe page has every chart of this run. A click on a chart leads to "
        "its description."
    ]
    for paper, name in titles.items():
        its = [
            (exhibit, location) for exhibit, location in locations.items() if location.alt and _paper(exhibit) == paper
        ]
        pictures = "".join(_picture(exhibit, location, exhibit.partition(".")[2]) for exhibit, location in its)
        shown = _raw(f'<div class="pictures">{pictures}</div>') if its else "This paper has not run."
        parts.append(f"## {name}\n\n{shown}")
    return "\n\n".join(parts) + "\n"


def scorecard(
    rows: Sequence[ScorecardRow],
    says: Mapping[str, str],
    titles: Mapping[str, str],
    locations: Mapping[str, PageLocation],
) -> str:
    """Return the scorecard, in MyST: filters, counts, and a row with links for each claim.

    The links of a row lead to the chart, the data, the code and the text of the claim.

    Parameters
    ----------
    rows : sequence of ScorecardRow
        Rows of the scorecard.
    says : mapping of str to str
        Statement of each claim, keyed by id.
    titles : mapping of str to str
        Title of each paper, by the key of the paper.
    locations : mapping of str to PageLocation
        Location of each exhibit of the run.
    """
    links = {row.id: _row_links(row, locations.get(row.exhibit)) for row in rows}
    table = html_table(sorted(rows, key=lambda row: list(titles).index(row.paper)), says, links)
    shares = _raw(f'<div class="shares">{share_table(rows)}</div>')
    words = f"<details><summary>Definitions</summary><p>{escape(RULES)}</p></details>"
    whole = f'{words}{_filters(titles)}<div id="rows" class="claims">{table}</div>{_SCRIPT}'
    return (
        f"---\nhide-toc: true\n---\n\n# Scorecard\n\n{summary((row.evidence, row.verdict) for row in rows)}.\n\n"
        f"{shares}\n\n"
        f"{_raw(whole)}\n"
    )


def _filters(titles: Mapping[str, str]) -> str:
    choices = {"paper": list(titles), "verdict": VERDICTS, "evidence": EVIDENCE}
    menus = ""
    for name, ones in choices.items():
        options = "".join(f"<option>{one}</option>" for one in ones)
        menus += f'<label>{name} <select name="{name}"><option value="">all</option>{options}</select></label>\n'
    return (
        f'<form id="filters" role="search">{menus}<label>text <input type="search" name="text"></label>\n'
        '<output></output> <button type="reset">show all</button></form>\n'
    )


def _row_links(row: ScorecardRow, location: PageLocation | None) -> str:
    """Return the links of a claim's row. If the paper or the exhibit did not run, link to the paper's page."""
    page = f"papers/{row.paper}.html"
    if location is None:
        return f'<a href="{page}">the paper</a>'
    parts = [f'<a href="{page}#{location.chart}">{"chart" if location.alt else "claims"}</a>']
    parts += [location.links("")] if location.data else []
    parts += [f'<a href="{page}#{location.code}">code</a>', f'<a href="{page}#{location.prose}">text</a>']
    return " · ".join(parts)


def _picture(exhibit: str, location: PageLocation, name: str, what: str | None = None) -> str:
    """Return a small picture that links to its location on a page, with its name and `what` or its description below."""
    link = f'<a href="papers/{_paper(exhibit)}.html#{exhibit}">'
    seen = what or location.alt
    caption = f"{link}{escape(name)}</a>" + (f": {escape(seen)}" if seen != name else "")
    return f"<figure>{link}{location.picture('')}</a><figcaption>{caption}</figcaption></figure>"


def _paper(exhibit: str) -> str:
    return exhibit.partition(".")[0]


def _raw(text: str) -> str:
    """Return HTML for a page in MyST, unchanged."""
    return f"``````{{raw}} html\n{text}\n``````"


def _toctree(caption: str, pages: Iterable[str]) -> str:
    return "\n".join(["```{toctree}", ":hidden:", f":caption: {caption}", "", *pages, "```"])
