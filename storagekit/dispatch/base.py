"""Interface of the dispatchers, which select the parts that a request is sent to.

A dispatcher identifies the parts of a request by numbers 0, 1, 2, ... The placement gives the drive of each part.
"""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, UInt32

from storagekit.arbitration import AbstractArbitration, NoArbitration
from storagekit.component.events import Component
from storagekit.core.arrays import AnyArray
from storagekit.core.batching import bit, bit_is_set, count, index_of, lowest, min_row, row_index
from storagekit.placement import MOST_PARTS, AbstractPlacement, Grouping
from storagekit.workload import Requests


class View(NamedTuple):
    """State of the system when a request enters, as the input of a dispatcher.

    `positioning_time` and `access_time` are functions, so that only the dispatchers that call them compute their values.

    Parameters
    ----------
    waiting : array of uint32, shape `[slot, *batch]`
        Mask of the waiting parts of the request in each slot, bit k for part k.
    locations : pytree of arrays, shape `[slot, *batch]`
        Location of the request in each slot.
    busy : array of bool, shape `[drive, *batch]`
        Mask of the drives that have an access planned or in progress.
    time_until_idle : array of float32, shape `[drive, *batch]`
        Time in seconds until the access of each drive ends; 0 if the drive has no access.
    free : array of bool, shape `[drive, *batch]`
        Mask of the idle drives.
    location : pytree of arrays, shape `[1, *batch]`
        Location of the entering request.
    placement : AbstractPlacement
        Placement of the system.
    bricks : Grouping
        Drives of each brick.
    positioning_time : callable
        Function without arguments. It returns, for each drive, the positioning time in seconds that the entering
        request would have if the drive were idle, `[drive, *batch]`.
    access_time : callable
        Function of drive numbers `[row, *batch]`. It returns, for each of these drives, the duration in seconds that
        the access would have if the drive were idle, `[row, *batch]`.
    word : array of uint32, shape `[1, *batch]`
        32 random bits for the entering request. They differ for each request and seed, and are equal under every scheme
        and setting. `workload.below(view.word, n)` is a random number below n. `workload.scramble(view.word + k)` is 32
        further random bits for each k.
    """

    waiting: UInt32[Array, "slot *batch"]
    locations: Any
    busy: Bool[Array, "drive *batch"]
    time_until_idle: Float[Array, "drive *batch"]
    free: Bool[Array, "drive *batch"]
    location: Any
    placement: AbstractPlacement
    bricks: Grouping
    positioning_time: Callable[[], Float[Array, "drive *batch"]]
    access_time: Callable[[Int[Array, "row *batch"]], Float[Array, "row *batch"]]
    word: UInt32[Array, "1 *batch"]

    @property
    def parts(self) -> Int[AnyArray, "..."]:
        """Return the number of parts of a request."""
        return jnp.asarray(self.placement.parts)

    @property
    def needed(self) -> Int[Array, "1 *batch"]:
        """Return the number of parts that a read of the entering request needs, `[1, *batch]`.

        For a write it is the number of parts that must be on disk before its data is readable.
        """
        return self.placement.needed_of(self.location)

    def part(self) -> Int[Array, "drive *batch"]:
        """Return the part of the entering request that each drive holds; see `AbstractPlacement.part_on`."""
        return self.placement.part_on(row_index(self.busy.shape[0], self.busy), self.location)

    def holders(self) -> Bool[Array, "drive *batch"]:
        """Return the mask of the drives that hold a part of the entering request, `[drive, *batch]`."""
        return bit_is_set(self.placement.parts_of(self.location), self.part())

    def by_brick(self) -> tuple[Bool[Array, "brick *batch"], Int[Array, "brick *batch"]]:
        """Return the mask of the bricks that hold a part of the entering request, and the lowest part on each brick.

        Returns
        -------
        holds : array of bool, shape `[brick, *batch]`
            Mask of the bricks.
        lowest_part : array of int32, shape `[brick, *batch]`
            Lowest part on the brick; `placement.MOST_PARTS` if the brick holds no part.
        """
        brick = self.bricks.of(row_index(self.busy.shape[0], self.busy))
        part = jnp.where(self.holders(), self.part(), MOST_PARTS)
        least_of = [min_row(jnp.where(brick == number, part, MOST_PARTS)) for number in range(self.bricks.count)]
        lowest_part = jnp.concatenate(least_of)
        return lowest_part < MOST_PARTS, lowest_part

    def load(self) -> Int[Array, "drive *batch"]:
        """Return the number of requests at each drive, waiting and in service, `[drive, *batch]`."""
        return self.queued(row_index(self.busy.shape[0], self.busy)) + self.busy.astype(jnp.int32)

    def queued(self, drive: Int[Array, "row *#batch"]) -> Int[Array, "row *batch"]:
        """Return the number of requests that wait at each of the given drives.

        Parameters
        ----------
        drive : array of int32, shape `[row, *batch]`
            Numbers of drives.

        Returns
        -------
        array of int32, shape `[row, *batch]`
            Waiting requests, without the request in service.
        """

        def at(drive: Int[Array, "1 *#batch"]) -> Int[Array, "1 *batch"]:
            return count(bit_is_set(self.waiting, self.placement.part_on(drive, self.locations)))

        # A map instead of an unrolled loop compiles the program of one drive only once.
        return jax.vmap(at)(drive[:, None])[:, 0]


