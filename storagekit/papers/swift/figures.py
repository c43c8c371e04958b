"""Completion time against load and largest sustainable data-rate: figures 3 to 6, and the findings on their claims."""

import time
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise, product

import numpy as np
import xarray as xr
from scipy.interpolate import PchipInterpolator

from storagekit.analytic.forkjoin import Simulation, StripedSystem, completion_bounds
from storagekit.core.provenance import as_text, made_by
from storagekit.core.units import MB, MS
from storagekit.papers.measurement import Measurement, with_interval
from storagekit.papers.swift.gigabit_system import (
    DISKS,
    LARGE_UNIT,
    M2372K,
    QUICK,
    SLOWER,
    SMALL_REQUEST,
    SMALL_UNIT,
    UNITS,
    StreamEffort,
    gigabit,
)
from storagekit.simulation import interval, ratio

# Loads as fractions of saturation. At more than nine tenths, a stream of some thousand requests gives an uncertain
# mean.
LOADS = (0.02, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9)
MORE_DISKS = (1, 2, *DISKS)
# Limit of "nearly linear": doubling gives at least 1.7 times the value, 15% less than in proportion (the "near" of the
# scorecard). Limit of "almost level": a rise of at most 15%.
NEARLY = 0.15
# The axis of figure 3 is in seconds: a rise of less than a tenth of a second is level there.
LEVEL = 0.1
# Largest load of 32 disks in the text on figure 3, requests a second.
SAID = 22.0
APART = "as long as apart"
KINDS = (APART, "knee", "paper", "saturation")


def fig3(effort: StreamEffort = QUICK, *, loads: Sequence[float] = LOADS) -> xr.Dataset:
    """Return the mean completion time of a request of 1 MB against load (figure 3).

    Parameters
    ----------
    effort : StreamEffort
        Number and length of the runs.
    loads : sequence of float
        Loads, as fractions of saturation.

    Returns
    -------
    Dataset
        Result of `against_load` over `unit`, `disks` and `load`.
    """
    return against_load(gigabit, {"unit": UNITS, "disks": DISKS}, loads, effort).assign_attrs(exhibit="swift.fig3")


def fig4(effort: StreamEffort = QUICK, *, loads: Sequence[float] = LOADS) -> xr.Dataset:
    """Return the mean completion time of a request of 128 KB on the slower disk against load (figure 4).

    The unit is 4 KB.

    Parameters
    ----------
    effort : StreamEffort
        Number and length of the runs.
    loads : sequence of float
        Loads, as fractions of saturation.

    Returns
    -------
    Dataset
        Result of `against_load` over `disks` and `load`.
    """

    def build(disks: int) -> StripedSystem:
        return gigabit(SMALL_UNIT, disks, SMALL_REQUEST, SLOWER)

    return against_load(build, {"disks": DISKS}, loads, effort).assign_attrs(exhibit="swift.fig4")


def fig5(effort: StreamEffort = QUICK, *, disks: Sequence[int] = MORE_DISKS) -> xr.Dataset:
    """Return the data-rate of a client at the largest sustainable load, 128 KB in units of 4 KB (figure 5).

    Parameters
    ----------
    effort : StreamEffort
        Number and length of the runs.
    disks : sequence of int
        Numbers of disks.

    Returns
    -------
    Dataset
        Result of `sustained` over `device` and `disks`.
    """
    devices = {device.name: device for device in (M2372K, SLOWER)}

    def build(device: str, disks: int) -> StripedSystem:
        return gigabit(SMALL_UNIT, disks, SMALL_REQUEST, devices[device])

    return sustained(build, {"device": list(devices), "disks": disks}, effort).assign_attrs(exhibit="swift.fig5")


def fig6(
    effort: StreamEffort = QUICK, *, disks: Sequence[int] = MORE_DISKS, units: Sequence[float] = UNITS
) -> xr.Dataset:
    """Return the data-rate of a client at the largest sustainable load, requests of 1 MB (figure 6).

    Parameters
    ----------
    effort : StreamEffort
        Number and length of the runs.
    disks : sequence of int
        Numbers of disks.
    units : sequence of float
        Striping units, bytes.

    Returns
    -------
    Dataset
        Result of `sustained` over `unit` and `disks`.
    """
    return sustained(gigabit, {"unit": units, "disks": disks}, effort).assign_attrs(exhibit="swift.fig6")


