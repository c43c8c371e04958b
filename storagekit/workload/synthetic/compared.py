"""One figure of a stand-in beside that of a trace."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Compared"]


class Compared(NamedTuple):
    """One figure: what is published, and what a trace has."""

    target: float
    measured: float

    @property
    def error(self) -> float:
        """Measured over target, less 1; the measured value itself where the target is 0."""
        return self.measured / self.target - 1 if self.target else self.measured
