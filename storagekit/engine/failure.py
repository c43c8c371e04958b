"""A brick stops: what it was doing is lost, and clients send again what nobody else is serving (dsptf, section 3)."""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, UInt32

from storagekit.engine.state import NOBODY, State
from storagekit.engine.system import Scenario
from storagekit.lanes import bit, count, first_true, held, index_of, least, mask_of, pick, pick_tree, rows


def fail(scenario: Scenario, state: State) -> tuple[State, Int[Array, "1 *lanes"]]:
    """Bricks whose condition says so stop, one in an event, and those that are back are there to be woken.

    A read that the brick had claimed, or that waited nowhere else, is sent again to the others when its client's time-out
    is over. A write is answered without the copies of the brick, which are not made good when it is back. An access that is
    as good as over, because its brick has chosen the next, counts as done. Returns the state, and how many reads are lost.
    """
    system, slots, drives = scenario.system, state.slots, state.drives
    if not system.condition.stops:
        return state, jnp.zeros_like(state.taken)
    stopped = system.condition.stopped(state.condition)
    before = state.condition.down
    which, fails = first_true(stopped & ~before)
    brick = (rows(system.drives, drives.wake) == which) & fails
    down = (before & stopped) | brick
    copy = system.placement.copy_on(which, slots.home)
    waiting = jnp.where(fails, slots.waiting & ~bit(copy), slots.waiting)
    answer, aborted = _without(scenario, state, which, brick)

    open_read = slots.read & ~slots.answered & jnp.isinf(answer) & (slots.number != NOBODY) & fails
    lost = open_read & (aborted | (waiting == 0))
    alive = _alive(scenario, state, down)
    receiving = jnp.where(fails & ~held(alive, slots.receiving), index_of(alive), slots.receiving)
    stranded = ~slots.read & ~slots.answered & fails & (slots.number != NOBODY)
    without = system.completion.on_stop(answer, slots.latest, waiting == 0, ~held(waiting, receiving))
    sent = jnp.maximum(slots.sent + system.condition.timeout, 0.0)
    back = before & ~stopped
    woken = (drives.idle & ~down & (count(lost) > 0)) | back
    wake = jnp.where(woken, jnp.minimum(drives.wake, 0.0), drives.wake)
    return state._replace(
        slots=slots._replace(
            waiting=jnp.where(lost, system.dispatch.again(alive), waiting),
            answer=jnp.where(stranded, without, answer),
            receiving=receiving,
            sent=jnp.where(lost, sent, slots.sent),
        ),
        drives=drives._replace(
            wake=jnp.where(down, jnp.inf, wake),
            planned=drives.planned & ~down,
            idle=(drives.idle | back) & ~down,
        ),
        dispatch=system.dispatch.forget(state.dispatch, lost),
        condition=state.condition._replace(down=down),
    ), count(lost)


def _without(scenario: Scenario, state: State, which, brick) -> tuple[Array, Bool[Array, "slot *lanes"]]:
    """When requests are answered without the plan of the brick that stops, and whose plan that was."""
    slots, drives = state.slots, state.drives
    plan = pick_tree(drives.plan, which)
    stops = count(brick & drives.planned) > 0
    aborted = (rows(scenario.system.slots, slots.born) == plan.slot) & (slots.number == plan.number) & stops
    also = drives.planned & ~brick & (drives.plan.slot == plan.slot) & (drives.plan.number == plan.number)
    other = least(jnp.where(also, drives.plan.finish, jnp.inf))
    return jnp.where(aborted & slots.read & ~slots.answered, other, slots.answer), aborted


def _alive(scenario: Scenario, state: State, down: Bool[Array, "drive *lanes"]) -> UInt32[Array, "slot *lanes"]:
    """The copies of each request whose bricks are alive."""
    system = scenario.system
    mask = jnp.zeros_like(state.slots.waiting)
    for drive in range(system.drives):
        copy = system.placement.copy_on(jnp.int32(drive), state.slots.home)
        dead = pick(down, jnp.full_like(state.taken, drive))
        mask = mask | jnp.where(dead | (copy < 0), jnp.uint32(0), bit(copy))
    return mask & mask_of(system.placement.copies)
