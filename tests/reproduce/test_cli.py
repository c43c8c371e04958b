"""The command line as a user meets it: exit status, what stands where, one line an error."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from storagekit.reproduce.claims import load_claims
from storagekit.reproduce.report import write_scorecard
from storagekit.reproduce.scorecard import Measurement, score


@pytest.fixture
def scored(tmp_path) -> Path:
    claims = load_claims("dsptf")
    write_scorecard(score(claims, [Measurement("dsptf.table1.gain", 1.4)]), {}, tmp_path)
    return tmp_path


def test_the_scorecard_is_printed_again(storagekit, scored):
    status, text, _ = storagekit("scorecard", "--out", str(scored))
    assert status == 0
    assert "dsptf.table1.gain" in text
    assert "claims: 1 match" in text
    assert str(scored / "scorecard.html") in text


def test_a_program_can_read_the_scorecard(storagekit, scored):
    _, text, _ = storagekit("scorecard", "--out", str(scored), "--json")
    rows = json.loads(text)
    assert len(rows) == len(load_claims("dsptf"))
    assert rows[0]["id"] == "dsptf.fig1.gain_at_16"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["scorecard", "--out", "nowhere"], "no scorecard there; run `storagekit reproduce`"),
        (["reproduce", "nope"], "paper 'nope' is not a paper here"),
        (["reproduce", "--profile", "slow"], "profile 'slow'"),
        (["reproduce", "-p", "runs"], "give it as name=value"),
        (["reproduce", "--jobs", "two"], "Invalid value for '--jobs'"),
        (["reproduce", "--jobs", "0"], "jobs 0"),
        (["nonsense"], "No such command 'nonsense'"),
    ],
)
def test_bad_input_is_one_line_and_status_2(storagekit, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    status, text, error = storagekit(*arguments)
    assert status == 2
    assert error.startswith("storagekit: ")
    assert message in error
    assert error.count("\n") == 1
    assert text == ""


def test_real_traces_are_handed_to_the_notebook(storagekit, tmp_path, monkeypatch):
    """`--traces DIR` is the notebooks' parameter `traces`, whole; `-p traces=` overrides it."""
    from storagekit.reproduce import runner

    seen = []

    def ran(papers, *, given, out, **rest):
        seen.append(given)
        return runner.Report(out, (), ())

    monkeypatch.setattr(runner, "reproduce", ran)
    monkeypatch.setattr("storagekit.reproduce.cli._print_scorecard", lambda out: None)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").mkdir()
    assert storagekit("reproduce", "dsptf", "--traces", "mine")[0] == 0
    assert storagekit("reproduce", "--traces", "mine", "-p", "traces=/elsewhere")[0] == 0
    assert seen == [{"traces": str((tmp_path / "mine").resolve())}, {"traces": "/elsewhere"}]
    status, _, said = storagekit("reproduce", "--traces", "nowhere")
    assert status == 2 and "traces 'nowhere': no such folder" in said


def test_the_version_is_that_of_the_package(storagekit):
    status, text, _ = storagekit("--version")
    assert (status, text) == (0, "storagekit 0.1.0\n")


def test_the_list_names_what_there_is(storagekit):
    status, text, _ = storagekit("list", "--json")
    assert status == 0
    sections = json.loads(text)
    names = {section: [e["name"] for e in entries] for section, entries in sections.items()}
    assert "dsptf" in names["papers"]
    assert "dsptf.table1" in names["exhibits"]
    assert "atlas10k" in names["drives"]
    assert {"dsptf", "central", "hashing", "lard"} <= set(names["dispatchers"])
    assert {"fcfs", "satf"} <= set(names["schedulers"])
    assert names["placements"]
    assert names["trace formats"]
    assert all(entry["what"] for entries in sections.values() for entry in entries)


def test_help_and_version_start_neither_jax_nor_altair():
    code = (
        "import sys; from storagekit.reproduce import cli\n"
        "sys.argv = ['storagekit', '--version']\n"
        "try: cli.main()\n"
        "except SystemExit: pass\n"
        "print([name for name in ('jax', 'altair', 'papermill', 'xarray') if name in sys.modules])"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.splitlines() == ["storagekit 0.1.0", "[]"]
