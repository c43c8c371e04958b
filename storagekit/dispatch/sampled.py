"""Dispatchers that draw some parts at random, and select the part with the shortest queue or all drawn parts."""

from collections.abc import Iterator
from functools import partial

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Int, UInt32

from storagekit.core.batching import bit, first_min, index_of, lowest, pick, row_index
from storagekit.core.validation import COUNT, validate_fields
from storagekit.dispatch.base import AbstractDispatch, AsManyAsNeeded, View
from storagekit.placement import MOST_PARTS
from storagekit.workload import scramble


def drawn(view: View, count: int) -> Iterator[tuple[Int[Array, "1 *batch"], UInt32[Array, "1 *batch"]]]:
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
    drive : array of int32, shape `[1, *batch]`
        The drive.
    part : array of uint32, shape `[1, *batch]`
        Mask of the part that the drive holds.
    """
    drive = row_index(view.busy.shape[0], view.busy)
    # Random bits of the request and the drive. The order of these bits is a random order of the drives.
    lot = scramble(view.word + scramble(drive)).astype(jnp.float32)
    lot = jnp.where(view.holders(), lot, jnp.inf)
    for _ in range(count):
        chosen, _ = first_min(lot)
        yield chosen, bit(pick(view.part(), chosen))
        lot = jnp.where((drive == chosen) & (jnp.sum(jnp.isfinite(lot), axis=0, keepdims=True) > 1), jnp.inf, lot)


# Validator of a number of choices, at most the largest number of parts of a request.
_choices = partial(COUNT.up_to(MOST_PARTS), "choices")


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

    choices: int = eqx.field(static=True, default=2, converter=_choices)

    def route(self, private, request, entering, view):
        load = view.load()
        (drive, part), *others = drawn(view, self.choices)
        least = pick(load, drive)
        for drive, other in others:
            part = jnp.where(pick(load, drive) < least, other, part)
            least = jnp.minimum(least, pick(load, drive))
        return part, private


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

    choices: int = eqx.field(static=True, default=2, converter=_choices)
    finishing: bool = eqx.field(static=True, default=False)

    def __check_init__(self):
        validate_fields(self)

    @property
    def withdraws(self):
        return not self.finishing

    def entrance(self, routed, receiving):
        return index_of(routed)

    def again(self, alive, targets):
        chosen = jnp.zeros_like(alive)
        for _ in range(self.choices):
            chosen = chosen | lowest(alive & ~chosen)
        return chosen

    def route(self, private, request, entering, view):
        targets = jnp.zeros(request.number.shape, jnp.uint32)
        for _, part in drawn(view, self.choices):
            targets = targets | part
        return targets, private
