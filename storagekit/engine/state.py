"""State of a run between two events. All times are seconds from now, so that they stay exact however long a run is."""

from typing import Any, NamedTuple, cast

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import DTypeLike
from jaxtyping import Array, Bool, Float, Int, Shaped, UInt32

from storagekit.arbitration import NoArbitration
from storagekit.component.events import CompletionRule, StateSizes
from storagekit.core.arrays import AnyArray
from storagekit.core.batching import WORD, bit, bit_is_set, row_index, union
from storagekit.drive import AbstractMechanics, Arm, Target
from storagekit.engine.system import Scenario, System
from storagekit.queue import Queued
from storagekit.workload import nothing_asked
from storagekit.workload.randomness import threefry

NO_REQUEST = -1


class Slots(NamedTuple):
    """Requests in the system.

    number: number of the request; NOBODY in a slot that was never used. place: its location. read: whether it is a read.
    receiving: part on the brick to which its client sent it. asynchronous: whether no client waits for it. stream, client,
    sectors: its stream, client and length; None where requests have no clients. born: its arrival time; in a free slot,
    since when it is free. sent: time at which it was last sent to the bricks. waiting: mask of the waiting parts. rule: when
    it completes. ended: number of counted parts that have ended; None where the completion time is known before
    (`answer.py`). latest: time at which the last counted part issued so far ends. answer: completion time, inf while
    unknown. answered: whether it has completed; with no waiting part the slot is free.
    """

    number: Int[Array, "slot *batch"]
    place: Any
    read: Bool[Array, "slot *batch"]
    asynchronous: Bool[Array, "slot *batch"]
    stream: Int[Array, "slot *batch"] | None
    client: Int[Array, "slot *batch"] | None
    sectors: Int[Array, "slot *batch"] | None
    receiving: Int[Array, "slot *batch"]
    arrival_time: Float[Array, "slot *batch"]
    sent: Float[Array, "slot *batch"]
    waiting: UInt32[Array, "slot *batch"]
    rule: CompletionRule
    ended: Int[Array, "slot *batch"] | None
    answer: Float[Array, "slot *batch"]
    answered: Bool[Array, "slot *batch"]
    latest: Float[Array, "slot *batch"]

    def elapse(self, time: Float[Array, "1 *batch"]) -> "Slots":
        return self._replace(
            arrival_time=self.arrival_time - time,
            sent=self.sent - time,
            answer=self.answer - time,
            latest=self.latest - time,
        )


class Plan(NamedTuple):
    """Access that a drive has chosen: seek, rotation and transfer in seconds, its end, and the position of the arm then.

    number, slot: its request; for a delayed copy `slot` has no meaning. replica: the replica of the part. stream, sectors:
    stream and length; None where requests have no clients.
    """

    seek: Float[Array, "drive *batch"]
    rotation: Float[Array, "drive *batch"]
    transfer: Float[Array, "drive *batch"]
    finish: Float[Array, "drive *batch"]
    end: Arm
    number: Int[Array, "drive *batch"]
    slot: Int[Array, "drive *batch"]
    replica: Int[Array, "drive *batch"]
    stream: Int[Array, "drive *batch"] | None
    sectors: Int[Array, "drive *batch"] | None


class Drives(NamedTuple):
    """The drives.

    wake: time at which it next chooses; inf if it sleeps. phase: angle of its platter, turns. free, arm: time at which the
    last final access ends, and the position of the arm then. plan: the access after it, which a better claim may still take
    away. planned: whether it has one. idle: whether it found nothing when it last chose. last: request of the last final
    access; None where it is not needed. buffer: state of its buffer.
    """

    wake: Float[Array, "drive *batch"]
    phase: Float[Array, "drive *batch"]
    free: Float[Array, "drive *batch"]
    arm: Arm
    plan: Plan
    planned: Bool[Array, "drive *batch"]
    idle: Bool[Array, "drive *batch"]
    last: Int[Array, "drive *batch"] | None
    buffer: Any


class State(NamedTuple):
    """State of a run.

    arrived: time at which the last request of an open stream arrived. gap: time from it to the next, stored separately so
    that a short gap after a long one keeps its precision. taken: requests admitted since the window of requests was drawn.
    arrivals and the following fields: private state of the arrivals and of the components named in `MEMBERS`.
    """

    slots: Slots
    drives: Drives
    arrived: Float[Array, "1 *batch"]
    gap: Float[Array, "1 *batch"]
    taken: Int[Array, "1 *batch"]
    arrivals: Any
    dispatch: Any
    claims: Any
    write: Any
    queue: Any
    schedule: Any
    cache: Any
    condition: Any


