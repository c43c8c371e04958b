"""Block trace in memory: arrays of equal length with one entry for each request, in SI units."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, pairwise
from typing import Annotated, Any

import numpy as np

from storagekit.core.errors import InputError
from storagekit.core.validation import (
    ADDRESS,
    MOST_COUNTED,
    REAL,
    Address,
    Moment,
    Share,
    Validator,
    instance_of,
    numbers,
    several,
    shown,
    text,
    validate,
    validate_fields,
)

__all__ = [
    "MAX_OFFSET", "MAX_SIZE", "Extents", "RequestTrace", "TraceSource", "in_sample", "joined", "merged", "request_trace",
]  # fmt: skip

MAX_OFFSET = 2**62
"""Largest byte offset on a device; leaves room to add a size within int64."""
MAX_SIZE = 2**40
"""Largest request, bytes; a larger one is damage, not a request."""
# capacity of a device; `concatenated` limits the sum
_CAPACITY = Validator(least=0, unit="bytes", whole=True)
EXTENT = 2**20
"""Bytes of the extents of `RequestTrace.compacted`, by default."""
_EXTENT = Validator(least=512, most=2**40, unit="bytes", whole=True)
# end of a window; infinite for the end of the trace
_STOP = Validator(unit="s", endless=True)


def _picks(label: str, value: Any) -> np.ndarray | slice:
    """Validate a selection of requests. `take` raises for requests that do not exist."""
    if isinstance(value, slice):
        return value
    given = np.asarray(value) if isinstance(value, np.ndarray | list | tuple) else np.zeros(())
    # NumPy makes an empty list an array of real numbers
    if given.ndim != 1 or (given.dtype.kind not in "biu" and given.size):
        raise InputError(
            f"{label} {shown(value)}: give a slice, or a one-dimensional array of booleans or request numbers"
        )
    return given if given.size or given.dtype.kind == "b" else given.astype(int)


def _names(label: str, value: Any) -> tuple[str, ...]:
    """Validate the name of one device, or the names of several."""
    return (value,) if isinstance(value, str) else several(text, least=1, of="names of devices")(label, value)


def _counts(label: str, value: Any) -> dict[str, int]:
    """Validate the number of records of each kind."""
    if not isinstance(value, Mapping):
        raise InputError(f"{label} {shown(value)}: give a mapping from kinds to numbers of records")
    return {kind: ADDRESS(f"{label} of {kind}", count) for kind, count in value.items()}


def _capacities(label: str, value: Any) -> dict[str, int]:
    """Validate the bytes of each device, by its name."""
    if not isinstance(value, Mapping):
        raise InputError(f"{label} {shown(value)}: give a mapping from device names to bytes")
    return {name: _CAPACITY(f"{label} of {name}", size) for name, size in value.items()}


@dataclass(frozen=True)
class TraceSource:
    """Origin of a trace.

    Parameters
    ----------
    name : str
        File name as given, or any label; by default "arrays".
    format : str
        Name of the format of the file; by default "arrays".
    disorder : int
        Number of requests whose time is earlier than the time of a request before them in the file; by default 0. The
        requests of the trace itself are sorted by time.
    skipped : mapping of str to int
        Number of records of the file that are left out, by kind: "trim", "flush", "damaged" and so on. By default
        empty.
    notes : tuple of str
        Interpretations of the reader where the file is ambiguous, one sentence each; by default none.
    timed : bool
        Whether the trace has arrival times; by default true. If not, all times are 0.

    Raises
    ------
    InputError
        If a value is out of its range.
    """

    name: str = "arrays"
    format: str = "arrays"
    disorder: Address = 0
    skipped: Annotated[Mapping[str, int], _counts] = field(default_factory=dict)
    notes: Annotated[tuple[str, ...], several(text, of="sentences")] = ()
    timed: bool = True

    def __post_init__(self):
        validate_fields(self)


@dataclass(frozen=True, eq=False)
class RequestTrace:
    """Requests in order of arrival.

    All arrays have the shape (request,).

    Parameters
    ----------
    time : ndarray of float64
        Arrival times, seconds since `origin`. In a whole trace, arrival times never decrease.
    device : ndarray of int32
        Index into `devices`.
    offset, size : ndarray of int64
        Byte address and length, bytes.
    read : ndarray of bool
        True for a read, False for a write.
    devices : tuple of str
        Names of the devices.
    origin : float
        Time of the clock at time 0, seconds since the epoch of the trace (Unix, Windows, or the start of tracing); by
        default 0.
    asynchronous : ndarray of bool, optional
        Whether no process waits for the request. None if the trace does not contain it.
    measured_response : ndarray of float64, optional
        Measured response times, s. None if the trace does not contain them.
    think : ndarray of float64, optional
        Time from the completion of this request to the next arrival, s, if the trace was a closed loop with one
        request outstanding. None if the trace does not contain it.
    source : TraceSource
        Origin of the trace.
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
        """Return the arrays of this trace, keyed by name. Optional arrays that are None are left out."""
        named = {name: getattr(self, name) for name in self.COLUMNS}
        return {name: array for name, array in named.items() if array is not None}

    @validate
    def take(self, which: Annotated[np.ndarray | slice, _picks]) -> RequestTrace:
        """Return a selection of the requests. Clock and devices stay the same.

        Parameters
        ----------
        which : ndarray or slice
            A mask [request] of bool, an array of indices, or a slice.

        Returns
        -------
        RequestTrace
            The selected requests.

        Raises
        ------
        InputError
            If the selection does not fit the trace.
        """
        try:
            return replace(self, **{name: array[which] for name, array in self.columns().items()})
        except (IndexError, TypeError, ValueError) as fault:
            raise InputError(f"{self.source.name}: invalid selection from its {len(self)} requests: {fault}") from None

    @validate
    def window(self, start: Moment, stop: Annotated[float, _STOP]) -> RequestTrace:
        """Return the requests of a window of time.

        Parameters
        ----------
        start, stop : float
            Start and end of the window, s. The end is exclusive and may be infinite.

        Returns
        -------
        RequestTrace
            The requests with start <= time < stop. Times in the result are relative to `start`.

        Raises
        ------
        InputError
            If the window is empty.
        """
        if not start < stop:
            raise InputError(f"window from {start} s to {stop} s is empty; give start < stop")
        first, last = np.searchsorted(self.time, [start, stop])
        cut = self.take(slice(first, last))
        return replace(cut, time=cut.time - start, origin=self.origin + start)

    @validate
    def select(self, device: Annotated[str | Collection[str], _names]) -> RequestTrace:
        """Return the requests to certain devices. The clock stays the same.

        Parameters
        ----------
        device : str or collection of str
            Name of one device, or names of several.

        Returns
        -------
        RequestTrace
            The requests, with only these devices.

        Raises
        ------
        InputError
            If the trace has no device of this name.
        """
        wanted = (device,) if isinstance(device, str) else tuple(device)
        for name in wanted:
            if name not in self.devices:
                known = ", ".join(self.devices[:20])
                raise InputError(f"no device {name!r} in {self.source.name}; give one of {known}")
        kept = [index for index, name in enumerate(self.devices) if name in wanted]
        renumbered = np.full(len(self.devices), -1, np.int32)
        renumbered[kept] = np.arange(len(kept), dtype=np.int32)
        mapped = renumbered[self.device]
        part = replace(self, device=mapped).take(mapped >= 0)
        return replace(part, devices=tuple(self.devices[index] for index in kept))

    @validate
    def sampled(self, share: Share) -> RequestTrace:
        """Return the requests to a share of the devices, chosen by a hash of their names.

        A device has all its requests or none, so that its rate, locality and order stay as they are. The same devices
        are chosen in every trace and every time.

        Parameters
        ----------
        share : float
            Share of the devices, above 0 and at most 1.

        Returns
        -------
        RequestTrace
            The requests, with only these devices.

        Raises
        ------
        InputError
            If no device is chosen.
        """
        chosen = [name for name in self.devices if in_sample(name, share)]
        if not chosen:
            raise InputError(
                f"a sample of {share:g} of the {len(self.devices)} devices of {self.source.name} has no device; give a "
                "larger share"
            )
        return self.select(chosen)

    @validate
    def concatenated(self, capacity: Annotated[Mapping[str, int] | None, _capacities] = None) -> RequestTrace:
        """Return the trace with its devices laid end to end as one device.

        (srarray, 4.1) makes its logical data sets in the same way.

        Parameters
        ----------
        capacity : mapping of str to int, optional
            Size of each device in bytes, keyed by name. By default a device ends at the end of its last request.

        Returns
        -------
        RequestTrace
            The same requests to a single device.

        Raises
        ------
        InputError
            If the capacity of a device is missing, or a request would lie beyond 2**62 bytes.
        """
        if missing := [name for name in self.devices if capacity is not None and name not in capacity]:
            raise InputError(
                f"the capacities of {len(missing)} devices are missing, first {missing[0]}; give the capacity of each "
                "device"
            )
        ends = self.ends().tolist() if capacity is None else [capacity[name] for name in self.devices]
        # Python's integers do not overflow; no request fits behind a start beyond the largest offset
        starts = [min(start, MAX_OFFSET + 1) for start in accumulate([0, *ends])][:-1]
        start = np.array(starts, np.int64)[self.device]
        beyond = self.offset > MAX_OFFSET - start
        if beyond.any():
            first = self.devices[int(self.device[np.argmax(beyond)])]
            raise InputError(
                f"{self.source.name}: the {len(self.devices)} devices are too large end to end: a request to device "
                f"{first} would exceed 2**62 bytes; select fewer devices"
            )
        return replace(
            self,
            device=np.zeros_like(self.device),
            offset=self.offset + start,
            devices=("+".join(self.devices),),
        )

    @validate
    def compacted(self, extent: Annotated[int, _EXTENT] = EXTENT) -> RequestTrace:
        """Return the trace with the touched parts of its devices laid end to end as one device.

        A trace of many volumes often touches a small part of their addresses. Extents that no request touches are left
        out, so that the rest fits on the modelled drives. Addresses within an extent, and extents that follow each other,
        keep their distances. Distances across an extent that is left out become shorter.

        Parameters
        ----------
        extent : int
            Size of the aligned extents, bytes; by default 1 MiB.

        Returns
        -------
        RequestTrace
            The same requests to a single device.

        Raises
        ------
        InputError
            If the extent is out of range.
        """
        extents = Extents(extent)
        extents.add(self)
        return extents.compacted(self)

    def ends(self) -> np.ndarray:
        """Return, for each device, the address after the last byte that a request accesses: [device] int64."""
        end = np.zeros(len(self.devices), np.int64)
        np.maximum.at(end, self.device, self.offset + self.size)
        return end