def against_load(
    build: Callable[..., StripedSystem],
    axes: Mapping[str, Sequence],
    loads: Sequence[float],
    effort: StreamEffort = QUICK,
) -> xr.Dataset:
    """Return the mean completion times of systems at fractions of their saturation.

    Parameters
    ----------
    build : callable
        Returns the system of a point of the grid.
    axes : mapping of str to sequence
        The values of each parameter of `build`.
    loads : sequence of float
        Loads, as fractions of the saturation of each system.
    effort : StreamEffort
        Number and length of the runs.

    Returns
    -------
    Dataset
        Variables over the axes and `load`. `completion`: mean completion time by `seed`, seconds. `rate`: requests a
        second. `low`, `high`: bounds of the completion time with the disks alone, seconds; NaN if the disks have
        different numbers of blocks. `utilization` by `resource`. All systems receive the same requests.
    """
    began = time.perf_counter()
    systems = [build(**point) for point in points(axes)]
    rates = np.array([system.saturation()[0] for system in systems])[:, None] * np.asarray(loads)
    completion = Simulation(systems, effort.seed_list, effort.requests).completion(rates)
    bounds = [_bounds(system, rate) for system, rate in zip(systems, rates, strict=True)]
    resources = list(systems[0].demands())
    busy = [[system.utilization(rate)[one] for one in resources] for system, rate in zip(systems, rates, strict=True)]
    flat = {
        "completion": (("load", "seed"), completion, "s", "mean time to complete a request"),
        "rate": (("load",), rates, "1/s", "requests per second"),
        "low": (("load",), [low for low, _ in bounds], "s", "lower bound for the disks only"),
        "high": (("load",), [high for _, high in bounds], "s", "upper bound for the disks only"),
        "utilization": (("resource", "load"), busy, "1", "fraction of the time that a resource is busy"),
    }
    data = on_grid(flat, axes)
    data = data.assign_coords(load=list(loads), seed=effort.seed_list, resource=resources)
    return data.assign_attrs(_simulated(systems, effort, time.perf_counter() - began))


def sustained(
    build: Callable[..., StripedSystem], axes: Mapping[str, Sequence], effort: StreamEffort = QUICK
) -> xr.Dataset:
    """Return the largest sustainable loads of systems (section 5.2).

    Parameters
    ----------
    build : callable
        Returns the system of a point of the grid.
    axes : mapping of str to sequence
        The values of each parameter of `build`.
    effort : StreamEffort
        Number and length of the runs.

    Returns
    -------
    Dataset
        Variables over the axes. `data_rate`, bytes a second, and `rate`, requests a second, by `seed`. `utilization`:
        utilization of the disks at this load, by `seed`. `saturation`: requests a second at which the bottleneck is
        always busy. `bottleneck`: name of this resource.

    Notes
    -----
    At the largest sustainable load the mean completion time is equal to the mean time between requests.
    """
    began = time.perf_counter()
    systems = [build(**point) for point in points(axes)]
    rate = Simulation(systems, effort.seed_list, effort.requests).sustainable()
    request = np.array([system.striping.request for system in systems])[:, None]
    limits = [system.saturation() for system in systems]
    disks = np.array([system.demands()["disk"] for system in systems])[:, None]
    flat = {
        "data_rate": (("seed",), rate * request, "B/s", "data-rate at the largest sustainable load"),
        "rate": (("seed",), rate, "1/s", "largest sustainable load"),
        "utilization": (("seed",), rate * disks, "1", "fraction of the time that a disk is busy"),
        "saturation": ((), [limit for limit, _ in limits], "1/s", "load at which the bottleneck is always busy"),
        "bottleneck": ((), [name for _, name in limits], "", "resource that limits the system"),
    }
    data = on_grid(flat, axes).assign_coords(seed=effort.seed_list)
    return data.assign_attrs(_simulated(systems, effort, time.perf_counter() - began))


def points(axes: Mapping[str, Sequence]) -> list[dict]:
    """Return every point of the grid that the axes span; the last axis varies fastest."""
    return [dict(zip(axes, values, strict=True)) for values in product(*axes.values())]