# components that receive the events of a request
MEMBERS = ("dispatch", "claims", "write", "queue", "schedule", "cache", "condition")


def tell(scenario: Scenario, state: State, heard: str, moment: Any) -> State:
    """Return the state after every component has received an event. heard: name of the hook, a method of `Member`."""
    told = {name: getattr(getattr(scenario.system, name), heard)(getattr(state, name), moment) for name in MEMBERS}
    return state._replace(**told)


def mechanics(scenario: Scenario, state: State, which: Int[Array, "*row"]) -> AbstractMechanics:
    """Return the mechanics of drive `which` (`[1, *batch]`, or one row for each drive), as its brick works at present."""
    system = scenario.system
    return system.condition.now(state.condition, system.drive.mechanics_of(which), system.brick_of(which))


def time_of(
    scenario: Scenario,
    as_now: AbstractMechanics,
    target: Target,
    read: Bool[Array, "*#row"],
    drive: Int[Array, "*#row"],
) -> Float[Array, "*#row"]:
    """Return the time of an access of `drive` after its positioning, seconds."""
    system = scenario.system
    return as_now.transfer(target) + jnp.where(read, 0.0, system.write.sweep(system.placement, as_now, drive))


def hand_over(
    scenario: Scenario,
    state: State,
    acts: Bool[Array, "drive *batch"],
    busy: Bool[Array, "drive *batch"],
    which: Int[Array, "1 *batch"] | None = None,
) -> State:
    """Return the state after the bricks of the drives in `acts` have issued parts to their drives.

    busy: mask of the busy drives. which: the drive that has fallen free; None when parts have arrived.
    """
    system, slots, drives = scenario.system, state.slots, state.drives
    if not system.queue.holds_back:
        return state
    brick = system.brick_of(row_index(system.drives, drives.wake))
    same = brick[:, None] == brick[None]
    acts = jnp.any(same & acts[None], axis=1)
    queued = Queued(slots.waiting, slots.place, slots.sent, busy, brick, acts, which, system.placement)
    queue, given = system.queue.hand(state.queue, queued)
    wake = jnp.where(given & drives.idle, jnp.minimum(drives.wake, 0.0), drives.wake)
    return state._replace(
        queue=queue,
        # other drives of the brick may have work now
        drives=drives._replace(wake=wake) if system.bricks.most > 1 else drives,
    )


