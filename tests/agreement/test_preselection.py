"""D-SPTF with preselection, as in ars, against an independent program, request for request: claims, late messages,
extra services.
"""

import heapq
import math
from itertools import product
from typing import NamedTuple

import jax
import numpy as np
import pytest

from storagekit.arbitration import PreselectionBids
from storagekit.core.batching import INSTANT
from storagekit.core.units import MS
from storagekit.dispatch import Broadcast
from storagekit.drive import ideal_drive
from storagekit.engine import Record, ResponseLog, Scenario, System, execute, keys, stack
from storagekit.engine.state import random_phases
from storagekit.placement import Coded
from storagekit.schedule import FCFS
from storagekit.workload import ClosedLoop, ExponentialSize, PoissonArrivals, RandomRequests
from storagekit.write import Claimed, FirstCopy

pytestmark = pytest.mark.optimized

# a revolution; sectors per track; turns by which a sector may already have passed
TURN, TRACK, SLACK = 10 * MS, 800, 1e-5


class Access(NamedTuple):
    """An access that a drive has chosen: the request's number, start and end."""

    number: int
    start: float
    finish: float


class Bid(NamedTuple):
    """A claim as a drive sends it. drive: the sender; its part has the same number."""

    takes: float
    drive: int
    made: float
    start: float

    def beats(self, other: "Bid") -> bool:
        """Bids of one `INSTANT` are equal, and the drive's number decides, so that rounding never does. This happens
        when drives end the same access at one angle."""
        same = abs(self.takes - other.takes) <= INSTANT
        return self.drive < other.drive if same else self.takes < other.takes


class Node:
    """A drive: its phase, the times at which it becomes free and chooses, and the access that it has chosen."""

    def __init__(self, phase: float):
        self.phase, self.free, self.wake = phase, 0.0, math.inf
        self.plan: Access | None = None
        self.idle = True

    def takes(self, start: float, sector: int, sectors: int) -> float:
        """Seconds of an access: the turn until the first sector is there, and its sectors."""
        ahead = sector % TRACK / TRACK - (self.phase + start / TURN)
        ahead -= math.floor(ahead + SLACK)
        return (max(ahead, 0) + sectors / TRACK) * TURN


class Pending:
    """A request: the parts that still wait, the bids, and the parts that have begun and ended."""

    def __init__(self, arrival_time: float, read: bool, parts: int, needed: int):
        self.arrival_time, self.read, self.needed = arrival_time, read, needed
        self.waiting, self.bids = set(range(parts)), list[Bid]()
        self.given_up, self.begun, self.ended = set[int](), set[int](), set[int]()
        self.completion = math.inf


