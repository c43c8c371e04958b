"""Choosing and serving: what the drive that falls free does next."""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Shaped

from storagekit.claims import Claim, Verdict
from storagekit.drive import Positioning, Target
from storagekit.engine.answer import Part, count_end, size, when_taken
from storagekit.engine.state import Plan, Slots, State, mechanics, tell
from storagekit.engine.system import Scenario
from storagekit.lanes import (
    INSTANT,
    bit,
    count,
    first_true,
    held,
    least,
    pick,
    pick_tree,
    rows,
    some,
    where_tree,
)
from storagekit.moments import Ended, Taken
from storagekit.placement import nearest_replica, of_part
from storagekit.schedule import Choice
from storagekit.write import Offer


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
    """The access of drive `which` is over: whoever has replicas left to write wakes the drives that hold them.

    A write that one drive took for all is served once, wherever else it waited.
    """
    system, slots, drives = scenario.system, state.slots, state.drives
    placement = system.placement
    slot, number, replica = (pick(part, which) for part in (drives.plan.slot, drives.plan.number, drives.plan.replica))
    place = pick_tree(slots.place, slot)
    written = certain & (pick(slots.number, slot) == number) & ~pick(slots.read, slot)
    part = placement.part_on(which, place)
    state = tell(scenario, state, "ended", Ended(slot, number, part, replica, placement, certain, written))
    state = count_end(scenario, state, which, certain)
    if not system.write.delays:
        return state
    left = jnp.where(written, system.write.left(state.write, slot), jnp.uint32(0))
    to_write = of_part(left, placement.part_on(rows(system.drives, drives.wake), place), placement) != 0
    taken = (rows(system.slots, slots.born) == slot) & written
    return state._replace(
        slots=state.slots._replace(waiting=jnp.where(taken, jnp.uint32(0), state.slots.waiting)),
        drives=drives._replace(wake=jnp.where(drives.idle & to_write, jnp.minimum(drives.wake, 0.0), drives.wake)),
    )


class Best(NamedTuple):
    """The part that a drive would take next, seconds from now: of which request, where, and how long it takes.

    found: there is one. late: one that a write left for later. start, finish: of the access. idle_until: where nothing
    is found, when something will be. candidates: parts there were to choose from.
    """

    found: Bool[Array, "1 *lanes"]
    slot: Int[Array, "1 *lanes"]
    part: Int[Array, "1 *lanes"]
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
    """Drive `which` chooses a part, claims it if it is one of many, and plans the access; or goes to sleep.

    Returns the state and the fields of the report that tell of the choice.
    """
    system, slots, drives = scenario.system, state.slots, state.drives
    best = best_part(scenario, state, which, some(chooser))
    shared = best.read | system.write.delays & ~best.late
    claim = Claim(best.slot, best.part, best.found & shared, best.positioning.total, best.start)
    verdict, claims = system.claims.claim(state.claims, claim)
    kept = best.found & (verdict.kept | ~shared)
    gives_up = best.found & ~kept
    place = pick_tree(slots.place, best.slot)
    rival = rows(system.drives, best.start) == system.placement.drive_of(verdict.rival, place)
    rival = rival & verdict.rival_yields

    again = jnp.maximum(best.finish - system.claims.lead, best.start)
    asleep = jnp.where(best.found, jnp.inf, best.idle_until)
    wake = jnp.where(kept, again, jnp.where(gives_up, verdict.retry, asleep))
    planner = chooser & kept
    goal = system.placement.replica(system.drive, best.target, best.part, best.replica)
    number = pick(slots.number, best.slot)
    plan = Plan(*best.positioning, best.transfer, best.finish, goal.end, number, best.slot, best.replica)
    distance = jnp.where(kept, best.target.cylinder - pick(drives.arm.cylinder, which), 0)
    state = state._replace(
        slots=serve(scenario, state, best, kept, claim.made, verdict),
        drives=drives._replace(
            wake=jnp.where(rival, verdict.rival_retry, jnp.where(chooser, wake, drives.wake)),
            plan=where_tree(planner, plan, drives.plan),
            planned=jnp.where(chooser, kept, drives.planned) & ~rival,
            idle=jnp.where(chooser, ~best.found, drives.idle),
        ),
        claims=claims,
    )
    taken = Taken(best.slot, best.part, place, system.placement, best.read, kept, planner, distance)
    return tell(scenario, state, "taken", taken), _told(scenario, slots, best, claim, verdict)


def _told(
    scenario: Scenario, slots: Slots, best: Best, claim: Claim, verdict: Verdict
) -> dict[str, Bool[Array, "1 *lanes"] | Int[Array, "1 *lanes"]]:
    """The fields of the report that tell of a choice. slots: before it."""
    twice = verdict.contested & verdict.kept & ~verdict.rival_yields
    if scenario.system.dispatch.withdraws_late:
        rule, waiting = pick_tree((slots.rule, slots.waiting), best.slot)
        twice = twice | (claim.made & best.read & (size(rule.counted & ~waiting) >= rule.needed))
    return {
        "chose": best.found,
        "candidates": best.candidates,
        "claimed": claim.made,
        "further": verdict.contested,
        "contested": verdict.first_contest,
        "twice": twice,
    }


