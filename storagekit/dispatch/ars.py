"""Adaptive resource selection (ARS): each client hashes requests to nodes in proportion to their measured performance.

References
----------
ars, section 4.
"""

from functools import partial
from typing import Any, NamedTuple, cast

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Bool, Float, Int, UInt32

from storagekit.component.events import AccessEnded, RequestAdmitted, RequestCompleted, StateSizes
from storagekit.core.arrays import AnyArray
from storagekit.core.batching import any_row, bit, named, row_index, union, where_tree
from storagekit.core.errors import InputError
from storagekit.core.validation import COUNT, MOST_COUNTED, NUMBER, SECTORS, TIME, flag, require, require_seconds
from storagekit.dispatch.base import AsManyAsNeeded, View
from storagekit.dispatch.interval_pool import Pool, pool
from storagekit.dispatch.responses import Observed, Silence, observed, silence
from storagekit.dispatch.unit_interval import empty, lengths_for, select, tune
from storagekit.placement import AbstractPlacement
from storagekit.workload import Requests, scramble

# Reads and writes are measured separately.
OPERATIONS = 2
# Bit of the key of an interval that marks writes; the lower bits are the mask of the nodes.
OF_WRITES = 31


class Clients(NamedTuple):
    """Private state of all clients. A view is the performance of all nodes as one client has measured it.

    Parameters
    ----------
    observed : Observed
        Responses by operation, client and node.
    pool : Pool
        Stored unit intervals of the clients.
    left : array of float32, shape `[view, *batch]`
        Time in seconds until each view is next computed. There is one view for each client, or one view if all clients
        share it.
    clock : array of int32, shape `[1, *batch]`
        Number of computations and tunings so far. It defines the order of computations and tunings in time.
    silence : Silence or None
        Nodes that do not respond; None if `ARS.extra` is 0.

    Notes
    -----
    For C clients, n nodes, pools of e intervals and P subregions, the state of a run takes 32 C n + 4 C e (P + 2) + 4 C
    + 4 bytes. If `ARS.extra` is above 0, it takes 16 additional bytes for each slot, and 5 C n + 4 additional bytes.
    For example, five clients, four nodes and pools of 16 intervals take 3,864 bytes. With `extra` and 64 slots, the
    state takes 1,128 additional bytes.
    """

    observed: Observed
    pool: Pool
    left: Float[Array, "view *batch"]
    clock: Int[Array, "1 *batch"]
    silence: Silence | None


def _shared(value: bool) -> Int[AnyArray, "..."]:
    # A number instead of a bool, so that one compiled program may contain runs with either value.
    return cast(Array, np.int32(flag("shared", value)))


