"""A closed loop and a Poisson stream as one component, so that systems with either workload share a compiled program."""

from functools import partial

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from storagekit.core.arrays import AnyArray
from storagekit.core.batching import INSTANT, named, whole
from storagekit.core.errors import InputError
from storagekit.core.validation import POSITIVE, instance_of, traced
from storagekit.workload.arrivals import REQUESTS, AbstractRandomArrivals, PoissonArrivals
from storagekit.workload.requests import AbstractRequests


class ClosedOrOpen(AbstractRandomArrivals):
    """A `ClosedLoop` of `outstanding` requests, or `PoissonArrivals` where `outstanding` is 0.

    A number selects the workload, so a sweep over both workloads compiles once. The results equal the results of
    `ClosedLoop` and of `PoissonArrivals`. Each parameter is one number, or one number for each run of a batch.

    Parameters
    ----------
    requests : AbstractRequests
        The requests.
    outstanding : int
        Number of outstanding requests in a closed loop; 0, the default, for an open stream.
    rate : float
        Arrival rate of an open stream, requests a second, above 0; by default 1. A closed loop does not use the rate.

    Raises
    ------
    InputError
        If `outstanding` is negative or `rate` is not above 0.

    Examples
    --------
    >>> import storagekit as sk
    >>> requests = sk.workload.RandomRequests(sk.workload.FixedSize(4096), read_share=1.0)
    >>> sk.workload.ClosedOrOpen(requests, outstanding=8).most_outstanding
    8
    """

    requests: AbstractRequests = eqx.field(
        converter=partial(instance_of(AbstractRequests, REQUESTS), "requests of arrivals")
    )
    outstanding: Int[AnyArray, "..."] = eqx.field(converter=named("requests outstanding", whole), default=0)
    rate: Float[AnyArray, "..."] = eqx.field(converter=named("arrival rate"), default=1.0)

    def __check_init__(self):
        POSITIVE.in_unit("a second").each("arrival rate", self.rate)
        if not traced(self.outstanding) and np.any(np.asarray(self.outstanding) < 0):
            raise InputError(
                f"{np.min(self.outstanding)} requests outstanding: give at least 1 for a closed loop, or 0 for an "
                "open stream"
            )

    @property
    def _closed(self):
        return self.outstanding > 0

    @property
    def most_outstanding(self):
        return int(np.max(self.outstanding)) or None

    def window(self, capacity, key, first, count):
        # gaps have no effect in a closed loop, whose arrivals are completions
        return PoissonArrivals(self.requests, self.rate).window(capacity, key, first, count)

    @property
    def first_arrival(self):
        return jnp.where(self._closed, jnp.inf, 0.0)

    def at_start(self, slot):
        return slot < self.outstanding

    def next_arrival(self, private, pending, answer):
        return jnp.where(self._closed, answer, pending)

    def precedes(self, arrival, choice):
        # see `ClosedLoop`
        return jnp.where(self._closed, arrival < choice - INSTANT, arrival <= choice)

    def frees_slot(self, admitted, due, pending):
        return jnp.where(self._closed, admitted, due)
