"""The unit interval of ANU randomization: keys are hashed to nodes in given shares; few keys move if shares change.

The interval is divided into equal subregions, and half of it is mapped to nodes. Each node fills its subregions
completely, with the exception of at most one subregion, which it fills in part. A key is hashed to an offset. If the
offset is not mapped, the next hash function of a family is used, until an offset is mapped. Lengths are whole numbers
of units. The interval has 2^24 units, so that half of it is a whole number of units.

The functions accept arrays of NumPy and of JAX, with the batch last, and return equal numbers for both.

References
----------
ars, section 4.1.
"""

from collections.abc import Callable
from typing import NamedTuple, TypeVar

import jax
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Bool, Float, Int, Num, UInt32

from storagekit.core.arrays import AnyArray
from storagekit.core.validation import COUNT, NUMBER, require
from storagekit.workload import scramble

ONE = 2**24
HALF = ONE // 2
# Bits of the quotient that each step of a long division yields; their sum is the exponent of HALF. A remainder below
# HALF = 2^23 fits an int32 after a shift by 8 bits.
DIGITS = (8, 8, 7)
PART_BITS = sum(DIGITS)
# Weights below the first value count as 0, and weights above the second value are reduced to the second value.
LEAST_WEIGHT, MOST_WEIGHT = 1e-30, 1e30
# Limit of the search. Half of all offsets are mapped, so that one key in 2^64 needs more hash functions.
MOST_PROBES = 64
FREE = -1

Carry = TypeVar("Carry")


class UnitInterval(NamedTuple):
    """Mapping of a unit interval.

    In a tuned interval the units sum to HALF in every run, and at least one subregion is free. Every node fills all of
    its subregions except at most one.

    Parameters
    ----------
    owner : array of int32, shape `[subregion, *batch]`
        Node of each subregion; FREE if the subregion has no node.
    filled : array of int32, shape `[subregion, *batch]`
        Number of units that the node fills from the start of the subregion; 0 if the subregion has no node.
    """

    owner: Int[AnyArray, "subregion *batch"]
    filled: Int[AnyArray, "subregion *batch"]


def subregions(nodes: int) -> int:
    """Return the number of subregions: the power of two that is at least twice the number of nodes.

    Parameters
    ----------
    nodes : int
        Number of nodes, at least 1.

    Returns
    -------
    int
        Number of subregions.

    Raises
    ------
    InputError
        If `nodes` is not a whole number, at least 1.

    References
    ----------
    Wu and Burns, ACM Transactions on Storage 1(1), 2005; ars does not give the number of subregions.
    """
    COUNT("nodes of a unit interval", nodes)
    return 2 ** (2 * nodes - 1).bit_length()


def lengths_for(
    weights: Float[AnyArray, "node *batch"], usable: Bool[AnyArray, "node *batch"]
) -> Int[AnyArray, "node *batch"]:
    """Return the number of units of each node, in proportion to its weight; the sum is HALF.

    Parameters
    ----------
    weights : array of float, shape `[node, *batch]`
        Weights. Values above 1e30, and infinity, count as 1e30; values below 1e-30, and NaN, count as 0.
    usable : array of bool, shape `[node, *batch]`
        Nodes that may have units.

    Returns
    -------
    array of int32, shape `[node, *batch]`
        Number of units of each node. If no node has a weight, all usable nodes have equal lengths. If no node is
        usable, all nodes have equal lengths.

    Notes
    -----
    Weights are first rounded to whole multiples of a step. For n nodes, the step is at most n / 2^21 times the largest
    weight. A node whose weight is at most half a step has no units. The remaining units are assigned to the largest
    remainders, and among equal remainders to the node with the lowest number.
    """
    xp = weights.__array_namespace__()
    counts = usable & (weights >= LEAST_WEIGHT)
    weights = xp.where(counts, xp.minimum(weights, MOST_WEIGHT), 0).astype(xp.float32)
    # Scaling by a power of two is exact, while quotients of floats differ between platforms.
    _, exponent = xp.frexp(xp.max(weights, axis=0, keepdims=True))
    parts = xp.round(xp.ldexp(weights, PART_BITS - (weights.shape[0] - 1).bit_length() - exponent))
    return apportioned(parts.astype(xp.int32), usable)


