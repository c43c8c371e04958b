"""A scalar program of a drive as its host sees it: arm and platter, controller, bus and a buffer that reads ahead.

The program serves one request at a time, as DiskSim 4.0 defines its parameters (reference manual, disk module). It
shares no code with the engine. The tests compare the package's model of a drive's controller with it.

A read whose sectors are all in a segment is a hit. A read that begins in a segment waits for the rest; any other read
is a miss. After a read, the drive reads ahead. A write crosses the bus while the arm moves. It completes when it is on
the platter, or earlier if it is written behind.
"""

import math
from bisect import bisect_right
from typing import NamedTuple

import numpy as np

from storagekit.drive import load_controller, load_drive
from storagekit.workload.trace import RequestTrace

HAIR = 1e-9
# Sectors that must be in the buffer before a write goes to the platter, for drives that disconnect twice: FEW for
# requests shorter than LONG, MANY for others.
FEW, LONG, MANY = 10, 45, 15


class Spot(NamedTuple):
    """Location of a sector: its track, the angle at which it begins, its number on the track, the sectors of a
    revolution, and the number of consecutive sectors from it on (itself included)."""

    track: tuple[int, int]
    angle: float
    number: int
    length: int
    together: int


class Platters:
    """Arm and platter: positions, moves and what passes under the head."""

    def __init__(self, name: str):
        drive = load_drive(name)
        shape = drive.geometry
        self.revolution, self.seek = float(drive.revolution), np.asarray(drive.seek.times, float)
        self.switch, self.settle, self.heads = float(drive.head_switch), float(drive.write_settle), shape.heads
        self.serpentine = shape.serpentine
        self.edges = [int(first) for first in shape.first_sector] + [shape.capacity]
        self.zones = [
            {field: int(getattr(shape, field)[zone]) for field in vars(shape) if np.ndim(getattr(shape, field))}
            for zone in range(len(self.edges) - 1)
        ]
        self.track = (0, 0)

    def spot(self, sector: int) -> Spot:
        number = bisect_right(self.edges, sector) - 1
        zone = self.zones[number]
        length = zone["sectors_per_track"]
        data = length - zone["track_spares"]
        group, within = divmod(sector - zone["first_sector"] + zone["reserved"], zone["group_sectors"])
        row, on_track = divmod(within, data)
        cylinder, order = divmod(group * zone["group_tracks"] + row, self.heads)
        skew = (order + (self.heads - 1) * cylinder) * zone["track_skew"] + cylinder * zone["cylinder_skew"]
        head = self.heads - 1 - order if self.serpentine and cylinder % 2 else order
        together = min(data - on_track, zone["group_sectors"] - within, self.edges[number + 1] - sector)
        angle = (skew + on_track + zone["first_offset"]) % length / length
        return Spot((zone["first_cylinder"] + cylinder, head), angle, on_track, length, together)

    def move(self, track: tuple[int, int], read: bool) -> float:
        """Seconds from where the arm is to another track."""
        switch = self.switch if track[1] != self.track[1] else 0.0
        time = max(switch, float(self.seek[abs(track[0] - self.track[0])]))
        return time + self.settle if time > 0 and not read else time

    def wait(self, spot: Spot, at: float) -> float:
        """Seconds until a sector begins to pass."""
        ahead = (spot.angle - at / self.revolution) % 1.0
        return 0.0 if ahead > 1 - HAIR else ahead * self.revolution

    def inside(self, spot: Spot, at: float) -> float:
        """Sectors between the beginning of a sector and the head behind it; 0 if the head is exactly at the
        beginning."""
        return (at / self.revolution - spot.angle) % 1.0 * spot.length if self.wait(spot, at) > 0 else 0.0


class Segment:
    """Consecutive sectors in the buffer. limit: the sector at which reading ahead ends. written: a write used it
    last."""

    def __init__(self):
        self.start = self.end = self.limit = self.used = 0
        self.holds, self.writing, self.written = False, False, False

    def overlaps(self, sector: int, count: int) -> bool:
        return self.start < sector + count and sector < self.end


