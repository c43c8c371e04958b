"""Mean response times of single queues, closed networks by mean value analysis, and what a random disk access costs.

Rates are per second, times in seconds; every argument may be a number or an array, arrays broadcast. A queue that its
load exceeds has no mean response time: the result is infinite there.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from storagekit.core.errors import InputError
from storagekit.core.kinds import COUNT, RATE, SPAN, TIME, Kind, takes

# seconds squared
SECOND_MOMENT = Kind(least=0, unit="s^2", endless=True)


@takes(rate=RATE.each, service=TIME.each)
def response_mm1(rate: ArrayLike, service: ArrayLike) -> NDArray:
    """Mean response time of M/M/1: Poisson arrivals, exponential service times of mean `service`.

        T = S / (1 - rho),  rho = rate S

    Source: Kleinrock, Queueing Systems, volume I, 1975, equation 3.26.
    """
    with np.errstate(over="ignore"):
        return response_mg1(rate, service, 2 * np.square(np.asarray(service, float)))


@takes(rate=RATE.each, service=TIME.each)
def response_md1(rate: ArrayLike, service: ArrayLike) -> NDArray:
    """Mean response time of M/D/1: Poisson arrivals, every service time `service`.

        T = S + rho S / 2 (1 - rho)

    Source: Kleinrock, Queueing Systems, volume I, 1975, section 5.6.
    """
    with np.errstate(over="ignore"):
        return response_mg1(rate, service, np.square(np.asarray(service, float)))


@takes(rate=RATE.each, service=TIME.each, second_moment=SECOND_MOMENT.each)
def response_mg1(rate: ArrayLike, service: ArrayLike, second_moment: ArrayLike) -> NDArray:
    """Mean response time of M/G/1, first come first served: service times of mean S and second moment E S^2.

        T = S + rate E S^2 / 2 (1 - rho)

    Source: Pollaczek 1930 and Khinchine 1932; Kleinrock, Queueing Systems, volume I, 1975, equation 5.61.
    """
    rate, service, second_moment = (np.asarray(value, float) for value in (rate, service, second_moment))
    idle = 1 - rate * service
    with np.errstate(divide="ignore", over="ignore"):
        return np.where(idle > 0, service + rate * second_moment / (2 * idle), np.inf)


@takes(rate=RATE.each, service=TIME.each, servers=COUNT)
def response_mmc(rate: ArrayLike, service: ArrayLike, servers: int) -> NDArray:
    """Mean response time of M/M/c: one queue before `servers` exponential servers of mean service time S.

        T = S + C S / (c - a),  a = rate S,  C Erlang's probability of waiting

    C = c B / (c - a (1 - B)) from Erlang's blocking probability B, which is a recursion over servers:
    B_0 = 1, B_k = a B_(k-1) / (k + a B_(k-1)). Source: Kleinrock, Queueing Systems, volume I, 1975, section 3.5.
    """
    rate, service = np.asarray(rate, float), np.asarray(service, float)
    load = rate * service
    idle = servers - load
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(idle > 0, service + waiting_probability(load, servers) * service / idle, np.inf)


def waiting_probability(load: Any, servers: int) -> Any:
    """Erlang's C of `response_mmc`: the probability that a request finds all servers busy, of a `load` below their number,
    one or an array; not checked, for those who ask often."""
    blocked = load * 0.0 + 1.0
    for k in range(1, servers + 1):
        blocked = load * blocked / (k + load * blocked)
    return servers * blocked / (servers - load * (1 - blocked))


@takes(demands=SPAN.each, customers=COUNT, think=SPAN)
def closed_network(demands: ArrayLike, customers: int, think: float = 0.0) -> tuple[float, NDArray]:
    """Throughput and mean response time at each station of a closed network of exponential single servers.

    demands: seconds that a customer needs of each station in one round; think: seconds it stays away between rounds.
    Mean value analysis, from n = 1 to `customers` N, with Q_k the mean number at station k:

        R_k(n) = D_k (1 + Q_k(n-1)),  X(n) = n / (Z + sum R_k(n)),  Q_k(n) = X(n) R_k(n)

    Source: Reiser and Lavenberg, Mean-value analysis of closed multichain queueing networks, JACM 27(2), 1980.
    """
    demands = np.atleast_1d(np.asarray(demands, float))
    if demands.sum() + think <= 0:
        raise InputError(f"demands {demands.tolist()} s: all are 0, and so is the think time; give a time above 0")
    queue = np.zeros_like(demands)
    for n in range(1, customers + 1):
        response = demands * (1 + queue)
        throughput = n / (think + response.sum())
        queue = throughput * response
    return float(throughput), response


@takes(full_seek=SPAN.each)
def mean_seek(full_seek: ArrayLike) -> NDArray:
    """Mean seek between independent uniform cylinders where it is linear in distance, S end to end.

        E seek = S / 3

    Source: srarray, section 2.1.
    """
    return np.asarray(full_seek, float) / 3


@takes(revolution=SPAN.each)
def mean_rotation(revolution: ArrayLike) -> NDArray:
    """Mean rotational wait for a uniform angle, a revolution taking R.

        E rotation = R / 2

    Source: srarray, section 2.2.
    """
    return np.asarray(revolution, float) / 2
