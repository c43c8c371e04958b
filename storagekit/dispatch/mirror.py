"""The heuristic of the SR-Mirror: the nearest idle head, otherwise the first head that becomes available.

If some of the drives that hold the data are idle, the request is sent immediately to the idle drive with the head
closest to a copy. If all these drives are busy, the request waits at each of them. It leaves the other queues as soon
as one drive schedules it.

References
----------
srarray, section 3.3.
"""

import jax.numpy as jnp

from storagekit.core.batching import bit, first_min, pick
from storagekit.dispatch.base import AbstractDispatch


class NearestIdle(AbstractDispatch):
    """Send a request to the nearest idle drive, or to all drives that hold the data if no drive is idle.

    The distance is measured as the time of seek plus rotation, because the positions of the heads are available.
    """

    def route(self, private, request, entering, view):
        free = view.holders() & view.free
        nearest, time = first_min(jnp.where(free, view.positioning_time(), jnp.inf))
        return jnp.where(
            jnp.isfinite(time), bit(pick(view.part(), nearest)), view.placement.parts_of(view.location)
        ), private
