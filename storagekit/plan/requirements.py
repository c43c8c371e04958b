"""The requirements of a planner: disks, data, requests, and limits."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from storagekit.core.errors import InputError
from storagekit.core.units import SECTOR, sectors
from storagekit.core.validation import (
    COUNT,
    POSITIVE,
    Amount,
    Positive,
    Share,
    Size,
    Time,
    Whole,
    instance_of,
    optional,
    require,
    require_seconds,
    validate_fields,
)
from storagekit.drive import SSD, Drive
from storagekit.plan.network import Network
from storagekit.plan.ssd_cache import SSDCache
from storagekit.plan.tenants import (
    CHUNK,
    Chunk,
    SequentialStream,
    Tenant,
    different_streams,
    different_tenants,
    total_of,
)
from storagekit.plan.transfers import ZoneTransfers, paged

MOST_DISKS = 4096
_DISKS = COUNT.up_to(MOST_DISKS, "; plan one of several equal arrays")
MOST_OUTSTANDING = 1_000_000
# NCQ has 32 commands; a simulation has some thousand requests at once
_DEPTHS = COUNT.up_to(256)


class RequestMix(NamedTuple):
    """The requests of a tenant: share among all requests, share of reads, and share of each size of the requirements.

    `sizes` is None if all requests have the same shares of sizes.
    """

    share: float
    read_share: float
    sizes: tuple[float, ...] | None


@dataclass(frozen=True)
class Requirements:
    """The requirements of a planner.

    Parameters
    ----------
    sizes : tuple of (float, float)
        Request sizes in bytes with their shares.
    mean, tail : float or None
        Limits of the mean and of the 99th percentile of the response time, seconds.
    drive, disks, data, read_share, rate, outstanding, tolerate, price, budget, queue_depth, streams, chunk, network, cache,
    tolerate_nodes, tolerate_racks
        See `schemes`.
    tenants : tuple of Tenant
        Tenants, whose rates are only used as shares of `rate`; none by default. `sizes` and `read_share` are for all
        tenants together.

    Raises
    ------
    InputError
        If a value is impossible.
    """

    drive: Annotated[Drive | SSD, instance_of(Drive | SSD, "a disk, as load_drive(name), or an SSD, as load_ssd(file)")]
    disks: Annotated[int, _DISKS]
    data: Size
    sizes: tuple[tuple[float, float], ...]
    read_share: Share
    rate: Annotated[float | None, POSITIVE.in_unit("requests/s")]
    outstanding: Annotated[int | None, COUNT.up_to(MOST_OUTSTANDING)]
    tolerate: Whole
    mean: Time | None
    tail: Time | None
    price: Amount | None
    budget: Positive | None
    queue_depth: Annotated[int, _DEPTHS] = 1
    tenants: Annotated[tuple[Tenant, ...], different_tenants] = ()
    streams: Annotated[tuple[SequentialStream, ...], different_streams] = ()
    chunk: Chunk = CHUNK
    network: Annotated[Network | None, optional(instance_of(Network, "one as Network(4, 1.25e9)"))] = None
    cache: Annotated[SSDCache | None, optional(instance_of(SSDCache, "one as SSDCache(load_ssd(file), 2)"))] = None

    tolerate_nodes: Whole = 0
    tolerate_racks: Whole = 0

    def __post_init__(self):
        validate_fields(self)
        self._require_known_domains()
        least = self.disks * self.largest * SECTOR
        require(
            self.data >= least,
            "data",
            self.data,
            f"at least {least}, one request of the largest size for each disk",
            "bytes",
        )
        if (self.rate is None) == (self.outstanding is None):
            raise InputError(
                "load: give rate, in requests a second, outstanding, a number of requests, or tenants, but only one of them"
            )
        self._require_known_load()
        if self.rate is None and self.queue_depth > 1:
            raise InputError(
                f"queue_depth {self.queue_depth} with outstanding: with outstanding requests the scheduler selects among all "
                "waiting requests; leave queue_depth out, or give rate instead of outstanding"
            )
        if self.rate is None and self.tail is not None:
            raise InputError(
                "p99 with outstanding: no formula gives p99; give rate instead of outstanding, or mean instead of p99"
            )
        if self.rate is None and self.streams:
            raise InputError(
                "streams with outstanding: the rate of outstanding requests would adapt to the streams; give rate instead of "
                "outstanding"
            )
        if self.streams and self.chunk < self.largest * SECTOR:
            raise InputError(
                f"chunk {self.chunk:.0f} bytes with requests of {self.largest * SECTOR} bytes: a stream reads whole stripe "
                f"units, which hold the largest request; give a chunk of at least {self.largest * SECTOR} bytes"
            )
        for label, limit in (("mean", self.mean), ("tail", self.tail)):
            if limit is not None:
                require_seconds(label, limit, "response")
        self._require_known_cache()
        if self.budget is not None and self.price is None:
            raise InputError(f"budget {self.budget:g}: give the price of a disk too")

    def _require_known_domains(self) -> None:
        """Raise InputError for nodes and racks that the disks cannot be spread over, or that cannot fail."""
        network = self.network
        if network is None:
            for name, count in (("tolerate_nodes", self.tolerate_nodes), ("tolerate_racks", self.tolerate_racks)):
                if count:
                    raise InputError(f"{name} {count} without network: give the nodes, such as Network(4, 1.25e9)")
            return
        if network.nodes > self.disks:
            raise InputError(f"{network.nodes} nodes with {self.disks} disks: give at least one disk for each node")
        for name, count, domains in (
            ("tolerate_nodes", self.tolerate_nodes, network.nodes),
            ("tolerate_racks", self.tolerate_racks, network.racks),
        ):
            if count >= domains and count:
                raise InputError(
                    f"{name} {count}: give at most {domains - 1}, because at least one of the {domains} must remain"
                )

    def _require_known_load(self) -> None:
        """Raise InputError for a kind of load that has no formula for SSDs."""
        if not isinstance(self.drive, SSD):
            return
        remedies = {
            "outstanding": (self.outstanding, "give rate; the throughput of the answer is the largest rate"),
            "streams": (self.streams, "give their requests as a tenant, such as Tenant('backup', 200, size=2**20)"),
            "queue_depth": (self.queue_depth > 1, "leave it out; an SSD serves requests in order of arrival"),
        }
        for name, (given, remedy) in remedies.items():
            if given:
                raise InputError(f"{name} with {self.drive.name}, an SSD: there is no formula; {remedy}")

    def _require_known_cache(self) -> None:
        """Raise InputError for a cache that has no formula."""
        if self.cache is None:
            return
        if isinstance(self.drive, SSD):
            raise InputError(f"cache with {self.drive.name}, an SSD: a cache is for disks; leave the cache out")
        if self.rate is None:
            raise InputError(
                "cache with outstanding: the rate would adapt to the hits; give rate instead of outstanding"
            )
        hits = self.cache.hit_share(self.data)
        if hits * self.read_share >= 1:
            raise InputError(
                f"cache with {hits:.0%} hits and {self.read_share:.0%} reads: no request reaches the disks; give fewer hits, "
                "or plan an array of the SSDs alone"
            )

    @cached_property
    def capacity(self) -> float:
        """Return the capacity of one drive in bytes."""
        return float(self.drive.capacity) * SECTOR

    @property
    def disk(self) -> Drive:
        """Return the drive, which must be a disk."""
        assert isinstance(self.drive, Drive)
        return self.drive

    @property
    def failed_domains(self) -> str:
        """Return the nodes and racks that may fail without a loss of data, such as "1 node or 1 rack"; empty if none."""
        counts = {"node": self.tolerate_nodes, "rack": self.tolerate_racks}
        return " or ".join(f"{count} {name}{'s' * (count > 1)}" for name, count in counts.items() if count)

    @property
    def affordable(self) -> int:
        """Return the largest number of disks that the given number of disks and the budget allow."""
        if self.budget is None or not self.price:
            return self.disks
        return min(self.disks, int(self.budget / self.price * (1 + 1e-9)))

    @cached_property
    def largest(self) -> int:
        """Return the number of sectors of the largest request."""
        return max(sectors(size) for size, _ in self.sizes)

    @cached_property
    def smallest(self) -> int:
        """Return the number of sectors of the smallest request."""
        return min(sectors(size) for size, _ in self.sizes)

    @cached_property
    def mixes(self) -> tuple[RequestMix, ...]:
        """Return the requests of each tenant; without tenants, one mix of all requests."""
        if not self.tenants:
            return (RequestMix(1.0, self.read_share, None),)
        total, sizes = sum(one.rate for one in self.tenants), [size for size, _ in self.sizes]
        return tuple(RequestMix(one.rate / total, one.read_share, one.shares_of(sizes)) for one in self.tenants)

    def grown(self, data: float, load: float) -> "Requirements":
        """Return the requirements with `data` bytes, and with `load` times the rate of requests and of streams."""
        assert self.rate is not None
        faster = tuple(replace(one, rate=one.rate * load) for one in self.streams)
        return replace(self, data=data, rate=self.rate * load, streams=faster)

    def behind_cache(self, hits: float) -> "Requirements":
        """Return the requirements of the disks behind a cache, without limits of the response time.

        hits: share of the reads that the cache serves, 0 to 1; some requests must remain.
        """
        assert self.rate is not None
        left, reads = _missed(hits, self.read_share)
        if not self.tenants:
            return replace(self, rate=self.rate * left, read_share=reads, mean=None, tail=None)
        behind = []
        for one in self.tenants:
            share, reads_left = _missed(hits, one.read_share)
            if share > 0:
                behind.append(replace(one, rate=one.rate * share, read_share=reads_left, mean=None, p99=None))
        _, sizes, _ = total_of(behind)
        rate = self.rate * left
        return replace(self, rate=rate, read_share=reads, sizes=sizes, mean=None, tail=None, tenants=tuple(behind))

    def with_whole(self, sector: int) -> "Requirements":
        """Return the requirements with sizes that are rounded up to multiples of `sector` bytes."""
        whole = _rounded(self.sizes, sector)
        # each disk holds at least one of the larger requests
        data = max(self.data, self.disks * max(size for size, _ in whole))
        every = tuple(replace(one, size=dict(_rounded(one.sizes, sector))) for one in self.tenants)
        return replace(
            self, sizes=whole, data=data, tenants=every, chunk=max(self.chunk, max(size for size, _ in whole))
        )

    def transfers(self, used: NDArray | float, ways: int = 1) -> NDArray:
        """Return the transfer time plus the overhead of requests in seconds, `[..., size, 2]`.

        For each size there are two transfer times, each with a probability of one half. They have the mean and the standard
        deviation of the times of requests of this size at random addresses of a disk that is filled to a fraction `used`.
        The deviation is limited to half of the mean, so that no time is negative. The limit has an effect only if a transfer
        takes less time than the crossing of a track boundary. If requests are divided into `ways` parts of whole pages, the
        times are the times of a part.
        """
        parts = self._sectors if ways == 1 else paged(self._sectors, ways)
        mean, deviation = self._zones.times(parts, used)
        deviation = np.minimum(deviation, mean / 2)
        return np.stack([mean - deviation, mean + deviation], axis=-1) + float(self.disk.overhead)

    @cached_property
    def _zones(self) -> ZoneTransfers:
        return ZoneTransfers.of(self.disk)

    @cached_property
    def _sectors(self) -> NDArray:
        return np.array([sectors(size) for size, _ in self.sizes])

    @cached_property
    def shares(self) -> NDArray:
        """Return the share of the requests of each size, `[size]`."""
        return np.array([share for _, share in self.sizes])

    def shares_of(self, mix: RequestMix) -> tuple[float, ...]:
        """Return the share of each size among the requests of a mix."""
        return tuple(self.shares.tolist()) if mix.sizes is None else mix.sizes

    @cached_property
    def shares_by_operation(self) -> tuple[NDArray, NDArray]:
        """Return the share of each size among the reads, and among the writes, `[size]`.

        Without reads, or without writes, they are the shares of all requests.
        """
        if not self.tenants:
            return self.shares, self.shares
        found = []
        for writes in (False, True):
            every = [(one.share * (1 - one.read_share if writes else one.read_share), one.sizes) for one in self.mixes]
            total = sum(share for share, _ in every)
            mixed = sum(share * np.array(sizes) for share, sizes in every)
            found.append(mixed / total if total else self.shares)
        return found[0], found[1]

    @cached_property
    def again(self) -> NDArray:
        """Return the additional time in seconds of a write of each size.

        The time is a revolution if the write covers only a part of a physical sector, otherwise 0.
        """
        if isinstance(self.drive, SSD):
            return np.zeros(len(self.sizes))
        grain = self.drive.grain
        partly = [sectors(size) % grain > 0 for size, _ in self.sizes]
        return np.array(partly, float) * float(self.drive.revolution)

    @cached_property
    def longest(self) -> float:
        """Return the mean transfer time of the largest requests in the slowest zone, in seconds."""
        return self._zones.slowest(self.largest)

    def sequential_rate(self, used: NDArray | float) -> NDArray:
        """Return the rate in bytes a second of long transfers on a disk that is filled to a fraction `used`."""
        return self._zones.sequential_rate(used)


def _missed(hits: float, reads: float) -> tuple[float, float]:
    """Return the share of requests that a cache does not serve, and the share of reads among them."""
    left = 1 - hits * reads
    return left, reads * (1 - hits) / left if left > 0 else 0.0


def _rounded(sizes: tuple[tuple[float, float], ...], sector: int) -> tuple[tuple[float, float], ...]:
    """Return sizes with their shares, rounded up to multiples of `sector` bytes."""
    found: dict[float, float] = {}
    for size, share in sizes:
        whole = -(-size // sector) * sector
        found[whole] = found.get(whole, 0.0) + share
    return tuple(sorted(found.items()))
