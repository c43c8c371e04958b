"""A trace of a stand-in known by its seeks."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from storagekit.workload.standin.seeking.blocks import joined
from storagekit.workload.standin.seeking.calibration import calibrate
from storagekit.workload.standin.seeking.model import SeekingStandIn
from storagekit.workload.trace import RequestTrace

__all__ = ["generate"]

_calibrated = lru_cache(maxsize=64)(calibrate)


def generate(
    model: SeekingStandIn, *, seed: int | np.integer, start: float = 0.0, stop: float | None = None
) -> RequestTrace:
    """Requests with start <= time < stop (s, the end by default); their time counts from `start`.

    They are the same requests as that part of the whole: each block of at most an hour has its own counter-based
    generator, keyed by seed and block. At the head of a block the first request jumps, and only what the block itself
    has written is re-read on purpose. They jump and re-read as the model's mixture says; for a model without one, as
    that says which `calibrate` finds: it takes seconds, once.

    Raises InputError where start and stop are not in order within the trace, the seed is not a whole number from 0 to
    2**64 - 1, or no mixture gives the published figures.
    """
    return joined(model, model.mixture or _calibrated(model), seed, start, stop)
