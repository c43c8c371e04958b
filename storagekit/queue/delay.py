"""Delay functions of DSFQ, which delay a request because its stream receives service at other bricks.

Delays are in ticks of virtual time. The `price` of a stream is the number of ticks for one unit of cost. It is
proportional to the reciprocal of the weight of the stream.
"""

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Shaped, UInt32

from storagekit.core import int64_pair
from storagekit.core.arrays import AnyArray
from storagekit.core.batching import each_named
from storagekit.core.errors import InputError
from storagekit.core.validation import require

# Price of the stream with the largest weight, ticks for one unit of cost.
TICKS = 2**16
# Largest price that both a 32-bit word and float32 represent. A larger cap counts as no cap.
MOST_PRICE = 2.0**32 - 2.0**8
NO_CAP = np.uint32(0xFFFFFFFF)


class Prices(NamedTuple):
    """Prices of the streams.

    unit: ticks for one unit of cost, for each stream. cap: largest delay of a request in ticks, divided by the cost of
    the request; NO_CAP for unlimited delays.
    """

    unit: UInt32[Array, "stream *batch"]
    cap: UInt32[Array, "stream *batch"]


class AbstractDelay(eqx.Module):
    """Delay of a request in ticks of virtual time."""

    def check(self, weights: Sequence[Float[AnyArray, "..."]]) -> None:
        """Raise InputError if the delay does not work with streams of these weights."""

    def caps(self, weights: Float[Array, "stream *batch"]) -> Float[Array, "stream *batch"]:
        """Return, for each stream, the largest delay of a request as a multiple of the cost of the request.

        weights: weights of the streams, which sum to 1.
        """
        return jnp.zeros_like(weights)

    @abstractmethod
    def ticks(
        self,
        service_elsewhere: UInt32[Array, "brick *batch"],
        cost: UInt32[Array, "brick *batch"],
        price: UInt32[Array, "1 *batch"],
        cap: UInt32[Array, "1 *batch"],
    ) -> int64_pair.Pair:
        """Return the delay of a request at each brick.

        Parameters
        ----------
        service_elsewhere : uint32 array, `[brick, *batch]`
            For each brick, the cost of the requests that the stream has sent to other bricks since its last request to
            this brick, as counted by the coordinator of the request.
        cost : uint32 array, `[brick, *batch]`
            Cost of the request itself.
        price, cap : uint32 array, `[1, *batch]`
            Price and cap of the stream, see `Prices`.

        Returns
        -------
        int64_pair.Pair, `[brick, *batch]`
            The delay in ticks.
        """


class Single(AbstractDelay):
    """No delay: each brick divides its service independently of other bricks, as in SFQ(D) (dsfq, section 3.2)."""

    def ticks(self, service_elsewhere, cost, price, cap):
        return int64_pair.product(jnp.zeros_like(service_elsewhere), price)


class Total(AbstractDelay):
    """The delay is the total cost at other bricks, so that streams share the sum of the service of all bricks.

    This is TOTAL-DSFQ (dsfq, equation 7).
    """

    def ticks(self, service_elsewhere, cost, price, cap):
        return int64_pair.product(service_elsewhere, price)


# Converts a field with one value for each stream.
_shares = each_named("a minimum share of")


class _Guaranteed(AbstractDelay):
    """Delay that guarantees each stream the fraction `minimum` of every brick at which the stream is backlogged.

    minimum: guaranteed fraction for each stream, at most the weight of the stream divided by the sum of the weights.
    """

    # Whether the minimum share of a stream may be 0.
    optional: ClassVar[bool] = False

    minimum: tuple[Float[AnyArray, "..."], ...] = eqx.field(converter=_shares)

    def check(self, weights):
        if len(self.minimum) != len(weights):
            raise InputError(
                f"minimum shares of {len(self.minimum)} streams, but weights of {len(weights)} streams: give one "
                "share for each stream"
            )
        together = sum(np.asarray(share, float) for share in self.minimum)
        require(together <= 1 + 1e-6, "sum of minimum shares", together, "at most 1; lower minimum shares")
        for stream, (share, weight) in enumerate(zip(self.minimum, weights, strict=True)):
            part = np.asarray(weight, float) / sum(np.asarray(one, float) for one in weights)
            share = np.asarray(share, float)
            least = "at least 0; 0 means no minimum" if self.optional else "above 0; without minimum shares use Total()"
            possible = share >= 0 if self.optional else share > 0
            require(possible, f"stream {stream}: minimum share", share, least)
            above = np.broadcast_arrays(share, part)
            require(
                above[0] <= above[1] * (1 + 1e-6),
                f"stream {stream}: minimum share",
                above[0],
                f"at most its weight divided by the sum of weights, {float(np.min(part)):.4g}",
            )

    def caps(self, weights):
        least = jnp.concatenate([jnp.broadcast_to(share, weights[:1].shape) for share in self.minimum])
        factor = jnp.maximum(weights / jnp.where(least > 0, least, 1.0) - 1, 0) / jnp.maximum(1 - weights, 1e-9)
        # If there is only one stream, its weight is 1, and its share is therefore 1.
        return jnp.where(least > 0, jnp.where(weights < 1, factor, 0.0), jnp.inf)


class MinimumOnly(_Guaranteed):
    """Delay in proportion to the cost of the request. It guarantees each stream a minimum fraction of every brick.

    Parameters
    ----------
    minimum : sequence of float
        Guaranteed fraction for each stream, above 0 and at most the weight of the stream divided by the sum of the
        weights.

    References
    ----------
    dsfq, equation 11.
    """

    def ticks(self, service_elsewhere, cost, price, cap):
        return int64_pair.product(cost, cap)


class Hybrid(_Guaranteed):
    """The delay is the cost at other bricks, limited so that each stream keeps its minimum fraction of every brick.

    Parameters
    ----------
    minimum : sequence of float
        Guaranteed fraction for each stream, at least 0 and at most the weight of the stream divided by the sum of the
        weights. With a minimum of 0 the delay has no limit. If a minimum is so small that the limit exceeds the range
        of the counters, the delay has no limit either.

    References
    ----------
    HYBRID-DSFQ: dsfq, equation 12.
    """

    optional: ClassVar[bool] = True

    def ticks(self, service_elsewhere, cost, price, cap):
        total = int64_pair.product(service_elsewhere, price)
        return int64_pair.pick(cap == NO_CAP, total, int64_pair.earlier(total, int64_pair.product(cost, cap)))


def prices(weights: Sequence[Float[AnyArray, "..."]], delay: AbstractDelay, like: Shaped[Array, "1 *batch"]) -> Prices:
    """Return the prices of the streams in whole ticks, so that sums of virtual times are exact.

    Parameters
    ----------
    weights : sequence of float
        Weight of each stream; one value, or one value for each run.
    delay : AbstractDelay
        The delay function, which defines the caps.
    like : array, `[1, *batch]`
        An array of the shape of the batch.

    Returns
    -------
    Prices
        The prices, `[stream, *batch]`.

    Notes
    -----
    price = 2^16 * (largest weight) / weight, rounded to whole ticks.
    """
    given = jnp.concatenate([jnp.broadcast_to(weight, like.shape) for weight in weights])
    unit = jnp.max(given, axis=0, keepdims=True) / given * TICKS
    cap = delay.caps(given / jnp.sum(given, axis=0, keepdims=True)) * unit
    words = (jnp.minimum(jnp.round(some), MOST_PRICE).astype(jnp.uint32) for some in (unit, cap))
    return Prices(next(words), jnp.where(cap > MOST_PRICE, NO_CAP, next(words)))
