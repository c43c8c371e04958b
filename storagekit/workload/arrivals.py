"""Arrival processes: a closed loop, a Poisson stream, and a trace.

The arrival times of an open stream do not depend on the system. In a closed loop the next request arrives when a
request completes.
"""

from abc import abstractmethod
from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Num, UInt32

from storagekit.core.arrays import AnyArray
from storagekit.core.batching import INSTANT, WORD, named, whole
from storagekit.core.errors import InputError
from storagekit.core.validation import POSITIVE, Validator, flag, instance_of, traced
from storagekit.workload.randomness import fraction, words
from storagekit.workload.requests import AbstractRequests, Requests, empty_request

# the remedy in an error message
REQUESTS = "a model of requests, such as sk.workload.RandomRequests(...)"
# validates the gaps between the requests of a trace, seconds
GAP = Validator(least=0, unit="s", endless=True).each


# number of the first of some requests of a trace
FIRST = Validator(least=0, whole=True)


class Window(NamedTuple):
    """Successive requests of each run.

    Parameters
    ----------
    requests : Requests
        The requests, arrays of shape `[row, *batch]`.
    gap : array of float, shape `[row, *batch]`
        Time from each request to the next, seconds; 0 for workloads whose requests follow completions.
    """

    requests: Requests
    gap: Float[Array, "row *batch"]


class AbstractArrivals(eqx.Module):
    """Base class of arrival processes: the requests, and the times at which they arrive."""

    @abstractmethod
    def window(
        self,
        capacity: int | Num[AnyArray, "..."],
        key: UInt32[AnyArray, "2 *batch"],
        first: Int[AnyArray, "1 *batch"],
        count: int,
    ) -> Window:
        """Return successive requests of each run.

        Parameters
        ----------
        capacity : int
            Size of the system, sectors. All addresses are below it.
        key : uint32 array, shape `[2, *batch]`
            Key of the random numbers of each run.
        first : int array, shape `[1, *batch]`
            Number of the first request.
        count : int
            Number of requests.

        Returns
        -------
        Window
            Requests and gaps, arrays of shape `[count, *batch]`.
        """

    @property
    def most_outstanding(self) -> int | None:
        """Return the largest number of simultaneously outstanding requests; None if there is no limit."""
        return None

    @property
    def total(self) -> int | None:
        """Return the number of requests; None if there is no limit."""
        return None

    @property
    def largest(self) -> Int[AnyArray, "..."]:
        """Return the length of the largest request in sectors. A layout must store this many sectors contiguously."""
        return whole(1)

    def check(self, capacity: int | Num[AnyArray, "..."]) -> None:
        """Raise InputError if the requests do not fit into `capacity` sectors. By default, no check is made."""

    @property
    def stream_count(self) -> int:
        """Return the number of streams. Streams are numbered from 0."""
        return 1

    @property
    def stores_streams(self) -> bool:
        """Return whether the engine stores the stream and the client of each request."""
        return False

    @property
    @abstractmethod
    def first_arrival(self) -> float | Float[AnyArray, "..."]:
        """Return the arrival time in seconds of the first request of an open stream; infinite in a closed loop."""

    @abstractmethod
    def at_start(self, slot: Int[Array, "slot *ones"]) -> Bool[Array, "slot *ones"]:
        """Return a mask of the slots that have a request of a closed loop at time 0."""

    @abstractmethod
    def next_arrival(
        self, private: Any, pending: Float[Array, "1 *batch"], completion: Float[Array, "1 *batch"]
    ) -> Float[Array, "1 *batch"]:
        """Return the time in seconds to the next arrival.

        Parameters
        ----------
        private
            Private state.
        pending : float array, shape `[1, *batch]`
            Time to the next arrival of an open stream, seconds.
        completion : float array, shape `[1, *batch]`
            Time to the earliest completion, seconds, at which a closed loop sends its next request.

        Returns
        -------
        float array, shape `[1, *batch]`
            The time.
        """

    @abstractmethod
    def precedes(self, arrival: Float[Array, "1 *batch"], choice: Float[Array, "1 *batch"]) -> Bool[Array, "1 *batch"]:
        """Return whether a scheduler that chooses at time `choice` considers a request that arrives at `arrival`."""

    @abstractmethod
    def frees_slot(
        self, admitted: Bool[Array, "1 *batch"], due: Bool[Array, "1 *batch"], pending: Float[Array, "1 *batch"]
    ) -> Bool[Array, "1 *batch"]:
        """Return whether the earliest completion frees the slot of its request now.

        admitted: whether a request was admitted. due: whether the completion is due. pending: see `next_arrival`.
        """

    def init(self, key: UInt32[Array, "2 *batch"]) -> Any:
        """Return the private state at the start of a run."""
        return None

    def elapse(self, private: Any, time: Float[Array, "1 *batch"]) -> Any:
        """Return the private state `time` seconds later."""
        return private

    # The other methods are for arrivals that depend on the completions of earlier requests, as `Threads` do.

    @property
    def waits_for_completions(self) -> bool:
        """Return whether the next request depends on the requests that have completed.

        A window then contains only the numbers of the requests, and `request` draws the other fields of each request.
        """
        return False

    def request(self, private: Any, capacity: int | Num[AnyArray, "..."], number: Int[Array, "1 *batch"]) -> Requests:
        """Return the next request, if it depends on completions.

        Parameters
        ----------
        private
            Private state.
        capacity : int
            Size of the system, sectors. All addresses are below it.
        number : int array, shape `[1, *batch]`
            Number of the request.

        Returns
        -------
        Requests
            The request, arrays of shape `[1, *batch]`; by default a placeholder with this number. The engine ignores
            the placeholder if `waits_for_completions` is false.
        """
        return empty_request(number.shape[1:])._replace(number=number)

    def sent(self, private: Any, request: Requests, admitted: Bool[Array, "1 *batch"]) -> Any:
        """Return the private state after a request was admitted. The state changes only where `admitted` is true."""
        return private

    def completed(
        self,
        private: Any,
        client: Int[Array, "1 *batch"],
        at: Float[Array, "1 *batch"],
        leaves: Bool[Array, "1 *batch"],
    ) -> Any:
        """Return the private state after a request of `client` completed. It is unchanged where `leaves` is false.

        at: time of the completion, seconds from now.
        """
        return private


