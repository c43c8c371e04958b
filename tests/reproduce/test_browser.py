"""The page that is sent on, in a real browser without a network."""

import os
import shutil

import pytest

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


@pytest.fixture
def chromium():
    names = ("chromium", "chromium-browser", "google-chrome")
    found = next(filter(None, map(shutil.which, names)), None)
    if found is None:
        if os.environ.get("STORAGEKIT_REQUIRE_BROWSER") == "1":
            pytest.fail("STORAGEKIT_REQUIRE_BROWSER=1, and there is no chromium")
        pytest.skip("no chromium here")
    return found


def test_pages_show_everything_and_ask_nothing_of_any_network(write, notebooks, tmp_path, chromium):
    from playwright.sync_api import sync_playwright

    write("dsptf", *CELLS)
    out = tmp_path / "out"
    assert not runner.reproduce(out=out, notebooks=notebooks).failed
    pages = [out / "dsptf" / "dsptf.html", out / "scorecard.html"]
    asked, problems = [], []
    with sync_playwright() as playwright:
        options = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        browser = playwright.chromium.launch(executable_path=chromium, args=options)
        tab = browser.new_page()
        tab.on("request", lambda request: asked.append(request.url))
        tab.on("console", lambda message: problems.append(message.text))
        tab.on("pageerror", lambda error: problems.append(str(error)))
        tab.goto(pages[0].as_uri())
        picture = tab.locator(".jp-RenderedSVG img")
        alt, width = picture.get_attribute("alt"), picture.evaluate("img => img.naturalWidth")
        code = tab.locator("details.storagekit-code .highlight").first.is_visible()
        gain = tab.locator("table.scorecard tr", has_text="dsptf.table1.gain").text_content()
        tab.goto(pages[1].as_uri())
        rows = tab.locator("table.scorecard tbody tr").count()
        browser.close()
    assert alt == "Throughput per brick. per-brick throughput against the number of replicas, four schemes."
    assert width > 200
    assert not code
    assert "match" in gain
    assert rows > 100
    assert [url for url in asked if not url.startswith("data:")] == [p.as_uri() for p in pages]
    assert not problems
