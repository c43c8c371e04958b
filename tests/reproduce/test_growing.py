"""Test a run in progress: its page and scorecard grow, a stop keeps them, and the next call continues."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_output

from storagekit.core.atomic_files import write_text
from storagekit.reproduce import progress
from storagekit.reproduce.report import read_scorecard
from storagekit.reproduce.site import growing
from storagekit.reproduce.site.growing import PAGE, UNFINISHED, Growing

SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="640" height="480"></svg>'


def shows(exhibit: str):
    about = {"image/svg+xml": {"exhibit": exhibit, "alt": "Rates <now>"}}
    return new_code_cell("", outputs=[new_output("display_data", {"image/svg+xml": SVG}, metadata=about)])


@pytest.fixture
def made(tmp_path) -> Path:
    """Return the private folder of a paper that has shown an exhibit and measured a claim."""
    folder = tmp_path / "made"
    write_text(folder / "table1.svg", SVG)
    write_text(folder / "table1.nc", "numbers")
    write_text(folder / ".dsptf.running.ipynb", "{}")
    write_text(folder / "measurements.json", '[{"id": "dsptf.table1.gain", "measured": 1.41}]')
    return folder


@pytest.fixture
def page(tmp_path) -> Growing:
    one = Growing(tmp_path / "out", {"dsptf": 3, "swift": 2})
    one.begin()
    return one


def rows(out: Path) -> dict[str, dict[str, str]]:
    return {row["id"]: row for row in read_scorecard(out)}


def test_the_page_exists_at_once_and_names_unfinished_papers(page, tmp_path):
    out = tmp_path / "out"
    assert {path.name for path in out.iterdir()} == {PAGE}
    assert page.page.read_text().count("<td>waiting</td>") == 2
    page.starts("dsptf")
    text = page.page.read_text()
    assert "The run is not finished." in text and "<td>running</td><td>0 of 3</td>" in text and "refresh" in text


def test_the_page_and_the_scorecard_grow_with_every_exhibit(page, made, tmp_path):
    out = tmp_path / "out"
    page.starts("dsptf")
    page.cell("dsptf", shows("dsptf.table1"), made)
    text = page.page.read_text()
    (source,) = re.findall(r'<img src="([^"]+)" alt="Rates &lt;now&gt;"', text)
    assert (out / source).read_text() == SVG and UNFINISHED in source
    assert f'<a href="{UNFINISHED}/dsptf/table1.nc">NetCDF</a>' in text and "table1.csv" not in text
    assert "<td>1 of 3</td><td>1 of 1 judged claims met" in text
    assert (page.shown("dsptf"), page.claims()) == (1, (1, 1))
    assert not [path for path in (out / UNFINISHED).rglob(".*")]
    found = rows(out)
    assert found["dsptf.table1.gain"]["verdict"] == "match"
    assert found["dsptf.fig1.rising"]["note"].endswith("Not measured yet: the notebook is running.")
    assert found["swift.fig5.rate_32"]["note"].endswith("Not measured yet: the notebook has not started.")

    # a file written again is shown again, and the linked file stays unchanged
    write_text(made / "table1.svg", SVG.replace("640", "800"))
    page.cell("dsptf", new_code_cell(""), made)
    assert "800" in (out / source).read_text()


def test_a_stop_keeps_the_results_so_far_and_marks_them(page, made, tmp_path):
    page.starts("dsptf")
    page.cell("dsptf", shows("dsptf.table1"), made)
    assert page.stop()
    text = page.page.read_text()
    assert "The run was stopped." in text and text.count("<td>stopped</td>") == 2 and "refresh" not in text
    assert "Not measured: the run was stopped" in rows(tmp_path / "out")["dsptf.fig1.rising"]["note"]
    Growing(tmp_path / "out", {}).begin()
    assert not (tmp_path / "out" / UNFINISHED).exists()


def test_a_stop_before_the_first_exhibit_leaves_nothing(page, tmp_path):
    page.starts("dsptf")
    assert not page.stop()
    assert not list((tmp_path / "out").iterdir())


def test_a_failed_notebook_shows_nothing(page, made, tmp_path):
    page.starts("dsptf")
    page.cell("dsptf", shows("dsptf.table1"), made)
    page.ends("dsptf", failed=True)
    text = page.page.read_text()
    assert "<td>failed</td><td>0 of 3</td>" in text and "<img" not in text
    assert rows(tmp_path / "out")["dsptf.table1.gain"]["verdict"] == "not-run"


def test_at_the_end_the_page_is_removed_unless_the_book_replaced_it(page, tmp_path):
    page.close()
    assert not list((tmp_path / "out").iterdir())
    page.begin()
    write_text(page.page, growing.MOVED)
    page.close()
    assert "index.html" in page.page.read_text()


def test_a_page_that_cannot_be_written_stops_no_run(page, made, monkeypatch):
    def full(*_given):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(growing, "write_text", full)
    page.starts("dsptf")
    page.cell("dsptf", shows("dsptf.table1"), made)
    page.ends("dsptf", failed=False)
    assert page.shown("dsptf") == 1 and page.stop()


def test_exhibits_are_counted_and_the_headline_is_found(write, notebooks):
    path = write("dsptf", "x = 1", 'page.show("one", a, b)\nif x: page.show("two", a, b)', "%time 1")
    assert progress.exhibits(path) == 2 and not progress.has_headline(path)
    notebook = nbformat.read(path, 4)
    notebook.cells[-1].metadata["tags"] = ["headline"]
    nbformat.write(notebook, path)
    assert progress.has_headline(path)


@pytest.mark.parametrize("paper", ["ars", "dsfq", "dsptf", "since", "srarray", "swift"])
def test_every_paper_shows_its_headline_early(paper):
    from storagekit.core.resources import reproduction_path

    cells = [cell for cell in nbformat.read(reproduction_path(paper), 4).cells if cell.cell_type == "code"]
    tagged = [number for number, cell in enumerate(cells) if progress.is_headline(cell)]
    assert len(tagged) == 1 and "page.show(" in cells[tagged[0]].source
    assert tagged[0] <= 6


CELLS = (
    """
