"""Parameters given on a command line, against the notebook's own."""

import pytest

from storagekit.errors import InputError
from storagekit.reproduce.parameters import check, read_parameters, split

DEFAULTS = {"runs": 4, "scale": 1.5, "flag": False, "name": "a", "depths": [1, 2], "ms": (0.5,)}


def test_defaults_come_from_the_tagged_cell(write):
    path = write("a", "other = 1", parameters='"""Say."""\nruns: int = 4\nscale = -1.5\nd = [1, 2]')
    assert read_parameters(path) == {"runs": 4, "scale": -1.5, "d": [1, 2]}


@pytest.mark.parametrize("source", ["runs = 2 * n", "import os", "runs =", "print(1)", "runs += 1"])
def test_a_default_that_is_no_plain_value_is_refused(write, source):
    path = write("a", parameters=source)
    with pytest.raises(InputError, match=r"a\.ipynb.*plain values"):
        read_parameters(path)


def test_a_damaged_or_missing_notebook_is_an_input_error(tmp_path):
    with pytest.raises(InputError, match="not there"):
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
    (got,) = check(split([text]), DEFAULTS, "a").values()
    assert got == value
    assert type(got) is type(value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("runs=1.5", "runs='1.5': not a whole number; for instance runs=4"),
        ("runs=many", "not a whole number"),
        ("scale=nan", "not a finite number"),
        ("flag=1", "flag='1': not true or false; for instance flag=false"),
        ("depths=3", "not a list of int"),
        ("depths=[1.5]", "not a list of int"),
        ("depths=[", "not a list of int"),
        ("nothing=3", "a has no parameter 'nothing'; its parameters are runs, scale"),
        ("runs", "'runs': give it as name=value"),
        ("=3", "give it as name=value"),
    ],
)
def test_a_wrong_parameter_is_one_line_that_names_it(text, message):
    with pytest.raises(InputError) as caught:
        check(split([text]), DEFAULTS, "a")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
