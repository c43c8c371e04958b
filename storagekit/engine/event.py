"""One event: an answer leaves, a request enters, the drive that is next to choose chooses.

Each step is a function of the state that can be called alone. Nothing here knows which protocol, scheduler or paper it
serves, and nothing branches: what does not happen in a lane is masked.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from storagekit.dispatch import Claim, Waiting
from storagekit.drive import Target
from storagekit.engine.state import NOBODY, Plan, State
from storagekit.engine.system import Scenario
from storagekit.lanes import (
    INSTANT,
    bit,
    computed_once,
    count,
    first_min,
    first_true,
    least,
    pick,
    pick_tree,
    rows,
    some,
    where_tree,
)
from storagekit.schedule import Choice
from storagekit.workload import Requests

# seconds; float32 holds times up to it to 4 ns
PAUSE = 0.05


class Incoming(NamedTuple):
    """Requests in the order they will enter, where each lies, and the seconds from each to the next."""

    requests: Requests
    target: Target
    gap: Float[Array, "row *lanes"]


class Next(NamedTuple):
    """The next request: when it arrives, the slot whose answer leaves, and the slot it can enter,
    if there is room among the vacant ones."""

    arrival: Float[Array, "1 *lanes"]
    answer: Float[Array, "1 *lanes"]
    leaving: Int[Array, "1 *lanes"]
    into: Int[Array, "1 *lanes"]
    room: Bool[Array, "1 *lanes"]
    vacant: Int[Array, "1 *lanes"]


class Answered(NamedTuple):
    """A request that was answered: its number (NOBODY if none was), its response time in seconds, whether it is a read."""

    number: Int[Array, "1 *lanes"]
    response: Float[Array, "1 *lanes"]
    read: Bool[Array, "1 *lanes"]


class Report(NamedTuple):
    """What one event did, for the record.

    elapsed: seconds since the event before. admitted, held_up: a request entered; it had waited outside for a slot.
    chose: a drive chose one of `candidates` copies. claimed: it was a read; further: another drive had claimed it too;
    contested: for the first time; twice: both serve it.
    served: the drive whose earlier choice became certain (all False if none), with the parts of that access
    (0 if none was).
    """

    elapsed: Float[Array, "1 *lanes"]
    answered: Answered
    admitted: Bool[Array, "1 *lanes"]
    held_up: Bool[Array, "1 *lanes"]
    chose: Bool[Array, "1 *lanes"]
    candidates: Int[Array, "1 *lanes"]
    claimed: Bool[Array, "1 *lanes"]
    further: Bool[Array, "1 *lanes"]
    contested: Bool[Array, "1 *lanes"]
    twice: Bool[Array, "1 *lanes"]
    served: Bool[Array, "drive *lanes"]
    seek: Float[Array, "1 *lanes"]
    rotation: Float[Array, "1 *lanes"]
    transfer: Float[Array, "1 *lanes"]


def event(scenario: Scenario, incoming: Incoming, state: State) -> tuple[State, Report]:
    """One event. `state.taken` says how many of the incoming requests have entered.

    Arrivals and choices happen in the order of their times; an answer counts for nothing but the record, the next request
    of a closed loop and its slot, so that none is waited for.
    """
    state, answered, admitted, held_up, vacant = enter(scenario, incoming, state)
    which, time = first_min(state.drives.wake)
    first_in_line = admissible(scenario, state, vacant, time)
    # after a long pause time first moves to the arrival, so that what follows is reckoned from there
    pause = admitted & (state.arrived > PAUSE)
    chooses = computed_once(jnp.isfinite(time) & ~first_in_line & ~pause)
    elapsed = computed_once(jnp.where(pause, state.arrived, jnp.where(chooses, time, 0.0)))
    state = elapse(scenario, state, elapsed)
    chooser = (rows(scenario.system.drives, time) == which) & chooses
    served = chooser & state.drives.planned
    certain = some(served)
    past = [jnp.where(certain, pick(part, which), 0.0) for part in state.drives.plan[:3]]
    state = settle(state, served)
    state, choice = choose(scenario, state, which, chooser)
    return state, Report(
        elapsed=elapsed,
        answered=answered,
        admitted=admitted,
        held_up=held_up,
        served=served,
        seek=past[0],
        rotation=past[1],
        transfer=past[2],
        **choice,
    )


def next_request(scenario: Scenario, state: State) -> Next:
    """The next arrival and the earliest answer; in a closed loop the one is the other."""
    slots = state.slots
    leaving, answer = first_min(slots.answer)
    arrival = scenario.arrivals.next_arrival(state.arrived + state.gap, answer)
    leaves = scenario.arrivals.leaves(jnp.isfinite(arrival), jnp.zeros_like(arrival, bool))
    behind = scenario.system.dispatch.left_behind(state.dispatch, slots.waiting)
    stays = jnp.where(slots.read, behind, slots.waiting)
    at = (rows(slots.born.shape[0], slots.born) == leaving) & leaves
    free = jnp.where(at, stays == 0, slots.answered & (slots.waiting == 0))
    into, room = first_true(free)
    return Next(arrival, answer, leaving, into, room, count(free))


def admissible(scenario: Scenario, state: State, vacant: Array, choice: Array) -> Bool[Array, "1 *lanes"]:
    """Whether yet another request is due before a choice at that time, and finds a slot: one of the `vacant`, or the one
    that its predecessor in a closed loop leaves."""
    slots = state.slots
    leaving, answer = first_min(slots.answer)
    arrival = scenario.arrivals.next_arrival(state.arrived + state.gap, answer)
    leaves = scenario.arrivals.leaves(jnp.isfinite(arrival), jnp.zeros_like(arrival, bool))
    behind = scenario.system.dispatch.left_behind(state.dispatch, slots.waiting)
    stays = pick(jnp.where(slots.read, behind, slots.waiting), leaving)
    return scenario.arrivals.precedes(arrival, choice) & ((vacant > 0) | (leaves & (stays == 0)))


def enter(scenario: Scenario, incoming: Incoming, state: State):
    """The earliest answer leaves and the next request enters, each if it is due before a drive chooses.

    Returns the state, what was answered, whether a request was admitted, whether it had been held up for want of a slot,
    and how many slots are vacant after it.
    """
    system, arrivals, slots, drives = scenario.system, scenario.arrivals, state.slots, state.drives
    coming = next_request(scenario, state)
    horizon = least(drives.wake)
    admitted = arrivals.precedes(coming.arrival, horizon) & jnp.isfinite(coming.arrival) & coming.room
    admitted = computed_once(admitted)
    leaves = arrivals.leaves(admitted, (coming.answer <= horizon) & jnp.isfinite(coming.answer))

    row = rows(system.slots, slots.born)
    gone = (row == coming.leaving) & leaves
    number = jnp.where(leaves, pick(slots.number, coming.leaving), NOBODY)
    answered = Answered(number, coming.answer - pick(slots.born, coming.leaving), pick(slots.read, coming.leaving))
    behind = system.dispatch.left_behind(state.dispatch, slots.waiting)
    waiting = jnp.where(gone & slots.read, behind, slots.waiting)

    request, target, gap = pick_tree(incoming, state.taken)
    into = (row == coming.into) & admitted
    copies = jnp.asarray(system.placement.drives)
    holders = system.placement.holders()
    queues = Waiting(waiting, drives.planned & (drives.plan.finish > 0))
    asked, routed = system.dispatch.route(state.dispatch, request, admitted, holders, copies, queues)
    asked = jnp.where(request.read, asked, holders)
    receiving = (request.receiving % copies.astype(jnp.uint32)).astype(jnp.int32)
    answer = jnp.where(request.read, jnp.inf, system.completion.on_arrival(coming.arrival))
    slots = slots._replace(
        number=jnp.where(into, request.number, slots.number),
        target=where_tree(into, target, slots.target),
        read=jnp.where(into, request.read, slots.read),
        receiving=jnp.where(into, receiving, slots.receiving),
        born=jnp.where(into, coming.arrival, slots.born),
        waiting=jnp.where(into, asked, waiting),
        answer=jnp.where(into, answer, jnp.where(gone, jnp.inf, slots.answer)),
        answered=jnp.where(into, False, slots.answered | gone),
        latest=jnp.where(into, -jnp.inf, slots.latest),
    )
    asked_of = (jnp.right_shift(asked, rows(system.drives, slots.born).astype(jnp.uint32)) & 1) == 1
    woken = drives.idle & asked_of & admitted
    at_arrival = jnp.minimum(drives.wake, jnp.maximum(coming.arrival, 0.0))
    return (
        state._replace(
            slots=slots,
            drives=drives._replace(wake=jnp.where(woken, at_arrival, drives.wake)),
            arrived=jnp.where(admitted, coming.arrival, state.arrived),
            gap=jnp.where(admitted, gap, state.gap),
            taken=state.taken + admitted,
            dispatch=system.dispatch.admit(routed, into, request),
        ),
        answered,
        admitted,
        admitted & (coming.arrival < 0),
        coming.vacant - admitted,
    )


def elapse(scenario: Scenario, state: State, time: Float[Array, "1 *lanes"]) -> State:
    """The state `time` seconds later."""
    drives = state.drives
    phase = drives.phase + scenario.system.drive.drift(time)
    return state._replace(
        slots=state.slots.elapse(time),
        drives=drives._replace(
            wake=drives.wake - time,
            phase=phase - jnp.floor(phase),
            free=drives.free - time,
            plan=drives.plan._replace(finish=drives.plan.finish - time),
        ),
        arrived=state.arrived - time,
        dispatch=scenario.system.dispatch.elapse(state.dispatch, time),
    )


def settle(state: State, served: Bool[Array, "drive *lanes"]) -> State:
    """The plan of the drive marked in `served` can no longer be taken away: it is what the drive does next."""
    drives = state.drives
    return state._replace(
        drives=drives._replace(
            free=jnp.where(served, drives.plan.finish, drives.free),
            arm=where_tree(served, drives.plan.end, drives.arm),
        )
    )


def choose(scenario: Scenario, state: State, which: Array, chooser: Bool[Array, "drive *lanes"]):
    """Drive `which` chooses a copy, claims it if it is a read, and plans the access; or goes to sleep.

    Returns the state and the fields of the report that tell of the choice.
    """
    system, slots, drives = scenario.system, state.slots, state.drives
    chooses = some(chooser)
    start = jnp.maximum(pick(drives.free, which), system.dispatch.lead)
    start = computed_once(start)
    angle = pick(drives.phase, which) + system.drive.turns(start)
    arm = pick_tree(drives.arm, which)
    queued = (slots.waiting & bit(which)) != 0
    choosable_from = system.dispatch.choosable_from(state.dispatch, slots.born, slots.receiving, which)
    choosable_from = jnp.where(queued, choosable_from, jnp.inf)
    # an idle drive wakes for a copy within a rounding of the moment from which it may choose it
    candidate = choosable_from <= INSTANT

    choice = Choice(system.drive, which, arm, angle, slots.target, slots.read, slots.born)
    cost = jnp.where(candidate, system.schedule.cost(state.schedule, choice), jnp.inf)
    slot, lowest = first_min(cost)
    found = jnp.isfinite(lowest) & chooses
    target: Target = pick_tree(slots.target, slot)
    read = computed_once(pick(slots.read, slot))
    found = computed_once(found)
    positioning = system.drive.positioning(arm, angle, target, read)
    positioning = computed_once(positioning)
    finish = computed_once(start + positioning.total + target.transfer)

    claim = Claim(slot, which, found & read, positioning.total, start)
    verdict, claims = system.dispatch.claim(state.dispatch, claim)
    verdict = computed_once(verdict)
    kept = computed_once(found & (verdict.kept | ~read))
    gives_up = found & ~kept
    rival = (rows(system.drives, start) == verdict.rival) & verdict.rival_yields
    # whoever loses has heard that the read is taken, so that it leaves the loser's queue
    taken_from = bit(which) | jnp.where(verdict.rival_yields, bit(verdict.rival), jnp.uint32(0))
    slots = serve(scenario, state, slot, found, kept, finish, taken_from, verdict.rival_yields, which)

    again = jnp.maximum(finish - system.dispatch.lead, start)
    idle_until = least(choosable_from)
    wake = jnp.where(kept, again, jnp.where(gives_up, verdict.retry, jnp.where(found, jnp.inf, idle_until)))
    planner = chooser & kept
    plan = Plan(positioning.seek, positioning.rotation, target.transfer, finish, target.end)
    drives = drives._replace(
        wake=jnp.where(rival, verdict.rival_retry, jnp.where(chooser, wake, drives.wake)),
        plan=where_tree(planner, plan, drives.plan),
        planned=jnp.where(chooser, kept, drives.planned) & ~rival,
        idle=jnp.where(chooser, ~found, drives.idle),
    )
    distance = jnp.where(kept, target.cylinder - arm.cylinder, 0)
    schedule = system.schedule.after(state.schedule, planner, distance)
    told = {
        "chose": found,
        "candidates": jnp.where(found, count(cost < jnp.inf), 0),
        "claimed": claim.made,
        "further": verdict.contested,
        "contested": verdict.first_contest,
        "twice": verdict.contested & verdict.kept & ~verdict.rival_yields,
    }
    return state._replace(slots=slots, drives=drives, dispatch=claims, schedule=schedule), told


def serve(scenario: Scenario, state: State, slot, found, kept, finish, taken_from, replaces, which):
    """The slots once a copy is to be served until `finish`, or given up: it leaves queues, and the answer may be known."""
    slots = state.slots
    at = (rows(scenario.system.slots, slots.born) == slot) & found
    keeps = at & kept
    waiting = jnp.where(at, slots.waiting & ~taken_from, slots.waiting)
    latest = jnp.where(keeps, jnp.maximum(slots.latest, finish), slots.latest)
    before = pick(slots.answer, slot)
    written = scenario.system.completion.on_copy(
        before,
        finish,
        pick(latest, slot),
        pick(waiting, slot) == 0,
        pick(slots.receiving, slot) == which,
    )
    # a read that another brick serves too is answered by the earlier, one taken over from it by this one
    answered_by = jnp.where(replaces, finish, jnp.minimum(before, finish))
    answer = jnp.where(pick(slots.read, slot), answered_by, written)
    answer = computed_once(answer)
    return slots._replace(
        waiting=waiting,
        latest=latest,
        answer=jnp.where(keeps & ~slots.answered, answer, slots.answer),
    )
