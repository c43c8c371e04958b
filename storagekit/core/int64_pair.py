"""Whole numbers of 64 bits, in two words: counters that are exact however long a run is.

JAX computes with 32 bits, and a float of 32 bits stands still once it is 2^24 times what is added. These go round after
2^64; of two that lie less than 2^63 apart, `before` knows the earlier one wherever they are.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, UInt32

HALF = 16


class Wide(NamedTuple):
    """high * 2^32 + low."""

    high: UInt32[Array, "*#row"]
    low: UInt32[Array, "*#row"]


def zeros(*shape: int) -> Wide:
    """Nothing yet."""
    return Wide(jnp.zeros(shape, jnp.uint32), jnp.zeros(shape, jnp.uint32))


def add(one: Wide, other: Wide) -> Wide:
    """Their sum."""
    low = one.low + other.low
    return Wide(one.high + other.high + (low < one.low).astype(jnp.uint32), low)


def subtract(one: Wide, other: Wide) -> Wide:
    """One less the other; below 0 it goes round."""
    borrowed = (one.low < other.low).astype(jnp.uint32)
    return Wide(one.high - other.high - borrowed, one.low - other.low)


def before(one: Wide, other: Wide) -> Bool[Array, "*row"]:
    """Whether one comes before the other, lying less than 2^63 from it."""
    return (subtract(one, other).high >> 31) == 1


def pick(condition: Bool[Array, "*#row"], one: Wide, other: Wide) -> Wide:
    """One where the condition holds, else the other."""
    return Wide(jnp.where(condition, one.high, other.high), jnp.where(condition, one.low, other.low))


def later(one: Wide, other: Wide) -> Wide:
    """Whichever comes later."""
    return pick(before(one, other), other, one)


def earlier(one: Wide, other: Wide) -> Wide:
    """Whichever comes earlier."""
    return pick(before(other, one), other, one)


def product(one: UInt32[Array, "*#row"], other: UInt32[Array, "*#row"]) -> Wide:
    """The product of two words, by pieces of 16 bits."""
    mask = jnp.uint32(0xFFFF)
    low = (one & mask) * (other & mask)
    middle, crossed = (one >> HALF) * (other & mask), (one & mask) * (other >> HALF)
    carried = (low >> HALF) + (middle & mask) + (crossed & mask)
    high = (one >> HALF) * (other >> HALF) + (middle >> HALF) + (crossed >> HALF) + (carried >> HALF)
    return Wide(high, one * other)
