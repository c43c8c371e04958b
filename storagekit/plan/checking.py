"""Checks of answers: simulate a scenario for each candidate, and compare the result with the prediction."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from storagekit.analytic.array.aspect import Layout
from storagekit.analytic.array.elevator import Scheduler
from storagekit.core.provenance import made_jointly
from storagekit.core.validation import COUNT, POSITIVE, TIME, Validator, optional
from storagekit.engine import Scenario
from storagekit.engine.histogram import MOST_STREAMS
from storagekit.plan.check import WITHIN, Check, CheckRow
from storagekit.plan.prediction import Prediction
from storagekit.plan.question import Question
from storagekit.plan.requirements import Requirements
from storagekit.plan.sharing_question import SharesQuestion, numbers
from storagekit.plan.simulating import (
    MEAN,
    OVERLOAD,
    arrival_rate,
    layout_requests,
    layout_scenario,
    require_simulated,
    scheme_requests,
    scheme_scenario,
    shares_scenario,
    simulate,
    with_streams,
)
from storagekit.simulation import Measure, by_stream, interval
from storagekit.simulation.measures import OF_STREAMS, QUANTILES
from storagekit.simulation.quantiles import HIGH, HIGH_STREAMS, LOW, LOW_STREAMS, POOLED, POOLED_STREAMS

if TYPE_CHECKING:
    import xarray as xr

# Number of independent runs; an interval needs at least two.
_SEEDS = Validator(least=2, most=10_000, whole=True, otherwise=", for an interval")
_REQUESTS = optional(COUNT.up_to(10**8))
# A run of a scheme has a warm-up, and 99% quantiles.
_SCHEME_REQUESTS = optional(Validator(least=100, most=10**8, whole=True))
# Number of requests to the fastest brick in a run of streams.
_STREAM_REQUESTS = 8_000
_QUANTILES = {"p95": 0.95, "p99": 0.99}
# cause of differences with sequential streams
_OF_STREAMS = (
    "a simulated stream arrives at regular times, and the drives have no read-ahead, so that an access immediately after "
    "another access of the stream waits for a revolution"
)
# factor of the length of runs that confirm a difference
_LONGER = 4


@dataclass(frozen=True)
class _Candidate:
    """A scenario with the predicted values of its candidates.

    predicted: predicted value of each pair of candidate and measure. In a scenario of streams, the candidates are the
    streams, in their order. requests, seconds: length of a run; one of the two is given. measures:
    further measures of the simulation. rate: rate of the arrivals, given only if the arrivals may overload the disks.
    limits: limit of each measure in the question. cause: the known cause of differences. Longer runs confirm a difference
    before its cause is named. with_seed: function that returns the scenario for a number of requests and a seed, if
    `scenario` has requests that are drawn in advance. tenants: measures of a tenant, each with the number of its stream and
    the measure of that stream.
    """

    scenario: Scenario
    predicted: Mapping[tuple[str, str], float]
    warm_up: float
    requests: int = 0
    seconds: float | None = None
    measures: Sequence[Measure] = ()
    rate: float | None = None
    limits: Mapping[str, float] = field(default_factory=dict)
    cause: str = ""
    with_seed: Callable[[int, int], Scenario] | None = None
    tenants: Mapping[str, tuple[int, str]] = field(default_factory=dict)


def _checked(
    kind: str, candidates: Sequence[_Candidate], seeds: int, scheduler: str = "", within: float = WITHIN
) -> Check:
    """Simulate every candidate, and return its predicted and simulated values."""
    rows, overloaded, made = [], [], []
    for one in candidates:
        data = _simulated(one, seeds)
        over = one.rate is not None and float(data.request_rate.mean()) < OVERLOAD * one.rate
        found = _rows(one, data)
        if one.cause and not over and any(_apart(row, within) for row in found):
            data = _simulated(one, seeds, _LONGER)
            found = [replace(row, cause=one.cause if _apart(row, within) else "") for row in _rows(one, data)]
        overloaded += dict.fromkeys(row.candidate for row in found if over)
        rows += found
        made.append(data.attrs)
    attrs = made_jointly(made)
    if len(made) > 1:
        # no scenario describes all candidates
        attrs.pop("scenario", None)
    return Check(kind, tuple(rows), attrs, scheduler, within, tuple(overloaded))


def _simulated(one: _Candidate, seeds: int, times: int = 1) -> "xr.Dataset":
    """Return the measures of a candidate for each seed, from runs that are `times` as long as usual."""
    length, numbers, scenarios = times * one.requests, range(seeds), [one.scenario]
    if one.with_seed is not None:
        # the requests of each seed differ
        numbers, scenarios = range(1), [one.with_seed(length, seed) for seed in range(seeds)]
    data = simulate(
        scenarios,
        numbers,
        requests=length,
        seconds=None if one.seconds is None else times * one.seconds,
        warm_up=times * one.warm_up,
        measures=one.measures,
    )
    if one.with_seed is None:
        return data.isel(candidate=0, drop=True)
    found = data.isel(seed=0, drop=True).rename(candidate="seed")
    return found.assign_attrs(seeds=list(range(seeds)))


def _rows(one: _Candidate, data: "xr.Dataset") -> list[CheckRow]:
    """Return the predicted and the simulated values of a candidate. data: measures for each seed."""
    summary, rows = interval(data), []
    for number, ((name, measure), predicted) in enumerate(one.predicted.items()):
        stream, kind = one.tenants.get(measure, (None, measure))
        if kind in _QUANTILES and POOLED in data:
            names = (POOLED, LOW, HIGH) if stream is None else (POOLED_STREAMS, LOW_STREAMS, HIGH_STREAMS)
            every = [data[each].sel(quantile=_QUANTILES[kind]) for each in names]
            simulated, low, high = (float(each if stream is None else each.isel(stream=stream)) for each in every)
        else:
            found = _measured(summary, kind, number) if stream is None else _of_stream(summary, kind, stream)
            simulated, low, high = (float(found.sel(statistic=each)) for each in ("mean", "low", "high"))
        rows.append(CheckRow(name, measure, predicted, simulated, low, high, one.limits.get(measure)))
    return rows


def _apart(row: CheckRow, within: float) -> bool:
    """Return whether a prediction differs by more than `within`, and by more than the simulation's error."""
    return abs(row.difference) > within and not row.low <= row.predicted <= row.high


