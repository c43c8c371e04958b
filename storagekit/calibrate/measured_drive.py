"""Comparison of a measured drive with its model: service times of the same requests, one request at a time."""

from typing import Any, NamedTuple, cast

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jaxtyping import Array, Bool, Float, Int

from storagekit.calibrate.demerit import demerit
from storagekit.core import units
from storagekit.core.errors import InputError
from storagekit.core.provenance import made_by
from storagekit.drive import Arm, Drive, DriveController, OneKind, Target
from storagekit.drive.buffer import BufferMemory, BufferRequest, BufferSegments, serve
from storagekit.workload.trace import RequestTrace

# A read is assumed to need the arm if it is more than REACH sectors from each of the RECENT requests before it.
RECENT = 32
REACH = 1024
# Largest share of requests that arrive before the completion of the request before. Noise causes a small share, several
# outstanding requests a large one.
OVERLAPPING = 0.1
MEANINGS = {
    "measured": "measured service time",
    "service": "modelled service time",
    "seek": "controller's overhead, arm movement and settling",
    "rotation": "rotational latency",
    "transfer": "time from the first sector to the end of the transfer on the bus",
}


class Controller(NamedTuple):
    """Times between the host and the mechanics, in seconds.

    Parameters
    ----------
    sector : float
        Time of a sector on the bus, by default 0. In DiskSim 4.0: bulk sector transfer time.
    read_after_read, read_after_write : float
        Time from the arrival of a read until the arm moves: first for a read after a read, then for a read after a
        write; by default 0. In DiskSim 4.0: overheads of read misses.
    write : float
        Time from the arrival of a write until the arm moves, by default 0. In DiskSim 4.0: overhead of write misses.
    """

    sector: float = 0.0
    read_after_read: float = 0.0
    read_after_write: float = 0.0
    write: float = 0.0

    @classmethod
    def of(cls, controller: DriveController) -> "Controller":
        """Return the bus time and the overheads of read misses from the controller of a drive.

        `write` is 0, because the overhead of a write depends on write-behind, which is not modelled here.
        """
        overheads = controller.overheads
        return cls(controller.bus.read, overheads.read_miss_after_read, overheads.read_miss_after_write)


class MeasuredAccess(NamedTuple):
    """One request of the stream; times in seconds.

    target: location of the request. read: whether the request is a read. before: time from its arrival until the arm
    moves. crossing: time from its first sector under the head to its completion. think: time from its completion to the
    next arrival.
    """

    target: Target
    read: Bool[Array, "*row"]
    before: Float[Array, "*row"]
    crossing: Float[Array, "*row"]
    think: Float[Array, "*row"]


def measured_stream(trace: RequestTrace, drive: OneKind, controller: Controller | None = None) -> xr.Dataset:
    """Simulate a stream that was measured on a real drive, with the model of this drive.

    The model has arm, platter and bus only: no cache, no read-ahead and no write-behind.

    Parameters
    ----------
    trace : RequestTrace
        The stream, measured with one outstanding request.
    drive : OneKind
        The model of the drive.
    controller : Controller, optional
        Times of controller and bus, by default all 0.

    Returns
    -------
    Dataset
        For each request (dimension `request`): `measured`, the measured service time, seconds; `service`, the modelled
        service time, seconds; `seek`, `rotation` and `transfer`, the parts of `service`, seconds; `read`, whether the
        request is a read; and `apart`, whether the request is more than REACH sectors from each of the RECENT requests
        before it, so that the drive's cache could not serve it. Two variables describe the reads that are `apart`:
        `compared`, the number of these reads, and `demerit`, the demerit of the model over these reads, seconds.

    Raises
    ------
    InputError
        If the trace has no measured service times, has several devices, several outstanding requests or no reads that
        are `apart`, or is larger than the drive.

    Notes
    -----
    A request arrives one think time after the model has completed the request before it. The sectors of a read cross
    the bus as the platter delivers them. The sectors of a write cross the bus while the arm moves. The arm starts at
    the location of the first request. The phases of the platters are unknown. Distributions can therefore be compared,
    but single requests cannot.
    """
    measured = _measured(trace, drive)
    if not (lies_apart(trace) & trace.read).any():
        raise InputError(
            f"{trace.source.name}: no read lies more than {REACH} sectors from the {RECENT} requests before it; a "
            "model without a buffer needs such reads; give another stream"
        )
    controller = controller or Controller()
    seek, rotation, transfer = (
        np.asarray(part, float) for part in _through(drive, _accesses(trace, drive, controller))
    )
    service = seek + rotation + transfer
    parts = {"measured": measured, "service": service, "seek": seek, "rotation": rotation, "transfer": transfer}
    return _beside(trace, drive, parts, controller._asdict())


