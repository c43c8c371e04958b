"""Figures 3 to 6, with findings: completion time as a function of the load, and largest sustainable data-rate."""

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
# Limit of "nearly linear": if the quantity on the axis doubles, the value grows by a factor of at least 1.7, 15% less
# than 2 (the "near" of the scorecard).
NEARLY = 0.15
# The axis of figure 3 is in seconds: a rise of less than a tenth of a second is level there.
LEVEL = 0.1
# Largest load of 32 disks in the text on figure 3, requests a second.
SAID = 22.0
APART = "as long as apart"
KINDS = (APART, "knee", "paper", "saturation")


def fig3(effort: StreamEffort = QUICK, *, loads: Sequence[float] = LOADS) -> xr.Dataset:
    """Return the mean completion time of a request of 1 MB at each load (figure 3).

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
    """Return the mean completion time of a request of 128 KB at each load, on the slower disk (figure 4).

    The striping unit is 4 KB.

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
    """Return the data-rate of a client at the largest sustainable load, for requests of 128 KB (figure 5).

    The striping unit is 4 KB.

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
    """Return the data-rate of a client at the largest sustainable load, for requests of 1 MB (figure 6).

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
    """Return the mean completion time of each system of a grid, at several fractions of the saturation of the system.

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
        Variables over the axes and `load`. `completion`: mean completion time of each `seed`, seconds. `rate`: load in
        requests a second. `low`, `high`: bounds of the completion time that consider only the disks, seconds; NaN if
        the disks store different numbers of blocks of a request. `utilization`: utilization of each `resource`. All
        systems receive the same requests.
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
    """Return the largest sustainable load of each system of a grid (section 5.2).

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
        Variables over the axes, the first three also over `seed`. `data_rate`: largest sustainable load in bytes a
        second. `rate`: the same load in requests a second. `utilization`: utilization of the disks at this load.
        `saturation`: load at which the bottleneck is always busy, requests a second. `bottleneck`: name of the resource
        that is the bottleneck.

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
    """Return every combination of the values of the axes, as keyword arguments; the last axis varies fastest."""
    return [dict(zip(axes, values, strict=True)) for values in product(*axes.values())]


