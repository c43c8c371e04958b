"""Recovery of delayed writes after a crash: the table in stable memory, and the copies that it requires (srarray,
section 3.4).
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Int, UInt32

from storagekit.core.kinds import ADDRESS, COUNT, a, takes
from storagekit.placement import MOST_PARTS


class Pending(NamedTuple):
    """Metadata table of delayed writes (srarray, section 3.4): one row for each write, oldest first.

    number: its request. start, stop: its sectors, without stop. home: drive of its part 0. current: mask of the replicas
    that hold it or newer data. left: mask of the replicas still to be written, bit part * D_r + replica. order: rank of its
    first copy; 0 while that is in progress, when `left` is the replica that it writes and `current` is empty. These rows
    come last.

    Recovery needs nothing else, see `recovery`.
    """

    number: Int[np.ndarray, "write"]
    start: Int[np.ndarray, "write"]
    stop: Int[np.ndarray, "write"]
    home: Int[np.ndarray, "write"]
    current: UInt32[np.ndarray, "write"]
    left: UInt32[np.ndarray, "write"]
    order: Int[np.ndarray, "write"]


class Recovery(NamedTuple):
    """Recovery of a sector: from the replica `source` to those in the mask `left`, bit part * D_r + replica."""

    source: int
    left: int


@takes(
    table=a(Pending, "what a crash leaves, as the `pending` of a run"), sector=ADDRESS, replicas=COUNT.up_to(MOST_PARTS)
)
def recovery(table: Pending, sector: int, replicas: int) -> Recovery:
    """Return how a sector with `replicas` is recovered after a crash, given only the table (srarray, section 3.4).

    It is copied from a replica that is current in its last row with an order (any if there is no such row), without a first
    copy in progress if there is one, to all replicas that are left in any row.
    """
    rows_of = np.flatnonzero((table.start <= sector) & (table.stop > sector))
    settled = rows_of[table.order[rows_of] > 0]
    current = int(table.current[settled[-1]]) if settled.size else 2**replicas - 1

    def left(some: np.ndarray) -> int:
        return int(np.bitwise_or.reduce(table.left[some], initial=np.uint32(0)))

    sources = current & ~left(rows_of[table.order[rows_of] == 0]) or current
    return Recovery((sources & -sources).bit_length() - 1, left(rows_of))