def buffered_stream(trace: RequestTrace, drive: Drive, controller: DriveController) -> xr.Dataset:
    """Simulate a stream that was measured on a real drive, with the model of this drive and its buffer.

    The model has controller, bus and buffer (`storagekit.drive.buffer`): hits, read-ahead and write-behind.

    Parameters
    ----------
    trace : RequestTrace
        The stream, measured with one outstanding request.
    drive : Drive
        Arm and platter.
    controller : DriveController
        Controller, bus and buffer.

    Returns
    -------
    Dataset
        As from `measured_stream`, without the parts of the service time. If the stream has no reads that can be
        compared, `compared` is 0 and `demerit` is NaN. Attribute `model` describes the model.

    Raises
    ------
    InputError
        If the trace has no measured service times, has several devices or several outstanding requests, or is larger
        than the drive; or if the drive has more than 2^31 - 1 sectors, or sectors of 4 KB.

    Notes
    -----
    The arm starts on cylinder 0.
    """
    measured = _measured(trace, drive)
    service = buffered_service(trace, drive, controller)[:, 0]
    buffer = controller.buffer
    size = f"{buffer.segments} segment{'s' if buffer.segments > 1 else ''} of {buffer.sectors} sectors"
    model = f"arm and platter, controller and bus, and a buffer of {size}: hits, read-ahead"
    model += " and write-behind" if buffer.writes_behind else "; writes complete on the platter"
    return _beside(trace, drive, {"measured": measured, "service": service}, {"model": model})


def buffered_service(
    trace: RequestTrace, drive: Drive, controller: DriveController
) -> Float[np.ndarray, "request run"]:
    """Return the service times of a stream in the model of `buffered_stream`, for one or more controllers.

    Parameters
    ----------
    trace : RequestTrace
        The stream, measured with one outstanding request.
    drive : Drive
        Arm and platter.
    controller : DriveController
        Controller, bus and buffer. Each time, and `most_ahead`, is a number or an array with one number for each run.

    Returns
    -------
    float, `[request, run]`
        Service times, seconds. There is a single run if no parameter is an array.

    Raises
    ------
    InputError
        If the trace has several outstanding requests, or the drive cannot have a buffer.
    """
    buffer = controller.buffer._replace(most_ahead=np.asarray(controller.buffer.most_ahead, np.int32))
    controller = jax.tree.map(_single, controller._replace(buffer=buffer))
    _, *batch = np.broadcast_shapes((1, 1), *(leaf.shape for leaf in jax.tree.leaves(controller) if np.ndim(leaf)))
    taken = _through_buffer(
        BufferSegments(drive, controller), _requests(trace, drive), _narrow(thinks(trace)), tuple(batch)
    )
    return np.asarray(taken, float)


def _single(figure: Any) -> Any:
    """Return a time, or an array with one value for each run, as a JAX array; an array gets the shape `[1, run]`.

    New values then do not cause a new compilation. Counts and switches that are Python numbers are returned unchanged.
    """
    if not isinstance(figure, float | np.ndarray | np.floating):
        return figure
    return _narrow(np.atleast_2d(figure) if np.ndim(figure) else figure)


