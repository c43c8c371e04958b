"""Real traces of the same family through the layouts of figure 10, and what they show."""

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
    """Real traces through the six-disk layouts of figure 10, by `trace`, `layout`, `scale` and `seed` (spindle phases).

    folder: see `resources.real_traces`; None is returned where none of it is there. The busiest devices of each trace that
    fit on one drive together are laid end to end as one data set; `requests_of` it, as many as a window of a stand-in has,
    are run, from its middle. `recommended` is the layout of equation 5 at the `locality` of the whole trace, with the `span`
    of the drive that the data take.
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
            allow_held_up=True,
            slots=array.slots,
        )
        local = seek_locality(whole) or 1.0
        data["requests_of"], data["locality"], data["span"] = ((), len(part)), ((), local), ((), size / room)
        data["recommended"] = ((), str(rule(6, float(whole.read.mean()), max(1.0, local), size / room)))
        found.append(data.assign_coords(trace=name))
    joined = xr.concat(found, dim="trace", combine_attrs="override")
    return joined.assign_attrs(paper="srarray", exhibit="srarray.traces", basis="trace")


def busiest(trace: RequestTrace, room: float) -> RequestTrace:
    """The requests to the busiest devices that have room for their data together, laid end to end; room: bytes."""
    count, ends = np.bincount(trace.device, minlength=len(trace.devices)), trace.ends()
    kept: list[int] = []
    for device in np.argsort(-count, kind="stable"):
        if count[device] and ends[[*kept, device]].sum() <= room:
            kept.append(int(device))
    if not kept:
        raise InputError(f"no device of the trace has data of at most {room / 1e9:.3g} GB: take a larger drive")
    return trace.select([trace.devices[device] for device in kept]).concatenated()


def traces_findings(data: xr.Dataset | None) -> list[Measurement]:
    """The real traces through the layouts of figure 10: the orderings that the paper found on theirs."""
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
        told = ", ".join(f"{layout} {float(row.sel(layout=layout)) * 1e3:.2f}" for layout in row.layout.values)
        order = [float(row.sel(layout=layout)) for layout in ("2x3x1", "1x1x6", "3x1x2", "6x1x1")]
        best, rule = float(row.min()), str(data.recommended.sel(trace=name).item())
        chosen = float(row.sel(layout=rule))
        note = f"mean response at the trace's own rate, ms: {told}; {int(data.requests_of.sel(trace=name))} requests"
        found += [
            Measurement(
                f"srarray.traces.{name}_order",
                bool(np.all(np.diff(order) >= -0.01 * np.array(order[:-1]))),
                basis="trace",
                note=note,
            ),
            *(
                with_interval(
                    f"srarray.traces.{name}_vs_{scheme}",
                    paired(mean.sel(layout=layout, scale=scale), ours.sel(scale=scale)),
                    note,
                    "trace",
                    holds=bool(row.sel(layout=layout) > row.sel(layout="2x3x1")),
                )
                for scheme, layout in (("striping", "6x1x1"), ("raid10", "3x1x2"))
            ),
            Measurement(
                f"srarray.traces.{name}_best",
                chosen <= 1.05 * best,
                basis="trace",
                note=f"{rule} by equation 5 at L of {float(data.locality.sel(trace=name)):.2f} (at least 1) on "
                f"{float(data.span.sel(trace=name)):.0%} of the drive; {note}",
            ),
        ]
    return found


def _unseen(name: str, claim: str) -> Measurement:
    note = f"needs the real trace {name}: give the folder that has it, `--traces DIR`"
    return Measurement(f"srarray.traces.{name}_{claim}", None, basis="trace", note=note)
