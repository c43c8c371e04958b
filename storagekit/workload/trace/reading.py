"""Read a trace file: recognise its format, put its clock and devices in order, join the chunks."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from storagekit.core.errors import InputError
from storagekit.core.kinds import Kind
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

# seconds that a record may lie behind an earlier one
DISORDER = Kind(least=0, unit="s", endless=True)

Path = str | os.PathLike[str]


def read(
    path: str | Path, format: TraceFormat | str | None = None, disorder_limit: float = DISORDER_LIMIT
) -> RequestTrace:
    """The whole trace, sorted by time (stably) with devices in the order of their names.

    path: a trace file, plain or compressed by gzip, bzip2 or xz. format: a member of FORMATS or
    its name; found from the content if not given. disorder_limit: s a record may lie behind an
    earlier one before the file is refused; `source.disorder` counts those that did.
    Raises InputError for anything wrong with the file, naming the line or record. Warns of a text file whose
    last line lacks its line end, since a number cut short is a number too.

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
    """The trace in file order, about 65,536 requests at a time, in constant memory.

    Arguments, errors and the warning, once all is read, as in `read`. Times count from the file's first record and, where the
    file is out of order, may decrease and be negative; `devices` grows at its end from chunk to
    chunk, so that an index keeps its meaning.
    """
    yield from _parts(path, format, disorder_limit)


def _parts(path: str | Path, format: TraceFormat | str | None, limit: float) -> Iterator[RequestTrace]:
    DISORDER("disorder limit", limit)
    with ByteStream(path) as stream:
        try:
            chosen = _recognised(stream) if format is None else _named(format)
            yield from _ordered(stream, chosen, limit)
        except InputError:
            stream.check_rest()  # text that makes no sense may be a damaged stream's
            raise
        stream.check_rest()  # blkparse's records end at its summary, before the compression is checked
        if stream.unfinished is not None:
            warnings.warn(
                f"{stream.name} line {stream.unfinished}, the last, lacks its line end: if the file is cut there, its last "
                "number may be wrong; fetch it again, or end the line",
                RuntimeWarning,
                stacklevel=3,  # whoever called read or chunks
            )


def _ordered(stream: ByteStream, format: TraceFormat, disorder_limit: float) -> Iterator[RequestTrace]:
    numbering: dict[str, int] = {}
    origin: np.ndarray | None = None  # one reading, in the clock's own type
    latest = -np.inf
    for records in format.records(stream):
        if origin is None:
            origin = records.clock[:1]
        trace = _trace(records, origin, numbering, format, stream.name)
        latest = _check_order(trace, records, latest, disorder_limit, format.unit)
        yield trace
    if origin is None:
        raise InputError(f"{stream.name} holds no request; check that it is the whole file")


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
        # Subtract in ticks: a Windows filetime in float64 seconds is only good to 2 us.
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
    """The latest time so far; raises InputError where one lies more than `limit` behind it."""
    seen = np.maximum(np.maximum.accumulate(trace.time), latest)
    behind = seen - trace.time
    if (behind > limit).any():
        at = int(np.argmax(behind > limit))
        raise InputError(
            f"{trace.source.name} {unit} {records.position[at]} is {behind[at]:.6g} s earlier than "
            f"one before it, at most {limit:g} s is put right; correct it, sort the file by time, "
            "or raise disorder_limit"
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
    """A sort key that compares the numbers within names, decimal or 0x, as numbers."""
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
    raise InputError(f"trace format {format!r} is not known; choose from {_names()}")


def _recognised(stream: ByteStream) -> TraceFormat:
    for format in FORMATS:
        if format.recognises(stream.head):
            return format
    first = stream.head.lstrip().split(b"\n")[0][:40].decode("latin-1")
    raise InputError(
        f"{stream.name} begins with {first!r}, which is none of {_names()}; convert it to one of "
        "these, or name its format"
    )


def _names() -> str:
    return ", ".join(format.name for format in FORMATS)
