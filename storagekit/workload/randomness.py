"""Random words of 32 bits, which a cipher computes from a key and a counter (i, block).

A word does not depend on earlier draws. Request i is therefore the same under every protocol and every setting (common
random numbers). One call of the cipher returns two words.
"""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Integer, UInt32

from storagekit.core.arrays import AnyArray
from storagekit.core.batching import row_index
from storagekit.core.int64_pair import product

# Threefry-2x32: the parity word of the key, and two lists of rotations for four rounds each, used alternately
PARITY = np.uint32(0x1BD11BDA)
ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))


def words(
    key: UInt32[AnyArray, "2 *batch"], first: Int[AnyArray, "1 *batch"], count: int, block: int | UInt32[Array, ""]
) -> tuple[UInt32[Array, "count *batch"], UInt32[Array, "count *batch"]]:
    """Return two random words of 32 bits for each of `count` successive counters.

    Parameters
    ----------
    key : uint32 array, shape `[2, *batch]`
        Key of each run.
    first : int array, shape `[1, *batch]`
        First counter of each run.
    count : int
        Number of counters. The counters are first, first + 1, ...
    block : int
        Second half of the counter, equal for all `count` counters.

    Returns
    -------
    tuple of two uint32 arrays, shape `[count, *batch]`
        The words.
    """
    counter = first + row_index(count, first)
    return word_at(key, counter, jnp.full_like(counter, block, jnp.uint32))


def word_at(
    key: UInt32[AnyArray, "2 *batch"], counter: Integer[AnyArray, "row *batch"], block: Integer[AnyArray, "row *batch"]
) -> tuple[UInt32[Array, "row *batch"], UInt32[Array, "row *batch"]]:
    """Return two random words of 32 bits for each counter and block.

    Parameters
    ----------
    key : uint32 array, shape `[2, *batch]`
        Key of each run.
    counter, block : int array, shape `[row, *batch]`
        The two halves of the counter.

    Returns
    -------
    tuple of two uint32 arrays, shape `[row, *batch]`
        The words.
    """
    shape = jnp.broadcast_shapes(key[:1].shape, counter.shape, block.shape)
    counter, block = (jnp.broadcast_to(half, shape).astype(jnp.uint32) for half in (counter, block))
    return _for_platform(jnp.asarray(key), counter, block)


# Without `jit`, a call outside of a program would compile the loop of `_threefry_in_loop` again.
@partial(jax.jit, inline=True)
def _for_platform(
    key: UInt32[Array, "2 *batch"], counter: UInt32[Array, "row *batch"], block: UInt32[Array, "row *batch"]
) -> tuple[UInt32[Array, "row *batch"], UInt32[Array, "row *batch"]]:
    return jax.lax.platform_dependent(key, counter, block, cpu=_threefry_in_loop, default=threefry)


def _threefry_in_loop(
    key: UInt32[Array, "2 *batch"], counter: UInt32[Array, "row *batch"], block: UInt32[Array, "row *batch"]
) -> tuple[UInt32[Array, "row *batch"], UInt32[Array, "row *batch"]]:
    """Return the words of `threefry`, computed in a loop over the groups of rounds.

    The loop stores the words. XLA would compute the rounds again for each operation that uses a word, and compile them
    once more.
    """
    keys = key[1:], key[:1] ^ key[1:] ^ PARITY, key[:1]
    turns = tuple(jnp.asarray(turns, jnp.uint32) for turns in ROTATIONS)

    def group(number, carry):
        one, other, (following, last, first), (now, later) = carry
        for turn in now:
            one = one + other
            other = (other << turn | other >> (32 - turn)) ^ one
        one, other = one + following, other + last + (number + 1).astype(jnp.uint32)
        return one, other, (last, first, following), (later, now)

    one, other, *_ = jax.lax.fori_loop(0, 5, group, (counter + key[:1], block + key[1:], keys, turns))
    return one, other


def threefry(
    key: UInt32[AnyArray, "2 *batch"], counter: UInt32[AnyArray, "row *#batch"], block: UInt32[AnyArray, "row *#batch"]
) -> tuple[UInt32[AnyArray, "row *batch"], UInt32[AnyArray, "row *batch"]]:
    """Return the same words as `word_at`, computed in plain arithmetic.

    The result is a NumPy array for NumPy arguments, so that set-up code compiles no program.

    References
    ----------
    Salmon, Moraes, Dror and Shaw, Parallel random numbers: as easy as 1, 2, 3 (2011): Threefry-2x32 with 20 rounds.
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
    """Return a random number in [0, 1), a multiple of 2^-24, computed from 32 random bits.

    Parameters
    ----------
    word : array of uint32, shape `[*row]`
        The random bits.

    Returns
    -------
    array of float32, shape `[*row]`
        The number, computed from the upper 24 bits.
    """
    return (word >> 8).astype(jnp.float32) * jnp.float32(2.0**-24)


def below(word: UInt32[AnyArray, "*row"], limit: Int[AnyArray, "..."]) -> Int[Array, "*row"]:
    """Return a random whole number in [0, limit), computed from 32 random bits.

    The number is the upper half of the 64-bit product word * limit.

    Parameters
    ----------
    word : array of uint32, shape `[*row]`
        The random bits.
    limit : int or array of int
        The limit, 1 to 2^31 - 1; its shape broadcasts with the shape of `word`.

    Returns
    -------
    array of int32, shape `[*row]`
        The number.
    """
    return product(word, jnp.asarray(limit).astype(jnp.uint32)).high.astype(jnp.int32)


def anywhere(
    word: UInt32[AnyArray, "*row"], finer: UInt32[AnyArray, "*row"], limit: Int[AnyArray, "..."]
) -> Int[Array, "*row"]:
    """Return a random whole number in [0, limit), computed from 32 random bits (`word`).

    With 32-bit addresses the result equals `below`. With 64-bit addresses the limit may be up to 2^52, and `finer`, 32
    further random bits, adds the precision that `word` lacks.
    """
    if jnp.asarray(limit).astype(int).dtype.itemsize == 4:
        return below(word, limit)
    fine = word.astype(float) + finer.astype(float) * 2.0**-32
    return jnp.minimum(jnp.floor(fine * 2.0**-32 * jnp.asarray(limit, float)).astype(int), jnp.asarray(limit, int) - 1)


def scramble(value: Integer[AnyArray, "*row"]) -> UInt32[AnyArray, "*row"]:
    """Return a fixed hash of a whole number.

    The hash is the finalizer of MurmurHash3. The upper half of a 64-bit number is first combined with the lower half.

    Parameters
    ----------
    value : array of int, shape `[*row]`
        The numbers, of at most 64 bits.

    Returns
    -------
    array of uint32, shape `[*row]`
        The hashes; a NumPy array for a NumPy argument, otherwise a JAX array.
    """
    if value.dtype.itemsize > 4:
        value = value ^ (value >> 32)
    x = value.astype(np.uint32)
    x = (x ^ (x >> 16)) * np.uint32(0x85EBCA6B)
    x = (x ^ (x >> 13)) * np.uint32(0xC2B2AE35)
    return x ^ (x >> 16)
