"""The random numbers of a simulated stream of requests: the same whatever the load, the disks or the unit."""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from storagekit.analytic.forkjoin.parts import Disk
from storagekit.analytic.forkjoin.striping import Striping
from storagekit.core.checks import require, require_whole
from storagekit.workload.randomness import fraction, words

# a few GB of random numbers
_MOST = 10**8


class Draws(NamedTuple):
    """Random numbers for `request` requests in each of `seed` independent streams.

    gap: time since the request before it, times the rate (exponential of mean 1). operation: below the write share for a
    write. place: where it begins. seek, rotation: of its blocks, in [0, 1).
    """

    gap: Float[np.ndarray, "request seed"]
    operation: Float[np.ndarray, "request seed"]
    place: Float[np.ndarray, "request seed"]
    seek: Float[np.ndarray, "request seed block"]
    rotation: Float[np.ndarray, "request seed block"]


def draw(seeds: list[int], requests: int, blocks: int) -> Draws:
    """`Draws` of `requests` requests of at most `blocks` blocks for each seed. A block has the same numbers whatever else is
    drawn."""
    require_whole("requests", requests)
    require(len(set(seeds)) == len(seeds) > 0, "seeds", seeds, "different from one another, at least one")
    drawn = requests * len(seeds) * blocks
    require(
        drawn <= _MOST, "blocks of all requests", drawn, f"at most {_MOST}: simulate fewer requests, seeds or blocks"
    )
    key = jnp.stack([jax.random.key_data(jax.random.key(seed)) for seed in seeds], axis=1)
    one, other = (np.asarray(part) for part in _fractions(key, requests, 2 + blocks))
    return Draws(-np.log1p(-one[..., 0]), one[..., 1], other[..., 1], one[..., 2:], other[..., 2:])


@partial(jax.jit, static_argnums=(1, 2))
def _fractions(key: Array, requests: int, blocks: int) -> tuple[Array, Array]:
    """Two numbers in [0, 1) for every block number of every request: `[request, seed, block]`."""
    first = jnp.zeros((1, key.shape[1]), jnp.int32)
    numbers = jnp.arange(blocks, dtype=jnp.uint32)
    one, other = jax.vmap(lambda number: words(key, first, requests, number), out_axes=-1)(numbers)
    return fraction(one), fraction(other)


class Work(NamedTuple):
    """What requests ask of the disks: seconds of service and number of blocks, 0 of a disk that is not asked."""

    seconds: Float[np.ndarray, "request seed disk"]
    blocks: Float[np.ndarray, "request seed disk"]


def work(disk: Disk, striping: Striping, draws: Draws, write_share: float) -> Work:
    """The work of the requests on each disk: every block a seek, a rotational wait and its transfer (swift, section 5.1)."""
    rows, disks = striping.rows, striping.disks
    require(
        draws.seek.shape[-1] >= rows * disks,
        "random numbers of",
        draws.seek.shape[-1],
        f"{rows * disks} blocks or more",
    )
    asked = striping.asked(draws.operation >= write_share, draws.place)
    shape = (*draws.gap.shape, rows, disks)
    seek, rotation = (part[..., : rows * disks].reshape(shape) for part in (draws.seek, draws.rotation))
    times = disk.times(striping.unit, seek, rotation)
    return Work(np.where(asked, times, 0).sum(axis=-2), asked.sum(axis=-2).astype(np.float32))


def most_blocks(stripings: list[Striping]) -> int:
    """Random numbers that any of them needs for a request."""
    return max(striping.rows * striping.disks for striping in stripings)
