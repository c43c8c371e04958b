"""Selection and service: determine the next access of a drive that becomes free."""

from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Shaped, UInt32

from storagekit.arbitration import Bid, Decision
from storagekit.component.events import AccessEnded, AccessStarted
from storagekit.core.batching import (
    INSTANT,
    any_row,
    bit,
    bit_is_set,
    cheapest,
    count,
    min_row,
    pick,
    pick_tree,
    row_index,
    where_tree,
)
from storagekit.core.packed import stored
from storagekit.drive import HostAccess, Positioning, Target
from storagekit.engine.completion import Part, count_end, size, still_serving, when_taken
from storagekit.engine.state import NO_REQUEST, Plan, Slots, State, issue, mechanics, notify, time_of
from storagekit.engine.system import Scenario, System
from storagekit.schedule import Choice
from storagekit.write import WaitingParts


def settle(state: State, served: Bool[Array, "drive *batch"]) -> State:
    """Make the planned access of a drive final, so that no claim can take it away any more.

    Parameters
    ----------
    state : State
        The state before.
    served : array of bool, shape `[drive, *batch]`
        Mask of the drive.

    Returns
    -------
    State
        The state after.
    """
    drives = state.drives
    return state._replace(
        drives=drives._replace(
            free=jnp.where(served, drives.plan.finish, drives.free),
            arm=where_tree(served, drives.plan.end, drives.arm),
            last=None if drives.last is None else jnp.where(served, drives.plan.number, drives.last),
        )
    )


def finish(scenario: Scenario, state: State, drive: Int[Array, "1 *batch"], certain: Bool[Array, "1 *batch"]) -> State:
    """Process the end of the access of `drive`.

    If the write policy delays parts, the end of a write wakes the idle drives that hold parts of this write. If one
    drive serves a write first and other drives write their parts later (`delays`), the write then leaves all queues.

    Parameters
    ----------
    scenario : Scenario
        The scenario.
    state : State
        The state before.
    drive : array of int32, shape `[1, *batch]`
        The drive.
    certain : array of bool, shape `[1, *batch]`
        Whether an access ends.

    Returns
    -------
    State
        The state after.
    """
    system, slots, drives = scenario.system, state.slots, state.drives
    placement = system.placement
    slot, number, replica = (pick(part, drive) for part in (drives.plan.slot, drives.plan.number, drives.plan.replica))
    location, arrival_time = pick_tree((slots.location, slots.arrival_time), slot)
    written = certain & (pick(slots.number, slot) == number) & ~pick(slots.reads_now, slot)
    delayed = system.write.ends_delayed(state.write, drive)
    written = written if delayed is None else written & ~delayed
    facts = _of_access(scenario, state, drive, slot, certain if delayed is None else certain & ~delayed)
    ended = AccessEnded(drive, slot, number, replica, location, arrival_time, placement, certain, written, *facts)
    state = count_end(scenario, notify(scenario, state, "on_access_ended", ended), drive, certain)
    state = _write_next(scenario, state, drive, certain)
    if not system.write.may_delay:
        return state
    part = placement.part_on(row_index(system.drives, drives.wake), location)
    to_write = written & bit_is_set(placement.parts_of(location), part)
    wake = jnp.where(drives.idle & to_write, jnp.minimum(drives.wake, 0.0), drives.wake)
    state = state._replace(drives=drives._replace(wake=wake))
    if not system.write.delays:
        return state
    taken = (row_index(system.slots, slots.arrival_time) == slot) & written
    waiting = jnp.where(taken, jnp.uint32(0), state.slots.waiting)
    return state._replace(slots=state.slots._replace(waiting=waiting))


