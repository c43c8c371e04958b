"""What the simulated figures show, claim by claim (ids of data/claims/swift.yaml)."""

from itertools import pairwise

import numpy as np
import xarray as xr

from storagekit.metrics import Measurement, interval, with_interval
from storagekit.papers.swift.system import LARGE_UNIT, M2372K, gigabit
from storagekit.units import MB, MS

# "nearly linear": twice as much gives at least 1.7 times as much, 15% less than in proportion (the scorecard's "near");
# "almost level": no more than 15% up
NEARLY = 0.15


def shared_findings() -> list[Measurement]:
    """The parameters that figures 3 to 6 share."""
    block = float(M2372K.mean(LARGE_UNIT)) / MS
    full = gigabit(LARGE_UNIT, 32)
    limit, _ = full.saturation()
    busy = {rate: float(full.utilization(rate)["network"]) for rate in (22.0, limit)}
    return [
        Measurement("swift.sim.block_32k", block, basis="analytic", note="16 + 8.3 ms and 32,768 bytes at 2.5 MB/s"),
        Measurement(
            "swift.sim.ring_use",
            busy[22.0],
            basis="analytic",
            holds=busy[22.0] <= 0.22,
            note="at 22 requests/s of 1 MB, the largest load that the paper states; more than 22% from "
            f"{22 * 0.22 / busy[22.0]:.1f}/s on, {busy[limit]:.1%} where the disks are always busy ({limit:.1f}/s)",
        ),
    ]


def fig3_findings(data: xr.Dataset, sustainable: xr.Dataset) -> list[Measurement]:
    """Figure 3. sustainable: figure 6, whose text says what it calls the largest sustainable load."""
    mean = data.completion.mean("seed")
    many = mean.sel(unit=LARGE_UNIT, disks=32)
    system = gigabit(LARGE_UNIT, 32)
    limit, _ = system.saturation()
    own = interval(sustainable[["rate", "utilization"]].sel(unit=LARGE_UNIT, disks=32))
    rate, busy = (float(own[name].sel(statistic="mean")) for name in ("rate", "utilization"))
    rates = data.rate.sel(unit=LARGE_UNIT, disks=32)
    at_22 = float(np.interp(22.0, rates, many))
    there = float(system.utilization(22.0)["disk"])
    readings = (
        f"what the largest load is, the text of the figure does not say: disks are always busy at {limit:.1f}/s, judged "
        f"here; requests take as long as they are apart, which is what figures 5 and 6 call so, at {rate:.1f}/s; "
        f"at 22/s a request takes {at_22 * 1e3:.0f} ms, {at_22 / float(many[0]):.1f} times its time alone"
    )
    doubled = {disks: twice(data, LARGE_UNIT, disks) for disks in data.disks.values.tolist()}
    soonest = all(
        np.nanargmin([twice(data, unit, disks) for disks in data.disks.values.tolist()]) == 0
        for unit in data.unit.values.tolist()
    )
    rise = float(many.sel(load=0.5) / many[0]) - 1
    return [
        Measurement("swift.fig3.knee_32", limit, basis="analytic", note=readings),
        Measurement(
            "swift.fig3.utilization_at_knee",
            there,
            basis="analytic",
            note=f"both readings: {there:.0%} at 22/s by the paper's own 37 ms a block; {busy:.0%} where requests take as "
            f"long as they are apart ({rate:.1f}/s), so that the 50% may belong to that load and the 22/s to another",
        ),
        Measurement(
            "swift.fig3.four_disks",
            soonest,
            note="requests/s at which a request takes twice its time alone, 32 KB: "
            + ", ".join(f"{disks} disks {value:.1f}" for disks, value in doubled.items()),
        ),
        Measurement(
            "swift.fig3.flat",
            1 + rise,
            holds=rise <= NEARLY,
            note=f"time at half of what 32 disks can carry over the time alone, level if within 15%; {rise:.0%} are "
            f"{(float(many.sel(load=0.5)) - float(many[0])) * 1e3:.0f} ms, little on an axis of seconds for 4 disks",
        ),
    ]


