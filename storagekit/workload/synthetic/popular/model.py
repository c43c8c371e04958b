"""Model of a synthetic trace whose cache hit rate is published: its targets and its assumptions."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Annotated

import numpy as np

from storagekit.core.errors import InputError
from storagekit.core.units import GB, KB
from storagekit.core.validation import AMOUNT, MOST_COUNTED, POSITIVE, TIME, Validator, require, validate_fields
from storagekit.workload.synthetic.popular.popularity import Popularity, expected_hit_rate, fitted

# These validators check only the type, and the functions below check the range. More requests than MOST_REQUESTS do not
# fit in memory.
NUMERIC, WHOLE = Validator(endless=True), Validator(most=2**60, whole=True)
MOST_REQUESTS, MOST_SCALE = 10**9, 1e9
SECONDS = Validator(most=1e9, unit="s", endless=True)
_Number, _Whole = Annotated[float, NUMERIC], Annotated[int, WHOLE]

__all__ = ["BLOCK", "CHUNK", "PopularTraceModel"]

BLOCK = 8 * KB
"""Size of a small request, and of a block of the cache, bytes."""
CHUNK = 2 * BLOCK
"""Size of a large request, and of a chunk of data with one popularity, bytes."""


@dataclass(frozen=True)
class PopularTraceModel:
    """Model of a trace that is not public, but whose read hit rate in a cache is published.

    The parameters from `name` to `luns` are published (dsptf, Tables 2 and 3, section 5.1.2), and a generated trace
    matches them. The other parameters are assumptions.

    Parameters
    ----------
    name : str
        Name of the trace.
    requests : int
        Number of requests, at least 2.
    duration : float
        Length of the trace, s.
    read_share : float
        Number of reads / number of requests, above 0.
    mean_size : float
        Mean size of a request, bytes, from 8 to 16 KB.
    hit_rate : float
        Number of reads that hit / number of reads, in one LRU cache in front of all LUNs. The cache is empty at the
        start and receives the whole trace. Writes leave their blocks in the cache.
    central_cache : int
        Size of the cache to which `hit_rate` refers, bytes; by default 16 GB.
    luns : int
        Number of devices, all of the same size; by default 50.
    data : int
        Size of the data over which requests spread, bytes; by default 64 GB.
    head : float
        Share of the data that is about as popular as the most popular data (see `Popularity`); by default 1/10,000.
    together : bool
        Whether data is stored in order of popularity, beginning with the first LUN. By default, popular data is
        scattered over all data.
    scale : float
        Number of requests of this trace / number of requests of the published trace; by default 1. `scaled` sets this
        ratio.

    Raises
    ------
    InputError
        If a value is out of its range.

    Notes
    -----
    No values are published for the assumptions.

    data: 64 GB is four times the cache, so that the cache cannot hold all data. Only a fifth of the data is accessed
    during the trace. With twice as much data, the power law is steeper, and the hit rate of a cache of 1 GB changes by
    one percentage point.

    head: with a plain power law, which has no head, the most popular 16 KB receive 19 to 29% of all requests. With a
    head of 1/10,000, which is 6.4 MB, they receive 0.04%, and about 1% at a scale of 1/32. The measured shares are 1.2%
    in the first 10,000 requests of the SPC trace Financial1, 2% in an hour of the HP Labs server trace of 2003, and
    0.01% in a minute of the SPC trace WebSearch1. A head of a tenth of this size adds 3 percentage points to the hit
    rate of a cache of 1 GB. A head of ten times this size subtracts 8 percentage points. Below 16 GB this assumption
    matters more than the others.

    together: no distances are published, so there is no spatial locality by default. The other setting shows the
    effect of this assumption.

    The remaining assumptions have no parameter. Arrivals are Poisson, because nothing is published on bursts.
    Requests have 8 or 16 KB, the page sizes of file systems and databases of the time, and are aligned to their size.
    No request crosses a 64 KB stripe unit, and none accesses more than two blocks of the cache. Kind, size and
    address are independent of each other and of earlier requests.

    In all four traces (1 - hit rate) x the bytes requested is 11 to 14 GB. A cache of 16 GB therefore never fills,
    unless writes miss far more often than reads. The published hit rate then determines only the share of first
    accesses.
    """

    name: str
    requests: Annotated[int, WHOLE.up_to(MOST_REQUESTS)]
    duration: Annotated[float, SECONDS]
    read_share: _Number
    mean_size: _Number
    hit_rate: _Number
    central_cache: _Whole = 16 * GB
    luns: Annotated[int, WHOLE.up_to(MOST_COUNTED)] = 50
    data: _Whole = 64 * GB
    head: float = field(default=1e-4, kw_only=True)
    together: bool = field(default=False, kw_only=True)
    scale: Annotated[float, NUMERIC.up_to(MOST_SCALE)] = field(default=1.0, kw_only=True)

    def __post_init__(self):
        validate_fields(self)
        _check_targets(self)
        _check_assumptions(self)

    @property
    def rate(self) -> float:
        """Return the number of requests per second."""
        return self.requests / self.duration

    @property
    def pairs(self) -> float:
        """Return the share of requests of 16 KB, which is computed from the mean size."""
        return self.mean_size / BLOCK - 1

    @property
    def lun(self) -> int:
        """Return the size of a LUN in bytes, a whole number of 16 KB chunks (`CHUNK`)."""
        return self.data // self.luns // CHUNK * CHUNK

    @property
    def chunks(self) -> int:
        """Return the number of 16 KB chunks on all LUNs."""
        return self.luns * (self.lun // CHUNK)

    @property
    def capacity(self) -> dict[str, int]:
        """Return the size of each LUN in bytes, keyed by its name, for `RequestTrace.concatenated`."""
        return {f"lun {number}": self.lun for number in range(self.luns)}

    @property
    def popularity(self) -> Popularity:
        """Return the popularity that gives the published hit rate.

        Raises
        ------
        InputError
            If no popularity gives the published hit rate.
        """
        return fitted(self.head, *self._load(self.central_cache), self.hit_rate)

    def cache(self, size: float | np.integer) -> int:
        """Return the size in bytes of a cache that is scaled like this trace.

        Parameters
        ----------
        size : float
            Size of a cache for the published trace, bytes, at least 0 and finite.

        Returns
        -------
        int
            `size * scale`, bytes, rounded to whole blocks.

        Raises
        ------
        InputError
            If the size is below 0 or not finite.
        """
        AMOUNT.in_unit("B")("cache of", size)
        return round(size * self.scale / BLOCK) * BLOCK

    def expected_hit_rate(self, size: float | np.integer) -> float:
        """Return the expected share of reads that hit in one LRU cache, scaled like this trace (see `cache`).

        Parameters
        ----------
        size : float
            Size of a cache for the published trace, bytes.

        Returns
        -------
        float
            Number of read hits / number of reads.

        Raises
        ------
        InputError
            If the size is below 0 or not finite, or no popularity gives the published hit rate.
        """
        return expected_hit_rate(self.popularity, *self._load(size))

    def scaled(self, fraction: float) -> PopularTraceModel:
        """Return a smaller or larger model with the same request rate and the same hit rates.

        Parameters
        ----------
        fraction : float
            Factor for the number of requests, the duration and the data, above 0.

        Returns
        -------
        PopularTraceModel
            The model, with the same number of LUNs.

        Raises
        ------
        InputError
            If the fraction is not above 0 and finite, or leaves no data on a LUN.

        Notes
        -----
        The number of requests per byte stays the same. A cache whose size the method `cache` converts to this scale
        therefore has the same hit rate. With a fraction below 1, the requests to one byte follow each other within a
        shorter time. For instance, an overwrite then arrives more often before the earlier write is on disk.
        """
        POSITIVE.in_unit(f"of {self.name}")("fraction", fraction)
        require(fraction <= MOST_SCALE, "fraction", fraction, f"at most {MOST_SCALE:g}", f"of {self.name}")
        requests = round(self.requests * fraction)
        data = round(self.data * fraction / (self.luns * CHUNK)) * self.luns * CHUNK
        if requests < 2 or not data:
            raise InputError(
                f"fraction {fraction:g} of {self.name}: the trace would have {requests} requests and {data} B on "
                f"{self.luns} LUNs; give at least {max(2 / self.requests, self.luns * CHUNK / self.data):.2g}"
            )
        scale = self.scale * fraction
        return replace(self, requests=requests, duration=requests / self.rate, data=data, scale=scale)

    def targets(self) -> dict[str, float]:
        """Return the published values by name, including the read hit rate.

        `trace.TraceCharacteristics` defines the names and units of the other values.
        """
        return {
            "requests": self.requests,
            "duration": self.duration,
            "rate": self.rate,
            "read_share": self.read_share,
            "mean_size": self.mean_size,
            "read_hit_rate": self.hit_rate,
        }

    def _load(self, size: float | np.integer) -> tuple[float, float, float]:
        """Return three ratios for an LRU cache of `size` bytes before scaling.

        They are the number of requests per chunk, the share of requests that access a whole chunk, and the size of the
        scaled cache divided by the size of the data.
        """
        return self.requests / self.chunks, self.pairs, self.cache(size) / (self.chunks * CHUNK)


def _check_targets(model: PopularTraceModel) -> None:
    if model.requests < 2:
        raise InputError(f"{model.requests} requests: a synthetic trace needs at least 2")
    TIME("duration", model.duration)
    reads, size, cache = model.read_share, model.mean_size, model.central_cache
    require(0 < reads <= 1, "read share", reads, "above 0, because only reads hit the cache, and at most 1")
    require(BLOCK <= size <= CHUNK, "mean size", size, f"from {BLOCK} to {CHUNK} B, the sizes in the mix", "B")
    require(0 < model.hit_rate < 1, "hit rate", model.hit_rate, "above 0 and below 1")
    require(BLOCK <= cache < math.inf, "cache of", cache, f"at least one block of {BLOCK} B, and finite", "B")


def _check_assumptions(model: PopularTraceModel) -> None:
    if model.luns < 1:
        raise InputError(f"{model.luns} LUNs: a synthetic trace needs at least 1")
    limit = f"from {CHUNK} B per LUN ({model.luns} LUNs) to 2**60 B in total"
    require(model.luns * CHUNK <= model.data <= 2**60, "size of the data", model.data, limit, "B")
    Popularity(0.0, model.head)  # raises InputError for a head out of range
    POSITIVE("scale", model.scale)
