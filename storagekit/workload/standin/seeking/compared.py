"""A generated trace against the figures its stand-in is to match."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from storagekit.workload.standin.seeking.model import StandIn
from storagekit.workload.trace import RequestTrace, characteristics
from storagekit.workload.trace.locality import seek_locality

__all__ = ["Compared", "compare"]


class Compared(NamedTuple):
    """One figure: what is published, and what a trace has."""

    target: float
    measured: float

    @property
    def error(self) -> float:
        """Measured over target, less 1; the measured value itself where the target is 0."""
        return self.measured / self.target - 1 if self.target else self.measured


def compare(model: StandIn, trace: RequestTrace) -> dict[str, Compared]:
    """Every published figure by its name in `TraceCharacteristics`, in SI, beside that of a whole generated trace.

    Seek locality is relative to the size of the data set, as in (srarray, Table 3), not to the last byte touched.
    Raises InputError for a trace without requests.
    """
    found = replace(characteristics(trace), seek_locality=seek_locality(trace, {model.name: model.data})).as_dict()
    return {name: Compared(target, float(found[name] or 0.0)) for name, target in model.targets().items()}
