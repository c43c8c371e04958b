"""Compare a generated trace with the published values of a model whose seeks are published."""

from __future__ import annotations

from dataclasses import replace

from storagekit.core.errors import InputError
from storagekit.workload.synthetic.compared import Compared
from storagekit.workload.synthetic.seeking.model import SeekingTraceModel
from storagekit.workload.trace import RequestTrace, characteristics
from storagekit.workload.trace.locality import seek_locality

__all__ = ["compare"]


def compare(model: SeekingTraceModel, trace: RequestTrace) -> dict[str, Compared]:
    """Compare a whole generated trace with every published value of its model.

    Parameters
    ----------
    model : SeekingTraceModel
        The model.
    trace : RequestTrace
        A trace that was generated from the model.

    Returns
    -------
    dict of str to Compared
        Target and measured value in SI units, by name, as in `TraceCharacteristics`.

    Raises
    ------
    InputError
        If the trace has no requests, or has devices other than the device of the model.

    Notes
    -----
    Seek locality is computed with the size of the data set, as in (srarray, Table 3), not with the last accessed byte.
    """
    if trace.devices != (model.name,):
        devices = ", ".join(trace.devices[:3])
        raise InputError(
            f"the trace has the devices {devices or '(none)'}, but the model describes {model.name}; give a trace that "
            "`generate` made from this model"
        )
    found = replace(characteristics(trace), seek_locality=seek_locality(trace, {model.name: model.data})).as_dict()
    return {name: Compared(target, float(found[name] or 0.0)) for name, target in model.targets().items()}
