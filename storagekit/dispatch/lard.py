"""Locality-aware request distribution (LARD): a front end stores the replica that serves each target.

The model is basic LARD, with its thresholds T_low 25 and T_high 65. dsptf, section 4, applies LARD with bricks as
nodes.

References
----------
Pai et al., Locality-aware request distribution in cluster-based network servers, ASPLOS 1998.
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
from storagekit.core.errors import InputError
from storagekit.core.validation import COUNT, SHARE, SPAN, Validator, traced, written
from storagekit.dispatch.base import AsManyAsNeeded
from storagekit.workload import fraction, scramble

# Validator of a threshold in requests. With an infinite threshold no drive is overloaded.
THRESHOLD = Validator(least=0, endless=True)

# Validator of the number of entries of the table.
TARGETS = COUNT.up_to(2**24)


class LARDTable(NamedTuple):
    """Private state of the front end.

    Parameters
    ----------
    replica : array of int32, shape `[target, *batch]`
        Replica of each target; -1 before its first request.
    load : array of float32, shape `[drive, *batch]`
        Mean load of each drive in the last window, requests.
    total : array of float32, shape `[drive, *batch]`
        Sum of the loads at the arrivals of the current window, requests.
    arrivals : array of float32, shape `[1, *batch]`
        Number of arrivals in the current window.
    left : array of float32, shape `[1, *batch]`
        Time in seconds until the current window ends.
    """

    replica: Int[Array, "target *batch"]
    load: Float[Array, "drive *batch"]
    total: Float[Array, "drive *batch"]
    arrivals: Float[Array, "1 *batch"]
    left: Float[Array, "1 *batch"]


class LARD(AsManyAsNeeded):
    """Send all requests for a target to one replica, until this replica is overloaded.

    A target is the set of addresses that hash to one entry of a table. At its first request a target is assigned to the
    replica with the lowest load. It moves to the replica with the lowest load under either of two conditions. In the
    first, the load of its present replica exceeds `high` while the lowest load is below `low`. In the second, the load
    of its present replica reaches twice `high`.

    Parameters
    ----------
    low, high : float
        Thresholds of the load, requests, by default 25 and 65, respectively. They may be inf, but not negative, and
        `low` must not exceed `high`.
    allocated : float
        Fraction of the targets that have a random replica before the run, by default 0. The paper warms LARD up until
        all targets have a replica (dsptf, footnote 3).
    window : float
        Length of a window, seconds. By default 0: the load is the number of requests, waiting and in service, at each
        arrival. With a window above 0, the load is the mean of the numbers of requests at the arrivals of the last
        complete window.
    targets : int
        Number of entries of the table of the front end, by default 4096, at most 2^24.

    Raises
    ------
    InputError
        If a value is out of range.
    """

    low: Float[AnyArray, "..."] = eqx.field(converter=named("a LARD threshold of"), default=25.0)
    high: Float[AnyArray, "..."] = eqx.field(converter=named("a LARD threshold of"), default=65.0)
    allocated: Float[AnyArray, "..."] = eqx.field(converter=named("fraction of LARD targets allocated"), default=0.0)
    window: Float[AnyArray, "..."] = eqx.field(converter=named("LARD window"), default=0.0)
    targets: int = eqx.field(static=True, default=4096, converter=partial(TARGETS, "LARD targets"))

    def __check_init__(self):
        for threshold in (self.low, self.high):
            THRESHOLD.each("a LARD threshold of", threshold)
        if not traced(self.low, self.high) and np.any(self.low > self.high):
            low, high = (written(np.ravel(one)[0]) for one in (self.low, self.high))
            raise InputError(f"LARD thresholds {low} and {high}: low must not exceed high")
        SHARE.each("fraction of LARD targets allocated", self.allocated)
        SPAN.each("LARD window", self.window)

    def init(self, sizes: StateSizes) -> LARDTable:
        def none(count):
            return jnp.zeros((count, *sizes.batch), jnp.float32)

        replica = jnp.full((self.targets, *sizes.batch), -1, jnp.int32)
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
        mine = pick(load, view.placement.drive_of(known, view.location))
        overloaded = ((mine > self.high) & (least < self.low)) | (mine >= 2 * self.high)
        chosen = jnp.where((known < 0) | overloaded, idlest, known)
        # Writes do not change the table, because they are not routed.
        kept = jnp.where(entering & request.read, chosen, known)
        return bit(chosen), private._replace(replica=put(private.replica, target, kept))

    def elapse(self, private: LARDTable, time):
        return private._replace(left=private.left - time)

    def _watched(
        self, private: LARDTable, load: Float[Array, "drive *batch"], entering: Bool[Array, "1 *batch"]
    ) -> LARDTable:
        """Add the loads at an arrival to the table, close the window if its time has passed, and return the table."""
        total = private.total + jnp.where(entering, load, 0.0)
        arrivals = private.arrivals + entering
        over = entering & (private.left <= 0)
        return private._replace(
            load=jnp.where(over, total / jnp.maximum(arrivals, 1.0), private.load),
            total=jnp.where(over, 0.0, total),
            arrivals=jnp.where(over, 0.0, arrivals),
            left=jnp.where(over, self.window, private.left),
        )
