"""Cost of a request, in whole units of the service that the streams share (dsfq, section 2.2)."""

from abc import abstractmethod

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, UInt32

from storagekit.core import units
from storagekit.core.arrays import AnyArray
from storagekit.core.batching import named
from storagekit.core.validation import POSITIVE, require


class AbstractCost(eqx.Module):
    """Cost of a request for its stream."""

    @abstractmethod
    def units(self, sectors: Int[AnyArray, "*row"]) -> UInt32[Array, "*row"]:
        """Return the cost of requests.

        Parameters
        ----------
        sectors : int array, `[*row]`
            Lengths of the requests, sectors.

        Returns
        -------
        uint32 array, `[*row]`
            Units of cost, at least 1 and below 2^24.
        """


class ByBytes(AbstractCost):
    """The cost of a request is its length in sectors: streams share the throughput (dsfq, section 4)."""

    def units(self, sectors):
        return sectors.astype(jnp.uint32)


class ByRequests(AbstractCost):
    """The cost of a request is 1: streams share the request rate."""

    def units(self, sectors):
        return jnp.ones_like(sectors).astype(jnp.uint32)


class ByTime(AbstractCost):
    """The cost of a request is its estimated service time in whole microseconds: streams share disk time.

    Parameters
    ----------
    access : float
        Time of an access without its transfer, seconds, 0 or more and below 10.
    rate : float
        Transfer rate, bytes/s, above 0.

    Raises
    ------
    InputError
        If a number is out of range.

    Notes
    -----
    cost = access + length / rate, limited to the range from 1 us to 2^24 - 1 us. The shares of disk time are only as
    exact as this estimate.
    """

    access: Float[AnyArray, "..."] = eqx.field(converter=named("access time"))
    rate: Float[AnyArray, "..."] = eqx.field(converter=named("transfer rate"))

    def __check_init__(self):
        access = self.access
        require((access >= 0) & (access < 10), "access time", access, "0 or more and below 10", "s")
        POSITIVE.in_unit("bytes a second").each("transfer rate", self.rate)

    def units(self, sectors):
        seconds = self.access + sectors * (units.SECTOR / self.rate)
        return jnp.clip(jnp.round(seconds * 1e6), 1, 2**24 - 1).astype(jnp.uint32)
