"""D-SPTF: every replica may serve a read, and the replica with the shortest positioning time claims it.

A brick assumes that the latency of a message has an upper bound. It chooses its next read before its disk becomes idle.
The choice precedes the end of the present access by twice this bound. The brick then sends a claim to the other
replicas with its bid, the predicted positioning time. A brick that receives a claim removes the read from its queue.
Two bricks may choose the same read before each of them receives the claim of the other. Then the brick with the lower
bid serves the read. If the bids are equal, the brick whose part has the lower number serves the read. The other brick
gives the read up when the better claim arrives, and immediately chooses again.

A brick issues its choice to the disk twice the bound after the choice, because the claims of other bricks have then
arrived. If the present access of the disk ends earlier, the disk is idle until then (section 5.3.2). If the disk is
already idle when the brick chooses, the brick waits at most for the rotational latency of the access. This wait does
not delay the end of the access (section 3.1, figure 4). If the rotational latency is shorter than the delay of claims,
a better claim may arrive too late, and two bricks serve the read.

References
----------
dsptf, section 3.
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
from storagekit.core.batching import INSTANT, bit, bit_is_set, named, pick, row_index, union, whole
from storagekit.core.errors import InputError
from storagekit.core.validation import SHARE, SPAN, instance_of, require, require_seconds
from storagekit.placement import MOST_PARTS
from storagekit.workload import Requests, fraction, scramble


class AbstractDelivery(eqx.Module):
    """Base class of the models of the delivery of claims."""

    @abstractmethod
    def unreached(self, request: Requests) -> UInt32[Array, "1 *batch"]:
        """Return the mask of the parts whose drives receive no claim on a request.

        Parameters
        ----------
        request : Requests
            The request, arrays of shape `[1, *batch]`.

        Returns
        -------
        array of uint32, shape `[1, *batch]`
            Mask of the parts, bit k for part k.
        """


class Reliable(AbstractDelivery):
    """Deliver all claims."""

    def unreached(self, request):
        return jnp.zeros_like(request.receiving)


class Lossy(AbstractDelivery):
    """At each drive, lose all claims on a request with a given probability, independently of other drives.

    Parameters
    ----------
    loss : float
        Probability, from 0 to 1.

    Raises
    ------
    InputError
        If the probability is out of range.
    """

    loss: Float[AnyArray, "..."] = eqx.field(converter=named("claim loss"))

    def __check_init__(self):
        SHARE.each("claim loss", self.loss)

    def unreached(self, request):
        # The mask is a reduction, so that it is computed once and not for each slot into which it may be written.
        part = row_index(MOST_PARTS, request.receiving)
        word = scramble(request.receiving + (part + 1).astype(jnp.uint32) * np.uint32(2654435761))
        return union(jnp.where(fraction(word) < self.loss, bit(part), jnp.uint32(0)))


class Claims(NamedTuple):
    """Private state of the claims on the read in each slot.

    Parameters
    ----------
    first : array of float32, shape `[slot, *batch]`
        Time of the first claim, seconds from now; inf if there is no claim yet.
    first_owner : array of int32, shape `[slot, *batch]`
        Part of the first claim.
    first_bid : array of float32, shape `[slot, *batch]`
        Bid of the first claim, seconds.
    owner : array of int32, shape `[slot, *batch]`
        Part of the best claim so far.
    bid : array of float32, shape `[slot, *batch]`
        Bid of the best claim so far, seconds; inf if there is no claim yet.
    claim_time, start : array of float32, shape `[slot, *batch]`
        Time of the best claim so far, and time at which its access is issued, seconds from now.
    unreached : array of uint32, shape `[slot, *batch]`
        Mask of the parts whose drives receive no claim.
    contested : array of bool, shape `[slot, *batch]`
        Whether several drives have claimed the read.
    """

    first: Float[Array, "slot *batch"]
    first_owner: Int[Array, "slot *batch"]
    first_bid: Float[Array, "slot *batch"]
    owner: Int[Array, "slot *batch"]
    bid: Float[Array, "slot *batch"]
    claim_time: Float[Array, "slot *batch"]
    start: Float[Array, "slot *batch"]
    unreached: UInt32[Array, "slot *batch"]
    contested: Bool[Array, "slot *batch"]


class DSPTFClaims(AbstractArbitration):
    """Distributed shortest positioning time first (D-SPTF): drives claim reads by messages.

    Parameters
    ----------
    latency : float
        One-way latency of a message, seconds, by default 50e-6 as in the paper.
    bound : float, optional
        Upper bound on the latency that bricks assume, seconds; by default `latency`.
    waits : int
        By default 0, as in the paper. With 1, a brick with an idle disk also waits for twice the bound before it begins
        an access. Then no read is served twice, provided that claims arrive within the bound. But the access may take
        one more revolution.
    delivery : AbstractDelivery, optional
        Model of lost claims; by default all claims are delivered.

    Raises
    ------
    InputError
        If a value is out of range.

    Notes
    -----
    A claim that arrives twice has no further effect. A late claim may cause a second service of the read. If a brick
    has not received a claim when the read completes, the model treats the claim as received at that time. Among the
    claims in transit to one brick at the same time, only the first and the best count.

    With latency 0 the model is the centralized ideal: one queue from which every idle drive chooses.
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
        give = "a model of the delivery of claims, such as sk.arbitration.Lossy(0.05)"
        self.delivery = instance_of(AbstractDelivery, give)("delivery", Reliable() if delivery is None else delivery)

    def __check_init__(self):
        for label, time in (("network latency", self.latency), ("latency bound", self.bound)):
            SPAN.each(label, time)
            require_seconds(label, time, "latency")
        require((self.waits == 0) | (self.waits == 1), "waits", self.waits, "0 or 1")

    def check(self, facts):
        if facts.needed > 1:
            raise InputError(
                f"requests that need {facts.needed} parts: D-SPTF selects one brick for each request; use "
                "NoArbitration()"
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

    @property
    def remembers(self):
        return False

    def init(self, sizes: StateSizes) -> Claims:
        def full(value, kind=jnp.float32):
            return jnp.full((sizes.slots, *sizes.batch), value, kind)

        never, no_part = full(jnp.inf), full(0, jnp.int32)
        return Claims(never, no_part, never, no_part, never, never, never, full(0, jnp.uint32), full(False, bool))

    def on_admitted(self, private: Claims, event: RequestAdmitted) -> Claims:
        into = event.slot_mask
        return private._replace(
            first=jnp.where(into, jnp.inf, private.first),
            bid=jnp.where(into, jnp.inf, private.bid),
            unreached=jnp.where(into, self.delivery.unreached(event.request), private.unreached),
            contested=private.contested & ~into,
        )

    def choosable_from(self, private: Claims, sent, receiving, part):
        forwarded = sent + jnp.where(receiving == part, 0.0, self.latency)
        receives = ~bit_is_set(private.unreached, part)
        # A claim that arrives together with the read takes effect after the choice, even if its time is rounded down.
        rounding = jnp.minimum(self.latency, INSTANT)
        received = (private.first + self.latency < -rounding) & receives
        return jnp.where(received, jnp.inf, forwarded)

    def claim(self, private: Claims, claim: Bid) -> tuple[Decision, Claims]:
        before = Claims(*(pick(field, claim.slot) for field in private))
        rival, rival_bid, rival_start, unreached = before.owner, before.bid, before.start, before.unreached
        contested = claim.valid & jnp.isfinite(rival_bid)
        better = better_bid(claim.bid, claim.part, rival_bid, rival)
        # A claim is too late if it arrives after the access of its receiver is issued to the disk.
        arrives, first_arrives = before.claim_time + self.latency, before.first + self.latency
        latest = jnp.where(bit_is_set(unreached, claim.part), -jnp.inf, claim.start + INSTANT)
        by_best = ~better & (arrives <= latest)
        by_first = better_bid(before.first_bid, before.first_owner, claim.bid, claim.part) & (first_arrives <= latest)
        rival_receives = (self.latency <= rival_start + INSTANT) & ~bit_is_set(unreached, rival)
        rival_yields = contested & better & rival_receives
        decision = Decision(
            granted=claim.valid & ~(contested & (by_best | by_first)),
            retry=jnp.maximum(jnp.where(by_first, first_arrives, arrives), 0.0),
            # The losing drive has received the claim, so that the read leaves its queue.
            withdrawn=bit(claim.part) | jnp.where(rival_yields, bit(rival), jnp.uint32(0)),
            contested=contested,
            first_contest=contested & ~before.contested,
            rival=rival,
            rival_yields=rival_yields,
            rival_retry=self.latency + jnp.zeros_like(arrives),
            completion=jnp.full_like(arrives, jnp.inf),
        )
        at = slot_mask(private.first, claim.slot, claim.valid)
        best, first = at & better, at & jnp.isinf(private.first)
        return decision, Claims(
            first=jnp.where(first, 0.0, private.first),
            first_owner=jnp.where(first, claim.part, private.first_owner),
            first_bid=jnp.where(first, claim.bid, private.first_bid),
            owner=jnp.where(best, claim.part, private.owner),
            bid=jnp.where(best, claim.bid, private.bid),
            claim_time=jnp.where(best, 0.0, private.claim_time),
            start=jnp.where(best, claim.start, private.start),
            unreached=private.unreached,
            contested=private.contested | (at & contested),
        )

    def on_brick_stopped(self, private: Claims, event: BrickStopped) -> Claims:
        first, bid = (jnp.where(event.lost, jnp.inf, field) for field in (private.first, private.bid))
        return private._replace(first=first, bid=bid)

    def stale_copies(self, private: Claims, waiting):
        return waiting & private.unreached

    def elapse(self, private: Claims, time) -> Claims:
        return private._replace(
            first=private.first - time, claim_time=private.claim_time - time, start=private.start - time
        )
