"""Operations on arrays whose last axis is the batch.

Each element of the batch is an independent run: one seed at one setting of the parameters. Engine arrays have the shape
`[slot, *batch]`, `[drive, *batch]` or, for one number in each run, `[1, *batch]`; `lanes` is `()` for a single run and `(n,)`
for a batch. The same code serves both and never promotes a rank silently. Neighbouring runs share a vector register of a CPU:
on the inner loop this is 2.4 times as fast as `vmap` over the first axis.
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

from storagekit.core.arrays import AnyArray
from storagekit.core.checks import real_objects, require, shown, written
from storagekit.core.errors import InputError
from storagekit.core.kinds import several

# Times closer than this are one instant, seconds: relative times of a few ms keep 1 ns in float32, of a second 0.1 us.
INSTANT = 1e-7
# Number of halvings in `fold`.
HALVINGS = 3
# The largest whole number of an int32.
MOST_WHOLE = 2**31 - 1
# Bits of a mask of streams, parts or bricks.
WORD = 32
# Above the largest address; float64 distinguishes all below.
MOST_ADDRESS = 2**52


def real(value: ArrayLike) -> Float[AnyArray, "..."]:
    """Convert a number, or one for each run, to float32. Raise InputError for anything else."""
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
    """Convert a whole number, or one for each run, to int32. Raise InputError for anything else."""
    if isinstance(value, Tracer):
        return value
    given = _whole_numbers(value)
    if np.max(given) > MOST_WHOLE:
        raise InputError(f"{written(np.max(given))} is more than 32 bits hold; give at most {MOST_WHOLE}")
    if np.min(given) < -MOST_WHOLE:
        raise InputError(f"{written(np.min(given))} is more than 32 bits hold; give at least {-MOST_WHOLE}")
    return cast(Array, given.astype(np.int32))


def _whole_numbers(value: ArrayLike) -> np.ndarray:
    """Convert whole numbers to NumPy, as objects if NumPy has no type for them. Raise InputError for anything else."""
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
    """Return `real`, `whole` or `addresses` as the converter of a field, whose messages begin with the name of the field."""

    def converted(value: ArrayLike) -> Any:
        try:
            return of(value)
        except InputError as fault:
            raise InputError(f"{label} {fault}") from None

    return converted


def each_named(label: str, of: Callable[[ArrayLike], Any] = real) -> Callable[[Any], tuple]:
    """Return the same converter for a field of several numbers, each one or one for each run."""
    return partial(several(lambda name, value: named(name, of)(value), of="numbers"), label)


def addresses(value: ArrayLike) -> Int[AnyArray, "..."]:
    """Convert whole numbers to int32 if they fit, else to int64. Raise InputError for anything else."""
    if isinstance(value, Tracer):
        return value
    given = _whole_numbers(value)
    if np.max(np.abs(given)) <= MOST_WHOLE:
        return whole(given)
    require(np.abs(given) < MOST_ADDRESS, "a number of", given, f"below {MOST_ADDRESS}", "sectors")
    return cast(Array, given.astype(np.int64))


def row_index(count: int, like: Shaped[Array, "..."]) -> Int[Array, "row *ones"]:
    """Return the numbers 0 to count - 1 along the first axis, in a shape that broadcasts with `like`."""
    return jnp.arange(count, dtype=jnp.int32).reshape((count,) + (1,) * (like.ndim - 1))


def by_row(values: tuple[Num[AnyArray, "..."], ...], like: Shaped[Array, "row *batch"]) -> Float[Array, "row *batch"]:
    """Return an array of the shape of `like` whose row k is the kth of the values, or the only value."""
    number, found = row_index(like.shape[0], like), jnp.zeros(like.shape, jnp.float32)
    for at, value in enumerate(values):
        found = jnp.where((number == at) | (len(values) == 1), value, found)
    return found


def fold(combine: Callable, reduce: Callable, values: Shaped[Array, "row *batch"]) -> Shaped[Array, "1 *batch"]:
    """Combine all entries along the first axis: `[1, *batch]`.

    The first halvings are elementwise, with neighbouring runs in the vector registers of a CPU. A plain reduction processes
    one run after the other, with all that was fused into it: it costs 3 to 7% of an event with 16 or 48 rows, and half an
    event with 128 rows and one halving in place of three. The last step is a reduction, because its result is stored;
    elementwise it would be computed again by every reader. More halvings cost more, because what is fused into them is
    repeated for each of the combined rows: six of them take a third longer than three with 128 rows.
    """
    for _ in range(HALVINGS):
        if values.shape[0] <= 2 or values.shape[0] % 2:
            break
        half = values.shape[0] // 2
        values = combine(values[:half], values[half:])
    return reduce(values, axis=0, keepdims=True)


def min_row(values: Num[Array, "row *batch"]) -> Num[Array, "1 *batch"]:
    """Return the smallest entry along the first axis."""
    return fold(jnp.minimum, jnp.min, values)


def nth_least(values: Float[Array, "row *batch"], number: Int[Array, "1 *batch"]) -> Float[Array, "1 *batch"]:
    """Return the `number`th smallest entry along the first axis, from 1; inf if there are fewer, or `number` is below 1.

    Of equal entries the lower row comes first. Ranks are counted, because sorting the rows of every run takes a third of an
    event on a CPU (30 rows).
    """
    rank = jnp.sum(comes_before(values), axis=0, dtype=jnp.int32)
    return min_row(jnp.where(rank == number - 1, values, jnp.inf))


def comes_before(values: Num[Array, "row *batch"]) -> Bool[Array, "row row *batch"]:
    """Return whether the first row comes before the second in the order of `values`; of equals the lower row first."""
    row = row_index(values.shape[0], values)
    return (values[:, None] < values[None]) | ((values[:, None] == values[None]) & (row[:, None] < row[None]))


def count(condition: Bool[Array, "row *batch"]) -> Int[Array, "1 *batch"]:
    """Return the number of true entries along the first axis."""
    return fold(jnp.add, partial(jnp.sum, dtype=jnp.int32), condition.astype(jnp.int32))


def any_row(condition: Bool[Array, "row *batch"]) -> Bool[Array, "1 *batch"]:
    """Return whether any entry along the first axis is true."""
    return fold(jnp.logical_or, jnp.any, condition)


def first_min(
    values: Num[Array, "row *batch"],
) -> tuple[Int[Array, "1 *batch"], Num[Array, "1 *batch"]]:
    """Return the index of the smallest entry along the first axis, the first of equals, and its value."""
    smallest = min_row(values)
    index = jnp.where(values == smallest, row_index(values.shape[0], values), values.shape[0] - 1)
    return min_row(index), smallest


def cheapest(cost: Float[Array, "row *batch"]) -> tuple[Int[Array, "1 *batch"], Float[Array, "1 *batch"]]:
    """Return the index of the first entry of lowest cost, and that cost.

    Costs within `INSTANT` count as equal: two requests at one angle have equal costs but for rounding.
    """
    lowest = min_row(cost)
    index, _ = first_true(cost <= lowest + INSTANT)
    return jnp.minimum(index, cost.shape[0] - 1), lowest


def first_true(
    condition: Bool[Array, "row *batch"],
) -> tuple[Int[Array, "1 *batch"], Bool[Array, "1 *batch"]]:
    """Return the index of the first true entry along the first axis, and whether there is one."""
    size = condition.shape[0]
    index = min_row(jnp.where(condition, row_index(size, condition), size))
    return index, index < size


def pick(values: Shaped[Array, "row *batch"], index: Int[Array, "entry *batch"]) -> Shaped[Array, "entry *batch"]:
    """Return the entries at `index` of the first axis, separately for each run."""
    return jnp.take_along_axis(values, index, axis=0, mode="clip")


def put(
    values: Shaped[Array, "*rows_and_lanes"],
    index: Int[Array, "1 *batch"],
    new: Shaped[Array, "*row_and_lanes"],
    axis: int = 0,
) -> Shaped[Array, "*rows_and_lanes"]:
    """Return `values` with `new` as the entry at `index` of an axis, in every run, in place.

    values: `[row, *batch]` with axis 0, `[word, row, *batch]` with axis 1. new: the same with one row. On a CPU one run
    after the other: a scatter of all runs costs several times as much there, and a mask rewrites everything.
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


