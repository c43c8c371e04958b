"""The assumptions of an answer, as sentences."""

import numpy as np

from storagekit.analytic.array.costs import Load
from storagekit.analytic.array.elevator import Scheduler
from storagekit.analytic.array.kinds import Population
from storagekit.core.units import MS

# completes a sentence about outstanding requests
RANDOM_DISKS = "at random disks, so that some disks are idle and others have more requests"


def layout_assumptions(array: Population, load: Load, scheduler: Scheduler) -> tuple[str, ...]:
    """Return the assumptions of a ranking of layouts."""
    lines = [
        *common_assumptions(array, load),
        "latency: requests arrive one at a time, every seek is random, and all heads of a mirror are idle",
        f"throughput: {float(np.asarray(load.queue)):g} requests for each disk are outstanding, {RANDOM_DISKS}",
        f"throughput: {scheduler.name}: {scheduler.assumption}",
    ]
    if len(array.kinds) > 1:
        lines += [
            "the data is distributed so that all drives are equally busy; predictions are weighted with the drives' "
            "shares of the requests",
            "the disks of one mirror are of the same kind; the optimum before rounding assumes equal shares",
        ]
    return tuple(lines)


def common_assumptions(array: Population, load: Load) -> tuple[str, ...]:
    """Return the assumptions about seeks, rotation and copies."""
    settle = max(float(np.max(kind.spindle.write_settle)) for kind in array.kinds)
    overhead = ", ".join(f"{float(np.asarray(kind.spindle.overhead)) / MS:g}" for kind in array.kinds)
    background = float(np.asarray(load.background))
    lines = [
        f"the overhead of an access is {overhead} ms, including the transfer",
        *dict.fromkeys(kind.spindle.assumption for kind in array.kinds),
        "addresses are uniform over the data, which occupies consecutive cylinders from the edge of each disk",
        "replicas are at even angles on one cylinder; the disks of a mirror rotate independently",
        "the seek distances of a mirror's heads are independent; in truth, the shorter of two distances is 4% longer",
        f"{background:.0%} of the writes propagate their copies in idle time, at no cost",
        f"{1 - background:.0%} of the writes write all copies before they complete: up to a revolution for the replicas on "
        "one disk, and an access on each disk of a mirror",
    ]
    if settle > 0:
        lines.append(f"the head settles for {settle / MS:g} ms before each write")
    return tuple(lines)
