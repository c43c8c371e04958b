"""D-SPTF: every replica may serve a read; whoever can do so soonest claims it (dsptf, section 3).

A brick chooses two latency bounds before its disk falls free and tells the other replicas, with its bid, the predicted
positioning time. A claim that has arrived takes the read out of the hearer's queue. Two bricks that chose the same read
before they heard of one another keep to one rule: the lower bid serves it, of equal bids the lower brick; the other gives
it up when the better claim arrives and chooses again at once. Nothing is issued before twice the bound has passed since
the choice, so that no read is served twice while messages keep to the bound. Positioning is predicted for the moment the
access can start, which is what overlapping the wait with the rotation (section 3.1, figure 4) amounts to.
"""

from abc import abstractmethod
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array, Bool, Float, Int, UInt32

from storagekit.arrays import AnyArray
from storagekit.checks import require
from storagekit.claims.base import AbstractClaims, Claim, Verdict, slot_mask
from storagekit.errors import InputError
from storagekit.lanes import INSTANT, bit, held, pick, real
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

    loss: Float[AnyArray, "..."] = eqx.field(converter=real)

    def __check_init__(self):
        loss = np.asarray(self.loss)
        require((loss >= 0) & (loss <= 1), "claim loss", loss, "between 0 and 1")

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

    first: when the first claim was made, seconds from now; inf before it.
    owner, bid, made, start: the best claim so far, of which part and when, and when its access starts.
    deaf: the parts whose drives never hear a claim on it. contested: several have claimed it.
    """

    first: Float[Array, "slot *lanes"]
    owner: Int[Array, "slot *lanes"]
    bid: Float[Array, "slot *lanes"]
    made: Float[Array, "slot *lanes"]
    start: Float[Array, "slot *lanes"]
    deaf: UInt32[Array, "slot *lanes"]
    contested: Bool[Array, "slot *lanes"]


class DSPTF(AbstractClaims):
    """Distributed shortest positioning time first.

    latency: seconds a message takes one way (the paper: 50 us). bound: the latency the bricks reckon with, `latency` by
    default. A claim that is heard twice finds nothing more to take away; claims that take longer than the bound are late
    and may cost a second service (a brick that has not heard by the time the read is answered counts as having heard
    then). With latency 0 this is the centralized ideal: one queue, every drive that falls free picks from it.
    """

    latency: Float[AnyArray, "..."]
    bound: Float[AnyArray, "..."]
    delivery: AbstractDelivery

    def __init__(
        self,
        latency: ArrayLike = 50e-6,
        *,
        bound: ArrayLike | None = None,
        delivery: AbstractDelivery | None = None,
    ):
        self.latency = real(latency)
        self.bound = real(latency if bound is None else bound)
        self.delivery = Reliable() if delivery is None else delivery

    def __check_init__(self):
        for label, time in (("network latency", self.latency), ("latency bound", self.bound)):
            time = np.asarray(time)
            require((time >= 0) & np.isfinite(time), label, time, "0 or more and finite", "s")

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

    def init(self, sizes: Sizes) -> Claims:
        def full(value, kind=jnp.float32):
            return jnp.full((sizes.slots, *sizes.lanes), value, kind)

        never = full(jnp.inf)
        return Claims(never, full(0, jnp.int32), never, never, never, full(0, jnp.uint32), full(False, bool))

    def entered(self, private: Claims, moment: Entered) -> Claims:
        into = moment.into
        return Claims(
            first=jnp.where(into, jnp.inf, private.first),
            owner=private.owner,
            bid=jnp.where(into, jnp.inf, private.bid),
            made=private.made,
            start=private.start,
            deaf=jnp.where(into, self.delivery.deaf(moment.request), private.deaf),
            contested=private.contested & ~into,
        )

    def choosable_from(self, private: Claims, asked, receiving, part):
        forwarded = asked + jnp.where(receiving == part, 0.0, self.latency)
        hears = ~held(private.deaf, part)
        heard = (private.first + self.latency < 0) & hears
        return jnp.where(heard, jnp.inf, forwarded)

    def claim(self, private: Claims, claim: Claim) -> tuple[Verdict, Claims]:
        rival, rival_bid, rival_made, rival_start, deaf = (
            pick(field, claim.slot) for field in (private.owner, private.bid, private.made, private.start, private.deaf)
        )
        contested = claim.made & jnp.isfinite(rival_bid)
        better = (claim.bid < rival_bid) | ((claim.bid == rival_bid) & (claim.part < rival))
        # a claim that arrives after its hearer's access has started comes too late
        arrives = rival_made + self.latency
        hears = (arrives <= claim.start + INSTANT) & ~held(deaf, claim.part)
        rival_hears = (self.latency <= rival_start + INSTANT) & ~held(deaf, rival)
        rival_yields = contested & better & rival_hears
        verdict = Verdict(
            kept=claim.made & ~(contested & ~better & hears),
            retry=jnp.maximum(arrives, 0.0),
            # whoever loses has heard that the read is taken, so that it leaves the loser's queue
            withdrawn=bit(claim.part) | jnp.where(rival_yields, bit(rival), jnp.uint32(0)),
            contested=contested,
            first_contest=contested & ~pick(private.contested, claim.slot),
            rival=rival,
            rival_yields=rival_yields,
            rival_retry=self.latency + jnp.zeros_like(arrives),
            answer=jnp.full_like(arrives, jnp.inf),
        )
        at = slot_mask(private.first, claim.slot, claim.made)
        best = at & better
        return verdict, Claims(
            first=jnp.where(at, jnp.minimum(private.first, 0.0), private.first),
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
