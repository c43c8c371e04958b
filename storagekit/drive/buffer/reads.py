"""Reads through a buffer: hits, partial hits and misses, and the read-ahead that follows."""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from storagekit.core.batching import any_row, first_min, pick, real, where_tree
from storagekit.drive.buffer.fill import HAIR, BufferFill, buffer_fill
from storagekit.drive.buffer.segments import (
    LONG_AGO,
    NEVER,
    NO_REQUEST,
    BufferMemory,
    BufferReach,
    BufferRequest,
    BufferSegments,
    Faster,
)


class BufferHit(NamedTuple):
    """Result of the search for the data of a read in the buffer.

    hit: whether a segment holds all sectors of the read. part: whether a segment holds only the first sectors of the
    read. segment: number of this segment; after a miss, number of the segment that the read takes. start, end: first
    sector in this segment, and the sector after the last sector in it; after a miss both are the first sector of the
    request. there: number of sectors of the request that are in the segment. runs: whether the drive reads ahead into
    this segment.
    """

    hit: Bool[Array, "1 *batch"]
    part: Bool[Array, "1 *batch"]
    segment: Int[Array, "1 *batch"]
    start: Int[Array, "1 *batch"]
    end: Int[Array, "1 *batch"]
    there: Int[Array, "1 *batch"]
    runs: Bool[Array, "1 *batch"]

    @property
    def miss(self) -> Bool[Array, "1 *batch"]:
        return ~self.hit & ~self.part


class Media(NamedTuple):
    """Times of the platter during a read, seconds from now.

    piece: sectors that the head reads without a pause. start_time: time at which the head is at the first of these sectors.
    landing: time at which the arm reaches the track of these sectors. ends: time at which the last sector of a miss has
    passed. first, most: two numbers of sectors that define the order of a zero-latency read. On the first track, the
    head first reads the request's sectors number `first` + 1 to `most`. It then reads the sectors number 1 to `first`.
    `first` equals `most` if the head reads all sectors in order.
    """

    piece: BufferFill
    start_time: Float[Array, "1 *batch"]
    landing: Float[Array, "1 *batch"]
    ends: Float[Array, "1 *batch"]
    first: Int[Array, "1 *batch"]
    most: Int[Array, "1 *batch"]


def find(segments: BufferSegments, memory: BufferMemory, request: BufferRequest) -> BufferHit:
    """Return the segment that serves a read, or the segment that a miss takes.

    Parameters
    ----------
    segments : BufferSegments
        The buffer of the drive, with its controller and its bus.
    memory : BufferMemory
        State of the buffer now.
    request : BufferRequest
        The read.

    Returns
    -------
    BufferHit
        The segment, and the sectors of the read that it holds. If several segments hold them, the most recently used
        one serves the read.
    """
    there = segments.readable(memory) & (memory.start <= request.sector) & (request.sector < memory.end)
    whole = there & (request.end <= memory.end)
    hit, begun = any_row(whole), any_row(there)
    fits = jnp.where(hit, whole, there)
    held, _ = first_min(jnp.where(fits, -memory.used, 1))
    # A miss takes an empty segment if one is free, otherwise the least recently used segment.
    age = jnp.where(memory.end > memory.start, memory.used, memory.used - NEVER)
    oldest, _ = first_min(jnp.where(segments.free(memory), age, NEVER))
    segment = jnp.where(begun, held, oldest)
    start = jnp.where(begun, pick(memory.start, segment), request.sector)
    end = jnp.where(begun, pick(memory.end, segment), request.sector)
    in_it = jnp.clip(end - request.sector, 0, request.count)
    return BufferHit(hit, begun & ~hit, segment, start, end, in_it, begun & (memory.ahead == segment))


