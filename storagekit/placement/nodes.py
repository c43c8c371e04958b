"""Nodes of unequal disks, and the layout of the segments of logical volumes on them."""

from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from typing import Annotated, Any

import numpy as np
from jaxtyping import Int

from storagekit.core.batching import MOST_ADDRESS, MOST_WHOLE
from storagekit.core.errors import InputError
from storagekit.core.validation import COUNT, MOST_BITS, SECTORS, flag, instance_of, require, several, validate
from storagekit.placement.striped import UNIT

# Maximum number of segments: a table has a column for each.
MOST_SEGMENTS = 2**22


def _set(instance: Any, **fields: Any) -> None:
    """Set fields of a frozen dataclass during its construction."""
    for name, value in fields.items():
        object.__setattr__(instance, name, value)


def require_segments(count: int) -> None:
    """Raise InputError for more segments than the layout supports."""
    require(count <= MOST_SEGMENTS, "volumes of", count, f"at most {MOST_SEGMENTS}: make segments larger", "segments")


@dataclass(frozen=True)
class Node:
    """A server whose disks are independent or form one RAID 5 (left-symmetric, stripe units of 64 KB).

    Parameters
    ----------
    disks : int
        Number of disks, at least 1; at least 3 for RAID 5. The disks of a RAID 5 are of one model.
    raid5 : bool
        Whether the disks form one RAID 5.
    sectors : int, optional
        Number of sectors of each disk that are used, by default all sectors of the smallest disk.
    serial : bool
        Whether the node serves one request at a time, even if it has several disks (ars, section 5).

    Raises
    ------
    InputError
        If a number is out of range.

    Notes
    -----
    A serial node is simulated as one drive of the same kind. In a real node every disk has its own arm, and before an
    access this arm is where the last access of that disk ended. The simulated drive has one arm for all disks, which is
    where the last access of any disk ended. If addresses are independent and uniform over the disks, both positions are
    independent of the target and have the same distribution. One arm can then represent all disks, provided that the
    choice of requests does not depend on positions. If the choice depends on positions (bids, shortest access first),
    all candidates of a node share one arm, and the model is an approximation.

    A write on a serial RAID 5 takes one revolution more, as on any RAID 5. The disk with the parity works at the same
    time and is assumed to take no longer.
    """

    disks: int
    raid5: bool = False
    sectors: int | None = None
    serial: bool = False

    def __post_init__(self):
        _set(self, disks=COUNT("disks of a node", self.disks), raid5=flag("raid5", self.raid5))
        _set(self, serial=flag("serial", self.serial))
        if self.raid5 and self.disks < 3:
            raise InputError(f"RAID 5 of {self.disks} drives: give at least 3 drives, or mirror two drives")
        if self.sectors is not None:
            _set(self, sectors=SECTORS("sectors of a node's disk", self.sectors))

    @property
    def drives(self) -> int:
        """Return the number of drives in the model: the disks, or 1 for a serial node."""
        return 1 if self.serial else self.disks

    @property
    def spaces(self) -> int:
        """Return the number of separate spaces for data: one for each disk, or one for a whole RAID 5."""
        return 1 if self.raid5 else self.disks

    @property
    def room(self) -> int:
        """Return the size of each space for data, in sectors; valid only if `sectors` is given."""
        sectors = self.sectors or 0
        # The last unit of each drive stays free, so that the last request fits.
        return (self.disks - 1) * (sectors // UNIT - 1) * UNIT if self.raid5 else sectors


@dataclass(frozen=True)
class Volume:
    """A logical volume (ars, Table II): every segment of it has `parts` parts on different nodes.

    Parameters
    ----------
    sectors : int
        Number of sectors of data, a multiple of `block`.
    segment : int
        Number of sectors of a segment, a multiple of `block` and of `needed`. The last segment may have fewer sectors,
        but it takes the space of a whole segment.
    parts : int
        Number of parts of a segment, at least 1. The parts are copies, or fragments of an m-of-n code, each 1/m of a
        segment.
    needed : int
        Number of parts that restore the data, at most `parts`: 1 for copies (default), m for a code.
    block : int
        Length of a block, sectors, by default 64 KB.

    Raises
    ------
    InputError
        If a number is out of range, or a size is not a multiple as stated above.
    """

    sectors: int
    segment: int
    parts: int
    needed: int = 1
    block: int = UNIT

    def __post_init__(self):
        sectors = {"sectors": "a volume", "segment": "a segment", "block": "a block"}
        _set(self, **{name: SECTORS(f"sectors of {of}", getattr(self, name)) for name, of in sectors.items()})
        _set(self, parts=COUNT("parts of a segment", self.parts))
        _set(self, needed=COUNT("parts needed to read", self.needed))
        if self.needed > self.parts:
            raise InputError(
                f"a read that needs {self.needed} of {self.parts} parts: give at most {self.parts} as `needed`"
            )
        for what, size in (("segment", self.segment), ("volume", self.sectors)):
            if size % self.block:
                raise InputError(
                    f"a {what} of {size} sectors in blocks of {self.block} sectors: give a multiple of the block size"
                )
        if self.segment % self.needed:
            raise InputError(
                f"a segment of {self.segment} sectors cannot be divided into {self.needed} equal data fragments; give "
                f"a segment size that is a multiple of {self.needed} sectors"
            )
        require_segments(self.segments)

    @property
    def segments(self) -> int:
        """Return the number of segments."""
        return -(-self.sectors // self.segment)

    @property
    def part(self) -> int:
        """Return the number of sectors of a part of a segment."""
        return self.segment // self.needed


class _Filling:
    """The used space of a node."""

    def __init__(self, node: Node, wraps: bool):
        self.room, self.wraps = node.room, wraps
        self.full = [0] * node.spaces
        self.next = 0

    def fits(self, size: int) -> bool:
        """Return whether the node has space for another part."""
        return size <= self.room if self.wraps else self.full[self.next] + size <= self.room

    def put(self, size: int) -> tuple[int, int]:
        """Add a part. Return the number of the space that holds the part, and the first sector of the part in it."""
        space = self.next
        begin = self.full[space] if self.full[space] + size <= self.room else 0
        self.full[space], self.next = begin + size, (space + 1) % len(self.full)
        return space, begin


@validate
def laid_out(
    nodes: Annotated[tuple[Node, ...], several(instance_of(Node), 1, "nodes")],
    volumes: Annotated[tuple[Volume, ...], several(instance_of(Volume), 1, "volumes")],
    wraps: bool,
    spread: bool = False,
) -> Int[np.ndarray, "field segment"]:
    """Return the locations of the parts of every segment, for one volume after the other.

    Parameters
    ----------
    nodes : tuple of Node
        The nodes. Their `sectors` must be given.
    volumes : tuple of Volume
        The volumes.
    wraps : bool
        Whether the placement on a full disk continues at its first sector.
    spread : bool
        Whether the parts on a disk are spread evenly over the whole disk; otherwise they lie at its start.

    Returns
    -------
    ndarray of int32 or int64, shape `[3 * parts, segments]`
        Three rows for each part: its drive, its first sector on this drive, and 0. On a RAID 5 that is not serial, the
        rows are the first drive, the first sector of the data, and the number of drives. A missing part has a drive
        number above the number of the last drive. The type is int64 if a part ends above sector 2^31 - 1.

    Raises
    ------
    InputError
        If a segment has more parts than there are nodes with space, a part does not fit one disk of a serial node, or a
        node has 2^52 sectors or more.
    """
    require_segments(sum(volume.segments for volume in volumes))
    return _laid_out(nodes, volumes, wraps, spread)


@cache
def _laid_out(
    nodes: tuple[Node, ...], volumes: tuple[Volume, ...], wraps: bool, spread: bool
) -> Int[np.ndarray, "field segment"]:
    for at, node in enumerate(nodes):
        if node.room >= MOST_ADDRESS:
            raise InputError(
                f"node {at} has {node.room} sectors of data: use fewer disks, or limit their `sectors`, so that a node "
                f"has at most {MOST_ADDRESS - 1} sectors"
            )
    firsts = [*accumulate((node.drives for node in nodes), initial=0)]
    fillings = [_Filling(node, wraps) for node in nodes]
    columns = [*accumulate((volume.segments for volume in volumes), initial=0)]
    table = np.zeros((3 * max(volume.parts for volume in volumes), columns[-1]), np.int64)
    table[::3] = firsts[-1]
    # Volumes with the most parts are placed first, before other volumes have filled the nodes.
    for number in sorted(range(len(volumes)), key=lambda number: -volumes[number].parts):
        volume = volumes[number]
        for segment, order in enumerate(_orders(number, volume.segments, nodes)):
            on = [node for node in order if fillings[node].fits(volume.part)][: volume.parts]
            if len(on) < volume.parts:
                raise _full(number, segment, volume, fillings)
            for part, node in enumerate(sorted(on)):
                space, begin = fillings[node].put(volume.part)
                raid = nodes[node].raid5 and not nodes[node].serial
                first = raid or nodes[node].serial
                fields = firsts[node] + (0 if first else space), begin, nodes[node].disks if raid else 0
                table[3 * part : 3 * part + 3, columns[number] + segment] = fields
    sizes = np.repeat([volume.part for volume in volumes], [volume.segments for volume in volumes])
    for at, node in enumerate(nodes):
        here = (table[::3] >= firsts[at]) & (table[::3] < firsts[at + 1])
        table[1::3][here] = _on_disk(node, table[1::3][here], np.broadcast_to(sizes, here.shape)[here], spread)
    if np.max(table[1::3] + sizes) <= MOST_WHOLE:
        table = table.astype(np.int32)
    # All callers share this array, so that it must not be writable.
    table.flags.writeable = False
    return table


def _on_disk(
    node: Node, begins: Int[np.ndarray, " part"], sizes: Int[np.ndarray, " part"], spread: bool
) -> Int[np.ndarray, " part"]:
    """Return the first sector of each part on its disk.

    begins: first sector of each part in the space of the node that contains it. sizes: sectors of each part.
    """
    if not begins.size:
        return begins
    room = node.room
    if node.serial and node.raid5:
        # Each disk of a RAID 5 holds an equal share of the data before a part.
        room, begins = room // (node.disks - 1), begins // (node.disks - 1)
    if node.serial and np.max(sizes) > room:
        raise InputError(
            f"a part of {np.max(sizes)} sectors on a serial node whose disks hold {room} sectors: use smaller segments"
        )
    if spread:
        end = int(np.max(begins + sizes))
        # The product of two addresses may need more than 64 bits. Python integers are exact, but slower.
        product = begins * room if end * room < MOST_BITS else begins.astype(object) * room
        begins = (product // end).astype(np.int64)
    return np.minimum(begins, room - sizes) if node.serial else begins


def _orders(volume: int, segments: int, nodes: tuple[Node, ...]) -> list[list[int]]:
    """Return for each segment a random order of the nodes.

    Each next node is drawn from the remaining nodes, with probabilities in proportion to the capacities of the nodes.
    To this end, the nodes are sorted by increasing -log(u)/weight, where u is a hash of volume, segment and node. Each
    value is an exponentially distributed time, and weight is its rate. The probability that a node has the smallest
    time is therefore in proportion to the node's weight.
    """
    words = np.stack([np.random.Philox(key=[volume, node]).random_raw(segments) for node in range(len(nodes))], axis=1)
    uniform = ((words >> np.uint64(11)).astype(float) + 0.5) * 2.0**-53
    weights = np.asarray([max(node.spaces * node.room, 1) for node in nodes], float)
    return np.argsort(-np.log(uniform) / weights, axis=1).tolist()


def _full(number: int, segment: int, volume: Volume, fillings: list[_Filling]) -> InputError:
    """Return the error for a segment without enough nodes."""
    without = next(node for node, one in enumerate(fillings) if not one.fits(volume.part))
    held, room = sum(fillings[without].full), fillings[without].room * len(fillings[without].full)
    return InputError(
        f"volume {number}, segment {segment}: fewer than {volume.parts} nodes have space; node {without} has {held} "
        f"of {room} sectors in use, and a part needs {volume.part} sectors; use smaller volumes, or wraps=True"
    )
