"""Calculate the queue and the idle time of a disk when Q requests are distributed over the disks at random.

A closed loop keeps Q requests outstanding at N stations. A station is a disk, or a group of mirrored disks with one
queue. Each request goes to a random station and, when it completes, to another random station. A disk that chooses from
more requests is faster. Assume that service times are exponential with a mean of s (1 + (r - 1)/n) if n requests wait.
The numbers of requests at the stations then have a product form: the share of the Q requests that are at one station
has the distribution Beta(r, r (N - 1)), and n is binomial with this share. With r = 1 the service time does not depend
on the queue length n. If service times vary less than exponential times, the stations are busier; this part is an
approximation.
"""

from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from storagekit.analytic.array.positioning import Numbers
from storagekit.core.namespaces import at_least, at_most, namespace_of, repeated, special_of, value_of
from storagekit.core.validation import (
    AMOUNT,
    COUNT,
    MOST_COUNTED,
    SPAN,
    TIME,
    Positive,
    Validator,
    require_broadcast,
    unchecked,
    validate,
)

# The sums below have a removable pole at r = 1.
_LEAST_SHAPE = 1 + 1e-6
# coefficients of Stirling's series of log Gamma, and the number by which its argument is increased for its accuracy
_STIRLING = 1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360
_SHIFT = 10
# validator of the number of stations and of r of the product form; both may be fractions
_AT_LEAST_ONE = Validator(least=1, most=MOST_COUNTED).each
# Number of requests. Beyond it, the differences of the sums below lose all digits.
_REQUESTS = Validator(least=0, most=1e9).each


@validate(together=require_broadcast)
def waiting_at_choice(
    stations: Annotated[Numbers, _AT_LEAST_ONE],
    outstanding: Annotated[Numbers, _REQUESTS],
    shape: Annotated[Numbers, _AT_LEAST_ONE] = 1.0,
) -> NDArray:
    """Return the number n of waiting requests for which 1/(n + 1) equals the mean of 1/(k + 1).

    k is the number of requests from which a station chooses the next request. The mean is over all choices of a
    station. The mean seek distance depends on n.

    Parameters
    ----------
    stations : float or array of float
        Number N of stations, at least 1.
    outstanding : float or array of float
        Number Q of outstanding requests.
    shape : float or array of float
        Parameter r of the product form (see the module), at least 1; by default 1, for a service time that does not
        depend on the queue length.

    Returns
    -------
    array of float
        The number n.

    Raises
    ------
    InputError
        If a number is out of range, or the arrays do not broadcast.

    Notes
    -----
    A completed request leaves j requests behind at its station with the probability that j of Q - 1 requests are at a
    station. The station chooses its next request from k = max(j, 1) requests: if it becomes idle (j = 0), the next
    request that arrives is the only choice. With b = r (N - 1) and the Beta function B,

        E 1/(k + 1) = [B(r - 1, b) - B(r - 1, b + Q)] / (Q B(r, b)) - P_0/2, P_0 = B(r, b + Q - 1) / B(r, b)

    and n = 1/E[1/(k + 1)] - 1.
    """
    space = namespace_of(stations, outstanding, shape)
    outstanding = space.maximum(space.asarray(outstanding, float), 1.0)
    if space is np:
        shape = np.maximum(shape, _LEAST_SHAPE)
        others = _others(stations, shape)
        betaln = special_of(space).betaln
        whole = betaln(shape, others)
        few = np.exp(betaln(shape - 1, others) - whole) - np.exp(betaln(shape - 1, others + outstanding) - whole)
    else:
        # with e = r - 1, the same number is (e + b) (1 - B(e, b + Q) / B(e, b)) / e
        more, others = shape - 1, _others(stations, shape)
        slope = _grown(others, more) - _grown(others + outstanding, more)
        power = more * slope
        some = space.where(power != 0, power, 1.0)
        few = -(more + others) * slope * space.where(power != 0, space.expm1(some) / some, 1 + power / 2)
    return 1 / (few / outstanding - unchecked(idle_station)(stations, outstanding - 1, shape) / 2) - 1


def _others(stations: Numbers, shape: Numbers) -> NDArray:
    """Return b = r (N - 1) of the product form. For one station, b is a small number above 0 with the same derivative."""
    space = namespace_of(stations, shape)
    more = space.asarray(stations, float) - 1
    return shape * (space.maximum(more, 1e-9) if space is np else more + value_of(space.maximum(1e-9 - more, 0.0)))


