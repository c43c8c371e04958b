"""Model of a synthetic trace whose seeks are published: its targets and its assumptions."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated

from storagekit.core.errors import InputError
from storagekit.core.units import HOUR, KB, SECTOR
from storagekit.core.validation import SHARE, SPAN, TIME, Validator, require, validate_fields
from storagekit.workload.synthetic.seeking.hot_locations import hot_share

__all__ = ["SeekingTraceModel"]

STRIPE_UNIT = 64 * KB
"""Stripe unit of (srarray, 3.1), bytes. No request of a synthetic trace crosses a multiple of this size."""
# These validators check only the type, and the functions below check the range. More requests than MOST_REQUESTS do not
# fit in memory.
NUMERIC, WHOLE = Validator(endless=True), Validator(most=2**60, whole=True)
MOST_REQUESTS, MOST_COV, SHORTEST_FLUSH = 10**9, 1e6, 1e-3
SECONDS = Validator(most=1e9, unit="s", endless=True)
_Number, _Whole = Annotated[float, NUMERIC], Annotated[int, WHOLE]
INTERVAL = 600.0
"""Approximate length of the intervals with constant load, s."""


@dataclass(frozen=True)
class SeekingTraceModel:
    """Model of a trace that is not public, but whose seeks are published.

    The parameters from `name` to `read_after_write` are published, and a generated trace matches them. The other
    parameters are assumptions.

    Parameters
    ----------
    name : str
        Name of the trace, and of its only device.
    data : int
        Size of the data set over which requests spread, bytes.
    requests : int
        Number of requests, at least 2.
    duration : float
        Length of the trace, s.
    read_share : float
        Number of reads / number of requests.
    asynchronous_share : float
        Number of asynchronous writes / number of requests.
    locality : float
        L, at least 1: mean distance of two random locations / mean seek distance (`trace.locality.seek_locality`).
    read_after_write : float
        Number of reads of data that was written less than an hour before / number of requests.
    interarrival_cov : float
        Standard deviation / mean of the gaps between synchronous requests within ten minutes; 1, the default, for a
        Poisson stream. The gaps are hyperexponential with two phases, so the ratio is at least 1.
    burst_gap : float
        Mean gap of the shorter phase, s; by default 0. This is the gap between the requests of a burst. It has no
        effect in a Poisson stream.
    request_size : int
        Size of every request, bytes, a power of two from 512 to 64 KB; by default 8 KB. Addresses are multiples of this
        size.
    dispersion : float
        Variance / mean of the number of requests in ten minutes, caused by busy and idle times of ten minutes and more.
        With 0, the default, every interval of ten minutes has the same number.
    read_region, write_region : float
        Lengths of the two hot regions, for reads and for writes, as shares of the data; by default 0.042 and 0.005.
        Both lie in the middle of the data, the shorter one within the longer one.
    flush_period : float
        Time between the bursts of asynchronous writes, s; by default 30.
    flush_gap : float
        Mean gap between the writes of one burst, s; by default 0.4 ms.

    Raises
    ------
    InputError
        If a value is out of its range, or two values contradict each other.

    Notes
    -----
    No values are published for the assumptions. Unless stated otherwise, the default values come from the HP Labs
    workstation trace of May 1992. This trace is from the same month and site as the week of Cello.

    The regions: the workstation's seeks that are shorter than a tenth of its disk have a mean length of 1.4% of the
    disk. This length is a third of a region of 4.2%. A region of 0.5% contains 0.78 of the workstation's writes, and
    the whole region of 4.2% contains 0.97.

    One region does not reproduce re-reads at all scales. In a week of Cello base, LRU caches of 0.5, 1, 2 and 4% of
    the data serve shares of 0.16, 0.28, 0.51 and 0.79 of the reads, respectively. On the workstation's disk, the same
    caches serve shares of 0.21, 0.23, 0.30 and 0.50.

    The workstation's locality also depends on the order of its requests: L is 2.3, but 1.2 for the same requests in
    random order. The same is true of four disks of the HP Labs server of 2003: L is 4.4 to 19, but 1.2 to 8.7 in random
    order. In this model, locality depends only on locations. When the traces of these five disks are striped over six
    disks, the new locality is 0.63 to 1.22 times the old locality. A synthetic trace in which each request was near the
    previous one lost its locality: L fell from 4.1 to 1.5.

    The flushes: (srarray, 4.1) states that most asynchronous writes come from the sync daemon every 30 s. In this
    model, all asynchronous writes come in such flushes. The gap of 0.4 ms is the median gap of asynchronous requests.

    Reads and writes use different blocks, which are neighbours. Only re-reads access blocks that were recently written.
    The share of re-reads therefore matches the table. If hot blocks were both read and written, this share would be too
    large.
    """

    name: str
    data: _Whole
    requests: Annotated[int, WHOLE.up_to(MOST_REQUESTS)]
    duration: Annotated[float, SECONDS]
    read_share: float
    asynchronous_share: float
    locality: _Number
    read_after_write: float
    interarrival_cov: _Number = 1.0
    burst_gap: _Number = 0.0
    request_size: _Whole = 8 * KB
    dispersion: _Number = 0.0
    read_region: _Number = 0.042
    write_region: _Number = 0.005
    flush_period: float = field(default=30.0, kw_only=True)
    flush_gap: Annotated[float, SECONDS] = field(default=0.4e-3, kw_only=True)

    def __post_init__(self):
        validate_fields(self)
        _check_sizes(self)
        _check_targets(self)
        _check_timing(self)

    @property
    def rate(self) -> float:
        """Return the number of requests per second."""
        return self.requests / self.duration

    @property
    def blocks(self) -> int:
        """Return the number of blocks, a power of two.

        Blocks are equal parts of the trace of at most an hour. Each block is drawn separately.
        """
        return 2 ** math.ceil(math.log2(max(1.0, self.duration / HOUR)))

    @property
    def halvings(self) -> int:
        """Return the number of halvings that divide the trace into intervals of about ten minutes.

        The loads of the intervals differ.
        """
        return max(self.blocks.bit_length() - 1, round(math.log2(max(1.0, self.duration / INTERVAL))))

    @property
    def busier(self) -> float:
        """Return the share b of the requests of two halves that arrive in the busier half.

        With n halvings, the variance of the number of requests in an interval is (2 b^2 + 2 (1 - b)^2)^n - 1 times the
        squared mean. The share b gives the variance that `dispersion` requires.
        """
        mean = self.requests / 2**self.halvings
        return 0.5 + math.sqrt((1 + self.dispersion / mean) ** (1 / max(1, self.halvings)) - 1) / 2

    @property
    def reread(self) -> float:
        """Return the share of reads that access recently written data."""
        return self.read_after_write / self.read_share if self.read_share else 0.0

    @cached_property
    def hot(self) -> float:
        """Return the share of requests to the hot regions that gives the published locality (see `hot_share`)."""
        found = self._hot_share()
        assert found is not None
        return found

    def _hot_share(self) -> float | None:
        own = self.read_share - self.read_after_write
        return hot_share(self.locality, own, self.read_region, self.write_region)

    @property
    def locations(self) -> int:
        """Return the number of addresses that a request can have."""
        return self.data // self.request_size

    def targets(self) -> dict[str, float]:
        """Return the published values, with the names and units of `trace.TraceCharacteristics`."""
        return {
            "requests": self.requests,
            "duration": self.duration,
            "rate": self.rate,
            "data_size": self.data,
            "read_share": self.read_share,
            "asynchronous_write_share": self.asynchronous_share,
            "seek_locality": self.locality,
            "read_after_write_share": self.read_after_write,
        }


def _check_sizes(model: SeekingTraceModel) -> None:
    size = model.request_size
    of_two = SECTOR <= size <= STRIPE_UNIT and size & (size - 1) == 0
    require(of_two, "request size", size, f"a power of two from {SECTOR} to {STRIPE_UNIT} B", "B")
    require(
        2 * size <= model.data <= 2**60, "size of the data", model.data, f"from 2 requests of {size} B to 2**60 B", "B"
    )
    if model.requests < 2:
        raise InputError(f"{model.requests} requests: a synthetic trace needs at least 2")
    TIME("duration", model.duration)
    if model.requests < model.duration / HOUR:
        raise InputError(f"{model.requests} requests in {model.duration:g} s: give at least one request per hour")


def _check_targets(model: SeekingTraceModel) -> None:
    for name in ("read_share", "asynchronous_share", "read_after_write"):
        SHARE(name.replace("_", " "), getattr(model, name))
    if model.read_share + model.asynchronous_share > 1:
        raise InputError(
            f"read share {model.read_share:g} and asynchronous writes {model.asynchronous_share:g}: the sum exceeds "
            "1; both are fractions of all requests"
        )
    if model.read_after_write > model.read_share:
        raise InputError(
            f"read after write {model.read_after_write:g}: it exceeds the read share {model.read_share:g}; both are "
            "fractions of all requests"
        )
    require(1 <= model.locality < math.inf, "locality", model.locality, "at least 1 (random) and finite")
    for name in ("read_region", "write_region"):
        value = getattr(model, name)
        require(0 < value <= 1, name.replace("_", " "), value, "above 0 and at most 1", "of the data")
    if model._hot_share() is None:
        raise InputError(
            f"locality {model.locality:g}: not reached even if all requests access the hot regions; shorten the read "
            f"region ({model.read_region:g} of the data) or the write region ({model.write_region:g})"
        )


def _check_timing(model: SeekingTraceModel) -> None:
    cov = model.interarrival_cov
    require(1 <= cov <= MOST_COV, "interarrival CoV", cov, f"at least 1 (Poisson) and at most {MOST_COV:g}")
    waited_for = model.requests * (1 - model.asynchronous_share)
    mean = model.duration / waited_for if waited_for > 0 else math.inf
    below = f"from 0 to below the mean gap, {mean:g} s"
    require(0 <= model.burst_gap < mean, "burst gap", model.burst_gap, below, "s")
    most = (2**model.halvings - 1) * model.requests / 2**model.halvings
    require(0 <= model.dispersion <= most, "dispersion", model.dispersion, f"from 0 to {most:g}")
    TIME("flush period", model.flush_period)
    require(
        model.flush_period >= SHORTEST_FLUSH, "flush period", model.flush_period, f"at least {SHORTEST_FLUSH} s", "s"
    )
    SPAN("flush gap", model.flush_gap)
