"""Distributions of the size of requests, in sectors of 512 bytes."""

from abc import abstractmethod
from functools import reduce

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from storagekit.core import units
from storagekit.core.arrays import AnyArray, namespace
from storagekit.core.batching import each_named, named
from storagekit.core.errors import InputError
from storagekit.core.validation import POSITIVE, require, traced, written

# limit of the mean of exponential sizes, bytes, so that the number of sectors of the largest size has 32 bits
MOST_MEAN = 2**35


class AbstractSize(eqx.Module):
    """Base class of distributions of the size of a request."""

    @abstractmethod
    def sectors(self, uniform: Float[AnyArray, "*row"]) -> Int[Array, "*row"]:
        """Return the size in whole sectors, at least 1, for a uniform random number in [0, 1)."""

    @property
    @abstractmethod
    def largest(self) -> Int[AnyArray, "..."]:
        """Return the largest value of `sectors`."""

    @property
    def room(self) -> Int[AnyArray, "..."]:
        """Return the smallest possible size of a system, in sectors.

        It is the largest size of a request, or the mean size for an unbounded distribution.
        """
        return self.largest


class FixedSize(AbstractSize):
    """The same size for all requests.

    Parameters
    ----------
    size : float
        Size, bytes, above 0, rounded up to whole sectors.

    Raises
    ------
    InputError
        If the size is out of its range.
    """

    size: Float[AnyArray, "..."] = eqx.field(converter=named("request size"))

    def __check_init__(self):
        _require_possible(self.size)

    def sectors(self, uniform: Float[AnyArray, "*row"]) -> Int[Array, "*row"]:
        return jnp.broadcast_to(self.largest, uniform.shape)

    @property
    def largest(self) -> Int[AnyArray, "..."]:
        return _sectors(self.size)


class ExponentialSize(AbstractSize):
    """Exponential distribution, rounded up to whole sectors.

    Parameters
    ----------
    mean : float
        Mean, bytes, above 0 and at most 2**35.

    Raises
    ------
    InputError
        If the mean is out of its range.
    """

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
    """Uniform distribution, rounded up to whole sectors.

    Parameters
    ----------
    low, high : float
        Smallest and largest size, bytes, above 0.

    Raises
    ------
    InputError
        If a size is out of its range, or `low` is above `high`.
    """

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
                f"request sizes from {written(low[wrong][0])} to {written(high[wrong][0])} bytes: give the smaller "
                "size first"
            )

    def sectors(self, uniform: Float[AnyArray, "*row"]) -> Int[Array, "*row"]:
        drawn = jnp.ceil((self.low + uniform * (self.high - self.low)) / units.SECTOR)
        # rounding may give a sum of floats above `high`
        return jnp.minimum(drawn.astype(jnp.int32), self.largest)

    @property
    def largest(self) -> Int[AnyArray, "..."]:
        return _sectors(self.high)


class MixedSizes(AbstractSize):
    """One of several sizes, each drawn with a probability in proportion to its share.

    Parameters
    ----------
    sizes : sequence of float
        Sizes, bytes, above 0.
    shares : sequence of float
        Share of each size, above 0. The shares need not sum to 1.

    Raises
    ------
    InputError
        If the lengths differ, or a value is out of its range.
    """

    sizes: tuple[Float[AnyArray, "..."], ...] = eqx.field(converter=each_named("request size"))
    shares: tuple[Float[AnyArray, "..."], ...] = eqx.field(converter=each_named("fraction of a request size"))

    def __check_init__(self):
        if not self.sizes or len(self.sizes) != len(self.shares):
            raise InputError(
                f"{len(self.sizes)} request sizes with {len(self.shares)} shares: give one share for each size"
            )
        for size, share in zip(self.sizes, self.shares, strict=True):
            _require_possible(size)
            POSITIVE.each("fraction of a request size", share)

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
