"""The load of the links of a network, and the rate of requests that they allow."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from storagekit.core.binding import Binding
from storagekit.plan.prediction import Prediction, TenantFigures
from storagekit.plan.requirements import Requirements
from storagekit.plan.scheme import Scheme

_MB = 1e6


def bytes_of_request(needs: Requirements, scheme: Scheme) -> NDArray:
    """Return the mean number of bytes of a request that leave the disks, and that reach the disks, `[2]`.

    Clients, and what calculates parity, are beyond the links of nodes and racks. Copies of a block on one disk are made by
    the disk.
    """
    sizes, shape = np.array([size for size, _ in needs.sizes]), scheme.shape
    read, written = (float(sizes @ shares) for shares in needs.shares_by_operation)
    reads, writes = needs.read_share, 1 - needs.read_share
    # divided requests have a part of the request on each disk
    return np.array([reads * read + writes * written * shape.read_first, writes * written * shape.written / shape.ways])


def bytes_of_streams(needs: Requirements, scheme: Scheme) -> NDArray:
    """Return the number of bytes a second of the sequential streams that leave the disks, and that reach the disks, `[2]`."""
    more, _ = scheme.written_in_sequence
    rates = [(0.0, one.rate * more) if one.writes else (one.rate, 0.0) for one in needs.streams]
    return np.sum(rates, axis=0) if rates else np.zeros(2)


def with_network(needs: Requirements, one: Prediction) -> Prediction:
    """Return a prediction within the limits of the network. Without a network it is unchanged.

    The throughput is at most what the links allow. With arrivals at a rate, response times are infinite if this is less than
    the rate; otherwise they exclude the network. With outstanding requests the disks wait for the network.
    """
    if needs.network is None:
        return one
    each, streams, capacity = (
        bytes_of_request(needs, one.scheme),
        bytes_of_streams(needs, one.scheme),
        needs.network.capacity,
    )
    left = capacity - streams
    # streams that fill a direction leave nothing for requests
    most = float(np.min(left[each > 0] / each[each > 0], initial=np.inf)) if np.all(left >= 0) else 0.0
    rate = min(one.throughput, most) if needs.rate is None else needs.rate
    found = replace(one, throughput=min(one.throughput, most), network=float(np.max(rate * each + streams) / capacity))
    if needs.outstanding is not None and most < one.throughput:
        return replace(found, mean=needs.outstanding / most, utilization=one.utilization * most / one.throughput)
    if needs.rate is not None and most < needs.rate:
        tenants = tuple(TenantFigures(each.name, np.inf, np.inf) for each in one.tenants)
        return replace(found, mean=np.inf, p95=np.inf, p99=np.inf, tenants=tenants)
    return found


def overloaded_network(needs: Requirements, one: Prediction) -> Binding:
    """Return the constraint of a scheme whose network is overloaded."""
    assert needs.network is not None
    link, count, limit = needs.network.narrowest
    needed = one.network * limit
    more = int(np.ceil(count * one.network))
    return Binding(
        f"MB/s of each {link}: the network of {one.scheme} is overloaded",
        needed / _MB,
        limit / _MB,
        f"use links of at least {np.ceil(needed / _MB):.0f} MB/s, or at least {more} {link}s, or reduce the load",
    )
