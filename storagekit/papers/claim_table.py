"""Claims on one table of a paper, whose identifiers follow one pattern."""

import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import xarray as xr


class ClaimTable:
    """Claims on a table: the identifier of the claim on each cell, declared once for the findings and for the chart.

    Parameters
    ----------
    pattern : str
        Pattern of the identifiers. The name of each axis, in braces, stands for a word of the identifier.
    **axes : mapping or iterable
        The axes of the table. A mapping gives, for each word of the identifiers, the label in the Dataset. An iterable
        gives words that are also the labels.

    Examples
    --------
    >>> table = ClaimTable("paper.table4.{brick}[{scheme}]", brick={"fast": 0, "slow": 1}, scheme=["lard"])
    >>> list(table)
    [('paper.table4.fast[lard]', (0, 'lard')), ('paper.table4.slow[lard]', (1, 'lard'))]
    >>> said = table.numbers({"paper.table4.fast[lard]": 182, "paper.table4.slow[lard]": 134})
    >>> float(said.sel(brick=1, scheme="lard"))
    134.0
    """

    def __init__(self, pattern: str, **axes: Mapping[Any, Any] | Iterable[Any]):
        self.pattern = pattern
        self.axes = {
            name: dict(axis) if isinstance(axis, Mapping) else {one: one for one in axis} for name, axis in axes.items()
        }

    def __iter__(self) -> Iterator[tuple[str, tuple[Any, ...]]]:
        """Iterate over pairs of an identifier and the labels of its cell on all axes; the last axis varies fastest."""
        for point in itertools.product(*(axis.items() for axis in self.axes.values())):
            words = (word for word, _ in point)
            yield self.pattern.format(**dict(zip(self.axes, words, strict=True))), tuple(label for _, label in point)

    def within(self, data: xr.Dataset) -> Iterator[tuple[str, tuple[Any, ...]]]:
        """Iterate over the table, but only over cells whose labels are in the data.

        Parameters
        ----------
        data : Dataset
            Data of the exhibit, which may have only some labels of an axis.
        """
        for claim, at in self:
            where = zip(self.axes, at, strict=True)
            if all(label in data.indexes[axis] for axis, label in where if axis in data.indexes):
                yield claim, at

    def numbers(self, paper: Mapping[str, float]) -> xr.DataArray:
        """Return the paper's numbers, with one dimension for each axis of the table.

        Parameters
        ----------
        paper : mapping of str to float
            Numbers of the paper by identifier of the claim.
        """
        labels = {axis: list(words.values()) for axis, words in self.axes.items()}
        values = [float(paper[claim]) for claim, _ in self]
        return xr.DataArray(np.reshape(values, [len(axis) for axis in labels.values()]), coords=labels)
