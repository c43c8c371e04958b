"""Recovery of delayed writes after a crash: the table in stable memory, and the copy operations that restore the data.

References
----------
srarray, section 3.4.
"""

from typing import Annotated, NamedTuple

import numpy as np
from jaxtyping import Int, UInt32

from storagekit.core.validation import COUNT, Address, instance_of, validate
from storagekit.placement import MOST_PARTS


class Pending(NamedTuple):
    """Metadata table of delayed writes: one row for each write, oldest first.

    Recovery needs only this table; see `recovery`.

    Parameters
    ----------
    number : ndarray of int, shape [write]
        Number of the request.
    start, stop : ndarray of int, shape [write]
        First sector of the write, and the sector after its last sector.
    home : ndarray of int, shape [write]
        Drive of part 0 of the write.
    current : ndarray of uint32, shape [write]
        Mask of the replicas that contain the data of the write, or newer data.
    left : ndarray of uint32, shape [write]
        Mask of the replicas still to be written, bit part * D_r + replica.
    order : ndarray of int, shape [write]
        Rank of the first copy of this write among all first copies. The rank is 0 while the first copy is in progress;
        `left` then contains only the replica that is being written, and `current` is empty. Rows with rank 0 are last.

    References
    ----------
    srarray, section 3.4.
    """

    number: Int[np.ndarray, "write"]
    start: Int[np.ndarray, "write"]
    stop: Int[np.ndarray, "write"]
    home: Int[np.ndarray, "write"]
    current: UInt32[np.ndarray, "write"]
    left: UInt32[np.ndarray, "write"]
    order: Int[np.ndarray, "write"]


class Recovery(NamedTuple):
    """Recovery of a sector: the source and the destinations of the copy operation that restores the sector.

    Parameters
    ----------
    source : int
        Number of the replica from which the data is copied.
    left : int
        Mask of the replicas to which the data is copied, bit part * D_r + replica.
    """

    source: int
    left: int


@validate
def recovery(
    table: Annotated[Pending, instance_of(Pending, "the result of sk.simulation.pending(state, placement)")],
    sector: Address,
    replicas: Annotated[int, COUNT.up_to(MOST_PARTS)],
) -> Recovery:
    """Return the copy operation that restores a sector after a crash. Only the metadata table is needed.

    Parameters
    ----------
    table : Pending
        The metadata table.
    sector : int
        Address of the sector.
    replicas : int
        Number of replicas of the sector.

    Returns
    -------
    Recovery
        The source and the destinations.

    Raises
    ------
    InputError
        If an argument is out of range.

    Notes
    -----
    Consider the rows of the table that contain the sector. The source is a replica that is current in the last of these
    rows with an order above 0. If there is no such row, any replica is the source, but a replica without a first copy
    in progress is preferred. The destinations are all replicas that are still to be written in any of these rows.

    References
    ----------
    srarray, section 3.4.
    """
    rows_of = np.flatnonzero((table.start <= sector) & (table.stop > sector))
    settled = rows_of[table.order[rows_of] > 0]
    current = int(table.current[settled[-1]]) if settled.size else 2**replicas - 1

    def left(some: np.ndarray) -> int:
        return int(np.bitwise_or.reduce(table.left[some], initial=np.uint32(0)))

    sources = current & ~left(rows_of[table.order[rows_of] == 0]) or current
    return Recovery((sources & -sources).bit_length() - 1, left(rows_of))
