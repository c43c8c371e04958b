"""What a dispatcher promises: which copies are asked, when a drive may choose one, and who keeps it.

A dispatcher knows the copies of a block by number, 0 to copies-1; placement says which drive holds which.
"""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Shaped, UInt32

from storagekit.arrays import AnyArray
from storagekit.lanes import bit, computed_once, count, held, index_of, lowest, real, rows
from storagekit.placement import AbstractPlacement
from storagekit.workload import Requests


class View(NamedTuple):
    """What a dispatcher sees of the system as a request enters.

    waiting: the copies at which each slot's request still waits, one bit each. home: the drive of its copy 0.
    busy: drives that have an access planned or under way. free: drives with nothing to do.
    first: the drive that holds copy 0 of the entering request. placement: where copies are.
    reach: seconds in which each drive, were it free, would have the entering request under its head; a function, so
    that it costs only those who ask.
    """

    waiting: UInt32[Array, "slot *lanes"]
    home: Int[Array, "slot *lanes"]
    busy: Bool[Array, "drive *lanes"]
    free: Bool[Array, "drive *lanes"]
    first: Int[Array, "1 *lanes"]
    placement: AbstractPlacement
    reach: Callable[[], Float[Array, "drive *lanes"]]

    @property
    def copies(self) -> Int[AnyArray, "..."]:
        """How many copies a block has."""
        return jnp.asarray(self.placement.copies)

    def copy(self) -> Int[Array, "drive *lanes"]:
        """Which copy of the entering request each drive holds, see `AbstractPlacement.copy_on`."""
        return self.placement.copy_on(rows(self.busy.shape[0], self.busy), self.first)

    def holders(self) -> Bool[Array, "drive *lanes"]:
        """The drives that hold the entering request."""
        copy = self.copy()
        return (copy >= 0) & (copy < self.copies)

    def load(self) -> Int[Array, "drive *lanes"]:
        """Requests at each drive, waiting and in service."""
        one = jnp.ones_like(self.first)
        copies = [self.placement.copy_on(one * drive, self.home) for drive in range(self.busy.shape[0])]
        queued = [computed_once(count(held(self.waiting, copy))) for copy in copies]
        return jnp.concatenate(queued) + self.busy.astype(jnp.int32)


class Claim(NamedTuple):
    """A drive's choice: of which copy, times in seconds from now, and the bid, the predicted positioning time."""

    slot: Int[Array, "1 *lanes"]
    copy: Int[Array, "1 *lanes"]
    made: Bool[Array, "1 *lanes"]
    bid: Float[Array, "1 *lanes"]
    start: Float[Array, "1 *lanes"]


class Verdict(NamedTuple):
    """What comes of a claim.

    kept: the chooser serves it. retry: when the chooser, not keeping it, chooses again.
    withdrawn: the copies that the request no longer waits at, one bit each.
    contested: another copy had been claimed too; first_contest: for the first time.
    rival_yields: the drive of the copy `rival` gives it up and chooses again at rival_retry.
    """

    kept: Bool[Array, "1 *lanes"]
    retry: Float[Array, "1 *lanes"]
    withdrawn: UInt32[Array, "1 *lanes"]
    contested: Bool[Array, "1 *lanes"]
    first_contest: Bool[Array, "1 *lanes"]
    rival: Int[Array, "1 *lanes"]
    rival_yields: Bool[Array, "1 *lanes"]
    rival_retry: Float[Array, "1 *lanes"]


class AbstractDispatch(eqx.Module):
    """Which copies of a request are asked, where one of them is enough."""

    def check(self, bricks: int, copies: int) -> None:
        """Raises InputError where it cannot work with so many bricks, and copies of a block."""

    @property
    def hop(self) -> Float[AnyArray, "..."]:
        """Seconds that a request takes from the brick which receives it to another."""
        return real(0)

    @property
    @abstractmethod
    def lead(self) -> float | Float[AnyArray, "..."]:
        """Seconds before it falls free at which a drive chooses."""

    @abstractmethod
    def init(self, slots: int, drives: int, lanes: tuple[int, ...]) -> Any:
        """Private state at the start of a run."""

    @abstractmethod
    def route(
        self, private: Any, request: Requests, entering: Bool[Array, "1 *lanes"], view: View
    ) -> tuple[UInt32[Array, "1 *lanes"], Any]:
        """The copies that a request is sent to, one bit each, and the private state that knows it.

        Lanes in which no request is `entering` must come out with their private state unchanged.
        """

    @abstractmethod
    def admit(self, private: Any, into: Bool[Array, "slot *lanes"], request: Requests) -> Any:
        """Private state once a request has entered the slot marked in `into`."""

    @abstractmethod
    def choosable_from(
        self,
        private: Any,
        sent: Float[Array, "slot *lanes"],
        receiving: Int[Array, "slot *lanes"],
        copy: Int[Array, "slot *lanes"],
    ) -> Float[Array, "slot *lanes"]:
        """Seconds from now at which the drive of `copy` may choose each request; inf for one it must leave alone.

        sent: when a client sent it to the bricks, seconds from now.
        """

    @abstractmethod
    def claim(self, private: Any, claim: Claim) -> tuple[Verdict, Any]:
        """Settle a claim."""

    def entrance(self, routed: UInt32[Array, "1 *lanes"], receiving: Int[Array, "1 *lanes"]) -> Int[Array, "1 *lanes"]:
        """The copy at whose brick a read that is sent to the copies `routed` enters the system."""
        return receiving

    def again(self, alive: UInt32[Array, "*row"]) -> UInt32[Array, "*row"]:
        """The copies that a client sends a request to a second time, of those whose bricks are alive."""
        return alive

    def forget(self, private: Any, lost: Bool[Array, "slot *lanes"]) -> Any:
        """Private state once requests are as if they had never been claimed, because whoever did has stopped."""
        return private

    @abstractmethod
    def left_behind(self, private: Any, waiting: UInt32[Array, "slot *lanes"]) -> UInt32[Array, "slot *lanes"]:
        """The copies at which a claimed request that is answered still waits, because they never heard of the claim."""

    @abstractmethod
    def elapse(self, private: Any, time: Float[Array, "1 *lanes"]) -> Any:
        """Private state `time` seconds later."""


class Uncontested(AbstractDispatch):
    """A dispatcher under which nobody competes for a request: no messages, and whoever chooses it keeps it."""

    @property
    def lead(self) -> float:
        return 0.0

    def admit(self, private, into, request):
        return private

    def choosable_from(self, private, sent, receiving, copy):
        return sent

    def left_behind(self, private, waiting):
        return jnp.zeros_like(waiting)

    def elapse(self, private, time):
        return private


class OneChosen(Uncontested):
    """A dispatcher that sends each request to a single copy."""

    def claim(self, private, claim):
        return uncontested(claim, bit(claim.copy)), private

    def entrance(self, routed, receiving):
        return index_of(routed)

    def again(self, alive):
        return lowest(alive)


def uncontested(claim: Claim, withdrawn: UInt32[Array, "1 *lanes"]) -> Verdict:
    """The verdict where nobody else can have claimed it."""
    never = jnp.zeros_like(claim.made)
    time = jnp.zeros_like(claim.bid)
    return Verdict(claim.made, time, withdrawn, never, never, claim.copy, never, time)


def slot_mask(
    values: Shaped[Array, "slot *lanes"], index: Int[Array, "1 *lanes"], made: Bool[Array, "1 *lanes"]
) -> Bool[Array, "slot *lanes"]:
    """Where `index` points, in lanes in which `made` holds."""
    return (rows(values.shape[0], values) == index) & made
