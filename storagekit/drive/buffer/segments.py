"""A drive as its host sees it: arm and platter behind a controller, a bus and a buffer in segments, one request at a time.

What happens is what DiskSim 4.0 says that its parameters mean (reference manual, disk module). A request arrives when the one
before has been answered. A read whose sectors are all in a segment is a hit: overhead, the bus, the completion. One that
begins in a segment gets the rest from the platter, without moving the arm if that is being read ahead. Any other is a miss:
reading ahead stops, and a segment that nothing waits in is emptied for it. After a read the drive reads on, up to a limit,
until a request needs the arm. A write crosses the bus while the arm moves; what is not there when the head comes by waits for
a revolution. Written behind, it is answered once its data is in the buffer, and holds the arm, but not the host, until it is
on the platter.

Left out: sectors in the buffer beyond the segment's room while a request is under way; the lowest amount read ahead; a bus
given up in the middle of a read costs nothing more (on all drives that ship nothing, or it is held), and one that is never
given up is one for misses alone; zero-latency reading beyond a request's first track; reading ahead over a zone's end, where
it stops, and of reads that begin in a segment the wait for the next zone's data; reading ahead for more than 10 s without a
pause; of a write that joins another, whether the segment has room for it.
"""

from enum import StrEnum
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from storagekit.core.arrays import AnyArray
from storagekit.core.batching import MOST_WHOLE, pick, row_index, where_tree
from storagekit.core.errors import InputError
from storagekit.core.kinds import a, hold, takes
from storagekit.drive.base import Arm, Target
from storagekit.drive.buffer.stretch import HAIR, Stretch, stretch
from storagekit.drive.electronics import Electronics, require_possible
from storagekit.drive.mechanical import Drive

NO_REQUEST = -1
# seconds; what lies further back is over
LONG_AGO = -10.0
# what no segment's number of uses comes near
NEVER = 2**30

DRIVE = a(Drive, 'a mechanical drive, as sk.load_drive("atlas10k")')


class Faster(StrEnum):
    """Which carries a sector in less time, the bus or the platter; either where that depends on the zone."""

    BUS = "bus"
    PLATTER = "platter"
    EITHER = "either"


class BufferRequest(NamedTuple):
    """What the host asks for: `count` sectors from `sector` on, which lie at `target`."""

    read: Bool[Array, "1 *batch"]
    sector: Int[Array, "1 *batch"]
    count: Int[Array, "1 *batch"]
    target: Target

    @property
    def end(self) -> Int[Array, "1 *batch"]:
        return self.sector + self.count


class BufferMemory(NamedTuple):
    """The buffer, and what the drive does of its own accord; times are seconds from now.

    start, end: what each segment holds, nothing where they are equal. limit: how far it is to be read ahead. used: when it
    was last, counted in requests. ahead: the segment that is read ahead, or NOBODY; `base` is then the sector from which the
    head has read without a pause, `since` when it was at its beginning, `landing` when the arm was on its track. dirty: the
    segment that is written behind, or NOBODY; settled: when the arm is free of that. last: the segment of the request before,
    and after_read: whether that was a read. arm: where the last access ended.
    """

    start: Int[Array, "segment *batch"]
    end: Int[Array, "segment *batch"]
    limit: Int[Array, "segment *batch"]
    used: Int[Array, "segment *batch"]
    ahead: Int[Array, "1 *batch"]
    base: Int[Array, "1 *batch"]
    since: Float[Array, "1 *batch"]
    landing: Float[Array, "1 *batch"]
    dirty: Int[Array, "1 *batch"]
    settled: Float[Array, "1 *batch"]
    last: Int[Array, "1 *batch"]
    after_read: Bool[Array, "1 *batch"]
    uses: Int[Array, "1 *batch"]
    arm: Arm

    @property
    def number(self) -> Int[Array, "segment *ones"]:
        """The segments' numbers."""
        return row_index(self.start.shape[0], self.start)

    def elapse(self, time: Float[Array, "1 *batch"]) -> "BufferMemory":
        later = (jnp.maximum(one - time, LONG_AGO) for one in (self.since, self.landing, self.settled))
        since, landing, settled = later
        return self._replace(since=since, landing=landing, settled=settled)

    def reads_on(self) -> Bool[Array, "1 *batch"]:
        """Whether it reads ahead."""
        return self.ahead != NO_REQUEST


class ReadAheadStop(NamedTuple):
    """A buffer at this moment, and seconds until the arm may move for a request that stops reading ahead."""

    memory: BufferMemory
    residue: Float[Array, "1 *batch"]


class BufferReach(NamedTuple):
    """When the arm is on the track of a sector, and when that begins to pass."""

    landing: Float[Array, "1 *batch"]
    begins: Float[Array, "1 *batch"]


