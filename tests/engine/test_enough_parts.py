"""Test the parts that are added if a dispatcher selects too few parts."""

from itertools import product

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from storagekit.dispatch import Redundant
from storagekit.drive import ideal_drive
from storagekit.engine import Record, Scenario, System, execute, stack
from storagekit.engine.completion import enough_of
from storagekit.placement import Coded
from storagekit.schedule import FCFS
from storagekit.simulation import STANDARD
from storagekit.simulation.measures import sums_of
from storagekit.workload import ClosedLoop, FixedSize, RandomRequests

DRIVE = ideal_drive(full_seek=8e-3, revolution=6e-3)
LOOP = ClosedLoop(RandomRequests(FixedSize(4096), 1.0), 4)


@pytest.mark.parametrize(("count", "drives"), [(6, 6), (5, 9), (1, 1), (2, 2), (5, 200)])
def test_any_parts_are_completed_to_the_needed_number(count, drives):
    """All subsets of all available parts. A single part is followed by the next parts in cyclic order."""
    masks = range(1, 2**count)
    cases = [(one, parts, n) for one, parts, n in product(masks, masks, range(1, count + 1)) if one & ~parts == 0]
    some, parts, needed = np.array(cases).T
    scenario = Scenario(System(DRIVE, Coded(1, count), Redundant(2), FCFS(), drives=drives), LOOP)
    given = jnp.asarray(some, jnp.uint32), jnp.asarray(parts, jnp.uint32), jnp.asarray(needed, jnp.int32)
    found = np.asarray(enough_of(scenario, *given)).astype(int)
    size = np.bitwise_count
    assert np.all(found & some == some) and np.all(found & ~parts == 0)
    np.testing.assert_array_equal(size(found), np.maximum(size(some), np.minimum(needed, size(parts))))
    for one, available, n, all_parts in zip(
        some.tolist(), parts.tolist(), needed.tolist(), found.tolist(), strict=True
    ):
        if one.bit_count() == 1:
            first = one.bit_length() - 1
            order = [(first + k) % count for k in range(count) if available >> (first + k) % count & 1]
            assert all_parts == sum(1 << part for part in order[:n])


def test_parts_at_all_positions_of_the_largest_code_are_added():
    """A code of 32 parts on 64 drives: the only other parts are the farthest ones in cyclic order."""
    scenario = Scenario(System(DRIVE, Coded(1, 32), Redundant(2), FCFS(), drives=64), LOOP)
    last = np.uint32(1 << 31)
    for parts, needed in ((last | np.uint32(1), 2), (np.uint32(0xFFFFFFFF), 32), (last | np.uint32(1 << 30 | 3), 4)):
        some = jnp.array([1 if needed != 4 else 3], jnp.uint32)
        found = enough_of(scenario, some, jnp.array([parts], jnp.uint32), jnp.array([needed], jnp.int32))
        assert int(found[0]) == int(parts)


def test_the_program_does_not_grow_with_drives_beyond_the_parts_of_a_request():
    def operations(drives: int) -> int:
        scenario = Scenario(System(DRIVE, Coded(2, 6), Redundant(2), FCFS(), drives=drives), LOOP)
        one = jnp.ones(1, jnp.uint32)
        return len(jax.make_jaxpr(lambda some: enough_of(scenario, some, 63 * one, jnp.ones(1, jnp.int32)))(one).eqns)

    assert operations(8) < operations(32) == operations(200)


def test_a_read_of_all_fragments_needs_no_particular_draw():
    """Two of six fragments are drawn, and the other four are added."""
    system = System(DRIVE, Coded(6, 6), Redundant(2), FCFS(), slots=8)
    tally = execute(*stack([Scenario(system, LOOP)], [5]), 200, Record(sums_of(STANDARD))).tally
    assert float(tally["served"].sum() / tally["reads"].sum()) == pytest.approx(6, rel=0.03)
