"""The events that the engine reports to a component, and their order."""

from typing import NamedTuple

import jax.numpy as jnp
import pytest
from jaxtyping import Array, Int

from storagekit.dispatch import Randomized
from storagekit.drive import RateServer
from storagekit.engine import Record, Runner, Scenario, System, keys
from storagekit.placement import Node, Replicas, Segments, Volume
from storagekit.schedule import FCFS
from storagekit.workload import ClosedLoop, FixedSize, PoissonArrivals, RandomRequests
from storagekit.write import AllCopies

REQUESTS = RandomRequests(FixedSize(4096), read_share=1.0)


class Seen(NamedTuple):
    """The request in each slot, the completions received, and the completions of a request that was no longer in a
    slot."""

    number: Int[Array, "slot *batch"]
    completions: Int[Array, "1 *batch"]
    unknown: Int[Array, "1 *batch"]


class Recording(Randomized):
    """Stores the number of the request in each slot."""

    def init(self, sizes):
        nothing = jnp.zeros((1, *sizes.batch), jnp.int32)
        return Seen(jnp.full((sizes.slots, *sizes.batch), -1, jnp.int32), nothing, nothing)

    def on_admitted(self, private, event):
        return private._replace(number=jnp.where(event.slot_mask, event.request.number, private.number))

    def on_completed(self, private, event):
        made = event.number >= 0
        there = jnp.any(private.number == event.number, axis=0, keepdims=True)
        return private._replace(completions=private.completions + made, unknown=private.unknown + (made & ~there))


@pytest.mark.parametrize("arrivals", [ClosedLoop(REQUESTS, 3), PoissonArrivals(REQUESTS, 200.0)])
def test_a_completion_is_notified_before_another_request_takes_its_slot(arrivals):
    system = System(RateServer(1000), Replicas(2), Recording(), FCFS(), slots=3)
    runner = Runner(Scenario(system, arrivals), keys([0])[:, 0], Record())
    runner.advance(3)
    seen = runner.run.state.dispatch
    assert seen.completions[0] > 100 and seen.unknown[0] == 0


class Counted(NamedTuple):
    """Accesses of writes that ended, and the completions that a brick sent with them."""

    ended: Int[Array, "1 *batch"]
    completions: Int[Array, "1 *batch"]


class Counting(Randomized):
    """Counts the accesses of writes that end."""

    def init(self, sizes):
        nothing = jnp.zeros((1, *sizes.batch), jnp.int32)
        return Counted(nothing, nothing)

    def on_access_ended(self, private, event):
        return Counted(private.ended + event.written, private.completions + (event.awaited & ~event.read))


def test_a_brick_completes_a_write_once_when_data_and_parity_are_on_disk():
    """A RAID 5 in a node writes to two drives. With twelve requests outstanding on three drives, one of the two
    accesses often waits."""
    layout = Segments([Node(3, raid5=True)], [Volume(2**16, 2**12, 1)])
    writes = RandomRequests(FixedSize(4096), read_share=0.0)
    system = System(RateServer(1000), layout, Counting(), FCFS(), AllCopies(), slots=16)
    runner = Runner(Scenario(system, ClosedLoop(writes, 12)), keys([0])[:, 0], Record())
    runner.advance(3)
    counted = runner.run.state.dispatch
    assert counted.ended[0] > 100
    # for some of the last accesses, the other access of the write has not ended yet
    assert abs(int(counted.ended[0]) - 2 * int(counted.completions[0])) <= 12