class AbstractRandomArrivals(AbstractArrivals):
    """Base class of arrivals whose requests are drawn from a model."""

    requests: eqx.AbstractVar[AbstractRequests]

    @property
    def largest(self):
        return self.requests.largest

    @property
    def stream_count(self):
        return self.requests.stream_count

    @property
    def stores_streams(self):
        return self.requests.stores_streams

    def check(self, capacity):
        self.requests.check(capacity)


class ClosedLoop(AbstractRandomArrivals):
    """Closed loop with `outstanding` requests: the next request arrives when a request completes.

    Parameters
    ----------
    requests : AbstractRequests
        Model of the requests.
    outstanding : int
        Number of outstanding requests, at least 1; one number, or one for each run.
    replaced_before_choice : bool
        Whether the scheduler, when it chooses at a completion, can choose the request that this completion causes; by
        default False.

    Raises
    ------
    InputError
        If a value is out of its range.

    Notes
    -----
    By default, the request that a completion causes arrives after the scheduler's choice at this completion. With N
    outstanding requests, the scheduler therefore chooses among N-1 requests, as in DiskSim and in figure 1 of dsptf.
    With `replaced_before_choice`, the scheduler chooses among N requests.
    """

    requests: AbstractRequests = eqx.field(
        converter=partial(instance_of(AbstractRequests, REQUESTS), "requests of a closed loop")
    )
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

    def next_arrival(self, private, pending, completion):
        return completion

    def precedes(self, arrival, choice):
        # a completion and the choice that follows are simultaneous, although rounding may separate them
        return arrival <= choice + INSTANT if self.replaced_before_choice else arrival < choice - INSTANT

    def frees_slot(self, admitted, due, pending):
        return admitted


class PoissonArrivals(AbstractRandomArrivals):
    """Poisson stream of requests.

    Parameters
    ----------
    requests : AbstractRequests
        Model of the requests.
    rate : float
        Requests per second, above 0; one number, or one for each run.

    Raises
    ------
    InputError
        If the rate is not above 0.
    """

    requests: AbstractRequests = eqx.field(
        converter=partial(instance_of(AbstractRequests, REQUESTS), "requests of arrivals")
    )
    rate: Float[AnyArray, "..."] = eqx.field(converter=named("arrival rate"))

    def __check_init__(self):
        POSITIVE.in_unit("a second").each("arrival rate", self.rate)

    def window(self, capacity, key, first, count) -> Window:
        requests = self.requests.draw(capacity, key, first, count)
        uniform, _ = words(key, first, count, 2)
        return Window(requests, -jnp.log1p(-fraction(uniform)) / self.rate)

    @property
    def first_arrival(self):
        return 0.0

    def at_start(self, slot):
        return slot < 0

    def next_arrival(self, private, pending, completion):
        return pending

    def precedes(self, arrival, choice):
        return arrival <= choice

    def frees_slot(self, admitted, due, pending):
        return due


