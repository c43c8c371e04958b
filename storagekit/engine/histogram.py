"""How long requests take, counted in bins that widen as they rise: 32 to every factor of two, read off the bits of a number.

The loop notes the bin of each answer, two bytes an event and lane; what is counted is counted after the run, when it is known
which part of it is measured. Bins differ from all that lies in them by at most 1/64 of it.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, UInt16

from storagekit.engine.event import Report
from storagekit.engine.record import AbstractLog, answered
from storagekit.engine.state import State
from storagekit.engine.system import Scenario

# bits of the mantissa that bins tell apart, and those below
_KEPT, _BELOW = 5, 18
# powers of two, seconds: from a microsecond to a day and a half
_SHORTEST, _LONGEST = -20, 17
_FIRST = (127 + _SHORTEST) << _KEPT
# one below all others, and one above
BINS = ((_LONGEST - _SHORTEST) << _KEPT) + 2
# of a code: nobody waited for an answer; then the bins of reads, and those of writes
NOTHING = 0
CODES = 1 + 2 * BINS
# numbers counted at a time, so that they stay in a core's memory
_BLOCK = 2**19


class ResponseBins(AbstractLog):
    """Which bin the response time of each answer lies in, reads and writes apart; asynchronous writes are left out."""

    def keep(self, scenario: Scenario, state: State, report: Report) -> UInt16[Array, "1 *batch"]:
        of = report.answered
        return code(of.response, of.read, answered(report) & ~of.asynchronous)


def code(
    response: Float[Array, "*row"], read: Bool[Array, "*row"], counts: Bool[Array, "*row"]
) -> UInt16[Array, "*row"]:
    """The bins of response times in seconds, of those that count."""
    bits = jax.lax.bitcast_convert_type(response.astype(jnp.float32), jnp.int32)
    place = jnp.clip(jax.lax.shift_right_arithmetic(bits, jnp.int32(_BELOW)) - (_FIRST - 1), 0, BINS - 1)
    return jnp.where(counts, place + jnp.where(read, 1, 1 + BINS), NOTHING).astype(jnp.uint16)


def middles() -> Float[np.ndarray, "bin"]:
    """What a bin stands for, seconds: its middle; 0 for less than a microsecond, inf for more than 36 hours."""
    octave, step = np.divmod(np.arange(BINS - 2), 1 << _KEPT)
    inside = np.exp2(octave + float(_SHORTEST)) * (1 + (step + 0.5) / (1 << _KEPT))
    return np.concatenate([[0.0], inside, [np.inf]])


def binned(
    codes: UInt16[np.ndarray, "chunk event lane"], kept: Bool[np.ndarray, "chunk lane"]
) -> Int[np.ndarray, "2 lane bin"]:
    """How many reads and how many writes lie in each bin, of those chunks of each lane that are `kept`."""
    lanes = codes.shape[2]
    first = np.arange(lanes) * CODES
    counts = np.zeros(lanes * CODES, np.int64)
    each = max(1, _BLOCK // codes[0].size)
    for start in range(0, len(codes), each):
        some = slice(start, start + each)
        counts += np.bincount((codes[some] * kept[some, None] + first).ravel(), minlength=len(counts))
    return counts.reshape(lanes, CODES)[:, 1:].reshape(lanes, 2, BINS).swapaxes(0, 1)


def quantiles(
    counts: Int[np.ndarray, "lane bin"], shares: Float[np.ndarray, "quantile"]
) -> Float[np.ndarray, "quantile lane"]:
    """The response times below which those shares lie, seconds; NaN where nothing is counted.

    Between two requests as `numpy.quantile` goes between them, each at the middle of its bin.
    """
    cumulated, at = np.cumsum(counts, axis=-1), middles()
    found = []
    for share in shares:
        rank = share * (cumulated[..., -1] - 1)
        low, high = (at[_bin_of(cumulated, one)] for one in (np.floor(rank), np.ceil(rank)))
        gap = np.subtract(high, low, out=np.zeros_like(low), where=high > low)
        between = low + gap * (rank - np.floor(rank))
        found.append(np.where(cumulated[..., -1] > 0, between, np.nan))
    return np.stack(found)


def _bin_of(cumulated: Int[np.ndarray, "lane bin"], rank: Float[np.ndarray, "lane"]) -> Int[np.ndarray, "lane"]:
    """Where the request of that rank, from 0, lies."""
    return np.minimum((cumulated <= rank[..., None]).sum(axis=-1), BINS - 1)
