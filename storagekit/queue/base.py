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
    whose queue acts. which: the drive that has fallen free; None where parts have arrived.
    """

    waiting: UInt32[Array, "slot *lanes"]
    places: Any
    sent: Float[Array, "slot *lanes"]
    busy: Bool[Array, "drive *lanes"]
    brick: Int[Array, "drive *ones"]
    acts: Bool[Array, "drive *lanes"]
    which: Int[Array, "1 *lanes"] | None
    placement: AbstractPlacement


class AbstractQueue(Member):
    """Which waiting parts a brick hands to its drives."""

    def check(self, settled_at_once: bool, withdraws: bool, delays: bool, stops: bool) -> None:
        """Raises InputError where it cannot work: with claims that take time to settle, with parts that are withdrawn because
        others are served, with some that are asked for or withdrawn late, or left for later, or with bricks that stop."""

    def serve(self, streams: int) -> None:
        """Raises InputError where it knows of fewer streams than those whose requests come."""

    @property
    def holds_back(self) -> bool:
        """Whether it ever keeps a part from the drives."""
        return True

    @abstractmethod
    def hand(self, private: Any, queued: Queued) -> tuple[Any, Bool[Array, "drive *lanes"]]:
        """Private state once the bricks that act have handed over what they may, and the drives that were given a part."""

    @abstractmethod
    def handed(
        self, private: Any, waiting: UInt32[Array, "slot *lanes"], brick: Int[Array, "#slot *lanes"]
    ) -> UInt32[Array, "slot *lanes"]:
        """Return the parts at which requests wait that the drives of a brick may choose, one bit each.

        brick: the brick in question, one or each slot's own. Bits of parts on other bricks have no meaning.
        """

    def came(
        self, private: Any, born: Float[Array, "slot *lanes"], brick: Int[Array, "1 *lanes"]
    ) -> Float[Array, "slot *lanes"]:
        """When the drives of a brick were given each part, in any unit, the sooner the less; of other bricks' parts nothing
        is said. born: when requests arrived, which is when drives have them if nothing is held back."""
        return born

    def queued(
        self, private: Any, waiting: UInt32[Array, "slot *lanes"], brick: Int[Array, "#slot *lanes"]
    ) -> UInt32[Array, "slot *lanes"]:
        """Return the parts at which requests wait that a brick has not handed over yet, one bit each; see `handed`."""
        return waiting & ~self.handed(private, waiting, brick)


class Everything(AbstractQueue):
    """A drive chooses among all that waits."""

    @property
    def holds_back(self):
        return False

    def hand(self, private, queued):
        return private, queued.acts

    def handed(self, private, waiting, brick):
        return waiting

    def queued(self, private, waiting, brick):
        # nothing is held back: what no drive serves yet
        return waiting
