"""What a component needs to know of the system that it becomes part of, to decide whether it fits."""

from typing import NamedTuple


class SystemFacts(NamedTuple):
    """Properties of a system, from which each of its components decides whether it fits.

    A component raises InputError in `check(facts)` if it does not fit. With several runs a number is the largest of them,
    and `spare` the smallest.

    Parameters
    ----------
    layout, policy, arbitration : str
        Class names of the placement, the write policy and the arbitration, for messages.
    drives, bricks, brick_drives : int
        Number of drives that the placement uses, number of bricks, and largest number of drives of a brick.
    needed, replicas : int
        Parts that a read needs, and replicas of a part on its drive.
    spare : int
        Number of bricks that the placement can lose at once.
    alike, fragments : bool
        Whether parts are copies of one another, and whether a read may need several parts.
    rewrites : bool
        Whether writes come after a read, or to several replicas.
    competes, lead : bool, float
        Whether drives compete for a request, and the time between a choice and the end of the present access, seconds.
    withdraws, withdraws_late : bool
        Whether parts are withdrawn because others are served, and whether they may be withdrawn at completion.
    delays, over_when_answered : bool
        Whether writes may leave parts for later, and whether they leave all queues at completion.
    stops, varies : bool
        Whether bricks may stop, and whether they may stop or be slower.
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
    alike: bool = True
    fragments: bool = False
    rewrites: bool = False
    competes: bool = False
    lead: float = 0.0
    withdraws: bool = False
    withdraws_late: bool = False
    delays: bool = False
    over_when_answered: bool = False
    stops: bool = False
    varies: bool = False
