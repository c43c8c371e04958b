"""Interface of the dispatchers: to which parts a request is sent.

A dispatcher identifies the parts of a request by number, from 0. The placement gives the drive of each part.
"""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, UInt32

from storagekit.arbitration import AbstractArbitration, NoArbitration
from storagekit.component.events import Component
from storagekit.core.arrays import AnyArray
from storagekit.core.batching import bit_is_set, count, index_of, lowest, min_row, row_index
from storagekit.placement import MOST_PARTS, AbstractPlacement, Grouping
from storagekit.workload import Requests


class View(NamedTuple):
    """State of the system when a request enters, as a dispatcher sees it.

    waiting: mask of the waiting parts of each slot's request. places: locations of these requests. busy: mask of the drives
    with an access planned or in progress. falls_free: time until that ends, seconds; 0 for none. free: mask of the idle
    drives. place: location of the entering request. placement: the placement. bricks: drives of each brick.
    reach: function that returns for each drive the positioning time of the entering request if the drive were free, seconds.
    takes: function that returns the duration of the access on the given drives, `[row, *batch]`, if they were free, seconds.
    Both are functions so that only dispatchers that call them compute them.
    word: random word of the entering request, the same under every scheme and setting, different for each request and seed.
    `workload.below(view.word, n)` is a number below n, and `workload.scramble(view.word + k)` a further word for each k.
    """

    waiting: UInt32[Array, "slot *batch"]
    places: Any
    busy: Bool[Array, "drive *batch"]
    falls_free: Float[Array, "drive *batch"]
    free: Bool[Array, "drive *batch"]
    place: Any
    placement: AbstractPlacement
    bricks: Grouping
    reach: Callable[[], Float[Array, "drive *batch"]]
    takes: Callable[[Int[Array, "row *batch"]], Float[Array, "row *batch"]]
    word: UInt32[Array, "1 *batch"]

    @property
    def parts(self) -> Int[AnyArray, "..."]:
        """Number of parts of a request."""
        return jnp.asarray(self.placement.parts)

    @property
    def needed(self) -> Int[Array, "1 *batch"]:
        """Number of parts that a read of the entering request needs, and that a write has to have on disk."""
        return self.placement.needed_of(self.place)

    def part(self) -> Int[Array, "drive *batch"]:
        """Return the part of the entering request that each drive holds, see `AbstractPlacement.part_on`."""
        return self.placement.part_on(row_index(self.busy.shape[0], self.busy), self.place)

    def holders(self) -> Bool[Array, "drive *batch"]:
        """Return a mask of the drives that hold the entering request."""
        return bit_is_set(self.placement.parts_of(self.place), self.part())

    def by_brick(self) -> tuple[Bool[Array, "brick *batch"], Int[Array, "brick *batch"]]:
        """Return whether each brick holds a part of the entering request, and the lowest part that it holds."""
        brick = self.bricks.of(row_index(self.busy.shape[0], self.busy))
        part = jnp.where(self.holders(), self.part(), MOST_PARTS)
        least_of = [min_row(jnp.where(brick == number, part, MOST_PARTS)) for number in range(self.bricks.count)]
        lowest_part = jnp.concatenate(least_of)
        return lowest_part < MOST_PARTS, lowest_part

    def load(self) -> Int[Array, "drive *batch"]:
        """Return the number of requests at each drive, waiting and in service."""
        return self.queued(row_index(self.busy.shape[0], self.busy)) + self.busy.astype(jnp.int32)

    def queued(self, drive: Int[Array, "row *#lanes"]) -> Int[Array, "row *batch"]:
        """Return the number of requests that wait at each of the given drives."""

        def at(drive: Int[Array, "1 *#lanes"]) -> Int[Array, "1 *batch"]:
            return count(bit_is_set(self.waiting, self.placement.part_on(drive, self.places)))

        # mapped, not unrolled: one drive's program serves all of them
        return jax.vmap(at)(drive[:, None])[:, 0]


class AbstractDispatch(Component):
    """Decides to which parts a request is sent, and whether parts that are not needed are withdrawn."""

    def check(self, drives: int, placement: AbstractPlacement) -> None:
        """Raise InputError if the dispatcher does not work with so many drives or with the placement."""

    @property
    def claims(self) -> AbstractArbitration:
        """The component that decides which of several drives serves a request."""
        return NoArbitration()

    @property
    def withdraws(self) -> bool | Bool[AnyArray, "..."]:
        """Whether the other parts of a read are withdrawn when enough parts are in service; otherwise when the read
        completes.
        """
        return True

    @property
    def withdraws_late(self) -> bool:
        """Whether parts may be withdrawn at completion, for any values of the parameters."""
        return self.withdraws is not True

    @property
    def asks_more(self) -> bool:
        """Whether a read may be sent to more parts than it needs, so that some are withdrawn."""
        return True

    @abstractmethod
    def route(
        self, private: Any, request: Requests, entering: Bool[Array, "1 *batch"], view: View
    ) -> tuple[UInt32[Array, "1 *batch"], Any]:
        """Return the mask of the parts to which a request is sent, and the private state after it.

        The private state must not change in runs in which no request is `entering`.
        """

    def asked_from(
        self, private: Any, sent: Float[Array, "slot *batch"], part: Int[Array, "slot *batch"]
    ) -> Float[Array, "slot *batch"]:
        """Return the time at which `part` of each read is sent, given when the client sent it; seconds from now."""
        return sent

    def entrance(self, routed: UInt32[Array, "1 *batch"], receiving: Int[Array, "1 *batch"]) -> Int[Array, "1 *batch"]:
        """Return the part at whose brick a read that is sent to the parts `routed` enters the system."""
        return receiving

    def fails(
        self,
        routed: UInt32[Array, "1 *batch"],
        receiving: Int[Array, "1 *batch"],
        alive: UInt32[Array, "1 *batch"],
        needed: Int[Array, "1 *batch"],
    ) -> Bool[Array, "1 *batch"]:
        """Return whether a read that is sent to the parts `routed` is sent again after the time-out of its client.

        alive: mask of the parts whose bricks are up. needed: parts that the read needs. By default it is sent again if the
        brick at which it enters is down.
        """
        return ~bit_is_set(alive, self.entrance(routed, receiving))

    def again(self, alive: UInt32[Array, "*row"], asked: UInt32[Array, "*row"]) -> UInt32[Array, "*row"]:
        """Return the mask of the parts to which a client sends a read the second time.

        alive: mask of the parts whose bricks are up. asked: mask of the parts to which it was sent first.
        """
        return alive


class AsManyAsNeeded(AbstractDispatch):
    """Dispatcher that sends each request to as many parts as its data needs.

    If it names fewer, the parts with the next numbers are added. Each part receives a request of its own, so that enough of
    their bricks have to be up.
    """

    @property
    def asks_more(self):
        return False

    def entrance(self, routed, receiving):
        return index_of(routed)

    def fails(self, routed, receiving, alive, needed):
        return jax.lax.population_count(routed & alive).astype(jnp.int32) < needed

    def again(self, alive, asked):
        return lowest(alive)
