"""What a crash leaves of delayed writes: the table in stable memory, and what is copied from where (srarray, section 3.4)."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Int, UInt32

from storagekit.kinds import ADDRESS, COUNT, a, takes
from storagekit.placement import MOST_PARTS


class Pending(NamedTuple):
    """What the metadata table of delayed writes holds (srarray, section 3.4): one row for each write, oldest first.

    number: which request. start, stop: its sectors, stop excluded. home: the drive of its part 0. current: the replicas
    that hold it or newer data, left: those still to be written, one bit each, part * D_r + replica. order: the rank of
    its first copy; 0 where that is under way, left the replica it goes to and current none. These come last.

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
    """How a sector is recovered: from the replica `source`, to those in `left`, one bit each, part * D_r + replica."""

    source: int
    left: int


@takes(
    table=a(Pending, "what a crash leaves, as the `pending` of a run"), sector=ADDRESS, replicas=COUNT.up_to(MOST_PARTS)
)
def recovery(table: Pending, sector: int, replicas: int) -> Recovery:
    """What a crash makes of a sector of which there are `replicas`, the table alone being left (srarray, section 3.4).

    It is copied from a replica that is current in its last row with an order (any where no row has one), one with no first
    copy under way if there is such, to all that are left in any row.
    """
    rows_of = np.flatnonzero((table.start <= sector) & (table.stop > sector))
    settled = rows_of[table.order[rows_of] > 0]
    current = int(table.current[settled[-1]]) if settled.size else 2**replicas - 1

    def left(some: np.ndarray) -> int:
        return int(np.bitwise_or.reduce(table.left[some], initial=np.uint32(0)))

    sources = current & ~left(rows_of[table.order[rows_of] == 0]) or current
    return Recovery((sources & -sources).bit_length() - 1, left(rows_of))
