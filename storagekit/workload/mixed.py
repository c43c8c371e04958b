"""Requests of several classes in one stream of arrivals, such as the requests of several tenants of an array."""

from functools import partial, reduce

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Num, UInt32

from storagekit.core.arrays import AnyArray, namespace
from storagekit.core.batching import each_named
from storagekit.core.errors import InputError
from storagekit.core.validation import POSITIVE, instance_of, several
from storagekit.workload.randomness import fraction, scramble
from storagekit.workload.requests import AbstractRequests, RandomRequests, Requests

_MODELS = several(instance_of(RandomRequests, "one as sk.workload.RandomRequests(...)"), 1, "models")


class MixedRequests(AbstractRequests):
    """Requests of several classes, each drawn with a probability in proportion to its share.

    Parameters
    ----------
    models : sequence of RandomRequests
        Model of the requests of each class. The number of the class is the stream of a request.
    shares : sequence of float
        Share of each class among the requests, above 0: one number, or one for each run. The shares need not sum to 1.

    Raises
    ------
    InputError
        If the lengths differ, or a value is out of its range.

    Notes
    -----
    If the arrivals are Poisson, the arrivals of each class are Poisson and independent of the other classes.

    Examples
    --------
    >>> import storagekit as sk
    >>> pages = sk.workload.RandomRequests(sk.workload.FixedSize(8192), read_share=0.7)
    >>> images = sk.workload.RandomRequests(sk.workload.FixedSize(1e6), read_share=1.0)
    >>> sk.workload.MixedRequests([pages, images], [300.0, 20.0]).stream_count
    2
    """

    models: tuple[RandomRequests, ...] = eqx.field(converter=partial(_MODELS, "models of requests"))
    shares: tuple[Float[AnyArray, "..."], ...] = eqx.field(converter=each_named("share of a class"))

    def __check_init__(self):
        if len(self.models) != len(self.shares):
            raise InputError(f"{len(self.models)} models with {len(self.shares)} shares: give one share for each model")
        for share in self.shares:
            POSITIVE.each("share of a class", share)

    @property
    def largest(self) -> Int[AnyArray, "..."]:
        sizes = [model.largest for model in self.models]
        return reduce(namespace(*sizes).maximum, sizes)

    @property
    def stream_count(self):
        return len(self.models)

    @property
    def stores_streams(self):
        return True

    def check(self, capacity: int | Num[AnyArray, "..."]) -> None:
        for model in self.models:
            model.check(capacity)

    def drawn(
        self,
        capacity: int | Num[AnyArray, "..."],
        one: tuple[UInt32[Array, "*row"], UInt32[Array, "*row"]],
        other: tuple[UInt32[Array, "*row"], UInt32[Array, "*row"]],
        number: Int[Array, "*row"],
    ) -> Requests:
        (_, size), (operation, _) = one, other
        stream = self._class(fraction(scramble(operation ^ scramble(size))))
        found = [model.drawn(capacity, one, other, number) for model in self.models]
        return jax.tree.map(partial(_selected, stream), *found)._replace(stream=stream)

    def _class(self, uniform: Float[Array, "*row"]) -> Int[Array, "*row"]:
        """Return the number of the class that a uniform random number selects."""
        total = sum(self.shares[1:], start=self.shares[0])
        edge, found = jnp.zeros_like(uniform), jnp.zeros(uniform.shape, jnp.int32)
        for share in self.shares[:-1]:
            edge = edge + share / total
            found = found + (uniform >= edge)
        return found


def _selected(stream: Int[Array, "*row"], *columns: Array) -> Array:
    """Return, for each request, the value of the column of its stream."""
    found = columns[0]
    for number, column in enumerate(columns[1:], 1):
        found = jnp.where(stream == number, column, found)
    return found
