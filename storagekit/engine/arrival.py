"""Coming and going: the earliest answer leaves its slot, the next request enters one."""

from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, UInt32

from storagekit.arrays import AnyArray
from storagekit.engine.admission import Admission, admit
from storagekit.engine.failure import foreseen
from storagekit.engine.state import NOBODY, Slots, State, tell
from storagekit.engine.system import Scenario
from storagekit.lanes import INSTANT, first_min, first_true, least, pick, pick_tree, rows
from storagekit.moments import Answered
from storagekit.workload import AbstractClients, Requests


class Incoming(NamedTuple):
    """Requests in the order they will enter, where each lies, the seconds from each to the next, and a random word of each
    for whoever distributes them."""

    requests: Requests
    place: Any
    gap: Float[Array, "row *lanes"]
    word: UInt32[Array, "row *lanes"]


class Next(NamedTuple):
    """The next arrival and the earliest answer, seconds from now; in a closed loop the one is the other.

    leaving: the slot of that answer. vacates: whether it leaves with the arrival, and nothing is left to do for it.
    """

    arrival: Float[Array, "1 *lanes"]
    answer: Float[Array, "1 *lanes"]
    leaving: Int[Array, "1 *lanes"]
    vacates: Bool[Array, "1 *lanes"]


class Passage(NamedTuple):
    """What `enter` did: the request answered, whether one was admitted and when, whether it had been held up for want of a
    slot, what else became of it, and when there is a slot for the next (inf: not before something happens)."""

    answered: Answered
    admitted: Bool[Array, "1 *lanes"]
    entered: Float[Array, "1 *lanes"]
    held_up: Bool[Array, "1 *lanes"]
    admission: Admission
    vacant: Float[Array, "1 *lanes"]


def after_answer(scenario: Scenario, state: State) -> UInt32[Array, "slot *lanes"]:
    """Return the parts of each request that still wait after its completion.

    A write still waits at all other drives, unless its policy treats writes as reads. A read still waits at drives that no
    claim has reached.
    """
    behind = scenario.system.claims.left_behind(state.claims, state.slots.waiting)
    over = state.slots.read | scenario.system.write.over_when_answered
    return jnp.where(over, behind, state.slots.waiting)


def next_request(scenario: Scenario, state: State) -> Next:
    """The next arrival and the earliest answer."""
    leaving, answer = first_min(state.slots.answer)
    arrival = scenario.arrivals.next_arrival(state.arrivals, state.arrived + state.gap, answer)
    leaves = scenario.arrivals.leaves(jnp.isfinite(arrival), jnp.zeros_like(arrival, bool))
    kept = scenario.system.write.keeps(state.write, state.slots.read)
    over = pick(after_answer(scenario, state), leaving) == 0
    room = _has_room(scenario, state)
    return Next(arrival, answer, leaving, leaves & over & room & ~pick(kept, leaving))


def _has_room(scenario: Scenario, state: State) -> Bool[AnyArray, "..."]:
    """Whether what a request leaves behind would find room, so that it may enter."""
    room = scenario.system.write.has_room(state.write)
    return jnp.ones((), bool) if room is None else room


def admissible(
    scenario: Scenario, state: State, vacant: Float[Array, "1 *lanes"], choice: Float[Array, "1 *lanes"]
) -> Bool[Array, "1 *lanes"]:
    """Whether yet another request is due before a choice at that time, and finds a slot: one that is vacant from `vacant` on,
    or the one that its predecessor in a closed loop leaves."""
    coming = next_request(scenario, state)
    entry = jnp.where(coming.vacates, coming.arrival, jnp.maximum(coming.arrival, vacant))
    return scenario.arrivals.precedes(entry, choice)


def _opening(
    since: Float[Array, "slot *lanes"], arrival: Float[Array, "1 *lanes"]
) -> tuple[Int[Array, "1 *lanes"], Float[Array, "1 *lanes"]]:
    """The slot that an arrival enters and when: one that is free as it arrives, or else the first that will be.

    since: when each slot is free, inf where nobody knows.
    """
    slot, ready = first_true(since <= arrival)
    next_slot, next_free = first_min(since)
    return jnp.where(ready, slot, next_slot), jnp.where(ready, arrival, next_free)


