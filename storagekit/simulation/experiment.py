"""Run scenarios and return labelled results: one run, replications, or a sweep."""

import inspect
import itertools
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from reprlib import repr as shortened
from typing import Annotated, Any

import numpy as np
import xarray as xr

from storagekit.core.errors import InputError
from storagekit.core.validation import NUMBER, Validator, instance_of, several, shown, validate
from storagekit.engine import Scenario
from storagekit.simulation.measures import Measure, several_measures, sums_of
from storagekit.simulation.provenance import provenance
from storagekit.simulation.provisioning import TRIED
from storagekit.simulation.run_length import BUDGET, precise, run_length
from storagekit.simulation.shards import SweepSettings
from storagekit.simulation.store import NoStore, Store
from storagekit.simulation.sweeping import simulated
from storagekit.simulation.time_series import stopped_by

# kind of a seed, before its range is checked
WHOLE = Validator(whole=True)
# prefix of an axis that has the name of a measure
AXIS = "axis_"


def _folder(label: str, value: object) -> object:
    """Return `value` if it is a path; raise InputError otherwise."""
    if not isinstance(value, str | Path):
        raise InputError(f"{label} {shown(value)}: give the path of a folder")
    return value


def simulate(
    scenario: Scenario,
    *,
    requests: int = 20_000,
    seconds: float | None = None,
    seed: int = 0,
    warm_up: float | None = None,
    allow_blocked: bool = False,
    measures: Sequence[Measure] = (),
    precision: float | Mapping[str, float] | None = None,
    budget: int = BUDGET,
) -> xr.Dataset:
    """Simulate one run of a scenario.

    Parameters
    ----------
    scenario : Scenario
        The system and its workload.
    requests : int
        The smallest number of requests to complete, by default 20,000.
    seconds : float, optional
        The simulated time, seconds, which replaces `requests`.
    seed : int
        The seed of the run, by default 0.
    warm_up : float, optional
        The part at the start that is not measured, in requests or seconds. By default, MSER-5 determines this part, up
        to half of the run. The warm-up ends at the boundary of a chunk of events.
    allow_blocked : bool
        Whether arrivals may wait for a slot. Such arrivals are counted, and the wait is part of their response time. By
        default, a wait is an error. A system without `slots` is simulated with 64, then 256, then 1,024 slots until no
        arrival waits.
    measures : sequence of Measure
        Measures in addition to `storagekit.simulation.STANDARD`, by default none.
    precision : float or mapping of str to float, optional
        The half-width of the 95% interval of the mean response time, divided by the mean, at which the run ends. A
        mapping gives half-widths for named measures, such as {"throughput": 0.005}. The length of the run doubles until
        the precision is reached. The interval is computed over 20 parts of the run, or over the seeds if there are
        several.
    budget : int
        The number of requests after which a run with a precision ends, even if the precision is not reached; by default
        1,000,000.

    Returns
    -------
    Dataset
        All measures, in SI units. `response_quantile` (dimension `quantile`, accurate to 1.6%) has the quantiles of the
        response time of synchronous requests. Synchronous reads and synchronous writes also have separate quantiles.
        `warm_up` is the length of the part that was not measured. With a precision, there are also half-widths, such as
        `response_half_width`, and an attribute `stopped_by`.

    Raises
    ------
    InputError
        If a setting is impossible.

    Examples
    --------
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
        allow_blocked=allow_blocked,
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
    allow_blocked: bool = False,
    measures: Sequence[Measure] = (),
    precision: float | Mapping[str, float] | None = None,
    budget: int = BUDGET,
) -> xr.Dataset:
    """Simulate independent runs of a scenario in one batch.

    Parameters
    ----------
    scenario : Scenario
        The system and its workload.
    seeds : int or sequence of int
        The number of runs, or their seeds, by default 16 runs.
    requests : int
        The smallest number of requests of each run to complete, by default 20,000.
    seconds : float, optional
        The simulated time of each run, seconds, which replaces `requests`.
    warm_up : float, optional
        The part at the start that is not measured, in requests or seconds; see `simulate`.
    allow_blocked : bool
        Whether arrivals may wait for a slot; by default, a wait is an error. See `simulate`.
    measures : sequence of Measure
        Measures in addition to `simulation.STANDARD`, by default none.
    precision : float or mapping of str to float, optional
        The half-width of the 95% interval of the mean response time, divided by the mean, at which the runs end; see
        `simulate`.
    budget : int
        The number of requests after which each run with a precision ends, even if the precision is not reached; by
        default 1,000,000.

    Returns
    -------
    Dataset
        The measures of `simulate`, with a dimension `seed`.

    Raises
    ------
    InputError
        If a setting is impossible.

    Examples
    --------
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
        allow_blocked=allow_blocked,
        measures=measures,
        precision=precision,
        budget=budget,
    )


