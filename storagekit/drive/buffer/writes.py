"""Writes through a buffer: across the bus, and onto the platter before or after the host has its answer."""

from functools import reduce
from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from storagekit.core.batching import first_min, pick, real
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
from storagekit.drive.buffer.stretch import HAIR, Stretch

# sectors that must be there before a write goes to the platter, of drives that disconnect twice: of short ones, of others
FEW, LONG, MANY = 10, 45, 15


class BufferedWrite(NamedTuple):
    """The segment that a write takes. joins: it goes on from a write that is not on the platter yet. again: it follows a
    write there without going on from it."""

    segment: Int[Array, "1 *batch"]
    joins: Bool[Array, "1 *batch"]
    again: Bool[Array, "1 *batch"]


class Ways(NamedTuple):
    """When the arm may move for a write, when its data begins to cross the bus, and how long after it has crossed the drive
    gives up the bus, and then takes to have it again."""

    begins: Float[Array, "1 *batch"]
    bus: Float[Array, "1 *batch"]
    disconnect: Float[Array, "1 *batch"] | float
    reselect: Float[Array, "1 *batch"] | float


def take(segments: BufferSegments, memory: BufferMemory, request: BufferRequest) -> BufferedWrite:
    """The segment for a write."""
    buffer, number = segments.electronics.buffer, memory.number
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
    """Which segments hold some of a request's sectors, and which hold anything."""
    holds = memory.end > memory.start
    if not segments.electronics.buffer.hits_written:
        holds = holds & (memory.number != memory.dirty)
    return holds & (memory.start < request.end) & (request.sector < memory.end), holds


def write(
    segments: BufferSegments,
    memory: BufferMemory,
    request: BufferRequest,
    taken: BufferedWrite,
    ways: Ways,
    piece: Stretch,
    reached: BufferReach,
) -> tuple[Float[Array, "1 *batch"], BufferMemory]:
    """When a write that arrives now is answered, and the buffer from then on. The arm reaches its beginning."""
    overheads, buffer = segments.electronics.overheads, segments.electronics.buffer
    crosses = request.count * real(segments.electronics.bus.write)
    settled = _under(segments, request, taken, ways, piece, reached)
    if buffer.writes_behind:
        answer = ways.bus + crosses
    else:
        answer = jnp.maximum(settled, ways.bus + crosses + ways.disconnect) + ways.reselect
    over, _ = _overlaps(segments, memory, request)
    here = memory.number == taken.segment
    # what others hold of these sectors is gone; a segment that is read ahead too, where DiskSim lets it keep them
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
    """What precedes a write on the arm and on the bus."""
    memory, overheads, extra = stopped.memory, segments.electronics.overheads, segments.electronics.extra
    busy = memory.settled > 0
    overhead = segments.after("write_hit" if segments.electronics.buffer.writes_behind else "write_miss", memory)
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
    # the arm is at a write before: the bus is given up until that is on the platter
    bus = jnp.where(busy, jnp.maximum(memory.settled, overhead + overheads.write_disconnect) + again, bus)
    return Ways(
        jnp.where(taken.joins, memory.settled, begins), jnp.where(taken.joins, prepared, bus), disconnect, reselect
    )


def _under(
    segments: BufferSegments,
    request: BufferRequest,
    taken: BufferedWrite,
    ways: Ways,
    piece: Stretch,
    reached: BufferReach,
) -> Float[Array, "1 *batch"]:
    """When a write is on the platter.

    A sector that has not crossed the bus when the head comes by waits for a revolution, and those behind it.
    """
    drive, target = segments.drive, request.target
    there = _crossed(segments, request, taken, ways, request.count)
    each, first = drive.seconds(1 / piece.length), jnp.ones_like(request.count)
    # of sectors that follow one another on a track the first or the last is the latest; of tracks the first or the last
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
    if segments.electronics.buffer.zero_latency_write:
        settled = _in_any_order(segments, request, piece, reached, there, (late[0], late[1], settled))
    return settled


def _crossed(
    segments: BufferSegments, request: BufferRequest, taken: BufferedWrite, ways: Ways, number: Int[Array, "1 *batch"]
) -> Float[Array, "1 *batch"]:
    """When the request's sector of that number, from 1 on, has crossed the bus, and may go to the platter."""
    if segments.electronics.extra is not None:
        fewest = jnp.where(request.count < LONG, jnp.minimum(request.count, FEW), MANY)
        number = jnp.where(taken.joins, number, jnp.maximum(number, fewest))
    return ways.bus + number * real(segments.electronics.bus.write)


def _in_any_order(
    segments: BufferSegments,
    request: BufferRequest,
    piece: Stretch,
    reached: BufferReach,
    there: Float[Array, "1 *batch"],
    otherwise: tuple[Float[Array, "1 *batch"], ...],
) -> Float[Array, "1 *batch"]:
    """When a write is on the platter of a drive that writes what it can as the head comes by: the tail first, where all is
    `there`; of one on a single track, sectors that come too late alone a revolution later.

    otherwise: how late the first and the last sector are, and when all is on the platter if it is written in its order.
    """
    late_first, late_last, settled = otherwise
    sector, each = segments.drive.seconds(1 / piece.length), real(segments.electronics.bus.write)
    _, track_end = piece.track(request.sector)
    whole = request.end <= track_end
    behind = segments.behind(piece, reached)
    skipped = jnp.maximum(jnp.ceil(behind - HAIR), 1.0)
    tail_first = whole & (behind > 0) & (skipped < request.count) & (there <= reached.landing)
    # the bus the faster of the two, only the first so many come too late
    few = jnp.ceil(late_first / jnp.maximum(sector - each, 1e-9))
    tardy = jnp.where(late_last > 0, request.count, jnp.clip(few, 0, request.count))
    again = reached.begins + segments.drive.revolution + tardy * sector
    in_turn = jnp.where(whole & (jnp.maximum(late_first, late_last) > 0), again, settled)
    return jnp.where(tail_first, reached.begins + skipped * sector, in_turn)
