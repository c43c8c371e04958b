"""What a request costs in each layout, disk by disk.

The paper approximates D_m mirrors by D_r D_m replicas (section 2.5). Here they are counted one by one: a read goes to the
idle head that is there first, and a write that propagates in the foreground occupies D_m disks and ends with the last.

Of equations 12 to 16 throughput keeps the rotation, and departs in three things. An elevator that always has n places to go
to crosses 2/3(n + 1) of the cylinders to the next, not 1/n (`Spindle.stroke`), which also covers the few for which the paper
turns to equation 9. What a disk finds waiting varies, and q is only its mean (`closed_loop.waiting_at_choice`). And disks are
idle less often than requests thrown at them by chance would leave them (`closed_loop.busy_share`).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from storagekit.analytic.array import closed_loop, equations
from storagekit.analytic.array.elevator import Scheduler, crowding_of
from storagekit.analytic.array.equations import DISKS
from storagekit.analytic.array.positioning import ALONE, Numbers, Spindle
from storagekit.analytic.array.shapes import Columns, Shapes
from storagekit.core.checks import numbers, require, require_broadcast, require_number, shown
from storagekit.core.errors import InputError
from storagekit.core.kinds import AMOUNT, COUNT, POSITIVE, SHARE, SPAN, a, takes, unchecked

# by what share of a queue its service is differenced
_STEP = 0.1
# asked with what has been looked at
_waiting_at_choice, _busy_share = unchecked(closed_loop.waiting_at_choice), unchecked(closed_loop.busy_share)
_shape_of, _staffed = unchecked(closed_loop.shape_of), unchecked(closed_loop.staffed)
_crowding_of, _unpropagated_share = unchecked(crowding_of), unchecked(equations.unpropagated_share)


@dataclass(frozen=True)
class Load:
    """What is asked of an array; arrays where there are many questions.

    read_share: reads among requests; background: share of the writes whose copies are propagated in idle time; queue:
    outstanding requests for each disk; locality: L, by which distances are divided; data: size of the data set in
    capacities of one drive. Raises InputError where one is out of range, or arrays do not broadcast.
    """

    read_share: Numbers
    background: Numbers
    queue: Numbers
    locality: Numbers
    data: Numbers

    def __post_init__(self):
        for label, values in (("read_share", self.read_share), ("background", self.background)):
            _within(label, values, 0, 1, "between 0 and 1")
        _within("queue", self.queue, np.nextafter(0, 1), 1e9, "above 0 requests for each disk")
        _within("locality", self.locality, 1e-6, 1e9, "above 0")
        _within("data", self.data, np.nextafter(0, 1), 1e9, "above 0 drive capacities")
        require_broadcast(**vars(self))

    @property
    def unpropagated(self) -> NDArray:
        """p of equation 8."""
        reads = np.asarray(self.read_share, float)
        writes = 1 - reads
        return _unpropagated_share(reads, writes * self.background, writes * (1 - np.asarray(self.background)))

    @property
    def settled_once(self) -> NDArray:
        """Writes that count like reads, because only their first copy is written in the foreground."""
        return (1 - np.asarray(self.read_share, float)) * self.background


_LOAD = a(Load, "what is asked of an array, single_load(0.7, 0.0, 4.0, 1.0, 1.0)")


def single_load(read_share: float, background: float, queue: float, locality: float, data: float) -> Load:
    """The load of one question. Raises InputError for an array, and as `Load`."""
    given = {"read_share": read_share, "background": background, "queue": queue, "locality": locality, "data": data}
    for label, value in given.items():
        require_number(label, value)
    return Load(**given)


@dataclass(frozen=True)
class Costs:
    """For each layout: latency of a request alone, seconds; disk seconds that a request takes of the array in all; busy:
    share of the time that a disk works at the question's queue."""

    latency: NDArray
    disk_time: NDArray
    busy: NDArray

    @takes(disks=POSITIVE.each)
    def throughput(self, disks: Numbers) -> NDArray:
        """Requests a second."""
        require_broadcast(disks=disks, layouts=self.busy)
        return np.asarray(disks, float) * self.busy / self.disk_time


