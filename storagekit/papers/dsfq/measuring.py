"""The parameters of the bounds as a run had them, and how much of each bound its worst interval took."""

from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int, UInt32

from storagekit.analytic.fairness import Reading, Side, bound_one_server, bound_total, largest_unfairness
from storagekit.engine import NO_REQUEST
from storagekit.papers.dsfq.settings import BRICKS, STREAMS, Settings
from storagekit.papers.dsfq.watching import Sent, Watched
from storagekit.simulation import lasting

PAIRS = np.array(list(combinations(range(STREAMS), 2)))
_BITS = (1 << PAIRS).sum(axis=1).astype(np.uint32)


class ObservedRequests(NamedTuple):
    """What the bounds need to know of a run. largest: the largest cost of a stream's requests to each brick, 0 where it sent
    none. batch: the largest batchcost, that of a batch still open included. waiting: the most requests of a stream that
    waited at a brick."""

    largest: Float[np.ndarray, "stream brick lane"]
    batch: Float[np.ndarray, "stream brick lane"]
    waiting: Int[np.ndarray, "stream brick lane"]


class Unfair(NamedTuple):
    """The largest unfairness of each pair of streams while both are backlogged at a brick, `[pair, brick, lane]`.

    here: of the service of that brick; everywhere: of all. backlogged: whether they ever are.
    """

    here: Float[np.ndarray, "pair brick lane"]
    everywhere: Float[np.ndarray, "pair brick lane"]
    backlogged: Bool[np.ndarray, "pair brick lane"]


def batch_costs(sent: Sent, streams: int = STREAMS, bricks: int = BRICKS) -> Float[np.ndarray, "stream brick lane"]:
    """The largest batchcost of each stream at each brick, through any one coordinator, 0 of a stream that sends nothing.

    The cost of what a coordinator has sent since its last request to the brick, that request left out and the next to the
    brick, if it has come, included: a batch that is open still counts, because what it has sent elsewhere is served.
    """
    event, lane = np.nonzero(sent.stream != NO_REQUEST)
    order = np.lexsort((event, sent.coordinator[event, lane], sent.stream[event, lane], lane))
    event, lane = event[order], lane[order]
    stream, through, brick, cost = (column[event, lane] for column in sent)
    total = np.cumsum(cost, dtype=np.int64)
    first = np.ones(len(total), bool)
    first[1:] = (np.diff(lane) != 0) | (np.diff(stream) != 0) | (np.diff(through) != 0)
    # what had been sent before the first request of a coordinator
    base = np.maximum.accumulate(np.where(first, total - cost, 0))
    largest = np.zeros((streams, bricks, sent.stream.shape[1]))
    for at in range(bricks):
        last = np.maximum.accumulate(np.where(brick == at, total, 0))
        before = np.maximum(base, np.concatenate([[0], last[:-1]]))
        np.maximum.at(largest[:, at], (stream, lane), total - before)
    return largest


def asked(log: Watched) -> ObservedRequests:
    """The parameters of a run whose coordinators are noted."""
    assert log.sent is not None
    event, lane = np.nonzero(log.sent.stream != NO_REQUEST)
    largest = np.zeros((STREAMS, BRICKS, log.elapsed.shape[1]))
    where = (log.sent.stream[event, lane], log.sent.brick[event, lane], lane)
    np.maximum.at(largest, where, log.sent.cost[event, lane].astype(float))
    most = log.waiting.max(axis=0).reshape(BRICKS, STREAMS, -1).swapaxes(0, 1).astype(int)
    # one that enters may have been handed over by the end of the event
    held = (log.waited[event, where[1], lane] >> where[0].astype(np.uint32) & 1).astype(int)
    before = np.concatenate([np.zeros_like(log.waiting[:1]), log.waiting[:-1]])
    np.maximum.at(most, where, before[event, where[1] * STREAMS + where[0], lane] + held)
    return ObservedRequests(largest, batch_costs(log.sent), most)


def unfairness(log: Watched, weights: Float[np.ndarray, "stream lane"]) -> Unfair:
    """The worst interval of each pair at each brick, in every lane."""
    both, gap = backlogged(log, _BITS)
    stream = np.where(log.brick == NO_REQUEST, NO_REQUEST, log.stream)
    cost = np.where(stream[:, None] == np.arange(STREAMS)[:, None], log.cost[:, None], 0).astype(float)
    at = log.brick[:, None] == np.arange(BRICKS)[:, None]
    # [event, 2, pair, brick, lane]
    everywhere: Any = np.moveaxis(cost[:, PAIRS], 2, 1)[:, :, :, None]
    here = everywhere * at[:, None, None]
    everywhere = np.broadcast_to(everywhere, here.shape)
    of_pair = np.broadcast_to(np.moveaxis(weights[PAIRS], 1, 0)[:, :, None], here.shape[1:])
    worst = [largest_unfairness(served, of_pair, both, gap) for served in (here, everywhere)]
    return Unfair(worst[0], worst[1], np.logical_or.reduce(both, axis=0))


def backlogged(log: Watched, streams: UInt32[np.ndarray, " row"]) -> tuple[Any, Any]:
    """Whether streams are backlogged at a brick after an event, and the seconds of it in which they were not, until the
    request came that was wanting; `[event, row, brick, lane]`. streams: of each row those that have to be, one bit each."""
    bits = streams[:, None, None]
    waited, waits = ((mask[:, None] & bits) == bits for mask in (log.waited, log.waits))
    return lasting(waited, waits, log.entered[:, None, None], log.elapsed[:, None, None])


def sides(of: Settings, run: ObservedRequests) -> tuple[Side, Side]:
    """The two streams of each pair at each brick, `[pair, brick, lane]`."""
    bricks, anywhere = (run.largest > 0).sum(axis=1), run.largest.max(axis=1)
    found = []
    for which in PAIRS.T:
        found.append(
            Side(
                of.weights[which][:, None],
                run.largest[which],
                np.broadcast_to(anywhere[which][:, None], run.largest[which].shape),
                np.maximum(bricks[which], 1)[:, None],
                run.batch[which],
                of.coordinators,
            )
        )
    return found[0], found[1]


def one_server(of: Settings, run: ObservedRequests, unfair: Unfair) -> Float[np.ndarray, " lane"]:
    """The largest share of theorem 1's bound that any pair takes at any brick, of that brick's service."""
    return share(unfair.here, bound_one_server(*sides(of, run), of.depth)).max(axis=(0, 1))


def total_bound(of: Settings, run: ObservedRequests, reading: Reading) -> Float[np.ndarray, "pair brick lane"]:
    """The bound of theorems 2 and 4. reading: `printed` or `repaired`. D_SFQ is the most requests of either stream of the
    pair that waited at any brick."""
    most = run.waiting.max(axis=1)[PAIRS].max(axis=1)[:, None]
    return bound_total(*sides(of, run), of.depth, most, reading)


def total_service(of: Settings, run: ObservedRequests, unfair: Unfair, reading: Reading) -> Float[np.ndarray, " lane"]:
    """The largest share of the bound of theorems 2 and 4 that any pair takes."""
    return share(unfair.everywhere, total_bound(of, run, reading)).max(axis=(0, 1))


def share(worst: np.ndarray, bound: np.ndarray) -> np.ndarray:
    """How much of a bound the worst took; 0 where there was none."""
    return np.where(worst > 0, worst / np.where(worst > 0, bound, 1), 0)
