"""Hedging: a read is sent to one replica, and after a delay to another one too."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from storagekit.component.events import BrickStopped, RequestAdmitted, StateSizes
from storagekit.core.arrays import AnyArray
from storagekit.core.batching import bit, index_of, named
from storagekit.core.errors import InputError
from storagekit.core.kinds import SPAN
from storagekit.dispatch.base import AbstractDispatch, View
from storagekit.workload import Requests


class Hedged(AbstractDispatch):
    """Read from replica hash(address) mod replicas, and after `delay` seconds without completion from the next one too.

    The first to complete counts, and a part that has not begun by then is withdrawn (Dean and Barroso, CACM 56(2), 2013).
    The parts of the placement have to be copies. Private state: the part to which the request in each slot is sent first; -1
    once it is sent again, to all parts at once.
    """

    delay: Float[AnyArray, "..."] = eqx.field(converter=named("a delay before hedging of"), default=10e-3)

    def __check_init__(self):
        SPAN.each("a delay before hedging of", self.delay)

    def check(self, drives, placement):
        if not placement.alike:
            layout = type(placement).__name__
            raise InputError(f"hedged reads on {layout}, whose parts are not copies of one another: use Redundant()")

    @property
    def withdraws(self):
        return False

    def init(self, sizes: StateSizes):
        return jnp.zeros((sizes.slots, *sizes.lanes), jnp.int32)

    def route(self, private, request, entering, view: View):
        first = self._first(request, view.parts)
        return bit(first) | bit((first + 1) % view.parts), private

    def entered(self, private: Int[Array, "slot *batch"], moment: RequestAdmitted):
        return jnp.where(moment.into, self._first(moment.request, jnp.asarray(moment.placement.parts)), private)

    def asked_from(self, private, sent, part):
        return sent + jnp.where((part == private) | (private < 0), 0.0, self.delay)

    def entrance(self, routed, receiving):
        return index_of(routed)

    def stopped(self, private, moment: BrickStopped):
        return jnp.where(moment.lost, -1, private)

    def _first(self, request: Requests, parts: Int[AnyArray, "..."]) -> Int[Array, "1 *batch"]:
        return (request.address_hash % parts.astype(jnp.uint32)).astype(jnp.int32)
