"""`storagekit compare`: a trace through schemes by name."""

import json

import pytest
from typer.testing import CliRunner

from storagekit.cli.main import app
from storagekit.core.errors import InputError
from storagekit.core.resources import data_path

SAMPLE = str(data_path("samples", "small.spc"))


def run(*arguments):
    return CliRunner().invoke(app, ["compare", SAMPLE, "--seeds", "2", *arguments], standalone_mode=False)


def test_schemes_by_name_in_a_table_files_and_json(tmp_path):
    files = [tmp_path / f"found{suffix}" for suffix in (".csv", ".png", ".nc")]
    out = [word for path in files for word in ("--out", str(path))]
    result = run("--schemes", "hashing,jsq2,hashing:fcfs", "--requests", "500", "--json", *out)
    found = json.loads(result.stdout)
    assert [row["scheme"] for row in found["schemes"]] == ["hashing", "jsq2", "hashing:fcfs"]
    assert found["against"] == "hashing" and found["schemes"][2]["difference"] > 0
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(path.name for path in files)
    assert files[0].read_text().count("\n") == 4 and files[1].read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_an_sr_mirror_beside_bricks_on_neighbours():
    result = run("--schemes", "2x1x2,hashing", "--drives", "4", "--copies", "2", "--requests", "300")
    assert result.exception is None, result.exception
    lines = result.stdout.splitlines()
    assert [line.split()[0] for line in lines[:3]] == [
        "scheme",
        "2x1x2",
        "hashing",
    ] and "difference from 2x1x2" in lines[0]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--schemes", "hashing,hash"], "dispatch 'hash': give one of"),
        (["--schemes", "hashing,hashing"], "give each scheme once"),
        (["--schemes", "hashing:sptf"], "schedule 'sptf': give one of"),
        (["--schemes", ","], "no schemes to compare"),
        (["--out", "found.txt"], "--out 'found.txt': give a name that ends in one of .nc"),
        (["--drives", "3", "--copies", "2"], "3 bricks for 2 copies"),
    ],
)
def test_invalid_input_raises_one_line(arguments, complaint):
    result = run(*arguments)
    assert isinstance(result.exception, InputError) and complaint in str(result.exception)
