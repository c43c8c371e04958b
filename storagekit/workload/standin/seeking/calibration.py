"""How often a stand-in's requests jump and re-read, so that its locality and its read after write come out."""

from __future__ import annotations

import math

import numpy as np

from storagekit.errors import InputError
from storagekit.workload.standin.seeking.blocks import joined
from storagekit.workload.standin.seeking.mixture import Mixture
from storagekit.workload.standin.seeking.model import SeekingStandIn
from storagekit.workload.trace.locality import read_after_write_share, seek_locality

__all__ = ["calibrate"]

LONG_MOVES = 60_000
"""Of a pilot, about: their mean length, which is most of L, is then known to 0.3%."""
MOST = 4_000_000
"""Requests of a pilot."""
DAY = 24
"""Blocks of a pilot, at least: in the first hour of a trace there is less to re-read."""
SEED = 2**63
"""Of the first pilot: far from the seeds people choose, so that what is measured is not what was fitted."""
ROUNDS = 20


def calibrate(model: SeekingStandIn, tolerance: float = 0.002) -> Mixture:
    """The mixture that gives the model's locality and read after write, measured on a pilot of the trace itself.

    Measured and not computed, since short moves and jumps also read by accident what was lately written, and the more the
    higher the rate. Each round corrects the share of long moves of either kind, and that of the reads which re-read,

        long += (1/L* - 1/L) / (1 - 3 near),  reread += (share* - share) / (read share - accidental share)

    until both are within `tolerance` of their targets, or one request. Pilots have fixed seeds: the result is always the
    same. Raises InputError where no mixture does it.
    """
    far = 1 - 3 * model.near_distance
    long = (1 / model.locality - 1 + far) / far
    jump, reread, accidental = float(np.clip(long, 0, 1)), 0.0, None
    nearness, share = math.nan, math.nan
    for _ in range(ROUNDS):
        mixture = Mixture(jump, reread)
        nearness, share = _pilot(model, mixture)
        close = abs(nearness * model.locality - 1) <= tolerance
        if close and abs(share - model.read_after_write) <= max(tolerance * model.read_after_write, 1 / model.requests):
            return mixture
        accidental = share if accidental is None else accidental
        if accidental < model.read_share:
            missing = (model.read_after_write - share) / (model.read_share - accidental)
            reread = float(np.clip(reread + missing, 0, 1))
        long += (1 / model.locality - nearness) / far
        again = reread * model.read_share
        jump = float(np.clip((long - again) / (1 - again), 0, 1)) if again < 1 else 0.0
    raise InputError(
        f"{model.name}: locality {1 / nearness if nearness else math.inf:.4g} and read after write {share:.4g} are as "
        f"near as a mixture comes to {model.locality:g} and {model.read_after_write:g}; change the near distance "
        f"({model.near_distance:g}) or the request size ({model.request_size} B)"
    )


def _pilot(model: SeekingStandIn, mixture: Mixture) -> tuple[float, float]:
    """1/L and read after write, means over as many pilots as make `LONG_MOVES`."""
    wanted = min(LONG_MOVES * model.locality, MOST)
    blocks = max(DAY, math.ceil(wanted / model.requests * model.blocks))
    stop = None if blocks >= model.blocks else blocks * (model.duration / model.blocks)
    count = min(64, math.ceil(wanted / model.requests))
    traces = (joined(model, mixture, SEED + number, 0.0, stop) for number in range(count))
    capacity = {model.name: model.places * model.request_size}
    found = [(1 / (seek_locality(trace, capacity) or math.inf), read_after_write_share(trace)) for trace in traces]
    nearness, share = np.mean(found, axis=0)
    return float(nearness), float(share)
