"""Run scenarios and label what comes out: one run, replications, sweeps."""

import inspect
import itertools
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from tqdm import tqdm

from storagekit.engine import Outcome, Record, Scenario, execute
from storagekit.errors import InputError
from storagekit.metrics.course import measured_lanes, of_points, stopped_by
from storagekit.metrics.extent import BUDGET, Extent, extent, precise
from storagekit.metrics.measures import QUANTILES, Measure, sums_of
from storagekit.metrics.provenance import provenance
from storagekit.metrics.provisioning import Roomed, groups, with_room
from storagekit.metrics.standard import beside


def simulate(
    scenario: Scenario,
    *,
    requests: int = 20_000,
    seconds: float | None = None,
    seed: int = 0,
    warm_up: float | None = None,
    allow_held_up: bool = False,
    measures: Sequence[Measure] = (),
    precision: float | Mapping[str, float] | None = None,
    budget: int = BUDGET,
) -> xr.Dataset:
    """One run of a scenario.

    requests: at least so many are answered. seconds: in place of these, so much time is simulated. warm_up: how many of them
    pass before measuring begins, by default as many as MSER-5 finds, half of them at most; the cuts fall on chunks of events.
    allow_held_up: whether arrivals may wait outside for a slot (they are counted, and their wait is part of their response
    time); by default that is an error. A system without `slots` gets 64, then 256, then 1,024 of them until no arrival waits:
    an overload is simulated three times before it is refused. measures: of your own (`storagekit.metrics.Measure`), beside
    `storagekit.metrics.STANDARD`.

    precision: the run goes on, twice as long each time, until the 95% interval of the mean response time is so narrow on
    either side, as a share of it, or until `budget` requests are answered; {"throughput": 0.005} of another measure, or of
    several. Here the interval is over 20 parts of the run, with several seeds over these.

    Returns all measures, in SI units; `response_quantile` of all requests that somebody waited for, and of its reads and its
    writes (dimension `quantile`), within 1.6%; `warm_up`, what was left out; with a precision `response_half_width` and an
    attribute `stopped_by`. Raises InputError on impossible settings.

    >>> import storagekit as sk
    >>> system = sk.System(sk.load_drive("atlas10k"), sk.placement.Replicas(2), sk.dispatch.Hashing(), sk.schedule.SATF())
    >>> requests = sk.workload.RandomRequests(sk.workload.FixedSize(4096), read_share=1.0)
    >>> loop = sk.Scenario(system, sk.workload.ClosedLoop(requests, outstanding=8))
    >>> seen = sk.simulate(loop, requests=2000)
    >>> f"{float(seen.throughput):.0f} accesses a second and disk, {float(seen.response) / sk.units.MS:.0f} ms"
    '142 accesses a second and disk, 28 ms'
    >>> f"99% within {float(seen.response_quantile.sel(quantile=0.99)) / sk.units.MS:.0f} ms"
    '99% within 107 ms'
    """
    data = sweep(
        lambda: scenario,
        {},
        requests=requests,
        seconds=seconds,
        seeds=[seed],
        warm_up=warm_up,
        allow_held_up=allow_held_up,
        measures=measures,
        precision=precision,
        budget=budget,
    )
    return data.isel(seed=0, drop=True)


def replicate(
    scenario: Scenario,
    *,
    seeds: int | Sequence[int] = 16,
    requests: int = 20_000,
    seconds: float | None = None,
    warm_up: float | None = None,
    allow_held_up: bool = False,
    measures: Sequence[Measure] = (),
    precision: float | Mapping[str, float] | None = None,
    budget: int = BUDGET,
) -> xr.Dataset:
    """Independent runs of a scenario, all at once: as `simulate`, with a dimension `seed`.

    >>> import storagekit as sk
    >>> system = sk.System(sk.load_drive("atlas10k"), sk.placement.Replicas(2), sk.dispatch.Hashing(), sk.schedule.SATF())
    >>> requests = sk.workload.RandomRequests(sk.workload.FixedSize(4096), read_share=1.0)
    >>> loop = sk.Scenario(system, sk.workload.ClosedLoop(requests, outstanding=8))
    >>> mean, low, high = sk.interval(sk.replicate(loop, requests=2000)).throughput.values
    >>> bool(low < mean < high)
    True
    """
    return sweep(
        lambda: scenario,
        {},
        requests=requests,
        seconds=seconds,
        seeds=seeds,
        warm_up=warm_up,
        allow_held_up=allow_held_up,
        measures=measures,
        precision=precision,
        budget=budget,
    )