def _shapes(label: str, value: Shapes) -> Shapes:
    """The value. Raises InputError unless it has what `Shapes` have, an array of each."""
    missing = [name for name in Columns.__annotations__ if not isinstance(getattr(value, name, None), np.ndarray)]
    if missing:
        raise InputError(
            f"{label}: given {shown(value)}; give layouts(12), or shapes as Columns.of([Shape()]) has them"
        )
    return value


def _together(load: Load, layouts: Shapes, **arrays) -> None:
    require_broadcast(layouts=layouts.heads, **vars(load), **arrays)


def _whole(load: Load, layouts: Shapes, used: NDArray, **arrays) -> None:
    _together(load, layouts, used=used, **arrays)
    all_of_them = np.broadcast_shapes(np.shape(used), layouts.heads.shape, *map(np.shape, vars(load).values()))
    require(
        np.shape(used) == all_of_them, "used of shape", str(np.shape(used)), f"{all_of_them}, as load and layouts are"
    )


@takes(
    _whole,
    spindle=a(Spindle, "the view of a drive, spindle(load_drive(name))"),
    load=_LOAD,
    layouts=_shapes,
    disks=DISKS.each,
    used=AMOUNT.each,
    scheduler=a(Scheduler, "a scheduler that formulas know, RLOOK() or RSATF()"),
)
def costs(spindle: Spindle, load: Load, layouts: Shapes, disks: Numbers, used: NDArray, scheduler: Scheduler) -> Costs:
    """The costs where a disk's data and its replicas take a share `used` of the cylinders (0 to 1, last axis: layout).

    Raises InputError for what is none of these, and for arrays that do not go with the layouts.
    """
    reach = spindle.reach(used / np.asarray(load.locality))
    disk_time, busy = _occupied(spindle, load, layouts, disks, reach, scheduler)
    return Costs(_latency(spindle, load, layouts, reach), disk_time, busy)


@takes(_together, load=_LOAD, layouts=_shapes, disks=DISKS.each)
def used_share(load: Load, layouts: Shapes, disks: Numbers) -> NDArray:
    """Cylinders of a disk that hold data or replicas, above 1 where the layout does not fit.

    Raises InputError for what is none of these, and for arrays that do not go with the layouts.
    """
    return np.multiply(load.data, layouts.room) / np.asarray(disks, float)


def _latency(spindle: Spindle, load: Load, layouts: Shapes, reach: NDArray) -> NDArray:
    arc = np.divide(spindle.revolution, layouts.replicas)
    p = load.unpropagated
    first = spindle.least(reach, arc, layouts.heads)
    last = spindle.most(reach, arc, layouts.written) + spindle.revolution * layouts.turned
    settle = (1 - np.asarray(load.read_share)) * spindle.write_settle
    return spindle.overhead + settle + p * first + (1 - p) * last


