"""Base class of all components: private state, and hooks for the events of a request.

A component makes one kind of decision for the whole system. Examples are the bricks that receive a request, the part
that a drive serves next, and the contents of a cache. A component stores its private state in arrays that the event
loop carries. Each event has a hook, a method of `Component`. A component receives an event if it overrides this method.
By default the method returns the state unchanged and computes nothing.

All times are seconds from now. If a field has a value only in some runs of a batch, a mask marks these runs.
"""

from collections.abc import Iterable, Iterator
from functools import partial, reduce
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, UInt32

from storagekit.core.arrays import AnyArray
from storagekit.core.batching import named, whole
from storagekit.core.errors import InputError
from storagekit.core.system_facts import SystemPart
from storagekit.core.validation import instance_of, several, traced
from storagekit.placement import AbstractPlacement
from storagekit.workload import Requests


class StateSizes(NamedTuple):
    """Sizes of the arrays of private state.

    Parameters
    ----------
    slots : int
        Number of slots, which is the largest number of requests in the system.
    drives : int
        Number of drives.
    batch : tuple of int
        Shape of the batch, `()` for a single run.
    stops : bool
        Whether bricks may stop, by default False.
    location : pytree of arrays, shape `[1, *batch]`, optional
        Any location of a request, from which components take the structure and the types of locations.
    placement : AbstractPlacement, optional
        The placement.
    bricks : int
        Number of bricks.
    parts : int
        Largest number of parts of a request.
    """

    slots: int
    drives: int
    batch: tuple[int, ...]
    stops: bool = False
    location: Any = None
    placement: AbstractPlacement | None = None
    bricks: int = 0
    parts: int = 0


class CompletionRule(NamedTuple):
    """Condition under which a request completes.

    Parameters
    ----------
    counted : array of uint32, shape `[*row]`
        Mask of the parts that are counted.
    needed : array of int32, shape `[*row]`
        Number of these parts that must have ended.
    """

    counted: UInt32[Array, "*row"]
    needed: Int[Array, "*row"]


class RequestAdmitted(NamedTuple):
    """A request enters the system.

    Parameters
    ----------
    slot_mask : array of bool, shape `[slot, *batch]`
        Mask of the slot of the request; true only where `admitted` is true.
    admitted : array of bool, shape `[1, *batch]`
        Whether a request enters.
    request : Requests
        The request, arrays of shape `[1, *batch]`.
    placement : AbstractPlacement
        The placement.
    location : pytree of arrays, shape `[1, *batch]`
        Location of the request.
    targets : array of uint32, shape `[1, *batch]`
        Mask of the parts that wait.
    usable : array of uint32, shape `[1, *batch]`, or None
        Mask of the replicas that may serve the request. The bit of a replica is part * D_r + replica, with D_r
        rotational replicas on a drive. None if all replicas may serve the request.
    at : array of float32, shape `[1, *batch]`
        Time at which the bricks have received the request, seconds from now.
    """

    slot_mask: Bool[Array, "slot *batch"]
    admitted: Bool[Array, "1 *batch"]
    request: Requests
    placement: AbstractPlacement
    location: Any
    targets: UInt32[Array, "1 *batch"]
    usable: UInt32[Array, "1 *batch"] | None
    at: Float[Array, "1 *batch"]


class AccessStarted(NamedTuple):
    """A drive starts to serve one part of the request in `slot`. Valid only where `started` is true.

    Parameters
    ----------
    slot : array of int32, shape `[1, *batch]`
        Slot of the request.
    part : array of int32, shape `[1, *batch]`
        The part.
    location : pytree of arrays, shape `[1, *batch]`
        Location of the request.
    placement : AbstractPlacement
        The placement.
    read : array of bool, shape `[1, *batch]`
        Whether the request is a read.
    started : array of bool, shape `[1, *batch]`
        Whether a drive starts to serve a part.
    drive_mask : array of bool, shape `[drive, *batch]`
        Mask of the drive.
    distance : array of int32, shape `[1, *batch]`
        Number of cylinders that the arm of the drive moves; negative in the direction of lower cylinder numbers.
    given_up : array of uint32, shape `[1, *batch]`
        Mask of the parts that other drives give up because this drive serves the request.
    delayed : array of int32, shape `[1, *batch]`, or None
        Row in the table of delayed writes, negative if the access is not a delayed write; None if no write is ever
        delayed. If it is not negative, `slot` has no meaning.
    """

    slot: Int[Array, "1 *batch"]
    part: Int[Array, "1 *batch"]
    location: Any
    placement: AbstractPlacement
    read: Bool[Array, "1 *batch"]
    started: Bool[Array, "1 *batch"]
    drive_mask: Bool[Array, "drive *batch"]
    distance: Int[Array, "1 *batch"]
    given_up: UInt32[Array, "1 *batch"]
    delayed: Int[Array, "1 *batch"] | None = None


