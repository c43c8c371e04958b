"""Predictions for disks, for SSDs, and for disks behind a cache of SSDs."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from storagekit.analytic.array.elevator import RLOOK, Scheduler
from storagekit.analytic.array.positioning import Curve, Linear, spindle
from storagekit.drive import SSD, Drive
from storagekit.plan.cached import behind_ssds, needs_behind
from storagekit.plan.networking import with_network
from storagekit.plan.predicting import predict_disks
from storagekit.plan.prediction import Prediction
from storagekit.plan.requirements import Requirements
from storagekit.plan.scheme import Scheme
from storagekit.plan.ssd_schemes import predict_ssds


def timing_of(drive: Drive | SSD) -> Curve | Linear | None:
    """Return the `spindle` of a disk; None for an SSD."""
    return None if isinstance(drive, SSD) else spindle(drive)


def predict(
    needs: Requirements, timing: Curve | Linear | None, schemes: Sequence[Scheme], scheduler: Scheduler, disks: int
) -> list[Prediction]:
    """Return the predictions of schemes that fit. If a scheme has fewer than `disks` disks, the other disks are spares.

    timing: `timing_of` the drive. scheduler: scheduler of the disks, used with outstanding requests.
    """
    if timing is not None and needs.cache is not None:
        # hits do not use the links of the nodes
        behind = needs_behind(needs)
        return behind_ssds(needs, behind, timing, predict(behind, timing, schemes, scheduler, disks))
    found = predict_ssds(needs, schemes) if timing is None else predict_disks(needs, timing, schemes, scheduler)
    price = np.nan if needs.price is None else needs.price * disks
    return [replace(with_network(needs, one), spare=disks - one.scheme.disks, cost=price) for one in found]


def predict_again(needs: Requirements, one: Prediction, scheduler: Scheduler | None = None) -> Prediction:
    """Return the prediction of the same scheme for other requirements.

    scheduler: scheduler of the disks, for outstanding requests; by default RLOOK.
    """
    disks = one.scheme.disks + one.spare
    (found,) = predict(needs, timing_of(needs.drive), [one.scheme], scheduler or RLOOK(), disks)
    return found
