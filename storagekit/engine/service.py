"""Choosing and serving: what the drive that falls free does next."""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Shaped, UInt32

from storagekit.cache import Sought
from storagekit.dispatch import Claim, Verdict
from storagekit.drive import Positioning, Target
from storagekit.engine.propagation import Access, Offer
from storagekit.engine.state import Plan, Slots, State
from storagekit.engine.system import Scenario
from storagekit.lanes import (
    INSTANT,
    bit,
    computed_once,
    count,
    first_true,
    least,
    pick,
    pick_tree,
    rows,
    some,
    where_tree,
)
from storagekit.placement import nearest_replica, of_copy
from storagekit.schedule import Choice


def settle(state: State, served: Bool[Array, "drive *lanes"]) -> State:
    """The plan of the drive marked in `served` can no longer be taken away: it is what the drive does next."""
    drives = state.drives
    return state._replace(
        drives=drives._replace(
            free=jnp.where(served, drives.plan.finish, drives.free),
            arm=where_tree(served, drives.plan.end, drives.arm),
        )
    )


def finish(scenario: Scenario, state: State, which: Int[Array, "1 *lanes"], certain: Bool[Array, "1 *lanes"]) -> State:
    """The access of drive `which` is over: whoever has copies left to write wakes the drives that hold them.

    A write with nothing left is answered at the latest now: the copy that it waited for may have been superseded, or two
    drives may have written the last two at once.
    """
    system, slots, drives = scenario.system, state.slots, state.drives
    slot, number, replica = (pick(part, which) for part in (drives.plan.slot, drives.plan.number, drives.plan.replica))
    home = pick(slots.home, slot)
    written = certain & (pick(slots.number, slot) == number) & ~pick(slots.read, slot)
    access = computed_once(Access(slot, system.placement.copy_on(which, home), replica, written))
    propagation, left = system.propagation.done(state.propagation, access, system.placement)
    copies = system.placement.copy_on(rows(system.drives, drives.wake), home)
    to_write = of_copy(left, copies, system.placement) != 0
    woken = drives.idle & to_write
    complete = system.propagation.keeps(state.propagation, slots.read) & ~system.propagation.keeps(
        propagation, slots.read
    )
    # a write that was claimed is served once, wherever else it waited
    claimed = (rows(system.slots, slots.born) == slot) & written & system.propagation.claims_writes
    return state._replace(
        slots=slots._replace(
            waiting=jnp.where(claimed, jnp.uint32(0), slots.waiting),
            answer=jnp.where(complete & ~slots.answered & jnp.isinf(slots.answer), 0.0, slots.answer),
        ),
        propagation=propagation,
        drives=drives._replace(wake=jnp.where(woken, jnp.minimum(drives.wake, 0.0), drives.wake)),
    )


class Best(NamedTuple):
    """The copy that a drive would take next, seconds from now: of which request, where, and how long it takes.

    found: there is one. late: a copy that a write left for later. start, finish: of the access. idle_until: where nothing
    is found, when something will be. candidates: copies there were to choose from.
    """

    found: Bool[Array, "1 *lanes"]
    slot: Int[Array, "1 *lanes"]
    copy: Int[Array, "1 *lanes"]
    replica: Int[Array, "1 *lanes"]
    read: Bool[Array, "1 *lanes"]
    late: Bool[Array, "1 *lanes"]
    target: Target
    positioning: Positioning
    transfer: Float[Array, "1 *lanes"]
    start: Float[Array, "1 *lanes"]
    finish: Float[Array, "1 *lanes"]
    idle_until: Float[Array, "1 *lanes"]
    candidates: Int[Array, "1 *lanes"]


