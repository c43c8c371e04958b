"""Find the schemes of given disks that meet the requirements, with their predicted values."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from storagekit.analytic.array.elevator import Scheduler
from storagekit.analytic.array.positioning import Curve, Linear
from storagekit.plan.devices import predict, timing_of
from storagekit.plan.families import Family
from storagekit.plan.networking import network_is_full
from storagekit.plan.objective import Objective
from storagekit.plan.predicting import (
    SLACK,
    holds,
    load_share,
    overloads_after_failure,
    turns_in_time,
)
from storagekit.plan.prediction import Prediction
from storagekit.plan.requirements import Requirements
from storagekit.plan.scheme import Scheme

# A number of disks that is a multiple of most numbers of mirrors and of most group sizes.
_DIVIDES = 12
# Maximum number of spares if the disks cannot be divided evenly: for a kind that is possible with fewer spares too, and for
# any other kind, whose groups have at most 24 disks.
_SPARES, _MOST_SPARES = 3, 23


def found(
    needs: Requirements, objective: Objective, families: Sequence[Family], scheduler: Scheduler
) -> tuple[list[Prediction], list[Prediction]]:
    """Return the schemes that meet the requirements, and the schemes with enough capacity that do not meet them.

    If the objective may use fewer disks, return the schemes for the smallest number of disks with which any scheme meets the
    requirements.
    """
    most, least = needs.affordable, _least(needs)
    if most < 1:
        return [], []

    timing = timing_of(needs.drive)

    @cache
    def of(disks: int) -> tuple[list[Prediction], list[Prediction]]:
        return found_of(needs, timing, objective.most_busy, families, scheduler, disks)

    if not objective.may_leave_disks or least > most:
        return of(most)
    # Among multiples of `_DIVIDES`, more disks make each scheme faster. If one multiple is too slow, all smaller
    # multiples are too slow.
    known = range(-(-least // _DIVIDES) * _DIVIDES, most + 1, _DIVIDES)
    index = bisect_left(known, True, key=lambda disks: bool(of(disks)[0]))
    slow = next((disks for disks in reversed(known[:index]) if of(disks)[1]), least - 1)
    last = known[index] if index < len(known) else most
    return of(next((disks for disks in range(slow + 1, last + 1) if of(disks)[0]), last))


def found_of(
    needs: Requirements,
    timing: Curve | Linear | None,
    most_busy: float,
    families: Sequence[Family],
    scheduler: Scheduler,
    disks: int,
) -> tuple[list[Prediction], list[Prediction]]:
    """Return the schemes of `disks` disks that meet the requirements, and schemes that only have enough capacity.

    timing: `timing_of` the drive. most_busy: largest load, as a share of the maximum load of a scheme.
    """
    every = _predicted(needs, timing, families, scheduler, disks)
    met = [one for one in every if meets(needs, one) and (needs.rate is None or load_share(needs, one) <= most_busy)]
    return met, [one for one in every if one not in met]


def order_of(needs: Requirements, objective: Objective, one: Prediction) -> tuple:
    """Return the key by which a ranking is sorted. Schemes that a lost disk overloads come last."""
    return overloads_after_failure(needs, one), objective.key(one)


def _least(needs: Requirements) -> int:
    return max(1, int(np.ceil(needs.data / needs.capacity / SLACK)))


def _predicted(
    needs: Requirements, timing: Curve | Linear | None, families: Sequence[Family], scheduler: Scheduler, disks: int
) -> list[Prediction]:
    """Return the predictions of the schemes of `disks` disks that hold the data and tolerate the failures.

    A scheme may use slightly fewer disks, so that the remaining disks are spares. This is allowed in three cases: if its kind
    is impossible with exactly this number of disks, if it has more capacity with fewer disks (such as one wide parity group
    in place of several narrow groups), or if its kind would otherwise be overloaded, now or after a failure.
    """
    found: list[Prediction] = []
    largest: dict[tuple, float] = {}
    for spares, some in enumerate(surviving(needs, disks, families)):
        tried = {one.scheme.sort for one in found} if spares > _SPARES else set()
        new = [
            one
            for one in some
            if one.sort not in tried
            and holds(needs, one)
            and turns_in_time(needs, one)
            and one.usable(needs.capacity) > largest.get(one.sort, 0.0) * SLACK
        ]
        predictions = predict(needs, timing, new, scheduler, disks)
        found += predictions
        for one in predictions:
            if meets(needs, one) and not overloads_after_failure(needs, one):
                sort = one.scheme.sort
                largest[sort] = max(one.usable, largest.get(sort, 0.0))
    return list({one.name: one for one in reversed(found)}.values())[::-1]


def surviving(needs: Requirements, disks: int, families: Sequence[Family]) -> Iterator[list[Scheme]]:
    """Yield the schemes that tolerate the failures: first with all `disks`, then with 1 to `_MOST_SPARES` disks fewer."""
    for count in range(disks, max(0, disks - 1 - _MOST_SPARES), -1):
        every = (one for family in families for one in family.of(count))
        yield [
            one
            for one in every
            if one.tolerates >= needs.tolerate and one.suits(needs.smallest) and keeps_data(needs, one)
        ]


def keeps_data(needs: Requirements, one: Scheme) -> bool:
    """Return whether a scheme keeps all data after the failures of nodes, or of racks, that the requirements name."""
    network = needs.network
    if network is None or not (needs.tolerate_nodes or needs.tolerate_racks):
        return True
    groups = one.redundancy(needs.capacity)
    # without groups of disks, the copies of a block are the group
    group = one.tolerates + 1 if groups is None else groups.stripe
    lost = (
        network.most_lost(group, nodes=needs.tolerate_nodes),
        network.most_lost(group, racks=needs.tolerate_racks),
    )
    return one.tolerates >= max(lost)


class Exceeded(NamedTuple):
    """A response time that exceeds its limit: "mean" or "p99", the name of the tenant or "", and both times in seconds."""

    measure: str
    tenant: str
    value: float
    limit: float


def exceeded(needs: Requirements, one: Prediction) -> list[Exceeded]:
    """Return the response times of a scheme that exceed their limits, beginning with the response times of all requests."""
    every = [("mean", "", one.mean, needs.mean), ("p99", "", one.p99, needs.tail)]
    for tenant, found in zip(needs.tenants, one.tenants, strict=bool(one.tenants)):
        every += [("mean", tenant.name, found.mean, tenant.mean), ("p99", tenant.name, found.p99, tenant.p99)]
    # a scheme without a formula for the quantile is not rejected
    return [Exceeded(what, name, value, limit) for what, name, value, limit in every if limit and value > limit]


def disks_meet(needs: Requirements, one: Prediction) -> bool:
    """Return whether the disks of a scheme sustain the load within the limits of the response time."""
    return bool(np.isfinite(one.mean)) and not exceeded(needs, one)


def meets(needs: Requirements, one: Prediction) -> bool:
    """Return whether disks and network sustain the load within the limits of the response time."""
    return disks_meet(needs, one) and not network_is_full(one)
