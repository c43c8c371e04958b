"""Calculate the max-min fair total rates of streams at several bricks.

Total proportional sharing (TOTAL-DSFQ) approaches these rates.

The normalized total of a stream is its service at all bricks, divided by its weight phi. Each brick serves the stream
with the smallest normalized total. A brick therefore serves a stream only while no other stream with unmet demand at
the brick has a smaller total. The total of a stream can then rise only if another stream, whose total is not larger,
loses service. The rates are therefore max-min fair.

The rates are found by progressive filling. All totals rise together until a set T of streams is limited, because their
bricks are full or their demand is met. The rates of these streams and the bricks that they fill are then fixed, and the
other streams continue. Each set of streams has a level, which is a cut:

    level = (sum over bricks of min(capacity, demand of T at the brick) + earlier service of T) / sum of phi over T

T is the set with the smallest level. A linear program that maximizes the smallest normalized total finds this set. The
dual solution of the program is the cut: all streams of T have the same price, and all other streams have a price of 0.
The prices therefore identify the limited streams without a tolerance. The level is computed from the cut and not taken
from the solver.
"""

from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np
from jaxtyping import Bool, Float
from numpy.typing import ArrayLike

from storagekit.core.binding import Binding
from storagekit.core.errors import InputError
from storagekit.core.validation import POSITIVE, Whole, numbers, require, shown, validate

# relative rounding error of sums of shares
_ROUNDING = 1e-12
# the smallest tolerances that HiGHS accepts
_FINEST = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


@dataclass(frozen=True)
class MaxMin:
    """Rates of streams, an allocation that attains these rates, and the limits of each stream.

    Parameters
    ----------
    rates : array of float, shape `[stream]`
        Total service of each stream, cost a second.
    allocation : array of float, shape `[stream, brick]`
        Service of each stream at each brick, cost a second. Other allocations may attain the same rates.
    demand : array of float, shape `[stream, brick]`
        Demand of each stream at each brick, cost a second: infinite where the stream is backlogged, 0 where it sends
        nothing.
    bottleneck : array of bool, shape `[stream, brick]`
        Whether the brick is full and the stream demands more service there than it receives. Such a brick alternates
        between streams of the same level, or serves streams of lower levels first. False at all bricks for a stream
        that is limited by its demand.
    """

    rates: Float[np.ndarray, " stream"]
    allocation: Float[np.ndarray, "stream brick"]
    demand: Float[np.ndarray, "stream brick"]
    bottleneck: Bool[np.ndarray, "stream brick"]

    @validate
    def binding(self, stream: Whole) -> Binding:
        """Return the constraint that limits one stream: its demand, or the full bricks at which it demands more.

        For full bricks, the value is the service of the stream at these bricks, and the limit is their total service.

        Parameters
        ----------
        stream : int
            Number of the stream. The first stream has number 0.

        Returns
        -------
        Binding
            The limit.

        Raises
        ------
        InputError
            If there is no such stream.
        """
        require(stream < len(self.rates), "stream", stream, f"from 0 to {len(self.rates) - 1}")
        full = np.flatnonzero(self.bottleneck[stream])
        if not full.size:
            demand = float(self.demand[stream].sum())
            return Binding("demand", float(self.rates[stream]), demand, "the stream receives its whole demand")
        names = ", ".join(map(str, full))
        here, served = self.allocation[stream, full].sum(), self.allocation[:, full].sum()
        remedy = "give the brick more capacity, or the stream more weight or further bricks"
        return Binding(f"{'bricks' if full.size > 1 else 'brick'} {names}", float(here), float(served), remedy)


def _reach(label: str, value: ArrayLike) -> np.ndarray:
    """Return the value as an array of bool. Raises InputError unless each element is true or false, 1 or 0."""
    given = np.asarray(value)
    if given.dtype.kind != "b" and not (given.dtype.kind in "iuf" and np.all((given == 0) | (given == 1))):
        raise InputError(f"{label} {shown(value)}: give True or False for each stream and brick, [stream, brick]")
    return given.astype(bool)


Numeric, Reach = Annotated[ArrayLike, numbers], Annotated[ArrayLike, _reach]


