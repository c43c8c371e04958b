"""Predictions of the formulas for each scheme on SSDs."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from storagekit.analytic.array.loaded import Loaded
from storagekit.analytic.ssd import Phase, Times, UnitAccesses, UnitRequests, loaded_units, mixture
from storagekit.core.units import KB, SECTOR, US
from storagekit.core.validation import unchecked
from storagekit.drive.ssd import PAGE_BYTES, SSD
from storagekit.plan.prediction import Prediction, TenantFigures
from storagekit.plan.requirements import Requirements
from storagekit.plan.scheme import Scheme
from storagekit.plan.streaming import used_share
from storagekit.plan.transfers import paged

# the arguments have been validated
loaded_ssds = unchecked(loaded_units)


class SSDAccess(NamedTuple):
    """A read, or a write, of one SSD: its response time on an idle drive, and its accesses to units."""

    latency: Times
    units: int
    seconds: Times

    @classmethod
    def of(cls, ssd: SSD, size: float, *, writes: bool) -> "SSDAccess":
        """Return the access of a read, or of a write, of `size` bytes."""
        shares, multiples = ssd.spread(size, writes=writes)
        units = ssd.parts(size)
        latency, busy = ssd.latency(size, writes=writes), ssd.busy(size, writes=writes) / units
        return cls(Times(latency * multiples, shares), units, Times(busy * multiples, shares))


def predict_ssds(needs: Requirements, schemes: Sequence[Scheme]) -> list[Prediction]:
    """Return the predictions of schemes on SSDs, for arrivals at a rate."""
    return [_prediction(needs, one) for one in schemes]


def _lifetime(needs: Requirements, scheme: Scheme) -> float:
    """Return the time in seconds until the writes reach the endurance of the drives; NaN if the endurance is unknown."""
    ssd = _ssd(needs)
    if ssd.endurance is None:
        return np.nan
    assert needs.rate is not None
    writes = needs.rate * (1 - needs.read_share) * scheme.shape.written / scheme.disks
    each = float(needs.shares_by_operation[1] @ whole_pages(_sizes(needs, scheme)))
    return ssd.endurance / (writes * each) if writes * each else np.inf


def whole_pages(sizes: Sequence[float]) -> NDArray:
    """Return the bytes of the pages that requests of these sizes write."""
    return np.ceil(np.array(sizes) / PAGE_BYTES) * PAGE_BYTES


def _ssd(needs: Requirements) -> SSD:
    assert isinstance(needs.drive, SSD)
    return needs.drive


def _sizes(needs: Requirements, scheme: Scheme) -> list[float]:
    """Return the number of bytes that a request of each size accesses on one drive."""
    ways = scheme.shape.ways
    return [size if ways == 1 else float(paged(int(np.ceil(size / SECTOR)), ways) * SECTOR) for size, _ in needs.sizes]


def _prediction(needs: Requirements, scheme: Scheme) -> Prediction:
    assert needs.rate is not None
    ssd, shape, sizes = _ssd(needs), scheme.shape, _sizes(needs, scheme)
    reads, writes = ([SSDAccess.of(ssd, size, writes=kind) for size in sizes] for kind in (False, True))
    kinds: list[UnitRequests] = []
    accesses: list[UnitAccesses] = []
    for mix in needs.mixes:
        for share, read, write in zip(needs.shares_of(mix), reads, writes, strict=True):
            kinds += _requests(scheme, mix.share * share, mix.read_share, read, write, ssd.buffered)
            accesses += _accesses(scheme, mix.share * share, mix.read_share, read, write)
    group = shape.group or shape.heads
    found = loaded_ssds(kinds, accesses, rate=needs.rate, drives=scheme.disks, units=ssd.parallel, group=group)
    every = _by_mix(needs, kinds, found)
    total = mixture([(mix.share, one) for mix, one in zip(needs.mixes, every, strict=True)])
    tenants = zip(needs.tenants, every, strict=False)
    latency = sum(one.share * one.latency.mean for one in kinds)
    degraded, rebuild = _after_failure(needs, scheme, total.utilization, reads, writes)
    return Prediction(
        scheme,
        0,
        total.saturation,
        total.mean,
        total.quantile(0.95),
        total.quantile(0.99),
        total.utilization,
        scheme.usable(needs.capacity),
        scheme.tolerates,
        np.nan,
        degraded,
        rebuild,
        {"latency of the drive": latency},
        tenants=tuple(TenantFigures(one.name, each.mean, each.quantile(0.99)) for one, each in tenants),
        lifetime=_lifetime(needs, scheme),
    )


def _requests(
    scheme: Scheme, share: float, reads: float, read: SSDAccess, write: SSDAccess, buffered: bool
) -> list[UnitRequests]:
    """Return the reads and the writes of one size.

    share: share of this size. reads: share of reads among them. buffered: whether writes complete in a buffer.
    """
    shape = scheme.shape
    written = write.latency.largest_of(shape.written)
    if shape.read_first:
        written = read.latency.largest_of(shape.read_first).plus(written)
    phases = [Phase(shape.read_first, read.units)] if shape.read_first else []
    if not buffered:
        phases.append(Phase(shape.written, write.units))
    return [
        UnitRequests(share * reads, read.latency.largest_of(shape.ways), (Phase(shape.ways, read.units),)),
        UnitRequests(share * (1 - reads), written, tuple(phases)),
    ]


def _accesses(scheme: Scheme, share: float, reads: float, read: SSDAccess, write: SSDAccess) -> list[UnitAccesses]:
    shape, writes = scheme.shape, share * (1 - reads)
    every = [
        (share * reads, shape.ways, read.units, read.seconds),
        (writes, shape.read_first, read.units, read.seconds),
        (writes, shape.written, write.units, write.seconds),
    ]
    return [UnitAccesses(part, drives, units, seconds) for part, drives, units, seconds in every if drives]


def _by_mix(needs: Requirements, kinds: Sequence[UnitRequests], found: Sequence[Loaded]) -> list[Loaded]:
    """Return the response times of each mix, from the response times of its reads and writes of each size."""
    count = 2 * len(needs.sizes)
    pairs = [(one.share, loaded) for one, loaded in zip(kinds, found, strict=True)]
    return [mixture(pairs[first : first + count]) for first in range(0, len(pairs), count)]


def _after_failure(
    needs: Requirements, scheme: Scheme, utilization: float, reads: Sequence[SSDAccess], writes: Sequence[SSDAccess]
) -> tuple[float, float]:
    """Return the utilization of the busiest drive while another drive is lost, and the seconds to restore a lost drive."""
    of_reads, of_writes = needs.shares_by_operation
    read = float(of_reads @ [one.units * one.seconds.mean for one in reads])
    first = float(of_writes @ [one.units * one.seconds.mean for one in reads])
    write = float(of_writes @ [one.units * one.seconds.mean for one in writes])
    degraded = utilization * scheme.degraded(needs.read_share, read, write, first)
    if np.isnan(degraded):
        return np.nan, np.nan
    left, ssd = max(0.0, 1 - degraded), _ssd(needs)
    moved = used_share(needs, scheme) * needs.capacity / min(ssd.bandwidth(), ssd.bandwidth(writes=True))
    return degraded, scheme.rebuild(moved, left) if left else np.inf


def ssd_assumptions(needs: Requirements, requests: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the assumptions of an answer about SSDs as sentences, by topic. requests: description of the requests."""
    ssd = _ssd(needs)
    read, write = ssd.reads[0], ssd.writes[0]
    data = [
        f"{needs.data / 1e12:g} TB of data, the capacity of {needs.data / needs.capacity:.3g} of the {needs.disks} drives, "
        "is distributed evenly over all drives",
        f"{ssd.name}: a read of {read.size / KB:g} KB takes {read.latency / US:.0f} us on an idle drive, and the drive "
        f"serves at most {read.rate:,.0f} of them a second; a write takes {write.latency / US:.0f} us, at most "
        f"{write.rate:,.0f} a second. The drive has {ssd.parallel} parallel units",
    ]
    served = [
        *requests,
        "arrivals are Poisson. The pages of 4 KB of a request go to different units of a drive at random, and a unit serves "
        "its pages in order of arrival",
        "of several copies, a read takes one at random; a stripe unit holds the largest request, except with full stripes",
    ]
    writes = [
        "a write under parity first reads: its old data and old parity or, if that is less, the other data of its stripe",
        *ssd_limits(ssd),
    ]
    failures = [
        "one lost: utilization of the busiest drive while another drive is lost. A rebuild uses the idle time of the drives"
    ]
    if ssd.endurance is not None:
        failures.append(
            f"lifetime: until {ssd.endurance / 1e12:,.0f} TB are written to each drive at the rate of the question"
        )
    groups = {"data and drives": data, "requests": served, "writes": writes, "failures": failures}
    return {name: tuple(lines) for name, lines in groups.items() if name != "writes" or needs.read_share < 1}


def ssd_limits(ssd: SSD) -> list[str]:
    """Return sentences about the writes of an SSD, and about what its model leaves out."""
    return [
        "a write completes in the buffer of its SSDs. Its pages then occupy the units, as the rate of writes implies, so "
        "that writes delay reads"
        if ssd.buffered
        else "a write waits for the units of its pages, which it occupies as the rate of writes implies",
        "not in the model of SSDs: garbage collection that begins and ends, a buffer that is full for a time, a cache of "
        "faster cells, programs that are suspended for reads, limits of temperature, and a link that several SSDs share",
    ]
