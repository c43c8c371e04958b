"""What a request costs in each layout, disk by disk.

The paper approximates D_m mirrors by D_r D_m replicas (section 2.5). Here they are counted one by one: a read goes to the
idle head that is there first, and a write that propagates in the foreground occupies D_m disks and ends with the last.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from storagekit.analytic import srarray
from storagekit.errors import InputError
from storagekit.plan.layout import Layouts
from storagekit.plan.spindle import Numbers, Spindle


@dataclass(frozen=True)
class Load:
    """What is asked of an array; arrays where there are many questions.

    read_share: reads among requests; background: share of the writes whose copies are propagated in idle time; queue:
    outstanding requests for each disk; locality: L, by which distances are divided; data: size of the data set in
    capacities of one drive.
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

    @property
    def unpropagated(self) -> NDArray:
        """p of equation 8."""
        reads = np.asarray(self.read_share, float)
        writes = 1 - reads
        return srarray.unpropagated_share(reads, writes * self.background, writes * (1 - np.asarray(self.background)))

    @property
    def settled_once(self) -> NDArray:
        """Writes that count like reads, because only their first copy is written in the foreground."""
        return (1 - np.asarray(self.read_share, float)) * self.background


@dataclass(frozen=True)
class Costs:
    """For each layout: latency of a request alone, seconds; disk seconds that a request takes of the array in all."""

    latency: NDArray
    disk_time: NDArray


def costs(spindle: Spindle, load: Load, layouts: Layouts, disks: Numbers, used: NDArray) -> Costs:
    """The costs where a disk's data and its replicas take a share `used` of the cylinders (0 to 1, last axis: layout)."""
    reach = used / np.asarray(load.locality)
    idle = srarray.idle_share(np.asarray(disks, float), np.multiply(disks, load.queue))
    return Costs(_latency(spindle, load, layouts, reach), _disk_time(spindle, load, layouts, reach, idle))


def throughput(disks: Numbers, queue: Numbers, disk_time: NDArray) -> NDArray:
    """Requests a second: equation 16, for requests that take `disk_time` seconds of the array."""
    disks = np.asarray(disks, float)
    return srarray.array_throughput(disks, disks * queue, 1 / disk_time)


def used_share(load: Load, layouts: Layouts, disks: Numbers) -> NDArray:
    """Cylinders of a disk that hold data or replicas, above 1 where the layout does not fit."""
    return np.multiply(load.data, layouts.copies) / np.asarray(disks, float)


def _latency(spindle: Spindle, load: Load, layouts: Layouts, reach: NDArray) -> NDArray:
    arc = np.divide(spindle.revolution, layouts.replicas)
    p = load.unpropagated
    first = spindle.least(reach, arc, layouts.mirrors)
    # the other replicas of a disk pass one arc after another
    last = spindle.most(reach, arc, layouts.mirrors) + spindle.revolution - arc
    settle = (1 - np.asarray(load.read_share)) * spindle.write_settle
    return spindle.overhead + settle + p * first + (1 - p) * last


def _disk_time(spindle: Spindle, load: Load, layouts: Layouts, reach: NDArray, idle: NDArray) -> NDArray:
    arc = np.divide(spindle.revolution, layouts.replicas)
    sparse = np.broadcast_to(np.asarray(load.queue) <= srarray.SPARSE_QUEUE, reach.shape)
    # a request waits at all its mirrors, so a stroke meets D_m times the queue of one disk
    stroke = spindle.hop(reach / (np.asarray(load.queue) * layouts.mirrors)) + arc / 2
    single, read = stroke, stroke
    if sparse.any():
        single = np.where(sparse, spindle.mean_seek(reach) + arc / 2, stroke)
        read = np.where(sparse, spindle.least(reach, arc, layouts.mirrors, idle), stroke)
    write = single + spindle.revolution - arc
    return occupied(load, layouts, spindle.overhead + read, spindle.overhead + write, spindle.write_settle)


def occupied(load: Load, layouts: Layouts, read: NDArray, write: NDArray, settle: Numbers) -> NDArray:
    """Disk seconds of a mean request: one access `read`, or D_m accesses `write` where all copies are written at once."""
    p = load.unpropagated
    return p * read + load.settled_once * settle + (1 - p) * layouts.mirrors * (write + settle)


def _within(label: str, values: Numbers, least: float, most: float, rule: str) -> None:
    values = np.asarray(values, float)
    wrong = values[~((values >= least) & (values <= most))]
    if wrong.size:
        raise InputError(f"{label} {wrong.flat[0]:g}: it must be {rule}")
