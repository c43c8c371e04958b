"""Rank the schemes for given disks by their predicted values."""

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, partial

import numpy as np

from storagekit.analytic.array.elevator import RLOOK, Scheduler
from storagekit.analytic.array.positioning import Curve, Linear, spindle
from storagekit.core.binding import Binding
from storagekit.core.errors import InputError
from storagekit.core.units import KB, MS
from storagekit.core.validation import instance_of, several
from storagekit.drive import Drive
from storagekit.plan.families import Family, default_families
from storagekit.plan.objective import BUSIEST, MaxThroughput, MinMean, Objective
from storagekit.plan.predicting import (
    SLACK,
    Prediction,
    holds,
    load_share,
    overloads_after_failure,
    predict,
    turns_in_time,
)
from storagekit.plan.requirements import MOST_DISKS, Requirements, sizes_of
from storagekit.plan.scheme import Scheme
from storagekit.plan.schemes_answer import SchemesAnswer

# A number of disks that is a multiple of most numbers of mirrors and of most group sizes.
_DIVIDES = 12
# Maximum number of spares if the disks cannot be divided evenly: for a kind that is possible with fewer spares too, and for
# any other kind, whose groups have at most 24 disks.
_SPARES, _MOST_SPARES = 3, 23
_FAMILIES = "SRArrays(), ParityRAID(), Code(8, 3), ReplicatedBricks(), Protocols() or SplitTransfers()"


def schemes(
    drive: Drive,
    disks: int,
    *,
    data: float,
    size: float | Mapping[float, float] = 4 * KB,
    read_share: float = 1.0,
    rate: float | None = None,
    outstanding: int | None = None,
    goal: Objective | None = None,
    tolerate: int = 0,
    mean: float | None = None,
    p99: float | None = None,
    price: float | None = None,
    budget: float | None = None,
    families: Family | Sequence[Family] | None = None,
    scheduler: Scheduler | None = None,
    queue_depth: int = 1,
) -> SchemesAnswer:
    """Rank all schemes for `data` bytes on `disks` disks: RAID 0, 1, 10, 5, 6, 50, 60, codes of m + p, and SR-Arrays.

    Parameters
    ----------
    drive : Drive
        A drive from `load_drive`.
    disks : int
        Number of disks.
    data : float
        Amount of data in bytes.
    size : float or mapping of float to float
        Request size in bytes, or a mapping from request sizes to their shares.
    read_share : float
        Share of reads, 0 to 1.
    rate : float, optional
        Rate of Poisson arrivals, requests a second.
    outstanding : int, optional
        Number of outstanding requests. Give either this number or `rate`.
    goal : Objective, optional
        `MaxThroughput()` (default with `outstanding`), `MinMean()` (default with `rate`), `MinP99()`, `MinP95()`,
        `MinCost()` or `MaxCapacity()`.
    tolerate : int
        Number of lost disks that a scheme must tolerate.
    mean, p99 : float, optional
        Limits of the mean and of the 99th percentile of the response time, seconds.
    price, budget : float, optional
        Price of a disk, and limit of the total price.
    families : Family or sequence of Family, optional
        Families of schemes to rank; `SRArrays()` and `ParityRAID()` by default. By default, parity groups have as many
        parities as `tolerate` requires, and drives with sectors of 4 KB have no rotational replicas, because such drives do
        not let a host choose the angle of a block.
    scheduler : Scheduler, optional
        Scheduler of the disks if `outstanding` is given: `RLOOK()` (default) or `RSATF()`.
    queue_depth : int
        Number of requests among which a disk selects the one with the shortest access time, if `rate` is given: 1 to 256,
        32 for disks with command queueing (NCQ). By default 1: the disks serve requests in order of arrival (FCFS).

    Returns
    -------
    SchemesAnswer
        The ranking, which prints as a table. `answer.table` is a Dataset, `answer.check()` simulates the best three
        schemes, and `answer.chart()` draws the ranking. If no scheme is feasible, `feasible` is False and `binding`
        gives the reason.

    Raises
    ------
    InputError
        For impossible values.

    Examples
    --------
    >>> import storagekit as sk
    >>> drive = sk.load_drive("toshiba_mg10_20tb")
    >>> answer = sk.plan.schemes(drive, 12, data=60e12, size=64 * sk.units.KB, read_share=0.7, rate=600, tolerate=1)
    >>> str(answer.recommended.scheme)
    'RAID 10'
    """
    needs = Requirements(
        drive,
        disks,
        data,
        sizes_of(size),
        read_share,
        rate,
        outstanding,
        tolerate,
        mean,
        p99,
        price,
        budget,
        queue_depth,
    )
    if goal is None:
        goal = MinMean() if outstanding is None else MaxThroughput()
    if scheduler is not None and outstanding is None:
        raise InputError(
            "scheduler with rate: requests that arrive at a rate are served in order of arrival; leave the scheduler out, or "
            "give queue_depth=32 for disks that select the nearest of 32 requests"
        )
    scheduler = RLOOK() if scheduler is None else scheduler
    if families is None:
        families = default_families(needs.drive, needs.tolerate)
    families = [families] if isinstance(families, Family) else families
    _check(goal, families, scheduler)
    found, refused = _found(needs, goal, families, scheduler)
    every = next(_surviving(needs, needs.affordable, families), [])
    small = [one for one in every if not holds(needs, one)]
    long = [one for one in every if holds(needs, one) and not turns_in_time(needs, one)]
    return SchemesAnswer(
        needs=needs,
        goal=goal,
        scheduler=scheduler,
        ranking=tuple(sorted(found, key=lambda one: (overloads_after_failure(needs, one), goal.key(one)))),
        refused=tuple(sorted(refused, key=partial(_nearness, goal))),
        small=tuple(dict.fromkeys(str(one) for one in small)),
        long=tuple(dict.fromkeys(str(one) for one in long)),
        binding=_binding(needs, goal, found, refused, families),
    )


