"""Outages of bricks: the accesses of a brick are lost, and clients send a request again if no other brick serves it.

Clients detect an outage some time after it begins. Until then, requests that need the brick wait for a time-out.

References
----------
dsptf, section 3.
"""

from functools import reduce
from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, UInt32

from storagekit.component.events import BrickStopped, CompletionRule
from storagekit.core.batching import (
    INSTANT,
    bit,
    bit_is_set,
    count,
    first_true,
    index_of,
    min_row,
    pick,
    row_index,
    union,
)
from storagekit.engine.completion import Underway, enough_of, size, when_stopped
from storagekit.engine.state import NO_REQUEST, Drives, State, notify
from storagekit.engine.system import Scenario
from storagekit.workload import Requests


class Sending(NamedTuple):
    """Bricks that receive a request.

    Parameters
    ----------
    routed : array of uint32, shape `[1, *batch]`
        Mask of the parts that would serve a read.
    receiving : array of int32, shape `[1, *batch]`
        Part on the brick that receives the request.
    sent : array of float32, shape `[1, *batch]`
        Time at which that brick receives it, seconds from now.
    alive : array of uint32, shape `[1, *batch]`, or None
        Mask of the parts whose bricks are up; None if no brick ever stops.
    """

    routed: UInt32[Array, "1 *batch"]
    receiving: Int[Array, "1 *batch"]
    sent: Float[Array, "1 *batch"]
    alive: UInt32[Array, "1 *batch"] | None


def sending_of(
    scenario: Scenario,
    state: State,
    request: Requests,
    part: Int[Array, "drive *batch"],
    location: Any,
    wanted: Sending,
) -> Sending:
    """Return the bricks that receive a request if bricks are down.

    If the brick at which a request enters is down, the client sends the request to the other bricks: immediately if it has
    detected the outage, otherwise after a time-out.

    Parameters
    ----------
    scenario : Scenario
        The scenario.
    state : State
        The state.
    request : Requests
        The request, arrays of shape `[1, *batch]`.
    part : array of int32, shape `[drive, *batch]`
        Part that each drive holds.
    location : pytree of arrays, shape `[1, *batch]`
        Location of the request.
    wanted : Sending
        Bricks that receive the request if no brick is down.

    Returns
    -------
    Sending
        Bricks that receive the request.
    """
    system = scenario.system
    if not system.faults.stops:
        return wanted
    # the brick is up for the request with which an outage begins, and for the request with which the outage ends
    after = system.faults.after(state.faults, request, jnp.ones_like(request.read))
    down = state.faults.down & system.faults.stopped_now(
        after, system.brick_of(row_index(system.drives, state.drives.wake))
    )
    holds = bit_is_set(system.placement.parts_of(location), part)
    alive = union(jnp.where(holds & ~down, bit(part), jnp.uint32(0)))
    needed = system.placement.needed_of(location)
    fails = system.dispatch.times_out(wanted.routed, wanted.receiving, alive, needed)
    late = jnp.where(request.read, fails, ~bit_is_set(alive, wanted.receiving))
    again = enough_of(scenario, system.dispatch.retry_targets(alive, wanted.routed), alive, needed)
    kept = enough_of(scenario, wanted.routed & alive, alive, needed)
    routed = jnp.where(late | (wanted.routed & alive == 0), again, kept)
    receiving = jnp.where(bit_is_set(alive, wanted.receiving), wanted.receiving, index_of(alive))
    # the client detects the last of these outages, unless the time-out is earlier
    awaited = jnp.where(
        request.read, system.dispatch.awaited_parts(wanted.routed, wanted.receiving), bit(wanted.receiving)
    )
    lost = holds & down & bit_is_set(awaited, part)
    detected = -min_row(jnp.where(lost, -state.faults.undetected, jnp.inf))
    again_at = jnp.minimum(wanted.sent + system.faults.timeout, detected)
    resent = jnp.where(detected > jnp.maximum(wanted.sent, 0.0), again_at, wanted.sent)
    return Sending(routed, receiving, jnp.where(late, resent, wanted.sent), alive)


def foreseen(
    scenario: Scenario, horizon: Float[Array, "1 *batch"], entry: Float[Array, "1 *batch"]
) -> Float[Array, "1 *batch"]:
    """Return the time up to which completions may be processed now.

    An outage begins when a request enters, and the brick that stops may be about to complete another request.
    Completions after the next entry are therefore not processed yet. If the next entry and the next choice have the
    same time, the choice comes first. The choice may depend on completions at this time. These completions are then
    processed before the entry.

    Parameters
    ----------
    scenario : Scenario
        The scenario.
    horizon : array of float32, shape `[1, *batch]`
        Time of the next choice, seconds from now.
    entry : array of float32, shape `[1, *batch]`
        Time at which the next request enters, seconds from now.

    Returns
    -------
    array of float32, shape `[1, *batch]`
        The time, seconds from now.
    """
    if not scenario.system.faults.stops:
        return horizon
    return jnp.where(scenario.arrivals.precedes(entry, horizon), jnp.minimum(horizon, entry), horizon)


