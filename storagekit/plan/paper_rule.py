"""The rule of srarray: the best numbers of striping, replicas and mirrors from a formula, rounded to whole numbers."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from storagekit.analytic.array import equations
from storagekit.analytic.array.aspect import Layout
from storagekit.analytic.array.costs import Load
from storagekit.analytic.array.kinds import Population
from storagekit.analytic.array.positioning import Linear, Numbers, Spindle
from storagekit.core.validation import unchecked
from storagekit.plan.objective import LayoutObjective, MinMean


@dataclass(frozen=True)
class Optimum:
    """The best number of copies of a block and the best striping that the capacity allows, before rounding.

    unbounded: number of copies from the formula, not limited by the capacity; None if no formula applies and a
    numerical search found the optimum.
    """

    striping: float
    replicas: float
    unbounded: float | None


# called with validated arguments
_rotation_even, _rotation_write_all = unchecked(equations.rotation_even), unchecked(equations.rotation_write_all)


def compared_queue(objective: LayoutObjective, queue: Numbers) -> Numbers:
    """Return the queue length per disk at which layouts are compared.

    The length is 1 if the objective is the mean response time, otherwise `queue`.
    """
    return np.ones_like(queue) if isinstance(objective, MinMean) else queue


def service(spindle: Spindle, load: Load, queue: Numbers, used: Numbers, replicas: Numbers) -> NDArray:
    """Return the service time without the overhead T_o.

    For a queue of up to 3 requests at a disk the time is from equation 9, and for a longer queue from equation 12.

    used: share of a disk's cylinders that is used.
    """
    reach = np.asarray(used, float) / load.locality
    stroke = np.maximum(queue, float(equations.SPARSE_QUEUE))
    seek = np.where(
        stroke > equations.SPARSE_QUEUE, spindle.hop(np.minimum(reach / stroke, 1)), spindle.mean_seek(reach)
    )
    p = load.unpropagated
    revolution = np.asarray(spindle.revolution, float)
    rotation = p * _rotation_even(revolution, replicas)
    return seek + rotation + (1 - p) * _rotation_write_all(revolution, replicas)


def continuous_optimum(disks: Population, load: Load, queue: float) -> Optimum:
    """Return the optimum of equation 5, 10 or 13 for seek times linear in distance, otherwise search for the optimum.

    queue: number of requests at each disk. Up to 3 requests, equation 10 is used. For drives of several kinds, the
    service time is the mean over all disks, and all disks have equal shares of the data and of the requests.
    """
    most = max(1.0, disks.disks / float(np.asarray(load.data)))
    only = disks.kinds[0].spindle
    if len(disks.kinds) == 1 and isinstance(only, Linear):
        effective = np.multiply(only.full_seek, load.data)
        unbounded = float(
            equations.unbounded_replicas(
                effective, only.revolution, disks.disks, load.unpropagated, queue, load.locality
            )
        )
        replicas = min(max(unbounded, 1.0), most)
        return Optimum(disks.disks / replicas, replicas, unbounded)
    replicas = _searched(disks, load, queue, most)
    return Optimum(disks.disks / replicas, replicas, None)


def _searched(disks: Population, load: Load, queue: float, most: float) -> float:
    from scipy.optimize import minimize_scalar

    def mean_service(replicas):
        used = np.multiply(load.data, replicas) / disks.disks
        return sum(
            kind.count * service(kind.spindle, load, queue, np.minimum(used / kind.capacity, 1), replicas)
            for kind in disks.kinds
        )

    # a measured curve is not convex: search a grid first, then the interval around its best point
    grid = np.geomspace(1, most, 65)
    best = int(np.argmin(mean_service(grid)))
    low, high = grid[max(best - 1, 0)], grid[min(best + 1, grid.size - 1)]
    if high <= low:
        return float(low)
    found = minimize_scalar(
        lambda replicas: float(mean_service(replicas)), bounds=(low, high), method="bounded", options={"xatol": 1e-6}
    )
    candidates = np.array([grid[best], found.x])
    return float(candidates[np.argmin(mean_service(candidates))])


def practical(optimum: Optimum, disks: int, mirrors: int, most: int, data: float) -> Layout | None:
    """Return the layout that the paper's rule selects.

    D_r is the largest factor of the number of disks that is at most the optimum and at most `most`.

    For an SR-Mirror, the optimum is the product D_r D_m. D_r is then at most the optimum divided by D_m, and a factor
    of `disks` / D_m. Returns None if D_m does not divide the number of disks, or if the capacity is too small for the
    data.
    """
    if disks % mirrors or disks / mirrors < data * (1 - 1e-9):
        return None
    each = disks // mirrors
    limit = min(optimum.replicas / mirrors, each / data)
    replicas = equations.practical_replicas(limit, each, most)
    return Layout(each // replicas, replicas, mirrors)
