"""Run tiny notebooks through the runner: working, failing, cached and impossible ones."""

import json
import os
import sys
from pathlib import Path

import nbformat
import pandas as pd
import pytest

from storagekit.core import devices
from storagekit.core.errors import InputError
from storagekit.reproduce import cache, folders, runner
from storagekit.reproduce.report import read_scorecard
from storagekit.reproduce.site import Site, SiteError

WRITES = "from pathlib import Path\n(Path(out) / 'dsptf' / 'made.txt').write_text(f'{seed} {runs}')"
CLAIMS = """
from storagekit.reproduce.page import Page
from storagekit.reproduce.scorecard import Measurement
page = Page(out, "dsptf", profile, seed)
page.claim([Measurement("dsptf.table1.gain", 1.41, 1.39, 1.43)])
"""

TABLE = (
    """
import altair as alt, xarray as xr
from storagekit.papers.measurement import with_interval
from storagekit.simulation import interval
from storagekit.reproduce.page import Page
page = Page(out, "dsptf", profile, seed)
rates = {"throughput": (("scheme", "seed"), [[180.0, 184.0, 185.0], [130.0, 131.0, 134.0]])}
data = xr.Dataset(rates, coords={"scheme": ["Central SPTF", "Hashing"]})
chart = alt.Chart(data.to_dataframe().reset_index(), title="Rates").mark_point().encode(x="throughput:Q")
""",
    'page.show("table1", data, chart)\nprint("shown before the cell ends")',
    """
row = interval(data).throughput.sel(scheme="Central SPTF")
page.claim([with_interval("dsptf.table1.central.throughput", row)])
""",
)


@pytest.fixture
def out(tmp_path) -> Path:
    return tmp_path / "out"


def unbound(site: Site) -> runner.NotebookOutcome:
    """Replaces the function that builds the site, which takes seconds."""
    return runner.NotebookOutcome("site", "ran", 0.0)


@pytest.fixture
def run(notebooks, out):
    """Return a function that runs the tiny notebooks."""

    def run_all(*papers, **options):
        return runner.reproduce(papers, out=out, notebooks=notebooks, **({"bind": unbound} | options))

    return run_all


def states(report):
    return {outcome.paper: outcome.state for outcome in report.outcomes}


def verdict(out: Path, claim: str) -> dict[str, str]:
    return next(row for row in read_scorecard(out) if row["id"] == claim)


def test_a_run_writes_its_pages_and_the_scorecard_and_a_second_run_is_cached(write, run, out):
    write("dsptf", CLAIMS, WRITES, "print('in', Path(out) / 'dsptf')")
    report = run(given={"runs": "7"}, seed=3)
    assert states(report) == {"dsptf": "ran"}
    assert not report.failed
    names = {path.name for path in (out / "dsptf").iterdir()}
    assert names == {
        "dsptf.ipynb",
        "fingerprint.json",
        "made.txt",
        "measurements.json",
    }
    assert (out / "dsptf" / "made.txt").read_text() == "3 7"
    assert verdict(out, "dsptf.table1.gain")["verdict"] == "match"
    assert verdict(out, "dsptf.fig1.rising")["verdict"] == "not-run"

    # paths in the files name the final folder, not the folder in which the notebook ran
    for path in (out / "dsptf").iterdir():
        assert folders.PRIVATE not in path.read_text(encoding="utf-8")
    assert f"in {out / 'dsptf'}" in (out / "dsptf" / "dsptf.ipynb").read_text(encoding="utf-8")
    assert {path.name for path in out.iterdir()} == {"dsptf", "scorecard.csv", folders.LOCK}

    page = (out / "dsptf" / "dsptf.ipynb").stat().st_mtime_ns
    assert states(run(given={"runs": "7"}, seed=3)) == {"dsptf": "cached"}
    assert (out / "dsptf" / "dsptf.ipynb").stat().st_mtime_ns == page

    (out / "dsptf" / "made.txt").unlink()
    assert states(run(given={"runs": "7"}, seed=3)) == {"dsptf": "ran"}
    (out / "mine.txt").write_text("a file of the user's")
    (out / "dsptf" / "mine.txt").write_text("another")
    assert states(run(seed=4)) == {"dsptf": "ran"}
    assert (out / "dsptf" / "made.txt").read_text() == "4 4"
    assert (out / "dsptf" / "mine.txt").exists()
    assert (out / "mine.txt").exists()


def test_one_notebook_per_core_runs_at_the_same_time(write, run, monkeypatch):
    """Each notebook waits for the start of the other; in sequence they would time out."""
    meets = (
        "import pathlib, time",
        "(pathlib.Path(out) / PAPER).touch()\nend = time.time() + 60",
        "while len(list(pathlib.Path(out).glob('*ne*'))) < 2: assert time.time() < end; time.sleep(0.05)",
    )
    write("dsptf", CLAIMS, *(line.replace("PAPER", "'one'") for line in meets))
    write("swift", *(line.replace("PAPER", "'neighbour'") for line in meets))
    monkeypatch.setattr(devices, "cores", lambda: 2)
    assert states(run()) == {"dsptf": "ran", "swift": "ran"}


