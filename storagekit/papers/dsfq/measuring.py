"""Parameters of the bounds as measured in a run, and the unfairness of the worst interval divided by each bound."""

from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int, UInt32

from storagekit.analytic.fairness import Interpretation, Side, bound_one_server, bound_total, largest_unfairness
from storagekit.engine import NO_REQUEST
from storagekit.papers.dsfq.settings import BRICKS, STREAMS, Settings
from storagekit.papers.dsfq.watching import Sent, Watched
from storagekit.simulation import lasting

PAIRS = np.array(list(combinations(range(STREAMS), 2)))
_BITS = (1 << PAIRS).sum(axis=1).astype(np.uint32)


class ObservedRequests(NamedTuple):
    """Parameters of the bounds as measured in a run.

    largest: the largest cost of a request of a stream to a brick, 0 if the stream sent none. batch: the largest
    batchcost (see `batch_costs`). waiting: the largest number of requests of a stream that waited at a brick at one
    time.
    """

    largest: Float[np.ndarray, "stream brick run"]
    batch: Float[np.ndarray, "stream brick run"]
    waiting: Int[np.ndarray, "stream brick run"]


class Unfair(NamedTuple):
    """The largest unfairness of each pair of streams while both are backlogged at a brick, `[pair, brick, run]`.

    here: unfairness of the service by that brick. everywhere: unfairness of the service by all bricks. backlogged:
    whether both streams are ever backlogged at that brick at the same time.
    """

    here: Float[np.ndarray, "pair brick run"]
    everywhere: Float[np.ndarray, "pair brick run"]
    backlogged: Bool[np.ndarray, "pair brick run"]


def batch_costs(sent: Sent, streams: int = STREAMS, bricks: int = BRICKS) -> Float[np.ndarray, "stream brick run"]:
    """Return the largest batchcost of each stream at each brick; 0 for a stream without requests.

    A batch consists of the requests that one coordinator sends after one request to the brick, up to and including its
    next request to the brick. The batchcost is the sum of the costs of these requests. A batch is open if the run ends
    before the next request to the brick. Open batches count too, because their requests to other bricks are served.

    Parameters
    ----------
    sent : Sent, columns of shape [event, run]
        The request that each event sends.
    streams, bricks : int
        Number of streams and of bricks, by default the numbers of `settings`.
    """
    event, run = np.nonzero(sent.stream != NO_REQUEST)
    order = np.lexsort((event, sent.coordinator[event, run], sent.stream[event, run], run))
    event, run = event[order], run[order]
    stream, through, brick, cost = (column[event, run] for column in sent)
    total = np.cumsum(cost, dtype=np.int64)
    first = np.ones(len(total), bool)
    first[1:] = (np.diff(run) != 0) | (np.diff(stream) != 0) | (np.diff(through) != 0)
    # Cost sent before the first request of each coordinator.
    base = np.maximum.accumulate(np.where(first, total - cost, 0))
    largest = np.zeros((streams, bricks, sent.stream.shape[1]))
    for at in range(bricks):
        last = np.maximum.accumulate(np.where(brick == at, total, 0))
        before = np.maximum(base, np.concatenate([[0], last[:-1]]))
        np.maximum.at(largest[:, at], (stream, run), total - before)
    return largest


def observed_requests(log: Watched) -> ObservedRequests:
    """Return the parameters of the bounds in each run.

    Parameters
    ----------
    log : Watched
        The log of runs whose coordinators are recorded.
    """
    assert log.sent is not None
    event, run = np.nonzero(log.sent.stream != NO_REQUEST)
    largest = np.zeros((STREAMS, BRICKS, log.elapsed.shape[1]))
    where = (log.sent.stream[event, run], log.sent.brick[event, run], run)
    np.maximum.at(largest, where, log.sent.cost[event, run].astype(float))
    most = log.waiting.max(axis=0).reshape(BRICKS, STREAMS, -1).swapaxes(0, 1).astype(int)
    # A request that enters may be issued before the end of the event. So count it together with the requests that
    # waited before the event.
    held = (log.waited[event, where[1], run] >> where[0].astype(np.uint32) & 1).astype(int)
    before = np.concatenate([np.zeros_like(log.waiting[:1]), log.waiting[:-1]])
    np.maximum.at(most, where, before[event, where[1] * STREAMS + where[0], run] + held)
    return ObservedRequests(largest, batch_costs(log.sent), most)