def choose(
    scenario: Scenario, state: State, which: Int[Array, "1 *lanes"], chooser: Bool[Array, "drive *lanes"]
) -> tuple[State, dict[str, Shaped[Array, "1 *lanes"]]]:
    """Drive `which` chooses a copy, claims it if it is one of many, and plans the access; or goes to sleep.

    Returns the state and the fields of the report that tell of the choice.
    """
    system, slots, drives = scenario.system, state.slots, state.drives
    best = best_copy(scenario, state, which, some(chooser))
    shared = system.propagation.shared(best.read, best.late)
    claim = Claim(best.slot, best.copy, best.found & shared, best.positioning.total, best.start)
    verdict, claims = system.dispatch.claim(state.dispatch, claim)
    verdict = computed_once(verdict)
    kept = computed_once(best.found & (verdict.kept | ~shared))
    gives_up = best.found & ~kept
    home = pick(slots.home, best.slot)
    rival = rows(system.drives, best.start) == system.placement.drive_of(verdict.rival, home)
    rival = rival & verdict.rival_yields
    withdrawn = jnp.where(claim.made, verdict.withdrawn, bit(best.copy))

    again = jnp.maximum(best.finish - system.dispatch.lead, best.start)
    asleep = jnp.where(best.found, jnp.inf, best.idle_until)
    wake = jnp.where(kept, again, jnp.where(gives_up, verdict.retry, asleep))
    planner = chooser & kept
    place = system.placement.replica(system.drive, best.target, best.copy, best.replica)
    number = pick(slots.number, best.slot)
    plan = Plan(*best.positioning, best.transfer, best.finish, place.end, number, best.slot, best.replica)
    distance = jnp.where(kept, best.target.cylinder - pick(drives.arm.cylinder, which), 0)
    told = _told(best, claim, verdict)
    generation = system.condition.generation(state.condition)
    sought = Sought(system.placement, bit(best.copy), best.copy, home, generation)
    state = state._replace(
        slots=serve(scenario, state, best, kept, withdrawn, verdict.rival_yields),
        drives=drives._replace(
            wake=jnp.where(rival, verdict.rival_retry, jnp.where(chooser, wake, drives.wake)),
            plan=where_tree(planner, plan, drives.plan),
            planned=jnp.where(chooser, kept, drives.planned) & ~rival,
            idle=jnp.where(chooser, ~best.found, drives.idle),
        ),
        dispatch=claims,
        cache=system.cache.read_in(state.cache, best.slot, kept & best.read, sought),
        schedule=system.schedule.after(state.schedule, planner, distance),
    )
    return state, told


def _told(best: Best, claim: Claim, verdict: Verdict) -> dict[str, Bool[Array, "1 *lanes"] | Int[Array, "1 *lanes"]]:
    """The fields of the report that tell of a choice."""
    return {
        "chose": best.found,
        "candidates": best.candidates,
        "claimed": claim.made,
        "further": verdict.contested,
        "contested": verdict.first_contest,
        "twice": verdict.contested & verdict.kept & ~verdict.rival_yields,
    }


def _cheapest(cost: Float[Array, "slot *lanes"]) -> tuple[Int[Array, "1 *lanes"], Float[Array, "1 *lanes"]]:
    """The first slot of least cost, and that cost.

    Costs are equal where two requests lie at one angle; rounding must not choose between them.
    """
    lowest = least(cost)
    slot, _ = first_true(cost <= lowest + INSTANT)
    return jnp.minimum(slot, cost.shape[0] - 1), lowest


