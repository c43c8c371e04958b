"""Base class of all components: private state, and hooks for the events of a request.

A component decides something for the whole system: where a request is sent, which part a drive serves next, what is in
memory. It stores its private state in arrays that the event loop carries. It receives an event by overriding the method of
that name. By default the method returns the state as it is, and costs nothing.

All times are seconds from now. Where a field has a value only in some runs of a batch, a mask says in which.
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
from storagekit.core.checks import require_kind, traced
from storagekit.core.errors import InputError
from storagekit.core.kinds import several
from storagekit.placement import AbstractPlacement
from storagekit.workload import Requests


class StateSizes(NamedTuple):
    """Sizes of the arrays of private state.

    slots: requests in the system. drives: drives. lanes: the axes of the batch, `()` for a single run. stops: whether bricks
    may stop. place: the location of a request, `[1, *batch]`, as an example of its structure. placement: the placement.
    bricks: bricks. parts: the largest number of parts of a request.
    """

    slots: int
    drives: int
    lanes: tuple[int, ...]
    stops: bool = False
    place: Any = None
    placement: AbstractPlacement | None = None
    bricks: int = 0
    parts: int = 0


class CompletionRule(NamedTuple):
    """When a request completes: when `needed` of its parts in the mask `counted` have ended."""

    counted: UInt32[Array, "*row"]
    needed: Int[Array, "*row"]


class RequestAdmitted(NamedTuple):
    """A request enters the system.

    into: its slot; only where `admitted` is true. request, place: the request and its location. asked: mask of the parts that
    wait. usable: mask of the replicas that may serve it, bit part * D_r + replica; None for all. at: time at which the bricks
    have received it.
    """

    into: Bool[Array, "slot *batch"]
    admitted: Bool[Array, "1 *batch"]
    request: Requests
    placement: AbstractPlacement
    place: Any
    asked: UInt32[Array, "1 *batch"]
    usable: UInt32[Array, "1 *batch"] | None
    at: Float[Array, "1 *batch"]


class AccessStarted(NamedTuple):
    """A drive starts to serve one part of the request in `slot`. Valid only where `kept` is true.

    part, place: the part, and the location of the request. drive: mask of the drive. distance: cylinders by which its arm
    moves, negative for downward. given_up: mask of the parts that other drives leave to this one. delayed: row in the table
    of delayed writes, negative for none; None where no write is delayed. If it is not negative, `slot` means nothing.
    """

    slot: Int[Array, "1 *batch"]
    part: Int[Array, "1 *batch"]
    place: Any
    placement: AbstractPlacement
    read: Bool[Array, "1 *batch"]
    kept: Bool[Array, "1 *batch"]
    drive: Bool[Array, "drive *batch"]
    distance: Int[Array, "1 *batch"]
    given_up: UInt32[Array, "1 *batch"]
    delayed: Int[Array, "1 *batch"] | None = None


class AccessEnded(NamedTuple):
    """An access of drive `which` ends. Valid only where `made` is true.

    number, replica: its request, and the replica that it accessed. written: whether it is a write whose request is still in
    `slot`, with location `place` and arrival time `arrival_time`. For a delayed write `slot` has no meaning.
    awaited: whether a client waits for this access: its request is still in the system, its completion depends on this part,
    and the brick has nothing else to write for it. Only then valid are: brick; read; client and sectors, None where requests
    have no clients; since, seconds since the request was sent.
    """

    which: Int[Array, "1 *batch"]
    slot: Int[Array, "1 *batch"]
    number: Int[Array, "1 *batch"]
    replica: Int[Array, "1 *batch"]
    place: Any
    arrival_time: Float[Array, "1 *batch"]
    placement: AbstractPlacement
    made: Bool[Array, "1 *batch"]
    written: Bool[Array, "1 *batch"]
    awaited: Bool[Array, "1 *batch"]
    brick: Int[Array, "1 *batch"]
    read: Bool[Array, "1 *batch"]
    client: Int[Array, "1 *batch"] | None
    sectors: Int[Array, "1 *batch"] | None
    since: Float[Array, "1 *batch"]


class RequestCompleted(NamedTuple):
    """A request completes.

    number: its number, NOBODY for none. response: its response time. read: whether it is a read. asynchronous: whether no
    client waits for it. at: the time of its completion. stream, client, sectors: its stream, its client and its length; None
    where requests have no clients.
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
    """A brick stops, if `bricks` marks one.

    bricks: mask of its drives. lost: reads that no brick serves any more, which are sent again. aborted: mask of the parts of
    each request that the brick was serving.
    """

    bricks: Bool[Array, "drive *batch"]
    lost: Bool[Array, "slot *batch"]
    aborted: UInt32[Array, "slot *batch"]


