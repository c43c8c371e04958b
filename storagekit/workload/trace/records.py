"""A block trace in memory: equal-length arrays, one entry a request, in SI units."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

import numpy as np

from storagekit.core.checks import numbers, shown
from storagekit.core.errors import InputError
from storagekit.core.kinds import ADDRESS, MOMENT, MOST_COUNTED, REAL, Kind, a, hold, several, takes, text

__all__ = ["MAX_OFFSET", "MAX_SIZE", "RequestTrace", "TraceSource", "request_trace"]

MAX_OFFSET = 2**62
"""Largest byte offset on a device; leaves room to add a size within int64."""
MAX_SIZE = 2**40
"""Largest request, bytes; a larger one is damage, not a request."""
# of a device; those that are too long end to end `concatenated` tells
_CAPACITY = Kind(least=0, unit="bytes", whole=True)
# to the end, where it is infinite
_STOP = Kind(unit="s", endless=True)


def _picks(label: str, value: Any) -> np.ndarray | slice:
    """The kind of what picks requests; those that there are not are told when they are picked."""
    if isinstance(value, slice):
        return value
    given = np.asarray(value) if isinstance(value, np.ndarray | list | tuple) else np.zeros(())
    # an empty list is of real numbers
    if given.ndim != 1 or (given.dtype.kind not in "biu" and given.size):
        raise InputError(
            f"{label} {shown(value)}: give a slice, or one row of True and False or of numbers of requests"
        )
    return given if given.size or given.dtype.kind == "b" else given.astype(int)


def _names(label: str, value: Any) -> tuple[str, ...]:
    """The kind of one device, or of several, by name."""
    return (value,) if isinstance(value, str) else several(text, least=1, of="names of devices")(label, value)


def _capacities(label: str, value: Any) -> dict[str, int]:
    """The kind of bytes of each device by its name."""
    if not isinstance(value, Mapping):
        raise InputError(f"{label} {shown(value)}: give the bytes of each device, by its name")
    return {name: _CAPACITY(f"{label} of {name}", size) for name, size in value.items()}


@dataclass(frozen=True)
class TraceSource:
    """Where a trace is from.

    name: file name as given, or any label. format: name of its format.
    disorder: requests that stood behind a later one in the file (they have been sorted).
    """

    name: str = "arrays"
    format: str = "arrays"
    disorder: int = 0

    def __post_init__(self):
        hold(self, name=text, format=text, disorder=ADDRESS)


@dataclass(frozen=True, eq=False)
class RequestTrace:
    """Requests in order of arrival; every array has shape [request].

    time: float64, seconds since `origin`; never decreasing in a whole trace.
    device: int32, index into `devices`. offset, size: int64 bytes.
    read: bool, False for a write. origin: the clock's reading at time 0, seconds since the
    trace's own epoch (Unix, Windows, or the start of tracing).
    asynchronous: bool, nobody waited for it. measured_response: float64 seconds.
    think: float64 seconds from the completion of this request to the next arrival, where the
    trace was a closed loop with one request outstanding. None where the trace does not say.
    """

    time: np.ndarray
    device: np.ndarray
    offset: np.ndarray
    size: np.ndarray
    read: np.ndarray
    devices: tuple[str, ...]
    origin: float = 0.0
    asynchronous: np.ndarray | None = None
    measured_response: np.ndarray | None = None
    think: np.ndarray | None = None
    source: TraceSource = TraceSource()

    COLUMNS = (
        "time", "device", "offset", "size", "read", "asynchronous", "measured_response", "think",
    )  # fmt: skip

    def __len__(self) -> int:
        return len(self.time)

    def columns(self) -> dict[str, np.ndarray]:
        """The arrays this trace has, by name; a column that is None is left out."""
        named = {name: getattr(self, name) for name in self.COLUMNS}
        return {name: array for name, array in named.items() if array is not None}

    @takes(which=_picks)
    def take(self, which: np.ndarray | slice) -> RequestTrace:
        """The requests a mask, an index array or a slice picks; clock and devices unchanged."""
        try:
            return replace(self, **{name: array[which] for name, array in self.columns().items()})
        except (IndexError, TypeError, ValueError) as fault:
            raise InputError(f"{self.source.name}: which of {len(self)} requests to take: {fault}") from None

    @takes(start=MOMENT, stop=_STOP)
    def window(self, start: float, stop: float) -> RequestTrace:
        """Requests with start <= time < stop (s); their time counts from `start` afterwards."""
        if not start < stop:
            raise InputError(f"window from {start} s to {stop} s is empty; give start < stop")
        first, last = np.searchsorted(self.time, [start, stop])
        cut = self.take(slice(first, last))
        return replace(cut, time=cut.time - start, origin=self.origin + start)

    @takes(device=_names)
    def select(self, device: str | Collection[str]) -> RequestTrace:
        """Requests to one device, or to several, by name; the clock is unchanged."""
        wanted = (device,) if isinstance(device, str) else tuple(device)
        for name in wanted:
            if name not in self.devices:
                known = ", ".join(self.devices[:20])
                raise InputError(f"no device {name!r} in {self.source.name}; it has {known}")
        kept = [index for index, name in enumerate(self.devices) if name in wanted]
        renumbered = np.full(len(self.devices), -1, np.int32)
        renumbered[kept] = np.arange(len(kept), dtype=np.int32)
        mapped = renumbered[self.device]
        part = replace(self, device=mapped).take(mapped >= 0)
        return replace(part, devices=tuple(self.devices[index] for index in kept))

    @takes(capacity=_capacities)
    def concatenated(self, capacity: Mapping[str, int] | None = None) -> RequestTrace:
        """The devices laid end to end as one, as (srarray, 4.1) makes its logical data sets.

        capacity: bytes of each device by name; without it a device ends where its last
        request does. Raises InputError where a request would then lie beyond 2**62 bytes.
        """
        if missing := [name for name in self.devices if capacity is not None and name not in capacity]:
            raise InputError(f"capacity of {len(missing)} devices is missing, {missing[0]} first; give that of each")
        ends = self.ends().tolist() if capacity is None else [capacity[name] for name in self.devices]
        # Of Python's integers, which do not wrap; no request fits behind a start beyond the largest offset.
        starts = [min(start, MAX_OFFSET + 1) for start in accumulate([0, *ends])][:-1]
        start = np.array(starts, np.int64)[self.device]
        beyond = self.offset > MAX_OFFSET - start
        if beyond.any():
            first = self.devices[int(self.device[np.argmax(beyond)])]
            raise InputError(
                f"{self.source.name}: end to end, {len(self.devices)} devices are too long: a request to device {first} "
                "would lie beyond 2**62 bytes; select fewer devices"
            )
        return replace(
            self,
            device=np.zeros_like(self.device),
            offset=self.offset + start,
            devices=("+".join(self.devices),),
        )

    def ends(self) -> np.ndarray:
        """[device] int64: the byte after the last one any request touches."""
        end = np.zeros(len(self.devices), np.int64)
        np.maximum.at(end, self.device, self.offset + self.size)
        return end


TRACE = a(RequestTrace, 'a trace, as sk.read_trace("trace.spc")')
"""The kind of a trace."""


def request_trace(
    time, device, offset, size, read, *, devices: Collection[str] | None = None,
    origin: float = 0.0, asynchronous=None, measured_response=None, think=None,
    source: TraceSource = TraceSource(),
) -> RequestTrace:  # fmt: skip
    """A checked RequestTrace from anything array-like; units as there, `device` an index.

    Raises InputError, naming the first request at fault, where something else than numbers is given, lengths differ, a time
    is not finite, negative or before its predecessor, an index has no device, an offset is negative, a
    size is not positive, or a measured or think time is negative.
    """
    index = _column("device", device, np.int64)
    count = int(index.max(initial=-1)) + 1
    if count > MOST_COUNTED:
        raise InputError(f"device {count - 1}: give numbers of devices from 0 to {MOST_COUNTED - 1}")
    names = map(str, range(count)) if devices is None else several(text, of="names")("devices", devices)
    trace = RequestTrace(
        time=_column("time", time, np.float64),
        device=np.maximum(index, -1).astype(np.int32),
        offset=_column("offset", offset, np.int64),
        size=_column("size", size, np.int64),
        read=_column("read", read, bool),
        devices=tuple(names),
        origin=float(REAL("origin", origin)),
        asynchronous=None if asynchronous is None else _column("asynchronous", asynchronous, bool),
        measured_response=None
        if measured_response is None
        else _column("measured_response", measured_response, np.float64),
        think=None if think is None else _column("think", think, np.float64),
        source=a(TraceSource)("source", source),
    )
    _check_shapes(trace)
    _check_values(trace)
    return trace


def _column(name: str, values, kind: type) -> np.ndarray:
    """Numbers of each request as they are kept. Raises InputError for what is no number, or cut or changed by that."""
    try:
        given = np.asarray(values)
    except ValueError:
        raise InputError(f"{name} {shown(values)}: give one number a request") from None
    if given.dtype.kind == "O":
        # as columns of mixed tables are; whole numbers stay whole
        wholes = all(isinstance(one, int | np.integer) and -(2**63) <= one < 2**63 for one in given.flat)
        given = given.astype(np.int64) if wholes else numbers(name, given)
    if given.dtype.kind not in "biuf":
        raise InputError(f"{name} {shown(values)}: give one number a request")
    if kind is np.float64 or given.dtype.kind == "b" or not given.size:
        return given.astype(kind, copy=False)
    most = 1 if kind is bool else 2**63 - 1
    # of real numbers 2**63 itself would be rounded to
    held = (given >= -most) & (given <= most if most == 1 or given.dtype.kind in "iu" else given < most)
    whole = held & (given == np.round(given)) & ((given >= 0) | (kind is not bool))
    if not whole.all():
        first = int(np.argmax(~whole))
        allowed = "True or False" if kind is bool else "a whole number"
        raise InputError(f"request {first} has {name} {given.flat[first]}, must be {allowed}")
    return given.astype(kind, copy=False)


def _check_shapes(trace: RequestTrace) -> None:
    if trace.time.ndim != 1:
        raise InputError(f"{trace.source.name}: time has shape {trace.time.shape}; give one value a request, in a row")
    for name, array in trace.columns().items():
        if array.shape != (len(trace.time),):
            raise InputError(
                f"{trace.source.name}: {name} has shape {array.shape}, time has "
                f"{trace.time.shape}; give one value a request"
            )


def _check_values(trace: RequestTrace) -> None:
    late = np.concatenate([[False], np.diff(trace.time) < 0])
    _refuse(trace, "time", ~np.isfinite(trace.time) | (trace.time < 0), "finite and at least 0 s")
    _refuse(trace, "time", late, "at least its predecessor's; sort the requests by time")
    known = (trace.device >= 0) & (trace.device < len(trace.devices))
    _refuse(trace, "device", ~known, f"an index from 0 to {len(trace.devices) - 1}")
    placed = (trace.offset >= 0) & (trace.offset <= MAX_OFFSET)
    _refuse(trace, "offset", ~placed, "from 0 to 2**62 bytes")
    _refuse(trace, "size", (trace.size < 1) | (trace.size > MAX_SIZE), "from 1 to 2**40 bytes")
    for name in ("measured_response", "think"):
        array = getattr(trace, name)
        if array is not None:
            _refuse(trace, name, ~np.isfinite(array) | (array < 0), "finite and at least 0 s")


def _refuse(trace: RequestTrace, name: str, bad: np.ndarray, allowed: str) -> None:
    if bad.any():
        first = int(np.argmax(bad))
        raise InputError(
            f"{trace.source.name}: request {first} has {name} {getattr(trace, name)[first]}, must be {allowed}"
        )
