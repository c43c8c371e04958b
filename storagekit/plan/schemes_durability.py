"""Durability of schemes: the probability of a data loss, with the rebuild time under the load of the question."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from storagekit.analytic.durability import Durability, durability
from storagekit.core.binding import Binding
from storagekit.core.units import HOUR
from storagekit.faults import Failures, Redundancy, ReliabilityModel, Repair
from storagekit.plan.answer import finite
from storagekit.plan.failing_domains import domains_of, durability_in_domains
from storagekit.plan.prediction import Prediction
from storagekit.plan.ranked_schemes import RankedScheme, SchemesRanking
from storagekit.plan.requirements import Requirements
from storagekit.plan.streaming import used_share

_TITLES = ("scheme", "loss", "nines", "MTTDL years", "rebuild h", "   most frequent path")


@dataclass(frozen=True)
class SchemeDurability(RankedScheme):
    """The durability of a scheme.

    Parameters
    ----------
    prediction : Prediction
        The scheme with its predicted values.
    durability : Durability
        Probability of a loss, mean time to data loss, and paths.
    """

    COLUMNS = MappingProxyType(
        {
            "loss_probability": ("1", "probability of a data loss"),
            "nines": ("1", "-log10 of the loss probability"),
            "mttdl_years": ("years", "mean time to data loss"),
            "rebuild": ("s", "time to restore a lost disk under the load"),
            "path": ("", "share and events of the most frequent path to a loss"),
        }
    )

    durability: Durability

    @property
    def loss_probability(self) -> float:
        """Return the probability of a data loss within the years of the question."""
        return self.durability.loss_probability

    @property
    def nines(self) -> float:
        """Return -log10 of the loss probability."""
        return self.durability.nines

    @property
    def mttdl_years(self) -> float:
        """Return the mean time to data loss in years."""
        return self.durability.mttdl_years

    @property
    def rebuild(self) -> float:
        """Return the time of the rebuild of one disk under the load, seconds; NaN for a scheme without redundancy."""
        return self.prediction.rebuild

    @property
    def path(self) -> str:
        """Return the events of the most frequent path to a loss with its share, as text."""
        most = self.durability.dominant
        return "none" if most is None else f"{most.share:.0%}: {' > '.join(most.events)}"

    def to_dict(self) -> dict[str, Any]:
        """Return the values as a dictionary for JSON, with the values of the durability."""
        return super().to_dict() | finite(self.durability.to_dict())


@dataclass(frozen=True)
class DurabilityRanking(SchemesRanking[SchemeDurability]):
    """The schemes of an answer, the most durable first.

    Parameters
    ----------
    years : float
        Duration of the loss probability, years.
    ranking : tuple of SchemeDurability
        The schemes, from the smallest to the largest loss probability.
    never : tuple of str
        Schemes whose rebuild never ends, because the load leaves no idle time after a failure.
    unknown : tuple of str
        Schemes whose loss depends on which disks fail, so that there is no formula. If nodes or racks fail, these include
        declustered codes.
    assumptions : tuple of str
        Conventions and assumptions.
    uneven : tuple of str
        Schemes without a formula for failing nodes or racks, because some of these have more disks of a group than others.
    """

    COLUMNS = SchemeDurability.COLUMNS
    years: float
    ranking: tuple[SchemeDurability, ...]
    never: tuple[str, ...]
    unknown: tuple[str, ...]
    assumptions: tuple[str, ...]
    uneven: tuple[str, ...] = ()

    @property
    def binding(self) -> Binding:
        """Return the reason why no scheme has a loss probability; the constraint "none" if there is one."""
        if self.ranking:
            return Binding("none")
        if self.uneven and not self.never:
            constraint = f"the groups of {self.uneven[0]} are not spread evenly over nodes and racks"
            remedy = "use at least as many nodes as a group has disks, or numbers of nodes and racks that divide them"
            return Binding(constraint, remedy=remedy)
        return Binding("no scheme that can be rebuilt under this load has a formula", remedy="reduce the load")

    def _first(self):
        best, years = self.ranking[0], f"{self.years:g} year{'s' if self.years != 1 else ''}"
        return f"most durable: {best.name}: data loss in {years} with probability {best.loss_probability:.2g}"

    def _titles(self):
        return _TITLES, (0, 10, 7, 13, 11, 0)

    def _cells(self, one):
        hours = f"{one.rebuild / HOUR:.1f}" if math.isfinite(one.rebuild) else "-"
        loss, mttdl = f"{one.loss_probability:.2g}", f"{one.mttdl_years:.3g}"
        return one.name, loss, f"{one.nines:.1f}", mttdl, hours, f"   {one.path}"

    @property
    def _left_out(self):
        uneven = {"groups are not spread evenly over nodes or racks": self.uneven}
        return {"never rebuilt under this load": self.never} | super()._left_out | uneven

    def _content(self):
        return super()._content() | {"years": self.years, "never": list(self.never), "uneven": list(self.uneven)}


def durability_of(
    needs: Requirements,
    predictions: Sequence[Prediction],
    failures: Failures,
    *,
    detection: float,
    at_once: int | None,
    bit_error_rate: float,
    years: float,
    rebuild_rate: float | None = None,
    spares: int | None = None,
    refill: float = 0.0,
    node_failures: Failures | None = None,
    rack_failures: Failures | None = None,
) -> DurabilityRanking:
    """Return the durability of schemes; see `SchemesAnswer.durability`, and `Repair` for spares and their refill."""
    found, never, unknown, uneven = [], [], [], []
    failures_of = {"rack": rack_failures, "node": node_failures}
    network = needs.network if any(failures_of.values()) else None
    for one in predictions:
        redundancy = one.scheme.redundancy(used_share(needs, one.scheme) * needs.capacity)
        if redundancy is None or (network is not None and redundancy.declustered):
            unknown.append(one.name)
        elif (domains := domains_of(network, redundancy, failures_of) if network else ()) is None:
            uneven.append(one.name)
        elif redundancy.parities and not math.isfinite(one.rebuild):
            never.append(one.name)
        else:
            time = _own_time(one, redundancy)
            repair = Repair(time, at_once=at_once, detection=detection, spares=spares, refill=refill)
            model = ReliabilityModel(redundancy, failures, repair, domains, bit_error_rate)
            durable = durability_in_domains(network, model, years) if network else durability(model, years)
            found.append(SchemeDurability(one, durable))
    # the numbers of groups and the times of rebuilds differ, and are in `to_dict`
    every = [one.durability.conventions for one in found]
    conventions = [line for line in every[0] if all(line in lines for lines in every)] if every else []
    assumptions = (
        "Each disk fails independently of the others."
        if network is None
        else "Disks, nodes and racks fail independently of each other. The rebuild of a disk takes as long after the failure "
        "of its node as after its own failure.",
        "A rebuild takes as long as in the ranking: it uses the idle time that the load leaves while one disk is lost."
        if rebuild_rate is None
        else f"A rebuild restores {rebuild_rate / 1e6:g} MB/s. If the disks or a spare disk are too slow for it, it "
        "counts as never ending.",
        *conventions,
        *(["The network does not limit this rate."] if needs.network is not None and rebuild_rate is not None else []),
    )
    ranking = tuple(sorted(found, key=lambda one: one.loss_probability))
    return DurabilityRanking(years, ranking, tuple(never), tuple(unknown), assumptions, tuple(uneven))


def _own_time(one: Prediction, redundancy: Redundancy) -> float:
    """Return the time that one disk needs to read or to write the content of a lost disk under the load, seconds."""
    if not redundancy.parities:
        # without redundancy there is no rebuild, and the time has no effect
        return HOUR
    if not redundancy.declustered:
        return one.rebuild
    return one.rebuild * (redundancy.disks - 1) / (redundancy.data + 1)
