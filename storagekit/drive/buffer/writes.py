"""Writes through a buffer: across the bus, and onto the platter before or after the completion."""

from functools import reduce
from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from storagekit.core.batching import first_min, pick, real
from storagekit.drive.buffer.fill import HAIR, BufferFill
from storagekit.drive.buffer.segments import (
    NEVER,
    NO_REQUEST,
    BufferMemory,
    BufferReach,
    BufferRequest,
    BufferSegments,
    Faster,
    ReadAheadStop,
    whole_turns,
)

# Number of sectors that must have crossed the bus before a drive that disconnects twice begins to write.
# It is FEW for a write of fewer than LONG sectors, and MANY for longer writes.
FEW, LONG, MANY = 10, 45, 15


class BufferedWrite(NamedTuple):
    """The segment that a write takes.

    joins: whether the write continues a write that is not yet on the platter. again: whether the write follows another
    write in this segment, without continuing it.
    """

    segment: Int[Array, "1 *batch"]
    joins: Bool[Array, "1 *batch"]
    again: Bool[Array, "1 *batch"]


class Ways(NamedTuple):
    """Times of the steps of a write at the arm and on the bus, seconds from now.

    begins: when the arm may move. bus: when the data begin to cross the bus. disconnect: time from the end of this
    transfer until the drive gives up the bus. reselect: time that the drive then takes to get the bus back.
    """

    begins: Float[Array, "1 *batch"]
    bus: Float[Array, "1 *batch"]
    disconnect: Float[Array, "1 *batch"] | float
    reselect: Float[Array, "1 *batch"] | float