def _answered(slots: Slots, coming: Next, leaves: Bool[Array, "1 *lanes"]) -> Answered:
    """The request whose answer is the earliest, in lanes in which it `leaves`."""
    whose = (slots.stream, slots.client, slots.sectors)
    return Answered(
        jnp.where(leaves, pick(slots.number, coming.leaving), NOBODY),
        coming.answer - pick(slots.born, coming.leaving),
        pick(slots.read, coming.leaving),
        pick(slots.asynchronous, coming.leaving),
        coming.answer,
        *pick_tree(whose, coming.leaving),
    )


def _left(scenario: Scenario, state: State, coming: Next, leaves: Bool[Array, "1 *lanes"]) -> State:
    """The state once arrivals know who was answered, where requests have clients."""
    clients = scenario.arrivals
    if not isinstance(clients, AbstractClients) or state.slots.client is None:
        return state
    client = pick(state.slots.client, coming.leaving)
    return state._replace(arrivals=clients.answered(state.arrivals, client, coming.answer, leaves))


def _sent(scenario: Scenario, state: State, request: Requests, admitted: Bool[Array, "1 *lanes"]) -> State:
    """The state once clients know that a request of theirs has entered."""
    clients = scenario.arrivals
    if not isinstance(clients, AbstractClients):
        return state
    return state._replace(arrivals=clients.sent(state.arrivals, request, admitted))


def _next_one(scenario: Scenario, incoming: Incoming, state: State) -> Incoming:
    """The next request: one row of what is incoming."""
    coming = pick_tree(incoming, state.taken)
    system, clients = scenario.system, scenario.arrivals
    if not isinstance(clients, AbstractClients):
        return coming
    request = clients.request(state.arrivals, system.placement.capacity(system.drive), coming.requests.number)
    return coming._replace(requests=request, place=system.placement.locate(system.drive, request))


def enter(scenario: Scenario, incoming: Incoming, state: State) -> tuple[State, Passage]:
    """The earliest answer leaves and the next request enters, each if it is due before a drive chooses."""
    system, arrivals, slots = scenario.system, scenario.arrivals, state.slots
    coming = next_request(scenario, state)
    row = rows(system.slots, slots.born)
    kept = system.write.keeps(state.write, slots.read)
    free = slots.answered & (slots.waiting == 0) & ~kept
    # an answer may leave before its time; its slot is free at that time, and what waits outside enters then
    since = jnp.where(free & _has_room(scenario, state), slots.born, jnp.inf)
    since = jnp.where((row == coming.leaving) & coming.vacates, coming.answer, since)
    slot, entry = _opening(since, coming.arrival)
    horizon = least(state.drives.wake)
    admitted = arrivals.precedes(entry, horizon) & jnp.isfinite(entry) & jnp.isfinite(coming.arrival)
    due = (coming.answer <= foreseen(scenario, horizon, entry)) & jnp.isfinite(coming.answer)
    leaves = arrivals.leaves(admitted, due)

    gone = (row == coming.leaving) & leaves
    answered = _answered(slots, coming, leaves)
    after = after_answer(scenario, state)
    emptied = gone & (after == 0) & ~kept
    slots = slots._replace(
        waiting=jnp.where(gone, after, slots.waiting),
        born=jnp.where(emptied, coming.answer, slots.born),
        answer=jnp.where(gone, jnp.inf, slots.answer),
        answered=slots.answered | gone,
    )
    request, place, gap, word = _next_one(scenario, incoming, state)
    state = state._replace(slots=slots)
    # the request that enters may take the slot of the one that leaves
    state = tell(scenario, _left(scenario, state, coming, leaves), "answered", answered)
    taken = (row == slot) & admitted
    vacant = least(jnp.where(taken, jnp.inf, jnp.where(emptied, coming.answer, since)))
    state, admission = admit(scenario, state, request, place, word, coming.arrival, entry, taken, admitted)
    state = _sent(scenario, state, request, admitted)._replace(
        arrived=jnp.where(admitted, coming.arrival, state.arrived),
        gap=jnp.where(admitted, gap, state.gap),
        taken=state.taken + admitted,
    )
    held_up = admitted & (coming.arrival + INSTANT < jnp.maximum(entry, 0.0))
    return state, Passage(answered, admitted, entry, held_up, admission, vacant)