class SurplusParts(eqx.Module):
    """Reads that are sent to more parts than they need, and the withdrawal of the parts that are not needed."""

    @property
    def arbitration(self) -> AbstractArbitration:
        """Return the component that selects the drive for a request that is queued at several drives."""
        return NoArbitration()

    @property
    def withdraws(self) -> bool | Bool[AnyArray, "..."]:
        """Return whether the remaining parts of a read are withdrawn as soon as enough parts are in service.

        If false, they are withdrawn when the read completes. The result is one value, or an array with one value for
        each run.
        """
        return True

    @property
    def withdraws_late(self) -> bool:
        """Return whether parts may be withdrawn at completion for any values of the parameters."""
        return self.withdraws is not True

    @property
    def sends_more(self) -> bool:
        """Return whether a read may be sent to more parts than it needs, so that some parts are withdrawn."""
        return True

    def sending_time(
        self, private: Any, sent: Float[Array, "slot *batch"], part: Int[Array, "slot *batch"]
    ) -> Float[Array, "slot *batch"]:
        """Return the time at which a part of each read is sent; by default the time at which the client sends the read.

        Parameters
        ----------
        private : Any
            Private state of the dispatcher.
        sent : array of float32, shape `[slot, *batch]`
            Time at which the client sent each read, seconds from now.
        part : array of int32, shape `[slot, *batch]`
            The part of each read.

        Returns
        -------
        array of float32, shape `[slot, *batch]`
            Time at which the part is sent, seconds from now.
        """
        return sent


class Retries(eqx.Module):
    """Reads that clients send again while bricks are down."""

    def entry_part(
        self, routed: UInt32[Array, "1 *batch"], receiving: Int[Array, "1 *batch"]
    ) -> Int[Array, "1 *batch"]:
        """Return the part at whose brick a read enters the system.

        Parameters
        ----------
        routed : array of uint32, shape `[1, *batch]`
            Mask of the parts that the read is sent to.
        receiving : array of int32, shape `[1, *batch]`
            Part on the brick that receives the request from the client.

        Returns
        -------
        array of int32, shape `[1, *batch]`
            The part; by default `receiving`.
        """
        return receiving

    def awaited_parts(
        self, routed: UInt32[Array, "1 *batch"], receiving: Int[Array, "1 *batch"]
    ) -> UInt32[Array, "1 *batch"]:
        """Return the parts whose bricks must be up, because a client waits for them at the first attempt of a read.

        Parameters
        ----------
        routed : array of uint32, shape `[1, *batch]`
            Mask of the parts that the read is sent to.
        receiving : array of int32, shape `[1, *batch]`
            Part on the brick that receives the request from the client.

        Returns
        -------
        array of uint32, shape `[1, *batch]`
            Mask of the parts; by default the part at whose brick the read enters.
        """
        return bit(self.entry_part(routed, receiving))

    def times_out(
        self,
        routed: UInt32[Array, "1 *batch"],
        receiving: Int[Array, "1 *batch"],
        alive: UInt32[Array, "1 *batch"],
        needed: Int[Array, "1 *batch"],
    ) -> Bool[Array, "1 *batch"]:
        """Return whether a client sends a read again after a time-out.

        By default the client does so if the brick at which the read enters is down.

        Parameters
        ----------
        routed : array of uint32, shape `[1, *batch]`
            Mask of the parts that the read is sent to.
        receiving : array of int32, shape `[1, *batch]`
            Part on the brick that receives the request from the client.
        alive : array of uint32, shape `[1, *batch]`
            Mask of the parts whose bricks are up.
        needed : array of int32, shape `[1, *batch]`
            Number of parts that the read needs.

        Returns
        -------
        array of bool, shape `[1, *batch]`
            True if the read is sent again.
        """
        return ~bit_is_set(alive, self.entry_part(routed, receiving))

    def retry_targets(self, alive: UInt32[Array, "*row"], targets: UInt32[Array, "*row"]) -> UInt32[Array, "*row"]:
        """Return the parts to which a client sends a read at its second attempt.

        By default these are all parts whose bricks are up.

        Parameters
        ----------
        alive : array of uint32, shape `[*row]`
            Mask of the parts whose bricks are up.
        targets : array of uint32, shape `[*row]`
            Mask of the parts of the first attempt.

        Returns
        -------
        array of uint32, shape `[*row]`
            Mask of the parts of the second attempt.
        """
        return alive


class AbstractDispatch(SurplusParts, Retries, Component):
    """Base class of the dispatchers, which select the parts that a request is sent to.

    A dispatcher implements `route`. The base classes have defaults for the other methods: `Component` for the private
    state and its events, `SurplusParts` for dispatchers that select several copies, and `Retries` for outages.
    """

    @abstractmethod
    def route(
        self, private: Any, request: Requests, entering: Bool[Array, "1 *batch"], view: View
    ) -> tuple[UInt32[Array, "1 *batch"], Any]:
        """Return the parts that a request is sent to, and the private state after the request.

        Parameters
        ----------
        private : Any
            Private state of the dispatcher. It must not change in runs where `entering` is false.
        request : Requests
            The request, arrays of shape `[1, *batch]`.
        entering : array of bool, shape `[1, *batch]`
            Mask of the runs where the request enters.
        view : View
            State of the system.

        Returns
        -------
        routed : array of uint32, shape `[1, *batch]`
            Mask of the parts, bit k for part k.
        private : Any
            Private state after the request.
        """


class AsManyAsNeeded(AbstractDispatch):
    """Base class of the dispatchers that send a request to exactly the number of parts that its data needs.

    If a dispatcher selects fewer parts, the engine adds the parts with the next numbers. A separate request is sent for
    each part. A read is therefore sent again if too few of the bricks that it was sent to are up.
    """

    @property
    def sends_more(self):
        return False

    def entry_part(self, routed, receiving):
        return index_of(routed)

    def awaited_parts(self, routed, receiving):
        return routed

    def times_out(self, routed, receiving, alive, needed):
        return jax.lax.population_count(routed & alive).astype(jnp.int32) < needed

    def retry_targets(self, alive, targets):
        return lowest(alive)