@validate
def max_min_rates(
    capacity: Numeric,
    weights: Numeric,
    reach: Reach,
    demand: Numeric = np.inf,
    minimum: Numeric = 0.0,
) -> MaxMin:
    """Return the weighted max-min fair rates of streams, and an allocation of service that attains these rates.

    The rate of stream f is R_f, the sum over all bricks b of its service x_fb.

    Parameters
    ----------
    capacity : array of float, shape `[brick]`
        Service rate of each brick, cost a second.
    weights : array of float, shape `[stream]`
        Weight phi of each stream.
    reach : array of bool, shape `[stream, brick]`
        Whether the stream sends requests to the brick.
    demand : float or array of float, shape `[stream, brick]`
        Demand of each stream at each brick, cost a second; infinite where the stream is always backlogged. By default
        infinite everywhere.
    minimum : float or array of float, shape `[stream]`
        Minimum share of each brick where the stream is backlogged (HYBRID-DSFQ); 0 by default. If a demand is below the
        minimum share, the whole demand is met.

    Returns
    -------
    MaxMin
        Rates, allocation and bottlenecks.

    Raises
    ------
    InputError
        If the shapes differ, a capacity or demand is below 0, a capacity is not finite, a weight is not above 0, or
        the minimum shares of the streams at a brick sum to more than 1.

    Notes
    -----
    Linear programs of SciPy give the rates, which have no derivatives in JAX.

    The constraints are

        x >= 0,  sum over f of x_fb <= capacity_b,  x_fb <= demand_fb,  x_fb >= minimum_f capacity_b where demand allows

    The smallest R_f / phi_f is maximized, then the second smallest, and so on. A brick is idle only if all demand at
    this brick is met. Levels that differ by less than 1e-10 of the largest capacity may count as equal. 32 bricks and
    64 streams take less than a second.

    References
    ----------
    dsfq, sections 2.2, 3.3 (theorem 3) and 3.4.
    """
    capacity, weights, reach, demand, minimum = _checked(capacity, weights, reach, demand, minimum)
    reserved = np.minimum(minimum[:, None] * capacity, demand)
    # capacity that remains after all minimums; rounding must not make it negative
    room = np.maximum(capacity - reserved.sum(axis=0), 0)
    filling = _Filling(room, weights, demand - reserved, reserved.sum(axis=1))
    rates, extra, bottleneck = _fill(filling)
    return MaxMin(rates, reserved + extra, demand, bottleneck)


def _checked(capacity, weights, reach, demand, minimum) -> tuple[np.ndarray, ...]:
    """Return the validated arguments as arrays, with a demand of 0 where a stream sends nothing."""
    require(
        reach.ndim == 2 and reach.size > 0, "reach of shape", str(reach.shape), "[stream, brick], at least one of each"
    )
    streams, bricks = reach.shape
    capacity, weights = np.asarray(capacity, float), np.asarray(weights, float)
    require(capacity.shape == (bricks,), "capacity of shape", str(capacity.shape), f"({bricks},), one for each brick")
    require(weights.shape == (streams,), "weights of shape", str(weights.shape), f"({streams},), one for each stream")
    require((capacity >= 0) & np.isfinite(capacity), "capacity", capacity, "0 or more and finite")
    POSITIVE.each("weight", weights)
    demand, minimum = np.asarray(demand, float), np.asarray(minimum, float)
    require(
        demand.shape in ((), reach.shape), "demand of shape", str(demand.shape), f"{reach.shape}, the shape of reach"
    )
    require(
        minimum.shape in ((), (streams,)),
        "minimum of shape",
        str(minimum.shape),
        f"({streams},), one for each stream",
    )
    require(demand >= 0, "demand", demand, "0 or more")
    require(minimum >= 0, "minimum share", minimum, "0 or more")
    minimum = np.broadcast_to(minimum, (streams,))
    shares = np.where(reach, minimum[:, None], 0).sum(axis=0)
    limit = "at most 1; lower minimum shares, or let fewer streams share the brick"
    require(shares <= 1 + _ROUNDING, "sum of minimum shares at a brick", shares, limit)
    return capacity, weights, reach, np.where(reach, demand, 0.0), minimum