class Component(eqx.Module):
    """Base class of all components, which may have private state and hooks for events."""

    def init(self, sizes: StateSizes) -> Any:
        """Return the private state at the start of a run, arrays `[..., *batch]`."""
        return None

    def entered(self, private: Any, moment: RequestAdmitted) -> Any:
        """Return the private state after a request has entered."""
        return private

    def taken(self, private: Any, moment: AccessStarted) -> Any:
        """Return the private state after a drive has started to serve a part."""
        return private

    def ended(self, private: Any, moment: AccessEnded) -> Any:
        """Return the private state after an access has ended."""
        return private

    def answered(self, private: Any, moment: RequestCompleted) -> Any:
        """Return the private state after a request has completed, before another one uses its slot."""
        return private

    def stopped(self, private: Any, moment: BrickStopped) -> Any:
        """Return the private state after a brick has stopped."""
        return private

    def elapse(self, private: Any, time: Float[Array, "1 *batch"]) -> Any:
        """Return the private state `time` seconds later."""
        return private


class Switch(Component):
    """The component `members[index]`.

    The index is a number of a run, so that a sweep over components compiles once. All components are computed in every run:
    a single component is faster. A subclass adds the decisions of its kind of component.

    Parameters
    ----------
    members : sequence
        The components.
    index : int
        The number of the component that decides, from 0.

    Raises
    ------
    InputError
        If a member is of another kind, or the index is out of range.
    """

    members: tuple[Any, ...] = eqx.field(converter=partial(several(lambda _, member: member), "members"))
    index: Int[AnyArray, "..."] = eqx.field(converter=named("index", whole), default=0)
    # name and base class of the components
    called: ClassVar[str] = "member"
    kind: ClassVar[type] = Component

    def __check_init__(self):
        for member in self.members:
            require_kind(f"a {self.called} of several", member, self.kind, f"members that are {self.kind.__name__}")
        if traced(self.index):
            return
        index = np.asarray(self.index)
        wrong = index[(index < 0) | (index >= len(self.members))]
        if wrong.size:
            raise InputError(f"{self.called} number {int(wrong.ravel()[0])} of {len(self.members)}: they count from 0")

    def each(self, private: tuple) -> Iterator[tuple[Any, Any]]:
        """Return the components with their private states."""
        return zip(self.members, private, strict=True)

    def decided(self, found: Iterable[Any]) -> Any:
        """Return the result of the chosen component, given those of all."""

        def select(*values):
            numbered = enumerate(values[1:], 1)
            return reduce(lambda chosen, one: jnp.where(self.index == one[0], one[1], chosen), numbered, values[0])

        return jax.tree.map(select, *found)

    def init(self, sizes):
        return tuple(member.init(sizes) for member in self.members)

    def entered(self, private, moment):
        return tuple(member.entered(state, moment) for member, state in self.each(private))

    def taken(self, private, moment):
        return tuple(member.taken(state, moment) for member, state in self.each(private))

    def ended(self, private, moment):
        return tuple(member.ended(state, moment) for member, state in self.each(private))

    def answered(self, private, moment):
        return tuple(member.answered(state, moment) for member, state in self.each(private))

    def stopped(self, private, moment):
        return tuple(member.stopped(state, moment) for member, state in self.each(private))

    def elapse(self, private, time):
        return tuple(member.elapse(state, time) for member, state in self.each(private))
