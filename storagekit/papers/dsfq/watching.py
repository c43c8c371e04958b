"""What a bound is held against, kept of every event: who was served, how many wait where, and what each coordinator sent."""

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

# chunks of events at a time, so that runs of any length share a compilation
STEP = 8


class Sent(NamedTuple):
    """What a coordinator has just sent: for whom, through which of the stream's coordinators, where, at what cost in sectors.
    The stream is NOBODY where nothing was sent."""

    stream: Int[Array, "1 *batch"]
    coordinator: Int[Array, "1 *batch"]
    brick: Int[Array, "1 *batch"]
    cost: Int[Array, "1 *batch"]


class Noted(AbstractCoordinators):
    """Coordinators in turn, or where `random` is 1 at random, that note what they sent last. unit: sectors of a volume, of
    which each brick has one."""

    turn: InTurn
    chance: AtRandom
    random: Any
    unit: int

    @property
    def most(self):
        return self.turn.most

    def init(self, streams, lanes):
        nothing = jnp.zeros((1, *lanes), jnp.int32)
        return self.turn.init(streams, lanes), Sent(nothing + NO_REQUEST, nothing, nothing, nothing)

    def choose(self, private, request: Requests, entering: Bool[Array, "1 *batch"], bricks: int):
        in_turn, turn = self.turn.choose(private[0], request, entering, bricks)
        at_random, _ = self.chance.choose(None, request, entering, bricks)
        chosen = jnp.where(self.random > 0, at_random, in_turn)
        stream = jnp.where(entering, request.stream, NO_REQUEST)
        return chosen, (turn, Sent(stream, chosen, request.sector // self.unit, request.sectors))


class Watched(NamedTuple):
    """Events `[event, row, lane]`, without the axis of one row where there is one.

    elapsed: seconds since the event before; entered: of these until a request entered, inf where none did. number, stream,
    brick, cost: whose request was served where, the brick NOBODY where nobody was. waiting: requests of each stream that a
    brick has not handed over after the event, brick after brick. waited, waits: the streams that wait at each brick, one bit
    each, once the request has entered and after the event. at_work: those handed over that have not ended, by brick, and
    sent: None without a fair queue.
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
    at_work: Any
    sent: Sent | None


class Watch(AbstractLog):
    """Keeps what a bound is held against, of systems of one drive a brick."""

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
            state.queue.at_work.astype(jnp.int8) if fair else None,
            state.queue.turn[1] if fair and isinstance(queue.coordinators, Noted) else None,
        )


def waiting(scenario: Scenario, state: State) -> Int[Array, "place *batch"]:
    """How many requests of each stream each brick has not handed over, brick after brick."""
    system, slots = scenario.system, state.slots
    counts = []
    for brick in range(system.drives):
        number = jnp.full_like(state.taken, brick)
        there = bit_is_set(
            system.queue.queued(state.queue, slots.waiting, number), system.placement.part_on(number, slots.place)
        )
        for stream in range(scenario.arrivals.stream_count):
            counts.append(jnp.sum(there & (slots.stream == stream), axis=0, keepdims=True))
    return jnp.concatenate(counts).astype(jnp.int8)


def noted(count: Int[np.ndarray, " n"], random: Int[np.ndarray, " n"], most: int, unit: int) -> Noted:
    """So many coordinators in each lane, of `most` that are provided for."""
    many: Any = count[None]
    return Noted(InTurn(many, most), AtRandom(many, most), np.asarray(random[None], np.int32), unit)


def watched(scenario: Scenario, key: np.ndarray, chunks: int) -> Iterator[tuple[slice, Watched]]:
    """The first `chunks` chunks of events of a scenario of many lanes, batch after batch. key: `[2, lane]`."""
    first = 0
    for part, lane_keys, used in batches(scenario, key):
        runner = Runner(part, lane_keys, Record(log=Watch()))
        pieces = [jax.tree.map(by_event, runner.advance(STEP)[1]) for _ in range(0, chunks, STEP)]
        kept = jax.tree.map(lambda *parts, used=used: np.concatenate(parts)[: chunks * CHUNK, ..., :used], *pieces)
        yield slice(first, first + used), kept
        first += used
