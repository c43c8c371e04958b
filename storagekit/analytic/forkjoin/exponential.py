"""Calculate response times of fork-join queues with Poisson requests and exponential service times.

Each request has one part for each of N queues, and completes when its last part completes. `rate` is in requests a second.
`service` is the mean service time of a part, seconds, equal for all queues. Arguments may be arrays, which broadcast.
The response time of an overloaded system is infinite.
"""

from fractions import Fraction
from math import comb, factorial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from storagekit.analytic.queueing import response_mm1
from storagekit.core.namespaces import namespace_of
from storagekit.core.validation import Count, Rates, Times, require, require_broadcast, validate


@validate
def harmonic(queues: Count) -> float:
    """Return H_N = 1 + 1/2 + ... + 1/N, the mean of the largest of N exponential times with mean 1.

    Parameters
    ----------
    queues : int
        Number N of queues, at least 1.

    Returns
    -------
    float
        H_N.

    Raises
    ------
    InputError
        If the number is not whole or below 1.
    """
    return float(np.sum(1.0 / np.arange(1, queues + 1)))


@validate(together=require_broadcast)
def response_two(rate: Rates, service: Times) -> NDArray:
    """Return the exact mean response time of a fork-join system with two queues.

    Parameters
    ----------
    rate : float or array of float
        Arrival rate, requests a second.
    service : float or array of float
        Mean service time S of a part, seconds.

    Returns
    -------
    array of float
        Mean response time, seconds; infinite for an overloaded system.

    Raises
    ------
    InputError
        If a value is out of range, or the arrays do not broadcast.

    Notes
    -----
    The mean is, with rho = rate S,

        R_2 = ((12 - rho)/8) (S/(1 - rho))

    References
    ----------
    Flatto and Hahn, Two parallel queues created by arrivals with two demands, SIAM Journal on Applied Mathematics
    44(5), 1984. As a mean response time: Nelson and Tantawi, Approximate analysis of fork/join synchronization in
    parallel queues, IEEE Transactions on Computers 37(6), 1988.
    """
    load = _load(rate, service)
    return namespace_of(load).where(load < 1, (12 - load) / 8, 1) * response_mm1(rate, service)


@validate(together=require_broadcast)
def response_scaled(rate: Rates, service: Times, queues: Count) -> NDArray:
    """Return the approximate mean response time of N queues according to Nelson and Tantawi.

    Parameters
    ----------
    rate : float or array of float
        Arrival rate, requests a second.
    service : float or array of float
        Mean service time S of a part, seconds.
    queues : int
        Number N of queues, at least 1. The result is exact for one queue (M/M/1) and for two queues.

    Returns
    -------
    array of float
        Mean response time, seconds; infinite for an overloaded system.

    Raises
    ------
    InputError
        If a value is out of range, or the arrays do not broadcast.

    Notes
    -----
    The mean is, with rho = rate S and R_2 from `response_two`,

        R_N = (H_N/H_2 + (4/11) (1 - H_N/H_2) rho) R_2

    with H_N from `harmonic`. The mean is within 5% of simulation up to N = 32.

    References
    ----------
    Nelson and Tantawi, as for `response_two`.
    """
    if queues == 1:
        return response_mm1(rate, service)
    load = _load(rate, service)
    grown = harmonic(queues) / harmonic(2)
    return namespace_of(load).where(load < 1, grown + 4 / 11 * (1 - grown) * load, 1) * response_two(rate, service)


@validate(together=require_broadcast)
def response_interpolated(rate: Rates, service: Times, queues: Count) -> NDArray:
    """Return the mean response time of N queues according to the interpolation of Varma and Makowski.

    The product of the mean and 1 - rho is linear in the load rho, between the exact limits of this product at loads of
    0 and 1. For two queues the mean is exact at every load.

    Parameters
    ----------
    rate : float or array of float
        Arrival rate, requests a second.
    service : float or array of float
        Mean service time S of a part, seconds.
    queues : int
        Number N of queues, at most 64.

    Returns
    -------
    array of float
        Mean response time, seconds; infinite for an overloaded system.

    Raises
    ------
    InputError
        If a value is out of range, or the arrays do not broadcast.

    Notes
    -----
    The mean is, with rho = rate S,

        R_N = (H_N + (V_N - H_N) rho) S/(1 - rho)
        V_N = sum_r C(N, r) (-1)^(r-1) sum_(m=1..r) C(r, m) (m-1)!/r^(m+1)

    References
    ----------
    Varma and Makowski, Interpolation approximations for symmetric fork-join queues, Performance Evaluation 20, 1994.
    """
    load, light = _load(rate, service), harmonic(queues)
    return namespace_of(load).where(load < 1, light + (heavy(queues) - light) * load, 1) * response_mm1(rate, service)


@validate(together=require_broadcast)
def response_bounds(rate: Rates, service: Times, queues: Count) -> tuple[NDArray, NDArray]:
    """Return a lower and an upper bound on the mean response time of N queues.

    Parameters
    ----------
    rate : float or array of float
        Arrival rate, requests a second.
    service : float or array of float
        Mean service time S of a part, seconds.
    queues : int
        Number N of queues, at least 1.

    Returns
    -------
    below : array of float
        Lower bound, seconds; infinite for an overloaded system.
    above : array of float
        Upper bound, seconds; infinite for an overloaded system.

    Raises
    ------
    InputError
        If a value is out of range, or the arrays do not broadcast.

    Notes
    -----
    The bounds are, with rho = rate S,

        S rho/(1 - rho) + H_N S <= R_N <= H_N S/(1 - rho)

    The lower bound is the mean waiting time plus the mean of the longest of N service times. It holds because the queue
    with the longest part has the same mean waiting time as any other queue, and the waiting time is independent of the
    part. The upper bound is the mean of the longest of N independent response times. It holds because all queues have
    the same arrivals, so that the response times at the queues are associated.

    References
    ----------
    Nelson and Tantawi, as for `response_two`. Baccelli, Makowski and Shwartz, The fork-join queue and related systems
    with synchronization constraints, Advances in Applied Probability 21(3), 1989.
    """
    alone = response_mm1(rate, service)
    part = namespace_of(service).asarray(service, float)
    return alone - part + harmonic(queues) * part, harmonic(queues) * alone


@validate
def heavy(queues: Count) -> float:
    """Return V_N of `response_interpolated`, the limit of (1 - rho) R_N / S as the load approaches 1.

    Parameters
    ----------
    queues : int
        Number N of queues, at most 64.

    Returns
    -------
    float
        V_N, computed with exact fractions because its terms cancel.

    Raises
    ------
    InputError
        If the number is not whole, below 1 or above 64.
    """
    require(queues <= 64, "queues", queues, "at most 64: the terms of the sum grow like 2^N")

    def inner(r: int) -> Fraction:
        return sum((Fraction(comb(r, m) * factorial(m - 1), r ** (m + 1)) for m in range(1, r + 1)), Fraction(0))

    return float(sum((comb(queues, r) * (-1) ** (r - 1) * inner(r) for r in range(1, queues + 1)), Fraction(0)))


def _load(rate: ArrayLike, service: ArrayLike) -> NDArray:
    """Return the load rho = rate S."""
    space = namespace_of(rate, service)
    return space.asarray(rate, float) * space.asarray(service, float)
