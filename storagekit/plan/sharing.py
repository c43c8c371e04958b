"""Sharing of bricks among streams: expected rates, and the constraint that limits each stream."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from storagekit.analytic.fairness import MaxMin, WithMinimums, hybrid_rates, max_min_rates
from storagekit.core.binding import Binding
from storagekit.plan.sharing_answer import SharesAnswer, StreamShare
from storagekit.plan.sharing_question import Numbers, Policy, SharesQuestion, Stream, asked_for, numbers


def shares(bricks: Sequence[float], streams: Mapping[str, Stream], *, policy: Policy = "total") -> SharesAnswer:
    """Return the rates of streams that share bricks by weight, and the constraint that limits each stream.

    Parameters
    ----------
    bricks : sequence of float
        Capacity of each brick in bytes a second.
    streams : mapping of str to Stream
        The streams, keyed by name.
    policy : str
        "total", the default: the streams share all bricks together (TOTAL-DSFQ, or HYBRID-DSFQ if a stream has a minimum).
        "single": the streams share each brick separately. Minimums then have no effect, because the weight of each
        stream already gives at least its minimum share of each brick.

    Returns
    -------
    SharesAnswer
        The rates under this policy and under the other policy.

    Raises
    ------
    InputError
        If a weight, a capacity or a demand is not above 0, if a minimum is above the limit that the weight of the stream or
        a brick allows, if a stream has no bricks, or if a brick is unknown.

    References
    ----------
    dsfq, sections 2.2, 3.3 and 3.4.

    Examples
    --------
    >>> import storagekit as sk
    >>> f = sk.plan.Stream(weight=1, bricks=[0])
    >>> g = sk.plan.Stream(weight=1, bricks=[0, 1], demand={1: 2e6})
    >>> sk.plan.shares([6e6, 6e6], {"f": f, "g": g}).rates
    {'f': 4000000.0, 'g': 4000000.0}
    >>> sk.plan.shares([6e6, 6e6], {"f": f, "g": g}, policy="single").rates
    {'f': 3000000.0, 'g': 5000000.0}
    """
    question = asked_for(bricks, streams, policy)
    given = numbers(question)
    found = {"total": _total(given), "single": _single(given)}
    chosen = found[policy]
    other = found["single" if policy == "total" else "total"].rates.rates
    listed = {
        name: StreamShare(
            rate=float(rate := chosen.rates.rates[index]),
            normalized=float(rate / stream.weight),
            by_brick={brick: float(chosen.rates.allocation[index, brick]) for brick in sorted(stream.bricks)},
            binding=_binding(chosen, index),
            otherwise=float(other[index]),
        )
        for index, (name, stream) in enumerate(question.streams.items())
    }
    used = chosen.rates.allocation.sum(axis=0) / given.capacity
    return SharesAnswer(listed, tuple(used.tolist()), _assumptions(question), question)


def _total(given: Numbers) -> WithMinimums:
    minimum = np.minimum(given.minimum, given.weights / given.weights.sum())
    return hybrid_rates(given.capacity, given.weights, given.demand > 0, given.demand, minimum)


def _single(given: Numbers) -> WithMinimums:
    """Return the rates if each brick is shared separately, without regard to service at other bricks."""
    alone = [
        max_min_rates(given.capacity[[brick]], given.weights, reach, demand)
        for brick, (reach, demand) in enumerate(
            zip((given.demand > 0).T[..., None], given.demand.T[..., None], strict=True)
        )
    ]
    allocation, bottleneck = (
        np.concatenate([getattr(one, name) for one in alone], axis=1) for name in ("allocation", "bottleneck")
    )
    rates = MaxMin(allocation.sum(axis=1), allocation, given.demand, bottleneck)
    return WithMinimums(rates, np.zeros_like(bottleneck))


def _binding(found: WithMinimums, index: int) -> Binding:
    """Return the constraint of a stream: full bricks, its demand, or its minimum at a full brick."""
    lifted = found.lifted[index]
    if not np.any(lifted):
        return found.rates.binding(index)
    names = ", ".join(str(brick) for brick in np.flatnonzero(lifted))
    its = f"its minimum share of {_bricks(lifted)} {names}"
    others = found.rates.bottleneck & ~found.lifted
    if np.any(others[index]):
        rest = replace(found.rates, bottleneck=others).binding(index)
        return replace(rest, constraint=f"{rest.constraint}, and {its}")
    here, served = found.rates.allocation[index, lifted].sum(), found.rates.allocation[:, lifted].sum()
    return Binding(its, float(here), float(served), "raise the minimum, the weight, or the capacity")


def _bricks(which: np.ndarray) -> str:
    return "bricks" if which.sum() > 1 else "brick"


def _assumptions(question: SharesQuestion) -> tuple[str, ...]:
    said = [
        "each stream always has requests at each of its bricks; a demand at a brick limits the rate of these requests",
        "the rates are long-run averages; shares of all bricks together converge slowly, and at first depend on "
        "earlier service",
        "a brick serves any mix of requests at its rate, and is never idle while a request waits there",
    ]
    least = any(stream.minimum for stream in question.streams.values())
    if least and question.policy == "total":
        said.append(
            "a minimum limits the delay of requests; a stream receives more where others are absent or use other bricks"
        )
        said.append(
            "requests have nearly equal sizes; with very unequal sizes a stream receives somewhat more than its minimum"
        )
    if least and question.policy == "single":
        said.append(
            "minimums have no effect, because the weight of each stream gives at least its minimum at each brick"
        )
    return tuple(said)
