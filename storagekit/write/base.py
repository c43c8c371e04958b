"""Interface of the write policies: the parts that are written immediately or later, and the completion of a write.

By default all parts are written immediately. A policy that delays parts offers them to the drives later (`Background`).
"""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, UInt32

from storagekit.component.events import CompletionRule, Component
from storagekit.core.arrays import AnyArray
from storagekit.core.batching import bit_is_set
from storagekit.core.errors import InputError
from storagekit.core.system_facts import SystemFacts
from storagekit.drive import AbstractMechanics
from storagekit.placement import AbstractPlacement
from storagekit.workload import Requests


class WaitingParts(NamedTuple):
    """Parts that wait at a drive.

    Parameters
    ----------
    waits : array of bool, shape `[slot, *batch]`
        Mask of the requests that the drive may serve.
    usable : array of uint32, shape `[slot, *batch]`, or None
        Mask of the replicas of each request that may be chosen; None if all replicas may be chosen.
    """

    waits: Bool[Array, "slot *batch"]
    usable: UInt32[Array, "slot *batch"] | None


class DelayedPart(NamedTuple):
    """A delayed part that a drive writes instead of a request in the slots.

    Parameters
    ----------
    row : array of int32, shape `[1, *batch]`
        Row in the table of the policy.
    found : array of bool, shape `[1, *batch]`
        Whether there is such a part.
    number : array of int32, shape `[1, *batch]`
        Number of the request.
    location : pytree of arrays, shape `[1, *batch]`
        Location of the request.
    usable : array of uint32, shape `[1, *batch]`
        Mask of the replicas that may be written.
    candidates : array of int32, shape `[1, *batch]`
        Number of delayed parts from which this part was chosen.
    """

    row: Int[Array, "1 *batch"]
    found: Bool[Array, "1 *batch"]
    number: Int[Array, "1 *batch"]
    location: Any
    usable: UInt32[Array, "1 *batch"]
    candidates: Int[Array, "1 *batch"]


# Function that returns the cost of delayed writes for the drive that chooses. Its arguments are the locations of the
# writes, their arrival times in seconds from now, the part of each write that the drive holds, and a mask of the
# replicas that may be written.
Price = Callable[
    [Any, Float[Array, "row *batch"], Int[Array, "row *batch"], UInt32[Array, "row *batch"]], Float[Array, "row *batch"]
]


class DelayedParts(eqx.Module):
    """Parts of a write that drives write later, such as buffered parts or further copies; by default none."""

    @property
    def delays(self) -> bool:
        """Return whether one drive writes one part first, and the other drives write their parts later."""
        return False

    @property
    def may_delay(self) -> bool:
        """Return whether the policy may delay parts of a write."""
        return self.delays

    @property
    def one_for_all(self) -> bool:
        """Return whether one part represents all parts of a write. The parts must then be copies of one another."""
        return self.delays

    @property
    def claims_writes(self) -> bool:
        """Return whether drives claim writes in the same way as reads."""
        return self.delays

    def has_room(self, private: Any) -> Bool[Array, "1 *batch"] | None:
        """Return whether a request may enter, `[1, *batch]`; None if a request may always enter."""
        return None

    def usable(
        self, private: Any, request: Requests, admitted: Bool[Array, "1 *batch"], placement: AbstractPlacement
    ) -> UInt32[Array, "1 *batch"] | None:
        """Return the replicas that may serve an entering request.

        Parameters
        ----------
        private : Any
            The private state of the policy.
        request : Requests
            The request, arrays of shape `[1, *batch]`.
        admitted : array of bool, shape `[1, *batch]`
            Runs where the request enters.
        placement : AbstractPlacement
            The placement.

        Returns
        -------
        array of uint32, shape `[1, *batch]`, or None
            Mask of the replicas, bit part * D_r + replica; None if all replicas may serve the request.
        """
        return None

    def offer(
        self,
        private: Any,
        waiting: UInt32[Array, "slot *batch"],
        part: Int[Array, "slot *batch"],
        placement: AbstractPlacement,
    ) -> WaitingParts:
        """Return the parts that wait at one drive.

        Parameters
        ----------
        private : Any
            The private state of the policy.
        waiting : array of uint32, shape `[slot, *batch]`
            Mask of the waiting parts of each request.
        part : array of int32, shape `[slot, *batch]`
            Part of each request that the drive holds.
        placement : AbstractPlacement
            The placement.

        Returns
        -------
        WaitingParts
            The requests that wait, and the usable replicas of each request; by default all replicas.
        """
        return WaitingParts(bit_is_set(waiting, part), None)

    def buffered(
        self, targets: UInt32[Array, "1 *batch"], parts: UInt32[Array, "1 *batch"], read: Bool[Array, "1 *batch"]
    ) -> UInt32[Array, "1 *batch"] | None:
        """Return the parts of an entering request that are delayed on arrival. Idle drives wake for these parts.

        Parameters
        ----------
        targets : array of uint32, shape `[1, *batch]`
            Mask of the parts that wait in the queues of drives.
        parts : array of uint32, shape `[1, *batch]`
            Mask of all parts.
        read : array of bool, shape `[1, *batch]`
            Whether the request is a read.

        Returns
        -------
        array of uint32, shape `[1, *batch]`, or None
            Mask of the parts; None if the policy never delays parts on arrival.
        """
        return None

    def next_delayed(
        self,
        private: Any,
        drive: Int[Array, "1 *batch"],
        chooses: Bool[Array, "1 *batch"],
        bound: Float[Array, "1 *batch"],
        price: Price,
        placement: AbstractPlacement,
    ) -> DelayedPart | None:
        """Return the delayed part that a drive writes next.

        Parameters
        ----------
        private : Any
            The private state of the policy.
        drive : array of int32, shape `[1, *batch]`
            The drive.
        chooses : array of bool, shape `[1, *batch]`
            Runs where the drive chooses its next access.
        bound : array of float32, shape `[1, *batch]`
            The lowest cost of the requests in the slots; inf if no request waits. Only a delayed part with a
            lower cost is selected.
        price : Price
            Function that returns the cost of delayed parts.
        placement : AbstractPlacement
            The placement.

        Returns
        -------
        DelayedPart or None
            The part; None if the policy never delays parts.
        """
        return None

    def ends_delayed(self, private: Any, drive: Int[Array, "1 *batch"]) -> Bool[Array, "1 *batch"] | None:
        """Return whether the access of `drive` writes a delayed part; None if the policy never delays parts."""
        return None

    def needs_slots(self, private: Any, read: Bool[Array, "slot *batch"]) -> Bool[Array, "slot *batch"]:
        """Return the mask of the slots whose request is still needed after it has completed and left all queues.

        Parameters
        ----------
        private : Any
            The private state of the policy.
        read : array of bool, shape `[slot, *batch]`
            Whether the request in each slot is a read.

        Returns
        -------
        array of bool, shape `[slot, *batch]`
            The mask; by default false everywhere.
        """
        return jnp.zeros_like(read)


