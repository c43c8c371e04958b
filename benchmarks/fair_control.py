"""Scalar control program of fair queueing: dsfq's figure 9, two bricks of disks under SFQ(D) with TOTAL delays, in numba.

The program follows the paper (sections 2.3 and 3.2): absolute float64 times and tags, one run, branches. The tags of one
stream's requests at one brick increase in the order of arrival. The program therefore keeps a queue for each stream and
brick, and compares the heads of the queues. Geometry and positioning come from `control`.
"""

from typing import NamedTuple

import numba
import numpy as np

from benchmarks.control import NEVER, NO_REQUEST, earliest, empty, location, positioning, seeded, uniform


class Sharing(NamedTuple):
    """Parameters of the experiment.

    Each thread has a stream, a brick, and the first sector of its volume on each disk of the brick (`begin`). Each stream
    has a weight. A volume has `part` sectors on each disk, in stripe units of `unit` sectors. Sizes are uniform from `low`
    to `high` bytes.
    """

    stream: np.ndarray
    brick: np.ndarray
    begin: np.ndarray
    weights: np.ndarray
    depth: int
    disks: int
    part: int
    unit: int
    low: float
    high: float
    read_share: float


class Served(NamedTuple):
    """Results of a run: sectors by stream and brick, accesses, seconds."""

    sectors: np.ndarray
    accesses: int
    elapsed: float


class Queues(NamedTuple):
    """First-come, first-served queues: each row of `who` is a ring of `held` threads that starts at `head`."""

    who: np.ndarray
    head: np.ndarray
    held: np.ndarray


@numba.njit
def queues(count, room):
    return Queues(np.zeros((count, room), np.int64), np.zeros(count, np.int64), np.zeros(count, np.int64))


@numba.njit(inline="always")
def put(queue, number, who):
    queue.who[number, (queue.head[number] + queue.held[number]) % queue.who.shape[1]] = who
    queue.held[number] += 1


@numba.njit(inline="always")
def take(queue, number):
    who = queue.who[number, queue.head[number]]
    queue.head[number] = (queue.head[number] + 1) % queue.who.shape[1]
    queue.held[number] -= 1
    return who


