"""Response times of an array that divides requests over its disks, as full stripes with parity, under Poisson arrivals.

A read has one part on each of some disks of a group, and a write has one on each disk of the group. A request completes
with its last part. Each disk is an M/G/1 queue. The response times of the parts have a normal copula whose correlation is the
share of the variance that two disks have in common:

- Disks that have served the same request without a pause have their arms at the same address and their platters at the same
  angle, so that their next accesses take equally long. They differ by the rotation of the first access after a pause.
  With command queueing, disks serve the requests in different orders, and have only the arrivals in common.
- Waiting times in heavy traffic are reflected Brownian motions. If c is the share of its accesses that a disk has in common
  with another disk, the largest of two such times has the mean of a normal copula with the correlation 1 - (4/3) (1 - c).
  The factor was measured with random walks: 1.17 for c = 0.5, where the mean is also known (Nelson and Tantawi 1988), 1.27
  for 0.8, and 1.3 to 1.4 for 0.9 to 0.98.

If all disks are idle, the request ends with the longest rotation.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from storagekit.analytic.array.disk_load import DiskLoad, Operation
from storagekit.analytic.array.service_times import (
    ServiceDistributions,
    moments,
    summed,
    time_grid,
    transformed,
    waiting_times,
)
from storagekit.core.namespaces import as_number, largest, listed, namespace_of, power, smallest, special_of, stacked
from storagekit.core.validation import traced

# 1 - correlation of two waiting times, divided by 1 - correlation of their increments
_REFLECTED = 4 / 3
# nodes and weights of the integrals over the common part and over the own part of the copula
_COMMON, _COMMON_WEIGHTS = np.polynomial.hermite_e.hermegauss(16)
_OWN, _OWN_WEIGHTS = np.polynomial.legendre.leggauss(16)
# largest utilization of the calculation of response times with JAX
_FULL = 1 - 1e-5
# limit of probabilities, so that their normal quantiles are finite
_EDGE = 1e-12


class DividedRequests(DiskLoad):
    """The load of a disk of an array that divides requests: each kind of requests has either reads or writes."""

    @property
    def _mixed(self) -> NDArray:
        return stacked([self.of_reads, 1 - self.of_reads])

    def _moments(self) -> tuple[float, float]:
        """Return the mean and the mean square of the service time of an access."""
        share, own = self.background.share(self.reads + self.writes), self.background.moments(self.fine.services)
        mean, square = listed((1 - share) * (self.moments @ self._mixed) + share * own)
        return mean, square

    def responses(self) -> tuple[float, NDArray, NDArray]:
        mean, square = self._moments()
        busy = self.demand if self.queue is None else self.queue.busy
        # an overloaded disk, which only JAX computes, has no response times; a limit keeps the numbers finite
        busy = smallest(busy, _FULL) if traced(busy) else busy
        left = square / (2 * mean * (1 - busy)) if self.queue is None else self.queue.wait
        time = time_grid(self.fine.time[-1], left)
        served = replace(self.fine, time=time)
        waiting = waiting_times(
            time,
            busy,
            left,
            lambda: self.with_background(self._mixed @ stacked([served.read(1), served.write]), time),
            selects=self.queue is not None,
        )
        return busy, time, stacked([self._completed(one, served, waiting, busy) for one in self.operations])

    def _completed(self, one: Operation, served: ServiceDistributions, waiting: NDArray, busy: float) -> NDArray:
        """Return the share of the requests of a kind that complete within each time.

        waiting: distribution of the waiting times. busy: utilization of a disk.
        """
        services, writes = served.services, one.writes > 0
        shares = services.sizes.shares_of(writes) if one.sizes is None else stacked(one.sizes)
        access, least = served.reads, services.sizes.seconds
        if writes:
            access, least = served.writes, services.sizes.written + services.settle
        count, common = one.reads + one.writes, self._common(served.time, waiting, int(writes))
        last = last_of(summed(transformed(waiting) * transformed(shares @ access)), count, common)
        return (1 - busy) * _longest_rotation(served, shares, least, count) + busy * last

    def _common(self, time: NDArray, waiting: NDArray, kind: int) -> float:
        """Return the share of the variance of the responses at two disks that is common, for requests that wait.

        waiting: distribution of the waiting times. kind: 0 for reads, 1 for writes.
        """
        # the share of the accesses of a disk that another disk has too
        shared = sum(
            self.rate * one.share * (one.reads + one.writes) * (one.reads + one.writes - 1) for one in self.operations
        )
        shared += self.background.rate_together
        both = smallest(1.0, shared / self.accesses / (self.group - 1))
        mean, square = self._moments()
        access_mean, access_square = self.moments[:, kind]
        access = access_square - access_mean**2
        if self.queue is None:
            own, shared = 0.0, both * largest(0.0, access - self.fine.services.arc**2 / 12)
        else:
            # disks that select requests serve them in different orders, so that only the arrivals are common
            own, shared = square - mean**2, 0.0
        waits = largest(0.0, 1 - _REFLECTED * (1 - both * (1 - own / square)))
        mean, second = moments(1 - waiting, time)
        return smallest(1.0, as_number((waits * (second - mean**2) + shared) / (second - mean**2 + access)))


def _longest_rotation(served: ServiceDistributions, shares: NDArray, least: NDArray, count: int) -> NDArray:
    """Return the distribution of the last of `count` accesses that begin together on idle disks with their arms together.

    shares: share of each size, `[size]`. least: time of an access of each size without seek and rotation, seconds, `[size]`.
    """
    services, time = served.services, served.time
    rotated = shares @ namespace_of(time, least).clip((time[None] - least[:, None]) / services.arc, 0.0, 1.0) ** count
    return summed(transformed(services.sought(time)) * transformed(rotated))


def last_of(within: NDArray, count: int, common: float) -> NDArray:
    """Return the distribution of the largest of several times with a normal copula.

    Parameters
    ----------
    within : array of float
        Distribution function of each of the times.
    count : int
        Number of times.
    common : float
        Correlation of the normal variables of the copula, 0 to 1.

    Returns
    -------
    array of float
        Distribution function of the largest time, at the same arguments.
    """
    space = namespace_of(within, common)
    ndtr, ndtri = special_of(space).ndtr, special_of(space).ndtri
    # in float32, the next number below 1 is farther away
    edge = max(_EDGE, float(np.finfo(within.dtype).eps))
    normal = ndtri(space.clip(within, edge, 1 - edge))[None]

    def of_little() -> NDArray:
        share, rest = power(smallest(common, 0.5), 0.5), space.sqrt(1 - smallest(common, 0.5))
        given = ndtr((normal - share * _COMMON[:, None]) / rest)
        return _COMMON_WEIGHTS @ given**count / _COMMON_WEIGHTS.sum()

    def of_much() -> NDArray:
        share, rest = space.sqrt(largest(common, 0.5)), power(1 - largest(common, 0.5), 0.5)
        # the largest of the own parts, whose distribution is the power of a normal one
        own = ndtri(((1 + _OWN) / 2) ** (1 / count))
        return _OWN_WEIGHTS @ ndtr((normal - rest * own[:, None]) / share) / 2

    if traced(common):
        return space.where(common < 0.5, of_little(), of_much())
    return of_little() if common < 0.5 else of_much()