def limit_ahead(segments: BufferSegments, found: BufferHit, request: BufferRequest) -> Int[Array, "1 *batch"]:
    """Return the address at which read-ahead after a read stops: the address of the first sector that is not read."""
    buffer, geometry = segments.controller.buffer, segments.drive.geometry
    if buffer.read_ahead == 0:
        return request.end
    if buffer.read_ahead == 4:
        piece = buffer_fill(geometry, request.end)
        begins, ends = piece.track(piece.sector)
        length = piece.zone.sectors_per_track
        return jnp.minimum(jnp.where(found.start < begins, ends + length, ends), geometry.capacity)
    room = (request.end if buffer.over_requested else request.sector) + buffer.sectors
    most = jnp.asarray(buffer.most_ahead, jnp.int32)
    limit = jnp.minimum(jnp.where(most > 0, request.end + most, room), geometry.capacity)
    if buffer.read_ahead < 3:
        piece = buffer_fill(geometry, jnp.where(found.hit, found.end, request.end - 1))
        _, track_end = piece.track(piece.sector)
        limit = jnp.minimum(limit, track_end if buffer.read_ahead == 1 else piece.cylinder_end(piece.sector))
    return jnp.maximum(limit, request.end)


def read(
    segments: BufferSegments,
    memory: BufferMemory,
    request: BufferRequest,
    found: BufferHit,
    piece: BufferFill,
    reached: BufferReach,
) -> tuple[Float[Array, "1 *batch"], BufferMemory]:
    """Return the time in seconds until a read that arrives now completes, and the state of the buffer after the read.

    Parameters
    ----------
    segments : BufferSegments
        The buffer of the drive, with its controller and its bus.
    memory : BufferMemory
        State of the buffer now.
    request : BufferRequest
        The read.
    found : BufferHit
        Result of `find`.
    piece : BufferFill
        Sectors that the head reads next.
    reached : BufferReach
        Times at which the arm and the head reach these sectors, seconds from now.

    Returns
    -------
    array of float, shape `[1, *batch]`
        The time, seconds.
    BufferMemory
        The state after the read. Its times are in seconds from the arrival of the read.
    """
    buffer = segments.controller.buffer
    media = _media(segments, memory, request, found, piece, reached)
    answer = _answer(segments, memory, request, found, media)
    old = jnp.where(found.miss, 0, pick(memory.limit, found.segment))
    limit = jnp.maximum(old, limit_ahead(segments, found, request))
    reads_on = ~found.hit | _starts(segments, memory, media.piece, found.end < limit)
    limit = jnp.where(found.hit & ~found.runs & ~reads_on, old, limit)
    end = jnp.where(found.hit, found.end, request.end)
    start = request.end if buffer.discards_read else jnp.maximum(found.start, end - buffer.sectors)
    here = memory.number == found.segment
    over = found.miss & (request.end > media.piece.limit)
    # After a request that crosses into the next zone, read-ahead restarts at the end of the request.
    base = jnp.where(over, request.end, jnp.where(found.runs, memory.base, media.piece.sector))
    uses = memory.uses + 1
    return answer, memory._replace(
        start=jnp.where(here, start, memory.start),
        end=jnp.where(here, end, memory.end),
        limit=jnp.where(here, limit, memory.limit),
        used=jnp.where(here, uses, memory.used),
        ahead=jnp.where(found.runs | reads_on, found.segment, NO_REQUEST),
        # A miss takes the segment that is written behind if no other segment is free.
        dirty=jnp.where(found.miss & (found.segment == memory.dirty), NO_REQUEST, memory.dirty),
        base=base,
        base_time=jnp.where(over, media.ends, media.start_time),
        landing=media.landing,
        last=found.segment,
        uses=uses,
        after_read=request.read,
        arm=where_tree(found.hit, memory.arm, request.target.end),
    )


def _starts(
    segments: BufferSegments, memory: BufferMemory, piece: BufferFill, further: Bool[Array, "1 *batch"]
) -> Bool[Array, "1 *batch"]:
    """Return whether a hit starts read-ahead at the beginning of `piece`; always false where `further` is false."""
    buffer, location = segments.controller.buffer, piece.location(piece.sector)
    if not buffer.ahead_on_hit:
        return jnp.zeros_like(further)
    leaves = jnp.zeros_like(further)
    if buffer.read_ahead in (1, 2):
        leaves = location.cylinder != memory.arm.cylinder
    if buffer.read_ahead == 1:
        leaves = leaves | (location.head != memory.arm.head)
    return further & ~leaves


