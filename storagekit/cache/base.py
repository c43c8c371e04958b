"""Interface of the caches: look-up of a request that enters the system, and the contents of memory after it."""

from abc import abstractmethod
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, UInt32

from storagekit.component.events import Component
from storagekit.core.arrays import AnyArray
from storagekit.core.batching import named
from storagekit.core.validation import SPAN
from storagekit.placement import AbstractPlacement
from storagekit.workload import Requests


class LookUpQuery(NamedTuple):
    """Bricks whose memory may contain the data of the request that enters.

    Parameters
    ----------
    placement : AbstractPlacement
        Layout of the blocks on the drives.
    targets : array of uint32, shape `[1, *batch]`
        Mask of the parts at whose bricks a read is looked up.
    receiving : array of int, shape `[1, *batch]`
        The part at the brick that receives the request from its client.
    location : pytree of arrays
        The location of the request, the result of `placement.locate`.
    """

    placement: AbstractPlacement
    targets: UInt32[Array, "1 *batch"]
    receiving: Int[Array, "1 *batch"]
    location: Any


class LookUp(NamedTuple):
    """Result of a look-up.

    Parameters
    ----------
    hit : array of bool, shape `[1, *batch]`
        Whether a read finds all its data in the memory of one brick.
    part : array of int, shape `[1, *batch]`
        The number of the request's part at that brick.
    """

    hit: Bool[Array, "1 *batch"]
    part: Int[Array, "1 *batch"]


class AbstractCache(Component):
    """Memory in front of the disks of a system. Its contents are private state that the event loop carries."""

    @property
    @abstractmethod
    def hit_time(self) -> Float[AnyArray, "..."]:
        """Return the time in seconds from the arrival to the completion of a read that hits.

        The result is one value, or an array with one value for each run.
        """

    @abstractmethod
    def look_up(
        self, private: Any, request: Requests, entering: Bool[Array, "1 *batch"], query: LookUpQuery
    ) -> tuple[LookUp, Any]:
        """Look up a request that enters the system.

        Parameters
        ----------
        private : pytree
            The private state.
        request : Requests
            One request for each run, arrays `[1, *batch]`.
        entering : bool array, `[1, *batch]`
            Whether a request enters. If it is false, nothing hits and nothing changes.
        query : LookUpQuery
            The bricks at which the request may find its data.

        Returns
        -------
        LookUp
            Whether the request completes from memory.
        pytree
            The private state after the look-up.
        """

    def same_data(self, private: Any, request: Requests) -> Bool[Array, "slot *batch"] | None:
        """Return a mask of the slots whose requests touch data of the request that enters.

        It returns None if the model fills memory as soon as a request enters, because no request then waits for a read in
        progress.
        """
        return None

    def same_data_as(self, private: Any, slot: Int[Array, "1 *batch"]) -> Bool[Array, "slot *batch"] | None:
        """Return a mask of the slots whose requests touch data of the request in `slot`. The mask includes `slot`.

        Like `same_data`, it returns None if the model fills memory as soon as a request enters.
        """
        return None


class NoCache(AbstractCache):
    """No memory: every request goes to the disks.

    Parameters
    ----------
    hit_time : float
        Time of a hit, seconds, by default 0. It has no effect, because no request hits.
    """

    hit_time: Float[AnyArray, "..."] = eqx.field(converter=named("cache hit time"), default=0.0)

    def __check_init__(self):
        SPAN.each("cache hit time", self.hit_time)

    def look_up(self, private, request, entering, query):
        return LookUp(jnp.zeros_like(entering), jnp.zeros(entering.shape, jnp.int32)), None
