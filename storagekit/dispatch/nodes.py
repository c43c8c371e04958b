"""Dispatchers that select as many nodes as the data needs: at random, or from the state of all queues.

The paper ars compares its protocol with these dispatchers. A node is a brick. Its part of a request is the lowest part
that it holds.
"""

from collections.abc import Iterable

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Num, UInt32

from storagekit.core.arrays import AnyArray
from storagekit.core.batching import bit, bit_is_set, by_row, comes_before, named, pick, row_index, union
from storagekit.core.errors import InputError
from storagekit.core.validation import TIME, require, shown, validate_fields
from storagekit.dispatch.base import AsManyAsNeeded, View
from storagekit.workload import scramble


def least_of(
    cost: Num[Array, "brick *batch"],
    holds: Bool[Array, "brick *batch"],
    part: Int[Array, "brick *batch"],
    wanted: Int[Array, "1 *batch"],
) -> UInt32[Array, "1 *batch"]:
    """Return the mask of the parts on the nodes with the lowest cost, among the nodes that hold a part.

    Parameters
    ----------
    cost : array, shape `[brick, *batch]`
        Cost of each node. If costs are equal, the node with the lower number comes first.
    holds : array of bool, shape `[brick, *batch]`
        Mask of the nodes that hold a part.
    part : array of int32, shape `[brick, *batch]`
        Part on each node.
    wanted : array of int32, shape `[1, *batch]`
        Number of nodes to select.

    Returns
    -------
    array of uint32, shape `[1, *batch]`
        Mask of the parts, bit k for part k.
    """
    ahead = jnp.sum(holds[:, None] & comes_before(cost), axis=0, dtype=jnp.int32)
    return union(jnp.where(holds & (ahead < wanted), bit(part), jnp.uint32(0)))


class Randomized(AsManyAsNeeded):
    """Select as many nodes as the data needs, at random for each request.

    32 random bits of the request determine the nodes, so that a request is sent to the same nodes under every
    scheduler.

    References
    ----------
    ars, section 5.
    """

    def route(self, private, request, entering, view):
        holds, part = view.by_brick()
        lot = scramble(request.receiving + scramble(row_index(holds.shape[0], holds)))
        return least_of(lot, holds, part, view.needed), private


def _times(given: Iterable) -> tuple[Float[AnyArray, "..."], ...]:
    try:
        return tuple(map(named("a mean service time of"), given))
    except TypeError:
        raise InputError(f"mean service times {shown(given)}: give a tuple with one time for each brick") from None


class Central(AsManyAsNeeded):
    """Select as many nodes as the data needs: the nodes that are expected to complete the request first.

    Parameters
    ----------
    service : sequence of float
        Mean service time of a drive of each brick, seconds, above 0. A request is assumed to wait for all requests in
        its queue.
    write_service : sequence of float, optional
        Mean service times of writes, seconds; by default the values of `service`.
    exact : bool
        Whether the dispatcher uses the positions of the heads, by default False. If true, the time until completion on
        an idle drive is the duration of the access. On a busy drive it is the time until the end of the present access,
        plus the mean service times of the waiting requests and of this request.

    Raises
    ------
    InputError
        If a time is not above 0, or the number of times is not the number of bricks.

    Notes
    -----
    If nodes have equal times, the node with the lowest number is selected. The model selects nodes for each request
    when it arrives. The paper instead packs bins to maximize throughput. Parts in the buffers of nodes are not counted.

    References
    ----------
    ars, section 5.
    """

    service: tuple[Float[AnyArray, "..."], ...] = eqx.field(converter=_times)
    write_service: tuple[Float[AnyArray, "..."], ...] = eqx.field(converter=_times, default=())
    exact: bool = eqx.field(static=True, default=False)

    def __check_init__(self):
        validate_fields(self)
        for label, times in (("service", self.service), ("write service", self.write_service)):
            for time in times:
                TIME.each(f"a mean {label} time of", time)
        written = len(self.write_service)
        require(
            written in (0, len(self.service)),
            "mean write service times",
            written,
            f"{len(self.service)}, one for each brick, or 0",
        )

    def check(self, facts):
        if len(self.service) != facts.bricks:
            raise InputError(
                f"{len(self.service)} mean service times for {facts.bricks} bricks: give one for each brick"
            )

    def route(self, private, request, entering, view):
        holds, part = view.by_brick()
        mean = jnp.where(request.read, by_row(self.service, holds), by_row(self.write_service or self.service, holds))
        beside = view.placement.sibling(part, view.location)
        # Two calls would double the size of the program.
        estimates = self._completion(view, jnp.concatenate([part, beside]), jnp.concatenate([mean, mean]))
        completion, of_sibling = jnp.split(estimates, 2)
        # A write completes only when its parity is also on disk.
        both = ~request.read & bit_is_set(view.placement.parts_of(view.location), beside)
        completion = jnp.where(both, jnp.maximum(completion, of_sibling), completion)
        return least_of(completion, holds, part, view.needed), private

    def _completion(
        self, view: View, part: Int[Array, "row *batch"], mean: Float[Array, "row *batch"]
    ) -> Float[Array, "row *batch"]:
        """Return the time in seconds until each part of the entering request would complete.

        Parameters
        ----------
        view : View
            State of the system.
        part : array of int32, shape `[row, *batch]`
            The parts.
        mean : array of float32, shape `[row, *batch]`
            Mean service time of the drive of each part, seconds.

        Returns
        -------
        array of float32, shape `[row, *batch]`
            Time in seconds until completion.
        """
        drive = view.placement.drive_of(part, view.location)
        queued = view.queued(drive)
        if not self.exact:
            return (queued + pick(view.busy, drive) + 1) * mean
        later = pick(view.time_until_idle, drive) + (queued + 1) * mean
        return jnp.where(pick(view.free, drive), view.access_time(drive), later)
