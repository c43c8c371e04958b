"""What a request costs its stream, in whole units: the service that is shared (dsfq, section 2.2)."""

from abc import abstractmethod

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, UInt32

from storagekit.core import units
from storagekit.core.arrays import AnyArray
from storagekit.core.batching import named
from storagekit.core.checks import require, require_each_positive


class AbstractCost(eqx.Module):
    """What a request costs."""

    @abstractmethod
    def units(self, sectors: Int[AnyArray, "*row"]) -> UInt32[Array, "*row"]:
        """The cost of requests of so many sectors, at least 1 and below 2^24."""


class ByBytes(AbstractCost):
    """Its length in sectors: throughput is shared (dsfq, section 4)."""

    def units(self, sectors):
        return sectors.astype(jnp.uint32)


class ByRequests(AbstractCost):
    """One each: requests a second are shared."""

    def units(self, sectors):
        return jnp.ones_like(sectors).astype(jnp.uint32)


class ByTime(AbstractCost):
    """The time that it is taken to need, in whole microseconds: `access` seconds, and its length at `rate` bytes a second.

    Disk time is shared, as far as the estimate goes.
    """

    access: Float[AnyArray, "..."] = eqx.field(converter=named("an access of"))
    rate: Float[AnyArray, "..."] = eqx.field(converter=named("a rate of"))

    def __check_init__(self):
        access = self.access
        require((access >= 0) & (access < 10), "an access of", access, "0 or more and below 10", "s")
        require_each_positive("a rate of", self.rate, "bytes a second")

    def units(self, sectors):
        seconds = self.access + sectors * (units.SECTOR / self.rate)
        return jnp.clip(jnp.round(seconds * 1e6), 1, 2**24 - 1).astype(jnp.uint32)
