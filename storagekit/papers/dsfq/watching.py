"""Log of the requests that are served, that wait, and that coordinators send at each event of a run."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int

from storagekit.core.batching import bit_is_set, first_true
from storagekit.engine import NO_REQUEST, AbstractLog, Record, Report, Runner, Scenario, State, batches
from storagekit.engine.run import CHUNK
from storagekit.queue import AbstractCoordinators, AtRandom, FairQueue, InTurn
from storagekit.simulation import by_event
from storagekit.workload import Requests

# Chunks of events at a time, so that runs of any length share a compiled program.
STEP = 8


class Sent(NamedTuple):
    """The request that a coordinator sends in one event.

    stream: stream of the request, NO_REQUEST if the event sends no request. coordinator: number of the coordinator,
    counted within the stream. brick: brick of the request. cost: cost of the request, sectors.
    """

    stream: Int[Array, "1 *batch"]
    coordinator: Int[Array, "1 *batch"]
    brick: Int[Array, "1 *batch"]
    cost: Int[Array, "1 *batch"]


class RecordingCoordinators(AbstractCoordinators):
    """Coordinators that record the last request sent.

    A stream selects its coordinators at random where `random` is 1, and in turn elsewhere.

    Parameters
    ----------
    in_turn : InTurn
        The selection in turn.
    at_random : AtRandom
        The selection at random.
    random : array of int, shape `[1, *batch]`
        1 for a selection at random, 0 for a selection in turn.
    unit : int
        Number of sectors of a volume. Each brick has one volume.
    """

    in_turn: InTurn
    at_random: AtRandom
    random: Any
    unit: int

    @property
    def most(self):
        return self.in_turn.most

    def init(self, streams, runs):
        nothing = jnp.zeros((1, *runs), jnp.int32)
        return self.in_turn.init(streams, runs), Sent(nothing + NO_REQUEST, nothing, nothing, nothing)

    def choose(self, private, request: Requests, entering: Bool[Array, "1 *batch"], bricks: int):
        in_turn, state = self.in_turn.choose(private[0], request, entering, bricks)
        at_random, _ = self.at_random.choose(None, request, entering, bricks)
        chosen = jnp.where(self.random > 0, at_random, in_turn)
        stream = jnp.where(entering, request.stream, NO_REQUEST)
        return chosen, (state, Sent(stream, chosen, request.sector // self.unit, request.sectors))


class Watched(NamedTuple):
    """Log of the events of several runs: arrays `[event, row, run]` or, if there is only one row, `[event, run]`.

    elapsed: seconds since the previous event. entered: seconds from the previous event until a request entered; inf if no
    request entered. number, stream, brick, cost: the request that was served in the event: its number, its stream, its
    brick, and its length in sectors; the brick is NO_REQUEST if no request was served. waiting: for each brick and
    stream, number of requests that the brick has not issued after the event; rows are ordered by brick, then by stream.
    waited: for each brick, mask of the streams with waiting requests just after a request has entered. waits: the same
    masks after the event. outstanding: for each brick, number of issued requests that have not ended; None without a fair
    queue. sent: the request that a coordinator sent; None unless the fair queue has `RecordingCoordinators`.
    """

    elapsed: Any
    entered: Any
    number: Any
    stream: Any
    brick: Any
    cost: Any
    waiting: Any
    waited: Any
    waits: Any
    outstanding: Any
    sent: Sent | None


class Watch(AbstractLog):
    """Log of the events that a bound depends on, for systems with one drive in each brick."""

    def keep(self, scenario: Scenario, state: State, report: Report) -> Watched:
        drive, certain = first_true(report.served)
        queue = scenario.system.queue
        fair = isinstance(queue, FairQueue)
        return Watched(
            report.elapsed,
            jnp.where(report.admitted, report.entered, jnp.inf),
            report.number,
            report.stream,
            jnp.where(certain, drive, NO_REQUEST),
            report.sectors,
            waiting(scenario, state),
            report.waited,
            report.waits,
            state.queue.outstanding.astype(jnp.int8) if fair else None,
            state.queue.coordinator_state[1]
            if fair and isinstance(queue.coordinators, RecordingCoordinators)
            else None,
        )


def waiting(scenario: Scenario, state: State) -> Int[Array, "queue *batch"]:
    """Return the number of requests that wait in the queue of each brick, for each stream.

    Rows are ordered by brick, then by stream.

    Parameters
    ----------
    scenario : Scenario
        The system and its workload.
    state : State
        The state after an event.
    """
    system, slots = scenario.system, state.slots
    counts = []
    for brick in range(system.drives):
        number = jnp.full_like(state.taken, brick)
        there = bit_is_set(
            system.queue.queued(state.queue, slots.waiting, number), system.placement.part_on(number, slots.location)
        )
        for stream in range(scenario.arrivals.stream_count):
            counts.append(jnp.sum(there & (slots.stream == stream), axis=0, keepdims=True))
    return jnp.concatenate(counts).astype(jnp.int8)


def recording_coordinators(
    count: Int[np.ndarray, " n"], random: Int[np.ndarray, " n"], most: int, unit: int
) -> RecordingCoordinators:
    """Return coordinators that record the last request sent.

    Runs may differ in the number of coordinators and in their selection.

    Parameters
    ----------
    count : array of int, shape [n]
        Number of coordinators of each run.
    random : array of int, shape [n]
        1 for a selection at random, 0 for a selection in turn.
    most : int
        Number of coordinators for which memory is reserved.
    unit : int
        Number of sectors of the volume of each brick.
    """
    many: Any = count[None]
    return RecordingCoordinators(InTurn(many, most), AtRandom(many, most), np.asarray(random[None], np.int32), unit)


def watched(scenario: Scenario, key: np.ndarray, chunks: int) -> Iterator[tuple[slice, Watched]]:
    """Return, one batch after the other, the log of the first events of every run of a scenario.

    Parameters
    ----------
    scenario : Scenario
        A scenario with a batch of runs.
    key : array, shape [2, run]
        Random key of each run.
    chunks : int
        Number of chunks of events of each run.

    Returns
    -------
    iterator of (slice, Watched)
        For each batch, the positions of its runs in `key`, and the log of these runs.
    """
    first = 0
    for part, run_keys, used in batches(scenario, key):
        runner = Runner(part, run_keys, Record(log=Watch()))
        pieces = [jax.tree.map(by_event, runner.advance(STEP)[1]) for _ in range(0, chunks, STEP)]
        kept = jax.tree.map(lambda *parts, used=used: np.concatenate(parts)[: chunks * CHUNK, ..., :used], *pieces)
        yield slice(first, first + used), kept
        first += used
