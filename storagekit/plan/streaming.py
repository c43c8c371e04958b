"""The accesses of sequential streams on the disks of a scheme."""

import math

import numpy as np

from storagekit.analytic.array.disk_load import NO_BACKGROUND, Background, BackgroundAccesses
from storagekit.analytic.array.positioning import Curve, Linear
from storagekit.core.units import SECTOR
from storagekit.plan.requirements import Requirements
from storagekit.plan.scheme import DegradedWork, Scheme
from storagekit.plan.transfers import paged


def used_share(needs: Requirements, scheme: Scheme) -> float:
    """Return the share of each disk's capacity that data, copies and parity occupy."""
    return min(1.0, needs.data / scheme.usable(needs.capacity))


def background_of(
    needs: Requirements,
    timing: Curve | Linear,
    scheme: Scheme,
    *,
    after: DegradedWork | None = None,
    others: float | None = None,
) -> Background:
    """Return the accesses of the sequential streams on each disk of a scheme.

    A stream passes over all disks in turn, a chunk of each, at constant intervals. Its writes read nothing first.

    Parameters
    ----------
    needs : Requirements
        The requirements, with the streams.
    timing : Linear or Curve
        The `spindle` of the drive.
    scheme : Scheme
        The scheme.
    after : DegradedWork, optional
        Work after the loss of a disk, whose reads the other disks share; by default no disk is lost.
    others : float, optional
        Other accesses a second on each disk, of requests and of a rebuild; by default the accesses of requests without a
        failure.

    Returns
    -------
    Background
        The accesses, one kind for each stream.
    """
    if not needs.streams:
        return NO_BACKGROUND
    shape, (written, together) = scheme.shape, scheme.written_in_sequence
    # requests that are divided over full stripes divide a chunk too
    part = paged(int(needs.chunk / SECTOR), shape.ways) * SECTOR if shape.ways > 1 else needs.chunk
    read = float(needs.disk.overhead) + part / float(needs.sequential_rate(used_share(needs, scheme)))
    write = read + float(np.asarray(timing.write_settle)) + shape.turned * float(needs.disk.revolution)
    left, more = (scheme.disks, 1.0) if after is None else (after.disks, 1 + 1 / after.disks)
    rates = [
        one.rate / needs.chunk / scheme.disks * (written if one.writes else shape.ways * more) for one in needs.streams
    ]
    requests = requests_of_disk(needs, scheme) if others is None else others
    return Background(
        tuple(
            BackgroundAccesses(
                rate,
                write if one.writes else read,
                # the probability that no Poisson arrival comes between two accesses of this stream
                math.exp(-(requests + sum(rates) - rate) / rate),
                min(left, together if one.writes else shape.ways),
            )
            for one, rate in zip(needs.streams, rates, strict=True)
        )
    )


def requests_of_disk(needs: Requirements, scheme: Scheme) -> float:
    """Return the number of accesses of requests a second at a disk."""
    assert needs.rate is not None
    shape, reads = scheme.shape, needs.read_share
    return needs.rate / scheme.disks * (reads * shape.ways + (1 - reads) * (shape.read_first + shape.written))


def growth_after_loss(needs: Requirements, timing: Curve | Linear, scheme: Scheme, seek: float) -> float:
    """Return the factor by which the work of the streams grows on the busiest disk if another disk is lost.

    It is 1 without streams. The other disks share the reads of the lost disk. seek: mean time of a seek, seconds.
    """
    if not needs.streams:
        return 1.0
    after = scheme.after_loss(needs.read_share)
    # copies without a formula: as for reads of requests
    more = scheme.degraded(1.0, 1.0, 1.0, 1.0) if after is None else 1 + 1 / after.disks
    rotation = float(needs.disk.revolution) / 2
    kinds = background_of(needs, timing, scheme).kinds
    work = [one.rate * (one.seconds + rotation + (1 - one.near) * seek) for one in kinds]
    grown = sum(each * (1.0 if one.writes else more) for each, one in zip(work, needs.streams, strict=True))
    return grown / sum(work)
