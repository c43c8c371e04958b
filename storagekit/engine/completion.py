"""Completion times: the parts that a completion depends on, and the effect of a part that is chosen, ends or is lost.

The completion time is known in advance if no other access can change it. If a request needs all its parts, or if the
parts that it does not need are withdrawn, this time is the end of the last part. If the request needs one of several
parts, this time is the end of the first part. In a third case, a request needs several parts, and more parts than it
needs may be in service. For this request the engine counts the ends of its parts, unless the arbitration determines the
completion time (`Decision.completion`).
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, UInt32

from storagekit.component.events import CompletionRule
from storagekit.core.arrays import AnyArray
from storagekit.core.batching import (
    INSTANT,
    bit_is_set,
    count,
    lowest,
    mask_of,
    min_row,
    nth_least,
    pick,
    pick_tree,
    row_index,
)
from storagekit.engine.state import State
from storagekit.engine.system import Scenario
from storagekit.placement import MOST_PARTS
from storagekit.workload import Requests


class Underway(NamedTuple):
    """Planned and present accesses to the counted parts of each request. Bricks that are down have no accesses.

    Parameters
    ----------
    first, last : array of float32, shape `[slot, *batch]`
        Time in seconds until the first of these accesses ends, and until the last of them ends. Without such an access,
        `first` is inf and `last` is -inf.
    count : array of int32, shape `[slot, *batch]`
        Number of these accesses.
    """

    first: Float[Array, "slot *batch"]
    last: Float[Array, "slot *batch"]
    count: Int[Array, "slot *batch"]


def size(mask: UInt32[Array, "*row"]) -> Int[Array, "*row"]:
    """Return the number of parts in a mask."""
    return jax.lax.population_count(mask).astype(jnp.int32)


def rule_of(
    scenario: Scenario,
    request: Requests,
    location: Any,
    targets: UInt32[Array, "1 *batch"],
    receiving: Int[Array, "1 *batch"],
) -> CompletionRule:
    """Return the condition under which a request completes.

    Parameters
    ----------
    scenario : Scenario
        The scenario.
    request : Requests
        The request, arrays of shape `[1, *batch]`.
    location : pytree of arrays, shape `[1, *batch]`
        Location of the request.
    targets : array of uint32, shape `[1, *batch]`
        Mask of the waiting parts of the request.
    receiving : array of int32, shape `[1, *batch]`
        Part on the brick that received the request.

    Returns
    -------
    CompletionRule
        The condition.
    """
    placement = scenario.system.placement
    readable = placement.needed_of(location)
    written = scenario.system.write.rule(targets, receiving, readable)
    # where some of the parts suffice, they are data, because parity on RAID 5 nodes does not make the data readable
    suffice = written.needed < size(written.counted)
    data = written.counted & ~placement.companions(written.counted, location)
    written = written._replace(counted=jnp.where(suffice, data, written.counted))
    read = request.read
    return CompletionRule(jnp.where(read, targets, written.counted), jnp.where(read, readable, written.needed))


def enough_of(
    scenario: Scenario, some: UInt32[Array, "*row"], parts: UInt32[Array, "*row"], needed: Int[AnyArray, "*#row"]
) -> UInt32[Array, "*row"]:
    """Return enough parts to read the data: the given parts and, if they are too few, further parts.

    Parameters
    ----------
    scenario : Scenario
        The scenario.
    some : array of uint32, shape `[*row]`
        Mask of the given parts.
    parts : array of uint32, shape `[*row]`
        Mask of the parts that may be added. Parts are added in the cyclic order of their numbers.
    needed : array of int32, shape `[*row]`
        Number of parts from which the data can be read.

    Returns
    -------
    array of uint32, shape `[*row]`
        Mask of the parts.
    """
    system = scenario.system
    if not system.placement.needs_several:
        return some
    every = mask_of(system.placement.parts)
    last = (jnp.asarray(system.placement.parts) - 1).astype(jnp.uint32)
    ahead = some
    # a request has at most MOST_PARTS parts, even on more drives
    for _ in range(min(system.drives, MOST_PARTS) - 1):
        # Parts that were passed over stay candidates, because one part is added at a time.
        ahead = (ahead | jnp.left_shift(ahead, 1) | jnp.right_shift(ahead, last)) & every
        further = lowest(ahead & parts & ~some)
        some = jnp.where(size(some) < needed, some | further, some)
    return some


def overtaken(scenario: Scenario, rule: CompletionRule, read: Bool[Array, "*row"]) -> Bool[Array, "*row"]:
    """Return whether it is unknown which parts of a request end first.

    The order is unknown if the request needs several parts, and if more parts than it needs may be in service.

    Parameters
    ----------
    scenario : Scenario
        The scenario.
    rule : CompletionRule
        Conditions under which the requests complete.
    read : array of bool, shape `[*row]`
        Whether each request is a read.

    Returns
    -------
    array of bool, shape `[*row]`
        Whether it is unknown which parts end first.
    """
    if not scenario.system.placement.needs_several:
        return jnp.zeros_like(read)
    system = scenario.system
    withdrawn = read & jnp.asarray(system.dispatch.withdraws) & jnp.asarray(system.arbitration.certain)
    return (rule.needed > 1) & (rule.needed < size(rule.counted)) & ~withdrawn


class Part(NamedTuple):
    """A part that a drive has chosen, and its request. Times are seconds from now.

    Parameters
    ----------
    rule : CompletionRule
        Condition under which the request of the part completes.
    read : array of bool, shape `[1, *batch]`
        Whether the request is a read.
    waiting : array of uint32, shape `[1, *batch]`
        Mask of the other parts of the request that wait.
    last : array of float32, shape `[1, *batch]`
        Latest end of the counted parts of the request that drives have chosen.
    completion : array of float32, shape `[1, *batch]`
        Completion time of the request; inf while it is unknown.
    counts : array of bool, shape `[1, *batch]`
        Whether the completion of the request counts the part.
    finish : array of float32, shape `[1, *batch]`
        Time at which the part ends.
    replaces : array of bool, shape `[1, *batch]`
        Whether the part replaces a part that another drive gives up.
    lost : array of float32, shape `[1, *batch]`
        Time at which the replaced part would have ended.
    others : array of float32, shape `[1, *batch]`
        Earliest time at which another drive ends its access for the same request; inf if no other drive serves it.
    """

    rule: CompletionRule
    read: Bool[Array, "1 *batch"]
    waiting: UInt32[Array, "1 *batch"]
    last: Float[Array, "1 *batch"]
    completion: Float[Array, "1 *batch"]
    counts: Bool[Array, "1 *batch"]
    finish: Float[Array, "1 *batch"]
    replaces: Bool[Array, "1 *batch"]
    lost: Float[Array, "1 *batch"]
    others: Float[Array, "1 *batch"]


def when_taken(scenario: Scenario, part: Part) -> Float[Array, "1 *batch"]:
    """Return the completion time of a request after a drive has chosen one of its parts.

    Parameters
    ----------
    scenario : Scenario
        The scenario.
    part : Part
        The part.

    Returns
    -------
    array of float32, shape `[1, *batch]`
        The time, seconds from now; inf while unknown.
    """
    taken, needed = size(part.rule.counted & ~part.waiting), part.rule.needed
    # If more parts are chosen than needed, the parts that end first determine the completion time: either one part is
    # needed, or ends are counted. If this time is earlier than the end of the part that is given up, another part
    # determined it, and it stays valid.
    stays = ~part.replaces | (part.completion < part.lost - INSTANT)
    sooner = jnp.minimum(jnp.where(stays, part.completion, part.others), part.finish)
    completion = jnp.where(taken > needed, sooner, jnp.where(taken == needed, part.last, part.completion))
    return jnp.where(part.counts & ~overtaken(scenario, part.rule, part.read), completion, part.completion)


def still_serving(
    state: State, slot: Int[Array, "1 *batch"], gives_up: Int[Array, "1 *batch"]
) -> tuple[Float[Array, "1 *batch"], Float[Array, "1 *batch"]]:
    """Return the end of the access that a drive gives up, and the earliest end of other accesses for the same request.

    If a drive has already chosen its next access, its current access is left out of `others`. This does not change the
    completion time. Such a current access ends within `lead_time`. The access that is given up has not begun and therefore
    ends later, if accesses take longer than `lead_time`.

    Parameters
    ----------
    state : State
        The state.
    slot : array of int32, shape `[1, *batch]`
        Slot of the request.
    gives_up : array of int32, shape `[1, *batch]`
        The drive that gives up its access.

    Returns
    -------
    lost, others : array of float32, shape `[1, *batch]`
        End of the access that is given up, and earliest end of the other accesses, both in seconds from now. `others`
        is inf if there is no other access.
    """
    drives = state.drives
    number = pick(state.slots.number, slot)
    its = drives.planned & (drives.plan.slot == slot) & (drives.plan.number == number)
    its = its & (row_index(its.shape[0], drives.free) != gives_up)
    return pick(drives.plan.finish, gives_up), min_row(jnp.where(its, drives.plan.finish, jnp.inf))


def count_end(scenario: Scenario, state: State, drive: Int[Array, "1 *batch"], ended: Bool[Array, "1 *batch"]) -> State:
    """Count the end of an access, if completion times depend on the number of accesses that have ended.

    Parameters
    ----------
    scenario : Scenario
        The scenario.
    state : State
        The state before.
    drive : array of int32, shape `[1, *batch]`
        The drive.
    ended : array of bool, shape `[1, *batch]`
        Whether an access ends.

    Returns
    -------
    State
        The state after.
    """
    slots = state.slots
    if slots.ended is None:
        return state
    plan = state.drives.plan
    slot = pick(plan.slot, drive)
    location, rule, waiting, number = pick_tree((slots.location, slots.rule, slots.waiting, slots.number), slot)
    part = scenario.system.placement.part_on(drive, location)
    # a counted part that waits was sent again because a brick stopped
    counted = rule.counted & ~waiting
    counts = ended & (number == pick(plan.number, drive)) & bit_is_set(counted, part)
    if slots.reads_first is not None:
        # completion depends on the written parts only
        counts = counts & ~pick(slots.reads_first, slot)
    at = (row_index(slots.arrival_time.shape[0], slots.arrival_time) == slot) & counts
    ended_parts = slots.ended + at
    before = pick(slots.completion, slot)
    if state.drives.last is None:
        end = jnp.where(jnp.isinf(before), pick(state.drives.free, drive), before)
    else:
        end = _end_of_enough(scenario, state, number, location, counted, rule.needed, pick(ended_parts, slot))
    due = (rule.needed > 1) & (pick(ended_parts, slot) >= rule.needed) & jnp.isfinite(end)
    completion = jnp.where(at & due & ~slots.completed, end, slots.completion)
    return state._replace(slots=slots._replace(ended=ended_parts, completion=completion))


def _end_of_enough(
    scenario: Scenario,
    state: State,
    number: Int[Array, "1 *batch"],
    location: Any,
    counted: UInt32[Array, "1 *batch"],
    needed: Int[Array, "1 *batch"],
    ended: Int[Array, "1 *batch"],
) -> Float[Array, "1 *batch"]:
    """Return the time at which enough parts of request `number` have ended, as reported by the drives of the parts.

    The time is inf if enough parts ended so long ago that their drives have since reported the ends of later accesses.
    A drive that chooses its next access in advance also reports the end of its present access in advance: `lead_time`
    before this end, or at the beginning of an access that is shorter than `lead_time`.

    ended: number of ends reported so far.
    """
    drives = state.drives
    drive = row_index(scenario.system.drives, drives.free)
    reported = (drives.last == number) & bit_is_set(counted, scenario.system.placement.part_on(drive, location))
    # the drives of all other ended parts have since reported the ends of later accesses
    still = needed - (ended - count(reported))
    end = nth_least(jnp.where(reported, drives.free, jnp.inf), still)
    return jnp.where(still > 0, end, jnp.inf)


def when_stopped(
    scenario: Scenario,
    state: State,
    rule: CompletionRule,
    waiting: UInt32[Array, "slot *batch"],
    completion: Float[Array, "slot *batch"],
    others: Underway,
    now: Float[Array, "1 *batch"],
) -> Float[Array, "slot *batch"]:
    """Return the completion times of writes after a brick has stopped. The parts of that brick no longer count.

    Parameters
    ----------
    scenario : Scenario
        The scenario.
    state : State
        The state.
    rule : CompletionRule
        Completion conditions without the parts of that brick.
    waiting : array of uint32, shape `[slot, *batch]`
        Mask of the parts still to be written.
    completion : array of float32, shape `[slot, *batch]`
        Completion times before the brick stopped, seconds from now; inf if a time depended on that brick.
    others : Underway
        Accesses of the other bricks.
    now : array of float32, shape `[1, *batch]`
        Time at which the brick stops, seconds from now.

    Returns
    -------
    array of float32, shape `[slot, *batch]`
        The completion times, seconds from now; inf if unknown.
    """
    end = jnp.where(rule.needed == 1, others.first, others.last)
    known = jnp.where(jnp.isfinite(end), jnp.maximum(end, now), now)
    taken = size(rule.counted & ~waiting) >= rule.needed
    return jnp.where(jnp.isinf(completion) & taken & ~overtaken(scenario, rule, state.slots.read), known, completion)
