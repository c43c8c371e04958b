"""Compare parameters given on a command line with the notebook's parameters."""

import re

import pytest
from papermill.iorw import load_notebook_node as papermill_notebook
from papermill.parameterize import parameterize_notebook

from storagekit.core.errors import InputError
from storagekit.core.resources import reproduction_path
from storagekit.reproduce.parameters import _defaults, check, read_parameters, split, takers

DEFAULTS = {"runs": 4, "scale": 1.5, "flag": False, "name": "a", "depths": [1, 2], "ms": (0.5,)}
# a value for each parameter of the reproductions that is not its default
OTHER = {"profile": "full", "seed": "3", "out": "elsewhere", "traces": "mine/traces", "read_share": "0.7"}


def test_defaults_come_from_the_tagged_cell(write):
    path = write("a", "other = 1", parameters='"""Say."""\nruns: int = 4\nscale = -1.5\nd = [1, 2]')
    assert read_parameters(path) == {"runs": 4, "scale": -1.5, "d": [1, 2]}


@pytest.mark.parametrize("source", ["runs = 2 * n", "import os", "runs =", "print(1)", "runs += 1"])
def test_a_default_that_is_no_plain_value_raises(write, source):
    path = write("a", parameters=source)
    with pytest.raises(InputError, match=r"a\.ipynb.*plain values"):
        read_parameters(path)


def test_a_damaged_or_missing_notebook_is_an_input_error(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        read_parameters(tmp_path / "a.ipynb")
    (tmp_path / "a.ipynb").write_text("{")
    with pytest.raises(InputError, match="Jupyter notebook"):
        read_parameters(tmp_path / "a.ipynb")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("runs=16", 16),
        ("scale=2", 2.0),
        ("scale=1e-3", 1e-3),
        ("flag=true", True),
        ("flag=False", False),
        ("name=x=y", "x=y"),
        ("depths=[4, 8]", [4, 8]),
        ("ms=[1, 0.5]", [1, 0.5]),
    ],
)
def test_a_text_becomes_a_value_of_the_parameters_type(text, value):
    (got,) = check(split([text]), DEFAULTS).values()
    assert got == value
    assert type(got) is type(value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("runs=1.5", "runs='1.5': it must be a whole number; for example runs=4"),
        ("runs=many", "it must be a whole number"),
        ("scale=nan", "it must be a finite number"),
        ("flag=1", "flag='1': it must be true or false; for example flag=false"),
        ("depths=3", "it must be a list of int"),
        ("depths=[1.5]", "it must be a list of int"),
        ("depths=[", "it must be a list of int"),
        ("runs", "'runs': give it as name=value"),
        ("=3", "give it as name=value"),
    ],
)
def test_a_wrong_parameter_is_one_line_that_names_it(text, message):
    with pytest.raises(InputError) as caught:
        check(split([text]), DEFAULTS)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_parameter_is_for_the_notebooks_that_have_it():
    notebooks = {"a": DEFAULTS, "b": {"runs": 1}, "c": {}}
    assert takers(["runs", "scale"], notebooks) == {"runs": ["a", "b"], "scale": ["a"]}
    assert check({"runs": "2", "scale": "3"}, notebooks["b"]) == {"runs": 2}
    assert check({"runs": "2"}, notebooks["c"]) == {}


@pytest.mark.parametrize(
    ("name", "notebooks", "message"),
    [
        ("rusn", {"a": DEFAULTS, "b": {}}, "no parameter 'rusn' in a, b; did you mean runs?"),
        (
            "zzz",
            {"a": {"runs": 1}, "b": {"runs": 2, "scale": 1}},
            "no parameter 'zzz' in a, b; give one of runs, scale",
        ),
        ("zzz", {"a": {}}, "no parameter 'zzz' in a; the notebooks have no parameters"),
    ],
)
def test_a_parameter_that_no_notebook_has_raises(name, notebooks, message):
    with pytest.raises(InputError, match=re.escape(message)):
        takers([name], notebooks)


@pytest.mark.parametrize("paper", ["ars", "dsfq", "dsptf", "since", "srarray", "swift"])
def test_every_parameter_of_a_reproduction_takes_another_value(paper):
    """The value is given as text on a command line, and as papermill writes it into a cell."""
    defaults = read_parameters(reproduction_path(paper))
    others = {name: OTHER[name] for name in defaults}
    read = check(others, defaults)
    assert all(read[name] != defaults[name] and type(read[name]) is type(defaults[name]) for name in defaults)
    page = parameterize_notebook(papermill_notebook(str(reproduction_path(paper))), read)
    (cell,) = (cell for cell in page.cells if "injected-parameters" in cell.metadata.get("tags", ()))
    assert dict(_defaults(cell.source)) == read
