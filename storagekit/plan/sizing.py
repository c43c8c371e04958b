"""The fewest disks for a goal."""

import math
from dataclasses import dataclass

import numpy as np

from storagekit.analytic.array.aspect import Layout
from storagekit.analytic.array.costs import single_load, used_share
from storagekit.analytic.array.equations import MOST_REPLICAS
from storagekit.analytic.array.kinds import DiskKind, Population
from storagekit.analytic.array.positioning import Curve, DriveFigures, Linear, spindle
from storagekit.core.binding import Binding
from storagekit.core.errors import InputError
from storagekit.core.validation import COUNT, POSITIVE, instance_of
from storagekit.drive import Drive
from storagekit.plan.assumptions import common_assumptions
from storagekit.plan.goal import Goal, ResponseGoal, latency_floor
from storagekit.plan.layout_answer import SizeAnswer
from storagekit.plan.question import MIRRORS, Question

# default maximum number of disks
FAR = 256
# maximum number of disks, because every number is tested
MOST_DISKS = COUNT.up_to(10_000, "; plan one of several equal arrays")


@dataclass(frozen=True)
class _Best:
    """The layout that comes closest to a goal with a given number of disks."""

    disks: int
    layout: Layout
    response: float
    throughput: float
    utilization: float
    lack: float


def size(
    drive: Drive | DriveFigures,
    goal: Goal,
    *,
    read_share: float,
    data: float = 1.0,
    locality: float = 1.0,
    background: float = 0.0,
    mirrors: int = 1,
    overhead: float | None = None,
    price: float | None = None,
    budget: float | None = None,
    most_disks: int = FAR,
    most_replicas: int = MOST_REPLICAS,
) -> SizeAnswer:
    """Return the smallest number of disks that meets a goal, and the layout of these disks.

    Parameters
    ----------
    drive : Drive or DriveFigures
        The drive of all disks.
    goal : ResponseGoal or ThroughputGoal
        The goal.
    read_share : float
        Share of reads, 0 to 1.
    data : float
        Size of the data set divided by the capacity of one drive, by default 1.
    locality : float
        Locality L, by which seek distances are divided, by default 1.
    background : float
        Share of the writes that propagate their copies in idle time, by default 0; see `plan.array`.
    mirrors : int
        Exact number of copies of a block on different disks, by default 1; 2 copies tolerate the loss of one disk.
    overhead : float, optional
        Overhead T_o in seconds, which replaces the overhead of the drive.
    price, budget : float, optional
        Price of one disk, and limit of the price of all disks, in one currency.
    most_disks, most_replicas : int
        Maximum number of disks, by default 256, and maximum number of copies on one disk, by default 6.

    Returns
    -------
    SizeAnswer
        The array. If no layout meets the goal, `feasible` is False, and `binding` names the missed requirement and a
        remedy. If more than `most_disks` disks would meet the goal, the remedy names the number of disks that is
        needed. Numbers up to the larger of 256 and twice `most_disks` are tried.

    Raises
    ------
    InputError
        For impossible values, and for a budget without a price.

    Examples
    --------
    >>> import storagekit as sk
    >>> goal = sk.plan.ResponseGoal(0.015, rate=2000)
    >>> answer = sk.plan.size(sk.load_drive("cheetah9lp"), goal, read_share=0.7)
    >>> answer.disks, str(answer.layout)
    (14, '7x2x1')
    """
    order = "; the first two arguments are the drive and the goal, in this order"
    instance_of(Goal, f"ResponseGoal(...) or ThroughputGoal(...){order}")("goal", goal)
    _check(price, budget)
    mirrors, most_disks = MIRRORS("mirrors", mirrors), MOST_DISKS("most_disks", most_disks)
    most_replicas = COUNT("most_replicas", most_replicas)
    load = single_load(read_share, background, goal.outstanding, locality, data)
    timing = spindle(drive, overhead)
    question = Question(drive, most_disks, load, goal, goal.scheduler, mirrors, most_replicas, overhead)
    affordable = most_disks if budget is None or price is None else min(most_disks, math.floor(budget / price))
    best, binding = _answer(question, timing, affordable, price, budget)
    assumptions = (
        *common_assumptions(Population((DiskKind(timing, question.disks, 1.0),)), load),
        f"each block is on exactly {mirrors} disk{'s' if mirrors > 1 else ''}",
        goal.assumption,
    )
    return SizeAnswer(
        **{name: getattr(best, name, None) for name in ("disks", "layout", "response", "throughput", "utilization")},
        price=best.disks * price if best and price is not None else None,
        binding=binding,
        assumptions=assumptions,
        question=question,
    )


