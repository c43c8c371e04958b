"""What a stand-in known by its cache hit rate is: the published figures it matches, and what it assumes beside them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np

from storagekit.core.checks import require, require_not_negative, require_positive
from storagekit.core.errors import InputError
from storagekit.core.kinds import MOST_COUNTED, Kind, flag, hold, text
from storagekit.core.units import GB, KB
from storagekit.workload.synthetic.popular.popularity import Popularity, expected_hit_rate, fitted

# numbers at all, before what is said of each; more requests fit no memory
NUMERIC, WHOLE = Kind(endless=True), Kind(most=2**60, whole=True)
MOST_REQUESTS, MOST_SCALE = 10**9, 1e9
SECONDS = Kind(most=1e9, unit="s", endless=True)

__all__ = ["BLOCK", "CHUNK", "PopularTraceModel"]

BLOCK = 8 * KB
"""Bytes: a small request, and what the cache keeps or drops at once."""
CHUNK = 2 * BLOCK
"""Bytes: a large request, and what has a popularity of its own."""


@dataclass(frozen=True)
class PopularTraceModel:
    """A model of a trace that is not public, known by how often a cache answers its reads. Its first fields are
    published and matched; the others are assumptions.

    Published (dsptf, Tables 2 and 3, section 5.1.2):

    name: of the trace. requests: in all. duration: s. read_share: reads / requests. mean_size: bytes, from 8 to 16 KB.
    hit_rate: reads that one LRU cache in front of everything answers / reads; it meets the trace empty and runs it
    whole, and writes leave their blocks in it. central_cache: bytes of that cache. luns: devices, of equal size.

    Assumed, because nothing is published:

    data: bytes that requests spread over, 64 GB for every trace: four times the cache, so that the cache is not simply
    all of it. A fifth of it is ever touched; with twice as much the law is steeper, and the hit rate of 1 GB of cache
    changes by a point.
    head: share of the data that is about as popular as the first of it (see `Popularity`). Without a head, that is, by
    a plain power law, the first 16 KB alone would get 19 to 29% of all requests. With 1/10,000, 6.4 MB, it gets 0.04%,
    at a scale of 1/32 about 1%; it is 1.2% in the first 10,000 requests of the SPC trace Financial1, 2% in an hour of
    the HP Labs server trace of 2003, and 0.01% in a minute of the SPC trace WebSearch1. A tenth of the head
    adds 3 points to the hit rate of 1 GB, ten times the head takes 8: below 16 GB this matters more than the rest.
    together: whether the popular lies side by side, in order of rank from the first LUN on, or all over the data. No
    distance is published, so by default there is no locality in space; the other end shows how much depends on it.
    scale: of the published trace, what this one is; `scaled` sets it.

    And without a choice: arrivals are Poisson, as nothing is said on bursts. Requests have 8 or 16 KB, the pages of
    file systems and databases of the time, aligned to their size: none crosses a 64 KB stripe unit, none touches more
    than two blocks of the cache. Kind, size and address are independent of one another and of the past.

    In all four traces (1 - hit rate) x the bytes requested is 11 to 14 GB: unless writes miss far more often than
    reads, a cache of 16 GB never fills, and the published rate says only how often data is asked for the first time.

    Raises InputError where a value is out of its range.
    """

    name: str
    requests: int
    duration: float
    read_share: float
    mean_size: float
    hit_rate: float
    central_cache: int = 16 * GB
    luns: int = 50
    data: int = 64 * GB
    head: float = field(default=1e-4, kw_only=True)
    together: bool = field(default=False, kw_only=True)
    scale: float = field(default=1.0, kw_only=True)

    def __post_init__(self):
        _check_targets(self)
        _check_assumptions(self)

    @property
    def rate(self) -> float:
        """Requests a second."""
        return self.requests / self.duration

    @property
    def pairs(self) -> float:
        """Requests of 16 KB / requests: what gives the mean size."""
        return self.mean_size / BLOCK - 1

    @property
    def lun(self) -> int:
        """Bytes of a LUN, whole chunks."""
        return self.data // self.luns // CHUNK * CHUNK

    @property
    def chunks(self) -> int:
        """Addresses of 16 KB on all LUNs."""
        return self.luns * (self.lun // CHUNK)

    @property
    def capacity(self) -> dict[str, int]:
        """Bytes of each LUN by its name, for `RequestTrace.concatenated`."""
        return {f"lun {number}": self.lun for number in range(self.luns)}

    @property
    def popularity(self) -> Popularity:
        """That which gives the published hit rate. Raises InputError where none does."""
        return fitted(self.head, *self._load(self.central_cache), self.hit_rate)

    def cache(self, size: float | np.integer) -> int:
        """Bytes of cache, whole blocks, that are to this trace what `size` bytes are to the published one.

        Raises InputError where the size is below 0 or not finite.
        """
        require_not_negative("cache of", size, "B")
        return round(size * self.scale / BLOCK) * BLOCK

    def expected_hit_rate(self, size: float | np.integer) -> float:
        """Reads answered / reads of one LRU cache which is to this trace what `size` bytes are to the published one."""
        return expected_hit_rate(self.popularity, *self._load(size))

    def scaled(self, fraction: float) -> PopularTraceModel:
        """The same rate of requests for `fraction` of the time to `fraction` of the data on as many LUNs: as many
        requests to each byte, so that `cache` of any size hits as often.

        What happens to one byte happens within a shorter time: an overwrite, say, more often finds its predecessor not
        yet on disk. Raises InputError where the fraction is not above 0 and finite, or leaves no data on a LUN.
        """
        require_positive("fraction", fraction, f"of {self.name}")
        require(fraction <= MOST_SCALE, "fraction", fraction, f"at most {MOST_SCALE:g}", f"of {self.name}")
        requests = round(self.requests * fraction)
        data = round(self.data * fraction / (self.luns * CHUNK)) * self.luns * CHUNK
        if requests < 2 or not data:
            raise InputError(
                f"fraction {fraction:g} of {self.name}: leaves {requests} requests to {data} B on {self.luns} LUNs; "
                f"give at least {max(2 / self.requests, self.luns * CHUNK / self.data):.2g}"
            )
        scale = self.scale * fraction
        return replace(self, requests=requests, duration=requests / self.rate, data=data, scale=scale)

    def targets(self) -> dict[str, float]:
        """The published figures in the names and units of `trace.TraceCharacteristics`, and the read hit rate."""
        return {
            "requests": self.requests,
            "duration": self.duration,
            "rate": self.rate,
            "read_share": self.read_share,
            "mean_size": self.mean_size,
            "read_hit_rate": self.hit_rate,
        }

    def _load(self, size: float | np.integer) -> tuple[float, float, float]:
        """Requests per chunk, pairs, and blocks of a cache of `size` published bytes / blocks of data."""
        return self.requests / self.chunks, self.pairs, self.cache(size) / (self.chunks * CHUNK)


def _check_targets(model: PopularTraceModel) -> None:
    hold(model, name=text, requests=WHOLE.up_to(MOST_REQUESTS), duration=SECONDS)
    hold(model, read_share=NUMERIC, mean_size=NUMERIC, hit_rate=NUMERIC, central_cache=WHOLE)
    if model.requests < 2:
        raise InputError(f"{model.requests} requests: a stand-in needs at least 2")
    require_positive("duration", model.duration, "s")
    reads, size, cache = model.read_share, model.mean_size, model.central_cache
    require(0 < reads <= 1, "read share", reads, "above 0, as hits are those of reads, and at most 1")
    require(BLOCK <= size <= CHUNK, "mean size", size, f"from {BLOCK} to {CHUNK} B, the sizes that are mixed", "B")
    require(0 < model.hit_rate < 1, "hit rate", model.hit_rate, "above 0 and below 1")
    require(BLOCK <= cache < math.inf, "cache of", cache, f"at least one block of {BLOCK} B, and finite", "B")


def _check_assumptions(model: PopularTraceModel) -> None:
    hold(model, luns=WHOLE.up_to(MOST_COUNTED), data=WHOLE, together=flag, scale=NUMERIC.up_to(MOST_SCALE))
    if model.luns < 1:
        raise InputError(f"{model.luns} LUNs: a stand-in needs at least 1")
    limit = f"from {CHUNK} B a LUN, of {model.luns}, to 2**60 B in all"
    require(model.luns * CHUNK <= model.data <= 2**60, "data of", model.data, limit, "B")
    Popularity(0.0, model.head)  # refuses a head out of its range
    require_positive("scale", model.scale)