def queued_streams(scenario: Scenario, state: State) -> UInt32[Array, "brick *batch"] | None:
    """Return for each brick a mask of the streams with parts that are not issued; None where there are no streams."""
    system, slots = scenario.system, state.slots
    if slots.stream is None:
        return None
    placement, streams = system.placement, min(scenario.arrivals.stream_count, WORD)
    # A word holds the streams of several bricks side by side, so that few words are combined over all slots.
    each = WORD // streams
    words = [jnp.zeros_like(slots.waiting)] * -(-system.bricks.count // each)
    # by part and not by drive: a node may have many drives, and a request few parts
    for number in range(placement.most_parts or system.drives):
        part = jnp.full_like(slots.stream, number)
        brick = system.brick_of(placement.drive_of(part, slots.place))
        queued = bit_is_set(system.queue.queued(state.queue, slots.waiting, brick), part) & (slots.stream < streams)
        mark = jnp.where(queued, bit(slots.stream + brick % each * streams), jnp.uint32(0))
        words = [word | jnp.where(brick // each == index, mark, jnp.uint32(0)) for index, word in enumerate(words)]
    shift = row_index(each, state.taken).astype(jnp.uint32) * np.uint32(streams)
    found = [jnp.right_shift(union(word), shift) & np.uint32(2**streams - 1) for word in words]
    return jnp.concatenate(found)[: system.bricks.count]


def start(scenario: Scenario, phase: Float[Array, "drive *batch"], key: UInt32[Array, "2 *batch"]) -> State:
    """Return the state before the first event: arms at cylinder 0, platters at `phase`, all drives asleep. key: of each run.

    In a closed loop the first `outstanding` slots hold requests that complete now, each of which leads to a new request.
    """
    system = scenario.system
    lanes = phase.shape[1:]
    # the placement defines the structure of a location
    place = system.placement.locate(system.drive, nothing_asked(lanes))
    bricks, parts = system.bricks.count, system.placement.most_parts or system.drives
    sizes = StateSizes(
        system.slots, system.drives, lanes, system.condition.stops, place, system.placement, bricks, parts
    )
    return State(
        slots=_empty_slots(scenario, phase, place),
        drives=_sleeping_drives(scenario, phase),
        arrived=jnp.full((1, *lanes), scenario.arrivals.first_arrival, jnp.float32),
        gap=jnp.zeros((1, *lanes), jnp.float32),
        taken=jnp.zeros((1, *lanes), jnp.int32),
        arrivals=scenario.arrivals.init(key),
        **{name: getattr(system, name).init(sizes) for name in MEMBERS},
    )


def _empty_slots(scenario: Scenario, phase: Float[Array, "drive *batch"], somewhere: Any) -> Slots:
    system = scenario.system

    def slot(value: float, kind: DTypeLike = jnp.float32) -> Shaped[Array, "slot *batch"]:
        return jnp.full((system.slots, *phase.shape[1:]), value, kind)

    opening = scenario.arrivals.at_start(row_index(system.slots, phase))
    told_apart = scenario.arrivals.told_apart
    return Slots(
        number=slot(NO_REQUEST, jnp.int32),
        place=jax.tree.map(lambda leaf: slot(0, leaf.dtype), somewhere),
        read=slot(True, bool),
        asynchronous=slot(False, bool),
        stream=slot(0, jnp.int32) if told_apart else None,
        client=slot(0, jnp.int32) if told_apart else None,
        sectors=slot(0, jnp.int32) if told_apart else None,
        receiving=slot(0, jnp.int32),
        arrival_time=slot(0),
        sent=slot(0),
        waiting=slot(0, jnp.uint32),
        rule=CompletionRule(slot(0, jnp.uint32), slot(0, jnp.int32)),
        ended=slot(0, jnp.int32) if system.placement.needs_several else None,
        answer=jnp.where(opening, slot(0), slot(jnp.inf)),
        answered=~opening & slot(True, bool),
        latest=slot(0),
    )


def _sleeping_drives(scenario: Scenario, phase: Float[Array, "drive *batch"]) -> Drives:
    def drive(value: float, kind: DTypeLike = jnp.float32) -> Shaped[Array, "drive *batch"]:
        return jnp.full(phase.shape, value, kind)

    time, nothing = drive(0), drive(0, jnp.int32)
    arm = Arm(nothing, nothing)
    several, claims = scenario.system.placement.needs_several, scenario.system.claims
    whose = nothing if scenario.arrivals.told_apart else None
    return Drives(
        wake=drive(jnp.inf),
        phase=phase,
        free=time,
        arm=arm,
        plan=Plan(time, time, time, time, arm, drive(NO_REQUEST, jnp.int32), nothing, nothing, whose, whose),
        planned=drive(False, bool),
        idle=drive(True, bool),
        last=drive(NO_REQUEST, jnp.int32) if several and not isinstance(claims, NoArbitration) else None,
        buffer=scenario.system.drive.buffer.init(phase.shape[0], phase.shape[1:]),
    )


def phases(drawn: Float[AnyArray, "drive *batch"], system: System) -> Float[Array, "drive *batch"]:
    """Return the angles of the platters at the start: as `drawn`, or all as the first if spindles are synchronized."""
    return jnp.where(system.synchronized, drawn[:1], drawn)


def random_phases(
    key: UInt32[AnyArray, "2 *batch"] | UInt32[np.ndarray, "2 *batch"], drives: int
) -> Float[AnyArray, "drive *batch"]:
    """Return a random angle for each drive of each run, key `[2, *batch]`.

    The angle of a drive does not depend on the number of drives. The numbers are those of `jax.random.uniform`; for a NumPy
    key they are drawn by NumPy, because a program for them would take longer to compile.
    """
    counter = np.arange(drives, dtype=np.uint32).reshape(drives, *(1,) * (key.ndim - 1))
    one, other = threefry(cast(Array, key), cast(Array, np.zeros_like(counter)), cast(Array, counter))
    # the upper 23 bits behind the binary point of a number in [1, 2)
    drawn = ((one ^ other) >> 9 | np.float32(1).view(np.uint32)).view(np.float32) - np.float32(1)
    return cast(Array, drawn)
