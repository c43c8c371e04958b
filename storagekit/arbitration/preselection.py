"""D-SPTF as the paper ars implements it, for nodes without NVRAM and for data that needs several parts.

Reads and writes are treated alike. A client sends a request to all nodes that hold its data. A drive chooses its next
part before it becomes idle. It immediately sends a claim to the other drives, with the duration of the access as its
bid. When the drive becomes idle, it serves the part unless it has received enough better bids. The bids are enough if
their number is at least the number of parts that the data needs. The paper does not describe idle drives; see
`PreselectionBids.waits`.

References
----------
ars, section 5.
"""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array, Bool, Float, Int, UInt32

from storagekit.arbitration.base import AbstractArbitration, Bid, Decision, better_bid
from storagekit.component.events import BrickStopped, RequestAdmitted, StateSizes
from storagekit.core.arrays import AnyArray
from storagekit.core.batching import (
    INSTANT,
    bit,
    bit_is_set,
    count,
    min_row,
    named,
    nth_least,
    pick,
    real,
    row_index,
    whole,
)
from storagekit.core.validation import SPAN, require, require_seconds, traced


class Bids(NamedTuple):
    """Private state of the claims on all parts.

    Times are seconds from now.

    Parameters
    ----------
    bid : array of float32, shape `[part, slot, *batch]`
        Bid of the claim on each part of each request, seconds; inf without a claim.
    claim_time : array of float32, shape `[part, slot, *batch]`
        Time of the claim.
    start : array of float32, shape `[part, slot, *batch]`
        Start of the claimed access; -inf if the drive gave the access up.
    needed : array of int32, shape `[slot, *batch]`
        Number of parts that each request needs.
    """

    bid: Float[Array, "part slot *batch"]
    claim_time: Float[Array, "part slot *batch"]
    start: Float[Array, "part slot *batch"]
    needed: Int[Array, "slot *batch"]

    def with_claims(
        self,
        slot: Int[Array, "1 *batch"],
        bid: Float[Array, "part *batch"],
        claim_time: Float[Array, "part *batch"],
        start: Float[Array, "part *batch"],
    ) -> "Bids":
        """Return the state with new claims on the parts of one request.

        Parameters
        ----------
        slot : array of int32, shape `[1, *batch]`
            Slot of the request.
        bid, claim_time, start : array of float32, shape `[part, *batch]`
            Bid, time and start of the access of each claim, as in the fields of the state.

        Returns
        -------
        Bids
            The new state.
        """
        at = (row_index(self.needed.shape[0], self.needed) == slot)[None]
        fields = ((bid, self.bid), (claim_time, self.claim_time), (start, self.start))
        return Bids(*(jnp.where(at, new[:, None], old) for new, old in fields), needed=self.needed)

    def forgotten(self, which: Bool[Array, "#part slot *batch"]) -> "Bids":
        """Return the state without the claims that are marked in `which`, `[part, slot, *batch]`."""
        bid, claim_time, start = (jnp.where(which, jnp.inf, field) for field in (self.bid, self.claim_time, self.start))
        return Bids(bid, claim_time, start, self.needed)


