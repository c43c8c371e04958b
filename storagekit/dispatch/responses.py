"""Measurements of clients: the performance of nodes, and the nodes that do not respond.

References
----------
ars, sections 4.3 to 4.5.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, UInt32

from storagekit.core.arrays import AnyArray
from storagekit.core.batching import any_row, bit, bit_is_set, first_true, pick, pick_tree, put, row_index


class Observed(NamedTuple):
    """Responses of nodes. Each combination of operation, client and node has a row; the node varies fastest.

    Parameters
    ----------
    sectors : array of float32, shape `[row, *batch]`
        Sectors of the responses since the last computation.
    seconds : array of float32, shape `[row, *batch]`
        Sum of the times of these responses, seconds.
    metric : array of float32, shape `[row, *batch]`
        Performance at the last computation, sectors a second; 0 before the first response.
    computed : array of int32, shape `[row, *batch]`
        Time at which the present performance was computed, as a number that increases with time.
    """

    sectors: Float[Array, "row *batch"]
    seconds: Float[Array, "row *batch"]
    metric: Float[Array, "row *batch"]
    computed: Int[Array, "row *batch"]

    def responded(
        self,
        row: Int[Array, "1 *batch"],
        sectors: Float[Array, "1 *batch"],
        seconds: Float[Array, "1 *batch"],
        valid: Bool[Array, "1 *batch"],
    ) -> "Observed":
        """Return the measurements after a response.

        Parameters
        ----------
        row : array of int32, shape `[1, *batch]`
            Row of the response.
        sectors, seconds : array of float32, shape `[1, *batch]`
            Length of the response in sectors, and its response time in seconds.
        valid : array of bool, shape `[1, *batch]`
            Runs where there is a response.

        Returns
        -------
        Observed
            The new measurements.
        """

        def added(sums, one):
            return put(sums, row, pick(sums, row) + jnp.where(valid, one, 0.0))

        return self._replace(sectors=added(self.sectors, sectors), seconds=added(self.seconds, seconds))

    def renewed(self, over: Bool[Array, "row *batch"], when: Int[Array, "1 *batch"]) -> "Observed":
        """Return the measurements after the performance has been computed for the windows that are over.

        Rows without a response in the window keep their performance.

        Parameters
        ----------
        over : array of bool, shape `[row, *batch]`
            Rows whose window is over.
        when : array of int32, shape `[1, *batch]`
            Time of the computation, a number that increases with time.

        Returns
        -------
        Observed
            The new measurements.
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
        """Return the performance of the nodes that hold the data, and the time of its latest computation.

        Parameters
        ----------
        first : array of int32, shape `[1, *batch]`
            Row of node 0.
        holds : array of bool, shape `[node, *batch]`
            Mask of the nodes that hold the data.

        Returns
        -------
        weights : array of float32, shape `[node, *batch]`
            Performance, sectors a second; 0 for nodes without the data. A node that has never responded gets the mean
            performance of the nodes that have responded, so that its share is average. All are 0 if no node has
            responded.
        computed : array of int32, shape `[1, *batch]`
            Time of the latest computation, a number that increases with time.
        """
        row = first + row_index(holds.shape[0], holds)
        metric = jnp.where(holds, jnp.take_along_axis(self.metric, row, axis=0, mode="clip"), 0.0)
        known = metric > 0
        mean = jnp.sum(metric, axis=0, keepdims=True) / jnp.maximum(jnp.sum(known, axis=0, keepdims=True), 1)
        computed = jnp.where(holds, jnp.take_along_axis(self.computed, row, axis=0, mode="clip"), 0)
        return jnp.where(holds & ~known, mean, metric), jnp.max(computed, axis=0, keepdims=True)


def observed(count: int, batch: tuple[int, ...]) -> Observed:
    """Return measurements of `count` rows without a response, for runs of the batch shape `batch`."""
    none = jnp.zeros((count, *batch), jnp.float32)
    return Observed(none, none, none, none.astype(jnp.int32))


