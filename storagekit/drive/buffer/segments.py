"""Model of a complete drive: arm and platter behind a controller, a bus and a buffer that is divided into segments.

The drive serves one request at a time. Its rules follow the definitions of DiskSim 4.0's parameters (reference manual,
disk module):

- A request arrives after the completion of the request before it.
- A read is a hit if a segment holds all of its sectors. The time of a hit is the sum of overhead, bus transfer and
  completion.
- A read whose first sectors are in a segment gets the rest from the platter. The arm does not move if the drive is
  reading ahead into this segment.
- Any other read is a miss. Read-ahead stops. The read takes a segment that has no data to be written, and empties it.
- After a read the drive reads ahead, up to a limit, until a request needs the arm.
- A write crosses the bus while the arm moves. Sectors that have not crossed the bus when the head passes them wait for
  a revolution.
- A write that is written behind completes when its data are in the buffer. It occupies the arm, but not the host, until
  the data are on the platter.

The model omits:

- sectors in the buffer beyond the size of a segment while a request is in progress;
- the minimum amount of read-ahead;
- further costs of giving up the bus during a read (in all drives of this package, these costs are zero, or the drive
  holds the bus);
- for accesses other than misses, the effect of a drive that never gives up the bus;
- zero-latency reads beyond the first track of a request;
- read-ahead across the end of a zone (in the model, it stops there);
- for reads that begin in a segment, the wait for the data of the next zone;
- read-ahead that continues without a pause for more than 10 s;
- for a write that joins another write, the check that the segment has space for it.
"""

from enum import StrEnum
from typing import Annotated, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from storagekit.core.arrays import AnyArray
from storagekit.core.batching import MOST_WHOLE, pick, row_index, where_tree
from storagekit.core.errors import InputError
from storagekit.core.validation import instance_of, validate, validate_fields
from storagekit.drive.base import Arm, Target
from storagekit.drive.buffer.fill import HAIR, BufferFill, buffer_fill
from storagekit.drive.controller import DriveController, require_possible
from storagekit.drive.mechanical import Drive

NO_REQUEST = -1
# Lower bound of stored times, seconds from now; earlier times are clipped to it.
LONG_AGO = -10.0
# Larger than the number of uses of any segment.
NEVER = 2**30

DRIVE = instance_of(Drive, 'a mechanical drive, as sk.load_drive("atlas10k")')


class Faster(StrEnum):  # numpydoc ignore=PR01
    """The carrier that takes less time for a sector: the bus, the platter, or either, depending on the zone.

    Attributes
    ----------
    BUS
        The bus is at least as fast as the platter in all zones, for reads and for writes.
    PLATTER
        The platter is at least as fast as the bus in all zones, for reads and for writes.
    EITHER
        Neither is true.
    """

    BUS = "bus"
    PLATTER = "platter"
    EITHER = "either"


class BufferRequest(NamedTuple):
    """A request of the host to a drive with a buffer.

    Parameters
    ----------
    read : array of bool, shape `[1, *batch]`
        Whether the request is a read.
    sector, count : array of int, shape `[1, *batch]`
        Address and number of sectors of the request.
    target : Target
        Location of these sectors.
    """

    read: Bool[Array, "1 *batch"]
    sector: Int[Array, "1 *batch"]
    count: Int[Array, "1 *batch"]
    target: Target

    @property
    def end(self) -> Int[Array, "1 *batch"]:
        return self.sector + self.count


