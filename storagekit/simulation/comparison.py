"""Compare schemes on the same requests, with confidence intervals of the differences between schemes."""

import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import lru_cache

import jax
import jax.numpy as jnp
import xarray as xr
from tqdm import tqdm

from storagekit.core.errors import InputError
from storagekit.engine import AUTO, Report, Scenario, Sum, System, completed
from storagekit.engine.batch import signature
from storagekit.simulation.compile_ahead import compiled_ahead
from storagekit.simulation.confidence import interval
from storagekit.simulation.experiment import listed
from storagekit.simulation.measures import Measure
from storagekit.simulation.overload import PARTS, overload_reasons, part_length
from storagekit.simulation.provenance import provenance
from storagekit.simulation.provisioning import MOST, fewest, provided
from storagekit.simulation.quantiles import OF_ALL_SEEDS
from storagekit.simulation.run_length import RunLength, run_length
from storagekit.simulation.standard_measures import beside
from storagekit.simulation.time_series import compile_runs, measured_runs
from storagekit.workload import AbstractArrivals, recorded, wrapped
from storagekit.workload.trace import RequestTrace

# first number of slots to try if System.slots is not given; it is large because traces have bursts
SLOTS = 256
# share of a run that is not measured if its requests are not from a trace; the share is the same for every scheme, so
# that all schemes are measured over the same requests
WARM_UP = 0.2
# measures that are compared between schemes, and the names of their differences
DIFFERENCES = {
    "response": "response_difference",
    "response_quantile": "quantile_difference",
    "request_rate": "rate_difference",
}


def compared(
    workload: RequestTrace | AbstractArrivals,
    schemes: Mapping[str, System],
    *,
    seeds: int | Sequence[int],
    requests: int | None,
    scale: float,
    measures: Sequence[Measure],
    depth: int | None = None,
) -> xr.Dataset:
    """Simulate every scheme with every seed, and return the measures (see `storagekit.compare`).

    Parameters
    ----------
    workload : RequestTrace or AbstractArrivals
        The trace, or the arrivals.
    schemes : mapping of str to System
        The systems, keyed by name.
    seeds : int or sequence of int
        Number of runs of each scheme, or their seeds.
    requests : int or None
        Number of requests; None for all requests of a trace, or for 20,000 requests of other arrivals.
    scale : float
        Factor by which a trace runs faster than recorded.
    measures : sequence of Measure
        Measures in addition to the standard measures.
    depth : int, optional
        Number of outstanding requests of a closed loop over the trace; see `replay`.

    Returns
    -------
    Dataset
        The measures, with the dimensions `scheme` and `seed`.

    Raises
    ------
    InputError
        If `workload` is neither a trace nor arrivals, or if a setting is impossible.
    """
    if depth is not None and not isinstance(workload, RequestTrace):
        raise InputError("depth is for a trace; the arrivals have their own number of outstanding requests")
    count, numbers = _count(workload, requests), listed(seeds)
    length = run_length(count, None, 0 if isinstance(workload, RequestTrace) else int(WARM_UP * count))
    wanted = beside((*measures, _in_parts(count)))
    scenarios = [Scenario(system, _arrivals(workload, system, scale, depth)) for system in schemes.values()]
    began = time.perf_counter()
    runs = tqdm(total=len(schemes) * len(numbers), desc="comparing", unit="run", delay=2, leave=False)
    with runs as bar, compiled_ahead(_programs(scenarios, numbers, wanted)) as ready:
        found: list[xr.Dataset] = []
        for scenario in scenarios:
            ready(signature(scenario))
            found.append(_with_slots(scenario, numbers, length, wanted, bar))
    data = xr.concat(found, dim=xr.IndexVariable("scheme", list(schemes)), join="outer")
    data.attrs = provenance(scenarios, ["scheme"], numbers, length.facts, time.perf_counter() - began)
    if isinstance(workload, RequestTrace):
        data.attrs |= {"basis": "trace", "trace": workload.source.name, "scale": float(scale)}
        beyond = [wrapped(workload, _capacity(system)) for system in schemes.values()]
        facts = {"units": "1", "long_name": "fraction of the requests whose addresses wrap around"}
        data["wrapped"] = ("scheme", beyond, facts)
    # in a closed loop the drives are always busy
    data.attrs["closed_loop"] = int(_closed(workload) or depth is not None)
    return data


def summarized(data: xr.Dataset, against: str) -> xr.Dataset:
    """Return means and 95% intervals for each scheme, and for the differences from one scheme.

    Parameters
    ----------
    data : Dataset
        The measures by `scheme` and `seed`.
    against : str
        The scheme with which the other schemes are compared.

    Returns
    -------
    Dataset
        Means and intervals (dimension `statistic`) of the measures and of `busiest`, the utilization of the busiest
        brick. `response_difference`, `quantile_difference` and `rate_difference` are differences from `against`, as
        fractions of the value of `against`, and are computed over pairs of runs with the same seed.
    """
    named = data.assign(busiest=data.utilization.max("brick").assign_attrs(data.utilization.attrs))
    for name, difference in DIFFERENCES.items():
        meaning = f"{data[name].attrs['long_name']}, difference from {against}, as a fraction of the value of {against}"
        base = data[name].sel(scheme=against, drop=True)
        named[difference] = (data[name] / base - 1).assign_attrs(units="1", long_name=meaning)
    return interval(named).assign_attrs(against=against)