def on_grid(flat: Mapping[str, tuple], axes: Mapping[str, Sequence]) -> xr.Dataset:
    """Return variables with one dimension for each axis.

    Parameters
    ----------
    flat : mapping of str to tuple
        For each variable: its further dimensions, its values by point, its units and its meaning.
    axes : mapping of str to sequence
        The values of each axis.
    """
    shape = tuple(len(values) for values in axes.values())
    variables = {}
    for name, (dims, values, units, meaning) in flat.items():
        array = np.asarray(values)
        described = {"units": units, "long_name": meaning} if units else {"long_name": meaning}
        variables[name] = ((*axes, *dims), array.reshape(*shape, *array.shape[1:]), described)
    return xr.Dataset(variables, coords={name: list(values) for name, values in axes.items()})


def twice(data: xr.Dataset, unit: float, disks: int) -> float:
    """Return the load at which a request takes twice as long as at the lowest load, requests a second.

    Parameters
    ----------
    data : Dataset
        Result of `fig3`.
    unit : float
        Striping unit, bytes.
    disks : int
        Number of disks.

    Returns
    -------
    float
        The load, or NaN if it is higher than all loads of the data.
    """
    mean = data.completion.mean("seed").sel(unit=unit, disks=disks)
    return float(np.interp(2 * float(mean[0]), mean, data.rate.sel(unit=unit, disks=disks), right=np.nan))


def largest_loads(data: xr.Dataset, sustainable: xr.Dataset) -> xr.Dataset:
    """Return loads that may be called the largest load of 32 disks in units of 32 KB, with the load in the paper.

    Parameters
    ----------
    data : Dataset
        Result of `fig3`.
    sustainable : Dataset
        Result of `fig6`.

    Returns
    -------
    Dataset
        Variables over `load_meant`. `rate`: requests a second. `utilization`: utilization of the disks. `completion`:
        mean completion time, seconds. `times_alone`: this time over the time at the lowest load. NaN beyond the loads
        of the data.

    Notes
    -----
    The loads are "as long as apart", where the completion time is equal to the time between requests, as in figures 5
    and 6; "knee", where the power, requests a second over completion time, is largest; "paper", 22 requests a second;
    and "saturation", where the disks are always busy.

    References
    ----------
    Kleinrock, Power and deterministic rules of thumb, ICC 1979.
    """
    own = {"unit": LARGE_UNIT, "disks": 32}
    rates, mean = data.rate.sel(own), data.completion.mean("seed").sel(own)
    smooth = PchipInterpolator(rates.values, mean.values, extrapolate=False)
    tried = np.linspace(float(rates[0]), float(rates[-1]), 1001)
    system = gigabit(LARGE_UNIT, 32)
    apart = float(sustainable.rate.sel(own).mean("seed"))
    rate = np.array([apart, tried[np.argmax(tried / smooth(tried))], SAID, system.saturation()[0]])
    completion = smooth(rate)
    return xr.Dataset(
        {
            "rate": ("load_meant", rate, {"units": "1/s"}),
            "utilization": ("load_meant", np.asarray(system.utilization(rate)["disk"])),
            "completion": ("load_meant", completion, {"units": "s"}),
            "times_alone": ("load_meant", completion / float(mean[0])),
        },
        coords={"load_meant": list(KINDS)},
        attrs=data.attrs,
    )


BLOCK = (
    "The time is the sum of a seek of 16 ms, a rotational latency of 8.3 ms, and the transfer of 32,768 bytes at 2.5 "
    "MB/s."
)


def shared_findings() -> list[Measurement]:
    """Return the findings on the parameters that figures 3 to 6 share."""
    block = float(M2372K.mean(LARGE_UNIT)) / MS
    full = gigabit(LARGE_UNIT, 32)
    limit, _ = full.saturation()
    busy = {rate: float(full.utilization(rate)["network"]) for rate in (22.0, limit)}
    return [
        Measurement("swift.sim.block_32k", block, basis="analytic", note=BLOCK),
        Measurement(
            "swift.sim.ring_use",
            busy[22.0],
            basis="analytic",
            holds=busy[22.0] <= 0.22,
            note=(
                "The load is 22 requests/s of 1 MB, the largest load that the paper states. The use of the ring "
                f"exceeds 22% from {22 * 0.22 / busy[22.0]:.1f}/s. At {limit:.1f}/s the disks are always busy, and "
                f"the use of the ring is {busy[limit]:.1%}."
            ),
        ),
    ]