def apportioned(
    weights: Int[AnyArray, "node *batch"], usable: Bool[AnyArray, "node *batch"]
) -> Int[AnyArray, "node *batch"]:
    """Divide HALF units in proportion to whole weights, with the method of largest remainders (Hamilton's method).

    The result is exact. Among equal remainders the node with the lowest number comes first.

    Parameters
    ----------
    weights : array of int32, shape `[node, *batch]`
        Weights, at least 0; their sum is at most HALF.
    usable : array of bool, shape `[node, *batch]`
        Nodes that have equal lengths if all weights are 0. If no node is usable, all nodes have equal lengths.

    Returns
    -------
    array of int32, shape `[node, *batch]`
        Number of units of each node; their sum is HALF.
    """
    xp = weights.__array_namespace__()
    equal = xp.where(xp.any(usable, axis=0, keepdims=True), usable, True).astype(xp.int32)
    weights = xp.where(xp.any(weights > 0, axis=0, keepdims=True), weights, equal)
    total = xp.sum(weights, axis=0, keepdims=True, dtype=xp.int32)
    # weight * HALF has up to 46 bits, so that it is divided by the total in several steps.
    alone = weights == total
    quotient, rest = alone.astype(xp.int32), xp.where(alone, 0, weights)
    for bits in DIGITS:
        digit, rest = _divided(rest * 2**bits, total)
        quotient = quotient * 2**bits + digit
    left = HALF - xp.sum(quotient, axis=0, keepdims=True, dtype=xp.int32)
    return quotient + (_rank(rest) < left)


def _divided(
    dividend: Int[AnyArray, "node *batch"], divisor: Int[AnyArray, "1 *batch"]
) -> tuple[Int[AnyArray, "node *batch"], Int[AnyArray, "node *batch"]]:
    """Return quotient and remainder of a division of whole numbers, for quotients below 2^8.

    The quotient is first computed in floating point. This value may be wrong by 1, and is then corrected.
    """
    xp = dividend.__array_namespace__()
    quotient = (dividend.astype(xp.float32) / divisor.astype(xp.float32)).astype(xp.int32)
    rest = dividend - quotient * divisor
    wrong = (rest >= divisor).astype(xp.int32) - (rest < 0)
    return quotient + wrong, rest - wrong * divisor


def _rank(values: Int[AnyArray, "node *batch"]) -> Int[AnyArray, "node *batch"]:
    """Return the rank of each node: 0 for the largest value. Among equal values, the lower node has the lower rank."""
    xp = values.__array_namespace__()
    node = _rows(values.shape[0], values)
    ranks = xp.zeros_like(values)
    for other in range(values.shape[0]):
        it = values[other : other + 1]
        ranks = ranks + ((it > values) | ((it == values) & (other < node)))
    return ranks


def empty(lengths: Int[AnyArray, "node *batch"]) -> UnitInterval:
    """Return an interval without mapped nodes, which must be tuned before it is used.

    Parameters
    ----------
    lengths : array of int32, shape `[node, *batch]`
        An array of the shape of the lengths; its values have no effect.

    Returns
    -------
    UnitInterval
        The interval.
    """
    xp = lengths.__array_namespace__()
    owner = xp.full((subregions(lengths.shape[0]), *lengths.shape[1:]), FREE, dtype=xp.int32)
    return UnitInterval(owner, xp.zeros_like(owner))


def lengths(interval: UnitInterval, nodes: int) -> Int[AnyArray, "node *batch"]:
    """Return the number of units that each node fills.

    Parameters
    ----------
    interval : UnitInterval
        The interval.
    nodes : int
        Number of nodes.

    Returns
    -------
    array of int32, shape `[node, *batch]`
        Number of units of each node.
    """
    xp = interval.owner.__array_namespace__()
    mine = interval.owner[None] == _rows(nodes, interval.owner)[:, None]
    return xp.sum(xp.where(mine, interval.filled[None], 0), axis=1, dtype=xp.int32)


