"""Several arrays in one array for each width of a number, so that one operation stores or writes all of them.

XLA combines the writes of several arrays into one loop. If the loop masks values into about ten arrays, LLVM compiles it to
scalar instructions, because it cannot exclude that the arrays overlap. If the loop writes one row of several logs, XLA
writes all rows again.
"""

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, PyTree, Shaped

from storagekit.core.arrays import AnyArray
from storagekit.core.batching import FEW_ROWS

# Types of the words: numbers are stored in words of their width, and a bool in a word of 32 bits.
_WORDS = tuple(np.dtype(kind) for kind in (np.int8, np.int16, np.int32, np.int64))
# number of bytes of the widest numbers without `jax.enable_x64`
_WIDEST = 4


class Form(NamedTuple):
    """Structure of packed arrays.

    Parameters
    ----------
    tree : PyTreeDef
        Structure of the pytree.
    kinds : tuple of dtype
        Type of each array.
    lengths : tuple of int
        Length of the first axis of each array.
    """

    tree: Any
    kinds: tuple[np.dtype, ...]
    lengths: tuple[int, ...]

    @property
    def groups(self) -> list[list[int]]:
        """Return, for each type of `_WORDS`, the numbers of the arrays that are stored in words of this type."""
        widths = [np.dtype(np.int32).itemsize if kind.kind == "b" else kind.itemsize for kind in self.kinds]
        return [[number for number, width in enumerate(widths) if width == word.itemsize] for word in _WORDS]


class Packed(eqx.Module):
    """Arrays that differ only in their types and in the length of the first axis.

    Parameters
    ----------
    words : tuple of int array, shape `[row, *other]`, or None
        For each type of `_WORDS`, the arrays one after the other along the first axis; None if there are none.
    form : Form
        The structure.
    """

    words: tuple[Int[AnyArray, "..."] | None, ...]
    form: Form = eqx.field(static=True)

    def tree(self, axis: int = 0) -> PyTree:
        """Return the arrays.

        Parameters
        ----------
        axis : int
            The axis along which the arrays are one after the other, by default 0. It differs from 0 if packed arrays
            were stacked, for example by `jax.lax.scan`.

        Returns
        -------
        pytree of arrays
            The arrays, equal in every bit to the arrays that were packed.
        """
        return self.form.tree.unflatten([self._array(number, axis) for number in range(len(self.form.kinds))])

    def field(self, name: str) -> PyTree:
        """Return one field of arrays that are a named tuple.

        Parameters
        ----------
        name : str
            Name of the field.

        Returns
        -------
        pytree of arrays
            The field.
        """
        numbers = self.form.tree.unflatten(range(len(self.form.kinds)))
        return jax.tree.map(self._array, getattr(numbers, name))

    def where(self, mask: Bool[Array, "..."], new: "Packed") -> "Packed":
        """Return other arrays where a mask is true, and these arrays elsewhere.

        Parameters
        ----------
        mask : array of bool, of a shape that broadcasts to the shape of `words`
            The mask.
        new : Packed
            The other arrays, of the same form.

        Returns
        -------
        Packed
            The arrays.
        """
        return jax.tree.map(lambda one, old: jnp.where(mask, one, old), new, self)

    def _array(self, number: int, axis: int = 0) -> Shaped[AnyArray, "..."]:
        """Return the array of a number."""
        kind, lengths = self.form.kinds[number], self.form.lengths
        at, group = next(one for one in enumerate(self.form.groups) if number in one[1])
        first = sum(lengths[other] for other in group if other < number)
        words: Any = self.words[at]
        # the state of a run may be read where numbers of 64 bits are not enabled
        with jax.enable_x64(True) if kind.itemsize > _WIDEST else nullcontext():
            words = words[(slice(None),) * axis + (slice(first, first + lengths[number]),)]
            return words != 0 if kind.kind == "b" else words.view(kind)


def packed(arrays: PyTree) -> Packed:
    """Return the arrays of a pytree as packed arrays.

    Parameters
    ----------
    arrays : pytree of arrays, shape `[row, *other]`
        Arrays of bool, or of real numbers of 8, 16, 32 or 64 bits. The arrays may differ in `row`, but not in `other`.
        NumPy arrays of 64 bits are converted to 32 bits if JAX has not enabled 64 bits.

    Returns
    -------
    Packed
        The packed arrays.
    """
    given, tree = jax.tree.flatten(arrays)
    leaves = [jnp.asarray(leaf) for leaf in given]
    form = Form(tree, tuple(leaf.dtype for leaf in leaves), tuple(leaf.shape[0] for leaf in leaves))
    words = (
        _joined([leaves[number] for number in group], kind) if group else None
        for group, kind in zip(form.groups, _WORDS, strict=True)
    )
    return Packed(tuple(words), form)


def _joined(leaves: Sequence[Shaped[Array, "..."]], word: np.dtype) -> Int[Array, "..."]:
    return jnp.concatenate([leaf.astype(word) if leaf.dtype.kind == "b" else leaf.view(word) for leaf in leaves])


def stored(tree: PyTree, rows: int = FEW_ROWS + 1) -> PyTree:
    """Return the arrays of a pytree after they have been stored in one array for each width of a number.

    Parameters
    ----------
    tree : pytree of arrays
        Arrays of numbers or bool, at least two. XLA removes the array that stores a single value.
    rows : int, optional
        Number of rows into which the values are masked, by default many. In a batch, values with at most 31 rows are
        not stored, because to compute them again takes less time.

    Returns
    -------
    pytree of arrays
        The same values.

    Notes
    -----
    XLA computes a value again for each row that it is masked into, unless the value is stored. If the values are not
    stored, an event of eight drives with a buffer takes 1.5 times as long, and an event of a single run with 64 slots
    1.5 times.
    """
    if jax.tree.leaves(tree)[0].ndim > 1 and rows <= FEW_ROWS:
        return tree
    return jax.lax.optimization_barrier(packed(tree)).tree()
