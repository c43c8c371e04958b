"""A generated trace against the figures that a stand-in known by its seeks is to match."""

from __future__ import annotations

from dataclasses import replace

from storagekit.core.errors import InputError
from storagekit.workload.synthetic.compared import Compared
from storagekit.workload.synthetic.seeking.model import SeekingTraceModel
from storagekit.workload.trace import RequestTrace, characteristics
from storagekit.workload.trace.locality import seek_locality

__all__ = ["compare"]


def compare(model: SeekingTraceModel, trace: RequestTrace) -> dict[str, Compared]:
    """Every published figure by its name in `TraceCharacteristics`, in SI, beside that of a whole generated trace.

    Seek locality is relative to the size of the data set, as in (srarray, Table 3), not to the last byte touched.
    Raises InputError for a trace without requests, and for one of other devices than the model's.
    """
    if trace.devices != (model.name,):
        devices = ", ".join(trace.devices[:3])
        raise InputError(
            f"a trace of {devices or 'no device'}: the model's is of {model.name}; compare what generate makes"
        )
    found = replace(characteristics(trace), seek_locality=seek_locality(trace, {model.name: model.data})).as_dict()
    return {name: Compared(target, float(found[name] or 0.0)) for name, target in model.targets().items()}
