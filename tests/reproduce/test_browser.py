"""Test the site in a real browser without a network."""

from dataclasses import replace

import pytest
from browsing import keep

from storagekit.reproduce import runner

pytestmark = pytest.mark.browser

CELLS = (
    """
import altair as alt, xarray as xr
from storagekit.reproduce.page import Page
from storagekit.reproduce.scorecard import Measurement
page = Page(out, "dsptf", profile, seed)
data = xr.Dataset({"throughput": ("replicas", [140.0, 187.0])}, coords={"replicas": [2, 8]})
frame = data.to_dataframe().reset_index()
chart = alt.Chart(frame, title="Throughput per brick").mark_line().encode(
    x="replicas:Q", y="throughput:Q")
page.show("fig5", data, chart)
""",
    'page.claim([Measurement("dsptf.table1.gain", 1.41)])',
)


def bind_a_package(site):
    """Build the site with a reference that does not start JAX."""
    return runner.bind(replace(site, packages=("storagekit.core.units",)))


@pytest.fixture
def out(write, notebooks, tmp_path):
    """Return the folder of a run, with the results and the site."""
    write("dsptf", *CELLS)
    folder = tmp_path / "out"
    assert not runner.reproduce(out=folder, notebooks=notebooks, bind=bind_a_package).failed
    return folder


def test_pages_show_everything_and_use_no_network(out, tab):
    def follow(link):
        with tab.expect_navigation():
            link.click()

    visible = "tr:visible"
    tab.goto((out / "index.html").as_uri())
    assert tab.locator(".shares tbody tr").count() == 2
    assert tab.locator(".pictures img").first.evaluate("img => img.naturalWidth") > 200
    keep(tab, "book_index")
    follow(tab.locator("main, .main").get_by_role("link", name="The scorecard").first)
    rows = tab.locator("#rows tbody")
    assert rows.locator(visible).count() > 100
    tab.select_option("select[name=verdict]", "match")
    assert rows.locator(visible).count() == 1 and tab.url.endswith("scorecard.html#verdict=match")
    keep(tab, "book_scorecard")
    follow(rows.locator("#dsptf\\.table1\\.gain").get_by_role("link", name="claims"))
    assert tab.url.endswith("papers/dsptf.html#dsptf.table1")
    tab.go_back()
    assert rows.locator(visible).count() == 1

    tab.click("button[type=reset]")
    tab.wait_for_function("document.querySelectorAll('#rows tbody tr[hidden]').length === 0")
    tab.fill("input[name=text]", "FIG5.growing")
    assert rows.locator(visible).count() == 1
    tab.goto((out / "papers" / "dsptf.html").as_uri())
    picture = tab.locator("#dsptf\\.fig5 img")
    words = "Throughput per brick. per-brick throughput for numbers of replicas, four schemes."
    assert picture.get_attribute("alt") == words
    assert not tab.locator("details.hide .highlight").first.is_visible()
    assert "match" in tab.locator("table.scorecard tr", has_text="dsptf.table1.gain").text_content()
    picture.scroll_into_view_if_needed()
    keep(tab, "book_paper")
    follow(tab.get_by_role("link", name="claims", exact=False).last)
    its = tab.locator("#rows tbody tr[data-exhibit='dsptf.fig5']")
    assert "#exhibit=dsptf.fig5" in tab.url and rows.locator(visible).count() == its.count() > 1
    follow(its.first.get_by_role("link", name="chart"))
    tab.wait_for_function("document.querySelector('#dsptf\\\\.fig5 img')?.naturalWidth > 200")
    assert tab.locator("#dsptf\\.fig5 img").evaluate("img => img.getBoundingClientRect().top < innerHeight")

    assert not [url for url in tab.requested if not url.startswith(("data:", out.as_uri()))]
    assert not tab.said and not tab.problems