def sweep(
    build: Callable[..., Scenario],
    axes: Mapping[str, Sequence[Any]],
    *,
    seeds: int | Sequence[int] = 16,
    requests: int = 20_000,
    seconds: float | None = None,
    warm_up: float | None = None,
    allow_held_up: bool = False,
    measures: Sequence[Measure] = (),
    precision: float | Mapping[str, float] | None = None,
    budget: int = BUDGET,
) -> xr.Dataset:
    """`build(**point)` simulated at every point of the grid that `axes` spans, each with every seed.

    axes: name of a parameter of `build` to the values it takes. seeds: how many independent runs of each point, or the
    seeds themselves. requests, seconds, warm_up, allow_held_up, measures, precision, budget: as in `simulate`, warm-up and
    precision of each point by itself, its seeds together. Points that differ in numbers only, their number of drives among
    them, run as one batch, and all points meet the same requests, so that differences between them are sharper than the
    values. Returns the measures with one dimension for each axis and `seed`. Raises
    InputError on impossible settings, and where the axes are not `build`'s parameters.

    >>> import storagekit as sk
    >>> requests = sk.workload.RandomRequests(sk.workload.FixedSize(4096), read_share=1.0)
    >>> def bricks(replicas, depth):
    ...     disks = sk.placement.Replicas(replicas)
    ...     system = sk.System(sk.load_drive("atlas10k"), disks, sk.dispatch.DSPTF(), sk.schedule.SATF())
    ...     return sk.Scenario(system, sk.workload.ClosedLoop(requests, outstanding=depth))
    >>> result = sk.sweep(bricks, {"replicas": [2, 4], "depth": [4, 16]}, seeds=8, requests=1000)
    >>> dict(result.throughput.sizes)
    {'replicas': 2, 'depth': 2, 'seed': 8}
    """
    seeds = listed(seeds)
    measured_for = extent(requests, seconds, warm_up, precise(precision, budget, allow_held_up))
    points = [dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())]
    if not points:
        raise InputError("an axis of the sweep has no values; give each at least one")
    told = beside(measures)
    check_axes(axes, told)
    scenarios = [built(build, point) for point in points]
    began = time.perf_counter()
    lanes: list[xr.Dataset | None] = [None] * len(points)
    for members, alike in groups(scenarios):
        data, slots = with_room(lambda some: _batch(some, seeds, measured_for, told), alike)
        if not allow_held_up:
            _refuse_held_up(float(data.held_up.max()), slots)
        for place, member in enumerate(members):
            lanes[member] = data.isel(point=place)
    flat = xr.concat([lane for lane in lanes if lane is not None], dim="point", join="outer")
    data = grid(flat, axes).assign_coords(seed=seeds)
    data.attrs = provenance(scenarios, axes, seeds, measured_for.told, time.perf_counter() - began)
    data.attrs |= stopped_by(measured_for, data)
    return data


def run(
    scenario: Scenario,
    key: np.ndarray,
    amount: float,
    record: Record | None = None,
    title: str = "simulating",
    by: str = "answered",
) -> Outcome:
    """`execute` with a progress bar on whatever takes longer than two seconds."""
    unit = "req" if by == "answered" else "s"
    with tqdm(total=amount, desc=title, unit=unit, delay=2, leave=False) as bar:
        return execute(
            scenario,
            key,
            amount,
            record or Record(),
            lambda done: bar.update(min(done, amount) - bar.n),
            by,
        )


