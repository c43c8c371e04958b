"""Calculate mean response times of single queues and closed networks, mean seek times and mean rotational latencies.

Rates are per second and times are seconds. Every argument may be a number or an array, and arrays broadcast. The result
for an overloaded queue is infinite, because the queue has no mean response time. JAX differentiates the results; the
derivatives of an infinite result are 0.
"""

from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from storagekit.core.errors import InputError
from storagekit.core.namespaces import as_number, namespace_of, repeated
from storagekit.core.validation import Count, Rates, Span, Spans, Times, Validator, traced, validate

# validator of a second moment, seconds squared
SECOND_MOMENT = Validator(least=0, unit="s^2", endless=True)


@validate
def response_mm1(rate: Rates, service: Times) -> NDArray:
    """Return the mean response time of M/M/1: Poisson arrivals and exponential service times.

    Parameters
    ----------
    rate : float or array of float
        Arrival rate, requests a second.
    service : float or array of float
        Mean service time S, seconds.

    Returns
    -------
    array of float
        Mean response time, seconds; infinite for an overloaded queue.

    Raises
    ------
    InputError
        If a value is out of range.

    Notes
    -----
    The mean is

        T = S / (1 - rho),  rho = rate S

    References
    ----------
    Kleinrock, Queueing Systems, volume I, 1975, equation 3.26.
    """
    space = namespace_of(rate, service)
    with np.errstate(over="ignore"):
        return response_mg1(rate, service, 2 * space.square(space.asarray(service, float)))


@validate
def response_md1(rate: Rates, service: Times) -> NDArray:
    """Return the mean response time of M/D/1: Poisson arrivals and constant service times.

    Parameters
    ----------
    rate : float or array of float
        Arrival rate, requests a second.
    service : float or array of float
        Service time S, seconds.

    Returns
    -------
    array of float
        Mean response time, seconds; infinite for an overloaded queue.

    Raises
    ------
    InputError
        If a value is out of range.

    Notes
    -----
    The mean is, with rho = rate S,

        T = S + rho S / (2 (1 - rho))

    References
    ----------
    Kleinrock, Queueing Systems, volume I, 1975, section 5.6.
    """
    space = namespace_of(rate, service)
    with np.errstate(over="ignore"):
        return response_mg1(rate, service, space.square(space.asarray(service, float)))


@validate
def response_mg1(rate: Rates, service: Times, second_moment: Annotated[ArrayLike, SECOND_MOMENT.each]) -> NDArray:
    """Return the mean response time of M/G/1 with FCFS scheduling.

    Parameters
    ----------
    rate : float or array of float
        Arrival rate, requests a second.
    service : float or array of float
        Mean service time S, seconds.
    second_moment : float or array of float
        Mean square E S^2 of the service time, seconds squared.

    Returns
    -------
    array of float
        Mean response time, seconds; infinite for an overloaded queue.

    Raises
    ------
    InputError
        If a value is out of range.

    Notes
    -----
    The mean is, with rho = rate S,

        T = S + rate E S^2 / (2 (1 - rho))

    References
    ----------
    Pollaczek 1930 and Khinchine 1932; Kleinrock, Queueing Systems, volume I, 1975, equation 5.61.
    """
    space = namespace_of(rate, service, second_moment)
    rate, service, second_moment = (space.asarray(value, float) for value in (rate, service, second_moment))
    idle = 1 - rate * service
    # The other value of an overloaded queue is only to keep the derivative finite.
    left = space.where(idle > 0, idle, 1.0)
    with np.errstate(over="ignore"):
        return space.where(idle > 0, service + rate * second_moment / (2 * left), np.inf)


