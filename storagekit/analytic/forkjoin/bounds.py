"""Calculate bounds on the mean response time of fork-join queues with the block times of a disk.

The service times may have any distribution.
"""

from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from storagekit.analytic.forkjoin.parts import Disk
from storagekit.analytic.queueing import response_mg1
from storagekit.core.validation import MOST_EXACT, SIZE, Count, Rates, instance_of, validate

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
    """Return the probabilities of the points 0, step, 2 step, ... for a time that is uniform from 0 to `width`.

    The probability of each interval is divided between its two ends so that the mean is preserved.
    """
    ends = np.minimum(np.arange(int(np.ceil(width / step)) + 2) * step, width)
    if width == 0:
        return np.array([1.0])
    middle = (ends[1:] + ends[:-1]) / 2 / step - np.arange(len(ends) - 1)
    share = np.diff(ends) / width
    points = np.zeros(len(ends))
    points[:-1] += share * (1 - middle)
    points[1:] += share * middle
    return points


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
    rate = np.asarray(rate, float)
    mean = blocks * float(disk.mean(unit))
    variance = blocks * disk.variance()
    second = variance + mean**2
    # The distribution is symmetric, so its third central moment is 0.
    third = mean**3 + 3 * mean * variance
    alone = response_mg1(rate, mean, second)
    wait = alone - mean
    idle = 1 - rate * mean
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = np.sqrt(variance + wait**2 + rate * third / (3 * idle))
        above = alone + (disks - 1) / np.sqrt(2 * disks - 1) * spread
    return wait + latest(disk, unit, blocks, disks), np.where(idle > 0, above, np.inf)
