"""Financial (section 5): a stand-in, or where its file is, the hour of it that has as many requests, from its start on."""

from dataclasses import dataclass, replace
from pathlib import Path

import jax.numpy as jnp
import numpy as np

from storagekit.core.resources import real_traces
from storagekit.core.units import HOUR, KB, MB, SECTOR
from storagekit.placement import Segments, cut
from storagekit.workload import (
    AbstractArrivals,
    ClosedOrOpen,
    ExponentialSize,
    RecordedArrivals,
    VolumeRequests,
    recorded,
)
from storagekit.workload.trace import RequestTrace, read

REQUESTS, SIZE, READS = 249_496, 15.5 * KB, 0.33
CLIENTS = 5
# what lies together stays so as addresses are dealt out to the volumes
EXTENT = 16 * MB


@dataclass(frozen=True)
class FinancialSource:
    """Financial as it is run, as many of its requests as a run has. trace: None for the stand-in; else its devices are those
    who ask. basis, name: what it is."""

    trace: RequestTrace | None
    basis: str
    name: str

    def arrivals(self, layout: Segments) -> AbstractArrivals:
        """Its requests on these volumes, half of them on each."""
        if self.trace is not None:
            return _recorded(self.trace, layout)
        sizes = [volume.sectors for volume in layout.volumes]
        requests = VolumeRequests(
            ExponentialSize(SIZE), READS, volumes=sizes, shares=[1 / len(sizes)] * len(sizes), clients=CLIENTS
        )
        return ClosedOrOpen(requests, rate=REQUESTS / HOUR)


def stand_in() -> FinancialSource:
    """What the paper says of its hour, and nothing else: 249,496 requests, 15.5 KB on average, 33% reads; independent
    arrivals, exponential sizes and uniform addresses, as in the synthetic traces, because it says no more."""
    name = "stand-in of the paper's figures, independent arrivals"
    return FinancialSource(None, "stand-in", name)


def financial(folder: str | Path = "") -> FinancialSource:
    """The hour of the public Financial1 that has about as many requests as the paper's, which it does not name, if `folder`
    (see `resources.real_traces`) has the whole file; else the stand-in."""
    lying = real_traces("ars", folder)
    if "financial" not in lying:
        return stand_in()
    trace = read(lying["financial"])
    hours = np.histogram(trace.time, np.arange(0, trace.time[-1] + HOUR, HOUR))[0]
    hour = int(np.argmin(np.abs(hours - REQUESTS)))
    name = f"from the start of hour {hour} of Financial1, which has {hours[hour]} requests"
    return FinancialSource(trace.window(hour * HOUR, (hour + 1) * HOUR), "trace", name)


def _recorded(trace: RequestTrace, layout: Segments) -> RecordedArrivals:
    """The trace dealt out to the volumes, extent by extent, and divided where segments end. Its devices are its clients,
    dealt round, because there are more of them."""
    sizes = np.asarray([volume.sectors * SECTOR for volume in layout.volumes])
    flat = trace.concatenated()
    extent, inside = np.divmod(flat.offset, EXTENT)
    volume = extent % len(sizes)
    within = (extent // len(sizes) * EXTENT + inside) % (sizes[volume] - flat.size)
    dealt = replace(flat, offset=(np.cumsum(sizes) - sizes)[volume] + within // SECTOR * SECTOR)
    pieces, whose = cut(dealt, layout)
    arrivals = recorded(pieces, int(sizes.sum()) // SECTOR, unit=layout.volumes[0].block)
    client = jnp.asarray(trace.device[whose] % CLIENTS, jnp.int32)
    return replace(arrivals, requests=arrivals.requests._replace(client=client), clients=True)
