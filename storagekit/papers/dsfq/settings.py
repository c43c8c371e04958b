"""Settings of the search for unfair sharing: two or three streams at three bricks.

A setting consists of numbers only. A whole population of settings is therefore one batch of one compiled program.
"""

from dataclasses import dataclass, fields

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from storagekit.core.arrays import AnyArray
from storagekit.core.batching import first_min, pick, real, row_index, whole
from storagekit.core.units import SECTOR
from storagekit.dispatch import Hashing
from storagekit.drive import Mixed, RateServer
from storagekit.engine import Scenario, System
from storagekit.papers.dsfq.watching import recording_coordinators
from storagekit.placement import Volumes
from storagekit.queue import AbstractDelay, AbstractQueue, Depth, FairQueue, Hybrid
from storagekit.schedule import FCFS
from storagekit.workload import FixedSize, Group, RandomRequests, Requests, Threads
from storagekit.workload.randomness import below, fraction, scramble, word_at
from storagekit.workload.threads import WORDS

STREAMS, BRICKS = 3, 3
# Number of kinds of threads of a stream.
KINDS = 3
# Largest number of threads of all streams together. It is also the number of slots of the engine.
MOST_THREADS = 64
MOST_COORDINATORS = 20
# Sectors of a brick's stripe unit: longer than the longest request.
UNIT = 1024


@dataclass(frozen=True)
class Settings:
    """Settings as arrays; the last axis, of length n, is the setting.

    Parameters
    ----------
    weights : array, shape [stream, n]
        Weight of each stream.
    threads : array of int, shape [kind, n]
        Number of threads of each kind: first the `KINDS` kinds of stream 0, then the kinds of stream 1, then the kinds
        of stream 2.
    burst : array of int, shape [kind, brick, n]
        Number of requests that a thread of the kind sends to each brick in one cycle, one brick after the other.
    begins : array of int, shape [kind, n]
        Number of the request in the cycle with which a thread begins.
    spacing : array, shape [kind, n]
        Seconds between the first requests of successive threads of the kind. The first thread sends its first request
        after this time.
    low, high : array of int, shape [stream, brick, n]
        Smallest and largest cost of a request, sectors. Costs are uniform between them.
    rate : array, shape [brick, n]
        Throughput of each brick, sectors a second.
    depth : array of int, shape [n]
        Depth D of the bricks.
    coordinators : array of int, shape [n]
        Number of coordinators of each stream.
    random : array of int, shape [n]
        1 if the coordinators are selected at random, 0 if they are selected in turn.
    """

    weights: Float[np.ndarray, "stream n"]
    threads: Int[np.ndarray, "kind n"]
    burst: Int[np.ndarray, "kind brick n"]
    begins: Int[np.ndarray, "kind n"]
    spacing: Float[np.ndarray, "kind n"]
    low: Int[np.ndarray, "stream brick n"]
    high: Int[np.ndarray, "stream brick n"]
    rate: Float[np.ndarray, "brick n"]
    depth: Int[np.ndarray, " n"]
    coordinators: Int[np.ndarray, " n"]
    random: Int[np.ndarray, " n"]

    def __len__(self) -> int:
        return self.depth.size

    def __getitem__(self, which) -> "Settings":
        """Return the settings that an array of indices or a slice selects."""
        return Settings(*(column[..., which] for column in self.columns))

    @property
    def columns(self) -> tuple[np.ndarray, ...]:
        return tuple(getattr(self, name) for name in NAMES)

    def beside(self, *others: "Settings") -> "Settings":
        """Return these settings followed by other settings.

        Parameters
        ----------
        *others : Settings
            The other settings.
        """
        together = zip(self.columns, *(other.columns for other in others), strict=True)
        return Settings(*(np.concatenate(columns, axis=-1) for columns in together))

    def used(self) -> Bool[np.ndarray, "stream brick n"]:
        """Return, for each stream, brick and setting, whether a thread of the stream sends requests to the brick."""
        sends = (self.burst > 0) & (self.threads > 0)[:, None]
        return np.logical_or.reduce(sends.reshape(STREAMS, KINDS, BRICKS, -1), axis=1)


# Names of the columns.
NAMES = tuple(each.name for each in fields(Settings))