def _answer(
    question: Question[Goal], timing: Linear | Curve, affordable: int, price: float | None, budget: float | None
) -> tuple[_Best | None, Binding]:
    goal, most, data = question.criterion, question.disks, float(np.asarray(question.load.data))
    mirrors = question.least_mirrors
    holds = math.ceil(data * mirrors * (1 - 1e-9))
    what = f"capacity: {data:g} drives of data with D_m = {mirrors}"
    if holds > most:
        return None, Binding(what, holds, most, f"allow {holds} disks")
    if isinstance(goal, ResponseGoal):
        floor = latency_floor(timing, question.load, mirrors, question.most_replicas)
        if goal.response <= floor:
            remedy = "no number of disks is enough; allow more time, or use a drive with less overhead or rotation"
            return None, Binding("mechanical minimum, s", goal.response, floor, remedy)
    least = least_possible(question, timing)
    best, closest = _fewest(question, timing, least, most)
    if best is None:
        more, _ = _fewest(question, timing, max(most + 1, least), max(FAR, 2 * most))
        remedy = f"{more.disks} disks meet the goal" if more else f"allow more than {most} disks, or relax the goal"
        if closest is None:
            return None, Binding(f"disks: the goal needs more than {most}", most, least, remedy)
        return None, _missed(goal, closest, f"of the best layout up to {_disks(most)}", remedy)
    if best.disks > affordable:
        cost = best.disks * (price or 0)
        are = "is" if best.disks == 1 else "are"
        return None, Binding(f"budget: {_disks(best.disks)} {are} needed", cost, budget, f"spend {cost:g}")
    if closest is None:
        return best, Binding(what, data * mirrors, best.disks, "fewer disks are too small for the data and its mirrors")
    remedy = f"relax the goal to use fewer than {_disks(best.disks)}"
    return best, _missed(goal, closest, f"of {_disks(closest.disks)}", remedy)


def _missed(goal: Goal, closest: _Best, whose: str, remedy: str) -> Binding:
    """Return the reason why the closest layout misses the goal: its throughput is too low, or its response time too long."""
    reached = getattr(closest, goal.measure)
    if math.isfinite(reached):
        return Binding(f"{goal.measure}, {goal.unit}, {whose}", reached, goal.limit, remedy)
    are = "is" if closest.disks == 1 else "are"
    what = f"load, requests/s: {_disks(closest.disks)} {are} saturated"
    return Binding(what, goal.rate, closest.throughput, remedy)


def _disks(number: int) -> str:
    return f"{number} disk{'s' if number != 1 else ''}"


def least_possible(question: Question[Goal], timing: Linear | Curve) -> int:
    """Return a lower limit of the number of disks.

    With fewer disks, the goal is infeasible: the overhead alone would keep all disks busy, or the data do not fit.
    """
    data = float(np.asarray(question.load.data)) * question.least_mirrors
    return max(1, math.ceil(max(data, question.criterion.least_disks(timing)) * (1 - 1e-9)))


def _fewest(
    question: Question[Goal], timing: Linear | Curve, first: int, last: int
) -> tuple[_Best | None, _Best | None]:
    """Return the layout with the fewest disks that meets the goal, and the layout that misses the goal least.

    The number of disks is at least `first` and at most `last`, and the second layout has fewer disks than the first
    layout. A layout that does not exist is None. If several layouts
    miss the goal equally, such as saturated layouts, the second layout is the layout with the highest throughput.
    """
    closest, mirrors = None, question.least_mirrors
    # only multiples of the number of mirrors are possible
    for disks in range(-(-first // mirrors) * mirrors, last + 1, mirrors):
        best = _best_of(question, timing, disks)
        if best is None:
            continue
        if best.lack <= 1:
            return best, closest
        if closest is None or (best.lack, -best.throughput) < (closest.lack, -closest.throughput):
            closest = best
    return None, closest


def _best_of(question: Question[Goal], timing: Linear | Curve, disks: int) -> _Best | None:
    every = question.layouts(disks)
    every = every.where(used_share(question.load, every, disks) <= 1 + 1e-9)
    if not every.count:
        return None
    reached = question.criterion.reached(timing, question.load, every, disks)
    lack = question.criterion.lack(reached)
    # all saturated layouts miss the goal equally: take the layout with the highest throughput
    best = int(np.lexsort((-reached.throughput, lack))[0])
    return _Best(disks, every.at(best), *(float(values[best]) for values in (*reached, lack)))


def _check(price, budget) -> None:
    for label, value in (("price", price), ("budget", budget)):
        if value is not None:
            POSITIVE(label, value)
    if budget is not None and price is None:
        raise InputError(f"budget {budget:g}: give the price of a disk too, or give most_disks instead")
