"""Coming and going: the earliest answer leaves its slot, the next request enters one."""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from storagekit.dispatch import View
from storagekit.engine.state import NOBODY, State
from storagekit.engine.system import Scenario
from storagekit.lanes import (
    INSTANT,
    bit,
    computed_once,
    count,
    first_min,
    first_true,
    held,
    least,
    pick,
    pick_tree,
    rows,
    some,
    where_tree,
)
from storagekit.placement import Location, nearest_replica, of_copy
from storagekit.workload import Requests


class Incoming(NamedTuple):
    """Requests in the order they will enter, where each lies, and the seconds from each to the next."""

    requests: Requests
    place: Location
    gap: Float[Array, "row *lanes"]


class Next(NamedTuple):
    """The next arrival and the earliest answer, seconds from now; in a closed loop the one is the other.

    leaving: the slot of that answer. vacates: whether it leaves with the arrival, and nothing is left to do for it.
    """

    arrival: Float[Array, "1 *lanes"]
    answer: Float[Array, "1 *lanes"]
    leaving: Int[Array, "1 *lanes"]
    vacates: Bool[Array, "1 *lanes"]


class Answered(NamedTuple):
    """A request that was answered: its number (NOBODY if none was), its response time in seconds, whether it is a read,
    and whether nobody waited for it."""

    number: Int[Array, "1 *lanes"]
    response: Float[Array, "1 *lanes"]
    read: Bool[Array, "1 *lanes"]
    asynchronous: Bool[Array, "1 *lanes"]


class Passage(NamedTuple):
    """What `enter` did: the request answered, whether one was admitted, whether it had been held up for want of a slot,
    whether it was a read that found its data in memory, and how many slots are vacant after it."""

    answered: Answered
    admitted: Bool[Array, "1 *lanes"]
    held_up: Bool[Array, "1 *lanes"]
    hit: Bool[Array, "1 *lanes"]
    vacant: Int[Array, "1 *lanes"]


def after_answer(scenario: Scenario, state: State) -> Array:
    """The copies at which each request still waits once it is answered: a write at all, a read where nobody heard of it."""
    behind = scenario.system.dispatch.left_behind(state.dispatch, state.slots.waiting)
    return jnp.where(state.slots.read, behind, state.slots.waiting)


def next_request(scenario: Scenario, state: State) -> Next:
    """The next arrival and the earliest answer."""
    leaving, answer = first_min(state.slots.answer)
    arrival = scenario.arrivals.next_arrival(state.arrived + state.gap, answer)
    leaves = scenario.arrivals.leaves(jnp.isfinite(arrival), jnp.zeros_like(arrival, bool))
    kept = scenario.system.propagation.keeps(state.propagation, state.slots.read)
    over = pick(after_answer(scenario, state), leaving) == 0
    return Next(arrival, answer, leaving, leaves & over & ~pick(kept, leaving))


def admissible(scenario: Scenario, state: State, vacant: Array, choice: Array) -> Bool[Array, "1 *lanes"]:
    """Whether yet another request is due before a choice at that time, and finds a slot: one of the `vacant`, or the one
    that its predecessor in a closed loop leaves."""
    coming = next_request(scenario, state)
    return scenario.arrivals.precedes(coming.arrival, choice) & ((vacant > 0) | coming.vacates)


def enter(scenario: Scenario, incoming: Incoming, state: State) -> tuple[State, Passage]:
    """The earliest answer leaves and the next request enters, each if it is due before a drive chooses."""
    system, arrivals, slots = scenario.system, scenario.arrivals, state.slots
    coming = next_request(scenario, state)
    row = rows(system.slots, slots.born)
    kept = system.propagation.keeps(state.propagation, slots.read)
    free = slots.answered & (slots.waiting == 0) & ~kept
    free = jnp.where(row == coming.leaving, coming.vacates | free, free)
    slot, room = first_true(free)
    vacant = count(free)
    horizon = least(state.drives.wake)
    admitted = arrivals.precedes(coming.arrival, horizon) & jnp.isfinite(coming.arrival) & room
    admitted = computed_once(admitted)
    leaves = arrivals.leaves(admitted, (coming.answer <= horizon) & jnp.isfinite(coming.answer))

    gone = (row == coming.leaving) & leaves
    answered = Answered(
        jnp.where(leaves, pick(slots.number, coming.leaving), NOBODY),
        coming.answer - pick(slots.born, coming.leaving),
        pick(slots.read, coming.leaving),
        pick(slots.asynchronous, coming.leaving),
    )
    slots = slots._replace(
        waiting=jnp.where(gone, after_answer(scenario, state), slots.waiting),
        answer=jnp.where(gone, jnp.inf, slots.answer),
        answered=slots.answered | gone,
    )
    request, place, gap = pick_tree(incoming, state.taken)
    state, hit = admit(
        scenario, state._replace(slots=slots), request, place, coming.arrival, (row == slot) & admitted, admitted
    )
    state = state._replace(
        arrived=jnp.where(admitted, coming.arrival, state.arrived),
        gap=jnp.where(admitted, gap, state.gap),
        taken=state.taken + admitted,
    )
    return state, Passage(answered, admitted, admitted & (coming.arrival < -INSTANT), hit, vacant - admitted)


