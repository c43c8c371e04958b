"""Numbers as they are given: what is let through, and the line that refuses."""

import numpy as np
import pytest

from storagekit.core.checks import (
    MOST_SECONDS,
    require,
    require_each_positive,
    require_kind,
    require_not_negative,
    require_positive,
    require_seconds,
    require_share,
    require_whole,
    written,
)
from storagekit.core.errors import InputError


def test_numbers_within_their_limits_pass():
    for check, values in (
        (require_positive, (1e-300, 1, np.float32(2), np.array(3.0))),
        (require_not_negative, (0, 0.0, 7)),
        (require_share, (0, 0.5, 1)),
        (require_whole, (1, 2.0, np.int64(3))),
    ):
        for value in values:
            check("it", value)
    require(np.array([True, True]), "it", [1, 2], "anything")


@pytest.mark.parametrize(
    ("check", "value", "says"),
    [
        (require_positive, 0.0, "it 0: it must be above 0 and finite"),
        (require_positive, float("nan"), "it nan: it must be above 0 and finite"),
        (require_positive, [1, 2], "it of 2 values: give one number, and ask again for each other"),
        (require_positive, "3", "it '3': give a number"),
        (require_positive, None, "it None: give a number"),
        (require_not_negative, -1e-3, "it -0.001: it must be 0 or more and finite"),
        (require_not_negative, float("inf"), "it inf: it must be 0 or more and finite"),
        (require_share, 1.5, "it 1.5: it must be between 0 and 1"),
        (require_whole, 0, "it 0: give a whole number, at least 1"),
        (require_whole, 1.5, "it 1.5: give a whole number, at least 1"),
    ],
)
def test_others_are_refused_in_a_line(check, value, says):
    with pytest.raises(InputError) as refused:
        check("it", value)
    assert str(refused.value) == says


def test_of_many_values_the_first_that_fails_is_named_with_its_unit():
    values = np.array([[1.0, 2.0], [-3.0, np.nan]], np.float32)
    with pytest.raises(InputError, match=r"^time -3 s: it must be 0 or more$"):
        require(values >= 0, "time", values, "0 or more", "s")
    with pytest.raises(InputError, match=r"^rate nan a second: it must be above 0 and finite$"):
        require_each_positive("rate", np.array([1.0, np.nan, -1.0], np.float32), "a second")
    with pytest.raises(InputError, match=r"^data 3: it must be at most D_s$"):
        require(np.array([True, False]), "data", 3.0, "at most D_s")


@pytest.mark.parametrize("meaning", MOST_SECONDS)
def test_milliseconds_given_as_seconds_are_caught_with_the_remedy(meaning):
    """What is built takes some ms of all these, but for thought and time-outs, which take seconds."""
    most = MOST_SECONDS[meaning]
    require_seconds("it", np.array([0.0, most, -1.0, np.nan]), meaning)
    with pytest.raises(InputError) as refused:
        require_seconds("it", np.array([[0.0], [2 * most]]), meaning)
    ms = written(2 * most)
    assert str(refused.value) == (
        f"it {ms} s: it must be at most {most:g}; times are in seconds, {ms} ms are {ms} * sk.units.MS"
    )


def test_what_is_no_member_is_told_by_what_it_is():
    assert require_kind("it", 3, int, "a number") == 3
    for value, says in (
        ("three", "it: given 'three'; give a number, as 3"),
        (int, "it: given the class int; give one that it makes, int(...)"),
        (float, "it: given the class float; give a number, as 3"),
        (len, "it: given the function len; give a number, as 3"),
        (written, "it: given the function written; give one that it makes, written(...)"),
        (np.array([1, 2]), "it: given [1, 2]; give a number, as 3"),
        (None, "it: given None; give a number, as 3"),
    ):
        with pytest.raises(InputError) as refused:
            require_kind("it", value, int, "a number, as 3")
        assert str(refused.value) == says


def test_whole_numbers_are_written_in_full():
    values = (8e6, np.float32(2**20 + 1), np.int64(10**9), -1.0, 0.1, np.float32(0.1), 1e300, float("inf"), "3x2x1")
    assert [written(value) for value in values] == [
        "8000000",
        "1048577",
        "1000000000",
        "-1",
        "0.1",
        "0.1",
        "1e+300",
        "inf",
        "3x2x1",
    ]
