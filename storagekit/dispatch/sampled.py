"""Dispatchers that draw some parts at random, and select the part with the shortest queue or all drawn parts."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, UInt32

from storagekit.core.batching import bit, first_min, index_of, lowest, pick, row_index
from storagekit.core.validation import COUNT, validate_fields
from storagekit.dispatch.base import AbstractDispatch, AsManyAsNeeded, View
from storagekit.placement import MOST_PARTS
from storagekit.workload import scramble


def lots(word: UInt32[Array, "1 *batch"], count: int) -> Float[Array, "row *batch"]:
    """Return random numbers whose order is a random order of the numbers 0 to count - 1.

    Parameters
    ----------
    word : array of uint32, shape `[1, *batch]`
        32 random bits.
    count : int
        Number of rows.

    Returns
    -------
    array of float32, shape `[row, *batch]`
        A random number for each row, computed from the random bits and the number of the row.
    """
    return scramble(word + scramble(row_index(count, word))).astype(jnp.float32)


def lowest_lots(lot: Float[Array, "row *batch"], count: int) -> Iterator[Int[Array, "1 *batch"]]:
    """Yield the rows with the `count` lowest lots, in the order of their lots.

    Parameters
    ----------
    lot : array of float32, shape `[row, *batch]`
        Lots; inf in rows that are not drawn. If fewer than `count` lots are finite, the last row is repeated.
    count : int
        Number of rows.

    Yields
    ------
    array of int32, shape `[1, *batch]`
        The row.
    """
    row = row_index(lot.shape[0], lot)
    for _ in range(count):
        chosen, _ = first_min(lot)
        yield chosen
        lot = jnp.where((row == chosen) & (jnp.sum(jnp.isfinite(lot), axis=0, keepdims=True) > 1), jnp.inf, lot)


def drawn(view: View, count: int) -> Iterator[Int[Array, "1 *batch"]]:
    """Yield `count` drives that hold the entering request, drawn at random without repetition.

    The same drives are drawn under every protocol. If fewer than `count` drives hold the request, the last drive is
    repeated.

    Parameters
    ----------
    view : View
        State of the system.
    count : int
        Number of drives.

    Yields
    ------
    array of int32, shape `[1, *batch]`
        The drive.
    """
    return lowest_lots(jnp.where(view.holders(), lots(view.word, view.busy.shape[0]), jnp.inf), count)


def shortest(
    candidates: Iterable[Int[Array, "1 *batch"]],
    length_of: Callable[[Int[Array, "1 *batch"]], Int[Array, "1 *batch"]],
) -> Int[Array, "1 *batch"]:
    """Return the candidate with the shortest queue; the first of them if lengths are equal.

    Parameters
    ----------
    candidates : iterable of array of int32, shape `[1, *batch]`
        Numbers of queues, at least one.
    length_of : callable
        Function of a number of a queue, `[1, *batch]`. It returns the length of the queue, `[1, *batch]`.

    Returns
    -------
    array of int32, shape `[1, *batch]`
        Number of the queue.
    """
    chosen, *others = candidates
    least = length_of(chosen)
    for other in others:
        length = length_of(other)
        chosen = jnp.where(length < least, other, chosen)
        least = jnp.minimum(least, length)
    return chosen


# Validator of a number of choices, at most the largest number of parts of a request.
choices_of = partial(COUNT.up_to(MOST_PARTS), "choices")


class ShortestQueue(AsManyAsNeeded):
    """Send a request to the shortest of several queues that are drawn at random: the power of two choices.

    The length of a queue is the number of requests waiting and in service. If lengths are equal, the queue that was
    drawn first is selected.

    Parameters
    ----------
    choices : int
        Number of queues that are drawn, by default 2, from 1 to `placement.MOST_PARTS`.

    Raises
    ------
    InputError
        If the number is out of range.

    References
    ----------
    Mitzenmacher, IEEE TPDS 12(10), 2001; Vvedenskaya, Dobrushin and Karpelevich 1996.
    """

    choices: int = eqx.field(static=True, default=2, converter=choices_of)

    def route(self, private, request, entering, view):
        drive = shortest(drawn(view, self.choices), partial(pick, view.load()))
        return bit(pick(view.part(), drive)), private


class Redundant(AbstractDispatch):
    """Send a request to several parts that are drawn at random, and later withdraw the parts that are not needed.

    Parameters
    ----------
    choices : int
        Number of parts that are drawn, by default 2, from 1 to `placement.MOST_PARTS`.
    finishing : bool
        Whether the other parts are withdrawn when one access ends, so that several parts may be served. By default
        False: the other parts are withdrawn when one access begins.

    Raises
    ------
    InputError
        If a value is out of range.

    Notes
    -----
    With `finishing` the model is redundancy-d (Gardner et al.). With withdrawal at the start of service it is
    equivalent to joining the queue with the least work (Ayesta et al.).

    References
    ----------
    Gardner et al., Operations Research 65(4), 2017; Ayesta, Bodas and Verloop, Performance Evaluation 127, 2018.
    """

    choices: int = eqx.field(static=True, default=2, converter=choices_of)
    finishing: bool = eqx.field(static=True, default=False)

    def __check_init__(self):
        validate_fields(self)

    @property
    def withdraws(self):
        return not self.finishing

    def entry_part(self, routed, receiving):
        return index_of(routed)

    def retry_targets(self, alive, targets):
        chosen = jnp.zeros_like(alive)
        for _ in range(self.choices):
            chosen = chosen | lowest(alive & ~chosen)
        return chosen

    def route(self, private, request, entering, view):
        targets = jnp.zeros(request.number.shape, jnp.uint32)
        for drive in drawn(view, self.choices):
            targets = targets | bit(pick(view.part(), drive))
        return targets, private