def _occupied(
    spindle: Spindle, load: Load, layouts: Shapes, disks: Numbers, reach: NDArray, scheduler: Scheduler
) -> tuple[NDArray, NDArray]:
    """Disk seconds of a request, and the share of the time that a disk works.

    The disks of a mirror have one queue. A read that finds some of them idle goes to the one that is there first; else it
    waits at all of them, and a write always does, among what the others have left. Positioning times spread about their
    mean as uniform ones do, by a third of its square.
    """
    p, heads, written = load.unpropagated, layouts.heads, layouts.written
    arc = np.divide(spindle.revolution, layouts.replicas)
    turned = spindle.revolution * layouts.turned
    alone = spindle.mean_seek(reach) + arc / 2
    places, outstanding = np.divide(disks, heads), np.multiply(disks, load.queue)
    seen, reads = unchecked(visible)(p, heads, written, *_beside_reads(spindle, layouts, reach, alone, load.queue))
    # each head makes all writes, and no other has taken some before it
    crowding = reads * _crowding_of(heads) + (1 - reads) * ALONE

    def chosen_among(crowd: NDArray) -> NDArray:
        others = np.maximum(seen * crowd - (heads - 1) * reads, 1)
        return scheduler.positioning(spindle, reach, arc, np.where(written > 1, others, crowd), crowding)

    def total(read: NDArray, chosen: NDArray) -> NDArray:
        write = spindle.overhead + chosen + turned
        return unchecked(occupied)(load, layouts, spindle.overhead + read, write, spindle.write_settle)

    # how fast a disk gets with its queue, as if that were not so; then the queue as it is
    crowd = np.broadcast_to(_waiting_at_choice(places, outstanding), reach.shape)
    slow, fast = (total(time, time) for time in (chosen_among(crowd), chosen_among(crowd * (1 + _STEP))))
    shape = _shape_of(crowd, slow, fast, _STEP)
    chosen = chosen_among(_waiting_at_choice(places, outstanding, shape))
    # what a mean queue leaves idle, then what a read gains from the choice among idle heads
    first = total(chosen, chosen)
    square = chosen**2 / 3 + p * (1 - p) * turned**2
    variation = square * ((p + (1 - p) * written) / first) ** 2
    busy = _busy_share(places, load.queue * heads * seen, variation, shape)
    if np.all(heads == 1):
        return first, busy
    # a read keeps one disk of its mirror busy, a write all of them
    shared = (1 - reads) * busy + reads * np.minimum(busy, _staffed(places, outstanding, heads))
    busy = np.where(heads > 1, shared, busy)
    idle = np.where(heads > 1, 1 - busy, 0)
    none = (1 - idle) ** heads
    nearest = spindle.least(reach, arc, heads, idle) - none * alone
    return total(np.where(heads > 1, nearest + none * chosen, chosen), chosen), busy


def _beside_reads(
    spindle: Spindle, layouts: Shapes, reach: NDArray, alone: NDArray, queue: Numbers
) -> tuple[NDArray, NDArray]:
    """Of writes on disks that are no mirrors, as parity has them: how much longer an access takes than a read's, and how much
    longer the last of them than any: where nothing waits as much as positioning times differ, where queues are long as much
    as exponential times do. Of mirrors 1, and that."""
    own = (layouts.heads == 1) & (layouts.written > 1)
    read = spindle.overhead + alone
    write = read + spindle.revolution * layouts.turned + spindle.write_settle
    arc = np.divide(spindle.revolution, layouts.replicas)
    harmonic = np.cumsum(1 / np.arange(1, int(np.max(layouts.written)) + 1))[layouts.written - 1]
    last = 1 + (spindle.most(reach, arc, layouts.written) - alone) / write
    waiting = np.asarray(queue, float) / (1 + np.asarray(queue, float))
    return np.where(own, write / read, 1.0), np.where(own, last + (harmonic - last) * waiting, harmonic)


@takes(require_broadcast, p=SHARE.each, heads=COUNT.each, written=COUNT.each, longer=POSITIVE.each, last=POSITIVE.each)
def visible(p: Numbers, heads: NDArray, written: NDArray, longer: Numbers, last: Numbers) -> tuple[NDArray, NDArray]:
    """Requests that wait at a disk for each of those of its mirror, and the share of reads in its accesses.

    A request that waits T at a disk is gone after T/h if it is a read, which the first of h heads takes, and after H T if it
    is a write of w accesses, which the last of them ends: H = 1 + 1/2 + ... + 1/w for exponential times. So a read is at one
    disk for T in all, and a write for w T. longer: by what factor an access of a write takes longer than one of a read; last:
    H, or what stands in its place.
    """
    accesses = p + (1 - p) * written
    present = p + (1 - p) * written * longer
    return present / heads / (p / heads + (1 - p) * longer * last), p / accesses


@takes(_together, load=_LOAD, layouts=_shapes, read=SPAN.each, write=SPAN.each, settle=SPAN.each)
def occupied(load: Load, layouts: Shapes, read: NDArray, write: NDArray, settle: Numbers) -> NDArray:
    """Disk seconds of a mean request: one access `read`, or as many accesses `write` as disks are written at once.
    Raises InputError for arrays that do not go with the layouts."""
    p = load.unpropagated
    return p * read + load.settled_once * settle + (1 - p) * layouts.written * (write + settle)


def _within(label: str, values: Numbers, least: float, most: float, rule: str) -> None:
    values = numbers(label, values)
    require((values >= least) & (values <= most), label, values, rule)
