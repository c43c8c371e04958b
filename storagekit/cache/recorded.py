"""One memory in front of everything, of which the reads that it answers are known before the run."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from storagekit import units
from storagekit.arrays import AnyArray
from storagekit.cache.base import AbstractCache, Found
from storagekit.cache.sets import check_capacity, check_hit_time
from storagekit.errors import InputError
from storagekit.lanes import real
from storagekit.workload import Requests


class RecordedLRU(AbstractCache):
    """Exactly LRU on a recorded trace, whatever had been touched before the part of it that arrives.

    What an LRU cache holds hangs on the order of requests alone, not on when a disk has served them, so that what hits is
    counted beforehand, over all of a trace, and the disks have to be simulated for a part of it only. As for `LRU`, a write
    never hits and leaves its blocks in memory (srarray, section 4.1).

    distances: [request] of the arrivals, in their order: the fewest blocks that it must hold for the request to hit
    (`workload.reuse.read_distances`). capacity: bytes held; one value, or one per lane. hit_time: seconds until a hit is
    answered. sectors: of a block.
    """

    distances: Int[AnyArray, "row"]
    capacity: Float[AnyArray, "..."] = eqx.field(converter=real, default=0.0)
    hit_time: Float[AnyArray, "..."] = eqx.field(converter=real, default=0.0)
    sectors: int = eqx.field(static=True, default=16)

    def __check_init__(self):
        if self.sectors < 1:
            raise InputError(f"{self.sectors} sectors a block in an LRU cache: give at least 1")
        check_capacity(np.asarray(self.capacity, float))
        check_hit_time(self.hit_time)

    def look_up(self, private, request: Requests, entering: Bool[Array, "1 *lanes"], sought):
        needed = jnp.take(self.distances, request.number, mode="clip")
        held = jnp.floor(self.capacity / (self.sectors * units.SECTOR)).astype(jnp.int32)
        return Found(entering & request.read & (needed <= held), jnp.zeros(entering.shape, jnp.int32)), private
