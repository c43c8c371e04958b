"""The unit interval of ANU randomization: hashing to nodes in variable shares, of which few keys move.

The interval is cut into equal subregions, and half of it is mapped to nodes: a node fills all of its subregions but at most
one. A key is hashed to an offset, and again by the next hash function of a family until the offset is mapped (ars, section
4.1). Lengths are whole units, 2^24 for the interval, so that half of it is exact.

The functions accept arrays of NumPy and of JAX, with the batch last, and return equal numbers for both.
"""

from collections.abc import Callable
from typing import NamedTuple, TypeVar

import jax
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Bool, Float, Int, Num, UInt32

from storagekit.core.arrays import AnyArray
from storagekit.core.checks import require, require_whole
from storagekit.workload import scramble

ONE = 2**24
HALF = ONE // 2
# by how many bits a division goes on at a time: so many more than those of HALF an int32 has, and together HALF's
DIGITS = (8, 8, 7)
PART_BITS = sum(DIGITS)
# a node's weight counts as one between these; below, it has none
LEAST_WEIGHT, MOST_WEIGHT = 1e-30, 1e30
# more have nobody waiting: half of all offsets are mapped, so that a key needs them once in 2^64 times
MOST_PROBES = 64
FREE = -1

Carry = TypeVar("Carry")


class UnitInterval(NamedTuple):
    """Mapping of a unit interval.

    owner: node of each subregion, FREE for none. filled: units that it fills there from the start of the subregion; 0 for
    none. In a tuned interval they sum to HALF in every run, every node fills all of its subregions but at most one, and at
    least one subregion is free.
    """

    owner: Int[AnyArray, "subregion *batch"]
    filled: Int[AnyArray, "subregion *batch"]


def subregions(nodes: int) -> int:
    """Return the number of subregions for so many nodes: the power of two that is at least twice their number.

    Wu and Burns, ACM Transactions on Storage 1(1), 2005; ars gives no number. Raise InputError for fewer than one node.
    """
    require_whole("nodes of a unit interval", nodes)
    return 2 ** (2 * nodes - 1).bit_length()


def lengths_for(
    weights: Float[AnyArray, "node *batch"], usable: Bool[AnyArray, "node *batch"]
) -> Int[AnyArray, "node *batch"]:
    """Return the units of each node in proportion to its weight, HALF in all.

    Weights are first rounded to whole parts, of which the largest has at least 2^21 divided by the number of nodes. The
    remaining units go to the largest remainders, of equals to the lowest node. A node has no units if it is not `usable`, or
    if its weight is not a number, not above 0, or less than half a part. Weights above 1e30, and infinity, count as 1e30;
    weights below 1e-30 as 0. If no node has a weight, the usable nodes have equal lengths, or all nodes if none is usable.
    """
    xp = weights.__array_namespace__()
    counts = usable & (weights >= LEAST_WEIGHT)
    weights = xp.where(counts, xp.minimum(weights, MOST_WEIGHT), 0).astype(xp.float32)
    # by a power of two, which is exact: quotients of floats are not the same everywhere
    _, exponent = xp.frexp(xp.max(weights, axis=0, keepdims=True))
    parts = xp.round(xp.ldexp(weights, PART_BITS - (weights.shape[0] - 1).bit_length() - exponent))
    return apportioned(parts.astype(xp.int32), usable)


def apportioned(
    weights: Int[AnyArray, "node *batch"], usable: Bool[AnyArray, "node *batch"]
) -> Int[AnyArray, "node *batch"]:
    """Return HALF units in proportion to whole weights whose sum is at most HALF, by largest remainders (Hamilton's method).

    Of equal remainders the lowest node comes first. If all weights are 0, the `usable` nodes have equal lengths, or all if
    none is. Exact.
    """
    xp = weights.__array_namespace__()
    equal = xp.where(xp.any(usable, axis=0, keepdims=True), usable, True).astype(xp.int32)
    weights = xp.where(xp.any(weights > 0, axis=0, keepdims=True), weights, equal)
    total = xp.sum(weights, axis=0, keepdims=True, dtype=xp.int32)
    # weight * HALF has up to 46 bits: its division by the total, digit by digit
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
    """Return quotient and remainder of whole numbers, the quotient below 2^8; that of floats is off by at most 1."""
    xp = dividend.__array_namespace__()
    quotient = (dividend.astype(xp.float32) / divisor.astype(xp.float32)).astype(xp.int32)
    rest = dividend - quotient * divisor
    wrong = (rest >= divisor).astype(xp.int32) - (rest < 0)
    return quotient + wrong, rest - wrong * divisor


