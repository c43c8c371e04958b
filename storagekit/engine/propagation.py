"""How a write reaches its copies: a policy of the system.

In the foreground every copy is written before anything else happens to it; `delayed.Background` writes one copy like a read
and the others when there is time.
"""

from abc import abstractmethod
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, UInt32

from storagekit.arrays import AnyArray
from storagekit.drive import AbstractMechanics
from storagekit.errors import InputError
from storagekit.lanes import held, mask_of
from storagekit.placement import AbstractPlacement
from storagekit.workload import Requests


class Offer(NamedTuple):
    """What waits at a drive.

    waits: requests it may take. delayed: of these, copies that a write left for later; patient: of these, those that wait
    until nothing else does. None for both where nothing is ever left for later.
    usable: the replicas of each request that may be accessed, one bit each; None for all.
    """

    waits: Bool[Array, "slot *lanes"]
    delayed: Bool[Array, "slot *lanes"] | None
    patient: Bool[Array, "slot *lanes"] | None
    usable: UInt32[Array, "slot *lanes"] | None


class Access(NamedTuple):
    """An access that is over: of which request and which of its copies and replicas, and whether it was a write's."""

    slot: Int[Array, "1 *lanes"]
    copy: Int[Array, "1 *lanes"]
    replica: Int[Array, "1 *lanes"]
    written: Bool[Array, "1 *lanes"]


class AbstractPropagation(eqx.Module):
    """How a write reaches its copies."""

    def check(self, lead: float, copies: int, replicas: int) -> None:
        """Raises InputError where it cannot work with a dispatcher of that lead and so many copies of so many replicas."""

    @abstractmethod
    def init(self, slots: int, lanes: tuple[int, ...]) -> Any:
        """Private state at the start of a run."""

    @abstractmethod
    def usable(self, private: Any, request: Requests, placement: AbstractPlacement) -> UInt32[Array, "1 *lanes"] | None:
        """The replicas at which an entering request may be served, bit copy * replicas + replica; None for all."""

    @abstractmethod
    def asked(
        self, routed: UInt32[Array, "1 *lanes"], request: Requests, placement: AbstractPlacement
    ) -> UInt32[Array, "1 *lanes"]:
        """The copies that an entering request is sent to; routed: those that the dispatcher would have serve a read."""

    @abstractmethod
    def admit(
        self,
        private: Any,
        into: Bool[Array, "slot *lanes"],
        request: Requests,
        usable: UInt32[Array, "1 *lanes"] | None,
    ) -> Any:
        """Private state once a request has entered the slot marked in `into`."""

    @abstractmethod
    def offer(
        self,
        private: Any,
        waiting: UInt32[Array, "slot *lanes"],
        copy: Int[Array, "slot *lanes"],
        placement: AbstractPlacement,
    ) -> Offer:
        """What waits at the drive that holds copy `copy` of each request."""

    @property
    @abstractmethod
    def claims_writes(self) -> bool:
        """Whether one drive serves a write's first copy for all the copies it waits at."""

    @abstractmethod
    def shared(self, read: Bool[Array, "1 *lanes"], delayed: Bool[Array, "1 *lanes"]) -> Bool[Array, "1 *lanes"]:
        """Whether a request is served once for all the copies it waits at, so that whoever chooses it claims it."""

    @abstractmethod
    def last(
        self, private: Any, slot: Int[Array, "1 *lanes"], waiting: UInt32[Array, "1 *lanes"]
    ) -> Bool[Array, "1 *lanes"]:
        """Whether the access just chosen is the last of its write; waiting: the copies it still waits at."""

    @abstractmethod
    def sweep(self, placement: AbstractPlacement, mechanics: AbstractMechanics) -> Float[AnyArray, "..."]:
        """Seconds that an access which writes takes beyond one replica."""

    @abstractmethod
    def done(self, private: Any, access: Access, placement: AbstractPlacement) -> tuple[Any, UInt32[Array, "1 *lanes"]]:
        """Private state once an access is over, and the replicas that its request has left to write, as in `usable`."""

    @abstractmethod
    def keeps(self, private: Any, read: Bool[Array, "slot *lanes"]) -> Bool[Array, "slot *lanes"]:
        """Slots whose request is still needed, although answered and waiting nowhere."""


class Foreground(AbstractPropagation):
    """Every copy at once.

    A write waits at every drive that holds the block, each of which writes all its replicas in one sweep, (D_r - 1) / D_r of
    a turn long (srarray, equation 3).
    """

    def init(self, slots: int, lanes: tuple[int, ...]) -> None:
        return None

    def usable(self, private: None, request: Requests, placement: AbstractPlacement) -> None:
        return None

    def asked(
        self, routed: UInt32[Array, "1 *lanes"], request: Requests, placement: AbstractPlacement
    ) -> UInt32[Array, "1 *lanes"]:
        return jnp.where(request.read, routed, mask_of(placement.copies))

    def admit(
        self,
        private: None,
        into: Bool[Array, "slot *lanes"],
        request: Requests,
        usable: UInt32[Array, "1 *lanes"] | None,
    ) -> None:
        return None

    def offer(
        self,
        private: None,
        waiting: UInt32[Array, "slot *lanes"],
        copy: Int[Array, "slot *lanes"],
        placement: AbstractPlacement,
    ) -> Offer:
        return Offer(held(waiting, copy), None, None, None)

    @property
    def claims_writes(self) -> bool:
        return False

    def shared(self, read: Bool[Array, "1 *lanes"], delayed: Bool[Array, "1 *lanes"]) -> Bool[Array, "1 *lanes"]:
        return read

    def last(
        self, private: None, slot: Int[Array, "1 *lanes"], waiting: UInt32[Array, "1 *lanes"]
    ) -> Bool[Array, "1 *lanes"]:
        return waiting == 0

    def sweep(self, placement: AbstractPlacement, mechanics: AbstractMechanics) -> Float[AnyArray, "..."]:
        return placement.sweep(mechanics)

    def done(
        self, private: None, access: Access, placement: AbstractPlacement
    ) -> tuple[None, UInt32[Array, "1 *lanes"]]:
        return None, jnp.zeros(access.slot.shape, jnp.uint32)

    def keeps(self, private: None, read: Bool[Array, "slot *lanes"]) -> Bool[Array, "slot *lanes"]:
        return jnp.zeros_like(read)


def refuse_lead(lead: float) -> None:
    """A dispatcher that chooses ahead of time cannot tell when a copy is written."""
    if lead > 0:
        raise InputError(
            f"delayed writes under a dispatcher that chooses {lead:g} s early: use one without messages, or Foreground()"
        )
