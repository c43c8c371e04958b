"""Requests, and the model that draws them at random."""

from abc import abstractmethod
from functools import partial
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Num, UInt32

from storagekit.core.arrays import AnyArray
from storagekit.core.batching import MOST_WHOLE, named
from storagekit.core.errors import InputError
from storagekit.core.validation import Validator, instance_of, traced
from storagekit.workload.randomness import anywhere, fraction, scramble, words
from storagekit.workload.sizes import AbstractSize

# validator of the number of sectors between possible start addresses
GRID = Validator(least=1, most=MOST_WHOLE, unit="sectors", whole=True)
SIZE = "a distribution of sizes, such as sk.workload.FixedSize(4096)"


class Requests(NamedTuple):
    """Requests, one per row.

    Parameters
    ----------
    number : array of int, shape `[*row]`
        Position in the workload, from 0.
    sector, sectors : array of int, shape `[*row]`
        Logical address and length, in sectors of 512 bytes. An address has 32 bits, or 64 bits in a system with
        addresses of 2^31 and more.
    read : array of bool, shape `[*row]`
        Whether the request is a read.
    receiving : array of uint32, shape `[*row]`
        Random bits that select the brick that receives the request from the client.
    address_hash : array of uint32, shape `[*row]`
        A hash of the address, equal for equal addresses.
    asynchronous : array of bool, shape `[*row]`
        Whether no client waits for the request: a write, or an access of a background stream.
    stream : array of int, shape `[*row]`
        The stream of the request.
    client : array of int, shape `[*row]`
        The client that sends the request; for `Threads`, the thread.
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


def empty_request(batch: tuple[int, ...]) -> Requests:
    """Return placeholder requests for the first sector, which only define the structure of a request.

    Parameters
    ----------
    batch : tuple of int
        Shape of the batch.

    Returns
    -------
    Requests
        One request of one sector for each run, arrays of shape `[1, *batch]`.
    """
    nothing, words = jnp.zeros((1, *batch), jnp.int32), jnp.zeros((1, *batch), jnp.uint32)
    return Requests(
        nothing, nothing.astype(int), nothing + 1, nothing == 0, words, words, nothing != 0, nothing, nothing
    )


class AbstractRequests(eqx.Module):
    """Base class of models that draw requests at random."""

    @property
    @abstractmethod
    def largest(self) -> Int[AnyArray, "..."]:
        """Return the length of the largest request in sectors."""

    @property
    def stream_count(self) -> int:
        """Return the number of streams. Streams are numbered from 0."""
        return 1

    @property
    def stores_streams(self) -> bool:
        """Return whether the engine stores the stream and the client of each request."""
        return False

    @abstractmethod
    def check(self, capacity: int | Num[AnyArray, "..."]) -> None:
        """Raise InputError if a request does not fit in `capacity` sectors."""

    def draw(
        self,
        capacity: int | Num[AnyArray, "..."],
        key: UInt32[AnyArray, "2 *batch"],
        first: Int[AnyArray, "1 *batch"],
        count: int,
    ) -> Requests:
        """Return successive requests of a stream.

        Parameters
        ----------
        capacity : int
            Size of the system, sectors. All requests are within it.
        key : uint32 array, shape `[2, *batch]`
            Key of the random numbers of each run.
        first : int array, shape `[1, *batch]`
            Number of the first request.
        count : int
            Number of requests.

        Returns
        -------
        Requests
            The requests with numbers `first` to `first` + `count` - 1, arrays of shape `[count, *batch]`.
        """
        counters = jnp.arange(count, dtype=jnp.int32).reshape((count,) + (1,) * (first.ndim - 1))
        return self.drawn(capacity, words(key, first, count, 0), words(key, first, count, 1), first + counters)

    @abstractmethod
    def drawn(
        self,
        capacity: int | Num[AnyArray, "..."],
        one: tuple[UInt32[Array, "*row"], UInt32[Array, "*row"]],
        other: tuple[UInt32[Array, "*row"], UInt32[Array, "*row"]],
        number: Int[Array, "*row"],
    ) -> Requests:
        """Return the requests that two pairs of random words (32 bits each) determine.

        Parameters
        ----------
        capacity : int
            Size of the system, sectors. All requests are within it.
        one : tuple of two uint32 arrays, shape `[*row]`
            Words for the address and the size.
        other : tuple of two uint32 arrays, shape `[*row]`
            Words for the operation and the receiving brick.
        number : int array, shape `[*row]`
            Numbers of the requests.

        Returns
        -------
        Requests
            Arrays of shape `[*row]`.
        """


class RandomRequests(AbstractRequests):
    """Small random requests with uniform addresses, independent sizes and a given share of reads.

    Parameters
    ----------
    size : AbstractSize
        Distribution of the size.
    read_share : float
        Share of reads, from 0 to 1; one number, or one for each run.
    locality : float
        Seek locality L of (srarray, Table 3), at least 1; by default 1. Addresses are within the first 1/L of the
        capacity. The mean seek distance is therefore 1/L of the distance over the whole capacity.
    alignment : int
        Start addresses are multiples of this number of sectors; by default 8, which is 4 KB.

    Raises
    ------
    InputError
        If a value is out of its range.
    """

    size: AbstractSize = eqx.field(converter=partial(instance_of(AbstractSize, SIZE), "size of requests"))
    read_share: Float[AnyArray, "..."] = eqx.field(converter=named("read share"))
    locality: Float[AnyArray, "..."] = eqx.field(converter=named("locality"), default=1.0)
    alignment: int = eqx.field(static=True, converter=partial(GRID, "alignment"), default=8)

    def __check_init__(self):
        if not traced(self.read_share):
            share = np.asarray(self.read_share)
            wrong = share[~((share >= 0) & (share <= 1))]
            if wrong.size:
                raise InputError(f"read share {float(wrong[0]):g}: it must be between 0 and 1")
        if not traced(self.locality):
            local = np.asarray(self.locality)
            if not np.all((local >= 1) & np.isfinite(local)):
                raise InputError(
                    f"locality {float(local.max()):g}: it must be at least 1 (uniform addresses) and finite"
                )

    @property
    def largest(self) -> Int[AnyArray, "..."]:
        return self.size.largest

    def check(self, capacity: int | Num[AnyArray, "..."]) -> None:
        """Raise InputError if a request does not fit in `capacity` sectors.

        The size that must fit is `AbstractSize.room`: the largest size, or the mean of an unbounded distribution.
        """
        needed = self.size.room
        if traced(needed) or traced(capacity):
            return
        needed, available = np.broadcast_arrays(needed, capacity)
        if np.any(beyond := needed > available):
            raise InputError(
                f"requests of {needed[beyond][0]} sectors to a system of {available[beyond][0]:.0f} sectors: give "
                "smaller requests, or more drives"
            )

    def drawn(
        self,
        capacity: int | Num[AnyArray, "..."],
        one: tuple[UInt32[Array, "*row"], UInt32[Array, "*row"]],
        other: tuple[UInt32[Array, "*row"], UInt32[Array, "*row"]],
        number: Int[Array, "*row"],
    ) -> Requests:
        (where, size), (operation, receiving) = one, other
        reached = (jnp.asarray(capacity, float) / self.locality).astype(int)
        count = (jnp.minimum(reached, capacity) - self.size.largest) // self.alignment
        position = anywhere(where, scramble(receiving ^ scramble(where)), jnp.maximum(count, 1))
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
