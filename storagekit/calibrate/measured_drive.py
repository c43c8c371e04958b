"""A measured drive beside its model: the same requests, one at a time, and how far apart the service times lie."""

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
from storagekit.drive import Arm, Drive, Electronics, OneKind, Target
from storagekit.drive.buffer import BufferMemory, BufferRequest, BufferSegments, serve
from storagekit.workload.trace import RequestTrace

# a read is taken to need the arm if it lies more than REACH sectors from all of the RECENT requests before it
RECENT = 32
REACH = 1024
# requests that come before the one before them is answered: noise has some do so, several outstanding requests have most
OVERLAPPING = 0.1
MEANINGS = {
    "measured": "service time that the drive took",
    "service": "service time of the model",
    "seek": "controller's overhead, arm movement and settling",
    "rotation": "rotation until the first sector",
    "transfer": "from the first sector to the last one's end on the bus",
}


class Controller(NamedTuple):
    """What stands between the host and the mechanics, seconds.

    sector: a sector's way across the bus. read_after_read, read_after_write: from the arrival of a read until the arm
    moves, by what the request before it was; write: the same of a write. (In DiskSim 4.0's parameters: bulk sector
    transfer time, and the overheads of read and write misses.)
    """

    sector: float = 0.0
    read_after_read: float = 0.0
    read_after_write: float = 0.0
    write: float = 0.0

    @classmethod
    def of(cls, electronics: Electronics) -> "Controller":
        """Bus and read misses of a drive's figures; `write` is 0, for a write's overhead hangs on whether it is written
        behind, which is not modelled here."""
        overheads = electronics.overheads
        return cls(electronics.bus.read, overheads.read_miss_after_read, overheads.read_miss_after_write)


class MeasuredAccess(NamedTuple):
    """One request of the stream: where it lies and what precedes and follows its way from arm to platter."""

    target: Target
    read: Bool[Array, "*row"]
    before: Float[Array, "*row"]
    crossing: Float[Array, "*row"]
    think: Float[Array, "*row"]


def measured_stream(trace: RequestTrace, drive: OneKind, controller: Controller | None = None) -> xr.Dataset:
    """A stream measured on a real drive, one request outstanding, through the model of that drive.

    Each request arrives its predecessor's think time after the model has answered it. Mechanics and bus only: no cache, no
    read-ahead, no writing behind. A read's sectors cross the bus as they come off the platter; a write's have come while
    the arm moved. The first request finds the arm at its own place.

    By request (dimension `request`): `measured` and `service`, the model's parts of it (`seek`, `rotation`, `transfer`), all
    in seconds; `read`; `apart`: more than REACH sectors from each of the RECENT requests before it, so that the
    drive's cache could not help with it. Over the reads apart: their number `compared`, and `demerit`, seconds. The platters'
    phases are unknown, so that distributions can be compared and single requests cannot.

    Raises InputError for a trace without measured service and think times, of several devices, or larger than the drive.
    """
    measured = _measured(trace, drive)
    if not (lies_apart(trace) & trace.read).any():
        raise InputError(
            f"{trace.source.name}: no read lies more than {REACH} sectors from the {RECENT} requests before it, which alone "
            "arm and platter explain; give a stream with such reads"
        )
    controller = controller or Controller()
    seek, rotation, transfer = (
        np.asarray(part, float) for part in _through(drive, _accesses(trace, drive, controller))
    )
    service = seek + rotation + transfer
    parts = {"measured": measured, "service": service, "seek": seek, "rotation": rotation, "transfer": transfer}
    return _beside(trace, drive, parts, controller._asdict())


