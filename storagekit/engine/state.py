"""State of a run between two events. All times are seconds from now, so that they stay exact in a run of any length."""

from typing import Any, NamedTuple, cast

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import DTypeLike
from jaxtyping import Array, Bool, Float, Int, Shaped, UInt32

from storagekit.component.events import CompletionRule, StateSizes
from storagekit.core.arrays import AnyArray
from storagekit.core.batching import WORD, bit, bit_is_set, pick, row_index, union
from storagekit.core.packed import Packed, packed
from storagekit.drive import AbstractMechanics, Arm, Target
from storagekit.engine.system import Scenario, System
from storagekit.queue import Queued
from storagekit.workload import empty_request
from storagekit.workload.randomness import threefry

NO_REQUEST = -1


class RequestFields(NamedTuple):
    """Fields of a request that do not change while the request is in a slot.

    Parameters
    ----------
    number : array of int32, shape `[slot, *batch]`
        Number of the request; NO_REQUEST in a slot that was never used.
    location : pytree of arrays, shape `[slot, *batch]`
        Location of the request.
    read, asynchronous : array of bool, shape `[slot, *batch]`
        Whether the request is a read, and whether it is asynchronous: no client waits for its completion.
    stream, client, sectors : array of int32, shape `[slot, *batch]`, or None
        Stream, client and length in sectors; None if requests have no clients.
    """

    number: Int[Array, "slot *batch"]
    location: Any
    read: Bool[Array, "slot *batch"]
    asynchronous: Bool[Array, "slot *batch"]
    stream: Int[Array, "slot *batch"] | None
    client: Int[Array, "slot *batch"] | None
    sectors: Int[Array, "slot *batch"] | None


class Slots(NamedTuple):
    """Requests in the system, one in each slot. The fields of `RequestFields` are properties.

    Parameters
    ----------
    fields : Packed
        The fields of `RequestFields`.
    receiving : array of int32, shape `[slot, *batch]`
        Part on the brick to which the client sent the request.
    arrival_time : array of float32, shape `[slot, *batch]`
        Arrival time; in a free slot, the time since which the slot is free.
    sent : array of float32, shape `[slot, *batch]`
        Time at which the request was last sent to the bricks. For a write that first reads parts: the end of these reads.
    waiting : array of uint32, shape `[slot, *batch]`
        Mask of the waiting parts.
    rule : CompletionRule
        Condition under which the request completes.
    ended : array of int32, shape `[slot, *batch]`, or None
        Number of counted parts that have ended; None if completion times are known in advance (see `completion.py`).
    completion : array of float32, shape `[slot, *batch]`
        Completion time, inf while unknown.
    completed : array of bool, shape `[slot, *batch]`
        Whether the request has completed. The slot is free if, in addition, no part waits.
    latest : array of float32, shape `[slot, *batch]`
        Latest end of the counted parts that drives have chosen so far or, while `reads_first` is true, of the parts that
        are read first.
    reads_first : array of bool, shape `[slot, *batch]`, or None
        Whether the request is a write that has not yet read the parts that it needs; None if writes never read.
    """

    fields: Packed
    receiving: Int[Array, "slot *batch"]
    arrival_time: Float[Array, "slot *batch"]
    sent: Float[Array, "slot *batch"]
    waiting: UInt32[Array, "slot *batch"]
    rule: CompletionRule
    ended: Int[Array, "slot *batch"] | None
    completion: Float[Array, "slot *batch"]
    completed: Bool[Array, "slot *batch"]
    latest: Float[Array, "slot *batch"]
    reads_first: Bool[Array, "slot *batch"] | None

    def _field(self, name: str) -> Any:
        return jax.tree.map(lambda array: array[0], self.fields.field(name))

    @property
    def number(self) -> Int[AnyArray, "slot *batch"]:
        """Return the number of each request."""
        return self._field("number")

    @property
    def location(self) -> Any:
        """Return the location of each request."""
        return self._field("location")

    @property
    def read(self) -> Bool[AnyArray, "slot *batch"]:
        """Return whether each request is a read."""
        return self._field("read")

    @property
    def asynchronous(self) -> Bool[AnyArray, "slot *batch"]:
        """Return whether each request is asynchronous."""
        return self._field("asynchronous")

    @property
    def stream(self) -> Int[AnyArray, "slot *batch"] | None:
        """Return the stream of each request; None if requests have no clients."""
        return self._field("stream")

    @property
    def client(self) -> Int[AnyArray, "slot *batch"] | None:
        """Return the client of each request; None if requests have no clients."""
        return self._field("client")

    @property
    def sectors(self) -> Int[AnyArray, "slot *batch"] | None:
        """Return the length of each request in sectors; None if requests have no clients."""
        return self._field("sectors")

    @property
    def reads_now(self) -> Bool[AnyArray, "slot *batch"]:
        """Return whether the waiting parts of each request are read."""
        return self.read if self.reads_first is None else self.read | self.reads_first

    def elapse(self, time: Float[Array, "1 *batch"]) -> "Slots":
        return self._replace(
            arrival_time=self.arrival_time - time,
            sent=self.sent - time,
            completion=self.completion - time,
            latest=self.latest - time,
        )


