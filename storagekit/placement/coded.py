"""Erasure codes: any m of n fragments restore the data."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Int

from storagekit.core.arrays import AnyArray
from storagekit.core.batching import named, whole
from storagekit.core.validation import require, traced
from storagekit.drive import AbstractLayout
from storagekit.placement.base import MOST_PARTS, AbstractPlacement, Location
from storagekit.workload import Requests


class Coded(AbstractPlacement):
    """An m-of-n code: a request is coded as n fragments on different drives, and any m fragments restore the data.

    Parameters
    ----------
    data : int
        Number m of fragments that a read needs, at least 1 and at most `fragments`; one value, or one value for each
        run.
    fragments : int
        Number n of fragments, 1 to 32; one value, or one value for each run.

    Raises
    ------
    InputError
        If a number is out of range.

    Notes
    -----
    A write goes to all fragments. The write policy determines its completion: with `write.FirstCopy`, when `data`
    fragments are on disk. A fragment has 1/m of the sectors of its request, rounded up, and the same address on all
    drives. With `data` 1 the fragments are replicas. Coding takes no time.
    """

    data: Int[AnyArray, "..."] = eqx.field(converter=named("data fragments", whole))
    fragments: Int[AnyArray, "..."] = eqx.field(converter=named("fragments", whole))

    def __check_init__(self):
        data, fragments = self.data, self.fragments
        if traced(data, fragments):
            return
        require(
            (fragments >= 1) & (fragments <= MOST_PARTS),
            "size of the code",
            fragments,
            f"1 to {MOST_PARTS}",
            "fragments",
        )
        most = f"from 1 to {int(np.min(fragments))}, the number of fragments"
        require((data >= 1) & (data <= fragments), "data fragments", data, most)

    @property
    def drives(self):
        return self.fragments

    @property
    def parts(self):
        return self.fragments

    @property
    def needed(self):
        return self.data

    @property
    def needs_several(self):
        return True

    def capacity(self, drive: AbstractLayout):
        if isinstance(self.data, np.ndarray | np.generic):
            # Computed on the host in 64 bits, so that the engine can reject a capacity that it cannot address.
            return self.data.astype(np.int64) * drive.capacity
        return self.data.astype(int) * drive.capacity

    def sectors_of(self, part: Int[AnyArray, "*#row"], location: Location, sectors: Int[AnyArray, "*#row"]):
        return (sectors + self.data - 1) // self.data

    def locate(self, drive: AbstractLayout, requests: Requests) -> Location:
        size = (requests.sectors + self.data - 1) // self.data
        return Location(drive.locate(requests.sector // self.data, size), jnp.zeros_like(requests.sectors))
