"""Calculate the unfinished work of every server from one request to the next, with a max-plus recursion.

The disks serve striped requests in order of arrival. The state of a disk is therefore the time for which the disk is
still busy when the next request arrives (Lindley). Each request takes a few vector operations for all loads, layouts
and seeds, and there are no events. Times are relative to the arrival of the request, so float32 is accurate enough for
a stream of any length.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float
from numpy.typing import ArrayLike

from storagekit.core.errors import InputError
from storagekit.core.validation import SPAN, Validator, instance_of, require, require_broadcast, shown, traced

# Limits of times. Above them, the resolution of float32 is minutes.
_SPANS, _TRANSIT = SPAN.up_to(1e9).each, Validator(least=-1e9, most=1e9, unit="s").each


class RequestStream(NamedTuple):
    """Requests in the order of their arrival, and their work on each disk.

    Parameters
    ----------
    gap : array of float, shape `[request, *batch]`
        Time since the previous request, seconds.
    read : array of bool, shape `[request, *batch]`
        Whether the request is a read.
    work : array of float, shape `[request, *batch, disk]`
        Service time on each disk, seconds; 0 for a disk without a block of the request.
    blocks : array of float, shape `[request, *batch, disk]`
        Number of blocks on each disk.
    """

    gap: Float[Array, "request *batch"]
    read: Bool[Array, "request *batch"]
    work: Float[Array, "request *batch disk"]
    blocks: Float[Array, "request *batch disk"]


class Path(NamedTuple):
    """Times in seconds that a read, or a write, takes before and after the disks.

    Parameters
    ----------
    out : array of float, shape `[*batch]`
        Time for which the client is busy with sending the request.
    offset : array of float, shape `[*batch, disk]`
        Time from the start of sending at the client until each disk has all its input.
    port : array of float, shape `[*batch]`
        Time for which an agent is busy with sending one packet: a block, or an acknowledgement.
    transit : array of float, shape `[*batch]`
        Time from the end of this sending until the packet has reached the client.
    receive : array of float, shape `[*batch]`
        Time for which the client is busy with receiving one packet.
    """

    out: Float[Array, "*batch"]
    offset: Float[Array, "*batch disk"]
    port: Float[Array, "*batch"]
    transit: Float[Array, "*batch"]
    receive: Float[Array, "*batch"]


class Paths(NamedTuple):
    """Paths of reads and of writes.

    Parameters
    ----------
    read : Path
        Path of a read.
    write : Path
        Path of a write.
    """

    read: Path
    write: Path


def path(out: float, offset: ArrayLike, port: float, transit: float, receive: float) -> Path:
    """Return a `Path` in float32 from Python numbers and from an array with an offset for each disk.

    Parameters
    ----------
    out, port, transit, receive : float
        See `Path`, seconds.
    offset : array of float, shape `[disk]`
        See `Path`, seconds.

    Returns
    -------
    Path
        The path, in float32.
    """
    return Path(*(jnp.asarray(part, jnp.float32) for part in (out, offset, port, transit, receive)))


class _Busy(NamedTuple):
    """Time for which each server is still busy: disks, ports of the agents, and the client's sending and receiving."""

    disk: Array
    port: Array
    sending: Array
    receiving: Array

    def after(self, gap: Array) -> "_Busy":
        """Return the remaining times after `gap` seconds."""
        wide = gap[..., None]
        disk, port = (jnp.maximum(part - wide, 0) for part in (self.disk, self.port))
        sending, receiving = (jnp.maximum(part - gap, 0) for part in (self.sending, self.receiving))
        return _Busy(disk, port, sending, receiving)

    def packed(self) -> Array:
        """Return all times as one array, `[*batch, server]`."""
        return jnp.concatenate([self.disk, self.port, self.sending[..., None], self.receiving[..., None]], axis=-1)

    @staticmethod
    def unpacked(packed: Array) -> "_Busy":
        """Return the times from an array of `packed`."""
        disks = packed.shape[-1] // 2 - 1
        return _Busy(packed[..., :disks], packed[..., disks:-2], packed[..., -2], packed[..., -1])