class AccessEnded(NamedTuple):
    """An access of `drive` ends. Valid only where `ended` is true.

    The fields from `brick` on are valid only where `awaited` is true.

    Parameters
    ----------
    drive : array of int32, shape `[1, *batch]`
        The drive.
    slot : array of int32, shape `[1, *batch]`
        Slot of the request. It has no meaning for a delayed write.
    number, replica : array of int32, shape `[1, *batch]`
        Number of the request, and the replica that was accessed.
    location : pytree of arrays, shape `[1, *batch]`
        Location of the request, valid where `written` is true.
    arrival_time : array of float32, shape `[1, *batch]`
        Arrival time of the request, seconds from now, valid where `written` is true.
    placement : AbstractPlacement
        The placement.
    ended : array of bool, shape `[1, *batch]`
        Whether an access ends.
    written : array of bool, shape `[1, *batch]`
        Whether the access is a write whose request is still in `slot`.
    awaited : array of bool, shape `[1, *batch]`
        Whether a client waits for this access. If so, the request of the access is still in the system, its completion
        depends on this part, and the brick has no other part of the request to write.
    brick : array of int32, shape `[1, *batch]`
        Brick of the drive.
    read : array of bool, shape `[1, *batch]`
        Whether the request is a read.
    client, sectors : array of int32, shape `[1, *batch]`, or None
        Client of the request, and length of the part in sectors; None if requests have no clients.
    elapsed : array of float32, shape `[1, *batch]`
        Time in seconds since the request was sent.
    """

    drive: Int[Array, "1 *batch"]
    slot: Int[Array, "1 *batch"]
    number: Int[Array, "1 *batch"]
    replica: Int[Array, "1 *batch"]
    location: Any
    arrival_time: Float[Array, "1 *batch"]
    placement: AbstractPlacement
    ended: Bool[Array, "1 *batch"]
    written: Bool[Array, "1 *batch"]
    awaited: Bool[Array, "1 *batch"]
    brick: Int[Array, "1 *batch"]
    read: Bool[Array, "1 *batch"]
    client: Int[Array, "1 *batch"] | None
    sectors: Int[Array, "1 *batch"] | None
    elapsed: Float[Array, "1 *batch"]


class RequestCompleted(NamedTuple):
    """A request completes.

    Parameters
    ----------
    number : array of int32, shape `[1, *batch]`
        Number of the request; NO_REQUEST if no request completes.
    response : array of float32, shape `[1, *batch]`
        Response time, seconds.
    read : array of bool, shape `[1, *batch]`
        Whether the request is a read.
    asynchronous : array of bool, shape `[1, *batch]`
        Whether no client waits for the completion.
    at : array of float32, shape `[1, *batch]`
        Time of the completion, seconds from now.
    stream, client, sectors : array of int32, shape `[1, *batch]`, or None
        Stream, client and length in sectors of the request; None if requests have no clients.
    """

    number: Int[Array, "1 *batch"]
    response: Float[Array, "1 *batch"]
    read: Bool[Array, "1 *batch"]
    asynchronous: Bool[Array, "1 *batch"]
    at: Float[Array, "1 *batch"]
    stream: Int[Array, "1 *batch"] | None
    client: Int[Array, "1 *batch"] | None
    sectors: Int[Array, "1 *batch"] | None


class BrickStopped(NamedTuple):
    """A brick stops. If `bricks` marks no drive, no brick stops.

    Parameters
    ----------
    bricks : array of bool, shape `[drive, *batch]`
        Mask of the drives of the brick.
    lost : array of bool, shape `[slot, *batch]`
        Mask of the reads that clients send again, because no brick serves them any more.
    aborted : array of uint32, shape `[slot, *batch]`
        Mask of the parts of each request that the brick was serving.
    """

    bricks: Bool[Array, "drive *batch"]
    lost: Bool[Array, "slot *batch"]
    aborted: UInt32[Array, "slot *batch"]