class Program:
    """The protocol, one event at a time: drives wake, choose, claim, receive claims and withdraw; accesses end and
    requests complete.

    It is written from the paper and the docstring, with times since the start of the run. With `claimed`, writes are
    treated as reads, and parts that no node serves are not written. Otherwise all parts are written, and a write
    completes after `needed` of them.
    """

    def __init__(self, phases, data: int, parts: int, latency: float, ahead: float, claimed: bool):
        self.nodes = [Node(float(phase)) for phase in phases][:parts]
        self.data, self.parts, self.latency, self.ahead = data, parts, latency, ahead
        self.claimed = claimed
        self.requests_seen: dict[int, Pending] = {}
        self.queue: list[int] = []
        self.ends: list[tuple[float, int, int]] = []
        self.responses: dict[int, float] = {}

    def open(self, times, requests, count: int) -> dict[int, float]:
        """Responses to requests that arrive at these times."""
        self.requests, arrivals = requests, list(enumerate(times))
        while len(self.responses) < count:
            wake, end = self.next_wake(), self.next_end()
            arrival = arrivals[0][1] if arrivals else math.inf
            if min(end, arrival) <= wake:
                if end <= arrival:
                    self.end()
                else:
                    self.enter(*arrivals.pop(0))
            else:
                self.choose(wake)
        return self.responses

    def closed(self, requests, outstanding: int, count: int) -> dict[int, float]:
        """Responses in a closed loop: each completion brings a new request. Drives that can choose at that instant do
        so before it arrives."""
        self.requests, entered, due = requests, 0, [0.0] * outstanding
        while len(self.responses) < count:
            wake, end = self.next_wake(), self.next_end()
            arrival = due[0] if due else math.inf
            if wake <= min(end, arrival):
                self.choose(wake)
            elif arrival <= end:
                self.enter(entered, due.pop(0))
                entered += 1
            elif self.end():
                due.append(end)
        return self.responses

    def next_wake(self) -> float:
        return min(node.wake for node in self.nodes)

    def next_end(self) -> float:
        return self.ends[0][0] if self.ends else math.inf

    def shared(self, request: Pending) -> bool:
        return request.read or self.claimed

    def enter(self, number: int, now: float):
        read = bool(self.requests.read[number])
        self.requests_seen[number] = Pending(now, read, self.parts, self.data)
        self.queue = [*(one for one in self.queue if self.requests_seen[one].waiting), number]
        for node in self.nodes:
            self.rouse(node, now)

    def rouse(self, node: Node, now: float):
        if node.idle:
            node.wake = min(node.wake, now)

    def end(self) -> bool:
        """End the next access. Returns whether that completes its request."""
        now, number, drive = heapq.heappop(self.ends)
        request = self.requests_seen[number]
        if drive in request.ended or number in self.responses:
            return False
        request.ended.add(drive)
        if len(request.ended) < request.needed:
            return False
        self.responses[number] = now - request.arrival_time
        if self.shared(request):
            request.waiting.clear()
        return True

    def choose(self, now: float):
        """The drive that wakes has begun its planned access, and chooses the next."""
        drive = next(number for number, node in enumerate(self.nodes) if node.wake == now)
        node = self.nodes[drive]
        if node.plan is not None:
            node.free = node.plan.finish
            heapq.heappush(self.ends, (node.plan.finish, node.plan.number, drive))
            node.plan = None
        waits = [
            (self.requests_seen[number].arrival_time, number)
            for number in self.queue
            if self.may_take(number, drive, now)
        ]
        slot = min(waits, default=None)
        node.idle = slot is None
        if slot is None:
            node.wake = math.inf
        else:
            number = slot[1]
            self.requests_seen[number].waiting.remove(drive)
            access = self.access(drive, number, now)
            if not self.shared(self.requests_seen[number]) or self.claim(drive, access, now):
                self.requests_seen[number].begun.add(drive)
                self.serve(drive, access)

    def may_take(self, number: int, drive: int, now: float) -> bool:
        request = self.requests_seen[number]
        received = sum(bid.made + self.latency < now - INSTANT for bid in request.bids)
        return drive in request.waiting and not (self.shared(request) and received >= self.data)

    def access(self, drive: int, number: int, now: float) -> Access:
        start = max(self.nodes[drive].free, now)
        sector, sectors = int(self.requests.sector[number]), int(self.requests.sectors[number])
        takes = self.nodes[drive].takes(start, sector // self.data, -(-sectors // self.data))
        return Access(number, start, start + takes)

    def serve(self, drive: int, access: Access):
        node = self.nodes[drive]
        node.plan = access
        node.wake = max(access.finish - self.ahead, access.start)

    def claim(self, drive: int, access: Access, now: float) -> bool:
        """All other drives receive a claim one latency later. Returns whether the claim stands."""
        request = self.requests_seen[access.number]
        mine = Bid(access.finish - access.start, drive, now, access.start)
        request.bids.append(mine)
        before = self.received(request, mine)
        if len(before) >= self.data:
            self.nodes[drive].wake = max(now, before[self.data - 1])
            return False
        for other in request.bids:
            node = self.nodes[other.drive]
            stands = node.plan is not None and node.plan.number == access.number and other.drive in request.begun
            in_time = mine.beats(other) and now + self.latency <= other.start + INSTANT
            if stands and in_time and len(self.received(request, other)) >= self.data:
                node.plan, node.wake = None, now + self.latency
                request.begun.remove(other.drive)
        return True

    def received(self, request: Pending, own: Bid) -> list[float]:
        """Times at which better bids reach the sender of this one, before its access begins."""
        arrivals = (bid.made + self.latency for bid in request.bids if bid.beats(own))
        return sorted(arrival for arrival in arrivals if arrival <= own.start + INSTANT)


SPINDLE = ideal_drive(full_seek=0.0, revolution=TURN, cylinders=20, sectors_per_track=TRACK)
REQUESTS = RandomRequests(ExponentialSize(2048), 0.6)
CODES = ((1, 3), (2, 4), (2, 3), (3, 4))
PROTOCOLS = (
    PreselectionBids(0.0),
    PreselectionBids(0.1 * MS),
    PreselectionBids(1 * MS),
    PreselectionBids(1 * MS, ahead=4 * MS),
)
DRIVES, OUTSTANDING, WANTED, MOST, SEED = 4, 7, 160, 1500, 11
LOOP, STREAM = ClosedLoop(REQUESTS, OUTSTANDING), PoissonArrivals(REQUESTS, 120.0)


def completions(cases, arrivals) -> list[dict[int, float]]:
    """Seconds until each request completed, case by case, for all cases in one batch."""

    def scenario(write, protocol, code) -> Scenario:
        dispatch, layout = Broadcast(), Coded(*code)
        system = System(SPINDLE, layout, dispatch, FCFS(), write, arbitration=protocol, drives=DRIVES, slots=64)
        return Scenario(system, arrivals)

    log = execute(*stack([scenario(*case) for case in cases], [SEED]), WANTED, Record(log=ResponseLog())).log
    number, response = (np.asarray(field).reshape(-1, len(cases)) for field in (log.number, log.response))
    return [
        dict(zip(one[one >= 0].tolist(), times[one >= 0].tolist(), strict=True))
        for one, times in zip(number.T, response.T, strict=True)
    ]


def expected(arrivals, write, protocol: PreselectionBids, code: tuple[int, int], count: int) -> dict[int, float]:
    """The program's responses to the same requests, until `count` of them have completed."""
    key = keys([SEED])[:, 0]
    window = arrivals.window(Coded(*code).capacity(SPINDLE), key, np.zeros(1, np.int32), MOST)
    requests = jax.tree.map(np.asarray, window.requests)
    phases, times = np.asarray(random_phases(key, DRIVES)), (float(protocol.latency), float(protocol.ahead))
    program = Program(phases, *code, *times, isinstance(write, Claimed))
    if isinstance(arrivals, ClosedLoop):
        return program.closed(requests, OUTSTANDING, count)
    return program.open(np.append(0.0, np.cumsum(np.asarray(window.gap, float))), requests, count)


@pytest.mark.parametrize(
    ("writes", "arrivals"),
    [
        ([FirstCopy()], LOOP),
        ([Claimed()], STREAM),
        pytest.param([FirstCopy()], STREAM, marks=pytest.mark.slow),
        pytest.param([Claimed()], LOOP, marks=pytest.mark.slow),
    ],
    ids=["written-closed", "claimed-open", "written-open", "claimed-closed"],
)
def test_every_request_completes_when_the_program_completes_it(writes, arrivals):
    """Times agree within 1 us, at latencies of 0 to 1 ms, with drives choosing up to 4 ms ahead. Accesses take 0.01 to
    10 ms."""
    cases = list(product(writes, PROTOCOLS, CODES))
    for case, ours in zip(cases, completions(cases, arrivals), strict=True):
        theirs = expected(arrivals, *case, len(ours) + OUTSTANDING)
        assert len(ours) >= WANTED
        both = np.array([(ours[number], theirs[number]) for number in sorted(ours)])
        np.testing.assert_allclose(both[:, 0], both[:, 1], rtol=0, atol=1e-6, err_msg=str(case))
