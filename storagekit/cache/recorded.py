"""One cache for the whole system. The hits are determined before the run."""

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
from storagekit.core.errors import InputError
from storagekit.core.validation import shown, traced
from storagekit.workload import Requests


def _distances(given: Any) -> Any:
    """Check that the distances are whole numbers, one for each request. Raise InputError otherwise."""
    if traced(given):
        return given
    found = np.asarray(given)
    if found.dtype.kind not in "iu" or found.ndim != 1 or not found.size or found.min() < 0:
        what = f"an array of {found.dtype} with {found.ndim} axes" if found.dtype.kind in "iuf" else shown(given)
        raise InputError(
            f"distances: given {what}; give one axis of whole numbers, at least 0, for example the result of "
            "workload.reuse.read_distances"
        )
    return given if hasattr(given, "dtype") else found


class RecordedLRU(AbstractCache):
    """Exact LRU for one section of a recorded trace; the requests before this section also fill the cache.

    Parameters
    ----------
    distances : int array, `[request]`
        Reuse distance of each request, in the order of arrival: the smallest size of the cache, in blocks, with which
        the request hits (`workload.reuse.read_distances`).
    capacity : float
        Size, bytes; one value, or one value for each run; by default 0.
    hit_time : float
        Time in seconds from the arrival of a hit to its completion, by default 0.
    sectors : int
        Number of sectors in a block, by default 16.

    Raises
    ------
    InputError
        If a number is out of range.

    Notes
    -----
    The contents of an LRU cache depend only on the order of the requests, not on the times at which a disk serves them.
    The hits are therefore determined before the run, for the whole trace. The disks are simulated only for one section
    of the trace. As in `LRU`, a write never hits and leaves its blocks in memory (srarray, section 4.1).
    """

    distances: Int[AnyArray, "row"] = eqx.field(converter=_distances)
    capacity: Float[AnyArray, "..."] = eqx.field(converter=named("cache of"), default=0.0)
    hit_time: Float[AnyArray, "..."] = eqx.field(converter=named("cache hit time"), default=0.0)
    sectors: int = eqx.field(static=True, default=16, converter=partial(BLOCK, "sectors per block of an LRU cache"))

    def __check_init__(self):
        check_capacity(self.capacity)
        check_hit_time(self.hit_time)

    def look_up(self, private, request: Requests, entering: Bool[Array, "1 *batch"], query):
        needed = jnp.take(self.distances, request.number, mode="clip")
        held = jnp.floor(self.capacity / (self.sectors * units.SECTOR)).astype(jnp.int32)
        return LookUp(entering & request.read & (needed <= held), jnp.zeros(entering.shape, jnp.int32)), private
