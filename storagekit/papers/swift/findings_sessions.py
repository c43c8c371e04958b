"""What the mediator shows, claim by claim (swift.mediator of data/claims/swift.yaml)."""

import numpy as np
import xarray as xr

from storagekit.metrics import Measurement
from storagekit.units import KB

PROMISED = 0.99


def mediator_findings(admitted: xr.Dataset, choices: xr.Dataset, survival: xr.Dataset) -> list[Measurement]:
    """The three claims. admitted, choices, survival: of `sessions`."""
    return [_rejects(admitted), _chooses(choices), _survives(survival)]


def _rejects(data: xr.Dataset) -> Measurement:
    """Whoever is admitted gets its rate, and whoever is refused would have broken a limit."""
    sessions, met = int(data.sessions.sum()), int(data.met.sum())
    justified = bool((data["value"] > data["limit"]).all())
    reserved = data.reserved
    network = int(data.constraint.str.startswith("network").sum())
    note = (
        f"{met} of {sessions} admitted sessions had every stripe in time in {data.sizes['run']} fillings; each next one was "
        f"refused, every time over a limit: {'yes' if justified else 'no'} ({network} times the network's, else a disk's); "
        f"disks were then reserved for {float(reserved.min()):.0%} to {float(reserved.max()):.0%} of their time, as "
        "sessions of short periods have to wait, at worst, for a block of every other session"
    )
    share = met / sessions
    return Measurement("swift.mediator.reject", share, note=note, holds=justified and share >= PROMISED)


def _chooses(data: xr.Dataset) -> Measurement:
    """From the lowest rate to the highest neither fewer agents nor a larger unit, and at the ends more and smaller."""
    agents, unit = data.agents.dropna("rate"), data.unit.dropna("rate")
    steady = bool(np.all(np.diff(agents) >= 0) and np.all(np.diff(unit) <= 0))
    apart = bool(agents[-1] > agents[0] and unit[-1] < unit[0])
    ends = ", ".join(
        f"{float(agents.rate[at]) / 1e6:.1f} MB/s: {int(agents[at])} agents, {float(unit[at]) / KB:.0f} KB"
        for at in (0, -1)
    )
    return Measurement("swift.mediator.unit", steady and apart, note=f"an idle cluster of 32; {ends}")


def _survives(data: xr.Dataset) -> Measurement:
    reads, whole = int(data.reads.sum()), int(data.whole.sum())
    groups = ", ".join(str(group) for group in data.group.values.tolist())
    note = (
        f"{whole} of {reads} reads gave the object back: every agent in turn and one in every group, before and at eight "
        f"moments of the transfer, groups of {groups} data blocks"
    )
    return Measurement("swift.mediator.parity", whole / reads, note=note, holds=whole == reads)
