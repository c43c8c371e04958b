"""Read a trace file: recognise the format, sort the records by time, sort the devices by name, and join the chunks."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from storagekit.core.errors import InputError
from storagekit.core.validation import Validator
from storagekit.workload.trace.biosnoop import BIOSNOOP
from storagekit.workload.trace.blkparse import BLKPARSE, BLKPARSE_ALL
from storagekit.workload.trace.cloud import ALIBABA, SYSTOR17, TENCENT
from storagekit.workload.trace.disksim import DISKSIM, DISKSIM_VALIDATE
from storagekit.workload.trace.fio import FIO
from storagekit.workload.trace.fiu import FIU
from storagekit.workload.trace.formats import Records, TraceFormat
from storagekit.workload.trace.ftrace import FTRACE
from storagekit.workload.trace.iolog import IOLOG
from storagekit.workload.trace.msr import MSR
from storagekit.workload.trace.parquet import PARQUET, Parquet, write_parquet
from storagekit.workload.trace.plausibility import Plausibility
from storagekit.workload.trace.records import RequestTrace, TraceSource, joined, merged
from storagekit.workload.trace.spc import SPC
from storagekit.workload.trace.srt import SRT
from storagekit.workload.trace.streams import ByteStream
from storagekit.workload.trace.table import TABLE, Table, columns_of, first_row
from storagekit.workload.trace.text import TextFormat, first_lines
from storagekit.workload.trace.vscsi import LIBCACHESIM, VSCSI

__all__ = ["DISORDER_LIMIT", "FORMATS", "chunks", "convert", "in_order", "read"]

# the table comes last, because its names decide
FORMATS: tuple[TraceFormat, ...] = (
    SRT, PARQUET, IOLOG, SPC, MSR, ALIBABA, SYSTOR17, FIU, TENCENT, DISKSIM, DISKSIM_VALIDATE, FIO, BIOSNOOP, FTRACE,
    BLKPARSE, BLKPARSE_ALL, VSCSI, LIBCACHESIM, TABLE,
)  # fmt: skip

DISORDER_LIMIT = 60.0
"""How far behind an earlier record a time may lie, s. Completions logged out of order, as in the
MSR traces, stay within seconds; files joined in the wrong order, or a damaged number, do not."""

# limit of the seconds by which a record may lie behind an earlier one
DISORDER = Validator(least=0, unit="s", endless=True)

RETURN = 8
"""A time that is this many times earlier than the latest one is at the beginning of a trace."""
FEWEST = 20
"""Requests before such a time, without which it is no sign of a second run."""
ORDERED = 2**18
"""Smallest number of requests that are sorted together."""

# limits of the requests that are read, and of the damaged lines that are left out
REQUESTS = Validator(least=1, whole=True, most=2**53)
BAD = Validator(least=0, whole=True, most=2**53)

Path = str | os.PathLike[str]


def read(
    path: str | Path | Sequence[str | Path], format: TraceFormat | str | None = None,
    disorder_limit: float = DISORDER_LIMIT, *, columns: str | Mapping[str, str] | None = None,
    requests: int | None = None, skip_bad: int = 0,
) -> RequestTrace:  # fmt: skip
    """Read a trace file, sorted by time.

    Requests of equal time keep their order. Devices are in the order of their names.

    Parameters
    ----------
    path : str or path, or sequence of them
        A trace file, plain or compressed by gzip, bzip2, xz or zstd. Several files, such as the logs of the jobs of one
        run of fio, are merged by their clocks; see `storagekit.workload.trace.records.merged`.
    format : TraceFormat or str, optional
        One of `FORMATS`, or its name. By default the content determines it.
    disorder_limit : float
        Largest time by which a record may be earlier than a preceding record of the file, s; by default 60.
        `source.disorder` is the number of records that are earlier than a preceding record.
    columns : str or mapping of str to str, optional
        Columns of a table, such as `"time=ts:us,offset=lba:sectors,size=bytes,operation=op"`; see
        `storagekit.workload.trace.table.columns_of`. By default the format, or the names in the header, determine them.
    requests : int, optional
        Number of requests to read, from the start of the file; by default all.
    skip_bad : int
        Number of damaged lines to leave out before a damaged line raises; by default 0. `source.skipped` counts them.

    Returns
    -------
    RequestTrace
        The trace. `source.skipped` counts the records that are neither reads nor writes. `source.notes` says how the
        reader interpreted the file where the file leaves a choice.

    Raises
    ------
    InputError
        If the file has a fault. The message names the line or record.

    Warns
    -----
    RuntimeWarning
        If the last line of a text file lacks its line end, because a number that was cut short cannot be detected; or if
        the requests show that the file may be read wrongly: all have the same address, or their rate is impossible.

    Examples
    --------
    >>> import storagekit as sk
    >>> trace = sk.read_trace(sk.resources.data_path("samples", "small.spc"))
    >>> f"{len(trace)} requests in {trace.time[-1]:.0f} s, {trace.read.mean():.0%} reads"
    '2000 requests in 34 s, 70% reads'
    """
    if isinstance(path, Sequence) and not isinstance(path, str):
        each = [
            read(one, format, disorder_limit, columns=columns, requests=requests, skip_bad=skip_bad) for one in path
        ]  # fmt: skip
        return _by_device_name(merged(each).take(slice(requests)))
    stacks: dict[str, list[np.ndarray]] = {}
    last = None
    for last in file_parts(path, format, disorder_limit, columns, requests, skip_bad):
        for name, column in last.columns().items():
            stacks.setdefault(name, []).append(column)
    assert last is not None
    # one column at a time, so that the parts and the whole are not both in memory
    whole = {name: np.concatenate(stacks.pop(name)) for name in last.columns()}
    return _by_device_name(_by_time(last, whole))


def chunks(
    path: str | Path, format: TraceFormat | str | None = None, disorder_limit: float = DISORDER_LIMIT, *,
    columns: str | Mapping[str, str] | None = None, requests: int | None = None, skip_bad: int = 0,
) -> Iterator[RequestTrace]:  # fmt: skip
    """Read a trace file of any length in chunks, in file order and in constant memory.

    Parameters
    ----------
    path : str or path
        The trace file, plain or compressed by gzip, bzip2, xz or zstd.
    format : TraceFormat or str, optional
        One of `FORMATS`, or its name. By default the content determines it.
    disorder_limit : float
        Largest time by which a record may be earlier than a preceding record of the file, s; by default 60.
    columns : str or mapping of str to str, optional
        Columns of a table, see `read`. By default the format, or the names in the header, determine them.
    requests : int, optional
        Number of requests to read, from the start of the file; by default all.
    skip_bad : int
        Number of damaged lines to leave out before a damaged line raises; by default 0.

    Yields
    ------
    RequestTrace
        About 65,536 requests. Times are relative to the first record of the file. If the file is not in order, times
        may decrease or be negative. Later chunks append names to `devices`, so that an index keeps its meaning.
        `source.skipped` and `source.notes` are for the whole file in the last chunk, and empty in the other chunks.

    Raises
    ------
    InputError
        See `read`.

    Warns
    -----
    RuntimeWarning
        See `read`; at the end of the file.
    """
    yield from file_parts(path, format, disorder_limit, columns, requests, skip_bad)


def in_order(parts: Iterator[RequestTrace], disorder_limit: float = DISORDER_LIMIT) -> Iterator[RequestTrace]:
    """Sort the chunks of a trace by time. Memory is needed for the requests of `disorder_limit` seconds.

    Parameters
    ----------
    parts : iterator of RequestTrace
        The chunks, as `chunks` yields them.
    disorder_limit : float
        The limit with which the chunks were read, s; by default 60.

    Yields
    ------
    RequestTrace
        The same requests in order of time, about 262,144 in each trace. Times are relative to the first request.
        `source.disorder` of the last part counts the requests that were earlier than one before them.
    """
    held: list[RequestTrace] = []
    first, latest, disorder, kept = None, -np.inf, 0, 0
    for part in parts:
        disorder += int(np.count_nonzero(part.time < np.maximum(np.maximum.accumulate(part.time), latest)))
        latest = max(latest, float(part.time.max(initial=-np.inf)))
        held.append(part)
        if sum(map(len, held)) < max(ORDERED, 2 * kept):
            continue
        whole = _sorted(held)
        ready = int(np.searchsorted(whole.time, latest - disorder_limit, side="right"))
        if ready:
            first = whole.time[0] if first is None else first
            yield _relative_to(whole.take(slice(0, ready)), first)
        held, kept = [whole.take(slice(ready, None))], len(whole) - ready
    if held:
        whole = _sorted(held)
        whole = replace(whole, source=replace(whole.source, disorder=disorder))
        yield _relative_to(whole, whole.time[0] if first is None and len(whole) else first or 0.0)


def _sorted(parts: list[RequestTrace]) -> RequestTrace:
    whole = joined(parts)
    in_place = (np.diff(whole.time) >= 0).all()
    return whole if in_place else whole.take(np.argsort(whole.time, kind="stable"))


def _relative_to(trace: RequestTrace, first: float) -> RequestTrace:
    return replace(trace, time=trace.time - first, origin=trace.origin + float(first)) if first else trace


def convert(
    path: str | Path, target: str | Path, format: TraceFormat | str | None = None,
    disorder_limit: float = DISORDER_LIMIT, *, columns: str | Mapping[str, str] | None = None,
    requests: int | None = None, skip_bad: int = 0,
) -> TraceSource:  # fmt: skip
    """Convert a trace to a Parquet file, in constant memory. `read` reads it back as the same trace, only faster.

    Parameters
    ----------
    path : str or path
        The trace file, plain or compressed by gzip, bzip2, xz or zstd.
    target : str or path
        The Parquet file. Its name must end in `.parquet`. An existing file is replaced.
    format : TraceFormat or str, optional
        One of `FORMATS`, or its name. By default the content determines it.
    disorder_limit : float
        Largest time by which a record may be earlier than a preceding record of the file, s; by default 60.
    columns : str or mapping of str to str, optional
        Columns of a table, see `read`. By default the format, or the names in the header, determine them.
    requests : int, optional
        Number of requests to read, from the start of the file; by default all.
    skip_bad : int
        Number of damaged lines to leave out before a damaged line raises; by default 0.

    Returns
    -------
    TraceSource
        The origin of the trace, with the numbers of records that are left out, and the notes.

    Raises
    ------
    InputError
        If the trace has a fault, or the name of the target is wrong.

    Warns
    -----
    RuntimeWarning
        See `read`.
    """
    if not str(target).endswith(".parquet"):
        raise InputError(f"target {str(target)!r}: give a name that ends in .parquet")
    return write_parquet(file_parts(path, format, disorder_limit, columns, requests, skip_bad), target).source


def file_parts(
    path: str | Path, format: TraceFormat | str | None, limit: float, columns: str | Mapping[str, str] | None,
    requests: int | None, skip_bad: int, warn: bool = True,
) -> Iterator[RequestTrace]:  # fmt: skip
    """Yield the requests of a file as `chunks` does. warn: whether the warnings of the file are given."""
    DISORDER("disorder limit", limit)
    most = np.inf if requests is None else REQUESTS("requests", requests)
    with ByteStream(path, BAD("skip_bad", skip_bad)) as stream:
        try:
            chosen = _chosen(stream, format, columns)
            signs = Plausibility()
            last = None
            for trace in _ordered(stream, chosen, limit):
                if last is not None:
                    yield last
                last = trace.take(slice(0, int(min(most, len(trace)))))
                signs.add(last)
                most -= len(last)
                if most <= 0:
                    break
        except InputError:
            stream.check_rest()  # a damaged stream may cause the fault in the text
            raise
        assert last is not None
        if most > 0:
            stream.check_rest()  # blkparse's records end at its summary, before the end of the compressed stream
        # the counts of the whole file stand in its last chunk
        yield replace(
            last,
            source=replace(last.source, skipped=dict(stream.skipped), notes=tuple(stream.notes), timed=stream.timed),
        )
        found = [*stream.warnings, *signs.warnings(stream.name, stream.timed)]
        if stream.unfinished is not None:
            found.append(
                f"{stream.name} line {stream.unfinished} (the last) has no line end: if the file is truncated, its "
                "last number may be wrong; fetch the file again, or add the line end"
            )
        for warning in found if warn else ():
            warnings.warn(warning, RuntimeWarning, stacklevel=3)  # the caller of read or chunks


def _chosen(
    stream: ByteStream, format: TraceFormat | str | None, columns: str | Mapping[str, str] | None
) -> TraceFormat:
    """Return the format in which a file is read."""
    if columns is not None:
        if _name_of(format) not in (None, TABLE.name, PARQUET.name):
            raise InputError(
                f"columns are for a table, not for the format {_name_of(format)}; omit the columns or the format"
            )
        kind = Parquet if PARQUET.recognises(stream.head) else Table
        chosen: TraceFormat = kind(columns_of(columns))
    else:
        chosen = _recognised(stream) if format is None else _named(format)
    return chosen.variant(stream.head, stream.name)


def _ordered(stream: ByteStream, format: TraceFormat, disorder_limit: float) -> Iterator[RequestTrace]:
    numbering: dict[str, int] = {}
    origin: np.ndarray | None = None  # one reading, in the type of the clock
    latest, warned, seen = -np.inf, False, 0
    for records in format.records(stream):
        if origin is None:
            origin = records.clock[:1]
        trace = _trace(records, origin, numbering, format, stream.name)
        if not warned and (at := _restart(trace, latest, seen)) is not None:
            warned = True
            stream.warnings.append(
                f"{stream.name} {format.unit} {records.position[at]} returns to the beginning of the trace: it may be two "
                "runs in one file; split the file there"
            )
        latest, seen = _check_order(trace, records, latest, disorder_limit, format.unit), seen + len(trace)
        yield trace
    if origin is None:
        left_out = ", ".join(f"{count} {kind}" for kind, count in stream.skipped.items())
        raise InputError(
            f"{stream.name} has no request{f' (left out: {left_out})' if left_out else ''}; check that the file is "
            "complete"
        )


def _trace(
    records: Records,
    origin: np.ndarray,
    numbering: dict[str, int],
    format: TraceFormat,
    name: str,
) -> RequestTrace:
    for device in records.names:
        numbering.setdefault(device, len(numbering))
    ticks = format.ticks_per_second
    numbers = np.array([numbering[device] for device in records.names], np.int32)
    return RequestTrace(
        # Subtract in ticks: a Windows filetime in float64 seconds is only accurate to 2 us.
        time=(records.clock - origin) / ticks,
        device=numbers[records.device],
        offset=records.offset,
        size=records.size,
        read=records.read,
        devices=tuple(numbering),
        origin=records.origin + float(origin[0]) / ticks,
        asynchronous=records.asynchronous,
        measured_response=records.measured_response,
        think=records.think,
        source=TraceSource(name, format.name),
    )


def _restart(trace: RequestTrace, latest: float, seen: int) -> int | None:
    """Return the index of the first request after a restart of the clock; None if the clock does not restart.

    The clock restarts if the time falls from a late time of the trace to the beginning of the trace.

    latest, seen: latest time, and number of requests, of the earlier chunks.
    """
    before = np.concatenate([[latest], np.maximum.accumulate(trace.time)[:-1]])
    fall = (trace.time < before / RETURN) & (before > 0)
    fall[1:] &= trace.time[:-1] > before[1:] / RETURN
    # at the beginning of a trace, requests that overtake each other look alike
    at = int(np.argmax(fall)) if fall.any() else None
    return at if at is not None and seen + at >= FEWEST else None


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


def _by_time(last: RequestTrace, columns: dict[str, np.ndarray]) -> RequestTrace:
    """Return the trace with these columns, sorted by time. last: the last chunk of the trace."""
    time = columns["time"]
    disorder = int(np.count_nonzero(time < np.maximum.accumulate(time)))
    if not disorder:
        return replace(last, **columns)
    order = np.argsort(time, kind="stable")
    for name in columns:
        columns[name] = columns[name][order]
    first = float(columns["time"][0])
    columns["time"] -= first
    return replace(
        last, **columns, origin=last.origin + first, source=replace(last.source, disorder=disorder)
    )  # fmt: skip


def _by_device_name(trace: RequestTrace) -> RequestTrace:
    return with_devices(trace, by_name(trace.devices))


def by_name(devices: Iterable[str]) -> tuple[str, ...]:
    """Return the names of devices in their natural order: sd2 is before sd10."""
    return tuple(sorted(devices, key=_natural))


def with_devices(trace: RequestTrace, devices: Sequence[str]) -> RequestTrace:
    """Return a trace whose devices have the indices of `devices`, which contains all of them."""
    index = {name: number for number, name in enumerate(devices)}
    number = np.array([index[name] for name in trace.devices], np.int32)
    return replace(trace, device=number[trace.device], devices=tuple(devices))


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


def _name_of(format: TraceFormat | str | None) -> str | None:
    return format.name if isinstance(format, TraceFormat) else format


def _recognised(stream: ByteStream) -> TraceFormat:
    title = next(first_lines(stream.head), "")
    for format in FORMATS:
        if isinstance(format, TextFormat) and format.is_header(title):
            return format
    # a header of another table is not a damaged first line
    for format in (TABLE, *FORMATS):
        if format.recognises(stream.head):
            return format
    raise InputError(
        f"{stream.name} has none of the formats {_names()} (`storagekit trace formats`); {first_row(stream.head)}; name "
        "them: --columns time=1:us,offset=2:sectors,size=3,operation=4"
    )


def _names() -> str:
    return ", ".join(format.name for format in FORMATS)
