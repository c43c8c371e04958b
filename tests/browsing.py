"""A browser and JupyterLab, for tests of the pages that a reader sees."""

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

# folder of the screenshots, for people to look at
PICTURES = Path(__file__).parents[1] / "build" / "screenshots"
_CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
# seconds until JupyterLab prints its address
_STARTS = 90


@pytest.fixture
def tab():
    """A page of a browser that stores its requests (`requested`), its console messages (`said`), and errors and warnings
    (`problems`)."""
    found = next(filter(None, map(shutil.which, _CHROMIUM)), None)
    if found is None:
        if os.environ.get("STORAGEKIT_REQUIRE_BROWSER") == "1":
            pytest.fail("STORAGEKIT_REQUIRE_BROWSER=1, and there is no chromium")
        pytest.skip("no chromium here")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        options = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        browser = playwright.chromium.launch(executable_path=found, args=options)
        page = browser.new_page(viewport={"width": 1500, "height": 1000})
        page.requested, page.said, page.problems = [], [], []
        page.on("request", lambda request: page.requested.append(request.url))
        page.on("console", lambda one: page.said.append(one.text))
        page.on("console", lambda one: page.problems.append(one.text) if one.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: page.problems.append(str(error)))
        yield page
        browser.close()


def keep(page, name: str) -> None:
    """Save a picture of the page."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=PICTURES / f"{name}.png")


@contextmanager
def running_lab(folder: Path, environment: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Address and token of JupyterLab, started by `storagekit lab` in `folder`, which is also its home."""
    home = {**os.environ, "HOME": str(folder), "JUPYTER_RUNTIME_DIR": str(folder / "runtime"), **environment}
    command = [sys.executable, "-m", "storagekit.cli", "lab", "--no-browser", "--allow-root", "--folder", "mine"]
    log = folder / "log"
    with log.open("w") as said:
        server = subprocess.Popen(command, cwd=folder, env=home, stdout=said, stderr=subprocess.STDOUT)
    try:
        found, until = None, time.monotonic() + _STARTS
        while found is None:
            assert server.poll() is None and time.monotonic() < until, log.read_text()
            time.sleep(0.2)
            found = re.search(r"(http://127\.0\.0\.1:\d+)/lab\?token=(\w+)", log.read_text())
        yield found[1], found[2]
    finally:
        server.terminate()
        server.wait(30)
