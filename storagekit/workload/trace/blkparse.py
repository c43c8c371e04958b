"""Read the output of `blkparse`, events of the Linux block layer, in its default format (with or without -t).

    device  cpu  sequence  seconds.nanoseconds  process  action  RWBS  sector + sectors [command or error]

A request arrives when it is queued (Q). Its measured response ends at a completion (C) on the same device and in the
same direction that covers the last sector of the request. A merged request ends with the request into which it was
merged. Other actions, flushes, discards and the summary at the end are skipped.

A request without a completion in the file was still in progress. It is left out, unless the file has no completions at
all. A write is asynchronous if its field RWBS lacks the letter S. Source: blkparse(1), and blkparse_fmt.c of blktrace.
"""

from __future__ import annotations

import re
from bisect import bisect_left, insort
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from storagekit.core.errors import InputError
from storagekit.workload.trace.fields import Integer, Word
from storagekit.workload.trace.formats import CHUNK, Records, TraceFormat
from storagekit.workload.trace.records import MAX_OFFSET, MAX_SIZE
from storagekit.workload.trace.streams import ByteStream
from storagekit.workload.trace.text import blocks, clip, first_lines

__all__ = ["BLKPARSE", "Blkparse"]

SECTOR = 512  # bytes
# A device is named by two numbers of 32 bits at most. Neighbouring parts of the expression never match the same
# character, so that a failed match takes time linear in the line.
EVENT = re.compile(
    r"(?P<device>\d{1,10},\d{1,10}) +\d+ +\d+ +(?P<seconds>\d+)\.(?P<nanoseconds>\d{9}) +\d+ +"
    r"(?P<action>[A-Z]{1,2}|m) +(?P<rest>.*)",
    re.ASCII,
)
# flushes, plugging and messages have no location
PLACE = re.compile(r"(?P<rwbs>[A-Z]+) +(?P<sector>\d+) \+ (?P<sectors>\d+)( .*)?", re.ASCII)
# for each CPU and device, after an empty line
SUMMARY = re.compile(r"(CPU\d+|Total) \(.*\):?")
QUEUED, COMPLETED = "Q", "C"
START, SECTORS = Integer("sector", 0, MAX_OFFSET // SECTOR), Integer("sectors", 1, MAX_SIZE // SECTOR)
# so that nanoseconds fit in 63 bits
SECONDS = Integer("seconds", 0, 2**63 // 10**9 - 1)


@dataclass(slots=True)
class QueuedRecord:
    """A request: its arrival time, its location and length in sectors, and the time until its completion.

    Times are in ns. The time until the completion is set when the request has completed.
    """

    clock: int
    device: str
    start: int
    stop: int
    read: bool
    asynchronous: bool
    line: int
    took: int | None = None


class UnderWay:
    """The requests of one device and direction that are queued and not completed, keyed by their sectors."""

    def __init__(self):
        self._places: list[tuple[int, int]] = []  # stop and start, sorted
        self._queues: dict[tuple[int, int], deque[QueuedRecord]] = {}  # requests queued at each location, in order

    def add(self, one: QueuedRecord) -> None:
        place = one.stop, one.start
        if place not in self._queues:
            self._queues[place] = deque()
            insort(self._places, place)
        self._queues[place].append(one)

    def completed(self, by: QueuedRecord) -> list[QueuedRecord]:
        """Remove and return the requests that a completion ends.

        The result is the first request queued at exactly the same location. If there is no such request, because
        requests were merged or split, the result is all requests whose last sector the completion covers.
        """
        place = by.stop, by.start
        if place in self._queues:
            one = self._queues[place].popleft()
            if not self._queues[place]:
                del self._queues[place], self._places[bisect_left(self._places, place)]
            return [one]
        first, last = bisect_left(self._places, (by.start + 1,)), bisect_left(self._places, (by.stop + 1,))
        taken = [one for place in self._places[first:last] for one in self._queues.pop(place)]
        del self._places[first:last]
        return sorted(taken, key=lambda one: one.line)


class Blkparse(TraceFormat):
    """The lines of events that blkparse prints. Devices are named by their numbers, as `8,0`."""

    name = "blkparse"
    layout = "device cpu sequence time process action RWBS sector + sectors"
    unit = "line"
    ticks_per_second = 1e9

    def recognises(self, head: bytes) -> bool:
        return any(EVENT.fullmatch(line) for line in first_lines(head))

    def records(self, stream: ByteStream) -> Iterator[Records]:
        waiting: deque[QueuedRecord] = deque()
        under_way: dict[tuple[str, bool], UnderWay] = {}
        completions = False
        for line, action, event in self._events(stream):
            whose = under_way.setdefault((event.device, event.read), UnderWay())
            if action == QUEUED:
                waiting.append(event)
                whose.add(event)
                continue
            completions = True
            for one in whose.completed(event):
                one.took = event.clock - one.clock
                if one.took < 0:
                    raise self._fault(
                        stream.name,
                        line,
                        f"completes a request that line {one.line} queues later",
                        "sort the file by time",
                    )
            if len(waiting) >= CHUNK and waiting[0].took is not None:
                yield _records(list(_over(waiting)))
        rest = [one for one in waiting if one.took is not None or not completions]
        if rest:
            yield _records(rest)

    def _events(self, stream: ByteStream) -> Iterator[tuple[int, str, QueuedRecord]]:
        """Yield each line of a queued or completed request as line number, action and request."""
        for block in blocks(stream):
            for number, raw in enumerate(block.data.decode("latin-1").split("\n"), block.first):
                text = raw.strip(" \t\r")
                if SUMMARY.fullmatch(text):
                    return
                if not text:
                    continue
                event = EVENT.fullmatch(text)
                if event is None:
                    ends = block.cut and number == block.first + block.data.count(b"\n")
                    raise self._fault(
                        stream.name,
                        number,
                        f"is not an event in the default format of blkparse ({clip(text)})",
                        "fetch the file again, because it ends in the middle of this line"
                        if ends
                        else "run blkparse without -f",
                    )
                if event["action"] in (QUEUED, COMPLETED):
                    request = self._request(stream.name, number, event)
                    if request is not None:
                        yield number, event["action"], request

    def _request(self, name: str, line: int, event: re.Match) -> QueuedRecord | None:
        place = PLACE.fullmatch(event["rest"])
        if (
            place is None
            or not place["sectors"].strip("0")
            or not re.search("R|W", place["rwbs"])
            or "D" in place["rwbs"]
        ):
            return None
        try:
            start, sectors = START.value(place["sector"]), SECTORS.value(place["sectors"])
        except ValueError:
            what = f"has {_told(place['sectors'])} sectors at {_told(place['sector'])}, which exceeds a disk"
            raise self._fault(name, line, what, "remove the line") from None
        try:
            clock = SECONDS.value(event["seconds"]) * 10**9 + int(event["nanoseconds"])
        except ValueError:
            raise self._fault(name, line, f"has a time of {_told(event['seconds'])} s", "remove the line") from None
        read = "R" in place["rwbs"]
        hidden = not read and "S" not in place["rwbs"]
        return QueuedRecord(clock, event["device"], start, start + sectors, read, hidden, line)

    def _fault(self, name: str, line: int, what: str, remedy: str) -> InputError:
        return InputError(f"{name} line {line} {what}; {remedy}, or give another format (it was read as {self.name})")


def _told(digits: str) -> str:
    """Return a number of the file, shortened for a message."""
    return digits if len(digits) <= 40 else digits[:37] + "..."


def _over(waiting: deque[QueuedRecord]) -> Iterator[QueuedRecord]:
    """Remove and yield the completed requests at the head of the queue."""
    while waiting and waiting[0].took is not None:
        yield waiting.popleft()


def _records(some: Sequence[QueuedRecord]) -> Records:
    def column(values, kind) -> np.ndarray:
        return np.array(list(values), kind)

    device, names = Word("device").collect([one.device for one in some])
    took = [one.took for one in some if one.took is not None]
    return Records(
        clock=column((one.clock for one in some), np.int64),
        device=device,
        names=names,
        offset=column((one.start * SECTOR for one in some), np.int64),
        size=column(((one.stop - one.start) * SECTOR for one in some), np.int64),
        read=column((one.read for one in some), bool),
        position=column((one.line for one in some), np.int64),
        asynchronous=column((one.asynchronous for one in some), bool),
        measured_response=np.array(took) / 1e9 if took else None,
    )


BLKPARSE = Blkparse()
