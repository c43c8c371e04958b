"""The best layout of given disks."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from storagekit.analytic.array import equations
from storagekit.analytic.array.aspect import Layout, Layouts
from storagekit.analytic.array.costs import Load, single_load
from storagekit.analytic.array.elevator import RLOOK, Scheduler
from storagekit.analytic.array.kinds import Population, SharedCosts, population, shared_costs
from storagekit.analytic.array.positioning import DriveFigures, Numbers
from storagekit.core.binding import Binding
from storagekit.core.validation import COUNT, unchecked
from storagekit.drive import Drive
from storagekit.plan.assumptions import layout_assumptions
from storagekit.plan.layout_answer import Candidate, LayoutAnswer
from storagekit.plan.objective import LayoutMeasures, LayoutObjective, MinMean
from storagekit.plan.paper_rule import Optimum, compared_queue, continuous_optimum, practical, service
from storagekit.plan.question import ANY_MIRRORS, DISKS, QUEUE, Question, require_ranking

# called with validated arguments
_array_throughput, _disk_throughput = unchecked(equations.array_throughput), unchecked(equations.disk_throughput)


def array(
    drive: Drive | DriveFigures | Sequence[Drive | DriveFigures],
    disks: int,
    *,
    read_share: float,
    queue: float,
    locality: float = 1.0,
    objective: LayoutObjective | None = None,
    scheduler: Scheduler | None = None,
    mirrors: int | None = 1,
    background: float = 0.0,
    overhead: float | None = None,
    data: float = 1.0,
    most_replicas: int = equations.MOST_REPLICAS,
) -> LayoutAnswer:
    """Rank the layouts D_s x D_r x D_m of `disks` disks.

    Parameters
    ----------
    drive : Drive or sequence of Drive
        One drive for all disks, or one drive for each disk.
    disks : int
        Number of disks.
    read_share : float
        Share of reads, 0 to 1.
    queue : float
        Number of outstanding requests per disk.
    locality : float
        Locality L, by which seek distances are divided, by default 1.
    objective : MinMean or MaxThroughput
        `MinMean()` by default, for the mean response time of single requests, or `MaxThroughput()`.
    scheduler : Scheduler
        Scheduler for the predicted throughput: `RLOOK()` by default, or `RSATF()`.
    mirrors : int, optional
        D_m, the number of copies of a block on different disks; 1 by default, None for any number.
    background : float
        Share of the writes that propagate their copies in idle time; by default 0, the worst case. The other writes
        write all copies before they complete.
    overhead : float, optional
        Overhead T_o in seconds, which replaces the overhead of the drive.
    data : float
        Size of the data set divided by the capacity of one drive, or by the mean capacity if there are several kinds of
        drives; by default 1.
    most_replicas : int
        Maximum number of copies on one disk, by default 6.

    Returns
    -------
    LayoutAnswer
        Every layout that fits, the best first. If there is none, `feasible` is False and `binding` gives the reason.

    Raises
    ------
    InputError
        For values that are impossible for an array.

    Notes
    -----
    Of layouts with equal scores, the layout with fewer mirrors is recommended, because a striped mirror did not match
    the performance of an SR-Array (srarray, section 2.5). The assumptions of the answer name the differences from the
    paper.

    References
    ----------
    srarray, section 2.

    Examples
    --------
    >>> import storagekit as sk
    >>> answer = sk.plan.array(sk.load_drive("cheetah9lp"), 24, read_share=0.7, queue=8, objective=sk.plan.MaxThroughput())
    >>> str(answer.configuration)
    '8x3x1'
    """
    objective = MinMean() if objective is None else objective
    scheduler = RLOOK() if scheduler is None else scheduler
    load = single_load(read_share, background, queue, locality, data)
    require_ranking(objective, scheduler)
    QUEUE("queue", queue)
    disks, most_replicas = DISKS("disks", disks), COUNT("most_replicas", most_replicas)
    mirrors = None if mirrors is None else ANY_MIRRORS("mirrors", mirrors)
    group = population(drive, disks, overhead)
    kept = drive if isinstance(drive, Drive | DriveFigures) else tuple(drive)
    question = Question(kept, group.disks, load, objective, scheduler, mirrors, most_replicas, overhead)
    every = question.layouts(group.disks)
    every = every.where(group.divides(every))
    ranking, shares = _ranked(group, load, every, objective, scheduler) if every.count else ((), ())
    paper, optimum = None, None
    if ranking:
        optimum = continuous_optimum(group, load, float(compared_queue(objective, queue)))
        rule = practical(optimum, group.disks, question.least_mirrors, most_replicas, data)
        paper = next((one for one in ranking if one.layout == rule), None)
        binding = _binding(question, optimum, ranking[0].layout)
    else:
        binding = _obstacle(question, group)
    return LayoutAnswer(
        ranking=ranking,
        paper=paper,
        optimum=optimum,
        binding=binding,
        assumptions=layout_assumptions(group, load, scheduler),
        shares=shares,
        question=question,
    )


def _ranked(
    group: Population, load: Load, every: Layouts, objective: LayoutObjective, scheduler: Scheduler
) -> tuple[tuple[Candidate, ...], tuple[float, ...]]:
    """Return the layouts that fit, from the best to the worst, and shares for the best layout.

    For each kind of disk, a share is the share of the requests that go to one disk of this kind.
    """
    found = shared_costs(group, load, every, scheduler)
    fits = np.flatnonzero(found.fits)
    if not fits.size:
        return (), ()
    measures = LayoutMeasures(found.costs.latency, found.costs.throughput(group.disks))
    order = fits[_order(objective.score(measures)[fits], every.mirrors[fits])]
    listed = _candidates(group, load, every, found)
    return tuple(listed[number] for number in order), tuple(float(share) for share in found.requests[:, order[0]])


def _order(score: NDArray, mirrors: NDArray) -> NDArray:
    """Return the indices that sort the scores, the smallest first. Scores that differ by rounding errors are equal."""
    digits = 10 - int(np.floor(np.log10(score.min())))
    return np.lexsort((mirrors, np.round(score, digits)))


def _candidates(group: Population, load: Load, every: Layouts, found: SharedCosts) -> list[Candidate]:
    rate = found.costs.throughput(group.disks)
    response = group.disks * np.asarray(load.queue) / rate
    paper_latency = _by_the_paper(group, load, every, found, 1.0)
    # this service time already includes the overhead T_o
    disk_rate = _disk_throughput(0.0, _by_the_paper(group, load, every, found, load.queue))
    paper_rate = _array_throughput(group.disks, group.disks * load.queue, disk_rate)
    columns = (found.costs.latency, rate, response, found.used.max(axis=0), paper_latency, paper_rate)
    return [
        Candidate(every.at(number), *(float(figure) for figure in row))
        for number, row in enumerate(zip(*columns, strict=True))
    ]


def _by_the_paper(group: Population, load: Load, every: Layouts, found: SharedCosts, queue: Numbers) -> NDArray:
    """Return T_o plus the service time of equation 9 or 12, with D_r D_m instead of D_r.

    For several kinds of drives, this is the mean over the disks, weighted by the share of requests of each disk.
    """
    return sum(
        (
            kind.count * share * (kind.spindle.overhead + service(kind.spindle, load, queue, used, every.copies))
            for kind, share, used in zip(group.kinds, found.requests, np.minimum(found.used, 1), strict=True)
        ),
        start=np.zeros(every.count),
    )


def _binding(question: Question[LayoutObjective], optimum: Optimum, best: Layout) -> Binding:
    """Return the constraint that separates the recommended layout from the continuous optimum."""
    data, share = float(np.asarray(question.load.data)), float(question.load.unpropagated)
    mirrors, most = question.mirrors, question.most_replicas
    wanted = optimum.replicas / best.mirrors
    room = question.disks / data
    each = question.disks // best.mirrors
    if share <= 0.5:
        return Binding("p <= 1/2: replicas cost more than they save", share, 0.5, "propagate more writes in idle time")
    if mirrors and mirrors > 1 and mirrors > optimum.replicas:
        return Binding(f"mirrors >= {mirrors}", mirrors, optimum.replicas, "use fewer mirrors, or add disks")
    if optimum.replicas >= room * (1 - 1e-9) and best.replicas == max(1, int(min(room / best.mirrors, most))):
        remedy = "add disks; these disks have no room for more copies of the data"
        return Binding("capacity: copies of the data", optimum.unbounded or optimum.replicas, room, remedy)
    factors = [factor for factor in range(1, each + 1) if each % factor == 0 and each / factor >= data]
    within = [factor for factor in factors if factor <= wanted]
    if within and within[-1] > most:
        return Binding(f"at most {most} rotational replicas", wanted, most, "allow more copies on one disk")
    if int(min(wanted, most)) > max([factor for factor in within if factor <= most], default=1):
        return Binding(
            f"D_r must be a factor of {each}", wanted, best.replicas, "use a number of disks with more factors"
        )
    return Binding("none")


def _obstacle(question: Question[LayoutObjective], group: Population) -> Binding:
    """Return the reason why no layout is feasible."""
    least = question.least_mirrors
    data = float(np.asarray(question.load.data))
    wrong = [count for count in group.counts if count % least]
    if wrong:
        whole = -(-int(wrong[0]) // least) * least
        return Binding(
            f"mirrors: {wrong[0]} disks do not divide into mirrors of {least}",
            int(wrong[0]),
            whole,
            f"use {whole} disks, or another number of mirrors",
        )
    need = int(np.ceil(data * least * (1 - 1e-9)))
    if data * least > group.disks * (1 + 1e-9):
        return Binding(
            f"capacity: {data:g} drives of data with D_m = {least}", data * least, group.disks, f"use {need} disks"
        )
    return Binding(
        "capacity: the data does not fit the smallest drives at equal utilization", data, group.disks, "add disks"
    )
