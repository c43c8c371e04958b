"""The time for which schemes meet the requirements, while the data and the load grow by a constant factor each year."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import NamedTuple

from storagekit.analytic.array.elevator import Scheduler
from storagekit.analytic.array.positioning import Curve, Linear
from storagekit.core.binding import Binding
from storagekit.core.units import MS
from storagekit.plan.answer import milliseconds
from storagekit.plan.devices import predict, timing_of
from storagekit.plan.finding import exceeded
from storagekit.plan.networking import network_is_full
from storagekit.plan.objective import Objective
from storagekit.plan.predicting import SLACK, load_share
from storagekit.plan.prediction import Prediction
from storagekit.plan.ranked_schemes import RankedScheme, SchemesRanking
from storagekit.plan.requirements import MOST_OUTSTANDING, Requirements
from storagekit.plan.scheme import Scheme, SimulatedOnly

# years after which a scheme counts as meeting the requirements forever
HORIZON = 30.0
# number of steps of the search: the result is exact to less than an hour
_HALVINGS = 20
_TB = 1e12


class Limit(NamedTuple):
    """A requirement that is no longer met, with the value and its limit as text."""

    name: str
    text: str


@dataclass(frozen=True)
class SchemeGrowth(RankedScheme):
    """The time for which a scheme meets the requirements.

    Parameters
    ----------
    prediction : Prediction
        The scheme with its predicted values for the present load.
    years : float
        Years until a requirement is no longer met; infinite if this takes more than 30 years.
    limit : str
        The requirement, with its limit; "none" if the scheme meets all requirements for more than 30 years.
    """

    COLUMNS = MappingProxyType(
        {
            "years": ("years", "time until a requirement is no longer met"),
            "limit": ("", "the requirement"),
            "mean": ("s", "mean response time under the present load"),
            "usable": ("bytes", "capacity for data"),
        }
    )

    years: float
    limit: str

    @property
    def mean(self) -> float:
        """Return the mean response time under the present load, seconds."""
        return self.prediction.mean

    @property
    def usable(self) -> float:
        """Return the capacity for data in bytes."""
        return self.prediction.usable


@dataclass(frozen=True)
class GrowthRanking(SchemesRanking[SchemeGrowth]):
    """The schemes of an answer, sorted by the time for which they meet the requirements.

    Parameters
    ----------
    data, load : float
        Growth of the data and of the rate of requests in a year; 0.3 is 30%.
    ranking : tuple of SchemeGrowth
        The schemes.
    unknown : tuple of str
        Schemes without a formula.
    assumptions : tuple of str
        Conventions and assumptions.
    """

    COLUMNS = SchemeGrowth.COLUMNS
    data: float
    load: float
    ranking: tuple[SchemeGrowth, ...]
    unknown: tuple[str, ...]
    assumptions: tuple[str, ...]

    @property
    def binding(self) -> Binding:
        """Return the reason why no scheme has a duration; the constraint "none" if at least one has."""
        if self.ranking:
            return Binding("none")
        return Binding("no formula for these schemes", remedy="leave out families, to include RAID 0 to 60")

    def _first(self):
        best = self.ranking[0]
        growth = f"with {self.data:.0%} more data and {self.load:.0%} more requests each year"
        if math.isinf(best.years):
            return f"{best.name} meets the requirements for more than {HORIZON:g} years, {growth}"
        return f"{best.name} meets the requirements for {best.years:.1f} years, {growth}; then: {best.limit}"

    def _titles(self):
        return ("scheme", "years", "mean ms today", "TB", "   limit"), (0, 8, 15, 8, 0)

    def _cells(self, one):
        years = f"{one.years:.1f}" if math.isfinite(one.years) else f"> {HORIZON:g}"
        return one.name, years, milliseconds(one.mean), f"{one.usable / _TB:.4g}", f"   {one.limit}"

    def _content(self):
        return super()._content() | {"data": self.data, "load": self.load}


def growth_of(
    needs: Requirements,
    objective: Objective,
    scheduler: Scheduler,
    predictions: Sequence[Prediction],
    data: float,
    load: float,
) -> GrowthRanking:
    """Return the time for which schemes meet the requirements; see `SchemesAnswer.growth`."""
    growing = _Growth(needs, objective.most_busy, scheduler, timing_of(needs.drive), data, load)
    found = [growing.of(one) for one in predictions if not isinstance(one.scheme, SimulatedOnly)]
    unknown = tuple(one.name for one in predictions if isinstance(one.scheme, SimulatedOnly))
    assumptions = (
        "The data grows by one factor in each year, and the load by another, all tenants and streams alike. Sizes and the "
        "share of reads remain.",
        "A scheme no longer meets the requirements when the data exceeds its capacity, when a response time exceeds its "
        "limit, or when the disks are busier than the objective allows. Without limits of the response time, the disks may "
        "be nearly saturated.",
    )
    ranking = tuple(sorted(found, key=lambda one: (-one.years, one.mean)))
    return GrowthRanking(data, load, ranking, unknown, assumptions)


class _Growth(NamedTuple):
    """Requirements that grow: data and load are the growth in a year. most_busy: largest load of the disks."""

    needs: Requirements
    most_busy: float
    scheduler: Scheduler
    timing: Curve | Linear | None
    data: float
    load: float

    def of(self, one: Prediction) -> SchemeGrowth:
        """Return the time for which a scheme meets the requirements.

        The search is by bisection, because each measure is worse with more data and with more load.
        """
        if self._exceeded(one.scheme, HORIZON) is None:
            return SchemeGrowth(one, math.inf, "none")
        enough, least, most = None, 0.0, HORIZON
        for _ in range(_HALVINGS):
            middle = (least + most) / 2
            exceeded = self._exceeded(one.scheme, middle)
            least, most, enough = (middle, most, enough) if exceeded is None else (least, middle, exceeded)
        exceeded = enough or self._exceeded(one.scheme, HORIZON)
        assert exceeded is not None
        return SchemeGrowth(one, least, f"{exceeded.name} {exceeded.text}")

    def _exceeded(self, scheme: Scheme, years: float) -> Limit | None:
        """Return the requirement that a scheme does not meet after some years; None if it meets all."""
        capacity, grown = scheme.usable(self.needs.capacity), self.needs.data * (1 + self.data) ** years
        if grown > capacity * SLACK:
            return Limit("capacity", f"of {capacity / _TB:.4g} TB")
        factor = (1 + self.load) ** years
        if self.needs.rate is not None:
            needs = self.needs.grown(grown, factor)
        else:
            assert self.needs.outstanding is not None
            outstanding = round(self.needs.outstanding * factor)
            if outstanding > MOST_OUTSTANDING:
                return Limit("load", f"of {MOST_OUTSTANDING} outstanding requests")
            needs = replace(self.needs, data=grown, outstanding=outstanding)
        (one,) = predict(needs, self.timing, [scheme], self.scheduler, scheme.disks)
        if not math.isfinite(one.mean) or network_is_full(one):
            return Limit("load", f"of {one.throughput:.0f} requests/s")
        limits = exceeded(needs, one)
        if limits:
            limit = limits[0]
            name = {"mean": "mean", "p99": "99th percentile"}[limit.measure]
            whose = f" of {limit.tenant}" if limit.tenant else ""
            return Limit(name, f"response time{whose} of {limit.limit / MS:g} ms")
        if needs.rate is not None and load_share(needs, one) > self.most_busy:
            return Limit("utilization", f"of {self.most_busy:.0%}")
        return None
