"""The command line as a user sees it: exit status, stdout and stderr, one line per error."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer

from storagekit.cli import catalogue
from storagekit.cli import main as cli
from storagekit.cli.docstrings import first_line
from storagekit.drive import drive_facts, drive_names
from storagekit.reproduce.claims import load_claims
from storagekit.reproduce.report import write_scorecard
from storagekit.reproduce.scorecard import Measurement, score
from storagekit.workload import synthetic
from storagekit.workload.trace import FORMATS


@pytest.fixture
def scored(tmp_path) -> Path:
    claims = load_claims("dsptf")
    write_scorecard(score(claims, [Measurement("dsptf.table1.gain", 1.4)]), tmp_path)
    return tmp_path


def test_the_scorecard_is_printed_again(storagekit, scored):
    status, text, _ = storagekit("scorecard", "--out", str(scored))
    assert status == 0
    assert "dsptf.table1.gain" in text
    assert "claims: 1 match" in text
    assert text.endswith(f"{scored / 'scorecard.csv'}\n")
    (scored / "scorecard.html").touch()
    assert storagekit("scorecard", "--out", str(scored))[1].endswith(f"{scored / 'scorecard.html'}\n")


def test_a_program_can_read_the_scorecard(storagekit, scored):
    _, text, _ = storagekit("scorecard", "--out", str(scored), "--json")
    rows = json.loads(text)
    assert len(rows) == len(load_claims("dsptf"))
    assert rows[0]["id"] == "dsptf.fig1.gain_at_16"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["scorecard", "--out", "nowhere"], "no such scorecard; run `storagekit reproduce`"),
        (["reproduce", "nope"], "paper 'nope' is unknown"),
        (["reproduce", "--profile", "slow"], "profile 'slow'"),
        (["reproduce", "-p", "runs"], "give it as name=value"),
        (["reproduce", "--traces", "nowhere"], "traces 'nowhere': no such folder"),
        (["reproduce", "swift", "--traces", "."], "no parameter 'traces' in swift"),
        (
            ["reproduce", "-p", "red_share=0.7"],
            "srarray, swift; did you mean read_share?",
        ),
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


def test_real_traces_are_passed_to_the_notebook(storagekit, tmp_path, monkeypatch):
    """`--traces DIR` sets the notebooks' parameter `traces`, as an absolute path; `-p traces=` overrides it."""
    from storagekit.reproduce import runner

    seen = []

    def ran(papers, *, given, out, **rest):
        seen.append(given)
        return runner.RunReport(out, (), ())

    monkeypatch.setattr(runner, "reproduce", ran)
    monkeypatch.setattr("storagekit.cli.main._print_scorecard", lambda out: None)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").mkdir()
    assert storagekit("reproduce", "dsptf", "--traces", "mine")[0] == 0
    assert storagekit("reproduce", "--traces", "mine", "-p", "traces=/elsewhere")[0] == 0
    assert seen == [{"traces": "mine"}, {"traces": "/elsewhere"}]


@pytest.mark.parametrize(("state", "status"), [("ran", 0), ("failed", 1)])
def test_a_book_that_fails_is_one_line_and_status_1(storagekit, monkeypatch, scored, state, status):
    from storagekit.reproduce import runner

    site = runner.NotebookOutcome("site", state, 1.0, "the site was not made: disk full")
    monkeypatch.setattr(runner, "reproduce", lambda papers, **rest: runner.RunReport(scored, (), (), site=site))
    left, text, error = storagekit("reproduce")
    assert left == status and "dsptf.table1.gain" in text
    assert error == ("storagekit: the site was not made: disk full\n" if status else "")
    assert (str(scored / "index.html") in text) is (status == 0)


def test_the_version_is_that_of_the_package(storagekit):
    status, text, _ = storagekit("--version")
    assert (status, text) == (0, "storagekit 0.1.0\n")


def test_the_list_has_all_sections(storagekit):
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


@pytest.mark.parametrize("arguments", ["--version", "list", "-h", "plan size -h", "replay -h", "drive fit -h"])
def test_lists_and_help_start_neither_jax_nor_numpy(arguments):
    """They finish in a tenth of the seconds that these imports take."""
    code = (
        "import sys; from storagekit.cli import main as cli\n"
        f"sys.argv = ['storagekit', *{arguments.split()!r}]\n"
        "try: cli.main()\n"
        "except SystemExit: pass\n"
        "print([name for name in ('jax', 'numpy', 'altair', 'papermill', 'xarray') if name in sys.modules])"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.splitlines()[-1] == "[]"


def commands(app, *before: str) -> Iterator[list[str]]:
    """Every command of the command line, and every group of them."""
    yield list(before)
    for name, command in getattr(app, "commands", {}).items():
        yield from commands(command, *before, name)


def test_h_is_help_everywhere(storagekit):
    every = list(commands(typer.main.get_command(cli.app)))
    assert ["plan", "size"] in every and len(every) > 12
    for command in every:
        short, long = (storagekit(*command, option) for option in ("-h", "--help"))
        assert short == long and short[0] == 0 and "-h, --help" in short[1]


@pytest.mark.parametrize(
    "catalogue_name", ["SCHEDULERS", "DISPATCHERS", "PLACEMENTS", "CACHES", "WRITES", "QUEUES", "DELAYS"]
)
def test_listed_descriptions_are_those_of_the_components(catalogue_name):
    components = getattr(catalogue, catalogue_name)
    live = {name: (component.__doc__ or "").strip().partition("\n")[0] for name, component in components.made().items()}
    assert {entry.name: entry.what for entry in components.described()} == live and all(live.values())


def test_formats_synthetic_traces_and_drives_are_all_listed_by_their_own_names():
    sections = {name: {one.name: one.what for one in part} for name, part in catalogue.catalogue().items()}
    formats = {form.name: (type(form).__doc__ or "").strip().partition("\n")[0] for form in FORMATS}
    assert sections["trace formats"] == formats
    models = [one for one in vars(synthetic).values() if isinstance(one, synthetic.TraceModel)]
    assert sections["synthetic traces"].keys() == {one.name for one in models}
    assert all(sections["synthetic traces"][one.name].startswith(f"{one.requests:,} requests: ") for one in models)
    facts = {name: drive_facts(name) for name in drive_names()}
    assert sections["drives"] == {name: f"{fact['name']}, {fact['rpm']} rpm" for name, fact in facts.items()}


def test_a_name_that_a_package_does_not_export_raises():
    with pytest.raises(LookupError, match="schedule has no public name FIFO"):
        first_line("schedule", "FIFO")


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("storagekit pl", ["plan"]),
        ("storagekit replay t.spc --drive at", ["atlas10k", "atlas_iii"]),
        ("storagekit replay t.spc --dispatch red", ["redundant"]),
        ("storagekit replay t.spc --schedule s", ["sstf", "satf"]),
        ("storagekit plan size --drive wd", ["wd_hc570"]),
        ("storagekit drive check t --format di", ["disksim", "disksim-validate"]),
        ("storagekit reproduce sr", ["srarray"]),
        ("storagekit drive show /somewhere", []),
    ],
)
def test_a_shell_is_offered_names(storagekit, monkeypatch, typed, offered):
    words = typed.split()
    environment = {"_STORAGEKIT_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": str(len(words) - 1)}
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    status, text, _ = storagekit()
    assert status == 0 and text.split() == offered


def test_the_script_that_completes_is_shown(storagekit):
    status, text, _ = storagekit("--show-completion", "bash")
    assert status == 0 and "_STORAGEKIT_COMPLETE=complete_bash" in text
