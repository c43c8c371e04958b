"""Clients with threads. After each completion, a thread waits for a think time and then sends its next request.

The random numbers of request i of thread t depend only on the seed, t and i. The request therefore depends neither on
the system nor on the other threads.
"""

from collections.abc import Sequence
from functools import reduce
from math import gcd
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array, Bool, Float, Int, Num, UInt32

from storagekit.core.arrays import AnyArray
from storagekit.core.batching import INSTANT, first_min, named, pick, row_index
from storagekit.core.errors import InputError
from storagekit.core.validation import ADDRESS, NUMBER, SECTORS, instance_of, require, require_seconds, several, traced
from storagekit.workload.arrivals import REQUESTS, AbstractArrivals, Window
from storagekit.workload.counts import AbstractCount, Steady
from storagekit.workload.randomness import fraction, scramble, word_at
from storagekit.workload.requests import RandomRequests, Requests, empty_request

# number of pairs of random words per request: for address and size, for operation and brick, and for think time
WORDS = 3


class Group(eqx.Module):
    """Group of identical threads.

    Parameters
    ----------
    requests : RandomRequests
        Model of the requests of the threads.
    threads : int or AbstractCount
        Number of threads.
    think : float
        Mean of the exponential think time before each request, seconds, from 0 to 15; by default 0.
    stream : int
        Number of the stream of these requests, from 0; by default 0.
    volumes : sequence of int, optional
        Logical volume of each thread, from 0 (see `Threads`). By default the threads share the whole address space.
    most : int, optional
        Number of threads for which the engine has memory; by default the largest number of `threads`. If `most` is
        larger and equal in several settings, settings with different numbers of threads share one compilation.

    Raises
    ------
    InputError
        If a value is out of its range, `most` is too small, or there are fewer volumes than threads.
    """

    requests: RandomRequests
    threads: AbstractCount
    think: Float[AnyArray, "..."]
    stream: int = eqx.field(static=True)
    volumes: tuple[int, ...] | None = eqx.field(static=True)
    most: int = eqx.field(static=True)

    def __init__(
        self,
        requests: RandomRequests,
        threads: ArrayLike | AbstractCount,
        think: ArrayLike = 0.0,
        *,
        stream: int = 0,
        volumes: Sequence[int] | None = None,
        most: int | None = None,
    ):
        self.requests = instance_of(RandomRequests, REQUESTS)("requests of a group", requests)
        self.think, self.stream = named("a think time of")(think), NUMBER("stream", stream)
        self.threads = threads if isinstance(threads, AbstractCount) else Steady(threads)
        self.volumes = None if volumes is None else several(ADDRESS, of="numbers of volumes")("volume", volumes)
        self.most = NUMBER("largest number of threads", np.max(self.threads.peak) if most is None else most)

    def __check_init__(self):
        if not traced(self.think):
            think = np.asarray(self.think)
            require((think >= 0) & np.isfinite(think), "a think time of", think, "0 or more and finite", "s")
            require_seconds("a think time of", think, "thought")
        peak = int(np.max(self.threads.peak))
        if peak > self.most:
            raise InputError(f"{peak} threads, but most is {self.most}; raise most")
        if self.volumes is None:
            return
        if len(self.volumes) < self.most:
            raise InputError(f"{len(self.volumes)} volumes for {self.most} threads: give one volume for each thread")


class Thinking(NamedTuple):
    """Private state of threads.

    due: time in seconds until each thread sends its next request, inf while the thread waits for a completion. issued:
    number of requests that each thread has sent. clocks: state of the `AbstractCount` of each group; None for a
    constant count.
    """

    key: UInt32[Array, "2 *batch"]
    due: Float[Array, "thread *batch"]
    issued: Int[Array, "thread *batch"]
    clocks: tuple[Any, ...]