@validate
def sweep(
    build: Callable[..., Scenario],
    axes: Mapping[str, Sequence[Any]],
    *,
    seeds: int | Sequence[int] = 16,
    requests: int = 20_000,
    seconds: float | None = None,
    warm_up: float | None = None,
    allow_blocked: bool = False,
    measures: Sequence[Measure] = (),
    precision: float | Mapping[str, float] | None = None,
    budget: int = BUDGET,
    store: Annotated[str | Path | None, _folder] = None,
    client: Any = None,
    slots: Annotated[Sequence[int], TRIED] = (),
) -> xr.Dataset:
    """Simulate `build(**point)` at every point of the grid that `axes` spans, with every seed.

    Points that differ only in numbers (including the number of drives) run in one batch. All points receive the same
    requests. Differences between points are therefore more precise than the values themselves.

    Parameters
    ----------
    build : callable
        Returns the scenario of a point.
    axes : mapping of str to sequence
        The values of each parameter of `build`. An axis with the name of a measure, such as `throughput`, becomes the
        dimension `axis_throughput` of the result.
    seeds : int or sequence of int
        The number of independent runs of each point, or their seeds, by default 16 runs.
    requests : int
        The smallest number of requests of each run to complete, by default 20,000.
    seconds : float, optional
        The simulated time of each run, seconds, which replaces `requests`.
    warm_up : float, optional
        The part at the start that is not measured, in requests or seconds. By default, MSER-5 determines this part for
        each point, from all of its seeds; see `simulate`.
    allow_blocked : bool
        Whether arrivals may wait for a slot; by default, a wait is an error. See `simulate`.
    measures : sequence of Measure
        Measures in addition to `simulation.STANDARD`, by default none.
    precision : float or mapping of str to float, optional
        The half-width of the 95% interval of the mean response time, divided by the mean, at which the runs of a point
        end. The interval is computed for each point, from all of its seeds; see `simulate`.
    budget : int
        The number of requests after which each run with a precision ends, even if the precision is not reached; by
        default 1,000,000.
    store : path, optional
        A folder in which results are stored, a few hundred runs at a time. Points that were stored before, with the
        same scenario, seeds, length, measures and versions, are not simulated again. The number of stored points is
        printed to stderr. The attributes `points_stored` and `points_run` count stored and simulated points.
    client : distributed.Client, optional
        A client of a Dask cluster, whose workers simulate the points. The points of a lost worker are simulated again.
    slots : sequence of int
        Numbers of slots to try for systems without `slots`, by default 64, 256 and 1,024.

    Returns
    -------
    Dataset
        The measures with one dimension for each axis, and `seed`.

    Raises
    ------
    InputError
        If a setting is impossible, if the axes are not parameters of `build`, or if the store or the client cannot be
        used.
    SimulationError
        If the cluster is lost.

    Notes
    -----
    Results are identical to the last bit with or without a store, after an interruption, and with any workers, if the
    processors and the versions are the same. The reason is that a run does not depend on the other runs of its batch, or
    on the number of these runs.

    Examples
    --------
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
    if not callable(build):
        raise InputError(f"build: given {shown(build)}; give a function that returns a scenario, followed by the axes")
    instance_of(Mapping, "a mapping from parameters of build to values, such as {'replicas': [2, 4]}")("axes", axes)
    measured_for = run_length(requests, seconds, warm_up, precise(precision, budget, allow_blocked))
    settings = SweepSettings(tuple(listed(seeds)), measured_for, several_measures("measures", measures), slots)
    check_axes(axes, settings.measures)
    points = [dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())]
    if not points:
        raise InputError("an axis of the sweep has no values; give at least one for each axis")
    scenarios = [built(build, point) for point in points]
    began = time.perf_counter()
    shelf = NoStore() if store is None else Store(store)
    found = []
    for numbers, done in simulated(scenarios, points, settings, shelf, client):
        if not allow_blocked:
            _refuse_blocked(float(done.data.blocked.max()), int(done.slots.max()))
        found.append((numbers, done.data))
    most = max(scenario.system.drives for scenario in scenarios)
    data = grid(_sorted(found, most), axes).assign_coords(seed=list(settings.seeds))
    wall = time.perf_counter() - began
    data.attrs = provenance(scenarios, axes, settings.seeds, settings.run_length.facts, wall) | shelf.facts
    data.attrs |= stopped_by(measured_for, data)
    return data


def _sorted(found: Sequence[tuple[Sequence[int], xr.Dataset]], most: int) -> xr.Dataset:
    """Return the results of all points, sorted by the number of the point, with the first `most` bricks."""
    flat = xr.concat([data for _, data in found], dim="point", join="outer")
    order = np.argsort(np.concatenate([numbers for numbers, _ in found]))
    return flat.isel(point=order, brick=slice(0, most))


def grid(flat: xr.Dataset, axes: Mapping[str, Sequence[Any]]) -> xr.Dataset:
    """Replace the dimension `point` by the grid that `axes` spans; the last axis varies fastest.

    An axis that has the name of a variable, such as `throughput`, becomes the dimension `axis_throughput`.

    Parameters
    ----------
    flat : Dataset
        The variables over `point`.
    axes : mapping of str to sequence
        The values of each axis.

    Returns
    -------
    Dataset
        The variables over the axes.
    """
    shape = tuple(len(values) for values in axes.values())
    along = {AXIS * (name in flat.data_vars) + name: list(values) for name, values in axes.items()}
    variables = {}
    for name, variable in flat.data_vars.items():
        moved = variable.transpose("point", ...)
        values = moved.values.reshape((*shape, *moved.shape[1:]))
        variables[name] = ((*along, *moved.dims[1:]), values, variable.attrs)
    return xr.Dataset(variables, coords={**along, **_others(flat)})


def _others(flat: xr.Dataset) -> dict:
    return {name: flat[name] for name in flat.coords if name != "point"}


def _refuse_blocked(waited: float, slots: int) -> None:
    if waited > 0:
        raise InputError(
            f"{waited:.0f} arrivals waited outside, because {slots} slots are too few; raise System.slots, lower the "
            "load, or pass allow_blocked=True (with delayed writes, Background.most may also be too small)"
        )


def listed(seeds: int | Sequence[int]) -> list[int]:
    """Return the seeds as a list.

    Parameters
    ----------
    seeds : int or sequence of int
        The seeds, or a number n for the seeds 0 to n - 1.

    Returns
    -------
    list of int
        The seeds.

    Raises
    ------
    InputError
        If a seed is repeated or out of range, or if there is no seed.
    """
    given = several(WHOLE, of="seeds")("seeds", seeds) if np.iterable(seeds) else range(NUMBER("seeds", seeds))
    listed = list(given)
    if not listed:
        raise InputError("no seeds: give at least one")
    if len(set(listed)) < len(listed):
        raise InputError(f"seeds {shortened(listed)}: give each seed once; equal seeds would be counted as independent")
    if not all(0 <= seed < 2**32 for seed in listed):
        raise InputError(f"seeds {shortened(listed)}: give numbers between 0 and {2**32 - 1}")
    return listed


def check_axes(axes: Mapping[str, Sequence[Any]], measures: Sequence[Measure], others: Sequence[str] = ()) -> None:
    """Raise InputError if an axis has the same name as a dimension of the result, or has no list of values.

    An axis with the name of a measure is allowed, because `grid` renames it.

    Parameters
    ----------
    axes : mapping of str to sequence
        The values of each axis.
    measures : sequence of Measure
        The measures of the result.
    others : sequence of str
        Further dimensions of the result, by default none.

    Raises
    ------
    InputError
        If an axis cannot be used.
    """
    own = {word for one in sums_of(measures) for word in one.along}
    for name, values in axes.items():
        if AXIS + name in axes:
            raise InputError(
                f"axes named {name!r} and {AXIS + name!r}: both could become {AXIS + name!r} in the result; rename one"
            )
        if name in ("seed", "brick", "quantile", "statistic", *own, *others):
            raise InputError(f"an axis named {name!r}: the result has a dimension with this name; give another name")
        if isinstance(values, str | bytes) or not np.iterable(values) or not hasattr(values, "__len__"):
            raise InputError(f"axis {name!r} is {shown(values)}: give a list of values")


def built(build: Callable[..., Scenario], point: dict[str, Any]) -> Scenario:
    """Return the scenario of a point.

    Parameters
    ----------
    build : callable
        Returns the scenario.
    point : dict
        The parameters of `build` at the point.

    Returns
    -------
    Scenario
        The scenario.

    Raises
    ------
    InputError
        If `build` does not accept the parameters, or if it does not return a scenario.
    """
    if not callable(build):
        raise InputError(f"build: given {shown(build)}; give a function of the axes, such as lambda depth: ...")
    try:
        inspect.signature(build).bind(**point)
    except TypeError as fault:
        raise InputError(
            f"axes {', '.join(point) or '(none)'}: {fault}; give the axes the names of the parameters of build"
        ) from fault
    return instance_of(Scenario, "a Scenario(system, arrivals)")("result of build", build(**point))
