"""Two streams, two bricks, and what sharing them gives: figure 9 with every number to choose, by formulas."""

import numpy as np
import xarray as xr

from storagekit.analytic.fairness import Side, bound_total, repaired
from storagekit.core.checks import require_whole
from storagekit.papers.dsfq.bricks import DEPTH, SMALL
from storagekit.plan import SharesAnswer, Stream, shares
from storagekit.plan.sharing_question import Policy

# f on A alone, g on A and B
BRICKS = {"f": [0], "g": [0, 1]}
POLICIES: tuple[Policy, ...] = ("total", "single")


def two_streams(
    weights: dict[str, float], minimum: float, rates: tuple[float, float], policy: Policy = "total"
) -> SharesAnswer:
    """What a planner would ask: bricks A and B of these bytes a second; `minimum` of every brick for both, as far as their
    weights go."""
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
    """Shares, latencies and the bound of unfairness, where f has threads on A and g on A and on B, as many on each.

    minimum: share of every brick, 0 for none. coordinators: through which g sends its requests, in turn; f has one. Rates in
    bytes a second. Requests are those of section 4. Returns, over `policy`: `rate` by `stream` and `brick`, bytes a second;
    `latency` by `stream`, seconds, its threads over the requests it is served a second (Little's law). `bound`: of the
    difference in normalized service over any interval, bytes over weight (equation 8, repaired); batches are of the mean
    make-up, and infinite where g has nothing of A or a minimum caps its delays. Raises InputError for what is not possible.
    """
    for label, count in (("threads", threads_f), ("threads", threads_g), ("coordinators", coordinators)):
        require_whole(label, count)
    weights = {"f": weight_f, "g": weight_g}
    answers = [two_streams(weights, minimum, (rate_a, rate_b), policy) for policy in POLICIES]
    rate = np.array(
        [[[one.by_brick.get(brick, np.nan) for brick in (0, 1)] for one in each.shares.values()] for each in answers]
    )
    threads = np.array([threads_f, 2 * threads_g])
    size = np.mean(SMALL)
    data = xr.Dataset(
        {
            "rate": (("policy", "stream", "brick"), rate, {"units": "B/s", "long_name": "bytes served a second"}),
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
    """Of equation 8 at brick A, where both streams wait; g: what it is served at A and at B."""
    here, there = g
    if here <= 1e-9 * there or "minimum" in answer.shares["g"].binding.constraint:
        return float("inf")
    largest = float(SMALL[1])
    batch = largest * (1 + there / here)
    one = Side(weights["f"], largest)
    other = Side(weights["g"], largest, bricks=2, largest_batch=batch, coordinators=coordinators)
    return float(bound_total(one, other, DEPTH, waiting, repaired))