class Mixture(Threads):
    """The threads of `Settings`, without think time, in the order of their kinds.

    Parameters
    ----------
    of : Settings
        The settings.
    """

    threads: Int[AnyArray, "kind *batch"]
    burst: Int[AnyArray, "turn *batch"]
    begins: Int[AnyArray, "kind *batch"]
    spacing: Float[AnyArray, "kind *batch"]
    low: Int[AnyArray, "pair *batch"]
    more: Int[AnyArray, "pair *batch"]

    def __init__(self, of: Settings):
        # `request` draws the requests, so that these are placeholders.
        blank = RandomRequests(FixedSize(SECTOR), read_share=1.0)
        super().__init__([Group(blank, of.threads.sum(axis=0, keepdims=True), most=MOST_THREADS)])
        self.threads = whole(of.threads)
        self.burst = whole(of.burst.reshape(STREAMS * KINDS * BRICKS, -1))
        self.begins = whole(of.begins)
        self.spacing = real(of.spacing)
        self.low = whole(of.low.reshape(STREAMS * BRICKS, -1))
        self.more = whole((of.high - of.low + 1).reshape(STREAMS * BRICKS, -1))

    @property
    def stream_count(self):
        return STREAMS

    def init(self, key):
        private = super().init(key)
        thread = row_index(MOST_THREADS, private.due) + jnp.zeros_like(private.issued)
        kind = self._kind(thread)
        first = (jnp.cumsum(self.threads, axis=0) - self.threads).astype(jnp.int32)
        rank = thread - jnp.take_along_axis(first, kind, axis=0)
        spacing = jnp.take_along_axis(self.spacing, kind, axis=0)
        return private._replace(due=private.due + (rank + 1) * spacing)

    def request(self, private, capacity, number: Int[Array, "1 *batch"]) -> Requests:
        thread, _ = first_min(private.due)
        issued = pick(private.issued, thread)
        (_, size), (_, receiving) = (word_at(private.key, issued, thread * WORDS + which) for which in range(2))
        stream, brick = self._whose(thread, issued)
        pair = stream * BRICKS + brick
        sector = brick * UNIT
        blank = self.groups[0].requests.drawn(capacity, (size, size), (size, receiving), number)
        return blank._replace(
            sector=sector,
            sectors=pick(self.low, pair) + below(size, pick(self.more, pair)),
            read=fraction(size) >= 0,
            address_hash=scramble(sector),
            stream=stream,
            client=thread,
        )

    def _kind(self, thread: Int[Array, "row *batch"]) -> Int[Array, "row *batch"]:
        """Return the kind of each thread; for the number of a thread that does not exist, the last kind."""
        until = jnp.cumsum(self.threads, axis=0)[:, None]
        before = jnp.sum(until <= thread[None], axis=0)
        return jnp.minimum(before, self.threads.shape[0] - 1).astype(jnp.int32)

    def _whose(
        self, thread: Int[Array, "1 *batch"], issued: Int[Array, "1 *batch"]
    ) -> tuple[Int[Array, "1 *batch"], Int[Array, "1 *batch"]]:
        """Return the stream of a thread, and the brick of the request with number `issued` of this thread."""
        kind = self._kind(thread)
        turns = jnp.concatenate([pick(self.burst, kind * BRICKS + brick) for brick in range(BRICKS)])
        until = jnp.cumsum(turns, axis=0)
        at = (issued + pick(self.begins, kind)) % jnp.maximum(until[-1:], 1)
        brick = jnp.sum(until <= at, axis=0, keepdims=True).astype(jnp.int32)
        return kind // KINDS, jnp.minimum(brick, BRICKS - 1)


def fair(of: Settings, delay: AbstractDelay) -> FairQueue:
    """Return the fair queue of the settings.

    Parameters
    ----------
    of : Settings
        The settings.
    delay : AbstractDelay
        The delay function.
    """
    coordinators = recording_coordinators(of.coordinators, of.random, MOST_COORDINATORS, UNIT)
    return FairQueue(of.depth[None], list(of.weights[:, None]), delay, coordinators=coordinators)


def total(of: Settings) -> Scenario:
    """Return a scenario of TOTAL-DSFQ with one run for each setting.

    The delay function is `Hybrid` with minimum shares of 0. The scenarios of `total`, of `single` and of other minimum
    shares therefore differ in numbers only, and share a compiled program.

    Parameters
    ----------
    of : Settings
        The settings.
    """
    return scenario(of, fair(of, Hybrid(list(np.zeros_like(of.weights)[:, None]))))


def single(of: Settings) -> Scenario:
    """Return a scenario of SFQ(D) at each brick, with one run for each setting.

    The delay function is `Hybrid`, and the minimum share of each stream is its whole share by weight.

    Parameters
    ----------
    of : Settings
        The settings.
    """
    return scenario(of, fair(of, Hybrid(list((of.weights / of.weights.sum(axis=0))[:, None]))))


def unscheduled(of: Settings) -> Scenario:
    """Return a scenario without scheduling: each brick issues requests in the order of arrival, up to its depth.

    Parameters
    ----------
    of : Settings
        The settings.
    """
    return scenario(of, Depth(of.depth[None]))


def scenario(of: Settings, queue: AbstractQueue) -> Scenario:
    """Return a scenario with the given queue at each brick, with one run for each setting.

    Parameters
    ----------
    of : Settings
        The settings.
    queue : AbstractQueue
        The queue of the bricks.
    """
    drive = Mixed([RateServer(rate[None]) for rate in of.rate], range(BRICKS))
    volumes = Volumes(UNIT, [[brick] for brick in range(BRICKS)], UNIT)
    system = System(drive, volumes, Hashing(), FCFS(), queue=queue, slots=MOST_THREADS)
    return Scenario(system, Mixture(of))
