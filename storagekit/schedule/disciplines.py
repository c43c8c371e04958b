"""The classic scheduling disciplines.

The drive serves the chosen request at its nearest rotational replica. On a layout with replicas, LOOK is therefore the
same as RLOOK, and SATF is the same as RSATF (srarray, section 2.4).
"""

import jax.numpy as jnp
from jaxtyping import Array, Float

from storagekit.component.events import AccessStarted, StateSizes
from storagekit.core.batching import INSTANT, real
from storagekit.drive import AbstractLayout
from storagekit.schedule.base import AbstractSchedule, Choice


class FCFS(AbstractSchedule):
    """First come, first served."""

    def cost(self, private, choice: Choice):
        return choice.enqueue_time


class SSTF(AbstractSchedule):
    """Shortest seek time first: the request on the nearest cylinder."""

    def cost(self, private, choice: Choice):
        return jnp.abs(choice.target.cylinder - choice.arm.cylinder).astype(jnp.float32)


class SATF(AbstractSchedule):
    """Shortest access (positioning) time first, SPTF: the least sum of seek and rotation (Jacobson and Wilkes 1991)."""

    def cost(self, private, choice: Choice):
        return choice.nearest().positioning.total


class CLOOK(AbstractSchedule):
    """Circular LOOK: the request on the next cylinder upward, or on the lowest cylinder if no request is ahead.

    On one cylinder, the request with the shortest access is served first.
    """

    def cost(self, private, choice: Choice):
        ahead = (choice.target.cylinder - choice.arm.cylinder).astype(jnp.float32)
        return jnp.where(ahead >= 0, ahead, ahead + 2 * span(choice.layout)) + _within_cylinder(choice)


class LOOK(AbstractSchedule):
    """The elevator algorithm: the request on the next cylinder in the direction of travel.

    The direction reverses if no request is ahead. On one cylinder, the request with the shortest access is served
    first. The private state is the direction of each drive: +1 toward higher cylinder numbers, -1 toward lower numbers.
    """

    @property
    def remembers(self):
        # the last seek of a drive determines its direction
        return False

    def init(self, sizes: StateSizes):
        return jnp.ones((sizes.drives, *sizes.batch), jnp.int32)

    def cost(self, private, choice: Choice):
        direction = jnp.take_along_axis(private, choice.drive, axis=0)
        ahead = (direction * (choice.target.cylinder - choice.arm.cylinder)).astype(jnp.float32)
        return jnp.where(ahead >= 0, ahead, span(choice.layout) - ahead) + _within_cylinder(choice)

    def on_access_started(self, private, event: AccessStarted):
        return jnp.where(event.drive_mask & (event.distance != 0), jnp.sign(event.distance), private)


RLOOK = LOOK
RSATF = SATF


def _within_cylinder(choice: Choice) -> Float[Array, "slot *batch"]:
    """Return a number from 0 to 1 that increases with the positioning time of each request.

    Costs are in cylinders, so that this number decides only among the requests of one cylinder. A drive without
    rotation has a revolution of 0 s.
    """
    turn = jnp.maximum(choice.mechanics.seconds(real(1.0)), INSTANT)
    return 1 - 1 / (1 + choice.nearest().positioning.total / turn)


def span(layout: AbstractLayout) -> float:
    """Return a number of cylinders that exceeds the distance between any two cylinders."""
    return float(layout.cylinders)
