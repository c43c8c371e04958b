"""Generate and compare synthetic traces from a model of either family."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from storagekit.core.errors import InputError
from storagekit.core.validation import shown, validate
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
    """Return `value` if it is a model of either family; raise InputError otherwise."""
    if not isinstance(value, SeekingTraceModel | PopularTraceModel):
        raise InputError(
            f"synthetic trace {shown(value)}: give a model of either family, such as FINANCIAL or CELLO_BASE"
        )
    return value


@validate
def generate(
    model: Annotated[TraceModel, _family], *, seed: int | np.integer, start: float = 0.0, stop: float | None = None
) -> RequestTrace:
    """Generate the requests of a window of a synthetic trace.

    Parameters
    ----------
    model : TraceModel
        A model of either family.
    seed : int
        Seed, from 0 to 2**64 - 1.
    start : float
        Start of the window, s; by default 0. Times in the result are relative to `start`.
    stop : float, optional
        End of the window, s, exclusive; by default the end of the trace.

    Returns
    -------
    RequestTrace
        The requests with start <= time < stop.

    Raises
    ------
    InputError
        If start and stop are not in order within the trace, the seed is not a whole number from 0 to 2**64 - 1, or no
        popularity gives the published hit rate.

    Notes
    -----
    A window contains the same requests as the corresponding part of the whole trace. A trace consists of blocks. Each
    block has a separate counter-based generator, whose key is the seed and the number of the block. See
    `seeking.generate` and `popular.generate` for each family.

    Examples
    --------
    >>> from storagekit.workload.synthetic import FINANCIAL
    >>> len(generate(FINANCIAL.scaled(1 / 64), seed=0, stop=10.0))
    1222
    """
    if isinstance(model, SeekingTraceModel):
        return seeking.generate(model, seed=seed, start=start, stop=stop)
    return popular.generate(model, seed=seed, start=start, stop=stop)


@validate
def compare(model: Annotated[TraceModel, _family], trace: Annotated[RequestTrace, TRACE]) -> dict[str, Compared]:
    """Compare a whole generated trace with every published value of its model.

    Parameters
    ----------
    model : TraceModel
        A model of either family.
    trace : RequestTrace
        A trace that was generated from the model.

    Returns
    -------
    dict of str to Compared
        Target and measured value in SI units, by name, as in `targets`.

    Raises
    ------
    InputError
        If the trace has no requests, or has no reads although a hit rate is compared.

    Notes
    -----
    See `seeking.compare` and `popular.compare` for the measurement in each family.
    """
    if isinstance(model, SeekingTraceModel):
        return seeking.compare(model, trace)
    return popular.compare(model, trace)
