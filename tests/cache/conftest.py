"""A stream of requests through a cache, called as the event loop calls it."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from storagekit.cache import LookUpQuery
from storagekit.component.events import StateSizes
from storagekit.placement import Location, Replicas
from storagekit.workload import Requests


def query(entering) -> LookUpQuery:
    """The lookup of one brick that has all data."""
    nowhere = jnp.zeros(entering.shape, jnp.int32)
    return LookUpQuery(Replicas(1), jnp.ones(entering.shape, jnp.uint32), nowhere, Location(None, nowhere))


@jax.jit
def all_hits(cache, requests, entering):
    def one(private, row):
        found, private = cache.look_up(private, *row, query(row[1]))
        return private, found.hit

    return jax.lax.scan(one, cache.init(StateSizes(1, 1, entering.shape[2:])), (requests, entering))[1]


@pytest.fixture(scope="session")
def hits():
    """`hits(cache, sector, sectors, read, entering)`: whether each request hits, in columns of shape `[request,
    *batch]`."""

    def hits(cache, sector, sectors=16, read=True, entering=True):
        sector = jnp.asarray(sector, jnp.int32)[:, None]

        def column(values, kind):
            values = np.asarray(values, kind)
            values = values.reshape((*values.shape[:1], 1, *values.shape[1:])) if values.ndim else values
            return jnp.broadcast_to(values, sector.shape)

        blank = dict.fromkeys(Requests._fields, jnp.zeros_like(sector))
        number = jnp.broadcast_to(jnp.arange(len(sector)).reshape(-1, *(1,) * (sector.ndim - 1)), sector.shape)
        columns = {"number": number, "sectors": column(sectors, np.int32), "read": column(read, bool)}
        requests = Requests(**{**blank, **columns, "sector": sector})

        hit = all_hits(cache, requests, column(entering, bool))
        return np.asarray(hit)[:, 0]

    return hits