def _write_next(
    scenario: Scenario, state: State, drive: Int[Array, "1 *batch"], certain: Bool[Array, "1 *batch"]
) -> State:
    """Let a write join the queues of the drives that write it, if `drive` has ended the last read before it.

    certain: whether an access ends.
    """
    slots, drives, placement = state.slots, state.drives, scenario.system.placement
    if slots.reads_first is None:
        return state
    slot, number = (pick(one, drive) for one in (drives.plan.slot, drives.plan.number))
    row = row_index(scenario.system.drives, drives.wake)
    others = drives.planned & (drives.plan.number == number) & (row != drive)
    first, waiting, location, its, end = pick_tree(
        (slots.reads_first, slots.waiting, slots.location, slots.number, slots.latest), slot
    )
    ready = certain & (its == number) & first & (waiting == 0) & ~any_row(others)
    slot_mask = (row_index(scenario.system.slots, slots.sent) == slot) & ready
    parts = placement.parts_of(location)
    joins = ready & bit_is_set(parts, placement.part_on(row, location))
    state = state._replace(
        slots=slots._replace(
            waiting=jnp.where(slot_mask, parts, slots.waiting),
            sent=jnp.where(slot_mask, end, slots.sent),
            latest=jnp.where(slot_mask, -jnp.inf, slots.latest),
            reads_first=slots.reads_first & ~slot_mask,
        ),
        drives=drives._replace(wake=jnp.where(drives.idle & joins, jnp.minimum(drives.wake, end), drives.wake)),
    )
    return issue(scenario, state, joins, drives.planned)


def _of_access(
    scenario: Scenario,
    state: State,
    drive: Int[Array, "1 *batch"],
    slot: Int[Array, "1 *batch"],
    certain: Bool[Array, "1 *batch"],
) -> tuple[Any, ...]:
    """Return the fields of `AccessEnded` from `awaited` on, for `drive`. Valid only where `certain` is true.

    slot: slot of the request. Another request may already use this slot.
    """
    system, slots = scenario.system, state.slots
    location, rule, sent, read, client, sectors = pick_tree(
        (slots.location, slots.rule, slots.sent, slots.read, slots.client, slots.sectors), slot
    )
    part = system.placement.part_on(drive, location)
    drives, number = state.drives, pick(state.drives.plan.number, drive)
    awaited = certain & (pick(slots.number, slot) == number) & bit_is_set(rule.counted, part)
    if slots.reads_first is not None:
        awaited = awaited & ~pick(slots.reads_first, slot)
    # a brick sends its completion only when all its parts of the write are on disk
    sibling = system.placement.sibling(part, location)
    other = system.placement.drive_of(sibling, location)
    runs = pick(drives.planned, other) & (pick(drives.plan.number, other) == number)
    awaited = awaited & ~((runs | bit_is_set(pick(slots.waiting, slot), sibling)) & bit_is_set(rule.counted, sibling))
    much = None if sectors is None else system.placement.sectors_of(part, location, sectors)
    return awaited, system.brick_of(drive), read, client, much, -sent


class Chosen(NamedTuple):
    """A part that a drive may serve.

    Parameters
    ----------
    number : array of int32, shape `[1, *batch]`
        Number of its request.
    location : pytree of arrays, shape `[1, *batch]`
        Location of its request.
    part : array of int32, shape `[1, *batch]`
        The part.
    read : array of bool, shape `[1, *batch]`
        Whether the request is a read.
    reads : array of bool, shape `[1, *batch]`
        Whether the access is a read, including a read that a write needs before it writes.
    usable : array of uint32, shape `[1, *batch]`, or None
        Mask of the replicas that may be chosen; None if all replicas may be chosen.
    delayed : array of int32, shape `[1, *batch]`, or None
        Row of the part's write in the table of delayed writes; negative if the write is not delayed. None if no write
        is ever delayed.
    """

    number: Int[Array, "1 *batch"]
    location: Any
    part: Int[Array, "1 *batch"]
    read: Bool[Array, "1 *batch"]
    reads: Bool[Array, "1 *batch"]
    usable: UInt32[Array, "1 *batch"] | None
    delayed: Int[Array, "1 *batch"] | None

    @property
    def late(self) -> Bool[Array, "1 *batch"]:
        """Whether the part belongs to a delayed write."""
        return jnp.zeros_like(self.read) if self.delayed is None else self.delayed >= 0


