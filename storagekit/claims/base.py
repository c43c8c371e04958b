"""What settling a claim promises: who keeps a part that several drives may serve, and who hears of it when."""

from abc import abstractmethod
from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Shaped, UInt32

from storagekit.arrays import AnyArray
from storagekit.lanes import INSTANT, real, rows
from storagekit.moments import Member


class Claim(NamedTuple):
    """A drive's choice: of which part, and the bid, the predicted positioning time.

    start: seconds from now at which the access goes to the disk, until when the drive may give it up. takes: seconds that the
    access lasts.
    """

    slot: Int[Array, "1 *lanes"]
    part: Int[Array, "1 *lanes"]
    made: Bool[Array, "1 *lanes"]
    bid: Float[Array, "1 *lanes"]
    start: Float[Array, "1 *lanes"]
    takes: Float[Array, "1 *lanes"]


class Verdict(NamedTuple):
    """What comes of a claim.

    kept: the chooser serves it. retry: when the chooser, not keeping it, chooses again.
    withdrawn: the parts that the request no longer waits at, one bit each, if it has all that it needs.
    contested: another part had been claimed too; first_contest: for the first time.
    rival_yields: the drive of the part `rival` gives it up and chooses again at rival_retry.
    answer: when as many of the claims that stand as the data needs parts have ended; inf while not so many stand, or where
    nobody knows beforehand.
    """

    kept: Bool[Array, "1 *lanes"]
    retry: Float[Array, "1 *lanes"]
    withdrawn: UInt32[Array, "1 *lanes"]
    contested: Bool[Array, "1 *lanes"]
    first_contest: Bool[Array, "1 *lanes"]
    rival: Int[Array, "1 *lanes"]
    rival_yields: Bool[Array, "1 *lanes"]
    rival_retry: Float[Array, "1 *lanes"]
    answer: Float[Array, "1 *lanes"]


class AbstractClaims(Member):
    """Who takes a request that several were asked for."""

    def check(self, needed: int) -> None:
        """Raises InputError where it cannot settle claims on requests of which so many parts are needed."""

    @property
    @abstractmethod
    def hop(self) -> Float[AnyArray, "..."]:
        """Seconds that a request takes from the brick which receives it to another."""

    @property
    def certain(self) -> bool | Bool[AnyArray, "..."]:
        """Whether no more drives ever serve a request than it needs, so that who takes a part knows when it is answered."""
        return False

    @property
    def answers_tell(self) -> bool:
        """Whether a drive may learn by its answer that a request is over, no claim having reached it before."""
        return False

    def begins(self, free: Float[Array, "1 *lanes"]) -> Float[Array, "1 *lanes"]:
        """Seconds from now at which the access begins of a drive that chooses now and falls free then, as it predicts it."""
        return jnp.maximum(free, 0.0)

    def issues(self, begins: Float[Array, "1 *lanes"], rotation: Float[Array, "1 *lanes"]) -> Float[Array, "1 *lanes"]:
        """Seconds from now at which an access goes to the disk that could at `begins`. It may be held back by its `rotation`,
        the time for which it would wait for the platter, and ends no later for that."""
        return begins

    @property
    @abstractmethod
    def lead(self) -> Float[AnyArray, "..."]:
        """Seconds before it falls free at which a drive chooses."""

    @abstractmethod
    def choosable_from(
        self,
        private: Any,
        asked: Float[Array, "slot *lanes"],
        receiving: Int[Array, "slot *lanes"],
        part: Int[Array, "slot *lanes"],
    ) -> Float[Array, "slot *lanes"]:
        """Seconds from now at which the drive of `part` may choose each request; inf for one it must leave alone.

        asked: when that part was asked for, seconds from now. receiving: the part on the brick that a client sent it to.
        """

    @abstractmethod
    def claim(self, private: Any, claim: Claim) -> tuple[Verdict, Any]:
        """Settle a claim."""

    @abstractmethod
    def left_behind(self, private: Any, waiting: UInt32[Array, "slot *lanes"]) -> UInt32[Array, "slot *lanes"]:
        """The parts at which a claimed request that is answered still waits, because they never heard of the claim."""


class NoClaims(AbstractClaims):
    """Nobody has to ask: whoever chooses a request keeps it, and everybody knows at once."""

    @property
    def hop(self):
        return real(0)

    @property
    def certain(self):
        return True

    @property
    def lead(self):
        return real(0)

    def choosable_from(self, private, asked, receiving, part):
        return asked

    def claim(self, private, claim):
        never, time = jnp.zeros_like(claim.made), jnp.zeros_like(claim.bid)
        everybody = jnp.full(claim.part.shape, 0xFFFFFFFF, jnp.uint32)
        unknown = jnp.full_like(time, jnp.inf)
        return Verdict(claim.made, time, everybody, never, never, claim.part, never, time, unknown), private

    def left_behind(self, private, waiting):
        return jnp.zeros_like(waiting)


def slot_mask(
    values: Shaped[Array, "slot *lanes"], index: Int[Array, "1 *lanes"], made: Bool[Array, "1 *lanes"]
) -> Bool[Array, "slot *lanes"]:
    """Where `index` points, in lanes in which `made` holds."""
    return (rows(values.shape[0], values) == index) & made


def better_bid(
    bid: Float[Array, "*#row"], part: Int[Array, "*#row"], other: Float[Array, "*#row"], of: Int[Array, "*#row"]
) -> Bool[Array, "*#row"]:
    """Whether the bid of a part is better than the other one, `of` another part. Drives that end the same access at one angle
    bid the same for the next, and rounding must not choose between them."""
    return (bid < other - INSTANT) | ((jnp.abs(bid - other) <= INSTANT) & (part < of))
