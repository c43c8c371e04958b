"""Interface of the components that select the drive for a part that is queued at several drives."""

from abc import abstractmethod
from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Shaped, UInt32

from storagekit.component.events import Component
from storagekit.core.arrays import AnyArray
from storagekit.core.batching import INSTANT, real, row_index


class Bid(NamedTuple):
    """A claim of a drive on a part, with its bid.

    Parameters
    ----------
    slot, part : array of int32, shape `[1, *batch]`
        Slot of the request, and number of the part.
    valid : array of bool, shape `[1, *batch]`
        Whether there is a claim.
    bid : array of float32, shape `[1, *batch]`
        Predicted positioning time, seconds.
    start : array of float32, shape `[1, *batch]`
        Time at which the access is issued, seconds from now. Until then the drive may give the access up.
    access_time : array of float32, shape `[1, *batch]`
        Duration of the access, seconds.
    """

    slot: Int[Array, "1 *batch"]
    part: Int[Array, "1 *batch"]
    valid: Bool[Array, "1 *batch"]
    bid: Float[Array, "1 *batch"]
    start: Float[Array, "1 *batch"]
    access_time: Float[Array, "1 *batch"]


class Decision(NamedTuple):
    """Result of a claim.

    Parameters
    ----------
    granted : array of bool, shape `[1, *batch]`
        Whether the drive serves the part.
    retry : array of float32, shape `[1, *batch]`
        Time at which the drive chooses again if it does not serve the part, seconds from now.
    withdrawn : array of uint32, shape `[1, *batch]`
        Mask of the parts that leave their queues if, after this claim, enough parts of the request are served.
    contested : array of bool, shape `[1, *batch]`
        Whether other drives had already claimed as many parts of the request as the request needs.
    first_contest : array of bool, shape `[1, *batch]`
        Whether the request is contested for the first time.
    rival : array of int32, shape `[1, *batch]`
        Number of the part that the competing claim is for.
    rival_yields : array of bool, shape `[1, *batch]`
        Whether the drive that claimed the part `rival` gives this part up.
    rival_retry : array of float32, shape `[1, *batch]`
        Time at which that drive chooses again, seconds from now.
    completion : array of float32, shape `[1, *batch]`
        Time at which enough claimed parts to read the data have ended, seconds from now. It is inf if too few parts are
        claimed, or if the time is unknown.
    """

    granted: Bool[Array, "1 *batch"]
    retry: Float[Array, "1 *batch"]
    withdrawn: UInt32[Array, "1 *batch"]
    contested: Bool[Array, "1 *batch"]
    first_contest: Bool[Array, "1 *batch"]
    rival: Int[Array, "1 *batch"]
    rival_yields: Bool[Array, "1 *batch"]
    rival_retry: Float[Array, "1 *batch"]
    completion: Float[Array, "1 *batch"]


