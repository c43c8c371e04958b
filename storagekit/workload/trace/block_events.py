"""Form requests from the events of the Linux block layer: arrivals, completions and remaps.

The readers of blkparse and ftrace share these rules.

Arrival
    The arrival is the first event of this list that the first 64 KiB of the file contain: queued (Q), issued (D, sent to
    the drive), completed (C). An earlier event of the list after the first 64 KiB raises InputError, because the file
    would then have arrivals of two kinds. If the arrival is the completion, responses are unknown.

Completion
    The measured response ends at a completion on the same device and in the same direction that covers the last sector
    of the request. A merged request ends with the request into which it was merged. A request without a completion in
    the file was still in progress. It is left out, unless the file has no completions at all.

Remap
    A remap (A) says that a device maps a request to a lower device, for example a device mapper to a disk. If both
    devices have arrivals in the file, the requests of the upper device are the same I/Os. They are left out. A device is
    known as an upper device after its first remap, and after the first arrival at the lower device. Its earlier requests
    are left out too, unless a chunk of 65,536 requests already contains them. This raises InputError. Without remaps in
    the file, devices with nearly the same requests give a warning (`storagekit.workload.trace.doubling`).

Discards, flushes and zone operations are skipped, and counted once for each arrival.
"""

from __future__ import annotations

from abc import abstractmethod
from bisect import bisect_left, insort
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from storagekit.core.errors import InputError
from storagekit.core.units import SECTOR
from storagekit.workload.trace.doubling import Doubling
from storagekit.workload.trace.fields import Integer, Word
from storagekit.workload.trace.formats import CHUNK, Records, TraceFormat
from storagekit.workload.trace.records import MAX_OFFSET, MAX_SIZE
from storagekit.workload.trace.streams import HEAD, ByteStream
from storagekit.workload.trace.text import blocks, shortened

__all__ = ["COMPLETED", "ISSUED", "QUEUED", "REMAPPED", "BlockEvents", "Event"]

