"""Interface of the write policies: which parts are written at once and which later, and when a write completes.

By default all parts are written at once. Parts that a policy leaves for later it offers to the drives (`Background`).
"""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, UInt32

from storagekit.component.events import CompletionRule, Component
from storagekit.core.arrays import AnyArray
from storagekit.core.batching import bit_is_set
from storagekit.drive import AbstractMechanics
from storagekit.placement import AbstractPlacement
from storagekit.workload import Requests


class Offer(NamedTuple):
    """Parts that wait at a drive.

    waits: mask of the requests that it may serve. usable: mask of the replicas of each that may be chosen; None for all.
    """

    waits: Bool[Array, "slot *batch"]
    usable: UInt32[Array, "slot *batch"] | None


class Later(NamedTuple):
    """A delayed part that a drive writes instead of a request in the slots.

    row: its row in the table of the policy. found: whether there is one. number, place: its request, and the location.
    usable: mask of the replicas that may be written. candidates: number of delayed parts from which it was chosen.
    """

    row: Int[Array, "1 *batch"]
    found: Bool[Array, "1 *batch"]
    number: Int[Array, "1 *batch"]
    place: Any
    usable: UInt32[Array, "1 *batch"]
    candidates: Int[Array, "1 *batch"]


# returns the cost of delayed writes for the drive that chooses, given their locations, arrival times in seconds from now, the
# part that the drive holds of each, and the replicas that may be written
Price = Callable[
    [Any, Float[Array, "row *batch"], Int[Array, "row *batch"], UInt32[Array, "row *batch"]], Float[Array, "row *batch"]
]


class AbstractWrite(Component):
    """Decides when a write completes, and how it reaches its parts.

    By default it waits at every drive that holds a part. Each drive writes all its replicas in one sweep, which takes
    (D_r - 1) / D_r of a turn longer (srarray, equation 3).
    """

    def check(self, lead: float, parts: int, replicas: int) -> None:
        """Raise InputError if the policy does not work in a system.

        lead: time before a drive falls free at which it chooses, seconds. parts: parts of a request. replicas: replicas of
        each.
        """

    @abstractmethod
    def rule(
        self, parts: UInt32[Array, "*row"], receiving: Int[Array, "*row"], readable: Int[AnyArray, "..."]
    ) -> CompletionRule:
        """Return when a write of these parts completes.

        parts: mask of the parts that are written. receiving: part on the brick to which the client sent the write. readable:
        number of parts that make the data.
        """

    @property
    def one_for_all(self) -> bool:
        """Whether one part stands for the others, so that all parts must be copies of one another."""
        return self.delays

    @property
    def delays(self) -> bool:
        """Whether one drive serves a write first for all parts, and the others later."""
        return False

    @property
    def settles(self) -> bool:
        """Whether drives claim writes as they claim reads."""
        return self.delays

    @property
    def over_when_answered(self) -> bool:
        """Whether a write leaves the queues of all drives when it is completed, so that its other parts are not written."""
        return False

    @property
    def leaves(self) -> bool:
        """Whether parts of a write may be left for later."""
        return self.delays

    def has_room(self, private: Any) -> Bool[Array, "1 *batch"] | None:
        """Return whether a request may enter; None for always."""
        return None

    def usable(
        self, private: Any, request: Requests, admitted: Bool[Array, "1 *batch"], placement: AbstractPlacement
    ) -> UInt32[Array, "1 *batch"] | None:
        """Return the mask of the replicas at which an entering request may be served, bit part * D_r + replica; None
        for all.
        """
        return None

    def asked(
        self,
        private: Any,
        routed: UInt32[Array, "1 *batch"],
        read: Bool[Array, "1 *batch"],
        place: Any,
        placement: AbstractPlacement,
    ) -> UInt32[Array, "1 *batch"]:
        """Return the parts of an entering request that wait in the queues of drives, one bit each.

        Parameters
        ----------
        private : Any
            The private state of the policy.
        routed : array of uint32, shape `[1, *batch]`
            The parts that the dispatcher selected, one bit each.
        read : array of bool, shape `[1, *batch]`
            Whether the request is a read.
        place : Any
            The location of the request.
        placement : AbstractPlacement
            The placement.
        """
        return jnp.where(read, routed, placement.parts_of(place))

    def buffered(
        self, asked: UInt32[Array, "1 *batch"], parts: UInt32[Array, "1 *batch"], read: Bool[Array, "1 *batch"]
    ) -> UInt32[Array, "1 *batch"] | None:
        """Return the mask of the parts of an entering request that are left for later at once; None for never.

        Idle drives wake for these parts.
        """
        return None

    def offer(
        self,
        private: Any,
        waiting: UInt32[Array, "slot *batch"],
        part: Int[Array, "slot *batch"],
        placement: AbstractPlacement,
    ) -> Offer:
        """Return the parts that wait at the drive that holds `part` of each request."""
        return Offer(bit_is_set(waiting, part), None)

    def later(
        self,
        private: Any,
        which: Int[Array, "1 *batch"],
        chooses: Bool[Array, "1 *batch"],
        bound: Float[Array, "1 *batch"],
        price: Price,
        placement: AbstractPlacement,
    ) -> Later | None:
        """Return the delayed part that drive `which` writes next, where it `chooses`; None if no part is ever delayed.

        bound: lowest cost of the requests in the slots, inf for none; a delayed part has to cost less. price: cost of delayed
        parts.
        """
        return None

    def sweep(
        self, placement: AbstractPlacement, mechanics: AbstractMechanics, drive: Int[AnyArray, "*#row"]
    ) -> Float[AnyArray, "..."]:
        """Return the time by which a write of `drive` exceeds the access to one replica, seconds."""
        return placement.sweep(mechanics, drive)

    def ends_delayed(self, private: Any, which: Int[Array, "1 *batch"]) -> Bool[Array, "1 *batch"] | None:
        """Return whether the access of drive `which` writes a delayed part; None for never."""
        return None

    def keeps(self, private: Any, read: Bool[Array, "slot *batch"]) -> Bool[Array, "slot *batch"]:
        """Return a mask of the slots whose request is still needed although it is completed and waits nowhere."""
        return jnp.zeros_like(read)
