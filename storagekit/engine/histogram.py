"""Histogram of response times with 64 bins for every factor of two. The bits of a float32 determine the bin.

The loop stores the bin of each completion: two bytes for each event and run. The bins are counted after the run,
because only then the measured part of the run is known. Two values in the same bin differ by at most 1/64.
"""

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, UInt16

from storagekit.core.validation import Validator
from storagekit.engine.event import Report
from storagekit.engine.record import AbstractLog, completed
from storagekit.engine.state import State
from storagekit.engine.system import Scenario

# number of bits of the mantissa that determine the bin, and number of the lower bits
_KEPT, _BELOW = 6, 17
# range of the bins as powers of two, seconds: from a microsecond to a day and a half
_SHORTEST, _LONGEST = -20, 17
_FIRST = (127 + _SHORTEST) << _KEPT
# number of bins, including one for all smaller values and one for all larger values
BINS = ((_LONGEST - _SHORTEST) << _KEPT) + 2
# code of an event without a synchronous completion; the bins of reads follow, then the bins of writes
NOTHING = 0
# largest number of streams whose bins are separate. The codes of all streams, and of one more, are numbers of 16 bits.
MOST_STREAMS = (2**16 - 1) // (2 * BINS) - 1
# number of codes that are counted in one step, small enough for the cache of a core
_BLOCK = 2**19


class ResponseBins(AbstractLog):
    """Log of the bin of each response time. Reads and writes have separate bins, and asynchronous requests have none.

    Parameters
    ----------
    streams : int
        Number of streams that have separate bins; 0 by default. Requests of other streams have common bins.

    Raises
    ------
    InputError
        If there are too many streams.
    """

    streams: int = eqx.field(
        static=True, default=0, converter=partial(Validator(least=0, most=MOST_STREAMS, whole=True), "streams")
    )

    def keep(self, scenario: Scenario, state: State, report: Report) -> UInt16[Array, "1 *batch"]:
        of = report.completed
        group = None
        if self.streams and of.stream is not None:
            # all other streams have one group of bins
            group = jnp.where((of.stream >= 0) & (of.stream < self.streams), of.stream, self.streams)
        return code(of.response, of.read, completed(report) & ~of.asynchronous, group)


def code(
    response: Float[Array, "*row"],
    read: Bool[Array, "*row"],
    counts: Bool[Array, "*row"],
    stream: Int[Array, "*row"] | None = None,
) -> UInt16[Array, "*row"]:
    """Return the histogram codes of response times.

    Parameters
    ----------
    response : array of float32, shape `[*row]`
        Response times, seconds.
    read : array of bool, shape `[*row]`
        Whether each request is a read.
    counts : array of bool, shape `[*row]`
        Whether each response time is counted.
    stream : array of int, shape `[*row]`, optional
        Number of the stream of each request, 0 to `MOST_STREAMS`; by default 0.

    Returns
    -------
    array of uint16, shape `[*row]`
        The bin of a read plus 1, or the bin of a write plus 1 + BINS; for stream n, 2 n BINS more. 0 for a response time that
        is not counted.
    """
    bits = jax.lax.bitcast_convert_type(response.astype(jnp.float32), jnp.int32)
    bin_number = jnp.clip(jax.lax.shift_right_arithmetic(bits, jnp.int32(_BELOW)) - (_FIRST - 1), 0, BINS - 1)
    first = jnp.where(read, 1, 1 + BINS) + (0 if stream is None else 2 * BINS * stream)
    return jnp.where(counts, bin_number + first, NOTHING).astype(jnp.uint16)


def edges() -> Float[np.ndarray, "2 bin"]:
    """Return the smallest and the largest value of each bin, in seconds.

    Both are 0 for the bin of times below a microsecond, and inf for the bin of times above 36 hours.
    """
    octave, step = np.divmod(np.arange(BINS - 1), 1 << _KEPT)
    inside = np.exp2(octave + float(_SHORTEST)) * (1 + step / (1 << _KEPT))
    return np.stack([np.concatenate([[0.0], each, [np.inf]]) for each in (inside[:-1], inside[1:])])


