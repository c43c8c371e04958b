"""One memory in front of everything, of which the reads that it answers are known before the run."""

from functools import partial
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from storagekit.cache.base import AbstractCache, LookUp
from storagekit.cache.sets import BLOCK, check_capacity, check_hit_time
from storagekit.core import units
from storagekit.core.arrays import AnyArray
from storagekit.core.batching import named
from storagekit.core.checks import shown, traced
from storagekit.core.errors import InputError
from storagekit.workload import Requests


def _distances(given: Any) -> Any:
    """Whole numbers, one for each request."""
    if traced(given):
        return given
    found = np.asarray(given)
    if found.dtype.kind not in "iu" or found.ndim != 1 or not found.size or found.min() < 0:
        what = f"{found.dtype} in {found.ndim} axes" if found.dtype.kind in "iuf" else shown(given)
        raise InputError(f"distances: given {what}; give whole numbers, 0 or more, as of workload.reuse.read_distances")
    return given if hasattr(given, "dtype") else found


class RecordedLRU(AbstractCache):
    """Exactly LRU on a recorded trace, whatever had been touched before the part of it that arrives.

    What an LRU cache holds hangs on the order of requests alone, not on when a disk has served them, so that what hits is
    counted beforehand, over all of a trace, and the disks have to be simulated for a part of it only. As for `LRU`, a write
    never hits and leaves its blocks in memory (srarray, section 4.1).

    distances: [request] of the arrivals, in their order: the fewest blocks that it must hold for the request to hit
    (`workload.reuse.read_distances`). capacity: bytes held; one value, or one per lane. hit_time: seconds until a hit is
    answered. sectors: of a block.
    """

    distances: Int[AnyArray, "row"] = eqx.field(converter=_distances)
    capacity: Float[AnyArray, "..."] = eqx.field(converter=named("cache of"), default=0.0)
    hit_time: Float[AnyArray, "..."] = eqx.field(converter=named("cache hit time"), default=0.0)
    sectors: int = eqx.field(static=True, default=16, converter=partial(BLOCK, "sectors a block of an LRU cache"))

    def __check_init__(self):
        check_capacity(self.capacity)
        check_hit_time(self.hit_time)

    def look_up(self, private, request: Requests, entering: Bool[Array, "1 *batch"], sought):
        needed = jnp.take(self.distances, request.number, mode="clip")
        held = jnp.floor(self.capacity / (self.sectors * units.SECTOR)).astype(jnp.int32)
        return LookUp(entering & request.read & (needed <= held), jnp.zeros(entering.shape, jnp.int32)), private