def fig3_findings(data: xr.Dataset, sustainable: xr.Dataset) -> list[Measurement]:
    """Return the findings on the claims of figure 3.

    Parameters
    ----------
    data : Dataset
        Result of `fig3`.
    sustainable : Dataset
        Result of `fig6`, because the text on figure 6 defines the largest sustainable load.
    """
    many = data.completion.mean("seed").sel(unit=LARGE_UNIT, disks=32)
    loads = largest_loads(data, sustainable)
    rate, busy = ({name: float(loads[of].sel(load_meant=name)) for name in KINDS} for of in ("rate", "utilization"))
    there = loads.sel(load_meant="paper")
    readings = (
        "The knee is the load at which request rate divided by completion time is largest. The disks are busy "
        f"{busy['knee']:.0%} of the time there. At {rate[APART]:.1f}/s a request takes as long as the time between "
        f"requests. Figures 5 and 6 call this load the largest. At {rate['saturation']:.1f}/s the disks are always "
        f"busy. The paper's load of 22/s lies beyond this knee, at {busy['paper']:.0%} of saturation. A request takes "
        f"{float(there.completion) * 1e3:.0f} ms at this load, {float(there.times_alone):.1f} times the time without "
        "load. If the paper's number is read as 22 MB/s, it contradicts figure 6, which has nearly 12 MB/s."
    )
    doubled = {disks: twice(data, LARGE_UNIT, disks) for disks in data.disks.values.tolist()}
    soonest = all(
        np.nanargmin([twice(data, unit, disks) for disks in data.disks.values.tolist()]) == 0
        for unit in data.unit.values.tolist()
    )
    rise = float(loads.completion.sel(load_meant="knee") - many[0])
    return [
        Measurement("swift.fig3.knee_32", rate["knee"], note=readings),
        Measurement(
            "swift.fig3.utilization_at_knee",
            busy["knee"],
            note=f"The value is for the knee at {rate['knee']:.1f}/s, as in the row above. At 22/s the utilization is "
            f"{busy['paper']:.0%}, with the 37 ms for a block from the paper. It is {busy[APART]:.0%} at "
            f"{rate[APART]:.1f}/s, "
            "where a request takes as long as the time between requests. The 50% may therefore belong to that load, and the "
            f"22/s to another load. With 50% at 22/s a block would take {0.5e3 / SAID:.1f} ms, hardly more than rotation and "
            "transfer without a seek.",
        ),
        Measurement(
            "swift.fig3.four_disks",
            soonest,
            note="With units of 32 KB the loads at which a request takes twice the time without load are "
            + ", ".join(f"{value:.1f}/s ({disks} disks)" for disks, value in doubled.items())
            + ".",
        ),
        Measurement(
            "swift.fig3.flat",
            rise,
            holds=rise < LEVEL,
            note=(
                "The value is the increase of the completion time with 32 disks, from a single request to the knee, "
                f"in seconds. The curve is judged as level if the increase is less than {LEVEL:g} s, because the axis "
                "of the figure is in seconds. Relative to the time without load, the increase is "
                f"{float(loads.times_alone.sel(load_meant='knee')) - 1:.0%} at the knee. It is "
                f"{float(many.sel(load=0.5) / many[0]) - 1:.0%} at half of the load that the disks can carry."
            ),
        ),
    ]


def fig4_findings(data: xr.Dataset) -> list[Measurement]:
    """Return the finding on figure 4: at the same completion time, more disks carry a higher load.

    Parameters
    ----------
    data : Dataset
        Result of `fig4`.

    Notes
    -----
    Two numbers of disks are compared at the completion times that both reach.
    """
    mean = data.completion.mean("seed")
    said, holds = [], True
    for fewer, more in pairwise(data.disks.values.tolist()):
        least, most = float(mean.sel(disks=[fewer, more]).isel(load=0).max()), float(mean.sel(disks=more).max())
        if not least < most:
            note = (
                f"{fewer} and {more} disks cannot be compared at equal completion times: an equal time would be at "
                f"least {least:.3g} s, but {more} disks take at most {most:.3g} s."
            )
            return [Measurement("swift.fig4.order", None, note=note)]
        levels = np.geomspace(least, min(most, float(mean.sel(disks=fewer).max())), 20)
        one, other = (np.interp(levels, mean.sel(disks=disks), data.rate.sel(disks=disks)) for disks in (fewer, more))
        holds &= bool(np.all(other > one))
        said.append(
            f"At {levels[10] * 1e3:.0f} ms, {fewer} disks serve {one[10]:.1f} requests/s, and {more} disks serve "
            f"{other[10]:.1f}."
        )
    return [Measurement("swift.fig4.order", holds, note=" ".join(said))]


