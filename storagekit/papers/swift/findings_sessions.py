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
    """Whoever is admitted gets its rate; whoever is refused did not pass a test that is sufficient, not necessary."""
    sessions, met = int(data.sessions.sum()), int(data.met.sum())
    reserved, runs = data.reserved, data.sizes["run"]
    network = int(data.constraint.str.startswith("network").sum())
    note = (
        f"{met} of {sessions} admitted sessions had every stripe in time in {runs} fillings; then one was refused, {network} "
        "times for the network, else for a disk, with disks reserved for "
        f"{float(reserved.min()):.0%} to {float(reserved.max()):.0%} of their time; {int(data.spared.sum())} of these {runs} "
        "would have been met in a simulation with all others: the test supposes a block of every session at once"
    )
    share = met / sessions
    return Measurement("swift.mediator.reject", share, note=note, holds=share >= PROMISED)


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
