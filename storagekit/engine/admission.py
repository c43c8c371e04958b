"""A request enters: which bricks it is sent to, whether one of them has it in memory, and who wakes for it."""

from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, UInt32

from storagekit.arrays import AnyArray
from storagekit.cache import Sought
from storagekit.dispatch import View
from storagekit.engine.state import Slots, State
from storagekit.engine.system import Scenario
from storagekit.lanes import (
    INSTANT,
    bit,
    computed_once,
    first_true,
    held,
    index_of,
    least,
    pick,
    rows,
    union,
    where_tree,
)
from storagekit.placement import Location, nearest_replica, of_copy
from storagekit.workload import Requests


class Admission(NamedTuple):
    """What became of a request that entered: a read that is answered from memory, and from that of another brick than the
    one that received it; it was sent again, because the brick that it was sent to had stopped."""

    hit: Bool[Array, "1 *lanes"]
    elsewhere: Bool[Array, "1 *lanes"]
    resent: Bool[Array, "1 *lanes"]


class Sending(NamedTuple):
    """Where a request goes: the copies that would serve a read, one bit each; the copy on the brick that receives it; when
    it does; and the copies whose bricks are alive, None where all always are."""

    routed: UInt32[Array, "1 *lanes"]
    receiving: Int[Array, "1 *lanes"]
    sent: Float[Array, "1 *lanes"]
    alive: UInt32[Array, "1 *lanes"] | None


def admit(
    scenario: Scenario,
    state: State,
    request: Requests,
    place: Location,
    arrival: Float[Array, "1 *lanes"],
    entry: Float[Array, "1 *lanes"],
    into: Bool[Array, "slot *lanes"],
    admitted: Bool[Array, "1 *lanes"],
) -> tuple[State, Admission]:
    """A request enters the slot marked in `into`, is sent to the drives that may serve it, and wakes those that are idle.

    arrival, entry: seconds from now until it arrives, and until it enters, which is later where it waits outside for a slot.
    Returns the state, and what became of the request.
    """
    system, slots, drives = scenario.system, state.slots, state.drives
    placement = system.placement
    copy = placement.copy_on(rows(system.drives, slots.born), place.home)
    usable = system.propagation.usable(state.propagation, request, placement)
    usable_at = None if usable is None else of_copy(usable, copy, placement)
    view = view_for(scenario, state, request, place, entry, copy, usable_at)
    routed, dispatch = system.dispatch.route(state.dispatch, request, admitted, view)
    receiving = (request.receiving % view.copies.astype(jnp.uint32)).astype(jnp.int32)
    sending = sending_of(scenario, state, request, copy, Sending(routed, receiving, arrival, None))
    asked = _asked(scenario, request, sending, copy, usable_at)
    asked_of = held(asked, copy)
    generation = system.condition.generation(state.condition)
    sought = Sought(placement, computed_once(sending.routed), sending.receiving, place.home, generation)
    found, cache = system.cache.look_up(state.cache, request, admitted, sought)
    hit, elsewhere = computed_once((found.hit & request.read & admitted, found.copy != sending.receiving))
    asked, asked_of = jnp.where(hit, jnp.uint32(0), asked), asked_of & ~hit
    # one that waited outside for a slot is in no memory before it is in
    inside = jnp.maximum(jnp.maximum(sending.sent, entry), 0.0)
    answer = _answer(scenario, state, request, inside, hit, elsewhere)
    slots = _seated(slots, into, request, place, sending, arrival, asked, answer)
    woken = drives.idle & asked_of & admitted
    when = jnp.minimum(drives.wake, inside)
    state = state._replace(
        slots=slots,
        drives=drives._replace(wake=jnp.where(woken, when, drives.wake)),
        dispatch=system.dispatch.admit(dispatch, into, request),
        propagation=system.propagation.admit(state.propagation, into, request, usable),
        cache=system.cache.admit(cache, into, request),
    )
    return state, Admission(hit, hit & elsewhere, admitted & (sending.sent > arrival))


def _asked(
    scenario: Scenario,
    request: Requests,
    sending: Sending,
    copy: Int[Array, "drive *lanes"],
    usable_at: UInt32[Array, "drive *lanes"] | None,
) -> UInt32[Array, "1 *lanes"]:
    """The copies at which a request waits. copy: which one each drive has; usable_at: its replicas that are not stale.

    A dispatcher does not know which copies are stale: nobody waits at these; where all that it asks are, another one is
    asked, and only one, because who sends a request to a single copy withdraws it from no other.
    """
    system = scenario.system
    asked = system.propagation.asked(sending.routed, request, system.placement)
    asked = asked if sending.alive is None else asked & sending.alive
    if usable_at is None:
        return asked
    asked = asked & union(jnp.where(usable_at != 0, bit(copy), jnp.uint32(0)))
    current, _ = first_true(usable_at != 0)
    return jnp.where(asked == 0, bit(pick(copy, current)), asked)


