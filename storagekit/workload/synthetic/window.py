"""The part of a stand-in's trace that is asked for."""

from __future__ import annotations

import numpy as np

from storagekit.core.errors import InputError
from storagekit.core.kinds import SEED, Kind

__all__ = ["checked_end"]


def checked_end(name: str, duration: float, seed: int | np.integer, start: float, stop: float | None) -> float:
    """Where a window of a trace ends, s: `stop`, or the end of the trace.

    Raises InputError where start and stop are not in order within the duration, or the seed is none.
    """
    SEED("seed", seed)
    moment = Kind(unit="s", endless=True)
    end: float = duration if stop is None else moment("stop", stop)
    moment("start", start)
    if not 0 <= start < end <= duration:
        raise InputError(
            f"window from {start:g} s to {end:g} s: must be in order and within the {duration:g} s of {name}"
        )
    return end
