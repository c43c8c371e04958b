"""As many of the nodes that hold the data as it needs: at random, or chosen by one who knows them all.

The protocols beside which ars holds its own. A node is a brick, the part that it has of a request the lowest of them.
"""

from collections.abc import Iterable

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Num, UInt32

from storagekit.arrays import AnyArray
from storagekit.checks import require, require_each_positive, shown
from storagekit.dispatch.base import AsManyAsNeeded, View
from storagekit.errors import InputError
from storagekit.kinds import flag, hold
from storagekit.lanes import bit, by_row, comes_before, held, named, pick, rows, union
from storagekit.placement import AbstractPlacement
from storagekit.workload import scramble


def node_count(drives: int, placement: AbstractPlacement) -> int:
    """How many bricks a layout makes of so many drives."""
    sizes = placement.brick_sizes
    return drives // placement.drives_a_brick if sizes is None else len(sizes)


def least_of(
    cost: Num[Array, "brick *lanes"],
    holds: Bool[Array, "brick *lanes"],
    part: Int[Array, "brick *lanes"],
    wanted: Int[Array, "1 *lanes"],
) -> UInt32[Array, "1 *lanes"]:
    """The parts, one bit each, of the `wanted` nodes of least cost among those that hold one; of equals the lowest."""
    ahead = jnp.sum(holds[:, None] & comes_before(cost), axis=0, dtype=jnp.int32)
    return union(jnp.where(holds & (ahead < wanted), bit(part), jnp.uint32(0)))


class Randomized(AsManyAsNeeded):
    """As many nodes as the data needs, drawn anew for each request, whatever it asks for and whoever is busy (ars, section
    5). They are the same under every schedule, because they are drawn from a word of the request."""

    def route(self, private, request, entering, view):
        holds, part = view.by_brick()
        lot = scramble(request.receiving + scramble(rows(holds.shape[0], holds)))
        return least_of(lot, holds, part, view.needed), private


def _times(given: Iterable) -> tuple[Float[AnyArray, "..."], ...]:
    try:
        return tuple(map(named("a mean service time of"), given))
    except TypeError:
        raise InputError(f"{shown(given)} as mean service times: give a tuple, one for each brick") from None


class Central(AsManyAsNeeded):
    """As many nodes as the data needs, those that are estimated to complete it first, chosen by one who knows all queues
    (ars, section 5); of equals the lowest.

    service, write_service: mean seconds that a drive of each brick takes for an access; by default writes take as long as
    reads. A request takes its turn behind what waits and is served at the drive that it goes to. With `exact` the
    time of its access is known where that drive is free, and when what it serves ends where it is not: two readings of
    perfect knowledge. The paper's packs bins to maximize throughput; this one gives every request its least completion time
    as it comes. What nodes have in their buffers to write later is not counted. Raises InputError for times that are
    not above 0, and unless there is one for each brick.
    """

    service: tuple[Float[AnyArray, "..."], ...] = eqx.field(converter=_times)
    write_service: tuple[Float[AnyArray, "..."], ...] = eqx.field(converter=_times, default=())
    exact: bool = eqx.field(static=True, default=False)

    def __check_init__(self):
        hold(self, exact=flag)
        for label, times in (("service", self.service), ("write service", self.write_service)):
            for time in times:
                require_each_positive(f"a mean {label} time of", time, "s")
        written = len(self.write_service)
        require(written in (0, len(self.service)), "mean write service times", written, f"{len(self.service)}, or none")

    def check(self, drives, placement):
        bricks = node_count(drives, placement)
        if len(self.service) != bricks:
            raise InputError(f"{len(self.service)} mean service times for {bricks} bricks: give one for each")

    def route(self, private, request, entering, view):
        holds, part = view.by_brick()
        mean = jnp.where(request.read, by_row(self.service, holds), by_row(self.write_service or self.service, holds))
        beside = view.placement.sibling(part, view.place)
        # one estimate of all: two would be twice the program
        estimates = self._completion(view, jnp.concatenate([part, beside]), jnp.concatenate([mean, mean]))
        completion, of_sibling = jnp.split(estimates, 2)
        # a write is complete when its parity is written too
        both = ~request.read & held(view.placement.parts_of(view.place), beside)
        completion = jnp.where(both, jnp.maximum(completion, of_sibling), completion)
        return least_of(completion, holds, part, view.needed), private

    def _completion(
        self, view: View, part: Int[Array, "row *lanes"], mean: Float[Array, "row *lanes"]
    ) -> Float[Array, "row *lanes"]:
        """Seconds until each part of the admitted request would be complete. mean: seconds of an access at its drive."""
        drive = view.placement.drive_of(part, view.place)
        queued = view.queued(drive)
        if not self.exact:
            return (queued + pick(view.busy, drive) + 1) * mean
        later = pick(view.falls_free, drive) + (queued + 1) * mean
        return jnp.where(pick(view.free, drive), view.takes(drive), later)