def _answer(
    scenario: Scenario,
    state: State,
    request: Requests,
    inside: Float[Array, "1 *lanes"],
    hit: Bool[Array, "1 *lanes"],
    elsewhere: Bool[Array, "1 *lanes"],
) -> Float[Array, "1 *lanes"]:
    """When a request that is `inside` then is answered, as far as is known as it enters: from memory, or as a write's policy
    has it."""
    system = scenario.system
    answer = jnp.where(request.read, jnp.inf, system.completion.on_arrival(inside))
    from_memory = inside + system.cache.hit_time + jnp.where(elsewhere, system.dispatch.hop, 0.0)
    return jnp.where(hit, jnp.maximum(from_memory, under_way(scenario, state, request)), answer)


def _seated(
    slots: Slots,
    into: Bool[Array, "slot *lanes"],
    request: Requests,
    place: Location,
    sending: Sending,
    arrival: Float[Array, "1 *lanes"],
    asked: UInt32[Array, "1 *lanes"],
    answer: Float[Array, "1 *lanes"],
) -> Slots:
    """The slots with the request in the one marked in `into`. answer: when it is answered, inf while not known."""
    return slots._replace(
        number=jnp.where(into, request.number, slots.number),
        target=where_tree(into, place.target, slots.target),
        home=jnp.where(into, place.home, slots.home),
        read=jnp.where(into, request.read, slots.read),
        asynchronous=jnp.where(into, request.asynchronous, slots.asynchronous),
        receiving=jnp.where(into, sending.receiving, slots.receiving),
        born=jnp.where(into, arrival, slots.born),
        sent=jnp.where(into, sending.sent, slots.sent),
        waiting=jnp.where(into, asked, slots.waiting),
        answer=jnp.where(into, answer, slots.answer),
        answered=jnp.where(into, False, slots.answered),
        latest=jnp.where(into, -jnp.inf, slots.latest),
    )


def view_for(
    scenario: Scenario,
    state: State,
    request: Requests,
    place: Location,
    entry: Float[Array, "1 *lanes"],
    copy: Int[Array, "drive *lanes"],
    usable_at: UInt32[Array, "drive *lanes"] | None,
) -> View:
    """What a dispatcher sees of the system as a request enters. copy: which one each drive has; usable_at: of that."""
    system, drives = scenario.system, state.drives
    start = jnp.maximum(entry, 0.0)

    def reach() -> Float[Array, "drive *lanes"]:
        brick = rows(system.drives, drives.phase)
        mechanics = system.condition.now(state.condition, system.drive, brick)
        angle = drives.phase + mechanics.turns(start)
        target = system.drive.seen(place.target, brick)
        arm, read = drives.arm, request.read
        nearest = nearest_replica(system.placement, system.drive, mechanics, arm, angle, target, read, copy, usable_at)
        return nearest.positioning.total

    busy = drives.planned & (drives.plan.finish > start)
    # a drive that was woken at this instant has something to do, although it has not chosen yet
    free = ~busy & ~(drives.idle & (drives.wake <= start + INSTANT))
    return View(state.slots.waiting, state.slots.home, busy, free, place.home, system.placement, reach)


def sending_of(
    scenario: Scenario, state: State, request: Requests, copy: Int[Array, "drive *lanes"], wanted: Sending
) -> Sending:
    """Where a request goes if bricks are down. copy: which one each drive has of it. wanted: where it went were none.

    A client that hears nothing from the brick that it sent the request to sends it again after its time-out, to others; it
    does not remember from one request to the next who is down.
    """
    system = scenario.system
    if not system.condition.stops:
        return wanted
    # for the request that finds a brick back it is back, for the one with which it stops it is still there
    after: Any = system.condition.arrived(state.condition, request.number, jnp.ones_like(request.read))
    down = state.condition.down & system.condition.stopped(after)
    holds = (copy >= 0) & (copy < jnp.asarray(system.placement.copies)) & ~down
    alive = union(jnp.where(holds, bit(copy), jnp.uint32(0)))
    entrance = jnp.where(request.read, system.dispatch.entrance(wanted.routed, wanted.receiving), wanted.receiving)
    late = ~held(alive, entrance)
    routed = jnp.where(late | (wanted.routed & alive == 0), system.dispatch.again(alive), wanted.routed & alive)
    receiving = jnp.where(held(alive, wanted.receiving), wanted.receiving, index_of(alive))
    return Sending(routed, receiving, wanted.sent + jnp.where(late, system.condition.timeout, 0.0), alive)


def under_way(scenario: Scenario, state: State, request: Requests) -> Float[AnyArray, "..."]:
    """When reads of the same data that a disk is serving are answered; -inf where there are none."""
    same = scenario.system.cache.same_data(state.cache, request)
    if same is None:
        return jnp.float32(-jnp.inf)
    slots = state.slots
    served = same & slots.read & ~slots.answered & jnp.isfinite(slots.answer)
    return -least(jnp.where(served, -slots.answer, jnp.inf))
