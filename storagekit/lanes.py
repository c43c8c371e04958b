"""Arithmetic on arrays whose last axis is the lane.

A lane is one independent run: one seed at one setting of the parameters. Engine arrays are `[slot, *lanes]`,
`[drive, *lanes]` or, for one number per lane, `[1, *lanes]`; `lanes` is `()` for a single run and `(n,)` for a batch.
Code written this way is the same for both, never promotes a rank silently, and lets a CPU put neighbouring lanes side
by side in its vector registers: measured on the inner loop it is 2.4 times as fast as `vmap` with the lane in front.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jax.typing import ArrayLike
from jaxtyping import Array, Bool, Float, Int, Num, PyTree, Shaped, UInt32

from storagekit.arrays import AnyArray
from storagekit.checks import real_objects, require, shown, written
from storagekit.errors import InputError
from storagekit.kinds import several

# Times closer than this are one instant, seconds: relative times of a few ms keep 1 ns in float32, of a second 0.1 us.
INSTANT = 1e-7
# Steps by which `fold` halves what it combines.
HALVINGS = 3
# The largest whole number of an int32.
MOST_WHOLE = 2**31 - 1
# Bits of a word of marks: streams, parts or bricks, one bit each.
WORD = 32
# Beyond the largest address: float64 tells apart all below.
MOST_ADDRESS = 2**52


def real(value: ArrayLike) -> Float[AnyArray, "..."]:
    """A number, or one for each lane, as float32: what the engine computes with. Raises InputError for anything else."""
    if isinstance(value, Tracer):
        return value.astype(jnp.float32)
    try:
        given = np.asarray(value)
        if given.size and (given.dtype.kind in "biuf" or real_objects(given)):
            # beyond 32 bits is infinite, which is for others to refuse
            with np.errstate(over="ignore"):
                real = given.astype(np.float32)
            if not np.isnan(real).any():
                return cast(Array, real)
    except jax.errors.TracerArrayConversionError:
        raise
    except (TypeError, ValueError, OverflowError):
        pass
    raise InputError(f"{shown(value)} is not a number; give one, or one for each lane")


def whole(value: ArrayLike) -> Int[AnyArray, "..."]:
    """A whole number, or one for each lane, as int32. Raises InputError for anything else."""
    if isinstance(value, Tracer):
        return value
    given = _whole_numbers(value)
    if np.max(given) > MOST_WHOLE:
        raise InputError(f"{written(np.max(given))} is more than 32 bits hold; give at most {MOST_WHOLE}")
    if np.min(given) < -MOST_WHOLE:
        raise InputError(f"{written(np.min(given))} is more than 32 bits hold; give at least {-MOST_WHOLE}")
    return cast(Array, given.astype(np.int32))


def _whole_numbers(value: ArrayLike) -> np.ndarray:
    """Whole numbers as NumPy has them, as objects where it has no type for them. Raises InputError for anything else."""
    try:
        given = np.asarray(value)
        if given.size and given.dtype.kind in "biu":
            return given
        if given.size and (given.dtype.kind == "f" or real_objects(given)):
            real = given.astype(float)
            if np.all(np.isfinite(real) & (real == np.round(real))):
                return given
    except jax.errors.TracerArrayConversionError:
        raise
    except (TypeError, ValueError, OverflowError):
        pass
    raise InputError(f"{shown(value)} is not a whole number; give one")


def named(label: str, of: Callable[[ArrayLike], Any] = real) -> Callable[[ArrayLike], Any]:
    """`real`, `whole` or `addresses` as the converter of a field, with whose name what it says begins."""

    def converted(value: ArrayLike) -> Any:
        try:
            return of(value)
        except InputError as fault:
            raise InputError(f"{label} {fault}") from None

    return converted


def each_named(label: str, of: Callable[[ArrayLike], Any] = real) -> Callable[[Any], tuple]:
    """The same for a field of several numbers, each one or one for each lane."""
    return partial(several(lambda name, value: named(name, of)(value), of="numbers"), label)


def addresses(value: ArrayLike) -> Int[AnyArray, "..."]:
    """Whole numbers that may be too large for 32 bits, as int32 where these hold them, else as int64. Raises InputError for
    anything else."""
    if isinstance(value, Tracer):
        return value
    given = _whole_numbers(value)
    if np.max(np.abs(given)) <= MOST_WHOLE:
        return whole(given)
    require(np.abs(given) < MOST_ADDRESS, "a number of", given, f"below {MOST_ADDRESS}", "sectors")
    return cast(Array, given.astype(np.int64))


def rows(count: int, like: Shaped[Array, "..."]) -> Int[Array, "row *ones"]:
    """The numbers 0 to count-1 down the first axis, ready to be compared with `like` (any `[*, *lanes]` array)."""
    return jnp.arange(count, dtype=jnp.int32).reshape((count,) + (1,) * (like.ndim - 1))


def by_row(values: tuple[Num[AnyArray, "..."], ...], like: Shaped[Array, "row *lanes"]) -> Float[Array, "row *lanes"]:
    """Return an array of the shape of `like` whose row k is the kth of the values, or the only value."""
    number, found = rows(like.shape[0], like), jnp.zeros(like.shape, jnp.float32)
    for at, value in enumerate(values):
        found = jnp.where((number == at) | (len(values) == 1), value, found)
    return found


def fold(combine: Callable, reduce: Callable, values: Shaped[Array, "row *lanes"]) -> Shaped[Array, "1 *lanes"]:
    """All entries down the first axis combined: `[1, *lanes]`.

    The first halvings are elementwise steps, with the lanes side by side in a CPU's vector registers; a bare reduction
    would walk one lane after the other together with whatever was fused into it (3 to 7% of the event more with 16 or 48
    rows; of 128 rows one halving in place of three: a half more). The last is a reduction all the same, because its result
    is stored once: elementwise all the way, every reader would compute it again. And the halvings are few, because what is
    fused into them is written out for each of the rows that are combined: six of them, of 128 rows, take a third longer
    than three.
    """
    for _ in range(HALVINGS):
        if values.shape[0] <= 2 or values.shape[0] % 2:
            break
        half = values.shape[0] // 2
        values = combine(values[:half], values[half:])
    return reduce(values, axis=0, keepdims=True)


def least(values: Num[Array, "row *lanes"]) -> Num[Array, "1 *lanes"]:
    """The smallest entry down the first axis."""
    return fold(jnp.minimum, jnp.min, values)


def nth_least(values: Float[Array, "row *lanes"], number: Int[Array, "1 *lanes"]) -> Float[Array, "1 *lanes"]:
    """The `number`th smallest entry down the first axis, counted from 1, of equals the lower row first; inf where `number` is
    below 1 or there are not so many.

    The ranks are counted: to sort the rows of every lane takes a CPU a third of an event (30 rows).
    """
    rank = jnp.sum(comes_before(values), axis=0, dtype=jnp.int32)
    return least(jnp.where(rank == number - 1, values, jnp.inf))


def comes_before(values: Num[Array, "row *lanes"]) -> Bool[Array, "row row *lanes"]:
    """Whether the first row comes before the second in the order of `values`, of equals the lower row first."""
    row = rows(values.shape[0], values)
    return (values[:, None] < values[None]) | ((values[:, None] == values[None]) & (row[:, None] < row[None]))


def count(condition: Bool[Array, "row *lanes"]) -> Int[Array, "1 *lanes"]:
    """How many entries down the first axis hold."""
    return fold(jnp.add, partial(jnp.sum, dtype=jnp.int32), condition.astype(jnp.int32))


def some(condition: Bool[Array, "row *lanes"]) -> Bool[Array, "1 *lanes"]:
    """Whether any entry down the first axis holds."""
    return fold(jnp.logical_or, jnp.any, condition)


def first_min(
    values: Num[Array, "row *lanes"],
) -> tuple[Int[Array, "1 *lanes"], Num[Array, "1 *lanes"]]:
    """Index of the smallest entry down the first axis (the first of equals) and its value."""
    smallest = least(values)
    index = jnp.where(values == smallest, rows(values.shape[0], values), values.shape[0] - 1)
    return least(index), smallest


def cheapest(cost: Float[Array, "row *lanes"]) -> tuple[Int[Array, "1 *lanes"], Float[Array, "1 *lanes"]]:
    """Index of the first entry of least cost, and that cost.

    Costs are equal where two requests lie at one angle; rounding must not choose between them.
    """
    lowest = least(cost)
    index, _ = first_true(cost <= lowest + INSTANT)
    return jnp.minimum(index, cost.shape[0] - 1), lowest


def first_true(
    condition: Bool[Array, "row *lanes"],
) -> tuple[Int[Array, "1 *lanes"], Bool[Array, "1 *lanes"]]:
    """Index of the first entry down the first axis that holds, and whether there is one."""
    size = condition.shape[0]
    index = least(jnp.where(condition, rows(size, condition), size))
    return index, index < size


def pick(values: Shaped[Array, "row *lanes"], index: Int[Array, "entry *lanes"]) -> Shaped[Array, "entry *lanes"]:
    """The entries at `index` of the first axis, separately for each run: `[1, *lanes]` of one index for each."""
    return jnp.take_along_axis(values, index, axis=0, mode="clip")


def put(
    values: Shaped[Array, "*rows_and_lanes"],
    index: Int[Array, "1 *lanes"],
    new: Shaped[Array, "*row_and_lanes"],
    axis: int = 0,
) -> Shaped[Array, "*rows_and_lanes"]:
    """`values` with `new` as the entry at `index` of an axis, in every lane and in place.

    values: `[row, *lanes]` with axis 0, `[word, row, *lanes]` with axis 1; new: the same with one row.
    On a CPU lane after lane: a scatter of all lanes costs several times as much there, and a mask passes over everything.
    """
    if values.ndim == axis + 1:
        return jax.lax.dynamic_update_slice_in_dim(values, new, index[0], axis)

    def one_by_one(values, index, new):
        def one(lane, values):
            # a loop counts with 64 bits where addresses have them
            lane = lane.astype(index.dtype)
            here = jax.lax.dynamic_slice_in_dim(new, lane, 1, axis + 1)
            return jax.lax.dynamic_update_slice(values, here, (*[lane * 0] * axis, index[0, lane], lane))

        return jax.lax.fori_loop(0, values.shape[-1], one, values)

    def side_by_side(values, index, new):
        index = jnp.broadcast_to(index, new.shape)
        return jnp.put_along_axis(values, index, new, axis=axis, inplace=False, mode="promise_in_bounds")

    return jax.lax.platform_dependent(values, index, new, cpu=one_by_one, default=side_by_side)


def pick_tree(tree: PyTree, index: Int[Array, "entry *lanes"]) -> PyTree:
    """`pick` for every array of a pytree."""
    return jax.tree.map(lambda values: pick(values, index), tree)


def where_tree(condition: Bool[Array, "..."], new: PyTree, old: PyTree) -> PyTree:
    """`jnp.where` for every array of two pytrees of the same structure."""
    return jax.tree.map(lambda a, b: jnp.where(condition, a, b), new, old)


def stored(tree: PyTree) -> PyTree:
    """The arrays `[*, *lanes]` of a pytree, of 32 bits or bool, laid one on another and taken apart again.

    XLA computes what is masked into each of several rows once for each of them, unless it is stored before: without this an
    event of eight drives with a buffer takes half as long again.
    """
    leaves, form = jax.tree.flatten(tree)
    words = [leaf.astype(jnp.int32) if leaf.dtype == bool else leaf.view(jnp.int32) for leaf in leaves]
    one = jax.lax.optimization_barrier(jnp.concatenate(words))
    ends = np.cumsum([leaf.shape[0] for leaf in leaves])
    pieces = zip(leaves, jnp.split(one, ends[:-1].tolist()), strict=True)
    return form.unflatten(
        [piece.astype(bool) if leaf.dtype == bool else piece.view(leaf.dtype) for leaf, piece in pieces]
    )


def union(masks: UInt32[Array, "row *lanes"]) -> UInt32[Array, "1 *lanes"]:
    """The bits set in any entry down the first axis."""
    return fold(jnp.bitwise_or, jnp.bitwise_or.reduce, masks)


def held(mask: UInt32[Array, "*#row"], index: Int[Array, "*#row"]) -> Bool[Array, "*#row"]:
    """Whether bit `index` is set; an index that is negative or beyond the word is not."""
    return (jnp.right_shift(mask, jnp.asarray(index).astype(jnp.uint32)) & 1) == 1


def bit(index: Int[Array, "*row"]) -> UInt32[Array, "*row"]:
    """The mask with only bit `index` set."""
    return jnp.left_shift(jnp.uint32(1), index.astype(jnp.uint32))


def lowest(mask: UInt32[Array, "*row"]) -> UInt32[Array, "*row"]:
    """The mask with only the lowest bit that is set in `mask`; none where none is."""
    return mask & (~mask + jnp.uint32(1))


def index_of(mask: UInt32[Array, "*row"]) -> Int[Array, "*row"]:
    """The index of the lowest bit that is set; 0 where none is."""
    return jnp.where(mask == 0, 0, jax.lax.population_count(lowest(mask) - jnp.uint32(1))).astype(jnp.int32)


def mask_of(count: Int[ArrayLike, "*row"]) -> UInt32[Array, "*row"]:
    """The mask of the lowest `count` bits (uint32), count from 0 to 32."""
    count = jnp.asarray(count, jnp.uint32)
    full = jnp.uint32(0xFFFFFFFF)
    return jnp.where(
        count >= 32,
        full,
        jnp.left_shift(jnp.uint32(1), jnp.minimum(count, jnp.uint32(31))) - jnp.uint32(1),
    )
