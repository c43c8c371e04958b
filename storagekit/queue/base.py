"""What a brick's queue promises: which of the parts that wait at a brick its drives may choose among.

A queue acts when a part arrives and when an access ends; among what it has handed over each drive's scheduler chooses.
"""

from abc import abstractmethod
from typing import Any, NamedTuple

from jaxtyping import Array, Bool, Float, Int, UInt32

from storagekit.moments import Member
from storagekit.placement import AbstractPlacement


class Queued(NamedTuple):
    """What a queue sees when it acts.

    waiting: the parts at which each request waits, one bit each. places: where these requests lie. sent: when each was sent
    to the bricks. busy: drives that have a part planned or under way. brick: that of each drive. acts: the drives of bricks
    whose queue acts.
    """

    waiting: UInt32[Array, "slot *lanes"]
    places: Any
    sent: Float[Array, "slot *lanes"]
    busy: Bool[Array, "drive *lanes"]
    brick: Int[Array, "drive *ones"]
    acts: Bool[Array, "drive *lanes"]
    placement: AbstractPlacement


class AbstractQueue(Member):
    """Which waiting parts a brick hands to its drives."""

    def check(self, settled_at_once: bool, delays: bool, stops: bool) -> None:
        """Raises InputError where it cannot work: with claims that take time to settle, with parts that are asked for or
        withdrawn late, or left for later, or with bricks that stop."""

    @property
    def holds_back(self) -> bool:
        """Whether it ever keeps a part from the drives."""
        return True

    @abstractmethod
    def hand(self, private: Any, queued: Queued) -> Any:
        """Private state once the bricks that act have handed over what they may."""

    @abstractmethod
    def handed(self, private: Any, waiting: UInt32[Array, "slot *lanes"]) -> UInt32[Array, "slot *lanes"]:
        """Of the parts at which requests wait, those that the drives may choose."""


class Everything(AbstractQueue):
    """A drive chooses among all that waits."""

    @property
    def holds_back(self):
        return False

    def hand(self, private, queued):
        return private

    def handed(self, private, waiting):
        return waiting
