"""Scalar control program: the closed loop of dsptf's table 1, one request after the other, in numba.

The program follows the paper, independently of the engine's arrays: absolute float64 times, integer geometry, one run,
branches. A careful programmer who needs only this experiment would write such a program. The engine's results
are compared with it in tests/agreement, and its speed in benchmarks/test_speed.py.
"""

import threading
from typing import NamedTuple

import numba
import numpy as np

AT_ONCE, FIRST, RECEIVING, ALL = range(4)
NEVER = np.inf
NO_REQUEST = -1


class Layout(NamedTuple):
    """Layout of a zoned drive: arrays with one entry per zone, and times in seconds."""

    first_sector: np.ndarray
    first_cylinder: np.ndarray
    track: np.ndarray
    track_skew: np.ndarray
    cylinder_skew: np.ndarray
    seek: np.ndarray
    heads: int
    capacity: int
    revolution: float
    head_switch: float
    write_settle: float
    serpentine: bool


class Loop(NamedTuple):
    """Parameters of the experiment. `completion` is AT_ONCE, FIRST, RECEIVING or ALL."""

    bricks: int
    outstanding: int
    slots: int
    read_share: float
    completion: int
    hashing: bool
    mean_sectors: float = 8.0


class Sums(NamedTuple):
    """Results of a run.

    `accesses` is -1 if there were too few slots. `twice` counts reads that another brick already served.
    """

    accesses: int
    elapsed: float
    busy: float
    candidates: int
    contested: int
    twice: int


class Slots(NamedTuple):
    """Requests: start and end of each, the time of its transfer, and the bricks that must still serve it."""

    cylinder: np.ndarray
    head: np.ndarray
    angle: np.ndarray
    transfer: np.ndarray
    end_cylinder: np.ndarray
    end_head: np.ndarray
    read: np.ndarray
    receiving: np.ndarray
    waiting: np.ndarray
    left: np.ndarray
    completed: np.ndarray
    used: np.ndarray


def layout(drive) -> Layout:
    """Return the layout of a `storagekit.drive.Drive` without reserved sectors, offsets or overhead."""
    zones = drive.geometry
    assert not np.any(zones.reserved) and not np.any(zones.first_offset) and drive.overhead == 0
    return Layout(
        *(np.asarray(field, np.int64) for field in (zones.first_sector, zones.first_cylinder, zones.sectors_per_track)),
        *(np.asarray(field, np.int64) for field in (zones.track_skew, zones.cylinder_skew)),
        np.asarray(drive.seek.times, np.float64),
        zones.heads,
        drive.capacity,
        *(float(time) for time in (drive.revolution, drive.head_switch, drive.write_settle)),
        bool(zones.serpentine),
    )