def _media(
    segments: BufferSegments,
    memory: BufferMemory,
    request: BufferRequest,
    found: BufferHit,
    piece: BufferFill,
    reached: BufferReach,
) -> Media:
    """Return the sectors that the head reads next, and their times.

    These sectors are the read-ahead in progress or, without such a read-ahead, the sectors from `found.end` on.
    """
    most = jnp.minimum(piece.track(piece.sector)[1] - piece.sector, request.count)
    first = most
    if segments.controller.buffer.zero_latency_read:
        behind = segments.behind(piece, reached)
        skipped = jnp.maximum(jnp.ceil(behind - HAIR), 1.0).astype(jnp.int32)
        first = jnp.where(found.miss & (behind > 0) & (skipped < most), skipped, most)
    kept = BufferReach(memory.landing, memory.base_time)
    landing, start_time = where_tree(found.runs, kept, reached)
    ends = start_time + request.target.transfer
    return Media(piece, start_time, landing, ends, first, most)


def _there_at(
    segments: BufferSegments, request: BufferRequest, found: BufferHit, media: Media, number: Int[Array, "1 *batch"]
) -> Float[Array, "1 *batch"]:
    """Return the time in seconds at which sector `number` of the request is in the buffer.

    The first sector has number 1. The time is LONG_AGO if the sector was already in the buffer when the request
    arrived.
    """
    number = jnp.where((number > media.first) & (number <= media.most) & found.miss, media.first, number)
    piece = media.piece
    within = media.start_time + segments.drive.seconds(piece.turns(request.sector + number - piece.sector))
    # Sectors of the next zone follow without a gap; the length of its tracks is taken to be the same.
    beyond = media.ends - segments.drive.seconds((request.count - number) / piece.length)
    time = jnp.where(found.miss & (request.sector + number > piece.limit), beyond, within)
    return jnp.where(number <= found.there, LONG_AGO, time)


def _answer(
    segments: BufferSegments, memory: BufferMemory, request: BufferRequest, found: BufferHit, media: Media
) -> Float[Array, "1 *batch"]:
    """Return the time in seconds until a read completes.

    A sector crosses the bus when it is in the buffer, the drive has the bus, and the sectors before it have crossed.
    """
    overheads, bus, buffer = segments.controller.overheads, segments.controller.bus, segments.controller.buffer
    hit_overhead, overhead, disconnect = (
        segments.after(what, memory) for what in ("read_hit", "read_miss", "read_disconnect")
    )
    given_up, again = overhead + disconnect, overheads.first_reselect + overheads.preparation
    water = (jnp.minimum(buffer.sectors, request.count) * real(buffer.high_water)).astype(jnp.int32)
    water = jnp.minimum(jnp.maximum(water, 1), request.count)
    had = jnp.maximum(given_up, _there_at(segments, request, found, media, water)) + again
    had = jnp.where(found.part & (memory.settled <= 0), hit_overhead + overheads.preparation, had)
    if bus.never_given_up:
        had = jnp.where(found.miss, overhead + overheads.preparation, had)
    sent = had + request.count * real(bus.read)
    for number in _deciding(segments, request, found, media):
        number = jnp.clip(number, 1, request.count)
        crosses = (request.count - number + 1) * real(bus.read)
        sent = jnp.maximum(sent, _there_at(segments, request, found, media, number) + crosses)
    busy = jnp.maximum(given_up, memory.settled) + again
    whole = jnp.where(memory.settled > 0, busy, hit_overhead + overheads.preparation)
    crossed = jnp.where(found.hit, whole + request.count * real(bus.read), sent)
    return crossed + overheads.read_completion


def _deciding(
    segments: BufferSegments, request: BufferRequest, found: BufferHit, media: Media
) -> list[Int[Array, "1 *batch"]]:
    """Return the numbers of the sectors of a request that may determine the end of its transfer on the bus.

    Among consecutive sectors of a track, only the first or the last sector may determine the end. Among the tracks of a
    request, only the first or the last track may contain that sector.
    """
    # In a zero-latency read, sectors that the head reads earlier wait for the first sectors of the track.
    late = [media.first] if segments.controller.buffer.zero_latency_read else []
    if segments.faster is Faster.BUS:
        return [*late, request.count]
    _, track_end = media.piece.track(jnp.minimum(request.sector + found.there, media.piece.limit - 1))
    last_track, _ = media.piece.track(jnp.minimum(request.end, media.piece.limit) - 1)
    ends = [track_end - request.sector, last_track - request.sector]
    firsts = [found.there + 1, *late, *(end + 1 for end in ends)]
    return firsts if segments.faster is Faster.PLATTER else [*firsts, *ends, request.count]