def pick_tree(tree: PyTree, index: Int[Array, "entry *batch"]) -> PyTree:
    """Apply `pick` to every array of a pytree."""
    return jax.tree.map(lambda values: pick(values, index), tree)


def where_tree(condition: Bool[Array, "..."], new: PyTree, old: PyTree) -> PyTree:
    """Apply `jnp.where` to the arrays of two pytrees of the same structure."""
    return jax.tree.map(lambda a, b: jnp.where(condition, a, b), new, old)


def stored(tree: PyTree) -> PyTree:
    """Return the arrays of a pytree, of 32 bits or bool, after they have been stored in one array.

    XLA computes a value again for each row into which it is masked, unless it is stored: without this an event of eight
    drives with a buffer takes half as long again.
    """
    leaves, form = jax.tree.flatten(tree)
    words = [leaf.astype(jnp.int32) if leaf.dtype == bool else leaf.view(jnp.int32) for leaf in leaves]
    one = jax.lax.optimization_barrier(jnp.concatenate(words))
    ends = np.cumsum([leaf.shape[0] for leaf in leaves])
    pieces = zip(leaves, jnp.split(one, ends[:-1].tolist()), strict=True)
    return form.unflatten(
        [piece.astype(bool) if leaf.dtype == bool else piece.view(leaf.dtype) for leaf, piece in pieces]
    )


def union(masks: UInt32[Array, "row *batch"]) -> UInt32[Array, "1 *batch"]:
    """Return the bits that are set in any entry along the first axis."""
    return fold(jnp.bitwise_or, jnp.bitwise_or.reduce, masks)


def bit_is_set(mask: UInt32[Array, "*#row"], index: Int[Array, "*#row"]) -> Bool[Array, "*#row"]:
    """Return whether bit `index` is set; false for an index that is negative or beyond the word."""
    return (jnp.right_shift(mask, jnp.asarray(index).astype(jnp.uint32)) & 1) == 1


def bit(index: Int[Array, "*row"]) -> UInt32[Array, "*row"]:
    """Return the mask with only bit `index` set."""
    return jnp.left_shift(jnp.uint32(1), index.astype(jnp.uint32))


def lowest(mask: UInt32[Array, "*row"]) -> UInt32[Array, "*row"]:
    """Return the mask with only the lowest set bit of `mask`; 0 for none."""
    return mask & (~mask + jnp.uint32(1))


def index_of(mask: UInt32[Array, "*row"]) -> Int[Array, "*row"]:
    """Return the index of the lowest set bit; 0 for none."""
    return jnp.where(mask == 0, 0, jax.lax.population_count(lowest(mask) - jnp.uint32(1))).astype(jnp.int32)


def mask_of(count: Int[ArrayLike, "*row"]) -> UInt32[Array, "*row"]:
    """Return the mask of the lowest `count` bits (uint32), count from 0 to 32."""
    count = jnp.asarray(count, jnp.uint32)
    full = jnp.uint32(0xFFFFFFFF)
    return jnp.where(
        count >= 32,
        full,
        jnp.left_shift(jnp.uint32(1), jnp.minimum(count, jnp.uint32(31))) - jnp.uint32(1),
    )