def take(segments: BufferSegments, memory: BufferMemory, request: BufferRequest) -> BufferedWrite:
    """Return the segment that a write takes.

    Parameters
    ----------
    segments : BufferSegments
        The buffer of the drive, with its controller and its bus.
    memory : BufferMemory
        State of the buffer now.
    request : BufferRequest
        The write.

    Returns
    -------
    BufferedWrite
        The segment, and whether the write continues or follows an earlier write in it.
    """
    buffer, number = segments.controller.buffer, memory.number
    joins = (memory.dirty != NO_REQUEST) & (memory.settled > 0) & (pick(memory.end, memory.dirty) == request.sector)
    joins = joins & (buffer.writes_behind and buffer.combines)
    usable = number == 0 if buffer.write_segment else number >= 0
    over, holds = _overlaps(segments, memory, request)
    age = jnp.where(over, memory.used - NEVER, jnp.where(holds, memory.used, memory.used - NEVER // 2))
    free, _ = first_min(jnp.where(usable, age, NEVER))
    segment = jnp.where(joins, memory.dirty, free)
    follows = ~memory.after_read & (segment == memory.last) & (request.sector != pick(memory.end, segment))
    return BufferedWrite(segment, joins, follows)


def _overlaps(
    segments: BufferSegments, memory: BufferMemory, request: BufferRequest
) -> tuple[Bool[Array, "segment *batch"], Bool[Array, "segment *batch"]]:
    """Return a mask of the segments that hold sectors of a request, and a mask of the segments with any data."""
    holds = memory.end > memory.start
    if not segments.controller.buffer.hits_written:
        holds = holds & (memory.number != memory.dirty)
    return holds & (memory.start < request.end) & (request.sector < memory.end), holds


def write(
    segments: BufferSegments,
    memory: BufferMemory,
    request: BufferRequest,
    taken: BufferedWrite,
    ways: Ways,
    piece: BufferFill,
    reached: BufferReach,
) -> tuple[Float[Array, "1 *batch"], BufferMemory]:
    """Return the time in seconds until a write that arrives now completes, and the state of the buffer after the write.

    Parameters
    ----------
    segments : BufferSegments
        The buffer of the drive, with its controller and its bus.
    memory : BufferMemory
        State of the buffer now.
    request : BufferRequest
        The write.
    taken : BufferedWrite
        Result of `take`.
    ways : Ways
        Result of `ways_of`.
    piece : BufferFill
        Sectors from the beginning of the write.
    reached : BufferReach
        Times at which the arm and the head reach these sectors, seconds from now.

    Returns
    -------
    array of float, shape `[1, *batch]`
        The time, seconds.
    BufferMemory
        The state after the write. Its times are in seconds from the arrival of the write.
    """
    overheads, buffer = segments.controller.overheads, segments.controller.buffer
    crosses = request.count * real(segments.controller.bus.write)
    settled = _under(segments, request, taken, ways, piece, reached)
    if buffer.writes_behind:
        answer = ways.bus + crosses
    else:
        answer = jnp.maximum(settled, ways.bus + crosses + ways.disconnect) + ways.reselect
    over, _ = _overlaps(segments, memory, request)
    here = memory.number == taken.segment
    # Other segments that hold some of these sectors are emptied, because their data are outdated. A segment into
    # which the drive reads ahead is emptied too, although DiskSim keeps its data.
    gone = over
    if not buffer.hits_written:
        gone = gone | (memory.number == memory.dirty)
    end = jnp.where(here, request.end, jnp.where(gone & ~taken.joins, memory.start, memory.end))
    start = jnp.where(taken.joins, pick(memory.start, taken.segment), request.sector)
    start = jnp.maximum(start, request.end - buffer.sectors)
    uses = memory.uses + 1
    return answer + overheads.write_completion, memory._replace(
        start=jnp.where(here, start, memory.start),
        end=end,
        limit=jnp.where(here, request.end, memory.limit),
        used=jnp.where(here, uses, memory.used),
        ahead=jnp.full_like(memory.ahead, NO_REQUEST),
        settled=settled,
        dirty=taken.segment,
        last=taken.segment,
        uses=uses,
        after_read=request.read,
        arm=request.target.end,
    )


def ways_of(segments: BufferSegments, stopped: ReadAheadStop, taken: BufferedWrite) -> Ways:
    """Return when the arm may move for a write, and the times of its steps on the bus.

    The steps on the bus are the beginning of the transfer of the data, the release of the bus, and its reselection.

    Parameters
    ----------
    segments : BufferSegments
        The buffer of the drive, with its controller and its bus.
    stopped : ReadAheadStop
        State of the buffer now, and the time that the drive takes to stop read-ahead.
    taken : BufferedWrite
        Result of `take`.

    Returns
    -------
    Ways
        The times, seconds.
    """
    memory, overheads, extra = stopped.memory, segments.controller.overheads, segments.controller.extra
    busy = memory.settled > 0
    overhead = segments.after("write_hit" if segments.controller.buffer.writes_behind else "write_miss", memory)
    prepared = overhead + overheads.preparation
    again = overheads.first_reselect + overheads.preparation
    begins, bus = segments.begins_write(stopped), prepared
    disconnect, reselect = overheads.write_disconnect, overheads.first_reselect
    if extra is not None:
        twice = taken.again & ~busy
        begins = jnp.where(twice, extra.command + extra.seek + stopped.residue, begins)
        bus = jnp.where(twice, extra.command + extra.first + extra.pause + again, bus)
        disconnect = jnp.where(twice, extra.second, disconnect)
        reselect = jnp.where(twice, overheads.other_reselect, reselect)
    # While an earlier write occupies the arm, the drive gives up the bus until that write is on the platter.
    bus = jnp.where(busy, jnp.maximum(memory.settled, overhead + overheads.write_disconnect) + again, bus)
    return Ways(
        jnp.where(taken.joins, memory.settled, begins), jnp.where(taken.joins, prepared, bus), disconnect, reselect
    )


def _under(
    segments: BufferSegments,
    request: BufferRequest,
    taken: BufferedWrite,
    ways: Ways,
    piece: BufferFill,
    reached: BufferReach,
) -> Float[Array, "1 *batch"]:
    """Return the time at which a write is on the platter, seconds from now.

    A sector that has not crossed the bus when the head passes it waits for a revolution. So do all sectors after it.
    """
    drive, target = segments.drive, request.target
    there = _crossed(segments, request, taken, ways, request.count)
    each, first = drive.seconds(1 / piece.length), jnp.ones_like(request.count)
    # Among consecutive sectors of a track, the first or the last sector is late by the longest time. Among the tracks
    # of the request, this sector is on the first or the last track.
    passing = [(first, 0.0 * each), (request.count, target.transfer - each)]
    if segments.faster is not Faster.BUS:
        _, track_end = piece.track(request.sector)
        on_track = jnp.minimum(track_end - request.sector, request.count)
        passing.append((on_track, drive.seconds(piece.turns(on_track)) - each))
    late = [
        _crossed(segments, request, taken, ways, number) - reached.begins - passed - HAIR * each
        for number, passed in passing
    ]
    turns = whole_turns(drive.turns(reduce(jnp.maximum, late)))
    settled = reached.begins + target.transfer + drive.seconds(turns)
    if segments.controller.buffer.zero_latency_write:
        settled = _in_any_order(segments, request, piece, reached, there, (late[0], late[1], settled))
    return settled


def _crossed(
    segments: BufferSegments, request: BufferRequest, taken: BufferedWrite, ways: Ways, number: Int[Array, "1 *batch"]
) -> Float[Array, "1 *batch"]:
    """Return the time at which sector `number` of a request may be written, seconds from now.

    The first sector has number 1. At this time the sector has crossed the bus.
    """
    if segments.controller.extra is not None:
        fewest = jnp.where(request.count < LONG, jnp.minimum(request.count, FEW), MANY)
        number = jnp.where(taken.joins, number, jnp.maximum(number, fewest))
    return ways.bus + number * real(segments.controller.bus.write)


def _in_any_order(
    segments: BufferSegments,
    request: BufferRequest,
    piece: BufferFill,
    reached: BufferReach,
    there: Float[Array, "1 *batch"],
    otherwise: tuple[Float[Array, "1 *batch"], ...],
) -> Float[Array, "1 *batch"]:
    """Return the time at which a write is on the platter, seconds from now, for drives with zero-latency writes.

    A write within a single track is not bound to the order of its sectors. The drive writes the tail first if all data
    are in the buffer when the head lands (`there`). Otherwise only the sectors that arrive too late are written a
    revolution later. A write of several tracks is written in order.

    there: time at which all data are in the buffer. otherwise: three values for writing in order, seconds: the lateness
    of the first sector, the lateness of the last sector, and the time at which all sectors are on the platter.
    """
    late_first, late_last, settled = otherwise
    sector, each = segments.drive.seconds(1 / piece.length), real(segments.controller.bus.write)
    _, track_end = piece.track(request.sector)
    whole = request.end <= track_end
    behind = segments.behind(piece, reached)
    skipped = jnp.maximum(jnp.ceil(behind - HAIR), 1.0)
    tail_first = whole & (behind > 0) & (skipped < request.count) & (there <= reached.landing)
    # If the bus is the faster carrier, only the first `few` sectors are late.
    few = jnp.ceil(late_first / jnp.maximum(sector - each, 1e-9))
    tardy = jnp.where(late_last > 0, request.count, jnp.clip(few, 0, request.count))
    again = reached.begins + segments.drive.revolution + tardy * sector
    in_turn = jnp.where(whole & (jnp.maximum(late_first, late_last) > 0), again, settled)
    return jnp.where(tail_first, reached.begins + skipped * sector, in_turn)