def unfairness(log: Watched, weights: Float[np.ndarray, "stream run"]) -> Unfair:
    """Return the unfairness of the worst interval of each pair of streams at each brick, in every run.

    Parameters
    ----------
    log : Watched
        The log of the runs.
    weights : array, shape [stream, run]
        Weights of the streams.
    """
    both, gap = backlogged(log, _BITS)
    stream = np.where(log.brick == NO_REQUEST, NO_REQUEST, log.stream)
    cost = np.where(stream[:, None] == np.arange(STREAMS)[:, None], log.cost[:, None], 0).astype(float)
    at = log.brick[:, None] == np.arange(BRICKS)[:, None]
    # [event, 2, pair, brick, run]
    everywhere: Any = np.moveaxis(cost[:, PAIRS], 2, 1)[:, :, :, None]
    here = everywhere * at[:, None, None]
    everywhere = np.broadcast_to(everywhere, here.shape)
    of_pair = np.broadcast_to(np.moveaxis(weights[PAIRS], 1, 0)[:, :, None], here.shape[1:])
    worst = [largest_unfairness(served, of_pair, both, gap) for served in (here, everywhere)]
    return Unfair(worst[0], worst[1], np.logical_or.reduce(both, axis=0))


def backlogged(log: Watched, streams: UInt32[np.ndarray, " row"]) -> tuple[Any, Any]:
    """Return whether streams are backlogged at each brick after each event, and for how long before it they were not.

    Parameters
    ----------
    log : Watched
        The log of the runs.
    streams : array of uint32, shape [row]
        Masks of the streams that must all be backlogged.

    Returns
    -------
    tuple of array, shape [event, row, brick, run]
        First, whether all streams of the row are backlogged at the brick after the event. Second, the time since the
        previous event during which this was not true, seconds.
    """
    bits = streams[:, None, None]
    waited, waits = ((mask[:, None] & bits) == bits for mask in (log.waited, log.waits))
    return lasting(waited, waits, log.entered[:, None, None], log.elapsed[:, None, None])


def sides(of: Settings, run: ObservedRequests) -> tuple[Side, Side]:
    """Return the parameters of the first and of the second stream of each pair at each brick, `[pair, brick, run]`.

    Parameters
    ----------
    of : Settings
        The settings of the runs.
    run : ObservedRequests
        The measured parameters.
    """
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


def one_server(of: Settings, run: ObservedRequests, unfair: Unfair) -> Float[np.ndarray, " run"]:
    """Return, for each run, the largest unfairness of the service by one brick, divided by the bound of theorem 1.

    The largest ratio is over all pairs of streams and all bricks.

    Parameters
    ----------
    of : Settings
        The settings of the runs.
    run : ObservedRequests
        The measured parameters.
    unfair : Unfair
        The measured unfairness.
    """
    return share(unfair.here, bound_one_server(*sides(of, run), of.depth)).max(axis=(0, 1))


def total_bound(
    of: Settings, run: ObservedRequests, interpretation: Interpretation
) -> Float[np.ndarray, "pair brick run"]:
    """Return the bound of theorems 2 and 4 for each pair, brick and run.

    Parameters
    ----------
    of : Settings
        The settings of the runs.
    run : ObservedRequests
        The measured parameters. D_SFQ of the bound is the largest number of requests of one stream of the pair that
        waited at a brick at one time.
    interpretation : Interpretation
        The function `printed` for the bound of the paper, or `repaired` for our correction.
    """
    most = run.waiting.max(axis=1)[PAIRS].max(axis=1)[:, None]
    return bound_total(*sides(of, run), of.depth, most, interpretation)


def total_service(
    of: Settings, run: ObservedRequests, unfair: Unfair, interpretation: Interpretation
) -> Float[np.ndarray, " run"]:
    """Return, for each run, the largest unfairness of the total service, divided by the bound of theorems 2 and 4.

    The largest ratio is over all pairs of streams and all bricks.

    Parameters
    ----------
    of : Settings
        The settings of the runs.
    run : ObservedRequests
        The measured parameters.
    unfair : Unfair
        The measured unfairness.
    interpretation : Interpretation
        The function `printed` for the bound of the paper, or `repaired` for our correction.
    """
    return share(unfair.everywhere, total_bound(of, run, interpretation)).max(axis=(0, 1))


def share(worst: np.ndarray, bound: np.ndarray) -> np.ndarray:
    """Return the worst unfairness divided by a bound; 0 where the unfairness is 0.

    Parameters
    ----------
    worst, bound : array
        The unfairness, and the bound in the same unit.
    """
    return np.where(worst > 0, worst / np.where(worst > 0, bound, 1), 0)
