"""Queue in front of devices of limited depth: a brick issues its oldest parts first, up to a fixed number."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Int, UInt32

from storagekit.component.events import AccessStarted, RequestAdmitted, StateSizes
from storagekit.core.arrays import AnyArray
from storagekit.core.batching import bit, bit_is_set, named, row_index, whole
from storagekit.core.errors import InputError
from storagekit.core.validation import require
from storagekit.queue.base import AbstractQueue, Queued

# Largest number of parts that a brick issues in one step: one for the part that ended, and one for a part that was
# withdrawn in the meantime.
AT_ONCE = 2


class Depth(AbstractQueue):
    """Issue parts in the order of their arrival; at most `depth` parts of a brick are at its drives.

    Parameters
    ----------
    depth : int
        Largest number of parts at the drives of a brick, including the parts in service, at least 1; one value, or one
        for each run.

    Raises
    ------
    InputError
        If the depth is below 1.

    Notes
    -----
    The drives choose among the issued parts. With depth 1, and one drive for each brick, every scheduler behaves as
    FCFS. The private state is the mask of the issued parts of each request.
    """

    depth: Int[AnyArray, "..."] = eqx.field(converter=named("a queue depth of", whole))

    def __check_init__(self):
        require(self.depth >= 1, "a queue depth of", self.depth, "at least 1")

    def check(self, facts):
        if facts.competes or facts.withdraws_late or facts.delays or facts.stops:
            raise InputError(
                "a queue of limited depth: not modelled with claims, with outages of bricks, or if parts are hedged, "
                "delayed or withdrawn at completion; use Unlimited()"
            )

    @property
    def remembers(self):
        return False

    def init(self, sizes: StateSizes):
        return jnp.zeros((sizes.slots, *sizes.batch), jnp.uint32)

    def on_admitted(self, private: UInt32[Array, "slot *batch"], event: RequestAdmitted):
        return jnp.where(event.slot_mask, jnp.uint32(0), private)

    def on_access_started(self, private: UInt32[Array, "slot *batch"], event: AccessStarted):
        if not event.placement.reads_before_writes:
            return private
        # a drive that reads a part before it writes the part receives it twice
        served = (row_index(private.shape[0], private) == event.slot) & event.started
        return jnp.where(served, private & ~bit(event.part), private)

    def issued(self, private, waiting, brick):
        return waiting & private

    def issue(self, private: UInt32[Array, "slot *batch"], queued: Queued):
        # Shapes: [drive, slot, *batch], and [drive, drive, *ones] for sums over a brick.
        drive = jnp.arange(queued.busy.shape[0], dtype=jnp.int32).reshape(-1, *(1,) * private.ndim)
        # The parameters of a layout may differ between runs.
        part = jax.vmap(queued.placement.part_on, in_axes=(0, None))(drive, queued.locations)
        waits = bit_is_set(queued.waiting[None], part)
        same = queued.brick[:, None] == queued.brick[None]
        slot, received = row_index(private.shape[0], private)[None], jnp.zeros_like(queued.busy)
        for _ in range(AT_ONCE):
            mine = waits & bit_is_set(private[None], part)
            outstanding = jnp.sum(mine, axis=1) + queued.busy
            has_space = jnp.sum(jnp.where(same, outstanding[None], 0), axis=1) < self.depth
            sent = jnp.where(waits & ~mine, queued.sent[None], jnp.inf)
            oldest = jnp.min(jnp.where(same, jnp.min(sent, axis=1)[None], jnp.inf), axis=1)
            oldest_ones = (sent <= oldest[:, None]) & jnp.isfinite(sent)
            # Among requests that were sent at the same time, the request in the first slot is issued first.
            first = jnp.where(oldest_ones, slot, slot.shape[1])
            first = jnp.min(jnp.where(same, jnp.min(first, axis=1)[None], slot.shape[1]), axis=1)
            next_ones = oldest_ones & (slot == first[:, None]) & (has_space & queued.acts)[:, None]
            # A drive has at most one part of a request, so that the bits of different drives differ.
            private = private | jnp.bitwise_or.reduce(jnp.where(next_ones, bit(part), jnp.uint32(0)), axis=0)
            received = received | jnp.any(next_ones, axis=1)
        return private, received
