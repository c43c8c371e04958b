"""Fork-join queues of textbooks: Poisson requests, each with a part for every one of N queues, exponential service times.

A request is done when the last of its parts is. `rate` is requests a second, `service` the mean seconds of a part, the same
for all queues; arguments may be arrays and broadcast; an overloaded system has an infinite response time.
"""

from fractions import Fraction
from math import comb, factorial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from storagekit.analytic.queueing import response_mm1
from storagekit.core.checks import require, require_broadcast
from storagekit.core.kinds import COUNT, RATE, TIME, takes


@takes(queues=COUNT)
def harmonic(queues: int) -> float:
    """H_N = 1 + 1/2 + ... + 1/N: the mean of the latest of N exponential times of mean 1."""
    return float(np.sum(1.0 / np.arange(1, queues + 1)))


@takes(require_broadcast, rate=RATE.each, service=TIME.each)
def response_two(rate: ArrayLike, service: ArrayLike) -> NDArray:
    """Mean response time of two queues, exact.

        R_2 = (12 - rho)/8 S/(1 - rho)

    Source: Flatto and Hahn, Two parallel queues created by arrivals with two demands, SIAM Journal on Applied Mathematics
    44(5), 1984; as a mean response time in Nelson and Tantawi, Approximate analysis of fork/join synchronization in parallel
    queues, IEEE Transactions on Computers 37(6), 1988.
    """
    load = _load(rate, service)
    return np.where(load < 1, (12 - load) / 8, 1) * response_mm1(rate, service)


@takes(require_broadcast, rate=RATE.each, service=TIME.each, queues=COUNT)
def response_scaled(rate: ArrayLike, service: ArrayLike, queues: int) -> NDArray:
    """Nelson and Tantawi's approximation for N queues of two or more; exact for two.

        R_N = (H_N/H_2 + 4/11 (1 - H_N/H_2) rho) R_2

    Source: Nelson and Tantawi, as for `response_two`; within 5% of simulation up to N = 32.
    """
    if queues == 1:
        return response_mm1(rate, service)
    load = _load(rate, service)
    grown = harmonic(queues) / harmonic(2)
    return np.where(load < 1, grown + 4 / 11 * (1 - grown) * load, 1) * response_two(rate, service)


@takes(require_broadcast, rate=RATE.each, service=TIME.each, queues=COUNT)
def response_interpolated(rate: ArrayLike, service: ArrayLike, queues: int) -> NDArray:
    """Varma and Makowski's interpolation: exact as the load goes to 0 and as it goes to 1, straight between; exact for two.

        R_N = (H_N + (V_N - H_N) rho) S/(1 - rho)
        V_N = sum_r C(N, r) (-1)^(r-1) sum_(m=1..r) C(r, m) (m-1)!/r^(m+1)

    Source: Varma and Makowski, Interpolation approximations for symmetric fork-join queues, Performance Evaluation 20, 1994.
    """
    load, light = _load(rate, service), harmonic(queues)
    return np.where(load < 1, light + (heavy(queues) - light) * load, 1) * response_mm1(rate, service)


@takes(require_broadcast, rate=RATE.each, service=TIME.each, queues=COUNT)
def response_bounds(rate: ArrayLike, service: ArrayLike, queues: int) -> tuple[NDArray, NDArray]:
    """Below: a mean wait and the latest of N service times. Above: the latest of N independent response times.

        S rho/(1 - rho) + H_N S <= R_N <= H_N S/(1 - rho)

    Below because the queue with the longest part waits as long as any, the wait being independent of the part. Above because
    the queues share their arrivals, which makes their response times associated. Source: Nelson and Tantawi, as above;
    Baccelli, Makowski and Shwartz, The fork-join queue and related systems with synchronization constraints,
    Advances in Applied Probability 21(3), 1989.
    """
    alone = response_mm1(rate, service)
    part = np.asarray(service, float)
    return alone - part + harmonic(queues) * part, harmonic(queues) * alone


@takes(queues=COUNT)
def heavy(queues: int) -> float:
    """V_N of `response_interpolated`: (1 - rho) R_N / S as the load goes to 1. In whole numbers, for its terms cancel."""
    require(queues <= 64, "queues", queues, "at most 64: the terms of the sum grow like 2^N")

    def inner(r: int) -> Fraction:
        return sum((Fraction(comb(r, m) * factorial(m - 1), r ** (m + 1)) for m in range(1, r + 1)), Fraction(0))

    return float(sum((comb(queues, r) * (-1) ** (r - 1) * inner(r) for r in range(1, queues + 1)), Fraction(0)))


def _load(rate: ArrayLike, service: ArrayLike) -> NDArray:
    """rho = rate S."""
    return np.asarray(rate, float) * np.asarray(service, float)
