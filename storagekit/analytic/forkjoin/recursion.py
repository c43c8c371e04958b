"""The max-plus recursion: every server's unfinished work, from one request to the next.

The disks of a striped request serve in the order of requests, so that all a disk needs to know is how long it is still busy
when the next request comes (Lindley): a request costs a handful of vector operations for all loads, layouts and seeds at
once, and no events. Times are relative to the request's arrival, so that float32 stays exact however long a stream is.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float
from numpy.typing import ArrayLike

from storagekit.core.checks import require, require_broadcast, shown, traced
from storagekit.core.errors import InputError
from storagekit.core.kinds import SPAN, Kind, a

# float32 has no finer times beyond it than minutes
_SPANS, _TRANSIT = SPAN.up_to(1e9).each, Kind(least=-1e9, most=1e9, unit="s").each


class RequestStream(NamedTuple):
    """Requests in the order in which they come, and what they ask of each disk.

    gap: seconds since the request before. read: whether it is a read. work: seconds of service, 0 of a disk that is not
    asked; blocks: how many blocks these are.
    """

    gap: Float[Array, "request *batch"]
    read: Bool[Array, "request *batch"]
    work: Float[Array, "request *batch disk"]
    blocks: Float[Array, "request *batch disk"]


class Path(NamedTuple):
    """What a request passes before and after the disks, in seconds, for reads or for writes.

    out: how long its client is busy sending. offset: from when the client begins to when each disk has all it needs. port:
    how long an agent is busy with a block that it sends, or with an acknowledgement. transit: from then to when it has
    reached the client. receive: how long that is busy with it.
    """

    out: Float[Array, "*batch"]
    offset: Float[Array, "*batch disk"]
    port: Float[Array, "*batch"]
    transit: Float[Array, "*batch"]
    receive: Float[Array, "*batch"]


class Paths(NamedTuple):
    """The way of reads and that of writes."""

    read: Path
    write: Path


def path(out: float, offset: ArrayLike, port: float, transit: float, receive: float) -> Path:
    """A `Path` of numbers, with an offset for each disk."""
    return Path(*(jnp.asarray(part, jnp.float32) for part in (out, offset, port, transit, receive)))


class _Busy(NamedTuple):
    """How long each server is still busy: every disk, the port of every agent, the client with sending and with receiving."""

    disk: Array
    port: Array
    sending: Array
    receiving: Array

    def after(self, gap: Array) -> "_Busy":
        wide = gap[..., None]
        disk, port = (jnp.maximum(part - wide, 0) for part in (self.disk, self.port))
        sending, receiving = (jnp.maximum(part - gap, 0) for part in (self.sending, self.receiving))
        return _Busy(disk, port, sending, receiving)


def completion_times(stream: RequestStream, paths: Paths | None = None) -> Float[Array, "request *batch"]:
    """Seconds from each request's arrival to its completion: the client has the last of its blocks, or, of a write, the last
    acknowledgement.

    paths: None where there is nothing but disks. The lanes of `stream` and of `paths` broadcast.

    A disk serves requests in their order, the blocks of one together. Where blocks come slower than the next server takes
    them, what counts is when the last one comes; where they come faster, when the first came and how many they are: of the
    two the later is taken, at an agent's port and at the client. Sending and receiving do not disturb each other, and of two
    requests the later does not disturb the earlier. So it is exact for the disks and low elsewhere: against a simulation of
    every packet by 1% where disks are the limit, by 10% where a ring is two thirds as busy as they are; where the client's
    processor is the limit and seven tenths busy, by 8% if it has one for each direction, and by 32% if one does both
    (tests/analytic/forkjoin/test_network.py).

    Raises InputError for times below 0 or not finite, but for a transit, which may be negative, and for shapes that disagree.
    """
    stream = _stream(stream)
    return _completion_times(stream, None if paths is None else _paths(paths, stream))


@jax.jit
def _completion_times(stream: RequestStream, paths: Paths | None) -> Float[Array, "request *batch"]:
    if paths is None:
        nothing = path(0.0, np.zeros(stream.work.shape[-1]), 0.0, 0.0, 0.0)
        paths = Paths(nothing, nothing)
    lanes = jnp.broadcast_shapes(stream.gap.shape[1:], stream.work.shape[1:-1], *(way.out.shape for way in paths))
    alone, each = jnp.zeros(lanes, jnp.float32), jnp.zeros((*lanes, stream.work.shape[-1]), jnp.float32)

    def step(busy: _Busy, request: RequestStream):
        return _pass(busy.after(request.gap), request, _way(paths, request.read))

    _, taken = jax.lax.scan(step, _Busy(each, each, alone, alone), stream)
    return taken


def _stream(given: RequestStream) -> RequestStream:
    """The stream, in arrays. Raises InputError where it is none."""
    gap, read, work, blocks = a(RequestStream, "Stream(gap, read, work, blocks)")("stream", given)
    gap, work, blocks = (_SPANS(label, part) for label, part in (("gap", gap), ("work", work), ("blocks", blocks)))
    if not traced(read) and np.asarray(read).dtype.kind != "b":
        raise InputError(f"read {shown(read)}: give True or False for each request")
    gap, read, work, blocks = (part if traced(part) else jnp.asarray(part) for part in (gap, read, work, blocks))
    shapes = f"gap {gap.shape}, read {read.shape}, work {work.shape}, blocks {blocks.shape}"
    fits = min(gap.ndim, read.ndim) > 0 and min(work.ndim, blocks.ndim) > 1
    fits = fits and len({len(part) for part in (gap, read, work, blocks)}) == 1 and work.shape[-1] > 0
    require(fits, "shapes", shapes, "[request, *batch] and [request, *batch, disk], of as many requests")
    require_broadcast(gap=gap, read=read, work=work[..., 0], blocks=blocks[..., 0])
    require_broadcast(work=work, blocks=blocks)
    return RequestStream(gap, read, work, blocks)


def _paths(given: Paths, stream: RequestStream) -> Paths:
    """The ways, in arrays. Raises InputError where they are none, or not those of the stream's disks."""
    ways = []
    for name, way in zip(Paths._fields, a(Paths, "Paths(read, write)")("paths", given), strict=True):
        parts = a(Path, "Path(out, offset, port, transit, receive)")(name, way)._asdict()
        kinds = {part: _TRANSIT if part == "transit" else _SPANS for part in parts}
        held = {part: kinds[part](f"{name} {part}", value) for part, value in parts.items()}
        ways.append(
            Path(
                **{
                    part: value if traced(value) else jnp.asarray(np.asarray(value, np.float32))
                    for part, value in held.items()
                }
            )
        )
        offset, disks = ways[-1].offset, stream.work.shape[-1]
        require(
            offset.shape[-1:] == (disks,), f"{name} offset of shape", str(offset.shape), f"[.., {disks}], one a disk"
        )
        alone = {part: value for part, value in ways[-1]._asdict().items() if part != "offset"}
        shapes = {part: value.shape for part, value in alone.items()}
        require(len({*shapes.values()}) == 1, f"{name} of shapes", shapes, "one shape, for each of the lanes")
        require_broadcast(gap=stream.gap[0], work=stream.work[0, ..., 0], offset=offset[..., 0], **alone)
    return Paths(*ways)


