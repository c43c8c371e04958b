"""Locality-aware request distribution: a front end remembers who serves each target.

Pai et al., Locality-aware request distribution in cluster-based network servers, ASPLOS 1998, basic LARD, with that
paper's thresholds T_low 25 and T_high 65; dsptf section 4 runs it with a brick for a node.
"""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from storagekit.dispatch.base import OneChosen
from storagekit.errors import InputError
from storagekit.lanes import bit, first_min, pick, real
from storagekit.workload import fraction, scramble


class LARD(OneChosen):
    """A target goes to the least loaded replica when first asked for, and stays there unless that one is overloaded.

    It moves to the least loaded when its replica's load exceeds `high` while another's is below `low`, or reaches twice
    `high`. Load is requests waiting and in service. A target is an address hashed to one of `targets` entries, each a
    separate entry of the front end's table.

    allocated: the share of targets that a past long before the run has allocated at random; the paper warms
    LARD up until all are (dsptf, footnote 3).

    Private state: the replica of each target, -1 before its first request.
    """

    low: Float[Array, "..."] = eqx.field(converter=real, default=25.0)
    high: Float[Array, "..."] = eqx.field(converter=real, default=65.0)
    allocated: Float[Array, "..."] = eqx.field(converter=real, default=0.0)
    targets: int = eqx.field(static=True, default=4096)

    def __check_init__(self):
        if not np.all(np.asarray(self.low) <= np.asarray(self.high)):
            raise InputError(f"LARD thresholds {float(self.low):g} and {float(self.high):g}: low must not exceed high")
        if not np.all((np.asarray(self.allocated) >= 0) & (np.asarray(self.allocated) <= 1)):
            raise InputError(f"LARD targets allocated {float(self.allocated):g}: it is a share, between 0 and 1")
        if self.targets < 1:
            raise InputError(f"{self.targets} LARD targets: give at least 1")

    def init(self, slots, drives, lanes):
        return jnp.full((self.targets, *lanes), -1, jnp.int32)

    def route(self, private, request, entering, view):
        target = (request.address_hash % jnp.uint32(self.targets)).astype(jnp.int32)
        load = view.load()
        idlest, least = first_min(jnp.where(view.holders(), load, jnp.iinfo(jnp.int32).max))
        idlest = idlest - view.first
        copies = jnp.asarray(view.copies)
        remembered = pick(private, target)
        before = fraction(scramble(target)) < self.allocated
        past = (scramble(target + self.targets) % copies.astype(jnp.uint32)).astype(jnp.int32)
        home = jnp.where(before, past, remembered)
        known = jnp.where(remembered < 0, home, remembered)
        mine = pick(load, view.first + known).astype(jnp.float32)
        overloaded = ((mine > self.high) & (least < self.low)) | (mine >= 2 * self.high)
        chosen = jnp.where((known < 0) | overloaded, idlest, known)
        # a write is not routed, so that it leaves the table alone
        kept = jnp.where(entering & request.read, chosen, known)
        table = jnp.put_along_axis(private, target, kept, axis=0, inplace=False, mode="promise_in_bounds")
        return bit(chosen), table
