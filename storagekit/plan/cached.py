"""Predictions of schemes on disks behind a cache of SSDs."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from storagekit.analytic.array.loaded import Loaded, RequestClass
from storagekit.analytic.array.positioning import Curve, Linear
from storagekit.analytic.ssd import Phase, UnitAccesses, UnitRequests, mixture
from storagekit.plan.predicting import classes_of, responses_of_classes
from storagekit.plan.prediction import Prediction, TenantFigures
from storagekit.plan.requirements import Requirements
from storagekit.plan.ssd_cache import SSDCache
from storagekit.plan.ssd_schemes import SSDAccess, loaded_ssds, whole_pages


def needs_behind(needs: Requirements) -> Requirements:
    """Return the requirements of the disks behind the cache: the reads that miss, and all writes."""
    return replace(needs.behind_cache(_hits(needs)), cache=None)


def behind_ssds(
    needs: Requirements, behind: Requirements, timing: Curve | Linear, found: Sequence[Prediction]
) -> list[Prediction]:
    """Return the predictions for all requests.

    behind: `needs_behind` of the requirements. timing: the `spindle` of the drive. found: predictions of the disks.
    """
    cached = _responses_of_cache(needs, _cache(needs))
    return [_combined(needs, behind, timing, one, cached) for one in found]


def _cache(needs: Requirements) -> SSDCache:
    assert needs.cache is not None
    return needs.cache


def _hits(needs: Requirements) -> float:
    return _cache(needs).hit_share(needs.data)


def _responses_of_cache(needs: Requirements, cache: SSDCache) -> list[tuple[Loaded, Loaded]]:
    """Return the response times of hits and of writes of the cache, a pair for each mix of requests."""
    assert needs.rate is not None
    hits, kinds, accesses = _hits(needs), [], []
    for mix in needs.mixes:
        for (size, _), share in zip(needs.sizes, needs.shares_of(mix), strict=True):
            read, write = (SSDAccess.of(cache.ssd, size, writes=kind) for kind in (False, True))
            reads, writes = mix.share * share * mix.read_share, mix.share * share * (1 - mix.read_share)
            waits = () if cache.ssd.buffered else (Phase(cache.copies, write.units),)
            kinds += [
                UnitRequests(reads, read.latency, (Phase(1, read.units),)),
                UnitRequests(writes, write.latency.largest_of(cache.copies), waits),
            ]
            # reads that miss are written to the cache
            accesses += [
                UnitAccesses(reads * hits, 1, read.units, read.seconds),
                UnitAccesses(reads * (1 - hits), 1, write.units, write.seconds),
                UnitAccesses(writes, cache.copies, write.units, write.seconds),
            ]
    found = loaded_ssds(
        kinds, accesses, rate=needs.rate, drives=cache.drives, units=cache.ssd.parallel, group=cache.drives
    )
    count, every = 2 * len(needs.sizes), []
    for first in range(0, len(kinds), count):
        of_mix = list(zip(kinds[first : first + count], found[first : first + count], strict=True))
        pair = [mixture([(one.share, loaded) for one, loaded in of_mix[kind::2]]) for kind in (0, 1)]
        every.append((pair[0], pair[1]))
    return every


def _combined(
    needs: Requirements,
    behind: Requirements,
    timing: Curve | Linear,
    one: Prediction,
    cached: Sequence[tuple[Loaded, Loaded]],
) -> Prediction:
    """Return the prediction of all requests. one: prediction of the disks. cached: see `_responses_of_cache`."""
    hits, cache = _hits(needs), _cache(needs)
    served = hits * needs.read_share
    limit = min(one.throughput / (1 - served), cached[0][0].saturation)
    parts = {name: (1 - served) * part for name, part in one.parts.items()}
    one = replace(one, disk_rate=one.disk_rate / (1 - served))
    if not np.isfinite(one.mean) or cached[0][0].utilization >= 1:
        return replace(
            one, mean=np.inf, p95=np.inf, p99=np.inf, throughput=limit, parts=parts, tenants=_overloaded(needs)
        )
    disks = _by_operation(behind, timing, one)
    names = [tenant.name for tenant in behind.tenants] or [""]
    every = []
    for number, mix in enumerate(needs.mixes):
        name = needs.tenants[number].name if needs.tenants else ""
        missed, written = disks[names.index(name)] if name in names else (cached[number][0],) * 2
        hit, buffered = cached[number]
        reads, writes = mix.read_share, 1 - mix.read_share
        some = [(reads * hits, hit), (reads * (1 - hits), missed), (writes, buffered if cache.write_back else written)]
        every.append(mixture(some))
    total = mixture([(mix.share, found) for mix, found in zip(needs.mixes, every, strict=True)])
    tenants = tuple(
        TenantFigures(tenant.name, found.mean, found.quantile(0.99))
        for tenant, found in zip(needs.tenants, every, strict=False)
    )
    in_cache = sum(
        mix.share * mix.read_share * hits * pair[0].mean for mix, pair in zip(needs.mixes, cached, strict=True)
    )
    return replace(
        one,
        mean=total.mean,
        p95=total.quantile(0.95),
        p99=total.quantile(0.99),
        throughput=limit,
        parts=parts | {"cache": in_cache},
        tenants=tenants,
        lifetime=_lifetime(needs, cache, hits),
    )


def _overloaded(needs: Requirements) -> tuple[TenantFigures, ...]:
    return tuple(TenantFigures(one.name, np.inf, np.inf) for one in needs.tenants)


def _by_operation(behind: Requirements, timing: Curve | Linear, one: Prediction) -> list[tuple[Loaded, Loaded]]:
    """Return the response times of the reads and of the writes of the disks, a pair for each mix of requests."""
    classes = [
        RequestClass(mix.share * share, reads, mix.sizes)
        for mix in classes_of(behind)
        for share, reads in ((mix.reads, 1.0), (1 - mix.reads, 0.0))
    ]
    found = responses_of_classes(behind, timing, one.scheme, tuple(classes))
    return list(zip(found[::2], found[1::2], strict=True))


def _lifetime(needs: Requirements, cache: SSDCache, hits: float) -> float:
    """Return the time in seconds until the writes reach the endurance of the cache; NaN if the endurance is unknown."""
    assert needs.rate is not None
    if cache.ssd.endurance is None:
        return np.nan
    sizes = whole_pages([size for size, _ in needs.sizes])
    read, written = (float(shares @ sizes) for shares in needs.shares_by_operation)
    each = needs.read_share * (1 - hits) * read + (1 - needs.read_share) * cache.copies * written
    return cache.drives * cache.ssd.endurance / (needs.rate * each) if each else np.inf
