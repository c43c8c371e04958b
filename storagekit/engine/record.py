"""What is kept of a run: sums over each chunk of events, and a log of every event.

A sum is defined in one place, its `Sum`: its name and what an event adds to it. The loop carries whichever it is given.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Num, UInt32

from storagekit.checks import require_takes
from storagekit.engine.event import Report
from storagekit.engine.state import NOBODY, State
from storagekit.engine.system import Scenario
from storagekit.errors import InputError
from storagekit.kinds import a, flag, hold, several, text
from storagekit.lanes import WORD, first_true
from storagekit.moments import Answered

# the values of sums by name, `[row, *lanes]`; of several chunks, `[chunk, row, *lanes]`
Tally = dict[str, Any]
KINDS = {int: jnp.int32, float: jnp.float32}


def answered(report: Report) -> Bool[Array, "1 *lanes"]:
    """Lanes in which a request was answered; in others `report.answered` says nothing."""
    return report.answered.number != NOBODY


@dataclass(frozen=True, eq=False)
class Sum:
    """What is added up over events. Measures that need the same one share the object.

    name: that of its values. of: what one event adds, a function of its `Report`, 0 where nothing happened: `[1, *lanes]`, or
    with `by_drive` `[drive, *lanes]`. kind: int for what is counted, float for what is measured; both have 32 bits, and are
    put away after each chunk of events. along: dimensions of its own, each with its labels, numbers: `of` is given these too,
    as columns that broadcast with a report's `[1, *lanes]`; a row for each combination, the last dimension varying fastest.
    Raises InputError where that does not go together.

    >>> within = Sum(
    ...     "within",
    ...     lambda report, limit: answered(report) & (report.answered.response <= limit),
    ...     int,
    ...     along={"limit": [0.005, 0.01, 0.02]},
    ... )
    >>> within.rows(drives=8)
    3
    """

    name: str
    of: Callable[..., Any]
    kind: type = float
    by_drive: bool = False
    along: Mapping[str, Sequence[float] | np.ndarray] = field(default_factory=dict)

    def __post_init__(self):
        hold(
            self, name=text, by_drive=flag, along=a(Mapping, "a mapping of dimensions to labels, as {'limit': [0.01]}")
        )
        if not isinstance(self.kind, type) or self.kind not in KINDS:
            raise InputError(f"sum {self.name!r} of kind {self.kind}: give int for counts, float for what is measured")
        if self.by_drive and self.along:
            raise InputError(f"sum {self.name!r} by drive and along {', '.join(self.along)}: choose one")
        for word, labels in self.along.items():
            text(f"a dimension of sum {self.name!r}", word)
            one_by_one = isinstance(labels, Sequence | np.ndarray) and np.ndim(labels) == 1
            apart = one_by_one and len(labels) and len(set(labels)) == len(labels)
            if not apart or np.asarray(labels).dtype.kind not in "iuf" or not np.all(np.isfinite(labels)):
                raise InputError(f"sum {self.name!r} along {word!r}: give its labels, numbers, each once")
        require_takes(f"sum {self.name!r}", self.of, ("report", *self.along))

    def rows(self, drives: int) -> int:
        """How many numbers it keeps for each lane, in a system of `drives`."""
        return drives if self.by_drive else math.prod(len(labels) for labels in self.along.values())

    def init(self, drives: int, lanes: tuple[int, ...]) -> Num[Array, "row *lanes"]:
        """Nothing yet."""
        return jnp.zeros((self.rows(drives), *lanes), KINDS[self.kind])

    def add(self, total: Num[Array, "row *lanes"], report: Report) -> Num[Array, "row *lanes"]:
        """With one more event."""
        added = self.of(report, *self._labels(total.ndim))
        if jnp.shape(added) != total.shape:
            shapes = f"{list(jnp.shape(added))} to {list(total.shape)}"
            raise InputError(f"sum {self.name!r} adds {shapes}: say by_drive or along, or add one row")
        if self.kind is int and jnp.issubdtype(jnp.result_type(added), jnp.floating):
            raise InputError(f"sum {self.name!r} is of kind int and adds fractions: give kind float")
        return total + jnp.asarray(added).astype(total.dtype)

    def _labels(self, ndim: int) -> list[Num[Array, "row *ones"]]:
        columns = np.meshgrid(*(np.asarray(labels) for labels in self.along.values()), indexing="ij")
        narrow = [column.astype(np.float32 if column.dtype.kind == "f" else np.int32) for column in columns]
        return [jnp.asarray(column.reshape(-1, *(1,) * (ndim - 1))) for column in narrow]


# what whoever runs the loop needs: how far it is, and whether it moves
ANSWERED = Sum("answered", answered, int)
ADMITTED = Sum("admitted", lambda report: report.admitted, int)
CHOICES = Sum("choices", lambda report: report.chose, int)
CORE = (ANSWERED, ADMITTED, CHOICES)
# streams are bits of a word
MOST_LOGGED = WORD


class AbstractLog(eqx.Module):
    """What is kept of every event, beside the sums."""

    def keep(self, scenario: Scenario, state: State, report: Report) -> Any:
        """Arrays to keep of an event, after which that is the state, or None."""


class NoLog(AbstractLog):
    """Sums only."""

    def keep(self, scenario: Scenario, state: State, report: Report) -> None:
        return None


class ResponseLog(AbstractLog):
    """Number, response time and operation of every request answered."""

    def keep(self, scenario: Scenario, state: State, report: Report) -> Any:
        return report.answered


class Accesses(NamedTuple):
    """What an event did to the disks: the access that became certain, and who came and went.

    number, drive, replica: whose access it was, where and to which replica; NOBODY where there was none. Under a dispatcher
    without lead it has just finished. admitted: the next request entered. answered: the request that left.
    """

    number: Int[Array, "1 *lanes"]
    drive: Int[Array, "1 *lanes"]
    replica: Int[Array, "1 *lanes"]
    admitted: Bool[Array, "1 *lanes"]
    answered: Answered


class AccessLog(AbstractLog):
    """Every access and answer in their order, from which the contents of the disks can be replayed."""

    def keep(self, scenario: Scenario, state: State, report: Report) -> Accesses:
        drive, certain = first_true(report.served)
        return Accesses(
            report.number,
            jnp.where(certain, drive, NOBODY),
            jnp.where(certain, report.replica, NOBODY),
            report.admitted,
            report.answered,
        )


class Services(NamedTuple):
    """What an event meant for streams and bricks.

    elapsed: seconds since the event before; entered: of these until the request that entered did, inf where none did.
    brick, stream, sectors: where an access has become certain, for whom, and how much of it is theirs; brick is NOBODY where
    none has. answered: the request that left. waited, waits: for each brick, the streams of which it has queued parts, one
    bit each: once the request has entered, which is so until the end of the event, and then; None where they are not kept.
    """

    elapsed: Float[Array, "1 *lanes"]
    entered: Float[Array, "1 *lanes"]
    brick: Int[Array, "1 *lanes"]
    stream: Int[Array, "1 *lanes"]
    sectors: Int[Array, "1 *lanes"]
    answered: Answered
    waited: UInt32[Array, "brick *lanes"] | None
    waits: UInt32[Array, "brick *lanes"] | None


class ServiceLog(AbstractLog):
    """The service of each stream at each brick, and, if `backlog` is to be kept, who waits there."""

    backlog: bool = eqx.field(static=True, converter=partial(flag, "backlog"), default=False)

    def keep(self, scenario: Scenario, state: State, report: Report) -> Services:
        if report.stream is None or report.sectors is None:
            raise InputError("a log of streams' service, of requests without clients: use workload.Threads")
        if self.backlog and scenario.arrivals.stream_count > MOST_LOGGED:
            raise InputError(f"the backlog of {scenario.arrivals.stream_count} streams: at most {MOST_LOGGED} are kept")
        drive, certain = first_true(report.served)
        return Services(
            report.elapsed,
            jnp.where(report.admitted, report.entered, jnp.inf),
            jnp.where(certain, scenario.system.brick_of(drive), NOBODY),
            report.stream,
            report.sectors,
            report.answered,
            report.waited if self.backlog else None,
            report.waits if self.backlog else None,
        )


@dataclass(frozen=True)
class Record:
    """What is kept of a run: sums, to which `CORE` is added, and a log. Raises InputError where two sums share a name."""

    sums: tuple[Sum, ...] = ()
    log: AbstractLog = field(default_factory=NoLog)

    def __post_init__(self):
        hold(self, sums=several(a(Sum), of="sums"), log=a(AbstractLog, "a log, as sk.engine.ResponseLog()"))
        object.__setattr__(self, "sums", tuple(dict.fromkeys((*CORE, *self.sums))))
        names = [one.name for one in self.sums]
        for name in names:
            if names.count(name) > 1:
                raise InputError(f"two sums are called {name!r}: rename one, or share the object if they are the same")

    def init(self, drives: int, lanes: tuple[int, ...]) -> Tally:
        """The sums before the first event."""
        return {one.name: one.init(drives, lanes) for one in self.sums}

    def add(self, tally: Tally, report: Report) -> Tally:
        """The sums with one more event."""
        return {one.name: one.add(tally[one.name], report) for one in self.sums}