class Component(SystemPart):
    """Base class of all components, which may have private state and hooks for events."""

    @property
    def remembers(self) -> bool:
        """Return whether requests that have left the system affect later requests through the private state.

        By default true for a component with private state. If it is false, a long trace can be simulated in parallel
        segments, see `replay`. A subclass of a component for which it is false overrides it if its own state lasts longer.
        """
        return type(self).init is not Component.init

    def init(self, sizes: StateSizes) -> Any:
        """Return the private state at the start of a run, arrays `[..., *batch]`."""
        return None

    def on_admitted(self, private: Any, event: RequestAdmitted) -> Any:
        """Return the private state after a request has entered."""
        return private

    def on_access_started(self, private: Any, event: AccessStarted) -> Any:
        """Return the private state after a drive has started to serve a part."""
        return private

    def on_access_ended(self, private: Any, event: AccessEnded) -> Any:
        """Return the private state after an access has ended."""
        return private

    def on_completed(self, private: Any, event: RequestCompleted) -> Any:
        """Return the private state of the component after a request has completed, before another request uses its slot."""
        return private

    def on_brick_stopped(self, private: Any, event: BrickStopped) -> Any:
        """Return the private state after a brick has stopped."""
        return private

    def elapse(self, private: Any, time: Float[Array, "1 *batch"]) -> Any:
        """Return the private state `time` seconds later."""
        return private


class Switch(Component):
    """Select one of several components by an index that may differ between runs, so that a sweep compiles only once.

    Every run computes all components. A component without a switch is therefore faster. A subclass adds the decisions
    of its kind of component.

    Parameters
    ----------
    components : sequence
        The components.
    index : int
        Number of the selected component, by default 0, the number of the first component.

    Raises
    ------
    InputError
        If a component has a wrong class, or the index is out of range.
    """

    components: tuple[Any, ...] = eqx.field(converter=partial(several(lambda _, component: component), "components"))
    index: Int[AnyArray, "..."] = eqx.field(converter=named("index", whole), default=0)
    # Name of the kind of component in messages, and its base class.
    called: ClassVar[str] = "component"
    kind: ClassVar[type] = Component

    def __check_init__(self):
        for component in self.components:
            instance_of(self.kind, f"a component of the class {self.kind.__name__}")(
                f"a {self.called} of a switch", component
            )
        if traced(self.index):
            return
        index = np.asarray(self.index)
        wrong = index[(index < 0) | (index >= len(self.components))]
        if wrong.size:
            raise InputError(
                f"{self.called} number {int(wrong.ravel()[0])}: the switch has {len(self.components)} entries, numbered "
                "from 0"
            )

    def each(self, private: tuple) -> Iterator[tuple[Any, Any]]:
        """Return the components with their private states.

        Parameters
        ----------
        private : tuple
            Private states of the components.

        Returns
        -------
        iterator of (component, state)
            The pairs.
        """
        return zip(self.components, private, strict=True)

    def decided(self, found: Iterable[Any]) -> Any:
        """Return the result of the selected component.

        Parameters
        ----------
        found : iterable of pytrees of arrays
            Results of all components.

        Returns
        -------
        pytree of arrays
            In each run the result of component `index`.
        """

        def select(*values):
            numbered = enumerate(values[1:], 1)
            return reduce(lambda chosen, one: jnp.where(self.index == one[0], one[1], chosen), numbered, values[0])

        return jax.tree.map(select, *found)

    @property
    def remembers(self):
        return any(component.remembers for component in self.components)

    def init(self, sizes):
        return tuple(component.init(sizes) for component in self.components)

    def on_admitted(self, private, event):
        return tuple(component.on_admitted(state, event) for component, state in self.each(private))

    def on_access_started(self, private, event):
        return tuple(component.on_access_started(state, event) for component, state in self.each(private))

    def on_access_ended(self, private, event):
        return tuple(component.on_access_ended(state, event) for component, state in self.each(private))

    def on_completed(self, private, event):
        return tuple(component.on_completed(state, event) for component, state in self.each(private))

    def on_brick_stopped(self, private, event):
        return tuple(component.on_brick_stopped(state, event) for component, state in self.each(private))

    def elapse(self, private, time):
        return tuple(component.elapse(state, time) for component, state in self.each(private))
