"""How large requests are, in sectors of 512 bytes."""

from abc import abstractmethod
from functools import reduce

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from storagekit.core import units
from storagekit.core.arrays import AnyArray, namespace
from storagekit.core.batching import each_named, named
from storagekit.core.checks import require, require_each_positive, traced, written
from storagekit.core.errors import InputError

# of exponential sizes, so that the largest that is drawn has a number of sectors of 32 bits
MOST_MEAN = 2**35


class AbstractSize(eqx.Module):
    """Sectors of a request from one uniform number."""

    @abstractmethod
    def sectors(self, uniform: Float[AnyArray, "*row"]) -> Int[Array, "*row"]:
        """Whole sectors, at least one, for a uniform number in [0, 1)."""

    @property
    @abstractmethod
    def largest(self) -> Int[AnyArray, "..."]:
        """The most that `sectors` returns."""

    @property
    def room(self) -> Int[AnyArray, "..."]:
        """The sectors that a system needs to have for it: the largest request, or the mean where sizes have no end."""
        return self.largest


class FixedSize(AbstractSize):
    """Every request has `size` bytes."""

    size: Float[AnyArray, "..."] = eqx.field(converter=named("request size"))

    def __check_init__(self):
        _require_possible(self.size)

    def sectors(self, uniform: Float[AnyArray, "*row"]) -> Int[Array, "*row"]:
        return jnp.broadcast_to(self.largest, uniform.shape)

    @property
    def largest(self) -> Int[AnyArray, "..."]:
        return _sectors(self.size)


class ExponentialSize(AbstractSize):
    """Exponential with mean `mean` bytes, rounded up to whole sectors."""

    mean: Float[AnyArray, "..."] = eqx.field(converter=named("request size"))

    def __check_init__(self):
        _require_possible(self.mean)
        if not traced(self.mean):
            require(self.mean <= MOST_MEAN, "mean request size", self.mean, f"at most {MOST_MEAN}", "bytes")

    def sectors(self, uniform: Float[AnyArray, "*row"]) -> Int[Array, "*row"]:
        drawn = jnp.ceil(-jnp.log1p(-uniform) * (self.mean / units.SECTOR))
        return jnp.maximum(drawn, 1.0).astype(jnp.int32)

    @property
    def largest(self) -> Int[AnyArray, "..."]:
        # uniform numbers stop at 1 - 2^-24
        return jnp.ceil(24 * np.log(2.0) * self.mean / units.SECTOR).astype(jnp.int32) + 1

    @property
    def room(self) -> Int[AnyArray, "..."]:
        return _sectors(self.mean)


class UniformSize(AbstractSize):
    """Uniform from `low` to `high` bytes, rounded up to whole sectors."""

    low: Float[AnyArray, "..."] = eqx.field(converter=named("request size"))
    high: Float[AnyArray, "..."] = eqx.field(converter=named("request size"))

    def __check_init__(self):
        _require_possible(self.low)
        _require_possible(self.high)
        if traced(self.low) or traced(self.high):
            return
        low, high = np.broadcast_arrays(self.low, self.high)
        wrong = high < low
        if np.any(wrong):
            raise InputError(
                f"request sizes from {written(low[wrong][0])} to {written(high[wrong][0])} bytes: give the smaller one first"
            )

    def sectors(self, uniform: Float[AnyArray, "*row"]) -> Int[Array, "*row"]:
        drawn = jnp.ceil((self.low + uniform * (self.high - self.low)) / units.SECTOR)
        # rounding may carry a sum of floats beyond the larger one
        return jnp.minimum(drawn.astype(jnp.int32), self.largest)

    @property
    def largest(self) -> Int[AnyArray, "..."]:
        return _sectors(self.high)


class MixedSizes(AbstractSize):
    """One of several sizes, bytes, each drawn in proportion to its share."""

    sizes: tuple[Float[AnyArray, "..."], ...] = eqx.field(converter=each_named("request size"))
    shares: tuple[Float[AnyArray, "..."], ...] = eqx.field(converter=each_named("share of a request size"))

    def __check_init__(self):
        if not self.sizes or len(self.sizes) != len(self.shares):
            raise InputError(
                f"{len(self.sizes)} request sizes with {len(self.shares)} shares: give one share for each size"
            )
        for size, share in zip(self.sizes, self.shares, strict=True):
            _require_possible(size)
            require_each_positive("share of a request size", share)

    def sectors(self, uniform: Float[AnyArray, "*row"]) -> Int[Array, "*row"]:
        edge, total = jnp.zeros_like(uniform), sum(self.shares[1:], start=self.shares[0])
        drawn = jnp.broadcast_to(_sectors(self.sizes[0]), uniform.shape)
        for before, size in zip(self.shares[:-1], self.sizes[1:], strict=True):
            edge = edge + before / total
            drawn = jnp.where(uniform >= edge, _sectors(size), drawn)
        return drawn

    @property
    def largest(self) -> Int[AnyArray, "..."]:
        return reduce(namespace(*self.sizes).maximum, (_sectors(size) for size in self.sizes))


def _sectors(size: Float[AnyArray, "..."]) -> Int[AnyArray, "..."]:
    return namespace(size).ceil(size / units.SECTOR).astype(np.int32)


def _require_possible(size) -> None:
    if traced(size):
        return
    size = np.asarray(size)
    require((size > 0) & (size < 2**40), "request size", size, "above 0 and below 1 TB", "bytes")