def completion_times(stream: RequestStream, paths: Paths | None = None) -> Float[Array, "request *batch"]:
    """Return the time from the arrival to the completion of each request.

    A read completes when the client has the last block of the read. A write completes when the client has the last
    acknowledgement.

    Parameters
    ----------
    stream : RequestStream
        The requests.
    paths : Paths, optional
        Paths between client and disks; None for disks only. The batch axes of `stream` and `paths` broadcast.

    Returns
    -------
    array of float, shape `[request, *batch]`
        Time, seconds.

    Raises
    ------
    InputError
        If shapes disagree, or if a time is not finite or is below 0; only `transit` may be negative.

    Notes
    -----
    A disk serves requests in order of arrival, and all blocks of a request before the next request. If blocks arrive
    more slowly than the next server processes them, the arrival of the last block determines the end. If blocks arrive
    faster, the arrival of the first block and the number of blocks determine the end. The later of these two ends is
    used, at the port of an agent and at the client. Sending and receiving do not delay each other, and a request is not
    delayed by later requests.

    The times at the disks are therefore exact, and the times at the other resources are too low. Compared with a
    simulation of every packet (tests/analytic/forkjoin/test_network.py), the result is too low by 1% if the disks are
    the bottleneck, and by 10% if a ring is two thirds as busy as the disks. If the client's processor is the bottleneck
    and its utilization is 70%, the result is too low by 8% with a processor for each direction, and by 32% with one
    processor for both directions.
    """
    stream = _stream(stream)
    return _completion_times(stream, None if paths is None else _paths(paths, stream))


@jax.custom_jvp
def _times(stream: RequestStream, paths: Paths | None) -> Float[Array, "request *batch"]:
    return _scanned(stream, paths, packs=False)


@_times.defjvp
def _with_derivative(values: tuple, tangents: tuple) -> tuple[Array, Array]:
    """Return the times and their derivative. In reverse mode, the packed recursion is faster."""
    return jax.jvp(partial(_scanned, packs=True), values, tangents)


_completion_times = jax.jit(_times)


def _scanned(stream: RequestStream, paths: Paths | None, packs: bool) -> Array:
    """Return the times.

    packs: whether the state of the recursion is one array.
    """
    if paths is None:
        nothing = path(0.0, np.zeros(stream.work.shape[-1]), 0.0, 0.0, 0.0)
        paths = Paths(nothing, nothing)
    runs = jnp.broadcast_shapes(stream.gap.shape[1:], stream.work.shape[1:-1], *(way.out.shape for way in paths))
    kind = jnp.result_type(stream.gap, stream.work, stream.blocks, *jax.tree.leaves(paths), jnp.float32)
    alone, each = jnp.zeros(runs, kind), jnp.zeros((*runs, stream.work.shape[-1]), kind)
    start = _Busy(each, each, alone, alone)

    def step(state: Any, request: RequestStream) -> tuple[Any, Array]:
        before = _Busy.unpacked(state) if packs else state
        after, taken = _pass(before.after(request.gap), request, _way(paths, request.read))
        return after.packed() if packs else after, taken

    if not packs:
        return jax.lax.scan(step, start, stream)[1]
    # The derivative saves only the state before each request, and computes the request again. If the state had several
    # arrays of equal shape, XLA would copy all of them at each step.
    return jax.lax.scan(jax.checkpoint(step, prevent_cse=False), start.packed(), stream)[1]


