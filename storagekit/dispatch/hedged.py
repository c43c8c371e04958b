"""Hedged reads: a read is sent to one replica, and after a delay also to another replica."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from storagekit.component.events import BrickStopped, RequestAdmitted, StateSizes
from storagekit.core.arrays import AnyArray
from storagekit.core.batching import bit, index_of, named
from storagekit.core.errors import InputError
from storagekit.core.validation import SPAN
from storagekit.dispatch.base import AbstractDispatch, View
from storagekit.workload import Requests


class Hedged(AbstractDispatch):
    """Read from one replica and, if the read has not completed after a delay, also from the next replica.

    The first replica has the number hash(address) mod the number of replicas.

    Parameters
    ----------
    delay : float
        Time in seconds after which the read is sent to the next replica, at least 0 and finite, by default 10e-3.

    Raises
    ------
    InputError
        If the delay is out of range, or the parts of the placement are not copies of one another.

    Notes
    -----
    The read completes with the first access that ends. The other part is withdrawn if its access has not begun by then.

    The private state is an array `[slot, *batch]` with the part that each request is sent to first. It is -1 after the
    request is sent again, because it is then sent to all parts simultaneously.

    References
    ----------
    Dean and Barroso, CACM 56(2), 2013.
    """

    delay: Float[AnyArray, "..."] = eqx.field(converter=named("a delay before hedging of"), default=10e-3)

    def __check_init__(self):
        SPAN.each("a delay before hedging of", self.delay)

    def check(self, facts):
        if not facts.is_replicated:
            raise InputError(
                f"hedged reads on {facts.layout}: the parts of this layout are not copies of one another; use "
                "Redundant()"
            )

    @property
    def withdraws(self):
        return False

    def init(self, sizes: StateSizes):
        return jnp.zeros((sizes.slots, *sizes.batch), jnp.int32)

    def route(self, private, request, entering, view: View):
        first = self._first(request, view.parts)
        return bit(first) | bit((first + 1) % view.parts), private

    def on_admitted(self, private: Int[Array, "slot *batch"], event: RequestAdmitted):
        return jnp.where(event.slot_mask, self._first(event.request, jnp.asarray(event.placement.parts)), private)

    def sending_time(self, private, sent, part):
        return sent + jnp.where((part == private) | (private < 0), 0.0, self.delay)

    def entry_part(self, routed, receiving):
        return index_of(routed)

    def on_brick_stopped(self, private, event: BrickStopped):
        return jnp.where(event.lost, -1, private)

    def _first(self, request: Requests, parts: Int[AnyArray, "..."]) -> Int[Array, "1 *batch"]:
        return (request.address_hash % parts.astype(jnp.uint32)).astype(jnp.int32)
