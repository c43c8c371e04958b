"""Draw the random numbers of simulated streams of requests, independently of load, disks and block size."""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from storagekit.analytic.forkjoin.parts import Disk
from storagekit.analytic.forkjoin.striping import Striping
from storagekit.core.validation import COUNT, require
from storagekit.workload.randomness import fraction, words

# maximum number of blocks of all requests; their random numbers take a few GB
_MOST = 10**8


class Draws(NamedTuple):
    """Random numbers for requests in independent streams.

    Parameters
    ----------
    gap : array of float, shape `[request, seed]`
        Time since the previous request, multiplied by the rate; exponential with mean 1.
    operation : array of float, shape `[request, seed]`
        Uniform in [0, 1). The request is a write if the number is below the share of writes.
    selector : array of float, shape `[request, seed]`
        Uniform in [0, 1). The number selects the disk where the request begins.
    seek : array of float, shape `[request, seed, block]`
        Uniform in [0, 1), for the seek time of each block.
    rotation : array of float, shape `[request, seed, block]`
        Uniform in [0, 1), for the rotational latency of each block.
    """

    gap: Float[np.ndarray, "request seed"]
    operation: Float[np.ndarray, "request seed"]
    selector: Float[np.ndarray, "request seed"]
    seek: Float[np.ndarray, "request seed block"]
    rotation: Float[np.ndarray, "request seed block"]


def draw(seeds: list[int], requests: int, blocks: int) -> Draws:
    """Return the random numbers of requests with at most `blocks` blocks, one stream for each seed.

    Parameters
    ----------
    seeds : list of int
        One seed for each stream. All seeds must differ.
    requests : int
        Number of requests of each stream.
    blocks : int
        Largest number of blocks of a request.

    Returns
    -------
    Draws
        Random numbers. The numbers of a block do not depend on the number of other blocks.

    Raises
    ------
    InputError
        If there are no requests or seeds, two seeds are equal, or there are more than 10^8 blocks in total.
    """
    COUNT("requests", requests)
    require(len(set(seeds)) == len(seeds) > 0, "seeds", seeds, "a list of at least one seed, all different")
    drawn = requests * len(seeds) * blocks
    require(
        drawn <= _MOST, "blocks of all requests", drawn, f"at most {_MOST}: simulate fewer requests, seeds or blocks"
    )
    key = jnp.stack([jax.random.key_data(jax.random.key(seed)) for seed in seeds], axis=1)
    one, other = (np.asarray(part) for part in _fractions(key, requests, 2 + blocks))
    return Draws(-np.log1p(-one[..., 0]), one[..., 1], other[..., 1], one[..., 2:], other[..., 2:])


@partial(jax.jit, static_argnums=(1, 2))
def _fractions(key: Array, requests: int, blocks: int) -> tuple[Array, Array]:
    """Return two random numbers in [0, 1) for every block of every request, each `[request, seed, block]`."""
    first = jnp.zeros((1, key.shape[1]), jnp.int32)
    numbers = jnp.arange(blocks, dtype=jnp.uint32)
    one, other = jax.vmap(lambda number: words(key, first, requests, number), out_axes=-1)(numbers)
    return fraction(one), fraction(other)


class Work(NamedTuple):
    """Work of requests on the disks.

    Parameters
    ----------
    seconds : array of float, shape `[request, seed, disk]`
        Service time; 0 for a disk without a block of the request.
    blocks : array of float, shape `[request, seed, disk]`
        Number of blocks; 0 for a disk without a block of the request.
    """

    seconds: Float[np.ndarray, "request seed disk"]
    blocks: Float[np.ndarray, "request seed disk"]


def work(disk: Disk, striping: Striping, draws: Draws, write_share: float) -> Work:
    """Return the work of the requests on each disk.

    Parameters
    ----------
    disk : Disk
        The disks, all of the same kind.
    striping : Striping
        Distribution of blocks over the disks.
    draws : Draws
        Random numbers of the requests.
    write_share : float
        Share of writes, 0 to 1.

    Returns
    -------
    Work
        Service times and numbers of blocks. Each block takes a seek, a rotational latency and its transfer.

    Raises
    ------
    InputError
        If `draws` has random numbers for fewer blocks than the requests have.

    References
    ----------
    swift, section 5.1.
    """
    rows, disks = striping.rows, striping.disks
    require(
        draws.seek.shape[-1] >= rows * disks,
        "random numbers for each request",
        draws.seek.shape[-1],
        f"at least {rows * disks}, one for each block",
    )
    accessed = striping.accessed_disks(draws.operation >= write_share, draws.selector)
    shape = (*draws.gap.shape, rows, disks)
    seek, rotation = (part[..., : rows * disks].reshape(shape) for part in (draws.seek, draws.rotation))
    times = disk.times(striping.unit, seek, rotation)
    return Work(np.where(accessed, times, 0).sum(axis=-2), accessed.sum(axis=-2).astype(np.float32))


def most_blocks(stripings: list[Striping]) -> int:
    """Return the largest number of blocks for which a request needs random numbers, over all stripings."""
    return max(striping.rows * striping.disks for striping in stripings)