def buffered_stream(trace: RequestTrace, drive: Drive, electronics: Electronics) -> xr.Dataset:
    """A stream measured on a real drive, one request outstanding, through the model of that drive with its controller, its
    bus and its buffer (`storagekit.drive.buffer`): hits, reading ahead, writing behind.

    As `measured_stream`, without the parts of the service time, the arm on cylinder 0 at first; where no reads lie apart
    `compared` is 0 and `demerit` NaN. The attribute `model` says what is modelled. Raises InputError as that does otherwise,
    and for a drive of more than 2^31 sectors or with sectors of 4 KB.
    """
    measured = _measured(trace, drive)
    service = buffered_service(trace, drive, electronics)[:, 0]
    buffer = electronics.buffer
    size = f"{buffer.segments} segment{'s' if buffer.segments > 1 else ''} of {buffer.sectors} sectors"
    model = f"arm and platter, controller and bus, and a buffer of {size}: hits, reading ahead"
    model += " and writing behind" if buffer.writes_behind else "; writes are answered from the platter"
    return _beside(trace, drive, {"measured": measured, "service": service}, {"model": model})


def buffered_service(trace: RequestTrace, drive: Drive, electronics: Electronics) -> Float[np.ndarray, "request lane"]:
    """Seconds that each request of such a stream takes, as `buffered_stream` has them, with several electronics at once: each
    of their times, and `most_ahead`, is a number or one for each lane `[lane]`; one lane where all are numbers."""
    buffer = electronics.buffer._replace(most_ahead=np.asarray(electronics.buffer.most_ahead, np.int32))
    electronics = jax.tree.map(_single, electronics._replace(buffer=buffer))
    _, *lanes = np.broadcast_shapes((1, 1), *(leaf.shape for leaf in jax.tree.leaves(electronics) if np.ndim(leaf)))
    taken = _through_buffer(
        BufferSegments(drive, electronics), _requests(trace, drive), _narrow(thinks(trace)), tuple(lanes)
    )
    return np.asarray(taken, float)


def _single(figure: Any) -> Any:
    """Times as arrays, which may change without compiling again, `[1, lane]` of lanes; counts and switches as they are."""
    if not isinstance(figure, float | np.ndarray | np.floating):
        return figure
    return _narrow(np.atleast_2d(figure) if np.ndim(figure) else figure)