QUEUED, ISSUED, COMPLETED, REMAPPED = "Q", "D", "C", "A"
ARRIVALS = (QUEUED, ISSUED, COMPLETED)
"""Events that may be the arrival, the preferred one first."""
WHEN = {ISSUED: "is sent to the drive", COMPLETED: "completes; response times are unknown"}
START, SECTORS = Integer("sector", 0, MAX_OFFSET // SECTOR), Integer("sectors", 1, MAX_SIZE // SECTOR)
# so that nanoseconds fit in 63 bits
SECONDS = Integer("seconds", 0, 2**63 // 10**9 - 1)
LEFT_OUT = -1
MANY = 64
"""Requests in progress at the end of a file from which completions are probably missing."""
FEW = 4
"""Devices that a note names."""


class Event(NamedTuple):
    """One event, as the texts of its line.

    action: `QUEUED`, `ISSUED`, `COMPLETED` or `REMAPPED`. fraction: digits of the time after the point. rwbs: letters of
    the operation. sector, sectors: empty if the line has none. upper: the device from which a request is remapped.
    """

    action: str
    device: str
    seconds: str
    fraction: str
    rwbs: str
    sector: str = ""
    sectors: str = ""
    upper: str = ""


@dataclass(slots=True)
class QueuedRecord:
    """A request: its arrival time, its location and length in sectors, and the time until its completion.

    Times are in ns. The time until the completion is set when the request has completed. It is `LEFT_OUT` if the request
    is left out.
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
    """The requests of one device and direction that have arrived and not completed, keyed by their sectors."""

    def __init__(self):
        self._ranges: list[tuple[int, int]] = []  # stop and start, sorted
        self._queues: dict[tuple[int, int], deque[QueuedRecord]] = {}  # requests queued at each location, in order

    def add(self, one: QueuedRecord) -> None:
        sectors = one.stop, one.start
        if sectors not in self._queues:
            self._queues[sectors] = deque()
            insort(self._ranges, sectors)
        self._queues[sectors].append(one)

    def completed(self, by: QueuedRecord) -> list[QueuedRecord]:
        """Remove and return the requests that a completion ends.

        The result is the first request queued at exactly the same location. If there is no such request, because
        requests were merged or split, the result is all requests whose last sector the completion covers.
        """
        sectors = by.stop, by.start
        if sectors in self._queues:
            one = self._queues[sectors].popleft()
            if not self._queues[sectors]:
                del self._queues[sectors], self._ranges[bisect_left(self._ranges, sectors)]
            return [one]
        first, last = bisect_left(self._ranges, (by.start + 1,)), bisect_left(self._ranges, (by.stop + 1,))
        taken = [one for sectors in self._ranges[first:last] for one in self._queues.pop(sectors)]
        del self._ranges[first:last]
        return sorted(taken, key=lambda one: one.line)


class Layers:
    """The devices of a file, and which of them map their requests to others."""

    def __init__(self):
        self._below: dict[str, set[str]] = {}
        self._arrived: set[str] = set()
        self.upper: set[str] = set()

    def arrived(self, device: str) -> set[str]:
        """Record an arrival at a device, and return the upper devices that are now known."""
        if device in self._arrived:
            return set()
        self._arrived.add(device)
        return self._found()

    def remapped(self, upper: str, lower: str) -> set[str]:
        """Record a remap, and return the upper devices that are now known."""
        if lower in self._below.setdefault(upper, set()):
            return set()
        self._below[upper].add(lower)
        return self._found()

    def lowest(self) -> list[str]:
        """Return the devices at which the requests of the upper devices are counted."""
        reached = set[str]().union(*map(self._reached, self.upper))
        return sorted(reached & self._arrived - self.upper)

    def _found(self) -> set[str]:
        candidates = self._below.keys() & self._arrived - self.upper
        found = {device for device in candidates if self._is_upper(device)}
        self.upper |= found
        return found

    def _is_upper(self, device: str) -> bool:
        lower = self._reached(device) & self._arrived
        return any(device not in self._reached(one) for one in lower)

    def _reached(self, device: str) -> set[str]:
        """Return the devices to which a device maps, directly or through others."""
        reached: set[str] = set()
        ahead = [device]
        while ahead:
            further = self._below.get(ahead.pop(), set()) - reached
            reached |= further
            ahead.extend(further)
        return reached


class Requests:
    """The requests of a file, formed from its events in file order.

    Parameters
    ----------
    stream : ByteStream
        The file. Skipped requests are counted in it, and a note on remapped devices is added to it.
    arrival : str
        The event that is the arrival.
    lowest : bool
        Whether the requests of upper devices are left out.
    """

    def __init__(self, stream: ByteStream, arrival: str, lowest: bool):
        self._stream, self._alone, self._lowest = stream, arrival == COMPLETED, lowest
        self._layers = Layers()
        self._waiting: deque[QueuedRecord] = deque()
        self._under_way: dict[tuple[str, bool], UnderWay] = {}
        self._completed: set[str] = set()
        self._counted: set[str] = set()  # devices with requests in a chunk
        self._skipped: Counter[tuple[str, str]] = Counter()
        self._note = ""
        self._doubling = Doubling()

    def arrive(self, event: Event, content: QueuedRecord | str | None, line: int) -> None:
        """Add an arrival. `content` is a read or write, or the kind of another request; with None it is not counted."""
        self._drop(self._layers.arrived(event.device), line)
        if event.device in self._layers.upper:
            return
        if isinstance(content, str):
            self._skipped[event.device, content] += 1
        elif content is not None:
            self._waiting.append(content)
            if not self._alone:
                self._of(content).add(content)

    def complete(self, by: QueuedRecord) -> None:
        if by.device in self._layers.upper:
            return
        self._completed.add(by.device)
        ended = self._of(by).completed(by)
        early = next((one for one in ended if one.clock > by.clock), None)
        if early is not None:
            self._stream.damaged(
                f"{self._stream.name} line {by.line} completes a request that line {early.line} queues later; sort the "
                "file by time, or allow damaged lines (skip_bad)"
            )
        for one in ended:
            one.took = LEFT_OUT if early is not None else by.clock - one.clock

    def remap(self, event: Event, line: int) -> None:
        """Record that the upper device of an event maps its requests to the device of the event."""
        if self._lowest:
            self._drop(self._layers.remapped(event.upper, event.device), line)

    def chunk(self) -> Records | None:
        """Return the next chunk, or None if it is not complete."""
        if len(self._waiting) < CHUNK or not self._is_over(self._waiting[0]):
            return None
        some = []
        while self._waiting and self._is_over(self._waiting[0]):
            some.append(self._waiting.popleft())
        return self._given(some)

    def rest(self) -> Records | None:
        """Return the last chunk, after all events."""
        completions = self._completed - self._layers.upper
        left = [one for one in self._waiting if self._is_over(one) or not completions]
        missing = len(self._waiting) - len(left)
        if missing:
            self._stream.skip({"in progress": missing})
            if missing > MANY:
                self._stream.warnings.append(
                    f"{self._stream.name}: {missing:,} requests have no completion in the file and are left out; record "
                    "completions of all devices too, or remove the completions from the file"
                )
        last = self._given(left)
        if self._lowest:
            self._warn_of_doubling()
        return last

    def _is_over(self, one: QueuedRecord) -> bool:
        return self._alone or one.took is not None

    def _given(self, some: list[QueuedRecord]) -> Records | None:
        self._report()
        some = [one for one in some if one.took != LEFT_OUT]
        self._counted.update(one.device for one in some)
        if not some:
            return None
        records = _records(some)
        self._doubling.add(records)
        return records

    def _warn_of_doubling(self) -> None:
        pair = self._doubling.pair()
        if pair is not None:
            upper, lower = map(sorted, pair)
            self._stream.warnings.append(
                f"{self._stream.name}: the requests at {_listed(upper)} and at {_listed(lower)} are nearly the same, as at a "
                "device mapper or RAID and the disks below it: each may be counted twice; use the devices of one layer "
                f"(--devices {shortened(','.join(lower))}), or keep the remaps (A) in the file"
            )

    def _of(self, one: QueuedRecord) -> UnderWay:
        return self._under_way.setdefault((one.device, one.read), UnderWay())

    def _drop(self, devices: set[str], line: int) -> None:
        """Leave out the requests of devices that are now known as upper devices."""
        late = sorted(devices & self._counted)
        if late:
            raise InputError(
                f"{self._stream.name} line {line} shows that requests of {late[0]} are remapped, but earlier requests of "
                f"{late[0]} are already counted; read all devices (format blkparse-all), and select one of them"
            )
        if devices:
            self._waiting = deque(one for one in self._waiting if one.device not in devices)
            for key in [key for key in self._under_way if key[0] in devices]:
                del self._under_way[key]

    def _report(self) -> None:
        """Add the counts of skipped requests to the stream, and renew the note on remapped devices."""
        upper = self._layers.upper
        for (device, kind), count in self._skipped.items():
            if device not in upper:
                self._stream.skip({kind: count})
        self._skipped.clear()
        if upper:
            lowest = _listed(self._layers.lowest())
            note = (
                f"the requests of {_listed(sorted(upper))} are remapped to {lowest} and are counted once, at {lowest}"
            )
            notes = self._stream.notes
            notes[:] = [one for one in notes if one != self._note] + [note]
            self._note = note


class BlockEvents(TraceFormat):
    """Base class of formats with one event of the Linux block layer per line.

    lowest: whether the requests of upper devices are left out. called: name of each event in the file.
    """

    unit = "line"
    ticks_per_second = 1e9
    lowest = True
    called: ClassVar[dict[str, str]]

    @abstractmethod
    def event(self, text: str) -> Event | None:
        """Return the event of a line, or None if the line has another event or none.

        Raises ValueError with the fault and the remedy.
        """

    def ends(self, text: str) -> bool:
        """Return whether a line ends the events of a file."""
        return False

    def passed(self, text: str, stream: ByteStream) -> None:
        """Add a warning to the stream if a line that has no event of interest shows a loss."""

    def check(self, stream: ByteStream) -> None:
        """Raise InputError if the beginning of a file shows another format that is refused."""

    def records(self, stream: ByteStream) -> Iterator[Records]:
        self.check(stream)
        arrival = self._arrival(stream)
        earlier = self._before(arrival)
        requests = Requests(stream, arrival, self.lowest)
        for line, event in self._events(stream):
            if event.action in earlier:
                raise self._two_kinds(stream.name, line, event.action, arrival)
            if event.action == REMAPPED:
                requests.remap(event, line)
                continue
            try:
                content = _content(event, line) if event.action in (arrival, COMPLETED) else None
            except ValueError as fault:
                stream.damaged(self._complaint(stream.name, line, str(fault)))
                continue
            if event.action == arrival:
                requests.arrive(event, content, line)
            elif isinstance(content, QueuedRecord):
                requests.complete(content)
            chunk = requests.chunk()
            if chunk is not None:
                yield chunk
        rest = requests.rest()
        if rest is not None:
            yield rest

    def _arrival(self, stream: ByteStream) -> str:
        """Return the event that is the arrival, and add a note to the stream if it is not the event Q."""
        seen = self._seen(stream.head)
        possible = [action for action in ARRIVALS if action in self.called]
        arrival = next((action for action in possible if action in seen), possible[0])
        if arrival != QUEUED:
            missing = " and no ".join(self.called[action] for action in self._before(arrival))
            begin = f"the file has no {missing} events; " if missing else ""
            stream.notes.append(
                f"{begin}arrivals are the {self.called[arrival]} events, when the request {WHEN[arrival]}"
            )
        return arrival

    def _before(self, arrival: str) -> list[str]:
        """Return the events of the file that would be the arrival if the file had them."""
        return [action for action in ARRIVALS[: ARRIVALS.index(arrival)] if action in self.called]

    def _seen(self, head: bytes) -> set[str]:
        """Return the actions of the whole lines in the first bytes of a file."""
        lines = head.split(b"\n")
        seen = set()
        for raw in lines[: len(lines) - (len(head) >= HEAD)]:
            text = _stripped(raw.decode("latin-1"))
            if self.ends(text):
                break
            try:
                event = self.event(text) if text else None
            except ValueError:
                continue
            if event is not None:
                seen.add(event.action)
        return seen

    def _events(self, stream: ByteStream) -> Iterator[tuple[int, Event]]:
        """Yield the number and the event of each line."""
        for block in blocks(stream):
            last = block.first + block.data.count(b"\n") if block.cut else 0
            for number, raw in enumerate(block.data.decode("latin-1").split("\n"), block.first):
                text = _stripped(raw)
                if self.ends(text):
                    return
                if not text:
                    continue
                try:
                    event = self.event(text)
                except ValueError as fault:
                    stream.damaged(self._complaint(stream.name, number, str(fault), number == last))
                    continue
                if event is not None:
                    yield number, event
                else:
                    self.passed(text, stream)

    def _complaint(self, name: str, line: int, fault: str, ends: bool = False) -> str:
        what, _, remedy = fault.partition("; ")
        remedy += ", or give another format"
        if ends:
            remedy = "fetch the file again, because it ends in the middle of this line"
        return f"{name} line {line} {what}; {remedy} (it was read as {self.name})"

    def _two_kinds(self, name: str, line: int, action: str, arrival: str) -> InputError:
        called = self.called[action]
        return InputError(
            f"{name} line {line} is a {called} event, but the first 64 KiB have none, so that arrivals were taken from "
            f"{self.called[arrival]} events; sort the file by time, or remove the {called} events"
        )


def _stripped(text: str) -> str:
    return text.strip(" \t\r")


def _content(event: Event, line: int) -> QueuedRecord | str | None:
    """Return the read or write of an event, the kind of a request that is skipped, or None if it is not counted.

    Raises ValueError with the fault and the remedy.
    """
    rwbs = event.rwbs
    if rwbs.startswith("Z"):
        return "zone"
    if "D" in rwbs:
        return "trim"
    if not event.sectors.strip("0") or not ("R" in rwbs or "W" in rwbs):
        return "flush" if "F" in rwbs else None
    try:
        start, sectors = START.value(event.sector), SECTORS.value(event.sectors)
    except ValueError:
        raise ValueError(
            f"has {_shortened(event.sectors)} sectors at {_shortened(event.sector)}, which exceeds a disk; remove the line"
        ) from None
    try:
        clock = SECONDS.value(event.seconds) * 10**9 + int(event.fraction.ljust(9, "0"))
    except ValueError:
        raise ValueError(f"has a time of {_shortened(event.seconds)} s; remove the line") from None
    read = "R" in rwbs
    return QueuedRecord(clock, event.device, start, start + sectors, read, not read and "S" not in rwbs, line)


def _shortened(digits: str) -> str:
    """Return a number of the file, shortened for a message."""
    return digits if len(digits) <= 40 else digits[:37] + "..."


def _listed(devices: list[str]) -> str:
    """Return the names of devices for a note."""
    named = devices if len(devices) <= FEW else [*devices[: FEW - 1], f"{len(devices) - FEW + 1} others"]
    return named[0] if len(named) == 1 else f"{', '.join(named[:-1])} and {named[-1]}"


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
