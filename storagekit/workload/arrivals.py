"""When requests arrive: a closed loop, a Poisson stream, or the times of a trace.

An open stream arrives at its own times; in a closed loop an answer brings the next request.
"""

from abc import abstractmethod
from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Num, UInt32

from storagekit.arrays import AnyArray
from storagekit.checks import of_kind, require_each_positive, traced
from storagekit.errors import InputError
from storagekit.kinds import Kind, a, flag
from storagekit.lanes import INSTANT, WORD, named, whole
from storagekit.workload.randomness import fraction, words
from storagekit.workload.requests import RandomRequests, Requests

# what to give where requests are needed
REQUESTS = "a model of them, as sk.workload.RandomRequests(...)"
# seconds from a request of a trace to the next
GAP = Kind(least=0, unit="s", endless=True).each


class Window(NamedTuple):
    """Requests of each lane, `[row, *lanes]`, and the seconds from each to the one after it."""

    requests: Requests
    gap: Float[Array, "row *lanes"]


class AbstractArrivals(eqx.Module):
    """Where requests come from, and when."""

    @abstractmethod
    def window(
        self,
        capacity: int | Num[AnyArray, "..."],
        key: UInt32[AnyArray, "2 *lanes"],
        first: Int[AnyArray, "1 *lanes"],
        count: int,
    ) -> Window:
        """The `count` requests from number `first` on, to addresses within `capacity` sectors."""

    @property
    def most_outstanding(self) -> int | None:
        """The most requests that are unanswered at once, None where nothing limits them."""
        return None

    @property
    def total(self) -> int | None:
        """How many requests come, None where they go on coming."""
        return None

    @property
    def largest(self) -> Int[AnyArray, "..."]:
        """The sectors of the largest request that may come: what a layout needs to have in one piece."""
        return whole(1)

    def check(self, capacity: int | Num[AnyArray, "..."]) -> None:
        """Raises InputError where requests lie beyond `capacity` sectors whatever is drawn."""

    @property
    def stream_count(self) -> int:
        """How many streams the requests are of, numbered from 0."""
        return 1

    @property
    def told_apart(self) -> bool:
        """Whether it matters for whom requests are, and who sends them, so that the engine keeps it."""
        return False

    @property
    @abstractmethod
    def first_arrival(self) -> float | Float[AnyArray, "..."]:
        """When the first request of an open stream arrives, seconds from the start; inf in a closed loop."""

    @abstractmethod
    def at_start(self, slot: Int[Array, "slot *ones"]) -> Bool[Array, "slot *ones"]:
        """Slots whose occupant is answered at time 0 and so brings a request of a closed loop."""

    @abstractmethod
    def next_arrival(
        self, private: Any, pending: Float[Array, "1 *lanes"], answer: Float[Array, "1 *lanes"]
    ) -> Float[Array, "1 *lanes"]:
        """When the next request arrives: `pending` seconds from now in an open stream, with the earliest answer in a loop."""

    @abstractmethod
    def precedes(self, arrival: Float[Array, "1 *lanes"], choice: Float[Array, "1 *lanes"]) -> Bool[Array, "1 *lanes"]:
        """Whether an arrival is visible to a choice made at that time."""

    @abstractmethod
    def leaves(self, admitted: Bool[Array, "1 *lanes"], due: Bool[Array, "1 *lanes"]) -> Bool[Array, "1 *lanes"]:
        """Whether the earliest answer leaves its slot now, given that a request was admitted, and that it is due."""

    def init(self, key: UInt32[Array, "2 *lanes"]) -> Any:
        """Private state at the start of a run."""
        return None

    def elapse(self, private: Any, time: Float[Array, "1 *lanes"]) -> Any:
        """Private state `time` seconds later."""
        return private


class AbstractClients(AbstractArrivals):
    """Clients who wait for their answers: which request comes next is known only as it comes.

    The requests of a window are numbers alone; `request` draws the rest.
    """

    @property
    def told_apart(self):
        return True

    @abstractmethod
    def request(self, private: Any, capacity: int | Num[AnyArray, "..."], number: Int[Array, "1 *lanes"]) -> Requests:
        """The next request, within `capacity` sectors; its number is the next of all."""

    @abstractmethod
    def sent(self, private: Any, request: Requests, admitted: Bool[Array, "1 *lanes"]) -> Any:
        """Private state once a request has entered, in lanes in which it is `admitted`."""

    @abstractmethod
    def answered(
        self,
        private: Any,
        client: Int[Array, "1 *lanes"],
        at: Float[Array, "1 *lanes"],
        leaves: Bool[Array, "1 *lanes"],
    ) -> Any:
        """Private state once a client has its answer, `at` so many seconds from now, in lanes in which one `leaves`."""


class AbstractRandomArrivals(AbstractArrivals):
    """Arrivals whose requests a model draws."""

    requests: eqx.AbstractVar[RandomRequests]

    @property
    def largest(self):
        return self.requests.size.largest

    @property
    def told_apart(self):
        return self.requests.told_apart

    def check(self, capacity):
        self.requests.check(capacity)


