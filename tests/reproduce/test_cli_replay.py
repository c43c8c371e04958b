"""`storagekit replay --layout`: a trace on an SR-Mirror."""

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
        ("2x7x1", "D_r 7: at most 6 rotational replicas"),
        ("0x1x1", "D_s 0: it must be at least 1"),
    ],
)
def test_a_layout_that_is_none_is_refused(layout, complaint):
    result = run("--layout", layout)
    assert isinstance(result.exception, InputError) and complaint in str(result.exception)
