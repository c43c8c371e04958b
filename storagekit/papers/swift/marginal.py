"""The response time of the system of section 5 as a function that JAX differentiates."""

from typing import Any, cast

import jax
import jax.numpy as jnp
from jaxtyping import Array

from storagekit.analytic.forkjoin import (
    Disk,
    Host,
    Network,
    RequestStream,
    StripedSystem,
    Striping,
    completion_quantile,
    completion_times,
)
from storagekit.papers.swift.gigabit_system import M2372K, REQUEST, RING, WRITE_SHARE

# requests of a stream, of which the first tenth is warm-up
REQUESTS = 5_000
DISKS = 32


def striped_response(
    key: Array,
    rate: float = 15.0,
    seek: float = M2372K.seek,
    rotation: float = M2372K.rotation,
    transfer_rate: float = M2372K.rate,
    network_rate: float = RING.rate,
    host_speed: float = 100e6,
) -> dict[str, Array]:
    """Return the time to complete requests of 1 MB that are striped over 32 disks in units of 32 KB.

    Parameters
    ----------
    key : array
        Random key (JAX) of the stream of requests.
    rate : float
        Arrival rate, requests a second, by default 15.
    seek, rotation : float
        Mean seek time and mean rotational latency of a disk, seconds, by default the times of the Fujitsu M2372K. Both times
        are uniform between 0 and twice the mean.
    transfer_rate : float
        Transfer rate of a disk, bytes a second, by default the rate of the Fujitsu M2372K.
    network_rate : float
        Rate of the network, bytes a second, by default 1 Gb/s.
    host_speed : float
        Instructions a second of each host, by default 100 million.

    Returns
    -------
    dict of str to array
        `response`, the mean, and `p99`, the 99% quantile, in seconds.

    References
    ----------
    swift, section 5.1.
    """
    unit = REQUEST / DISKS
    disk, host = Disk(seek, rotation, transfer_rate), Host(host_speed)
    network = Network(rate=network_rate, acquisition=RING.acquisition)
    system = StripedSystem(disk, Striping(REQUEST, unit, DISKS), network, host, host, WRITE_SHARE)
    arriving, operation, first, second = jax.random.split(key, 4)
    gap = jax.random.exponential(arriving, (REQUESTS,)) / rate
    read = jax.random.uniform(operation, (REQUESTS,)) >= WRITE_SHARE
    shape = (REQUESTS, DISKS)
    fractions: tuple[Any, Any] = (jax.random.uniform(first, shape), jax.random.uniform(second, shape))
    time = cast(Array, disk.times(unit, *fractions))
    taken = completion_times(RequestStream(gap, read, time, jnp.ones(shape)), system.paths())[REQUESTS // 10 :]
    return {"response": jnp.mean(taken), "p99": completion_quantile(taken, 0.99)}
