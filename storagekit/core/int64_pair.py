"""Whole numbers of 64 bits in two numbers of 32 bits, for counters that are exact in a run of any length.

JAX computes with 32 bits, and a float of 32 bits stops growing at 2^24 times the increment. These numbers wrap around
at 2^64. `before` returns the order of any two numbers that differ by less than 2^63.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, UInt32

HALF = 16


class Pair(NamedTuple):
    """A whole number of 64 bits, high * 2^32 + low.

    Parameters
    ----------
    high, low : array of uint32, shape `[*row]`
        The upper 32 bits and the lower 32 bits.
    """

    high: UInt32[Array, "*#row"]
    low: UInt32[Array, "*#row"]


def zeros(*shape: int) -> Pair:
    """Return zeros of a given shape."""
    return Pair(jnp.zeros(shape, jnp.uint32), jnp.zeros(shape, jnp.uint32))


def add(one: Pair, other: Pair) -> Pair:
    """Return the sum of two numbers, modulo 2^64."""
    low = one.low + other.low
    return Pair(one.high + other.high + (low < one.low).astype(jnp.uint32), low)


def subtract(one: Pair, other: Pair) -> Pair:
    """Return the first number minus the second, modulo 2^64."""
    borrowed = (one.low < other.low).astype(jnp.uint32)
    return Pair(one.high - other.high - borrowed, one.low - other.low)


def before(one: Pair, other: Pair) -> Bool[Array, "*row"]:
    """Return whether the first number comes before the second, if they differ by less than 2^63."""
    return (subtract(one, other).high >> 31) == 1


def pick(condition: Bool[Array, "*#row"], one: Pair, other: Pair) -> Pair:
    """Return the first number where the condition is true, and the second number elsewhere."""
    return Pair(jnp.where(condition, one.high, other.high), jnp.where(condition, one.low, other.low))


def later(one: Pair, other: Pair) -> Pair:
    """Return the later of two numbers in the order of `before`."""
    return pick(before(one, other), other, one)


def earlier(one: Pair, other: Pair) -> Pair:
    """Return the earlier of two numbers in the order of `before`."""
    return pick(before(other, one), other, one)


def product(one: UInt32[Array, "*#row"], other: UInt32[Array, "*#row"]) -> Pair:
    """Return the product of two numbers of 32 bits, computed from halves of 16 bits."""
    mask = jnp.uint32(0xFFFF)
    low = (one & mask) * (other & mask)
    middle, crossed = (one >> HALF) * (other & mask), (one & mask) * (other >> HALF)
    carried = (low >> HALF) + (middle & mask) + (crossed & mask)
    high = (one >> HALF) * (other >> HALF) + (middle >> HALF) + (crossed >> HALF) + (carried >> HALF)
    return Pair(high, one * other)
