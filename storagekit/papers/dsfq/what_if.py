"""Formulas for two streams that share two bricks, as in figure 9, with parameters of your choice."""

import numpy as np
import xarray as xr

from storagekit.analytic.fairness import Side, bound_total, repaired
from storagekit.core.validation import COUNT
from storagekit.papers.dsfq.bricks import DEPTH, SMALL
from storagekit.plan import SharesAnswer, Stream, shares
from storagekit.plan.sharing_question import Policy

# Stream f is on A only, g on A and B.
BRICKS = {"f": [0], "g": [0, 1]}
POLICIES: tuple[Policy, ...] = ("total", "single")


def two_streams(
    weights: dict[str, float], minimum: float, rates: tuple[float, float], policy: Policy = "total"
) -> SharesAnswer:
    """Return the shares of streams f and g on bricks A and B.

    Parameters
    ----------
    weights : mapping of str to float
        Weights of "f" and "g".
    minimum : float
        Minimum share of each brick for each stream; 0 for no minimum. The share of a stream by weight is its weight
        divided by the sum of both weights. A minimum above the smaller share by weight is lowered to this share.
    rates : tuple of float
        Throughput of A and B, bytes a second.
    policy : str
        "total" or "single", see `plan.shares`.
    """
    together = sum(weights.values())
    least = min(minimum, *(weight / together for weight in weights.values()))
    streams = {name: Stream(weight, BRICKS[name], least or None) for name, weight in weights.items()}
    return shares(rates, streams, policy=policy)


def what_if(
    weight_f: float,
    weight_g: float,
    minimum: float,
    threads_f: int,
    threads_g: int,
    coordinators: int,
    rate_a: float,
    rate_b: float,
) -> xr.Dataset:
    """Return rates, response times and the bound of unfairness for two streams.

    Stream f is on brick A, and stream g is on bricks A and B. The requests are the requests of section 4.

    Parameters
    ----------
    weight_f, weight_g : float
        Weights of the streams.
    minimum : float
        Minimum share of each brick for each stream; 0 for no minimum.
    threads_f, threads_g : int
        Number of threads of f on A, and number of threads of g on each of A and B.
    coordinators : int
        Number of coordinators of g, which g uses in turn; f has one coordinator.
    rate_a, rate_b : float
        Throughput of A and B, bytes a second.

    Returns
    -------
    Dataset
        `rate`, over `policy`, `stream` and `brick`: bytes a second. `latency`, over `policy` and `stream`: mean
        response time, seconds. `bound`: upper bound of the unfairness in any interval. The unfairness is the difference
        of the services of the streams in bytes, each divided by the weight of the stream.

    Raises
    ------
    InputError
        If a number is out of range.

    Notes
    -----
    The latency follows from Little's law: it is the number of threads of a stream divided by the requests that it
    completes a second. The bound is our corrected form of equation 8, for batches with the mean numbers of requests to
    A and B. The bound is infinite if g has no service at A, or if a minimum share limits the delays of g.
    """
    for label, count in (("threads", threads_f), ("threads", threads_g), ("coordinators", coordinators)):
        COUNT(label, count)
    weights = {"f": weight_f, "g": weight_g}
    answers = [two_streams(weights, minimum, (rate_a, rate_b), policy) for policy in POLICIES]
    rate = np.array(
        [[[one.by_brick.get(brick, np.nan) for brick in (0, 1)] for one in each.shares.values()] for each in answers]
    )
    threads = np.array([threads_f, 2 * threads_g])
    size = np.mean(SMALL)
    data = xr.Dataset(
        {
            "rate": (("policy", "stream", "brick"), rate, {"units": "B/s", "long_name": "bytes served per second"}),
            "latency": (
                ("policy", "stream"),
                threads * size / np.nansum(rate, axis=2),
                {"units": "s", "long_name": "mean response time"},
            ),
            "bound": ((), _bound(weights, rate[0, 1], answers[0], max(threads_f, threads_g), coordinators)),
        },
        coords={"policy": list(POLICIES), "stream": list(weights), "brick": ["A", "B"]},
    )
    held = {
        f"held_back_{name}": share.binding.constraint.replace("0", "A").replace("1", "B")
        for name, share in answers[0].shares.items()
    }
    return data.assign_attrs({"exhibit": "dsfq.what_if"} | held)


def _bound(weights: dict[str, float], g: np.ndarray, answer: SharesAnswer, waiting: int, coordinators: int) -> float:
    """Return the corrected bound of equation 8 at brick A, where both streams wait.

    g: rates of stream g at A and B, bytes a second.
    """
    here, there = g
    if here <= 1e-9 * there or "minimum" in answer.shares["g"].binding.constraint:
        return float("inf")
    largest = float(SMALL[1])
    batch = largest * (1 + there / here)
    one = Side(weights["f"], largest)
    other = Side(weights["g"], largest, bricks=2, largest_batch=batch, coordinators=coordinators)
    return float(bound_total(one, other, DEPTH, waiting, repaired))
