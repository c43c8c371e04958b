"""Clients with threads: each sends its next request when the one before is answered and it has thought.

Thread t's i-th request is drawn by (t, i), so that it is the same whatever the system does and however others fare.
"""

from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Num, UInt32

from storagekit.arrays import AnyArray
from storagekit.checks import require, require_whole
from storagekit.errors import InputError
from storagekit.lanes import INSTANT, first_min, pick, real, rows, whole
from storagekit.workload.arrivals import AbstractClients, Window
from storagekit.workload.randomness import fraction, word_at
from storagekit.workload.requests import RandomRequests, Requests, nothing_asked

# pairs of random words that a request takes: address and size, operation and brick, time of thought
WORDS = 3


class Thinking(NamedTuple):
    """Private state. due: seconds until each thread sends its next request, inf while it waits for an answer. issued: how
    many each has sent."""

    key: UInt32[Array, "2 *lanes"]
    due: Float[Array, "thread *lanes"]
    issued: Int[Array, "thread *lanes"]


class Threads(AbstractClients):
    """`threads` of them, each with one request outstanding, or in thought before the next.

    think: mean seconds of thought, exponential, before each request. streams: the stream of each thread, by default one for
    all. most: threads that the engine provides for, by default as many as there are (more lets settings with different
    numbers share one compilation). A choice that an answer allows does not see the request that the answer brings.
    """

    requests: RandomRequests
    threads: Int[AnyArray, "..."]
    think: Float[AnyArray, "..."]
    streams: tuple[int, ...] = eqx.field(static=True)
    most: int = eqx.field(static=True)

    def __init__(self, requests: RandomRequests, threads, think=0.0, *, streams=None, most: int | None = None):
        self.requests, self.threads, self.think = requests, whole(threads), real(think)
        self.most = int(np.max(threads)) if most is None else most
        self.streams = (0,) * self.most if streams is None else tuple(streams)

    def __check_init__(self):
        require(np.asarray(self.threads) >= 1, "threads", self.threads, "at least 1")
        require_whole("threads provided for", self.most)
        think = np.asarray(self.think)
        require((think >= 0) & np.isfinite(think), "a think time of", think, "0 or more and finite", "s")
        if int(np.max(self.threads)) > self.most:
            raise InputError(f"{int(np.max(self.threads))} threads where {self.most} are provided for: raise most")
        if len(self.streams) != self.most:
            raise InputError(f"streams of {len(self.streams)} threads: give one for each of {self.most}")

    @property
    def most_outstanding(self):
        return int(np.max(self.threads))

    def window(self, capacity, key, first, count) -> Window:
        ahead = jnp.arange(count, dtype=jnp.int32).reshape((count,) + (1,) * (first.ndim - 1))
        number = first + ahead
        blank = nothing_asked(number.shape[1:])
        rows_of = Requests(*(jnp.broadcast_to(column, number.shape) for column in blank))
        return Window(rows_of._replace(number=number), jnp.zeros(number.shape, jnp.float32))

    @property
    def first_arrival(self):
        return float("inf")

    def at_start(self, slot):
        return slot < 0

    def init(self, key: UInt32[Array, "2 *lanes"]) -> Thinking:
        lanes = key.shape[1:]
        thread = rows(self.most, key)
        issued = jnp.zeros((self.most, *lanes), jnp.int32)
        due = jnp.where(thread < self.threads, self._thought(key, thread + issued, issued), jnp.inf)
        return Thinking(key, due, issued)

    def next_arrival(self, private: Thinking, pending, answer):
        due = first_min(private.due)[1]
        # whoever is answered before that may send the next one
        return jnp.where(answer <= due, jnp.inf, due)

    def precedes(self, arrival, choice):
        return arrival < choice - INSTANT

    def leaves(self, admitted, due):
        return due

    def request(
        self, private: Thinking, capacity: int | Num[AnyArray, "..."], number: Int[Array, "1 *lanes"]
    ) -> Requests:
        thread, _ = first_min(private.due)
        issued = pick(private.issued, thread)
        block = thread * WORDS
        one, other = (word_at(private.key, issued, block + which) for which in range(2))
        stream = jnp.take(jnp.asarray(self.streams, jnp.int32), thread)
        return self.requests.drawn(capacity, one, other, number)._replace(stream=stream, client=thread)

    def sent(self, private: Thinking, request: Requests, admitted: Bool[Array, "1 *lanes"]) -> Thinking:
        its = (rows(self.most, private.due) == request.client) & admitted
        return private._replace(due=jnp.where(its, jnp.inf, private.due), issued=private.issued + its)

    def answered(
        self,
        private: Thinking,
        client: Int[Array, "1 *lanes"],
        at: Float[Array, "1 *lanes"],
        leaves: Bool[Array, "1 *lanes"],
    ) -> Thinking:
        its = (rows(self.most, private.due) == client) & leaves
        thought = self._thought(private.key, client, pick(private.issued, client))
        return private._replace(due=jnp.where(its, at + thought, private.due))

    def elapse(self, private: Thinking, time):
        return private._replace(due=private.due - time)

    def _thought(self, key, thread: Int[Array, "row *lanes"], issued: Int[Array, "row *lanes"]) -> Any:
        """Seconds of thought of each of these threads before its request number `issued`."""
        word, _ = word_at(key, issued, thread * WORDS + 2)
        return -jnp.log1p(-fraction(word)) * self.think
