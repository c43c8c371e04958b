"""Calculate the queue and the idle time of a disk when Q requests are distributed over the disks at random.

A closed loop keeps Q requests outstanding at N stations. A station is a disk, or a group of mirrored disks with one
queue. Each request goes to a random station and, when it completes, to another random station. A disk that chooses from
more requests is faster. Assume that service times are exponential with a mean of s (1 + (r - 1)/n) if n requests wait.
The numbers of requests at the stations then have a product form: the share of the Q requests that are at one station
has the distribution Beta(r, r (N - 1)), and n is binomial with this share. With r = 1 the service time does not depend
on the queue length n. If service times vary less than exponential times, the stations are busier; this part is an
approximation.
"""

from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from storagekit.analytic.array.positioning import Numbers
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
# validator of the number of stations and of r of the product form; both may be fractions
_PLACES = Validator(least=1, most=MOST_COUNTED).each
# Number of requests. Beyond it, the differences of the sums below lose all digits.
_REQUESTS = Validator(least=0, most=1e9).each


@validate(together=require_broadcast)
def waiting_at_choice(
    places: Annotated[Numbers, _PLACES],
    outstanding: Annotated[Numbers, _REQUESTS],
    shape: Annotated[Numbers, _PLACES] = 1.0,
) -> NDArray:
    """Return the number n of waiting requests for which 1/(n + 1) equals the mean of 1/(k + 1).

    k is the number of requests from which a station chooses the next request. The mean is over all choices of a
    station. The mean seek distance depends on n.

    Parameters
    ----------
    places : float or array of float
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
    from scipy.special import betaln  # not at the top: without it, formulas of open arrivals start faster

    outstanding = np.maximum(np.asarray(outstanding, float), 1.0)
    shape = np.maximum(shape, _LEAST_SHAPE)
    others = shape * np.maximum(np.asarray(places, float) - 1, 1e-9)
    whole = betaln(shape, others)
    few = np.exp(betaln(shape - 1, others) - whole) - np.exp(betaln(shape - 1, others + outstanding) - whole)
    return 1 / (few / outstanding - unchecked(idle_place)(places, outstanding - 1, shape) / 2) - 1


@validate(together=require_broadcast)
def idle_place(
    places: Annotated[Numbers, _PLACES],
    outstanding: Annotated[Numbers, _REQUESTS],
    shape: Annotated[Numbers, _PLACES] = 1.0,
) -> NDArray:
    """Return the probability that no request is at a station.

    The probability is B(r, b + Q) / B(r, b), with b = r (N - 1) and the Beta function B.

    Parameters
    ----------
    places : float or array of float
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
    from scipy.special import betaln

    others = shape * np.maximum(np.asarray(places, float) - 1, 1e-9)
    return np.exp(betaln(shape, others + outstanding) - betaln(shape, others))


@validate(together=require_broadcast)
def staffed(
    places: Annotated[Numbers, _PLACES],
    outstanding: Annotated[Numbers, _REQUESTS],
    servers: Annotated[NDArray, COUNT.up_to(1000).each],
) -> NDArray:
    """Return the share of the time for which a server is busy, if each station has m servers.

    A request occupies one server.

    Parameters
    ----------
    places : float or array of float
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
    from scipy.special import betaln, gammaln

    outstanding = np.broadcast_to(np.maximum(outstanding, 1.0), np.broadcast(outstanding, servers).shape)
    others = servers * np.maximum(np.asarray(places, float) - 1, 1e-9)
    works = np.ones(outstanding.shape)
    for found in range(int(np.max(servers, initial=0))):
        left = outstanding - found
        ways = gammaln(outstanding + 1) - gammaln(found + 1) - gammaln(np.maximum(left, 0) + 1)
        chance = np.exp(ways + betaln(found + servers, np.maximum(left, 0) + others) - betaln(servers, others))
        works = works - np.where((left >= 0) & (servers > found), (1 - found / servers) * chance, 0)
    return works


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
    fall = np.maximum(1 - more / time, 0) * (1 + share) / share
    return 1 + fall * waiting / np.maximum(1 - fall, 1e-3)


@validate(together=require_broadcast)
def busy_share(
    places: Annotated[Numbers, _PLACES],
    queue: Annotated[Numbers, Validator(least=1e-9, most=1e9).each],
    variation: Annotated[Numbers, AMOUNT.each],
    shape: Annotated[Numbers, _PLACES] = 1.0,
) -> NDArray:
    """Return the share of the time for which a station is busy.

    Parameters
    ----------
    places : float or array of float
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
    places, queue = np.asarray(places, float), np.asarray(queue, float)
    met = np.maximum(1 - 1 / (places * queue), 0)
    left = 1 / places + (1 - 1 / places) * (1 + np.minimum(np.asarray(variation, float), 1)) / 2
    whole, square = 1 + met * queue, met * (1 - left)
    # the smaller root of square U^2 - whole U + queue, in the form that is valid for a square of 0
    busy = 2 * queue / (whole + np.sqrt(whole**2 - 4 * square * queue))
    idle = unchecked(idle_place)
    ratio = (1 - idle(places, places * queue, shape)) / (1 - idle(places, places * queue))
    return np.minimum(busy * ratio, 1)
