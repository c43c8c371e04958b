"""Validators, their messages, and the validation of arguments and fields by their annotations."""

import functools
import importlib
import inspect
import math
import pkgutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import jax
import numpy as np
import pytest
from helpers import assert_refused
from hypothesis import given
from hypothesis import strategies as st

import storagekit
from storagekit.analytic.array.aspect import Layout
from storagekit.core.errors import InputError
from storagekit.core.validation import (
    AMOUNT,
    COUNT,
    MOMENT,
    MOST_SECONDS,
    POSITIVE,
    REAL,
    SECTORS,
    SEED,
    SHARE,
    TIME,
    Count,
    Share,
    Time,
    Times,
    called,
    flag,
    instance_of,
    limits_of,
    one_of,
    optional,
    require,
    require_broadcast,
    require_seconds,
    several,
    text,
    unchecked,
    validate,
    validate_fields,
    validator_of,
    written,
)


@pytest.mark.parametrize(
    ("validator", "value", "says"),
    [
        (TIME, 0.0, "^wait 0 s: it must be above 0 and finite$"),
        (TIME, math.inf, "^wait inf s: it must be above 0 and finite$"),
        (TIME, math.nan, "^wait nan s: it must be above 0 and finite$"),
        (TIME, [1.0, 2.0], "^wait of 2 values: give one number, and call once for each number$"),
        (TIME.each, [1.0, -2.0], "^wait -2 s: it must be above 0 and finite$"),
        (MOMENT, -math.inf, "^wait -inf s: it must be a number and finite$"),
        (POSITIVE, None, "^wait None: give a number$"),
        (AMOUNT, -1e-3, "^wait -0.001: it must be 0 or more and finite$"),
        (
            POSITIVE.in_unit("a second").each,
            np.array([1.0, np.nan], np.float32),
            "^wait nan a second: it must be above 0",
        ),
        (SHARE, 1.5, "^wait 1.5: it must be between 0 and 1$"),
        (COUNT, 1.5, "^wait 1.5: give a whole number, between 1 and 1000000$"),
        (COUNT, 2**32 + 2, "^wait 4294967298: give a whole number, between 1 and 1000000$"),
        (COUNT.up_to(9, "; give it twice"), 10, "^wait 10: give a whole number, between 1 and 9; give it twice$"),
        (SEED, 2**64, "^wait 18446744073709551616: give a whole number, between 0 and 18446744073709551615$"),
        (SEED, float(2**64), "^wait 18446744073709551616: give a whole number"),
        (several(TIME), np.array(1.0), "^wait 1.0: give a list of values$"),
        (REAL.each, np.array(["1"], dtype=object), "^wait .'1'.: give a number$"),
        (REAL, "1", "^wait '1': give a number$"),
        (REAL, b"1", "^wait b'1': give a number$"),
        (REAL, 1j, "^wait 1j: give a number$"),
        (REAL, None, "^wait None: give a number$"),
        (REAL.each, [[1.0], [1.0, 2.0]], "^wait .*: give a number$"),
        (flag, "no", "^wait 'no': give True or False$"),
        (text, 3, "^wait: given 3; give text$"),
        (called, 3, "^wait 3: give a function$"),
        (one_of("left", "right"), "up", "^wait 'up': give one of left, right$"),
        (several(TIME, 1), (), "^wait: given 0 values; give at least 1$"),
        (several(TIME), "12", "^wait '12': give a list of values$"),
        (several(TIME), [1.0, 0.0], "^wait 0 s: it must be above 0"),
        (instance_of(Mapping, "a dict"), 3, "^wait: given 3; give a dict$"),
    ],
)
def test_an_invalid_value_raises_one_line(validator, value, says):
    assert_refused(lambda: validator("wait", value), says)


def test_a_message_shows_the_number_of_digits_of_a_huge_number():
    assert_refused(lambda: COUNT("wait", 10**5000), "^wait of about 5001 digits: give a whole number")
    assert_refused(lambda: TIME("wait", 10**5000), "^wait of about 5001 digits: give a number$")