class BufferMemory(NamedTuple):
    """State of the buffer, and of the drive's background work; times are seconds from now.

    Parameters
    ----------
    start, end : array of int, shape `[segment, *batch]`
        First sector in each segment, and the sector after the last sector in it; if both are equal, the segment is
        empty.
    limit : array of int, shape `[segment, *batch]`
        Sector at which read-ahead into the segment stops.
    used : array of int, shape `[segment, *batch]`
        Value of `uses` at the last use of the segment.
    ahead : array of int, shape `[1, *batch]`
        Segment into which the drive reads ahead, or NO_REQUEST.
    base : array of int, shape `[1, *batch]`
        Sector from which the head has read without a pause.
    base_time : array of float, shape `[1, *batch]`
        Time at which the head was at the beginning of sector `base`.
    landing : array of float, shape `[1, *batch]`
        Time at which the arm was on the track of sector `base`.
    dirty : array of int, shape `[1, *batch]`
        Segment that is written behind, or NO_REQUEST.
    settled : array of float, shape `[1, *batch]`
        Time at which the write from this segment no longer needs the arm.
    last : array of int, shape `[1, *batch]`
        Segment of the previous request.
    after_read : array of bool, shape `[1, *batch]`
        Whether the previous request was a read.
    uses : array of int, shape `[1, *batch]`
        Number of requests so far.
    arm : Arm
        Position of the arm at the end of the last access.
    """

    start: Int[Array, "segment *batch"]
    end: Int[Array, "segment *batch"]
    limit: Int[Array, "segment *batch"]
    used: Int[Array, "segment *batch"]
    ahead: Int[Array, "1 *batch"]
    base: Int[Array, "1 *batch"]
    base_time: Float[Array, "1 *batch"]
    landing: Float[Array, "1 *batch"]
    dirty: Int[Array, "1 *batch"]
    settled: Float[Array, "1 *batch"]
    last: Int[Array, "1 *batch"]
    after_read: Bool[Array, "1 *batch"]
    uses: Int[Array, "1 *batch"]
    arm: Arm

    @property
    def number(self) -> Int[Array, "segment *ones"]:
        """Return the numbers of the segments."""
        return row_index(self.start.shape[0], self.start)

    def elapse(self, time: Float[Array, "1 *batch"]) -> "BufferMemory":
        """Return the memory `time` seconds later. Times before `LONG_AGO` are replaced by `LONG_AGO`."""
        later = (jnp.maximum(one - time, LONG_AGO) for one in (self.base_time, self.landing, self.settled))
        base_time, landing, settled = later
        return self._replace(base_time=base_time, landing=landing, settled=settled)

    def reads_on(self) -> Bool[Array, "1 *batch"]:
        """Return whether the drive reads ahead."""
        return self.ahead != NO_REQUEST


class ReadAheadStop(NamedTuple):
    """State of the buffer now, and the time that the drive takes to stop read-ahead.

    Parameters
    ----------
    memory : BufferMemory
        The state, with all data that the drive has read ahead and written behind by now.
    residue : array of float, shape `[1, *batch]`
        Time until the arm may move for a request that stops read-ahead, seconds; 0 without read-ahead in progress.
    """

    memory: BufferMemory
    residue: Float[Array, "1 *batch"]


class BufferReach(NamedTuple):
    """Times of an arm movement to a sector, seconds from now.

    landing: time at which the arm is on the track of the sector. begins: time at which the sector begins to pass under
    the head.
    """

    landing: Float[Array, "1 *batch"]
    begins: Float[Array, "1 *batch"]


