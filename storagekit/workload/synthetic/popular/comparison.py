"""Compare a generated trace with the published values of a model whose hit rate is published."""

from __future__ import annotations

from storagekit.core.errors import InputError
from storagekit.workload.reuse import hit_rates
from storagekit.workload.synthetic.compared import Compared
from storagekit.workload.synthetic.popular.model import BLOCK, PopularTraceModel
from storagekit.workload.trace import RequestTrace

__all__ = ["compare"]


def compare(model: PopularTraceModel, trace: RequestTrace) -> dict[str, Compared]:
    """Compare a whole generated trace with every published value of its model.

    Parameters
    ----------
    model : PopularTraceModel
        The model.
    trace : RequestTrace
        A trace that was generated from the model.

    Returns
    -------
    dict of str to Compared
        Target and measured value in SI units, by name, as in `PopularTraceModel.targets`.

    Raises
    ------
    InputError
        If the trace has no reads.

    Notes
    -----
    The hit rate is measured in a simulated LRU cache, which is the central cache scaled like the model. The measurement
    does not use the formula with which the popularity was fitted.
    """
    if not trace.read.any():
        raise InputError(f"{trace.source.name} has no read in this window; give a wider window")
    duration = float(trace.time[-1] - trace.time[0])
    found = {
        "requests": len(trace),
        "duration": duration,
        "rate": len(trace) / duration if duration > 0 else 0.0,
        "read_share": float(trace.read.mean()),
        "mean_size": float(trace.size.mean()),
        "read_hit_rate": float(hit_rates(trace, model.cache(model.central_cache) // BLOCK, BLOCK)),
    }
    return {name: Compared(target, float(found[name])) for name, target in model.targets().items()}
