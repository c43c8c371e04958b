"""What a cache promises: whether a request that enters finds its data in memory, and what memory holds after it."""

from abc import abstractmethod
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from storagekit.lanes import real
from storagekit.workload import Requests


class AbstractCache(eqx.Module):
    """One memory in front of a system's disks. What it holds is private state that the event loop carries."""

    @property
    @abstractmethod
    def hit_time(self) -> Float[Array, "..."]:
        """Seconds from the arrival of a read that hits to its answer; one value, or one for each lane."""

    @abstractmethod
    def init(self, lanes: tuple[int, ...]) -> Any:
        """Private state of an empty cache, arrays of `[..., *lanes]`."""

    @abstractmethod
    def look_up(
        self, private: Any, request: Requests, entering: Bool[Array, "1 *lanes"]
    ) -> tuple[Bool[Array, "1 *lanes"], Any]:
        """What happens when a request enters the system: whether it is answered from memory, and the private state after it.

        request: one for each lane, arrays of `[1, *lanes]`. entering: the lanes in which it enters; in the others nothing
        hits and nothing changes.
        """


class NoCache(AbstractCache):
    """No memory: every request goes to the disks."""

    hit_time: Float[Array, "..."] = eqx.field(converter=real, default=0.0)

    def init(self, lanes: tuple[int, ...]) -> None:
        return None

    def look_up(self, private, request, entering):
        return jnp.zeros_like(entering), None
