"""Calculate bounds on the unfairness of fair queueing. They hold while two streams are both backlogged at one brick.

Unfairness is the difference between the work done for two streams, each divided by its weight (dsfq, equation 1):

    | W_f(t1, t2) / phi_f - W_g(t1, t2) / phi_g |

Costs have the unit of the charge for a request, such as sectors. A bound is a cost divided by a weight. Arguments
may be numbers or arrays, and arrays broadcast.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike, NDArray

from storagekit.core.errors import InputError
from storagekit.core.namespaces import namespace_of
from storagekit.core.validation import (
    AMOUNT,
    COUNT,
    POSITIVE,
    instance_of,
    numbers,
    require,
    require_broadcast,
    require_takes,
    shown,
    traced,
    validate,
    validate_fields,
)


@dataclass(frozen=True)
class Side:
    """One of the two streams of a bound, at the brick A where both are backlogged.

    Parameters
    ----------
    weight : float or array of float
        Weight phi, above 0.
    largest : float or array of float
        Largest cost of the stream's requests to A.
    largest_anywhere : float or array of float, optional
        Largest cost of the stream's requests to any brick; by default the largest cost to A.
    bricks : int or array of int
        Number N of bricks that receive requests of the stream; 1 by default.
    largest_batch : float or array of float, optional
        Largest batchcost at A: the cost of a request to A, plus the cost of all requests that its coordinator has sent
        to other bricks since the previous request to A. With several coordinators, the largest batchcost is the maximum
        over all coordinators. It is infinite if a coordinator sends nothing to A. By default it is the largest cost to
        A, as with one brick.
    coordinators : int or array of int
        Number n of coordinators that send requests of the stream; 1 by default.

    Raises
    ------
    InputError
        If a weight is not above 0, a cost is below 0, a number of bricks or coordinators is below 1, or the largest
        cost to any brick is below the largest cost to A.

    Notes
    -----
    The largest batchcost of several coordinators is (dsfq, equations 9 and 10):

        batchcost_f,A = max(batchcost_f1,A, ..., batchcost_fn,A)
    """

    weight: Annotated[ArrayLike, POSITIVE.each]
    largest: ArrayLike
    largest_anywhere: ArrayLike | None = None
    bricks: Annotated[ArrayLike, COUNT.each] = 1
    largest_batch: ArrayLike | None = None
    coordinators: Annotated[ArrayLike, COUNT.each] = 1

    def __post_init__(self):
        validate_fields(self)
        _require_least("largest cost at the brick", self.largest, 0)
        if self.largest_anywhere is not None:
            _require_least("largest cost at any brick", self.largest_anywhere, 0)
        if self.largest_batch is not None:
            _require_least("largest batchcost", self.largest_batch, 0, endless=True)
        require_broadcast(**{name: value for name, value in vars(self).items() if value is not None})
        if traced(self.anywhere, self.largest):
            return
        anywhere, here = np.broadcast_arrays(self.anywhere, self.largest)
        require(anywhere >= here, "largest cost at any brick", anywhere, "at least the largest cost at this brick")

    @property
    def anywhere(self) -> NDArray:
        """Return the largest cost of a request to any brick."""
        found = self.largest if self.largest_anywhere is None else self.largest_anywhere
        return namespace_of(found).asarray(found, float)

    @property
    def batch(self) -> NDArray:
        """Return the largest batchcost at the brick, including batches that no request to the brick has ended yet."""
        found = self.largest if self.largest_batch is None else self.largest_batch
        return namespace_of(found).asarray(found, float)


_SIDE = instance_of(Side, "the weight and costs of a stream, for example Side(weight=1, largest=8)")
# An interpretation of equation 8 returns two terms for a stream: the cost that is multiplied by the queues, and the
# number of batches that is added to D_SFQ.
Interpretation = Callable[[Side], tuple[ArrayLike, ArrayLike]]


def _interpretation(label: str, value: Interpretation) -> Interpretation:
    """Return the value. Raises InputError unless it is a function of one `Side`, such as `printed`."""
    if not callable(value):
        raise InputError(
            f"{label}: given {shown(value)}; give `printed` (equation 8 as printed) or `repaired` "
            "(equation 8 as corrected)"
        )
    require_takes(label, value, ["side"])
    return value


@validate
def printed(side: Annotated[Side, _SIDE]) -> tuple[ArrayLike, ArrayLike]:
    """Return the largest cost and the number of additional batches in equation 8 as the paper prints it.

    In the paper, the cost is the largest cost at the brick, and the largest batchcost counts D_SFQ + 1 times. See
    `repaired` for the corrected terms.

    Parameters
    ----------
    side : Side
        One of the two streams.

    Returns
    -------
    cost : float or array of float
        Largest cost of the stream's requests to the brick.
    batches : int
        The number 1, even if the stream has several coordinators.

    Raises
    ------
    InputError
        If `side` has another type.

    Notes
    -----
    Neither term gives a valid bound: larger requests of the stream at other bricks are also served in the interval, and
    each coordinator of the stream may be in the middle of a batch.
    """
    return side.largest, 1


@validate
def repaired(side: Annotated[Side, _SIDE]) -> tuple[ArrayLike, ArrayLike]:
    """Return the largest cost and the number of additional batches in equation 8 in its corrected form.

    The cost is the largest cost at any brick, and the largest batchcost counts D_SFQ + n times for n coordinators of
    the stream. See `printed` for the form in the paper.

    Parameters
    ----------
    side : Side
        One of the two streams.

    Returns
    -------
    cost : float or array of float
        Largest cost of the stream's requests to any brick.
    batches : int or array of int
        Number n of coordinators of the stream.

    Raises
    ------
    InputError
        If `side` has another type.

    Notes
    -----
    With equal costs at all bricks and one coordinator, the terms equal the results of `printed`.
    """
    return side.anywhere, side.coordinators


@validate
def bound_one_server(f: Annotated[Side, _SIDE], g: Annotated[Side, _SIDE], depth: ArrayLike) -> NDArray:
    """Return an upper bound on the unfairness of SFQ(D) on one server.

    Parameters
    ----------
    f, g : Side
        The two streams.
    depth : float or array of float
        Number D of requests that are in service simultaneously.

    Returns
    -------
    array of float
        Bound, cost divided by weight.

    Raises
    ------
    InputError
        If a value has the wrong type or is out of range, or the arrays do not broadcast.

    Notes
    -----
    The bound is

        (c_f / phi_f + c_g / phi_g) (D + 1)

    References
    ----------
    dsfq, theorem 1, equation 4.
    """
    _require_least("depth", depth, 0)
    require_broadcast(f=_first(f), g=_first(g), depth=depth)
    space = namespace_of(f.largest, f.weight, g.largest, g.weight, depth)
    each = space.asarray(f.largest, float) / f.weight + space.asarray(g.largest, float) / g.weight
    return each * (space.asarray(depth, float) + 1)


@validate
def bound_total(
    f: Annotated[Side, _SIDE],
    g: Annotated[Side, _SIDE],
    depth: ArrayLike,
    waiting: ArrayLike,
    interpretation: Annotated[Interpretation, _interpretation],
) -> NDArray:
    """Return an upper bound on the unfairness of TOTAL-DSFQ in the work of all bricks together.

    Parameters
    ----------
    f, g : Side
        The two streams.
    depth : float or array of float
        Number D of requests that a brick has issued to all its disks.
    waiting : float or array of float
        Largest number D_SFQ of requests of one stream that wait at a brick.
    interpretation : callable
        Interpretation of equation 8. With `printed`, c is the largest cost at the brick, and n = m = 1. With
        `repaired`, c is the largest cost at any brick, and n and m are the numbers of coordinators of f and of g.

    Returns
    -------
    array of float
        Bound, cost divided by weight; infinite if a batchcost is infinite.

    Raises
    ------
    InputError
        If a value has the wrong type or is out of range, or the arrays do not broadcast.

    Notes
    -----
    The bound is

        ((D + D_SFQ) N_f + 1) c_f / phi_f + ((D + D_SFQ) N_g + 1) c_g / phi_g
            + (D_SFQ + n) batchcost_f / phi_f + (D_SFQ + m) batchcost_g / phi_g

    References
    ----------
    dsfq, theorem 2, equation 8; for several coordinators theorem 4, equations 9 and 10.
    """
    _require_least("depth", depth, 0)
    _require_least("waiting", waiting, 0)
    require_broadcast(f=_first(f), g=_first(g), depth=depth, waiting=waiting)
    return _of_one(f, depth, waiting, interpretation) + _of_one(g, depth, waiting, interpretation)


def _first(side: Side) -> NDArray:
    """Return an array of zeros with the shape to which the fields of a side broadcast."""
    return np.zeros(np.broadcast_shapes(*(np.shape(value) for value in vars(side).values() if value is not None)))


def _of_one(side: Side, depth: ArrayLike, waiting: ArrayLike, interpretation: Interpretation) -> NDArray:
    """Return the sum of the terms of equation 8 that belong to one of the two streams."""
    given = *interpretation(side), side.bricks, side.weight, depth, waiting
    cost, batches, bricks, weight, depth, waiting = (namespace_of(one).asarray(one, float) for one in given)
    queues = (depth + waiting) * bricks + 1
    return (queues * cost + (waiting + batches) * side.batch) / weight


@validate(together=require_broadcast)
def delay_factor(weight: Annotated[ArrayLike, numbers], minimum: Annotated[ArrayLike, numbers]) -> NDArray:
    """Return the largest delay of a request that still guarantees a minimum share of every brick.

    The delay is a multiple of the cost of the request.

    Parameters
    ----------
    weight : float or array of float
        Weight phi of the stream; the weights of all streams sum to 1.
    minimum : float or array of float
        Minimum share phi_min of each brick, at most the weight.

    Returns
    -------
    array of float
        Delay divided by cost; 0 if the minimum equals the weight, even for a weight of 1.

    Raises
    ------
    InputError
        If a weight is not above 0 and at most 1, a minimum is not above 0 and at most the weight, or a weight of 1
        has a smaller minimum.

    Notes
    -----
    The factor is

        (phi / phi_min - 1) / (1 - phi)

    References
    ----------
    dsfq, equation 11.
    """
    space = namespace_of(weight, minimum)
    weight, minimum = space.broadcast_arrays(space.asarray(weight, float), space.asarray(minimum, float))
    require((weight > 0) & (weight <= 1), "weight", weight, "above 0 and at most 1; divide the weights by their sum")
    require((minimum > 0) & (minimum <= weight), "minimum share", minimum, "above 0 and at most the stream's weight")
    require(
        (weight < 1) | (minimum == weight),
        "minimum share",
        minimum,
        "1 if the weight is 1, because no other stream has a share",
    )
    others = space.where(weight < 1, 1 - weight, 1)
    return (weight / minimum - 1) / others


@validate(together=require_broadcast)
def floor(
    work: Annotated[ArrayLike, AMOUNT.each],
    share: Annotated[ArrayLike, numbers],
    largest: Annotated[ArrayLike, numbers],
    others: Annotated[ArrayLike, numbers],
    depth: Annotated[ArrayLike, numbers],
) -> NDArray:
    """Return a lower bound on the work that a brick does for a backlogged stream with a minimum share.

    The stream is backlogged at the brick in the whole interval.

    Parameters
    ----------
    work : float or array of float
        Work W_A of the brick for all streams in the interval, as a cost.
    share : float or array of float
        Minimum share m.
    largest : float or array of float
        Largest cost c_f of the stream's requests to the brick.
    others : float or array of float
        Sum of the largest costs c_g of all other streams at the brick.
    depth : float or array of float
        Number D of requests that are in service simultaneously.

    Returns
    -------
    array of float
        Lower bound on W_f, the work for the stream, as a cost; below 0 in a short interval.

    Raises
    ------
    InputError
        If a value is out of range, or the arrays do not broadcast.

    Notes
    -----
    The work is

        W_f >= m W_A - (D + 1) ((1 - m) c_f + m sum of c_g)

    If the delay of each request is at most `delay_factor` times its cost, the stream is served as if its weight were m
    and the weights of the other streams summed to 1 - m. Theorem 1 applies to the stream and each of the other streams.
    The bound is the sum over the other streams.

    References
    ----------
    dsfq, theorem 1.
    """
    space = namespace_of(share, work)
    return space.asarray(share, float) * space.asarray(work, float) - shortfall(share, largest, others, depth)


@validate(together=require_broadcast)
def shortfall(
    share: Annotated[ArrayLike, numbers],
    largest: Annotated[ArrayLike, numbers],
    others: Annotated[ArrayLike, numbers],
    depth: Annotated[ArrayLike, numbers],
) -> NDArray:
    """Return the largest work by which a stream may fall behind its minimum share of a brick; see `floor`.

    Parameters
    ----------
    share : float or array of float
        Minimum share m.
    largest : float or array of float
        Largest cost c_f of the stream's requests to the brick.
    others : float or array of float
        Sum of the largest costs c_g of all other streams at the brick.
    depth : float or array of float
        Number D of requests that are in service simultaneously.

    Returns
    -------
    array of float
        Work, a cost.

    Raises
    ------
    InputError
        If a value is out of range, or the arrays do not broadcast.

    Notes
    -----
    The work is

        (D + 1) ((1 - m) c_f + m sum of c_g)
    """
    share = namespace_of(share).asarray(share, float)
    require((share > 0) & (share <= 1), "minimum share", share, "above 0 and at most 1")
    for label, value in (("largest cost", largest), ("others' largest costs", others), ("depth", depth)):
        _require_least(label, value, 0)
    return (namespace_of(depth).asarray(depth, float) + 1) * ((1 - share) * largest + share * others)


def _require_least(label: str, values: ArrayLike, least: int, endless: bool = False) -> None:
    given = numbers(label, values)
    require(
        (given >= least) & (endless | (given < np.inf)),
        label,
        given,
        f"at least {least}{'' if endless else ' and finite'}",
    )
