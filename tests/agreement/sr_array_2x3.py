"""The array of srarray's figure 5, one request at a time: an independent check of the engine, written from the paper's
text.

The text specifies the following (its sections in brackets). Every disk holds a sixth of the data (2.3, figure 3) on
half of its cylinders, in stripe units of 64 KB (3.1). Three copies of each block lie at even angles on different tracks
of one cylinder (2.2). Each disk has a separate queue; of all requests and copies in it, the disk takes the one that it
reaches first (RSATF, 2.4). A write is scheduled by its first copy, as a read is (3.4). The other copies follow in the
same cylinder before any other request (in the foreground, 3.5; one seek for all, 4.2; R - R/2D of rotation, equation
3). A constant number of requests of 512 bytes is outstanding in the whole array, at uniformly random locations (3.5;
the seek locality of 3 belongs to the benchmarks of 4.2).

The text leaves the following open. The request that replaces a completed one arrives after the disk has chosen its next
(if it arrived before, throughput would be up to 2.3% higher, at 8 outstanding). A later copy costs a track switch and
the turn to its angle (4.1: six fit into a turn of 6 ms at 0.9 ms each). There are 1.97 ms for it, so either processing
(0.38 ms) or settling (0.8 ms) on top would change nothing. Both together would cost a turn each, a quarter of the
throughput at half reads. If the copies were queued one by one, and others could come between them, throughput would
change by less than 0.6%. Platters are not in step (2.5). Heads are tracked without error. Arm and head switch at once,
and a write settles after either, as `storagekit.drive.Drive` documents for its numbers. Only these numbers are taken
from there.

    python -m agreement.sr_array_2x3 > ../data/reference/srarray_2x3.csv        (in tests/)
"""

import csv
import heapq
import sys
from operator import itemgetter
from typing import NamedTuple

import numpy as np

STRIPES, COPIES = 2, 3
DISKS = STRIPES * COPIES
UNIT = 64 * 1024 // 512
DEPTHS = (1, 2, 4, 8, 16, 32)
READ_SHARES = (1.0, 0.5)
SEEDS = range(8)
REQUESTS, WARM_UP = 40_000, 2_000


class Numbers(NamedTuple):
    """The parameters of a drive. seek: seconds by cylinders crossed; sectors: per track; switch, settle, overhead:
    seconds."""

    seek: list[float]
    heads: int
    sectors: int
    turn: float
    switch: float
    settle: float
    overhead: float


class Copy(NamedTuple):
    """Location of one copy of a sector. angle: the angle at which it begins, in turns."""

    cylinder: int
    head: int
    angle: float


class Request(NamedTuple):
    """One sector, on one disk."""

    disk: int
    copies: list[Copy]
    read: bool


class Disk:
    """Position of the arm, angle of the platter at time 0, and the queue."""

    def __init__(self, phase: float):
        self.cylinder, self.head, self.phase = 0, 0, phase
        self.queue: list[Request] = []
        self.idle = True


def numbers(drive) -> Numbers:
    """Parameters of a `storagekit.drive.Drive` with one zone."""
    (sectors,) = drive.geometry.sectors_per_track
    seek = np.asarray(drive.seek(np.arange(drive.cylinders)), float).tolist()
    times = (drive.revolution, drive.head_switch, drive.write_settle, drive.overhead)
    return Numbers(seek, drive.heads, int(sectors), *(float(time) for time in times))


def data_sectors(drive: Numbers) -> int:
    """Sectors of the logical disk: whole stripe units, on the first half of every disk's cylinders."""
    own = len(drive.seek) // STRIPES * (drive.heads // COPIES) * drive.sectors
    return own // UNIT * UNIT * DISKS


def locate(drive: Numbers, sector: int, read: bool) -> Request:
    unit, within = divmod(sector, UNIT)
    row, disk = divmod(unit, DISKS)
    track, offset = divmod(row * UNIT + within, drive.sectors)
    tracks = drive.heads // COPIES
    cylinder, head = divmod(track, tracks)
    angle = offset / drive.sectors
    return Request(disk, [Copy(cylinder, head + tracks * n, (angle + n / COPIES) % 1.0) for n in range(COPIES)], read)


