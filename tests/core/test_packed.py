"""Several arrays in one array."""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from storagekit.core.packed import packed, stored


class Row(NamedTuple):
    """Values of all types that the engine stores."""

    flag: Any
    small: Any
    half: Any
    number: Any
    time: Any
    mask: Any
    missing: Any
    place: Any


def arrays(rows: int, seed: int = 0, wide: type = np.int32) -> Row:
    """Random values; the mask has all 32 bits, and the times include a signaling NaN, infinity and -0."""
    random = np.random.default_rng(seed)

    def whole(kind: type) -> jax.Array:
        limits = np.iinfo(kind)
        return jnp.asarray(random.integers(limits.min, limits.max, (rows, 3), dtype=kind, endpoint=True))

    special = np.array([0x7FA00001, 0x7F800000, 0x80000000], np.uint32).view(np.float32)
    return Row(
        flag=jnp.asarray(random.random((rows, 3)) < 0.5),
        small=whole(np.int8),
        half=whole(np.uint16),
        number=whole(np.int32),
        time=jnp.asarray(np.concatenate([special[None], random.random((rows - 1, 3), np.float32)])),
        mask=whole(np.uint32),
        missing=None,
        place=(whole(np.int32), whole(wide)),
    )


def same(one: Any, other: Any) -> bool:
    """Return whether two pytrees are equal in structure and in every bit."""
    pairs = zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True)
    alike = all((a.dtype, a.shape) == (b.dtype, b.shape) for a, b in pairs)
    bits = [[np.asarray(leaf).tobytes() for leaf in jax.tree.leaves(tree)] for tree in (one, other)]
    return alike and jax.tree.structure(one) == jax.tree.structure(other) and bits[0] == bits[1]


@pytest.mark.parametrize("wide", [np.int32, np.int64])
def test_packed_arrays_return_every_bit(wide):
    with jax.enable_x64(wide is np.int64):
        given = arrays(4, wide=wide)
        made = packed(given)
        assert same(made.tree(), given)
        assert same(made.field("place"), given.place)
        assert same(made.field("flag"), given.flag)
        assert made.field("missing") is None
        on_host = jax.tree.map(np.asarray, made)
        assert same(on_host.tree(), given) and isinstance(on_host.field("time"), np.ndarray)
    # the state of a run is read where 64 bits are not enabled
    assert same(made.tree(), given) and same(made.field("place"), given.place)
    assert same(on_host.tree(), given)


def test_a_bool_is_stored_in_a_word_of_32_bits():
    assert [None if word is None else word.shape for word in packed(arrays(4)).words] == [(4, 3), (4, 3), (24, 3), None]


def test_numpy_arrays_of_64_bits_become_arrays_of_32_bits_as_everywhere_in_jax():
    made = packed({"fine": np.full((1, 3), 1.5), "long": np.full((1, 3), 7)}).tree()
    assert same(made, {"fine": jnp.full((1, 3), 1.5), "long": jnp.full((1, 3), 7)})


@pytest.mark.parametrize("batch", [(), (3,)])
def test_stored_values_keep_their_bits_and_their_types(batch: tuple[int, ...]):
    some = jnp.arange(2 * np.prod(batch, dtype=int), dtype=jnp.float32).reshape(2, *batch)
    values = {
        "nan": some * jnp.nan,
        "whole": (-some).astype(jnp.int32),
        "mask": some > 0,
        "word": some.view(jnp.uint32),
    }
    with jax.enable_x64(True):
        values |= {"long": jnp.asarray(-some, jnp.int64) - 2**40, "fine": jnp.asarray(some, jnp.float64) / 3}
        kept = jax.jit(stored)(values)
    for name, value in values.items():
        assert kept[name].dtype == value.dtype
        assert np.asarray(kept[name]).tobytes() == np.asarray(value).tobytes(), name


@pytest.mark.parametrize(("batch", "rows", "stores"), [((), 8, 1), ((3,), 8, 0), ((3,), 64, 1)])
def test_values_are_stored_except_for_few_rows_of_a_batch(batch: tuple[int, ...], rows: int, stores: int):
    values = jnp.zeros((1, *batch)), jnp.zeros((1, *batch), jnp.int32)
    barriers = [
        line
        for line in jax.jit(partial(stored, rows=rows)).lower(values).as_text().splitlines()
        if "optimization_barrier" in line
    ]
    assert len(barriers) == stores
    # one operand: both values are stored in one array
    assert all(line.count("%") == 2 for line in barriers)


def test_a_mask_replaces_its_entries_in_all_arrays():
    old, new, mask = arrays(4), arrays(4, seed=1), jnp.asarray(np.arange(12).reshape(4, 3) % 5 == 0)
    # each array has an axis of length one before its rows
    apart = lambda tree: packed(jax.tree.map(lambda leaf: leaf[None], tree))  # noqa: E731
    found = jax.tree.map(lambda leaf: leaf[0], apart(old).where(mask[None], apart(new)).tree())
    assert same(found, jax.tree.map(lambda a, b: jnp.where(mask, b, a), old, new))


def test_arrays_of_different_lengths_come_back_after_a_scan():
    def step(carry: int, at: jax.Array):
        values = {"one": jnp.full((1, 3), at), "two": jnp.full((2, 3), at.astype(jnp.int8))}
        return carry, (values, packed(values))

    _, (plain, together) = jax.lax.scan(step, 0, jnp.arange(5.0))
    assert same(together.tree(axis=1), plain)
