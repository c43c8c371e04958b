"""Between platter and host: a controller, a bus and a buffer in segments (`BufferSegments`), one request at a time."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from storagekit.core.batching import where_tree
from storagekit.drive.buffer.reads import find, read
from storagekit.drive.buffer.segments import BufferMemory as BufferMemory
from storagekit.drive.buffer.segments import BufferRequest as BufferRequest
from storagekit.drive.buffer.segments import BufferSegments as BufferSegments
from storagekit.drive.buffer.segments import Faster as Faster
from storagekit.drive.buffer.segments import ReadAheadStop as ReadAheadStop
from storagekit.drive.buffer.segments import faster as faster
from storagekit.drive.buffer.stretch import stretch
from storagekit.drive.buffer.writes import take, ways_of, write


def serve(
    segments: BufferSegments, memory: BufferMemory, angle: Float[Array, "1 *batch"], request: BufferRequest
) -> tuple[Float[Array, "1 *batch"], BufferMemory]:
    """Seconds until a request that arrives now is answered, and the buffer from then on, its times from now. The platter
    stands at `angle` now, turns."""
    return served(segments, segments.now(memory), angle, request)


def served(
    segments: BufferSegments, stopped: ReadAheadStop, angle: Float[Array, "1 *batch"], request: BufferRequest
) -> tuple[Float[Array, "1 *batch"], BufferMemory]:
    """As `serve`, of a buffer as it is now (`BufferSegments.now`)."""
    memory, read_begins = stopped.memory, segments.begins_read(stopped)
    found, taken = find(segments, memory, request), take(segments, memory, request)
    ways = ways_of(segments, stopped, taken)
    # one way of the arm, computed once: to what is read next, or to the beginning of what is written
    next_read = jnp.where(found.runs, memory.base, found.end)
    piece = stretch(segments.drive.geometry, jnp.where(request.read, next_read, request.sector))
    begins = jnp.where(request.read, read_begins, ways.begins)
    least = jnp.where(request.read | taken.joins, 0.0, segments.electronics.overheads.least_seek)
    reached = segments.reach(memory.arm, angle, begins, piece, request.read, least)
    reads = read(segments, memory, request, found, piece, reached)
    writes = write(segments, memory, request, taken, ways, piece, reached)
    return where_tree(request.read, reads, writes)
