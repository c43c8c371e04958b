"""Decentralized hashing: the address alone says which replica serves a read (dsptf, section 4)."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from storagekit.dispatch.base import OneChosen
from storagekit.errors import InputError
from storagekit.lanes import bit, real
from storagekit.workload import fraction


class Hashing(OneChosen):
    """Read from replica hash(address) mod replicas."""

    def init(self, slots, drives, lanes):
        return None

    def route(self, private, request, entering, view):
        return bit((request.address_hash % jnp.asarray(view.copies).astype(jnp.uint32)).astype(jnp.int32)), private


class WeightedHashing(OneChosen):
    """Hashing with shares: drive d gets weights[d] / sum(weights) of the addresses (dsptf, section 5.2.1)."""

    weights: Float[Array, "drive"] = eqx.field(converter=real)

    def __check_init__(self):
        weights = np.asarray(self.weights)
        if weights.ndim != 1 or not np.all((weights >= 0) & np.isfinite(weights)) or not weights.sum() > 0:
            raise InputError(f"hash weights {weights.tolist()}: give one per drive, none below 0, not all 0")

    def check(self, copies):
        if len(self.weights) != copies:
            raise InputError(f"{len(self.weights)} hash weights for {copies} replicas: give one for each")

    def init(self, slots, drives, lanes):
        return None

    def route(self, private, request, entering, view):
        edges = jnp.cumsum(self.weights) / jnp.sum(self.weights)
        point = fraction(request.address_hash)
        index = sum((point >= edge).astype(jnp.int32) for edge in edges[:-1])
        return bit(jnp.asarray(index, jnp.int32) + jnp.zeros_like(request.number)), private
