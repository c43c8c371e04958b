"""A generated trace against the figures of a stand-in known by its hit rate."""

from __future__ import annotations

from storagekit.core.errors import InputError
from storagekit.workload.reuse import hit_rates
from storagekit.workload.synthetic.compared import Compared
from storagekit.workload.synthetic.popular.model import BLOCK, PopularTraceModel
from storagekit.workload.trace import RequestTrace

__all__ = ["compare"]


def compare(model: PopularTraceModel, trace: RequestTrace) -> dict[str, Compared]:
    """Every published figure by its name in `PopularTraceModel.targets`, in SI, beside that of a whole generated trace.

    The hit rate is that of an exact LRU cache, the central one at the model's scale, and knows nothing of the formula
    by which the popularity was fitted. Raises InputError for a trace without reads.
    """
    if not trace.read.any():
        raise InputError(f"{trace.source.name} holds no read here; choose a wider window")
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
