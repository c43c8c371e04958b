"""Operations on arrays whose last axis is the batch.

Each element of the batch is an independent run: one seed at one setting of the parameters. Engine arrays have the shape
`[slot, *batch]`, `[drive, *batch]` or, for one number in each run, `[1, *batch]`. The shape of the batch is `()` for a
single run and `(n,)` for n runs. The same code serves both and never promotes a rank silently.

Neighbouring runs share a vector register of a CPU. On the inner loop this is 2.4 times as fast as `vmap` over the first
axis.
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
from storagekit.core.errors import InputError
from storagekit.core.validation import real_objects, require, several, shown, written

# Times that differ by less count as equal, seconds. In float32, times of a few ms are exact to 1 ns, and times of a
# second to 0.1 us.
INSTANT = 1e-7
# Number of halvings in `fold`.
HALVINGS = 3
# Up to this number of rows, `fold` forms no groups, and `stored` stores no values of a batch.
FEW_ROWS = 31
# Rows of a group: a batch of 64 runs fills 32 vector registers of 512 bits.
GROUP = 8
# The largest whole number of an int32.
MOST_WHOLE = 2**31 - 1
# Bits of a mask of streams, parts or bricks.
WORD = 32
# Upper bound of addresses. float64 represents all whole numbers below it.
MOST_ADDRESS = 2**52


def real(value: ArrayLike) -> Float[AnyArray, "..."]:
    """Convert a number, or one number for each run, to float32.

    Parameters
    ----------
    value : number or array
        The number. Values beyond the range of float32 become infinite; other validators reject infinity.

    Returns
    -------
    array of float32
        The number, or the traced value as float32.

    Raises
    ------
    InputError
        If `value` is not a real number, or is NaN.
    """
    if isinstance(value, Tracer):
        return value.astype(jnp.float32)
    try:
        given = np.asarray(value)
        if given.size and (given.dtype.kind in "biuf" or real_objects(given)):
            # Values beyond the range of float32 become infinite; other validators reject infinity.
            with np.errstate(over="ignore"):
                real = given.astype(np.float32)
            if not np.isnan(real).any():
                return cast(Array, real)
    except jax.errors.TracerArrayConversionError:
        raise
    except (TypeError, ValueError, OverflowError):
        pass
    raise InputError(f"{shown(value)} is not a number; give one number, or one number for each run")


def whole(value: ArrayLike) -> Int[AnyArray, "..."]:
    """Convert a whole number, or one whole number for each run, to int32.

    Parameters
    ----------
    value : number or array
        The number.

    Returns
    -------
    array of int32
        The number, or the traced value unchanged.

    Raises
    ------
    InputError
        If `value` is not a whole number, or does not fit 32 bits.
    """
    if isinstance(value, Tracer):
        return value
    given = _whole_numbers(value)
    if np.max(given) > MOST_WHOLE:
        raise InputError(f"{written(np.max(given))} exceeds 32 bits; give at most {MOST_WHOLE}")
    if np.min(given) < -MOST_WHOLE:
        raise InputError(f"{written(np.min(given))} exceeds 32 bits; give at least {-MOST_WHOLE}")
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
    raise InputError(f"{shown(value)} is not a whole number; give a whole number")


def named(label: str, of: Callable[[ArrayLike], Any] = real) -> Callable[[ArrayLike], Any]:
    """Return a converter for a field. Its error messages begin with the name of the field.

    Parameters
    ----------
    label : str
        Name of the field.
    of : callable
        `real`, `whole` or `addresses`, by default `real`.

    Returns
    -------
    callable
        The converter.
    """

    def converted(value: ArrayLike) -> Any:
        try:
            return of(value)
        except InputError as fault:
            raise InputError(f"{label} {fault}") from None

    return converted


def each_named(label: str, of: Callable[[ArrayLike], Any] = real) -> Callable[[Any], tuple]:
    """Return a converter for a field with several entries. Each entry is one number, or one number for each run.

    Parameters
    ----------
    label : str
        Name of the field.
    of : callable
        `real`, `whole` or `addresses`, by default `real`.

    Returns
    -------
    callable
        The converter, which returns a tuple.
    """
    return partial(several(lambda name, value: named(name, of)(value), of="numbers"), label)


def addresses(value: ArrayLike) -> Int[AnyArray, "..."]:
    """Convert whole numbers to int32 if they fit, otherwise to int64.

    Parameters
    ----------
    value : number or array
        The numbers, below 2^52 in magnitude.

    Returns
    -------
    array of int32 or int64
        The numbers, or the traced value unchanged.

    Raises
    ------
    InputError
        If `value` is not a whole number, or is out of range.
    """
    if isinstance(value, Tracer):
        return value
    given = _whole_numbers(value)
    if np.max(np.abs(given)) <= MOST_WHOLE:
        return whole(given)
    require(np.abs(given) < MOST_ADDRESS, "value", given, f"below {MOST_ADDRESS}", "sectors")
    return cast(Array, given.astype(np.int64))


def row_index(count: int, like: Shaped[AnyArray, "..."]) -> Int[Array, "row *ones"]:
    """Return the numbers 0 to count - 1 along the first axis, in a shape that broadcasts with another array.

    Parameters
    ----------
    count : int
        Length of the first axis.
    like : array
        The other array.

    Returns
    -------
    array of int32, shape `[count, 1, ...]`
        The numbers, with the rank of `like`.
    """
    return jnp.arange(count, dtype=jnp.int32).reshape((count,) + (1,) * (like.ndim - 1))


def by_row(values: tuple[Num[AnyArray, "..."], ...], like: Shaped[Array, "row *batch"]) -> Float[Array, "row *batch"]:
    """Return an array with one given value in each row.

    Parameters
    ----------
    values : tuple of number or array
        Value of each row, or one value for all rows.
    like : array, shape `[row, *batch]`
        An array of the shape of the result.

    Returns
    -------
    array of float32, shape `[row, *batch]`
        Row k has the kth value, or the only value.
    """
    number, found = row_index(like.shape[0], like), jnp.zeros(like.shape, jnp.float32)
    for at, value in enumerate(values):
        found = jnp.where((number == at) | (len(values) == 1), value, found)
    return found


def fold(combine: Callable, reduce: Callable, values: Shaped[Array, "row *batch"]) -> Shaped[Array, "1 *batch"]:
    """Combine all entries along the first axis.

    Parameters
    ----------
    combine : callable
        Elementwise function of two arrays, such as `jnp.minimum`.
    reduce : callable
        The same function as a reduction along an axis, such as `jnp.min`.
    values : array, shape `[row, *batch]`
        The entries.

    Returns
    -------
    array, shape `[1, *batch]`
        The combined entries.

    Notes
    -----
    The first steps halve the number of rows by elementwise operations, with neighbouring runs in the vector registers
    of a CPU. A plain reduction instead processes one run after the other, with all operations that are fused into the
    reduction. This costs 3 to 7% of the time of an event with 16 rows.

    With more than 31 rows, the compiler leaves the vector registers even after three halvings. A loop on a CPU therefore
    first combines the rows in groups of eight. The loop reads stored rows, so that nothing is fused into it. Events with
    64 and with 80 slots take 0.6 of the time in batches of 64 and of 128 runs, and about the same time in batches of 16.

    The last step is a reduction, because its result is stored. An elementwise result would be computed again by every
    operation that uses it.
    """

    def halved(values: Shaped[Array, "row *batch"]) -> Shaped[Array, "1 *batch"]:
        for _ in range(HALVINGS):
            if values.shape[0] <= 2 or values.shape[0] % 2:
                break
            half = values.shape[0] // 2
            values = combine(values[:half], values[half:])
        return reduce(values, axis=0, keepdims=True)

    if values.ndim == 1 or values.shape[0] <= FEW_ROWS:
        return halved(values)
    in_groups = lambda values: halved(_groups_combined(combine, values))  # noqa: E731
    return jax.lax.platform_dependent(values, cpu=in_groups, default=partial(reduce, axis=0, keepdims=True))


def _groups_combined(combine: Callable, values: Shaped[Array, "row *batch"]) -> Shaped[Array, "group_row *batch"]:
    """Return one group of `GROUP` rows: the combination of all groups along the first axis."""
    count, rest = divmod(values.shape[0], GROUP)
    groups = values[: count * GROUP].reshape(count, GROUP, *values.shape[1:])

    def with_group(
        number: Int[Array, ""], rows: Shaped[Array, "group_row *batch"]
    ) -> Shaped[Array, "group_row *batch"]:
        return combine(rows, jax.lax.dynamic_index_in_dim(groups, number, keepdims=False))

    rows = jax.lax.fori_loop(1, count, with_group, groups[0])
    if rest == 0:
        return rows
    return jnp.concatenate([combine(rows[:rest], values[-rest:]), rows[rest:]])


def min_row(values: Num[Array, "row *batch"]) -> Num[Array, "1 *batch"]:
    """Return the smallest entry along the first axis."""
    return fold(jnp.minimum, jnp.min, values)


def nth_least(values: Float[Array, "row *batch"], number: Int[Array, "1 *batch"]) -> Float[Array, "1 *batch"]:
    """Return the nth smallest entry along the first axis.

    If entries are equal, the lower row comes first.

    Parameters
    ----------
    values : array of float32, shape `[row, *batch]`
        The entries.
    number : array of int32, shape `[1, *batch]`
        The number n; 1 for the smallest entry.

    Returns
    -------
    array of float32, shape `[1, *batch]`
        The entry; inf if there are fewer entries, or `number` is below 1.

    Notes
    -----
    The function counts ranks, because sorting 30 rows of every run takes a third of the time of an event on a CPU.
    """
    rank = jnp.sum(comes_before(values), axis=0, dtype=jnp.int32)
    return min_row(jnp.where(rank == number - 1, values, jnp.inf))


def comes_before(values: Num[Array, "row *batch"]) -> Bool[Array, "row row *batch"]:
    """Return, for each pair of rows, whether the first row comes before the second row in the order of `values`.

    If entries are equal, the lower row comes first.

    Parameters
    ----------
    values : array, shape `[row, *batch]`
        The entries.

    Returns
    -------
    array of bool, shape `[row, row, *batch]`
        True if the row of the first axis comes before the row of the second axis.
    """
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
    """Return the index of the smallest entry along the first axis, and its value.

    Parameters
    ----------
    values : array, shape `[row, *batch]`
        The entries.

    Returns
    -------
    index : array of int32, shape `[1, *batch]`
        Index of the entry; the lowest index if entries are equal.
    smallest : array, shape `[1, *batch]`
        Value of the entry.
    """
    smallest = min_row(values)
    index = jnp.where(values == smallest, row_index(values.shape[0], values), values.shape[0] - 1)
    return min_row(index), smallest


def cheapest(cost: Float[Array, "row *batch"]) -> tuple[Int[Array, "1 *batch"], Float[Array, "1 *batch"]]:
    """Return the index of the entry with the lowest cost, and the lowest cost.

    Costs that differ by less than `INSTANT` count as equal, because two requests at the same angle have equal costs
    except for rounding errors.

    Parameters
    ----------
    cost : array of float32, shape `[row, *batch]`
        Costs, seconds.

    Returns
    -------
    index : array of int32, shape `[1, *batch]`
        Index of the entry; the lowest index if costs are equal.
    lowest : array of float32, shape `[1, *batch]`
        The lowest cost, seconds.
    """
    lowest = min_row(cost)
    index, _ = first_true(cost <= lowest + INSTANT)
    return jnp.minimum(index, cost.shape[0] - 1), lowest


def first_true(
    condition: Bool[Array, "row *batch"],
) -> tuple[Int[Array, "1 *batch"], Bool[Array, "1 *batch"]]:
    """Return the index of the first true entry along the first axis, and whether an entry is true.

    Parameters
    ----------
    condition : array of bool, shape `[row, *batch]`
        The entries.

    Returns
    -------
    index : array of int32, shape `[1, *batch]`
        Index of the entry; the number of rows if no entry is true.
    found : array of bool, shape `[1, *batch]`
        Whether an entry is true.
    """
    size = condition.shape[0]
    index = min_row(jnp.where(condition, row_index(size, condition), size))
    return index, index < size


def pick(values: Shaped[Array, "row *batch"], index: Int[Array, "entry *batch"]) -> Shaped[Array, "entry *batch"]:
    """Return the entries at given indices of the first axis, separately for each run.

    Parameters
    ----------
    values : array, shape `[row, *batch]`
        The entries.
    index : array of int32, shape `[entry, *batch]`
        The indices. Indices out of range are clipped.

    Returns
    -------
    array, shape `[entry, *batch]`
        The entries.
    """
    return jnp.take_along_axis(values, index, axis=0, mode="clip")


def put(
    values: Shaped[Array, "*rows_and_batch"],
    index: Int[Array, "1 *batch"],
    new: Shaped[Array, "*row_and_batch"],
    axis: int = 0,
) -> Shaped[Array, "*rows_and_batch"]:
    """Return an array in which the entry at an index of an axis is replaced, in every run.

    Parameters
    ----------
    values : array, shape `[row, *batch]` with axis 0, or `[word, row, *batch]` with axis 1
        The entries.
    index : array of int32, shape `[1, *batch]`
        The index.
    new : array, shape of `values` with one row
        The new entry.
    axis : int
        The axis, by default 0.

    Returns
    -------
    array, shape of `values`
        The new array.

    Notes
    -----
    On a CPU the runs are updated one after the other. On a CPU, a scatter of all runs takes several times as long, and
    a mask rewrites all entries.
    """
    if values.ndim == axis + 1:
        return jax.lax.dynamic_update_slice_in_dim(values, new, index[0], axis)

    def one_by_one(values, index, new):
        def one(run, values):
            # With 64-bit addresses the counter of the loop has 64 bits too.
            run = run.astype(index.dtype)
            here = jax.lax.dynamic_slice_in_dim(new, run, 1, axis + 1)
            return jax.lax.dynamic_update_slice(values, here, (*[run * 0] * axis, index[0, run], run))

        return jax.lax.fori_loop(0, values.shape[-1], one, values)

    def side_by_side(values, index, new):
        index = jnp.broadcast_to(index, new.shape)
        return jnp.put_along_axis(values, index, new, axis=axis, inplace=False, mode="promise_in_bounds")

    return jax.lax.platform_dependent(values, index, new, cpu=one_by_one, default=side_by_side)


def pick_tree(tree: PyTree, index: Int[Array, "entry *batch"]) -> PyTree:
    """Return a pytree with `pick` applied to every array.

    Parameters
    ----------
    tree : pytree of arrays, shape `[row, *batch]`
        The entries.
    index : array of int32, shape `[entry, *batch]`
        The indices.

    Returns
    -------
    pytree of arrays, shape `[entry, *batch]`
        The entries at the indices.
    """
    return jax.tree.map(lambda values: pick(values, index), tree)


def where_tree(condition: Bool[Array, "..."], new: PyTree, old: PyTree) -> PyTree:
    """Return a pytree with `jnp.where` applied to the arrays of two pytrees.

    Parameters
    ----------
    condition : array of bool
        Mask of the entries that are taken from `new`.
    new, old : pytree of arrays
        Pytrees of the same structure.

    Returns
    -------
    pytree of arrays
        The selected entries.
    """
    return jax.tree.map(lambda a, b: jnp.where(condition, a, b), new, old)


def union(masks: UInt32[Array, "row *batch"]) -> UInt32[Array, "1 *batch"]:
    """Return the bits that are set in any entry along the first axis, `[1, *batch]`."""
    return fold(jnp.bitwise_or, jnp.bitwise_or.reduce, masks)


def bit_is_set(mask: UInt32[Array, "*#row"], index: Int[Array, "*#row"]) -> Bool[Array, "*#row"]:
    """Return whether a bit of a mask is set.

    Parameters
    ----------
    mask : array of uint32, shape `[*row]`
        The mask.
    index : array of int32, shape `[*row]`
        Number of the bit.

    Returns
    -------
    array of bool, shape `[*row]`
        True if the bit is set; false if `index` is negative or above 31.
    """
    return (jnp.right_shift(mask, jnp.asarray(index).astype(jnp.uint32)) & 1) == 1


def bit(index: Int[Array, "*row"]) -> UInt32[Array, "*row"]:
    """Return the mask with only bit `index` set."""
    return jnp.left_shift(jnp.uint32(1), index.astype(jnp.uint32))


def lowest(mask: UInt32[Array, "*row"]) -> UInt32[Array, "*row"]:
    """Return the mask with only the lowest set bit of `mask`; 0 if no bit is set."""
    return mask & (~mask + jnp.uint32(1))


def index_of(mask: UInt32[Array, "*row"]) -> Int[Array, "*row"]:
    """Return the index of the lowest set bit of a mask; 0 if no bit is set."""
    return jnp.where(mask == 0, 0, jax.lax.population_count(lowest(mask) - jnp.uint32(1))).astype(jnp.int32)


def mask_of(count: Int[ArrayLike, "*row"]) -> UInt32[Array, "*row"]:
    """Return the mask of the lowest `count` bits (uint32), for a count from 0 to 32."""
    count = jnp.asarray(count, jnp.uint32)
    full = jnp.uint32(0xFFFFFFFF)
    return jnp.where(
        count >= 32,
        full,
        jnp.left_shift(jnp.uint32(1), jnp.minimum(count, jnp.uint32(31))) - jnp.uint32(1),
    )
