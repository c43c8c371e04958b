"""Logical volumes in segments, as copies or fragments on nodes of unequal disks; each segment has a list of nodes."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial, reduce
from itertools import accumulate, pairwise
from typing import Annotated, Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, UInt32

from storagekit.core import units
from storagekit.core.arrays import AnyArray
from storagekit.core.batching import addresses, real, whole
from storagekit.core.errors import InputError
from storagekit.core.validation import instance_of, shown, validate, validate_fields
from storagekit.drive import AbstractDrive, AbstractLayout, AbstractMechanics
from storagekit.placement.base import MOST_PARTS, AbstractPlacement
from storagekit.placement.nodes import Node, Volume, laid_out
from storagekit.placement.parity import first_parity, unit_location
from storagekit.placement.striped import UNIT, looked_up, one_of
from storagekit.workload import Requests
from storagekit.workload.trace import RequestTrace

# Columns of a table are padded to a multiple of this, so that most layouts share a compiled program.
COLUMNS = 2048
# Number of properties of a volume: its first sector, its first segment, its number of sectors, the number of sectors of
# a segment, the number of parts that restore the data, and the number of sectors of a block.
_FACTS = 6


class Pieces(NamedTuple):
    """The location of requests that have parts on several nodes.

    targets: location of each part; its parity is at the same address. sectors: sectors of each part. numbers: the drive
    of each part, the drive of the parity of each part, and the number of parts that restore the data. Each 32-bit
    integer packs several of these numbers (`Segments._packed`).
    """

    targets: tuple[Any, ...]
    sectors: Int[AnyArray, "*#row"]
    numbers: tuple[Int[AnyArray, "*#row"], ...]


class _Inside(NamedTuple):
    """The positions of requests in their segments.

    column: number of the segment among the segments of all volumes. first, sectors: first sector and length of the
    requested range in each part of the segment. needed: number of parts that restore the data.
    """

    column: Int[AnyArray, "*row"]
    first: Int[AnyArray, "*row"]
    sectors: Int[AnyArray, "*row"]
    needed: Int[AnyArray, "*row"]


class _Tables(eqx.Module):
    """The tables of a layout, which are inputs of a compiled program.

    Tables are flat, because an array of two axes would be interpreted as one value for each run. segments: the table of
    `laid_out`, `[field * segment]`, padded to `COLUMNS`. volumes: the `_FACTS` properties of each volume, `[property *
    volume]`. whole_blocks: whether requests to coded volumes access whole blocks. capacity: sectors of all volumes.
    """

    segments: Int[AnyArray, "entry"]
    volumes: Int[AnyArray, "fact"]
    whole_blocks: Bool[AnyArray, ""]
    capacity: Int[AnyArray, ""]


def _each(given: Iterable) -> tuple:
    try:
        return tuple(given)
    except TypeError:
        raise InputError(
            f"nodes or volumes {shown(given)}: give a tuple of nodes and a tuple of volumes, for example (Node(2),)"
        ) from None


class Segments(AbstractPlacement):
    """Volumes that lie end to end. Their segments are on nodes with unequal disks (ars, section 3).

    Parameters
    ----------
    nodes : tuple of Node
        The nodes. They are the bricks of the system, in this order.
    volumes : tuple of Volume
        The volumes.
    wraps : bool
        Whether the placement on a full node continues at its first location, by default false. Volumes may then be
        larger than the nodes. Several segments then share addresses, and only times have a meaning.
    whole_blocks : bool
        Whether a request to a coded volume accesses the fragments of all blocks that it touches. By default it accesses
        1/m of its sectors from each fragment.
    spread : bool
        Whether the parts on a disk are spread evenly over the whole disk, so that seeks are as long as the mean seek of
        the drive. By default the parts lie at the start of the disk.
    tables : optional
        Set by `tabulated` only.

    Raises
    ------
    InputError
        If an element is not a node or a volume, a segment has more parts than there are nodes, a request has more than
        32 parts, or the nodes do not hold the volumes.

    Notes
    -----
    The nodes of a segment are drawn once, one after the other, with probabilities in proportion to the capacity of
    their disks. Volumes with the most parts are laid out first. On a node, successive parts are placed on its disks in
    rotation, so that all disks are used evenly. A node without space for another part is skipped. A serial node is one
    drive (see `Node`).

    A request belongs to the segment that contains its first sector. Its sectors beyond the end of that segment are not
    transferred; `cut` divides requests at the ends of segments. Drives are the disks of the nodes. Part k of a request
    is on the kth node of its segment. A write on RAID 5 has one more part, parity (`companions`). Each of both drives
    reads, and writes a revolution later; unlike `RAID5`, it does not wait for the other drive.

    Examples
    --------
    >>> import storagekit as sk
    >>> nodes = sk.placement.Node(2), sk.placement.Node(3, raid5=True), sk.placement.Node(1)
    >>> volumes = sk.placement.Volume(2**20, 2**16, parts=2), sk.placement.Volume(2**20, 2**17, parts=3, needed=2)
    >>> layout = sk.placement.Segments(nodes, volumes)
    >>> int(layout.drives), layout.brick_sizes, int(layout.capacity(sk.load_drive("atlas10k")))
    (6, (2, 3, 1), 2097152)
    """

    nodes: tuple[Node, ...] = eqx.field(static=True, converter=_each)
    volumes: tuple[Volume, ...] = eqx.field(static=True, converter=_each)
    wraps: bool = eqx.field(static=True, default=False)
    whole_blocks: bool = eqx.field(static=True, default=False)
    spread: bool = eqx.field(static=True, default=False)
    tables: _Tables | None = None

    def __check_init__(self):
        validate_fields(self)
        if not self.nodes or not self.volumes:
            raise InputError(
                f"{len(self.volumes)} volumes on {len(self.nodes)} nodes: give at least one volume and one node"
            )
        if self._most > len(self.nodes):
            raise InputError(
                f"{self._most} parts of a segment on {len(self.nodes)} nodes: give at most one part for each node"
            )
        if int(self.parts) > MOST_PARTS:
            raise InputError(f"{int(self.parts)} parts of a request, including parity: give at most {MOST_PARTS}")
        for volume in self.volumes:
            if self.whole_blocks and volume.block % volume.needed:
                raise InputError(
                    f"a block of {volume.block} sectors cannot be divided into {volume.needed} equal data fragments; "
                    f"give a block size that is a multiple of {volume.needed} sectors, or whole_blocks=False"
                )

    @property
    def drives(self):
        return whole(sum(self.brick_sizes))

    @property
    def brick_sizes(self):
        return tuple(node.drives for node in self.nodes)

    @property
    def parts(self):
        return whole(self._most * (1 + self._parity))

    @property
    def most_parts(self):
        return int(self.parts)

    @property
    def needed(self):
        return whole(max(volume.needed for volume in self.volumes))

    @property
    def needs_several(self):
        return self._parity or int(self.needed) > 1

    @property
    def spare(self):
        return whole(min(volume.parts - volume.needed for volume in self.volumes))

    @property
    def most_spare(self):
        return max(volume.parts - volume.needed for volume in self.volumes)

    def parts_of(self, location: Pieces):
        bits = (
            jnp.where(its < self.drives, jnp.uint32(1 << part), 0) for part, its in enumerate(self._drives_of(location))
        )
        return reduce(jnp.bitwise_or, bits)

    def needed_of(self, location: Pieces):
        return self._number(location, int(self.parts))

    def part_on(self, drive: Int[AnyArray, "*#row"], location: Pieces):
        found = jnp.int32(-1)
        for part, its in enumerate(self._drives_of(location)):
            found = jnp.where(drive == its, part, found)
        return found

    def drive_of(self, part: Int[AnyArray, "*#row"], location: Pieces):
        return one_of(part, self._drives_of(location))

    def target_on(self, part: Int[AnyArray, "*#row"], location: Pieces):
        data = jnp.where(part < self._most, part, part - self._most)
        return jax.tree.map(lambda *leaves: one_of(data, leaves), *location.targets)

    def sectors_of(self, part: Int[AnyArray, "*#row"], location: Pieces, sectors: Int[AnyArray, "*#row"]):
        return location.sectors

    def companions(self, parts: UInt32[Array, "*row"], location: Pieces):
        if not self._parity:
            return jnp.zeros_like(parts)
        return jnp.left_shift(parts & jnp.uint32(2**self._most - 1), jnp.uint32(self._most)) & self.parts_of(location)

    def sibling(self, part: Int[AnyArray, "*#row"], location: Pieces):
        if not self._parity:
            return jnp.full_like(part, -1)
        return jnp.where(part < self._most, part + self._most, part - self._most)

    def for_drive(self, drive: AbstractDrive) -> "Segments":
        for at, (node, first) in enumerate(zip(self.nodes, self._firsts, strict=False)):
            most = _least(node, first, drive)
            if (node.sectors or 0) > most:
                raise InputError(
                    f"node {at} uses {node.sectors} sectors of disks with {most} sectors: give at most the capacity"
                )
        return replace(self, nodes=self._measured(drive))

    def tabulated(self, drive: AbstractDrive) -> "Segments":
        plain = tuple(Node(node.disks, node.raid5, serial=node.serial) for node in self.nodes)
        # The program depends only on the parts of a volume.
        parts = [(one.parts, one.needed) for one in self.volumes]
        volumes = tuple(Volume(needed, needed, parts=count, needed=needed, block=needed) for count, needed in parts)
        return Segments(plain, volumes, tables=self._tables(drive))

    def capacity(self, drive: AbstractLayout):
        if self.tables is not None:
            return self.tables.capacity
        self._table(drive)
        # Computed on the host in 64 bits, so that the engine can reject a capacity that it cannot address.
        return np.int64(sum(volume.sectors for volume in self.volumes))

    def address_limit(self, drive: AbstractLayout) -> int:
        # On a RAID 5, the addresses of the table count the data of all drives.
        longest = max(volume.part for volume in self.volumes)
        return max(super().address_limit(drive), int(np.max(self._table(drive)[1::3])) + longest)

    def locate(self, drive: AbstractLayout, requests: Requests) -> Pieces:
        tables = self._tables(drive) if self.tables is None else self.tables
        inside, none, shape = self._inside(tables, requests), int(self.drives), requests.sector.shape
        columns = looked_up(tables.segments.reshape(3 * self._most, -1), inside.column).reshape(self._most, 3, *shape)
        on, begin, disks = columns[:, 0], columns[:, 1], columns[:, 2]
        address, parity = begin + inside.first[None], jnp.full_like(on, none)
        if self._parity:
            known = jnp.where(disks > 0, disks, 3)
            turn, _, column = unit_location(address // UNIT, known - 1)
            other = first_parity(turn, known)
            rotated, data = turn * UNIT + address % UNIT, (other + 1 + column) % known
            parity = jnp.where((disks > 0) & ~requests.read[None], on + other, none)
            address, on = jnp.where(disks > 0, rotated, address), jnp.where(disks > 0, on + data, on)
        # One vectorized program locates all parts, instead of a copy of the program for each part.
        targets = jax.vmap(partial(drive.locate_on, count=inside.sectors))(on, address)
        numbers = [*on, *(parity if self._parity else ()), inside.needed]
        words = self._packed([one.astype(np.int32) for one in numbers])
        each = tuple(jax.tree.map(lambda leaf, part=part: leaf[part], targets) for part in range(self._most))
        return Pieces(each, inside.sectors, words)

    def sweep(self, mechanics: AbstractMechanics, drive: Int[AnyArray, "*#row"]):
        ranges = zip(self.nodes, pairwise(self._firsts), strict=True)
        twice = [(drive >= first) & (drive < end) for node, (first, end) in ranges if node.raid5]
        if not twice:
            return mechanics.seconds(real(0))
        return jnp.where(reduce(jnp.logical_or, twice), mechanics.seconds(real(1)), 0.0)

    @property
    def _firsts(self) -> list[int]:
        """Return the number of the first drive of each node, followed by the total number of drives."""
        return [*accumulate(self.brick_sizes, initial=0)]

    @property
    def _most(self) -> int:
        """Return the maximum number of parts of a segment, without parity."""
        return max(volume.parts for volume in self.volumes)

    @property
    def _parity(self) -> bool:
        return any(node.raid5 and not node.serial for node in self.nodes)

    @property
    def _bits(self) -> int:
        """Return the number of bits of each packed number.

        The largest packed number is the number after the last drive, which marks a missing part.
        """
        return int(self.drives).bit_length()

    def _packed(self, numbers: Sequence[Int[AnyArray, "*row"]]) -> tuple[Int[AnyArray, "*row"], ...]:
        """Pack several small numbers in each 32-bit integer, because requests carry them through every event."""
        each = 31 // self._bits
        words = [numbers[at : at + each] for at in range(0, len(numbers), each)]
        return tuple(reduce(jnp.bitwise_or, (one << self._bits * at for at, one in enumerate(word))) for word in words)

    def _number(self, location: Pieces, index: int) -> Int[AnyArray, "*row"]:
        each = 31 // self._bits
        return (location.numbers[index // each] >> self._bits * (index % each)) & (2**self._bits - 1)

    def _drives_of(self, location: Pieces) -> list[Int[AnyArray, "*row"]]:
        """Return the drive of each part. A missing part has the number after the last drive."""
        return [self._number(location, part) for part in range(int(self.parts))]

    def _inside(self, tables: _Tables, requests: Requests) -> _Inside:
        count = len(self.volumes)
        starts = tables.volumes[1:count]
        volume = sum(((requests.sector >= start).astype(np.int32) for start in starts), requests.sector * 0)
        start, before, sectors, segment, needed, block = looked_up(tables.volumes.reshape(_FACTS, -1), volume)
        address = requests.sector - start
        number = address // segment
        inside = address - number * segment
        length = jnp.minimum(requests.sectors, jnp.minimum(segment, sectors - number * segment) - inside)
        first, count = inside // needed, (length + needed - 1) // needed
        each, begin = block // needed, inside // block
        blocks = (inside + length - 1) // block - begin + 1
        whole = tables.whole_blocks & (needed > 1)
        first, count = jnp.where(whole, begin * each, first), jnp.where(whole, blocks * each, count)
        # Addresses may have 64 bits, but the event loop carries 32 bits.
        return _Inside(before + number, first, count.astype(np.int32), needed)

    def _tables(self, drive: AbstractLayout) -> _Tables:
        segments = addresses(self._table(drive))
        padding = -segments.shape[1] % COLUMNS
        starts = accumulate((volume.sectors for volume in self.volumes), initial=0)
        columns = accumulate((volume.segments for volume in self.volumes), initial=0)
        sizes = [(one.sectors, one.segment, one.needed, one.block) for one in self.volumes]
        facts = [(*where, *size) for *where, size in zip(starts, columns, sizes, strict=False)]
        return _Tables(
            np.pad(segments, ((0, 0), (0, padding))).reshape(-1),
            addresses(np.transpose(facts)).reshape(-1),
            np.asarray(self.whole_blocks),
            addresses(sum(volume.sectors for volume in self.volumes)),
        )

    def _measured(self, drive: AbstractLayout) -> tuple[Node, ...]:
        """Return the nodes with their `sectors`: the number of sectors of each disk that are used."""
        pairs = zip(self.nodes, self._firsts, strict=False)
        return tuple(one if one.sectors else replace(one, sectors=_least(one, first, drive)) for one, first in pairs)

    def _table(self, drive: AbstractLayout) -> Int[np.ndarray, "field segment"]:
        return laid_out(self._measured(drive), self.volumes, self.wraps, self.spread)


@validate
def cut(
    trace: RequestTrace,
    layout: Annotated[Segments, instance_of(Segments, "Segments, such as sk.placement.Segments(nodes, volumes)")],
) -> tuple[RequestTrace, Int[np.ndarray, " piece"]]:
    """Divide the requests of a trace at the ends of segments (ars, section 4.3).

    Parameters
    ----------
    trace : RequestTrace
        The trace. Its devices are concatenated into one address space.
    layout : Segments
        The layout with the segments.

    Returns
    -------
    RequestTrace
        The trace, in which one request for each touched segment replaces the original request, at the same arrival
        time. A request that begins beyond the end of the volumes wraps around. If a request crosses that end, its
        sectors beyond the end are dropped.
    ndarray of int, `[piece]`
        For each request of the result, the number of its request in `trace`, from 0.
    """
    sizes = [size for volume in layout.volumes for size in _sizes(volume)]
    edges = np.asarray([0, *accumulate(sizes)], np.int64) * units.SECTOR
    start = trace.concatenated().offset % edges[-1]
    end = np.minimum(start + trace.size, edges[-1])
    first, last = (np.searchsorted(edges, at, "right") - 1 for at in (start, end - 1))
    pieces = last - first + 1
    whose = np.repeat(np.arange(len(trace)), pieces)
    segment = first[whose] + np.arange(whose.size) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    begin = np.maximum(start[whose], edges[segment])
    size = np.minimum(end[whose], edges[segment + 1]) - begin
    return replace(trace.concatenated().take(whose), offset=begin, size=size), whose


def _sizes(volume: Volume) -> Iterator[int]:
    """Yield the number of sectors of each segment of a volume."""
    for first in range(0, volume.sectors, volume.segment):
        yield min(volume.segment, volume.sectors - first)


def _least(node: Node, first: int, drive: AbstractLayout) -> int:
    """Return the number of sectors of the smallest disk of a node. first: number of the first drive of the node."""
    return min(drive.capacity_of(first + disk) for disk in range(node.drives))
