"""Test the site of a run that never ran.

Every link has a target, no network is used, and the site is complete or absent.
"""

import importlib
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from storagekit.core.atomic_files import write_text
from storagekit.reproduce import cache
from storagekit.reproduce.claims import load_claims, papers
from storagekit.reproduce.report import html_table, write_scorecard
from storagekit.reproduce.scorecard import Measurement, score
from storagekit.reproduce.site import Site, SiteError, site
from storagekit.reproduce.site.chapter import chapter, locations
from storagekit.reproduce.site.docstrings import literal, with_limits
from storagekit.reproduce.site.reference import packages

# a small package, so that Sphinx does not start JAX
PACKAGES = ("storagekit.core.units",)
SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="640" height="480"></svg>'
ROWS = tuple(
    score(load_claims("dsptf"), [Measurement("dsptf.table1.gain", 1.41), Measurement("dsptf.protocol.once", True)])
)


def measurements_of(*names: str):
    rows = [row for row in ROWS if row.id in names]
    about = {"text/html": {"claims": [row.id for row in rows]}}
    return new_output("execute_result", {"text/html": html_table(rows, {})}, metadata=about)


def picture_of(exhibit: str, alt: str):
    about = {"image/svg+xml": {"exhibit": exhibit, "alt": alt, "size": ["640", "480"]}}
    return new_output("display_data", {"text/html": '<img src="table1.svg">'}, metadata=about)


def executed():
    """Return a notebook as papermill writes it.

    It has an equation, a chart and its claims, and claims of an exhibit without a chart.
    """
    cells = [
        new_markdown_cell("# D-SPTF, reproduced\n\nOf two equations."),
        new_code_cell('profile = "quick"', metadata={"tags": ["parameters"]}),
        new_markdown_cell("## Table 1\n\nThe wait is $R/2$:\n\n$$R_r = \\frac{R}{2D}$$"),
        new_code_cell(
            'page.show("table1", dsptf.table1(), draw.table1())',
            outputs=[
                new_output("stream", name="stderr", text="drives: 9 of 10"),
                picture_of("dsptf.table1", 'more "gain" <here>'),
            ],
        ),
        new_code_cell("page.claim(dsptf.table1_findings())", outputs=[measurements_of("dsptf.table1.gain")]),
        new_markdown_cell("## The protocol"),
        new_code_cell("page.claim(dsptf.protocol())", outputs=[measurements_of("dsptf.protocol.once")]),
    ]
    return new_notebook(cells=cells, metadata={"papermill": {"parameters": {"profile": "quick", "seed": 3}}})


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Site:
    """Return the site of one finished paper, one that failed and three that have not run."""
    out = tmp_path_factory.mktemp("out")
    folder = out / "dsptf"
    made = tmp_path_factory.mktemp("made")
    write_text(made / "dsptf.ipynb", nbformat.writes(executed()))
    for name in ("table1.svg", "table1.csv", "table1.summary.csv", "table1.nc"):
        write_text(made / name, SVG)
    cache.move_into(made, folder, "made up")
    write_scorecard(ROWS, out)
    write_text(out / "mine" / "index.html", "the reader's own")
    made = Site(out, ROWS, {"swift": "swift.ipynb, cell [4]: ValueError: no"}, PACKAGES)
    assert made.write() == ""
    return made


class Links(HTMLParser):
    """Collect the ids of a page, its links, and the files that it loads."""

    def __init__(self, page: Path):
        super().__init__()
        self.ids, self.leads, self.loads = set(), [], []
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.ids |= {given[name] for name in ("id", "name") if given.get(name)}
        if tag == "a" and "href" in given:
            self.leads.append(given["href"])
        self.loads += [given[name] for name in ("src", "srcset", "data") if given.get(name)]
        self.loads += [given["href"]] if tag == "link" and given.get("rel") != "canonical" else []


@pytest.fixture(scope="module")
def pages(built) -> dict[Path, Links]:
    names = [name for name in built.out.rglob("*.html") if name.parent.name not in ("mine", "dsptf")]
    return {page: Links(page) for page in names}


def broken(page: Path, link: str, pages: dict[Path, Links]) -> bool:
    """Return whether an internal link names a missing file, or a missing id in a page of the site."""
    to = urlsplit(link)
    target = (page.parent / unquote(to.path)).resolve() if to.path else page
    fragment = unquote(to.fragment)
    return not target.is_file() or bool(
        fragment and "=" not in fragment and target in pages and fragment not in pages[target].ids
    )


