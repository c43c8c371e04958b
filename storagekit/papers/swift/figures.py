"""Figures 3 to 6: completion time against load, and the data-rate that can be sustained."""

import time
from collections.abc import Callable, Mapping, Sequence
from itertools import product

import numpy as np
import xarray as xr

from storagekit.analytic.forkjoin import Simulation, StripedSystem, completion_bounds
from storagekit.papers.swift.system import (
    DISKS,
    M2372K,
    QUICK,
    SLOWER,
    SMALL_REQUEST,
    SMALL_UNIT,
    UNITS,
    Effort,
    gigabit,
    made_by,
)

# of saturation; beyond nine tenths a stream of some thousand requests tells little about the mean
LOADS = (0.02, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9)
MORE_DISKS = (1, 2, *DISKS)


def fig3(effort: Effort = QUICK, *, loads: Sequence[float] = LOADS) -> xr.Dataset:
    """Mean time to complete a request of 1 MB against load, by `unit`, `disks` and `load` (figure 3)."""
    return against_load(gigabit, {"unit": UNITS, "disks": DISKS}, loads, effort).assign_attrs(exhibit="swift.fig3")


def fig4(effort: Effort = QUICK, *, loads: Sequence[float] = LOADS) -> xr.Dataset:
    """The same of a request of 128 KB in units of 4 KB on the slower disk, by `disks` and `load` (figure 4)."""

    def build(disks: int) -> StripedSystem:
        return gigabit(SMALL_UNIT, disks, SMALL_REQUEST, SLOWER)

    return against_load(build, {"disks": DISKS}, loads, effort).assign_attrs(exhibit="swift.fig4")


def fig5(effort: Effort = QUICK, *, disks: Sequence[int] = MORE_DISKS) -> xr.Dataset:
    """Data-rate of a client at the largest sustainable load, 128 KB in units of 4 KB, by `device` and `disks` (figure 5)."""
    devices = {device.name: device for device in (M2372K, SLOWER)}

    def build(device: str, disks: int) -> StripedSystem:
        return gigabit(SMALL_UNIT, disks, SMALL_REQUEST, devices[device])

    return sustained(build, {"device": list(devices), "disks": disks}, effort).assign_attrs(exhibit="swift.fig5")


def fig6(effort: Effort = QUICK, *, disks: Sequence[int] = MORE_DISKS, units: Sequence[float] = UNITS) -> xr.Dataset:
    """The same with requests of 1 MB, by `unit` and `disks` (figure 6)."""
    return sustained(gigabit, {"unit": units, "disks": disks}, effort).assign_attrs(exhibit="swift.fig6")


def against_load(
    build: Callable[..., StripedSystem], axes: Mapping[str, Sequence], loads: Sequence[float], effort: Effort = QUICK
) -> xr.Dataset:
    """Mean completion time of `build(**point)` over the grid of `axes`, at shares `load` of each system's saturation.

    Variables: `completion`, seconds, by seed; `rate`, requests a second; `low` and `high`, bounds of the completion time on
    the disks alone, NaN where disks have different numbers of blocks; `utilization` by `resource`. All systems meet the same
    requests.
    """
    began = time.perf_counter()
    systems = [build(**point) for point in points(axes)]
    rates = np.array([system.saturation()[0] for system in systems])[:, None] * np.asarray(loads)
    completion = Simulation(systems, effort.streams, effort.requests).completion(rates)
    bounds = [_bounds(system, rate) for system, rate in zip(systems, rates, strict=True)]
    resources = list(systems[0].demands())
    busy = [[system.utilization(rate)[one] for one in resources] for system, rate in zip(systems, rates, strict=True)]
    flat = {
        "completion": (("load", "seed"), completion, "s", "mean time to complete a request"),
        "rate": (("load",), rates, "1/s", "requests a second"),
        "low": (("load",), [low for low, _ in bounds], "s", "lower bound, disks alone"),
        "high": (("load",), [high for _, high in bounds], "s", "upper bound, disks alone"),
        "utilization": (("resource", "load"), busy, "1", "share of the time that a resource is busy"),
    }
    data = on_grid(flat, axes)
    data = data.assign_coords(load=list(loads), seed=effort.streams, resource=resources)
    return data.assign_attrs(_simulated(systems, effort, time.perf_counter() - began))


def sustained(build: Callable[..., StripedSystem], axes: Mapping[str, Sequence], effort: Effort = QUICK) -> xr.Dataset:
    """The largest sustainable load of `build(**point)` over the grid of `axes`: where a request takes, on average, as long as
    requests are apart (section 5.2).

    Variables: `data_rate`, bytes a second, and `rate`, requests a second, by seed; `utilization` of the disks there, by seed;
    `saturation`, requests a second, and `bottleneck`, the resource that is then always busy.
    """
    began = time.perf_counter()
    systems = [build(**point) for point in points(axes)]
    rate = Simulation(systems, effort.streams, effort.requests).sustainable()
    request = np.array([system.striping.request for system in systems])[:, None]
    limits = [system.saturation() for system in systems]
    disks = np.array([system.demands()["disk"] for system in systems])[:, None]
    flat = {
        "data_rate": (("seed",), rate * request, "B/s", "data-rate at the largest sustainable load"),
        "rate": (("seed",), rate, "1/s", "largest sustainable load"),
        "utilization": (("seed",), rate * disks, "1", "share of the time that a disk is busy"),
        "saturation": ((), [limit for limit, _ in limits], "1/s", "load at which the bottleneck is always busy"),
        "bottleneck": ((), [name for _, name in limits], "", "what limits the system"),
    }
    data = on_grid(flat, axes).assign_coords(seed=effort.streams)
    return data.assign_attrs(_simulated(systems, effort, time.perf_counter() - began))


def points(axes: Mapping[str, Sequence]) -> list[dict]:
    """Every point of the grid that `axes` span, the last varying fastest."""
    return [dict(zip(axes, values, strict=True)) for values in product(*axes.values())]


def on_grid(flat: Mapping[str, tuple], axes: Mapping[str, Sequence]) -> xr.Dataset:
    """Variables (further dimensions, values by point, units, meaning) with one dimension for each axis."""
    shape = tuple(len(values) for values in axes.values())
    variables = {}
    for name, (dims, values, units, meaning) in flat.items():
        array = np.asarray(values)
        described = {"units": units, "long_name": meaning} if units else {"long_name": meaning}
        variables[name] = ((*axes, *dims), array.reshape(*shape, *array.shape[1:]), described)
    return xr.Dataset(variables, coords={name: list(values) for name, values in axes.items()})


def _bounds(system: StripedSystem, rates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """NaN where not every disk has the same number of blocks of every request, which the bounds suppose."""
    striping = system.striping
    if striping.groups or striping.blocks % striping.disks:
        return np.full_like(rates, np.nan), np.full_like(rates, np.nan)
    return completion_bounds(system.disk, striping.unit, striping.rows, striping.disks, rates)


def _simulated(systems: Sequence[StripedSystem], effort: Effort, wall: float) -> dict:
    one = systems[0]
    return made_by("simulated", effort, wall) | {
        "precision": "float32",
        "drive": ", ".join(dict.fromkeys(system.disk.name for system in systems)),
        "request": float(one.striping.request),
        "write_share": float(one.write_share),
        "token_acquisition_s": one.network.acquisition,
        "requests_per_run": effort.requests,
        "warm_up_requests": effort.requests // 10,
    }
