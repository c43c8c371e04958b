"""Power of d choices with memory and join-idle-queue, against Markov chains and a program in plain Python."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest
import server_farm
from helpers import WrappedDispatch, assert_refused, responses, slow_but

from storagekit.component.events import AccessEnded, StateSizes
from storagekit.core.batching import any_row, count, index_of, pick, row_index
from storagekit.core.units import MS
from storagekit.dispatch import JoinIdleQueue, ShortestQueueWithMemory
from storagekit.dispatch.sampled import drawn
from storagekit.drive import RateServer
from storagekit.engine import Record, Runner, Scenario, System, stack
from storagekit.placement import Declustered, Replicas
from storagekit.schedule import FCFS
from storagekit.simulation import sweep
from storagekit.workload import ExponentialSize, PoissonArrivals, RandomRequests, below, scramble
from storagekit.write import AllCopies

pytestmark = pytest.mark.optimized

SERVICE = 10 * MS
# sizes are whole sectors; with a mean of 20,000 sectors the rounding is negligible
SIZES, SERVER = ExponentialSize(20_000 * 512.0), RateServer(20_000 / SERVICE, capacity=2**28)
READS = RandomRequests(SIZES, 1.0)
FEW = 3
# Longest queues of the Markov chains by load. Longer queues change the mean response by less than 1e-4 of itself.
LONGEST = {0.5: 14, 0.7: 18}
LONGEST_IDLE = {0.5: 14, 0.7: 26}


def simulated(of, servers: int, loads, numbers, seeds: int, requests: int) -> dict[tuple, tuple[float, float]]:
    """Mean response in service times and its standard error, for each load and each argument of the dispatcher `of`."""

    def build(load, number):
        system = System(SERVER, Replicas(servers), of(number), FCFS(), slots=max(128, 8 * servers))
        return Scenario(system, PoissonArrivals(READS, servers * load / SERVICE))

    axes = {"load": loads, "number": numbers}
    found = sweep(build, axes, seeds=seeds, requests=requests, warm_up=requests // 4).response / SERVICE
    mean, error = found.mean("seed"), found.std("seed", ddof=1) / seeds**0.5
    every = [(load, number) for load in loads for number in numbers]
    at = [{"load": load, "number": number} for load, number in every]
    return {one: (float(mean.sel(here)), float(error.sel(here))) for one, here in zip(every, at, strict=True)}


def assert_near(found: tuple[float, float], exact: float, most: float, exact_error: float = 0.0) -> None:
    """The values differ by at most four standard errors, and these are at most the fraction `most` of the value."""
    mean, error = found
    assert abs(mean - exact) < 4 * np.hypot(error, exact_error) < most * exact


@pytest.mark.parametrize("choices", slow_but({1}, [1, 2]))
def test_memory_agrees_with_the_markov_chain(choices):
    found = simulated(lambda memory: ShortestQueueWithMemory(choices, memory), FEW, [0.5, 0.7], [1, 2], 32, 8000)
    for (load, memory), value in found.items():
        assert_near(value, server_farm.exact_memory(FEW, choices, memory, load, LONGEST[load]), 0.04)


@pytest.mark.parametrize("choices", slow_but({1}, [1, 2]))
def test_idle_queues_agree_with_the_markov_chain(choices):
    """Three servers, so that a random request often hits an idle server: whether it stays listed matters."""
    dispatchers = range(choices, FEW + 1)
    found = simulated(lambda number: JoinIdleQueue(number, choices), FEW, [0.5, 0.7], dispatchers, 24, 8000)
    for (load, number), value in found.items():
        assert_near(value, server_farm.exact_idle_queue(FEW, number, choices, load, LONGEST_IDLE[load]), 0.04)


@pytest.mark.slow
@pytest.mark.parametrize("choices", [1, 2])
def test_thirty_servers_agree_with_plain_python(choices):
    """Nearly as many servers as one mask of parts allows, with ten for each dispatcher, which remembers one."""
    loads, many = [0.7, 0.9], 30
    for of, policy, arguments in (
        (lambda _: ShortestQueueWithMemory(choices, 1), server_farm.Memory, (choices, 1)),
        (lambda number: JoinIdleQueue(number, choices), server_farm.IdleQueue, (3, choices)),
    ):
        found = simulated(of, many, loads, [3], 24, 20_000)
        for load in loads:
            mean, error = server_farm.simulated(policy, many, load, *arguments, runs=24, requests=20_000)
            assert_near(found[load, 3], mean, 0.1, error)


def test_the_oracles_agree_where_theory_has_a_formula():
    """A single server is M/M/1. With one choice and no memory every server is. Mitzenmacher's sum is the limit of two
    choices; with one dispatcher an arrival waits only if all servers are busy (M/M/2 has 1 / (1 - load^2) for its
    mean response, and a random queue is longer)."""
    assert server_farm.exact_memory(1, 1, 1, 0.5, 40) == pytest.approx(2, rel=1e-6)
    assert server_farm.exact_memory(2, 1, 0, 0.5, 40) == pytest.approx(2, rel=1e-6)
    assert server_farm.exact_idle_queue(1, 1, 1, 0.5, 40) == pytest.approx(2, rel=1e-6)
    assert (
        1 / 0.75 < server_farm.exact_idle_queue(2, 1, 1, 0.5, 40) < server_farm.exact_idle_queue(2, 2, 1, 0.5, 40) < 2
    )
    # with two servers, a memory of both is the shortest of both
    assert server_farm.exact_memory(2, 1, 2, 0.5, 40) == pytest.approx(server_farm.exact_memory(2, 2, 0, 0.5, 40))


@pytest.mark.slow
@pytest.mark.parametrize("load", [0.5, 0.7])
def test_the_oracles_agree_with_the_limits_of_many_servers(load):
    """Four hundred servers of the plain program; their deviation from the limit is below its standard error."""
    for policy, arguments, limit in (
        (server_farm.Memory, (1, 1), server_farm.many_with_memory(1, load)),
        (server_farm.Memory, (2, 1), server_farm.many_with_memory(2, load)),
        (server_farm.IdleQueue, (40, 1), server_farm.many_with_idle_queues(10, load)),
    ):
        mean, error = server_farm.simulated(policy, 400, load, *arguments, runs=8, requests=50_000)
        assert abs(mean - limit) < 4 * error < 0.02 * limit


class Watched(WrappedDispatch):
    """Dispatch as `of` does. The private state also has the number of reads and the number of broken laws.

    `broken` is a function of the state before, the state after, the selected drive, the view, and whether a read enters.
    """

    broken: Any = eqx.field(static=True)

    def init(self, sizes: StateSizes):
        none = jnp.zeros((1, *sizes.batch), jnp.int32)
        return self.of.init(sizes), none, none

    def route(self, private, request, entering, view):
        before, number, wrong = private
        routed, after = self.of.route(before, request, entering, view)
        chosen = row_index(view.busy.shape[0], view.busy) == view.placement.drive_of(index_of(routed), view.location)
        reads = entering & request.read
        return routed, (after, number + reads, wrong + self.broken(before, after, chosen, view, reads))


def wrong_memory(before, after, chosen, view, reads):
    """Two queues are drawn, three are remembered. The request joins no queue longer than one of these with its data.
    No queue is forgotten for a longer one, and writes change nothing."""
    load = view.load()
    joined = jnp.sum(jnp.where(chosen, load, 0), axis=0, keepdims=True)
    longer = any_row(before & view.holders() & (load < joined))
    sampled = before | chosen
    for one in drawn(view, 2):
        longer = longer | (pick(load, one) < joined)
        sampled = sampled | (row_index(load.shape[0], load) == one)
    later = load + chosen
    longest = jnp.max(jnp.where(after, later, 0), axis=0, keepdims=True)
    forgotten = any_row(sampled & ~after & (later < longest)) | any_row(after & ~sampled)
    number = count(after) != jnp.minimum(count(sampled), 3)
    return jnp.where(reads, longer | forgotten | number | any_row(chosen & ~view.holders()), any_row(before != after))


def wrong_lists(before, after, chosen, view, reads):
    """The listed drives are exactly the idle drives. If drives with the data of a request are in the I-queue of
    its dispatcher, the request is sent to the first of them."""
    load = view.load()
    listed = before.listed & (before.queue == below(scramble(view.word + 1), jnp.int32(3))) & view.holders()
    oldest = jnp.max(jnp.where(listed, before.later, -1), axis=0, keepdims=True)
    other = any_row(listed) & ~any_row(chosen & listed & (before.later == oldest))
    return reads & (any_row(before.listed != (load == 0)) | other | any_row(chosen & ~view.holders()))


@pytest.mark.parametrize(
    ("of", "broken"),
    [(ShortestQueueWithMemory(2, 3), wrong_memory), (JoinIdleQueue(3, 2), wrong_lists)],
    ids=["memory", "idle queues"],
)
def test_no_request_breaks_a_law(of, broken):
    """Six drives, with each block on three of them, reads and writes. The drives are mostly idle,
    or mostly busy, but no request waits for a slot: it would enter at the instant at which an access ends."""
    layout = Declustered(6, 3, data=2**26, extent=2**20)
    system = System(SERVER, layout, Watched(of, broken), FCFS(), AllCopies(), slots=96)
    mixed = RandomRequests(SIZES, 0.8)
    scenarios = [Scenario(system, PoissonArrivals(mixed, 6 * load / SERVICE)) for load in (0.2, 0.4, 0.6)]
    runner = Runner(*stack(scenarios, [0, 1]), Record())
    while np.min(runner.run.first) < 500:
        runner.advance(2)
    _, number, wrong = runner.run.state.dispatch
    assert np.all(np.asarray(number) > 300) and np.all(np.asarray(wrong) == 0)


def end_of(drive: int) -> AccessEnded:
    """The end of an access of a drive, with the fields that the dispatcher reads."""
    one, no = jnp.full(1, drive, jnp.int32), jnp.zeros(1, bool)
    return AccessEnded(one, one, one, one, None, no, None, ~no, no, no, one, no, None, None, no)


def test_an_idle_drive_joins_the_shortest_of_its_queues():
    """Five drives and three dispatchers. All queues are drawn, so that drives join the shortest queue, in their order."""
    dispatch = JoinIdleQueue(3, 3)
    state = dispatch.init(StateSizes(1, 5, ()))
    # drives 0 and 3 are in queue 0, drives 1 and 4 in queue 1, and drive 2 in queue 2
    assert state.queue.tolist() == [0, 1, 2, 0, 1] and np.all(np.asarray(state.listed))
    state = state._replace(listed=jnp.asarray([False, True, False, False, True]))
    joined = []
    for number, drive in enumerate((3, 0, 2)):
        state = state._replace(word=jnp.full(1, number, jnp.uint32))
        state = dispatch.on_access_ended(state, end_of(drive))
        joined.append(int(state.queue[drive]))
    # queue 1 has two drives; the others are equal at first, and the third drive joins either of three equal queues
    assert set(joined[:2]) == {0, 2}
    assert state.listed.tolist() == [True] * 5 and sorted(state.later.tolist()) == [0, 1, 2, 3, 3]
    assert state.later[jnp.asarray([3, 0, 2])].tolist() == [2, 1, 0]


def test_simultaneous_requests_are_sent_to_different_idle_drives(unfold, recorded):
    """A drive leaves its I-queue when a request is sent to it, before its access starts. An access takes 1 ms."""
    system = System(RateServer(1e5), Replicas(3), JoinIdleQueue(), FCFS(), slots=4)
    _, reports = unfold(Scenario(system, recorded([0.0] * 3, sectors=100)))
    assert responses(reports) == pytest.approx({0: 1.0, 1: 1.0, 2: 1.0}, rel=1e-4)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: ShortestQueueWithMemory(0), "choices 0: give a whole number, between 1 and 32"),
        (lambda: ShortestQueueWithMemory(1, -1), "remembered queues -1"),
        (lambda: ShortestQueueWithMemory(1, 0.5), "remembered queues 0.5"),
        (lambda: JoinIdleQueue(0), "dispatchers 0"),
        (lambda: JoinIdleQueue(2, 33), "choices 33: give a whole number, between 1 and 32"),
        (
            lambda: System(SERVER, Replicas(3), JoinIdleQueue(4), FCFS()),
            "4 dispatchers of join-idle-queue for 3 drives: give at most one for each drive",
        ),
    ],
)
def test_impossible_settings_are_rejected(build, message):
    assert_refused(build, message)
