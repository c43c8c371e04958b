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


class Stream(NamedTuple):
    """Requests in the order in which they come, and what they ask of each disk.

    gap: seconds since the request before. read: whether it is a read. work: seconds of service, 0 of a disk that is not
    asked; blocks: how many blocks these are.
    """

    gap: Float[Array, "request *lanes"]
    read: Bool[Array, "request *lanes"]
    work: Float[Array, "request *lanes disk"]
    blocks: Float[Array, "request *lanes disk"]


class Path(NamedTuple):
    """What a request passes before and after the disks, in seconds, for reads or for writes.

    out: how long its client is busy sending. offset: from when the client begins to when each disk has all it needs. port:
    how long an agent is busy with a block that it sends, or with an acknowledgement. transit: from then to when it has
    reached the client. receive: how long that is busy with it.
    """

    out: Float[Array, "*lanes"]
    offset: Float[Array, "*lanes disk"]
    port: Float[Array, "*lanes"]
    transit: Float[Array, "*lanes"]
    receive: Float[Array, "*lanes"]


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


@jax.jit
def completion_times(stream: Stream, paths: Paths | None = None) -> Float[Array, "request *lanes"]:
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
    """
    if paths is None:
        nothing = path(0.0, np.zeros(stream.work.shape[-1]), 0.0, 0.0, 0.0)
        paths = Paths(nothing, nothing)
    lanes = jnp.broadcast_shapes(stream.gap.shape[1:], stream.work.shape[1:-1], *(way.out.shape for way in paths))
    alone, each = jnp.zeros(lanes, jnp.float32), jnp.zeros((*lanes, stream.work.shape[-1]), jnp.float32)

    def step(busy: _Busy, request: Stream):
        return _pass(busy.after(request.gap), request, _way(paths, request.read))

    _, taken = jax.lax.scan(step, _Busy(each, each, alone, alone), stream)
    return taken


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


def _pass(busy: _Busy, request: Stream, path: Path) -> tuple[_Busy, Array]:
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