class ClosedLoop(AbstractRandomArrivals):
    """Always `outstanding` requests: an answer brings the next one.

    The replacement becomes visible after the choice that the same completion allows, so that a choice sees N-1
    candidates, as in DiskSim and in dsptf's figure 1; `replaced_before_choice` makes it N.
    """

    requests: RandomRequests = eqx.field(converter=of_kind("requests of a closed loop", RandomRequests, REQUESTS))
    outstanding: Int[AnyArray, "..."] = eqx.field(converter=named("requests outstanding", whole))
    replaced_before_choice: bool = eqx.field(
        static=True, converter=partial(flag, "replaced before choice"), default=False
    )

    def __check_init__(self):
        if np.any(np.asarray(self.outstanding) < 1):
            raise InputError(f"{np.min(self.outstanding)} requests outstanding: a closed loop needs at least 1")

    @property
    def most_outstanding(self):
        return int(np.max(self.outstanding))

    def window(self, capacity, key, first, count) -> Window:
        requests = self.requests.draw(capacity, key, first, count)
        return Window(requests, jnp.zeros(requests.number.shape, jnp.float32))

    @property
    def first_arrival(self):
        return float("inf")

    def at_start(self, slot):
        return slot < self.outstanding

    def next_arrival(self, private, pending, answer):
        return answer

    def precedes(self, arrival, choice):
        # an answer and the choice that its completion allows are one instant, however they were rounded
        return arrival <= choice + INSTANT if self.replaced_before_choice else arrival < choice - INSTANT

    def leaves(self, admitted, due):
        return admitted


class PoissonArrivals(AbstractRandomArrivals):
    """Independent arrivals, `rate` a second on average."""

    requests: RandomRequests = eqx.field(converter=of_kind("requests of arrivals", RandomRequests, REQUESTS))
    rate: Float[AnyArray, "..."] = eqx.field(converter=named("arrival rate"))

    def __check_init__(self):
        require_each_positive("arrival rate", self.rate, "a second")

    def window(self, capacity, key, first, count) -> Window:
        requests = self.requests.draw(capacity, key, first, count)
        uniform, _ = words(key, first, count, 2)
        return Window(requests, -jnp.log1p(-fraction(uniform)) / self.rate)

    @property
    def first_arrival(self):
        return 0.0

    def at_start(self, slot):
        return slot < 0

    def next_arrival(self, private, pending, answer):
        return pending

    def precedes(self, arrival, choice):
        return arrival <= choice

    def leaves(self, admitted, due):
        return due


class RecordedArrivals(AbstractArrivals):
    """The requests of a trace at its own times, the same in every lane; `scale` > 1 runs it faster.

    requests and gap are one row for each request, the last gap infinite. clients: it matters who sends them.
    """

    requests: Requests = eqx.field(converter=partial(a(Requests), "requests of a trace"))
    gap: Float[AnyArray, "row"] = eqx.field(converter=partial(GAP, "gap between requests"))
    scale: Float[AnyArray, "..."] = eqx.field(converter=named("trace scale"), default=1.0)
    clients: bool = eqx.field(static=True, converter=partial(flag, "clients"), default=False)

    def __check_init__(self):
        asked = np.shape(self.requests.number)
        if np.ndim(self.gap) != 1 or np.shape(self.gap) != asked:
            raise InputError(f"gaps {list(np.shape(self.gap))} of requests {list(asked)}: give one for each, in a row")
        require_each_positive("trace scale", self.scale)

    @property
    def told_apart(self):
        return self.clients

    def check(self, capacity):
        if traced(capacity) or not len(self.gap):
            return
        most, least = int(np.max(np.asarray(self.requests.sectors))), int(np.min(np.asarray(capacity)))
        if most > least:
            raise InputError(f"a request of {most} sectors to a system of {least}: give it larger or more drives")

    @property
    def total(self):
        return len(self.gap)

    @property
    def stream_count(self):
        # in a compiled program a trace is data, and its streams are not known: as many as a word has bits
        if traced(self.requests.stream):
            return WORD
        return int(np.max(np.asarray(self.requests.stream), initial=0)) + 1

    def window(self, capacity, key, first, count) -> Window:
        ahead = jnp.arange(count, dtype=jnp.int32).reshape((count,) + (1,) * (first.ndim - 1))
        number = first + ahead
        requests = jax.tree.map(lambda row: jnp.take(row, number, mode="clip"), self.requests)
        return Window(requests, jnp.take(self.gap, number, mode="clip") / self.scale)

    @property
    def largest(self):
        return jnp.max(self.requests.sectors, initial=1)

    @property
    def first_arrival(self):
        return 0.0

    def at_start(self, slot):
        return slot < 0

    def next_arrival(self, private, pending, answer):
        return pending

    def precedes(self, arrival, choice):
        return arrival <= choice

    def leaves(self, admitted, due):
        return due