import time, types
from pathlib import Path
import altair as alt, pandas as pd, xarray as xr
from storagekit.reproduce import keeping
from storagekit.reproduce.page import Page
from storagekit.reproduce.scorecard import Measurement
keeping.WORTH = 0.0
page, home = Page(out, "dsptf", profile, seed), Path(out).parent
paper = types.ModuleType("paper")
exec('''
def simulate():
    with (home / "simulated").open("a") as file: file.write("x")
    return xr.Dataset({"throughput": ("replicas", [140.0, 187.0])})
''', paper.__dict__ | {"home": home, "xr": xr}, paper.__dict__)
paper.simulate.__globals__.update(home=home, xr=xr)
paper = keeping.kept(paper)
chart = alt.Chart(pd.DataFrame({"x": [1]})).mark_point().encode(x="x:Q")
""",
    'page.show("table1", paper.simulate(), chart)',
    'page.claim([Measurement("dsptf.table1.gain", 1.41)])',
    '(home / "begun").touch()\nwhile not (home / "go").exists(): time.sleep(0.1)',
)
RUNS = (
    "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    "from pathlib import Path; from storagekit.cli import main as cli; from storagekit.reproduce import runner\n"
    "notebooks = Path(sys.argv.pop())\nrunner.reproductions_path = lambda: notebooks\n"
    "runner.reproduce.__kwdefaults__['bind'] = lambda site: runner.NotebookOutcome('site', 'ran', 0.0)\ncli.main()"
)


@pytest.mark.skipif(os.name == "nt", reason="no signals")
def test_a_stopped_run_continues_and_simulates_nothing_twice(write, notebooks, tmp_path):
    write("dsptf", *CELLS)
    out = tmp_path / "out"
    command = [sys.executable, "-c", RUNS, "reproduce", "dsptf", "--out", str(out), str(notebooks)]
    environment = os.environ | {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    how = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "env": environment}
    with subprocess.Popen(command, **how) as run:
        end = time.monotonic() + 120
        while not (out / "begun").exists():
            assert run.poll() is None and time.monotonic() < end
            time.sleep(0.1)
        run.send_signal(signal.SIGINT)
        _, stdout = run.communicate(timeout=60)
    assert run.returncode == 130
    assert stdout.startswith(f"storagekit: results so far, updated during the run: {out / PAGE}\n")
    assert f"storagekit: results so far: {out / PAGE}; repeat the command to continue\n" in stdout
    assert "1 of 1 claims met so far" in stdout and "1/1" in stdout
    assert "The run was stopped." in (out / PAGE).read_text()
    assert (out / UNFINISHED / "dsptf" / "table1.svg").exists() and not (out / "dsptf").exists()
    assert rows(out)["dsptf.table1.gain"]["verdict"] == "match"

    (out / "go").touch()
    again = subprocess.run(command, timeout=120, check=True, **how)
    assert (out / "simulated").read_text() == "x"
    assert (out / "dsptf" / "table1.svg").exists() and not (out / UNFINISHED).exists() and not (out / PAGE).exists()
    assert "dsptf: ran in" in again.stdout
    # stored results are removed at the end of the notebook
    assert not list((tmp_path / "cache").rglob("simulate.*"))