@numba.njit(inline="always")
def new_request(drive, sharing, slots, thread, state):
    """Draw a new request of a thread into its slot. Return its disk within the brick and its number of sectors."""
    grid = 8
    most = np.int64(np.ceil(sharing.high / 512))
    sector = np.int64(uniform(state) * ((sharing.part * sharing.disks - most) // grid)) * grid
    count = np.int64(np.ceil((sharing.low + uniform(state) * (sharing.high - sharing.low)) / 512))
    unit = sector // sharing.unit
    on_disk = sharing.begin[thread] + unit // sharing.disks * sharing.unit + sector % sharing.unit
    zone = 0
    while zone + 1 < len(drive.first_sector) and drive.first_sector[zone + 1] <= on_disk:
        zone += 1
    offset = on_disk - drive.first_sector[zone]
    cylinder, head, angle, track = location(drive, zone, offset)
    last_cylinder, last_head, _, last_track = location(drive, zone, offset + count - 1)
    crossed = last_cylinder - cylinder
    skew = (last_track - track - crossed) * drive.track_skew[zone] + crossed * drive.cylinder_skew[zone]
    slots.cylinder[thread], slots.head[thread], slots.angle[thread] = cylinder, head, angle
    slots.end_cylinder[thread], slots.end_head[thread] = last_cylinder, last_head
    slots.transfer[thread] = (count + skew) / drive.track[zone] * drive.revolution
    slots.read[thread] = uniform(state) < sharing.read_share
    return unit % sharing.disks, count


@numba.njit(inline="always")
def tagged(sharing, thread, cost, virtual, finish, sent, then):
    """Return the start tag of a request (dsfq, equation 7).

    The tag is delayed by the cost that the stream sent to other bricks since its last request to this brick.
    """
    f, b = sharing.stream[thread], sharing.brick[thread]
    elsewhere = sent[f] - then[f, b]
    sent[f] += cost
    then[f, b] = sent[f]
    start = max(virtual[b], finish[f, b] + elsewhere / sharing.weights[f])
    finish[f, b] = start + cost / sharing.weights[f]
    return start


@numba.njit(inline="always")
def next_of(waiting, tag, brick, streams):
    """Return the queue of a brick whose head has the smallest tag, or NO_REQUEST if all are empty."""
    best, chosen = NEVER, NO_REQUEST
    for f in range(streams):
        number = brick * streams + f
        if waiting.held[number] and tag[waiting.who[number, waiting.head[number]]] < best:
            best, chosen = tag[waiting.who[number, waiting.head[number]]], number
    return chosen


@numba.njit(nogil=True)
def fair_bricks(drive, sharing, seed, seconds, warm_up):
    """Run threads that send a request when the previous one completes. Disks serve issued requests in order."""
    state = seeded(seed)
    threads, streams, bricks = len(sharing.stream), len(sharing.weights), np.max(sharing.brick) + 1
    drives = bricks * sharing.disks
    slots, disk, cost = empty(threads), np.zeros(threads, np.int64), np.zeros(threads, np.int64)
    tag, waiting, issued = np.zeros(threads), queues(bricks * streams, threads), queues(drives, threads)
    virtual, finish = np.zeros(bricks), np.zeros((streams, bricks))
    sent, then = np.zeros(streams), np.zeros((streams, bricks))
    outstanding, served = np.zeros(bricks, np.int64), np.zeros((streams, bricks))
    ends, serving = np.full(drives, NEVER), np.full(drives, NO_REQUEST)
    cylinder, head = np.zeros(drives, np.int64), np.zeros(drives, np.int64)
    phase = np.array([uniform(state) for _ in range(drives)])
    now, accesses, coming = 0.0, 0, 0
    ended = NO_REQUEST
    while now < seconds:
        # first all threads, then the thread whose request completed, after its brick has issued the next request
        if ended != NO_REQUEST:
            b = sharing.brick[ended]
            number = next_of(waiting, tag, b, streams)
            if number != NO_REQUEST:
                who = take(waiting, number)
                virtual[b] = tag[who]
                put(issued, b * sharing.disks + disk[who], who)
                outstanding[b] += 1
        thread = ended if coming >= threads else coming
        coming += 1
        b = sharing.brick[thread]
        disk[thread], cost[thread] = new_request(drive, sharing, slots, thread, state)
        tag[thread] = tagged(sharing, thread, cost[thread], virtual, finish, sent, then)
        if outstanding[b] < sharing.depth:
            virtual[b] = tag[thread]
            put(issued, b * sharing.disks + disk[thread], thread)
            outstanding[b] += 1
        else:
            put(waiting, b * streams + sharing.stream[thread], thread)
        for k in range(b * sharing.disks, (b + 1) * sharing.disks):
            if serving[k] == NO_REQUEST and issued.held[k]:
                s = take(issued, k)
                needs, _ = positioning(drive, slots, s, cylinder[k], head[k], phase[k] + now / drive.revolution)
                serving[k], ends[k] = s, now + needs + slots.transfer[s]
                cylinder[k], head[k] = slots.end_cylinder[s], slots.end_head[s]
        if coming < threads:
            continue
        k = earliest(ends)
        now = ends[k]
        ended = serving[k]
        serving[k], ends[k] = NO_REQUEST, NEVER
        b = sharing.brick[ended]
        outstanding[b] -= 1
        if now > warm_up:
            served[sharing.stream[ended], b] += cost[ended]
            accesses += 1
    return Served(served, accesses, seconds - warm_up)


def sharing(scenario, *, sizes, read_share) -> Sharing:
    """Return the parameters of a scenario of `papers.dsfq.bricks.shared_bricks`: its threads and its volumes' locations."""
    placement, queue = scenario.system.placement, scenario.system.queue
    volumes = placement.across
    begins = volumes._begins()
    rows = [
        (group.stream, volumes.bricks[number][0], begins[number, volumes.bricks[number][0]])
        for group in scenario.arrivals.groups
        for number in group.volumes
    ]
    stream, brick, begin = (np.array(column, np.int64) for column in zip(*rows, strict=True))
    weights, layout = np.array([float(weight) for weight in queue.weights]), (volumes.size, volumes.unit)
    low, high = (float(size) for size in sizes)
    return Sharing(stream, brick, begin, weights, int(queue.depth), placement.disks, *layout, low, high, read_share)