def _way(paths: Paths, read: Array) -> Path:
    """The way of a read, or of a write."""
    one, other = paths
    return Path(
        out=jnp.where(read, one.out, other.out),
        offset=jnp.where(read[..., None], one.offset, other.offset),
        port=jnp.where(read, one.port, other.port),
        transit=jnp.where(read, one.transit, other.transit),
        receive=jnp.where(read, one.receive, other.receive),
    )


def _pass(busy: _Busy, request: RequestStream, path: Path) -> tuple[_Busy, Array]:
    """A request through all servers, which are busy so long when it comes; then they are, and it takes so long."""
    asked = request.blocks > 0
    answers = jnp.where(request.read[..., None], request.blocks, asked)
    port, transit = path.port[..., None], path.transit
    start = jnp.maximum(busy.disk, busy.sending[..., None] + path.offset)
    done = start + request.work
    ready = jnp.where(request.read[..., None], start + request.work / jnp.maximum(request.blocks, 1), done)
    sent = jnp.maximum(done + port, jnp.maximum(busy.port, ready) + answers * port)
    first = jnp.min(jnp.where(asked, ready + port, jnp.inf), axis=-1) + transit
    last = jnp.max(jnp.where(asked, sent, -jnp.inf), axis=-1) + transit
    received = jnp.maximum(busy.receiving, first) + jnp.sum(answers, axis=-1) * path.receive
    after = _Busy(
        disk=jnp.where(asked, done, busy.disk),
        port=jnp.where(asked, sent, busy.port),
        sending=busy.sending + path.out,
        receiving=received,
    )
    return after, jnp.maximum(last + path.receive, received)
