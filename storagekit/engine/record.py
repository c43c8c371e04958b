"""Results of a run: sums over each chunk of events, and a log of every event.

A `Sum` defines a name, and the value that an event adds to the sum. The event loop carries the sums of a `Record`.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Num, UInt32

from storagekit.component.events import RequestCompleted
from storagekit.core.batching import WORD, first_true
from storagekit.core.errors import InputError
from storagekit.core.validation import flag, instance_of, require_takes, several, text, validate_fields
from storagekit.engine.event import Report
from storagekit.engine.state import NO_REQUEST, State
from storagekit.engine.system import Scenario

# values of the sums, by name: `[row, *batch]` for one chunk, `[chunk, row, *batch]` for several chunks
Tally = dict[str, Any]
KINDS = {int: jnp.int32, float: jnp.float32}


def completed(report: Report) -> Bool[Array, "1 *batch"]:
    """Return a mask of the runs in which a request completes. In other runs `report.completed` has no meaning.

    Parameters
    ----------
    report : Report
        The report of an event.

    Returns
    -------
    array of bool, shape `[1, *batch]`
        The mask.
    """
    return report.completed.number != NO_REQUEST


@dataclass(frozen=True, eq=False)
class Sum:
    """A sum over events. Measures that need the same sum share one `Sum`.

    Parameters
    ----------
    name : str
        Name of the sum in the results.
    of : callable
        Function of the `Report` of one event. It returns the value that the event adds to the sum; 0 if the event does
        not count. The shape of the value is `[1, *batch]`, or `[drive, *batch]` with `by_drive`, or `[row, *batch]`
        with `along`.
    kind : type
        Type of the values: int for counts, or float for measured values, by default float. Both have 32 bits and are
        stored after each chunk of events.
    by_drive : bool
        Whether there is one value for each drive, by default False.
    along : mapping of str to sequence of float
        Further dimensions with their labels, by default none. `of` receives the labels as columns that broadcast with
        `[1, *batch]`. There is one row for each combination of labels; the last dimension varies fastest.

    Raises
    ------
    InputError
        If an argument is invalid, or if `by_drive` is combined with `along`.

    Examples
    --------
    >>> within = Sum(
    ...     "within",
    ...     lambda report, limit: completed(report) & (report.completed.response <= limit),
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
    along: Annotated[
        Mapping[str, Sequence[float] | np.ndarray],
        instance_of(Mapping, "a mapping of dimensions to labels, such as {'limit': [0.01]}"),
    ] = field(default_factory=dict)

    def __post_init__(self):
        validate_fields(self)
        if not isinstance(self.kind, type) or self.kind not in KINDS:
            raise InputError(f"sum {self.name!r} of kind {self.kind}: give int for counts, or float for other measures")
        if self.by_drive and self.along:
            raise InputError(
                f"sum {self.name!r} has both by_drive and along {', '.join(self.along)}: give only one of them"
            )
        for word, labels in self.along.items():
            text(f"a dimension of sum {self.name!r}", word)
            one_by_one = isinstance(labels, Sequence | np.ndarray) and np.ndim(labels) == 1
            apart = one_by_one and len(labels) and len(set(labels)) == len(labels)
            if not apart or np.asarray(labels).dtype.kind not in "iuf" or not np.all(np.isfinite(labels)):
                raise InputError(f"sum {self.name!r} along {word!r}: give a list of different numbers as labels")
        require_takes(f"sum {self.name!r}", self.of, ("report", *self.along))

    def rows(self, drives: int) -> int:
        """Return the number of values of each run, in a system of `drives` drives."""
        return drives if self.by_drive else math.prod(len(labels) for labels in self.along.values())

    def init(self, drives: int, batch: tuple[int, ...]) -> Num[Array, "row *batch"]:
        """Return the sum before the first event.

        Parameters
        ----------
        drives : int
            Number of drives.
        batch : tuple of int
            Shape of the batch.

        Returns
        -------
        array of int32 or float32, shape `[row, *batch]`
            Zeros.
        """
        return jnp.zeros((self.rows(drives), *batch), KINDS[self.kind])

    def add(self, total: Num[Array, "row *batch"], report: Report) -> Num[Array, "row *batch"]:
        """Return the sum after one more event.

        Parameters
        ----------
        total : array of int32 or float32, shape `[row, *batch]`
            The sum before the event.
        report : Report
            The report of the event.

        Returns
        -------
        array of int32 or float32, shape `[row, *batch]`
            The sum after the event.

        Raises
        ------
        InputError
            If the event adds an array of another shape, or fractions to a sum of counts.
        """
        added = self.of(report, *self._labels(total.ndim))
        if jnp.shape(added) != total.shape:
            shapes = f"{list(jnp.shape(added))} to a total of shape {list(total.shape)}"
            raise InputError(
                f"sum {self.name!r} adds an array of shape {shapes}: set by_drive or along, or return one row"
            )
        if self.kind is int and jnp.issubdtype(jnp.result_type(added), jnp.floating):
            raise InputError(f"sum {self.name!r} has kind int but adds fractions: give kind float")
        return total + jnp.asarray(added).astype(total.dtype)

    def _labels(self, ndim: int) -> list[Num[Array, "row *ones"]]:
        columns = np.meshgrid(*(np.asarray(labels) for labels in self.along.values()), indexing="ij")
        narrow = [column.astype(np.float32 if column.dtype.kind == "f" else np.int32) for column in columns]
        return [jnp.asarray(column.reshape(-1, *(1,) * (ndim - 1))) for column in narrow]


# sums that the loop needs: the progress of a run, and whether it advances
COMPLETED = Sum("completed", completed, int)
ADMITTED = Sum("admitted", lambda report: report.admitted, int)
CHOICES = Sum("choices", lambda report: report.chose, int)
CORE = (COMPLETED, ADMITTED, CHOICES)
# largest number of streams of a log, because streams are bits of a number of 32 bits
MOST_LOGGED = WORD


class AbstractLog(eqx.Module):
    """Log of every event, stored in addition to the sums."""

    def keep(self, scenario: Scenario, state: State, report: Report) -> Any:
        """Return the arrays to store for an event, or None.

        Parameters
        ----------
        scenario : Scenario
            The scenario.
        state : State
            The state after the event.
        report : Report
            The report of the event.

        Returns
        -------
        pytree of arrays, shape `[row, *batch]`, or None
            The arrays. They may differ in the number of rows.
        """


class NoLog(AbstractLog):
    """No log: sums only."""

    def keep(self, scenario: Scenario, state: State, report: Report) -> None:
        return None


class ResponseLog(AbstractLog):
    """Log of the number, response time and operation of every completed request."""

    def keep(self, scenario: Scenario, state: State, report: Report) -> Any:
        return report.completed


class Accesses(NamedTuple):
    """The access that becomes final in an event, and the request that completes in this event.

    Parameters
    ----------
    number, drive, replica : array of int32, shape `[1, *batch]`
        Number of the request, drive and replica of the access that became final; all are NO_REQUEST if no access became
        final. If drives do not choose their accesses in advance, this access has just ended.
    admitted : array of bool, shape `[1, *batch]`
        Whether the next request entered.
    completed : RequestCompleted
        The request that completed.
    """

    number: Int[Array, "1 *batch"]
    drive: Int[Array, "1 *batch"]
    replica: Int[Array, "1 *batch"]
    admitted: Bool[Array, "1 *batch"]
    completed: RequestCompleted


class AccessLog(AbstractLog):
    """Log of all accesses and completions in their order. The contents of the disks can be computed from this log."""

    def keep(self, scenario: Scenario, state: State, report: Report) -> Accesses:
        drive, certain = first_true(report.served)
        return Accesses(
            report.number,
            jnp.where(certain, drive, NO_REQUEST),
            jnp.where(certain, report.replica, NO_REQUEST),
            report.admitted,
            report.completed,
        )


class Services(NamedTuple):
    """Service that a brick gives to a stream in one event, and the streams that wait at each brick.

    Parameters
    ----------
    elapsed : array of float32, shape `[1, *batch]`
        Time in seconds since the previous event.
    entered : array of float32, shape `[1, *batch]`
        Time in seconds until a request enters; inf if no request enters.
    brick, stream, sectors : array of int32, shape `[1, *batch]`
        Brick, stream and number of sectors of the access that became final; brick is NO_REQUEST if there is no such
        access.
    completed : RequestCompleted
        The request that completed.
    waited, waits : array of uint32, shape `[brick, *batch]`, or None
        For each brick, a mask of the streams with queued parts: `waited` after the request has entered, `waits` at the
        end of the event. None if these masks are not stored.
    """

    elapsed: Float[Array, "1 *batch"]
    entered: Float[Array, "1 *batch"]
    brick: Int[Array, "1 *batch"]
    stream: Int[Array, "1 *batch"]
    sectors: Int[Array, "1 *batch"]
    completed: RequestCompleted
    waited: UInt32[Array, "brick *batch"] | None
    waits: UInt32[Array, "brick *batch"] | None


class ServiceLog(AbstractLog):
    """Log of the service of each stream at each brick. With `backlog`, also of the streams that wait at each brick.

    Parameters
    ----------
    backlog : bool
        Whether the waiting streams are stored, by default False.
    """

    backlog: bool = eqx.field(static=True, converter=partial(flag, "backlog"), default=False)

    def keep(self, scenario: Scenario, state: State, report: Report) -> Services:
        if report.stream is None or report.sectors is None:
            raise InputError("a log of the service of streams needs requests of clients: use workload.Threads")
        if self.backlog and scenario.arrivals.stream_count > MOST_LOGGED:
            raise InputError(
                f"the backlog of {scenario.arrivals.stream_count} streams: at most {MOST_LOGGED} streams "
                "can be logged; use fewer streams, or omit `backlog`"
            )
        drive, certain = first_true(report.served)
        return Services(
            report.elapsed,
            jnp.where(report.admitted, report.entered, jnp.inf),
            jnp.where(certain, scenario.system.brick_of(drive), NO_REQUEST),
            report.stream,
            report.sectors,
            report.completed,
            report.waited if self.backlog else None,
            report.waits if self.backlog else None,
        )


@dataclass(frozen=True)
class Record:
    """Sums and log that a run stores.

    Parameters
    ----------
    sums : tuple of Sum
        Sums to store in addition to `CORE`, by default none.
    log : AbstractLog
        The log, by default none.

    Raises
    ------
    InputError
        If two sums share a name.
    """

    sums: Annotated[tuple[Sum, ...], several(instance_of(Sum), of="sums")] = ()
    log: Annotated[AbstractLog, instance_of(AbstractLog, "a log, such as sk.engine.ResponseLog()")] = field(
        default_factory=NoLog
    )

    def __post_init__(self):
        validate_fields(self)
        object.__setattr__(self, "sums", tuple(dict.fromkeys((*CORE, *self.sums))))
        names = [one.name for one in self.sums]
        for name in names:
            if names.count(name) > 1:
                raise InputError(f"two sums have the name {name!r}: rename one sum, or use one `Sum` object for both")

    def init(self, drives: int, batch: tuple[int, ...]) -> Tally:
        """Return the sums before the first event.

        Parameters
        ----------
        drives : int
            Number of drives.
        batch : tuple of int
            Shape of the batch.

        Returns
        -------
        dict of str to array, shape `[row, *batch]`
            The sums by name.
        """
        return {one.name: one.init(drives, batch) for one in self.sums}

    def add(self, tally: Tally, report: Report) -> Tally:
        """Return the sums after one more event.

        Parameters
        ----------
        tally : dict of str to array, shape `[row, *batch]`
            The sums before the event, by name.
        report : Report
            The report of the event.

        Returns
        -------
        dict of str to array, shape `[row, *batch]`
            The sums after the event, by name.
        """
        return {one.name: one.add(tally[one.name], report) for one in self.sums}
