"""Test a switch between policies for writes."""

import jax.numpy as jnp
import numpy as np
import pytest
from helpers import assert_refused

from storagekit.write import AllCopies, Background, Claimed, FirstCopy, Immediate, ReceivingBrick, WriteSwitch

POLICIES = (AllCopies(), Immediate(), FirstCopy(), ReceivingBrick())


@pytest.mark.parametrize("index", range(len(POLICIES)))
def test_a_switch_acts_as_the_policy_it_selects(index):
    """The write has three parts, and two parts make the data; the second brick receives it."""
    arguments = jnp.full((1,), 0b111, jnp.uint32), jnp.ones(1, jnp.int32), jnp.full((1,), 2, jnp.int32)
    ours, alone = (one.rule(*arguments) for one in (WriteSwitch(POLICIES, index), POLICIES[index]))
    np.testing.assert_array_equal(ours.counted, alone.counted)
    np.testing.assert_array_equal(ours.needed, alone.needed)


def test_a_switch_needs_all_copies_if_one_policy_does():
    assert WriteSwitch(POLICIES).one_for_all and not WriteSwitch(POLICIES[:3]).one_for_all


@pytest.mark.parametrize(
    ("policies", "index", "message"),
    [
        (POLICIES, 4, "policy for writes number 4: the switch has 4 entries, numbered from 0"),
        (
            (AllCopies(), Background(4)),
            0,
            "Background in a switch of write policies: it delays parts or uses claims; use it without a switch",
        ),
        (
            (AllCopies(), Claimed()),
            0,
            "Claimed in a switch of write policies: it delays parts or uses claims; use it without a switch",
        ),
    ],
)
def test_impossible_switches_raise(policies, index, message):
    assert_refused(lambda: WriteSwitch(policies, index), message)
