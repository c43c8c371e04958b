"""Properties of a system, from which its components decide whether they fit."""

from typing import NamedTuple

import equinox as eqx


class SystemFacts(NamedTuple):
    """Properties of a system, from which each of its components decides whether it fits.

    A component raises InputError in `check(facts)` if it does not fit. If the runs of a batch differ, every number is
    the maximum over the runs, except `spare`, which is the minimum.

    Parameters
    ----------
    layout, policy, arbitration : str
        Class names of the placement, the write policy and the arbitration, for messages.
    drives, bricks, brick_drives : int
        Number of drives that the placement uses, number of bricks, and largest number of drives of a brick.
    needed, replicas : int
        Number of parts that a read needs, and number of replicas of a part on its drive.
    spare : int
        Number of bricks that may be down simultaneously in a simulation of the placement.
    is_replicated : bool
        Whether parts are copies of one another.
    fragments : bool
        Whether a read may need several parts.
    rewrites : bool
        Whether one access reads a part and then writes it, or writes several replicas. Only drives with a buffer need
        this fact; for other drives it is False.
    reads_before_writes : bool
        Whether a write may have to read parts, in accesses of their own, before it writes.
    competes : bool
        Whether drives compete for a request.
    lead_time : float
        Lead time of the arbitration, seconds: a drive chooses its next access at most this long before its current
        access ends.
    withdraws : bool
        Whether parts are withdrawn because other parts of the request are served.
    withdraws_late : bool
        Whether parts may be withdrawn at the completion of the request.
    delays : bool
        Whether the write policy may delay parts of a write.
    stops : bool
        Whether bricks may stop.
    varies : bool
        Whether bricks may stop or be slower.
    """

    layout: str = ""
    policy: str = ""
    arbitration: str = ""
    drives: int = 1
    bricks: int = 1
    brick_drives: int = 1
    needed: int = 1
    replicas: int = 1
    spare: int = 0
    is_replicated: bool = True
    fragments: bool = False
    rewrites: bool = False
    reads_before_writes: bool = False
    competes: bool = False
    lead_time: float = 0.0
    withdraws: bool = False
    withdraws_late: bool = False
    delays: bool = False
    stops: bool = False
    varies: bool = False


class SystemPart(eqx.Module):
    """Base class of everything that a system consists of: drives, placements and components."""

    def check(self, facts: SystemFacts) -> None:
        """Raise InputError if this part does not fit a system. By default every part fits.

        Parameters
        ----------
        facts : SystemFacts
            Properties of the system.

        Raises
        ------
        InputError
            If the part does not fit.
        """
