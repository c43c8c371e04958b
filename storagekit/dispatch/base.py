"""What a dispatcher promises: which parts of a request are asked.

A dispatcher knows the parts of a request by number, 0 to parts-1; placement says which drive holds which.
"""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, UInt32

from storagekit.arrays import AnyArray
from storagekit.claims import AbstractClaims, NoClaims
from storagekit.lanes import count, held, index_of, least, lowest, rows
from storagekit.moments import Member
from storagekit.placement import MOST_PARTS, AbstractPlacement, Grouping
from storagekit.workload import Requests


class View(NamedTuple):
    """What a dispatcher sees of the system as a request enters.

    waiting: the parts at which each slot's request still waits, one bit each. places: where these requests lie.
    busy: drives that have an access planned or under way. falls_free: seconds from its entry until that ends, 0 where there
    is none. free: drives with nothing to do. place: where the entering request lies. placement: where parts are. bricks:
    which drives each has.
    reach: returns the seconds in which each drive, if it were free, would have the entering request under its head. takes:
    returns the seconds in which the given drives, `[row, *lanes]`, would complete their part of it, if they were free. Both
    are functions, so that only a dispatcher that calls them pays for them.
    word: a random word of the entering request, the same under every scheme and setting, another for each request and each
    seed. It costs those who read it, and gives several draws: `workload.below(view.word, n)` is a number below n,
    `workload.scramble(view.word + k)` a further word for each k.
    """

    waiting: UInt32[Array, "slot *lanes"]
    places: Any
    busy: Bool[Array, "drive *lanes"]
    falls_free: Float[Array, "drive *lanes"]
    free: Bool[Array, "drive *lanes"]
    place: Any
    placement: AbstractPlacement
    bricks: Grouping
    reach: Callable[[], Float[Array, "drive *lanes"]]
    takes: Callable[[Int[Array, "row *lanes"]], Float[Array, "row *lanes"]]
    word: UInt32[Array, "1 *lanes"]

    @property
    def parts(self) -> Int[AnyArray, "..."]:
        """How many parts a request has."""
        return jnp.asarray(self.placement.parts)

    @property
    def needed(self) -> Int[Array, "1 *lanes"]:
        """How many of its parts a read of the entering request needs, and a write has to have on disk."""
        return self.placement.needed_of(self.place)

    def part(self) -> Int[Array, "drive *lanes"]:
        """Which part of the entering request each drive holds, see `AbstractPlacement.part_on`."""
        return self.placement.part_on(rows(self.busy.shape[0], self.busy), self.place)

    def holders(self) -> Bool[Array, "drive *lanes"]:
        """The drives that hold the entering request."""
        return held(self.placement.parts_of(self.place), self.part())

    def by_brick(self) -> tuple[Bool[Array, "brick *lanes"], Int[Array, "brick *lanes"]]:
        """Whether each brick holds a part of the entering request, and the lowest that it holds."""
        brick = self.bricks.of(rows(self.busy.shape[0], self.busy))
        part = jnp.where(self.holders(), self.part(), MOST_PARTS)
        least_of = [least(jnp.where(brick == number, part, MOST_PARTS)) for number in range(self.bricks.count)]
        lowest_part = jnp.concatenate(least_of)
        return lowest_part < MOST_PARTS, lowest_part

    def load(self) -> Int[Array, "drive *lanes"]:
        """Requests at each drive, waiting and in service."""
        return self.queued(rows(self.busy.shape[0], self.busy)) + self.busy.astype(jnp.int32)

    def queued(self, drive: Int[Array, "row *#lanes"]) -> Int[Array, "row *lanes"]:
        """Requests that wait at each of the given drives."""

        def at(drive: Int[Array, "1 *#lanes"]) -> Int[Array, "1 *lanes"]:
            return count(held(self.waiting, self.placement.part_on(drive, self.places)))

        # mapped, not unrolled: one drive's program serves all of them
        return jax.vmap(at)(drive[:, None])[:, 0]


class AbstractDispatch(Member):
    """Which parts of a request are asked, and whether those that turn out not to be needed are withdrawn."""

    def check(self, drives: int, placement: AbstractPlacement) -> None:
        """Raises InputError where it cannot work with so many drives, or with that layout."""

    @property
    def claims(self) -> AbstractClaims:
        """How those who are asked settle who serves it."""
        return NoClaims()

    @property
    def withdraws(self) -> bool | Bool[AnyArray, "..."]:
        """Whether the other parts of a read are withdrawn as soon as as many as it needs are served; if not, when it is
        answered."""
        return True

    @property
    def withdraws_late(self) -> bool:
        """Whether that is ever when it is answered, whatever its numbers are."""
        return self.withdraws is not True

    @property
    def asks_more(self) -> bool:
        """Whether a read may be sent to more parts than its data needs, so that some are withdrawn."""
        return True

    @abstractmethod
    def route(
        self, private: Any, request: Requests, entering: Bool[Array, "1 *lanes"], view: View
    ) -> tuple[UInt32[Array, "1 *lanes"], Any]:
        """The parts that a request is sent to, one bit each, and the private state that knows it.

        Lanes in which no request is `entering` must come out with their private state unchanged.
        """

    def asked_from(
        self, private: Any, sent: Float[Array, "slot *lanes"], part: Int[Array, "slot *lanes"]
    ) -> Float[Array, "slot *lanes"]:
        """When `part` of each read is asked for, a client having sent it then; seconds from now."""
        return sent

    def entrance(self, routed: UInt32[Array, "1 *lanes"], receiving: Int[Array, "1 *lanes"]) -> Int[Array, "1 *lanes"]:
        """The part at whose brick a read that is sent to the parts `routed` enters the system."""
        return receiving

    def fails(
        self,
        routed: UInt32[Array, "1 *lanes"],
        receiving: Int[Array, "1 *lanes"],
        alive: UInt32[Array, "1 *lanes"],
        needed: Int[Array, "1 *lanes"],
    ) -> Bool[Array, "1 *lanes"]:
        """Whether a read that is sent to the parts `routed`, of which the brick of some is not `alive`, has to be sent again
        once its client's time-out is over; needed: how many parts it needs. By default where its entrance is not alive."""
        return ~held(alive, self.entrance(routed, receiving))

    def again(self, alive: UInt32[Array, "*row"], asked: UInt32[Array, "*row"]) -> UInt32[Array, "*row"]:
        """The parts that a client sends a read to a second time, of those whose bricks are alive. asked: those that it was
        sent to first."""
        return alive


class AsManyAsNeeded(AbstractDispatch):
    """A dispatcher that sends each request to as many parts as its data needs, or names one of them, and those whose numbers
    come next are asked besides. Each is sent its own, so that it matters how many of them are alive."""

    @property
    def asks_more(self):
        return False

    def entrance(self, routed, receiving):
        return index_of(routed)

    def fails(self, routed, receiving, alive, needed):
        return jax.lax.population_count(routed & alive).astype(jnp.int32) < needed

    def again(self, alive, asked):
        return lowest(alive)