class Extents:
    """The extents of the devices of a trace that requests touch, from parts of the trace. See `RequestTrace.compacted`.

    Parameters
    ----------
    extent : int
        Size of the aligned extents, bytes.
    """

    def __init__(self, extent: int = EXTENT):
        self._extent = extent
        self._device, self._number = np.empty(0, np.int32), np.empty(0, np.int64)

    def __len__(self) -> int:
        return len(self._number)

    def add(self, trace: RequestTrace) -> None:
        """Add the extents of further requests. A device has the same index in all parts."""
        first, last = trace.offset // self._extent, (trace.offset + trace.size - 1) // self._extent
        # the first extents of all requests, and the further extents of the few long requests
        spans = last - first
        long = np.repeat(np.arange(len(first)), spans)
        within = np.arange(len(long)) - np.repeat(np.cumsum(spans) - spans, spans) + 1
        device = np.concatenate([self._device, trace.device, trace.device[long]])
        number = np.concatenate([self._number, first, first[long] + within])
        order = np.lexsort((number, device))
        device, number = device[order], number[order]
        fresh = np.ones(len(order), bool)
        fresh[1:] = (np.diff(device) != 0) | (np.diff(number) != 0)
        self._device, self._number = device[fresh], number[fresh]

    def renumber(self, index: np.ndarray) -> None:
        """Change the indices of the devices: device i becomes device `index[i]`."""
        device = index[self._device].astype(np.int32)
        order = np.lexsort((self._number, device))
        self._device, self._number = device[order], self._number[order]

    def compacted(self, trace: RequestTrace) -> RequestTrace:
        """Return a part of the trace with the touched extents laid end to end as one device."""
        wanted = trace.offset // self._extent
        row = np.empty(len(trace), np.int64)
        bounds = np.searchsorted(self._device, np.arange(len(trace.devices) + 1))
        for index, (begin, end) in enumerate(pairwise(bounds)):
            mine = trace.device == index
            row[mine] = begin + np.searchsorted(self._number[begin:end], wanted[mine])
        return replace(
            trace,
            device=np.zeros_like(trace.device),
            offset=row * self._extent + trace.offset % self._extent,
            devices=(compacted_name(len(trace.devices)),),
        )


