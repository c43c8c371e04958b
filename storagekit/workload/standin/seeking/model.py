"""What a stand-in known by its seeks is: the published figures it matches, and what it assumes beside them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

from storagekit.checks import require, require_not_negative, require_positive, require_share
from storagekit.errors import InputError
from storagekit.units import HOUR, KB, SECTOR
from storagekit.workload.standin.seeking.mixture import Mixture

__all__ = ["SeekingStandIn"]

STRIPE_UNIT = 64 * KB
"""Bytes; (srarray, 3.1) stripes by it, so no request of a stand-in crosses a multiple of it."""


@dataclass(frozen=True)
class SeekingStandIn:
    """A model of a trace that is not public, known by its seeks. Its first fields are published and matched; the others
    are assumptions.

    Published (srarray, Table 3):

    name: of the one device. data: bytes that requests spread over. requests: in all. duration: s.
    read_share: reads / requests. asynchronous_share: asynchronous writes / requests.
    locality: L, mean distance of two random places / mean seek distance (`trace.locality.seek_locality`).
    read_after_write: reads of what was written less than an hour before / requests.

    Assumed, because nothing is published:

    interarrival_cov: standard deviation / mean of the gaps between synchronous requests, 1 if Poisson. The gaps are
    hyperexponential with two phases, so it is at least 1.
    burst_gap: s, mean gap of the shorter phase, that is, between the requests of a burst; of no effect if Poisson.
    request_size: bytes of every request, a power of two from 512 to 64 KB; addresses are multiples of it.
    near_distance: mean length of a short move / data, two-sided exponential; 0.6% is that of the seeks shorter than a
    tenth of the device in the HP Labs server trace of 2003 (1.4% in the workstation trace of 1992).
    flush_period: s between the bursts in which asynchronous writes come. (srarray, 4.1) says that most come from the sync
    daemon every 30 s; here all do.
    flush_gap: s, mean gap between the writes of one such burst; 0.4 ms is the median gap of asynchronous requests in the
    HP Labs workstation trace of May 1992, the month and the site of Cello's week.

    And solved from all of these, where it has been: mixture, set by `carrying`. A copy altered by `dataclasses.replace`
    is without: what gave the figures of the one would not give those of the other.

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
    near_distance: float = 0.006
    flush_period: float = field(default=30.0, kw_only=True)
    flush_gap: float = field(default=0.4e-3, kw_only=True)
    mixture: Mixture | None = field(default=None, init=False)

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
        """Equal stretches of at most an hour, each generated on its own; the last ends with the trace."""
        return math.ceil(self.duration / HOUR)

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

    def carrying(self, mixture: Mixture) -> SeekingStandIn:
        """The same model with the mixture that gives its figures, so that none has to be found."""
        model = replace(self)
        object.__setattr__(model, "mixture", mixture)
        return model


def _check_sizes(model: SeekingStandIn) -> None:
    size = model.request_size
    of_two = SECTOR <= size <= STRIPE_UNIT and size & (size - 1) == 0
    require(of_two, "request size", size, f"a power of two from {SECTOR} to {STRIPE_UNIT} B", "B")
    require(2 * size <= model.data <= 2**60, "data of", model.data, f"from two requests of {size} B to 2**60 B", "B")
    if model.requests < 2:
        raise InputError(f"{model.requests} requests: a stand-in needs at least 2")
    require_positive("duration", model.duration, "s")
    if model.requests < model.blocks:
        raise InputError(f"{model.requests} requests in {model.duration:g} s: there must be at least one an hour")


def _check_targets(model: SeekingStandIn) -> None:
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
    near, random = model.near_distance, "above 0 and below the random 1/3"
    require(1 <= model.locality < math.inf, "locality", model.locality, "at least 1 (random) and finite")
    require(0 < near < 1 / 3, "near distance", near, random, "of the data")


def _check_timing(model: SeekingStandIn) -> None:
    cov = model.interarrival_cov
    require(1 <= cov < math.inf, "interarrival CoV", cov, "at least 1 (Poisson) and finite")
    waited_for = model.requests * (1 - model.asynchronous_share)
    mean = model.duration / waited_for if waited_for > 0 else math.inf
    below = f"from 0 to below the mean gap, {mean:g} s"
    require(0 <= model.burst_gap < mean, "burst gap", model.burst_gap, below, "s")
    require_positive("flush period", model.flush_period, "s")
    require_not_negative("flush gap", model.flush_gap, "s")
