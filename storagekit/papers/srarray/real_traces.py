"""Response times of real traces that are similar to the paper's, with the layouts of figure 10."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import xarray as xr

from storagekit.core.errors import InputError
from storagekit.core.resources import real_traces
from storagekit.core.units import SECTOR
from storagekit.papers.measurement import Measurement, with_interval
from storagekit.papers.srarray.agreement import paired
from storagekit.papers.srarray.disk import QUICK, ArrayEffort
from storagekit.papers.srarray.disk_array import ArrayRun, cut, small
from storagekit.papers.srarray.rates import CELLO_LAYOUTS
from storagekit.papers.srarray.replays import rule
from storagekit.simulation import sweep
from storagekit.workload.trace import RequestTrace, read
from storagekit.workload.trace.locality import seek_locality

REAL = ("hplajw", "cello2003")
REAL_CLAIMS = ("order", "vs_striping", "vs_raid10", "best")


def traces(effort: ArrayEffort = QUICK, folder: str | Path = "", *, scales: Sequence[float] = (1.0, 8.0, 64.0)):
    """Return the response time of real traces with the six-disk layouts of figure 10.

    Parameters
    ----------
    effort : ArrayEffort
        Gives the number of requests and the first of four seeds.
    folder : str or Path
        Folder of real traces, see `resources.real_traces`.
    scales : sequence of float
        Request rates in the run divided by the request rate of the trace, by default 1, 8 and 64.

    Returns
    -------
    Dataset or None
        None if the folder has none of the traces. Otherwise `response`, in seconds, and further measures over `trace`,
        `layout`, `scale` and `seed`; the seed sets the phases of the spindles. Over `trace`: `requests_of`, the number
        of requests; `locality`, the seek locality L of the whole trace; `span`, the fraction of the drive that the data
        take; `recommended`, the layout of equation 5 for this span and for the larger of L and 1.

    Notes
    -----
    The data set consists of the busiest devices of each trace that together fit on one drive, one after the other. The
    runs use `effort.requests` requests from the middle of this trace, or all requests if it has fewer. Windows of
    synthetic traces have the same length.
    """
    lying = real_traces("srarray", folder)
    there = {name: lying[name] for name in REAL if name in lying}
    if not there:
        return None
    array, found = small(effort), []
    for name, path in there.items():
        room = array.drive.capacity * SECTOR
        whole = busiest(read(path), 0.99 * room)
        size = float(whole.ends()[0])
        first = max(0, (len(whole) - effort.requests) // 2)
        part = cut(whole, slice(first, first + effort.requests))
        replay = array.replays(part, size)
        data = sweep(
            lambda layout, scale, replay=replay: replay(ArrayRun(layout, scale)),
            {"layout": list(CELLO_LAYOUTS), "scale": list(scales)},
            seeds=effort.successive(4),
            requests=len(part),
            warm_up=0,
            allow_blocked=True,
            slots=array.slots,
        )
        local = seek_locality(whole) or 1.0
        data["requests_of"], data["locality"], data["span"] = ((), len(part)), ((), local), ((), size / room)
        data["recommended"] = ((), str(rule(6, float(whole.read.mean()), max(1.0, local), size / room)))
        found.append(data.assign_coords(trace=name))
    joined = xr.concat(found, dim="trace", combine_attrs="override")
    return joined.assign_attrs(paper="srarray", exhibit="srarray.traces", basis="trace")


def busiest(trace: RequestTrace, room: float) -> RequestTrace:
    """Return the requests to the busiest devices whose data together fit into a given space, as requests to one device.

    Parameters
    ----------
    trace : RequestTrace
        The trace.
    room : float
        Size of the space, bytes.

    Returns
    -------
    RequestTrace
        The requests, on a single device in which the addresses of the devices follow one another.

    Raises
    ------
    InputError
        If every device has more data than `room`.
    """
    count, ends = np.bincount(trace.device, minlength=len(trace.devices)), trace.ends()
    kept: list[int] = []
    for device in np.argsort(-count, kind="stable"):
        if count[device] and ends[[*kept, device]].sum() <= room:
            kept.append(int(device))
    if not kept:
        raise InputError(f"No device of the trace has at most {room / 1e9:.3g} GB of data. Give a larger drive.")
    return trace.select([trace.devices[device] for device in kept]).concatenated()


def traces_findings(data: xr.Dataset | None) -> list[Measurement]:
    """Return the findings on the order of the layouts of figure 10 for real traces.

    Parameters
    ----------
    data : Dataset or None
        Result of `traces`. The findings on a trace that is missing have no measured value.

    Returns
    -------
    list of Measurement
        One finding for each claim of `srarray.traces`.

    References
    ----------
    srarray, figure 10 and section 4.1.
    """
    if data is None:
        return [_unseen(name, claim) for name in REAL for claim in REAL_CLAIMS]
    found = []
    for name in REAL:
        if name not in data.trace.values:
            found += [_unseen(name, claim) for claim in REAL_CLAIMS]
            continue
        mean = data.response.sel(trace=name)
        ours, scale = mean.sel(layout="2x3x1"), float(data.scale[0])
        row = mean.sel(scale=scale).mean("seed")
        text = ", ".join(f"{layout} {float(row.sel(layout=layout)) * 1e3:.2f}" for layout in row.layout.values)
        order = [float(row.sel(layout=layout)) for layout in ("2x3x1", "1x1x6", "3x1x2", "6x1x1")]
        best, rule = float(row.min()), str(data.recommended.sel(trace=name).item())
        chosen = float(row.sel(layout=rule))
        count = int(data.requests_of.sel(trace=name))
        note = f"At the rate of the trace, the mean response times in ms are {text}. The run has {count} requests."
        found += [
            Measurement(
                f"srarray.traces.{name}_order",
                bool(np.all(np.diff(order) >= -0.01 * np.array(order[:-1]))),
                basis="trace",
                note="The claim holds if the order from the shortest to the longest response time is 2x3x1, 1x1x6, "
                f"3x1x2, 6x1x1, with a tolerance of 1%. {note}",
            ),
            *(
                with_interval(
                    f"srarray.traces.{name}_vs_{scheme}",
                    paired(mean.sel(layout=layout, scale=scale), ours.sel(scale=scale)),
                    f"The value is the response time of {layout} divided by the response time of 2x3x1. {note}",
                    "trace",
                    holds=bool(row.sel(layout=layout) > row.sel(layout="2x3x1")),
                )
                for scheme, layout in (("striping", "6x1x1"), ("raid10", "3x1x2"))
            ),
            Measurement(
                f"srarray.traces.{name}_best",
                chosen <= 1.05 * best,
                basis="trace",
                note=f"Equation 5 gives the layout {rule} for a seek locality L of "
                f"{float(data.locality.sel(trace=name)):.2f} (1 if L is smaller) and data on "
                f"{float(data.span.sel(trace=name)):.0%} of the drive. The claim holds if this layout is at most 5% "
                f"slower than the best layout. {note}",
            ),
        ]
    return found


def _unseen(name: str, claim: str) -> Measurement:
    """Return a finding without a measured value, because the trace is missing."""
    note = f"The claim needs the real trace {name}. Give its folder with `--traces DIR`."
    return Measurement(f"srarray.traces.{name}_{claim}", None, basis="trace", note=note)