class PreselectionBids(AbstractArbitration):
    """Claims with the duration of the access as the bid.

    A drive gives up a part when enough better claims have arrived. The claims are enough if their number is at least
    the number of parts that the data needs. A claim that arrives after its receiver has begun the access is too late,
    and the receiver then serves a part that is not needed. A drive that has received enough claims on a request does
    not choose this request. If bids are equal, the bid for the part with the lower number is better.

    Parameters
    ----------
    latency : float
        Time in seconds that a claim takes to reach the other nodes, by default 0.1e-3.
    ahead : float, optional
        Time in seconds between the choice of a drive and the end of its present access. By default twice the latency,
        so that the claims of other drives have arrived before that end.
    waits : int
        Behaviour of an idle drive, by default 0. 0: it begins immediately. 1: it waits for `ahead` before it begins, so
        that no claim arrives too late. 2: it waits for `ahead`, but at most for the rotational latency, which delays no
        access (dsptf, section 3.1).

    Raises
    ------
    InputError
        If a number is out of range.
    """

    latency: Float[AnyArray, "..."]
    ahead: Float[AnyArray, "..."]
    waits: Int[AnyArray, "..."]

    def __init__(self, latency: ArrayLike = 0.1e-3, *, ahead: ArrayLike | None = None, waits: ArrayLike = 0):
        self.waits = named("waits", whole)(waits)
        self.latency = named("network latency")(latency)
        # The default is computed in 64 bits, before the conversion to 32 bits.
        twice = 2 * (latency if traced(latency) else np.asarray(latency, np.float64))
        self.ahead = named("lead time of the selection")(twice if ahead is None else ahead)

    def __check_init__(self):
        for label, time in (("network latency", self.latency), ("lead time of the selection", self.ahead)):
            SPAN.each(label, time)
            require_seconds(label, time, "latency")
        require((self.waits >= 0) & (self.waits <= 2), "waits", self.waits, "0, 1 or 2")

    @property
    def lead_time(self):
        return self.ahead

    @property
    def network_latency(self):
        return real(0)

    @property
    def uses_completions(self):
        return True

    def begins(self, free):
        return jnp.maximum(free, jnp.where(self.waits == 1, self.ahead, 0.0))

    def issues(self, begins, rotation):
        return jnp.where(self.waits == 2, jnp.maximum(begins, jnp.minimum(self.ahead, begins + rotation)), begins)

    @property
    def remembers(self):
        return False

    def init(self, sizes: StateSizes) -> Bids:
        never = jnp.full((sizes.parts, sizes.slots, *sizes.batch), jnp.inf, jnp.float32)
        return Bids(never, never, never, jnp.ones((sizes.slots, *sizes.batch), jnp.int32))

    def on_admitted(self, private: Bids, event: RequestAdmitted) -> Bids:
        into, needed = event.slot_mask, event.placement.needed_of(event.location)
        return private.forgotten(into[None])._replace(needed=jnp.where(into, needed, private.needed))

    def choosable_from(self, private: Bids, sent, receiving, part):
        # A claim that arrives at this instant is too late, even if its time is rounded down.
        received = [(claim_time + self.latency < -INSTANT).astype(jnp.int32) for claim_time in private.claim_time]
        return jnp.where(sum(received[1:], start=received[0]) >= private.needed, jnp.inf, sent)

    def claim(self, private: Bids, claim: Bid) -> tuple[Decision, Bids]:
        bids = tuple(_of_slot(field, claim.slot) for field in private[:3])
        claimed, claim_time, start = bids
        needed = pick(private.needed, claim.slot)
        part = row_index(claimed.shape[0], claimed)
        better = better_bid(claimed, part, claim.access_time, claim.part)
        arrives = claim_time + self.latency
        received = better & (arrives <= claim.start + INSTANT)
        granted = claim.valid & (count(received) < needed)
        worst, gives_up = self._displaced(claimed, start, ~better, needed)
        gives_up = gives_up & granted
        # Drives that have received a claim are not notified when the claim is given up.
        start = jnp.where((part == worst) & gives_up, -jnp.inf, start)
        own = (part == claim.part) & claim.valid
        bid = jnp.where(own, claim.access_time, claimed)
        start = jnp.where(own, jnp.where(granted, claim.start, -jnp.inf), start)
        after = private.with_claims(claim.slot, bid, jnp.where(own, 0.0, claim_time), start)
        # Arrival of the better claim that makes the drive give up the part: the `needed`th to arrive.
        enough = jnp.maximum(nth_least(jnp.where(received, arrives, jnp.inf), needed), 0.0)
        ends = jnp.where(jnp.isfinite(start), start + bid, jnp.inf)
        others = count(jnp.isfinite(claimed))
        contested = claim.valid & (others >= needed)
        return Decision(
            granted=granted,
            retry=jnp.where(jnp.isfinite(enough), enough, 0.0),
            withdrawn=bit(claim.part),
            contested=contested,
            first_contest=contested & (others == needed),
            rival=worst,
            rival_yields=gives_up,
            rival_retry=self.latency + jnp.zeros_like(claim.bid),
            completion=nth_least(ends, needed),
        ), after

    def _displaced(
        self,
        claimed: Float[Array, "part *batch"],
        start: Float[Array, "part *batch"],
        worse: Bool[Array, "part *batch"],
        needed: Int[Array, "1 *batch"],
    ) -> tuple[Int[Array, "1 *batch"], Bool[Array, "1 *batch"]]:
        """Return the part that another drive must give up because of the new claim, and whether there is such a part.

        Candidates are the parts with a worse claim whose drives can still receive the new claim. The result is the
        candidate with the worst claim. Its drive must give up the candidate if the number of better claims,
        including the new claim, reaches the number of parts that the data needs. At most one part is given up. If two
        drives receive the new claim, the drive with the worse claim has also received the claim of the other drive. It
        therefore counts one better claim more than the other drive.
        """
        receives = worse & jnp.isfinite(claimed) & (self.latency <= start + INSTANT)
        part = row_index(claimed.shape[0], claimed)
        highest = -min_row(jnp.where(receives, -claimed, jnp.inf))
        worst = -min_row(jnp.where(receives & (claimed >= highest - INSTANT), -part, 0))
        ahead = count(better_bid(claimed, part, pick(claimed, worst), worst)) + 1
        return worst, jnp.isfinite(highest) & (ahead >= needed)

    def on_brick_stopped(self, private: Bids, event: BrickStopped) -> Bids:
        # Claims on requests that are sent again, and claims on aborted accesses, no longer count.
        every = jnp.where(event.lost, jnp.uint32(0xFFFFFFFF), event.aborted)
        return private.forgotten(
            jnp.stack([bit_is_set(every, jnp.int32(part)) for part in range(private.bid.shape[0])])
        )

    def stale_copies(self, private: Bids, waiting: UInt32[Array, "slot *batch"]):
        return jnp.zeros_like(waiting)

    def elapse(self, private: Bids, time) -> Bids:
        return private._replace(claim_time=private.claim_time - time[None], start=private.start - time[None])


def _of_slot(field: Float[Array, "part slot *batch"], slot: Int[Array, "1 *batch"]) -> Float[Array, "part *batch"]:
    """Return the field for every part of the request in `slot`."""
    return jnp.take_along_axis(field, slot[None], axis=1, mode="clip")[:, 0]
