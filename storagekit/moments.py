"""What members of a system have in common: private state, and the moments in a request's life that they hear of.

A member decides something for the whole system (whom to ask, what comes next, what memory holds) and remembers what it
needs in arrays of its own that the event loop carries. It hears a moment by overriding the method of that name; by default
it does nothing, and costs nothing.
"""

from collections.abc import Iterable, Iterator
from functools import partial, reduce
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, UInt32

from storagekit.arrays import AnyArray
from storagekit.checks import require_kind, traced
from storagekit.errors import InputError
from storagekit.kinds import several
from storagekit.lanes import named, whole
from storagekit.placement import AbstractPlacement
from storagekit.workload import Requests


class Sizes(NamedTuple):
    """What private state is made for: so many requests at once, so many drives, and `lanes`, `()` for a single run.

    stops: bricks may stop. place: where a request lies, `[1, *lanes]`, for its form. placement: the layout. bricks: how many
    there are. parts: the most that a request has.
    """

    slots: int
    drives: int
    lanes: tuple[int, ...]
    stops: bool = False
    place: Any = None
    placement: AbstractPlacement | None = None
    bricks: int = 0
    parts: int = 0


class Rule(NamedTuple):
    """When a request is answered: when `needed` of its parts in `counted`, one bit each, have ended."""

    counted: UInt32[Array, "*row"]
    needed: Int[Array, "*row"]


class Entered(NamedTuple):
    """A request enters. into: its slot, in lanes in which it is `admitted`. asked: the parts at which it waits.

    place: where it lies. usable: the replicas that may serve it, bit part * D_r + replica; None for all. at: when those that
    hold it have it, seconds from now.
    """

    into: Bool[Array, "slot *lanes"]
    admitted: Bool[Array, "1 *lanes"]
    request: Requests
    placement: AbstractPlacement
    place: Any
    asked: UInt32[Array, "1 *lanes"]
    usable: UInt32[Array, "1 *lanes"] | None
    at: Float[Array, "1 *lanes"]


class Taken(NamedTuple):
    """A drive is to serve a part: of the request in `slot`, which lies at `place`, in lanes in which it is `kept`.

    drive: the one that serves it. distance: cylinders that its arm moves, up or (if below 0) down. delayed: where writes are
    delayed, the number in their table of the one that it is a copy of, below 0 where it is none; else None. Of such a copy
    the slot says nothing. given_up: the parts of the request that other drives had taken and now leave to this one.
    """

    slot: Int[Array, "1 *lanes"]
    part: Int[Array, "1 *lanes"]
    place: Any
    placement: AbstractPlacement
    read: Bool[Array, "1 *lanes"]
    kept: Bool[Array, "1 *lanes"]
    drive: Bool[Array, "drive *lanes"]
    distance: Int[Array, "1 *lanes"]
    given_up: UInt32[Array, "1 *lanes"]
    delayed: Int[Array, "1 *lanes"] | None = None


class Ended(NamedTuple):
    """An access is over, in lanes in which one is `made`: that of drive `which`, of `number`, and to which replica.

    written: it was a write's, and its request is still there: in `slot`, lying at `place`, born then. Of a copy that was
    delayed the slot says nothing.
    awaited: a client waits for it: its request is still there, its answer hangs on this part, and the brick has nothing more
    to write for it. Then brick, read, client and sectors (the last two None where requests have no clients) say where it was,
    what, for whom and how much, and since: seconds since the request was sent.
    """

    which: Int[Array, "1 *lanes"]
    slot: Int[Array, "1 *lanes"]
    number: Int[Array, "1 *lanes"]
    replica: Int[Array, "1 *lanes"]
    place: Any
    born: Float[Array, "1 *lanes"]
    placement: AbstractPlacement
    made: Bool[Array, "1 *lanes"]
    written: Bool[Array, "1 *lanes"]
    awaited: Bool[Array, "1 *lanes"]
    brick: Int[Array, "1 *lanes"]
    read: Bool[Array, "1 *lanes"]
    client: Int[Array, "1 *lanes"] | None
    sectors: Int[Array, "1 *lanes"] | None
    since: Float[Array, "1 *lanes"]


class Answered(NamedTuple):
    """A request that was answered: its number (NOBODY if none was), its response time in seconds, whether it is a read,
    and whether nobody waited for it; when, seconds from now; for whom it was, who sent it and its length, None where requests
    have no clients."""

    number: Int[Array, "1 *lanes"]
    response: Float[Array, "1 *lanes"]
    read: Bool[Array, "1 *lanes"]
    asynchronous: Bool[Array, "1 *lanes"]
    at: Float[Array, "1 *lanes"]
    stream: Int[Array, "1 *lanes"] | None
    client: Int[Array, "1 *lanes"] | None
    sectors: Int[Array, "1 *lanes"] | None


class Stopped(NamedTuple):
    """A brick stops, in lanes in which `bricks` marks one. lost: reads that nobody serves any more, to be sent again.
    aborted: the parts of each request that it was to serve, one bit each."""

    bricks: Bool[Array, "drive *lanes"]
    lost: Bool[Array, "slot *lanes"]
    aborted: UInt32[Array, "slot *lanes"]


class Member(eqx.Module):
    """A part of a system that may keep private state and hear of moments. Times are seconds from now."""

    def init(self, sizes: Sizes) -> Any:
        """Private state at the start of a run: arrays `[..., *lanes]`."""
        return None

    def entered(self, private: Any, moment: Entered) -> Any:
        """Private state once a request has entered."""
        return private

    def taken(self, private: Any, moment: Taken) -> Any:
        """Private state once a drive has chosen a part to serve."""
        return private

    def ended(self, private: Any, moment: Ended) -> Any:
        """Private state once an access is over."""
        return private

    def answered(self, private: Any, moment: Answered) -> Any:
        """Private state once a request is answered, before another takes its slot."""
        return private

    def stopped(self, private: Any, moment: Stopped) -> Any:
        """Private state once a brick has stopped."""
        return private

    def elapse(self, private: Any, time: Float[Array, "1 *lanes"]) -> Any:
        """Private state `time` seconds later."""
        return private


class OneOf(Member):
    """The member `members[index]`, index being a number like any other, so that a sweep over members compiles once.

    Every member's decisions are computed in every lane: a sweep which compiles anyway is better off with the member alone.
    A subclass adds its room's decisions.
    """

    members: tuple[Any, ...] = eqx.field(converter=partial(several(lambda _, member: member), "members"))
    index: Int[AnyArray, "..."] = eqx.field(converter=named("index", whole), default=0)
    # what a member is called, and what it has to be
    called: ClassVar[str] = "member"
    kind: ClassVar[type] = Member

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
        """The members, each with its private state."""
        return zip(self.members, private, strict=True)

    def decided(self, found: Iterable[Any]) -> Any:
        """Of one result for each member, that of the chosen one: a pytree of arrays."""

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
