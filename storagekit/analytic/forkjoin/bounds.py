"""Fork-join queues with service times of any law: bounds of the mean response time, and the block times of a disk."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from storagekit.analytic.forkjoin.parts import Disk
from storagekit.analytic.queueing import response_mg1
from storagekit.core.kinds import COUNT, MOST_EXACT, RATE, SIZE, a, takes

_GRID = 2**14
_PARTS = {
    "disk": a(Disk, "Disk.like(load_drive(name))"),
    "unit": SIZE.up_to(MOST_EXACT),
    "blocks": COUNT,
    "disks": COUNT,
}


@takes(**_PARTS)
def latest(disk: Disk, unit: float, blocks: int, disks: int) -> float:
    """Mean time of the last of `disks` disks to serve `blocks` blocks of `unit` bytes, all idle at first, seconds.

    The sum of 2 `blocks` independent uniform times by its distribution on a grid (fast Fourier transform), and of the latest
    of them the integral of 1 - F^D. Raises InputError for no blocks or disks, or a unit of none.
    """
    constant = blocks * float(disk.transfer(unit))
    span = blocks * 2 * (disk.seek + disk.rotation)
    if span == 0:
        return constant
    step = span / (_GRID - 2)
    law = np.fft.rfft(_uniform(2 * disk.seek, step), 2 * _GRID) * np.fft.rfft(
        _uniform(2 * disk.rotation, step), 2 * _GRID
    )
    reached = np.clip(np.cumsum(np.fft.irfft(law**blocks)[:_GRID]), 0, 1)
    return constant + step * float(np.sum(1 - reached**disks))


def _uniform(width: float, step: float) -> NDArray:
    """Probabilities of the points 0, step, 2 step, ... for a uniform time of 0 to `width`: those of the intervals around
    them, shared between their two ends so that the mean is kept."""
    ends = np.minimum(np.arange(int(np.ceil(width / step)) + 2) * step, width)
    if width == 0:
        return np.array([1.0])
    middle = (ends[1:] + ends[:-1]) / 2 / step - np.arange(len(ends) - 1)
    share = np.diff(ends) / width
    points = np.zeros(len(ends))
    points[:-1] += share * (1 - middle)
    points[1:] += share * middle
    return points


@takes(**_PARTS, rate=RATE.each)
def completion_bounds(disk: Disk, unit: float, blocks: int, disks: int, rate: ArrayLike) -> tuple[NDArray, NDArray]:
    """Bounds of the mean time to complete a request of `blocks` blocks on each of `disks` disks, `rate` requests a second.

    Below: the mean wait of M/G/1 and the latest of the service times. Above: the latest of D independent response times, no
    more than their mean and (D - 1)/sqrt(2 D - 1) standard deviations (Hartley and David, Universal bounds for mean range and
    extreme observation, Annals of Mathematical Statistics 25, 1954). The argument is that of `response_bounds`. The
    variance of the response in M/G/1 is Takacs' (Kleinrock, Queueing Systems, volume I, 1975, section 5.7). Infinite from
    saturation on.
    """
    rate = np.asarray(rate, float)
    mean = blocks * float(disk.mean(unit))
    variance = blocks * disk.variance()
    second = variance + mean**2
    # a symmetric law: the third central moment is 0
    third = mean**3 + 3 * mean * variance
    alone = response_mg1(rate, mean, second)
    wait = alone - mean
    idle = 1 - rate * mean
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = np.sqrt(variance + wait**2 + rate * third / (3 * idle))
        above = alone + (disks - 1) / np.sqrt(2 * disks - 1) * spread
    return wait + latest(disk, unit, blocks, disks), np.where(idle > 0, above, np.inf)
