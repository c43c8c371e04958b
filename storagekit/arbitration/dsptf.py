"""D-SPTF: every replica may serve a read, and the one with the shortest positioning time claims it (dsptf, section 3).

A brick chooses two latency bounds before its disk falls free and sends its bid, the predicted positioning time, to the other
replicas. A claim removes the read from the queue of its receiver. If two bricks choose the same read before they receive the
claim of the other, the lower bid serves it, of equal bids the lower part. The other brick gives it up when the better claim
arrives, and chooses again at once. A choice is issued to the disk when twice the bound has passed, so that the claims of
others have arrived: a disk whose access is shorter is idle until then (section 5.3.2). A brick whose disk is idle when it
chooses waits no longer than the rotation for which the access would wait anyway (section 3.1, figure 4), and loses no time.
If that is shorter, a better claim may arrive too late, and two bricks serve the read.
"""

from abc import abstractmethod
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array, Bool, Float, Int, UInt32

from storagekit.arbitration.base import AbstractArbitration, Bid, Decision, better_bid, slot_mask
from storagekit.component.events import BrickStopped, RequestAdmitted, StateSizes
from storagekit.core.arrays import AnyArray
from storagekit.core.batching import INSTANT, bit, bit_is_set, named, pick, whole
from storagekit.core.checks import require, require_kind, require_seconds
from storagekit.core.errors import InputError
from storagekit.core.kinds import SHARE, SPAN
from storagekit.workload import Requests, fraction, scramble


class AbstractDelivery(eqx.Module):
    """Delivery of claims."""

    @abstractmethod
    def deaf(self, request: Requests) -> UInt32[Array, "1 *batch"]:
        """Return the mask of the parts whose drives receive no claim on this request."""


class Reliable(AbstractDelivery):
    """All claims are delivered."""

    def deaf(self, request):
        return jnp.zeros_like(request.receiving)


class Lossy(AbstractDelivery):
    """A drive receives no claim on a request with probability `loss`, independently of other drives."""

    loss: Float[AnyArray, "..."] = eqx.field(converter=named("claim loss"))

    def __check_init__(self):
        SHARE.each("claim loss", self.loss)

    def deaf(self, request):
        masks = [
            (fraction(scramble(request.receiving + np.uint32(2654435761 * (d + 1) % 2**32))) < self.loss).astype(
                jnp.uint32
            )
            << d
            for d in range(32)
        ]
        return sum(masks, start=jnp.zeros_like(request.receiving))


class Claims(NamedTuple):
    """Private state of the read in each slot.

    first: time of the first claim, seconds from now; inf before it. first_owner, first_bid: its part and bid. owner, bid,
    made, start: part, bid and time of the best claim so far, and the time at which its access is issued. deaf: mask of the
    parts whose drives receive no claim. contested: whether several have claimed it.
    """

    first: Float[Array, "slot *batch"]
    first_owner: Int[Array, "slot *batch"]
    first_bid: Float[Array, "slot *batch"]
    owner: Int[Array, "slot *batch"]
    bid: Float[Array, "slot *batch"]
    made: Float[Array, "slot *batch"]
    start: Float[Array, "slot *batch"]
    deaf: UInt32[Array, "slot *batch"]
    contested: Bool[Array, "slot *batch"]


