"""Real numbers as sums of two numbers of 32 bits, for times that are precise in a run of any length.

JAX computes with 32 bits. A float32 number has 24 significant bits, and a pair has 48 bits: times of an hour are exact
to 0.1 ns, and times of a year to 0.1 us.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float


class Pair(NamedTuple):
    """A real number, high + low.

    Parameters
    ----------
    high, low : array of float32, shape `[*row]`
        The nearest float32 number, and the difference of the number and `high`.
    """

    high: Float[Array, "*#row"]
    low: Float[Array, "*#row"]


class Clock(NamedTuple):
    """Time since the start of a run in seconds, the sum of three float32 numbers of decreasing size.

    Millions of short steps per second add up without a loss.

    Parameters
    ----------
    now : Pair
        The time.
    rest : array of float32, shape `[*row]`
        The difference of the exact time and `now`.
    """

    now: Pair
    rest: Float[Array, "*row"]

    def later(self, step: Float[Array, "*row"]) -> "Clock":
        """Return the clock `step` seconds later."""
        high, error = two_sum(self.now.high, step)
        low, error = two_sum(self.now.low, error)
        high, low = two_sum(high, low)
        low, rest = two_sum(low, self.rest + error)
        return Clock(Pair(high, low), rest)


def stopped(*shape: int) -> Clock:
    """Return a clock of a given shape at time 0."""
    nothing = jnp.zeros(shape, jnp.float32)
    return Clock(Pair(nothing, nothing), nothing)


def two_sum(one: Float[Array, "*#row"], other: Float[Array, "*#row"]) -> Pair:
    """Return the exact sum of two finite float32 numbers (Knuth's TwoSum)."""
    total = one + other
    added = total - one
    return Pair(total, (one - (total - added)) + (other - added))


def add(one: Pair, other: Float[Array, "*#row"]) -> Pair:
    """Return the sum of a finite pair and a finite float32 number."""
    total, error = two_sum(one.high, other)
    low = one.low + error
    high = total + low
    return Pair(high, low - (high - total))


def difference(one: Pair, other: Pair) -> Float[Array, "*row"]:
    """Return the first number minus the second in float32. The first number may be infinite."""
    return (one.high - other.high) + (one.low - other.low)


def later(one: Pair, other: Pair) -> Pair:
    """Return the larger of two finite pairs."""
    return pick(difference(one, other) < 0, other, one)


def pick(condition: Bool[Array, "*#row"], one: Pair, other: Pair) -> Pair:
    """Return the first pair where the condition is true, and the second pair elsewhere."""
    return Pair(jnp.where(condition, one.high, other.high), jnp.where(condition, one.low, other.low))
