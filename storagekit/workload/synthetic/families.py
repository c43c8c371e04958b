"""What can be asked of a stand-in of either family: a trace, and how near that is to what was published."""

from __future__ import annotations

import numpy as np

from storagekit.core.checks import shown
from storagekit.core.errors import InputError
from storagekit.core.kinds import takes
from storagekit.workload.synthetic import popular, seeking
from storagekit.workload.synthetic.compared import Compared
from storagekit.workload.synthetic.popular import PopularTraceModel
from storagekit.workload.synthetic.seeking import SeekingTraceModel
from storagekit.workload.trace import RequestTrace
from storagekit.workload.trace.records import TRACE

__all__ = ["TraceModel", "compare", "generate"]

TraceModel = SeekingTraceModel | PopularTraceModel
"""A model of a trace that is not public, of either family."""


def _family(label: str, value: object) -> object:
    """The value. Raises InputError unless it is a model of either family."""
    if not isinstance(value, SeekingTraceModel | PopularTraceModel):
        raise InputError(f"stand-in {shown(value)}: give a model of either family, such as FINANCIAL or CELLO_BASE")
    return value


@takes(model=_family)
def generate(
    model: TraceModel, *, seed: int | np.integer, start: float = 0.0, stop: float | None = None
) -> RequestTrace:
    """Requests with start <= time < stop (s, the end by default); their time counts from `start`.

    They are the same requests as that part of the whole: a trace is made of blocks, each with its own counter-based
    generator, keyed by seed and block. How each family does it: `seeking.generate`, `popular.generate`.

    Raises InputError where start and stop are not in order within the trace, the seed is not a whole number from 0 to
    2**64 - 1, or nothing gives the published hit rate.

    >>> from storagekit.workload.synthetic import FINANCIAL
    >>> len(generate(FINANCIAL.scaled(1 / 64), seed=0, stop=10.0))
    1222
    """
    if isinstance(model, SeekingTraceModel):
        return seeking.generate(model, seed=seed, start=start, stop=stop)
    return popular.generate(model, seed=seed, start=start, stop=stop)


@takes(model=_family, trace=TRACE)
def compare(model: TraceModel, trace: RequestTrace) -> dict[str, Compared]:
    """Every published figure of a model, by its name in `targets` and in SI, beside that of a whole generated trace.

    How each family measures: `seeking.compare`, `popular.compare`. Raises InputError for a trace without requests, or
    without reads where a hit rate is to be compared.
    """
    if isinstance(model, SeekingTraceModel):
        return seeking.compare(model, trace)
    return popular.compare(model, trace)
