"""Completions and arrivals: the earliest completion frees its slot, and the next request enters a slot."""

from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, UInt32

from storagekit.component.events import RequestCompleted
from storagekit.core.arrays import AnyArray
from storagekit.core.batching import INSTANT, first_min, first_true, min_row, pick, pick_tree, row_index
from storagekit.engine.admission import Admission, admit
from storagekit.engine.failure import foreseen
from storagekit.engine.state import NO_REQUEST, Slots, State, next_times, notify
from storagekit.engine.system import Scenario
from storagekit.workload import Requests


class Incoming(NamedTuple):
    """Requests in the order of their arrival.

    Parameters
    ----------
    requests : Requests
        The requests.
    location : pytree of arrays
        Locations of the requests.
    gap : array of float32, shape `[row, *batch]`
        Time in seconds from each request to the next.
    word : array of uint32, shape `[row, *batch]`
        32 random bits for each request, which a dispatcher may use.
    """

    requests: Requests
    location: Any
    gap: Float[Array, "row *batch"]
    word: UInt32[Array, "row *batch"]


class Next(NamedTuple):
    """The next arrival and the earliest completion. In a closed loop they have the same time.

    Parameters
    ----------
    arrival, completion : array of float32, shape `[1, *batch]`
        Time of the next arrival and time of the earliest completion, seconds from now.
    leaving : array of int32, shape `[1, *batch]`
        Slot of the request that completes.
    vacates : array of bool, shape `[1, *batch]`
        Whether the completion is processed together with the arrival, and frees the slot because no part of the request
        is left to serve.
    """

    arrival: Float[Array, "1 *batch"]
    completion: Float[Array, "1 *batch"]
    leaving: Int[Array, "1 *batch"]
    vacates: Bool[Array, "1 *batch"]


class Passage(NamedTuple):
    """Result of `enter`.

    Parameters
    ----------
    completed : RequestCompleted
        The request that completed.
    admitted : array of bool, shape `[1, *batch]`
        Whether a request was admitted. The next three fields describe this request.
    entered : array of float32, shape `[1, *batch]`
        Time in seconds until the admission of the request.
    blocked : array of bool, shape `[1, *batch]`
        Whether the request had waited for a slot.
    admission : Admission
        Result of the admission of the request.
    vacant : array of float32, shape `[1, *batch]`
        Time in seconds from now at which a slot is free for the next request; inf if no slot becomes free before
        another event.
    """

    completed: RequestCompleted
    admitted: Bool[Array, "1 *batch"]
    entered: Float[Array, "1 *batch"]
    blocked: Bool[Array, "1 *batch"]
    admission: Admission
    vacant: Float[Array, "1 *batch"]


def after_completion(scenario: Scenario, state: State) -> UInt32[Array, "slot *batch"]:
    """Return the parts of each request that still wait after the request has completed.

    A write still waits at all drives that have not chosen it, unless the write policy treats writes as reads. A read
    still waits only at drives that no claim has reached.

    Parameters
    ----------
    scenario : Scenario
        The scenario.
    state : State
        The state.

    Returns
    -------
    array of uint32, shape `[slot, *batch]`
        Masks of the parts.
    """
    behind = scenario.system.arbitration.stale_copies(state.arbitration, state.slots.waiting)
    over = state.slots.read | scenario.system.write.over_when_completed
    return jnp.where(over, behind, state.slots.waiting)


def next_request(scenario: Scenario, state: State) -> Next:
    """Return the next arrival and the earliest completion.

    Parameters
    ----------
    scenario : Scenario
        The scenario.
    state : State
        The state.

    Returns
    -------
    Next
        Times of the arrival and the completion, and the slot of the request that completes.
    """
    leaving, completion = first_min(state.slots.completion)
    pending = state.arrived + state.gap
    arrival = scenario.arrivals.next_arrival(state.arrivals, pending, completion)
    leaves = scenario.arrivals.frees_slot(jnp.isfinite(arrival), jnp.zeros_like(arrival, bool), pending)
    kept = _kept(scenario, state)
    over = pick(after_completion(scenario, state), leaving) == 0
    room = _has_room(scenario, state)
    return Next(arrival, completion, leaving, leaves & over & room & ~pick(kept, leaving))


def _kept(scenario: Scenario, state: State) -> Bool[Array, "slot *batch"]:
    """Return the mask of the slots whose request is still needed, although it may wait in no queue."""
    slots = state.slots
    kept = scenario.system.write.needs_slots(state.write, slots.read)
    return kept if slots.reads_first is None else kept | slots.reads_first


def _has_room(scenario: Scenario, state: State) -> Bool[AnyArray, "..."]:
    """Return whether a request may enter: false while the write policy has no space for more delayed writes."""
    room = scenario.system.write.has_room(state.write)
    return jnp.ones((), bool) if room is None else room


def admissible(
    scenario: Scenario, state: State, vacant: Float[Array, "1 *batch"], choice: Float[Array, "1 *batch"]
) -> Bool[Array, "1 *batch"]:
    """Return whether another request enters before a drive chooses.

    The request needs a free slot or, in a closed loop, the slot of its predecessor.

    Parameters
    ----------
    scenario : Scenario
        The scenario.
    state : State
        The state.
    vacant : array of float32, shape `[1, *batch]`
        Time in seconds from now at which a slot is free.
    choice : array of float32, shape `[1, *batch]`
        Time of the choice, seconds from now.

    Returns
    -------
    array of bool, shape `[1, *batch]`
        Whether a request enters before the choice.
    """
    coming = next_request(scenario, state)
    entry = jnp.where(coming.vacates, coming.arrival, jnp.maximum(coming.arrival, vacant))
    return scenario.arrivals.precedes(entry, choice)