@given(st.floats(1e-300, 1e300) | st.integers(1, 2**62))
def test_a_valid_value_is_returned_unchanged(value):
    assert TIME("it", value) is value and TIME.each("it", np.array([value, 1.0]))[0] == value


def test_whole_numbers_are_returned_as_ints():
    assert COUNT("it", 4.0) == 4 and type(COUNT("it", np.float32(4))) is int
    assert SECTORS("it", 2**53) == 2**53
    assert COUNT("it", np.float16(3)) == 3 and SEED("it", 2**64 - 1) == 2**64 - 1
    assert REAL.each("it", np.array([np.int64(1), 0.5], dtype=object)).size == 2
    assert type(REAL("it", 10**20)) is float  # NumPy has no whole number of it
    assert optional(COUNT)("it", None) is None and several(COUNT)("it", [1.0, 2]) == (1, 2)


def test_a_traced_value_passes():
    assert jax.grad(lambda time: 2.0 * TIME("it", time))(3.0) == 2.0


@validate
def response(rate: Times, *more, servers: Count | None = None, words: str = "", **others):
    return rate, more, servers, others


def test_arguments_are_validated_by_position_and_by_name():
    assert response(1.0, "of", -3, servers=2.0, rest="any") == (1.0, ("of", -3), 2, {"rest": "any"})
    assert response(1.0)[2] is None
    assert_refused(lambda: response(0.0), "^rate 0 s")
    assert_refused(lambda: response(1.0, servers=0), "^servers 0: give a whole number")
    assert_refused(lambda: response(1.0, words=3), "^words: given 3; give text$")
    assert unchecked(response)(0.0, servers=0)[0] == 0.0
    with pytest.raises(TypeError, match="missing 1 required"):
        response()


def test_limits_are_documented_from_the_annotations():
    assert limits_of(response) == {"rate": "above 0 and finite, s", "servers": "a whole number, between 1 and 1000000"}
    assert limits_of(Layout) == dict.fromkeys(
        ("striping", "replicas", "mirrors"), "a whole number, between 1 and 1000000"
    )
    assert limits_of(len) == limits_of(int) == {}


def test_arguments_that_do_not_fit_together_raise():
    @validate(together=require_broadcast)
    def sums(left: Times, right: Times):
        return left + right

    assert sums(1.0, np.ones(3)).shape == (3,)
    assert_refused(
        lambda: sums(np.ones(2), np.ones(3)), "^the shapes of the arrays do not match: left .2,., right .3,."
    )


def test_the_default_of_an_argument_is_not_validated():
    @validate
    def waits(limit: Time = math.inf):
        return limit

    assert waits() == math.inf == waits(math.inf)


def test_fields_are_validated_by_their_annotations_and_those_of_bases():
    @dataclass(frozen=True)
    class Spindle:
        seek_time: Time

        def __post_init__(self):
            validate_fields(self)

    @dataclass(frozen=True)
    class Disk(Spindle):
        heads: Count = 2
        full: Share | None = None
        name: str = ""

    assert type(Disk(1e-3, 4.0).heads) is int
    assert_refused(lambda: Disk(-1.0, 4), "^seek time -1 s: it must be above 0")
    assert_refused(lambda: Disk(1.0, full=2.0), "^full 2: it must be between 0 and 1$")
    assert_refused(lambda: Disk(1.0, name=None), "^name: given None; give text$")


def test_an_annotation_replaces_that_of_a_base():
    @dataclass(frozen=True)
    class Disk:
        heads: Count

        def __post_init__(self):
            validate_fields(self)

    @dataclass(frozen=True)
    class Loose(Disk):
        heads: float

    assert Loose(0.5).heads == 0.5


def test_a_cached_function_is_validated():
    @validate
    @functools.cache
    def twice(count: Count) -> int:
        return 2 * count

    assert twice(2) == 4
    assert_refused(lambda: twice(0), "^count 0")


def test_a_validator_that_cannot_be_found_raises():
    @validate
    def waits(limit: "Annotated[Missing, COUNT]"):
        return limit

    with pytest.raises(NameError, match="Missing"):
        waits(0)