def _rank(values: Int[AnyArray, "node *batch"]) -> Int[AnyArray, "node *batch"]:
    """Return the number of nodes with a larger value, or an equal one and a lower number."""
    xp = values.__array_namespace__()
    node = _rows(values.shape[0], values)
    ranks = xp.zeros_like(values)
    for other in range(values.shape[0]):
        it = values[other : other + 1]
        ranks = ranks + ((it > values) | ((it == values) & (other < node)))
    return ranks


def empty(lengths: Int[AnyArray, "node *batch"]) -> UnitInterval:
    """Return an interval in which no node is mapped; it has to be tuned before it is used."""
    xp = lengths.__array_namespace__()
    owner = xp.full((subregions(lengths.shape[0]), *lengths.shape[1:]), FREE, dtype=xp.int32)
    return UnitInterval(owner, xp.zeros_like(owner))


def lengths(interval: UnitInterval, nodes: int) -> Int[AnyArray, "node *batch"]:
    """Return the units that each node fills."""
    xp = interval.owner.__array_namespace__()
    mine = interval.owner[None] == _rows(nodes, interval.owner)[:, None]
    return xp.sum(xp.where(mine, interval.filled[None], 0), axis=1, dtype=xp.int32)


def tune(interval: UnitInterval, lengths: Int[AnyArray, "node *batch"]) -> UnitInterval:
    """Return the interval in which each node has its length; lengths sum to HALF.

    As little as possible moves. Nodes that shrink give up the subregion that they fill in part, then whole ones, the last
    first, and cut the last of them. Nodes that grow fill the one that they fill in part, and take free subregions in order.
    One subregion is always free: n nodes that fill P/2 subregions are in fewer than P/2 + n <= P.
    """
    xp = lengths.__array_namespace__()
    unit = ONE // interval.owner.shape[0]
    node = _rows(lengths.shape[0], lengths)[:, None]
    mine = interval.owner[None] == node
    whole = mine & (interval.filled == unit)[None]
    # a node's subregions in the order in which it would keep them: those in part come last, so that they go first
    place = xp.where(whole, _before(whole, 1), _count(whole, 1))
    target = lengths[:, None]
    kept = xp.where(mine, xp.clip(target - place * unit, 0, unit), 0)
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
    """Return the node to which a key is hashed, and the number of hash functions that this took: two on average.

    key: a random word. start: first function of the family, for each run or for all. wanted: runs in which the node is
    needed, by default all; in others it is FREE, after no function. After MOST_PROBES it is the first node that is mapped,
    so that every search ends.
    """
    xp = interval.owner.__array_namespace__()
    wanted = xp.ones(key.shape, dtype=bool) if wanted is None else wanted
    nothing = xp.zeros(key.shape, dtype=xp.int32)

    def searching(node, tried):
        return wanted & (node == FREE) & (tried < MOST_PROBES)

    def more(search):
        return xp.any(searching(*search))

    def step(search):
        node, tried = search
        found = _mapped_at(interval, scramble(key + scramble(tried + start)) >> 8)
        active = searching(node, tried)
        return xp.where(active, found, node), tried + active

    node, tried = _while(more, step, (nothing + FREE, nothing))
    return xp.where(wanted & (node == FREE), _first_mapped(interval), node), tried