def turn_to(drive: Numbers, disk: Disk, when: float, angle: float) -> float:
    """Seconds until an angle is under the head."""
    return (angle - disk.phase - when / drive.turn) % 1.0 * drive.turn


def positioning(drive: Numbers, disk: Disk, now: float, copy: Copy, read: bool) -> float:
    """Seconds until a copy's sector begins: processing, arm or head switch, settling to write after a seek, rotation."""
    move = drive.seek[abs(copy.cylinder - disk.cylinder)]
    if copy.head != disk.head:
        move = max(move, drive.switch)
    if copy.cylinder != disk.cylinder and not read:
        move += drive.settle
    move += drive.overhead
    return move + turn_to(drive, disk, now + move, copy.angle)


def choose(drive: Numbers, disk: Disk, now: float) -> tuple[float, Request, Copy]:
    """RSATF: the least positioning time, its request and its copy."""
    reached = (
        (positioning(drive, disk, now, copy, request.read), request, copy)
        for request in disk.queue
        for copy in request.copies
    )
    return min(reached, key=itemgetter(0))


def start(drive: Numbers, disk: Disk, now: float) -> float:
    """Take the next request from the queue. Returns the time at which it is read, or written on all copies."""
    takes, request, copy = choose(drive, disk, now)
    disk.queue.remove(request)
    passing = drive.turn / drive.sectors
    now += takes + passing
    others = [] if request.read else [other for other in request.copies if other is not copy]
    while others:
        switched = now + drive.switch
        waits = [turn_to(drive, disk, switched, other.angle) for other in others]
        copy = others.pop(waits.index(min(waits)))
        now = switched + min(waits) + passing
    disk.cylinder, disk.head, disk.idle = copy.cylinder, copy.head, False
    return now


def throughput(
    drive: Numbers, outstanding: int, read_share: float, seed: int, requests=REQUESTS, warm_up=WARM_UP
) -> float:
    """Requests completed per second, after the first `warm_up`, with `outstanding` requests always in the array."""
    random = np.random.default_rng([seed, outstanding, round(100 * read_share)])
    count = requests + outstanding
    sectors = random.integers(data_sectors(drive), size=count).tolist()
    coming = map(locate, [drive] * count, sectors, (random.random(count) < read_share).tolist())
    disks = [Disk(phase) for phase in random.random(DISKS)]
    finishing: list[tuple[float, int]] = []

    def enter(now: float) -> None:
        request = next(coming)
        disk = disks[request.disk]
        disk.queue.append(request)
        if disk.idle:
            heapq.heappush(finishing, (start(drive, disk, now), request.disk))

    for _ in range(outstanding):
        enter(0.0)
    start_time = now = 0.0
    for completed in range(1, requests + 1):
        now, number = heapq.heappop(finishing)
        disk = disks[number]
        disk.idle = True
        if disk.queue:
            heapq.heappush(finishing, (start(drive, disk, now), number))
        enter(now)
        if completed == warm_up:
            start_time = now
    return (requests - warm_up) / (now - start_time)


def main() -> None:
    from storagekit.papers.srarray.disk import paper_drive

    drive = numbers(paper_drive())
    table = csv.writer(sys.stdout, lineterminator="\n")
    table.writerow(["read_share", "outstanding", "throughput_iops", "standard_error", "seeds", "requests"])
    for share in READ_SHARES:
        for depth in DEPTHS:
            found = np.array([throughput(drive, depth, share, seed) for seed in SEEDS])
            error = found.std(ddof=1) / np.sqrt(found.size)
            table.writerow([share, depth, f"{found.mean():.3f}", f"{error:.3f}", found.size, REQUESTS])


if __name__ == "__main__":
    main()
