"""A drive without mechanics: service time is size over rate. The single server of queueing theory."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Int

from storagekit.arrays import AnyArray
from storagekit.checks import require_each_positive
from storagekit.drive.base import Arm, OneKind, Positioning, Target
from storagekit.drive.slowed import Slowed
from storagekit.lanes import real


class RateServer(OneKind):
    """Serves `rate` sectors a second wherever they lie, so that the size model is the service-time model."""

    rate: Float[AnyArray, "..."] = eqx.field(converter=real)
    capacity: int = eqx.field(static=True, default=2**24)

    def __check_init__(self):
        require_each_positive("service rate", self.rate, "sectors a second")

    @property
    def cylinders(self) -> int:
        return 1

    @property
    def heads(self) -> int:
        return 1

    def locate(self, sector: Int[AnyArray, "*#row"], count: Int[AnyArray, "*#row"]) -> Target:
        nowhere = sector * 0
        return Target(
            nowhere,
            nowhere,
            nowhere.astype(np.float32),
            count.astype(np.float32) / self.rate,
            Arm(nowhere, nowhere),
        )

    def positioning(
        self, arm: Arm, angle: Float[AnyArray, "*#row"], target: Target, read: Bool[AnyArray, "*#row"]
    ) -> Positioning:
        none = jnp.zeros_like(target.angle)
        return Positioning(none, none)

    def at_speed(self, seek: Float[AnyArray, "*#row"], turning: Float[AnyArray, "*#row"]) -> Slowed:
        return Slowed(self, turning)

    def turns(self, seconds: Float[AnyArray, "*#row"]) -> Float[AnyArray, "*#row"]:
        return jnp.zeros_like(seconds)

    def seconds(self, turns: Float[AnyArray, "*#row"]) -> Float[AnyArray, "*#row"]:
        return turns * 0

    def drift(self, seconds: Float[AnyArray, "*#row"]) -> Float[AnyArray, "*#row"]:
        return jnp.zeros_like(seconds)