def fig5_findings(data: xr.Dataset) -> list[Measurement]:
    """Return the findings on the claims of figure 5.

    Parameters
    ----------
    data : Dataset
        Result of `fig5`.
    """
    rate = interval(data[["data_rate"]]).data_rate / 1e6
    devices = data.device.values.tolist()
    other = float(rate.sel(device=devices[1], disks=32, statistic="mean"))
    return [
        with_interval(
            "swift.fig5.rate_32",
            rate.sel(device=devices[0], disks=32),
            f"The base device is {devices[0]}. The slower device reaches {other:.2f} MB/s. A MB has 10^6 bytes here.",
        ),
        _linear("swift.fig5.linear", {name: rate.sel(device=name) for name in devices}, "disks"),
    ]


def fig6_findings(data: xr.Dataset, small: xr.Dataset) -> list[Measurement]:
    """Return the findings on the claims of figure 6.

    Parameters
    ----------
    data : Dataset
        Result of `fig6`.
    small : Dataset
        Result of `fig5`. The paper compares its units of 4 KB with those of 32 KB.
    """
    rate = interval(data[["data_rate"]]).data_rate / 1e6
    most = rate.sel(unit=LARGE_UNIT, disks=32)
    note = (
        "A MB has 10^6 bytes here. In units of 2^20 bytes the value is "
        f"{float(most.sel(statistic='mean')) * 1e6 / MB:.1f}."
    )
    disks = _linear("", {f"{unit / 1024:.0f} KB": rate.sel(unit=unit) for unit in data.unit.values.tolist()}, "disks")
    units = _linear("", {"32 disks": rate.sel(disks=32)}, "unit")
    fewer = small.data_rate.isel(device=0).sel(disks=32, drop=True)
    growth = ratio(data.data_rate.sel(unit=LARGE_UNIT, disks=32, drop=True), fewer)
    return [
        with_interval("swift.fig6.rate_32", most, note),
        with_interval(
            "swift.fig6.linear",
            growth,
            "The value is the data-rate with units of 32 KB divided by the data-rate with units of 4 KB (figure 5), for 32 "
            f"disks. {units.note} Between 16 and 32 KB the transfer is no longer short relative to seek and rotation (13 of "
            "37 ms).",
        ),
        Measurement("swift.fig6.linear_disks", bool(disks.holds), note=disks.note),
    ]


def _bounds(system: StripedSystem, rates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return bounds of the completion time, or NaN if the disks have different numbers of blocks of a request."""
    striping = system.striping
    if striping.groups or striping.blocks % striping.disks:
        return np.full_like(rates, np.nan), np.full_like(rates, np.nan)
    return completion_bounds(system.disk, striping.unit, striping.rows, striping.disks, rates)


def _simulated(systems: Sequence[StripedSystem], effort: StreamEffort, wall: float) -> dict:
    one = systems[0]
    return made_by("simulated", effort.seed_list, wall) | {
        "paper": "swift",
        "precision": "float32",
        "drive": ", ".join(dict.fromkeys(system.disk.name for system in systems)),
        "scenario": as_text(one),
        "request": float(one.striping.request),
        "write_share": float(one.write_share),
        "token_acquisition_s": one.network.acquisition,
        "requests_per_run": effort.requests,
        "warm_up_requests": effort.requests // 10,
    }


def _linear(claim: str, series: dict[str, xr.DataArray], axis: str) -> Measurement:
    """Return whether every doubling along an axis gives nearly twice the value, with the least growth by series."""
    least = {name: min(_doublings(rate.sel(statistic="mean"), axis)) for name, rate in series.items()}
    said = ", ".join(f"{growth:.2f} times ({name})" for name, growth in least.items())
    return Measurement(
        claim,
        min(least.values()),
        holds=min(least.values()) >= 2 * (1 - NEARLY),
        note=(
            f"The smallest growth from a doubling of the {axis} is {said}. A growth of at least 1.7 is judged as "
            "nearly linear."
        ),
    )


def _doublings(rate: xr.DataArray, axis: str) -> list[float]:
    """Return the growth from each value of an axis to the next, for each doubling between them."""
    steps = list(pairwise(rate[axis].values.tolist()))
    return [float(rate.sel({axis: b}) / rate.sel({axis: a})) ** (1 / np.log2(b / a)) for a, b in steps]