class RecordedArrivals(AbstractArrivals):
    """Requests of a trace at their recorded times, the same in every run.

    Parameters
    ----------
    requests : Requests
        Requests of the trace, arrays of shape (row,).
    gap : float array, shape (row,)
        Time from each request to the next, seconds; infinite for the last request.
    scale : float
        Factor by which the recorded arrival rate is multiplied; by default 1. With a factor above 1 the trace runs
        faster.
    clients : bool
        Whether the engine stores stream and client of each request; by default False.
    first : int
        Number of the first of these requests within its trace; by default 0. `Runner.feed` simulates a long trace in
        successive blocks of requests.

    Raises
    ------
    InputError
        If the shapes differ, or a value is out of its range.
    """

    requests: Requests = eqx.field(converter=partial(instance_of(Requests), "requests of a trace"))
    gap: Float[AnyArray, "row"] = eqx.field(converter=partial(GAP, "gap between requests"))
    scale: Float[AnyArray, "..."] = eqx.field(converter=named("trace scale"), default=1.0)
    clients: bool = eqx.field(static=True, converter=partial(flag, "clients"), default=False)
    first: Int[AnyArray, "..."] = eqx.field(converter=named("first request", whole), default=0)

    def __check_init__(self):
        expected = np.shape(self.requests.number)
        if np.ndim(self.gap) != 1 or np.shape(self.gap) != expected:
            raise InputError(
                f"gaps {list(np.shape(self.gap))} of requests {list(expected)}: give a one-dimensional array with one "
                "gap for each request"
            )
        POSITIVE.each("trace scale", self.scale)
        FIRST.each("first request", self.first)

    @property
    def stores_streams(self):
        return self.clients

    def check(self, capacity):
        if traced(capacity) or not len(self.gap):
            return
        most, least = int(np.max(np.asarray(self.requests.sectors))), int(np.min(np.asarray(capacity)))
        if most > least:
            raise InputError(
                f"a request of {most} sectors to a system of {least} sectors: use larger drives or more drives"
            )

    @property
    def total(self):
        return len(self.gap)

    @property
    def stream_count(self):
        # the number of streams of a traced array is unknown: assume the number of bits of a word
        if traced(self.requests.stream):
            return WORD
        return int(np.max(np.asarray(self.requests.stream), initial=0)) + 1

    def window(self, capacity, key, first, count) -> Window:
        ahead = jnp.arange(count, dtype=jnp.int32).reshape((count,) + (1,) * (first.ndim - 1))
        row = first + ahead - self.first
        requests = jax.tree.map(lambda column: jnp.take(column, row, mode="clip"), self.requests)
        return Window(requests, jnp.take(self.gap, row, mode="clip") / self.scale)

    @property
    def largest(self):
        return jnp.max(self.requests.sectors, initial=1)

    @property
    def first_arrival(self):
        return 0.0

    def at_start(self, slot):
        return slot < 0

    def next_arrival(self, private, pending, completion):
        return pending

    def precedes(self, arrival, choice):
        return arrival <= choice

    def frees_slot(self, admitted, due, pending):
        return due


class RecordedLoop(RecordedArrivals):
    """Requests of a trace in a closed loop: the next request of the trace arrives when a request completes.

    The recorded times are not used, but the last gap is infinite: no request follows the last request of the trace.

    Parameters
    ----------
    requests, gap, scale, clients
        See `RecordedArrivals`. All gaps but the last are 0.
    outstanding : int
        Number of outstanding requests, at least 1; by default 1.

    Raises
    ------
    InputError
        If a value is out of its range.
    """

    outstanding: Int[AnyArray, "..."] = eqx.field(converter=named("requests outstanding", whole), default=1)

    def __check_init__(self):
        if np.any(np.asarray(self.outstanding) < 1):
            raise InputError(f"{np.min(self.outstanding)} requests outstanding: a closed loop needs at least 1")

    @property
    def most_outstanding(self):
        return int(np.max(self.outstanding))

    def at_start(self, slot):
        return slot < self.outstanding

    def next_arrival(self, private, pending, completion):
        return jnp.where(jnp.isfinite(pending), completion, jnp.inf)

    def precedes(self, arrival, choice):
        # a completion and the choice that follows are simultaneous, although rounding may separate them
        return arrival < choice - INSTANT

    def frees_slot(self, admitted, due, pending):
        return jnp.where(jnp.isfinite(pending), admitted, due)