def binned(
    codes: UInt16[np.ndarray, "chunk event batch"], kept: Bool[np.ndarray, "chunk batch"], streams: int = 0
) -> Int[np.ndarray, "stream 2 batch bin"]:
    """Count the reads and the writes of each run in each bin.

    Parameters
    ----------
    codes : array of uint16, shape `[chunk, event, batch]`
        Codes of the completions, see `code`.
    kept : array of bool, shape `[chunk, batch]`
        Mask of the chunks that are counted.
    streams : int
        Number of streams that have separate bins, see `ResponseBins`; 0 by default.

    Returns
    -------
    array of int64, shape `[streams + 1, 2, batch, bin]`
        Number of reads (index 0) and of writes (index 1) of each run in each bin, for each stream, and for the requests of
        other streams.
    """
    runs, each_run = codes.shape[2], 1 + 2 * BINS * (streams + 1)
    first = np.arange(runs) * each_run
    counts = np.zeros(runs * each_run, np.int64)
    # a block has at least as many events as there are counts, which each block adds
    each = max(1, max(_BLOCK, counts.size) // codes[0].size)
    for start in range(0, len(codes), each):
        some = slice(start, start + each)
        counts += np.bincount((codes[some] * kept[some, None] + first).ravel(), minlength=len(counts))
    return np.moveaxis(counts.reshape(runs, each_run)[:, 1:].reshape(runs, streams + 1, 2, BINS), 0, 2)


def quantiles(
    counts: Int[np.ndarray, "batch bin"], shares: Float[np.ndarray, "quantile *#batch"]
) -> Float[np.ndarray, "quantile batch"]:
    """Return quantiles of binned response times.

    The requests of a bin count as evenly distributed over the bin. Between two requests the quantile is interpolated as
    by `numpy.quantile`.

    Parameters
    ----------
    counts : array of int, shape `[batch, bin]`
        Number of requests in each bin.
    shares : array of float, shape `[quantile]` or `[quantile, batch]`
        Shares of the requests, from 0 to 1.

    Returns
    -------
    array of float, shape `[quantile, batch]`
        Response time below which each share of the requests lies, seconds; NaN for a run without requests.

    Notes
    -----
    If each request counted as the middle of its bin, the quantiles of all runs would be multiples of the width of a
    bin. The error would be the same in all runs, so that the differences between the runs would not show it.
    """
    cumulated = np.cumsum(counts, axis=-1)
    found = []
    for share in shares:
        rank = share * (cumulated[..., -1] - 1)
        low, high = (_time_of(counts, cumulated, one) for one in (np.floor(rank), np.ceil(rank)))
        gap = np.subtract(high, low, out=np.zeros_like(low), where=high > low)
        between = low + gap * (rank - np.floor(rank))
        found.append(np.where(cumulated[..., -1] > 0, between, np.nan))
    return np.stack(found)


def _time_of(
    counts: Int[np.ndarray, "batch bin"], cumulated: Int[np.ndarray, "batch bin"], rank: Float[np.ndarray, "batch"]
) -> Float[np.ndarray, "batch"]:
    """Return the response time of the request with the given rank in each run, seconds. Ranks begin at 0."""
    at = np.minimum((cumulated <= rank[..., None]).sum(axis=-1), BINS - 1)
    inside, until = (np.take_along_axis(of, at[..., None], axis=-1)[..., 0] for of in (counts, cumulated))
    low, high = (edge[at] for edge in edges())
    width = np.subtract(high, low, out=np.zeros_like(low), where=np.isfinite(high))
    return low + width * (rank - (until - inside) + 0.5) / np.maximum(inside, 1)


def counts_until(
    counts: Int[np.ndarray, "batch bin"], times: Float[np.ndarray, "quantile batch"]
) -> Float[np.ndarray, "quantile batch"]:
    """Return the number of binned response times that are at most a given time.

    The requests of a bin count as evenly distributed over the bin.

    Parameters
    ----------
    counts : array of int, shape `[batch, bin]`
        Number of requests in each bin.
    times : array of float, shape `[quantile, batch]`
        Times, seconds.

    Returns
    -------
    array of float, shape `[quantile, batch]`
        Number of requests, with a fraction for a part of a bin.
    """
    ends, cumulated = edges()[1, :-1], np.cumsum(counts, axis=-1)
    found = [np.interp(some, ends, of[:-1]) for some, of in zip(times.T, cumulated, strict=True)]
    return np.stack(found, axis=-1)
