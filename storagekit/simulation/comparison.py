"""Schemes beside one another: the same requests through each, and how sure their differences are."""

import time
from collections.abc import Callable, Hashable, Mapping, Sequence

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from tqdm import tqdm

from storagekit.core.errors import InputError
from storagekit.engine import AUTO, Report, Scenario, Sum, System, answered
from storagekit.engine.batch import signature
from storagekit.simulation.compile_ahead import compiled_ahead
from storagekit.simulation.confidence import interval
from storagekit.simulation.experiment import listed
from storagekit.simulation.measures import Measure
from storagekit.simulation.provenance import provenance
from storagekit.simulation.provisioning import MOST, fewest, provided
from storagekit.simulation.run_length import Extent, extent
from storagekit.simulation.standard_measures import beside
from storagekit.simulation.time_series import compile_lanes, measured_lanes
from storagekit.workload import AbstractArrivals, recorded, wrapped
from storagekit.workload.trace import RequestTrace

# where System.slots is not given: a trace has bursts, and is not tried with few first
SLOTS = 256
# parts of a run, by the numbers of its requests, in which responses that rise from each to the next show an overload
PARTS = 5
# of these: how many times the first the last is
RISEN = 2.0
# shares of the arrivals that wait outside, and of the time that the busiest brick works, above which a scheme is overloaded
HELD_UP, BUSY = 1e-3, 0.95
# of a run whose requests do not come from a trace: what passes before measuring begins. The same for every scheme, so that
# all are measured over the same requests
WARM_UP = 0.2
# what is taken from one scheme to the other, and what it is called then
DIFFERENCES = {
    "response": "response_difference",
    "response_quantile": "quantile_difference",
    "request_rate": "rate_difference",
}


def compared(
    asked: RequestTrace | AbstractArrivals,
    schemes: Mapping[str, System],
    *,
    seeds: int | Sequence[int],
    requests: int | None,
    scale: float,
    measures: Sequence[Measure],
) -> xr.Dataset:
    """What is measured of every scheme with every seed: dimensions `scheme` and `seed`, see `storagekit.compare`."""
    count, numbers = _count(asked, requests), listed(seeds)
    length = extent(count, None, 0 if isinstance(asked, RequestTrace) else int(WARM_UP * count))
    told = beside((*measures, _in_parts(count)))
    scenarios = [Scenario(system, _arrivals(asked, system, scale)) for system in schemes.values()]
    began = time.perf_counter()
    runs = tqdm(total=len(schemes) * len(numbers), desc="comparing", unit="run", delay=2, leave=False)
    with runs as bar, compiled_ahead(_programs(scenarios, numbers, told)) as ready:
        found: list[xr.Dataset] = []
        for scenario in scenarios:
            ready(signature(scenario))
            found.append(_with_slots(scenario, numbers, length, told, bar))
    data = xr.concat(found, dim=xr.IndexVariable("scheme", list(schemes)), join="outer")
    data.attrs = provenance(scenarios, ["scheme"], numbers, length.told, time.perf_counter() - began)
    if isinstance(asked, RequestTrace):
        data.attrs |= {"basis": "trace", "trace": asked.source.name, "scale": float(scale)}
        beyond = [wrapped(asked, _capacity(system)) for system in schemes.values()]
        told = {"units": "1", "long_name": "share of the requests to addresses beyond the capacity, which wrap around"}
        data["wrapped"] = ("scheme", beyond, told)
    # in a loop drives work all the time
    data.attrs["closed_loop"] = int(_closed(asked))
    return data


def summarized(data: xr.Dataset, against: str) -> xr.Dataset:
    """Means and 95% intervals (dimension `statistic`) by scheme, those of differences from the scheme `against` over pairs of
    one seed, as shares of what that has: `response_difference`, `quantile_difference`, `rate_difference`.

    `busiest` is the utilization of the busiest brick.
    """
    named = data.assign(busiest=data.utilization.max("brick").assign_attrs(data.utilization.attrs))
    for name, difference in DIFFERENCES.items():
        meaning = f"{data[name].attrs['long_name']}, less that of {against}, as a share of that"
        base = data[name].sel(scheme=against, drop=True)
        named[difference] = (data[name] / base - 1).assign_attrs(units="1", long_name=meaning)
    return interval(named).assign_attrs(against=against)


