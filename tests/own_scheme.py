"""A researcher's own scheme, in a file of its own: all that a new protocol takes. It passes the laws of tests/contracts."""

import jax.numpy as jnp

from storagekit.core.batching import bit, pick
from storagekit.dispatch import AsManyAsNeeded
from storagekit.workload import below, scramble


class RandomOfTwo(AsManyAsNeeded):
    """The part with the shorter queue of two that are drawn for each request; of equals the one that was drawn first."""

    def route(self, private, request, entering, view):
        first = below(view.word, view.parts)
        steps = 1 + below(scramble(view.word), view.parts - 1)
        other = (first + steps) % view.parts
        load = view.load()
        shorter, longer = (pick(load, view.placement.drive_of(part, view.place)) for part in (other, first))
        return bit(jnp.where(shorter < longer, other, first)), private
