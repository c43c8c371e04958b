"""The assumptions of an answer, as sentences."""

import numpy as np

from storagekit.analytic.array.costs import Load
from storagekit.analytic.array.elevator import Scheduler
from storagekit.analytic.array.kinds import Population
from storagekit.core.units import MS


def layout_assumptions(array: Population, load: Load, scheduler: Scheduler) -> tuple[str, ...]:
    """Return the assumptions of a ranking of layouts."""
    lines = [
        *common_assumptions(array, load),
        "latency: requests come one at a time, each seek is a random one, all heads of a mirror are there to choose from",
        f"throughput: {float(np.asarray(load.queue)):g} requests for each disk, at disks chosen at random, which leaves "
        "some idle and crowds others",
        f"throughput: {scheduler.name}: {scheduler.assumption}",
    ]
    if len(array.kinds) > 1:
        lines += [
            "data is spread over the different drives so that all are equally busy; figures are weighted by these shares",
            "the disks of one mirror are of the same kind; the optimum before whole numbers has equal shares",
        ]
    return tuple(lines)


def common_assumptions(array: Population, load: Load) -> tuple[str, ...]:
    """Return the assumptions about seeks, rotation and copies."""
    settle = max(float(np.max(kind.spindle.write_settle)) for kind in array.kinds)
    overhead = ", ".join(f"{float(np.asarray(kind.spindle.overhead)) / MS:g}" for kind in array.kinds)
    background = float(np.asarray(load.background))
    lines = [
        f"the overhead of an access, transfer included, is {overhead} ms",
        *dict.fromkeys(kind.spindle.assumption for kind in array.kinds),
        "addresses are uniform over the data, which lies together at the edge of each disk",
        "replicas stand at even angles of one cylinder; the platters of a mirror turn independently",
        "the distances of a mirror's heads are independent: two heads seek 4% further than that",
        f"{background:.0%} of the writes propagate their copies in idle time and at no cost",
        f"{1 - background:.0%} of them write all copies at once: up to a revolution for the replicas of one disk, and an "
        "access on each disk of a mirror",
    ]
    if settle > 0:
        lines.append(f"each write settles for {settle / MS:g} ms")
    return tuple(lines)