def overloads(data: xr.Dataset) -> dict[str, str]:
    """Why a scheme is overloaded, in words, of those that are."""
    found = {}
    for scheme in data.scheme.values.tolist():
        one = data.sel(scheme=scheme)
        outside = float((one.held_up / one.requests).mean())
        busiest = float(one.utilization.mean("seed").max())
        rising = one.part_response.mean("seed").values
        reasons = []
        if outside > HELD_UP:
            reasons.append(f"{outside:.1%} of the arrivals waited outside for a slot")
        if busiest > BUSY and not data.attrs["closed_loop"]:
            reasons.append(f"its busiest brick works {busiest:.0%} of the time")
        if np.all(np.diff(rising) > 0) and rising[-1] > RISEN * rising[0] and not data.attrs["closed_loop"]:
            reasons.append(f"responses rose from {rising[0] * 1e3:.3g} to {rising[-1] * 1e3:.3g} ms over the run")
        if reasons:
            found[scheme] = "; ".join(reasons)
    return found


def _programs(
    scenarios: Sequence[Scenario], seeds: Sequence[int], measures: Sequence[Measure]
) -> dict[Hashable, Callable[[], None]]:
    """How to compile what the schemes run with the slots that they are given first, by signature."""

    def program(scenario: Scenario) -> Callable[[], None]:
        first = _together(seeds)[0]
        return lambda: compile_lanes(provided([scenario], _rungs(scenario)[0]), first, measures, padded=False)

    return {signature(scenario): program(scenario) for scenario in scenarios}


def _rungs(scenario: Scenario) -> list[int]:
    """Numbers of slots to try."""
    given = scenario.system.slots
    return [given] if given != AUTO else [max(SLOTS, fewest([scenario])), MOST]


def _together(seeds: Sequence[int]) -> list[list[int]]:
    """The seeds in groups of runs that go side by side, one on each device; the last group is filled up by repetition."""
    wide = min(len(jax.devices()), len(seeds))
    parts = [list(seeds[first : first + wide]) for first in range(0, len(seeds), wide)]
    return [part + part[-1:] * (wide - len(part)) for part in parts]


def _with_slots(
    scenario: Scenario, seeds: Sequence[int], length: Extent, measures: Sequence[Measure], bar: tqdm
) -> xr.Dataset:
    """A scheme with every seed: with more slots, where none are given, as long as arrivals wait outside."""
    rungs = _rungs(scenario)
    for slots in rungs:
        data, waited = _seeds(provided([scenario], slots), seeds, length, measures, bar)
        if not waited:
            break
        bar.n = max(0, bar.n - len(seeds)) if slots != rungs[-1] else bar.n
    return data


def _seeds(
    scenarios: list[Scenario], seeds: Sequence[int], length: Extent, measures: Sequence[Measure], bar: tqdm
) -> tuple[xr.Dataset, float]:
    """One scheme with every seed, and how many arrivals waited outside. As many runs at a time as there are devices: those of
    a trace have little in common, so that what one does in an event, all beside it would wait for."""
    parts, waited, left = [], 0.0, len(seeds)
    for some in _together(seeds):
        used = min(len(some), left)
        found = measured_lanes(scenarios, some, length, measures, padded=False, quiet=True)
        parts.append(found.data.isel(lane=slice(0, used)))
        waited += float(found.waited[:used].sum())
        bar.update(used)
        left -= used
    return xr.concat(parts, dim="lane").rename(lane="seed").assign_coords(seed=list(seeds)), waited


def _count(asked: RequestTrace | AbstractArrivals, requests: int | None) -> int:
    if isinstance(asked, RequestTrace):
        return len(asked) if requests is None else min(requests, len(asked))
    if not isinstance(asked, AbstractArrivals):
        raise InputError(
            f"a {type(asked).__name__} to compare schemes on: give a trace, or arrivals such as ClosedLoop(requests, 16)"
        )
    return 20_000 if requests is None else requests


def _arrivals(asked: RequestTrace | AbstractArrivals, system: System, scale: float) -> AbstractArrivals:
    if not isinstance(asked, RequestTrace):
        return asked
    return recorded(asked, _capacity(system), scale)


def _capacity(system: System) -> int:
    """Sectors."""
    return int(system.placement.capacity(system.drive))


def _closed(asked: RequestTrace | AbstractArrivals) -> bool:
    return isinstance(asked, AbstractArrivals) and asked.most_outstanding is not None


def _in_parts(count: int) -> Measure:
    """Mean responses by parts of a run of so many requests: the first fifth of them, the second, and so on."""
    each = -(-count // PARTS)
    along = {"part": range(PARTS)}

    def of(report: Report, part):
        number = report.answered.number
        # what comes after the last of them is none of any part
        return answered(report) & ~report.answered.asynchronous & (number // each == part)

    waits = Sum(
        "part_response", lambda report, part: jnp.where(of(report, part), report.answered.response, 0.0), along=along
    )
    answers = Sum("part_answers", of, int, along=along)
    return Measure(
        "part_response",
        "s",
        "mean response time by fifths of the requests",
        (waits, answers),
        lambda part_response, part_answers: part_response / part_answers,
    )
