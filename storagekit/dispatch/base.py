"""What a dispatcher promises: which copies are asked, when a drive may choose one, and who keeps it."""

from abc import abstractmethod
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, UInt32

from storagekit.lanes import count, rows
from storagekit.workload import Requests


class Waiting(NamedTuple):
    """The copies that wait, as a dispatcher sees them.

    at: the drives at whose queues each slot's request still waits, one bit each.
    busy: drives that have an access planned or under way.
    """

    at: UInt32[Array, "slot *lanes"]
    busy: Bool[Array, "drive *lanes"]

    def load(self) -> Int[Array, "drive *lanes"]:
        """Requests at each drive, waiting and in service."""
        drives = self.busy.shape[0]
        queued = [count((self.at >> d) & 1 == 1) for d in range(drives)]
        return jnp.concatenate(queued) + self.busy.astype(jnp.int32)


class Claim(NamedTuple):
    """A drive's choice: times are seconds from now, the bid is the predicted positioning time."""

    slot: Int[Array, "1 *lanes"]
    drive: Int[Array, "1 *lanes"]
    made: Bool[Array, "1 *lanes"]
    bid: Float[Array, "1 *lanes"]
    start: Float[Array, "1 *lanes"]


class Verdict(NamedTuple):
    """What comes of a claim.

    kept: the chooser serves it. retry: when the chooser, not keeping it, chooses again.
    contested: another drive had claimed it too; first_contest: for the first time.
    rival_yields: that drive gives it up and chooses again at rival_retry.
    """

    kept: Bool[Array, "1 *lanes"]
    retry: Float[Array, "1 *lanes"]
    contested: Bool[Array, "1 *lanes"]
    first_contest: Bool[Array, "1 *lanes"]
    rival: Int[Array, "1 *lanes"]
    rival_yields: Bool[Array, "1 *lanes"]
    rival_retry: Float[Array, "1 *lanes"]


class AbstractDispatch(eqx.Module):
    """Which copies of a request are asked. Writes ask every holder; a dispatcher decides for reads."""

    def check(self, copies: int) -> None:
        """Raises InputError where it cannot work with that many copies."""

    @property
    @abstractmethod
    def lead(self) -> Float[Array, "..."]:
        """Seconds before it falls free at which a drive chooses."""

    @abstractmethod
    def init(self, slots: int, drives: int, lanes: tuple[int, ...]) -> Any:
        """Private state at the start of a run."""

    @abstractmethod
    def route(
        self,
        private: Any,
        request: Requests,
        entering: Bool[Array, "1 *lanes"],
        holders: UInt32[Array, "..."],
        copies: Array,
        waiting: Waiting,
    ) -> tuple[UInt32[Array, "1 *lanes"], Any]:
        """The drives that a read is sent to, one bit each, and the private state that knows it.

        Lanes in which no request is `entering` must come out with their private state unchanged.
        """

    @abstractmethod
    def admit(self, private: Any, into: Bool[Array, "slot *lanes"], request: Requests) -> Any:
        """Private state once a request has entered the slot marked in `into`."""

    @abstractmethod
    def choosable_from(
        self,
        private: Any,
        born: Float[Array, "slot *lanes"],
        receiving: Int[Array, "slot *lanes"],
        drive: Array,
    ) -> Float[Array, "slot *lanes"]:
        """Seconds from now at which `drive` may choose each copy in its queue; inf for one it must leave alone."""

    @abstractmethod
    def claim(self, private: Any, claim: Claim) -> tuple[Verdict, Any]:
        """Settle a claim on a read."""

    @abstractmethod
    def left_behind(self, private: Any, at: UInt32[Array, "slot *lanes"]) -> UInt32[Array, "slot *lanes"]:
        """The queues in which an answered read stays, because they never heard of its claim."""

    @abstractmethod
    def elapse(self, private: Any, time: Float[Array, "1 *lanes"]) -> Any:
        """Private state `time` seconds later."""


class OneChosen(AbstractDispatch):
    """A dispatcher that sends each read to a single drive, so that nobody competes for it."""

    @property
    def lead(self) -> float:
        return 0.0

    def admit(self, private, into, request):
        return private

    def choosable_from(self, private, born, receiving, drive):
        return born

    def claim(self, private, claim):
        never = jnp.zeros_like(claim.made)
        time = jnp.zeros_like(claim.bid)
        return Verdict(claim.made, time, never, never, claim.drive, never, time), private

    def left_behind(self, private, at):
        return jnp.zeros_like(at)

    def elapse(self, private, time):
        return private


def slot_mask(values: Array, index: Array, made: Array) -> Bool[Array, "slot *lanes"]:
    """Where `index` points, in lanes in which `made` holds."""
    return (rows(values.shape[0], values) == index) & made