class AbstractArbitration(Component):
    """Base class of the components that select the drive for a request that was sent to several drives."""

    @property
    @abstractmethod
    def network_latency(self) -> Float[AnyArray, "..."]:
        """Return the time in seconds that a request takes from the brick that receives it to another brick."""

    @property
    def competes(self) -> bool:
        """Return whether another drive may take a part from the drive that has chosen it."""
        return True

    @property
    def certain(self) -> bool | Bool[AnyArray, "..."]:
        """Return whether a request is served by exactly the number of drives that it needs.

        If so, the completion time is known when the request is claimed. The result is one value, or an array with one
        value for each run.
        """
        return False

    @property
    def uses_completions(self) -> bool:
        """Return whether a completion may remove a request from the queue of a drive that has received no claim."""
        return False

    def begins(self, free: Float[Array, "1 *batch"]) -> Float[Array, "1 *batch"]:
        """Return the time at which a drive that chooses now can begin the access.

        Parameters
        ----------
        free : array of float32, shape `[1, *batch]`
            Time at which the drive becomes idle, seconds from now.

        Returns
        -------
        array of float32, shape `[1, *batch]`
            Time of the beginning, seconds from now; by default `free`, but not before now.
        """
        return jnp.maximum(free, 0.0)

    def issues(self, begins: Float[Array, "1 *batch"], rotation: Float[Array, "1 *batch"]) -> Float[Array, "1 *batch"]:
        """Return the time at which an access is issued to the disk.

        This time may be later than `begins` by at most the rotational latency of the access. The end of the access does
        not change.

        Parameters
        ----------
        begins : array of float32, shape `[1, *batch]`
            Time at which the access can begin, seconds from now.
        rotation : array of float32, shape `[1, *batch]`
            Rotational latency of the access, seconds.

        Returns
        -------
        array of float32, shape `[1, *batch]`
            Time of the issue, seconds from now; by default `begins`.
        """
        return begins

    @property
    @abstractmethod
    def lead_time(self) -> Float[AnyArray, "..."]:
        """Return the time in seconds by which a drive chooses its next access before its present access ends."""

    @abstractmethod
    def choosable_from(
        self,
        private: Any,
        sent: Float[Array, "slot *batch"],
        receiving: Int[Array, "slot *batch"],
        part: Int[Array, "slot *batch"],
    ) -> Float[Array, "slot *batch"]:
        """Return the time from which a drive may choose each request.

        Parameters
        ----------
        private : Any
            Private state.
        sent : array of float32, shape `[slot, *batch]`
            Time at which the part was sent, seconds from now.
        receiving : array of int32, shape `[slot, *batch]`
            Part on the brick that the client sent the request to.
        part : array of int32, shape `[slot, *batch]`
            For each request, the number of the part that the drive holds.

        Returns
        -------
        array of float32, shape `[slot, *batch]`
            Time, seconds from now; inf for never.
        """

    @abstractmethod
    def claim(self, private: Any, claim: Bid) -> tuple[Decision, Any]:
        """Return the result of a claim, and the private state after it.

        Parameters
        ----------
        private : Any
            Private state.
        claim : Bid
            The claim.

        Returns
        -------
        decision : Decision
            Result of the claim.
        private : Any
            Private state after the claim.
        """

    @abstractmethod
    def stale_copies(self, private: Any, waiting: UInt32[Array, "slot *batch"]) -> UInt32[Array, "slot *batch"]:
        """Return the parts of completed requests that still wait because no claim has reached their drives.

        Parameters
        ----------
        private : Any
            Private state.
        waiting : array of uint32, shape `[slot, *batch]`
            Mask of the waiting parts of each request, bit k for part k.

        Returns
        -------
        array of uint32, shape `[slot, *batch]`
            Mask of the parts that still wait although their requests have completed.
        """


class NoArbitration(AbstractArbitration):
    """The drive that chooses a request serves it, and all other drives are notified without delay."""

    @property
    def competes(self):
        return False

    @property
    def network_latency(self):
        return real(0)

    @property
    def certain(self):
        return True

    @property
    def lead_time(self):
        return real(0)

    def choosable_from(self, private, sent, receiving, part):
        return sent

    def claim(self, private, claim):
        never, time = jnp.zeros_like(claim.valid), jnp.zeros_like(claim.bid)
        everybody = jnp.full(claim.part.shape, 0xFFFFFFFF, jnp.uint32)
        unknown = jnp.full_like(time, jnp.inf)
        return Decision(claim.valid, time, everybody, never, never, claim.part, never, time, unknown), private

    def stale_copies(self, private, waiting):
        return jnp.zeros_like(waiting)


def slot_mask(
    values: Shaped[Array, "slot *batch"], index: Int[Array, "1 *batch"], valid: Bool[Array, "1 *batch"]
) -> Bool[Array, "slot *batch"]:
    """Return the mask of the slot `index`, false everywhere in runs where `valid` is false.

    Parameters
    ----------
    values : array, shape `[slot, *batch]`
        Any array that has the shape of the result.
    index : array of int32, shape `[1, *batch]`
        The slot.
    valid : array of bool, shape `[1, *batch]`
        Mask of runs.

    Returns
    -------
    array of bool, shape `[slot, *batch]`
        The mask.
    """
    return (row_index(values.shape[0], values) == index) & valid


def better_bid(
    bid: Float[Array, "*#row"], part: Int[Array, "*#row"], other: Float[Array, "*#row"], of: Int[Array, "*#row"]
) -> Bool[Array, "*#row"]:
    """Return whether the bid of one part is better than the bid of another part.

    Parameters
    ----------
    bid, other : array of float32, shape `[*row]`
        The two bids, seconds.
    part, of : array of int32, shape `[*row]`
        The part that `bid` is for, and the part that `other` is for.

    Returns
    -------
    array of bool, shape `[*row]`
        True if `bid` is lower, or if the bids are equal and `part` is lower than `of`.

    Notes
    -----
    Two drives whose heads are at the same angle have equal bids for the next access, except for rounding errors. Bids
    that differ by less than `batching.INSTANT` therefore count as equal.
    """
    return (bid < other - INSTANT) | ((jnp.abs(bid - other) <= INSTANT) & (part < of))
