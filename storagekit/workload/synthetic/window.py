"""Validate the window of a synthetic trace."""

from __future__ import annotations

import numpy as np

from storagekit.core.errors import InputError
from storagekit.core.validation import SEED, Validator

__all__ = ["checked_end"]


def checked_end(name: str, duration: float, seed: int | np.integer, start: float, stop: float | None) -> float:
    """Return the end of a window of a trace, in seconds: `stop`, or the end of the trace.

    Parameters
    ----------
    name : str
        Name of the trace, for messages.
    duration : float
        Length of the trace, s.
    seed : int
        Seed, from 0 to 2**64 - 1.
    start : float
        Start of the window, s.
    stop : float or None
        End of the window, s; None for the end of the trace.

    Returns
    -------
    float
        The end of the window, s.

    Raises
    ------
    InputError
        If start and stop are not in order within the duration, or the seed is out of range.
    """
    SEED("seed", seed)
    time = Validator(unit="s", endless=True)
    end: float = duration if stop is None else time("stop", stop)
    time("start", start)
    if not 0 <= start < end <= duration:
        raise InputError(
            f"window from {start:g} s to {end:g} s: the start must be before the end, and both must be within the "
            f"{duration:g} s of {name}"
        )
    return end