class BufferSegments(eqx.Module):
    """The buffer of a drive, with its controller and its bus.

    Parameters
    ----------
    drive : Drive
        Arm and platter.
    controller : DriveController
        Parameters of controller, bus and buffer (`load_controller`). Times and `most_ahead` may be arrays
        `[1, *batch]`. All other parameters are Python numbers, which are fixed at compilation. Functions of this object
        are compiled with `equinox.filter_jit`.
    faster : Faster
        Which of bus and platter is faster for every sector (function `faster`), by default EITHER. With BUS or PLATTER,
        the completion of a request is computed from fewer sectors.

    Raises
    ------
    InputError
        If the drive has more than 2^31 - 1 sectors, or physical sectors of 4 KB, or if a parameter is impossible.
    """

    drive: Annotated[Drive, DRIVE]
    controller: DriveController
    faster: Annotated[Faster, instance_of(Faster, "a member of sk.drive.buffer.Faster")] = eqx.field(
        static=True, default=Faster.EITHER
    )

    def __check_init__(self):
        require_possible(self.controller)
        validate_fields(self)
        if self.drive.capacity > MOST_WHOLE:
            raise InputError(
                f"a drive with a buffer and {self.drive.capacity} sectors: at most {MOST_WHOLE} sectors are possible"
            )
        if self.drive.grain != 1:
            raise InputError(
                f"a drive with a buffer and sectors of {self.drive.grain * 512} bytes: only sectors of 512 bytes are "
                "possible"
            )

    def init(self, batch: tuple[int, ...]) -> BufferMemory:
        """Return an empty buffer before any request, with the arm on cylinder 0."""
        size = self.controller.buffer.segments
        nothing, no_request = jnp.zeros((size, *batch), jnp.int32), jnp.full((1, *batch), NO_REQUEST, jnp.int32)
        first = jnp.zeros((1, *batch), jnp.int32)
        long_ago = jnp.full((1, *batch), LONG_AGO, jnp.float32)
        return BufferMemory(
            *[nothing] * 4,
            ahead=no_request,
            base=first,
            base_time=long_ago,
            landing=long_ago,
            dirty=no_request,
            settled=long_ago,
            last=no_request,
            after_read=first == 0,
            uses=first,
            arm=Arm(first, first),
        )

    @property
    def apart(self) -> bool:
        """Return whether the first segment is for writes only, and the other segments are for reads."""
        return self.controller.buffer.write_segment and self.controller.buffer.segments > 1

    def after(self, what: str, memory: BufferMemory) -> Float[Array, "1 *batch"]:
        """Return an overhead in seconds; it depends on whether the previous request was a read or a write.

        what: name of the overhead without `_after_read` or `_after_write`.
        """
        overheads = self.controller.overheads
        return jnp.where(
            memory.after_read, getattr(overheads, f"{what}_after_read"), getattr(overheads, f"{what}_after_write")
        )

    def begins_read(self, stopped: ReadAheadStop) -> Float[Array, "1 *batch"]:
        """Return the time in seconds until the arm may move for a read that arrives now."""
        memory = stopped.memory
        return jnp.maximum(self.after("read_miss", memory) + stopped.residue, memory.settled)

    def begins_write(self, stopped: ReadAheadStop) -> Float[Array, "1 *batch"]:
        """Return the time in seconds until the arm may move for a write that arrives now.

        The result is valid for a write that neither joins the previous write nor disconnects twice.
        """
        overhead = self.after("write_hit" if self.controller.buffer.writes_behind else "write_miss", stopped.memory)
        settled = stopped.memory.settled
        return jnp.where(settled > 0, jnp.maximum(settled, overhead), overhead + stopped.residue)

    def free(self, memory: BufferMemory) -> Bool[Array, "segment *batch"]:
        """Return a mask of the segments that a read may take."""
        return (memory.number >= int(self.apart)) & (memory.number != memory.dirty)

    def readable(self, memory: BufferMemory) -> Bool[Array, "segment *batch"]:
        """Return a mask of the segments that may serve reads.

        The mask includes the segment that is written behind, if data left by writes may serve reads.
        """
        if not self.controller.buffer.keeps:
            return jnp.zeros_like(memory.number, bool)
        if not self.controller.buffer.hits_written:
            return self.free(memory)
        return memory.number >= int(self.apart)

    def holds(self, memory: BufferMemory, sector: Int[Array, "row *batch"]) -> Bool[Array, "row *batch"]:
        """Return whether any segment that may serve reads holds `sector`, the first sector of a read."""
        usable, held = self.readable(memory), jnp.zeros(sector.shape, bool)
        for number in range(self.controller.buffer.segments):
            own = slice(number, number + 1)
            held = held | usable[own] & (memory.start[own] <= sector) & (sector < memory.end[own])
        return held

    def reach(
        self,
        arm: Arm,
        angle: Float[Array, "1 *batch"],
        at: Float[Array, "1 *batch"],
        piece: BufferFill,
        read: Bool[Array, "1 *batch"],
        least: float | Float[Array, "1 *batch"] = 0.0,
    ) -> BufferReach:
        """Return when the arm and the head reach the beginning of a fill.

        Parameters
        ----------
        arm : Arm
            Position from which the arm moves.
        angle : float, `[1, *batch]`
            Angle of the platter now, turns.
        at : float, `[1, *batch]`
            Time from which the arm may move, seconds from now.
        piece : BufferFill
            The fill.
        read : bool, `[1, *batch]`
            Whether the access is a read.
        least : float, `[1, *batch]` or one for all
            Shortest time of the movement, seconds, by default 0.

        Returns
        -------
        BufferReach
            Time at which the arm is on the track, and time at which the first sector begins, seconds from now.
        """
        drive, location = self.drive, piece.location(piece.sector)
        here = Arm(location.cylinder, location.head)
        target = Target(*here, location.angle, jnp.zeros_like(location.angle), here)
        way = drive.positioning(arm, angle + drive.turns(at), target, read)
        late = jnp.maximum(least - way.seek, 0.0)
        # The head lands `late` seconds later: the first sector may have passed by then.
        missed = jnp.ceil(jnp.maximum(drive.turns(late - way.rotation), 0.0))
        landing = at + way.seek + late
        return BufferReach(landing, landing + way.rotation - late + drive.seconds(missed))

    def behind(self, piece: BufferFill, reached: BufferReach) -> Float[Array, "1 *batch"]:
        """Return the number of sectors by which the head is past the beginning of a fill when the arm lands.

        The number is 0 if the head lands exactly at the beginning.
        """
        wait = self.drive.turns(reached.begins - reached.landing)
        return jnp.where(wait > 0, (1.0 - wait) * piece.length, 0.0)

    def now(self, memory: BufferMemory) -> ReadAheadStop:
        """Return the state of the buffer with all data that the drive has read ahead and written behind by now."""
        drive, buffer = self.drive, self.controller.buffer
        piece, runs = buffer_fill(drive.geometry, memory.base), memory.reads_on()
        room = jnp.maximum(jnp.where(runs, pick(memory.limit, memory.ahead), 0) - memory.base, 0)
        arrived = jnp.where(runs, jnp.minimum(piece.reached(-drive.turns(memory.base_time)), room), 0)
        over = arrived >= jnp.minimum(room, piece.room)
        next_ = memory.base + arrived
        location = piece.location(jnp.minimum(next_, memory.base + jnp.maximum(room - 1, 0)))
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
            arm=where_tree(runs, Arm(location.cylinder, location.head), memory.arm),
        )
        return ReadAheadStop(stopped, jnp.where(runs & ~over, self._residue(memory, piece, arrived), 0.0))

    def _residue(
        self, memory: BufferMemory, piece: BufferFill, arrived: Int[Array, "1 *batch"]
    ) -> Float[Array, "1 *batch"]:
        """Return the time in seconds until the arm may leave the read-ahead in progress.

        If the arm is moving, this is the time until the end of the movement. Otherwise it is the time until the next
        sector begins or the present sector ends, or 0 if the drive stops within a sector.
        """
        drive, next_ = self.drive, memory.base + arrived
        before, after = piece.location(next_ - 1), piece.location(next_)
        crosses = (before.cylinder != after.cylinder) | (before.head != after.head)
        switch = jnp.where(before.head != after.head, drive.head_switch, 0.0)
        move = jnp.maximum(switch, drive.seek(jnp.abs(after.cylinder - before.cylinder)))
        left = memory.base_time + drive.seconds(piece.turns(arrived))
        landing = jnp.where(arrived == 0, memory.landing, jnp.where(crosses, left + move, LONG_AGO))
        if self.controller.buffer.stops_in_sector:
            return jnp.maximum(landing, 0.0)
        ends = memory.base_time + drive.seconds(piece.turns(arrived + 1))
        begins = ends - drive.seconds(1 / piece.length)
        pending = jnp.where(begins > drive.seconds(HAIR / piece.length), begins, jnp.maximum(ends, 0.0))
        return jnp.where(landing > 0, landing, pending)


@validate
def faster(drive: Annotated[Drive, DRIVE], controller: DriveController) -> Faster:
    """Return the carrier that takes less time for a sector: the bus or the platter.

    Parameters
    ----------
    drive : Drive
        Arm and platter.
    controller : DriveController
        Parameters of controller, bus and buffer.

    Returns
    -------
    Faster
        BUS or PLATTER if this carrier is at least as fast as the other carrier in all zones, for reads and for writes;
        otherwise EITHER.

    Raises
    ------
    InputError
        If a parameter is impossible.
    """
    require_possible(controller)
    slowest, quickest = (of([of(controller.bus.read), of(controller.bus.write)]) for of in (np.max, np.min))
    passes = np.asarray(drive.revolution) / np.asarray(drive.geometry.sectors_per_track)
    if slowest <= np.min(passes):
        return Faster.BUS
    return Faster.PLATTER if quickest >= np.max(passes) else Faster.EITHER


def whole_turns(turns: Float[AnyArray, "*#row"]) -> Float[AnyArray, "*#row"]:
    """Return `turns` rounded up to whole revolutions; 0 if `turns` is not positive."""
    return jnp.where(turns > 0, jnp.ceil(turns), 0.0)