def _beside(trace: RequestTrace, drive: OneKind, parts: dict[str, np.ndarray], attrs: dict[str, Any]) -> xr.Dataset:
    """Measured and modelled times by request, and how far they are apart."""
    apart = lies_apart(trace)
    compared = apart & trace.read
    measured, service = parts["measured"][compared], parts["service"][compared]
    far = demerit(measured, service) if compared.any() else np.nan
    return xr.Dataset(
        {
            **{name: ("request", part, {"units": "s", "long_name": MEANINGS[name]}) for name, part in parts.items()},
            "read": ("request", trace.read, {"long_name": "whether a request is a read"}),
            "apart": ("request", apart, {"long_name": "whether a request lies apart from those just before it"}),
            "compared": ((), int(compared.sum()), {"units": "requests", "long_name": "reads apart"}),
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
    """As `measured_service`, of a stream of one outstanding request."""
    measured = measured_service(trace, drive)
    thinks(trace)
    return measured


def thinks(trace: RequestTrace) -> Float[np.ndarray, "request"]:
    """Seconds from each answer to the next arrival, of a log that was measured one request at a time; 0 for the last. Raises
    InputError where more than OVERLAPPING of its requests come before the one before them is answered."""
    if trace.think is not None:
        return trace.think
    assert trace.measured_response is not None
    pause = np.diff(trace.time) - trace.measured_response[:-1]
    early = np.mean(pause < -units.US) if pause.size else 0.0
    if early > OVERLAPPING:
        raise InputError(
            f"{trace.source.name}: {early:.0%} of requests come before the one before is complete, at most {OVERLAPPING:.0%} "
            "may; measure with one request outstanding and exact arrivals (fio: iodepth=1, log_issue_time=1)"
        )
    return np.append(np.maximum(pause, 0.0), 0.0)


def measured_service(trace: RequestTrace, drive: OneKind) -> Float[np.ndarray, "request"]:
    """Seconds that each request took on the drive that the trace was measured on. Raises InputError for a trace without them,
    of several devices, or larger than this drive."""
    if trace.measured_response is None:
        raise InputError(
            f"{trace.source.name}: measured_response is missing: no service times; give a disksim-validate file or a fio log"
        )
    if len(trace.devices) != 1:
        raise InputError(f"{trace.source.name}: {len(trace.devices)} devices; select one of them")
    end = int(trace.ends()[0])
    if end > drive.capacity * units.SECTOR:
        raise InputError(
            f"{trace.source.name}: a request ends at byte {end}, the drive holds {drive.capacity * units.SECTOR}; "
            "give the drive that was measured"
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
    """Seconds from a read's first sector under the head to its last one's end on the bus. off_platter: how long its `sectors`
    take to pass; sector: how long one takes on the bus. The bus ends a sector after the platter, or is itself the slower from
    the first on."""
    return np.maximum(off_platter + sector, off_platter / sectors + sectors * sector)


def _narrow(column) -> Array:
    column = np.asarray(column)
    kind = {"f": np.float32, "i": np.int32}.get(column.dtype.kind, column.dtype)
    return jnp.asarray(column.astype(kind))


@jax.jit
def _through(drive: OneKind, accesses: MeasuredAccess) -> tuple[Array, Array, Array]:
    """Seek, rotation and transfer of each request, seconds."""

    def serve(state: tuple[Arm, Array], access: MeasuredAccess):
        arm, phase = state
        at = phase + drive.turns(access.before)
        positioning = drive.positioning(arm, at, access.target, access.read)
        service = access.before + positioning.total + access.crossing
        # separately: their sum, rounded, would lose what a long pause leaves of a turn
        phase = phase + drive.drift(service) + drive.drift(access.think)
        told = (access.before + positioning.seek, positioning.rotation, access.crossing)
        return (access.target.end, phase - jnp.floor(phase)), told

    first = jax.tree.map(lambda column: column[0], accesses.target)
    start = (Arm(first.cylinder, first.head), jnp.float32(0))
    return jax.lax.scan(serve, start, accesses)[1]


def _sectors(trace: RequestTrace) -> tuple[Int[np.ndarray, "request"], Int[np.ndarray, "request"]]:
    """Where requests begin, and how many sectors they have; on the host, where addresses have 64 bits."""
    return trace.offset // units.SECTOR, -(-trace.size // units.SECTOR)


def _requests(trace: RequestTrace, drive: Drive) -> BufferRequest:
    read, sector, count = (cast(Array, column) for column in (trace.read, *_sectors(trace)))
    return jax.tree.map(_narrow, BufferRequest(read, sector, count, drive.locate(sector, count)))


@eqx.filter_jit
def _through_buffer(
    segments: BufferSegments, requests: BufferRequest, think: Float[Array, "request"], lanes: tuple[int, ...]
) -> Float[Array, "request *batch"]:
    """Seconds that each request takes."""

    def serve_next(state: tuple[BufferMemory, Array], asked: tuple[BufferRequest, Array]):
        (memory, angle), (request, pause) = state, asked
        request, pause = jax.tree.map(lambda column: jnp.broadcast_to(column, (1, *lanes)), (request, pause))
        taken, memory = serve(segments, memory, angle, request)
        # separately: their sum, rounded, would lose what a long pause leaves of a turn
        angle = angle + segments.drive.drift(taken) + segments.drive.drift(pause)
        return (memory.elapse(taken).elapse(pause), angle - jnp.floor(angle)), taken[0]

    start = segments.init(lanes), jnp.zeros((1, *lanes), jnp.float32)
    return jax.lax.scan(serve_next, start, (requests, think))[1]


def lies_apart(trace: RequestTrace) -> Bool[np.ndarray, "request"]:
    """Which requests lie more than REACH sectors from each of the RECENT before them, the first one not: `[request]`."""
    reach = REACH * units.SECTOR
    begin, end = trace.offset, trace.offset + trace.size
    apart = np.ones(len(trace), bool)
    apart[:1] = False
    for back in range(1, RECENT + 1):
        far = (begin[back:] > end[:-back] + reach) | (end[back:] < begin[:-back] - reach)
        apart[back:] &= far
    return apart
