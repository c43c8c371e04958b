"""Calculate Chernoff's bound on the total time at a disk for one block of each of several sessions.

The bound holds except with a small probability. Seek times and rotational latencies are independent and uniform (swift,
section 5.1). Let X_1 to X_n be the times of n blocks, and M the moment generating function of a time at theta. For
every theta > 0,

    P(X_1 + .. + X_n > t) <= exp(n g(theta) + theta (B - t)),    g(theta) = log M(seek) + log M(rotation),
    log M(time uniform from 0 to 2 m) = log((exp(2 m theta) - 1) / (2 m theta)),

where B is the sum of the transfer times, which is constant. Solved for t, the bound is: except with a probability e,
the sum of the times is at most B + min over theta of (n g(theta) + log 1/e) / theta. Every theta gives a valid bound,
so the minimum over a fixed grid is valid too. The grid reduces the accuracy only a little: neighbouring values of theta
have a ratio of 1.25. If the best theta is half a step away, the exponent changes by about a hundredth.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike, NDArray

from storagekit.analytic.forkjoin.parts import Disk
from storagekit.core.namespaces import as_number, namespace_of, smallest
from storagekit.core.validation import Spaces, Validator, instance_of, validate

_POINTS = 64
# Limits of the product of theta and the longest time of a block with a small transfer. The range covers the best theta
# for a single session, and for thousands of sessions.
_LEAST, _MOST = 1e-2, 1e4
_TRANSFER = 65536
_PERIOD = Validator(least=0, unit="s", above=True, endless=True)


def log_moment(mean: ArrayLike, theta: ArrayLike) -> NDArray:
    """Return log E exp(theta X) of a time X uniform from 0 to 2 `mean` seconds.

    Parameters
    ----------
    mean : float or array of float
        Mean of the time, seconds.
    theta : float or array of float
        Argument theta of the function, 1/seconds, above 0.

    Returns
    -------
    array of float
        Logarithm of the moment generating function.
    """
    space = namespace_of(mean, theta)
    x = 2 * space.asarray(mean, float) * space.asarray(theta, float)
    some = space.where(x > 0, x, 1.0)
    # x / 2 is the first term of the power series
    return space.where(x > 0, some + space.log(-space.expm1(-some) / some), x / 2)


@dataclass(frozen=True)
class Tail:
    """Bounds on the positioning time at each of several disks.

    Parameters
    ----------
    slope : array of float, shape `[disk, theta]`
        g(theta)/theta, seconds.
    step : array of float, shape `[disk, theta]`
        1/theta, seconds.
    most : array of float, shape `[disk]`
        Longest positioning time, seconds.
    """

    slope: NDArray
    step: NDArray
    most: NDArray

    @classmethod
    def of(cls, disks: Sequence[Disk]) -> "Tail":
        """Return the bounds for several disks."""
        slowest = [as_number(disk.slowest(_TRANSFER)) for disk in disks]
        space = namespace_of(slowest)
        theta = np.geomspace(_LEAST, _MOST, _POINTS)[None] / space.asarray(slowest)[:, None]
        seek = space.asarray([disk.seek for disk in disks])[:, None]
        rotation = space.asarray([disk.rotation for disk in disks])[:, None]
        exponent = log_moment(seek, theta) + log_moment(rotation, theta)
        return cls(exponent / theta, 1 / theta, 2 * (seek + rotation)[:, 0])

    def positioning(self, count: ArrayLike, rarity: ArrayLike) -> NDArray:
        """Return the total time of several positionings that is exceeded with a probability of at most exp(-`rarity`).

        Parameters
        ----------
        count : float or array of float, shape `[..]`
            Number of positionings.
        rarity : float or array of float, shape `[..]`
            Negative logarithm of this probability.

        Returns
        -------
        array of float, shape `[.., disk]`
            Time, seconds. It is at most the sum of the longest positioning times, because no total is above this sum.
        """
        space = namespace_of(count, rarity, self.slope)
        count, rarity = space.asarray(count, float)[..., None], space.asarray(rarity, float)[..., None]
        least = (count * self.slope + rarity * self.step).min(axis=-1)
        return space.minimum(least, count[..., 0] * self.most)


@validate
def lateness_bound(
    disk: Annotated[Disk, instance_of(Disk, "Disk.like(load_drive(name))")],
    units: Spaces,
    period: Annotated[float, _PERIOD],
) -> float:
    """Return a bound on the probability that a disk needs longer than a period for one block of each session.

    Parameters
    ----------
    disk : Disk
        The disk.
    units : array of float, shape `[session]`
        Block size of each session, bytes. Each session has one block in the period.
    period : float
        Period, seconds, above 0.

    Returns
    -------
    float
        Bound on the probability; 0 if the blocks cannot take longer than the period.

    Raises
    ------
    InputError
        If the period is not above 0.
    """
    units = namespace_of(units).asarray(units, float)
    tail = Tail.of([disk])
    left = period - as_number(disk.transfer(units).sum())
    space = namespace_of(left, tail.slope)
    bound = space.exp(smallest(0.0, ((units.size * tail.slope - left) / tail.step).min()))
    # The longest times may fill the period exactly, except for rounding.
    return as_number(space.where(units.size * tail.most[0] - left <= 1e-12 * period, 0.0, bound))