class DSPTFClaims(AbstractArbitration):
    """Distributed shortest positioning time first.

    Parameters
    ----------
    latency : float
        One-way latency of a message, seconds; 50 us in the paper.
    bound : float, optional
        Latency that bricks assume, seconds; by default `latency`.
    waits : int
        0 as in the paper. 1 if a brick whose disk is idle also waits two bounds before it begins, so that no read is served
        twice while claims arrive within the bound; it may miss a turn of the platter.
    delivery : AbstractDelivery
        Which claims are delivered.

    Notes
    -----
    A claim that arrives twice has no further effect. A late one may cost a second service; a brick that has not received it
    when the read completes counts as having received it then. Of claims in transit to one brick at the same time the first
    and the best count. With latency 0 this is the centralized ideal: one queue from which every idle drive chooses.
    """

    latency: Float[AnyArray, "..."]
    bound: Float[AnyArray, "..."]
    waits: Int[AnyArray, "..."]
    delivery: AbstractDelivery

    def __init__(
        self,
        latency: ArrayLike = 50e-6,
        *,
        bound: ArrayLike | None = None,
        waits: ArrayLike = 0,
        delivery: AbstractDelivery | None = None,
    ):
        self.latency = named("network latency")(latency)
        self.bound = named("latency bound")(latency if bound is None else bound)
        self.waits = named("waits", whole)(waits)
        give = "whether claims arrive, as sk.arbitration.Lossy(0.05)"
        self.delivery = require_kind("delivery", Reliable() if delivery is None else delivery, AbstractDelivery, give)

    def __check_init__(self):
        for label, time in (("network latency", self.latency), ("latency bound", self.bound)):
            SPAN.each(label, time)
            require_seconds(label, time, "latency")
        require((self.waits == 0) | (self.waits == 1), "waits", self.waits, "0 or 1")

    def check(self, needed):
        if needed > 1:
            raise InputError(
                f"claims on requests that need {needed} parts: D-SPTF settles who serves the one; use NoArbitration()"
            )

    @property
    def lead_time(self):
        return 2 * self.bound

    @property
    def network_latency(self):
        return self.latency

    def begins(self, free):
        idle = (free <= INSTANT) & (self.waits == 0)
        return jnp.maximum(free, jnp.where(idle, 0.0, self.lead_time))

    def issues(self, begins, rotation):
        return jnp.maximum(begins, jnp.minimum(self.lead_time, begins + rotation))

    def init(self, sizes: StateSizes) -> Claims:
        def full(value, kind=jnp.float32):
            return jnp.full((sizes.slots, *sizes.lanes), value, kind)

        never, nobody = full(jnp.inf), full(0, jnp.int32)
        return Claims(never, nobody, never, nobody, never, never, never, full(0, jnp.uint32), full(False, bool))

    def entered(self, private: Claims, moment: RequestAdmitted) -> Claims:
        into = moment.into
        return private._replace(
            first=jnp.where(into, jnp.inf, private.first),
            bid=jnp.where(into, jnp.inf, private.bid),
            deaf=jnp.where(into, self.delivery.deaf(moment.request), private.deaf),
            contested=private.contested & ~into,
        )

    def choosable_from(self, private: Claims, asked, receiving, part):
        forwarded = asked + jnp.where(receiving == part, 0.0, self.latency)
        hears = ~bit_is_set(private.deaf, part)
        # a claim that arrives with the read is heard after the choice, however its time was rounded
        rounding = jnp.minimum(self.latency, INSTANT)
        heard = (private.first + self.latency < -rounding) & hears
        return jnp.where(heard, jnp.inf, forwarded)

    def claim(self, private: Claims, claim: Bid) -> tuple[Decision, Claims]:
        before = Claims(*(pick(field, claim.slot) for field in private))
        rival, rival_bid, rival_start, deaf = before.owner, before.bid, before.start, before.deaf
        contested = claim.made & jnp.isfinite(rival_bid)
        better = better_bid(claim.bid, claim.part, rival_bid, rival)
        # a claim that arrives after its hearer's access has gone to the disk comes too late
        arrives, first_arrives = before.made + self.latency, before.first + self.latency
        latest = jnp.where(bit_is_set(deaf, claim.part), -jnp.inf, claim.start + INSTANT)
        by_best = ~better & (arrives <= latest)
        by_first = better_bid(before.first_bid, before.first_owner, claim.bid, claim.part) & (first_arrives <= latest)
        rival_hears = (self.latency <= rival_start + INSTANT) & ~bit_is_set(deaf, rival)
        rival_yields = contested & better & rival_hears
        verdict = Decision(
            kept=claim.made & ~(contested & (by_best | by_first)),
            retry=jnp.maximum(jnp.where(by_first, first_arrives, arrives), 0.0),
            # whoever loses has heard that the read is taken, so that it leaves the loser's queue
            withdrawn=bit(claim.part) | jnp.where(rival_yields, bit(rival), jnp.uint32(0)),
            contested=contested,
            first_contest=contested & ~before.contested,
            rival=rival,
            rival_yields=rival_yields,
            rival_retry=self.latency + jnp.zeros_like(arrives),
            answer=jnp.full_like(arrives, jnp.inf),
        )
        at = slot_mask(private.first, claim.slot, claim.made)
        best, first = at & better, at & jnp.isinf(private.first)
        return verdict, Claims(
            first=jnp.where(first, 0.0, private.first),
            first_owner=jnp.where(first, claim.part, private.first_owner),
            first_bid=jnp.where(first, claim.bid, private.first_bid),
            owner=jnp.where(best, claim.part, private.owner),
            bid=jnp.where(best, claim.bid, private.bid),
            made=jnp.where(best, 0.0, private.made),
            start=jnp.where(best, claim.start, private.start),
            deaf=private.deaf,
            contested=private.contested | (at & contested),
        )

    def stopped(self, private: Claims, moment: BrickStopped) -> Claims:
        first, bid = (jnp.where(moment.lost, jnp.inf, field) for field in (private.first, private.bid))
        return private._replace(first=first, bid=bid)

    def stale_copies(self, private: Claims, waiting):
        return waiting & private.deaf

    def elapse(self, private: Claims, time) -> Claims:
        return private._replace(first=private.first - time, made=private.made - time, start=private.start - time)