class BufferSegments(eqx.Module):
    """The buffer of a drive, with its controller and its bus; `electronics` are the drive's (`load_electronics`). Its times,
    and `most_ahead`, may be arrays `[1, *batch]`; everything else is a Python number and known when this is
    compiled, so that who compiles it does so with `equinox.filter_jit`. faster: what is
    known to be faster everywhere, the bus or the platter (`faster`): fewer sectors then decide when a request is over.

    Raises InputError for a drive of more than 2^31 sectors, or with physical sectors of 4 KB.
    """

    drive: Drive
    electronics: Electronics
    faster: Faster = eqx.field(static=True, default=Faster.EITHER)

    def __check_init__(self):
        require_possible(self.electronics)
        hold(self, drive=DRIVE, faster=a(Faster, "one of sk.drive.buffer.Faster"))
        if self.drive.capacity > MOST_WHOLE:
            raise InputError(f"a buffer for {self.drive.capacity} sectors: modelled are drives of up to {MOST_WHOLE}")
        if self.drive.grain != 1:
            raise InputError(f"a buffer for sectors of {self.drive.grain * 512} bytes: modelled are those of 512")

    def init(self, lanes: tuple[int, ...]) -> BufferMemory:
        """Empty, the arm on cylinder 0, before any request."""
        size = self.electronics.buffer.segments
        nothing, nobody = jnp.zeros((size, *lanes), jnp.int32), jnp.full((1, *lanes), NO_REQUEST, jnp.int32)
        first = jnp.zeros((1, *lanes), jnp.int32)
        long_ago = jnp.full((1, *lanes), LONG_AGO, jnp.float32)
        return BufferMemory(
            *[nothing] * 4,
            ahead=nobody,
            base=first,
            since=long_ago,
            landing=long_ago,
            dirty=nobody,
            settled=long_ago,
            last=nobody,
            after_read=first == 0,
            uses=first,
            arm=Arm(first, first),
        )

    @property
    def apart(self) -> bool:
        """Whether one segment is for writes alone, the first, and others are for reads."""
        return self.electronics.buffer.write_segment and self.electronics.buffer.segments > 1

    def after(self, what: str, memory: BufferMemory) -> Float[Array, "1 *batch"]:
        """An overhead that depends on whether the request before was a read."""
        overheads = self.electronics.overheads
        return jnp.where(
            memory.after_read, getattr(overheads, f"{what}_after_read"), getattr(overheads, f"{what}_after_write")
        )

    def begins_read(self, stopped: ReadAheadStop) -> Float[Array, "1 *batch"]:
        """When the arm may move for a read that arrives now."""
        memory = stopped.memory
        return jnp.maximum(self.after("read_miss", memory) + stopped.residue, memory.settled)

    def begins_write(self, stopped: ReadAheadStop) -> Float[Array, "1 *batch"]:
        """When the arm may move for a write that arrives now and neither joins the one before nor disconnects twice."""
        overhead = self.after("write_hit" if self.electronics.buffer.writes_behind else "write_miss", stopped.memory)
        settled = stopped.memory.settled
        return jnp.where(settled > 0, jnp.maximum(settled, overhead), overhead + stopped.residue)

    def free(self, memory: BufferMemory) -> Bool[Array, "segment *batch"]:
        """The segments that a read may take."""
        return (memory.number >= int(self.apart)) & (memory.number != memory.dirty)

    def readable(self, memory: BufferMemory) -> Bool[Array, "segment *batch"]:
        """The segments from which reads may be answered: that which is written behind too, if what writes left is."""
        if not self.electronics.buffer.keeps:
            return jnp.zeros_like(memory.number, bool)
        if not self.electronics.buffer.hits_written:
            return self.free(memory)
        return memory.number >= int(self.apart)

    def holds(self, memory: BufferMemory, sector: Int[Array, "row *batch"]) -> Bool[Array, "row *batch"]:
        """Whether reads that begin at these sectors find the first in a segment."""
        usable, held = self.readable(memory), jnp.zeros(sector.shape, bool)
        for number in range(self.electronics.buffer.segments):
            own = slice(number, number + 1)
            held = held | usable[own] & (memory.start[own] <= sector) & (sector < memory.end[own])
        return held

    def reach(
        self,
        arm: Arm,
        angle: Float[Array, "1 *batch"],
        at: Float[Array, "1 *batch"],
        piece: Stretch,
        read: Bool[Array, "1 *batch"],
        least: float | Float[Array, "1 *batch"] = 0.0,
    ) -> BufferReach:
        """From `arm` to the beginning of a stretch, for an arm that may move from `at` on and moves for at least `least`
        seconds; the platter stands at `angle` now."""
        drive, place = self.drive, piece.place(piece.sector)
        here = Arm(place.cylinder, place.head)
        target = Target(*here, place.angle, jnp.zeros_like(place.angle), here)
        way = drive.positioning(arm, angle + drive.turns(at), target, read)
        late = jnp.maximum(least - way.seek, 0.0)
        # the head lands later: what it had to wait for may have passed
        missed = jnp.ceil(jnp.maximum(drive.turns(late - way.rotation), 0.0))
        landing = at + way.seek + late
        return BufferReach(landing, landing + way.rotation - late + drive.seconds(missed))

    def behind(self, piece: Stretch, reached: BufferReach) -> Float[Array, "1 *batch"]:
        """Sectors that a head that has landed stands behind the beginning of a stretch; 0 if it is just there."""
        wait = self.drive.turns(reached.begins - reached.landing)
        return jnp.where(wait > 0, (1.0 - wait) * piece.length, 0.0)

    def now(self, memory: BufferMemory) -> ReadAheadStop:
        """The buffer with what has been read ahead and written behind by now."""
        drive, buffer = self.drive, self.electronics.buffer
        piece, runs = stretch(drive.geometry, memory.base), memory.reads_on()
        room = jnp.maximum(jnp.where(runs, pick(memory.limit, memory.ahead), 0) - memory.base, 0)
        arrived = jnp.where(runs, jnp.minimum(piece.reached(-drive.turns(memory.since)), room), 0)
        over = arrived >= jnp.minimum(room, piece.room)
        next_ = memory.base + arrived
        place = piece.place(jnp.minimum(next_, memory.base + jnp.maximum(room - 1, 0)))
        here = memory.number == memory.ahead
        end = jnp.where(here, jnp.maximum(memory.end, next_), memory.end)
        start = jnp.where(here, jnp.maximum(memory.start, end - buffer.sectors), memory.start)
        written = (memory.dirty != NO_REQUEST) & (memory.settled <= 0)
        if not buffer.hits_written:
            end = jnp.where(written & (memory.number == memory.dirty), start, end)
        stopped = memory._replace(
            start=start,
            end=end,
            ahead=jnp.where(over, NO_REQUEST, memory.ahead),
            dirty=jnp.where(written, NO_REQUEST, memory.dirty),
            arm=where_tree(runs, Arm(place.cylinder, place.head), memory.arm),
        )
        return ReadAheadStop(stopped, jnp.where(runs & ~over, self._residue(memory, piece, arrived), 0.0))

    def _residue(
        self, memory: BufferMemory, piece: Stretch, arrived: Int[Array, "1 *batch"]
    ) -> Float[Array, "1 *batch"]:
        """Seconds to the end of what the drive is at as it reads ahead: a move of the arm, and unless it stops in the sector,
        the wait for the next one or that sector."""
        drive, next_ = self.drive, memory.base + arrived
        before, after = piece.place(next_ - 1), piece.place(next_)
        crosses = (before.cylinder != after.cylinder) | (before.head != after.head)
        switch = jnp.where(before.head != after.head, drive.head_switch, 0.0)
        move = jnp.maximum(switch, drive.seek(jnp.abs(after.cylinder - before.cylinder)))
        left = memory.since + drive.seconds(piece.turns(arrived))
        landing = jnp.where(arrived == 0, memory.landing, jnp.where(crosses, left + move, LONG_AGO))
        if self.electronics.buffer.stops_in_sector:
            return jnp.maximum(landing, 0.0)
        ends = memory.since + drive.seconds(piece.turns(arrived + 1))
        begins = ends - drive.seconds(1 / piece.length)
        pending = jnp.where(begins > drive.seconds(HAIR / piece.length), begins, jnp.maximum(ends, 0.0))
        return jnp.where(landing > 0, landing, pending)


@takes(drive=DRIVE)
def faster(drive: Drive, electronics: Electronics) -> Faster:
    """Which of the two takes less time for a sector wherever it lies, and whether it is read or written."""
    require_possible(electronics)
    slowest, quickest = (of([of(electronics.bus.read), of(electronics.bus.write)]) for of in (np.max, np.min))
    passes = np.asarray(drive.revolution) / np.asarray(drive.geometry.sectors_per_track)
    if slowest <= np.min(passes):
        return Faster.BUS
    return Faster.PLATTER if quickest >= np.max(passes) else Faster.EITHER


def whole_turns(turns: Float[AnyArray, "*#row"]) -> Float[AnyArray, "*#row"]:
    """The whole revolutions that a wait of so many turns, if any, takes."""
    return jnp.where(turns > 0, jnp.ceil(turns), 0.0)
