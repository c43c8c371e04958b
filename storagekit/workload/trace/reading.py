"""Read a trace file: recognise the format, sort the records by time, sort the devices by name, and join the chunks."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from storagekit.core.errors import InputError
from storagekit.core.validation import Validator
from storagekit.workload.trace.blkparse import BLKPARSE
from storagekit.workload.trace.disksim import DISKSIM, DISKSIM_VALIDATE
from storagekit.workload.trace.fio import FIO
from storagekit.workload.trace.formats import Records, TraceFormat
from storagekit.workload.trace.msr import MSR
from storagekit.workload.trace.records import RequestTrace, TraceSource
from storagekit.workload.trace.spc import SPC
from storagekit.workload.trace.srt import SRT
from storagekit.workload.trace.streams import ByteStream

__all__ = ["DISORDER_LIMIT", "FORMATS", "chunks", "read"]

FORMATS: tuple[TraceFormat, ...] = (SRT, SPC, MSR, DISKSIM, DISKSIM_VALIDATE, FIO, BLKPARSE)

DISORDER_LIMIT = 60.0
"""How far behind an earlier record a time may lie, s. Completions logged out of order, as in the
MSR traces, stay within seconds; files joined in the wrong order, or a damaged number, do not."""

# limit of the seconds by which a record may lie behind an earlier one
DISORDER = Validator(least=0, unit="s", endless=True)

Path = str | os.PathLike[str]


def read(
    path: str | Path, format: TraceFormat | str | None = None, disorder_limit: float = DISORDER_LIMIT
) -> RequestTrace:
    """Read a whole trace file, sorted by time.

    Requests of equal time keep their order. Devices are in the order of their names.

    Parameters
    ----------
    path : str or path
        A trace file, plain or compressed by gzip, bzip2 or xz.
    format : TraceFormat or str, optional
        One of `FORMATS`, or its name. By default the content determines it.
    disorder_limit : float
        Largest time by which a record may be earlier than a preceding record of the file, s; by default 60.
        `source.disorder` is the number of records that are earlier than a preceding record.

    Returns
    -------
    RequestTrace
        The trace.

    Raises
    ------
    InputError
        If the file has a fault. The message names the line or record.

    Warns
    -----
    RuntimeWarning
        If the last line of a text file lacks its line end. A number that was cut short cannot be detected.

    Examples
    --------
    >>> import storagekit as sk
    >>> trace = sk.read_trace(sk.resources.data_path("samples", "small.spc"))
    >>> f"{len(trace)} requests in {trace.time[-1]:.0f} s, {trace.read.mean():.0%} reads"
    '2000 requests in 34 s, 70% reads'
    """
    parts = list(_parts(path, format, disorder_limit))
    last = parts[-1]
    joined = {name: np.concatenate([getattr(part, name) for part in parts]) for name in last.columns()}
    return _by_device_name(_by_time(replace(last, **joined)))


def chunks(
    path: str | Path, format: TraceFormat | str | None = None, disorder_limit: float = DISORDER_LIMIT
) -> Iterator[RequestTrace]:
    """Read a trace file of any length in chunks, in file order and in constant memory.

    Parameters
    ----------
    path, format, disorder_limit
        See `read`.

    Yields
    ------
    RequestTrace
        About 65,536 requests. Times are relative to the first record of the file. If the file is not in order, times
        may decrease or be negative. Later chunks append names to `devices`, so that an index keeps its meaning.

    Raises
    ------
    InputError
        See `read`.

    Warns
    -----
    RuntimeWarning
        See `read`; at the end of the file.
    """
    yield from _parts(path, format, disorder_limit)


def _parts(path: str | Path, format: TraceFormat | str | None, limit: float) -> Iterator[RequestTrace]:
    DISORDER("disorder limit", limit)
    with ByteStream(path) as stream:
        try:
            chosen = _recognised(stream) if format is None else _named(format)
            yield from _ordered(stream, chosen, limit)
        except InputError:
            stream.check_rest()  # a damaged stream may cause the fault in the text
            raise
        stream.check_rest()  # blkparse's records end at its summary, before the end of the compressed stream
        if stream.unfinished is not None:
            warnings.warn(
                f"{stream.name} line {stream.unfinished} (the last) has no line end: if the file is truncated, its "
                "last number may be wrong; fetch the file again, or add the line end",
                RuntimeWarning,
                stacklevel=3,  # the caller of read or chunks
            )


def _ordered(stream: ByteStream, format: TraceFormat, disorder_limit: float) -> Iterator[RequestTrace]:
    numbering: dict[str, int] = {}
    origin: np.ndarray | None = None  # one reading, in the type of the clock
    latest = -np.inf
    for records in format.records(stream):
        if origin is None:
            origin = records.clock[:1]
        trace = _trace(records, origin, numbering, format, stream.name)
        latest = _check_order(trace, records, latest, disorder_limit, format.unit)
        yield trace
    if origin is None:
        raise InputError(f"{stream.name} has no request; check that the file is complete")


def _trace(
    records: Records,
    origin: np.ndarray,
    numbering: dict[str, int],
    format: TraceFormat,
    name: str,
) -> RequestTrace:
    for device in records.names:
        numbering.setdefault(device, len(numbering))
    numbers = np.array([numbering[device] for device in records.names], np.int32)
    return RequestTrace(
        # Subtract in ticks: a Windows filetime in float64 seconds is only accurate to 2 us.
        time=(records.clock - origin) / format.ticks_per_second,
        device=numbers[records.device],
        offset=records.offset,
        size=records.size,
        read=records.read,
        devices=tuple(numbering),
        origin=float(origin[0]) / format.ticks_per_second,
        asynchronous=records.asynchronous,
        measured_response=records.measured_response,
        think=records.think,
        source=TraceSource(name, format.name),
    )


def _check_order(trace: RequestTrace, records: Records, latest: float, limit: float, unit: str) -> float:
    """Return the latest time so far. Raises InputError if a time is more than `limit` seconds before it."""
    seen = np.maximum(np.maximum.accumulate(trace.time), latest)
    behind = seen - trace.time
    if (behind > limit).any():
        at = int(np.argmax(behind > limit))
        raise InputError(
            f"{trace.source.name} {unit} {records.position[at]} is {behind[at]:.6g} s earlier than a previous one; "
            f"only up to {limit:g} s is corrected; correct it, sort the file by time, or raise disorder_limit"
        )
    return float(seen[-1])


def _by_time(trace: RequestTrace) -> RequestTrace:
    disorder = int(np.count_nonzero(trace.time < np.maximum.accumulate(trace.time)))
    if not disorder:
        return trace
    ordered = trace.take(np.argsort(trace.time, kind="stable"))
    first = float(ordered.time[0])
    return replace(
        ordered,
        time=ordered.time - first,
        origin=trace.origin + first,
        source=replace(trace.source, disorder=disorder),
    )


def _by_device_name(trace: RequestTrace) -> RequestTrace:
    order = sorted(range(len(trace.devices)), key=lambda i: _natural(trace.devices[i]))
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    return replace(
        trace, device=rank[trace.device], devices=tuple(trace.devices[i] for i in order)
    )  # fmt: skip


def _natural(name: str) -> list[tuple[int, str]]:
    """Return a sort key for names. Numbers within names, decimal or with 0x, are compared as numbers."""
    parts = re.split(r"(0x[0-9a-f]+|[0-9]+)", name)
    return [
        (int(part, 16 if part.startswith("0x") else 10), "") if i % 2 else (-1, part) for i, part in enumerate(parts)
    ]


def _named(format: TraceFormat | str) -> TraceFormat:
    if isinstance(format, TraceFormat):
        return format
    for known in FORMATS:
        if known.name == format:
            return known
    raise InputError(f"trace format {format!r} is unknown; give one of {_names()}")


def _recognised(stream: ByteStream) -> TraceFormat:
    for format in FORMATS:
        if format.recognises(stream.head):
            return format
    first = stream.head.lstrip().split(b"\n")[0][:40].decode("latin-1")
    raise InputError(
        f"{stream.name} begins with {first!r}, which is none of the formats {_names()}; convert it to one of them, or "
        "give its format"
    )


def _names() -> str:
    return ", ".join(format.name for format in FORMATS)
