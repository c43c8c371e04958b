"""Requests of several clients to several logical volumes."""

from functools import partial
from itertools import accumulate
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Num, UInt32

from storagekit.arrays import AnyArray
from storagekit.checks import require, traced
from storagekit.errors import InputError
from storagekit.kinds import COUNT, SECTORS, several
from storagekit.lanes import each_named
from storagekit.workload.randomness import below, fraction, scramble
from storagekit.workload.requests import RandomRequests, Requests

# what tells the words for volume and client from each other, and from the one that they are made of
_VOLUME, _CLIENT = 0x9E3779B9, 0x7F4A7C15


def _sizes(volumes: Any) -> tuple[int, ...]:
    given = several(lambda _, one: one, of="sizes in sectors")("volumes", volumes)
    return tuple(SECTORS(f"sectors of volume {number}", one) for number, one in enumerate(given))


class VolumeRequests(RandomRequests):
    """Random requests, each to a logical volume, from one of several clients (ars, section 5).

    volumes: sectors of each, which lie end to end. shares: of the requests that go to each volume, one number or one for each
    lane, which sum to 1. clients: how many, each as likely to send a request. Within its volume, and never across its end, an
    address is one of `RandomRequests`; of the same numbers of a stream operation, size and client are the same whatever the
    shares. Raises InputError where the volumes are no place for such requests, or the shares no shares.
    """

    volumes: tuple[int, ...] = eqx.field(static=True, converter=_sizes, default=())
    shares: tuple[Float[AnyArray, "..."], ...] = eqx.field(converter=each_named("a volume's share"), default=())
    clients: int = eqx.field(static=True, converter=partial(COUNT, "clients"), default=1)

    def __check_init__(self):
        if not self.volumes or len(self.shares) != len(self.volumes):
            raise InputError(
                f"{len(self.shares)} shares of {len(self.volumes)} volumes: give one for each, at least one"
            )
        if not (traced(self.size.largest) or traced(self.locality)):
            largest = int(np.max(self.size.largest))
            for sectors in self.volumes:
                if sectors < (largest + self.alignment) * np.max(self.locality):
                    raise InputError(
                        f"a volume of {sectors} sectors: too small for requests of up to {largest}; make it larger"
                    )
        if any(traced(share) for share in self.shares):
            return
        for share in self.shares:
            require((np.asarray(share) >= 0) & (np.asarray(share) <= 1), "a volume's share", share, "between 0 and 1")
        total = np.asarray(sum(np.asarray(share, float) for share in self.shares))
        require(abs(total - 1) <= 1e-6, "shares of volumes that sum to", total, "1, to a millionth")

    @property
    def told_apart(self):
        return True

    def check(self, capacity: int | Num[AnyArray, "..."]) -> None:
        super().check(capacity)
        asked = sum(self.volumes)
        if np.any(np.asarray(capacity) < asked):
            raise InputError(f"volumes of {asked} sectors on a layout of {int(np.min(capacity))}: give it as many")

    def drawn(
        self,
        capacity: int | Num[AnyArray, "..."],
        one: tuple[UInt32[Array, "*row"], UInt32[Array, "*row"]],
        other: tuple[UInt32[Array, "*row"], UInt32[Array, "*row"]],
        number: Int[Array, "*row"],
    ) -> Requests:
        _, receiving = other
        volume = self._volume(scramble(receiving ^ jnp.uint32(_VOLUME)))
        begins = jnp.asarray(np.asarray([0, *accumulate(self.volumes)][:-1]), int)
        sizes = jnp.asarray(np.asarray(self.volumes), int)
        found = super().drawn(jnp.take(sizes, volume), one, other, number)
        sector = jnp.take(begins, volume) + found.sector
        return found._replace(
            sector=sector,
            address_hash=scramble(sector // self.alignment),
            client=below(scramble(receiving ^ jnp.uint32(_CLIENT)), jnp.int32(self.clients)),
        )

    def _volume(self, word: UInt32[Array, "*row"]) -> Int[Array, "*row"]:
        """The volume that a random word chooses."""
        uniform, total = fraction(word), sum(self.shares)
        # of a sum that rounding leaves beside 1 the last edge is still the end
        edges = [edge / total for edge in accumulate(self.shares)][:-1]
        return sum(((uniform >= edge).astype(jnp.int32) for edge in edges), jnp.zeros(uniform.shape, jnp.int32))