@numba.njit(inline="always")
def uniform(state):
    """Return the next random number in [0, 1) of Marsaglia's xorshift."""
    state[0] ^= state[0] << np.uint64(13)
    state[0] ^= state[0] >> np.uint64(7)
    state[0] ^= state[0] << np.uint64(17)
    return (state[0] >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@numba.njit
def seeded(seed):
    state = np.zeros(1, np.uint64)
    state[0] = np.uint64(seed * 2654435761 + 88172645463325252)
    for _ in range(10):
        uniform(state)
    return state


@numba.njit
def empty(count):
    whole, real, flag = np.int64, np.float64, np.bool_
    return Slots(
        np.zeros(count, whole),
        np.zeros(count, whole),
        np.zeros(count, real),
        np.zeros(count, real),
        np.zeros(count, whole),
        np.zeros(count, whole),
        np.zeros(count, flag),
        np.zeros(count, whole),
        np.zeros(count, whole),
        np.zeros(count, whole),
        np.zeros(count, flag),
        np.zeros(count, flag),
    )


@numba.njit(inline="always")
def location(drive, zone, offset):
    """Return cylinder, head, angle in revolutions and track number of a zone's sector."""
    length = drive.track[zone]
    track = offset // length
    sector = offset - track * length
    cylinder = track // drive.heads
    order = track - cylinder * drive.heads
    turned = (order + (drive.heads - 1) * cylinder) * drive.track_skew[zone] + cylinder * drive.cylinder_skew[zone]
    head = drive.heads - 1 - order if drive.serpentine and cylinder & 1 else order
    return drive.first_cylinder[zone] + cylinder, head, ((turned + sector) % length) / length, track


@numba.njit(inline="always")
def draw(drive, loop, slots, s, state):
    """Draw a new request into slot `s`."""
    sector = np.int64(uniform(state) * (drive.capacity // 8 - 40)) * 8
    count = max(np.int64(np.ceil(-np.log(1.0 - uniform(state)) * loop.mean_sectors)), 1)
    zone = 0
    while zone + 1 < len(drive.first_sector) and drive.first_sector[zone + 1] <= sector:
        zone += 1
    offset = sector - drive.first_sector[zone]
    cylinder, head, angle, track = location(drive, zone, offset)
    last_cylinder, last_head, _, last_track = location(drive, zone, offset + count - 1)
    crossed = last_cylinder - cylinder
    skew = (last_track - track - crossed) * drive.track_skew[zone] + crossed * drive.cylinder_skew[zone]
    slots.cylinder[s], slots.head[s], slots.angle[s] = cylinder, head, angle
    slots.end_cylinder[s], slots.end_head[s] = last_cylinder, last_head
    slots.transfer[s] = (count + skew) / drive.track[zone] * drive.revolution
    slots.read[s] = uniform(state) < loop.read_share
    slots.receiving[s] = np.int64(uniform(state) * loop.bricks)
    chosen = np.int64(uniform(state) * loop.bricks)
    everyone = (1 << loop.bricks) - 1
    slots.waiting[s] = 1 << chosen if slots.read[s] and loop.hashing else everyone
    slots.left[s] = 1 if slots.read[s] else loop.bricks
    slots.completed[s] = loop.completion == AT_ONCE and not slots.read[s]
    slots.used[s] = True


@numba.njit(inline="always")
def positioning(drive, slots, s, cylinder, head, turns):
    """Return the positioning time to the request in slot `s`, and the rotational latency in it, both in seconds.

    The arm starts at `cylinder` and `head`, and the angle of the platter is `turns` revolutions.
    """
    move = drive.seek[abs(slots.cylinder[s] - cylinder)]
    if slots.head[s] != head and move < drive.head_switch:
        move = drive.head_switch
    if move > 0 and not slots.read[s]:
        move += drive.write_settle
    ahead = slots.angle[s] - (turns + move / drive.revolution)
    rotation = (ahead - np.floor(ahead)) * drive.revolution
    return move + rotation, rotation


@numba.njit(inline="always")
def finished(loop, slots, s, brick):
    """Record that a brick has read or written its copy. Return whether this completes the request."""
    slots.left[s] -= 1
    answers = not slots.completed[s] and (
        slots.read[s]
        or loop.completion == FIRST
        or (loop.completion == RECEIVING and slots.receiving[s] == brick)
        or slots.left[s] == 0
    )
    if answers:
        slots.completed[s] = True
    if slots.left[s] == 0:
        slots.used[s] = False
    return answers


@numba.njit(inline="always")
def earliest(times):
    first = 0
    for d in range(1, len(times)):
        if times[d] < times[first]:
            first = d
    return first


@numba.njit(nogil=True)
def without_delay(drive, loop, seed, events, warm_up):
    """Run central SPTF, or hashing with an SPTF queue at each brick.

    A completed request is replaced after the choice that its completion allows.
    """
    state = seeded(seed)
    slots = empty(loop.slots)
    free, phase = np.zeros(loop.bricks), np.zeros(loop.bricks)
    cylinder, head = np.zeros(loop.bricks, np.int64), np.zeros(loop.bricks, np.int64)
    serving = np.full(loop.bricks, NO_REQUEST)
    for d in range(loop.bricks):
        phase[d], free[d] = uniform(state), 1e-4 * d
    coming = loop.outstanding
    now, began, busy, accesses, candidates = 0.0, 0.0, 0.0, 0, 0
    for event in range(events):
        while coming > 0:
            s = 0
            while s < loop.slots and slots.used[s]:
                s += 1
            if s == loop.slots:
                return Sums(-1, now, busy, candidates, 0, 0)
            draw(drive, loop, slots, s, state)
            coming -= 0 if slots.completed[s] else 1
            for d in range(loop.bricks):
                if free[d] == NEVER:
                    free[d] = now
        k = earliest(free)
        now = free[k]
        if event == warm_up:
            began = now
        if serving[k] != NO_REQUEST and finished(loop, slots, serving[k], k):
            coming += 1
        best, chosen, depth = NEVER, NO_REQUEST, 0
        for s in range(loop.slots):
            if slots.used[s] and (slots.waiting[s] >> k) & 1:
                depth += 1
                cost, _ = positioning(drive, slots, s, cylinder[k], head[k], phase[k] + now / drive.revolution)
                if cost < best:
                    best, chosen = cost, s
        serving[k] = chosen
        if chosen == NO_REQUEST:
            free[k] = NEVER
            continue
        slots.waiting[chosen] = 0 if slots.read[chosen] else slots.waiting[chosen] & ~(1 << k)
        cylinder[k], head[k] = slots.end_cylinder[chosen], slots.end_head[chosen]
        free[k] = now + best + slots.transfer[chosen]
        if event >= warm_up:
            busy += best + slots.transfer[chosen]
            accesses += 1
            candidates += depth
    return Sums(accesses, now - began, busy, candidates, 0, 0)


@numba.njit(nogil=True)
def with_claims(drive, loop, latency, seed, events, warm_up):
    """Run D-SPTF with messages of one-way `latency` (dsptf, section 3.1): claims, bids, and choices 2 latencies early.

    A brick that chooses later than that waits for claims until two latencies have passed. If its disk is idle, it waits at
    most for the rotational latency of its access.
    """
    state = seeded(seed)
    slots = empty(loop.slots)
    arrival_time, first = np.zeros(loop.slots), np.zeros(loop.slots)
    # time and bid of every brick's claim on the read in each slot, and the number of bricks that serve the read
    made, bid = np.zeros((loop.slots, loop.bricks)), np.zeros((loop.slots, loop.bricks))
    services = np.zeros(loop.slots, np.int64)
    wake, phase = np.zeros(loop.bricks), np.zeros(loop.bricks)
    # the current or last access, and the next one, which is planned
    ends, serving = np.full(loop.bricks, NEVER), np.full(loop.bricks, NO_REQUEST)
    free, cylinder, head = np.zeros(loop.bricks), np.zeros(loop.bricks, np.int64), np.zeros(loop.bricks, np.int64)
    planned, plan_cost, plan_end = np.full(loop.bricks, NO_REQUEST), np.zeros(loop.bricks), np.zeros(loop.bricks)
    issue, idle = np.zeros(loop.bricks), np.zeros(loop.bricks, np.bool_)
    for d in range(loop.bricks):
        phase[d], wake[d] = uniform(state), 1e-4 * d
    coming = loop.outstanding
    now, began, busy, accesses, candidates, contested, twice = 0.0, 0.0, 0.0, 0, 0, 0, 0
    event = 0
    while event < events:
        while coming > 0:
            s = 0
            while s < loop.slots and slots.used[s]:
                s += 1
            if s == loop.slots:
                return Sums(-1, now, busy, candidates, contested, twice)
            draw(drive, loop, slots, s, state)
            arrival_time[s], first[s], made[s], services[s] = now, NEVER, NEVER, 0
            coming -= 0 if slots.completed[s] else 1
            for d in range(loop.bricks):
                if idle[d]:
                    wake[d] = now
        j = earliest(ends)
        k = earliest(wake)
        if ends[j] < wake[k]:
            now = ends[j]
            if finished(loop, slots, serving[j], j):
                coming += 1
            ends[j] = NEVER
            continue
        now = wake[k]
        if event == warm_up:
            began = now
        event += 1
        if planned[k] != NO_REQUEST:
            s = planned[k]
            if event > warm_up:
                busy += plan_cost[k]
                accesses += 1
            # the previous access, if it ends at this instant
            if ends[k] < NEVER and finished(loop, slots, serving[k], k):
                coming += 1
            serving[k], ends[k], free[k] = s, plan_end[k], plan_end[k]
            cylinder[k], head[k] = slots.end_cylinder[s], slots.end_head[s]
            planned[k] = NO_REQUEST
        start = max(free[k], now) if free[k] <= now + 1e-12 else max(free[k], now + 2 * latency)
        best, turn, chosen, depth, soonest = NEVER, 0.0, NO_REQUEST, 0, NEVER
        for s in range(loop.slots):
            if not slots.used[s] or not (slots.waiting[s] >> k) & 1:
                continue
            if slots.read[s] and (slots.completed[s] or first[s] + latency < now - 1e-12):
                continue
            reaches = arrival_time[s] if slots.receiving[s] == k else arrival_time[s] + latency
            if reaches > now:
                soonest = min(soonest, reaches)
                continue
            depth += 1
            cost, rotation = positioning(drive, slots, s, cylinder[k], head[k], phase[k] + start / drive.revolution)
            if cost < best:
                best, turn, chosen = cost, rotation, s
        if chosen == NO_REQUEST:
            wake[k], idle[k] = soonest, True
            continue
        idle[k] = False
        if event > warm_up:
            candidates += depth
        s = chosen
        slots.waiting[s] &= ~(1 << k)
        issue[k] = max(start, min(now + 2 * latency, start + turn))
        if slots.read[s]:
            contested += event > warm_up and first[s] < NEVER
            first[s], made[s, k], bid[s, k] = min(first[s], now), now, best
            hears, replaces = NEVER, False
            for other in range(loop.bricks):
                if other == k or made[s, other] == NEVER:
                    continue
                arrives = made[s, other] + latency
                if bid[s, other] < best or (bid[s, other] == best and other < k):
                    if arrives <= issue[k] + 1e-12:
                        hears = min(hears, arrives)
                elif planned[other] == s and now + latency <= issue[other] + 1e-12:
                    planned[other] = NO_REQUEST
                    wake[other] = now + latency
                    replaces = True
            if hears < NEVER:
                wake[k] = max(hears, now)
                continue
            if not replaces:
                # the first service to end completes the read; the slot becomes free when all have ended
                twice += event > warm_up and services[s] > 0
                slots.left[s] += services[s] > 0
                services[s] += 1
        planned[k] = s
        plan_cost[k] = best + slots.transfer[s]
        plan_end[k] = start + plan_cost[k]
        wake[k] = max(plan_end[k] - 2 * latency, issue[k])
    return Sums(accesses, now - began, busy, candidates, contested, twice)


def on_cores(cores, kernel, *arguments, events):
    """Run the kernel on every core at the same time, with different seeds. Return the results of all cores."""
    results = [None] * cores

    def work(core):
        results[core] = kernel(*arguments, core + 1, events, 1000)

    threads = [threading.Thread(target=work, args=(core,)) for core in range(cores)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results
