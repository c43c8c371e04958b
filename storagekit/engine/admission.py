"""Admit a request: select the drives that receive it, look it up in memory, and wake drives."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, UInt32

from storagekit.cache import LookUpQuery
from storagekit.component.events import CompletionRule, RequestAdmitted
from storagekit.core.arrays import AnyArray
from storagekit.core.batching import (
    INSTANT,
    bit,
    bit_is_set,
    first_true,
    index_of,
    lowest,
    min_row,
    pick,
    pick_tree,
    row_index,
    union,
    where_tree,
)
from storagekit.core.packed import packed, stored
from storagekit.dispatch import View
from storagekit.drive import Arm
from storagekit.engine.completion import enough_of, rule_of
from storagekit.engine.failure import Sending, sending_of
from storagekit.engine.state import RequestFields, Slots, State, issue, mechanics, notify, time_of
from storagekit.engine.system import Scenario
from storagekit.placement import NearestReplica, nearest_replica, of_part
from storagekit.workload import Requests


class Admission(NamedTuple):
    """Result of an admission.

    Parameters
    ----------
    hit : array of bool, shape `[1, *batch]`
        Whether the request is a read that is served from memory.
    elsewhere : array of bool, shape `[1, *batch]`
        Whether the request is served from the memory of a brick other than the receiving brick.
    resent : array of bool, shape `[1, *batch]`
        Whether the client sent the request a second time, because bricks were down.
    """

    hit: Bool[Array, "1 *batch"]
    elsewhere: Bool[Array, "1 *batch"]
    resent: Bool[Array, "1 *batch"]


def admit(
    scenario: Scenario,
    state: State,
    request: Requests,
    location: Any,
    word: UInt32[Array, "1 *batch"],
    arrival: Float[Array, "1 *batch"],
    entry: Float[Array, "1 *batch"],
    slot_mask: Bool[Array, "slot *batch"],
    admitted: Bool[Array, "1 *batch"],
) -> tuple[State, Admission]:
    """Admit a request to a slot, send it to the drives that may serve it, and wake these drives if they are idle.

    Parameters
    ----------
    scenario : Scenario
        The scenario.
    state : State
        The state before.
    request : Requests
        The request, arrays of shape `[1, *batch]`.
    location : pytree of arrays, shape `[1, *batch]`
        Location of the request.
    word : array of uint32, shape `[1, *batch]`
        32 random bits for the dispatcher.
    arrival, entry : array of float32, shape `[1, *batch]`
        Time in seconds until the request arrives, and time in seconds until it enters the system. A request that waits
        for a slot enters later than it arrives.
    slot_mask : array of bool, shape `[slot, *batch]`
        Mask of the slot that the request enters; all false in runs where no request enters.
    admitted : array of bool, shape `[1, *batch]`
        Whether a request enters.

    Returns
    -------
    state : State
        The state after.
    admission : Admission
        Result of the admission.
    """
    system, drives, placement = scenario.system, state.drives, scenario.system.placement
    part = placement.part_on(row_index(system.drives, drives.wake), location)
    usable = system.write.usable(state.write, request, admitted, placement)
    usable_at = None if usable is None else of_part(usable, part, placement)
    view = view_for(scenario, state, request, location, word, entry, part, usable_at)
    routed, dispatch = system.dispatch.route(state.dispatch, request, admitted, view)
    sending = sending_of(
        scenario, state, request, part, location, _wanted(scenario, request, location, routed, arrival)
    )
    targets = _targets(scenario, state, request, location, sending, part, usable_at)
    query = LookUpQuery(placement, sending.routed, sending.receiving, location)
    found, cache = system.cache.look_up(state.cache, request, admitted, query)
    hit, elsewhere = found.hit & request.read & admitted, found.part != sending.receiving
    first = _read_first(scenario, request, location)
    waits = jnp.where(hit, jnp.uint32(0), targets if first is None else jnp.where(first != 0, first, targets))
    rule = rule_of(scenario, request, location, targets, sending.receiving)
    # a request that waits for a slot does not reach the bricks before it enters
    inside = jnp.maximum(jnp.maximum(sending.sent, entry), 0.0)
    completion = _completion(scenario, state, request, rule, inside, hit, elsewhere)
    buffered = system.write.buffered(targets, placement.parts_of(location), request.read)
    woken = drives.idle & bit_is_set(waits if buffered is None else waits | buffered, part) & ~hit & admitted
    when = jnp.minimum(drives.wake, inside)
    state = state._replace(
        slots=_seated(state.slots, slot_mask, request, location, sending, arrival, waits, rule, completion, first),
        drives=drives._replace(wake=jnp.where(woken, when, drives.wake)),
        dispatch=dispatch,
        cache=cache,
    )
    entered = RequestAdmitted(slot_mask, admitted, request, placement, location, waits, usable, inside)
    state = notify(scenario, state, "on_admitted", entered)
    state = issue(scenario, state, bit_is_set(waits, part) & admitted, drives.planned, when=inside)
    return state, Admission(hit, hit & elsewhere, admitted & (sending.sent > arrival))


def _wanted(
    scenario: Scenario,
    request: Requests,
    location: Any,
    routed: UInt32[Array, "1 *batch"],
    arrival: Float[Array, "1 *batch"],
) -> Sending:
    """Return the parts to which a request is sent if no brick is down.

    The dispatcher may select parts that the location does not have; these are left out. If no selected part is left,
    the first part of the location is used. If the request needs more parts than are selected, further parts are added.
    Parity on RAID 5 nodes (`companions`) is never returned. The write policy determines whether it is written.
    """
    placement = scenario.system.placement
    parts, most = placement.parts_of(location), jnp.asarray(placement.parts)
    data = parts & ~placement.companions(parts, location)
    named = jnp.where(routed & data == 0, lowest(data), routed & data)
    routed = enough_of(scenario, named, data, placement.needed_of(location))
    receiving = (request.receiving % most.astype(jnp.uint32)).astype(jnp.int32)
    receiving = jnp.where(bit_is_set(parts, receiving), receiving, index_of(parts))
    return Sending(routed, receiving, arrival, None)


def _targets(
    scenario: Scenario,
    state: State,
    request: Requests,
    location: Any,
    sending: Sending,
    part: Int[Array, "drive *batch"],
    usable_at: UInt32[Array, "drive *batch"] | None,
) -> UInt32[Array, "1 *batch"]:
    """Return the mask of the parts that wait in the queues of drives.

    A dispatcher has no information about stale copies, but no request waits at a stale copy. If all selected copies are
    stale, the request is sent to one other copy. It is not sent to several other copies, because a request that the
    dispatcher meant for one copy is not withdrawn from the queues of other copies.

    part: part that each drive holds. usable_at: mask of the replicas of this part that are not stale.
    """
    system = scenario.system
    targets = system.write.targets(state.write, sending.routed, request.read, location, system.placement)
    targets = targets if sending.alive is None else targets & sending.alive
    if usable_at is None:
        return targets
    targets = targets & union(jnp.where(usable_at != 0, bit(part), jnp.uint32(0)))
    current, _ = first_true(usable_at != 0)
    return jnp.where(targets == 0, bit(pick(part, current)), targets)


def _read_first(scenario: Scenario, request: Requests, location: Any) -> UInt32[Array, "1 *batch"] | None:
    """Return the mask of the parts that a write reads before it writes; None if writes never read."""
    placement = scenario.system.placement
    if not placement.reads_before_writes:
        return None
    return jnp.where(request.read, jnp.uint32(0), placement.parts_read_first(location))


def _completion(
    scenario: Scenario,
    state: State,
    request: Requests,
    rule: CompletionRule,
    inside: Float[Array, "1 *batch"],
    hit: Bool[Array, "1 *batch"],
    elsewhere: Bool[Array, "1 *batch"],
) -> Float[Array, "1 *batch"]:
    """Return the completion time of a request that reaches the bricks at time `inside`; inf if it is not known yet.

    The completion time is known if the request is served from memory, or if its completion does not depend on any part.
    """
    system = scenario.system
    completion = jnp.where(rule.needed > 0, jnp.inf, inside)
    from_memory = inside + system.cache.hit_time + jnp.where(elsewhere, system.arbitration.network_latency, 0.0)
    return jnp.where(hit, jnp.maximum(from_memory, under_way(scenario, state, request)), completion)


def _seated(
    slots: Slots,
    slot_mask: Bool[Array, "slot *batch"],
    request: Requests,
    location: Any,
    sending: Sending,
    arrival: Float[Array, "1 *batch"],
    waits: UInt32[Array, "1 *batch"],
    rule: CompletionRule,
    completion: Float[Array, "1 *batch"],
    first: UInt32[Array, "1 *batch"] | None,
) -> Slots:
    """Return the slots after the request has entered the slot that `slot_mask` marks.

    waits: mask of the parts of the request that wait. completion: completion time, inf if unknown. first: mask of the parts
    that a write reads first.
    """
    fields = RequestFields(
        number=request.number,
        location=location,
        read=request.read,
        asynchronous=request.asynchronous,
        stream=None if slots.stream is None else request.stream,
        client=None if slots.client is None else request.client,
        sectors=None if slots.sectors is None else request.sectors,
    )
    others = {
        "receiving": sending.receiving,
        "arrival_time": arrival,
        "sent": sending.sent,
        "waiting": waits,
        "rule": rule,
        "ended": None if slots.ended is None else jnp.zeros_like(request.number),
        "completion": completion,
        "completed": jnp.zeros_like(request.read),
        "latest": jnp.full_like(arrival, -jnp.inf),
        "reads_first": None if slots.reads_first is None or first is None else first != 0,
    }
    kept = {name: getattr(slots, name) for name in others}
    before = RequestFields(*(getattr(slots, name) for name in RequestFields._fields)), kept
    row = jax.tree.map(
        lambda value, old: jnp.broadcast_to(value, arrival.shape).astype(old.dtype), (fields, others), before
    )
    fields, others = stored(row, slot_mask.shape[0])
    words = slots.fields.where(slot_mask[None], packed(jax.tree.map(lambda value: value[None], fields)))
    return slots._replace(fields=words, **where_tree(slot_mask, others, kept))


def view_for(
    scenario: Scenario,
    state: State,
    request: Requests,
    location: Any,
    word: UInt32[Array, "1 *batch"],
    entry: Float[Array, "1 *batch"],
    part: Int[Array, "drive *batch"],
    usable_at: UInt32[Array, "drive *batch"] | None,
) -> View:
    """Return the view of the system from which a dispatcher selects the parts of an entering request.

    Parameters
    ----------
    scenario : Scenario
        The scenario.
    state : State
        The state.
    request : Requests
        The request, arrays of shape `[1, *batch]`.
    location : pytree of arrays, shape `[1, *batch]`
        Location of the request.
    word : array of uint32, shape `[1, *batch]`
        32 random bits for the dispatcher.
    entry : array of float32, shape `[1, *batch]`
        Time in seconds until the request enters.
    part : array of int32, shape `[drive, *batch]`
        Part that each drive holds.
    usable_at : array of uint32, shape `[drive, *batch]`, or None
        Mask of the replicas of this part that are not stale; None if no replica is ever stale.

    Returns
    -------
    View
        The queues, the drives and the location of the request, as the dispatcher receives them.
    """
    system, drives = scenario.system, state.drives
    start = jnp.maximum(entry, 0.0)
    number = row_index(system.drives, drives.phase)
    every = _Heads(number, part, drives.phase, drives.arm, usable_at)

    def nearest(heads: _Heads) -> tuple[NearestReplica, Float[Array, "row *batch"]]:
        """Return the nearest replica of the request for each head, and the transfer time."""
        as_now = mechanics(scenario, state, heads.drive)
        angle = heads.phase + as_now.turns(start)
        target = system.drive.seen(system.placement.target_on(heads.part, location), heads.drive)
        where = heads.arm, angle, target, request.read, heads.part, heads.usable
        found = nearest_replica(system.placement, system.drive, as_now, *where)
        return found, time_of(scenario, as_now, target, request.read, heads.drive)

    def access_time(drive: Int[Array, "row *batch"]) -> Float[Array, "row *batch"]:
        drive = jnp.clip(drive, 0, system.drives - 1)
        found, transfer = nearest(_Heads(drive, *pick_tree(every[1:], drive)))
        return found.positioning.total + transfer

    busy = drives.planned & (drives.plan.finish > start)
    # a drive that wakes at this instant is not free, although it has not chosen a part yet
    free = ~busy & ~(drives.idle & (drives.wake <= start + INSTANT))
    time_until_idle = jnp.where(busy, drives.plan.finish - start, 0.0)
    slots, placement = state.slots, system.placement
    known = slots.waiting, slots.location, busy, time_until_idle, free, location, placement, system.bricks
    return View(*known, lambda: nearest(every)[0].positioning.total, access_time, word)


class _Heads(NamedTuple):
    """Positions of the heads of some drives when a request is admitted.

    Parameters
    ----------
    drive, part : array of int32, shape `[row, *batch]`
        Number of each drive, and the part of the request that the drive holds.
    phase : array of float32, shape `[row, *batch]`
        Angle of the platter of each drive, revolutions.
    arm : Arm
        Position of the arm of each drive.
    usable : array of uint32, shape `[row, *batch]`, or None
        Mask of the replicas of the part that are not stale; None if no replica is ever stale.
    """

    drive: Int[Array, "row *batch"]
    part: Int[Array, "row *batch"]
    phase: Float[Array, "row *batch"]
    arm: Arm
    usable: UInt32[Array, "row *batch"] | None


def under_way(scenario: Scenario, state: State, request: Requests) -> Float[AnyArray, "..."]:
    """Return the latest completion time among the reads in service that have data in common with a request.

    Parameters
    ----------
    scenario : Scenario
        The scenario.
    state : State
        The state.
    request : Requests
        The request, arrays of shape `[1, *batch]`.

    Returns
    -------
    array of float32, shape `[1, *batch]`, or a scalar
        The latest completion time, seconds; -inf if there is no such read.
    """
    same = scenario.system.cache.same_data(state.cache, request)
    if same is None:
        return jnp.float32(-jnp.inf)
    slots = state.slots
    served = same & slots.read & ~slots.completed & jnp.isfinite(slots.completion)
    return -min_row(jnp.where(served, -slots.completion, jnp.inf))
