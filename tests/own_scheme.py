"""A researcher's scheme in a separate file: this is all a new protocol needs. It passes the tests of
tests/contracts."""

import jax.numpy as jnp

from storagekit.core.batching import bit, pick
from storagekit.dispatch import AsManyAsNeeded
from storagekit.workload import below, scramble


class RandomOfTwo(AsManyAsNeeded):
    """The part with the shorter queue of two that are chosen at random for each request. Ties go to the one chosen
    first."""

    def route(self, private, request, entering, view):
        first = below(view.word, view.parts)
        steps = 1 + below(scramble(view.word), view.parts - 1)
        other = (first + steps) % view.parts
        load = view.load()
        shorter, longer = (pick(load, view.placement.drive_of(part, view.location)) for part in (other, first))
        return bit(jnp.where(shorter < longer, other, first)), private