class ARS(AsManyAsNeeded):
    """Send a request to as many nodes as its data needs. A hash in a unit interval selects these nodes.

    The interval contains the nodes that hold the data. The length of a node in the interval is in proportion to its
    performance. Each client measures the performance, for reads and writes separately. The performance is the number of
    sectors of the responses in a window, divided by the sum of their response times without the network.

    A node without responses in the last window keeps its previous performance. A node that has never responded has an
    average share; at the start of a run this applies to all nodes. If the performance of a node in an interval has
    changed, the interval is tuned at its next use.

    Parameters
    ----------
    window : float
        Time in seconds between two computations of the performance, above 0, by default 0.03. A computation takes place
        at the first event after the end of a window; the windows of different clients end at different times. ars gives
        no value. The default is the longest tested window for which the shares oscillate at most a tenth more than for
        the shortest tested window (papers.ars.equal, on the cluster of ars with fifty requests outstanding).
    patience : float
        Time without a response, in seconds, after which a node counts as silent, above 0, by default 1. ars gives no
        value. The default is the time-out of clients.
    block : int
        Number of consecutive sectors that share one hash, at least 1, by default 128 (64 KB, as in the volumes of ars).
    clients : int
        Number of clients that are distinguished, at least 1, by default 5. Requests of other clients count as requests
        of client number % clients.
    shared : bool
        Whether all clients share one view (the measured performance of the nodes) and one pool of intervals, by default
        False.
    pool : int
        Number of unit intervals that a client stores, at least 1, by default 16. If a client needs another interval,
        the least recently tuned interval is dropped. The default exceeds the number of intervals that four nodes need
        for reads and writes to all sets of three and of four nodes.
    extra : int
        Largest number of additional nodes that a read is sent to, one for each silent node that holds its data, by
        default 0. The remaining parts are withdrawn when the read completes. A read that reaches too few nodes is sent
        again, to all other nodes that are up.

    Raises
    ------
    InputError
        If a number is out of range, or there are more than 31 bricks.

    Notes
    -----
    If requests have no clients, their sizes count as equal.

    References
    ----------
    ars, section 4.
    """

    window: Float[AnyArray, "..."] = eqx.field(converter=named("a window of"), default=0.03)
    patience: Float[AnyArray, "..."] = eqx.field(converter=named("a patience of"), default=1.0)
    block: int = eqx.field(static=True, default=128, converter=partial(SECTORS, "sectors per block"))
    clients: int = eqx.field(static=True, default=5, converter=partial(COUNT, "clients"))
    shared: Int[AnyArray, "..."] = eqx.field(converter=_shared, default=False)
    pool: int = eqx.field(static=True, default=16, converter=partial(COUNT, "intervals in a pool"))
    extra: int = eqx.field(static=True, default=0, converter=partial(NUMBER.up_to(OF_WRITES), "extra nodes"))

    def __check_init__(self):
        TIME.each("a window of", self.window)
        TIME.each("a patience of", self.patience)
        require_seconds("a patience of", self.patience, "time-out")
        kept = self.clients * self.pool
        require(kept <= MOST_COUNTED, "intervals of all clients", kept, f"at most {MOST_COUNTED}; lower pool")

    def check(self, facts):
        if facts.bricks > OF_WRITES:
            raise InputError(
                f"unit intervals of {facts.bricks} bricks: at most {OF_WRITES} are possible; simulate each group of "
                "bricks in a separate run"
            )

    @property
    def withdraws(self):
        return self.extra == 0

    @property
    def sends_more(self):
        return self.extra > 0

    def retry_targets(self, alive, targets):
        # A second attempt is sent to the remaining nodes, and to all nodes that are up if none remains (section 4.5).
        rest = alive & ~targets
        return jnp.where(rest != 0, rest, alive)

    def init(self, sizes: StateSizes) -> Clients:
        views, nodes, shape = self.clients, sizes.bricks, sizes.batch
        none = jnp.zeros((1, *shape), jnp.int32)
        return Clients(
            observed(OPERATIONS * views * nodes, shape),
            pool(views, self.pool, nodes, shape),
            jnp.zeros((views, *shape), jnp.float32) + self.window * (1 - row_index(views, none) / views),
            none,
            silence(sizes.slots, views, nodes, shape) if self.extra else None,
        )

    def route(self, private: Clients, request: Requests, entering, view: View):
        holds, part = view.by_brick()
        client, nodes = self._view_of(request.client), holds.shape[0]
        count = view.needed
        if private.silence is not None:
            silent = private.silence.silent(client, self.patience, nodes) & holds
            more = jnp.minimum(jnp.sum(silent, axis=0, keepdims=True, dtype=jnp.int32), self.extra)
            count = count + jnp.where(request.read, more, 0)
        private, interval = self._tuned(private, request, entering, holds)
        key = scramble(request.sector // self.block)
        most = min(nodes, _most_needed(view.placement, nodes) + self.extra)
        chosen, _ = select(interval, key, jnp.where(entering, count, 0), holds, most)
        row = row_index(nodes, holds)
        targets = sum((row == chosen[number : number + 1] for number in range(most)), jnp.zeros_like(holds))
        if private.silence is not None:
            sent_to = union(jnp.where(targets, bit(row), jnp.uint32(0)))
            private = private._replace(silence=private.silence.sent(sent_to, entering))
        return union(jnp.where(targets, bit(part), jnp.uint32(0))), private

    def on_admitted(self, private: Clients, event: RequestAdmitted):
        if private.silence is None:
            return private
        request = event.request
        client = self._view_of(request.client)
        return private._replace(silence=private.silence.entered(event.slot_mask, request.number, client))

    def on_access_ended(self, private: Clients, event: AccessEnded):
        nodes = private.observed.metric.shape[0] // (OPERATIONS * self.clients)
        client = self._view_of(jnp.zeros_like(event.brick) if event.client is None else event.client)
        of_node = client * nodes + event.brick
        row = of_node + jnp.where(event.read, 0, self.clients * nodes)
        sectors = jnp.ones_like(event.elapsed) if event.sectors is None else event.sectors.astype(jnp.float32)
        private = private._replace(observed=private.observed.responded(row, sectors, event.elapsed, event.awaited))
        if private.silence is None:
            return private
        responded = private.silence.responded(event.slot, event.brick, of_node, event.awaited)
        return private._replace(silence=responded)

    def on_completed(self, private: Clients, event: RequestCompleted):
        if private.silence is None:
            return private
        nodes = private.silence.quiet.shape[0] // self.clients
        return private._replace(silence=private.silence.settled(event.number, self.patience, nodes))

    def elapse(self, private: Clients, time: Float[Array, "1 *batch"]):
        left = private.left - time
        over = left <= 0
        clock = private.clock + any_row(over)
        nodes = private.observed.metric.shape[0] // (OPERATIONS * self.clients)
        of_rows = jnp.concatenate([jnp.repeat(over, nodes, axis=0)] * OPERATIONS)
        return private._replace(
            observed=private.observed.renewed(of_rows, clock),
            left=jnp.where(over, left + (jnp.floor(-left / self.window) + 1) * self.window, left),
            clock=clock,
            silence=None if private.silence is None else private.silence.elapse(time),
        )

    def _view_of(self, client: Int[Array, "1 *batch"]) -> Int[Array, "1 *batch"]:
        """Return the number of the view of a client. If all clients share one view, the number is 0."""
        return jnp.where(self.shared, 0, client % self.clients)

    def _tuned(
        self,
        private: Clients,
        request: Requests,
        entering: Bool[Array, "1 *batch"],
        holds: Bool[Array, "node *batch"],
    ) -> tuple[Clients, Any]:
        """Return the state, and the interval of the nodes that hold the entering request.

        The interval is tuned if necessary.
        """
        nodes = holds.shape[0]
        client = self._view_of(request.client)
        key = _key(holds, request.read)
        entry = private.pool.entry(key, client, self.pool)
        view = client + jnp.where(request.read, 0, self.clients)
        weights, computed = private.observed.weights(view * nodes, holds)
        tunes = entering & (~entry.found | (computed > entry.tuned))
        target = lengths_for(weights, holds)
        before = where_tree(entry.found, entry.interval, empty(target))
        interval = where_tree(tunes, tune(before, target), before)
        clock = private.clock + tunes
        kept = private.pool.tuned_anew(entry, key, interval, clock, tunes)
        return private._replace(pool=kept, clock=clock), interval


def _key(holds: Bool[Array, "node *batch"], read: Bool[Array, "1 *batch"]) -> UInt32[Array, "1 *batch"]:
    """Return the key of the interval of a set of nodes, for reads or for writes."""
    nodes = union(jnp.where(holds, bit(row_index(holds.shape[0], holds)), jnp.uint32(0)))
    return jnp.where(read, nodes, nodes | jnp.uint32(1 << OF_WRITES))


def _most_needed(placement: AbstractPlacement, nodes: int) -> int:
    """Return the largest number of parts that a read needs.

    If it is unknown before a run, return the number of nodes.
    """
    if not placement.needs_several:
        return 1
    needed = placement.needed
    return nodes if isinstance(needed, Tracer) else int(np.max(needed))
