"""How many requests wait at a disk, and how long it stands idle, when Q of them are spread over the disks by chance.

A closed loop keeps Q requests outstanding; each goes to one of N places at random and, when answered, to another. A disk
with more to choose from is faster. With exponential services of mean s (1 + (r - 1)/n) where n wait, the numbers at the
places have a product form: shares x of a place are distributed as Beta(r, r (N - 1)), and n is binomial. r = 1 is a service
that does not depend on n. Service that varies less leaves the places busier; that part is an approximation.
"""

import numpy as np
from numpy.typing import NDArray

from storagekit.analytic.array.positioning import Numbers
from storagekit.core.checks import require_broadcast
from storagekit.core.kinds import AMOUNT, COUNT, MOST_COUNTED, POSITIVE, SPAN, TIME, Kind, takes, unchecked

# the sums below have a removable pole at r = 1
_LEAST_SHAPE = 1 + 1e-6
# places, and r of the product form; whole only in practice
_PLACES = Kind(least=1, most=MOST_COUNTED).each
# requests: the differences of the sums below lose their digits beyond
_REQUESTS = Kind(least=0, most=1e9).each


@takes(require_broadcast, places=_PLACES, outstanding=_REQUESTS, shape=_PLACES)
def waiting_at_choice(places: Numbers, outstanding: Numbers, shape: Numbers = 1.0) -> NDArray:
    """n such that 1/(n + 1) has its mean over the choices that a place makes: what a mean distance goes with.

    A request that leaves finds n others with the probability that n of Q - 1 are there, and what finds the place idle is
    chosen among 1. With b = r (N - 1) and the Beta function B,

        E 1/(n + 1) = [B(r - 1, b) - B(r - 1, b + Q)] / Q B(r, b) - P_0/2,  P_0 = B(r, b + Q - 1) / B(r, b)
    """
    from scipy.special import betaln  # not at the top: formulas of open arrivals start in less time without it

    outstanding = np.maximum(np.asarray(outstanding, float), 1.0)
    shape = np.maximum(shape, _LEAST_SHAPE)
    others = shape * np.maximum(np.asarray(places, float) - 1, 1e-9)
    whole = betaln(shape, others)
    few = np.exp(betaln(shape - 1, others) - whole) - np.exp(betaln(shape - 1, others + outstanding) - whole)
    return 1 / (few / outstanding - unchecked(idle_place)(places, outstanding - 1, shape) / 2) - 1


@takes(require_broadcast, places=_PLACES, outstanding=_REQUESTS, shape=_PLACES)
def idle_place(places: Numbers, outstanding: Numbers, shape: Numbers = 1.0) -> NDArray:
    """Probability that none of the requests is at a place: B(r, b + Q) / B(r, b)."""
    from scipy.special import betaln

    others = shape * np.maximum(np.asarray(places, float) - 1, 1e-9)
    return np.exp(betaln(shape, others + outstanding) - betaln(shape, others))


@takes(require_broadcast, places=_PLACES, outstanding=_REQUESTS, servers=COUNT.up_to(1000).each)
def staffed(places: Numbers, outstanding: Numbers, servers: NDArray) -> NDArray:
    """Share of the time that a server works at places with so many each, a request occupying one of them.

        1 - sum over n < m of (1 - n/m) P(n)

    with r = m in the product form: a service is m times as long where one of m works as where all do.
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


@takes(require_broadcast, waiting=_REQUESTS, time=TIME.each, more=SPAN.each, share=POSITIVE)
def shape_of(waiting: NDArray, time: NDArray, more: NDArray, share: float) -> NDArray:
    """r of the service 1 + (r - 1)/n that falls as fast as from `time` to `more` when `waiting` grows by a `share`."""
    fall = np.maximum(1 - more / time, 0) * (1 + share) / share
    return 1 + fall * waiting / np.maximum(1 - fall, 1e-3)


@takes(require_broadcast, places=_PLACES, queue=Kind(least=1e-9, most=1e9).each, variation=AMOUNT.each, shape=_PLACES)
def busy_share(places: Numbers, queue: Numbers, variation: Numbers, shape: Numbers = 1.0) -> NDArray:
    """Share of the time that a place works, with `queue` outstanding for each; variation: squared, of the service time.

    Mean value analysis with Schweitzer's estimate: a request meets f = (Q - 1)/Q of the mean queue. If it comes from
    elsewhere, the service that it finds under way has (1 + c^2)/2 of a mean one left; if it comes back, a whole one, so
    that with g = 1/N + (1 - 1/N)(1 + c^2)/2 of a service left

        U = q / (1 + f (q - U) + f g U)

    Where the service depends on n, more or less by the ratio of the product forms' own shares.
    """
    places, queue = np.asarray(places, float), np.asarray(queue, float)
    met = np.maximum(1 - 1 / (places * queue), 0)
    left = 1 / places + (1 - 1 / places) * (1 + np.minimum(np.asarray(variation, float), 1)) / 2
    whole, square = 1 + met * queue, met * (1 - left)
    # the smaller root of square U^2 - whole U + queue, in the form that holds for a square of 0
    busy = 2 * queue / (whole + np.sqrt(whole**2 - 4 * square * queue))
    idle = unchecked(idle_place)
    ratio = (1 - idle(places, places * queue, shape)) / (1 - idle(places, places * queue))
    return np.minimum(busy * ratio, 1)
