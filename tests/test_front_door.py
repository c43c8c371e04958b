"""`import storagekit as sk`: what it shows, what it costs, and that the examples of its names are true."""

import doctest
import inspect
import subprocess
import sys
from operator import attrgetter

import pytest

import storagekit as sk

FUNCTIONS = [name for name in sk.__all__ if callable(getattr(sk, name)) and not name.endswith("Error")]
PLANS = ["plan.array", "plan.size", "plan.memory", "plan.shares"]
ROOMS = [name for name in sk.__all__ if inspect.ismodule(getattr(sk, name))]


def fresh(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_nothing_heavy_is_imported_until_it_is_used():
    heavy = "jax", "numpy", "xarray", "altair", "scipy", "equinox"
    code = f"import sys, storagekit as sk; print([name for name in {heavy} if name in sys.modules]); print(dir(sk))"
    loaded, shown = fresh(code).splitlines()
    assert loaded == "[]"
    assert "simulate" in shown and "dispatch" in shown


def test_every_name_is_there_and_no_other():
    assert set(ROOMS) | set(FUNCTIONS) | {"InputError", "SimulationError"} == set(dir(sk))
    with pytest.raises(AttributeError, match="'storagekit' has no attribute 'simulat'"):
        _ = sk.simulat


@pytest.mark.parametrize("name", [*FUNCTIONS, *PLANS])
def test_every_name_has_an_example_that_is_true(name):
    found = doctest.DocTestFinder(recurse=False).find(attrgetter(name)(sk), name)
    assert found and found[0].examples, f"sk.{name} shows no example"
    report: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    runner.run(found[0], out=report.append)
    assert not runner.failures, "".join(report)


@pytest.mark.parametrize("name", ROOMS)
def test_every_room_says_what_it_is(name):
    assert getattr(sk, name).__doc__
