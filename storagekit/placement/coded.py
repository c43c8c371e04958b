"""Erasure codes: any m of n fragments make the data."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Int

from storagekit.core.arrays import AnyArray
from storagekit.core.batching import named, whole
from storagekit.core.checks import require, traced
from storagekit.drive import AbstractLayout
from storagekit.placement.base import MOST_PARTS, Location
from storagekit.placement.replicas import OneReplica
from storagekit.workload import Requests


class Coded(OneReplica):
    """An m-of-n code: a request is cut into m fragments, of which n are made, each on a drive of its own.

    A read needs any `data` of its `fragments`; a write reaches all, and when it is answered the write policy says (of
    `write.FirstCopy`: when `data` are on disk). A fragment is 1/m of its request, rounded up to sectors, at the same address
    on all drives; with data 1 they are replicas. Coding takes no time.
    """

    data: Int[AnyArray, "..."] = eqx.field(converter=named("fragments that make the data", whole))
    fragments: Int[AnyArray, "..."] = eqx.field(converter=named("fragments", whole))

    def __check_init__(self):
        data, fragments = self.data, self.fragments
        if traced(data, fragments):
            return
        require((fragments >= 1) & (fragments <= MOST_PARTS), "a code of", fragments, f"1 to {MOST_PARTS}", "fragments")
        most = f"at least 1 and at most the {int(np.min(fragments))} there are"
        require((data >= 1) & (data <= fragments), "fragments that make the data", data, most)

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
            # on the host beyond what the engine addresses, to be refused there
            return self.data.astype(np.int64) * drive.capacity
        return self.data.astype(int) * drive.capacity

    def sectors_of(self, part: Int[AnyArray, "*#row"], place: Location, sectors: Int[AnyArray, "*#row"]):
        return (sectors + self.data - 1) // self.data

    def locate(self, drive: AbstractLayout, requests: Requests) -> Location:
        size = (requests.sectors + self.data - 1) // self.data
        return Location(drive.locate(requests.sector // self.data, size), jnp.zeros_like(requests.sectors))