class Best(NamedTuple):
    """The best access of a drive. Times are seconds from now.

    Parameters
    ----------
    found : array of bool, shape `[1, *batch]`
        Whether there is an access that the drive can begin.
    slot : array of int32, shape `[1, *batch]`
        Slot of the request; without meaning if the part belongs to a delayed write (`chosen.late`).
    chosen : Chosen
        The part.
    target : Target
        Location of the part.
    replica : array of int32, shape `[1, *batch]`
        The replica.
    positioning : Positioning
        Seek and rotation, seconds.
    transfer : array of float32, shape `[1, *batch]`
        Time of the transfer, seconds.
    start, finish : array of float32, shape `[1, *batch]`
        Time at which the access is issued to the disk, and time at which it ends.
    idle_until : array of float32, shape `[1, *batch]`
        If there is no access now, the earliest time at which the drive may choose a part; inf if it may not choose
        before another event.
    candidates : array of int32, shape `[1, *batch]`
        Number of parts from which the drive chose.
    incomplete : array of int32, shape `[1, *batch]`
        Number of `candidates` whose requests have not completed. The chosen part is not counted.
    buffer : pytree of arrays
        State of the buffer of the drive after the beginning of the access.
    """

    found: Bool[Array, "1 *batch"]
    slot: Int[Array, "1 *batch"]
    chosen: Chosen
    target: Target
    replica: Int[Array, "1 *batch"]
    positioning: Positioning
    transfer: Float[Array, "1 *batch"]
    start: Float[Array, "1 *batch"]
    finish: Float[Array, "1 *batch"]
    idle_until: Float[Array, "1 *batch"]
    candidates: Int[Array, "1 *batch"]
    incomplete: Int[Array, "1 *batch"]
    buffer: Any

    @property
    def access_time(self) -> Float[Array, "1 *batch"]:
        """Duration of the access, seconds."""
        return self.positioning.total + self.transfer


def choose(
    scenario: Scenario, state: State, drive: Int[Array, "1 *batch"], chooser: Bool[Array, "drive *batch"]
) -> tuple[State, dict[str, Shaped[Array, "1 *batch"]]]:
    """Let a drive choose a part, claim it, and plan the access. If no part can be chosen, the drive stays idle.

    Parts of reads are claimed. Parts of writes are claimed only if the write policy uses claims for writes.

    Parameters
    ----------
    scenario : Scenario
        The scenario.
    state : State
        The state before.
    drive : array of int32, shape `[1, *batch]`
        The drive.
    chooser : array of bool, shape `[drive, *batch]`
        Mask of the drive; false in runs without a choice.

    Returns
    -------
    state : State
        The state after.
    fields : dict of str to array, shape `[1, *batch]`
        The fields of `Report` that describe the choice.
    """
    system, slots, drives = scenario.system, state.slots, state.drives
    best = best_part(scenario, state, drive, any_row(chooser))
    chosen = best.chosen
    shared = chosen.read | system.write.claims_writes & ~chosen.late
    valid = best.found & shared
    claim = Bid(best.slot, chosen.part, valid, best.positioning.total, best.start, best.access_time)
    decision, arbitration = system.arbitration.claim(state.arbitration, claim)
    granted = best.found & (decision.granted | ~shared)
    gives_up = best.found & ~granted
    rival = row_index(system.drives, best.start) == system.placement.drive_of(decision.rival, chosen.location)
    rival = rival & decision.rival_yields

    again = jnp.maximum(best.finish - system.arbitration.lead_time, best.start)
    asleep = jnp.where(best.found, jnp.inf, best.idle_until)
    wake = jnp.where(granted, again, jnp.where(gives_up, decision.retry, asleep))
    planner = chooser & granted
    goal = system.placement.replica(system.drive, best.target, chosen.part, best.replica)
    whose = _whose(scenario, slots, best)
    plan = Plan(*best.positioning, best.transfer, best.finish, goal.end, chosen.number, best.slot, best.replica, *whose)
    plan, wake = stored((plan, wake), system.drives)
    distance = jnp.where(granted, best.target.cylinder - pick(drives.arm.cylinder, drive), 0)
    state = state._replace(
        slots=serve(scenario, state, best, granted, claim.valid, decision),
        drives=drives._replace(
            wake=jnp.where(rival, decision.rival_retry, jnp.where(chooser, wake, drives.wake)),
            plan=where_tree(planner, plan, drives.plan),
            planned=jnp.where(chooser, granted, drives.planned) & ~rival,
            idle=jnp.where(chooser, ~best.found, drives.idle),
            buffer=system.drive.buffer.keep(drives.buffer, planner, best.buffer),
        ),
        arbitration=arbitration,
    )
    given_up = jnp.where(decision.rival_yields, bit(decision.rival), jnp.uint32(0))
    where = (best.slot, chosen.part, chosen.location, system.placement)
    taken = AccessStarted(*where, chosen.read, granted, planner, distance, given_up, chosen.delayed)
    return notify(scenario, state, "on_access_started", taken), _report_of(scenario, slots, best, claim, decision)


