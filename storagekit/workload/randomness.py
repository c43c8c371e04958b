"""Random words by counter: word (i, block) of a key is the same number whatever was drawn before it.

So request i is the same request under every protocol and at every setting (common random numbers), and drawing it costs
one cipher call for two words, outside the event loop.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.random import threefry_2x32
from jaxtyping import Array, Float, Int, Integer, UInt32

from storagekit.core.arrays import AnyArray
from storagekit.core.int64_pair import product

# of Threefry-2x32: a word of its keys, and how far each of four rounds turns one, in turns
PARITY = np.uint32(0x1BD11BDA)
ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))


def words(
    key: UInt32[AnyArray, "2 *batch"], first: Int[AnyArray, "1 *batch"], count: int, block: int | UInt32[Array, ""]
) -> tuple[UInt32[Array, "count *batch"], UInt32[Array, "count *batch"]]:
    """Two uint32 words for each of the counters first, first+1, ..., lane by lane: two arrays `[count, *batch]`."""

    def one_lane(key, first):
        counter = first.astype(jnp.uint32) + jnp.arange(count, dtype=jnp.uint32)
        return threefry_2x32(key, jnp.concatenate([counter, jnp.full(count, block, jnp.uint32)]))

    draw = one_lane
    for _ in range(key.ndim - 1):
        draw = jax.vmap(draw, in_axes=-1, out_axes=-1)
    drawn = draw(key, first)
    return drawn[:count], drawn[count:]


def word_at(
    key: UInt32[AnyArray, "2 *batch"], counter: Int[AnyArray, "row *batch"], block: Int[AnyArray, "row *batch"]
) -> tuple[UInt32[Array, "row *batch"], UInt32[Array, "row *batch"]]:
    """The two words of each counter and block, lane by lane: two arrays like them."""

    def one_lane(key, counter, block):
        return threefry_2x32(key, jnp.concatenate([counter, block]).astype(jnp.uint32))

    draw = one_lane
    for _ in range(key.ndim - 1):
        draw = jax.vmap(draw, in_axes=-1, out_axes=-1)
    drawn = draw(key, counter, block)
    return drawn[: counter.shape[0]], drawn[counter.shape[0] :]


def threefry(
    key: UInt32[AnyArray, "2 *batch"], counter: UInt32[AnyArray, "row *#lanes"], block: UInt32[AnyArray, "row *#lanes"]
) -> tuple[UInt32[AnyArray, "row *batch"], UInt32[AnyArray, "row *batch"]]:
    """Return what `word_at` returns, in plain arithmetic: NumPy's arrays stay NumPy's, and set-up code needs no program.

    References
    ----------
    Salmon, Moraes, Dror and Shaw, Parallel random numbers: as easy as 1, 2, 3 (2011): Threefry-2x32 of 20 rounds.
    """
    keys = key[:1], key[1:], key[:1] ^ key[1:] ^ PARITY
    one, other = counter + keys[0], block + keys[1]
    for group in range(5):
        for turn in ROTATIONS[group % 2]:
            one = one + other
            other = (other << turn | other >> 32 - turn) ^ one
        one = one + keys[(group + 1) % 3]
        other = other + keys[(group + 2) % 3] + np.uint32(group + 1)
    return one, other


def fraction(word: UInt32[AnyArray, "*row"]) -> Float[Array, "*row"]:
    """A word as a number in [0, 1), a multiple of 2^-24."""
    return (word >> 8).astype(jnp.float32) * jnp.float32(2.0**-24)


def below(word: UInt32[AnyArray, "*row"], limit: Int[AnyArray, "..."]) -> Int[Array, "*row"]:
    """A word as a whole number in [0, limit), limit < 2^31: the upper half of word * limit."""
    return product(word, jnp.asarray(limit).astype(jnp.uint32)).high.astype(jnp.int32)


def anywhere(
    word: UInt32[AnyArray, "*row"], finer: UInt32[AnyArray, "*row"], limit: Int[AnyArray, "..."]
) -> Int[Array, "*row"]:
    """`below`, for a limit of up to 2^52 where addresses have 64 bits: there `finer` is a second word, and the result stays
    the same but for what the first alone could not tell apart."""
    if jnp.asarray(limit).astype(int).dtype.itemsize == 4:
        return below(word, limit)
    fine = word.astype(float) + finer.astype(float) * 2.0**-32
    return jnp.minimum(jnp.floor(fine * 2.0**-32 * jnp.asarray(limit, float)).astype(int), jnp.asarray(limit, int) - 1)


def scramble(value: Integer[AnyArray, "*row"]) -> UInt32[AnyArray, "*row"]:
    """A fixed hash of a whole number: multiply and fold, twice (MurmurHash3's finalizer), the upper half of 64 bits folded in
    before; NumPy's arrays stay NumPy's."""
    if value.dtype.itemsize > 4:
        value = value ^ (value >> 32)
    x = value.astype(np.uint32)
    x = (x ^ (x >> 16)) * np.uint32(0x85EBCA6B)
    x = (x ^ (x >> 13)) * np.uint32(0xC2B2AE35)
    return x ^ (x >> 16)
