"""Every file of an exhibit records how it was made."""

import json
import subprocess
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import altair as alt
import pytest
import xarray as xr

from storagekit.core.provenance import made_by, made_jointly
from storagekit.reproduce import provenance
from storagekit.reproduce.page import Page
from storagekit.reproduce.provenance import KEYS
from storagekit.simulation import simulate

SIMULATED = {
    "basis": "simulated",
    "drive": "atlas10k",
    "scenario": '{"type": "Scenario", "name": "50% <reads> & writes"}',
    "seeds": [0, 1, 2],
    "requests_per_run": 4000,
    "warm_up_requests": 800,
}
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def chart():
    title = alt.TitleParams("Throughput", subtitle=["D-SPTF is ahead,", "by 40%"])
    return alt.Chart(alt.Data(values=[{"a": 1}]), title=title).mark_point().encode(x="a:Q")


@pytest.fixture
def shown(tmp_path, chart, monkeypatch):
    """Return a function that shows a tiny exhibit with these attributes and returns the folder with its files."""
    monkeypatch.setattr(provenance, "commit", lambda: "0123abc-dirty")

    def show(attributes, **options) -> Path:
        data = xr.Dataset({"throughput": ("seed", [1.0, 2.0, 3.0])}, attrs=attributes)
        Page(tmp_path, "dsptf", "quick", 3).show("fig5", data, chart, **options)
        return tmp_path / "dsptf"

    return show


def provenance_of(path: Path) -> dict[str, str]:
    """Return the provenance stored in a file, read from that file alone."""
    if path.suffix == ".nc":
        with xr.open_dataset(path, engine="h5netcdf") as data:
            return {key: str(value) for key, value in data.attrs.items()}
    if path.suffix == ".csv":
        lines = [line[2:] for line in path.read_text(encoding="utf-8").splitlines() if line.startswith("# ")]
        return dict(line.split(": ", 1) for line in lines)
    metadata = ElementTree.parse(path).find(f"{SVG}metadata")
    return json.loads(metadata.text)


def test_every_file_has_the_same_complete_provenance(shown):
    files = sorted(shown(SIMULATED).iterdir())
    assert [path.suffix for path in files] == [".csv", ".nc", ".csv", ".svg"]
    wanted = {
        "paper": "dsptf",
        "exhibit": "dsptf.fig5",
        "drive": "atlas10k",
        "scenario": SIMULATED["scenario"],
        "seeds": "[0, 1, 2]",
        "requests": "4000 per run, without the first 800",
        "profile": "quick",
        "basis": "simulated",
        "version": "0.1.0",
        "commit": "0123abc-dirty",
    }
    assert tuple(wanted) == KEYS
    for path in files:
        assert {key: provenance_of(path).get(key) for key in KEYS} == wanted, path.name


def test_a_formula_has_no_drive_and_is_marked(shown):
    for path in shown(made_by("analytic")).iterdir():
        found = provenance_of(path)
        assert [found[key] for key in ("drive", "scenario", "seeds", "requests")] == ["none"] * 4, path.name
        assert found["basis"] == "analytic"


def test_missing_provenance_stays_missing(shown):
    found = provenance_of(shown({"basis": "simulated"}) / "fig5.nc")
    assert [found[key] for key in ("drive", "scenario", "seeds", "requests")] == ["unknown"] * 4
    assert provenance_of(shown({}) / "fig5.csv")["basis"] == "unknown"


def test_an_exhibit_takes_the_provenance_of_its_source_data(shown):
    one = xr.Dataset(attrs=SIMULATED | {"exhibit": "dsptf.of_one"})
    other = xr.Dataset(attrs=SIMULATED | {"drive": "cheetah", "seeds": [2, 3], "exhibit": "dsptf.of_other"})
    found = provenance_of(shown({}, made_from=[one, other]) / "fig5.csv")
    assert found["drive"] == "atlas10k, cheetah" and found["seeds"] == "[0, 1, 2, 3]"
    assert found["exhibit"] == "dsptf.fig5"


def test_a_chart_is_described_by_its_title_its_finding_and_its_kind(shown):
    folder = shown(SIMULATED)
    words = "Throughput. D-SPTF is ahead, by 40%. per-brick throughput for numbers of replicas, four schemes."
    assert ElementTree.parse(folder / "fig5.svg").find(f"{SVG}desc").text == words


@pytest.mark.parametrize(
    ("own", "words"),
    [
        ({"requests_per_run": 10, "warm_up_requests": 0}, "10 per run"),
        (
            {"requests_per_run": "10, 20", "warm_up_requests": "MSER-5"},
            "10, 20 per run, without the warm-up determined by MSER-5",
        ),
        (
            {"seconds_per_run": 20.0, "warm_up_seconds": 2.0},
            "as many as arrive in 20.0 s per run, without the first 2.0 s",
        ),
        ({"events_per_run": 2048}, "as many as 2048 events per run"),
        ({"requests": 15, "events_per_run": 2048}, 15),
    ],
)
def test_the_length_of_runs_is_described_in_words(own, words):
    assert provenance.whole(own, "dsptf.fig5", {})["requests"] == words


def test_the_commit_is_the_commit_of_the_packages_checkout(tmp_path, monkeypatch):
    """The commit has a mark if files differ.

    A checkout around the package, as around a virtual environment, does not count.
    """
    package = tmp_path / "storagekit"
    package.mkdir()
    (package / "a.py").write_text("before")
    monkeypatch.setattr(provenance, "PACKAGE", package)
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@example.org"]
    assert provenance.commit.__wrapped__() == ""
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "One"]):
        subprocess.run([*git, *words], check=True)
    made = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
    assert provenance.commit.__wrapped__() == made
    (package / "a.py").write_text("after")
    assert provenance.commit.__wrapped__() == f"{made}-dirty"
    inner = package / "site-packages" / "storagekit"
    inner.mkdir(parents=True)
    monkeypatch.setattr(provenance, "PACKAGE", inner)
    assert provenance.commit.__wrapped__() == ""
    monkeypatch.setattr(provenance, "PACKAGE", package)
    monkeypatch.setenv("PATH", "")
    assert provenance.commit.__wrapped__() == ""


def test_joint_provenance_keeps_equal_values_and_lists_different_ones():
    one = {"basis": "simulated", "wall_seconds": 1.5, "seeds": [0], "scenario": "first", "varied": ["a"], "loop": 8}
    other = {"basis": "trace", "wall_seconds": 2.0, "seeds": "[1]", "scenario": "second", "varied": ["a"], "loop": 9}
    assert made_jointly([one, other]) == {
        "basis": "simulated, trace",
        "wall_seconds": 3.5,
        "seeds": [0, 1],
        "scenario": "first",
        "varied": ["a"],
    }
    assert made_jointly([]) == {}
    joined = xr.concat(
        [xr.Dataset({"a": 1}, attrs=one), xr.Dataset({"a": 2}, attrs=other)], "b", combine_attrs=made_jointly
    )
    assert joined.attrs["seeds"] == [0, 1]


def test_a_simulated_result_has_the_full_provenance_of_a_file():
    from storagekit.dispatch import Hashing
    from storagekit.papers.dsptf.brick_group import group

    data = simulate(group(Hashing(), replicas=2, outstanding=4, read_share=1.0), requests=64)
    whole = provenance.whole(data.attrs, "dsptf.fig5", {"paper": "dsptf", "profile": "quick", "seed": 0})
    assert provenance.UNKNOWN not in whole.values() and set(KEYS) - {"commit"} <= set(whole)
