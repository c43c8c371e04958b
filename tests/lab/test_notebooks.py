"""The notebooks run from top to bottom with other parameters than their defaults, and no output shows a failure."""

import json
import time

import pytest

from storagekit.core.resources import data_path, notebooks_path
from storagekit.reproduce.notebooks import run_notebook

# another value for each parameter of a page
PARAMETERS = {
    "tour": {
        "drive": "wd_hc570",
        "replicas": 2,
        "arm": 80,
        "address": 7,
        "platter": 35,
        "size_kb": 300,
        "kind": "write",
    },
    "promise_sessions": {
        "drive": "rpm=10000,seek=0.5/4.5/10ms,rate=220MB/s,size=1.8TB",
        "agents": 10,
        "size_mb": 3,
        "rate": 25,
        "session_mb": 2.5,
        "parity": "1 for 4",
        "buffer_mb": 6,
        "minutes": 20,
    },
    "your_own_trace": {
        "trace": str(data_path("samples", "small.spc")),
        "drive": "toshiba_mg10_20tb",
        "disks": 6,
        "data": 40,
        "scale": 3,
        "bricks": 4,
        "requests": 400,
    },
    "your_own_drive": {"drive": "cheetah9lp", "other": "wd_hc570", "log": "", "seed": 5},
    "lay_out_an_array": {"disks": 16, "rate": 300, "reads": 80, "tolerate": 0},
    "when_a_disk_fails": {"disks": 12, "rate": 200, "rebuild": 10, "tolerate": 2},
    "choose_a_protocol": {"replicas": 2, "load": 4, "reads": 70, "latency": 1, "speed": 50},
    "share_fairly": {"mail": 4, "backup": 2, "archive": 3, "minimum": 5},
    "last_millisecond": {"outstanding": 8, "rate": 5.0, "runs": 2, "requests": 500},
}
# pages whose charts do not change with a slider
WITHOUT_DASHBOARD = {"last_millisecond"}
# limit in seconds from the first cell to the last
MOST = 60


def tagged(notebook: dict, tag: str) -> list[str]:
    return ["".join(cell["source"]) for cell in notebook["cells"] if tag in cell["metadata"].get("tags", [])]


def test_every_page_is_run():
    assert {path.stem for path in notebooks_path().glob("*.ipynb")} == PARAMETERS.keys()


@pytest.mark.parametrize("page", PARAMETERS)
def test_a_page_has_the_parameters_that_are_given(page):
    notebook = json.loads((notebooks_path() / f"{page}.ipynb").read_text(encoding="utf-8"))
    (cell,) = tagged(notebook, "parameters")
    own: dict = {}
    exec(cell, own)
    assert own.keys() - {"__builtins__"} == PARAMETERS[page].keys()
    assert all(own[name] != value for name, value in PARAMETERS[page].items() if name != "log")


def run(page: str, tmp_path) -> None:
    began = time.monotonic()
    run_notebook(notebooks_path() / f"{page}.ipynb", tmp_path, PARAMETERS[page], {}, lambda cell: None)
    assert time.monotonic() - began < MOST
    notebook = json.loads((tmp_path / f"{page}.ipynb").read_text(encoding="utf-8"))
    assert len(tagged(notebook, "injected-parameters")) == 1
    outputs = [output for cell in notebook["cells"] for output in cell.get("outputs", [])]
    assert not [output for output in outputs if output.get("name") == "stderr"]
    # a dashboard that fails reports it in place of its text
    states = json.dumps(notebook["metadata"].get("widgets", {}))
    assert ("Drawing" in states) == (page not in WITHOUT_DASHBOARD)
    assert "This dashboard failed" not in states and "Not possible" not in states


def test_the_page_of_shares_runs(tmp_path):
    """It computes in less time than the other pages."""
    run("share_fairly", tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("page", PARAMETERS)
def test_a_page_runs_and_shows_no_failure(page, tmp_path):
    run(page, tmp_path)
