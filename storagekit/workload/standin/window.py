"""The part of a stand-in's trace that is asked for."""

from __future__ import annotations

import numpy as np

from storagekit.errors import InputError

__all__ = ["checked_end"]


def checked_end(name: str, duration: float, seed: int | np.integer, start: float, stop: float | None) -> float:
    """Where a window of a trace ends, s: `stop`, or the end of the trace.

    Raises InputError where start and stop are not in order within the duration, or the seed is none.
    """
    stop = duration if stop is None else stop
    if not 0 <= start < stop <= duration:
        raise InputError(
            f"window from {start:g} s to {stop:g} s: must be in order and within the {duration:g} s of {name}"
        )
    if not (isinstance(seed, int | np.integer) and 0 <= seed < 2**64):
        raise InputError(f"seed {seed!r}: must be a whole number from 0 to 2**64 - 1")
    return stop
