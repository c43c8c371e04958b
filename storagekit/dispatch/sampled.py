"""Some of the parts, drawn at random for each request: the shortest queue of them, or all of them."""

from collections.abc import Iterator
from functools import partial

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Int, UInt32

from storagekit.core.batching import bit, first_min, index_of, lowest, pick, row_index
from storagekit.core.kinds import COUNT, flag, hold
from storagekit.dispatch.base import AbstractDispatch, AsManyAsNeeded, View
from storagekit.placement import MOST_PARTS
from storagekit.workload import scramble


def drawn(view: View, count: int) -> Iterator[tuple[Int[Array, "1 *batch"], UInt32[Array, "1 *batch"]]]:
    """`count` drives that hold the entering request, one after the other and none twice, and the part that each has; fewer
    where fewer hold it (the last again). They are the same under every protocol."""
    drive = row_index(view.busy.shape[0], view.busy)
    # the word of the request, mixed with the drive's number: the order of the words is a random one of the drives
    lot = scramble(view.word + scramble(drive)).astype(jnp.float32)
    lot = jnp.where(view.holders(), lot, jnp.inf)
    for _ in range(count):
        chosen, _ = first_min(lot)
        yield chosen, bit(pick(view.part(), chosen))
        lot = jnp.where((drive == chosen) & (jnp.sum(jnp.isfinite(lot), axis=0, keepdims=True) > 1), jnp.inf, lot)


# as many as a request may have parts
_choices = partial(COUNT.up_to(MOST_PARTS), "choices")


class ShortestQueue(AsManyAsNeeded):
    """Join the shortest queue of `choices` drawn at random, requests waiting and in service; of equals the first drawn.

    The power of two choices: Mitzenmacher, IEEE TPDS 12(10), 2001; Vvedenskaya, Dobrushin and Karpelevich 1996.
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
    """Ask `choices` parts drawn at random; the others are withdrawn once one is served, or, with `finishing`, once one has
    answered, so that several may be served.

    Redundancy-d: Gardner et al., Operations Research 65(4), 2017; cancelled at the start of service, it is the join of the
    least work: Ayesta, Bodas and Verloop, Performance Evaluation 127, 2018.
    """

    choices: int = eqx.field(static=True, default=2, converter=_choices)
    finishing: bool = eqx.field(static=True, default=False)

    def __check_init__(self):
        hold(self, finishing=flag)

    @property
    def withdraws(self):
        return not self.finishing

    def entrance(self, routed, receiving):
        return index_of(routed)

    def again(self, alive, asked):
        chosen = jnp.zeros_like(alive)
        for _ in range(self.choices):
            chosen = chosen | lowest(alive & ~chosen)
        return chosen

    def route(self, private, request, entering, view):
        asked = jnp.zeros(request.number.shape, jnp.uint32)
        for _, part in drawn(view, self.choices):
            asked = asked | part
        return asked, private
