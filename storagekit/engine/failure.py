"""A brick stops: what it was doing is lost, and clients send again what nobody else is serving (dsptf, section 3)."""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, UInt32

from storagekit.engine.completion import Underway
from storagekit.engine.state import NOBODY, Drives, State
from storagekit.engine.system import Scenario
from storagekit.lanes import INSTANT, bit, count, first_true, held, index_of, mask_of, pick, rows


def fail(scenario: Scenario, state: State, when: Float[Array, "1 *lanes"]) -> tuple[State, Int[Array, "1 *lanes"]]:
    """Bricks whose condition says so stop, one in an event, and those that are back are there to be woken.

    A read that the brick had claimed, that waited nowhere else, or that was to be answered with one of these, is sent again
    to the others when its client's time-out is over. A write is answered without the copies of the brick, which are not made
    good when it is back. An access that is as good as over, because its brick has chosen the next, counts as done.
    when: seconds from now until the request entered with whose arrival they stop or are back. Returns the state, and how
    many reads are lost.
    """
    system, slots, drives = scenario.system, state.slots, state.drives
    if not system.condition.stops:
        return state, jnp.zeros_like(state.taken)
    stopped = system.condition.stopped(state.condition)
    before = state.condition.down
    which, fails = first_true(stopped & ~before)
    now = jnp.maximum(when, 0.0)
    brick = (rows(system.drives, drives.wake) == which) & fails
    down = (before & stopped) | brick
    copy = system.placement.copy_on(which, slots.home)
    waiting = jnp.where(fails, slots.waiting & ~bit(copy), slots.waiting)
    alive = _alive(scenario, state, down)
    receiving = jnp.where(fails & ~held(alive, slots.receiving), index_of(alive), slots.receiving)
    others = _underway(scenario, state, receiving, ~down)
    aborted, fetching = _aborted(scenario, state, which, brick, others)

    there = fails & ~slots.answered & (slots.number != NOBODY)
    answer = jnp.where(aborted & there, jnp.where(slots.read, others.soonest, jnp.inf), slots.answer)
    latest = jnp.where(aborted & there, others.latest, slots.latest)
    unserved = jnp.isinf(answer) & (aborted | (waiting == 0))
    lost = there & slots.read & (unserved | fetching)
    written = system.completion.on_stop(answer, others, latest, waiting, receiving, now)
    answer = jnp.where(lost, jnp.inf, jnp.where(there & ~slots.read, written, answer))
    sent = jnp.maximum(slots.sent + system.condition.timeout, now)
    return state._replace(
        slots=slots._replace(
            waiting=jnp.where(lost, system.dispatch.again(alive), waiting),
            answer=answer,
            latest=latest,
            receiving=receiving,
            sent=jnp.where(lost, sent, slots.sent),
        ),
        drives=_woken(drives, down, before & ~stopped, count(lost) > 0, now),
        dispatch=system.dispatch.forget(state.dispatch, lost),
        condition=state.condition._replace(down=down),
    ), count(lost)


def _woken(
    drives: Drives,
    down: Bool[Array, "drive *lanes"],
    back: Bool[Array, "drive *lanes"],
    again: Bool[Array, "1 *lanes"],
    now: Float[Array, "1 *lanes"],
) -> Drives:
    """The drives once some are `down` and some are `back`: these wake, and idle ones where reads are sent `again`."""
    woken = (drives.idle & ~down & again) | back
    wake = jnp.where(woken, jnp.minimum(drives.wake, now), drives.wake)
    return drives._replace(
        wake=jnp.where(down, jnp.inf, wake),
        planned=drives.planned & ~down,
        idle=(drives.idle | back) & ~down,
    )


def _aborted(
    scenario: Scenario,
    state: State,
    which: Int[Array, "1 *lanes"],
    brick: Bool[Array, "drive *lanes"],
    others: Underway,
) -> tuple[Bool[Array, "slot *lanes"], Bool[Array, "slot *lanes"]]:
    """The slot whose access the brick that stops had planned or under way, and the reads that were to be answered with it,
    because they found its data on the way into memory."""
    slots, drives = state.slots, state.drives
    slot, number, finish = (pick(part, which) for part in (drives.plan.slot, drives.plan.number, drives.plan.finish))
    stops = count(brick & drives.planned) > 0
    aborted = (rows(scenario.system.slots, slots.born) == slot) & (slots.number == number) & stops
    same = scenario.system.cache.same_data_as(state.cache, slot)
    if same is None:
        return aborted, jnp.zeros_like(aborted)
    fetched = count(aborted & slots.read) > 0
    waits = (
        same & ~aborted & jnp.isfinite(slots.answer) & (slots.answer >= finish - INSTANT) & jnp.isinf(others.soonest)
    )
    return aborted, waits & slots.read & fetched


def _underway(
    scenario: Scenario, state: State, receiving: Int[Array, "slot *lanes"], running: Bool[Array, "drive *lanes"]
) -> Underway:
    """What the bricks that are `running` do for each request. receiving: the copy on the brick that answers it."""
    slots, drives, system = state.slots, state.drives, scenario.system
    row = rows(system.slots, slots.born)
    never = jnp.full(slots.born.shape, jnp.inf)
    found = Underway(never, -never, -never)
    for drive in range(system.drives):
        here = jnp.full_like(state.taken, drive)
        plan = tuple(pick(part, here) for part in (drives.plan.slot, drives.plan.number, drives.plan.finish))
        serves = (row == plan[0]) & (slots.number == plan[1]) & pick(drives.planned & running, here)
        receives = serves & (system.placement.copy_on(here, slots.home) == receiving)
        found = Underway(
            jnp.where(serves, jnp.minimum(found.soonest, plan[2]), found.soonest),
            jnp.where(serves, jnp.maximum(found.latest, plan[2]), found.latest),
            jnp.where(receives, plan[2], found.receiving),
        )
    return found


def _alive(scenario: Scenario, state: State, down: Bool[Array, "drive *lanes"]) -> UInt32[Array, "slot *lanes"]:
    """The copies of each request whose bricks are alive."""
    system = scenario.system
    mask = jnp.zeros_like(state.slots.waiting)
    for drive in range(system.drives):
        here = jnp.full_like(state.taken, drive)
        copy = system.placement.copy_on(here, state.slots.home)
        mask = mask | jnp.where(pick(down, here) | (copy < 0), jnp.uint32(0), bit(copy))
    return mask & mask_of(system.placement.copies)
