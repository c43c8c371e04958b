"""How long one block of each of several sessions takes at a disk, but for a small probability: Chernoff's bound.

Seeks and rotational waits are independent and uniform (swift, section 5.1). For n blocks, X their times, and every theta > 0

    P(X_1 + .. + X_n > t) <= exp(n g(theta) + theta (B - t)),    g(theta) = log M(seek) + log M(rotation),
    log M of a time uniform from 0 to 2m = log((exp(2 m theta) - 1) / (2 m theta)),

B the transfers together, which are certain. Solved for t: but for a probability e the sum is at most
B + min over theta of (n g(theta) + log 1/e) / theta. Each theta alone is a valid bound, so a fixed grid is safe, and costs
little: neighbours differ by a fourth, and half of that from the best costs about a hundredth of the exponent.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from storagekit.analytic.forkjoin.parts import Disk
from storagekit.core.kinds import SPACE, Kind, a, takes

_POINTS = 64
# theta times the slowest positioning and a small transfer: from thousands of sessions with little spread to one alone
_LEAST, _MOST = 1e-2, 1e4
_TRANSFER = 65536
_PERIOD = Kind(least=0, unit="s", above=True, endless=True)


def log_moment(mean: ArrayLike, theta: ArrayLike) -> NDArray:
    """log E exp(theta X) of a time X uniform from 0 to 2 `mean` seconds; theta in 1/seconds, above 0."""
    x = 2 * np.asarray(mean, float) * np.asarray(theta, float)
    some = np.where(x > 0, x, 1.0)
    return np.where(x > 0, some + np.log(-np.expm1(-some) / some), 0.0)


@dataclass(frozen=True)
class Tail:
    """The bound at each of several disks. slope: g(theta)/theta, step: 1/theta, `[disk, theta]`; most: the longest
    positioning."""

    slope: NDArray
    step: NDArray
    most: NDArray

    @classmethod
    def of(cls, disks: Sequence[Disk]) -> "Tail":
        scale = np.array([float(disk.slowest(_TRANSFER)) for disk in disks])[:, None]
        theta = np.geomspace(_LEAST, _MOST, _POINTS) / scale
        seek = np.array([disk.seek for disk in disks])[:, None]
        rotation = np.array([disk.rotation for disk in disks])[:, None]
        exponent = log_moment(seek, theta) + log_moment(rotation, theta)
        return cls(exponent / theta, 1 / theta, 2 * (seek + rotation)[:, 0])

    def positioning(self, count: ArrayLike, rarity: ArrayLike) -> NDArray:
        """Seconds that `count` positionings take together but for a probability exp(-`rarity`), `[.., disk]`.

        Never more than the sum of the longest, which is certain.
        """
        count, rarity = np.asarray(count, float)[..., None], np.asarray(rarity, float)[..., None]
        least = (count * self.slope + rarity * self.step).min(axis=-1)
        return np.minimum(least, count[..., 0] * self.most)


@takes(disk=a(Disk, "Disk.like(load_drive(name))"), units=SPACE.each, period=_PERIOD)
def lateness_bound(disk: Disk, units: ArrayLike, period: float) -> float:
    """A bound on P(blocks of `units` bytes, one of each, take more than `period` seconds at a disk); 0 where they cannot.

    Raises InputError for a period that is not above 0.
    """
    units = np.asarray(units, float)
    tail = Tail.of([disk])
    left = period - float(disk.transfer(units).sum())
    # their longest times may fill the period exactly, but for rounding
    if units.size * tail.most[0] - left <= 1e-12 * period:
        return 0.0
    return float(np.exp(min(0.0, ((units.size * tail.slope - left) / tail.step).min())))