def compacted_name(devices: int) -> str:
    """Return the name of the device on which the touched extents of some devices are laid."""
    return f"{devices} devices, compacted"


def joined(parts: Sequence[RequestTrace]) -> RequestTrace:
    """Return successive parts of one trace as one trace, with the devices and the source of the last part."""
    last = parts[-1]
    if len(parts) == 1:
        return last
    return replace(last, **{name: np.concatenate([getattr(part, name) for part in parts]) for name in last.columns()})


def merged(traces: Sequence[RequestTrace]) -> RequestTrace:
    """Return several traces of one system, recorded by the same clock, as one trace in order of time.

    Devices with equal names are one device.

    Parameters
    ----------
    traces : sequence of RequestTrace
        The traces, at least one, such as the logs of the jobs of one run of fio.

    Returns
    -------
    RequestTrace
        The requests of all traces. A column that a trace lacks, such as measured response times, is left out.

    Raises
    ------
    InputError
        If there is no trace.
    """
    if not traces:
        raise InputError("no traces to merge; give at least one")
    names = list(dict.fromkeys(name for one in traces for name in one.devices))
    origin = min(one.origin for one in traces)
    columns = {
        name: np.concatenate([getattr(one, name) for one in traces])
        for name in RequestTrace.COLUMNS
        if all(getattr(one, name) is not None for one in traces)
    }
    columns["time"] = np.concatenate([one.time + (one.origin - origin) for one in traces])
    columns["device"] = np.concatenate(
        [np.array([names.index(name) for name in one.devices], np.int32)[one.device] for one in traces]
    )
    order = np.argsort(columns["time"], kind="stable")
    skipped: Counter[str] = Counter()
    for one in traces:
        skipped.update(one.source.skipped)
    source = replace(
        traces[0].source,
        name=traces[0].source.name + (f" and {len(traces) - 1} more" if len(traces) > 1 else ""),
        disorder=sum(one.source.disorder for one in traces),
        skipped=dict(skipped),
        notes=tuple(dict.fromkeys(note for one in traces for note in one.source.notes)),
        timed=all(one.source.timed for one in traces),
    )
    optional = {name: None for name in RequestTrace.COLUMNS if name not in columns}
    return replace(
        traces[0], **optional, **{name: column[order] for name, column in columns.items()}, devices=tuple(names),
        origin=origin, source=source,
    )  # fmt: skip


