"""Predictions of the formulas for each scheme."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from storagekit.analytic.array.costs import Load, costs
from storagekit.analytic.array.elevator import Scheduler
from storagekit.analytic.array.loaded import TransferSizes, loaded
from storagekit.analytic.array.positioning import Curve, Linear
from storagekit.analytic.array.shapes import Columns
from storagekit.plan.scheme_ranking.requirements import Requirements
from storagekit.plan.scheme_ranking.scheme import Scheme, SchemeFigures
from storagekit.plan.scheme_ranking.simulated_only import SimulatedOnly

# largest relative error of a measure that causes no remark
TELLING = 0.05
# tolerance of the nominal capacity of a drive
SLACK = 1 + 1e-6


@dataclass(frozen=True)
class Prediction:
    """A scheme with its predicted values, and the number of spare disks.

    basis: "analytic", or "simulated" if there is no formula. throughput: requests a second with the outstanding requests, or
    the maximum for arrivals at a rate. mean, p95, p99: response times in seconds. They are infinite if the disks are
    overloaded; p95 and p99 are NaN with outstanding requests. utilization: utilization of a disk. usable: capacity for data
    in bytes. tolerates: number of lost disks that the scheme tolerates. cost: total price; NaN if no price is given.
    degraded: utilization of the busiest disk after a loss, at the same rate. rebuild: seconds to restore a lost disk in the
    idle time of the other disks; infinite without idle time. degraded and rebuild are NaN if the data is lost, and with
    outstanding requests, because the rate then adapts. parts: the seconds of each part of an access.
    """

    scheme: Scheme
    spare: int
    throughput: float
    mean: float
    p95: float
    p99: float
    utilization: float
    usable: float
    tolerates: int
    cost: float
    degraded: float
    rebuild: float
    parts: dict[str, float]
    basis: str = "analytic"

    @property
    def name(self) -> str:
        """Return the name of the scheme with the number of its spares."""
        return f"{self.scheme}, {self.spare} spare{'s' * (self.spare > 1)}" if self.spare else str(self.scheme)

    @property
    def binds(self) -> str:
        """Return the largest part of the mean response time and its share, as text."""
        if self.utilization >= 1:
            return f"overloaded: {self.throughput:.0f} requests/s at most"
        shares = self.parts | {"waiting": max(0.0, self.mean - sum(self.parts.values()))}
        what = max(shares, key=lambda part: shares[part])
        return f"{what}, {shares[what] / sum(shares.values()):.0%}"


def fits(needs: Requirements, scheme: Scheme) -> bool:
    """Return whether the data fits, and whether a transfer is short enough for the dependent writes on a disk.

    Replicas of a block are one arc apart, so a transfer must fit into an arc. Parity is written one revolution after it was
    read, so a transfer must fit into a revolution.
    """
    if needs.data > scheme.usable(needs.capacity) * SLACK:
        return False
    shape = scheme.shape
    if shape.replicas > 1:
        return needs.longest + float(needs.drive.head_switch) <= float(needs.drive.revolution) / shape.replicas
    return not shape.turned or needs.longest <= float(needs.drive.revolution)


def predict(
    needs: Requirements, timing: Curve | Linear, schemes: Sequence[Scheme], scheduler: Scheduler, disks: int
) -> list[Prediction]:
    """Return the predictions of schemes that fit. A scheme uses up to `disks` disks, and the other disks are spares.

    timing: the `spindle` of the drive. scheduler: scheduler of the disks, used with outstanding requests.
    """
    known = [one for one in schemes if not isinstance(one, SimulatedOnly)]
    if needs.rate is None:
        found = [one for count in _counts(known) for one in _outstanding(needs, timing, _of(known, count), scheduler)]
    else:
        found = [_arriving(needs, timing, one) for one in known]
    found += [_simulated(needs, timing, one, scheduler) for one in schemes if isinstance(one, SimulatedOnly)]
    price = np.nan if needs.price is None else needs.price * disks
    return [dataclasses.replace(one, spare=disks - one.scheme.disks, cost=price) for one in found]


def _counts(schemes: Sequence[Scheme]) -> list[int]:
    return sorted({one.disks for one in schemes})


def _of(schemes: Sequence[Scheme], disks: int) -> list[Scheme]:
    return [one for one in schemes if one.disks == disks]


def used_share(needs: Requirements, scheme: Scheme) -> float:
    """Return the share of each disk that holds data, copies or parity."""
    return min(1.0, needs.data / scheme.usable(needs.capacity))


def _arriving(needs: Requirements, timing: Curve | Linear, scheme: Scheme) -> Prediction:
    assert needs.rate is not None
    used = used_share(needs, scheme)
    times = needs.transfers(used)
    each = times.shape[1]
    shares = np.repeat([share for _, share in needs.sizes], each) / each
    reach = float(timing.reach(used))
    found = loaded(
        timing,
        scheme.shape,
        reach,
        TransferSizes(times.ravel(), shares, np.repeat(needs.again, each)),
        disks=scheme.disks,
        rate=needs.rate,
        reads=needs.read_share,
    )
    quantiles = found.quantile(0.95), found.quantile(0.99)
    figures = SchemeFigures(found.saturation, found.mean, *quantiles, found.utilization)
    return _prediction(needs, timing, scheme, figures, float((times.ravel() * shares).sum()))


def _outstanding(
    needs: Requirements, timing: Curve | Linear, schemes: Sequence[Scheme], scheduler: Scheduler
) -> list[Prediction]:
    assert needs.outstanding is not None
    disks = schemes[0].disks
    used = np.array([used_share(needs, one) for one in schemes])
    weights = np.array([share for _, share in needs.sizes])
    overhead = np.array([weights @ needs.transfers(share).mean(axis=1) for share in used])
    queue = needs.outstanding / disks
    load = Load(needs.read_share, 0.0, queue, 1.0, needs.data / needs.capacity)
    shapes = Columns.of([one.shape for one in schemes])
    settle = timing.write_settle + weights @ needs.again
    own = dataclasses.replace(timing, overhead=overhead, write_settle=settle)
    found = costs(own, load, shapes, disks, used, scheduler)
    rates = found.throughput(disks)
    return [
        _prediction(
            needs,
            timing,
            one,
            SchemeFigures(float(rate), needs.outstanding / float(rate), np.nan, np.nan, min(float(busy), 1 - 1e-9)),
            float(other),
        )
        for one, rate, busy, other in zip(schemes, rates, found.busy, overhead, strict=True)
    ]


def _simulated(needs: Requirements, timing: Curve | Linear, scheme: SimulatedOnly, scheduler: Scheduler) -> Prediction:
    # only these schemes need the simulation engine
    from storagekit.plan.scheme_ranking.simulating import seen

    used = used_share(needs, scheme)
    weights = np.array([share for _, share in needs.sizes])
    overhead = float(needs.drive.overhead)
    transfer = overhead + float(weights @ (needs.transfers(used).mean(axis=1) - overhead)) / scheme.cuts
    access = transfer + float(timing.mean_seek(timing.reach(used))) + float(needs.drive.revolution) / 2
    # a write settles, and it reads a sector that it covers only in part
    access += (1 - needs.read_share) * float(np.asarray(timing.write_settle) + weights @ needs.again)
    figures = seen(needs, scheme, access, None if needs.rate is not None else scheduler)
    return dataclasses.replace(_prediction(needs, timing, scheme, figures, transfer), basis="simulated")


def _prediction(
    needs: Requirements, timing: Curve | Linear, scheme: Scheme, figures: SchemeFigures, transfer: float
) -> Prediction:
    busy = figures.utilization
    shape, reads, used = scheme.shape, needs.read_share, used_share(needs, scheme)
    seek, arc = float(timing.mean_seek(timing.reach(used))), float(needs.drive.revolution) / shape.replicas
    read = transfer + seek + arc / 2
    plain = (
        read + float(np.asarray(timing.write_settle)) + float(np.dot([share for _, share in needs.sizes], needs.again))
    )
    write = plain + float(needs.drive.revolution) * shape.turned
    degraded = busy * scheme.degraded(reads, read, write, plain) if needs.rate is not None else np.nan
    left = max(0.0, 1 - degraded) if np.isfinite(degraded) else np.nan
    moved = used * needs.capacity / needs.sequential_rate(used)
    return Prediction(
        scheme,
        0,
        *figures,
        scheme.usable(needs.capacity),
        scheme.tolerates,
        np.nan,
        degraded,
        np.inf if left == 0 else moved / left,
        {"transfer": transfer, "seek": seek, "rotation": arc / 2 + (1 - reads) * (write - plain)},
    )
