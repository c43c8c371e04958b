"""D-SPTF: every replica may serve a read; whoever can do so soonest claims it (dsptf, section 3).

A brick chooses two latency bounds before its disk falls free and tells the other replicas, with its bid, the predicted
positioning time. A claim that has arrived takes the read out of the hearer's queue. Two bricks that chose the same read
before they heard of one another keep to one rule: the lower bid serves it, of equal bids the lower part; the other gives
it up when the better claim arrives and chooses again at once. A choice is issued to the disk once twice the bound has
passed since, so that the claims of others have arrived: a disk whose access takes no longer than that stands idle until then
(section 5.3.2). A brick whose disk is idle as it chooses waits no longer than the rotation that the access would wait for
anyway (section 3.1, figure 4), and so loses no time. Where that is shorter a better claim may come too late, and two bricks
serve the read.
"""

from abc import abstractmethod
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array, Bool, Float, Int, UInt32

from storagekit.arrays import AnyArray
from storagekit.checks import require, require_kind, require_seconds
from storagekit.claims.base import AbstractClaims, Claim, Verdict, better_bid, slot_mask
from storagekit.errors import InputError
from storagekit.kinds import SHARE, SPAN
from storagekit.lanes import INSTANT, bit, held, named, pick, whole
from storagekit.moments import Entered, Sizes, Stopped
from storagekit.workload import Requests, fraction, scramble


class AbstractDelivery(eqx.Module):
    """Whether claims arrive."""

    @abstractmethod
    def deaf(self, request: Requests) -> UInt32[Array, "1 *lanes"]:
        """The parts whose drives never hear a claim on this request, one bit each."""


class Reliable(AbstractDelivery):
    """Every claim arrives."""

    def deaf(self, request):
        return jnp.zeros_like(request.receiving)


class Lossy(AbstractDelivery):
    """A drive hears nothing of the claims on a request with probability `loss`, each drive for itself."""

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
    """Private state, for the read in each slot.

    first: when the first claim was made, seconds from now; inf before it. first_owner, first_bid: of which part, and its bid.
    owner, bid, made, start: the best claim so far, of which part and when, and when its access goes to the disk.
    deaf: the parts whose drives never hear a claim on it. contested: several have claimed it.
    """

    first: Float[Array, "slot *lanes"]
    first_owner: Int[Array, "slot *lanes"]
    first_bid: Float[Array, "slot *lanes"]
    owner: Int[Array, "slot *lanes"]
    bid: Float[Array, "slot *lanes"]
    made: Float[Array, "slot *lanes"]
    start: Float[Array, "slot *lanes"]
    deaf: UInt32[Array, "slot *lanes"]
    contested: Bool[Array, "slot *lanes"]


class DSPTF(AbstractClaims):
    """Distributed shortest positioning time first.

    latency: seconds a message takes one way (the paper: 50 us). bound: the latency the bricks reckon with, `latency` by
    default. waits: 0 as in the paper; 1 if a brick whose disk is idle, too, begins only when two bounds have passed since its
    choice, so that no read is served twice while claims arrive within the bound, and may miss a turn of the platter by that.
    A claim that is heard twice finds nothing more to take away; one that is late may cost a second service (a brick that has
    not heard by the time the read is answered counts as having heard then). Of claims that are on their way together to one
    more brick the first and the best count. With latency 0 this is the centralized ideal: one queue, every drive that falls
    free picks from it.
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
        give = "whether claims arrive, as sk.claims.Lossy(0.05)"
        self.delivery = require_kind("delivery", Reliable() if delivery is None else delivery, AbstractDelivery, give)

    def __check_init__(self):
        for label, time in (("network latency", self.latency), ("latency bound", self.bound)):
            SPAN.each(label, time)
            require_seconds(label, time, "latency")
        require((self.waits == 0) | (self.waits == 1), "waits", self.waits, "0 or 1")

    def check(self, needed):
        if needed > 1:
            raise InputError(
                f"claims on requests that need {needed} parts: D-SPTF settles who serves the one; use NoClaims()"
            )

    @property
    def lead(self):
        return 2 * self.bound

    @property
    def hop(self):
        return self.latency

    def begins(self, free):
        idle = (free <= INSTANT) & (self.waits == 0)
        return jnp.maximum(free, jnp.where(idle, 0.0, self.lead))

    def issues(self, begins, rotation):
        return jnp.maximum(begins, jnp.minimum(self.lead, begins + rotation))

    def init(self, sizes: Sizes) -> Claims:
        def full(value, kind=jnp.float32):
            return jnp.full((sizes.slots, *sizes.lanes), value, kind)

        never, nobody = full(jnp.inf), full(0, jnp.int32)
        return Claims(never, nobody, never, nobody, never, never, never, full(0, jnp.uint32), full(False, bool))

    def entered(self, private: Claims, moment: Entered) -> Claims:
        into = moment.into
        return private._replace(
            first=jnp.where(into, jnp.inf, private.first),
            bid=jnp.where(into, jnp.inf, private.bid),
            deaf=jnp.where(into, self.delivery.deaf(moment.request), private.deaf),
            contested=private.contested & ~into,
        )

    def choosable_from(self, private: Claims, asked, receiving, part):
        forwarded = asked + jnp.where(receiving == part, 0.0, self.latency)
        hears = ~held(private.deaf, part)
        # a claim that arrives with the read is heard after the choice, however its time was rounded
        rounding = jnp.minimum(self.latency, INSTANT)
        heard = (private.first + self.latency < -rounding) & hears
        return jnp.where(heard, jnp.inf, forwarded)

    def claim(self, private: Claims, claim: Claim) -> tuple[Verdict, Claims]:
        before = Claims(*(pick(field, claim.slot) for field in private))
        rival, rival_bid, rival_start, deaf = before.owner, before.bid, before.start, before.deaf
        contested = claim.made & jnp.isfinite(rival_bid)
        better = better_bid(claim.bid, claim.part, rival_bid, rival)
        # a claim that arrives after its hearer's access has gone to the disk comes too late
        arrives, first_arrives = before.made + self.latency, before.first + self.latency
        latest = jnp.where(held(deaf, claim.part), -jnp.inf, claim.start + INSTANT)
        by_best = ~better & (arrives <= latest)
        by_first = better_bid(before.first_bid, before.first_owner, claim.bid, claim.part) & (first_arrives <= latest)
        rival_hears = (self.latency <= rival_start + INSTANT) & ~held(deaf, rival)
        rival_yields = contested & better & rival_hears
        verdict = Verdict(
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

    def stopped(self, private: Claims, moment: Stopped) -> Claims:
        first, bid = (jnp.where(moment.lost, jnp.inf, field) for field in (private.first, private.bid))
        return private._replace(first=first, bid=bid)

    def left_behind(self, private: Claims, waiting):
        return waiting & private.deaf

    def elapse(self, private: Claims, time) -> Claims:
        return private._replace(first=private.first - time, made=private.made - time, start=private.start - time)
