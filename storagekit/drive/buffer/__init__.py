"""Between platter and host: a controller, a bus and a buffer in segments (`Segments`), one request at a time."""

from jaxtyping import Array, Float

from storagekit.drive.buffer.reads import read
from storagekit.drive.buffer.segments import Memory as Memory
from storagekit.drive.buffer.segments import Request as Request
from storagekit.drive.buffer.segments import Segments as Segments
from storagekit.drive.buffer.writes import write
from storagekit.lanes import where_tree


def serve(
    segments: Segments, memory: Memory, angle: Float[Array, "1 *lanes"], request: Request
) -> tuple[Float[Array, "1 *lanes"], Memory]:
    """Seconds until a request that arrives now is answered, and the buffer from then on, its times from now. The platter
    stands at `angle` now, turns."""
    stopped = segments.now(memory)
    reads, writes = read(segments, stopped, angle, request), write(segments, stopped, angle, request)
    return where_tree(request.read, reads, writes)
