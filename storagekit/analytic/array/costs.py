"""Calculate the costs of a request in each layout, disk by disk.

The paper approximates D_m mirrors by D_r D_m replicas (srarray, section 2.5). This module treats each mirror separately. A
read goes to the idle head that arrives first. A write that propagates in the foreground occupies D_m disks and ends when
the last disk ends.

The throughput uses the rotation of equations 12 to 16, but differs from these equations in three points:

- If n requests always wait for an elevator, the elevator crosses the share 2/(3 (n + 1)) of the cylinders to the next
  request, not the share 1/n (`Spindle.stroke`). This also covers short queues, for which the paper uses equation 9.
- The number of requests that wait when a disk chooses is random, and q is only its mean
  (`closed_loop.waiting_at_choice`).
- Disks are idle less often than if every request were at an independent random disk (`closed_loop.busy_share`).
"""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from storagekit.analytic.array import closed_loop, equations
from storagekit.analytic.array.elevator import Scheduler, crowding_of
from storagekit.analytic.array.equations import DISKS
from storagekit.analytic.array.positioning import ALONE, Numbers, Spindle
from storagekit.analytic.array.shapes import Columns, Shapes
from storagekit.core.errors import InputError
from storagekit.core.namespaces import namespace_of
from storagekit.core.validation import (
    AMOUNT,
    COUNT,
    POSITIVE,
    REAL,
    SHARE,
    SPAN,
    instance_of,
    numbers,
    require,
    require_broadcast,
    shown,
    unchecked,
    validate,
)

# relative step of the queue in the finite difference of the service time
_STEP = 0.1
# versions without validation, for arguments that have been validated
_waiting_at_choice, _busy_share = unchecked(closed_loop.waiting_at_choice), unchecked(closed_loop.busy_share)
_shape_of, _staffed = unchecked(closed_loop.shape_of), unchecked(closed_loop.staffed)
_crowding_of, _unpropagated_share = unchecked(crowding_of), unchecked(equations.unpropagated_share)


