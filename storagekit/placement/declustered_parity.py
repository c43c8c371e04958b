"""Groups with parity that are spread over more drives than a group has, so that all drives share the work of a lost drive."""

from functools import cache, partial

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Int

from storagekit.core.arrays import AnyArray
from storagekit.core.batching import addresses, named, whole
from storagekit.core.validation import SECTORS, Validator, require
from storagekit.placement.base import stripe_unit
from storagekit.placement.parity import AbstractParity, ParityRow, require_group
from storagekit.placement.striped import UNIT, looked_up

# usual number of sectors of a slice, 16 MB, as in ZFS dRAID
SLICE = 2**15
_DISKS = Validator(least=3, most=4096, unit="drives", whole=True)
# number of random orders of the drives, and the seed with which they are drawn
_ORDERS, _SEED = 64, 20


class DeclusteredParity(AbstractParity):
    """Groups with parity on changing drives; the data survive the loss of any `parities` drives.

    Parameters
    ----------
    disks : int
        Number of drives, at least `group`.
    group : int
        Number of units of a row, including parity, at least `parities` + 2; one value, or one for each run.
    parities : int
        Number of parity units of a row, 1 to 31, by default 1; one value, or one for each run.
    unit : int
        Stripe unit, sectors, by default 64 KB.
    full_stripes : bool
        Whether a request is divided over all data units of a row, as in `ParityGroups`; by default false.
    slice_sectors : int
        Number of sectors of a slice, by default 16 MB. A slice has at least one row of each group.

    Raises
    ------
    InputError
        If a number is out of range.

    Notes
    -----
    Each slice of the drives has an order of the drives, which is divided into as many groups as possible. The drives at the
    end of the order have spare space, so that the space of (`disks` modulo `group`) drives is distributed over all drives.
    A rebuild can read and write a slice of a drive in long accesses.

    The order of slice r is one of 64 random orders, moved by r modulo `disks` drives. The random order changes after
    `disks` slices. Each drive therefore holds each unit of a row equally often, and all pairs have nearly equally many
    rows in common (within 6% for groups of 11 on 24 drives). ZFS dRAID works in this way.

    For the parts of a request see `ParityGroups`.
    """

    disks: int = eqx.field(static=True, converter=partial(_DISKS, "disks"))
    group: Int[AnyArray, "..."] = eqx.field(converter=named("group", whole))
    parities: Int[AnyArray, "..."] = eqx.field(converter=named("parities", whole), default=1)
    unit: int = eqx.field(static=True, default=UNIT, converter=stripe_unit)
    full_stripes: bool = eqx.field(static=True, default=False)
    slice_sectors: int = eqx.field(static=True, default=SLICE, converter=partial(SECTORS, "slice_sectors"))

    def __check_init__(self):
        require_group(self.group, self.parities, self.full_stripes)
        require(self.group <= self.disks, "size of a group", self.group, f"at most {self.disks}", "drives")

    @property
    def drives(self):
        return whole(self.disks)

    @property
    def group_size(self):
        return self.group

    @property
    def rows(self):
        return self.disks // self.group

    def _order_of(self, turn: Int[AnyArray, "*row"], group: Int[AnyArray, "*row"]):
        number = turn // self.rows_a_slice
        return number // self.disks % _ORDERS * self.disks, number % self.disks, group * self.group

    @property
    def rows_a_slice(self) -> int:
        """Return the number of rows of a group in a slice, at least 1."""
        return max(1, self.slice_sectors // self.unit)

    @property
    def spare_units(self):
        return self.disks - self.rows * self.group

    def _group_with(self, drive: Int[AnyArray, "..."], turn: Int[AnyArray, "*row"]):
        order, shift, _ = self._order_of(turn, 0 * turn)
        moved = drive - shift
        return self._entry(1, order + jnp.where(moved < 0, moved + self.disks, moved)) // self.group

    def _position_of(self, drive: Int[AnyArray, "*#row"], location: ParityRow):
        order, shift, first = location.order
        moved = drive - shift
        moved = jnp.where(moved < 0, moved + self.disks, moved)
        at = self._entry(1, order + jnp.minimum(moved, self.disks - 1)) - first
        return jnp.where((at >= 0) & (at < self.group) & (drive < self.disks), at, -1)

    def _drive_at(self, position: Int[AnyArray, "*#row"], location: ParityRow):
        order, shift, first = location.order
        drive = self._entry(0, order + first + position) + shift
        return jnp.where(drive >= self.disks, drive - self.disks, drive)

    def _entry(self, table: int, number: Int[AnyArray, "*row"]) -> Int[AnyArray, "*row"]:
        return looked_up(addresses(orders(self.disks)[table : table + 1]), number)[0]


@cache
def orders(disks: int) -> Int[np.ndarray, "2 entry"]:
    """Return random orders of drives: the drive at each position, and the position of each drive, one order after the other.

    Parameters
    ----------
    disks : int
        Number of drives.

    Returns
    -------
    int array, `[2, 64 * disks]`
        The orders, which are always the same.
    """
    draw = np.random.default_rng(_SEED)
    found = np.array([draw.permutation(disks) for _ in range(_ORDERS)])
    return np.array([found.ravel(), np.argsort(found, axis=1).ravel()], np.int32)
