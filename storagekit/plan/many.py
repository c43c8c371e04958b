"""The best layout for each of many questions, such as the points of a grid."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from storagekit.analytic.array import equations
from storagekit.analytic.array.aspect import Layouts, layouts
from storagekit.analytic.array.costs import Load, costs
from storagekit.analytic.array.elevator import RLOOK, Scheduler
from storagekit.analytic.array.positioning import Linear
from storagekit.core.errors import InputError
from storagekit.core.validation import COUNT, REAL, SPAN, TIME, require_seconds, unchecked
from storagekit.plan.objective import LayoutMeasures, LayoutObjective, MinMean
from storagekit.plan.paper_rule import compared_queue
from storagekit.plan.question import ANY_MIRRORS, DISKS, QUEUE, require_ranking, with_mirrors

# called with validated arguments
_costs, _unbounded_replicas = unchecked(costs), unchecked(equations.unbounded_replicas)
# number of questions in one block; the arrays of a block fit into the cache of the processor
_CHUNK = 2048


@dataclass(frozen=True)
class Ranked:
    """The best layout for each question, as arrays with the shape of the questions.

    Parameters
    ----------
    feasible : array of bool
        Whether a layout is feasible.
    striping, replicas, mirrors : array of int
        The best layout; 0 if no layout is feasible.
    latency : array of float
        Mean response time of single requests, seconds; NaN if no layout is feasible.
    throughput : array of float
        Throughput at the queue length of the question, requests a second; NaN if no layout is feasible.
    optimum : array of float
        D_r of equation 10 or 13 of srarray, at least 1, before rounding.
    """

    feasible: NDArray
    striping: NDArray
    replicas: NDArray
    mirrors: NDArray
    latency: NDArray
    throughput: NDArray
    optimum: NDArray


def rank_many(
    disks: ArrayLike,
    *,
    full_seek: ArrayLike,
    revolution: ArrayLike,
    read_share: ArrayLike,
    queue: ArrayLike,
    locality: ArrayLike = 1.0,
    background: ArrayLike = 0.0,
    overhead: ArrayLike = 0.0,
    data: ArrayLike = 1.0,
    objective: LayoutObjective | None = None,
    scheduler: Scheduler | None = None,
    mirrors: int | None = 1,
    most_replicas: int = equations.MOST_REPLICAS,
) -> Ranked:
    """Return the best layout for each of many questions.

    The result for each question is the recommendation of `plan.array`. Seek times are linear in distance.

    Parameters
    ----------
    disks : array_like
        Number of disks. The shapes of this array and of the arrays below broadcast.
    full_seek, revolution : array_like
        Times of the drive in seconds: a seek over all cylinders, and a revolution of the platter.
    read_share, queue, locality, background : array_like
        As in `plan.array`: the share of reads, the number of outstanding requests per disk, the locality L (by default
        1), and the share of the writes that propagate their copies in idle time (by default 0).
    overhead : array_like
        Overhead T_o of the drive, seconds, by default 0.
    data : array_like
        Size of the data set divided by the capacity of one drive, by default 1.
    objective : MinMean or MaxThroughput, optional
        Objective of every question, by default `MinMean()`.
    scheduler : Scheduler, optional
        Scheduler for the predicted throughput, by default `RLOOK()`.
    mirrors : int, optional
        D_m, the number of copies of a block on different disks; 1 by default, None for any number.
    most_replicas : int
        Maximum number of copies on one disk, by default 6.

    Returns
    -------
    Ranked
        The best layouts.

    Raises
    ------
    InputError
        If a value is impossible, or if the arrays do not broadcast.

    References
    ----------
    srarray, section 2.
    """
    mirrors = None if mirrors is None else ANY_MIRRORS("mirrors", mirrors)
    most_replicas = COUNT("most_replicas", most_replicas)
    objective = MinMean() if objective is None else objective
    scheduler = RLOOK() if scheduler is None else scheduler
    require_ranking(objective, scheduler)
    columns = _columns(
        disks=disks,
        full_seek=full_seek,
        revolution=revolution,
        overhead=overhead,
        read_share=read_share,
        background=background,
        queue=queue,
        locality=locality,
        data=data,
    )
    shape = columns[0].shape
    flat = [column.reshape(-1) for column in columns]
    found = np.full((6, flat[0].size), np.nan)
    found[:4] = 0
    # the questions of a group have the same number of disks, and therefore the same layouts
    order = np.argsort(flat[0], kind="stable")
    edges = np.flatnonzero(np.diff(flat[0][order])) + 1
    for group in np.split(order, edges):
        for start in range(0, group.size, _CHUNK):
            some = group[start : start + _CHUNK]
            every = with_mirrors(layouts(int(flat[0][some[0]]), most_replicas), mirrors)
            found[:, some] = _best([column[some, None] for column in flat], every, objective, scheduler)
    optimum = _optimum(flat, objective).reshape(shape)
    feasible, striping, replicas, mirrored, latency, rate = (row.reshape(shape) for row in found)
    striping, replicas, mirrored = (row.astype(int) for row in (striping, replicas, mirrored))
    return Ranked(feasible.astype(bool), striping, replicas, mirrored, latency, rate, optimum)


def _best(columns: list[NDArray], every: Layouts, objective: LayoutObjective, scheduler: Scheduler) -> NDArray:
    """Return the fields of `Ranked` up to `throughput` for questions with the same number of disks, `[6, question]`.

    columns: each `[question, 1]`.
    """
    disks, full_seek, revolution, overhead, *load_fields = columns
    load = Load(*load_fields)
    count = int(disks[0, 0])
    rows = np.full((6, disks.size), np.nan)
    rows[:4] = 0
    if not every.count:
        return rows
    used = load.data * every.copies / count
    found = _costs(Linear(full_seek, revolution, overhead), load, every, count, used, scheduler)
    measures = LayoutMeasures(found.latency, found.throughput(count))
    score = np.where(used <= 1 + 1e-9, objective.score(measures), np.inf)
    # layouts are sorted by mirrors; of several layouts with equal scores, the first layout is taken
    least = score.min(axis=1, keepdims=True)
    best = np.argmax(score <= least * (1 + 1e-10), axis=1)
    fits = np.isfinite(least[:, 0])
    chosen = every.where(best)
    line = np.arange(disks.size)
    latency, rate = measures.mean[line, best], measures.throughput[line, best]
    rows[:, fits] = np.stack([fits * 1.0, chosen.striping, chosen.replicas, chosen.mirrors, latency, rate])[:, fits]
    return rows


def _optimum(flat: list[NDArray], objective: LayoutObjective) -> NDArray:
    disks, full_seek, revolution, _, read_share, background, queue, locality, data = flat
    share = Load(read_share, background, queue, locality, data).unpropagated
    found = _unbounded_replicas(full_seek * data, revolution, disks, share, compared_queue(objective, queue), locality)
    return np.clip(found, 1, np.maximum(disks / data, 1))


def _columns(**given: ArrayLike) -> list[NDArray]:
    """Return the arguments of the questions as arrays of one shape. Raises InputError for impossible values."""
    # `Load` validates the other arguments
    kinds = {"disks": DISKS, "full_seek": TIME, "revolution": TIME, "overhead": SPAN}
    for label, value in given.items():
        kinds.get(label, REAL).each(label, value)
    arrays = {label: np.asarray(value, float) for label, value in given.items()}
    for label, meaning in {"full_seek": "seek", "revolution": "revolution", "overhead": "overhead"}.items():
        require_seconds(label, arrays[label], meaning)
    try:
        columns = list(np.broadcast_arrays(*arrays.values()))
    except ValueError:
        shapes = ", ".join(f"{label} {array.shape}" for label, array in arrays.items() if array.ndim)
        raise InputError(f"the shapes of the arrays do not match: {shapes}; give arrays that broadcast") from None
    _, _, _, _, read_share, background, queue, locality, data = columns
    Load(read_share, background, queue, locality, data)
    QUEUE.each("queue", queue)
    return columns