def _report_of(
    scenario: Scenario, slots: Slots, best: Best, claim: Bid, decision: Decision
) -> dict[str, Bool[Array, "1 *batch"] | Int[Array, "1 *batch"]]:
    """Return the fields of the report for a choice. slots: slots before the choice."""
    twice = decision.contested & decision.granted & ~decision.rival_yields
    if scenario.system.dispatch.withdraws_late:
        rule, waiting = pick_tree((slots.rule, slots.waiting), best.slot)
        twice = twice | (claim.valid & best.chosen.read & (size(rule.counted & ~waiting) >= rule.needed))
    return {
        "chose": best.found,
        "candidates": best.candidates,
        "incomplete": best.incomplete,
        "claimed": claim.valid,
        "further": decision.contested,
        "contested": decision.first_contest,
        "twice": twice,
    }


def best_part(
    scenario: Scenario, state: State, drive: Int[Array, "1 *batch"], chooses: Bool[Array, "1 *batch"]
) -> Best:
    """Return the access that the scheduler of a drive selects.

    Parameters
    ----------
    scenario : Scenario
        The scenario.
    state : State
        The state.
    drive : array of int32, shape `[1, *batch]`
        The drive.
    chooses : array of bool, shape `[1, *batch]`
        Whether the drive chooses.

    Returns
    -------
    Best
        The access.
    """
    system, slots, drives = scenario.system, state.slots, state.drives
    placement = system.placement
    own = system.drive.buffer.of(drives.buffer, drive)
    as_now = system.drive.buffer.seen(own, mechanics(scenario, state, drive))
    free, phase, arm = pick_tree((drives.free, drives.phase, drives.arm), drive)
    begins = system.arbitration.begins(free)
    angle = phase + as_now.turns(begins)
    parts = placement.part_on(drive, slots.location)
    issued, enqueue_time = _given(system, state, drive)
    offer = system.write.offer(state.write, issued, parts, placement)
    candidate, choosable_from = candidates(scenario, state, offer, parts)
    targets = _on_drive(system, slots.location, parts, drive)
    choice = Choice(
        system.drive, as_now, placement, drive, arm, angle, targets, slots.reads_now, enqueue_time, parts, offer.usable
    )
    cost = jnp.where(candidate, system.schedule.cost(state.schedule, choice), jnp.inf)
    slot, lowest = cheapest(cost)
    chosen, later = _or_later(scenario, state, choice, _of_slot(slots, choice, slot), lowest, chooses)
    found = (jnp.isfinite(lowest) | chosen.late) & chooses
    target, replica, access = _access(scenario, choice, own, chosen)
    wanted = (cost < jnp.inf) & ~slots.completed & (slots.completion > 0)
    return Best(
        found=found,
        slot=slot,
        chosen=chosen,
        target=target,
        replica=replica,
        positioning=access.positioning,
        transfer=access.transfer,
        start=system.arbitration.issues(begins, access.positioning.rotation),
        finish=begins + access.positioning.total + access.transfer,
        idle_until=min_row(choosable_from),
        candidates=jnp.where(found, count(cost < jnp.inf) + later, 0),
        incomplete=jnp.where(found, count(wanted) - (pick_tree(wanted, slot) & ~chosen.late), 0),
        buffer=access.after,
    )


