"""Arrays with parity that have lost a drive: reads that restore data, writes without the lost unit, and the rebuild."""

from functools import partial
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, UInt32

from storagekit.core.arrays import AnyArray
from storagekit.core.batching import bit, mask_of, named, whole
from storagekit.core.validation import instance_of, require, traced
from storagekit.drive import AbstractLayout
from storagekit.placement.base import MOST_PARTS, AbstractPlacement
from storagekit.placement.declustered_parity import DeclusteredParity
from storagekit.placement.parity import AbstractParity, ParityRow
from storagekit.workload import Requests

_PARITY = "a layout with parity, such as sk.placement.ParityGroups(6, 2)"


class DegradedRow(NamedTuple):
    """The location of requests in rows, some of which have lost a unit.

    row: location in the complete layout; its `touched` is the mask of the parts that are read by a read, or written by a
    write. missing: position of the lost unit in the row of each request, -1 if the row is complete. spare: drive that
    receives the restored unit, -1 for a user's request. first: mask of the parts that are read before any part is written.
    """

    row: ParityRow
    missing: Int[AnyArray, "*#row"]
    spare: Int[AnyArray, "*#row"]
    first: UInt32[AnyArray, "*#row"]


class AfterLoss(AbstractPlacement):
    """A layout with parity after the loss of one drive, with requests that rebuild the lost drive.

    Parameters
    ----------
    layout : AbstractParity
        The complete layout: `ParityGroups`, `RAID5`, `LocalReconstruction` or `DeclusteredParity`. A row has at most 32
        units.
    lost : int
        Number of the lost drive, from 0 to the number of drives minus 1; by default 0. One value, or one for each run.

    Raises
    ------
    InputError
        If the layout has no parity, a row has more than 32 units, or the layout has no drive `lost`.

    Notes
    -----
    The number of a part is its position in the row: parity has the positions 0 to p - 1, and the m units of data have the
    next positions. Let d be the position of the data of a request.

    - A read of data on another drive reads d. A read of lost data needs the other m - 1 units of data and parity 0.
    - A write in a complete row reads and writes as in the layout.
    - A write of lost data reads the other m - 1 units of data, and writes all parities.
    - A write whose row has lost a parity writes d and the remaining parities. It first reads the parts that it writes
      (read-modify-write), or the other m - 1 units of data if these are fewer. If no parity remains, it reads nothing.
    - A write whose row has lost other data writes d and all parities. It first reads these parts, or m units (the
      remaining data and parity 0) if these are fewer.
    - With full stripes, a read reads the m units of data, with parity 0 in place of lost data. A write writes all units
      but the lost unit, and reads nothing.

    In a `LocalReconstruction`, fewer units restore a lost unit, and a write changes fewer parities (see its notes).

    Users' requests have addresses below `capacity`. A write with the address `capacity` + x is a request of the rebuild. It
    restores the sectors from address x of the lost drive: it reads m units of the row (the data, with parity 0 in place
    of lost data), and then writes the restored unit to spare space. The spare space is on the first drive after the
    groups in the order of a `DeclusteredParity` with spare space. In all other layouts it is an additional drive, which
    has the last number. All sectors of the request have the parity of the row of its first sector. In a
    `DeclusteredParity` it must lie within a slice, and it has no parts where the lost drive has spare
    space (see `holds_data`).

    Users' requests are served as if nothing had been restored yet. The simulated time is the beginning of a rebuild,
    when reads of lost data need the most accesses. All parts of a request are needed, so that no further drive may fail.
    """

    layout: AbstractParity = eqx.field(
        converter=partial(instance_of(AbstractParity, _PARITY), "layout before the loss")
    )
    lost: Int[AnyArray, "..."] = eqx.field(converter=named("lost drive", whole), default=0)

    def __check_init__(self):
        size, drives = self.layout.group_size, self.layout.drives
        require(size <= MOST_PARTS, "size of a group after a loss", size, f"at most {MOST_PARTS}", "drives")
        if not traced(self.lost, drives):
            require((self.lost >= 0) & (self.lost < drives), "lost drive", self.lost, f"0 to {np.min(drives) - 1}")

    @property
    def drives(self):
        return self.layout.drives + (self.layout.spare_units == 0).astype(np.int32)

    @property
    def parts(self):
        return self.layout.group_size

    @property
    def needed(self):
        return self.layout.data

    @property
    def needs_several(self):
        return True

    @property
    def spare(self):
        return whole(0)

    @property
    def most_spare(self):
        return 0

    @property
    def reads_before_writes(self):
        return True

    @property
    def longest_rebuild(self) -> int | None:
        """Return the largest length of a request of the rebuild, sectors; None if only the drive limits it."""
        layout = self.layout
        return layout.unit * layout.rows_a_slice if isinstance(layout, DeclusteredParity) else None

    def used(self, drive: AbstractLayout) -> int | Int[AnyArray, "..."]:
        """Return the number of sectors of each drive that the layout uses, including spare space that all drives share."""
        return self.capacity(drive) // (self.layout.data * self.layout.rows)

    def holds_data(self, address: Int[AnyArray, "*row"]) -> Bool[AnyArray, "*row"]:
        """Return whether the lost drive has a unit of a row at addresses, so that the rebuild restores the unit.

        Parameters
        ----------
        address : int array, shape `[*row]`
            Addresses on the lost drive, sectors.

        Returns
        -------
        bool array, shape `[*row]`
            False where a `DeclusteredParity` has spare space on this drive.
        """
        return self.layout._group_with(self.lost, address // self.layout.unit) < self.layout.rows

    def parts_of(self, location: DegradedRow):
        return location.row.touched

    def needed_of(self, location: DegradedRow):
        return jax.lax.population_count(location.row.touched).astype(jnp.int32)

    def parts_read_first(self, location: DegradedRow):
        return location.first

    def part_on(self, drive: Int[AnyArray, "*#row"], location: DegradedRow):
        position = jnp.where(drive == self.lost, -1, self.layout._position_of(drive, location.row))
        return jnp.where(drive == location.spare, location.missing, position)

    def drive_of(self, part: Int[AnyArray, "*#row"], location: DegradedRow):
        restored = (part == location.missing) & (location.spare >= 0)
        return jnp.where(restored, location.spare, self.layout._drive_at(part, location.row))

    def target_on(self, part: Int[AnyArray, "*#row"], location: DegradedRow):
        return location.row.target

    def sectors_of(self, part: Int[AnyArray, "*#row"], location: DegradedRow, sectors: Int[AnyArray, "*#row"]):
        return jnp.where(location.spare >= 0, sectors, self.layout._part(sectors))

    def capacity(self, drive: AbstractLayout):
        return self.layout.capacity(drive)

    def locate(self, drive: AbstractLayout, requests: Requests) -> DegradedRow:
        layout, beyond = self.layout, requests.sector - self.capacity(drive)
        rebuilds = beyond >= 0
        of_user = jnp.where(rebuilds, 0, requests.sector)
        turn, group, column, address = layout._address_of(requests._replace(sector=of_user))
        address = jnp.where(rebuilds, beyond, address)
        turn = jnp.where(rebuilds, address // layout.unit, turn)
        group = jnp.where(rebuilds, layout._group_with(self.lost, turn), group)
        target = drive.locate(address, jnp.where(rebuilds, requests.sectors, layout._part(requests.sectors)))
        order = tuple(one.astype(np.int32) for one in layout._order_of(turn, group))
        row = ParityRow(target, order, layout.parities + column.astype(np.int32), requests.read)
        # Units behind the last row are spare space.
        missing = jnp.where(group < layout.rows, layout._position_of(self.lost, row), -1).astype(np.int32)
        touched, first = _accessed(layout, row.data, missing, requests.read)
        touched = jnp.where(rebuilds, _bit_of(missing), touched)
        first = jnp.where(rebuilds, jnp.where(missing < 0, 0, layout._restores(missing)), first)
        return DegradedRow(row._replace(touched=touched), missing, self._spare_drive(row, group, rebuilds), first)

    def _spare_drive(
        self, row: ParityRow, group: Int[AnyArray, "*row"], rebuilds: Bool[AnyArray, "*row"]
    ) -> Int[AnyArray, "*row"]:
        """Return the drive that receives the restored unit of a row; -1 where the request is not one of the rebuild."""
        layout = self.layout
        behind = (layout.rows - group.astype(np.int32)) * layout.group_size
        shared = jnp.where(layout.spare_units > 0, layout._drive_at(behind, row), layout.drives)
        return jnp.where(rebuilds, shared, -1).astype(np.int32)


def _bit_of(position: Int[AnyArray, "*row"]) -> UInt32[Array, "*row"]:
    """Return the mask of a position; 0 for a negative position."""
    return jnp.where(position < 0, jnp.uint32(0), bit(jnp.maximum(position, 0)))


def _accessed(
    layout: AbstractParity, own: Int[AnyArray, "*row"], missing: Int[AnyArray, "*row"], read: Bool[AnyArray, "*row"]
) -> tuple[UInt32[Array, "*row"], UInt32[Array, "*row"]]:
    """Return the masks of the parts that users' requests access, and of the parts that writes read before.

    own: position of the data of each request. missing: position of the lost unit of its row, -1 if the row is complete.
    """
    parity, every, lost = mask_of(layout.parities), mask_of(layout.group_size), _bit_of(missing)
    data, restoring, nothing = every & ~parity, layout._restores(missing), jnp.uint32(0)
    lost_data = missing >= layout.parities
    if layout.full_stripes:
        readable = jnp.where(lost_data, data & ~lost | restoring, data)
        return jnp.where(read, readable, every & ~lost), jnp.zeros_like(readable)
    written = (bit(own) | layout._updated_with(own)) & ~lost
    # read-modify-write needs the old data, and reconstruct-write the other data
    old = jnp.where(missing == own, written | restoring, written)
    other = data & ~bit(own) & ~lost
    other = jnp.where(lost_data & (missing != own), other | restoring, other)
    fewer = jax.lax.population_count(other) < jax.lax.population_count(old)
    first = jnp.where(jnp.where(missing < 0, layout.reconstructs, fewer), other, old)
    # Without parity there is nothing to calculate.
    first = jnp.where(read | (written & parity == 0), nothing, first)
    return jnp.where(read, jnp.where(missing == own, restoring, bit(own)), written), first