def fig4_findings(data: xr.Dataset) -> list[Measurement]:
    """Figure 4: at every completion time that two numbers of disks both reach, the larger carries more."""
    mean = data.completion.mean("seed")
    said, holds = [], True
    for fewer, more in pairwise(data.disks.values.tolist()):
        least, most = float(mean.sel(disks=[fewer, more]).isel(load=0).max()), float(mean.sel(disks=more).max())
        if not least < most:
            note = f"no completion time is common to {fewer} and {more} disks: {least:.3g} s at least, {most:.3g} s at most"
            return [Measurement("swift.fig4.order", None, note=note)]
        levels = np.geomspace(least, min(most, float(mean.sel(disks=fewer).max())), 20)
        one, other = (np.interp(levels, mean.sel(disks=disks), data.rate.sel(disks=disks)) for disks in (fewer, more))
        holds &= bool(np.all(other > one))
        said.append(f"{fewer} and {more} disks at {levels[10] * 1e3:.0f} ms: {one[10]:.1f} and {other[10]:.1f}/s")
    return [Measurement("swift.fig4.order", holds, note="; ".join(said))]


def fig5_findings(data: xr.Dataset) -> list[Measurement]:
    """Figure 5."""
    rate = interval(data[["data_rate"]]).data_rate / 1e6
    devices = data.device.values.tolist()
    other = float(rate.sel(device=devices[1], disks=32, statistic="mean"))
    return [
        with_interval(
            "swift.fig5.rate_32",
            rate.sel(device=devices[0], disks=32),
            f"{devices[0]}, the base device; {other:.2f} on the slower one; MB of 10^6",
        ),
        _linear("swift.fig5.linear", {name: rate.sel(device=name) for name in devices}, "disks"),
    ]


def fig6_findings(data: xr.Dataset) -> list[Measurement]:
    """Figure 6."""
    rate = interval(data[["data_rate"]]).data_rate / 1e6
    most = rate.sel(unit=LARGE_UNIT, disks=32)
    note = f"MB of 10^6; {float(most.sel(statistic='mean')) * 1e6 / MB:.1f} of 2^20"
    disks = _linear("", {f"{unit / 1024:.0f} KB": rate.sel(unit=unit) for unit in data.unit.values.tolist()}, "disks")
    units = _linear("", {"32 disks": rate.sel(disks=32)}, "unit")
    return [
        with_interval("swift.fig6.rate_32", most, note),
        Measurement(
            "swift.fig6.linear",
            bool(disks.holds and units.holds),
            note=f"disks: {disks.note}; units: {units.note}; between 16 and 32 KB the transfer is no longer small beside "
            "seek and rotation (13 of 37 ms), and the paper's own 2 and 12 MB/s are six times for eight times the unit",
        ),
    ]


def twice(data: xr.Dataset, unit: float, disks: int) -> float:
    """Requests a second at which a request takes twice as long as at the lowest load; NaN if at none of the loads."""
    mean = data.completion.mean("seed").sel(unit=unit, disks=disks)
    return float(np.interp(2 * float(mean[0]), mean, data.rate.sel(unit=unit, disks=disks), right=np.nan))


def _linear(claim: str, series: dict[str, xr.DataArray], axis: str) -> Measurement:
    """Whether every doubling along `axis` gives nearly twice as much; the least growth, for each doubling, of each series."""
    least = {name: min(_doublings(rate.sel(statistic="mean"), axis)) for name, rate in series.items()}
    said = ", ".join(f"{name} x{growth:.2f}" for name, growth in least.items())
    return Measurement(
        claim,
        min(least.values()),
        holds=min(least.values()) >= 2 * (1 - NEARLY),
        note=f"least growth with twice the {axis} (1.7 or more is nearly linear): {said}",
    )


def _doublings(rate: xr.DataArray, axis: str) -> list[float]:
    """Growth from each value of `axis` to the next, for each doubling on the way."""
    steps = list(pairwise(rate[axis].values.tolist()))
    return [float(rate.sel({axis: b}) / rate.sel({axis: a})) ** (1 / np.log2(b / a)) for a, b in steps]
