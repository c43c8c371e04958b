"""What a write policy promises: which parts are written now and which later, and how many of them its answer waits for.

By default all are written at once; what a policy leaves for later it offers to the drives (`Background`).
"""

from abc import abstractmethod
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

    waits: requests it may take. delayed: of these, parts that a write left for later; patient: of these, those that wait
    until nothing else does. usable: the replicas of each that may be chosen, one bit each. None: as if nothing were ever
    delayed, and every replica usable.
    """

    waits: Bool[Array, "slot *lanes"]
    delayed: Bool[Array, "slot *lanes"] | None
    patient: Bool[Array, "slot *lanes"] | None
    usable: UInt32[Array, "slot *lanes"] | None


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

    def usable(self, private: Any, request: Requests, placement: AbstractPlacement) -> UInt32[Array, "1 *lanes"] | None:
        """The replicas at which an entering request may be served, bit part * D_r + replica; None for all."""
        return None

    def asked(
        self, routed: UInt32[Array, "1 *lanes"], parts: UInt32[Array, "1 *lanes"], read: Bool[Array, "1 *lanes"]
    ) -> UInt32[Array, "1 *lanes"]:
        """Of the `parts` of an entering request, those at which it waits; routed: those that would serve a read."""
        return jnp.where(read, routed, parts)

    def offer(
        self,
        private: Any,
        waiting: UInt32[Array, "slot *lanes"],
        part: Int[Array, "slot *lanes"],
        placement: AbstractPlacement,
    ) -> Offer:
        """What waits at the drive that holds this part of each request."""
        return Offer(held(waiting, part), None, None, None)

    def sweep(self, placement: AbstractPlacement, mechanics: AbstractMechanics) -> Float[AnyArray, "..."]:
        """Seconds that an access which writes takes beyond one replica."""
        return placement.sweep(mechanics)

    def left(self, private: Any, slot: Int[Array, "1 *lanes"]) -> UInt32[Array, "1 *lanes"]:
        """The replicas that the write in `slot`, whose access is over, has still to reach, as in `usable`."""
        return jnp.zeros(slot.shape, jnp.uint32)

    def keeps(self, private: Any, read: Bool[Array, "slot *lanes"]) -> Bool[Array, "slot *lanes"]:
        """Slots whose request is still needed, although answered and waiting nowhere."""
        return jnp.zeros_like(read)
