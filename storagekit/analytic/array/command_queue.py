"""A disk that selects the nearest of several waiting requests (command queueing), under Poisson arrivals.

The disk is an M/G/1 queue whose service times depend on the number n of requests at the start of a service: the disk
selects the nearest of min(n, depth) requests. Requests beyond the depth wait in order of arrival. The numbers of requests
after the services form a Markov chain. Each level is crossed upwards as often as downwards, which determines the
probabilities of the chain without differences of nearly equal numbers. Service times are assumed to be gamma distributed, so
that the arrivals during a service have a negative binomial distribution.

Requests that were not selected are farther away than requests at random locations. In closed loops of three drives (7,200
rpm with 18 and 20 TB; 10,000 rpm with 9 GB), a selection among n = 2 to 31 requests took as long as a selection among
1 + f (n - 1) requests at random locations, with f from 0.70 to 0.87. The formulas use f = 0.75.

Waiting times above 0 are assumed to be exponential, with the mean of the chain.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from storagekit.core.namespaces import as_number, is_true, joined, largest, namespace_of, quotient, smallest
from storagekit.core.validation import traced

# A request that was not selected before counts as this number of requests at random places: a selection among 1 + n requests
# is equivalent to one among 1 + n LEFT_OVER random places.
LEFT_OVER = 0.75
# number of requests of the chain beyond the depth, and the probability below which rounding errors dominate
_BEYOND, _NOISE = 200, 1e-12
# utilization below which at most one request waits
_RARE = 1e-4


@dataclass(frozen=True)
class CommandQueue:
    """The queue of a disk.

    Parameters
    ----------
    busy : float
        Utilization; 1 if the disk is overloaded.
    wait : float
        Mean waiting time of the requests that wait, seconds.
    chances, waited : array of float, shape `[depth]`
        Share of the services that are selected among 1, 2, ... requests: share of all services (`chances`), and of the
        services of requests that waited (`waited`).
    """

    busy: float
    wait: float
    chances: NDArray
    waited: NDArray


def command_queue(rate: float, mean: NDArray, square: NDArray) -> CommandQueue:
    """Return the state of a disk.

    Parameters
    ----------
    rate : float
        Accesses that arrive in a second.
    mean, square : array of float, shape `[depth]`
        Means and mean squares of the service times of selections among 1, 2, ..., `depth` requests.

    Returns
    -------
    CommandQueue
        The queue.
    """
    depth, space = mean.size, namespace_of(rate, mean, square)
    overloaded, one = rate * mean[-1] >= 1, np.eye(depth)
    if is_true(overloaded):
        return CommandQueue(1.0, np.inf, one[-1], one[-1])
    count = depth + _BEYOND
    chances = _left_behind(_arrivals(rate, mean, square, count), depth)
    # With more requests than the depth all services are alike, so that the further probabilities are geometric.
    known = chances[-1] > _NOISE * chances.max()
    most = 1 - max(1e-9, 8 * float(np.finfo(mean.dtype).eps))
    ratio = smallest(space.where(known, chances[-1] / space.where(known, chances[-2], 1.0), 0.0), most)
    further = chances[-1] * ratio / (1 - ratio)
    present = as_number(chances @ np.arange(count + 1)) + further * (count + 1 / (1 - ratio))
    total = chances.sum() + further
    of = joined([chances[1:depth], (chances[depth:].sum() + further)[None]])
    waited = quotient(of, of.sum(), one[0])
    # a service after an idle period is selected among one request
    of = (of + chances[0] * one[0]) / total
    service = as_number(of @ mean)
    busy = as_number(service / (service + chances[0] / total / rate))
    wait = present / total / rate - service
    # At such a load, a request that has to wait waits for the rest of one service.
    rest = square[0] / (2 * mean[0])
    wait = as_number(space.where(busy > _RARE, largest(wait, 0.0) / largest(busy, _RARE), rest))
    if not traced(overloaded):
        return CommandQueue(busy, wait, of, waited)
    found = (space.where(overloaded, *both) for both in ((1.0, busy), (np.inf, wait), (one[-1], of), (one[-1], waited)))
    return CommandQueue(*found)


def _arrivals(rate: float, mean: NDArray, square: NDArray, count: int) -> NDArray:
    """Return the probabilities of 0, 1, ..., `count` arrivals during each service, `[depth, arrivals]`."""
    space = namespace_of(rate, mean, square)
    variance = space.maximum(square - mean**2, 1e-9 * mean**2)
    shape, number = mean**2 / variance, np.arange(1, count + 1)[None]
    stays = 1 / (1 + rate * variance / mean)
    none = shape * space.log(stays)
    arrives = space.log(space.maximum(1 - stays, np.finfo(mean.dtype).tiny))
    grows = space.log((shape[:, None] + number - 1) / number) + arrives[:, None]
    return space.exp(joined([none[:, None], none[:, None] + space.cumsum(grows, axis=1)], axis=1))


def _left_behind(arrivals: NDArray, depth: int) -> NDArray:
    """Return numbers in proportion to the probabilities that a service leaves 0, 1, 2, ... requests behind."""
    count, space = arrivals.shape[1] - 1, namespace_of(arrivals)
    # probability of more than k arrivals
    more = space.maximum(1 - space.cumsum(arrivals, axis=1), 0.0)
    if space is not np:
        return _levels(arrivals, more)
    found = np.zeros(count + 1)
    found[0] = 1.0
    for level in range(count):
        below = np.arange(1, level + 1)
        up = found[0] * more[0, level]
        up += found[below] @ more[np.minimum(below, depth) - 1, level - below + 1]
        found[level + 1] = up / arrivals[min(level + 1, depth) - 1, 0]
        if found[level + 1] > 1e100:
            found /= found[level + 1]
    return found


def _levels(arrivals: Any, more: Any) -> Any:
    """Return the numbers of `_left_behind` from one loop of JAX. more: probability of more than k arrivals."""
    import jax
    import jax.numpy as jnp

    depth, count = arrivals.shape[0], arrivals.shape[1] - 1
    level, below = np.ogrid[:count, : count + 1]
    # After an idle period, a service finds one request. A later service finds the requests that the service before it leaves.
    further = np.where(below == 0, level, level - below + 1)
    crossed = more[np.clip(below, 1, depth) - 1, np.clip(further, 0, count)] * ((below <= level) | (below == 0))
    none = arrivals[np.minimum(np.arange(1, count + 1), depth) - 1, 0]
    limit = jnp.finfo(arrivals.dtype).max ** 0.3

    def next_level(found: Any, row: tuple[Any, Any, Any]) -> tuple[Any, None]:
        number, crossed, none = row
        new = found @ crossed / none
        found = found.at[number + 1].set(new)
        return found / jnp.where(new > limit, new, 1.0), None

    first = jnp.zeros(count + 1, arrivals.dtype).at[0].set(1.0)
    return jax.lax.scan(next_level, first, (jnp.arange(count), crossed, none))[0]
