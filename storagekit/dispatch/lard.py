"""Locality-aware request distribution: a front end stores the replica that serves each target.

Pai et al., Locality-aware request distribution in cluster-based network servers, ASPLOS 1998: basic LARD, with its
thresholds T_low 25 and T_high 65. dsptf, section 4, runs it with bricks as nodes.
"""

from functools import partial
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from storagekit.component.events import StateSizes
from storagekit.core.arrays import AnyArray
from storagekit.core.batching import bit, first_min, named, pick, put
from storagekit.core.checks import traced, written
from storagekit.core.errors import InputError
from storagekit.core.kinds import COUNT, SHARE, SPAN, Kind
from storagekit.dispatch.base import AsManyAsNeeded
from storagekit.workload import fraction, scramble

# requests; nobody is overloaded beyond infinity
THRESHOLD = Kind(least=0, endless=True)


# of a table of 32 bits each
TARGETS = COUNT.up_to(2**24)


class LARDTable(NamedTuple):
    """Private state.

    replica: of each target, -1 before its first request. load: mean load of each drive in the last window. total, arrivals:
    sums of the current window, which lasts for `left` seconds more.
    """

    replica: Int[Array, "target *batch"]
    load: Float[Array, "drive *batch"]
    total: Float[Array, "drive *batch"]
    arrivals: Float[Array, "1 *batch"]
    left: Float[Array, "1 *batch"]


class LARD(AsManyAsNeeded):
    """Send a target to the least loaded replica at its first request, and to the same one later unless that is overloaded.

    It moves to the least loaded replica when the load of its own exceeds `high` while that of another is below `low`, or
    reaches twice `high`. Load is the number of requests waiting and in service, or with a `window` their mean at the
    arrivals of the last whole window.

    Parameters
    ----------
    low, high : float
        Thresholds, requests.
    allocated : float
        Fraction of the targets that have a random replica before the run; the paper warms LARD up until all have (dsptf,
        footnote 3).
    window : float
        Length of a window, seconds; 0 for the load at each arrival.
    targets : int
        Entries of the table of the front end. A target is an address hashed to one of them.

    Raises
    ------
    InputError
        If a number is out of range.
    """

    low: Float[AnyArray, "..."] = eqx.field(converter=named("a LARD threshold of"), default=25.0)
    high: Float[AnyArray, "..."] = eqx.field(converter=named("a LARD threshold of"), default=65.0)
    allocated: Float[AnyArray, "..."] = eqx.field(converter=named("LARD targets allocated"), default=0.0)
    window: Float[AnyArray, "..."] = eqx.field(converter=named("LARD window"), default=0.0)
    targets: int = eqx.field(static=True, default=4096, converter=partial(TARGETS, "LARD targets"))

    def __check_init__(self):
        for threshold in (self.low, self.high):
            THRESHOLD.each("a LARD threshold of", threshold)
        if not traced(self.low, self.high) and np.any(self.low > self.high):
            low, high = (written(np.ravel(one)[0]) for one in (self.low, self.high))
            raise InputError(f"LARD thresholds {low} and {high}: low must not exceed high")
        SHARE.each("LARD targets allocated", self.allocated)
        SPAN.each("LARD window", self.window)

    def init(self, sizes: StateSizes) -> LARDTable:
        def none(count):
            return jnp.zeros((count, *sizes.lanes), jnp.float32)

        replica = jnp.full((self.targets, *sizes.lanes), -1, jnp.int32)
        return LARDTable(replica, none(sizes.drives), none(sizes.drives), none(1), none(1))

    def route(self, private: LARDTable, request, entering, view):
        target = (request.address_hash % jnp.uint32(self.targets)).astype(jnp.int32)
        now = view.load().astype(jnp.float32)
        private = self._watched(private, now, entering)
        load = jnp.where(self.window > 0, private.load, now)
        idlest, least = first_min(jnp.where(view.holders(), load, jnp.inf))
        idlest, parts = pick(view.part(), idlest), view.parts
        remembered = pick(private.replica, target)
        before = fraction(scramble(target)) < self.allocated
        past = (scramble(target + self.targets) % parts.astype(jnp.uint32)).astype(jnp.int32)
        home = jnp.where(before, past, remembered)
        known = jnp.where(remembered < 0, home, remembered)
        mine = pick(load, view.placement.drive_of(known, view.place))
        overloaded = ((mine > self.high) & (least < self.low)) | (mine >= 2 * self.high)
        chosen = jnp.where((known < 0) | overloaded, idlest, known)
        # a write is not routed, so that it leaves the table alone
        kept = jnp.where(entering & request.read, chosen, known)
        return bit(chosen), private._replace(replica=put(private.replica, target, kept))

    def elapse(self, private: LARDTable, time):
        return private._replace(left=private.left - time)

    def _watched(
        self, private: LARDTable, load: Float[Array, "drive *batch"], entering: Bool[Array, "1 *batch"]
    ) -> LARDTable:
        """Return the table after the loads at an arrival are counted, and a window that is over has become the last one."""
        total = private.total + jnp.where(entering, load, 0.0)
        arrivals = private.arrivals + entering
        over = entering & (private.left <= 0)
        return private._replace(
            load=jnp.where(over, total / jnp.maximum(arrivals, 1.0), private.load),
            total=jnp.where(over, 0.0, total),
            arrivals=jnp.where(over, 0.0, arrivals),
            left=jnp.where(over, self.window, private.left),
        )
