"""What a stand-in known by its seeks is: the published figures it matches, and what it assumes beside them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property

from storagekit.core.checks import require, require_not_negative, require_positive, require_share
from storagekit.core.errors import InputError
from storagekit.core.kinds import Kind, hold, text
from storagekit.core.units import HOUR, KB, SECTOR
from storagekit.workload.synthetic.seeking.hot_places import hot_share

__all__ = ["SeekingTraceModel"]

STRIPE_UNIT = 64 * KB
"""Bytes; (srarray, 3.1) stripes by it, so no request of a stand-in crosses a multiple of it."""
# numbers at all, before what is said of each; more requests fit no memory
NUMERIC, WHOLE = Kind(endless=True), Kind(most=2**60, whole=True)
MOST_REQUESTS, MOST_COV, SHORTEST_FLUSH = 10**9, 1e6, 1e-3
SECONDS = Kind(most=1e9, unit="s", endless=True)
STRETCH = 600.0
"""s, about: within so long a time a stand-in is equally busy."""


@dataclass(frozen=True)
class SeekingTraceModel:
    """A model of a trace that is not public, known by its seeks. Its first fields are published and matched; the others
    are assumptions.

    Published (srarray, Table 3):

    name: of the one device. data: bytes that requests spread over. requests: in all. duration: s.
    read_share: reads / requests. asynchronous_share: asynchronous writes / requests.
    locality: L, mean distance of two random places / mean seek distance (`trace.locality.seek_locality`).
    read_after_write: reads of what was written less than an hour before / requests.

    Assumed, because nothing is published, from the HP Labs workstation trace of May 1992, the month and the site of Cello's
    week, where not said otherwise:

    interarrival_cov: standard deviation / mean of the gaps between synchronous requests within ten minutes, 1 if Poisson.
    The gaps are hyperexponential with two phases, so it is at least 1.
    burst_gap: s, mean gap of the shorter phase, that is, between the requests of a burst; of no effect if Poisson.
    dispersion: variance / mean of the requests in ten minutes that comes of busy and idle times at that and longer scales;
    0 if every ten minutes see as many.
    request_size: bytes of every request, a power of two from 512 to 64 KB; addresses are multiples of it.
    read_stretch, write_stretch: the places that stay hot, one stretch for reads and within it one for writes, in the
    middle of the data, as shares of it. The mean of the workstation's seeks that are shorter than a tenth of its disk is
    1.4%, a third of a stretch of 4.2%; 0.5% hold 0.78 of its writes, all 0.97. One stretch does not have the re-reads of
    all scales: an LRU cache of 0.5, 1, 2 and 4% of the data answers 0.16, 0.28, 0.51 and 0.79 of the reads of a week of
    Cello base, on the workstation's disk 0.21, 0.23, 0.30 and 0.50. Its locality comes of order too (L is 2.3, of the same
    requests in random order 1.2), and so does that of four disks of the HP Labs server of 2003 (4.4 to 19, 1.2 to 8.7):
    here it is of places alone. Striped over six disks the five keep 0.63 to 1.22 of theirs, which a stand-in whose requests
    moved a short way from the last lost (4.1 became 1.5).
    flush_period: s between the bursts in which asynchronous writes come. (srarray, 4.1) says that most come from the sync
    daemon every 30 s; here all do.
    flush_gap: s, mean gap between the writes of one such burst; 0.4 ms is the median gap of asynchronous requests.

    Reads ask for blocks of their own, the neighbours of those that are written, but for those that read what was lately
    written: so the table's share of these comes out, of which hot places that are both read and written leave too many.

    Raises InputError where a value is out of its range or two contradict one another.
    """

    name: str
    data: int
    requests: int
    duration: float
    read_share: float
    asynchronous_share: float
    locality: float
    read_after_write: float
    interarrival_cov: float = 1.0
    burst_gap: float = 0.0
    request_size: int = 8 * KB
    dispersion: float = 0.0
    read_stretch: float = 0.042
    write_stretch: float = 0.005
    flush_period: float = field(default=30.0, kw_only=True)
    flush_gap: float = field(default=0.4e-3, kw_only=True)

    def __post_init__(self):
        _check_sizes(self)
        _check_targets(self)
        _check_timing(self)

    @property
    def rate(self) -> float:
        """Requests a second."""
        return self.requests / self.duration

    @property
    def blocks(self) -> int:
        """Equal parts of at most an hour, a power of two, each generated on its own."""
        return 2 ** math.ceil(math.log2(max(1.0, self.duration / HOUR)))

    @property
    def halvings(self) -> int:
        """How often time is halved down to the stretches that differ in how busy they are: about ten minutes."""
        return max(self.blocks.bit_length() - 1, round(math.log2(max(1.0, self.duration / STRETCH))))

    @property
    def busier(self) -> float:
        """The share of two halves' requests that comes in one of them; with n halvings it gives the dispersion's variance,
        (2 b^2 + 2 (1 - b)^2)^n - 1 of the squared mean."""
        mean = self.requests / 2**self.halvings
        return 0.5 + math.sqrt((1 + self.dispersion / mean) ** (1 / max(1, self.halvings)) - 1) / 2

    @property
    def reread(self) -> float:
        """The share of reads that ask for what was lately written."""
        return self.read_after_write / self.read_share if self.read_share else 0.0

    @cached_property
    def hot(self) -> float:
        """The share of requests that go to the places that stay hot, which gives the locality (see `hot_share`)."""
        found = self._hot_share()
        assert found is not None
        return found

    def _hot_share(self) -> float | None:
        own = self.read_share - self.read_after_write
        return hot_share(self.locality, own, self.read_stretch, self.write_stretch)

    @property
    def places(self) -> int:
        """Addresses a request can have."""
        return self.data // self.request_size

    def targets(self) -> dict[str, float]:
        """The published figures in the names and units of `trace.TraceCharacteristics`."""
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
    hold(model, name=text, data=WHOLE, requests=WHOLE.up_to(MOST_REQUESTS), request_size=WHOLE)
    hold(model, duration=SECONDS)
    size = model.request_size
    of_two = SECTOR <= size <= STRIPE_UNIT and size & (size - 1) == 0
    require(of_two, "request size", size, f"a power of two from {SECTOR} to {STRIPE_UNIT} B", "B")
    require(2 * size <= model.data <= 2**60, "data of", model.data, f"from two requests of {size} B to 2**60 B", "B")
    if model.requests < 2:
        raise InputError(f"{model.requests} requests: a stand-in needs at least 2")
    require_positive("duration", model.duration, "s")
    if model.requests < model.duration / HOUR:
        raise InputError(f"{model.requests} requests in {model.duration:g} s: there must be at least one an hour")


def _check_targets(model: SeekingTraceModel) -> None:
    hold(model, locality=NUMERIC, read_stretch=NUMERIC, write_stretch=NUMERIC)
    for name in ("read_share", "asynchronous_share", "read_after_write"):
        require_share(name.replace("_", " "), getattr(model, name))
    if model.read_share + model.asynchronous_share > 1:
        raise InputError(
            f"read share {model.read_share:g} and asynchronous writes {model.asynchronous_share:g}: together above 1; "
            "both are shares of all requests"
        )
    if model.read_after_write > model.read_share:
        raise InputError(
            f"read after write {model.read_after_write:g}: above the read share {model.read_share:g}; "
            "both are shares of all requests"
        )
    require(1 <= model.locality < math.inf, "locality", model.locality, "at least 1 (random) and finite")
    for name in ("read_stretch", "write_stretch"):
        value = getattr(model, name)
        require(0 < value <= 1, name.replace("_", " "), value, "above 0 and at most 1", "of the data")
    if model._hot_share() is None:
        raise InputError(
            f"locality {model.locality:g}: requests for the hot places alone are further apart; shorten the read stretch "
            f"({model.read_stretch:g} of the data) or the write stretch ({model.write_stretch:g})"
        )


def _check_timing(model: SeekingTraceModel) -> None:
    hold(model, interarrival_cov=NUMERIC, burst_gap=NUMERIC, dispersion=NUMERIC, flush_gap=SECONDS)
    cov = model.interarrival_cov
    require(1 <= cov <= MOST_COV, "interarrival CoV", cov, f"at least 1 (Poisson) and at most {MOST_COV:g}")
    waited_for = model.requests * (1 - model.asynchronous_share)
    mean = model.duration / waited_for if waited_for > 0 else math.inf
    below = f"from 0 to below the mean gap, {mean:g} s"
    require(0 <= model.burst_gap < mean, "burst gap", model.burst_gap, below, "s")
    most = (2**model.halvings - 1) * model.requests / 2**model.halvings
    require(0 <= model.dispersion <= most, "dispersion", model.dispersion, f"from 0 to {most:g}")
    require_positive("flush period", model.flush_period, "s")
    require(
        model.flush_period >= SHORTEST_FLUSH, "flush period", model.flush_period, f"at least {SHORTEST_FLUSH} s", "s"
    )
    require_not_negative("flush gap", model.flush_gap, "s")