def test_every_link_has_a_target(pages, built):
    assert {page.relative_to(built.out).as_posix() for page in pages} >= {
        "index.html",
        "scorecard.html",
        "gallery.html",
        *(f"papers/{paper}.html" for paper in papers()),
        "docs/tutorials/index.html",
        "docs/howto/index.html",
        "docs/model/index.html",
        "docs/reference/index.html",
        "api/storagekit.core.units.html",
    }
    inside = [
        (page, link) for page, its in pages.items() for link in its.leads + its.loads if not urlsplit(link).scheme
    ]
    assert len(inside) > 500
    assert not [(page.name, link) for page, link in inside if broken(page, link, pages)]


def test_nothing_is_loaded_from_anywhere_else(pages, built):
    loaded = [link for its in pages.values() for link in its.loads]
    assert loaded and not [
        link for link in loaded if urlsplit(link).scheme not in ("", "data") or link.startswith("//")
    ]
    styles = "".join(path.read_text(encoding="utf-8") for path in (built.out / "_static").rglob("*.css"))
    urls = re.findall(r"(?:@import|url\()[^;)]*//[^;)]*", styles)
    assert not [one for one in urls if "data:" not in one]
    assert not [link for link in loaded if "mathjax" in link.lower()]


def test_every_claim_has_a_row_that_links_to_its_exhibit(pages, built):
    text = (built.out / "scorecard.html").read_text(encoding="utf-8")
    rows = dict(re.findall(r'<tr id="([^"]+)"(.*?)</tr>', text, re.DOTALL))
    assert rows.keys() == {row.id for row in ROWS}
    leads = {name: re.findall(r'<a href="([^"]+)">([^<]+)</a>', row) for name, row in rows.items()}
    assert all(leads.values())
    assert [word for _, word in leads["dsptf.table1.gain"]] == ["chart", "means", "CSV", "NetCDF", "code", "text"]
    assert leads["dsptf.table1.gain"][0][0] == "papers/dsptf.html#dsptf.table1"
    assert leads["dsptf.protocol.once"][0] == ("papers/dsptf.html#dsptf.protocol", "claims")
    assert leads["dsptf.fig1.rising"] == [("papers/dsptf.html", "the paper")]


def test_a_chart_links_to_its_claims_its_data_and_its_code(pages, built):
    page = (built.out / "papers" / "dsptf.html").read_text(encoding="utf-8")
    alt = "more &quot;gain&quot; &lt;here&gt;"
    picture = f'<img src="../dsptf/table1.svg" alt="{alt}" width="640" height="480" loading="lazy">'
    assert f'<figure class="exhibit" id="dsptf.table1">{picture}</figure>' in page
    its = sum(row.exhibit == "dsptf.table1" for row in ROWS)
    assert f'<a href="../scorecard.html#exhibit=dsptf.table1">{its} claims</a>' in page
    assert '<a href="../dsptf/table1.nc">NetCDF</a>' in page
    assert "quick" in page and "9 of 10" not in page
    assert len(re.findall(r'<details class="[^"]*\bhide\b', page)) == 4


def test_equations_are_mathml(built):
    text = (built.out / "papers" / "dsptf.html").read_text(encoding="utf-8")
    assert text.count("<math ") == 2 and text.count('display="block"') == 1
    assert "<mfrac><mrow><mi>R</mi></mrow><mrow><mn>2</mn><mi>D</mi></mrow></mfrac>" in text
    assert "$R/2$" not in text and "\\frac" not in text


def test_a_paper_that_has_not_run_is_marked(built):
    pages_by_paper = {paper: (built.out / "papers" / f"{paper}.html").read_text(encoding="utf-8") for paper in papers()}
    assert (
        "The notebook failed:" in pages_by_paper["swift"]
        and "swift.ipynb, cell [4]: ValueError: no" in pages_by_paper["swift"]
    )
    assert (
        "This paper has not run. Run it with <code" in pages_by_paper["ars"]
        and ">reproduce</span>" in pages_by_paper["ars"]
    )
    assert "has not run" not in pages_by_paper["dsptf"]


def test_the_site_folder_has_only_the_results_and_the_site(built):
    there = {path.name for path in built.out.iterdir()}
    assert {"dsptf", "mine", "scorecard.csv", "index.html", site.RECORD} <= there
    assert not [name for name in there if name.startswith(".") or name in ("doctrees", "sources")]


def test_a_second_site_is_built_only_if_its_inputs_differ(built, tmp_path):
    assert built.is_current()
    assert not replace(built, rows=ROWS[:-1]).is_current()
    assert not replace(built, failures={}).is_current()
    (tmp_path / "more.md").write_text("# More")
    assert not replace(built, docs=tmp_path).is_current()
    page = built.out / "gallery.html"
    page.rename(page.with_suffix(".away"))
    assert not built.is_current()
    page.with_suffix(".away").rename(page)
    assert built.is_current()


