"""Test the memory of bricks against timelines worked by hand.

Times are in ms. A sector takes 1 ms, and a block has 8 sectors.
"""

import numpy as np
import pytest
from helpers import responses

from storagekit.cache import BrickLRU
from storagekit.dispatch import DSPTF, Hashing, central
from storagekit.drive import RateServer
from storagekit.engine import Scenario, System
from storagekit.placement import Replicas
from storagekit.schedule import FCFS
from storagekit.write import Immediate

MS = 1e-3
SERVER = RateServer(1000)
BLOCK = 8 * 512.0


def two_bricks(dispatch, cache) -> System:
    return System(SERVER, Replicas(2), dispatch, FCFS(), Immediate(), cache=cache, drives=2, slots=8)


def memory(**options) -> BrickLRU:
    return BrickLRU.sized(**{"capacity": 4 * BLOCK, "bricks": 2, "ways": 4, "sectors": 8} | options)


def test_a_read_hits_in_the_brick_that_has_the_block(unfold, recorded):
    """Work a timeline under D-SPTF, with 0.1 ms for a message and 0.5 ms for a hit.

    0    a read of block 0 sent to brick 0: idle, with no rotation to wait for, it claims and issues it at once,
         has it at 8
    4    the same read: the block is on its way into the memory of brick 0, so it completes at 8
    20   the same read, sent to brick 1: forwarded, found at brick 0: 0.5 + 0.1
    30   the same read, sent to brick 0: 0.5, and no other brick receives a message
    """
    arrivals = recorded(np.array([0, 4, 20, 30]) * MS, sectors=8, receiving=[0, 0, 1, 0])
    tally, reports = unfold(Scenario(two_bricks(DSPTF(0.1 * MS), memory(hit_time=0.5 * MS)), arrivals))
    assert responses(reports) == pytest.approx({0: 8, 1: 4, 2: 0.6, 3: 0.5}, abs=1e-3)
    assert tally.hits.tolist() == [3]
    assert tally.elsewhere.tolist() == [1]
    assert tally.served.sum() == 1


def test_a_blocked_read_hits_after_its_admission(unfold, recorded):
    """Work a timeline of one brick with one slot, in which a hit takes 3 ms.

    0    a read of block 0: from its disk, at 8
    0    the same read, blocked until 8: the block is in memory by then, so 8 + 3
    20   the same read: 3
    """
    system = System(SERVER, Replicas(1), Hashing(), FCFS(), cache=memory(hit_time=3 * MS, bricks=1), drives=1, slots=1)
    tally, reports = unfold(Scenario(system, recorded(np.array([0, 0, 20]) * MS, sectors=8)))
    assert responses(reports) == pytest.approx({0: 8, 1: 11, 2: 3}, abs=1e-3)
    assert (int(tally.hits[0]), int(tally.blocked[0])) == (2, 1)


def test_a_written_block_stays_with_one_brick(unfold, recorded):
    """A write completes at once and is on both disks by 8.

    Reads sent to either brick hit at the brick that keeps the block, chosen by the block's hash.
    """
    arrivals = recorded(
        np.array([0, 20, 30]) * MS, sectors=8, read=[False, True, True], receiving=[0, 0, 1], address_hash=1
    )
    tally, reports = unfold(Scenario(two_bricks(DSPTF(0.1 * MS), memory()), arrivals))
    assert responses(reports) == pytest.approx({0: 0, 1: 0.1, 2: 0}, abs=1e-3)
    assert tally.served.ravel().tolist() == [1, 1]
    assert (int(tally.hits[0]), int(tally.elsewhere[0])) == (2, 1)


def test_a_read_at_another_brick_moves_the_blocks_to_it(unfold, recorded):
    """At one instant, brick 0 reads block 0 and brick 1 reads block 1.

    Then one read covers both blocks, and neither brick has both.

    The brick that serves this read has both blocks from then on, and the other brick has neither. Two reads of one
    block each then hit at the brick that has both.
    """
    arrivals = recorded(
        np.array([0, 0, 20, 60, 70]) * MS,
        sector=[0, 8, 0, 0, 8],
        sectors=[8, 8, 16, 8, 8],
        receiving=[0, 1, 1, 1, 1],
    )
    tally, _ = unfold(Scenario(two_bricks(central(), memory()), arrivals))
    assert tally.served.sum() == 3
    assert tally.hits.tolist() == [2]
    # Both hits occur at the brick that read the two blocks together; both reads were sent to brick 1.
    assert int(tally.elsewhere[0]) in (0, 2)


def test_hashed_reads_look_in_one_brick_only(unfold, recorded):
    """Block 0 belongs to brick 0 by its hash. A request for it that hashes to brick 1 does not find it."""
    arrivals = recorded(np.array([0, 20, 40]) * MS, sectors=8, address_hash=[0, 1, 1])
    tally, _ = unfold(Scenario(two_bricks(Hashing(), memory()), arrivals))
    assert tally.served.ravel().tolist() == [1, 1]
    assert tally.hits.tolist() == [1]


def test_a_central_memory_has_the_total_size_of_the_bricks(unfold, recorded):
    """Read three blocks in turn, twice, in bricks of two blocks each.

    As one memory of four blocks, the whole second round hits.
    """
    arrivals = recorded(np.arange(6) * 20 * MS, sector=[0, 8, 16] * 2, sectors=8, address_hash=0)
    found = {}
    for name, single in (("bricks", 0), ("one", 1)):
        cache = BrickLRU(2 * BLOCK, bricks=2, sets=2, ways=4, sectors=8, central=single)
        tally, _ = unfold(Scenario(two_bricks(Hashing(), cache), arrivals))
        found[name] = int(tally.hits[0])
    assert found == {"bricks": 0, "one": 3}


def test_bricks_with_memories_of_different_sizes(unfold, recorded):
    """Brick 0 holds no block, and brick 1 holds two.

    Of two blocks per brick, each read twice, only the blocks that hash to brick 1 hit.
    """
    arrivals = recorded(np.arange(8) * 20 * MS, sector=[0, 8, 16, 24] * 2, sectors=8, address_hash=[0, 0, 1, 1] * 2)
    cache = BrickLRU.sized((0.0, 2 * BLOCK), bricks=2, ways=4, sectors=8)
    tally, _ = unfold(Scenario(two_bricks(Hashing(), cache), arrivals))
    assert tally.hits.tolist() == [2]
    assert tally.served.ravel().tolist() == [4, 2]