def _of_stream(data: "xr.Dataset", measure: str, stream: int) -> "xr.DataArray":
    """Return the simulated mean or quantile of the response times of a stream."""
    if measure in _QUANTILES:
        return data[OF_STREAMS].sel(quantile=_QUANTILES[measure]).isel(stream=stream)
    return data.stream_response.isel(stream=stream)


def _measured(data: "xr.Dataset", measure: str, number: int) -> "xr.DataArray":
    """Return the simulated variable that corresponds to a measure of a check. number: number of the stream."""
    if measure in _QUANTILES:
        return data[QUANTILES[0]].sel(quantile=_QUANTILES[measure])
    if measure == "rate":
        return data.stream_throughput.isel(stream=number)
    return data.request_rate if measure == "throughput" else data.response


def check_layouts(
    question: Question,
    predicted: Mapping[Layout, float],
    measure: str,
    outstanding: int | None,
    rate: float,
    *,
    seeds: int,
    requests: int | None,
) -> Check:
    """Simulate layouts with `outstanding` requests, or with `rate` requests a second if `outstanding` is None.

    predicted: predicted value of the measure ("response" or "throughput"), keyed by layout.
    """
    seeds = _SEEDS("seeds", seeds)
    length = _REQUESTS("requests", requests) or layout_requests(outstanding)
    candidates = [
        _Candidate(
            layout_scenario(question, layout, outstanding, rate),
            {(str(layout), measure): value},
            requests=length,
            warm_up=length // 5,
        )
        for layout, value in predicted.items()
    ]
    return _checked("layout", candidates, seeds, question.scheduler_name)


def check_schemes(
    needs: Requirements,
    ranking: Sequence[Prediction],
    measures: Sequence[str],
    scheduler: Scheduler | None,
    *,
    seeds: int,
    requests: int | None,
) -> Check:
    """Simulate schemes, and compare the measures with the predictions.

    measures: names of measures that are fields of a `Prediction`. scheduler: None for FCFS.
    """
    seeds, requests = _SEEDS("seeds", seeds), _SCHEME_REQUESTS("requests", requests)
    limits = {name: limit for name, limit in {"mean": needs.mean, "p99": needs.tail}.items() if limit is not None}
    # the simulation has the quantiles of a limited number of streams
    kinds = ("mean", "p99") if len(needs.tenants) <= MOST_STREAMS else ("mean",)
    tenants = {f"{kind} of {one.name}": (number, kind) for number, one in enumerate(needs.tenants) for kind in kinds}
    for measure, (number, kind) in tenants.items():
        limit = getattr(needs.tenants[number], kind)
        limits |= {} if limit is None else {measure: limit}
    for one in ranking:
        require_simulated(needs, one.scheme)
    candidates = []
    for one in ranking:
        length, scenario = (
            requests or scheme_requests(needs, one.utilization),
            scheme_scenario(needs, one.scheme, scheduler, one.mean),
        )
        predicted = {(one.name, measure): getattr(one, measure) for measure in measures}
        predicted |= {
            (one.name, measure): getattr(one.tenants[number], kind) for measure, (number, kind) in tenants.items()
        }
        candidates.append(
            _Candidate(
                scenario,
                predicted,
                requests=length,
                # two transients of six
                warm_up=length // 3,
                measures=by_stream(len(needs.tenants)) if tenants else (),
                rate=arrival_rate(needs),
                limits=limits,
                cause=_OF_STREAMS if needs.streams else one.scheme.caveat,
                with_seed=partial(with_streams, needs, one.scheme, scenario) if needs.streams else None,
                tenants=tenants,
            )
        )
    return _checked("scheme", candidates, seeds, scheduler.name if scheduler else "")


def check_shares(
    question: SharesQuestion,
    rates: Mapping[str, float],
    *,
    seconds: float | None,
    seeds: int,
    threads: int,
    depth: int,
    within: float,
) -> Check:
    """Simulate streams on bricks with fair queues. rates: predicted rate of each stream by name, bytes a second."""
    seeds, threads, depth = _SEEDS("seeds", seeds), COUNT("threads", threads), COUNT("depth", depth)
    POSITIVE("within", within)
    if seconds is None:
        seconds = _STREAM_REQUESTS * MEAN / max(question.bricks)
    TIME("seconds", seconds)
    streams = _Candidate(
        shares_scenario(numbers(question), question.policy, threads, depth),
        {(name, "rate"): rate for name, rate in rates.items()},
        seconds=seconds,
        warm_up=seconds / 2,
        measures=by_stream(len(rates)),
    )
    return _checked("stream", [streams], seeds, within=within)