class AbstractWrite(DelayedParts, Component):
    """Base class of the write policies, which define when a write completes and how it reaches its parts.

    A policy implements `rule`. The base classes have defaults for the other methods: `Component` for the private state
    and its events, and `DelayedParts` for policies that write parts later.

    By default a write waits at every drive that holds a part. Each drive writes all its D_r replicas one after the
    other. This takes (D_r - 1) / D_r of a revolution longer than writing one replica (srarray, equation 3).
    """

    @abstractmethod
    def rule(
        self, parts: UInt32[Array, "*row"], receiving: Int[Array, "*row"], readable: Int[AnyArray, "..."]
    ) -> CompletionRule:
        """Return the condition under which a write completes.

        Parameters
        ----------
        parts : array of uint32, shape `[*row]`
            Mask of the parts that are written.
        receiving : array of int32, shape `[*row]`
            Number of the part on the brick to which the client sent the write.
        readable : int or array of int
            Number of parts from which the data is readable.

        Returns
        -------
        CompletionRule
            The parts that are counted, and the number of counted parts that must be written before the write completes.
        """

    def check_rules(self, facts: SystemFacts) -> None:
        """Raise InputError if the system does not support the times at which the policy writes parts.

        `System` calls this method in addition to `check`, with the same argument. A subclass that overrides `check`
        therefore keeps these rules.
        """
        if facts.stops and (self.may_delay or self.over_when_completed):
            raise InputError("bricks that stop together with delayed writes: not modelled; use AllCopies()")
        if self.one_for_all and not facts.is_replicated:
            raise InputError(
                f"policy {facts.policy} with {facts.layout}: the parts of this layout are not copies of one another; "
                "use AllCopies()"
            )
        apart = (facts.is_replicated or facts.fragments) and not facts.reads_before_writes
        if (self.may_delay or self.over_when_completed) and not apart:
            raise InputError(
                f"policy {facts.policy} with {facts.layout}: the parts of this layout are neither copies nor "
                "fragments; use AllCopies()"
            )

    @property
    def over_when_completed(self) -> bool:
        """Return whether a write leaves the queues of all drives when it completes.

        The parts that are not yet written are then dropped.
        """
        return False

    def targets(
        self,
        private: Any,
        routed: UInt32[Array, "1 *batch"],
        read: Bool[Array, "1 *batch"],
        location: Any,
        placement: AbstractPlacement,
    ) -> UInt32[Array, "1 *batch"]:
        """Return the mask of the parts of an entering request that wait in the queues of drives.

        Parameters
        ----------
        private : Any
            The private state of the policy.
        routed : array of uint32, shape `[1, *batch]`
            Mask of the parts that the dispatcher selected.
        read : array of bool, shape `[1, *batch]`
            Whether the request is a read.
        location : Any
            The location of the request.
        placement : AbstractPlacement
            The placement.

        Returns
        -------
        array of uint32, shape `[1, *batch]`
            Mask of the parts; by default `routed` for a read, and all parts for a write.
        """
        return jnp.where(read, routed, placement.parts_of(location))

    def sweep(
        self, placement: AbstractPlacement, mechanics: AbstractMechanics, drive: Int[AnyArray, "*#row"]
    ) -> Float[AnyArray, "..."]:
        """Return the time in seconds that a write takes in addition to the access to one replica.

        Parameters
        ----------
        placement : AbstractPlacement
            The placement.
        mechanics : AbstractMechanics
            Mechanics of the drive.
        drive : array of int32, shape `[*row]`
            Number of the drive.

        Returns
        -------
        array of float32
            Additional time of the write, seconds.
        """
        return placement.sweep(mechanics, drive)
