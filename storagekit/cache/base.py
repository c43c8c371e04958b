"""What a cache promises: whether a request that enters finds its data in memory, and what memory holds after it."""

from abc import abstractmethod
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, UInt32

from storagekit.arrays import AnyArray
from storagekit.lanes import real
from storagekit.placement import AbstractPlacement
from storagekit.workload import Requests


class Sought(NamedTuple):
    """Where a request that enters may find its data.

    asked: the copies at whose bricks a read is looked up, one bit each. receiving: that of the brick that its client sends
    it to. home: the brick of its copy 0. generation: how often each brick has lost its memory, None for never.
    """

    placement: AbstractPlacement
    asked: UInt32[Array, "1 *lanes"]
    receiving: Int[Array, "1 *lanes"]
    home: Int[Array, "1 *lanes"]
    generation: Int[Array, "drive *lanes"] | None


class Found(NamedTuple):
    """Whether a read finds all its data in the memory of one brick, and of which copy that is."""

    hit: Bool[Array, "1 *lanes"]
    copy: Int[Array, "1 *lanes"]


class AbstractCache(eqx.Module):
    """Memory in front of a system's disks. What it holds is private state that the event loop carries."""

    @property
    @abstractmethod
    def hit_time(self) -> Float[AnyArray, "..."]:
        """Seconds from the arrival of a read that hits to its answer; one value, or one for each lane."""

    def check(self, bricks: int) -> None:
        """Raises InputError where it cannot work with that many bricks."""

    @abstractmethod
    def init(self, slots: int, lanes: tuple[int, ...]) -> Any:
        """Private state of an empty cache, arrays of `[..., *lanes]`."""

    @abstractmethod
    def look_up(
        self, private: Any, request: Requests, entering: Bool[Array, "1 *lanes"], sought: Sought
    ) -> tuple[Found, Any]:
        """What happens when a request enters the system: whether it is answered from memory, and the private state after it.

        request: one for each lane, arrays of `[1, *lanes]`. entering: the lanes in which it enters; in the others nothing
        hits and nothing changes.
        """

    def admit(self, private: Any, into: Bool[Array, "slot *lanes"], request: Requests) -> Any:
        """Private state once a request has entered the slot marked in `into`."""
        return private

    def same_data(self, private: Any, request: Requests) -> Bool[Array, "slot *lanes"] | None:
        """The slots whose requests touch data that an entering one touches; None where memory counts as filled as soon as a
        request enters, so that nobody waits for a read under way."""
        return None

    def same_data_as(self, private: Any, slot: Int[Array, "1 *lanes"]) -> Bool[Array, "slot *lanes"] | None:
        """The slots, itself included, whose requests touch data that the one in `slot` touches; None as in `same_data`."""
        return None

    def read_in(self, private: Any, slot: Int[Array, "1 *lanes"], made: Bool[Array, "1 *lanes"], sought: Sought) -> Any:
        """Private state once the read in `slot` is to be served by the disk of the one copy in `sought.asked`."""
        return private


class NoCache(AbstractCache):
    """No memory: every request goes to the disks."""

    hit_time: Float[AnyArray, "..."] = eqx.field(converter=real, default=0.0)

    def init(self, slots: int, lanes: tuple[int, ...]) -> None:
        return None

    def look_up(self, private, request, entering, sought):
        return Found(jnp.zeros_like(entering), jnp.zeros(entering.shape, jnp.int32)), None