def test_a_failing_notebook_is_named_and_stored_and_the_others_run(write, run, out):
    write("dsptf", CLAIMS, WRITES)
    write("swift", "print('so far')", "assert seed == 1, 'first line\\nsecond'", "print('never')")
    report = run(jobs=2)
    assert states(report) == {"dsptf": "ran", "swift": "failed"}
    assert report.failed
    message = report.outcomes[1].message
    kept = out / "swift" / "swift.failed.ipynb"
    assert "swift.ipynb, cell [4]: AssertionError: first line second" in message
    assert str(kept) in message
    assert "so far" in kept.read_text()
    assert {path.name for path in (out / "swift").iterdir()} == {kept.name}
    row = verdict(out, "swift.fig5.rate_32")
    assert row["verdict"] == "not-run"
    assert row["note"].endswith("The notebook failed: swift.ipynb, cell [4]: AssertionError: first line second.")
    assert verdict(out, "dsptf.table1.gain")["verdict"] == "match"

    write("swift", "x = 1")
    assert states(run()) == {"dsptf": "cached", "swift": "ran"}
    assert not kept.exists()


def test_a_failure_marks_earlier_results_as_not_current(write, run, out):
    write("dsptf", CLAIMS, WRITES)
    run()
    write("dsptf", "raise ValueError('now it breaks')")
    assert states(run()) == {"dsptf": "failed"}
    assert {path.name for path in (out / "dsptf").iterdir()} == {"dsptf.failed.ipynb"}
    assert verdict(out, "dsptf.table1.gain")["verdict"] == "not-run"


def test_a_kernel_that_dies_is_a_failure(write, run, out):
    write("dsptf", "import os\nos._exit(1)")
    (outcome,) = run().outcomes
    assert outcome.state == "failed"
    assert "dsptf.ipynb" in outcome.message
    assert "died" in outcome.message


def test_a_measurement_without_a_claim_stops_the_notebook_at_its_cell(write, run, out):
    write("dsptf", CLAIMS.replace("table1.gain", "table1.gian"))
    (outcome,) = run().outcomes
    assert "InputError: measurement 'dsptf.table1.gian': no such claim" in outcome.message


def test_the_kernel_is_this_interpreter_with_the_environment_for_jax(write, run, out):
    write(
        "dsptf",
        "import os, sys, json\nfrom pathlib import Path\n"
        "names = ['JAX_NUM_CPU_DEVICES', 'JAX_COMPILATION_CACHE_DIR']\n"
        "facts = [sys.executable, *(os.environ[name] for name in names)]\n"
        "(Path(out) / 'dsptf' / 'facts.json').write_text(json.dumps(facts))",
    )
    assert states(run()) == {"dsptf": "ran"}
    python, devices, cache = json.loads((out / "dsptf" / "facts.json").read_text())
    assert Path(python).parent == Path(sys.executable).parent
    assert int(devices) >= 1
    assert "storagekit" in cache or "JAX_COMPILATION_CACHE_DIR" in os.environ


@pytest.mark.parametrize(
    ("papers", "options", "message"),
    [
        (["nope"], {}, "paper 'nope' is unknown; give one of dsptf"),
        (["ars"], {}, "paper 'ars' has no notebook; give one of dsptf"),
        ([], {"given": {"rusn": "3"}}, "no parameter 'rusn' in dsptf; did you mean runs?"),
        ([], {"given": {"runs": "x"}}, "parameter runs='x': it must be a whole number"),
        ([], {"given": {"out": "x"}}, "parameter 'out': give it as --out"),
        ([], {"profile": "slow"}, "profile 'slow': give one of quick, full"),
        ([], {"jobs": 0}, "jobs 0: give at least 1"),
        ([], {"seed": -1}, "seed -1: give at least 0"),
    ],
)
def test_bad_input_raises_before_anything_runs(write, run, out, papers, options, message):
    write("dsptf", WRITES)
    with pytest.raises(InputError) as caught:
        run(*papers, **options)
    assert message in str(caught.value)
    assert not list(out.glob("*"))