def admit(scenario: Scenario, state: State, request: Requests, place: Location, arrival, into, admitted):
    """A request enters the slot marked in `into`, is sent to the drives that may serve it, and wakes those that are idle.

    Returns the state, and whether it is answered from memory and so sent nowhere.
    """
    system, slots, drives = scenario.system, state.slots, state.drives
    placement = system.placement
    copy = rows(system.drives, slots.born) - place.home
    usable = system.propagation.usable(state.propagation, request, placement)
    usable_at = None if usable is None else of_copy(usable, copy, placement)

    def reach() -> Array:
        angle = drives.phase + system.drive.turns(start)
        nearest = nearest_replica(
            placement, system.drive, drives.arm, angle, place.target, request.read, copy, usable_at
        )
        return nearest.positioning.total

    start = jnp.maximum(arrival, 0.0)
    busy = drives.planned & (drives.plan.finish > start)
    # a drive that was woken at this instant has something to do, although it has not chosen yet
    free = ~busy & ~(drives.idle & (drives.wake <= start + INSTANT))
    view = View(slots.waiting, slots.home, busy, free, place.home, jnp.asarray(placement.copies), reach)
    routed, dispatch = system.dispatch.route(state.dispatch, request, admitted, view)
    asked = system.propagation.asked(routed, request, placement)
    asked_of = held(asked, copy)
    if usable_at is not None:
        # a dispatcher does not know which copies are stale: where all that it asks are, another one is asked, and only
        # one, because who sends a request to a single copy withdraws it from no other
        stale = ~some(asked_of & (usable_at != 0))
        current, _ = first_true(usable_at != 0)
        asked = jnp.where(stale, bit(current - place.home), asked)
        asked_of = held(asked, copy) & (usable_at != 0)
    hit, cache = system.cache.look_up(state.cache, request, admitted)
    hit = computed_once(hit & request.read & admitted)
    asked, asked_of = jnp.where(hit, jnp.uint32(0), asked), asked_of & ~hit
    answer = jnp.where(request.read, jnp.inf, system.completion.on_arrival(arrival))
    answer = jnp.where(hit, arrival + system.cache.hit_time, answer)
    receiving = (request.receiving % view.copies.astype(jnp.uint32)).astype(jnp.int32)
    slots = slots._replace(
        number=jnp.where(into, request.number, slots.number),
        target=where_tree(into, place.target, slots.target),
        home=jnp.where(into, place.home, slots.home),
        read=jnp.where(into, request.read, slots.read),
        asynchronous=jnp.where(into, request.asynchronous, slots.asynchronous),
        receiving=jnp.where(into, receiving, slots.receiving),
        born=jnp.where(into, arrival, slots.born),
        waiting=jnp.where(into, asked, slots.waiting),
        answer=jnp.where(into, answer, slots.answer),
        answered=jnp.where(into, False, slots.answered),
        latest=jnp.where(into, -jnp.inf, slots.latest),
    )
    woken = drives.idle & asked_of & admitted
    at_arrival = jnp.minimum(drives.wake, start)
    state = state._replace(
        slots=slots,
        drives=drives._replace(wake=jnp.where(woken, at_arrival, drives.wake)),
        dispatch=system.dispatch.admit(dispatch, into, request),
        propagation=system.propagation.admit(state.propagation, into, request, usable),
        cache=cache,
    )
    return state, hit