@validate
def response_mmc(rate: Rates, service: Times, servers: Count) -> NDArray:
    """Return the mean response time of M/M/c: one queue for several exponential servers.

    Parameters
    ----------
    rate : float or array of float
        Arrival rate, requests a second.
    service : float or array of float
        Mean service time S, seconds.
    servers : int
        Number c of servers, at least 1.

    Returns
    -------
    array of float
        Mean response time, seconds; infinite for an overloaded queue.

    Raises
    ------
    InputError
        If a value is out of range.

    Notes
    -----
    The mean is

        T = S + C S / (c - a)

    where a = rate S, and C is Erlang's probability that a request has to wait. C = c B / (c - a (1 - B)) follows from
    Erlang's blocking probability B. A recursion over the servers gives B: B_0 = 1, B_k = a B_(k-1) / (k + a B_(k-1)).

    References
    ----------
    Kleinrock, Queueing Systems, volume I, 1975, section 3.5.
    """
    space = namespace_of(rate, service)
    rate, service = space.asarray(rate, float), space.asarray(service, float)
    load = rate * service
    idle = servers - load
    # The other values of an overloaded queue are only to keep the derivative finite.
    load, left = space.where(idle > 0, load, 0.0), space.where(idle > 0, idle, 1.0)
    return space.where(idle > 0, service + waiting_probability(load, servers) * service / left, np.inf)


def waiting_probability(load: Any, servers: int) -> Any:
    """Return Erlang's C of `response_mmc`, the probability that a request finds all servers busy.

    The arguments are not validated, because some callers call the function often.

    Parameters
    ----------
    load : float or array of float
        Offered load a = rate S, below the number of servers.
    servers : int
        Number c of servers.

    Returns
    -------
    float or array of float
        Probability, 0 to 1.
    """
    blocked = repeated(servers, load * 0.0 + 1.0, lambda k, blocked: load * blocked / (k + 1 + load * blocked))
    return servers * blocked / (servers - load * (1 - blocked))


@validate
def closed_network(demands: Spans, customers: Count, think: Span = 0.0) -> tuple[float, NDArray]:
    """Return the throughput and the mean response times of a closed network of exponential single servers.

    Parameters
    ----------
    demands : array of float, shape `[station]`
        Service demand D_k of a customer at each station in one round through all stations, seconds.
    customers : int
        Number N of customers, at least 1.
    think : float
        Think time Z of a customer between rounds, seconds; 0 by default.

    Returns
    -------
    throughput : float
        Number of completed rounds a second.
    response : array of float, shape `[station]`
        Mean response time at each station, seconds.

    Raises
    ------
    InputError
        If a value is out of range, or all times are 0.

    Notes
    -----
    The result is from mean value analysis with n = 1 to N customers. R_k is the response time at station k, Q_k the
    mean number of customers at station k, and X the throughput:

        R_k(n) = D_k (1 + Q_k(n-1)),  X(n) = n / (Z + sum R_k(n)),  Q_k(n) = X(n) R_k(n)

    References
    ----------
    Reiser and Lavenberg, Mean-value analysis of closed multichain queueing networks, JACM 27(2), 1980.
    """
    space = namespace_of(demands, think)
    demands = space.atleast_1d(space.asarray(demands, float))
    total = demands.sum() + think
    if not traced(total) and total <= 0:
        raise InputError(
            f"demands {demands.tolist()} s: all demands and the think time are 0; give one of them above 0"
        )

    def with_one_more(n: Any, found: tuple[Any, NDArray, NDArray]) -> tuple[Any, NDArray, NDArray]:
        response = demands * (1 + found[2])
        throughput = (n + 1) / (think + response.sum())
        return throughput, response, throughput * response

    throughput, response, _ = repeated(customers, (0.0 * total, demands, space.zeros_like(demands)), with_one_more)
    return as_number(throughput), response


@validate
def mean_seek(full_seek: Spans) -> NDArray:
    """Return the mean seek time between two independent uniform cylinders. Seek times are linear in distance.

    Parameters
    ----------
    full_seek : float or array of float
        Seek time S from end to end, seconds.

    Returns
    -------
    array of float
        Mean seek time, seconds.

    Raises
    ------
    InputError
        If a time is below 0.

    Notes
    -----
    The mean is

        E seek = S / 3

    References
    ----------
    srarray, section 2.1.
    """
    return namespace_of(full_seek).asarray(full_seek, float) / 3


@validate
def mean_rotation(revolution: Spans) -> NDArray:
    """Return the mean rotational latency to a sector at a uniform angle.

    Parameters
    ----------
    revolution : float or array of float
        Time R of a revolution, seconds.

    Returns
    -------
    array of float
        Mean rotational latency, seconds.

    Raises
    ------
    InputError
        If a time is below 0.

    Notes
    -----
    The mean is

        E rotation = R / 2

    References
    ----------
    srarray, section 2.2.
    """
    return namespace_of(revolution).asarray(revolution, float) / 2
