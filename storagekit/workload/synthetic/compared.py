"""Comparison of one characteristic of a synthetic trace with its target."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Compared"]


class Compared(NamedTuple):
    """One characteristic of a synthetic trace, with its published value.

    Parameters
    ----------
    target : float
        The published value.
    measured : float
        The value measured on the generated trace, in the same unit.
    """

    target: float
    measured: float

    @property
    def error(self) -> float:
        """Return the relative error, measured / target - 1; the measured value if the target is 0."""
        return self.measured / self.target - 1 if self.target else self.measured
