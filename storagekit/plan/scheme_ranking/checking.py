"""Check of an answer about schemes by simulation."""

from typing import TYPE_CHECKING

from storagekit.core.errors import InputError
from storagekit.core.validation import COUNT, Validator
from storagekit.plan.checking import RUNS
from storagekit.plan.scheme_ranking.aims import MinP95
from storagekit.plan.scheme_ranking.answer import SchemesAnswer
from storagekit.plan.scheme_ranking.checked import Checked, SchemeCheck, SchemesCheck

if TYPE_CHECKING:
    import xarray as xr


def check_schemes(answer: SchemesAnswer, *, schemes: int, seeds: int, requests: int | None) -> SchemesCheck:
    """See `SchemesAnswer.check`."""
    from storagekit.plan.scheme_ranking.simulating import OVERLOAD, enough, simulate_scheme
    from storagekit.simulation import interval

    if not answer.feasible:
        raise InputError(f"nothing to check, the question has no answer: {answer.binding}")
    schemes, seeds = COUNT("schemes", schemes), RUNS("seeds", seeds)
    requests = None if requests is None else Validator(least=100, most=10**8, whole=True)("requests", requests)
    needs, rows, attrs = answer.needs, [], {}
    scheduler = answer.scheduler if needs.rate is None else None
    asked = {"mean": needs.mean, "p99": needs.tail}
    limits = {name: limit for name, limit in asked.items() if limit is not None}
    for one in answer.ranking[:schemes]:
        length = requests or enough(needs, one.utilization)
        found = simulate_scheme(needs, one.scheme, scheduler, one.mean, range(seeds), length)
        overloaded = needs.rate is not None and float(found.request_rate.mean()) < OVERLOAD * needs.rate
        told = interval(found)
        tails = {"p95": (one.p95, 0.95)} if isinstance(answer.goal, MinP95) else {}
        measures = {"mean": _checked(one.mean, told.response)} | {
            name: _checked(predicted, told.response_quantile.sel(quantile=share))
            for name, (predicted, share) in (tails | {"p99": (one.p99, 0.99)}).items()
        }
        if needs.rate is None:
            measures = {"throughput": _checked(one.throughput, told.request_rate)} | measures
        rows.append(SchemeCheck(one.name, one.scheme.caveat, measures, overloaded, limits))
        attrs = dict(found.attrs) | {"requests": length}
    return SchemesCheck(tuple(rows), attrs)


def _checked(predicted: float, summary: "xr.DataArray") -> Checked:
    return Checked(predicted, *(float(summary.sel(statistic=one)) for one in ("mean", "low", "high")))
