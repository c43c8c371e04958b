"""Model of a drive's controller, bus and segmented buffer, for one request at a time (`BufferSegments`)."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from storagekit.core.batching import where_tree
from storagekit.drive.buffer.fill import buffer_fill
from storagekit.drive.buffer.reads import find, read
from storagekit.drive.buffer.segments import BufferMemory as BufferMemory
from storagekit.drive.buffer.segments import BufferRequest as BufferRequest
from storagekit.drive.buffer.segments import BufferSegments as BufferSegments
from storagekit.drive.buffer.segments import Faster as Faster
from storagekit.drive.buffer.segments import ReadAheadStop as ReadAheadStop
from storagekit.drive.buffer.segments import faster as faster
from storagekit.drive.buffer.writes import take, ways_of, write


def serve(
    segments: BufferSegments, memory: BufferMemory, angle: Float[Array, "1 *batch"], request: BufferRequest
) -> tuple[Float[Array, "1 *batch"], BufferMemory]:
    """Serve a request that arrives now.

    Parameters
    ----------
    segments : BufferSegments
        The model of the drive.
    memory : BufferMemory
        State of the buffer now.
    angle : float, `[1, *batch]`
        Angle of the platter now, turns.
    request : BufferRequest
        The request.

    Returns
    -------
    response : float, `[1, *batch]`
        Time in seconds until the request completes.
    memory : BufferMemory
        State of the buffer after the request, with times in seconds from now.
    """
    return served(segments, segments.now(memory), angle, request)


def served(
    segments: BufferSegments, stopped: ReadAheadStop, angle: Float[Array, "1 *batch"], request: BufferRequest
) -> tuple[Float[Array, "1 *batch"], BufferMemory]:
    """Serve a request that arrives now, given the present state of the buffer. See `serve`.

    stopped: result of `BufferSegments.now`.
    """
    memory, read_begins = stopped.memory, segments.begins_read(stopped)
    found, taken = find(segments, memory, request), take(segments, memory, request)
    ways = ways_of(segments, stopped, taken)
    # The arm moves once, to the next sector to read or the first sector to write: one computation serves both.
    next_read = jnp.where(found.runs, memory.base, found.end)
    piece = buffer_fill(segments.drive.geometry, jnp.where(request.read, next_read, request.sector))
    begins = jnp.where(request.read, read_begins, ways.begins)
    least = jnp.where(request.read | taken.joins, 0.0, segments.controller.overheads.least_seek)
    reached = segments.reach(memory.arm, angle, begins, piece, request.read, least)
    reads = read(segments, memory, request, found, piece, reached)
    writes = write(segments, memory, request, taken, ways, piece, reached)
    return where_tree(request.read, reads, writes)
