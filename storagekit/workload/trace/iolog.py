"""Read the I/O logs of fio (`write_iolog`, `read_iolog`), versions 2 and 3.

The first line is `fio version 3 iolog`. Each further line holds an action. In version 3 it begins with its time, in
microseconds since the start of the log:

    [time] file action [offset length]

The actions read and write are requests; offset and length are in bytes. trim, sync, datasync and sync_file_range are
skipped and counted; add, open and close manage files. In version 2, `wait` delays the next request by `offset`
microseconds. A log of version 2 without `wait` has no arrival times. All its requests then arrive at time 0.

Source: fio's manual, section Trace file format, and iolog.c of fio.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from storagekit.core.errors import InputError
from storagekit.workload.trace.fields import Integer, Word
from storagekit.workload.trace.formats import Records, TraceFormat
from storagekit.workload.trace.records import MAX_OFFSET, MAX_SIZE
from storagekit.workload.trace.streams import ByteStream
from storagekit.workload.trace.text import MARK, blocks, clip

__all__ = ["IOLOG", "Iolog"]

TITLE = "fio version {} iolog"
MANAGED = ("add", "open", "close")
SKIPPED = {"trim": "trim", "sync": "sync", "datasync": "sync", "sync_file_range": "sync"}
TIME, WAIT = Integer("time", 0, 2**53), Integer("offset", 0, 2**53)
FILE = Word("file")
OFFSET, LENGTH = Integer("offset", 0, MAX_OFFSET), Integer("length", 1, MAX_SIZE)


class Iolog(TraceFormat):
    """I/O logs of fio. Devices are named by their files."""

    name = "fio-iolog"
    layout = "fio version 3 iolog; then: time file action offset length"
    unit = "line"
    ticks_per_second = 1e6

    def recognises(self, head: bytes) -> bool:
        return _version(head) is not None

    def records(self, stream: ByteStream) -> Iterator[Records]:
        version = _version(stream.head)
        clock, waits = 0, False
        for block in blocks(stream):
            rows: list[tuple] = []
            lines = block.data.split(b"\n")
            for number, line in enumerate(lines, block.first):
                text = line.decode("latin-1").strip(" \t\r")
                parts = text.split()
                if not parts or number == 1:
                    continue
                ends = block.cut and number == block.first + len(lines) - 1
                try:
                    action = _action(parts, version)
                except ValueError as fault:
                    remedy = (
                        "the file ends in the middle of this line; fetch it again" if ends else "correct or remove it"
                    )
                    try:
                        stream.damaged(f"{stream.name} line {number} {fault}; {remedy} (it was read as {self.name})")
                    except InputError as wrong:
                        if rows:
                            yield _records(rows)
                        raise wrong from None
                    continue
                if isinstance(action, str):
                    stream.skip({action: 1})
                elif isinstance(action, int):
                    clock, waits = clock + action, True
                elif action is not None:
                    time, name, read, offset, length = action
                    clock = time if time is not None else clock
                    rows.append((clock, name, read, offset, length, number))
            if rows:
                yield _records(rows)
        if version == 2 and not waits:
            stream.timed = False
            stream.notes.append("a log of version 2 has no arrival times; all requests arrive at time 0")


def _version(head: bytes) -> int | None:
    first = head.removeprefix(MARK)[:64].split(b"\n")[0].strip().decode("latin-1")
    return next((version for version in (2, 3) if first == TITLE.format(version)), None)


def _action(parts: list[str], version: int | None):
    """Return the action of a line: a request, a kind of skipped action, a wait in us, or None for a managed file.

    Raises ValueError with the field that has a fault.
    """
    time = None
    if version == 3:
        time = _value(TIME, parts[0])
        parts = parts[1:]
    if len(parts) < 2:
        raise ValueError(f"has {len(parts)} fields after its time, must have a file and an action")
    name, action, *numbers = parts
    _value(FILE, name)
    if action in MANAGED and not numbers:
        return None
    if action in SKIPPED:
        return SKIPPED[action]
    if action == "wait" and len(numbers) in (1, 2):
        return _value(WAIT, numbers[0])
    if action not in ("read", "write"):
        raise ValueError(
            f"has action {clip(action)}, must be read, write, trim, sync, datasync, wait, add, open or close"
        )
    if len(numbers) != 2:
        raise ValueError(f"has {len(numbers)} numbers after {action}, must have an offset and a length")
    return time, name, action == "read", _value(OFFSET, numbers[0]), _value(LENGTH, numbers[1])


def _value(field, text: str):
    try:
        return field.value(text)
    except ValueError:
        raise ValueError(f"has {field.name} {clip(text)}, must be {field.allowed}") from None


def _records(rows: list[tuple]) -> Records:
    clock, names, read, offset, length, position = zip(*rows, strict=True)
    device, distinct = FILE.collect(names)
    return Records(
        clock=np.array(clock, np.int64),
        device=device,
        names=distinct,
        offset=np.array(offset, np.int64),
        size=np.array(length, np.int64),
        read=np.array(read, bool),
        position=np.array(position, np.int64),
    )


IOLOG = Iolog()