def _grown(first: Numbers, more: Numbers) -> Any:
    """Return (log Gamma(first + more) - log Gamma(first)) / more for JAX, also for `more` = 0.

    The difference is computed from Stirling's series at first + 10, and from the logarithms of ten quotients. Every term
    is divided by `more` before it is added, so that few digits cancel and float32 suffices.
    """
    space = namespace_of(first, more)

    def log_ratio(below: Any, more: Any) -> Any:
        """Return log(1 + more / below) / more."""
        ratio = more / below
        series = 1 - ratio * (1 / 2 - ratio * (1 / 3 - ratio * (1 / 4 - ratio * (1 / 5 - ratio / 6))))
        some = space.where(ratio > 1e-3, ratio, 1.0)
        return space.where(ratio > 1e-3, space.log1p(some) / some, series) / below

    first, more = space.broadcast_arrays(first, space.asarray(more, float))
    start = first + _SHIFT
    one, other = 1 / start, 1 / (start + more)
    # (one^power - other^power) / (one - other), from power to power
    rest, quotient, last = 0.0 * one, space.ones_like(one), other
    for factor in _STIRLING:
        rest = rest + factor * quotient
        quotient = one * (one * quotient + last) + last * other
        last = last * other**2
    found = (start + more - 0.5) * log_ratio(start, more) + space.log(start) - 1 - one * other * rest
    shifts = np.arange(_SHIFT).reshape((1,) * first.ndim + (-1,))
    return found - log_ratio(first[..., None] + shifts, more[..., None]).sum(axis=-1)


def _beta_ratio(shape: Numbers, others: Numbers, outstanding: Numbers) -> NDArray:
    """Return log(B(r, b + Q) / B(r, b)) with r = `shape`, b = `others` and Q = `outstanding`."""
    space = namespace_of(shape, others, outstanding)
    if space is not np:
        return shape * (_grown(others, shape) - _grown(others + outstanding, shape))
    betaln = special_of(space).betaln  # not at the top: without it, formulas of open arrivals start faster
    return betaln(shape, others + outstanding) - betaln(shape, others)


@validate(together=require_broadcast)
def idle_station(
    stations: Annotated[Numbers, _AT_LEAST_ONE],
    outstanding: Annotated[Numbers, _REQUESTS],
    shape: Annotated[Numbers, _AT_LEAST_ONE] = 1.0,
) -> NDArray:
    """Return the probability that no request is at a station.

    The probability is B(r, b + Q) / B(r, b), with b = r (N - 1) and the Beta function B.

    Parameters
    ----------
    stations : float or array of float
        Number N of stations, at least 1.
    outstanding : float or array of float
        Number Q of outstanding requests.
    shape : float or array of float
        Parameter r of the product form, at least 1; 1 by default.

    Returns
    -------
    array of float
        Probability, 0 to 1.

    Raises
    ------
    InputError
        If a number is out of range, or the arrays do not broadcast.
    """
    space = namespace_of(stations, outstanding, shape)
    return space.exp(_beta_ratio(shape, _others(stations, shape), outstanding))


@validate(together=require_broadcast)
def staffed(
    stations: Annotated[Numbers, _AT_LEAST_ONE],
    outstanding: Annotated[Numbers, _REQUESTS],
    servers: Annotated[NDArray, COUNT.up_to(1000).each],
) -> NDArray:
    """Return the share of the time for which a server is busy, if each station has m servers.

    A request occupies one server.

    Parameters
    ----------
    stations : float or array of float
        Number of stations, at least 1.
    outstanding : float or array of float
        Number of outstanding requests.
    servers : array of int
        Number m of servers at each station, at most 1000.

    Returns
    -------
    array of float
        Share of the time, 0 to 1.

    Raises
    ------
    InputError
        If a number is out of range, or the arrays do not broadcast.

    Notes
    -----
    The share is

        1 - sum over n < m of (1 - n/m) P(n)

    where P(n) is the probability of n requests at a station, with r = m in the product form. If only one of m servers
    works, the time between completions is m times as long as if all m servers work.
    """
    space = namespace_of(stations, outstanding)
    outstanding = space.broadcast_to(
        space.maximum(outstanding, 1.0), np.broadcast_shapes(np.shape(outstanding), np.shape(servers))
    )
    others = _others(stations, servers)

    def one_more(found: Any, works: NDArray) -> NDArray:
        left = outstanding - found
        chance = space.exp(_log_chance(found, servers, others, outstanding))
        return works - space.where((left >= 0) & (servers > found), (1 - found / servers) * chance, 0)

    return repeated(int(np.max(servers, initial=0)), space.ones(outstanding.shape), one_more)