@dataclass(frozen=True)
class Load:
    """Workload of an array. If fields are arrays, the object describes several workloads.

    Parameters
    ----------
    read_share : float or array of float
        Share of reads among the requests, 0 to 1.
    background : float or array of float
        Share of the writes that propagate their copies in idle time, 0 to 1.
    queue : float or array of float
        Number of outstanding requests per disk, above 0.
    locality : float or array of float
        Locality L, by which seek distances are divided.
    data : float or array of float
        Size of the data set, divided by the capacity of one drive.

    Raises
    ------
    InputError
        If a value is out of range, or the arrays do not broadcast.
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
        """Return the share of requests that do not propagate copies in the foreground: p of equation 8 of srarray."""
        reads = namespace_of(self.read_share).asarray(self.read_share, float)
        writes, background = 1 - reads, namespace_of(self.background).asarray(self.background)
        return _unpropagated_share(reads, writes * background, writes * (1 - background))

    @property
    def settled_once(self) -> NDArray:
        """Return the share of requests that are writes with background propagation.

        These writes count like reads, because only their first copy is written in the foreground.
        """
        return (1 - namespace_of(self.read_share).asarray(self.read_share, float)) * self.background


_LOAD = instance_of(Load, "a Load, for example single_load(0.7, 0.0, 4.0, 1.0, 1.0)")


def single_load(read_share: float, background: float, queue: float, locality: float, data: float) -> Load:
    """Return the load of a single workload.

    Parameters
    ----------
    read_share : float
        Share of reads among the requests, 0 to 1.
    background : float
        Share of the writes that propagate their copies in idle time, 0 to 1.
    queue : float
        Number of outstanding requests per disk, above 0.
    locality : float
        Locality L, by which seek distances are divided.
    data : float
        Size of the data set, divided by the capacity of one drive.

    Returns
    -------
    Load
        The workload.

    Raises
    ------
    InputError
        If a value is an array, or out of range.
    """
    given = {"read_share": read_share, "background": background, "queue": queue, "locality": locality, "data": data}
    for label, value in given.items():
        REAL(label, value)
    return Load(**given)


@dataclass(frozen=True)
class Costs:
    """Costs of a request in each layout.

    Parameters
    ----------
    latency : array of float, shape `[..., layout]`
        Latency of a request in an otherwise idle array, seconds.
    disk_time : array of float, shape `[..., layout]`
        Sum of the times that a request occupies the disks, seconds.
    busy : array of float, shape `[..., layout]`
        Share of the time for which a disk is busy, at the queue length of the load.
    """

    latency: NDArray
    disk_time: NDArray
    busy: NDArray

    @validate
    def throughput(self, disks: Annotated[Numbers, POSITIVE.each]) -> NDArray:
        """Return the throughput of an array, in requests a second.

        Parameters
        ----------
        disks : float or array of float
            Number of disks.

        Returns
        -------
        array of float, shape `[..., layout]`
            Throughput, requests a second.

        Raises
        ------
        InputError
            If a number is not above 0, or the arrays do not broadcast.
        """
        require_broadcast(disks=disks, layouts=self.busy)
        return namespace_of(disks).asarray(disks, float) * self.busy / self.disk_time


def _shapes(label: str, value: Shapes) -> Shapes:
    """Return the value. Raises InputError unless it has all columns of `Shapes` as arrays."""
    missing = [name for name in Columns.__annotations__ if not isinstance(getattr(value, name, None), np.ndarray)]
    if missing:
        raise InputError(
            f"{label}: given {shown(value)}; give several layouts, for example layouts(12) or Columns.of([Shape()])"
        )
    return value


def _together(load: Load, layouts: Shapes, **arrays) -> None:
    require_broadcast(layouts=layouts.heads, **vars(load), **arrays)


def _whole(load: Load, layouts: Shapes, used: NDArray, **arrays) -> None:
    _together(load, layouts, used=used, **arrays)
    all_of_them = np.broadcast_shapes(np.shape(used), layouts.heads.shape, *map(np.shape, vars(load).values()))
    require(
        np.shape(used) == all_of_them,
        "used of shape",
        str(np.shape(used)),
        f"{all_of_them}, the common shape of load and layouts",
    )


@validate(together=_whole)
def costs(
    spindle: Annotated[Spindle, instance_of(Spindle, "a Spindle, for example spindle(load_drive(name))")],
    load: Annotated[Load, _LOAD],
    layouts: Annotated[Shapes, _shapes],
    disks: Annotated[Numbers, DISKS.each],
    used: Annotated[NDArray, AMOUNT.each],
    scheduler: Annotated[Scheduler, instance_of(Scheduler, "RLOOK() or RSATF(), the schedulers with formulas")],
) -> Costs:
    """Return the costs of a request in each layout.

    Parameters
    ----------
    spindle : Linear or Curve
        Timing of the drive.
    load : Load
        Workload.
    layouts : Layouts or Columns
        Layouts of the disks.
    disks : float or array of float
        Number of disks, at least 1.
    used : array of float, shape `[..., layout]`
        Share of a disk's cylinders that its data and its replicas occupy, 0 to 1.
    scheduler : Scheduler
        Scheduler of each disk.

    Returns
    -------
    Costs
        Costs of a request in each layout. The last axis of each field is the layout.

    Raises
    ------
    InputError
        If an argument has the wrong type or is out of range, or an array does not fit the layouts.
    """
    reach = spindle.reach(used / namespace_of(load.locality).asarray(load.locality))
    disk_time, busy = _occupied(spindle, load, layouts, disks, reach, scheduler)
    return Costs(_latency(spindle, load, layouts, reach), disk_time, busy)


@validate(together=_together)
def used_share(
    load: Annotated[Load, _LOAD], layouts: Annotated[Shapes, _shapes], disks: Annotated[Numbers, DISKS.each]
) -> NDArray:
    """Return the share of a disk's cylinders that hold data or replicas.

    Parameters
    ----------
    load : Load
        Workload.
    layouts : Layouts or Columns
        Layouts of the disks.
    disks : float or array of float
        Number of disks, at least 1.

    Returns
    -------
    array of float, shape `[..., layout]`
        Share of the cylinders; above 1 if the layout does not fit.

    Raises
    ------
    InputError
        If an argument has the wrong type or is out of range, or an array does not fit the layouts.
    """
    return namespace_of(load.data).multiply(load.data, layouts.room) / namespace_of(disks).asarray(disks, float)


def _latency(spindle: Spindle, load: Load, layouts: Shapes, reach: NDArray) -> NDArray:
    space = namespace_of(reach, spindle.revolution)
    arc = space.divide(spindle.revolution, layouts.replicas)
    p = load.unpropagated
    first = spindle.least(reach, arc, layouts.heads)
    if np.any(layouts.ways > 1):
        first = space.where(layouts.ways > 1, _together_last(spindle, reach, arc, layouts.ways), first)
    last = spindle.most(reach, arc, layouts.written) + spindle.revolution * layouts.turned
    last = space.where(layouts.ways > 1, _together_last(spindle, reach, arc, layouts.written), last)
    if np.any(layouts.read_first):
        # the disk that reads last writes when the data comes round again; if the write is on other disks, these seek
        reads = spindle.most(reach, arc, np.maximum(layouts.read_first, 1))
        then = space.where(layouts.returns, _round_again(spindle) - spindle.overhead, last)
        last = space.where(layouts.read_first > 0, reads + spindle.overhead + then, last)
    settle = (1 - namespace_of(load.read_share).asarray(load.read_share)) * spindle.write_settle
    return spindle.overhead + settle + p * first + (1 - p) * last


def _occupied(
    spindle: Spindle, load: Load, layouts: Shapes, disks: Numbers, reach: NDArray, scheduler: Scheduler
) -> tuple[NDArray, NDArray]:
    """Return the disk time of a request, in seconds, and the share of the time for which a disk is busy.

    The disks of a mirror have one queue. A read that finds idle disks goes to the idle disk whose head arrives first.
    Otherwise it waits at all disks of the mirror. A write always waits at all disks of the mirror. Each disk chooses
    among the requests that the other disks have not taken. Positioning times are assumed to have the variance of a
    uniform distribution from 0 to twice their mean, which is a third of the square of the mean.
    """
    p, heads, written, before = load.unpropagated, layouts.heads, layouts.written, layouts.read_first
    space = namespace_of(p, load.queue, disks, reach, spindle.revolution, spindle.overhead)
    arc = space.divide(spindle.revolution, layouts.replicas)
    turned = spindle.revolution * layouts.turned
    alone = spindle.mean_seek(reach) + arc / 2
    # the disks that divide a request serve it together, as the disks of a mirror serve a write
    group = np.where(layouts.ways > 1, written, heads)
    stations, outstanding = space.divide(disks, group), space.multiply(disks, load.queue)
    beside = _beside_reads(spindle, layouts, reach, alone, load.queue)
    seen, reads = unchecked(visible)(p, heads, group, layouts.ways, written + before, *beside)
    # Each head serves all writes, so no other head has taken some of the writes.
    crowding = reads * _crowding_of(heads) + (1 - reads) * ALONE

    def chosen_among(crowd: NDArray) -> NDArray:
        others = space.maximum(seen * crowd - (heads - 1) * reads, 1)
        return scheduler.positioning(spindle, reach, arc, space.where(written > 1, others, crowd), crowding)

    def total(read: NDArray, chosen: NDArray, idle: NDArray | float = 0.0) -> NDArray:
        access = spindle.overhead + chosen
        # a write that returns to a disk which has done nothing else since takes the rest of the revolution
        rest = (_round_again(spindle) + (written - 1) * (spindle.overhead + arc / 2)) / written
        write = space.where(layouts.returns, idle * rest + (1 - idle) * access, access + turned)
        time = unchecked(occupied)(load, layouts, spindle.overhead + read, write, spindle.write_settle)
        return time + (1 - p) * before * access

    # The first estimate of the queue ignores that a disk is faster with a longer queue. This estimate gives the
    # speed-up, and the speed-up gives the actual queue.
    crowd = space.broadcast_to(_waiting_at_choice(stations, outstanding), reach.shape)
    slow, fast = (total(time, time) for time in (chosen_among(crowd), chosen_among(crowd * (1 + _STEP))))
    shape = _shape_of(crowd, slow, fast, _STEP)
    chosen = chosen_among(_waiting_at_choice(stations, outstanding, shape))
    # first the share of idle time at the mean queue, then the gain of a read that chooses among idle heads
    first = total(chosen, chosen)
    square = chosen**2 / 3 + p * (1 - p) * turned**2
    variation = square * ((p * layouts.ways + (1 - p) * (written + before)) / first) ** 2
    busy = _busy_share(stations, load.queue * group * seen, variation, shape)
    if np.all(heads == 1):
        return total(chosen, chosen, 1 - busy), busy
    # A read keeps one disk of its mirror busy, a write keeps all of them busy.
    shared = (1 - reads) * busy + reads * space.minimum(busy, _staffed(stations, outstanding, heads))
    busy = space.where(heads > 1, shared, busy)
    idle = space.where(heads > 1, 1 - busy, 0)
    none = (1 - idle) ** heads
    nearest = spindle.least(reach, arc, heads, idle) - none * alone
    return total(space.where(heads > 1, nearest + none * chosen, chosen), chosen, 1 - busy), busy


def _together_last(spindle: Spindle, reach: NDArray, arc: NDArray, count: NDArray) -> NDArray:
    """Return the longest positioning time of accesses whose arms start at one address: a seek and the longest rotation."""
    return spindle.mean_seek(reach) + arc * count / (count + 1)


def _round_again(spindle: Spindle) -> NDArray:
    """Return the time from the end of a read to the end of the write of the same data, seconds."""
    space = namespace_of(spindle.overhead, spindle.write_settle, spindle.revolution)
    overhead = space.asarray(spindle.overhead) + spindle.write_settle
    return spindle.revolution * space.ceil(overhead / spindle.revolution)


def _beside_reads(
    spindle: Spindle, layouts: Shapes, reach: NDArray, alone: NDArray, queue: Numbers
) -> tuple[NDArray, NDArray, NDArray]:
    """Return the times that a write waits at all its disks, and the times until a read and a write complete.

    The unit is a read access, and the time of a read is that at one head.

    A write on several disks has one access on each disk, and ends with its last access. Without a queue, the last access
    takes longer than the mean access because positioning times differ. With a long queue, the ratio of both is
    H = 1 + 1/2 + ... + 1/w for w accesses, the ratio for exponential times (see `visible`). For mirrors, the times are
    w and H. With parity, the time of the reads before the write is added. A divided read also ends with its last access. The
    disks that divide requests have similar queues, so that only the share of accesses that they do not have in common
    approaches H.
    """
    own = (layouts.heads == 1) & (layouts.written > 1)
    read = spindle.overhead + alone
    write = read + spindle.revolution * layouts.turned + spindle.write_settle
    space = namespace_of(queue, read, write, alone)
    arc = space.divide(spindle.revolution, layouts.replicas)
    waiting = queue / (1 + space.asarray(queue, float))

    def last_of(count: NDArray, access: NDArray) -> tuple[NDArray, NDArray]:
        """Return the ratio of the last access to the mean access: as it is, and for exponential times."""
        harmonic = np.cumsum(1 / np.arange(1, int(np.max(count)) + 1))[count - 1]
        most = space.where(
            layouts.ways > 1, _together_last(spindle, reach, arc, count), spindle.most(reach, arc, count)
        )
        last = 1 + (most - alone) / access
        # disks that serve the same accesses have the same queues
        differs = np.where(layouts.ways > 1, 1 - (count - 1) / np.maximum(layouts.written - 1, 1), 1.0)
        return last + (harmonic - last) * waiting * differs, harmonic

    last, harmonic = last_of(layouts.written, write)
    longer, before = space.where(own, write / read, 1.0), layouts.read_first
    first = space.where(before > 0, last_of(np.maximum(before, 1), read)[0], 0.0)
    divided = space.where(layouts.ways > 1, last_of(layouts.ways, read)[0], 1.0)
    return layouts.written * longer + before, divided, longer * space.where(own, last, harmonic) + first


@validate(together=require_broadcast)
def visible(
    p: Annotated[Numbers, SHARE.each],
    heads: Annotated[NDArray, COUNT.each],
    group: Annotated[NDArray, COUNT.each],
    ways: Annotated[NDArray, COUNT.each],
    accesses: Annotated[NDArray, COUNT.each],
    present: Annotated[Numbers, POSITIVE.each],
    read: Annotated[Numbers, POSITIVE.each],
    last: Annotated[Numbers, POSITIVE.each],
) -> tuple[NDArray, NDArray]:
    """Return the number of requests at a disk per request at its group of mirrored disks, and the share of reads.

    Parameters
    ----------
    p : float or array of float
        Share of requests that do not propagate copies in the foreground, 0 to 1.
    heads : array of int, shape `[layout]`
        Number of disks that hold a block.
    group : array of int, shape `[layout]`
        Number of disks that serve requests together: `heads`, or the disks that divide a request.
    ways : array of int, shape `[layout]`
        Number of disks over which a read is divided.
    accesses : array of int, shape `[layout]`
        Number of accesses of a write.
    present : float or array of float
        Sum of the times that a write waits at its disks, divided by the time T that a read waits at a disk.
    read : float or array of float
        Time until a read by one head completes, divided by T; 1 if a read is not divided.
    last : float or array of float
        Time until a write completes, divided by T.

    Returns
    -------
    waiting : array of float
        Number of requests that wait at a disk, divided by the number of outstanding requests at its group of mirrored
        disks.
    reads : array of float
        Share of reads among the accesses of a disk.

    Raises
    ------
    InputError
        If a number is out of range, or the arrays do not broadcast.

    Notes
    -----
    Let h = `heads`. A read leaves after T/h, because the first of h heads serves it. A write of w equal accesses on
    mirrors leaves with the last of these accesses, after H T, where H = 1 + 1/2 + ... + 1/w for exponential times. The
    waiting times at all disks add up to T for a read and to w T for such a write.
    """
    waits = (p * ways + (1 - p) * present) / group
    return waits / (p * read / heads + (1 - p) * last), p * ways / (p * ways + (1 - p) * accesses)


@validate(together=_together)
def occupied(
    load: Annotated[Load, _LOAD],
    layouts: Annotated[Shapes, _shapes],
    read: Annotated[NDArray, SPAN.each],
    write: Annotated[NDArray, SPAN.each],
    settle: Annotated[Numbers, SPAN.each],
) -> NDArray:
    """Return the mean disk time of a request, in seconds: the sum over all disks.

    Parameters
    ----------
    load : Load
        Workload.
    layouts : Layouts or Columns
        Layouts of the disks.
    read : array of float
        Access time of a read, seconds.
    write : array of float
        Access time of a write, seconds, without settling.
    settle : float or array of float
        Settling time of a write, seconds.

    Returns
    -------
    array of float, shape `[..., layout]`
        Disk time, seconds.

    Raises
    ------
    InputError
        If a time is below 0, or an array does not fit the layouts.

    Notes
    -----
    A read, or a write with background propagation, takes one access of `read` seconds on each disk over which it is
    divided. A write with foreground propagation takes one access of `write` seconds on each of its disks.
    Settling adds to every write.
    """
    p = load.unpropagated
    return p * layouts.ways * read + load.settled_once * settle + (1 - p) * layouts.written * (write + settle)


def _within(label: str, values: Numbers, least: float, most: float, rule: str) -> None:
    values = numbers(label, values)
    require((values >= least) & (values <= most), label, values, rule)