def tune(interval: UnitInterval, lengths: Int[AnyArray, "node *batch"]) -> UnitInterval:
    """Return the interval with new lengths of the nodes. As few keys as possible move to other nodes.

    Parameters
    ----------
    interval : UnitInterval
        The interval before.
    lengths : array of int32, shape `[node, *batch]`
        New number of units of each node; their sum is HALF.

    Returns
    -------
    UnitInterval
        The tuned interval.

    Notes
    -----
    If a node shrinks, it gives up subregions in a fixed order: first the subregion that it fills in part, then whole
    subregions, beginning with the last. If it must give up only a part of a subregion, it shortens this subregion. If a
    node grows, it first extends the subregion that it fills in part, and then takes free subregions in order.

    One subregion is always free: n nodes that fill P/2 subregions occupy fewer than P/2 + n <= P subregions.
    """
    xp = lengths.__array_namespace__()
    unit = ONE // interval.owner.shape[0]
    node = _rows(lengths.shape[0], lengths)[:, None]
    mine = interval.owner[None] == node
    whole = mine & (interval.filled == unit)[None]
    # Rank of each subregion of a node. The node gives up the subregion of highest rank first. A subregion filled in
    # part has the highest rank.
    rank = xp.where(whole, _before(whole, 1), _count(whole, 1))
    target = lengths[:, None]
    kept = xp.where(mine, xp.clip(target - rank * unit, 0, unit), 0)
    free = _count(kept > 0, 0) == 0
    had = _count(mine, 1)
    needed = xp.maximum(-(-target // unit) - had, 0)
    turn = _before(free, 1) - _before(needed, 0)
    takes = free & (turn >= 0) & (turn < needed)
    filled = kept + xp.where(takes, xp.clip(target - (had + turn) * unit, 0, unit), 0)
    owner = xp.sum(xp.where(filled > 0, node - FREE, 0), axis=0, dtype=xp.int32) + FREE
    return UnitInterval(owner, xp.sum(filled, axis=0, dtype=xp.int32))


def probe(
    interval: UnitInterval,
    key: UInt32[AnyArray, "1 *batch"],
    start: Int[ArrayLike, "..."] = 0,
    wanted: Bool[AnyArray, "1 *batch"] | None = None,
) -> tuple[Int[AnyArray, "1 *batch"], Int[AnyArray, "1 *batch"]]:
    """Return the node that a key is hashed to, and the number of hash functions that were used.

    On average two functions are used. After MOST_PROBES functions the search ends, and the result is the first mapped
    node.

    Parameters
    ----------
    interval : UnitInterval
        The interval.
    key : array of uint32, shape `[1, *batch]`
        32 random bits.
    start : int or array of int
        Number of the first hash function, for each run or for all runs, by default 0.
    wanted : array of bool, shape `[1, *batch]`, optional
        Runs where the node is needed, by default all runs. In other runs the node is FREE, and the number of functions
        is 0.

    Returns
    -------
    node : array of int32, shape `[1, *batch]`
        The node.
    probes : array of int32, shape `[1, *batch]`
        Number of hash functions.
    """
    xp = interval.owner.__array_namespace__()
    wanted = xp.ones(key.shape, dtype=bool) if wanted is None else wanted
    nothing = xp.zeros(key.shape, dtype=xp.int32)

    def searching(node, probes):
        return wanted & (node == FREE) & (probes < MOST_PROBES)

    def more(search):
        return xp.any(searching(*search))

    def step(search):
        node, probes = search
        found = _mapped_at(interval, scramble(key + scramble(probes + start)) >> 8)
        active = searching(node, probes)
        return xp.where(active, found, node), probes + active

    node, probes = _while(more, step, (nothing + FREE, nothing))
    return xp.where(wanted & (node == FREE), _first_mapped(interval), node), probes


def select(
    interval: UnitInterval,
    key: UInt32[AnyArray, "1 *batch"],
    count: Int[AnyArray, "1 *batch"],
    usable: Bool[AnyArray, "node *batch"],
    most: int,
) -> tuple[Int[AnyArray, "most *batch"], Int[AnyArray, "1 *batch"]]:
    """Return several different nodes for a key, one for each round, and the number of hash functions that were used.

    In each round the key and the number of the round are hashed to a node. The length of this node then becomes 0, and
    the lengths of the other nodes are scaled so that their sum is HALF. If no usable node with a length is left, the
    other usable nodes are selected with equal probabilities.

    Parameters
    ----------
    interval : UnitInterval
        The interval.
    key : array of uint32, shape `[1, *batch]`
        32 random bits.
    count : array of int32, shape `[1, *batch]`
        Number of rounds that are needed.
    usable : array of bool, shape `[node, *batch]`
        Mask of the nodes of the interval.
    most : int
        Largest number of rounds, at least 1.

    Returns
    -------
    nodes : array of int32, shape `[most, *batch]`
        Node of each round; FREE in rounds that are not needed, or if no usable node is left.
    probes : array of int32, shape `[1, *batch]`
        Number of hash functions of all rounds.

    Raises
    ------
    InputError
        If `most` is not a whole number, at least 1.

    References
    ----------
    ars, section 4.2.
    """
    COUNT("rounds of a selection", most)
    xp = key.__array_namespace__()
    nodes, rounds = _rows(usable.shape[0], usable), _rows(most, key)

    def one_more(chosen, probes, usable, interval, number):
        wanted = (number < count) & xp.any(usable, axis=0, keepdims=True)
        one, tried = probe(interval, _of_round(key, number), wanted=wanted)
        chosen = xp.where(rounds == number, one, chosen)
        return chosen, probes + tried, usable & (nodes != one), interval, number + 1

    def more(search):
        return xp.any(search[-1] < count) & (search[-1] < most)

    def step(search):
        chosen, probes, left, interval, number = search
        length = apportioned(xp.where(left, lengths(interval, len(left)), 0), left)
        return one_more(chosen, probes, left, tune(interval, length), number)

    chosen = xp.full((most, *key.shape[1:]), FREE, dtype=xp.int32)
    search = one_more(chosen, xp.zeros(key.shape, dtype=xp.int32), usable, interval, xp.int32(0))
    return _while(more, step, search)[:2]


def inclusion(shares: Num[np.ndarray, "node"], count: int) -> Float[np.ndarray, "node"]:
    r"""Return the probability that each node is among the nodes selected by successive sampling.

    Nodes are selected one after the other, each time in proportion to the shares of the remaining nodes. If none of the
    remaining nodes has a share, they have equal probabilities.

    Parameters
    ----------
    shares : ndarray, shape [node]
        Share of each node, at least 0 and finite.
    count : int
        Number of nodes to select, from 0 to the number of nodes.

    Returns
    -------
    ndarray, shape [node]
        Probability of each node.

    Raises
    ------
    InputError
        If a share or the number is out of range.

    Notes
    -----
    Let p_i be the share of node i divided by the sum of shares. If one node is selected, the probability is p_i. If two
    nodes are selected, it is p_i + \sum_j p_j p_i / (1 - p_j), with the sum over all nodes j except i. Each further
    node adds one step to the recursion.
    """
    given = np.asarray(shares, float)
    require((given >= 0) & np.isfinite(given), "a share of", given, "0 or more and finite")
    NUMBER("nodes chosen", count)
    require(count <= len(given), "nodes chosen", count, f"at most {len(given)}, the number of nodes")

    def included(left: frozenset[int], count: int) -> np.ndarray:
        chances = np.zeros(len(given))
        if count:
            these = sorted(left)
            total = given[these].sum()
            chances[these] = given[these] / total if total > 0 else 1 / len(these)
            after = (chances[one] * included(left - {one}, count - 1) for one in these if chances[one] > 0)
            chances = chances + sum(after, np.zeros(len(given)))
        return chances

    return included(frozenset(range(len(given))), count)


def _mapped_at(interval: UnitInterval, offset: UInt32[AnyArray, "1 *batch"]) -> Int[AnyArray, "1 *batch"]:
    """Return the node that is mapped at an offset in units; FREE if no node is mapped there."""
    xp = offset.__array_namespace__()
    unit, offset = ONE // interval.owner.shape[0], offset.astype(xp.int32)
    here = (_rows(interval.owner.shape[0], offset) == offset // unit) & (offset % unit < interval.filled)
    return xp.sum(xp.where(here, interval.owner - FREE, 0), axis=0, keepdims=True, dtype=xp.int32) + FREE


def _first_mapped(interval: UnitInterval) -> Int[AnyArray, "1 *batch"]:
    """Return the node of the first mapped subregion; FREE if no subregion is mapped."""
    xp = interval.owner.__array_namespace__()
    mapped = interval.owner != FREE
    first = mapped & (_before(mapped, 0) == 0)
    return xp.max(xp.where(first, interval.owner, FREE), axis=0, keepdims=True)


def _of_round(key: UInt32[AnyArray, "1 *batch"], number: Int[ArrayLike, ""]) -> UInt32[AnyArray, "1 *batch"]:
    """Return the key of a round, which is nearly independent of the keys of other rounds."""
    xp = key.__array_namespace__()
    return scramble(key + scramble(xp.full_like(key, number)))


def _rows(count: int, like: Num[AnyArray, "..."] | Bool[AnyArray, "..."]) -> Int[AnyArray, "row *ones"]:
    """Return the numbers 0 to count - 1 along the first axis, as `batching.row_index`, also for arrays of NumPy."""
    xp = like.__array_namespace__()
    return xp.arange(count, dtype=xp.int32).reshape((count,) + (1,) * (like.ndim - 1))


def _count(holds: Bool[AnyArray, "..."], axis: int) -> Int[AnyArray, "..."]:
    """Return the number of true entries along an axis. The axis remains, with length 1."""
    xp = holds.__array_namespace__()
    return xp.sum(holds, axis=axis, keepdims=True, dtype=xp.int32)


def _before(values: Int[AnyArray, "..."] | Bool[AnyArray, "..."], axis: int) -> Int[AnyArray, "..."]:
    """Return the sum of the entries before each entry along an axis."""
    xp = values.__array_namespace__()
    return xp.cumulative_sum(values.astype(xp.int32), axis=axis, dtype=xp.int32) - values


def _while(more: Callable[[Carry], AnyArray], step: Callable[[Carry], Carry], carry: Carry) -> Carry:
    """Repeat `step` while `more` is true, in a loop of JAX for arrays of JAX, otherwise in a loop of Python."""
    if isinstance(jax.tree.leaves(carry)[0], jax.Array):
        return jax.lax.while_loop(more, step, carry)
    while more(carry):
        carry = step(carry)
    return carry
