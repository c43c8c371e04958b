"""Decentralized hashing: only the address selects the replica that serves a read (dsptf, section 4)."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from storagekit.core.arrays import AnyArray
from storagekit.core.batching import bit, each_named, first_true, pick, row_index
from storagekit.core.errors import InputError
from storagekit.core.validation import traced
from storagekit.dispatch.base import AsManyAsNeeded
from storagekit.workload import fraction


class Hashing(AsManyAsNeeded):
    """Read from the replica whose number is hash(address) mod the number of replicas.

    References
    ----------
    dsptf, section 4.
    """

    def route(self, private, request, entering, view):
        return bit((request.address_hash % view.parts.astype(jnp.uint32)).astype(jnp.int32)), private


class WeightedHashing(AsManyAsNeeded):
    """Hash reads to drives in given shares.

    Drive d is selected from the drives that hold the request. Its probability is in proportion to weights[d].

    Parameters
    ----------
    weights : sequence of float
        Weight of each drive, at least 0 and finite; not all may be 0. If all drives that hold a request have weight 0,
        they have equal probabilities.

    Raises
    ------
    InputError
        If a weight is out of range, or there is not one weight for each drive.

    References
    ----------
    dsptf, section 5.2.1.
    """

    weights: tuple[Float[AnyArray, "..."], ...] = eqx.field(converter=each_named("hash weights"))

    def __check_init__(self):
        if traced(*self.weights):
            return
        weights = [np.asarray(weight) for weight in self.weights]
        if not all(np.all((weight >= 0) & np.isfinite(weight)) for weight in weights) or not np.all(sum(weights) > 0):
            raise InputError(
                f"hash weights {[float(np.min(one)) for one in weights]}: give one weight for each brick, 0 or "
                "more, with a sum above 0"
            )

    def check(self, facts):
        if len(self.weights) != facts.drives:
            raise InputError(f"{len(self.weights)} hash weights for {facts.drives} bricks: give one for each brick")

    def route(self, private, request, entering, view):
        drive = row_index(view.busy.shape[0], view.busy)
        weight = sum(jnp.where(drive == number, one, 0.0) for number, one in enumerate(self.weights))
        weight = jnp.where(view.holders(), weight, 0.0)
        # If all drives that hold the request have weight 0, they have equal probabilities.
        weight = jnp.where(jnp.sum(weight, axis=0) > 0, weight, view.holders().astype(jnp.float32))
        edges = jnp.cumsum(weight, axis=0)
        # The factor below 1 keeps the point at or before the last drive with a weight, despite rounding of the sum.
        chosen, _ = first_true(edges > jnp.minimum(fraction(request.address_hash), 1 - 2.0**-20) * edges[-1:])
        return bit(pick(view.part(), chosen)), private