def in_sample(name: str, share: float) -> bool:
    """Return whether a device belongs to a sample of the devices; see `RequestTrace.sampled`."""
    return zlib.crc32(name.encode()) < share * 2**32


TRACE = instance_of(RequestTrace, 'a trace, such as sk.read_trace("trace.spc")')
"""The kind of a trace."""


def request_trace(
    time, device, offset, size, read, *, devices: Collection[str] | None = None,
    origin: float = 0.0, asynchronous=None, measured_response=None, think=None,
    source: TraceSource = TraceSource(),
) -> RequestTrace:  # fmt: skip
    """Validate arrays, and return them as a trace.

    Parameters
    ----------
    time : array_like of float, shape (request,)
        Arrival times, s, in ascending order.
    device : array_like of int, shape (request,)
        Index into `devices`.
    offset, size : array_like of int, shape (request,)
        Byte address and length, bytes.
    read : array_like of bool, shape (request,)
        True for a read, False for a write.
    devices : collection of str, optional
        Names of the devices; by default their numbers.
    origin : float
        Time of the clock at time 0, s; by default 0.
    asynchronous : array_like of bool, shape (request,), optional
        Whether no process waits for the request.
    measured_response, think : array_like of float, shape (request,), optional
        Measured response times and think times, s (see `RequestTrace`).
    source : TraceSource
        Origin of the trace.

    Returns
    -------
    RequestTrace
        The trace.

    Raises
    ------
    InputError
        If a value is not a number, or lengths differ; if an arrival time is not finite, is negative, or is before the
        previous arrival time; if an index has no device, an offset is negative, or a size is not positive; or if a
        measured time or a think time is negative. The message names the first request with a fault.
    """
    index = _column("device", device, np.int64)
    count = int(index.max(initial=-1)) + 1
    if count > MOST_COUNTED:
        raise InputError(f"device {count - 1}: give device numbers from 0 to {MOST_COUNTED - 1}")
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
        source=instance_of(TraceSource)("source", source),
    )
    _check_shapes(trace)
    _check_values(trace)
    return trace


