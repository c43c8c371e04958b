"""The trace Financial (section 5): one hour of the real trace if its file exists, otherwise a synthetic trace."""

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
# Bytes of contiguous addresses that stay together on one volume when the addresses are divided among the volumes.
EXTENT = 16 * MB


@dataclass(frozen=True)
class FinancialSource:
    """Source of the requests of Financial.

    trace: the real trace; None for the synthetic trace. basis: basis of the findings, see `Measurement`. name:
    description of the source.
    """

    trace: RequestTrace | None
    basis: str
    name: str

    def arrivals(self, layout: Segments) -> AbstractArrivals:
        """Return the arrivals on the volumes of a layout, half of the requests on each."""
        if self.trace is not None:
            return _recorded(self.trace, layout)
        sizes = [volume.sectors for volume in layout.volumes]
        requests = VolumeRequests(
            ExponentialSize(SIZE), READS, volumes=sizes, shares=[1 / len(sizes)] * len(sizes), clients=CLIENTS
        )
        return ClosedOrOpen(requests, rate=REQUESTS / HOUR)


def stand_in() -> FinancialSource:
    """Return a synthetic trace with the statistics that the paper gives for its hour of Financial.

    The hour has 249,496 requests of 15.5 KB on average, 33% of them reads. Arrivals are independent, sizes exponential
    and addresses uniform, as in the paper's own synthetic traces, because the paper gives no further statistics.
    """
    name = "a synthetic trace with the parameters of the paper and independent arrivals"
    return FinancialSource(None, "stand-in", name)


def financial(folder: str | Path = "") -> FinancialSource:
    """Return one hour of the public trace Financial1 if `folder` has its whole file, otherwise the synthetic trace.

    The paper does not name its hour. This function takes the hour whose number of requests is nearest to the number of
    requests in the paper.

    Parameters
    ----------
    folder : str or Path
        Folder of the real traces, see `resources.real_traces`.

    Returns
    -------
    FinancialSource
        The requests, their origin ("trace" or "stand-in") and a name for the notes.
    """
    lying = real_traces("ars", folder)
    if "financial" not in lying:
        return stand_in()
    trace = read(lying["financial"])
    hours = np.histogram(trace.time, np.arange(0, trace.time[-1] + HOUR, HOUR))[0]
    hour = int(np.argmin(np.abs(hours - REQUESTS)))
    name = f"the hour of Financial1 that starts at hour {hour}, with {hours[hour]} requests"
    return FinancialSource(trace.window(hour * HOUR, (hour + 1) * HOUR), "trace", name)


def _recorded(trace: RequestTrace, layout: Segments) -> RecordedArrivals:
    """Return the arrivals of the trace. Extents of `EXTENT` bytes of the trace are assigned to the volumes in turn.

    A request that crosses the end of a segment is divided there. The client of a request is the number of its device
    modulo `CLIENTS`, because the trace has more devices than the cluster has clients.
    """
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
