"""`storagekit replay`: a trace on an SR-Mirror, and on bricks with memory, of which one is slow or down."""

import json

import pytest
from typer.testing import CliRunner

from storagekit.errors import InputError
from storagekit.reproduce.cli import app
from storagekit.resources import data_path

SAMPLE = str(data_path("samples", "small.spc"))


def run(*arguments):
    return CliRunner().invoke(app, ["replay", SAMPLE, "--drive", "cheetah9lp", *arguments], standalone_mode=False)


def test_a_trace_on_an_sr_array_uses_all_its_disks():
    result = run("--layout", "2x3x1", "--json")
    found = json.loads(result.stdout)
    assert found["requests"] == 2000 and len(found["utilization"]) == 6
    assert found["response_p50_ms"] < found["response_p99_ms"]


@pytest.mark.parametrize(
    ("layout", "complaint"),
    [
        ("2x3", "layout '2x3': write D_s, D_r and D_m as in 2x3x1"),
        ("axbxc", "layout 'axbxc': write D_s"),
        ("2x7x1", "D_r 7: it must be at most 6"),
        ("0x1x1", "D_s 0: it must be at least 1"),
    ],
)
def test_a_layout_that_is_none_is_refused(layout, complaint):
    result = run("--layout", layout)
    assert isinstance(result.exception, InputError) and complaint in str(result.exception)


def told(*arguments) -> dict:
    return json.loads(run("--write", "at-once", "--json", *arguments).stdout)


def test_bricks_with_memory_answer_sooner_and_slow_ones_later():
    plain, quick, slow = told(), told("--cache-mb", "64"), told("--slow", "1=0.5")
    assert quick["response_mean_ms"] < plain["response_mean_ms"] < slow["response_mean_ms"]
    assert slow["utilization"][1] > plain["utilization"][1]


def test_a_brick_that_is_down_serves_nothing():
    found = told("--stop", "0=0-5000")
    assert found["requests"] == 2000 and found["utilization"][0] == 0 and found["utilization"][1] > 0


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--slow", "1"), "--slow '1': write BRICK=SPEED"),
        (("--slow", "1=2"), "speed 2 of brick 1"),
        (("--slow", "7=0.5"), "a spell of brick 7"),
        (("--stop", "0=9"), "--stop '0=9': write BRICK=FIRST-LAST"),
        (("--cache-mb", "-1"), "cache of -1048576 bytes"),
    ],
)
def test_impossible_bricks_are_refused(arguments, complaint):
    result = run(*arguments)
    assert isinstance(result.exception, InputError) and complaint in str(result.exception)
