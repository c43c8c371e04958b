"""A policy for writes that is a number."""

import jax.numpy as jnp
import numpy as np
import pytest
from helpers import assert_refused

from storagekit.write import AllCopies, Background, Claimed, FirstCopy, Immediate, ReceivingBrick, WriteSwitch

MEMBERS = (AllCopies(), Immediate(), FirstCopy(), ReceivingBrick())


@pytest.mark.parametrize("index", range(len(MEMBERS)))
def test_one_of_several_is_that_one(index):
    """A write of three parts, received by the second, of which two make the data."""
    asked = jnp.full((1,), 0b111, jnp.uint32), jnp.ones(1, jnp.int32), jnp.full((1,), 2, jnp.int32)
    ours, alone = (one.rule(*asked) for one in (WriteSwitch(MEMBERS, index), MEMBERS[index]))
    np.testing.assert_array_equal(ours.counted, alone.counted)
    np.testing.assert_array_equal(ours.needed, alone.needed)


def test_copies_are_needed_where_one_of_them_needs_them():
    assert WriteSwitch(MEMBERS).one_for_all and not WriteSwitch(MEMBERS[:3]).one_for_all


@pytest.mark.parametrize(
    ("members", "index", "says"),
    [
        (MEMBERS, 4, "policy for writes number 4 of 4: they count from 0"),
        (
            (AllCopies(), Background(4)),
            0,
            "Background writes of several: not all parts are written at once; give it alone",
        ),
        ((AllCopies(), Claimed()), 0, "Claimed writes of several: not all parts are written at once; give it alone"),
    ],
)
def test_what_cannot_be_one_of_several_is_refused(members, index, says):
    assert_refused(lambda: WriteSwitch(members, index), says)