class BufferedDrive:
    """The state of a drive. `ahead` is the segment that is being read ahead, from the time `start_time`. `settled` is the
    time at which the last write is on the platter."""

    def __init__(self, name: str):
        self.platters = Platters(name)
        self.overheads, self.bus, self.buffer, self.extra = load_controller(name)
        self.segments = [Segment() for _ in range(self.buffer.segments)]
        self.ahead: Segment | None = None
        self.start_time, self.landing, self.settled = 0.0, 0.0, 0.0
        self.fresh, self.waits = False, None
        self.after_read = True
        self.uses = 0

    def through(self, trace: RequestTrace) -> np.ndarray:
        """Seconds that each request of a measured stream takes. Each request arrives its predecessor's think time after
        that completes."""
        columns = (trace.read, trace.offset // 512, trace.size // 512, trace.think)
        at, taken = 0.0, []
        for read, sector, count, think in zip(*(column.tolist() for column in columns), strict=True):
            done = self.serve(at, read, sector, count)
            taken.append(done - at)
            at = done + think
        return np.asarray(taken)

    def serve(self, at: float, read: bool, sector: int, count: int) -> float:
        """Completion time of a request that arrives at `at`."""
        for segment in self.segments:
            if segment.writing and self.settled <= at:
                segment.writing, segment.holds = False, self.buffer.hits_written
        done = (self._read if read else self._write)(at, sector, count)
        if read and self.buffer.discards_read:
            max(self.segments, key=lambda one: one.used).start = sector + count
        self.after_read = read
        return done

    def _after(self, what: str) -> float:
        return getattr(self.overheads, f"{what}_after_{'read' if self.after_read else 'write'}")

    def _use(self, segment: Segment, written: bool) -> None:
        self.uses += 1
        segment.used, segment.written = self.uses, written

    @property
    def _for_reads(self) -> list[Segment]:
        return self.segments[1:] if self.buffer.write_segment and len(self.segments) > 1 else self.segments

    @property
    def _for_writes(self) -> list[Segment]:
        return self.segments[:1] if self.buffer.write_segment else self.segments

    # reading ahead

    def _limit(self, segment: Segment, sector: int, count: int) -> int:
        """Sector at which reading ahead ends after a read."""
        end, last = sector + count, self.platters.edges[-1]
        if self.buffer.read_ahead == 0:
            return end
        if self.buffer.read_ahead == 4:
            spot = self.platters.spot(min(end, last - 1))
            begins, ends = end - spot.number, end + spot.together
            return min(ends + spot.length if segment.start < begins else ends, last)
        if self.buffer.most_ahead > 0:
            return min(end + self.buffer.most_ahead, last)
        return min((end if self.buffer.over_requested else sector) + self.buffer.sectors, last)

    def _go_ahead(self, segment: Segment, start_time: float, fresh: bool) -> None:
        self.ahead, self.start_time, self.fresh, self.waits = segment, start_time, fresh, None

    def _onto_track(self, segment: Segment, until: float) -> Spot | None:
        """Location of the next sector, if the arm reaches it before `until`; None if it does not, or if the drive stops
        here."""
        spot, arm = self.platters.spot(segment.end), self.platters
        if spot.track == arm.track and not self.fresh:
            return spot
        leaves = spot.track != arm.track
        further = spot.track[0] != arm.track[0]
        if (self.buffer.read_ahead == 1 and leaves) or (self.buffer.read_ahead == 2 and further):
            self.ahead, segment.limit = None, segment.end
            return None
        landing = self.start_time + arm.move(spot.track, True)
        begins = landing + arm.wait(spot, landing)
        if begins >= until:
            self.waits = landing, begins, spot.track
            return None
        arm.track, self.start_time, self.fresh = spot.track, begins, False
        return spot

    def _advance(self, until: float) -> None:
        """Read ahead until this time."""
        while (segment := self.ahead) is not None:
            if segment.end >= segment.limit:
                self.ahead = None
                return
            spot = self._onto_track(segment, until)
            if spot is None:
                return
            sector = self.platters.revolution / spot.length
            most = min(spot.together, segment.limit - segment.end)
            passed = min(most, int((until - self.start_time) / sector + HAIR))
            segment.end, self.start_time, self.waits = segment.end + passed, self.start_time + passed * sector, None
            segment.start = max(segment.start, segment.end - self.buffer.sectors)
            if passed < most:
                return

    def _stop(self, at: float) -> float:
        """Stop reading ahead. Returns the seconds until the arm may move, which add to a request's overhead."""
        self._advance(at)
        segment, self.ahead = self.ahead, None
        if segment is None:
            return 0.0
        stops = self.buffer.stops_in_sector
        if self.waits is not None:
            landing, begins, self.platters.track = self.waits
            return landing - at if at < landing else 0.0 if stops else begins - at
        sector = self.platters.revolution / self.platters.spot(segment.end).length
        return 0.0 if stops else max(self.start_time + sector - at, 0.0)

    # reads

    def _read(self, at: float, sector: int, count: int) -> float:
        self._advance(at)
        there = [one for one in self._for_reads if one.holds and one.start <= sector < one.end]
        whole = [one for one in there if sector + count <= one.end]
        if whole:
            return self._hit(at, max(whole, key=lambda one: one.used), sector, count)
        if there:
            return self._partly(at, max(there, key=lambda one: one.used), sector, count)
        return self._miss(at, sector, count)

    def _hit(self, at: float, segment: Segment, sector: int, count: int) -> float:
        self._use(segment, False)
        crosses = count * self.bus.read + self.overheads.read_completion
        done = at + self._after("read_hit") + self.overheads.preparation + crosses
        if self.settled > at:
            given_up = at + self._after("read_miss") + self._after("read_disconnect")
            done = max(given_up, self.settled) + self.overheads.first_reselect + self.overheads.preparation + crosses
        limit = max(segment.limit, self._limit(segment, sector, count))
        if self.ahead is segment:
            segment.limit = limit
            return done
        residue = self._stop(at)
        if segment.end < limit and self.buffer.ahead_on_hit:
            segment.limit = limit
            track, arm = self.platters.spot(segment.end).track, self.platters.track
            stays = (self.buffer.read_ahead == 1 and track != arm) or (
                self.buffer.read_ahead == 2 and track[0] != arm[0]
            )
            if not stays:
                self._go_ahead(segment, max(at + self._after("read_miss") + residue, self.settled), True)
        return done

    def _partly(self, at: float, segment: Segment, sector: int, count: int) -> float:
        self._use(segment, False)
        there, wanted = segment.end - sector, sector + count
        segment.limit = max(segment.limit, self._limit(segment, sector, count))
        if self.ahead is not segment:
            residue = self._stop(at)
            self._go_ahead(segment, max(at + self._after("read_miss") + residue, self.settled), True)
        arrived = [at] * there + self._read_on(segment, wanted)
        ready = None if self.settled > at else at + self._after("read_hit") + self.overheads.preparation
        return self._across(at, arrived, ready)

    def _read_on(self, segment: Segment, until: int) -> list[float]:
        """Times at which each sector leaves the platter, from the current end of the segment up to `until`."""
        arrived: list[float] = []
        while segment.end < until:
            spot = self.platters.spot(segment.end)
            if spot.track != self.platters.track or self.fresh:
                landing = self.start_time + self.platters.move(spot.track, True)
                self.start_time = landing + self.platters.wait(spot, landing)
                self.platters.track, self.fresh = spot.track, False
            count, sector = min(spot.together, until - segment.end), self.platters.revolution / spot.length
            arrived += [self.start_time + (number + 1) * sector for number in range(count)]
            segment.end, self.start_time = segment.end + count, self.start_time + count * sector
        self.waits = None
        segment.start = max(segment.start, segment.end - self.buffer.sectors)
        return arrived

    def _miss(self, at: float, sector: int, count: int) -> float:
        residue = self._stop(at)
        free = [one for one in self._for_reads if not one.writing] or self._for_reads
        segment = min([one for one in free if not one.holds] or free, key=lambda one: one.used)
        segment.start = segment.end = sector
        segment.holds, segment.writing = True, False
        self._use(segment, False)
        segment.limit = self._limit(segment, sector, count)
        begins = max(at + self._after("read_miss") + residue, self.settled)
        arrived, start_time = self._pass_over(begins, sector, count)
        segment.end = sector + count
        segment.start = max(segment.start, segment.end - self.buffer.sectors)
        self._go_ahead(segment, max(start_time, arrived[-1]), False)
        ready = at + self._after("read_miss") + self.overheads.preparation if self.bus.never_given_up else None
        return self._across(at, arrived, ready)

    def _pass_over(self, at: float, sector: int, count: int) -> tuple[list[float], float]:
        """Times at which these sectors are in the buffer, in their order, and the time at which the head is at the next
        sector."""
        arrived, end, follows = [], sector + count, at
        while sector < end:
            spot = self.platters.spot(sector)
            at += self.platters.move(spot.track, True)
            self.platters.track = spot.track
            each, most = self.platters.revolution / spot.length, min(spot.together, end - sector)
            behind, begins = self.platters.inside(spot, at), at + self.platters.wait(spot, at)
            first = most
            if self.buffer.zero_latency_read and behind > 0 and math.ceil(behind - HAIR) < most:
                # the tail is read first and is in the buffer when the head comes round
                first = math.ceil(behind - HAIR)
            arrived += [begins + min(number + 1, first) * each for number in range(most)]
            at, sector = begins + first * each, sector + most
            # the rest of this track comes round after the tail has passed again
            follows = begins + most * each if most < spot.together else at
        return arrived, follows

    def _across(self, at: float, arrived: list[float], ready: float | None) -> float:
        """Completion time of a read whose sectors are in the buffer at these times. ready: time at which the drive has
        the bus, if it keeps it."""
        water = max(1, int(min(self.buffer.sectors, len(arrived)) * self.buffer.high_water))
        given_up = at + self._after("read_miss") + self._after("read_disconnect")
        again = self.overheads.first_reselect + self.overheads.preparation
        now, sent = ready, 0
        while sent < len(arrived):
            if now is None:
                now = max(given_up, arrived[min(len(arrived), sent + water) - 1]) + again
            there = bisect_right(arrived, now + HAIR * 1e-3) - sent
            if there > 0:
                now, sent = now + there * self.bus.read, sent + there
            elif self.bus.held or self.bus.never_given_up:
                now = arrived[sent]
            else:
                given_up, now = now + self._after("read_disconnect"), None
        assert now is not None
        return now + self.overheads.read_completion

    # writes

    def _write(self, at: float, sector: int, count: int) -> float:
        residue, before = self._stop(at), self.settled
        crosses = count * self.bus.write
        overhead = self._after("write_hit" if self.buffer.writes_behind else "write_miss")
        begins, bus = at + overhead + residue, at + overhead + self.overheads.preparation
        arrived = [bus + (number + 1) * self.bus.write for number in range(count)]
        going = [one for one in self._for_writes if one.writing and one.end == sector and before > at]
        if going and self.buffer.writes_behind and self.buffer.combines:
            segment = going[0]
            self._use(segment, True)
            segment.end += count
            segment.start = max(segment.start, segment.end - self.buffer.sectors)
            self.settled = self._pass_under(before, sector, count, 0.0, arrived)
            return bus + crosses + self.overheads.write_completion
        segment, again = self._taken(sector, count)
        disconnect, reselect = self.overheads.write_disconnect, self.overheads.first_reselect
        if before > at:
            begins = max(before, at + overhead)
            bus = max(before, at + overhead + disconnect) + reselect + self.overheads.preparation
        elif again and self.extra is not None:
            begins = at + self.extra.command + self.extra.seek + residue
            bus = at + self.extra.command + self.extra.first + self.extra.pause + reselect + self.overheads.preparation
            disconnect, reselect = self.extra.second, self.overheads.other_reselect
        arrived = [bus + (number + 1) * self.bus.write for number in range(count)]
        if self.extra is not None:
            least = min(count, FEW) if count < LONG else MANY
            arrived = [max(one, bus + least * self.bus.write) for one in arrived]
        self.settled = self._pass_under(begins, sector, count, self.overheads.least_seek, arrived)
        if self.buffer.writes_behind:
            return bus + crosses + self.overheads.write_completion
        return max(self.settled, bus + crosses + disconnect) + reselect + self.overheads.write_completion

    def _taken(self, sector: int, count: int) -> tuple[Segment, bool]:
        """The segment that a write takes, and whether it follows a write in the same segment without continuing it.
        Other segments lose these sectors."""
        for one in self._for_writes:
            if one.writing:
                one.writing, one.holds = False, self.buffer.hits_written
        choices = self._for_writes
        held = [one for one in choices if one.holds and one.overlaps(sector, count)]
        empty = [one for one in choices if not one.holds]
        segment = min(held or empty or choices, key=lambda one: one.used)
        again = segment.written and segment.used == self.uses and sector != segment.end
        for one in self.segments:
            if one is not segment and one.holds and one.overlaps(sector, count):
                one.holds = False
        segment.end = segment.limit = sector + count
        segment.start = max(sector, segment.end - self.buffer.sectors)
        segment.holds, segment.writing = self.buffer.hits_written, True
        self._use(segment, True)
        return segment, again

    def _pass_under(self, at: float, sector: int, count: int, least: float, arrived: list[float]) -> float:
        """Time at which these sectors are on the platter. Each is in the buffer at its time in `arrived`. The first
        move of the arm takes at least `least` seconds."""
        done = 0
        while done < count:
            spot = self.platters.spot(sector + done)
            at += max(self.platters.move(spot.track, False), least if done == 0 else 0.0)
            self.platters.track = spot.track
            each, most = self.platters.revolution / spot.length, min(spot.together, count - done)
            behind, begins = self.platters.inside(spot, at), at + self.platters.wait(spot, at)
            late = [number for number in range(most) if arrived[done + number] > begins + number * each + HAIR * 1e-3]
            skipped = math.ceil(behind - HAIR)
            if self.buffer.zero_latency_write:
                if behind > 0 and skipped < most and arrived[done + most - 1] <= at:
                    at = begins + skipped * each
                else:
                    at = begins + (self.platters.revolution + (late[-1] + 1) * each if late else most * each)
            else:
                for number in late:
                    while arrived[done + number] > begins + number * each + HAIR * 1e-3:
                        begins += self.platters.revolution
                at = begins + most * each
            done += most
        return at