def fail(scenario: Scenario, state: State, when: Float[Array, "1 *batch"]) -> tuple[State, Int[Array, "1 *batch"]]:
    """Stop a brick whose outage begins, and wake the drives of bricks whose outages end.

    One event stops at most one brick. After a time-out, or when they detect the outage, clients send three kinds of reads
    again, to the other bricks: reads that the brick had claimed, reads that waited at no other brick, and reads that wait
    for a lost access to read their data into memory. A write completes without the parts on the brick, and these parts are
    not written later. An access counts as complete if its brick has already chosen the next access.

    Parameters
    ----------
    scenario : Scenario
        The scenario.
    state : State
        The state before.
    when : array of float32, shape `[1, *batch]`
        Time in seconds until the entry of the request with which outages begin or end.

    Returns
    -------
    state : State
        The state after.
    lost : array of int32, shape `[1, *batch]`
        Number of reads that are sent again.
    """
    system, slots = scenario.system, state.slots
    if not system.faults.stops:
        return state, jnp.zeros_like(state.taken)
    number, before = system.brick_of(row_index(system.drives, state.drives.wake)), state.faults.down
    stopped = system.faults.stopped_now(state.faults, number)
    drive, fails = first_true(stopped & ~before)
    now = jnp.maximum(when, 0.0)
    brick = (number == system.brick_of(drive)) & fails
    down = (before & stopped) | brick
    gone = _parts_on(scenario, state, drive)
    waiting = jnp.where(fails, slots.waiting & ~gone, slots.waiting)
    alive = _alive(scenario, state, down)
    receiving = jnp.where(fails & ~bit_is_set(alive, slots.receiving), index_of(alive), slots.receiving)
    rule = _rule(scenario, state, alive, receiving, fails)
    others = _underway(scenario, state, rule.counted, ~down)
    dropped, fetching = _aborted(scenario, state, drive, brick, others)
    aborted = dropped != 0
    rule = _without(state, rule, gone, aborted, fails)

    there = fails & ~slots.completed & (slots.number != NO_REQUEST)
    single = slots.read & (rule.needed == 1)
    completion = jnp.where(aborted & there, jnp.where(single, others.first, jnp.inf), slots.completion)
    unserved = jnp.where(single, aborted | (waiting == 0), _too_few(state, rule, waiting, aborted, others))
    lost = there & slots.read & ((jnp.isinf(completion) & unserved) | fetching)
    written = when_stopped(scenario, state, rule, waiting, completion, others, now)
    again = enough_of(scenario, system.dispatch.retry_targets(alive, slots.rule.counted), alive, rule.needed)
    resent = jnp.minimum(slots.sent + system.faults.timeout, now + system.faults.detection)
    slots = slots._replace(
        waiting=jnp.where(lost, again, waiting),
        rule=CompletionRule(jnp.where(lost, again, rule.counted), rule.needed),
        ended=None if slots.ended is None else jnp.where(lost, 0, slots.ended),
        completion=jnp.where(lost, jnp.inf, jnp.where(there & ~slots.read, written, completion)),
        latest=jnp.where(aborted & there, others.last, slots.latest),
        receiving=receiving,
        sent=jnp.where(lost, jnp.maximum(resent, now), slots.sent),
    )
    # idle drives wake, because the claim on an aborted part no longer prevents them from choosing the request
    drives = _woken(state.drives, down, before & ~stopped, count(lost | aborted) > 0, now)
    undetected = jnp.where(brick, now + system.faults.detection, state.faults.undetected)
    state = state._replace(slots=slots, drives=drives, faults=state.faults._replace(down=down, undetected=undetected))
    return notify(scenario, state, "on_brick_stopped", BrickStopped(brick, lost, dropped)), count(lost)


def _parts_on(scenario: Scenario, state: State, drive: Int[Array, "1 *batch"]) -> UInt32[Array, "slot *batch"]:
    """Return the mask of the parts of each request on the brick of `drive`."""
    system, locations = scenario.system, state.slots.location
    drives = system.bricks.drives_of(system.brick_of(drive))
    parts = ((system.placement.part_on(other, locations), exists) for other, exists in drives)
    return reduce(jnp.bitwise_or, (jnp.where((part >= 0) & exists, bit(part), jnp.uint32(0)) for part, exists in parts))


def _without(
    state: State,
    rule: CompletionRule,
    gone: UInt32[Array, "slot *batch"],
    aborted: Bool[Array, "slot *batch"],
    fails: Bool[Array, "1 *batch"],
) -> CompletionRule:
    """Return the completion rules of all requests without the parts in `gone`, which were on the brick that stopped.

    Only some rules change: the rules of reads that need several parts, and had a part that waited or was in service on
    the brick.
    """
    slots = state.slots
    misses = slots.read & (rule.needed > 1) & fails & (aborted | (slots.waiting & gone != 0))
    return rule._replace(counted=jnp.where(misses, rule.counted & ~gone, rule.counted))


