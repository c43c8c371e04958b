"""The SR-Mirror's heuristic: the idle head that is nearest, else the first that comes to it.

srarray, section 3.3: if drives that hold the data are idle, the request goes at once to the one whose head is closest to a
copy; if all are busy it waits at every one of them, and leaves the other queues as soon as one schedules it.
"""

import jax.numpy as jnp

from storagekit.core.batching import bit, first_min, pick
from storagekit.dispatch.base import AbstractDispatch


class NearestIdle(AbstractDispatch):
    """An idle drive that is nearest, else all; closeness is seek plus rotation, as the head's position is known."""

    def route(self, private, request, entering, view):
        free = view.holders() & view.free
        nearest, time = first_min(jnp.where(free, view.reach(), jnp.inf))
        return jnp.where(
            jnp.isfinite(time), bit(pick(view.part(), nearest)), view.placement.parts_of(view.place)
        ), private