@pytest.fixture
def small(tmp_path) -> Site:
    write_text(tmp_path / "scorecard.csv", "results")
    write_text(tmp_path / "api" / "mine.html", "the reader's own")
    write_text(tmp_path / "api" / "old.html", "of an earlier site")
    write_text(tmp_path / "old" / "old.html", "of an earlier site")
    write_text(tmp_path / "index.html", "an earlier site")
    write_text(tmp_path / site.RECORD, '{"fingerprint": "", "files": ["api/old.html", "old/old.html", "index.html"]}')
    return Site(tmp_path, ROWS, packages=PACKAGES)


def left(out: Path) -> set[str]:
    return {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("import sys; sys.exit('first line\\nthe theme is gone')", "sphinx: the theme is gone"),
        ("raise SystemExit(3)", "sphinx: exit status 3"),
    ],
)
def test_a_failed_build_gives_one_line_and_keeps_the_results(small, monkeypatch, command, message):
    popen = site.subprocess.Popen
    monkeypatch.setattr(site.subprocess, "Popen", lambda _, **how: popen([site.sys.executable, "-c", command], **how))
    with pytest.raises(SiteError) as caught:
        small.write()
    assert message in str(caught.value) and "\n" not in str(caught.value) and str(small.out) in str(caught.value)
    assert left(small.out) == {"scorecard.csv", "api/mine.html"}
    assert not (small.out / "old").exists()


def test_an_obstacle_at_the_sites_path_is_an_error(small):
    with pytest.raises(SiteError, match=r"the site was not made: .*give a writable folder"):
        replace(small, out=small.out / "scorecard.csv").write()
    assert "scorecard.csv" in left(small.out)


def test_an_exhibit_without_a_chart_links_to_no_data():
    page = executed()
    page.cells[4].outputs = [measurements_of("dsptf.protocol.once")]
    found = locations(page, ROWS, ())
    # its numbers may come from any exhibit before it
    assert (found["dsptf.protocol"].data, found["dsptf.protocol"].alt) == ("", "")
    found = locations(executed(), ROWS, ())
    assert found["dsptf.protocol"].data == ""
    assert found["dsptf.table1"].prose == "prose-2" and found["dsptf.protocol"].prose == "prose-5"
    text = "".join(cell.source for cell in chapter(executed(), "dsptf", ROWS, ()).cells)
    assert "{py:obj}`dsptf.table1 <storagekit.papers.dsptf.table1>`" in text
    assert "profile quick · seed 3" in text


def test_a_table_that_is_too_large_has_no_link():
    location = locations(executed(), ROWS, ["table1.nc", "table10.csv", "table1.svg"])["dsptf.table1"]
    assert location.links("../") == '<a href="../dsptf/table1.nc">NetCDF</a>'


def test_a_description_of_an_argument_ends_with_its_limit():
    lines = [":param rate: Requests", "             a second.", ":type rate: float", ":param name: Name.", ""]
    assert with_limits(lines, {"rate": "above 0"}) == [lines[0], f"{lines[1]} Valid: above 0.", *lines[2:]]


def test_indented_text_in_a_docstring_stays_as_typed():
    lines = ["A wait.", "", "    T = S / 3D  *", "", "    more", "", "Source: x.", "", "    >>> 1", "    1"]
    assert list(literal(lines)) == [*lines[:2], "::", "", *lines[2:]]
    aligned = ["x: one", "    two"]
    assert list(literal(aligned)) == aligned


def test_the_reference_has_a_page_for_every_package_and_module_that_it_names():
    names = packages()
    assert names[0] == "storagekit" and {"storagekit.simulation", "storagekit.core.units"} <= {*names}
    assert all(importlib.import_module(name).__name__ == name for name in names)


@pytest.mark.slow
def test_every_docstring_and_every_document_reads_without_a_warning(tmp_path):
    write_scorecard((), tmp_path)
    assert Site(tmp_path, ()).write() == ""
    assert (tmp_path / "api" / "storagekit.placement.html").exists() and (tmp_path / "_modules" / "storagekit").is_dir()
    pages = {page: Links(page) for page in tmp_path.rglob("*.html")}
    inside = [(page, link) for page, its in pages.items() for link in its.leads if not urlsplit(link).scheme]
    assert not [(page.name, link) for page, link in inside if broken(page, link, pages)]
