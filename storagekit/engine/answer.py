"""When a request is answered: which parts it waits for, and what that means as parts are taken, end, or are lost.

An answer is known before its time wherever nobody can overtake those who serve it: of parts that are all needed, or of
which the rest is withdrawn, the last to end decides, and of several of which one is needed the first. Where more may run than
the several that are needed, ends are counted, unless claims say when they come (`Verdict.answer`).
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, UInt32

from storagekit.arrays import AnyArray
from storagekit.engine.state import State
from storagekit.engine.system import Scenario
from storagekit.lanes import INSTANT, count, held, least, lowest, mask_of, nth_least, pick, pick_tree, rows
from storagekit.moments import Rule
from storagekit.workload import Requests


class Underway(NamedTuple):
    """Accesses planned or under way, on bricks that are alive, of the parts that each request's answer waits for: seconds
    until the first and until the last of them ends (inf and -inf where there is none), and how many they are."""

    first: Float[Array, "slot *lanes"]
    last: Float[Array, "slot *lanes"]
    count: Int[Array, "slot *lanes"]


def size(mask: UInt32[Array, "*row"]) -> Int[Array, "*row"]:
    """How many parts a mask has."""
    return jax.lax.population_count(mask).astype(jnp.int32)


def rule_of(
    scenario: Scenario,
    request: Requests,
    place: Any,
    asked: UInt32[Array, "1 *lanes"],
    receiving: Int[Array, "1 *lanes"],
) -> Rule:
    """What the answer to a request that waits at the parts `asked` waits for."""
    readable = scenario.system.placement.needed_of(place)
    written = scenario.system.write.rule(asked, receiving, readable)
    read = request.read
    return Rule(jnp.where(read, asked, written.counted), jnp.where(read, readable, written.needed))


def enough_of(
    scenario: Scenario, some: UInt32[Array, "*row"], parts: UInt32[Array, "*row"], needed: Int[AnyArray, "*#row"]
) -> UInt32[Array, "*row"]:
    """Those parts, and if the data needs more of `parts` than these, those whose numbers come next, around from the last."""
    system = scenario.system
    if not system.placement.needs_several:
        return some
    every = mask_of(system.placement.parts)
    last = (jnp.asarray(system.placement.parts) - 1).astype(jnp.uint32)
    ahead = some
    for _ in range(system.drives - 1):
        ahead = (jnp.left_shift(ahead, 1) | jnp.right_shift(ahead, last)) & every
        further = lowest(ahead & parts & ~some)
        some = jnp.where(size(some) < needed, some | further, some)
    return some


def overtaken(scenario: Scenario, rule: Rule, read: Bool[Array, "*row"]) -> Bool[Array, "*row"]:
    """Whether more parts may run than the several that are needed, so that nobody knows beforehand which end first."""
    if not scenario.system.placement.needs_several:
        return jnp.zeros_like(read)
    system = scenario.system
    withdrawn = read & jnp.asarray(system.dispatch.withdraws) & jnp.asarray(system.claims.certain)
    return (rule.needed > 1) & (rule.needed < size(rule.counted)) & ~withdrawn


class Part(NamedTuple):
    """A part that a drive is to serve. waiting: the parts at which its request waits besides. last: when the last of those
    that are taken ends. answer: when it is answered as far as is known. counts: the answer waits for this part.
    finish: when it ends. replaces: it takes the place of one that another drive had taken; lost: when that would have ended;
    others: when the first of the drives that still serve the request ends, inf without such."""

    rule: Rule
    read: Bool[Array, "1 *lanes"]
    waiting: UInt32[Array, "1 *lanes"]
    last: Float[Array, "1 *lanes"]
    answer: Float[Array, "1 *lanes"]
    counts: Bool[Array, "1 *lanes"]
    finish: Float[Array, "1 *lanes"]
    replaces: Bool[Array, "1 *lanes"]
    lost: Float[Array, "1 *lanes"]
    others: Float[Array, "1 *lanes"]


def when_taken(scenario: Scenario, part: Part) -> Float[Array, "1 *lanes"]:
    """When a request is answered, inf while not known, now that a drive is to serve one of its parts."""
    taken, needed = size(part.rule.counted & ~part.waiting), part.rule.needed
    # of more than are needed the first decide: one is needed, or ends are counted. One that gives up decided nothing if
    # another, which heard of no better claim, was to end before it
    stays = ~part.replaces | (part.answer < part.lost - INSTANT)
    sooner = jnp.minimum(jnp.where(stays, part.answer, part.others), part.finish)
    answer = jnp.where(taken > needed, sooner, jnp.where(taken == needed, part.last, part.answer))
    return jnp.where(part.counts & ~overtaken(scenario, part.rule, part.read), answer, part.answer)


def still_serving(
    state: State, slot: Int[Array, "1 *lanes"], gives_up: Int[Array, "1 *lanes"]
) -> tuple[Float[Array, "1 *lanes"], Float[Array, "1 *lanes"]]:
    """When the access ends that drive `gives_up` has planned, and when the first of those of other drives on the request in a
    slot does, inf without such; seconds from now.

    What a drive serves that has chosen its next is left out: it ends within a lead, sooner than what is given up would.
    """
    drives = state.drives
    number = pick(state.slots.number, slot)
    its = drives.planned & (drives.plan.slot == slot) & (drives.plan.number == number)
    its = its & (rows(its.shape[0], drives.free) != gives_up)
    return pick(drives.plan.finish, gives_up), least(jnp.where(its, drives.plan.finish, jnp.inf))


def count_end(scenario: Scenario, state: State, which: Int[Array, "1 *lanes"], made: Bool[Array, "1 *lanes"]) -> State:
    """The access of drive `which` is over, in lanes in which one is `made`: where ends are counted, it counts."""
    slots = state.slots
    if slots.ended is None:
        return state
    plan = state.drives.plan
    slot = pick(plan.slot, which)
    place, rule, waiting, number = pick_tree((slots.place, slots.rule, slots.waiting, slots.number), slot)
    part = scenario.system.placement.part_on(which, place)
    # a part that waits is asked for again, because a brick had stopped
    counted = rule.counted & ~waiting
    counts = made & (number == pick(plan.number, which)) & held(counted, part)
    at = (rows(slots.born.shape[0], slots.born) == slot) & counts
    ended = slots.ended + at
    before = pick(slots.answer, slot)
    if state.drives.last is None:
        end = jnp.where(jnp.isinf(before), pick(state.drives.free, which), before)
    else:
        end = _end_of_enough(scenario, state, number, place, counted, rule.needed, pick(ended, slot))
    due = (rule.needed > 1) & (pick(ended, slot) >= rule.needed) & jnp.isfinite(end)
    answer = jnp.where(at & due & ~slots.answered, end, slots.answer)
    return state._replace(slots=slots._replace(ended=ended, answer=answer))


def _end_of_enough(
    scenario: Scenario,
    state: State,
    number: Int[Array, "1 *lanes"],
    place: Any,
    counted: UInt32[Array, "1 *lanes"],
    needed: Int[Array, "1 *lanes"],
    ended: Int[Array, "1 *lanes"],
) -> Float[Array, "1 *lanes"]:
    """When as many parts as are needed have ended, of request `number`, which lies at `place`, as far as their drives have
    told; inf where that was long ago.

    A drive that chooses ahead tells of an end before it comes, of a long access sooner than of a short one. ended: those told
    of so far.
    """
    drives = state.drives
    drive = rows(scenario.system.drives, drives.free)
    told = (drives.last == number) & held(counted, scenario.system.placement.part_on(drive, place))
    # the others were over when their drives told of the next
    still = needed - (ended - count(told))
    end = nth_least(jnp.where(told, drives.free, jnp.inf), still)
    return jnp.where(still > 0, end, jnp.inf)


def when_stopped(
    scenario: Scenario,
    state: State,
    rule: Rule,
    waiting: UInt32[Array, "slot *lanes"],
    answer: Float[Array, "slot *lanes"],
    others: Underway,
    now: Float[Array, "1 *lanes"],
) -> Float[Array, "slot *lanes"]:
    """When writes are answered once a brick has stopped, without its parts.

    rule: without these. waiting: the parts still to be written. answer: as known before, inf where it hung on that brick.
    others: what the other bricks do. now: when it stops.
    """
    end = jnp.where(rule.needed == 1, others.first, others.last)
    known = jnp.where(jnp.isfinite(end), jnp.maximum(end, now), now)
    taken = size(rule.counted & ~waiting) >= rule.needed
    return jnp.where(jnp.isinf(answer) & taken & ~overtaken(scenario, rule, state.slots.read), known, answer)