class _Filling(NamedTuple):
    """State of progressive filling.

    capacity: remaining capacity, `[brick]`. weights: `[stream]`. demand: unmet demand, `[stream, brick]`. already:
    service so far, `[stream]`.
    """

    capacity: np.ndarray
    weights: np.ndarray
    demand: np.ndarray
    already: np.ndarray


def _fill(given: _Filling) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the rates, the service in addition to `already`, and the full bricks that limit each stream."""
    capacity = given.capacity.copy()
    rising, open_bricks = np.ones(len(given.weights), bool), np.ones(len(capacity), bool)
    rates, extra = np.zeros(len(rising)), np.zeros(given.demand.shape)
    bottleneck = np.zeros(given.demand.shape, bool)
    while rising.any():
        streams, bricks = np.flatnonzero(rising), np.flatnonzero(open_bricks)
        part = np.ix_(streams, bricks)
        left = _Filling(capacity[bricks], given.weights[streams], given.demand[part], given.already[streams])
        held, served = _held_back(left)
        level, full = _cut(left, held)
        settled, filled = streams[held], bricks[full]
        extra[np.ix_(settled, bricks)] = np.where(full, served, left.demand)[held]
        rates[settled] = level * given.weights[settled]
        rising[settled], open_bricks[filled] = False, False
        bottleneck[settled] = (given.demand[settled] > 0) & ~open_bricks
        # At bricks that are not full, the demand of these streams is met.
        capacity[bricks[~full]] -= left.demand[np.ix_(held, ~full)].sum(axis=0)
        np.maximum(capacity, 0, out=capacity)
    return _met(given, rates, extra, bottleneck)


def _cut(left: _Filling, held: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the level at which the streams in the mask `held` are limited, and the bricks that these streams fill."""
    demand = left.demand[held].sum(axis=0)
    full = demand > left.capacity
    total = np.where(full, left.capacity, demand).sum() + left.already[held].sum()
    return float(total / left.weights[held].sum()), full


def _met(given: _Filling, rates, extra, bottleneck) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Remove the bottlenecks of streams whose demand is met, even if a brick fills at the same level."""
    most = given.already + given.demand.sum(axis=1)
    met = rates >= most * (1 - _ROUNDING)
    return np.where(met, most, rates), np.where(met[:, None], given.demand, extra), bottleneck & ~met[:, None]


def _held_back(left: _Filling) -> tuple[np.ndarray, np.ndarray]:
    """Return a mask of the streams that are limited at the highest common level, and the service of each stream.

    At least one stream is limited.
    """
    from scipy import sparse
    from scipy.optimize import linprog

    scale, unit = max(left.capacity.max(initial=0), left.already.max(), 0.0) or 1.0, left.weights.max()
    streams, bricks = left.demand.shape
    stream, brick = np.nonzero((left.demand > 0) & (left.capacity > 0))
    edges, edge = len(stream), np.arange(len(stream))
    level = np.full(streams, edges)
    one_each = np.ones(edges)
    # level phi_f - sum over bricks of x_fb <= already_f, then sum over streams of x_fb <= capacity_b
    rows = np.concatenate([stream, np.arange(streams), streams + brick])
    columns = np.concatenate([edge, level, edge])
    values = np.concatenate([-one_each, left.weights / unit, one_each])
    limits = sparse.csr_array((values, (rows, columns)), shape=(streams + bricks, edges + 1))
    most = np.append(left.demand[stream, brick] / scale, np.inf)
    found = linprog(
        np.append(np.zeros(edges), -1.0),
        A_ub=limits,
        b_ub=np.concatenate([left.already, left.capacity]) / scale,
        bounds=np.column_stack([np.zeros(edges + 1), most]),
        method="highs-ds",
        options=_FINEST,
    )
    if not found.success:
        raise RuntimeError(f"the max-min rates of {streams} streams at {bricks} bricks were not found: {found.message}")
    price = -found.ineqlin.marginals[:streams]
    served = np.zeros(left.demand.shape)
    served[stream, brick] = np.maximum(found.x[:edges], 0) * scale
    # The prices of a cut are 0 or a single other value. In a mixture of cuts, the streams above any price form a cut.
    return price > price.max() / 2, served