def on_grid(flat: Mapping[str, tuple], axes: Mapping[str, Sequence]) -> xr.Dataset:
    """Return a Dataset of variables that have one dimension for each axis, from values in a list of points.

    Parameters
    ----------
    flat : mapping of str to tuple
        For each variable a tuple: the dimensions in addition to the axes, the values (point first, in the order of
        `points`), the units, and the meaning.
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
    """Return the load, in requests a second, at which a request takes twice as long as at the lowest load.

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
        The load, or NaN if it is above the highest load of the data.
    """
    mean = data.completion.mean("seed").sel(unit=unit, disks=disks)
    return float(np.interp(2 * float(mean[0]), mean, data.rate.sel(unit=unit, disks=disks), right=np.nan))


def largest_loads(data: xr.Dataset, sustainable: xr.Dataset) -> xr.Dataset:
    """Return the largest load of 32 disks with units of 32 KB, by four definitions; one of them is the paper's load.

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
        mean completion time, seconds. `times_alone`: `completion` divided by the completion time at the lowest load.
        `completion` and `times_alone` are NaN at a load above the highest load of the data.

    Notes
    -----
    The labels of `load_meant` are:
    "as long as apart": the load at which the completion time is equal to the time between requests, as in figures 5 and
    6; "knee": the load at which the power, requests a second divided by completion time, is largest; "paper": 22
    requests a second; "saturation": the load at which the disks are always busy.

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
    """Return the findings on the parameters that figures 3 to 6 share.

    Returns
    -------
    list of Measurement
        One finding for each claim of `swift.sim`.
    """
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
                "The claim holds if the use of the ring is at most 22%. The load is 22 requests/s of 1 MB, the largest "
                "load that the paper states. The use of the ring "
                f"exceeds 22% at loads above {22 * 0.22 / busy[22.0]:.1f} requests/s. At {limit:.1f} requests/s the "
                f"disks are always busy, and the use of the ring is {busy[limit]:.1%}."
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

    Returns
    -------
    list of Measurement
        One finding for each claim of `swift.fig3`.
    """
    many = data.completion.mean("seed").sel(unit=LARGE_UNIT, disks=32)
    loads = largest_loads(data, sustainable)
    rate, busy = ({name: float(loads[of].sel(load_meant=name)) for name in KINDS} for of in ("rate", "utilization"))
    there = loads.sel(load_meant="paper")
    interpretations = (
        "The paper gives 22 requests a second. The value is our knee, the load at which the request rate divided by "
        f"the completion time is largest. The disks are busy {busy['knee']:.0%} of the time at the knee. At "
        f"{rate[APART]:.1f}/s a request takes as long as the time between requests. Figures 5 and 6 call this load "
        f"the largest. At {rate['saturation']:.1f}/s the disks are always busy. The paper's load of 22/s is above "
        f"our knee, at {busy['paper']:.0%} of saturation. At 22/s a request takes "
        f"{float(there.completion) * 1e3:.0f} ms, {float(there.times_alone):.1f} times the time without load. If the "
        "paper's number means 22 MB/s, it contradicts figure 6, which has nearly 12 MB/s."
    )
    doubled = {disks: twice(data, LARGE_UNIT, disks) for disks in data.disks.values.tolist()}
    soonest = all(
        np.nanargmin([twice(data, unit, disks) for disks in data.disks.values.tolist()]) == 0
        for unit in data.unit.values.tolist()
    )
    rise = float(loads.completion.sel(load_meant="knee") - many[0])
    return [
        Measurement("swift.fig3.knee_32", rate["knee"], note=interpretations),
        Measurement(
            "swift.fig3.utilization_at_knee",
            busy["knee"],
            note="The paper gives a utilization of 50% at the knee of 22/s. The value is our utilization of the "
            f"disks at our knee, {rate['knee']:.1f}/s, the load at which the request rate divided by the completion "
            f"time is largest. With the paper's 37 ms for a block we calculate a utilization of {busy['paper']:.0%} "
            f"at 22/s, and of {busy[APART]:.0%} at {rate[APART]:.1f}/s, the load at which a request takes as long as "
            f"the time between requests. The paper's 50% may therefore be the utilization at {rate[APART]:.1f}/s, "
            f"and the paper's 22/s a different load. A utilization of 50% at 22/s would need a block time of "
            f"{0.5e3 / SAID:.1f} ms, hardly more than rotational latency and transfer without a seek.",
        ),
        Measurement(
            "swift.fig3.four_disks",
            soonest,
            note="The claim holds if, with every unit, the completion time of the fewest disks is the first to double "
            "as the load rises. With units of 32 KB, the completion time is twice the time without load at "
            + ", ".join(f"{value:.1f}/s ({disks} disks)" for disks, value in doubled.items())
            + ".",
        ),
        Measurement(
            "swift.fig3.flat",
            rise,
            holds=rise < LEVEL,
            note=(
                "The value is the increase of the completion time with 32 disks, from a single request to the knee, "
                f"in seconds. The claim holds if the increase is less than {LEVEL:g} s, because the axis "
                "of the figure is in seconds. Relative to the time without load, the increase is "
                f"{float(loads.times_alone.sel(load_meant='knee')) - 1:.0%} at the knee. It is "
                f"{float(many.sel(load=0.5) / many[0]) - 1:.0%} at half of the load that the disks can carry."
            ),
        ),
    ]


def fig4_findings(data: xr.Dataset) -> list[Measurement]:
    """Return the finding on figure 4: whether more disks carry a higher load at the same completion time.

    Parameters
    ----------
    data : Dataset
        Result of `fig4`.

    Returns
    -------
    list of Measurement
        The finding on `swift.fig4.order`.

    Notes
    -----
    Each number of disks is compared with the next larger number, at completion times that both of them reach.
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
    rule = "The claim holds if more disks serve more requests/s at every compared completion time."
    return [Measurement("swift.fig4.order", holds, note=" ".join([rule, *said]))]


def fig5_findings(data: xr.Dataset) -> list[Measurement]:
    """Return the findings on the claims of figure 5.

    Parameters
    ----------
    data : Dataset
        Result of `fig5`.

    Returns
    -------
    list of Measurement
        One finding for each claim of `swift.fig5`.
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
        Result of `fig5`, which has units of 4 KB. The paper compares the data-rates with units of 4 KB and of 32 KB.

    Returns
    -------
    list of Measurement
        One finding for each claim of `swift.fig6`.
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
            "The value is the data-rate with units of 32 KB divided by the data-rate with units of 4 KB (figure 5), "
            f"for 32 disks. {units.note} With units of 32 KB the transfer is no longer short relative to seek and "
            "rotation: it takes 13 of the 37 ms of a block.",
        ),
        Measurement("swift.fig6.linear_disks", bool(disks.holds), note=disks.note),
    ]


def _bounds(system: StripedSystem, rates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return bounds of the completion time, or NaN if the disks store different numbers of blocks of a request."""
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
    """Return the finding whether every doubling along an axis nearly doubles the rate, in every series.

    The measured value is the smallest factor of all series. The note has the smallest factor of each series.
    """
    least = {name: min(_doublings(rate.sel(statistic="mean"), axis)) for name, rate in series.items()}
    said = ", ".join(f"{growth:.2f} ({name})" for name, growth in least.items())
    return Measurement(
        claim,
        min(least.values()),
        holds=min(least.values()) >= 2 * (1 - NEARLY),
        note=(
            f"If the {axis} doubles, the data-rate grows by a factor of at least {said}. The claim (nearly linear) "
            "holds if this factor is at least 1.7."
        ),
    )


def _doublings(rate: xr.DataArray, axis: str) -> list[float]:
    """Return the factor by which the rate grows per doubling, for each pair of neighbouring values of an axis."""
    steps = list(pairwise(rate[axis].values.tolist()))
    return [float(rate.sel({axis: b}) / rate.sel({axis: a})) ** (1 / np.log2(b / a)) for a, b in steps]