def _batch(scenarios: list[Scenario], seeds: list[int], measured_for: Extent, measures: Sequence[Measure]) -> Roomed:
    data, waited = measured_lanes(scenarios, seeds, measured_for, measures)
    folded = data.assign_coords(
        point=("lane", np.repeat(np.arange(len(scenarios)), len(seeds))),
        seed=("lane", np.tile(np.arange(len(seeds)), len(scenarios))),
    )
    unfolded = folded.set_index(lane=["point", "seed"]).unstack("lane").drop_vars("point")
    # what all seeds of a point have in common
    common = {name: unfolded[name].isel(seed=0, drop=True) for name in unfolded if name in of_points(measured_for)}
    return Roomed(unfolded.assign(common), float(waited.sum()))


def grid(flat: xr.Dataset, axes: Mapping[str, Sequence[Any]]) -> xr.Dataset:
    """The dimension `point` as the grid that `axes` span, the last varying fastest."""
    shape = tuple(len(values) for values in axes.values())
    variables = {}
    for name, variable in flat.data_vars.items():
        moved = variable.transpose("point", ...)
        values = moved.values.reshape((*shape, *moved.shape[1:]))
        variables[name] = ((*axes, *moved.dims[1:]), values, variable.attrs)
    return xr.Dataset(
        variables,
        coords={**{name: list(values) for name, values in axes.items()}, **_others(flat)},
    )


def _others(flat: xr.Dataset) -> dict:
    return {name: flat[name] for name in flat.coords if name != "point"}


def _refuse_held_up(waited: float, slots: int) -> None:
    if waited > 0:
        raise InputError(
            f"{waited:.0f} arrivals waited outside: {slots} slots are too few; raise System.slots, lower the load, or pass "
            "allow_held_up=True (delayed writes: Background.most may be too few as well)"
        )


def listed(seeds: int | Sequence[int]) -> list[int]:
    """The seeds, or so many of them from 0 on. Raises InputError where one is given twice or cannot be."""
    listed = list(range(seeds)) if isinstance(seeds, int) else list(seeds)
    if not listed:
        raise InputError("no seeds: give at least one")
    if len(set(listed)) < len(listed):
        raise InputError(f"seeds {listed}: give each once; equal seeds would be counted as independent")
    if not all(0 <= seed < 2**32 for seed in listed):
        raise InputError(f"seeds {listed}: each must lie between 0 and {2**32 - 1}")
    return listed


def check_axes(axes: Mapping[str, Sequence[Any]], measures: Sequence[Measure], others: Sequence[str] = ()) -> None:
    """Raises InputError where an axis is called what results call something else, or has no list of values.

    others: dimensions of the result besides.
    """
    names = {*(measure.name for measure in measures), *QUANTILES, "warm_up"}
    own = {word for one in sums_of(measures) for word in one.along}
    for name, values in axes.items():
        if name in names:
            raise InputError(f"an axis named {name!r}: that is the name of a measure; choose another name")
        if name in ("seed", "brick", "quantile", "statistic", *own, *others):
            raise InputError(f"an axis named {name!r}: that is a dimension of the result; choose another name")
        if isinstance(values, str) or not hasattr(values, "__len__"):
            raise InputError(f"axis {name!r} is {values!r}: give a list of values")


def built(build: Callable[..., Scenario], point: dict[str, Any]) -> Scenario:
    """The scenario of a point. An axis that `build` does not take is the caller's mistake, not a fault inside it."""
    try:
        inspect.signature(build).bind(**point)
    except TypeError as fault:
        raise InputError(
            f"the sweep's axes {', '.join(point) or '(none)'}: {fault}; name them as build's parameters"
        ) from fault
    built = build(**point)
    if not isinstance(built, Scenario):
        raise InputError(f"a {type(built).__name__} to simulate: give a Scenario(system, arrivals)")
    return built