def _cheapest(cost: Float[Array, "slot *lanes"]) -> tuple[Int[Array, "1 *lanes"], Float[Array, "1 *lanes"]]:
    """The first slot of least cost, and that cost.

    Costs are equal where two requests lie at one angle; rounding must not choose between them.
    """
    lowest = least(cost)
    slot, _ = first_true(cost <= lowest + INSTANT)
    return jnp.minimum(slot, cost.shape[0] - 1), lowest


def best_part(
    scenario: Scenario, state: State, which: Int[Array, "1 *lanes"], chooses: Bool[Array, "1 *lanes"]
) -> Best:
    """What the scheduler of drive `which` takes next, in lanes in which it `chooses`."""
    system, slots, drives = scenario.system, state.slots, state.drives
    placement = system.placement
    as_now = mechanics(scenario, state, which)
    start = jnp.maximum(pick(drives.free, which), system.claims.lead)
    angle = pick(drives.phase, which) + as_now.turns(start)
    arm = pick_tree(drives.arm, which)
    parts = placement.part_on(which, slots.place)
    handed = system.queue.handed(state.queue, slots.waiting)
    offer = system.write.offer(state.write, handed, parts, placement)
    candidate, choosable_from = candidates(scenario, state, offer, parts)
    targets = system.drive.seen(placement.target_on(parts, slots.place), which)
    choice = Choice(
        system.drive, as_now, placement, which, arm, angle, targets, slots.read, slots.born, parts, offer.usable
    )
    cost = jnp.where(candidate, system.schedule.cost(state.schedule, choice), jnp.inf)
    slot, lowest = _cheapest(cost)
    found = jnp.isfinite(lowest) & chooses
    place = pick_tree(slots.place, slot)
    read, part = pick(slots.read, slot), placement.part_on(which, place)
    # of the one alone, because where it ends may have to be computed
    target = system.drive.seen(placement.target_on(part, place), which)
    usable = None if offer.usable is None else pick(offer.usable, slot)
    positioning, replica = nearest_replica(placement, system.drive, as_now, arm, angle, target, read, part, usable)
    transfer = as_now.transfer(target) + jnp.where(read, 0.0, system.write.sweep(placement, as_now))
    return Best(
        found=found,
        slot=slot,
        part=part,
        replica=replica,
        read=read,
        late=jnp.zeros_like(read) if offer.delayed is None else pick(offer.delayed, slot),
        target=target,
        positioning=positioning,
        transfer=transfer,
        start=start,
        finish=start + positioning.total + transfer,
        idle_until=least(choosable_from),
        candidates=jnp.where(found, count(cost < jnp.inf), 0),
    )


def candidates(
    scenario: Scenario, state: State, offer: Offer, parts: Int[Array, "slot *lanes"]
) -> tuple[Bool[Array, "slot *lanes"], Float[Array, "slot *lanes"]]:
    """The requests that a drive may choose now, and from when on it may choose each (inf: not before something happens).

    A part left for later is a candidate where there is no other.
    """
    system, slots = scenario.system, state.slots
    asked = jnp.where(slots.read, system.dispatch.asked_from(state.dispatch, slots.sent, parts), slots.sent)
    choosable_from = system.claims.choosable_from(state.claims, asked, slots.receiving, parts)
    if offer.delayed is not None:
        choosable_from = jnp.where(offer.delayed, 0.0, choosable_from)
    choosable_from = jnp.where(offer.waits, choosable_from, jnp.inf)
    # an idle drive wakes for a part within a rounding of the moment from which it may choose it
    candidate = choosable_from <= INSTANT
    if offer.patient is not None:
        candidate = candidate & ~(offer.patient & some(candidate & ~offer.patient))
    return candidate, choosable_from


def serve(
    scenario: Scenario,
    state: State,
    best: Best,
    kept: Bool[Array, "1 *lanes"],
    claimed: Bool[Array, "1 *lanes"],
    verdict: Verdict,
) -> Slots:
    """The slots once a part is to be served, or given up: it leaves queues, and the answer may be known.

    claimed: it was a claim, of which the verdict says who hears of it.
    """
    slots, slot = state.slots, best.slot
    at = (rows(scenario.system.slots, slots.born) == slot) & best.found
    rule, before, queued = pick_tree((slots.rule, slots.answer, slots.waiting), slot)
    rest = queued & ~bit(best.part)
    enough = claimed & (size(rule.counted & ~rest) >= rule.needed)
    if scenario.system.dispatch.withdraws_late:
        enough = enough & (~best.read | scenario.system.dispatch.withdraws)
    waiting = jnp.where(enough, rest & ~verdict.withdrawn, rest)
    counts = kept & held(rule.counted, best.part) & ~best.late
    last = jnp.where(counts, jnp.maximum(pick(slots.latest, slot), best.finish), pick(slots.latest, slot))
    part = Part(rule, best.read, rest, last, before, counts, best.finish, verdict.rival_yields)
    answer = when_taken(scenario, part)
    return slots._replace(
        waiting=jnp.where(at, waiting, slots.waiting),
        latest=jnp.where(at, last, slots.latest),
        answer=jnp.where(at & ~slots.answered, answer, slots.answer),
    )