def _opening(
    free_from: Float[Array, "slot *batch"], arrival: Float[Array, "1 *batch"]
) -> tuple[Int[Array, "1 *batch"], Float[Array, "1 *batch"]]:
    """Return the slot that a request enters, and the time of its entry.

    The slot is a free slot or, if no slot is free, the slot that becomes free first.

    free_from: time from which each slot is free; inf if unknown.
    """
    slot, ready = first_true(free_from <= arrival)
    next_slot, next_free = first_min(free_from)
    return jnp.where(ready, slot, next_slot), jnp.where(ready, arrival, next_free)


def _completed(slots: Slots, coming: Next, leaves: Bool[Array, "1 *batch"]) -> RequestCompleted:
    """Return the request with the earliest completion. Valid only where `leaves` is true."""
    whose = (slots.stream, slots.client, slots.sectors)
    return RequestCompleted(
        jnp.where(leaves, pick(slots.number, coming.leaving), NO_REQUEST),
        coming.completion - pick(slots.arrival_time, coming.leaving),
        pick(slots.read, coming.leaving),
        pick(slots.asynchronous, coming.leaving),
        coming.completion,
        *pick_tree(whose, coming.leaving),
    )


def _left(scenario: Scenario, state: State, coming: Next, leaves: Bool[Array, "1 *batch"]) -> State:
    """Return the state after the component `arrivals` has received the completion; unchanged without clients."""
    if state.slots.client is None:
        return state
    client = pick(state.slots.client, coming.leaving)
    return state._replace(arrivals=scenario.arrivals.completed(state.arrivals, client, coming.completion, leaves))


def _next_one(scenario: Scenario, incoming: Incoming, state: State) -> Incoming:
    """Return the next request, with its location, the gap to the request after it, and its random bits."""
    coming = pick_tree(incoming, state.taken)
    system, arrivals = scenario.system, scenario.arrivals
    if not arrivals.waits_for_completions:
        return coming
    request = arrivals.request(state.arrivals, system.placement.capacity(system.drive), coming.requests.number)
    return coming._replace(requests=request, location=system.placement.locate(system.drive, request))


def enter(scenario: Scenario, incoming: Incoming, state: State) -> tuple[State, Passage]:
    """Process the earliest completion and admit the next request, each only if it is due before a drive chooses.

    Parameters
    ----------
    scenario : Scenario
        The scenario.
    incoming : Incoming
        Requests that may be admitted.
    state : State
        The state before.

    Returns
    -------
    state : State
        The state after.
    passage : Passage
        The completion and the admission.
    """
    system, arrivals, slots = scenario.system, scenario.arrivals, state.slots
    coming = next_request(scenario, state)
    row = row_index(system.slots, slots.arrival_time)
    kept = _kept(scenario, state)
    free = slots.completed & (slots.waiting == 0) & ~kept
    # a completion may be processed early; its slot is free from the time of the completion on, and not before
    free_from = jnp.where(free & _has_room(scenario, state), slots.arrival_time, jnp.inf)
    free_from = jnp.where((row == coming.leaving) & coming.vacates, coming.completion, free_from)
    slot, entry = _opening(free_from, coming.arrival)
    horizon = min_row(next_times(scenario, state))
    admitted = arrivals.precedes(entry, horizon) & jnp.isfinite(entry) & jnp.isfinite(coming.arrival)
    due = (coming.completion <= foreseen(scenario, horizon, entry)) & jnp.isfinite(coming.completion)
    leaves = arrivals.frees_slot(admitted, due, state.arrived + state.gap)

    gone = (row == coming.leaving) & leaves
    completed = _completed(slots, coming, leaves)
    after = after_completion(scenario, state)
    emptied = gone & (after == 0) & ~kept
    slots = slots._replace(
        waiting=jnp.where(gone, after, slots.waiting),
        arrival_time=jnp.where(emptied, coming.completion, slots.arrival_time),
        completion=jnp.where(gone, jnp.inf, slots.completion),
        completed=slots.completed | gone,
    )
    request, location, gap, word = _next_one(scenario, incoming, state)
    state = state._replace(slots=slots)
    # the request that enters may use the slot of the request that leaves
    state = notify(scenario, _left(scenario, state, coming, leaves), "on_completed", completed)
    taken = (row == slot) & admitted
    vacant = min_row(jnp.where(taken, jnp.inf, jnp.where(emptied, coming.completion, free_from)))
    state, admission = admit(scenario, state, request, location, word, coming.arrival, entry, taken, admitted)
    state = state._replace(
        arrivals=arrivals.sent(state.arrivals, request, admitted),
        arrived=jnp.where(admitted, coming.arrival, state.arrived),
        gap=jnp.where(admitted, gap, state.gap),
        taken=state.taken + admitted,
    )
    blocked = admitted & (coming.arrival + INSTANT < jnp.maximum(entry, 0.0))
    return state, Passage(completed, admitted, entry, blocked, admission, vacant)