def _validated() -> Iterator[Callable]:
    """Yield every function and method of the package that `validate` decorates, without the decorator."""
    for module in pkgutil.walk_packages(storagekit.__path__, "storagekit."):
        if module.name.endswith(("__main__", ".conf")):
            continue
        found = importlib.import_module(module.name)
        own = [one for one in vars(found).values() if getattr(one, "__module__", None) == found.__name__]
        for one in own:
            for call in vars(one).values() if inspect.isclass(one) else [one]:
                call = getattr(call, "__func__", call)
                if inspect.isfunction(call) and call.__code__.co_name == "validated":
                    yield inspect.unwrap(call)


def test_annotations_of_the_package_are_found():
    """An annotation in quotes with a name that only type checkers import has no validator. The test lists these."""
    lost, count = [], 0
    for function in _validated():
        count += 1
        for name, hint in function.__annotations__.items():
            try:
                if name != "return" and isinstance(hint, str):
                    eval(hint, dict(function.__globals__))
            except NameError:
                lost.append(f"{function.__qualname__}: {name}")
    assert lost == ["compare: workload"]
    assert count > 150


class _Foreign:
    """A class that is not of this package."""


@pytest.mark.parametrize(
    ("hint", "value", "says"),
    [
        (str, 3, "given 3; give text$"),
        (bool, 1, "1: give True or False$"),
        (Literal["left", "right"], "up", "give one of left, right$"),
        (Count | None, 0, "0: give a whole number"),
        (Sequence[str], "left", "give a list of values$"),
        (tuple[Time, ...], (1.0, -1.0), "-1 s: it must be above 0"),
        (InputError, 3, "given 3; give a InputError$"),
        (Annotated[float, "a remark", SHARE], 2.0, "between 0 and 1$"),
        (Annotated[Count, COUNT.up_to(5)], 6, "between 1 and 5$"),
        (None | Count, 0, "between 1 and 1000000$"),
    ],
)
def test_an_annotation_implies_its_validator(hint, value, says):
    assert_refused(lambda: validator_of(hint)("it", value), says)


@pytest.mark.parametrize(
    "hint", [float, int, np.ndarray, Mapping[str, int], Callable[[], int], _Foreign, Any, Time | str]
)
def test_other_annotations_have_no_validator(hint):
    assert validator_of(hint) is None


def test_a_message_names_the_first_invalid_value_and_its_unit():
    require(np.array([True, True]), "it", [1, 2], "anything")
    values = np.array([[1.0, 2.0], [-3.0, np.nan]], np.float32)
    with pytest.raises(InputError, match=r"^time -3 s: it must be 0 or more$"):
        require(values >= 0, "time", values, "0 or more", "s")
    with pytest.raises(InputError, match=r"^data 3: it must be at most D_s$"):
        require(np.array([True, False]), "data", 3.0, "at most D_s")


@pytest.mark.parametrize("meaning", MOST_SECONDS)
def test_milliseconds_given_as_seconds_raise_with_the_remedy(meaning):
    """Real drives take some ms for all of these, except thinking and time-outs, which take seconds."""
    most = MOST_SECONDS[meaning]
    require_seconds("it", np.array([0.0, most, -1.0, np.nan]), meaning)
    with pytest.raises(InputError) as refused:
        require_seconds("it", np.array([[0.0], [2 * most]]), meaning)
    ms = written(2 * most)
    assert str(refused.value) == (
        f"it {ms} s: it must be at most {most:g}; times are in seconds, {ms} ms are {ms} * sk.units.MS"
    )


def test_a_value_of_another_class_is_described_by_its_type():
    number = instance_of(int, "a number, as 3")
    assert number("it", 3) == 3
    for value, says in (
        ("three", "it: given 'three'; give a number, as 3"),
        (int, "it: given the class int; give its result, int(...)"),
        (float, "it: given the class float; give a number, as 3"),
        (len, "it: given the function len; give a number, as 3"),
        (written, "it: given the function written; give its result, written(...)"),
        (np.array([1, 2]), "it: given [1, 2]; give a number, as 3"),
        (None, "it: given None; give a number, as 3"),
    ):
        with pytest.raises(InputError) as refused:
            number("it", value)
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