def _access(
    scenario: Scenario, choice: Choice, own: Any, chosen: Chosen
) -> tuple[Target, Int[Array, "1 *batch"], HostAccess]:
    """Return the location of the chosen part, its nearest replica, and the access. own: buffer of the drive."""
    system, read, part = scenario.system, chosen.reads, chosen.part
    # computed only for the chosen part, because the computation of the end position takes time
    target = _on_drive(system, chosen.location, part, choice.drive)
    nearest = choice._replace(target=target, read=read, part=part, usable=chosen.usable).nearest()
    transfer = time_of(scenario, choice.mechanics, target, read, choice.drive)
    access = system.drive.buffer.access(own, choice.angle, target, read, nearest.positioning, transfer)
    return target, nearest.replica, access


def _given(
    system: System, state: State, drive: Int[Array, "1 *batch"]
) -> tuple[UInt32[Array, "slot *batch"], Float[Array, "slot *batch"]]:
    """Return the mask of the parts that the brick has issued to a drive, and the times at which it issued them."""
    slots, brick = state.slots, system.brick_of(drive)
    issued = system.queue.issued(state.queue, slots.waiting, brick)
    # A write that had to read first joins the queues when it has read. Other requests are sent when they arrive.
    joined = slots.arrival_time if slots.reads_first is None else slots.sent
    return issued, system.queue.enqueue_time(state.queue, joined, brick)


def _whose(
    scenario: Scenario, slots: Slots, best: Best
) -> tuple[Int[Array, "1 *batch"] | None, Int[Array, "1 *batch"] | None]:
    """Return the stream and the number of sectors of the chosen part. A delayed part counts as 0 sectors."""
    if slots.stream is None or slots.sectors is None:
        return None, None
    chosen, sectors = best.chosen, pick(slots.sectors, best.slot)
    sectors = scenario.system.placement.sectors_of(chosen.part, chosen.location, sectors)
    return pick(slots.stream, best.slot), jnp.where(chosen.late, 0, sectors)


def _on_drive(system: System, location: Any, part: Int[Array, "row *batch"], drive: Int[Array, "1 *batch"]) -> Target:
    """Return the location of parts on `drive`. location: locations of the requests of these parts."""
    return system.drive.seen(system.placement.target_on(part, location), drive)


def _of_slot(slots: Slots, choice: Choice, slot: Int[Array, "1 *batch"]) -> Chosen:
    """Return the part of a request that the choosing drive holds. slot: slot of the request."""
    location = pick_tree(slots.location, slot)
    return Chosen(
        number=pick(slots.number, slot),
        location=location,
        part=choice.placement.part_on(choice.drive, location),
        read=pick(slots.read, slot),
        reads=pick(slots.reads_now, slot),
        usable=None if choice.usable is None else pick(choice.usable, slot),
        delayed=None,
    )


def _or_later(
    scenario: Scenario,
    state: State,
    choice: Choice,
    chosen: Chosen,
    lowest: Float[Array, "1 *batch"],
    chooses: Bool[Array, "1 *batch"],
) -> tuple[Chosen, Int[Array, "1 *batch"] | int]:
    """Return the part that the drive serves, and the number of delayed parts that were compared.

    The result is a delayed part if its cost is below `lowest`, and `chosen` otherwise.

    lowest: lowest cost of the requests in the slots.
    """
    system, placement, drive = scenario.system, choice.placement, choice.drive

    def price(
        location: Any,
        arrival_time: Float[Array, "row *batch"],
        part: Int[Array, "row *batch"],
        usable: UInt32[Array, "row *batch"],
    ) -> Float[Array, "row *batch"]:
        writes = jnp.zeros(part.shape, bool)
        targets = _on_drive(system, location, part, drive)
        these = None if choice.usable is None else usable
        sight = choice._replace(target=targets, read=writes, enqueue_time=arrival_time, part=part, usable=these)
        return system.schedule.cost(state.schedule, sight)

    delayed_part = system.write.next_delayed(state.write, drive, chooses, lowest, price, placement)
    if delayed_part is None:
        return chosen, 0
    part = placement.part_on(drive, delayed_part.location)
    never = jnp.zeros_like(delayed_part.found)
    usable = None if choice.usable is None else delayed_part.usable
    other = Chosen(delayed_part.number, delayed_part.location, part, never, never, usable, delayed_part.row)
    return where_tree(
        delayed_part.found, other, chosen._replace(delayed=jnp.full_like(part, NO_REQUEST))
    ), delayed_part.candidates


