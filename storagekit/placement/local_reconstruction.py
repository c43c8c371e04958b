"""Local reconstruction codes (LRC): local parities, which restore a lost unit with few reads, and global parities."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Int, UInt32

from storagekit.core.arrays import AnyArray
from storagekit.core.batching import bit, mask_of, named, whole
from storagekit.core.validation import MOST_COUNTED, require
from storagekit.placement.base import MOST_PARTS
from storagekit.placement.parity import ParityGroups, reads_other_data
from storagekit.placement.striped import UNIT


class LocalReconstruction(ParityGroups):
    """Groups of drives with a local reconstruction code LRC(k, l, g); the data survive the loss of any g + 1 drives.

    Parameters
    ----------
    data : int
        Number k of data units of a row, at least 2 and a multiple of `local_groups`; one value, or one for each run.
    local_groups : int
        Number l of local groups of a row, each with one local parity; one value, or one for each run.
    global_parities : int
        Number g of global parities of a row, at least 1. A row has at most 31 parities.
    groups : int
        Number of groups of k + l + g drives, at least 1, by default 1.
    unit : int
        Stripe unit, sectors, by default 64 KB.
    full_stripes : bool
        Whether a request is divided over all data units of a row, as in `ParityGroups`; by default false. A group then
        has at most 32 drives.

    Raises
    ------
    InputError
        If a number is out of range, or the data units cannot be divided into the local groups.

    Notes
    -----
    A local group consists of k / l successive data units and one local parity. A global parity depends on all data of the
    row. In a row, the local parities have the positions 0 to l - 1, the global parities the next positions, and the data
    the last positions. The positions move from row to row as in `ParityGroups`.

    - A read has one part.
    - A write changes its data unit, one local parity, and all global parities. It first reads these 2 + g units
      (read-modify-write), or the other k - 1 data units of the row if these are fewer (reconstruct-write).
    - With full stripes, a read reads the k data units. A write writes all k + l + g units and reads nothing. Stores that
      encode sealed extents write in this way, as in the reference.

    `AfterLoss` is the layout after the loss of a drive. The k / l other units of its local group restore a data unit or
    a local parity, and the k data units restore a global parity. A write of lost data needs the other k - 1 data units,
    or else the k / l units that restore the old data, and the old global parities. It reads the smaller set.

    `analytic.durability.LocalCode` counts the losses that the code tolerates.

    References
    ----------
    Huang et al., Erasure Coding in Windows Azure Storage, USENIX ATC 2012, section 2. Patterson, Gibson and Katz, A Case
    for Redundant Arrays of Inexpensive Disks, SIGMOD 1988: the reads of a small write.

    Examples
    --------
    >>> import storagekit as sk
    >>> code = sk.placement.LocalReconstruction(12, 2, 2)
    >>> int(code.drives), int(code.data), int(code.parities)
    (16, 12, 4)
    """

    local_groups: Int[AnyArray, "..."] = eqx.field(converter=named("local groups", whole), default=1)

    def __init__(self, data, local_groups, global_parities, groups=1, unit=UNIT, full_stripes=False):
        data, local_groups = named("data", whole)(data), named("local groups", whole)(local_groups)
        global_parities = named("global parities", whole)(global_parities)
        require((data >= 2) & (data <= MOST_COUNTED), "data", data, f"2 to {MOST_COUNTED}", "units")
        for label, count in (("local groups", local_groups), ("global parities", global_parities)):
            require((count >= 1) & (count < MOST_PARTS), label, count, f"1 to {MOST_PARTS - 1}")
        require(data % local_groups == 0, "data", data, "a multiple of the number of local groups", "units")
        parities = local_groups + global_parities
        super().__init__(disks=data + parities, parities=parities, groups=groups, unit=unit, full_stripes=full_stripes)
        self.local_groups = local_groups

    @property
    def global_parities(self) -> Int[AnyArray, "..."]:
        """Return the number of global parities of a row."""
        return self.parities - self.local_groups

    @property
    def reconstructs(self):
        # A write changes one of the local parities. The numbers of the parts limit the size of a row.
        changed = 1 + self.global_parities
        return reads_other_data(self.data + changed, changed) & (self.disks < MOST_PARTS)

    def _local_group(self, position: Int[AnyArray, "*#row"]) -> Int[AnyArray, "*#row"]:
        """Return the number of the local group of a data unit or a local parity."""
        of_data = (position - self.parities) // (self.data // self.local_groups)
        return jnp.where(position < self.parities, position, of_data)

    def _updated_with(self, position: Int[AnyArray, "*#row"]) -> UInt32[Array, "*#row"]:
        return bit(self._local_group(position)) | mask_of(self.parities) & ~mask_of(self.local_groups)

    def _restores(self, position: Int[AnyArray, "*#row"]) -> UInt32[Array, "*#row"]:
        at = jnp.maximum(position, 0)
        is_global = (at >= self.local_groups) & (at < self.parities)
        group, size = jnp.where(is_global, 0, self._local_group(at)), self.data // self.local_groups
        first = (self.parities + group * size).astype(jnp.uint32)
        local = jnp.left_shift(mask_of(size), first) | bit(group)
        data = mask_of(self.disks) & ~mask_of(self.parities)
        return jnp.where(is_global, data, local & ~bit(at))