class Plan(NamedTuple):
    """Access that a drive has chosen.

    Parameters
    ----------
    seek, rotation, transfer : array of float32, shape `[drive, *batch]`
        Components of the access time, seconds.
    finish : array of float32, shape `[drive, *batch]`
        Time at which the access ends.
    end : Arm
        Position of the arm at the end of the access.
    number, slot : array of int32, shape `[drive, *batch]`
        Number and slot of the request of the access; for a delayed copy `slot` has no meaning.
    replica : array of int32, shape `[drive, *batch]`
        Replica that the access reads or writes.
    stream, sectors : array of int32, shape `[drive, *batch]`, or None
        Stream of the access, and its length in sectors; None if requests have no clients.
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
    """State of the drives.

    Parameters
    ----------
    wake : array of float32, shape `[drive, *batch]`
        Time at which the drive next chooses a part; inf if it waits for an event.
    phase : array of float32, shape `[drive, *batch]`
        Angle of the platter, revolutions.
    free : array of float32, shape `[drive, *batch]`
        Time at which the last final access ends.
    arm : Arm
        Position of the arm at the time `free`.
    plan : Plan
        The next access of each drive. A better claim may still take the access away from the drive.
    planned : array of bool, shape `[drive, *batch]`
        Whether the drive has planned its next access.
    idle : array of bool, shape `[drive, *batch]`
        Whether the drive found no part when it last tried to choose a part.
    last : array of int32, shape `[drive, *batch]`, or None
        Number of the request of the last final access; None if no component needs it.
    buffer : pytree of arrays
        State of the buffer of each drive.
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

    Parameters
    ----------
    slots : Slots
        The requests in the system.
    drives : Drives
        The drives.
    arrived : array of float32, shape `[1, *batch]`
        Time at which the last request of an open stream arrived.
    gap : array of float32, shape `[1, *batch]`
        Time in seconds from that arrival to the next arrival. It is stored separately, so that a short gap after a long
        gap keeps its precision.
    taken : array of int32, shape `[1, *batch]`
        Number of requests admitted since the requests of the present chunk were drawn.
    arrivals : pytree of arrays
        Private state of the arrivals.
    dispatch, arbitration, write, queue, schedule, cache, faults : pytree of arrays
        Private state of the components named in `COMPONENTS`.
    """

    slots: Slots
    drives: Drives
    arrived: Float[Array, "1 *batch"]
    gap: Float[Array, "1 *batch"]
    taken: Int[Array, "1 *batch"]
    arrivals: Any
    dispatch: Any
    arbitration: Any
    write: Any
    queue: Any
    schedule: Any
    cache: Any
    faults: Any


# components that receive the events of a request
COMPONENTS = ("dispatch", "arbitration", "write", "queue", "schedule", "cache", "faults")


def notify(scenario: Scenario, state: State, hook: str, event: Any) -> State:
    """Return the state after every component has received an event.

    Parameters
    ----------
    scenario : Scenario
        The scenario.
    state : State
        The state before.
    hook : str
        Name of the hook, a method of `Component`.
    event : NamedTuple
        The event, see `component.events`.

    Returns
    -------
    State
        The state with the new private states of the components.
    """
    found = {name: getattr(getattr(scenario.system, name), hook)(getattr(state, name), event) for name in COMPONENTS}
    return state._replace(**found)


def mechanics(scenario: Scenario, state: State, drive: Int[Array, "*row"]) -> AbstractMechanics:
    """Return the mechanics of drives at the present speed of their bricks.

    Parameters
    ----------
    scenario : Scenario
        The scenario.
    state : State
        The state.
    drive : array of int32, shape `[1, *batch]`, or one row for each drive
        Numbers of the drives.

    Returns
    -------
    AbstractMechanics
        The mechanics.
    """
    system = scenario.system
    return system.faults.now(state.faults, system.drive.mechanics_of(drive), system.brick_of(drive))


def time_of(
    scenario: Scenario,
    as_now: AbstractMechanics,
    target: Target,
    read: Bool[Array, "*#row"],
    drive: Int[Array, "*#row"],
) -> Float[Array, "*#row"]:
    """Return the duration of an access after its positioning.

    It consists of the transfer and, for a write, the additional time for other replicas or for parity.

    Parameters
    ----------
    scenario : Scenario
        The scenario.
    as_now : AbstractMechanics
        Mechanics of the drive at its present speed.
    target : Target
        Location of the data.
    read : array of bool, shape `[*row]`
        Whether the access is a read.
    drive : array of int32, shape `[*row]`
        Number of the drive.

    Returns
    -------
    array of float32, shape `[*row]`
        The time, seconds.
    """
    system = scenario.system
    return as_now.transfer(target) + jnp.where(read, 0.0, system.write.sweep(system.placement, as_now, drive))


def issue(
    scenario: Scenario,
    state: State,
    acts: Bool[Array, "drive *batch"],
    busy: Bool[Array, "drive *batch"],
    drive: Int[Array, "1 *batch"] | None = None,
    when: Float[Array, "1 *batch"] | float = 0.0,
) -> State:
    """Return the state after bricks have issued parts to their drives.

    Parameters
    ----------
    scenario : Scenario
        The scenario.
    state : State
        The state before.
    acts : array of bool, shape `[drive, *batch]`
        Mask of drives whose bricks issue parts.
    busy : array of bool, shape `[drive, *batch]`
        Mask of the busy drives.
    drive : array of int32, shape `[1, *batch]`, optional
        Drive that has become free, or a drive of a brick whose queue issues a part at this time; None if bricks issue
        parts because a request has arrived.
    when : array of float32, shape `[1, *batch]`, optional
        Time at which the bricks issue the parts, seconds from now, at least 0. An idle drive then starts its part.

    Returns
    -------
    State
        The state after.
    """
    system, slots, drives = scenario.system, state.slots, state.drives
    if not system.queue.holds_back:
        return state
    brick = system.brick_of(row_index(system.drives, drives.wake))
    same = brick[:, None] == brick[None]
    acts = jnp.any(same & acts[None], axis=1)
    queued = Queued(slots.waiting, slots.location, slots.sent, busy, brick, acts, drive, system.placement)
    queue, received = system.queue.issue(state.queue, queued)
    wake = jnp.where(received & drives.idle, jnp.minimum(drives.wake, when), drives.wake)
    return state._replace(
        queue=queue,
        # a part may be issued to a drive that has not become free now
        drives=drives._replace(wake=wake) if system.bricks.most > 1 or system.queue.issues_by_time else drives,
    )


def next_times(scenario: Scenario, state: State) -> Float[Array, "drive *batch"]:
    """Return the time at which each drive next chooses a part, or at which the queue of its brick next issues a part.

    Parameters
    ----------
    scenario : Scenario
        The scenario.
    state : State
        The state.

    Returns
    -------
    array of float32, shape `[drive, *batch]`
        The times, seconds from now; inf for a drive that waits for an event.
    """
    wake, queue = state.drives.wake, scenario.system.queue
    if not queue.issues_by_time:
        return wake
    brick = jnp.broadcast_to(scenario.system.brick_of(row_index(scenario.system.drives, wake)), wake.shape)
    return jnp.minimum(wake, jnp.maximum(pick(queue.next_issue(state.queue), brick), 0.0))


def queued_streams(scenario: Scenario, state: State) -> UInt32[Array, "brick *batch"] | None:
    """Return, for each brick, a mask of the streams with parts that the brick has not issued.

    Parameters
    ----------
    scenario : Scenario
        The scenario.
    state : State
        The state.

    Returns
    -------
    array of uint32, shape `[brick, *batch]`, or None
        A bit for each stream; None if requests have no streams.
    """
    system, slots = scenario.system, state.slots
    if slots.stream is None:
        return None
    placement, streams = system.placement, min(scenario.arrivals.stream_count, WORD)
    # One uint32 holds the streams of several bricks side by side, so that few arrays are combined over all slots.
    each = WORD // streams
    words = [jnp.zeros_like(slots.waiting)] * -(-system.bricks.count // each)
    # the loop is over parts and not over drives, because a brick may have many drives, and a request few parts
    for number in range(placement.most_parts or system.drives):
        part = jnp.full_like(slots.stream, number)
        brick = system.brick_of(placement.drive_of(part, slots.location))
        queued = bit_is_set(system.queue.queued(state.queue, slots.waiting, brick), part) & (slots.stream < streams)
        mark = jnp.where(queued, bit(slots.stream + brick % each * streams), jnp.uint32(0))
        words = [word | jnp.where(brick // each == index, mark, jnp.uint32(0)) for index, word in enumerate(words)]
    shift = row_index(each, state.taken).astype(jnp.uint32) * np.uint32(streams)
    found = [jnp.right_shift(union(word), shift) & np.uint32(2**streams - 1) for word in words]
    return jnp.concatenate(found)[: system.bricks.count]


def start(scenario: Scenario, phase: Float[Array, "drive *batch"], key: UInt32[Array, "2 *batch"]) -> State:
    """Return the state before the first event: arms at cylinder 0, and all drives idle.

    In a closed loop, the first `outstanding` slots contain requests that complete at the start. Each completion leads
    to a new request.

    Parameters
    ----------
    scenario : Scenario
        The scenario.
    phase : array of float32, shape `[drive, *batch]`
        Angles of the platters, revolutions.
    key : array of uint32, shape `[2, *batch]`
        Keys of the runs.

    Returns
    -------
    State
        The state.
    """
    system = scenario.system
    batch = phase.shape[1:]
    # the placement defines the structure of a location
    location = system.placement.locate(system.drive, empty_request(batch))
    bricks, parts = system.bricks.count, system.placement.most_parts or system.drives
    sizes = StateSizes(
        system.slots, system.drives, batch, system.faults.stops, location, system.placement, bricks, parts
    )
    return State(
        slots=_empty_slots(scenario, phase, location),
        drives=_sleeping_drives(scenario, phase),
        arrived=jnp.full((1, *batch), scenario.arrivals.first_arrival, jnp.float32),
        gap=jnp.zeros((1, *batch), jnp.float32),
        taken=jnp.zeros((1, *batch), jnp.int32),
        arrivals=scenario.arrivals.init(key),
        **{name: getattr(system, name).init(sizes) for name in COMPONENTS},
    )


def _empty_slots(scenario: Scenario, phase: Float[Array, "drive *batch"], somewhere: Any) -> Slots:
    system = scenario.system

    def slot(value: float, kind: DTypeLike = jnp.float32) -> Shaped[Array, "slot *batch"]:
        return jnp.full((system.slots, *phase.shape[1:]), value, kind)

    opening = scenario.arrivals.at_start(row_index(system.slots, phase))
    stores_streams = scenario.arrivals.stores_streams
    fields = RequestFields(
        number=slot(NO_REQUEST, jnp.int32),
        location=jax.tree.map(lambda leaf: slot(0, leaf.dtype), somewhere),
        read=slot(True, bool),
        asynchronous=slot(False, bool),
        stream=slot(0, jnp.int32) if stores_streams else None,
        client=slot(0, jnp.int32) if stores_streams else None,
        sectors=slot(0, jnp.int32) if stores_streams else None,
    )
    return Slots(
        fields=packed(jax.tree.map(lambda array: array[None], fields)),
        receiving=slot(0, jnp.int32),
        arrival_time=slot(0),
        sent=slot(0),
        waiting=slot(0, jnp.uint32),
        rule=CompletionRule(slot(0, jnp.uint32), slot(0, jnp.int32)),
        ended=slot(0, jnp.int32) if system.placement.needs_several else None,
        completion=jnp.where(opening, slot(0), slot(jnp.inf)),
        completed=~opening & slot(True, bool),
        latest=slot(0),
        reads_first=slot(False, bool) if system.placement.reads_before_writes else None,
    )


def _sleeping_drives(scenario: Scenario, phase: Float[Array, "drive *batch"]) -> Drives:
    def drive(value: float, kind: DTypeLike = jnp.float32) -> Shaped[Array, "drive *batch"]:
        return jnp.full(phase.shape, value, kind)

    time, nothing = drive(0), drive(0, jnp.int32)
    arm = Arm(nothing, nothing)
    several, arbitration = scenario.system.placement.needs_several, scenario.system.arbitration
    whose = nothing if scenario.arrivals.stores_streams else None
    return Drives(
        wake=drive(jnp.inf),
        phase=phase,
        free=time,
        arm=arm,
        plan=Plan(time, time, time, time, arm, drive(NO_REQUEST, jnp.int32), nothing, nothing, whose, whose),
        planned=drive(False, bool),
        idle=drive(True, bool),
        last=drive(NO_REQUEST, jnp.int32) if several and arbitration.competes else None,
        buffer=scenario.system.drive.buffer.init(phase.shape[0], phase.shape[1:]),
    )


def phases(drawn: Float[AnyArray, "drive *batch"], system: System) -> Float[Array, "drive *batch"]:
    """Return the angles of the platters at the start.

    Parameters
    ----------
    drawn : array of float32, shape `[drive, *batch]`
        Random angles, revolutions.
    system : System
        The system.

    Returns
    -------
    array of float32, shape `[drive, *batch]`
        The random angles. If the spindles are synchronized, all drives have the angle of the first drive.
    """
    return jnp.where(system.synchronized, drawn[:1], drawn)


def random_phases(
    key: UInt32[AnyArray, "2 *batch"] | UInt32[np.ndarray, "2 *batch"], drives: int
) -> Float[AnyArray, "drive *batch"]:
    """Return a random angle for each drive of each run.

    The angle of a drive does not depend on the number of drives. The angles equal the values of `jax.random.uniform`.
    If `key` is a NumPy array, NumPy computes the angles, because this is faster than the compilation of a program.

    Parameters
    ----------
    key : array of uint32, shape `[2, *batch]`
        Keys of the runs.
    drives : int
        Number of drives.

    Returns
    -------
    array of float32, shape `[drive, *batch]`
        Angles, revolutions, at least 0 and below 1.
    """
    counter = np.arange(drives, dtype=np.uint32).reshape(drives, *(1,) * (key.ndim - 1))
    one, other = threefry(cast(Array, key), cast(Array, np.zeros_like(counter)), cast(Array, counter))
    # the upper 23 bits become the fraction of a number in [1, 2)
    drawn = ((one ^ other) >> 9 | np.float32(1).view(np.uint32)).view(np.float32) - np.float32(1)
    return cast(Array, drawn)
