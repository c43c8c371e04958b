"""Kinds of numbers: what each lets through, how, and the line that refuses; arguments and fields held to them."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import jax
import numpy as np
import pytest
from helpers import assert_refused
from hypothesis import given
from hypothesis import strategies as st

from storagekit.core.kinds import (
    COUNT,
    MOMENT,
    REAL,
    SECTORS,
    SEED,
    SHARE,
    TIME,
    a,
    called,
    flag,
    hold,
    one_of,
    optional,
    several,
    takes,
    text,
    unchecked,
)


@pytest.mark.parametrize(
    ("kind", "value", "says"),
    [
        (TIME, 0.0, "^wait 0 s: it must be above 0 and finite$"),
        (TIME, math.inf, "^wait inf s: it must be above 0 and finite$"),
        (TIME, math.nan, "^wait nan s: it must be above 0 and finite$"),
        (TIME, [1.0, 2.0], "^wait of 2 values: give one number, and ask again for each other$"),
        (TIME.each, [1.0, -2.0], "^wait -2 s: it must be above 0 and finite$"),
        (MOMENT, -math.inf, "^wait -inf s: it must be a number and finite$"),
        (SHARE, 1.5, "^wait 1.5: it must be between 0 and 1$"),
        (COUNT, 1.5, "^wait 1.5: give a whole number, between 1 and 1000000$"),
        (COUNT, 2**32 + 2, "^wait 4294967298: give a whole number, between 1 and 1000000$"),
        (COUNT.up_to(9, "; ask twice"), 10, "^wait 10: give a whole number, between 1 and 9; ask twice$"),
        (SEED, 2**64, "^wait 18446744073709551616: give a whole number, between 0 and 18446744073709551615$"),
        (SEED, float(2**64), "^wait 18446744073709551616: give a whole number"),
        (several(TIME), np.array(1.0), "^wait 1.0: give several values, in a list$"),
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
        (several(TIME, 1), (), "^wait of 0 values: give at least 1$"),
        (several(TIME), "12", "^wait '12': give several values, in a list$"),
        (several(TIME), [1.0, 0.0], "^wait 0 s: it must be above 0"),
        (a(Mapping, "a dict"), 3, "^wait: given 3; give a dict$"),
    ],
)
def test_what_is_none_of_a_kind_is_refused_in_a_line(kind, value, says):
    assert_refused(lambda: kind("wait", value), says)


def test_a_number_of_very_many_digits_is_not_written_out():
    assert_refused(lambda: COUNT("wait", 10**5000), "^wait of some 5001 digits: give a whole number")
    assert_refused(lambda: TIME("wait", 10**5000), "^wait of some 5001 digits: give a number$")


@given(st.floats(1e-300, 1e300) | st.integers(1, 2**62))
def test_what_is_of_a_kind_stays_as_it_is(value):
    assert TIME("it", value) is value and TIME.each("it", np.array([value, 1.0]))[0] == value


def test_whole_numbers_are_ints_then():
    assert COUNT("it", 4.0) == 4 and type(COUNT("it", np.float32(4))) is int
    assert SECTORS("it", 2**53) == 2**53
    assert COUNT("it", np.float16(3)) == 3 and SEED("it", 2**64 - 1) == 2**64 - 1
    assert REAL.each("it", np.array([np.int64(1), 0.5], dtype=object)).size == 2
    assert type(REAL("it", 10**20)) is float  # NumPy has no whole number of it
    assert optional(COUNT)("it", None) is None and several(COUNT)("it", [1.0, 2]) == (1, 2)


def test_what_is_being_traced_is_let_through():
    assert jax.grad(lambda time: 2.0 * TIME("it", time))(3.0) == 2.0


@takes(rate=TIME.each, servers=COUNT)
def asked(rate, *more, servers=None, **others):
    return rate, more, servers, others


def test_arguments_are_held_to_their_kinds_by_place_and_by_name():
    assert asked(1.0, "of", -3, servers=2.0, rest="any") == (1.0, ("of", -3), 2, {"rest": "any"})
    assert asked(1.0)[2] is None  # its default, whatever the kind
    assert_refused(lambda: asked(0.0), "^rate 0 s")
    assert_refused(lambda: asked(1.0, servers=0), "^servers 0: give a whole number")
    assert unchecked(asked)(0.0, servers=0)[0] == 0.0
    with pytest.raises(TypeError, match="missing 1 required"):
        asked()
    with pytest.raises(TypeError, match="no argument speed"):
        takes(speed=TIME)(lambda rate: rate)


def test_fields_are_held_to_their_kinds():
    @dataclass(frozen=True)
    class Disk:
        seek_time: float
        heads: int

        def __post_init__(self):
            hold(self, seek_time=TIME, heads=COUNT)

    assert type(Disk(1e-3, 4.0).heads) is int
    assert_refused(lambda: Disk(-1.0, 4), "^seek time -1 s: it must be above 0")
