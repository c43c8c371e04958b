"""Interface of the queues of bricks, which issue waiting parts to the drives of a brick.

A queue acts when a part arrives, when an access ends, and at times that it determines itself (`next_issue`). The
scheduler of each drive selects among the issued parts.
"""

from abc import abstractmethod
from typing import Any, NamedTuple, cast

import numpy as np
from jaxtyping import Array, Bool, Float, Int, UInt32

from storagekit.component.events import Component
from storagekit.core.arrays import AnyArray
from storagekit.placement import AbstractPlacement


class Queued(NamedTuple):
    """State of the queues when a queue acts.

    Parameters
    ----------
    waiting : array of uint32, shape `[slot, *batch]`
        Mask of the waiting parts of each request.
    locations : pytree of arrays
        Locations of the requests.
    sent : array of float, shape `[slot, *batch]`
        Time at which each request was sent to the bricks, seconds from now.
    busy : array of bool, shape `[drive, *batch]`
        Mask of the drives that have planned or started a part.
    brick : array of int, shape `[drive, *ones]`
        Brick of each drive.
    acts : array of bool, shape `[drive, *batch]`
        Mask of the drives of the bricks whose queue acts.
    drive : array of int, shape `[1, *batch]`, or None
        The drive that has become idle or, at a time from `AbstractQueue.next_issue`, any drive of the brick. None if the
        queue acts because parts have arrived.
    placement : AbstractPlacement
        The layout.
    """

    waiting: UInt32[Array, "slot *batch"]
    locations: Any
    sent: Float[Array, "slot *batch"]
    busy: Bool[Array, "drive *batch"]
    brick: Int[Array, "drive *ones"]
    acts: Bool[Array, "drive *batch"]
    drive: Int[Array, "1 *batch"] | None
    placement: AbstractPlacement


class AbstractQueue(Component):
    """Decides which waiting parts a brick issues to its drives."""

    def serve(self, streams: int) -> None:
        """Raise InputError if the queue has fewer streams than the arrivals."""

    @property
    def holds_back(self) -> bool:
        """Return whether the queue ever delays a part."""
        return True

    @property
    def issues_by_time(self) -> bool:
        """Return whether the queue issues parts at times that it determines itself (`next_issue`).

        Otherwise it issues parts only when parts arrive and when accesses end.
        """
        return False

    @abstractmethod
    def issue(self, private: Any, queued: Queued) -> tuple[Any, Bool[Array, "drive *batch"]]:
        """Issue parts at the bricks whose queues act.

        Parameters
        ----------
        private : pytree
            The private state.
        queued : Queued
            The state of the queues.

        Returns
        -------
        pytree
            The private state afterwards.
        bool array, `[drive, *batch]`
            Mask of the drives that received a part.
        """

    def next_issue(self, private: Any) -> Float[AnyArray, "#brick *#batch"]:
        """Return the time at which each brick issues a part, unless a part arrives or an access ends before.

        At this time, `issue` must issue a part of the brick. Otherwise the time does not advance, and the simulation does
        not end. The method is called only if `issues_by_time` is true.

        Parameters
        ----------
        private : pytree
            The private state.

        Returns
        -------
        float array, `[brick, *batch]`
            The times, seconds from now; at most 0 if the brick issues a part now, inf (the default) if it waits for an
            event.
        """
        return cast(Array, np.full(1, np.inf, np.float32))

    @abstractmethod
    def issued(
        self, private: Any, waiting: UInt32[Array, "slot *batch"], brick: Int[Array, "#slot *batch"]
    ) -> UInt32[Array, "slot *batch"]:
        """Return the mask of the waiting parts of each request that the drives of a brick may choose.

        Parameters
        ----------
        private : pytree
            The private state.
        waiting : uint32 array, `[slot, *batch]`
            Mask of the waiting parts of each request.
        brick : int array, `[1, *batch]` or `[slot, *batch]`
            Number of the brick, one for all slots or one for each slot.

        Returns
        -------
        uint32 array, `[slot, *batch]`
            The mask. Bits of parts on other bricks have no meaning.
        """

    def enqueue_time(
        self, private: Any, arrival_time: Float[Array, "slot *batch"], brick: Int[Array, "1 *batch"]
    ) -> Float[Array, "slot *batch"]:
        """Return the time at which each part was issued to the drives of a brick, in any unit that increases with time.

        Parameters
        ----------
        private : pytree
            The private state.
        arrival_time : float array, `[slot, *batch]`
            Arrival times of the requests. They are the result if the queue delays no part.
        brick : int array, `[1, *batch]`
            Number of the brick.

        Returns
        -------
        float array, `[slot, *batch]`
            The times. Values of parts on other bricks have no meaning.
        """
        return arrival_time

    def queued(
        self, private: Any, waiting: UInt32[Array, "slot *batch"], brick: Int[Array, "#slot *batch"]
    ) -> UInt32[Array, "slot *batch"]:
        """Return the mask of the waiting parts that a brick has not issued yet; see `issued`."""
        return waiting & ~self.issued(private, waiting, brick)


class Unlimited(AbstractQueue):
    """Issue every waiting part immediately."""

    @property
    def holds_back(self):
        return False

    def issue(self, private, queued):
        return private, queued.acts

    def issued(self, private, waiting, brick):
        return waiting

    def queued(self, private, waiting, brick):
        # This queue delays no part. The result therefore contains all parts that no drive serves yet.
        return waiting
