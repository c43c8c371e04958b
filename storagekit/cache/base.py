"""What a cache promises: whether a request that enters finds its data in memory, and what memory holds after it."""

from abc import abstractmethod
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, UInt32

from storagekit.component.events import Component
from storagekit.core.arrays import AnyArray
from storagekit.core.batching import named
from storagekit.core.kinds import SPAN
from storagekit.placement import AbstractPlacement
from storagekit.workload import Requests


class Sought(NamedTuple):
    """Where a request that enters may find its data.

    asked: the parts at whose bricks a read is looked up, one bit each. receiving: that of the brick that its client sends
    it to. place: where it lies.
    """

    placement: AbstractPlacement
    asked: UInt32[Array, "1 *batch"]
    receiving: Int[Array, "1 *batch"]
    place: Any


class LookUp(NamedTuple):
    """Whether a read finds all its data in the memory of one brick, and of which part that is."""

    hit: Bool[Array, "1 *batch"]
    part: Int[Array, "1 *batch"]


class AbstractCache(Component):
    """Memory in front of a system's disks. What it holds is private state that the event loop carries."""

    @property
    @abstractmethod
    def hit_time(self) -> Float[AnyArray, "..."]:
        """Seconds from the arrival of a read that hits to its answer; one value, or one for each lane."""

    def check(self, drives: int, disks: int = 1) -> None:
        """Raises InputError where it cannot work with that many drives, so many to a brick."""

    @abstractmethod
    def look_up(
        self, private: Any, request: Requests, entering: Bool[Array, "1 *batch"], sought: Sought
    ) -> tuple[LookUp, Any]:
        """What happens when a request enters the system: whether it is answered from memory, and the private state after it.

        request: one for each lane, arrays of `[1, *batch]`. entering: the lanes in which it enters; in the others nothing
        hits and nothing changes.
        """

    def same_data(self, private: Any, request: Requests) -> Bool[Array, "slot *batch"] | None:
        """The slots whose requests touch data that an entering one touches; None where memory counts as filled as soon as a
        request enters, so that nobody waits for a read under way."""
        return None

    def same_data_as(self, private: Any, slot: Int[Array, "1 *batch"]) -> Bool[Array, "slot *batch"] | None:
        """The slots, itself included, whose requests touch data that the one in `slot` touches; None as in `same_data`."""
        return None


class NoCache(AbstractCache):
    """No memory: every request goes to the disks."""

    hit_time: Float[AnyArray, "..."] = eqx.field(converter=named("cache hit time"), default=0.0)

    def __check_init__(self):
        SPAN.each("cache hit time", self.hit_time)

    def look_up(self, private, request, entering, sought):
        return LookUp(jnp.zeros_like(entering), jnp.zeros(entering.shape, jnp.int32)), None