def select(
    interval: UnitInterval,
    key: UInt32[AnyArray, "1 *batch"],
    count: Int[AnyArray, "1 *batch"],
    usable: Bool[AnyArray, "node *batch"],
    most: int,
) -> tuple[Int[AnyArray, "most *batch"], Int[AnyArray, "1 *batch"]]:
    """Return the nodes chosen in `most` rounds, no two equal, and the number of hash functions (ars, section 4.2).

    In each round the key with the number of the round is hashed to a node, whose length becomes 0 while those of the others
    are scaled to HALF. count: rounds that are needed; in others, and if no usable node is left, the node is FREE. usable:
    nodes of the interval; when none with a length is left, the others follow with equal probabilities. Raise InputError for
    fewer than one round.
    """
    require_whole("rounds of a selection", most)
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
    r"""Each node's chance of being among `count` chosen one after the other, each time in proportion to the shares of those
    that are left (successive sampling); where these have none, with equal chances.

    Of one it is p_i, of two p_i + \sum_j p_j p_i / (1 - p_j), of more the same one step further. Raises InputError for
    shares that are no distribution's, and for more than there are nodes.
    """
    given = np.asarray(shares, float)
    require((given >= 0) & np.isfinite(given), "a share of", given, "0 or more and finite")
    require_whole("nodes chosen", count, 0)
    require(count <= len(given), "nodes chosen", count, f"at most {len(given)}, as many as there are")

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
    """Return the node mapped at an offset in units; FREE for none."""
    xp = offset.__array_namespace__()
    unit, offset = ONE // interval.owner.shape[0], offset.astype(xp.int32)
    here = (_rows(interval.owner.shape[0], offset) == offset // unit) & (offset % unit < interval.filled)
    return xp.sum(xp.where(here, interval.owner - FREE, 0), axis=0, keepdims=True, dtype=xp.int32) + FREE


def _first_mapped(interval: UnitInterval) -> Int[AnyArray, "1 *batch"]:
    """Return the node of the first mapped subregion; FREE for none."""
    xp = interval.owner.__array_namespace__()
    mapped = interval.owner != FREE
    first = mapped & (_before(mapped, 0) == 0)
    return xp.max(xp.where(first, interval.owner, FREE), axis=0, keepdims=True)


def _of_round(key: UInt32[AnyArray, "1 *batch"], number: Int[ArrayLike, ""]) -> UInt32[AnyArray, "1 *batch"]:
    """Return the key of a round, nearly independent of those of other rounds."""
    xp = key.__array_namespace__()
    return scramble(key + scramble(xp.full_like(key, number)))


def _rows(count: int, like: Num[AnyArray, "..."] | Bool[AnyArray, "..."]) -> Int[AnyArray, "row *ones"]:
    """Return the numbers 0 to count - 1 along the first axis, as `lanes.rows`, for arrays of NumPy too."""
    xp = like.__array_namespace__()
    return xp.arange(count, dtype=xp.int32).reshape((count,) + (1,) * (like.ndim - 1))


def _count(holds: Bool[AnyArray, "..."], axis: int) -> Int[AnyArray, "..."]:
    """Return the number of true entries along an axis, which remains."""
    xp = holds.__array_namespace__()
    return xp.sum(holds, axis=axis, keepdims=True, dtype=xp.int32)


def _before(values: Int[AnyArray, "..."] | Bool[AnyArray, "..."], axis: int) -> Int[AnyArray, "..."]:
    """Return the sum of the entries before each along an axis."""
    xp = values.__array_namespace__()
    return xp.cumulative_sum(values.astype(xp.int32), axis=axis, dtype=xp.int32) - values


def _while(more: Callable[[Carry], AnyArray], step: Callable[[Carry], Carry], carry: Carry) -> Carry:
    """Repeat `step` while `more` is true, in a loop of JAX, or of Python on the host."""
    if isinstance(jax.tree.leaves(carry)[0], jax.Array):
        return jax.lax.while_loop(more, step, carry)
    while more(carry):
        carry = step(carry)
    return carry
