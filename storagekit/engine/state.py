"""What the next event needs to know. All times are seconds from now, so that they stay exact however long a run is."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.typing import DTypeLike
from jaxtyping import Array, Bool, Float, Int, Shaped, UInt32

from storagekit.arrays import AnyArray
from storagekit.drive import Arm, Target
from storagekit.engine.system import Scenario, System
from storagekit.lanes import rows

NOBODY = -1


class Slots(NamedTuple):
    """Requests in the system.

    number: which request; NOBODY in a slot that was never used. target, home: where it lies, see `placement.Location`.
    receiving: the copy on the brick that its client sent it to. asynchronous: nobody waits for its answer.
    born: when it arrived; of a slot that is free, since when it is. sent: when it was sent to the bricks last. waiting: the
    copies at whose drives it waits, one bit each. answer: when it is answered, inf while not known. answered: its answer has
    been given; with nothing waiting, the slot is free. latest: when the last of its copies issued so far ends.
    """

    number: Int[Array, "slot *lanes"]
    target: Target
    home: Int[Array, "slot *lanes"]
    read: Bool[Array, "slot *lanes"]
    asynchronous: Bool[Array, "slot *lanes"]
    receiving: Int[Array, "slot *lanes"]
    born: Float[Array, "slot *lanes"]
    sent: Float[Array, "slot *lanes"]
    waiting: UInt32[Array, "slot *lanes"]
    answer: Float[Array, "slot *lanes"]
    answered: Bool[Array, "slot *lanes"]
    latest: Float[Array, "slot *lanes"]

    def elapse(self, time: Float[Array, "1 *lanes"]) -> "Slots":
        return self._replace(
            born=self.born - time, sent=self.sent - time, answer=self.answer - time, latest=self.latest - time
        )


class Plan(NamedTuple):
    """The access that a drive has chosen: its parts in seconds, when it ends, and where it leaves the arm.

    number, slot: whose it is. replica: which one it goes to.
    """

    seek: Float[Array, "drive *lanes"]
    rotation: Float[Array, "drive *lanes"]
    transfer: Float[Array, "drive *lanes"]
    finish: Float[Array, "drive *lanes"]
    end: Arm
    number: Int[Array, "drive *lanes"]
    slot: Int[Array, "drive *lanes"]
    replica: Int[Array, "drive *lanes"]


class Drives(NamedTuple):
    """The drives.

    wake: when it next chooses; inf asleep. idle: it found nothing to do when it last chose.
    phase: where its platter stands now, in turns.
    free, arm: when and where the last access that is certain to happen ends. plan: the one chosen after it, which a better
    claim may still take away. planned: it has one.
    """

    wake: Float[Array, "drive *lanes"]
    phase: Float[Array, "drive *lanes"]
    free: Float[Array, "drive *lanes"]
    arm: Arm
    plan: Plan
    planned: Bool[Array, "drive *lanes"]
    idle: Bool[Array, "drive *lanes"]


class State(NamedTuple):
    """Everything.

    arrived: when the last request of an open stream arrived; gap: the seconds from it to the next, kept apart so that a
    short gap after a long one is not rounded away. taken: requests admitted since the window of requests was drawn.
    dispatch, schedule, propagation, cache, condition: private to them.
    """

    slots: Slots
    drives: Drives
    arrived: Float[Array, "1 *lanes"]
    gap: Float[Array, "1 *lanes"]
    taken: Int[Array, "1 *lanes"]
    dispatch: Any
    schedule: Any
    propagation: Any
    cache: Any
    condition: Any


def start(scenario: Scenario, phase: Float[Array, "drive *lanes"]) -> State:
    """The state before the first event: arms at cylinder 0, platters at `phase`, everybody asleep.

    In a closed loop the first `outstanding` slots hold answers due now, each of which brings a request.
    """
    system = scenario.system
    lanes = phase.shape[1:]
    return State(
        slots=_empty_slots(scenario, phase),
        drives=_sleeping_drives(phase),
        arrived=jnp.full((1, *lanes), scenario.arrivals.first_arrival, jnp.float32),
        gap=jnp.zeros((1, *lanes), jnp.float32),
        taken=jnp.zeros((1, *lanes), jnp.int32),
        dispatch=system.dispatch.init(system.slots, system.drives, lanes),
        schedule=system.schedule.init(system.drives, lanes),
        propagation=system.propagation.init(system.slots, lanes),
        cache=system.cache.init(system.slots, lanes),
        condition=system.condition.init(system.drives, lanes),
    )


def _empty_slots(scenario: Scenario, phase: Float[Array, "drive *lanes"]) -> Slots:
    system = scenario.system

    def slot(value: float, kind: DTypeLike = jnp.float32) -> Shaped[Array, "slot *lanes"]:
        return jnp.full((system.slots, *phase.shape[1:]), value, kind)

    opening = scenario.arrivals.at_start(rows(system.slots, phase))
    # what a target consists of, the drive knows
    first = jnp.zeros((1, *phase.shape[1:]), jnp.int32)
    somewhere = system.drive.locate(first, first + 1)
    return Slots(
        number=slot(NOBODY, jnp.int32),
        target=jax.tree.map(lambda leaf: slot(0, leaf.dtype), somewhere),
        home=slot(0, jnp.int32),
        read=slot(True, bool),
        asynchronous=slot(False, bool),
        receiving=slot(0, jnp.int32),
        born=slot(0),
        sent=slot(0),
        waiting=slot(0, jnp.uint32),
        answer=jnp.where(opening, slot(0), slot(jnp.inf)),
        answered=~opening & slot(True, bool),
        latest=slot(0),
    )


def _sleeping_drives(phase: Float[Array, "drive *lanes"]) -> Drives:
    def drive(value: float, kind: DTypeLike = jnp.float32) -> Shaped[Array, "drive *lanes"]:
        return jnp.full(phase.shape, value, kind)

    time, nothing = drive(0), drive(0, jnp.int32)
    arm = Arm(nothing, nothing)
    return Drives(
        wake=drive(jnp.inf),
        phase=phase,
        free=time,
        arm=arm,
        plan=Plan(time, time, time, time, arm, drive(NOBODY, jnp.int32), nothing, nothing),
        planned=drive(False, bool),
        idle=drive(True, bool),
    )


def phases(key: UInt32[AnyArray, "2 *lanes"], system: System) -> Float[Array, "drive *lanes"]:
    """A random phase for every drive of every lane, key `[2, *lanes]`; the same for all where spindles are synchronized.

    That of a drive does not depend on how many there are, so that idle ones may be added.
    """

    def one_lane(data: UInt32[AnyArray, "2"]) -> Float[Array, "drive"]:
        return jax.random.uniform(jax.random.wrap_key_data(data), (system.drives,), jnp.float32)

    draw = one_lane
    for _ in range(key.ndim - 1):
        draw = jax.vmap(draw, in_axes=-1, out_axes=-1)
    with jax.threefry_partitionable(True):
        drawn = draw(key)
    return jnp.where(system.synchronized, drawn[:1], drawn)
