"""Predictions of the formulas for each scheme."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from storagekit.analytic.array.costs import Load, costs
from storagekit.analytic.array.disk_load import Background, Operation
from storagekit.analytic.array.elevator import Scheduler
from storagekit.analytic.array.loaded import Loaded, RequestClass, TransferSizes, all_of, disk_demand
from storagekit.analytic.array.loaded import loaded_by_class as checked_loaded_by_class
from storagekit.analytic.array.positioning import Curve, Linear
from storagekit.analytic.array.shapes import Columns
from storagekit.core.validation import unchecked
from storagekit.plan.prediction import Prediction, TenantFigures
from storagekit.plan.requirements import Requirements
from storagekit.plan.scheme import Scheme, SchemeFigures, SimulatedOnly
from storagekit.plan.streaming import background_of, growth_after_loss, requests_of_disk, used_share

# the arguments have been validated
loaded_by_class = unchecked(checked_loaded_by_class)
# factor by which the data may exceed the nominal capacity of the drives
SLACK = 1 + 1e-6
# Estimated utilization from which a scheme counts as overloaded without a simulation. The choice of the nearer copy can
# at most halve the service time.
_HOPELESS = 2.0
# transfer times of each size; see `Requirements.transfers`
_TIMES = 2
# requests a second of an idle array, and number of steps of the search for the largest rate
_IDLE, _HALVINGS = 1e-6, 12
# seeds of the simulations of schemes without a formula
_SEEDS = range(4)


def holds(needs: Requirements, scheme: Scheme) -> bool:
    """Return whether the data fits on the disks."""
    return needs.data <= scheme.usable(needs.capacity) * SLACK


def turns_in_time(needs: Requirements, scheme: Scheme) -> bool:
    """Return whether the longest transfer ends before the next replica of the block reaches the head.

    The rotational replicas of a block are at equal distances on the track.
    """
    replicas = scheme.shape.replicas
    if replicas == 1:
        return True
    return needs.longest + float(needs.disk.head_switch) <= float(needs.disk.revolution) / replicas


def load_share(needs: Requirements, one: Prediction) -> float:
    """Return the load as a share of the maximum load of a scheme.

    Without command queueing, the result is the utilization of the disks. With command queueing, a nearly saturated disk
    serves requests faster if more of them wait, so that the result is the rate divided by the maximum rate.
    """
    if needs.rate is None or needs.queue_depth == 1:
        return one.utilization
    return needs.rate / one.disk_limit if one.disk_limit else np.inf


def overloads_after_failure(needs: Requirements, one: Prediction) -> bool:
    """Return whether a scheme that must tolerate failures would be overloaded while a disk is lost."""
    return bool(needs.tolerate and one.degraded >= 1)


def predict_disks(
    needs: Requirements, timing: Curve | Linear, schemes: Sequence[Scheme], scheduler: Scheduler
) -> list[Prediction]:
    """Return the predictions of schemes on disks, without spares, prices and network.

    timing: the `spindle` of the drive. scheduler: scheduler of the disks, used with outstanding requests.
    """
    known = [one for one in schemes if not isinstance(one, SimulatedOnly)]
    if needs.rate is None:
        found = [one for count in _counts(known) for one in _outstanding(needs, timing, _of(known, count), scheduler)]
    else:
        found = _arriving(needs, timing, known)
    return found + [_simulated(needs, timing, one, scheduler) for one in schemes if isinstance(one, SimulatedOnly)]


def _counts(schemes: Sequence[Scheme]) -> list[int]:
    return sorted({one.disks for one in schemes})


def _of(schemes: Sequence[Scheme], disks: int) -> list[Scheme]:
    return [one for one in schemes if one.disks == disks]


def _used(needs: Requirements, schemes: Sequence[Scheme]) -> NDArray:
    return np.array([used_share(needs, one) for one in schemes])


def _transfers(needs: Requirements, schemes: Sequence[Scheme], used: NDArray) -> NDArray:
    """Return the transfer times of each scheme, `[scheme, size, 2]`. See `Requirements.transfers`."""
    ways = np.array([one.shape.ways for one in schemes], int)
    found = np.empty((len(schemes), len(needs.sizes), _TIMES))
    for each in set(ways.tolist()):
        found[ways == each] = needs.transfers(used[ways == each], each)
    return found


def sizes_on(needs: Requirements, schemes: Sequence[Scheme], used: NDArray) -> list[TransferSizes]:
    """Return the transfer times of the accesses of each scheme. used: share of each disk that is used, `[scheme]`."""
    times, shares = _transfers(needs, schemes, used), _of_times(needs.shares)
    return [
        TransferSizes(seconds, shares, np.repeat(again_of(needs, scheme), _TIMES))
        for scheme, seconds in zip(schemes, times.reshape(len(schemes), shares.size), strict=True)
    ]


def _of_times(shares: NDArray | Sequence[float]) -> NDArray:
    """Return the share of the requests with each transfer time, from the share of each size."""
    return np.repeat(shares, _TIMES) / _TIMES


def again_of(needs: Requirements, scheme: Scheme) -> NDArray:
    """Return the additional time of a write of each size in seconds; see `Requirements.again`.

    It is 0 if the parts of a divided request are whole pages.
    """
    return needs.again * (not scheme.whole_pages)


def classes_of(needs: Requirements, operations: Sequence[tuple[Operation, ...]] = ()) -> tuple[RequestClass, ...]:
    """Return the classes of requests of `loaded_by_class`: one for each tenant.

    operations: kinds of the requests of each class, if the layout alone does not determine them.
    """
    found = []
    for number, one in enumerate(needs.mixes):
        sizes = None if one.sizes is None else tuple(_of_times(one.sizes))
        found.append(RequestClass(one.share, one.read_share, sizes, operations[number] if operations else None))
    return tuple(found)


class Responses(NamedTuple):
    """The response times of all requests, and of each tenant."""

    all: Loaded
    tenants: tuple[Loaded, ...]

    @classmethod
    def of(cls, needs: Requirements, classes: Sequence[RequestClass], found: Sequence[Loaded]) -> "Responses":
        """Return the response times, from the response times of classes. Without tenants, there is one class."""
        return cls(all_of(classes, found), tuple(found) if needs.tenants else ())

    def figures(self, needs: Requirements) -> tuple[TenantFigures, ...]:
        """Return the mean and the 99th percentile of each tenant."""
        pairs = zip(needs.tenants, self.tenants, strict=True)
        return tuple(TenantFigures(one.name, found.mean, found.quantile(0.99)) for one, found in pairs)


def responses_of(needs: Requirements, timing: Curve | Linear, scheme: Scheme) -> Responses:
    """Return the distributions of the response times of a scheme with a formula, for arrivals at a rate."""
    classes = classes_of(needs)
    return Responses.of(needs, classes, responses_of_classes(needs, timing, scheme, classes))


def responses_of_classes(
    needs: Requirements, timing: Curve | Linear, scheme: Scheme, classes: tuple[RequestClass, ...]
) -> tuple[Loaded, ...]:
    """Return the distributions of the response times of each class of requests of a scheme with a formula."""
    used = _used(needs, [scheme])
    (sizes,) = sizes_on(needs, [scheme], used)
    reach = float(np.asarray(timing.reach(used))[0])
    return _loaded(needs, timing, scheme, reach, sizes, background_of(needs, timing, scheme), classes)


def _loaded(
    needs: Requirements,
    timing: Curve | Linear,
    scheme: Scheme,
    reach: float,
    sizes: TransferSizes,
    background: Background,
    classes: tuple[RequestClass, ...],
) -> tuple[Loaded, ...]:
    """Return the distributions of the response times of each class.

    reach: share of the cylinders with data. sizes: see `sizes_on`.
    """
    assert needs.rate is not None
    return loaded_by_class(
        timing,
        scheme.shape,
        reach,
        sizes,
        classes,
        disks=scheme.disks,
        rate=needs.rate,
        depth=needs.queue_depth,
        background=background,
    )


def _arriving(needs: Requirements, timing: Curve | Linear, schemes: Sequence[Scheme]) -> list[Prediction]:
    assert needs.rate is not None
    used = _used(needs, schemes)
    sizes = sizes_on(needs, schemes, used)
    figures, tenants, others, classes = [], [], [], classes_of(needs)
    for scheme, reach, each in zip(schemes, np.asarray(timing.reach(used)).tolist(), sizes, strict=True):
        loads = _loaded(needs, timing, scheme, reach, each, background_of(needs, timing, scheme), classes)
        found = Responses.of(needs, classes, loads)
        every = found.all
        quantiles = every.quantile(0.95), every.quantile(0.99)
        most = _throughput(needs, timing, scheme, reach, each, classes) if needs.streams else every.saturation
        figures.append(SchemeFigures(most, every.mean, *quantiles, every.utilization))
        tenants.append(found.figures(needs))
        others.append(every.background)
    transfer = np.array([each.seconds @ each.shares for each in sizes])
    predictions = _predictions(needs, timing, schemes, figures, transfer, sizes, others)
    if not needs.tenants:
        return predictions
    return [replace(one, tenants=each) for one, each in zip(predictions, tenants, strict=True)]


def _throughput(
    needs: Requirements,
    timing: Curve | Linear,
    scheme: Scheme,
    reach: float,
    sizes: TransferSizes,
    classes: tuple[RequestClass, ...],
) -> float:
    """Return the largest rate of requests that streams allow. With more requests, streams need more seeks."""
    assert needs.rate is not None
    accesses = requests_of_disk(needs, scheme) / needs.rate

    def most(rate: float) -> float:
        found = disk_demand(
            timing,
            scheme.shape,
            reach,
            sizes,
            classes,
            disks=scheme.disks,
            rate=rate,
            depth=needs.queue_depth,
            background=background_of(needs, timing, scheme, others=accesses * rate),
        )
        return found.saturation(rate)

    least, last = 0.0, most(_IDLE)
    for _ in range(_HALVINGS if last > 0 else 0):
        middle = (least + last) / 2
        least, last = (middle, last) if most(middle) > middle else (least, middle)
    return least


def _outstanding(
    needs: Requirements, timing: Curve | Linear, schemes: Sequence[Scheme], scheduler: Scheduler
) -> list[Prediction]:
    assert needs.outstanding is not None
    disks = schemes[0].disks
    used = _used(needs, schemes)
    overhead = _transfers(needs, schemes, used).mean(axis=-1) @ needs.shares
    queue = needs.outstanding / disks
    load = Load(needs.read_share, 0.0, queue, 1.0, needs.data / needs.capacity)
    shapes = Columns.of([one.shape for one in schemes])
    settle = timing.write_settle + np.array([needs.shares @ again_of(needs, one) for one in schemes])
    own = replace(timing, overhead=overhead, write_settle=settle)
    found = costs(own, load, shapes, disks, used, scheduler)
    rates = found.throughput(disks)
    figures = [
        SchemeFigures(float(rate), needs.outstanding / float(rate), np.nan, np.nan, min(float(busy), 1 - 1e-9))
        for rate, busy in zip(rates, found.busy, strict=True)
    ]
    return _predictions(needs, timing, schemes, figures, overhead)


def _simulated(needs: Requirements, timing: Curve | Linear, scheme: SimulatedOnly, scheduler: Scheduler) -> Prediction:
    used = used_share(needs, scheme)
    overhead = float(needs.disk.overhead)
    transfer = overhead + float(needs.shares @ (needs.transfers(used).mean(axis=1) - overhead)) / scheme.cuts
    access = transfer + float(timing.mean_seek(timing.reach(used))) + float(needs.disk.revolution) / 2
    # a write settles, and it reads a sector that it covers only in part
    access += (1 - needs.read_share) * float(np.asarray(timing.write_settle) + needs.shares @ again_of(needs, scheme))
    figures = _simulated_figures(needs, scheme, access, None if needs.rate is not None else scheduler)
    (found,) = _predictions(needs, timing, [scheme], [figures], np.array([transfer]))
    return replace(found, basis="simulated")


def _simulated_figures(
    needs: Requirements, scheme: SimulatedOnly, access: float, scheduler: Scheduler | None
) -> SchemeFigures:
    """Return the simulated values of a scheme without a formula. access: approximate time of an access, seconds.

    For arrivals at a rate, the throughput is the rate at which the disks would always be busy if the service time did
    not change with the rate. A scheme is overloaded if it does not serve the load. A scheme with an estimated
    utilization of at least `_HOPELESS` counts as overloaded without a simulation.
    """
    # only these schemes need the simulation engine
    from storagekit.plan.simulating import NEARLY_SATURATED, OVERLOAD, scheme_requests, simulate_scheme

    busy = 0.0
    if needs.rate is not None:
        read, write = scheme.accesses
        busy = needs.rate * (needs.read_share * read + (1 - needs.read_share) * write) * access / scheme.disks
        # disks that select requests serve up to three times as many
        if busy >= _HOPELESS * (1 if needs.queue_depth == 1 else 3):
            return SchemeFigures(needs.rate / busy, np.inf, np.inf, np.inf, busy)
        busy = min(busy, NEARLY_SATURATED)
    expected = access * scheme.accesses[1] / (1 - busy)
    found = simulate_scheme(needs, scheme, scheduler, expected, _SEEDS, scheme_requests(needs, busy)).mean("seed")
    works = float(found.utilization.isel(brick=slice(0, scheme.disks)).mean())
    served, mean = float(found.request_rate), float(found.response)
    if needs.rate is None:
        # formulas give no quantile with outstanding requests, and all ranked schemes need the same measures
        return SchemeFigures(served, mean, np.nan, np.nan, min(works, 1 - 1e-9))
    if served < OVERLOAD * needs.rate:
        return SchemeFigures(served, np.inf, np.inf, np.inf, 1.0)
    p95, p99 = (float(found.response_quantile.sel(quantile=share)) for share in (0.95, 0.99))
    return SchemeFigures(needs.rate / works, mean, p95, p99, min(works, 1 - 1e-9))


def _predictions(
    needs: Requirements,
    timing: Curve | Linear,
    schemes: Sequence[Scheme],
    figures: Sequence[SchemeFigures],
    transfer: NDArray,
    sizes: Sequence[TransferSizes] = (),
    streams: Sequence[float] = (),
) -> list[Prediction]:
    """Return the predictions of schemes with these measures.

    transfer: mean transfer time of each scheme, seconds. sizes: transfer times of each scheme; by default, reads and writes
    take `transfer`. streams: share of the time for which sequential streams occupy a disk of each scheme; by default 0.
    """
    used = _used(needs, schemes)
    seeks = timing.mean_seek(timing.reach(used))
    moved = used * needs.capacity / needs.sequential_rate(used)
    busy = streams or [0.0] * len(schemes)
    times = zip(transfer.tolist(), transfer.tolist(), transfer.tolist(), strict=True)
    if sizes:
        shares = [_of_times(each) for each in needs.shares_by_operation]
        times = (tuple(float(each.seconds @ share) for share in (each.shares, *shares)) for each in sizes)
    each = zip(schemes, figures, times, seeks.tolist(), moved.tolist(), busy, strict=True)
    return [_prediction(needs, timing, *one) for one in each]


def _prediction(
    needs: Requirements,
    timing: Curve | Linear,
    scheme: Scheme,
    figures: SchemeFigures,
    transfers: tuple[float, float, float],
    seek: float,
    moved: float,
    streams: float,
) -> Prediction:
    """Return the prediction of a scheme.

    transfers: mean transfer time of all requests, of reads, and of writes, seconds. seek: mean seek time, seconds. moved:
    time to read or to write the used part of a disk, seconds. streams: share of the time for which sequential streams occupy
    a disk.
    """
    settle = float(np.asarray(timing.write_settle))
    shape, reads, turn = scheme.shape, needs.read_share, float(needs.disk.revolution)
    arc = turn / shape.replicas
    transfer, of_reads, of_writes = transfers
    positioning = seek + arc / 2
    plain = settle + float(needs.shares_by_operation[1] @ again_of(needs, scheme))
    first = of_writes + positioning
    write = first + plain + turn * shape.turned
    degraded, streams_lost = np.nan, 0.0
    if needs.rate is not None:
        # disks that select requests are faster with a longer queue, so that only the limit of the rate counts
        load = figures.utilization - streams
        if needs.queue_depth > 1:
            load = needs.rate / figures.throughput * (1 - streams) if figures.throughput else np.inf
        streams_lost = streams * growth_after_loss(needs, timing, scheme, seek)
        degraded = load * scheme.degraded(reads, of_reads + positioning, write, first) + streams_lost
    left = np.nan if np.isnan(degraded) else max(0.0, 1 - degraded)
    return Prediction(
        scheme,
        0,
        *figures,
        scheme.usable(needs.capacity),
        scheme.tolerates,
        np.nan,
        degraded,
        np.inf if left == 0 else scheme.rebuild(moved, left),
        _parts(needs, scheme, transfer, seek, arc / 2 + (1 - reads) * turn * shape.turned),
        streams=streams,
        streams_lost=streams_lost,
    )


def _parts(needs: Requirements, scheme: Scheme, transfer: float, seek: float, rotation: float) -> dict[str, float]:
    """Return the transfer, seek and rotation of a response in seconds, from the times of its first access."""
    shape, writes = scheme.shape, 1 - needs.read_share
    parts = {"transfer": transfer, "seek": seek, "rotation": rotation}
    if shape.returns:
        # the write follows when the data comes round again
        parts["rotation"] += writes * float(needs.disk.revolution)
    elif shape.read_first:
        parts = {name: (1 + writes) * part for name, part in parts.items()}
    return parts