def _too_few(
    state: State,
    rule: CompletionRule,
    waiting: UInt32[Array, "slot *batch"],
    aborted: Bool[Array, "slot *batch"],
    others: Underway,
) -> Bool[Array, "slot *batch"]:
    """Return a mask of the reads that cannot complete, because too few of their parts have ended, are in service, or wait.

    waiting: mask of the parts that wait.
    """
    if state.slots.ended is None:
        return aborted
    return state.slots.ended + others.count + size(waiting) < rule.needed


def _rule(
    scenario: Scenario,
    state: State,
    alive: UInt32[Array, "slot *batch"],
    receiving: Int[Array, "slot *batch"],
    fails: Bool[Array, "1 *batch"],
) -> CompletionRule:
    """Return the completion rules after a brick has stopped. The rules of writes count only parts whose bricks are up."""
    slots, rule = state.slots, state.slots.rule
    written = scenario.system.write.rule(alive, receiving, scenario.system.placement.needed_of(slots.location))
    changed = fails & ~slots.read
    return CompletionRule(
        jnp.where(changed, written.counted, rule.counted),
        jnp.where(changed, jnp.minimum(written.needed, rule.needed), rule.needed),
    )


def _woken(
    drives: Drives,
    down: Bool[Array, "drive *batch"],
    back: Bool[Array, "drive *batch"],
    again: Bool[Array, "1 *batch"],
    now: Float[Array, "1 *batch"],
) -> Drives:
    """Return the drives after the drives in `down` have stopped, and the outages of the drives in `back` have ended.

    The drives in `back` wake. Where `again` is true, all idle drives that are not down wake, because parts may wait for
    these drives again.
    """
    woken = (drives.idle & ~down & again) | back
    wake = jnp.where(woken, jnp.minimum(drives.wake, now), drives.wake)
    return drives._replace(
        wake=jnp.where(down, jnp.inf, wake),
        planned=drives.planned & ~down,
        idle=(drives.idle | back) & ~down,
    )


def _aborted(
    scenario: Scenario,
    state: State,
    drive: Int[Array, "1 *batch"],
    brick: Bool[Array, "drive *batch"],
    others: Underway,
) -> tuple[UInt32[Array, "slot *batch"], Bool[Array, "slot *batch"]]:
    """Return the parts that the stopping brick had planned or started, and the reads that depended on such a part.

    The first result contains a mask of parts for each request. The second result is a mask of reads. Each of these
    reads waited for its data in memory, and a lost access was reading the data into memory.
    """
    slots, drives, system = state.slots, state.drives, scenario.system
    row, dropped = row_index(system.slots, slots.arrival_time), jnp.zeros_like(slots.waiting)
    for each, exists in system.bricks.drives_of(system.brick_of(drive)):
        stops = pick(brick & drives.planned, each) & exists
        plan = drives.plan
        slot, number, finish = (pick(part, each) for part in (plan.slot, plan.number, plan.finish))
        its = (row == slot) & (slots.number == number) & stops
        dropped = dropped | jnp.where(its, bit(system.placement.part_on(each, slots.location)), jnp.uint32(0))
    aborted = dropped != 0
    same = scenario.system.cache.same_data_as(state.cache, slot)
    if same is None:
        return dropped, jnp.zeros_like(aborted)
    fetched = count(aborted & slots.read) > 0
    waits = (
        same
        & ~aborted
        & jnp.isfinite(slots.completion)
        & (slots.completion >= finish - INSTANT)
        & jnp.isinf(others.first)
    )
    return dropped, waits & slots.read & fetched


def _underway(
    scenario: Scenario, state: State, counted: UInt32[Array, "slot *batch"], running: Bool[Array, "drive *batch"]
) -> Underway:
    """Return the accesses for each request on the drives in `running`. counted: mask of the counted parts of each request."""
    slots, drives, system = state.slots, state.drives, scenario.system
    row = row_index(system.slots, slots.arrival_time)
    never = jnp.full(slots.arrival_time.shape, jnp.inf)
    found = Underway(never, -never, jnp.zeros(slots.arrival_time.shape, jnp.int32))
    for drive in range(system.drives):
        here = jnp.full_like(state.taken, drive)
        plan = tuple(pick(part, here) for part in (drives.plan.slot, drives.plan.number, drives.plan.finish))
        serves = (row == plan[0]) & (slots.number == plan[1]) & pick(drives.planned & running, here)
        serves = serves & bit_is_set(counted, system.placement.part_on(here, slots.location))
        found = Underway(
            jnp.where(serves, jnp.minimum(found.first, plan[2]), found.first),
            jnp.where(serves, jnp.maximum(found.last, plan[2]), found.last),
            found.count + serves,
        )
    return found


def _alive(scenario: Scenario, state: State, down: Bool[Array, "drive *batch"]) -> UInt32[Array, "slot *batch"]:
    """Return, for each request, a mask of the parts on bricks that are up."""
    placement, locations = scenario.system.placement, state.slots.location
    mask = jnp.zeros_like(state.slots.waiting)
    for drive in range(scenario.system.drives):
        here = jnp.full_like(state.taken, drive)
        part = placement.part_on(here, locations)
        mask = mask | jnp.where(pick(down, here) | (part < 0), jnp.uint32(0), bit(part))
    return mask & placement.parts_of(locations)
