"""How unfair fair queueing can be: bounds over every interval in which two streams are both backlogged at a brick.

Unfairness is the difference of the work done for two streams, each over its weight (dsfq, equation 1):

    | W_f(t1, t2) / phi_f - W_g(t1, t2) / phi_g |

Costs are in whatever a request is charged, sectors say; a bound is a cost over a weight. Arguments may be numbers or
arrays, arrays broadcast.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from storagekit.core.checks import numbers, require, require_broadcast, require_each_positive, require_takes, shown
from storagekit.core.errors import InputError
from storagekit.core.kinds import AMOUNT, COUNT, a, takes


@dataclass(frozen=True)
class Side:
    """What a bound must know of one of the two streams, at the brick A where both are backlogged.

    weight: phi. largest: the largest cost of its requests to A. largest_anywhere: the largest to any brick; None: that to A.
    bricks: how many it sends requests to, N. largest_batch: the largest batchcost at A, the cost of a request to A and of
    all that went to other bricks since the one before, through the same coordinator; None: that of the request alone, as it
    is with one brick. Of several coordinators it is the largest of any (dsfq, equations 9 and 10):

        batchcost_f,A = max(batchcost_f1,A, ..., batchcost_fn,A)

    Infinite where a coordinator sends nothing to A. coordinators: how many the stream is sent through, n.

    Raises InputError for a weight that is not above 0, a cost below 0, fewer than one brick or coordinator, and a largest
    cost anywhere that is below that at A.
    """

    weight: ArrayLike
    largest: ArrayLike
    largest_anywhere: ArrayLike | None = None
    bricks: ArrayLike = 1
    largest_batch: ArrayLike | None = None
    coordinators: ArrayLike = 1

    def __post_init__(self):
        require_each_positive("weight", self.weight)
        _require_least("largest cost at the brick", self.largest, 0)
        if self.largest_anywhere is not None:
            _require_least("largest cost at any brick", self.largest_anywhere, 0)
        if self.largest_batch is not None:
            _require_least("largest batchcost", self.largest_batch, 0, endless=True)
        COUNT.each("bricks", self.bricks)
        COUNT.each("coordinators", self.coordinators)
        require_broadcast(**{name: value for name, value in vars(self).items() if value is not None})
        anywhere, here = np.broadcast_arrays(self.anywhere, self.largest)
        require(anywhere >= here, "largest cost at any brick", anywhere, "at least the largest at the brick itself")

    @property
    def anywhere(self) -> NDArray:
        """The largest cost of a request to any brick."""
        return np.asarray(self.largest if self.largest_anywhere is None else self.largest_anywhere, float)

    @property
    def batch(self) -> NDArray:
        """The largest batchcost at the brick, that included which no request to the brick has ended yet."""
        return np.asarray(self.largest if self.largest_batch is None else self.largest_batch, float)


_SIDE = a(Side, "what a bound must know of a stream, Side(weight=1, largest=8)")
# of one side of equation 8: the cost that its queues multiply, and how many batches are added to D_SFQ
Reading = Callable[[Side], tuple[ArrayLike, ArrayLike]]


def _reading(label: str, value: Reading) -> Reading:
    if not callable(value):
        raise InputError(f"{label}: given {shown(value)}; give printed or repaired, as equation 8 is read")
    require_takes(label, value, ["side"])
    return value


@takes(side=_SIDE)
def printed(side: Side) -> tuple[ArrayLike, ArrayLike]:
    """Equation 8 as the paper has it: the largest cost at that brick, and D_SFQ + 1 batches, also of several coordinators.

    Both break: a stream's larger requests elsewhere are also served in the interval, and each of its coordinators may be in
    the midst of a batch.
    """
    return side.largest, 1


@takes(side=_SIDE)
def repaired(side: Side) -> tuple[ArrayLike, ArrayLike]:
    """Equation 8 with the largest cost at any brick, and D_SFQ + n batches of a stream with n coordinators.

    Of equal costs everywhere and one coordinator it says what is printed.
    """
    return side.anywhere, side.coordinators


@takes(f=_SIDE, g=_SIDE)
def bound_one_server(f: Side, g: Side, depth: ArrayLike) -> NDArray:
    """The most unfairness of SFQ(D) on one server, `depth` requests D in service at once.

        (c_f / phi_f + c_g / phi_g) (D + 1)

    Source: dsfq, theorem 1, equation 4.
    """
    _require_least("depth", depth, 0)
    require_broadcast(f=_first(f), g=_first(g), depth=depth)
    each = np.asarray(f.largest, float) / f.weight + np.asarray(g.largest, float) / g.weight
    return each * (np.asarray(depth, float) + 1)


@takes(f=_SIDE, g=_SIDE, reading=_reading)
def bound_total(f: Side, g: Side, depth: ArrayLike, waiting: ArrayLike, reading: Reading) -> NDArray:
    """The most unfairness of TOTAL-DSFQ, of the work of all bricks.

        ((D + D_SFQ) N_f + 1) c_f / phi_f + ((D + D_SFQ) N_g + 1) c_g / phi_g
            + (D_SFQ + n) batchcost_f / phi_f + (D_SFQ + m) batchcost_g / phi_g

    depth: D, requests that a brick has handed to its disks, over all of them. waiting: D_SFQ, the most requests of one
    stream that wait at a brick. reading: `printed`, where c is the largest cost at the brick and n = m = 1; or `repaired`,
    where c is the largest at any brick, and n and m are the coordinators of f and of g. Infinite with an infinite batchcost.

    Source: dsfq, theorem 2, equation 8; for several coordinators theorem 4, equations 9 and 10.
    """
    _require_least("depth", depth, 0)
    _require_least("waiting", waiting, 0)
    require_broadcast(f=_first(f), g=_first(g), depth=depth, waiting=waiting)
    return _of_one(f, depth, waiting, reading) + _of_one(g, depth, waiting, reading)


def _first(side: Side) -> NDArray:
    """One of each of the cases that a side is of."""
    return np.zeros(np.broadcast_shapes(*(np.shape(value) for value in vars(side).values() if value is not None)))


def _of_one(side: Side, depth: ArrayLike, waiting: ArrayLike, reading: Reading) -> NDArray:
    """What one of the two streams adds to equation 8."""
    given = *reading(side), side.bricks, side.weight, depth, waiting
    cost, batches, bricks, weight, depth, waiting = (np.asarray(one, float) for one in given)
    queues = (depth + waiting) * bricks + 1
    return (queues * cost + (waiting + batches) * side.batch) / weight


@takes(require_broadcast, weight=numbers, minimum=numbers)
def delay_factor(weight: ArrayLike, minimum: ArrayLike) -> NDArray:
    """How many times its cost a request may be delayed for its stream to keep a minimum share of every brick.

        (phi / phi_min - 1) / (1 - phi)

    weight: phi, of weights that sum to 1. minimum: phi_min, the share of a brick. A minimum that is the weight leaves no
    delay, even of a stream whose weight is 1.

    Raises InputError for a weight that is not above 0 and at most 1, a minimum that is not above 0 and at most the weight,
    and a weight of 1 with a smaller minimum. Source: dsfq, equation 11.
    """
    weight, minimum = np.broadcast_arrays(np.asarray(weight, float), np.asarray(minimum, float))
    require((weight > 0) & (weight <= 1), "weight", weight, "above 0 and at most 1; divide the weights by their sum")
    require((minimum > 0) & (minimum <= weight), "minimum share", minimum, "above 0 and at most the stream's weight")
    require(
        (weight < 1) | (minimum == weight),
        "minimum share",
        minimum,
        "1 for a stream of weight 1, which shares with nobody",
    )
    others = np.where(weight < 1, 1 - weight, 1)
    return (weight / minimum - 1) / others


@takes(require_broadcast, work=AMOUNT.each, share=numbers, largest=numbers, others=numbers, depth=numbers)
def floor(work: ArrayLike, share: ArrayLike, largest: ArrayLike, others: ArrayLike, depth: ArrayLike) -> NDArray:
    """The least work that a brick does for a stream with a minimum share, in an interval in which it is backlogged there.

        W_f >= m W_A - (D + 1) ((1 - m) c_f + m sum of c_g)

    work: W_A, what the brick does for all streams in the interval. share: m. largest: c_f, the largest cost of the stream's
    requests to the brick. others: the sum of the largest costs c_g of all other streams there. depth: D. Below 0 in a short
    interval.

    Source: theorem 1 of dsfq between the stream, whose delays of at most `delay_factor` make its weight m, and each of the
    others, whose weights then sum to 1 - m, summed over these.
    """
    return np.asarray(share, float) * np.asarray(work, float) - shortfall(share, largest, others, depth)


@takes(require_broadcast, share=numbers, largest=numbers, others=numbers, depth=numbers)
def shortfall(share: ArrayLike, largest: ArrayLike, others: ArrayLike, depth: ArrayLike) -> NDArray:
    """How far a stream may fall behind its minimum share of a brick, as in `floor`: (D + 1) ((1 - m) c_f + m sum of c_g)."""
    share = np.asarray(share, float)
    require((share > 0) & (share <= 1), "minimum share", share, "above 0 and at most 1")
    for label, value in (("largest cost", largest), ("others' largest costs", others), ("depth", depth)):
        _require_least(label, value, 0)
    return (np.asarray(depth, float) + 1) * ((1 - share) * largest + share * others)


def _require_least(label: str, values: ArrayLike, least: int, endless: bool = False) -> None:
    given = numbers(label, values)
    require(
        (given >= least) & (endless | (given < np.inf)),
        label,
        given,
        f"at least {least}{'' if endless else ' and finite'}",
    )
