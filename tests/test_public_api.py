"""`import storagekit as sk`: its names, its cost, and its examples, which must be correct."""

import doctest
import inspect
import re
import subprocess
import sys
from importlib import import_module
from operator import attrgetter
from pathlib import Path

import pytest
from helpers import slow_but

import storagekit as sk

FUNCTIONS = [name for name in sk.__all__ if callable(getattr(sk, name)) and not name.endswith("Error")]
PLANS = ["plan.array", "plan.size", "plan.memory", "plan.shares"]
ROOT = Path(sk.__file__).parents[1]
EXAMPLES = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for path in Path(sk.__file__).parent.rglob("*.py")
    if re.search(r"^ *>>> ", path.read_text(encoding="utf-8"), re.MULTILINE)
)
# their systems are simulated in the tests of these modules, and shorter examples of other modules run by default
LONG = {
    f"storagekit.simulation.{name}"
    for name in ("compare", "experiment", "mixing", "data_loss", "rebuilding", "splitting")
}
PACKAGES = [name for name in sk.__all__ if inspect.ismodule(getattr(sk, name))]


def fresh(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_nothing_heavy_is_imported_until_it_is_used():
    heavy = "jax", "numpy", "xarray", "altair", "scipy", "equinox"
    code = f"import sys, storagekit as sk; print([name for name in {heavy} if name in sys.modules]); print(dir(sk))"
    loaded, shown = fresh(code).splitlines()
    assert loaded == "[]"
    assert "simulate" in shown and "dispatch" in shown


def test_exactly_the_public_names_exist():
    assert set(PACKAGES) | set(FUNCTIONS) | {"InputError", "SimulationError"} == set(dir(sk))
    with pytest.raises(AttributeError, match="'storagekit' has no attribute 'simulat'"):
        _ = sk.simulat


@pytest.mark.parametrize("name", [*FUNCTIONS, *PLANS])
def test_every_name_has_an_example(name):
    found = doctest.DocTestFinder(recurse=False).find(attrgetter(name)(sk), name)
    assert found and found[0].examples, f"sk.{name} shows no example"


@pytest.mark.parametrize("name", slow_but(set(EXAMPLES) - LONG, EXAMPLES))
def test_every_example_is_correct(name):
    report: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    for one in doctest.DocTestFinder().find(import_module(name)):
        runner.run(one, out=report.append)
    assert not runner.failures, "".join(report)


@pytest.mark.parametrize("name", PACKAGES)
def test_every_package_has_a_docstring(name):
    assert getattr(sk, name).__doc__
