"""What is asked: requests, and the model that draws them."""

from functools import partial
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Num, UInt32

from storagekit.core.arrays import AnyArray
from storagekit.core.batching import MOST_WHOLE, named
from storagekit.core.checks import of_kind, traced
from storagekit.core.errors import InputError
from storagekit.core.kinds import Kind
from storagekit.workload.randomness import anywhere, fraction, scramble, words
from storagekit.workload.sizes import AbstractSize

# sectors between addresses that are asked for
GRID = Kind(least=1, most=MOST_WHOLE, unit="sectors", whole=True)
SIZE = "a distribution of bytes, as sk.workload.FixedSize(4096)"


class Requests(NamedTuple):
    """Requests down the first axis.

    number: position in the workload, from 0.
    sector, sectors: logical address and length, in sectors of 512 bytes. An address has 32 bits, in a system of 1 TB and more
    64.
    receiving: a random word that says which brick the client sends it to.
    address_hash: a hash of its address, equal for equal addresses.
    asynchronous: a write that nobody waits for. stream, client: for whom it is, and who sent it (of `Threads` the thread).
    """

    number: Int[Array, "*row"]
    sector: Int[Array, "*row"]
    sectors: Int[Array, "*row"]
    read: Bool[Array, "*row"]
    receiving: UInt32[Array, "*row"]
    address_hash: UInt32[Array, "*row"]
    asynchronous: Bool[Array, "*row"]
    stream: Int[Array, "*row"]
    client: Int[Array, "*row"]


def nothing_asked(lanes: tuple[int, ...]) -> Requests:
    """Requests `[1, *batch]` for the first sector, where somebody has to know what a request consists of."""
    nothing, words = jnp.zeros((1, *lanes), jnp.int32), jnp.zeros((1, *lanes), jnp.uint32)
    return Requests(
        nothing, nothing.astype(int), nothing + 1, nothing == 0, words, words, nothing != 0, nothing, nothing
    )


class RandomRequests(eqx.Module):
    """Small random requests: uniform addresses, independent sizes, a share of reads, no locality.

    `alignment` is the grid of start addresses in sectors (8: 4 KB). locality: L of (srarray, Table 3): addresses stay within
    the first 1/L of the capacity, so that seeks are 1/L as long as over all of it.
    """

    size: AbstractSize = eqx.field(converter=of_kind("size of requests", AbstractSize, SIZE))
    read_share: Float[AnyArray, "..."] = eqx.field(converter=named("read share"))
    locality: Float[AnyArray, "..."] = eqx.field(converter=named("locality"), default=1.0)
    alignment: int = eqx.field(static=True, converter=partial(GRID, "alignment"), default=8)

    def __check_init__(self):
        if not traced(self.read_share):
            share = np.asarray(self.read_share)
            wrong = share[~((share >= 0) & (share <= 1))]
            if wrong.size:
                raise InputError(f"read share {float(wrong[0]):g}: it must lie between 0 and 1")
        if not traced(self.locality):
            local = np.asarray(self.locality)
            if not np.all((local >= 1) & np.isfinite(local)):
                raise InputError(
                    f"locality {float(local.max()):g}: it is 1, for uniform addresses, or more, and finite"
                )

    @property
    def told_apart(self) -> bool:
        """Whether it matters for whom requests are, and who sends them."""
        return False

    def check(self, capacity: int | Num[AnyArray, "..."]) -> None:
        """Raises InputError where requests lie beyond `capacity` sectors whatever is drawn."""
        asked = self.size.room
        if traced(asked) or traced(capacity):
            return
        asked, there = np.broadcast_arrays(asked, capacity)
        if np.any(beyond := asked > there):
            raise InputError(
                f"requests of {asked[beyond][0]} sectors to a system of {there[beyond][0]:.0f}: give smaller ones, or more "
                "drives"
            )

    def draw(
        self,
        capacity: int | Num[AnyArray, "..."],
        key: UInt32[AnyArray, "2 *batch"],
        first: Int[AnyArray, "1 *batch"],
        count: int,
    ) -> Requests:
        """Requests number first to first+count-1 of the stream `key`, within `capacity` sectors: `[count, *batch]`."""
        counters = jnp.arange(count, dtype=jnp.int32).reshape((count,) + (1,) * (first.ndim - 1))
        return self.drawn(capacity, words(key, first, count, 0), words(key, first, count, 1), first + counters)

    def drawn(
        self,
        capacity: int | Num[AnyArray, "..."],
        one: tuple[UInt32[Array, "*row"], UInt32[Array, "*row"]],
        other: tuple[UInt32[Array, "*row"], UInt32[Array, "*row"]],
        number: Int[Array, "*row"],
    ) -> Requests:
        """The requests that two pairs of random words make, numbered so, within `capacity` sectors."""
        (where, size), (operation, receiving) = one, other
        reached = (jnp.asarray(capacity, float) / self.locality).astype(int)
        places = (jnp.minimum(reached, capacity) - self.size.largest) // self.alignment
        position = anywhere(where, scramble(receiving ^ scramble(where)), jnp.maximum(places, 1))
        return Requests(
            number=number,
            sector=position * self.alignment,
            sectors=self.size.sectors(fraction(size)),
            read=fraction(operation) < self.read_share,
            receiving=receiving,
            address_hash=scramble(position),
            asynchronous=jnp.zeros(position.shape, bool),
            stream=jnp.zeros(position.shape, jnp.int32),
            client=jnp.zeros(position.shape, jnp.int32),
        )