def _beside(trace: RequestTrace, drive: OneKind, parts: dict[str, np.ndarray], attrs: dict[str, Any]) -> xr.Dataset:
    """Return measured and modelled times of each request, and the demerit over the reads that are `apart`."""
    apart = lies_apart(trace)
    compared = apart & trace.read
    measured, service = parts["measured"][compared], parts["service"][compared]
    far = demerit(measured, service) if compared.any() else np.nan
    return xr.Dataset(
        {
            **{name: ("request", part, {"units": "s", "long_name": MEANINGS[name]}) for name, part in parts.items()},
            "read": ("request", trace.read, {"long_name": "whether a request is a read"}),
            "apart": ("request", apart, {"long_name": "whether a request is far from the requests just before it"}),
            "compared": (
                (),
                int(compared.sum()),
                {"units": "requests", "long_name": "reads far from earlier requests"},
            ),
            "demerit": ((), far, {"units": "s", "long_name": "demerit"}),
        },
        attrs=made_by("trace")
        | {
            "trace": trace.source.name,
            "drive": getattr(drive, "name", type(drive).__name__),
            **attrs,
            "recent_requests": RECENT,
            "reach_sectors": REACH,
        },
    )


def _measured(trace: RequestTrace, drive: OneKind) -> Float[np.ndarray, "request"]:
    """Return the service times of a stream with one outstanding request, see `measured_service`."""
    measured = measured_service(trace, drive)
    thinks(trace)
    return measured


def thinks(trace: RequestTrace) -> Float[np.ndarray, "request"]:
    """Return the time in seconds from each completion to the next arrival; 0 for the last request.

    Parameters
    ----------
    trace : RequestTrace
        A log that was measured with one outstanding request.

    Returns
    -------
    float, `[request]`
        Think times, seconds.

    Raises
    ------
    InputError
        If the share of requests that arrive before the previous request has completed exceeds OVERLAPPING.
    """
    if trace.think is not None:
        return trace.think
    assert trace.measured_response is not None
    pause = np.diff(trace.time) - trace.measured_response[:-1]
    early = np.mean(pause < -units.US) if pause.size else 0.0
    if early > OVERLAPPING:
        raise InputError(
            f"{trace.source.name}: {early:.0%} of the requests arrive before the previous request completes, at most "
            f"{OVERLAPPING:.0%} are allowed; measure with one request outstanding and exact arrivals (fio: iodepth=1, "
            "log_issue_time=1)"
        )
    return np.append(np.maximum(pause, 0.0), 0.0)


def measured_service(trace: RequestTrace, drive: OneKind) -> Float[np.ndarray, "request"]:
    """Return the service times, in seconds, that were measured on a drive.

    Parameters
    ----------
    trace : RequestTrace
        The log.
    drive : OneKind
        The model of the drive.

    Returns
    -------
    float, `[request]`
        Service times, seconds.

    Raises
    ------
    InputError
        If the trace has no service times, has several devices, or is larger than the drive.
    """
    if trace.measured_response is None:
        raise InputError(
            f"{trace.source.name}: the trace has no service times (measured_response); give a disksim-validate file "
            "or a fio log"
        )
    if len(trace.devices) != 1:
        raise InputError(f"{trace.source.name}: the trace has {len(trace.devices)} devices; select one")
    end = int(trace.ends()[0])
    if end > drive.capacity * units.SECTOR:
        raise InputError(
            f"{trace.source.name}: a request ends at byte {end}, but the drive has {drive.capacity * units.SECTOR} "
            "bytes; give the drive on which the trace was measured"
        )
    return trace.measured_response


def _accesses(trace: RequestTrace, drive: OneKind, controller: Controller) -> MeasuredAccess:
    sector, count = _sectors(trace)
    target = drive.locate(cast(Array, sector), cast(Array, count))
    off_platter = np.asarray(target.transfer)
    on_bus = bus_follows(off_platter, count, controller.sector)
    after_read = np.append(True, trace.read[:-1])
    before_read = np.where(after_read, controller.read_after_read, controller.read_after_write)
    return MeasuredAccess(
        target=jax.tree.map(_narrow, target),
        read=_narrow(trace.read),
        before=_narrow(np.where(trace.read, before_read, controller.write)),
        crossing=_narrow(np.where(trace.read, on_bus, off_platter)),
        think=_narrow(thinks(trace)),
    )


