"""Requests of several clients to several logical volumes."""

from collections.abc import Sequence
from functools import partial, reduce
from itertools import accumulate
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Num, UInt32

from storagekit.core.arrays import AnyArray
from storagekit.core.batching import addresses, each_named
from storagekit.core.errors import InputError
from storagekit.core.validation import COUNT, SECTORS, require, several, traced
from storagekit.workload.randomness import below, fraction, scramble
from storagekit.workload.requests import RandomRequests, Requests

# constants that make the random words for volume and client differ from each other and from the word they come from
_VOLUME, _CLIENT = 0x9E3779B9, 0x7F4A7C15


def _sizes(volumes: Any) -> tuple[Int[AnyArray, "..."], ...]:
    given = several(lambda _, one: one, of="sizes in sectors")("volumes", volumes)
    return tuple(addresses(SECTORS.each(f"sectors of volume {number}", one)) for number, one in enumerate(given))


class VolumeRequests(RandomRequests):
    """Random requests to several logical volumes, from several clients.

    Parameters
    ----------
    size : AbstractSize
        Distribution of the size.
    read_share : float
        Share of reads, from 0 to 1; one number, or one for each run.
    locality : float
        Seek locality L within each volume, at least 1; by default 1. See `RandomRequests`.
    alignment : int
        Start addresses are multiples of this number of sectors; by default 8, which is 4 KB.
    volumes : sequence of int
        Size of each volume, sectors: one number, or one for each run. Volumes lie end to end.
    shares : sequence of float
        Share of the requests that access each volume: one number, or one for each run. The shares sum to 1.
    clients : int
        Number of clients; by default 1. Each client is equally likely to send a request.

    Raises
    ------
    InputError
        If a volume is too small for its requests, or the shares do not sum to 1.

    Notes
    -----
    Addresses within a volume are drawn as in `RandomRequests`. No request crosses the end of its volume. The
    operation, size and client of a request do not depend on the shares.

    References
    ----------
    (ars, section 5).
    """

    volumes: tuple[Int[AnyArray, "..."], ...] = eqx.field(converter=_sizes, default=())
    shares: tuple[Float[AnyArray, "..."], ...] = eqx.field(converter=each_named("a volume's share"), default=())
    clients: int = eqx.field(static=True, converter=partial(COUNT, "clients"), default=1)

    def __check_init__(self):
        if not self.volumes or len(self.shares) != len(self.volumes):
            raise InputError(
                f"{len(self.shares)} shares of {len(self.volumes)} volumes: give one share for each volume, and at "
                "least one volume"
            )
        if not (traced(self.size.largest) or traced(self.locality) or any(traced(one) for one in self.volumes)):
            largest = int(np.max(self.size.largest))
            for sectors in self.volumes:
                if np.min(sectors) < (largest + self.alignment) * np.max(self.locality):
                    raise InputError(
                        f"a volume of {np.min(sectors)} sectors: too small for requests of up to {largest} sectors; "
                        "use larger volumes"
                    )
        if any(traced(share) for share in self.shares):
            return
        for share in self.shares:
            require((np.asarray(share) >= 0) & (np.asarray(share) <= 1), "a volume's share", share, "between 0 and 1")
        total = np.asarray(sum(np.asarray(share, float) for share in self.shares))
        require(abs(total - 1) <= 1e-6, "sum of the shares of volumes", total, "1, with a tolerance of 1e-6")

    @property
    def stores_streams(self):
        return True

    def check(self, capacity: int | Num[AnyArray, "..."]) -> None:
        super().check(capacity)
        if traced(capacity) or any(traced(one) for one in self.volumes):
            return
        needed, available = np.broadcast_arrays(sum(one.astype(np.int64) for one in self.volumes), np.asarray(capacity))
        if np.any(beyond := available < needed):
            raise InputError(
                f"volumes of {needed[beyond][0]} sectors in total on a layout of {available[beyond][0]:.0f} sectors: use "
                "smaller volumes or a larger layout"
            )

    def drawn(
        self,
        capacity: int | Num[AnyArray, "..."],
        one: tuple[UInt32[Array, "*row"], UInt32[Array, "*row"]],
        other: tuple[UInt32[Array, "*row"], UInt32[Array, "*row"]],
        number: Int[Array, "*row"],
    ) -> Requests:
        _, receiving = other
        volume = self._volume(scramble(receiving ^ jnp.uint32(_VOLUME)))
        sizes = [jnp.asarray(one, int) for one in self.volumes]
        begins = [jnp.zeros_like(sizes[0]), *accumulate(sizes)][:-1]
        found = super().drawn(_numbered(sizes, volume), one, other, number)
        sector = _numbered(begins, volume) + found.sector
        return found._replace(
            sector=sector,
            address_hash=scramble(sector // self.alignment),
            client=below(scramble(receiving ^ jnp.uint32(_CLIENT)), jnp.int32(self.clients)),
        )

    def _volume(self, word: UInt32[Array, "*row"]) -> Int[Array, "*row"]:
        """Return the volume that a random word (32 bits) selects."""
        uniform, total = fraction(word), sum(self.shares)
        # relative to the sum, which rounding may make different from 1
        edges = [edge / total for edge in accumulate(self.shares)][:-1]
        return sum(((uniform >= edge).astype(jnp.int32) for edge in edges), jnp.zeros(uniform.shape, jnp.int32))


def _numbered(values: Sequence[Int[AnyArray, "*#row"]], number: Int[Array, "*row"]) -> Int[Array, "*row"]:
    """Return, for each entry of `number`, the value in `values` with this number."""
    return reduce(lambda chosen, new: jnp.where(number == new[0], new[1], chosen), enumerate(values[1:], 1), values[0])