def _log_chance(found: Any, servers: NDArray, others: NDArray, outstanding: NDArray) -> NDArray:
    """Return the logarithm of the probability P(n) of `staffed`, for n = `found` and m = `servers`."""
    space = namespace_of(others, outstanding)
    betaln, gammaln = special_of(space).betaln, special_of(space).gammaln
    left = space.maximum(outstanding - found, 0)
    if space is np:
        ways = gammaln(outstanding + 1) - gammaln(found + 1) - gammaln(left + 1)
        return ways + betaln(found + servers, left + others) - betaln(servers, others)
    ways = found * _grown(left + 1, found) + gammaln(found + servers) - gammaln(found + 1.0) - gammaln(1.0 * servers)
    return ways + left * _grown(others, left) - outstanding * _grown(servers + others, outstanding)


@validate(together=require_broadcast)
def shape_of(
    waiting: Annotated[NDArray, _REQUESTS],
    time: Annotated[NDArray, TIME.each],
    more: Annotated[NDArray, SPAN.each],
    share: Positive,
) -> NDArray:
    """Return the parameter r of the product form, from the service times at two queue lengths.

    Service times are proportional to 1 + (r - 1)/n if n requests wait.

    Parameters
    ----------
    waiting : array of float
        Number n of requests that wait.
    time : array of float
        Service time if n requests wait, seconds.
    more : array of float
        Service time if (1 + share) n requests wait, seconds.
    share : float
        Relative increase of the number of waiting requests, above 0.

    Returns
    -------
    array of float
        Parameter r, at least 1.

    Raises
    ------
    InputError
        If a number is out of range, or the arrays do not broadcast.
    """
    space = namespace_of(waiting, time, more, share)
    fall = at_least(1 - more / time, 0.0) * (1 + share) / share
    return 1 + fall * waiting / space.maximum(1 - fall, 1e-3)


@validate(together=require_broadcast)
def busy_share(
    stations: Annotated[Numbers, _AT_LEAST_ONE],
    queue: Annotated[Numbers, Validator(least=1e-9, most=1e9).each],
    variation: Annotated[Numbers, AMOUNT.each],
    shape: Annotated[Numbers, _AT_LEAST_ONE] = 1.0,
) -> NDArray:
    """Return the share of the time for which a station is busy.

    Parameters
    ----------
    stations : float or array of float
        Number N of stations, at least 1.
    queue : float or array of float
        Number of outstanding requests per station, q = Q/N.
    variation : float or array of float
        Squared coefficient of variation of the service time, c^2.
    shape : float or array of float
        Parameter r of the product form, at least 1; 1 by default.

    Returns
    -------
    array of float
        Share of the time, 0 to 1.

    Raises
    ------
    InputError
        If a number is out of range, or the arrays do not broadcast.

    Notes
    -----
    The method is mean value analysis with Schweitzer's estimate: an arriving request finds f = (Q - 1)/Q of the mean
    queue. If the request comes from another station, the residual time of the service in progress is (1 + c^2)/2 mean
    service times. If the request returns to the station that it left, the residual time is a whole service time. The
    mean residual time is therefore g = 1/N + (1 - 1/N)(1 + c^2)/2 service times. With c^2 = `variation`, the share U of
    the time for which a station is busy is

        U = q / (1 + f (q - U) + f g U)

    If the service time depends on n, U is multiplied by the busy share of the product form with r, divided by the busy
    share of the product form with r = 1.
    """
    space = namespace_of(stations, queue, variation, shape)
    stations, queue = space.asarray(stations, float), space.asarray(queue, float)
    met = space.maximum(1 - 1 / (stations * queue), 0)
    left = 1 / stations + (1 - 1 / stations) * (1 + space.minimum(space.asarray(variation, float), 1)) / 2
    whole, square = 1 + met * queue, met * (1 - left)
    # the smaller root of square U^2 - whole U + queue, in the form that is valid for a square of 0
    busy = 2 * queue / (whole + space.sqrt(whole**2 - 4 * square * queue))
    idle = unchecked(idle_station)
    ratio = (1 - idle(stations, stations * queue, shape)) / (1 - idle(stations, stations * queue))
    return at_most(busy * ratio, 1.0)
