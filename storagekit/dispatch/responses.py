"""Measurements of clients: the performance of nodes, and whether they respond (ars, sections 4.3 to 4.5)."""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, UInt32

from storagekit.core.arrays import AnyArray
from storagekit.core.batching import any_row, bit, bit_is_set, first_true, pick, pick_tree, put, row_index


class Observed(NamedTuple):
    """Responses, one row for each operation, client and node, in this order of significance.

    sectors, seconds: sums since the last computation. metric: sectors a second as last computed; 0 before the first
    response. computed: when the present value was computed, a number that increases with time.
    """

    sectors: Float[Array, "row *batch"]
    seconds: Float[Array, "row *batch"]
    metric: Float[Array, "row *batch"]
    computed: Int[Array, "row *batch"]

    def heard(
        self,
        row: Int[Array, "1 *batch"],
        sectors: Float[Array, "1 *batch"],
        seconds: Float[Array, "1 *batch"],
        made: Bool[Array, "1 *batch"],
    ) -> "Observed":
        """Return the measurements after a response of so many sectors and seconds, where one is `made`."""

        def added(sums, one):
            return put(sums, row, pick(sums, row) + jnp.where(made, one, 0.0))

        return self._replace(sectors=added(self.sectors, sectors), seconds=added(self.seconds, seconds))

    def renewed(self, over: Bool[Array, "row *batch"], when: Int[Array, "1 *batch"]) -> "Observed":
        """Return the measurements after metrics have been computed, where a window is `over`. Rows without a response
        keep theirs.
        """
        new = over & (self.seconds > 0)
        ratio = self.sectors / jnp.where(self.seconds > 0, self.seconds, 1.0)
        return Observed(
            jnp.where(over, 0.0, self.sectors),
            jnp.where(over, 0.0, self.seconds),
            jnp.where(new, ratio, self.metric),
            jnp.where(new, when, self.computed),
        )

    def weights(
        self, first: Int[Array, "1 *batch"], holds: Bool[Array, "node *batch"]
    ) -> tuple[Float[Array, "node *batch"], Int[Array, "1 *batch"]]:
        """Return the metrics of the nodes that hold the data, in the rows from `first` on, and when the latest was computed.

        A node without a response has the mean of the others, which is an equal share; all are 0 if there is none.
        """
        row = first + row_index(holds.shape[0], holds)
        metric = jnp.where(holds, jnp.take_along_axis(self.metric, row, axis=0, mode="clip"), 0.0)
        known = metric > 0
        mean = jnp.sum(metric, axis=0, keepdims=True) / jnp.maximum(jnp.sum(known, axis=0, keepdims=True), 1)
        computed = jnp.where(holds, jnp.take_along_axis(self.computed, row, axis=0, mode="clip"), 0)
        return jnp.where(holds & ~known, mean, metric), jnp.max(computed, axis=0, keepdims=True)


def observed(count: int, lanes: tuple[int, ...]) -> Observed:
    """Return measurements without a response."""
    none = jnp.zeros((count, *lanes), jnp.float32)
    return Observed(none, none, none, none.astype(jnp.int32))


class Silence(NamedTuple):
    """Nodes that do not respond.

    number, client, nodes: of the request in each slot its number, its client, and the mask of the nodes to which it was sent
    and that have not responded. age: time since it entered, seconds. sent_to: mask of the nodes of the request that enters
    next. quiet: time since the last response of a node to a client, one row for each client and node. missed: whether a
    request was answered by others after the patience of the client, and the node has not responded since.
    """

    number: Int[Array, "slot *batch"]
    client: Int[Array, "slot *batch"]
    nodes: UInt32[Array, "slot *batch"]
    age: Float[Array, "slot *batch"]
    sent_to: UInt32[Array, "1 *batch"]
    quiet: Float[Array, "row *batch"]
    missed: Bool[Array, "row *batch"]

    def sent(self, nodes: UInt32[Array, "1 *batch"], entering: Bool[Array, "1 *batch"]) -> "Silence":
        """Return the state after an `entering` request is routed to these nodes."""
        return self._replace(sent_to=jnp.where(entering, nodes, self.sent_to))

    def entered(
        self, into: Bool[Array, "slot *batch"], number: Int[Array, "1 *batch"], client: Int[Array, "1 *batch"]
    ) -> "Silence":
        """Return the state after the request that was routed last is in the slot marked in `into`."""
        return self._replace(
            number=jnp.where(into, number, self.number),
            client=jnp.where(into, client, self.client),
            nodes=jnp.where(into, self.sent_to, self.nodes),
            age=jnp.where(into, 0.0, self.age),
        )

    def heard(
        self,
        slot: Int[Array, "1 *batch"],
        node: Int[Array, "1 *batch"],
        row: Int[Array, "1 *batch"],
        made: Bool[Array, "1 *batch"],
    ) -> "Silence":
        """Return the state after a node has responded to the request in a slot. row: of its client and node."""
        its = (row_index(self.nodes.shape[0], self.nodes) == slot) & made
        here = (row_index(self.quiet.shape[0], self.quiet) == row) & made
        return self._replace(
            nodes=jnp.where(its, self.nodes & ~bit(node), self.nodes),
            quiet=jnp.where(here, 0.0, self.quiet),
            missed=self.missed & ~here,
        )

    def settled(self, number: Int[Array, "1 *batch"], patience: Float[AnyArray, "..."], nodes: int) -> "Silence":
        """Return the state after a request has completed: nodes that kept it waiting beyond the patience are noted."""
        slot, found = first_true((self.number == number) & (self.nodes != 0) & (number >= 0))
        mask, age, client = pick_tree((self.nodes, self.age, self.client), slot)
        row = row_index(self.quiet.shape[0], self.quiet)
        late = (row // nodes == client) & bit_is_set(mask, row % nodes) & (age >= patience) & (self.quiet >= patience)
        its = (row_index(self.nodes.shape[0], self.nodes) == slot) & found
        return self._replace(missed=self.missed | (late & found), nodes=jnp.where(its, jnp.uint32(0), self.nodes))

    def elapse(self, time: Float[Array, "1 *batch"]) -> "Silence":
        return self._replace(age=self.age + time, quiet=self.quiet + time)

    def silent(
        self, client: Int[Array, "1 *batch"], patience: Float[AnyArray, "..."], nodes: int
    ) -> Bool[Array, "node *batch"]:
        """Return a mask of the nodes that have not responded to a client for longer than its patience."""
        row = client * nodes + row_index(nodes, self.quiet)
        missed = jnp.take_along_axis(self.missed, row, axis=0, mode="clip")
        quiet = jnp.take_along_axis(self.quiet, row, axis=0, mode="clip")
        asked = [
            any_row((self.client == client) & (self.age >= patience) & bit_is_set(self.nodes, jnp.int32(node)))
            for node in range(nodes)
        ]
        return missed | (jnp.concatenate(asked) & (quiet >= patience))


def silence(slots: int, clients: int, nodes: int, lanes: tuple[int, ...]) -> Silence:
    """Return a state without requests."""
    slot, row = jnp.zeros((slots, *lanes), jnp.int32), jnp.zeros((clients * nodes, *lanes), jnp.float32)
    number, mask, age = slot - 1, slot.astype(jnp.uint32), slot.astype(jnp.float32)
    return Silence(number, slot, mask, age, jnp.zeros((1, *lanes), jnp.uint32), row, row > 0)