class Threads(AbstractArrivals):
    """Threads that each have one outstanding request, or wait for a think time before the next request.

    A scheduler that chooses at a completion cannot choose the request that this completion causes.

    Parameters
    ----------
    groups : sequence of Group or RandomRequests
        Groups of threads. For a single group, give the model of its requests here, and its settings as `threads`,
        `think` and `most`. Thread j of a group has the number j plus the sum of `Group.most` over all earlier groups.
    threads : int or AbstractCount, optional
        Number of threads of a single group.
    think : float, optional
        Mean of the exponential think time of a single group, seconds; by default 0.
    most : int, optional
        Number of threads of a single group for which the engine has memory; see `Group`.
    volume : int, optional
        Size of a logical volume, sectors. Volume v begins at sector v * volume. A thread with a volume draws its
        addresses as in `RandomRequests`, with this volume as the capacity.

    Raises
    ------
    InputError
        If there is no thread, a request is larger than its volume, or volumes are not multiples of the alignment.

    Examples
    --------
    >>> import storagekit as sk
    >>> requests = sk.workload.RandomRequests(sk.workload.ExponentialSize(8192), read_share=0.7)
    >>> eight = sk.workload.Threads(requests, threads=8, think=0.02)
    >>> always = sk.workload.Group(requests, 30, stream=0, volumes=range(30))
    >>> at_times = sk.workload.Group(requests, sk.workload.OnOff(10, on=10.0, off=10.0), stream=1, volumes=range(30, 40))
    >>> sk.workload.Threads([always, at_times], volume=2**19).most_outstanding
    40
    """

    groups: tuple[Group, ...]
    volume: int | None = eqx.field(static=True)

    def __init__(
        self,
        groups: Sequence[Group] | RandomRequests,
        threads: ArrayLike | AbstractCount | None = None,
        think: ArrayLike | None = None,
        *,
        most: int | None = None,
        volume: int | None = None,
    ):
        if isinstance(groups, RandomRequests):
            if threads is None:
                raise InputError("no number of threads: give `threads` with the requests")
            groups = [Group(groups, threads, 0.0 if think is None else think, most=most)]
            threads = think = most = None
        give = "a Group(...), or requests, such as sk.workload.RandomRequests(...)"
        listed = groups if np.iterable(groups) else [groups]
        self.groups = tuple(instance_of(Group, give)("a group of threads", group) for group in listed)
        self.volume = None if volume is None else SECTORS("sectors of a volume", volume)
        if any(given is not None for given in (threads, think, most)):
            raise InputError("threads, think or most together with groups: set them in each group")

    def __check_init__(self):
        if not self.groups:
            raise InputError("no group of threads: give at least one")
        total = self._peak
        if len(self.groups) == 1:
            require(total >= 1, "threads", total, "at least 1")
        elif np.min(total) < 1:
            raise InputError(f"no thread in any of {len(self.groups)} groups: give at least one group a thread")
        for group in self.groups:
            if group.volumes is not None:
                _require_room(group.requests, self.volume)

    @property
    def _peak(self) -> np.ndarray:
        """Return the largest possible number of threads that are on simultaneously: the sum of the peaks of all groups."""
        return np.asarray(reduce(np.add, [np.asarray(group.threads.peak) for group in self.groups]))

    @property
    def _firsts(self) -> list[int]:
        """Return the number of the first thread of each group."""
        return [sum(group.most for group in self.groups[:index]) for index in range(len(self.groups))]

    @property
    def _provided(self) -> int:
        return sum(group.most for group in self.groups)

    @property
    def most_outstanding(self):
        return int(np.max(self._peak))

    @property
    def largest(self):
        return reduce(jnp.maximum, (group.requests.size.largest for group in self.groups))

    @property
    def stores_streams(self):
        return True

    @property
    def waits_for_completions(self):
        return True

    @property
    def stream_count(self):
        return 1 + max(group.stream for group in self.groups)

    def check(self, capacity):
        for group in self.groups:
            group.requests.check(capacity)
        volume, least = self.volume or 0, int(np.min(capacity))
        ends = [(number + 1) * volume for group in self.groups for number in group.volumes or ()]
        if max(ends, default=0) > least:
            raise InputError(
                f"volumes of {volume} sectors end at sector {max(ends)}, but the system has {least} sectors: use "
                "fewer or smaller volumes"
            )

    def window(self, capacity, key, first, count) -> Window:
        ahead = jnp.arange(count, dtype=jnp.int32).reshape((count,) + (1,) * (first.ndim - 1))
        number = first + ahead
        blank = empty_request(number.shape[1:])
        rows_of = Requests(*(jnp.broadcast_to(column, number.shape) for column in blank))
        return Window(rows_of._replace(number=number), jnp.zeros(number.shape, jnp.float32))

    @property
    def first_arrival(self):
        return float("inf")

    def at_start(self, slot):
        return slot < 0

    def init(self, key: UInt32[Array, "2 *batch"]) -> Thinking:
        batch = key.shape[1:]
        issued = jnp.zeros((self._provided, *batch), jnp.int32)
        thread = row_index(self._provided, key) + issued
        thought = self._thought(key, thread, issued)
        clocks = tuple(group.threads.init(batch) for group in self.groups)
        return Thinking(key, thought + self._off(clocks, thread, thought), issued, clocks)

    def next_arrival(self, private: Thinking, pending, completion):
        due = first_min(private.due)[1]
        # a thread whose request completes before this time may be the next to send
        return jnp.where(completion <= due, jnp.inf, due)

    def precedes(self, arrival, choice):
        return arrival < choice - INSTANT

    def frees_slot(self, admitted, due, pending):
        return due

    def request(
        self, private: Thinking, capacity: int | Num[AnyArray, "..."], number: Int[Array, "1 *batch"]
    ) -> Requests:
        thread, _ = first_min(private.due)
        issued = pick(private.issued, thread)
        block = thread * WORDS
        one, other = (word_at(private.key, issued, block + which) for which in range(2))
        found = [group.requests.drawn(self._room(group, capacity), one, other, number) for group in self.groups]
        streams = [jnp.full_like(thread, group.stream) for group in self.groups]
        drawn = self._of(thread, found)
        if self.volume is not None:
            drawn = drawn._replace(sector=drawn.sector + jnp.take(self._begins(self.volume), thread))
        if self.volume is not None or len(self.groups) > 1:
            # equal addresses have equal hashes, also for groups with different alignments
            grid = gcd(*(group.requests.alignment for group in self.groups))
            drawn = drawn._replace(address_hash=scramble(drawn.sector // grid))
        return drawn._replace(stream=self._of(thread, streams), client=thread)

    def _room(self, group: Group, capacity: int | Num[AnyArray, "..."]) -> int | Num[AnyArray, "..."]:
        """Return the number of sectors within which the threads of a group draw their addresses."""
        return capacity if group.volumes is None or self.volume is None else self.volume

    def _begins(self, volume: int) -> Int[Array, "thread"]:
        """Return the first sector of the volume of each thread; 0 if the thread uses the whole address space."""
        of_group = [
            (0,) * group.most if group.volumes is None else group.volumes[: group.most] for group in self.groups
        ]
        return jnp.asarray(np.asarray(sum(of_group, ()), np.int64) * volume, int)

    def sent(self, private: Thinking, request: Requests, admitted: Bool[Array, "1 *batch"]) -> Thinking:
        its = (row_index(self._provided, private.due) == request.client) & admitted
        return private._replace(due=jnp.where(its, jnp.inf, private.due), issued=private.issued + its)

    def completed(
        self,
        private: Thinking,
        client: Int[Array, "1 *batch"],
        at: Float[Array, "1 *batch"],
        leaves: Bool[Array, "1 *batch"],
    ) -> Thinking:
        its = (row_index(self._provided, private.due) == client) & leaves
        ready = at + self._thought(private.key, client, pick(private.issued, client))
        if any(group.threads.varies for group in self.groups):
            ready = ready + self._off(private.clocks, client, ready)
        return private._replace(due=jnp.where(its, ready, private.due))

    def elapse(self, private: Thinking, time):
        groups = zip(self.groups, private.clocks, strict=True)
        clocks = tuple(group.threads.elapse(clock, time) for group, clock in groups)
        return private._replace(due=private.due - time, clocks=clocks)

    def _thought(self, key, thread: Int[Array, "row *batch"], issued: Int[Array, "row *batch"]) -> Any:
        """Return the think time in seconds of each thread before its request number `issued`."""
        word, _ = word_at(key, issued, thread * WORDS + 2)
        return -jnp.log1p(-fraction(word)) * self._of(thread, [group.think for group in self.groups])

    def _off(
        self, clocks: tuple[Any, ...], thread: Int[Array, "row *batch"], delay: Float[Array, "row *batch"]
    ) -> Float[Array, "row *batch"]:
        """Return the time in seconds from a later moment, `delay` seconds from now, until each thread is on.

        The result is 0 for a thread that is on at this moment, and inf for a thread that is never on again.
        """
        groups = zip(self.groups, self._firsts, clocks, strict=True)
        return self._of(thread, [group.threads.resumes(clock, delay, thread - first) for group, first, clock in groups])

    def _of(self, thread: Int[Array, "row *batch"], of_group: Sequence[Any]) -> Any:
        """Return, for each thread, the entry of `of_group` that belongs to the group of the thread.

        Each entry is a pytree of arrays.
        """

        def select(*values: Any) -> Any:
            numbered = zip(self._firsts[1:], values[1:], strict=True)
            return reduce(lambda chosen, one: jnp.where(thread >= one[0], one[1], chosen), numbered, values[0])

        return jax.tree.map(select, *of_group)


def _require_room(requests: RandomRequests, volume: int | None) -> None:
    if volume is None:
        raise InputError("a group has volumes, but their size is missing: give `volume`, the sectors of a volume")
    if volume % requests.alignment:
        raise InputError(
            f"volumes of {volume} sectors: give a multiple of the alignment of addresses, {requests.alignment}"
        )
    largest = int(np.max(requests.size.largest))
    if largest > volume:
        raise InputError(f"volumes of {volume} sectors, but requests of up to {largest}: give larger volumes")
