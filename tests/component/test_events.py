"""What the engine reports to a component, and in which order."""

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


class Held(NamedTuple):
    """The request in each slot, answers heard, and those of a request that was in none any more."""

    number: Int[Array, "slot *batch"]
    answers: Int[Array, "1 *batch"]
    strange: Int[Array, "1 *batch"]


class Listening(Randomized):
    """Notes which request is in which slot."""

    def init(self, sizes):
        nothing = jnp.zeros((1, *sizes.lanes), jnp.int32)
        return Held(jnp.full((sizes.slots, *sizes.lanes), -1, jnp.int32), nothing, nothing)

    def entered(self, private, moment):
        return private._replace(number=jnp.where(moment.into, moment.request.number, private.number))

    def answered(self, private, moment):
        made = moment.number >= 0
        there = jnp.any(private.number == moment.number, axis=0, keepdims=True)
        return private._replace(answers=private.answers + made, strange=private.strange + (made & ~there))


@pytest.mark.parametrize("arrivals", [ClosedLoop(REQUESTS, 3), PoissonArrivals(REQUESTS, 200.0)])
def test_an_answer_is_told_before_another_request_takes_its_slot(arrivals):
    system = System(RateServer(1000), Replicas(2), Listening(), FCFS(), slots=3)
    runner = Runner(Scenario(system, arrivals), keys([0])[:, 0], Record())
    runner.advance(3)
    heard = runner.run.state.dispatch
    assert heard.answers[0] > 100 and heard.strange[0] == 0


class Counted(NamedTuple):
    """Accesses of writes that ended, and those among them with which a brick answered."""

    ended: Int[Array, "1 *batch"]
    answers: Int[Array, "1 *batch"]


class Counting(Randomized):
    """Counts the accesses of writes that end."""

    def init(self, sizes):
        nothing = jnp.zeros((1, *sizes.lanes), jnp.int32)
        return Counted(nothing, nothing)

    def ended(self, private, moment):
        return Counted(private.ended + moment.written, private.answers + (moment.awaited & ~moment.read))


def test_a_brick_answers_a_write_once_when_data_and_parity_are_on_disk():
    """A RAID 5 in a node writes to two drives. With twelve requests outstanding at three drives one of them often waits."""
    layout = Segments([Node(3, raid5=True)], [Volume(2**16, 2**12, 1)])
    writes = RandomRequests(FixedSize(4096), read_share=0.0)
    system = System(RateServer(1000), layout, Counting(), FCFS(), AllCopies(), slots=16)
    runner = Runner(Scenario(system, ClosedLoop(writes, 12)), keys([0])[:, 0], Record())
    runner.advance(3)
    counted = runner.run.state.dispatch
    assert counted.ended[0] > 100
    # the last of those that have ended may have their other half before them
    assert abs(int(counted.ended[0]) - 2 * int(counted.answers[0])) <= 12