def bus_follows(
    off_platter: Float[np.ndarray, "*row"], sectors: Int[np.ndarray, "*row"], sector: float
) -> Float[np.ndarray, "*row"]:
    """Return the time from the moment when a read's first sector is under the head to the end of its bus transfer.

    Parameters
    ----------
    off_platter : float, `[*row]`
        Time in which the sectors pass under the head, seconds.
    sectors : int, `[*row]`
        Number of sectors.
    sector : float
        Time of a sector on the bus, seconds.

    Returns
    -------
    float, `[*row]`
        Time, seconds.

    Notes
    -----
    With p = `off_platter`, n = `sectors` and b = `sector`, the result is max(p + b, p / n + n b). If the bus is faster
    than the platter, the bus ends one sector after the platter. If the bus is slower, the bus is busy without a pause
    from the first sector on.
    """
    return np.maximum(off_platter + sector, off_platter / sectors + sectors * sector)


def _narrow(column) -> Array:
    column = np.asarray(column)
    kind = {"f": np.float32, "i": np.int32}.get(column.dtype.kind, column.dtype)
    return jnp.asarray(column.astype(kind))


@jax.jit
def _through(drive: OneKind, accesses: MeasuredAccess) -> tuple[Array, Array, Array]:
    """Return seek, rotation and transfer of each request in seconds. Seek includes the time before the arm moves."""

    def serve(state: tuple[Arm, Array], access: MeasuredAccess):
        arm, phase = state
        at = phase + drive.turns(access.before)
        positioning = drive.positioning(arm, at, access.target, access.read)
        service = access.before + positioning.total + access.crossing
        # Separate terms: the rounded sum would lose the fraction of a turn after a long pause.
        phase = phase + drive.drift(service) + drive.drift(access.think)
        times = (access.before + positioning.seek, positioning.rotation, access.crossing)
        return (access.target.end, phase - jnp.floor(phase)), times

    first = jax.tree.map(lambda column: column[0], accesses.target)
    start = (Arm(first.cylinder, first.head), jnp.float32(0))
    return jax.lax.scan(serve, start, accesses)[1]


def _sectors(trace: RequestTrace) -> tuple[Int[np.ndarray, "request"], Int[np.ndarray, "request"]]:
    """Return the first sector and the number of sectors of each request, on the host, where addresses have 64 bits."""
    return trace.offset // units.SECTOR, -(-trace.size // units.SECTOR)


def _requests(trace: RequestTrace, drive: Drive) -> BufferRequest:
    read, sector, count = (cast(Array, column) for column in (trace.read, *_sectors(trace)))
    return jax.tree.map(_narrow, BufferRequest(read, sector, count, drive.locate(sector, count)))


@eqx.filter_jit
def _through_buffer(
    segments: BufferSegments, requests: BufferRequest, think: Float[Array, "request"], batch: tuple[int, ...]
) -> Float[Array, "request *batch"]:
    """Return the service time of each request, in seconds."""

    def serve_next(state: tuple[BufferMemory, Array], inputs: tuple[BufferRequest, Array]):
        (memory, angle), (request, pause) = state, inputs
        request, pause = jax.tree.map(lambda column: jnp.broadcast_to(column, (1, *batch)), (request, pause))
        taken, memory = serve(segments, memory, angle, request)
        # Separate terms: the rounded sum would lose the fraction of a turn after a long pause.
        angle = angle + segments.drive.drift(taken) + segments.drive.drift(pause)
        return (memory.elapse(taken).elapse(pause), angle - jnp.floor(angle)), taken[0]

    start = segments.init(batch), jnp.zeros((1, *batch), jnp.float32)
    return jax.lax.scan(serve_next, start, (requests, think))[1]


def lies_apart(trace: RequestTrace) -> Bool[np.ndarray, "request"]:
    """Return whether each request is more than REACH sectors from each of the RECENT requests before it.

    The value is false for the first request.
    """
    reach = REACH * units.SECTOR
    begin, end = trace.offset, trace.offset + trace.size
    apart = np.ones(len(trace), bool)
    apart[:1] = False
    for back in range(1, RECENT + 1):
        far = (begin[back:] > end[:-back] + reach) | (end[back:] < begin[:-back] - reach)
        apart[back:] &= far
    return apart
