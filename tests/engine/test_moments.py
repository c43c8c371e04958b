"""In which order members hear of what happens to a slot."""

from typing import NamedTuple

import jax.numpy as jnp
import pytest
from jaxtyping import Array, Int

from storagekit.dispatch import Randomized
from storagekit.drive import RateServer
from storagekit.engine import Record, Runner, Scenario, System, keys
from storagekit.placement import Replicas
from storagekit.schedule import FCFS
from storagekit.workload import ClosedLoop, FixedSize, PoissonArrivals, RandomRequests

REQUESTS = RandomRequests(FixedSize(4096), read_share=1.0)


class Held(NamedTuple):
    """The request in each slot, answers heard, and those of a request that was in none any more."""

    number: Int[Array, "slot *lanes"]
    answers: Int[Array, "1 *lanes"]
    strange: Int[Array, "1 *lanes"]


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