def test_the_book_uses_the_present_results_and_its_failure_keeps_them(write, run, out, monkeypatch):
    write("dsptf", CLAIMS)
    write("swift", "raise ValueError('no')")
    bound = []

    def fails(site: Site) -> str:
        bound.append(site)
        raise SiteError("the site was not made: sphinx said so")

    monkeypatch.setattr(Site, "write", fails)
    report = run(bind=runner.bind)
    assert report.failed and (report.site.state, report.site.message) == (
        "failed",
        "the site was not made: sphinx said so",
    )
    (site,) = bound
    assert {row.paper for row in site.rows} == {"dsptf", "swift"}
    assert site.failures.keys() == {"swift"} and site.failures["swift"].endswith("ValueError: no")
    assert verdict(out, "dsptf.table1.gain")["verdict"] == "match"

    write("swift", "x = 1")
    assert run(bind=runner.bind).failed
    monkeypatch.setattr(Site, "write", lambda site: "")
    assert not run(bind=runner.bind).failed
    monkeypatch.setattr(Site, "is_current", lambda site: True)
    assert run(bind=runner.bind).site.state == "cached"


def test_an_edit_of_the_books_style_reruns_no_paper():
    inputs = [name for name, _ in cache.inputs("swift")]
    assert "storagekit/reproduce/page.py" in inputs and "storagekit/papers/swift/figures.py" in inputs
    assert not [name for name in inputs if "/site/" in name]


def test_a_folder_without_notebooks_and_one_without_our_parameters(write, run, notebooks):
    with pytest.raises(InputError, match="no reproduction notebooks"):
        run()
    write("dsptf", parameters="seed = 0")
    with pytest.raises(InputError, match="lacks out, profile"):
        run()


def test_a_file_in_place_of_out_is_an_input_error(write, run, out):
    write("dsptf")
    out.write_text("a file")
    with pytest.raises(InputError, match="give a writable folder"):
        run()


def test_a_parameter_goes_to_the_papers_that_have_it(write, run, out):
    """`swift` has no `runs` and runs without it; its cached results stay valid."""
    write("dsptf", WRITES)
    write("swift", "x = 1", parameters='out = ""\nprofile = "quick"\nseed = 0')
    run()
    report = run(given={"runs": "7"})
    assert report.took == {"runs": ["dsptf"]}
    assert states(report) == {"dsptf": "ran", "swift": "cached"}
    assert (out / "dsptf" / "made.txt").read_text() == "0 7"


def test_a_run_depends_on_the_content_of_its_folder_of_traces(write, run, tmp_path):
    """Only the content of the paper's trace files counts, not other files or the time of writing."""
    write("dsptf", "x = 1", parameters='out = ""\nprofile = "quick"\nseed = 0\ntraces = ""')
    write("swift", "x = 1", parameters='out = ""\nprofile = "quick"\nseed = 0')
    folder = tmp_path / "mine"
    (folder / "deep").mkdir(parents=True)
    file = folder / "deep" / "Financial1.spc"
    file.write_text("0,0,512,r,0.0\n")
    given = {"traces": str(folder)}
    assert states(run(given=given)) == {"dsptf": "ran", "swift": "ran"}
    (folder / "notes.txt").write_text("no trace")
    os.utime(file, (1, 1))
    assert states(run(given=given)) == {"dsptf": "cached", "swift": "cached"}
    stat = file.stat()
    file.write_text("0,8,512,r,0.0\n")
    os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert states(run(given=given)) == {"dsptf": "ran", "swift": "cached"}
    (folder / "hourly.03126.srt").write_text("another")
    assert states(run(given=given)) == {"dsptf": "ran", "swift": "cached"}
    assert states(run()) == {"dsptf": "ran", "swift": "cached"}


def test_a_folder_without_traces_raises(write, run, tmp_path):
    write("dsptf", "x = 1", parameters='out = ""\nprofile = "quick"\nseed = 0\ntraces = ""')
    with pytest.raises(InputError, match=r"none of .*Financial1\.spc\*, .*; give a folder"):
        run(given={"traces": str(tmp_path)})


def test_a_chart_has_its_table_below_and_the_paper_in_it(write, run, out):
    """The table of a cell gets the paper's numbers when a later cell gives the measurements for them."""
    write("dsptf", *TABLE)
    assert states(run()) == {"dsptf": "ran"}
    page = nbformat.read(out / "dsptf" / "dsptf.ipynb", 4)
    (cell,) = (cell for cell in page.cells if "page.show" in cell.source)
    picture, table = (one for one in cell.outputs if one.output_type == "display_data")
    about = picture.metadata["image/svg+xml"]
    assert about["alt"].startswith("Rates.") and len(about["size"]) == 2
    # the image is stored only once
    assert picture.data == {"text/html": f'<img src="table1.svg" alt="{about["alt"]}">'}
    assert (out / "dsptf" / "table1.svg").read_text().startswith("<svg") and "<svg" not in nbformat.writes(page)
    assert "<details" in table.data["text/html"] and "188 IO/s per brick" in table.data["text/html"]
    text = nbformat.writes(page)
    assert text.index("table1.svg") < text.index("188 IO/s per brick") < text.index("table class=")
    rows = pd.read_csv(out / "dsptf" / "table1.summary.csv", comment="#")
    assert rows.loc[rows["paper"].notna(), "scheme"].tolist() == ["Central SPTF"]
