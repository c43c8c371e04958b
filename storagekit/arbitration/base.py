"""Interface of the components that decide which of several drives serves a part that is queued at all of them."""

from abc import abstractmethod
from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Shaped, UInt32

from storagekit.component.events import Component
from storagekit.core.arrays import AnyArray
from storagekit.core.batching import INSTANT, real, row_index


class Bid(NamedTuple):
    """A claim of a drive on a part.

    slot, part: the request and its part. made: whether there is a claim. bid: predicted positioning time, seconds. start:
    time at which the access is issued, seconds from now; until then the drive may give it up. takes: duration of the access,
    seconds.
    """

    slot: Int[Array, "1 *batch"]
    part: Int[Array, "1 *batch"]
    made: Bool[Array, "1 *batch"]
    bid: Float[Array, "1 *batch"]
    start: Float[Array, "1 *batch"]
    takes: Float[Array, "1 *batch"]


class Decision(NamedTuple):
    """Result of a claim.

    kept: whether the drive serves the part. retry: time at which the drive chooses again if it does not, seconds from now.
    withdrawn: mask of the parts that leave their queues, if the request has all that it needs. contested: whether another
    part had been claimed before; first_contest: whether for the first time. rival_yields: whether the drive of the part
    `rival` gives it up, and chooses again at rival_retry. answer: time at which as many claimed parts have ended as the data
    needs; inf if fewer are claimed, or if the time is not known.
    """

    kept: Bool[Array, "1 *batch"]
    retry: Float[Array, "1 *batch"]
    withdrawn: UInt32[Array, "1 *batch"]
    contested: Bool[Array, "1 *batch"]
    first_contest: Bool[Array, "1 *batch"]
    rival: Int[Array, "1 *batch"]
    rival_yields: Bool[Array, "1 *batch"]
    rival_retry: Float[Array, "1 *batch"]
    answer: Float[Array, "1 *batch"]


class AbstractArbitration(Component):
    """Decides which drive serves a request that was sent to several."""

    def check(self, needed: int) -> None:
        """Raise InputError if claims on requests that need so many parts are not supported."""

    @property
    @abstractmethod
    def network_latency(self) -> Float[AnyArray, "..."]:
        """Time that a request takes from the brick that receives it to another one, seconds."""

    @property
    def certain(self) -> bool | Bool[AnyArray, "..."]:
        """Whether no more drives serve a request than it needs, so that its completion time is known when it is claimed."""
        return False

    @property
    def answers_tell(self) -> bool:
        """Whether a drive may learn by the completion of a request, and by no claim, that it is over."""
        return False

    def begins(self, free: Float[Array, "1 *batch"]) -> Float[Array, "1 *batch"]:
        """Return the time at which a drive that chooses now, and falls free at `free`, begins the access; seconds from
        now.
        """
        return jnp.maximum(free, 0.0)

    def issues(self, begins: Float[Array, "1 *batch"], rotation: Float[Array, "1 *batch"]) -> Float[Array, "1 *batch"]:
        """Return the time at which an access that could begin at `begins` is issued to the disk, seconds from now.

        It may be delayed by `rotation`, for which it would wait for the platter, and does not end later.
        """
        return begins

    @property
    @abstractmethod
    def lead_time(self) -> Float[AnyArray, "..."]:
        """Time before a drive falls free at which it chooses, seconds."""

    @abstractmethod
    def choosable_from(
        self,
        private: Any,
        asked: Float[Array, "slot *batch"],
        receiving: Int[Array, "slot *batch"],
        part: Int[Array, "slot *batch"],
    ) -> Float[Array, "slot *batch"]:
        """Return the time from which the drive of `part` may choose each request, seconds from now; inf for never.

        asked: time at which the part was sent. receiving: part on the brick to which the client sent the request.
        """

    @abstractmethod
    def claim(self, private: Any, claim: Bid) -> tuple[Decision, Any]:
        """Return the result of a claim, and the private state after it."""

    @abstractmethod
    def stale_copies(self, private: Any, waiting: UInt32[Array, "slot *batch"]) -> UInt32[Array, "slot *batch"]:
        """Return the mask of the parts of completed requests that still wait because no claim has reached them."""


class NoArbitration(AbstractArbitration):
    """The drive that chooses a request serves it, and all other drives learn it at once."""

    @property
    def network_latency(self):
        return real(0)

    @property
    def certain(self):
        return True

    @property
    def lead_time(self):
        return real(0)

    def choosable_from(self, private, asked, receiving, part):
        return asked

    def claim(self, private, claim):
        never, time = jnp.zeros_like(claim.made), jnp.zeros_like(claim.bid)
        everybody = jnp.full(claim.part.shape, 0xFFFFFFFF, jnp.uint32)
        unknown = jnp.full_like(time, jnp.inf)
        return Decision(claim.made, time, everybody, never, never, claim.part, never, time, unknown), private

    def stale_copies(self, private, waiting):
        return jnp.zeros_like(waiting)


def slot_mask(
    values: Shaped[Array, "slot *batch"], index: Int[Array, "1 *batch"], made: Bool[Array, "1 *batch"]
) -> Bool[Array, "slot *batch"]:
    """Return a mask of the slot `index`, in runs in which `made` is true."""
    return (row_index(values.shape[0], values) == index) & made


def better_bid(
    bid: Float[Array, "*#row"], part: Int[Array, "*#row"], other: Float[Array, "*#row"], of: Int[Array, "*#row"]
) -> Bool[Array, "*#row"]:
    """Return whether the bid of `part` is better than the bid `other` of the part `of`.

    Drives that end the same access at one angle have equal bids for the next one; rounding does not decide between them, and
    the lower part has the better bid.
    """
    return (bid < other - INSTANT) | ((jnp.abs(bid - other) <= INSTANT) & (part < of))