def _stream(given: RequestStream) -> RequestStream:
    """Return the stream with arrays. Raises InputError unless it is a valid `RequestStream`."""
    gap, read, work, blocks = instance_of(RequestStream, "a RequestStream(gap, read, work, blocks)")("stream", given)
    gap, work, blocks = (_SPANS(label, part) for label, part in (("gap", gap), ("work", work), ("blocks", blocks)))
    if not traced(read) and np.asarray(read).dtype.kind != "b":
        raise InputError(f"read {shown(read)}: give True or False for each request")
    gap, read, work, blocks = (part if traced(part) else jnp.asarray(part) for part in (gap, read, work, blocks))
    shapes = f"gap {gap.shape}, read {read.shape}, work {work.shape}, blocks {blocks.shape}"
    fits = min(gap.ndim, read.ndim) > 0 and min(work.ndim, blocks.ndim) > 1
    fits = fits and len({len(part) for part in (gap, read, work, blocks)}) == 1 and work.shape[-1] > 0
    require(
        fits,
        "shapes",
        shapes,
        (
            "[request, *batch] for gap and read, [request, *batch, disk] for work and blocks, with equal numbers of "
            "requests"
        ),
    )
    require_broadcast(gap=gap, read=read, work=work[..., 0], blocks=blocks[..., 0])
    require_broadcast(work=work, blocks=blocks)
    return RequestStream(gap, read, work, blocks)


def _paths(given: Paths, stream: RequestStream) -> Paths:
    """Return the paths with arrays. Raises InputError unless they are valid and fit the disks of the stream."""
    ways = []
    for name, way in zip(Paths._fields, instance_of(Paths, "a Paths(read, write)")("paths", given), strict=True):
        parts = instance_of(Path, "a Path(out, offset, port, transit, receive)")(name, way)._asdict()
        kinds = {part: _TRANSIT if part == "transit" else _SPANS for part in parts}
        held = {part: kinds[part](f"{name} {part}", value) for part, value in parts.items()}
        ways.append(
            Path(
                **{
                    part: value if traced(value) else jnp.asarray(np.asarray(value, float))
                    for part, value in held.items()
                }
            )
        )
        offset, disks = ways[-1].offset, stream.work.shape[-1]
        require(
            offset.shape[-1:] == (disks,),
            f"{name} offset of shape",
            str(offset.shape),
            f"[.., {disks}], one for each disk",
        )
        alone = {part: value for part, value in ways[-1]._asdict().items() if part != "offset"}
        shapes = {part: value.shape for part, value in alone.items()}
        require(len({*shapes.values()}) == 1, f"{name} of shapes", shapes, "equal, with one value for each run")
        require_broadcast(gap=stream.gap[0], work=stream.work[0, ..., 0], offset=offset[..., 0], **alone)
    return Paths(*ways)


def _way(paths: Paths, read: Array) -> Path:
    """Return the path of each request: the path of reads for a read, and the path of writes for a write."""
    one, other = paths
    return Path(
        out=jnp.where(read, one.out, other.out),
        offset=jnp.where(read[..., None], one.offset, other.offset),
        port=jnp.where(read, one.port, other.port),
        transit=jnp.where(read, one.transit, other.transit),
        receive=jnp.where(read, one.receive, other.receive),
    )


def _pass(busy: _Busy, request: RequestStream, path: Path) -> tuple[_Busy, Array]:
    """Return the time for which each server is busy after a request, and the completion time of the request."""
    used = request.blocks > 0
    answers = jnp.where(request.read[..., None], request.blocks, used)
    port, transit = path.port[..., None], path.transit
    start = jnp.maximum(busy.disk, busy.sending[..., None] + path.offset)
    done = start + request.work
    ready = jnp.where(request.read[..., None], start + request.work / jnp.maximum(request.blocks, 1), done)
    sent = jnp.maximum(done + port, jnp.maximum(busy.port, ready) + answers * port)
    first = jnp.min(jnp.where(used, ready + port, jnp.inf), axis=-1) + transit
    last = jnp.max(jnp.where(used, sent, -jnp.inf), axis=-1) + transit
    received = jnp.maximum(busy.receiving, first) + jnp.sum(answers, axis=-1) * path.receive
    after = _Busy(
        disk=jnp.where(used, done, busy.disk),
        port=jnp.where(used, sent, busy.port),
        sending=busy.sending + path.out,
        receiving=received,
    )
    return after, jnp.maximum(last + path.receive, received)
