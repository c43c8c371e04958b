"""The load of the links of a network, and the rate of requests that they allow."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from storagekit.core.binding import Binding
from storagekit.plan.prediction import Prediction
from storagekit.plan.requirements import Requirements
from storagekit.plan.scheme import Scheme

_MB = 1e6


def bytes_of_request(needs: Requirements, scheme: Scheme) -> NDArray:
    """Return the mean number of bytes of a request that leave the disks, and that reach the disks, `[2]`.

    Clients, and the hosts that calculate parity, are beyond the links of nodes and racks. A disk makes its own copies of a
    block.
    """
    sizes, shape = np.array([size for size, _ in needs.sizes]), scheme.shape
    read, written = (float(sizes @ shares) for shares in needs.shares_by_operation)
    reads, writes = needs.read_share, 1 - needs.read_share
    # divided requests have a part of the request on each disk
    return np.array([reads * read + writes * written * shape.read_first, writes * written * shape.written / shape.ways])


def bytes_of_streams(needs: Requirements, scheme: Scheme) -> NDArray:
    """Return the number of bytes a second of the sequential streams that leave the disks, and that reach the disks, `[2]`."""
    accesses, _ = scheme.written_in_sequence
    # divided requests have a part of a chunk in each access
    more = accesses / scheme.shape.ways
    rates = [(0.0, one.rate * more) if one.writes else (one.rate, 0.0) for one in needs.streams]
    return np.sum(rates, axis=0) if rates else np.zeros(2)


def with_network(needs: Requirements, one: Prediction) -> Prediction:
    """Return a prediction within the limits of the network. Without a network it is unchanged.

    The throughput is at most what the links allow. Response times at a rate exclude the network. With outstanding requests
    the disks wait for the links. A rebuild takes at least as long as its bytes take on the links, which also serve the load.
    """
    if needs.network is None:
        return one
    capacity, most = needs.network.capacity(one.scheme.disks), _allowed_rate(needs, one.scheme)
    throughput = min(one.throughput, most)
    load = _load(needs, one.scheme, throughput if needs.rate is None else needs.rate)
    found = replace(
        one,
        throughput=throughput,
        disk_rate=one.throughput,
        network=float(np.max(load)) / capacity,
        rebuild=max(one.rebuild, _rebuild_time(needs, one.scheme, capacity - load)),
    )
    if needs.outstanding is None or most >= one.throughput:
        return found
    busy = one.utilization * most / one.throughput
    # exactly 1, without a rounding error
    return replace(found, network=1.0, mean=needs.outstanding / most, utilization=busy)


def _allowed_rate(needs: Requirements, scheme: Scheme) -> float:
    """Return the largest rate of requests that the links allow, requests a second; 0 if streams fill a direction."""
    assert needs.network is not None
    left = needs.network.capacity(scheme.disks) - bytes_of_streams(needs, scheme)
    if np.any(left < 0):
        return 0.0
    each = bytes_of_request(needs, scheme)
    return float(np.min(left[each > 0] / each[each > 0], initial=np.inf))


def _load(needs: Requirements, scheme: Scheme, rate: float) -> NDArray:
    """Return the bytes a second that leave all disks, and that reach them, `[2]`. rate: requests a second."""
    return rate * bytes_of_request(needs, scheme) + bytes_of_streams(needs, scheme)


def _rebuild_time(needs: Requirements, scheme: Scheme, left: NDArray) -> float:
    """Return the time in seconds that the bytes of a rebuild take on the links; 0 without redundancy.

    left: rate in each direction that the load does not use, bytes a second.
    """
    after = scheme.after_loss(needs.read_share)
    if after is None:
        return 0.0
    restored = needs.data / scheme.usable(needs.capacity) * needs.capacity * after.content
    # the other disks send the data that is read at the same time, and one disk, or all disks, receive the restored data
    moved = restored * np.array([after.together, 1.0])
    return float(np.max(moved / left)) if np.all(left > 0) else np.inf


def network_is_full(one: Prediction) -> bool:
    """Return whether arrivals at a rate exceed what the links allow."""
    return one.network > 1 + 1e-9


def overloaded_network(needs: Requirements, one: Prediction) -> Binding:
    """Return the constraint of a scheme whose network is overloaded. The remedy names what each kind of link needs."""
    assert needs.network is not None and needs.rate is not None
    load = float(np.max(_load(needs, one.scheme, needs.rate)))
    every = [(link, load * link.share) for link in needs.network.links(one.scheme.disks)]
    worst, needed = max(every, key=lambda pair: pair[1] / pair[0].rate)
    wanted = [f"{np.ceil(rate / _MB):.0f} MB/s for each {link.kind}" for link, rate in every if rate > link.rate]
    return Binding(
        f"MB/s of a {worst.kind} in one direction: the network of {one.scheme} is overloaded",
        needed / _MB,
        worst.rate / _MB,
        f"use links of at least {' and '.join(wanted)}, or reduce the load",
    )