def _column(name: str, values, kind: type) -> np.ndarray:
    """Return one number for each request, in the type in which the trace stores it.

    Raises InputError if a value is not a number, or if the conversion would change it.
    """
    try:
        given = np.asarray(values)
    except ValueError:
        raise InputError(f"{name} {shown(values)}: give one number for each request") from None
    if given.dtype.kind == "O":
        # columns of mixed tables have this type; whole numbers stay whole
        wholes = all(isinstance(one, int | np.integer) and -(2**63) <= one < 2**63 for one in given.flat)
        given = given.astype(np.int64) if wholes else numbers(name, given)
    if given.dtype.kind not in "biuf":
        raise InputError(f"{name} {shown(values)}: give one number for each request")
    if kind is np.float64 or given.dtype.kind == "b" or not given.size:
        return given.astype(kind, copy=False)
    most = 1 if kind is bool else 2**63 - 1
    # 2**63 - 1 as a real number is 2**63, which is out of range
    held = (given >= -most) & (given <= most if most == 1 or given.dtype.kind in "iu" else given < most)
    whole = held & (given == np.round(given)) & ((given >= 0) | (kind is not bool))
    if not whole.all():
        first = int(np.argmax(~whole))
        allowed = "True or False" if kind is bool else "a whole number"
        raise InputError(f"request {first} has {name} {given.flat[first]}, must be {allowed}")
    return given.astype(kind, copy=False)


def _check_shapes(trace: RequestTrace) -> None:
    if trace.time.ndim != 1:
        raise InputError(
            f"{trace.source.name}: time has shape {trace.time.shape}; give a one-dimensional array with one value for "
            "each request"
        )
    for name, array in trace.columns().items():
        if array.shape != (len(trace.time),):
            raise InputError(
                f"{trace.source.name}: {name} has shape {array.shape}, time has {trace.time.shape}; give one value "
                "for each request"
            )


def _check_values(trace: RequestTrace) -> None:
    late = np.concatenate([[False], np.diff(trace.time) < 0])
    _refuse(trace, "time", ~np.isfinite(trace.time) | (trace.time < 0), "finite and at least 0 s")
    _refuse(trace, "time", late, "at least the time of the previous request; sort the requests by time")
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
