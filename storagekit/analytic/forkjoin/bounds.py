"""Calculate bounds on the mean response time of fork-join queues with the block times of a disk.

The service times may have any distribution.
"""

from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from storagekit.analytic.forkjoin.parts import Disk
from storagekit.analytic.queueing import response_mg1
from storagekit.core.namespaces import as_number, namespace_of
from storagekit.core.validation import MOST_EXACT, SIZE, Count, Rates, instance_of, traced, validate

_GRID = 2**14
_Disk = Annotated[Disk, instance_of(Disk, "Disk.like(load_drive(name))")]
_Unit = Annotated[float, SIZE.up_to(MOST_EXACT)]


@validate
def latest(disk: _Disk, unit: _Unit, blocks: Count, disks: Count) -> float:
    """Return the mean time until the last of several initially idle disks has served its blocks.

    Parameters
    ----------
    disk : Disk
        The disks, all of the same kind.
    unit : float
        Size of a block, bytes, above 0.
    blocks : int
        Number of blocks on each disk, at least 1.
    disks : int
        Number D of disks, at least 1.

    Returns
    -------
    float
        Mean time, seconds.

    Raises
    ------
    InputError
        If an argument has the wrong type or is out of range.

    Notes
    -----
    The service time of a disk is the sum of 2 `blocks` independent uniform times and a constant. The distribution F of
    the sum is computed on a grid by fast Fourier transform. The mean of the largest sum is the integral of 1 - F^D.
    """
    constant = blocks * as_number(disk.transfer(unit))
    span = blocks * 2 * (disk.seek + disk.rotation)
    space = namespace_of(span)
    if not traced(span) and span == 0:
        return constant
    step = span / (_GRID - 2)
    # no time is longer than the span divided by the number of blocks
    points = -(-(_GRID - 2) // blocks) + 2
    seek, rotation = (_uniform(2 * mean, step, points) for mean in (disk.seek, disk.rotation))
    law = space.fft.rfft(seek, 2 * _GRID) * space.fft.rfft(rotation, 2 * _GRID)
    reached = space.clip(space.cumsum(space.fft.irfft(law**blocks)[:_GRID]), 0, 1)
    return constant + step * as_number(space.sum(1 - reached**disks))


def _uniform(width: float, step: float, points: int) -> NDArray:
    """Return the probabilities of the points 0, step, 2 step, ... for a time that is uniform from 0 to `width`.

    The probability of each interval is divided between its two ends so that the mean is preserved.
    """
    space = namespace_of(width, step)
    number = np.arange(points)
    ends = space.minimum(number * step, width)
    middle = (ends[1:] + ends[:-1]) / 2 / step - number[:-1]
    # a time shorter than a step is in the first interval, also if it is 0
    within = space.where(width < step, step, width)
    share = space.where(width < step, 1.0 * (number[:-1] == 0), space.diff(ends) / within)
    nothing = space.zeros(1)
    return space.concatenate([share * (1 - middle), nothing]) + space.concatenate([nothing, share * middle])


@validate
def completion_bounds(disk: _Disk, unit: _Unit, blocks: Count, disks: Count, rate: Rates) -> tuple[NDArray, NDArray]:
    """Return a lower and an upper bound on the mean time to complete a request on several disks.

    Parameters
    ----------
    disk : Disk
        The disks, all of the same kind.
    unit : float
        Size of a block, bytes, above 0.
    blocks : int
        Number of blocks of a request on each disk, at least 1.
    disks : int
        Number D of disks, at least 1.
    rate : float or array of float
        Arrival rate, requests a second.

    Returns
    -------
    below : array of float
        Lower bound, seconds; infinite at saturation and above.
    above : array of float
        Upper bound, seconds; infinite at saturation and above.

    Raises
    ------
    InputError
        If an argument has the wrong type or is out of range.

    Notes
    -----
    The lower bound is the mean waiting time of M/G/1 plus the mean of the longest service time. The upper bound is a
    bound on the mean of the longest of D independent response times: the mean response time plus (D - 1)/sqrt(2 D - 1)
    standard deviations (Hartley and David). `response_bounds` explains why both bounds hold. The variance of the
    response time of M/G/1 is from Takacs (Kleinrock, section 5.7).

    References
    ----------
    Hartley and David, Universal bounds for mean range and extreme observation, Annals of Mathematical Statistics 25,
    1954. Kleinrock, Queueing Systems, volume I, 1975, section 5.7.
    """
    mean = blocks * as_number(disk.mean(unit))
    space = namespace_of(rate, mean)
    rate = space.asarray(rate, float)
    variance = blocks * disk.variance()
    second = variance + mean**2
    # The distribution is symmetric, so its third central moment is 0.
    third = mean**3 + 3 * mean * variance
    alone = response_mg1(rate, mean, second)
    wait = alone - mean
    idle = 1 - rate * mean
    # The other values of an overloaded disk are only to keep the derivative finite.
    waits, left = space.where(idle > 0, wait, 0.0), space.where(idle > 0, idle, 1.0)
    spread = space.sqrt(variance + waits**2 + rate * third / (3 * left))
    above = alone + (disks - 1) / np.sqrt(2 * disks - 1) * spread
    return wait + latest(disk, unit, blocks, disks), space.where(idle > 0, above, np.inf)