def overloads(data: xr.Dataset) -> dict[str, str]:
    """Return the reason why each overloaded scheme is overloaded.

    Parameters
    ----------
    data : Dataset
        The measures by `scheme` and `seed`.

    Returns
    -------
    dict of str to str
        The reasons as text, keyed by overloaded scheme.
    """
    found, closed = {}, bool(data.attrs["closed_loop"])
    for scheme in data.scheme.values.tolist():
        one = data.sel(scheme=scheme)
        outside = float((one.blocked / one.requests).mean())
        # schemes may have fewer bricks than others
        utilization = one.utilization.mean("seed").dropna("brick").values
        requests, responses = int(one.requests.mean()), one.part_response.mean("seed").values
        found[scheme] = overload_reasons(requests, outside, utilization, responses, closed)
    return {scheme: reasons for scheme, reasons in found.items() if reasons}


def _programs(
    scenarios: Sequence[Scenario], seeds: Sequence[int], measures: Sequence[Measure]
) -> dict[Hashable, Callable[[], None]]:
    """Return, keyed by signature, functions that compile each scheme's program with the first number of slots."""

    def program(scenario: Scenario) -> Callable[[], None]:
        first = _together(seeds)[0]
        return lambda: compile_runs(provided([scenario], _slot_steps(scenario)[0]), first, measures, padded=False)

    return {signature(scenario): program(scenario) for scenario in scenarios}


def _slot_steps(scenario: Scenario) -> list[int]:
    """Return the numbers of slots to try."""
    given = scenario.system.slots
    return [given] if given != AUTO else [max(SLOTS, fewest([scenario])), MOST]


def _together(seeds: Sequence[int]) -> list[list[int]]:
    """Return the seeds in groups. The runs of a group are simulated simultaneously, one run on each device.

    The last group is padded with copies of its last seed.
    """
    wide = min(len(jax.devices()), len(seeds))
    parts = [list(seeds[first : first + wide]) for first in range(0, len(seeds), wide)]
    return [part + part[-1:] * (wide - len(part)) for part in parts]


def _with_slots(
    scenario: Scenario, seeds: Sequence[int], length: RunLength, measures: Sequence[Measure], bar: tqdm
) -> xr.Dataset:
    """Simulate a scheme with every seed.

    If System.slots is not given and arrivals wait for a slot, the simulation is repeated with more slots.
    """
    slot_steps = _slot_steps(scenario)
    for slots in slot_steps:
        data, waited = _seeds(provided([scenario], slots), seeds, length, measures, bar)
        if not waited:
            break
        bar.n = max(0, bar.n - len(seeds)) if slots != slot_steps[-1] else bar.n
    return data


def _seeds(
    scenarios: list[Scenario], seeds: Sequence[int], length: RunLength, measures: Sequence[Measure], bar: tqdm
) -> tuple[xr.Dataset, float]:
    """Simulate one scheme with every seed, and return the measures and the number of arrivals that waited for a slot.

    Each device simulates one run at a time. Batching would be slower, because the events of different runs of a trace
    differ, and every run would wait for the events of the other runs.
    """
    parts, waited, left = [], 0.0, len(seeds)
    for some in _together(seeds):
        used = min(len(some), left)
        found = measured_runs(scenarios, some, length, measures, padded=False, quiet=True)
        # its quantiles of all seeds would be quantiles of only some seeds
        parts.append(found.data.drop_vars(OF_ALL_SEEDS, errors="ignore").isel(run=slice(0, used)))
        waited += float(found.waited[:used].sum())
        bar.update(used)
        left -= used
    return xr.concat(parts, dim="run").rename(run="seed").assign_coords(seed=list(seeds)), waited


def _count(workload: RequestTrace | AbstractArrivals, requests: int | None) -> int:
    if isinstance(workload, RequestTrace):
        return len(workload) if requests is None else min(requests, len(workload))
    if not isinstance(workload, AbstractArrivals):
        raise InputError(
            f"arrivals of a comparison: given a {type(workload).__name__}; give a trace, or arrivals such as "
            "ClosedLoop(requests, 16)"
        )
    return 20_000 if requests is None else requests


def _arrivals(
    workload: RequestTrace | AbstractArrivals, system: System, scale: float, depth: int | None
) -> AbstractArrivals:  # fmt: skip
    if not isinstance(workload, RequestTrace):
        return workload
    return recorded(workload, _capacity(system), scale, depth=depth)


def _capacity(system: System) -> int:
    """Return the capacity of a system in sectors."""
    return int(system.placement.capacity(system.drive))


def _closed(workload: RequestTrace | AbstractArrivals) -> bool:
    return isinstance(workload, AbstractArrivals) and workload.most_outstanding is not None


def _in_parts(count: int) -> Measure:
    """Return the measure of the mean response time in each fifth of a run of `count` requests."""
    return _in_parts_of(part_length(count))


@lru_cache(16)
def _in_parts_of(each: int) -> Measure:
    """Return the same measure for parts of the same length, so that comparisons share a compiled program."""
    along = {"part": range(PARTS)}

    def of(report: Report, part):
        number = report.completed.number
        # requests after the last part belong to no part
        return completed(report) & ~report.completed.asynchronous & (number // each == part)

    waits = Sum(
        "part_response", lambda report, part: jnp.where(of(report, part), report.completed.response, 0.0), along=along
    )
    answers = Sum("part_answers", of, int, along=along)
    return Measure(
        "part_response",
        "s",
        "mean response time by fifths of the requests",
        (waits, answers),
        lambda part_response, part_answers: part_response / part_answers,
    )