def _check(goal: Objective, families: Sequence[Family], scheduler: Scheduler) -> None:
    instance_of(Objective, "MaxThroughput(), MinMean(), MinP95(), MinP99(), MinCost() or MaxCapacity()")("goal", goal)
    if not several(instance_of(Family, _FAMILIES), of="families")("families", families):
        raise InputError(f"families: none; give {_FAMILIES}")
    instance_of(Scheduler, "RLOOK() or RSATF()")("scheduler", scheduler)


def _found(
    needs: Requirements, goal: Objective, families: Sequence[Family], scheduler: Scheduler
) -> tuple[list[Prediction], list[Prediction]]:
    """Return the schemes that meet the requirements, and the schemes with enough capacity that do not meet them.

    If the goal may use fewer disks, return the schemes for the smallest number of disks with which any scheme meets the
    requirements.
    """
    most, least = needs.affordable, _least(needs)
    if most < 1:
        return [], []

    timing = spindle(needs.drive)

    @cache
    def of(disks: int) -> tuple[list[Prediction], list[Prediction]]:
        found = _predicted(needs, timing, families, scheduler, disks)
        met = [
            one
            for one in found
            if meets(needs, one) and (needs.rate is None or load_share(needs, one) <= goal.most_busy)
        ]
        return met, [one for one in found if one not in met]

    if not goal.may_leave_disks or least > most:
        return of(most)
    # Among multiples of `_DIVIDES`, more disks make each scheme faster. If one multiple is too slow, all smaller
    # multiples are too slow.
    known = range(-(-least // _DIVIDES) * _DIVIDES, most + 1, _DIVIDES)
    place = bisect_left(known, True, key=lambda disks: bool(of(disks)[0]))
    slow = next((disks for disks in reversed(known[:place]) if of(disks)[1]), least - 1)
    last = known[place] if place < len(known) else most
    return of(next((disks for disks in range(slow + 1, last + 1) if of(disks)[0]), last))


def _least(needs: Requirements) -> int:
    return max(1, int(np.ceil(needs.data / needs.capacity / SLACK)))


def _predicted(
    needs: Requirements, timing: Curve | Linear, families: Sequence[Family], scheduler: Scheduler, disks: int
) -> list[Prediction]:
    """Return the predictions of the schemes of `disks` disks that hold the data and tolerate the failures.

    A scheme may have slightly fewer disks, and the other disks are then spares, if its kind is impossible with exactly
    this number of disks, if it then has more capacity, such as one wide parity group in place of several narrow ones, or
    if the disks of its kind would otherwise be overloaded, now or after a failure.
    """
    found: list[Prediction] = []
    largest: dict[tuple, float] = {}
    for spares, some in enumerate(_surviving(needs, disks, families)):
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


def _surviving(needs: Requirements, disks: int, families: Sequence[Family]) -> Iterator[list[Scheme]]:
    """Yield the schemes that tolerate the failures: first with all `disks`, then with 1 to `_MOST_SPARES` disks fewer."""
    for count in range(disks, max(0, disks - 1 - _MOST_SPARES), -1):
        every = (one for family in families for one in family.of(count))
        yield [one for one in every if one.tolerates >= needs.tolerate and one.suits(needs.smallest)]


def meets(needs: Requirements, one: Prediction) -> bool:
    """Return whether a scheme sustains the load within the limits of the response time."""
    within = np.isfinite(one.mean) and (needs.mean is None or one.mean <= needs.mean)
    # a scheme without a formula for the quantile is not rejected
    return bool(within and (needs.tail is None or not one.p99 > needs.tail))


def _binding(
    needs: Requirements,
    goal: Objective,
    found: Sequence[Prediction],
    refused: Sequence[Prediction],
    families: Sequence[Family],
) -> Binding:
    """Return the constraint "none" if a scheme was found, otherwise the reason why no scheme is feasible."""
    if found:
        return Binding("none")
    if needs.affordable < 1 and needs.price:
        return Binding("budget: no disk can be bought", needs.budget, needs.price, f"spend {needs.price:g} or more")
    if refused:
        return _too_slow(needs, goal, refused)
    every = [one for some in _surviving(needs, needs.affordable, families) for one in some]
    if not every:
        return _too_few(needs, families)
    long = [one for one in every if holds(needs, one)]
    if long:
        most = float(needs.drive.revolution) / min(one.shape.replicas for one in long)
        constraint = f"transfer of the largest request, ms: {long[0]} needs it before the next replica passes"
        return Binding(constraint, needs.longest / MS, most / MS, "use smaller requests, or tolerate fewer failures")
    room = max(one.usable(needs.capacity) for one in every)
    best = next(one for one in every if one.usable(needs.capacity) == room)
    remedy = f"add disks, or tolerate fewer failures; {best} has the largest capacity"
    return Binding(
        f"capacity, TB: {needs.affordable} disks that tolerate {needs.tolerate} failures",
        needs.data / 1e12,
        room / 1e12,
        remedy,
    )


def _too_few(needs: Requirements, families: Sequence[Family]) -> Binding:
    """Return why no scheme tolerates the failures: there are too few disks, or the families have too few parities."""
    disks, least = needs.affordable, needs.tolerate + 1
    if disks >= least and not any(family.of(disks) for family in families):
        more = next(
            (count for count in range(disks, MOST_DISKS + 1) if any(family.of(count) for family in families)), 0
        )
        return Binding(
            f"no scheme of these families has {disks} disks", remedy=f"use {more} disks" if more else "add families"
        )
    constraint = f"no scheme of {needs.affordable} disks tolerates the loss of {needs.tolerate} disks"
    if needs.affordable < least:
        return Binding(constraint, remedy=f"use at least {least} disks, for {least} copies")
    code = f"{needs.affordable - needs.tolerate}+{needs.tolerate}"
    return Binding(constraint, remedy=f"include codes such as {code}: families=ParityRAID(parities={needs.tolerate})")


def _nearness(goal: Objective, one: Prediction) -> tuple[float, ...]:
    """Return the key by which rejected schemes are sorted.

    Overloaded schemes come last, in descending order of throughput.
    """
    return (0.0, *goal.key(one)) if np.isfinite(one.mean) else (1.0, -one.throughput)


def _too_slow(needs: Requirements, goal: Objective, refused: Sequence[Prediction]) -> Binding:
    """Return the violated constraint if all schemes with enough capacity are too slow."""
    fewest = "" if goal.may_leave_disks else "; the goal MinCost() (--goal cost) finds the smallest number of disks"
    best = max(refused, key=lambda one: one.throughput)
    if needs.rate is not None and best.throughput <= needs.rate:
        count = int(np.ceil(needs.affordable * needs.rate / best.throughput / BUSIEST))
        then = f"be {BUSIEST:.0%} busy" if needs.queue_depth == 1 else f"have {BUSIEST:.0%} of their maximum rate"
        remedy = f"use about {count} disks, which would {then}, or reduce the load"
        more = f"{fewest} within the limit" if fewest and (needs.mean is not None or needs.tail is not None) else ""
        return Binding(
            f"requests/s: the disks of {best.scheme} are overloaded", needs.rate, best.throughput, remedy + more
        )
    busy = [one for one in refused if meets(needs, one)]
    if busy:
        share = partial(load_share, needs)
        idlest = min(busy, key=share)
        what = "disk utilization" if needs.queue_depth == 1 else "share of the maximum rate"
        constraint = f"{what}, %: {idlest.scheme} has the lowest"
        return Binding(constraint, 100 * share(idlest), 100 * goal.most_busy, "add disks")
    by_mean = min(refused, key=lambda one: one.mean)
    if needs.mean is not None and by_mean.mean > needs.mean:
        nearest, limit, value = by_mean, needs.mean, by_mean.mean
    else:
        nearest = min(refused, key=lambda one: one.p99)
        limit, value = needs.tail, nearest.p99
    assert limit is not None
    constraint = f"response, ms: {nearest.scheme} is the fastest"
    return Binding(constraint, value / MS, limit / MS, f"allow more time, or add disks{fewest}")
