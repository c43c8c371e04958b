"""What a write policy promises: which parts are written now and which later, and how many of them its answer waits for.

By default all are written at once; what a policy leaves for later it offers to the drives (`Background`).
"""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, UInt32

from storagekit.arrays import AnyArray
from storagekit.drive import AbstractMechanics
from storagekit.lanes import held
from storagekit.moments import Member, Rule
from storagekit.placement import AbstractPlacement
from storagekit.workload import Requests


class Offer(NamedTuple):
    """What waits at a drive.

    waits: requests it may take. usable: the replicas of each that may be chosen, one bit each; None for all.
    """

    waits: Bool[Array, "slot *lanes"]
    usable: UInt32[Array, "slot *lanes"] | None


class Later(NamedTuple):
    """What a drive would write of what was left for later, rather than anything in the slots; `found` where there is such.

    row: its number in the policy's table. number: of its request, which lies at `place`. usable: the replicas that may be
    chosen, one bit each. candidates: parts there were to choose from, beside those in the slots.
    """

    row: Int[Array, "1 *lanes"]
    found: Bool[Array, "1 *lanes"]
    number: Int[Array, "1 *lanes"]
    place: Any
    usable: UInt32[Array, "1 *lanes"]
    candidates: Int[Array, "1 *lanes"]


# what writes would cost the drive that chooses: they lie at these places, were born then, seconds from now; it holds that
# part of each, and may write those replicas
Price = Callable[
    [Any, Float[Array, "row *lanes"], Int[Array, "row *lanes"], UInt32[Array, "row *lanes"]], Float[Array, "row *lanes"]
]


class AbstractWrite(Member):
    """When a write is answered, and how it reaches its parts.

    By default it waits at every drive that holds a part, each of which writes all its replicas in one sweep,
    (D_r - 1) / D_r of a turn long (srarray, equation 3).
    """

    def check(self, lead: float, parts: int, replicas: int) -> None:
        """Raises InputError where it cannot work with drives that choose so long before they fall free, or with so many
        parts of so many replicas."""

    @abstractmethod
    def rule(self, parts: UInt32[Array, "*row"], receiving: Int[Array, "*row"], readable: Int[AnyArray, "..."]) -> Rule:
        """When a write is answered of which these parts are to be written, one bit each.

        receiving: the part on the brick that the client sent it to. readable: how many parts make the data.
        """

    @property
    def one_for_all(self) -> bool:
        """Whether a certain part stands for the others, so that they must be copies of one another."""
        return self.delays

    @property
    def delays(self) -> bool:
        """Whether one drive serves a write first for all the parts it waits at, the others having time."""
        return False

    @property
    def settles(self) -> bool:
        """Whether drives settle who serves a write, as they do with a read."""
        return self.delays

    @property
    def over_when_answered(self) -> bool:
        """Whether a write leaves the queues of all drives when it is completed, so that its other parts are not written."""
        return False

    @property
    def leaves(self) -> bool:
        """Whether parts of a write may be left for later."""
        return self.delays

    def has_room(self, private: Any) -> Bool[Array, "1 *lanes"] | None:
        """Whether a request may enter; None for always."""
        return None

    def usable(
        self, private: Any, request: Requests, admitted: Bool[Array, "1 *lanes"], placement: AbstractPlacement
    ) -> UInt32[Array, "1 *lanes"] | None:
        """The replicas at which a request that enters where it is `admitted` may be served, bit part * D_r + replica; None
        for all."""
        return None

    def asked(
        self,
        private: Any,
        routed: UInt32[Array, "1 *lanes"],
        read: Bool[Array, "1 *lanes"],
        place: Any,
        placement: AbstractPlacement,
    ) -> UInt32[Array, "1 *lanes"]:
        """Return the parts of an entering request that wait in the queues of drives, one bit each.

        Parameters
        ----------
        private : Any
            The private state of the policy.
        routed : array of uint32, shape [1, *lanes]
            The parts that the dispatcher selected, one bit each.
        read : array of bool, shape [1, *lanes]
            Whether the request is a read.
        place : Any
            The location of the request.
        placement : AbstractPlacement
            The placement.
        """
        return jnp.where(read, routed, placement.parts_of(place))

    def buffered(
        self, asked: UInt32[Array, "1 *lanes"], parts: UInt32[Array, "1 *lanes"], read: Bool[Array, "1 *lanes"]
    ) -> UInt32[Array, "1 *lanes"] | None:
        """The parts of an entering request that are left for later at once, so that idle drives wake for them; None where
        there never are any."""
        return None

    def offer(
        self,
        private: Any,
        waiting: UInt32[Array, "slot *lanes"],
        part: Int[Array, "slot *lanes"],
        placement: AbstractPlacement,
    ) -> Offer:
        """What waits at the drive that holds this part of each request."""
        return Offer(held(waiting, part), None)

    def later(
        self,
        private: Any,
        which: Int[Array, "1 *lanes"],
        chooses: Bool[Array, "1 *lanes"],
        bound: Float[Array, "1 *lanes"],
        price: Price,
        placement: AbstractPlacement,
    ) -> Later | None:
        """What drive `which` writes, in lanes in which it `chooses`, of what was left for later: the part of least cost, if
        that is less than `bound`, the least in the slots (inf where there is nothing); None where nothing ever is left."""
        return None

    def sweep(
        self, placement: AbstractPlacement, mechanics: AbstractMechanics, drive: Int[AnyArray, "*#row"]
    ) -> Float[AnyArray, "..."]:
        """Seconds that an access of `drive` which writes takes beyond one replica."""
        return placement.sweep(mechanics, drive)

    def ends_delayed(self, private: Any, which: Int[Array, "1 *lanes"]) -> Bool[Array, "1 *lanes"] | None:
        """Whether the access of drive `which` writes what had been left for later; None for never."""
        return None

    def keeps(self, private: Any, read: Bool[Array, "slot *lanes"]) -> Bool[Array, "slot *lanes"]:
        """Slots whose request is still needed, although answered and waiting nowhere."""
        return jnp.zeros_like(read)
