"""A table of many rows that the event loop carries; few of the rows are in use.

The first rows are in use. If a row is removed, the last row in use takes its place. The table is read in blocks, up to
the last row in use, and only in events in which a run of the batch needs it. The length of the table therefore costs
memory but no time.

The table is a single array, so that XLA updates it in place; otherwise XLA would copy the table in every event. Each
column of this array contains the 32-bit words of one row. Every write to the array depends on all earlier reads.
"""

import math
from collections.abc import Callable
from itertools import accumulate, pairwise
from typing import Any, NamedTuple, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, PyTree, Shaped

from storagekit.core.batching import put, row_index

# Number of rows in a block.
BLOCK = 16
# Number of bytes of a 32-bit word.
WORD = 4

Found = TypeVar("Found")


class Form(NamedTuple):
    """Structure of a row: a pytree of 32-bit numbers, or of 64-bit numbers for long addresses.

    Parameters
    ----------
    tree : PyTreeDef
        Structure of the pytree.
    kinds : tuple of dtype
        Type of each number.
    """

    tree: Any
    kinds: tuple[np.dtype, ...]

    @property
    def widths(self) -> tuple[int, ...]:
        """Return the number of 32-bit words of each number."""
        return tuple(kind.itemsize // WORD for kind in self.kinds)


class DelayedWriteTable(eqx.Module):
    """Table whose rows are pytrees of arrays `[1, *batch]`.

    Parameters
    ----------
    words : array of int32, shape `[word, *batch]`
        An array `[word of a row, row, *batch]` with its first two axes merged, because the arrays of the engine have
        one axis before the batch.
    size : array of int32, shape `[1, *batch]`
        Number of rows in use.
    form : Form
        Structure of a row.
    """

    words: Int[Array, "word *batch"]
    size: Int[Array, "1 *batch"]
    form: Form = eqx.field(static=True)

    def row(self, at: Int[Array, "1 *batch"]) -> Any:
        """Return row `at`, or the nearest existing row if `at` is out of range."""
        return self._unpacked(self._column(at))

    def put(self, at: Int[Array, "1 *batch"], row: Any, where: Bool[Array, "1 *batch"]) -> "DelayedWriteTable":
        """Return the table with row `at` replaced.

        Parameters
        ----------
        at : array of int32, shape `[1, *batch]`
            Number of the row. It may be the number of the first row that is not in use.
        row : pytree of arrays, shape `[1, *batch]`
            The row.
        where : array of bool, shape `[1, *batch]`
            Runs where the row is written.

        Returns
        -------
        DelayedWriteTable
            The new table.
        """
        at = jnp.clip(at, 0, self._box.shape[1] - 1)
        column = jnp.where(where, self._packed(row), self._column(at))
        grown = jnp.where(where, jnp.maximum(self.size, at + 1), self.size)
        return eqx.tree_at(
            lambda table: (table.words, table.size),
            self,
            (put(self._box, at, column, 1).reshape(self.words.shape), grown),
        )

    def without(self, at: Int[Array, "1 *batch"], where: Bool[Array, "1 *batch"]) -> "DelayedWriteTable":
        """Return the table without row `at` in the runs where `where` is true.

        The last row takes the place of the removed row; see `renumbered`.
        """
        shorter = self.put(at, self.row(self.size - 1), where)
        return eqx.tree_at(lambda table: table.size, shorter, self.size - where)

    def renumbered(
        self, number: Int[Array, "*row"], at: Int[Array, "1 *batch"], where: Bool[Array, "1 *batch"], gone: int
    ) -> Int[Array, "*row"]:
        """Return new numbers of rows after a row has been removed from this table.

        Parameters
        ----------
        number : array of int32, shape `[*row]`
            Numbers of rows of this table.
        at : array of int32, shape `[1, *batch]`
            Row that is removed, see `without`.
        where : array of bool, shape `[1, *batch]`
            Runs where the row is removed.
        gone : int
            New number of the row that is removed.

        Returns
        -------
        array of int32, shape `[*row]`
            The new numbers.
        """
        elsewhere = jnp.where(number == at, gone, jnp.where(number == self.size - 1, at, number))
        return jnp.where(where, elsewhere, number)

    def fold(
        self,
        needed: Bool[Array, "1 *batch"],
        look: Callable[[Found, Any, Int[Array, "row *ones"], Bool[Array, "row *batch"]], Found],
        found: Found,
    ) -> Found:
        """Return the result of a function that is applied to all blocks of rows in use, one after the other.

        Parameters
        ----------
        needed : array of bool, shape `[1, *batch]`
            Runs where the table is searched. In other runs no row counts as in use.
        look : callable
            Function of the present result, the rows of a block `[row, *batch]`, the numbers of these rows, and a mask
            of the rows in use. It returns the next result.
        found : pytree of arrays
            Result before the first block.

        Returns
        -------
        pytree of arrays
            Result after the last block.
        """
        used = jnp.where(needed, self.size, 0)
        end = jnp.max(used)

        def turn(sofar: tuple[Int[Array, ""], Found]) -> tuple[Int[Array, ""], Found]:
            first, found = sofar
            block = jax.lax.dynamic_slice_in_dim(self._box, first, BLOCK, axis=1)
            number = first + row_index(BLOCK, used)
            return first + BLOCK, look(found, self._unpacked(block), number, number < used)

        return jax.lax.while_loop(lambda sofar: sofar[0] < end, turn, (jnp.int32(0), found))[1]

    def in_use(self) -> Any:
        """Return the rows in use of a single run as NumPy arrays `[row]`."""
        words = np.asarray(self.words).reshape(sum(self.form.widths), -1)[:, : int(self.size[0])]
        leaves = [
            np.ascontiguousarray(np.moveaxis(number, 0, -1)).view(kind)[..., 0]
            for number, kind in zip(self._numbers(words), self.form.kinds, strict=True)
        ]
        return jax.tree.unflatten(self.form.tree, leaves)

    @property
    def _box(self) -> Int[Array, "word row *batch"]:
        return self.words.reshape((sum(self.form.widths), -1, *self.words.shape[1:]))

    def _numbers(self, words: Any) -> list[Any]:
        """Return, for each number of a row, the 32-bit words that represent it."""
        ends = [*accumulate(self.form.widths, initial=0)]
        return [words[first:end] for first, end in pairwise(ends)]

    def _column(self, at: Int[Array, "1 *batch"]) -> Int[Array, "word 1 *batch"]:
        at = jnp.clip(at, 0, self._box.shape[1] - 1)
        if self.words.ndim == 1:
            return jax.lax.dynamic_slice_in_dim(self._box, at[0], 1, axis=1)
        return jnp.take_along_axis(self._box, at[None], axis=1, mode="clip")

    def _packed(self, row: Any) -> Int[Array, "word 1 *batch"]:
        return jnp.concatenate([_words(leaf) for leaf in jax.tree.leaves(row)])

    def _unpacked(self, words: Int[Array, "word row *batch"]) -> Any:
        kinds = zip(self._numbers(words), self.form.kinds, strict=True)
        leaves = [jax.lax.bitcast_convert_type(_joined(number), kind) for number, kind in kinds]
        return jax.tree.unflatten(self.form.tree, leaves)


def empty(row: PyTree, length: int, batch: tuple[int, ...]) -> DelayedWriteTable:
    """Return an empty table.

    Parameters
    ----------
    row : pytree of arrays, shape `[1, *batch]`
        A row, as an example of the structure.
    length : int
        Minimum number of rows.
    batch : tuple of int
        Shape of the batch, `()` for a single run.

    Returns
    -------
    DelayedWriteTable
        The table.
    """
    leaves, tree = jax.tree.flatten(row)
    length = math.ceil(length / BLOCK) * BLOCK
    form = Form(tree, tuple(leaf.dtype for leaf in leaves))
    words = jnp.zeros((sum(form.widths) * length, *batch), jnp.int32)
    return DelayedWriteTable(words, jnp.zeros((1, *batch), jnp.int32), form)


def _words(leaf: Shaped[Array, "1 *batch"]) -> Int[Array, "half 1 *batch"]:
    """Return the one or two 32-bit words that represent a number."""
    words = jax.lax.bitcast_convert_type(leaf, jnp.int32)
    return words[None] if words.ndim == leaf.ndim else jnp.moveaxis(words, -1, 0)


def _joined(words: Int[Array, "half row *batch"]) -> Int[Array, "row *batch_and_half"]:
    """Return one or two 32-bit words in the shape from which `bitcast_convert_type` makes one number."""
    return words[0] if words.shape[0] == 1 else jnp.moveaxis(words, 0, -1)
