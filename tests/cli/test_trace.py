"""Messages about the file from the commands that read a trace, next to their output."""

import json

import pytest

from storagekit.core.resources import data_path

SAMPLE = data_path("samples", "small.spc")
CLOUD = str(data_path("samples", "cloud.csv"))
COMMANDS = [
    ("trace", "info"),
    ("replay",),
    ("compare", "--schemes", "hashing,dsptf", "--seeds", "2"),
]
LINES = 40


def messages(said: str) -> list[str]:
    """The text on stderr, without progress bars."""
    return [line for line in said.splitlines() if line.strip() and "run/s" not in line and "|" not in line]


@pytest.fixture
def lines() -> bytes:
    """The beginning of a sample, without the end of its last line."""
    return b"\n".join(SAMPLE.read_bytes().split(b"\n")[:LINES])


@pytest.mark.filterwarnings("default:.*has no line end")
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_last_line_that_lacks_its_end_is_one_line_on_stderr(storagekit, tmp_path, command, lines):
    path = tmp_path / "cut.spc"
    path.write_bytes(lines)
    status, text, said = storagekit(*command, str(path), "--json")
    assert status == 0 and json.loads(text)
    assert messages(said) == [
        f"storagekit: warning: {path} line {LINES} (the last) has no line end: if the file is truncated, its last number "
        "may be wrong; fetch the file again, or add the line end"
    ]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_of_a_whole_file_nothing_is_said(storagekit, tmp_path, command, lines):
    path = tmp_path / "whole.spc"
    path.write_bytes(lines + b"\n")
    status, text, said = storagekit(*command, str(path), "--json")
    assert status == 0 and json.loads(text) and messages(said) == []


def test_of_the_sample_nothing_is_said(storagekit):
    assert storagekit("trace", "info", str(SAMPLE))[::2] == (0, "")


def test_a_file_cut_where_no_number_is_whole_is_refused_in_one_line(storagekit, tmp_path, lines):
    path = tmp_path / "cut.spc"
    path.write_bytes(lines.rpartition(b",")[0])
    status, text, said = storagekit("trace", "info", str(path))
    assert status == 2 and text == "" and said.count("\n") == 1
    assert f"line {LINES} has 4 fields" in said and "ends in the middle of this line" in said


def test_info_draws_a_picture_and_describes_each_device(storagekit, tmp_path):
    pictures = [tmp_path / "trace.png", tmp_path / "trace.html"]
    outs = [part for path in pictures for part in ("--out", str(path))]
    status, text, _ = storagekit("trace", "info", CLOUD, *outs, "--json")
    devices = json.loads(text)["by_device"]
    assert status == 0 and len(devices) == json.loads(text)["devices"] == 12
    assert sum(of["requests"] for of in devices.values()) == json.loads(text)["requests"]
    assert pictures[0].read_bytes().startswith(b"\x89PNG") and "vega" in pictures[1].read_text()
    status, text, _ = storagekit("trace", "info", CLOUD)
    busiest = next(iter(devices))
    assert f"  {busiest} " in text and "and 2 devices with fewer requests" in text
    status, _, error = storagekit("trace", "info", CLOUD, "--out", "trace.doc")
    assert status == 2 and "give a name that ends in one of .png" in error
