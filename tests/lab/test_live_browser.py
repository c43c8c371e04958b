"""Run, drag and read pages in JupyterLab, and exported dashboards, in a real browser."""

import os
import time
from dataclasses import replace

import pytest
from browsing import keep, running_lab

from storagekit import lab
from storagekit.charts import Dashboard, export

pytestmark = pytest.mark.browser

# time limits in ms for the first answer and the next ones, generous enough for a busy machine
_FIRST, _NEXT = 180_000, 30_000
# notebooks, and a slider of the first dashboard of each
PAGES = {
    "lay_out_an_array": "Reads (%)",
    "choose_a_protocol": "Reads (%)",
    "share_fairly": "Weight of mail, on A",
}


@pytest.fixture
def jupyterlab(tmp_path):
    """Return a function from the name of a page to its address."""
    caches = os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache"))
    with running_lab(tmp_path, {"XDG_CACHE_HOME": caches}) as (address, token):
        yield lambda page: f"{address}/lab/tree/{page}.ipynb?token={token}"


def changed(tab, drag, text_selector: str, chart: str) -> float:
    """Return the seconds from a drag until both the text and the chart have changed."""
    words, drawn = tab.locator(text_selector).first.inner_text(), tab.locator(chart).first.inner_html()
    began = time.monotonic()
    drag()
    for what, before, selector in (("innerText", words, text_selector), ("innerHTML", drawn, chart)):
        tab.wait_for_function(
            f"([before, where]) => document.querySelector(where).{what} !== before",
            arg=[before, selector],
            timeout=_NEXT,
            polling=10,
        )
    return time.monotonic() - began


# One page is enough to check that kernel, widgets and charts work together; test_notebooks.py runs the pages' cells.
@pytest.mark.parametrize(
    "page", [pytest.param(page, marks=[] if page == "share_fairly" else pytest.mark.slow) for page in PAGES]
)
def test_a_page_runs_and_reacts_to_a_drag(jupyterlab, tab, page, record_property):
    tab.goto(jupyterlab(page))
    tab.wait_for_selector("text=/\\| Idle/", timeout=_FIRST)
    tab.get_by_role("menuitem", name="Run", exact=True).click()
    tab.get_by_text("Run All Cells", exact=True).click()
    tab.wait_for_selector(".sk-said table", timeout=_FIRST)
    # every cell has run, and every dashboard shows its result
    tab.wait_for_function(
        "() => !document.body.innerText.includes('computing ...') && "
        "![...document.querySelectorAll('.jp-InputPrompt')].some(one => one.innerText.includes('*'))",
        timeout=_FIRST,
    )
    slider = tab.locator(".widget-slider", has=tab.locator(f".widget-label:text-is('{PAGES[page]}')")).first
    handle = slider.locator(".noUi-handle")
    handle.focus()
    seconds = changed(tab, lambda: handle.press("ArrowRight"), ".sk-said", "svg.marks")
    record_property("seconds", seconds)
    keep(tab, page)
    assert not tab.locator("[data-mime-type='application/vnd.jupyter.stderr']").count()
    assert "This dashboard failed" not in tab.locator("body").inner_text()
    # a label that is cut off is narrower than its text
    cut = "labels => labels.filter(one => one.scrollWidth > one.clientWidth + 1).map(one => one.innerText)"
    assert tab.locator(".widget-label").evaluate_all(cut) == []
    assert not tab.problems


def few(dashboard: Dashboard, kept: int) -> Dashboard:
    """Return the dashboard with a few values of its first `kept` controls, and the start value of each other one."""
    controls = {
        name: one if index < kept else replace(one, few=[one.stops()[one.first()][0 if hasattr(one, "options") else 1]])
        for index, (name, one) in enumerate(dashboard.controls.items())
    }
    return replace(dashboard, controls=controls)


@pytest.mark.parametrize(("name", "script"), [("array", None), ("fair", "the script.js")])
def test_an_exported_dashboard_works_from_files_without_a_network(tab, tmp_path, name, script):
    page, script = lab.page(name), script and tmp_path / script
    dashboard, texts = few(page.dashboard(), 2), {"title": page.title, "lead": page.lead}
    file = export(dashboard, tmp_path / f"{name}.html", **texts, script=script)
    tab.goto(file.as_uri())
    tab.wait_for_selector("#chart svg")
    assert tab.locator("h1").inner_text() == page.title
    slider = tab.locator("input[type=range]").first
    changed(tab, lambda: slider.press("ArrowRight"), "#said", "#chart svg")
    keep(tab, f"{name}_exported")
    files = [file.as_uri(), script.as_uri()] if script else [file.as_uri()]
    assert [url for url in tab.requested if not url.startswith("data:")] == files
    assert not tab.problems