def best_copy(
    scenario: Scenario, state: State, which: Int[Array, "1 *lanes"], chooses: Bool[Array, "1 *lanes"]
) -> Best:
    """What the scheduler of drive `which` takes next, in lanes in which it `chooses`."""
    system, slots, drives = scenario.system, state.slots, state.drives
    placement = system.placement
    mechanics = system.condition.now(state.condition, system.drive, which)
    start = computed_once(jnp.maximum(pick(drives.free, which), system.dispatch.lead))
    angle = pick(drives.phase, which) + mechanics.turns(start)
    arm = pick_tree(drives.arm, which)
    copies = placement.copy_on(which, slots.home)
    offer = system.propagation.offer(state.propagation, slots.waiting, copies, placement)
    candidate, choosable_from = candidates(scenario, state, offer, copies)
    places = system.drive.seen(slots.target, which)
    choice = Choice(
        system.drive, mechanics, placement, which, arm, angle, places, slots.read, slots.born, copies, offer.usable
    )
    cost = jnp.where(candidate, system.schedule.cost(state.schedule, choice), jnp.inf)
    slot, lowest = _cheapest(cost)
    found = computed_once(jnp.isfinite(lowest) & chooses)
    target: Target = pick_tree(places, slot)
    read, copy = computed_once((pick(slots.read, slot), placement.copy_on(which, pick(slots.home, slot))))
    usable = None if offer.usable is None else pick(offer.usable, slot)
    reach = nearest_replica(placement, system.drive, mechanics, arm, angle, target, read, copy, usable)
    positioning, replica = computed_once(reach)
    transfer = mechanics.transfer(target) + jnp.where(read, 0.0, system.propagation.sweep(placement, mechanics))
    return Best(
        found=found,
        slot=slot,
        copy=copy,
        replica=replica,
        read=read,
        late=jnp.zeros_like(read) if offer.delayed is None else pick(offer.delayed, slot),
        target=target,
        positioning=positioning,
        transfer=transfer,
        start=start,
        finish=computed_once(start + positioning.total + transfer),
        idle_until=least(choosable_from),
        candidates=jnp.where(found, count(cost < jnp.inf), 0),
    )


def candidates(
    scenario: Scenario, state: State, offer: Offer, copies: Int[Array, "slot *lanes"]
) -> tuple[Bool[Array, "slot *lanes"], Float[Array, "slot *lanes"]]:
    """The requests that a drive may choose now, and from when on it may choose each (inf: not before something happens).

    A copy left for later is a candidate where there is no other.
    """
    slots = state.slots
    choosable_from = scenario.system.dispatch.choosable_from(state.dispatch, slots.sent, slots.receiving, copies)
    if offer.delayed is not None:
        choosable_from = jnp.where(offer.delayed, 0.0, choosable_from)
    choosable_from = jnp.where(offer.waits, choosable_from, jnp.inf)
    # an idle drive wakes for a copy within a rounding of the moment from which it may choose it
    candidate = choosable_from <= INSTANT
    if offer.patient is not None:
        candidate = candidate & ~(offer.patient & some(candidate & ~offer.patient))
    return candidate, choosable_from


def serve(
    scenario: Scenario,
    state: State,
    best: Best,
    kept: Bool[Array, "1 *lanes"],
    withdrawn: UInt32[Array, "1 *lanes"],
    replaces: Bool[Array, "1 *lanes"],
) -> Slots:
    """The slots once a copy is to be served, or given up: it leaves queues, and the answer may be known."""
    slots, slot = state.slots, best.slot
    at = (rows(scenario.system.slots, slots.born) == slot) & best.found
    keeps = at & kept
    waiting = jnp.where(at, slots.waiting & ~withdrawn, slots.waiting)
    latest = jnp.where(keeps, jnp.maximum(slots.latest, best.finish), slots.latest)
    before = pick(slots.answer, slot)
    written = scenario.system.completion.on_copy(
        before,
        best.finish,
        pick(latest, slot),
        scenario.system.propagation.last(state.propagation, slot, pick(waiting, slot)),
        pick(slots.receiving, slot) == best.copy,
    )
    # copies left for later do not put off an answer that is known
    written = jnp.minimum(before, written)
    # a read that another brick serves too is answered by the earlier, one taken over from it by this one
    answered_by = jnp.where(replaces, best.finish, jnp.minimum(before, best.finish))
    answer = computed_once(jnp.where(best.read, answered_by, written))
    return slots._replace(
        waiting=waiting,
        latest=latest,
        answer=jnp.where(keeps & ~slots.answered, answer, slots.answer),
    )