def candidates(
    scenario: Scenario, state: State, offer: WaitingParts, parts: Int[Array, "slot *batch"]
) -> tuple[Bool[Array, "slot *batch"], Float[Array, "slot *batch"]]:
    """Return the requests that a drive may choose.

    Parameters
    ----------
    scenario : Scenario
        The scenario.
    state : State
        The state.
    offer : WaitingParts
        Parts that the write policy offers.
    parts : array of int32, shape `[slot, *batch]`
        Part of each request that the drive holds.

    Returns
    -------
    now : array of bool, shape `[slot, *batch]`
        Mask of the requests that the drive may choose now.
    choosable_from : array of float32, shape `[slot, *batch]`
        Time in seconds from now at which the drive may first choose each request; inf if it may not choose the request
        before another event.
    """
    system, slots = scenario.system, state.slots
    sent = jnp.where(slots.read, system.dispatch.sending_time(state.dispatch, slots.sent, parts), slots.sent)
    choosable_from = system.arbitration.choosable_from(state.arbitration, sent, slots.receiving, parts)
    choosable_from = jnp.where(offer.waits, choosable_from, jnp.inf)
    # because of rounding, an idle drive may wake slightly earlier than the time from which it may choose the part
    return choosable_from <= INSTANT, choosable_from


def serve(
    scenario: Scenario,
    state: State,
    best: Best,
    granted: Bool[Array, "1 *batch"],
    claimed: Bool[Array, "1 *batch"],
    decision: Decision,
) -> Slots:
    """Return the slots after a part is chosen or given up.

    The part leaves its queues, and the completion time of its request may become known.

    Parameters
    ----------
    scenario : Scenario
        The scenario.
    state : State
        The state before.
    best : Best
        The chosen access.
    granted : array of bool, shape `[1, *batch]`
        Whether the drive serves the part.
    claimed : array of bool, shape `[1, *batch]`
        Whether the drive claimed the part.
    decision : Decision
        Result of the claim.

    Returns
    -------
    Slots
        The slots after.
    """
    slots, slot, chosen = state.slots, best.slot, best.chosen
    at = (row_index(scenario.system.slots, slots.arrival_time) == slot) & best.found & ~chosen.late
    rule, before, queued = pick_tree((slots.rule, slots.completion, slots.waiting), slot)
    rest = queued & ~bit(chosen.part)
    enough = claimed & (size(rule.counted & ~rest) >= rule.needed)
    if scenario.system.dispatch.withdraws_late:
        enough = enough & (~chosen.read | scenario.system.dispatch.withdraws)
    waiting = jnp.where(enough, rest & ~decision.withdrawn, rest)
    counts = timed = granted & bit_is_set(rule.counted, chosen.part)
    if slots.reads_first is not None:
        # completion depends on the written parts only
        first = granted & (chosen.read != chosen.reads)
        counts, timed = counts & ~first, counts | first
    last = jnp.where(timed, jnp.maximum(pick(slots.latest, slot), best.finish), pick(slots.latest, slot))
    lost, others = still_serving(state, slot, scenario.system.placement.drive_of(decision.rival, chosen.location))
    part = Part(rule, chosen.read, rest, last, before, counts, best.finish, decision.rival_yields, lost, others)
    known = claimed & (rule.needed > 0) & jnp.isfinite(decision.completion)
    completion = jnp.where(known, decision.completion, when_taken(scenario, part))
    completion = jnp.where(pick(slots.completed, slot), before, completion)
    row = stored((waiting, last, completion), scenario.system.slots)
    waiting, latest, completion = where_tree(at, row, (slots.waiting, slots.latest, slots.completion))
    return slots._replace(waiting=waiting, latest=latest, completion=completion)