class Silence(NamedTuple):
    """Nodes that do not respond to clients.

    Parameters
    ----------
    number, client : array of int32, shape `[slot, *batch]`
        Number and client of the request in each slot.
    nodes : array of uint32, shape `[slot, *batch]`
        Mask of the nodes that the request was sent to and that have not responded.
    age : array of float32, shape `[slot, *batch]`
        Time in seconds since the request entered.
    sent_to : array of uint32, shape `[1, *batch]`
        Mask of the nodes of the request that enters next.
    quiet : array of float32, shape `[row, *batch]`
        Time in seconds since the last response of a node to a client, one row for each client and node.
    missed : array of bool, shape `[row, *batch]`
        Whether the node missed a request of the client and has not responded since then. The method `settled` states
        when a node misses a request.
    """

    number: Int[Array, "slot *batch"]
    client: Int[Array, "slot *batch"]
    nodes: UInt32[Array, "slot *batch"]
    age: Float[Array, "slot *batch"]
    sent_to: UInt32[Array, "1 *batch"]
    quiet: Float[Array, "row *batch"]
    missed: Bool[Array, "row *batch"]

    def sent(self, nodes: UInt32[Array, "1 *batch"], entering: Bool[Array, "1 *batch"]) -> "Silence":
        """Return the state after the `entering` request is routed to the nodes of the mask `nodes`."""
        return self._replace(sent_to=jnp.where(entering, nodes, self.sent_to))

    def entered(
        self, slot_mask: Bool[Array, "slot *batch"], number: Int[Array, "1 *batch"], client: Int[Array, "1 *batch"]
    ) -> "Silence":
        """Return the state after the request that was routed last has entered a slot.

        Parameters
        ----------
        slot_mask : array of bool, shape `[slot, *batch]`
            Mask of the slot of the request; false everywhere if no request enters.
        number, client : array of int32, shape `[1, *batch]`
            Number and client of the request.

        Returns
        -------
        Silence
            The new state.
        """
        return self._replace(
            number=jnp.where(slot_mask, number, self.number),
            client=jnp.where(slot_mask, client, self.client),
            nodes=jnp.where(slot_mask, self.sent_to, self.nodes),
            age=jnp.where(slot_mask, 0.0, self.age),
        )

    def responded(
        self,
        slot: Int[Array, "1 *batch"],
        node: Int[Array, "1 *batch"],
        row: Int[Array, "1 *batch"],
        valid: Bool[Array, "1 *batch"],
    ) -> "Silence":
        """Return the state after a node has responded to a request.

        Parameters
        ----------
        slot : array of int32, shape `[1, *batch]`
            Slot of the request.
        node : array of int32, shape `[1, *batch]`
            The node.
        row : array of int32, shape `[1, *batch]`
            Row of the client and the node.
        valid : array of bool, shape `[1, *batch]`
            Runs where there is a response.

        Returns
        -------
        Silence
            The new state.
        """
        its = (row_index(self.nodes.shape[0], self.nodes) == slot) & valid
        here = (row_index(self.quiet.shape[0], self.quiet) == row) & valid
        return self._replace(
            nodes=jnp.where(its, self.nodes & ~bit(node), self.nodes),
            quiet=jnp.where(here, 0.0, self.quiet),
            missed=self.missed & ~here,
        )

    def settled(self, number: Int[Array, "1 *batch"], patience: Float[AnyArray, "..."], nodes: int) -> "Silence":
        """Return the state after a request has completed.

        A node that has not responded to the request is marked as `missed` if the age of the request and the time since
        the last response of the node are both at least `patience`.

        Parameters
        ----------
        number : array of int32, shape `[1, *batch]`
            Number of the request; negative if no request completes.
        patience : float or array
            Time without a response, in seconds, after which a node counts as silent.
        nodes : int
            Number of nodes.

        Returns
        -------
        Silence
            The new state.
        """
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
        """Return the mask of the nodes that have not responded to a client for at least the time `patience`.

        Parameters
        ----------
        client : array of int32, shape `[1, *batch]`
            Number of the client.
        patience : float or array
            Time without a response, in seconds, after which a node counts as silent.
        nodes : int
            Number of nodes.

        Returns
        -------
        array of bool, shape `[node, *batch]`
            True for nodes that are marked as `missed`, and for nodes without a response to a request that is older than
            the patience.
        """
        row = client * nodes + row_index(nodes, self.quiet)
        missed = jnp.take_along_axis(self.missed, row, axis=0, mode="clip")
        quiet = jnp.take_along_axis(self.quiet, row, axis=0, mode="clip")
        sent_to = [
            any_row((self.client == client) & (self.age >= patience) & bit_is_set(self.nodes, jnp.int32(node)))
            for node in range(nodes)
        ]
        return missed | (jnp.concatenate(sent_to) & (quiet >= patience))


def silence(slots: int, clients: int, nodes: int, batch: tuple[int, ...]) -> Silence:
    """Return the state at the start of a run, without requests.

    Parameters
    ----------
    slots, clients, nodes : int
        Numbers of slots, clients and nodes.
    batch : tuple of int
        Shape of the batch, `()` for a single run.

    Returns
    -------
    Silence
        The state.
    """
    slot, row = jnp.zeros((slots, *batch), jnp.int32), jnp.zeros((clients * nodes, *batch), jnp.float32)
    number, mask, age = slot - 1, slot.astype(jnp.uint32), slot.astype(jnp.float32)
    return Silence(number, slot, mask, age, jnp.zeros((1, *batch), jnp.uint32), row, row > 0)
