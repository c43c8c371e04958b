"""Predict the changes of an array that one could buy: disks, spares, another drive, a cache, or another scheme."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

from storagekit.analytic.array.elevator import Scheduler
from storagekit.analytic.array.loaded import Loaded
from storagekit.analytic.array.positioning import spindle
from storagekit.core.errors import InputError
from storagekit.core.units import HOUR, SECTOR
from storagekit.core.validation import POSITIVE, instance_of, several, text
from storagekit.drive import SSD, Drive
from storagekit.faults import Failures
from storagekit.plan.devices import timing_of
from storagekit.plan.families import Family, Protocols, SplitTransfers, default_families, on_ssds
from storagekit.plan.finding import found_of, meets, order_of, surviving
from storagekit.plan.objective import MinMean, Objective
from storagekit.plan.predicting import (
    Responses,
    overloads_after_failure,
    responses_of,
)
from storagekit.plan.prediction import Prediction, TenantFigures
from storagekit.plan.requirements import MOST_DISKS, Requirements
from storagekit.plan.scheme import Scheme, SimulatedOnly
from storagekit.plan.schemes_durability import durability_of
from storagekit.plan.schemes_next import MEASURES, Change, Measures, NextPurchase, ReadCache, order_in
from storagekit.plan.tenants import Tenant

DAY = 24 * HOUR
# Largest number of disks that are added at once, the largest number of disks of a group by default.
MOST_MORE = 24


@dataclass(frozen=True)
class Lifetimes:
    """Failures of disks and their repair; see `SchemesAnswer.next_purchase`."""

    failures: Failures
    detection: float
    bit_error_rate: float
    refill: float
    years: float

    def loss_probability(self, needs: Requirements, one: Prediction) -> float:
        """Return the probability of a data loss; NaN without a formula, or if a rebuild never ends."""
        found = durability_of(
            needs,
            [one],
            self.failures,
            detection=self.detection,
            at_once=None,
            bit_error_rate=self.bit_error_rate,
            years=self.years,
            spares=one.spare if self.refill else None,
            refill=self.refill,
        )
        return found.ranking[0].loss_probability if found.ranking else math.nan


@dataclass(frozen=True)
class Purchases:
    """An array, and the changes that are evaluated; see `SchemesAnswer.next_purchase`.

    price: price of a disk. scheme: name of the present scheme, None for the recommended one. more: numbers of disks that
    are tried one by one. budget: limit of the cost of a change. by: name of the measure of the ranking.
    """

    needs: Requirements
    objective: Objective
    families: Sequence[Family]
    scheduler: Scheduler
    ranking: Sequence[Prediction]
    price: float
    scheme: str | None
    more: int
    drives: Mapping[str, tuple[Drive | SSD, float]]
    caches: Sequence[ReadCache]
    lifetimes: Lifetimes | None
    budget: float | None
    by: str

    def answer(self) -> NextPurchase:
        """Return the changes, from the largest to the smallest gain per cost."""
        present, impossible, changes = self.present, {}, []
        for name, cost, needs, one in self._tried():
            if self.budget is not None and cost > self.budget:
                impossible[name] = f"it costs {cost:g}, and the budget is {self.budget:g}"
            elif isinstance(one, str):
                impossible[name] = one
            else:
                changes.append(self._change(name, cost, needs, one))
        ranking = tuple(sorted(changes, key=partial(order_in, self.by)))
        return NextPurchase(present, self._before, self.by, ranking, impossible, self._assumptions())

    @cached_property
    def present(self) -> Prediction:
        """Return the prediction of the present array."""
        if self.scheme is None:
            one = self.ranking[0]
        else:
            known = {one.name: one for one in self.ranking}
            if self.scheme not in known:
                names = "; ".join([*known][:4]) + ("; ..." if len(known) > 4 else "")
                raise InputError(f"scheme {self.scheme[:60]!r}: not in the ranking; give one of: {names}")
            one = known[self.scheme]
        if isinstance(one.scheme, SimulatedOnly):
            raise InputError(
                f"scheme {one.name!r}: it has no formula, so that each change would need simulations; give a scheme with a "
                "formula, or leave out its family"
            )
        return one

    @cached_property
    def _before(self) -> Measures:
        return self._measures(self.needs, self.present)

    @property
    def _disks(self) -> int:
        """Return the number of disks of the present array, with spares."""
        return self.present.scheme.disks + self.present.spare

    @cached_property
    def _ranked_by(self) -> Objective:
        # an objective that leaves disks out would leave out the disks that are bought
        return MinMean() if self.objective.may_leave_disks else self.objective

    @cached_property
    def _any_kind(self) -> bool:
        """Return whether a change may also change the kind of the scheme.

        If the present scheme is not the best scheme on its disks, the change to a better scheme costs nothing, and is a
        separate change. Its gain must not count as the gain of a purchase.
        """
        return min(self.ranking, key=lambda one: order_of(self.needs, self._ranked_by, one)) is self.present

    def _measures(self, needs: Requirements, one: Prediction) -> Measures:
        loss = math.nan if self.lifetimes is None else self.lifetimes.loss_probability(needs, one)
        return Measures.of(one, loss)

    def _change(self, name: str, cost: float, needs: Requirements, one: Prediction) -> Change:
        worse = overloads_after_failure(needs, one) and not overloads_after_failure(self.needs, self.present)
        return Change(name, cost, self._before, self._measures(needs, one), self.by, one, needs, worse)

    def _tried(self) -> Iterator[tuple[str, float, Requirements, Prediction | str]]:
        """Yield each change with its cost, the requirements of the disks, and its prediction or the reason for none."""
        yield from self._more_disks()
        for name, (drive, price) in self.drives.items():
            # SSDs have no cache in front of them, and serve requests in order of arrival
            others = {"cache": None, "queue_depth": 1} if isinstance(drive, SSD) else {}
            needs = replace(self._plain, drive=drive, **others)
            yield f"{self._disks} x {name}", self._disks * price, needs, self._best(needs, self._disks)
        for cache in self.caches:
            yield cache.name, cache.price, *self._cached(cache)
        for one in self.ranking:
            if one is not self.present:
                yield f"change to {one.name}", 0.0, self.needs, one

    @cached_property
    def _plain(self) -> Requirements:
        """Return the requirements without prices, because a budget of the question is for the present disks."""
        return replace(self.needs, price=None, budget=None, disks=self._disks)

    def _more_disks(self) -> Iterator[tuple[str, float, Requirements, Prediction | str]]:
        """Yield the changes that add 1 to `more` disks, and the fewest disks for a further group of the present scheme."""
        most = min(MOST_DISKS, int(self.needs.data / self.needs.largest / SECTOR)) - self._disks
        counts = {*range(1, self.more + 1), self._growth()}
        for count in sorted(one for one in counts if 0 < one <= most):
            needs = self._with_disks(count)
            kept = replace(self.present, spare=self.present.spare + count)
            one = self._best(needs, self._disks + count, kept)
            yield f"{count} more disk{'s' if count > 1 else ''}", count * self.price, needs, one
            # a spare changes only the durability, and only if an ordered disk takes time to arrive
            if count == 1 and one is not kept and self.lifetimes is not None and self.lifetimes.refill:
                yield "1 more spare disk", self.price, needs, kept

    def _with_disks(self, more: int) -> Requirements:
        return replace(self._plain, disks=self._disks + more)

    def _growth(self) -> int:
        """Return the fewest added disks that make a further group of the present scheme; 0 if it needs more than 24."""
        present = self.present.scheme
        for count in range(1, min(MOST_MORE, MOST_DISKS - self._disks) + 1):
            every = next(surviving(self.needs, self._disks + count, self.families), [])
            if any(self._same_group(one, present) and one.disks > present.disks for one in every):
                return count
        return 0

    def _same_group(self, one: Scheme, other: Scheme) -> bool:
        if one.sort != other.sort:
            return False
        found = [scheme.redundancy(self.needs.capacity) for scheme in (one, other)]
        if None in found:
            return True
        groups = [(each.data, each.parities) for each in found if each is not None]
        return groups[0] == groups[1]

    def _best(self, needs: Requirements, disks: int, kept: Prediction | None = None) -> Prediction | str:
        """Return the best scheme that meets the requirements, or the reason for its absence.

        kept: the present scheme with the new disks as spares, if it is possible.
        """
        met, refused = self._found(needs, disks)
        return self._first(needs, [*([kept] if kept else []), *self._allowed(met)], bool(refused))

    def _found(self, needs: Requirements, disks: int) -> tuple[list[Prediction], list[Prediction]]:
        """Return the schemes that meet the requirements, and schemes that only have enough capacity."""
        families = self._families_of(needs.drive)
        return found_of(needs, timing_of(needs.drive), self.objective.most_busy, families, self.scheduler, disks)

    def _allowed(self, every: Sequence[Prediction]) -> list[Prediction]:
        return [one for one in every if self._any_kind or one.scheme.sort == self.present.scheme.sort]

    def _first(self, needs: Requirements, every: Sequence[Prediction], slow: bool) -> Prediction | str:
        if every:
            # the first of equal schemes is kept
            return min(every, key=lambda one: order_of(needs, self._ranked_by, one))
        if slow:
            return "all schemes with enough capacity are too slow"
        return "no scheme has enough capacity" if self._any_kind else "no scheme of this kind has enough capacity"

    def _families_of(self, drive: Drive | SSD) -> list[Family]:
        """Return the families with formulas. For another drive, its default families replace the default families."""
        usual, others = (default_families(one, self.needs.tolerate) for one in (self.needs.drive, drive))
        found = [others[usual.index(one)] if one in usual else one for one in self.families]
        if isinstance(drive, SSD):
            return on_ssds(found)
        # each of their schemes would take a simulation of half a minute
        return [one for one in found if not isinstance(one, Protocols | SplitTransfers)]

    def _cached(self, cache: ReadCache) -> tuple[Requirements, Prediction | str]:
        """Return the requirements of the disks behind a cache, and the best scheme for all requests."""
        plain, hits = self._plain, cache.hit_share(self.needs.data)
        assert plain.rate is not None
        served = hits * plain.read_share
        if served >= 1:
            raise InputError(
                f"cache with {hits:.0%} hits and {plain.read_share:.0%} reads: no request reaches the disks; give fewer hits"
            )
        # the disks receive the misses; the limits of response times are for all requests
        needs = plain.behind_cache(hits)
        met, refused = self._found(needs, self._disks)
        every = [behind_cache(plain, needs, one, hits, cache.time) for one in self._allowed(met)]
        within = [one for one in every if meets(plain, one)]
        return needs, self._first(needs, within, bool(refused or every))

    def _assumptions(self) -> tuple[str, ...]:
        objective, meaning = self._ranked_by, MEASURES[self.by][1]
        lines = [
            f"The present array is {self.present.name} on {self._disks} x {self.needs.drive.name}. "
            "Each change is made alone.",
            f"Changes are ranked by the gain in the {meaning} per unit of cost. A gain of at most 0.1% does not count.",
        ]
        if self.objective.may_leave_disks:
            lines.append(
                f"A purchase cannot reduce the number of disks, so that schemes are compared by {objective.meaning}."
            )
        if self._any_kind:
            lines.append(
                "After a change, the best scheme for the objective is used, of any kind. Data has to be moved to it."
            )
        else:
            lines.append("After a purchase, the kind of the scheme remains, because a better scheme is a free change.")
        lines.append(f"The load and the size of the data remain. A disk costs {self.price:g}.")
        if self.needs.budget is not None:
            lines.append("The budget of the question is for the present disks, and does not limit a purchase.")
        if any(isinstance(one, Protocols | SplitTransfers) for one in self.families):
            lines.append("Schemes without a formula are tried only on the present disks.")
        if self.drives:
            lines.append("Another drive replaces all disks and spares. The old disks are sold for nothing.")
        if self.caches:
            lines += [
                "A cache serves its share of the reads at random, independently of their addresses and sizes. Writes and "
                "other reads go to the disks as Poisson arrivals, and filling the cache takes no time.",
                "The cache itself is never busy, and it does not change the durability except through the shorter rebuild.",
            ]
        if self.caches and self.needs.network is not None:
            lines.append("The cache is beyond the network, so that its hits do not use the links of the nodes.")
        if self.needs.network is not None:
            lines.append("The nodes and their links remain.")
        return (*lines, *self._about_durability())

    def _about_durability(self) -> list[str]:
        lifetimes = self.lifetimes
        if lifetimes is None:
            return []
        failures, hours = lifetimes.failures, lifetimes.detection / HOUR
        year = f"{lifetimes.years:g} year{'s' if lifetimes.years != 1 else ''}"
        lines = [
            f"loss: probability of a data loss in {year}. The annual failure {failures.given_as} of a disk is "
            f"{failures.annual:.3g}, and a failure is detected after a mean of {hours:g} hours. A rebuild uses the idle time "
            "of the disks."
        ]
        if lifetimes.refill:
            return [
                *lines,
                f"A spare disk replaces a lost disk immediately. Another spare arrives after a mean of "
                f"{lifetimes.refill / DAY:.3g} days. With several groups, each group counts all spares.",
            ]
        return [*lines, "A spare is always available, so that more spares do not change the durability; see refill."]


def behind_cache(all_needs: Requirements, needs: Requirements, one: Prediction, hits: float, time: float) -> Prediction:
    """Return the prediction for all requests of an array with a cache.

    all_needs: requirements of the array. needs: requirements of the disks. one: prediction of the disks for the misses.
    hits: share of the reads that the cache serves; some requests must remain. time: response time of a hit, seconds.
    """
    found, served = responses_of(needs, spindle(needs.disk), one.scheme), hits * all_needs.read_share
    parts = {name: (1 - served) * part for name, part in one.parts.items()} | {"cache": served * time}
    return replace(
        one,
        mean=served * time + (1 - served) * one.mean,
        p95=_quantile(0.95, found.all, served, time),
        p99=_quantile(0.99, found.all, served, time),
        throughput=one.throughput / (1 - served),
        parts=parts,
        tenants=tuple(_tenant_behind(tenant, needs, found, hits, time) for tenant in all_needs.tenants),
    )


def _tenant_behind(tenant: Tenant, needs: Requirements, found: Responses, hits: float, time: float) -> TenantFigures:
    """Return the response times of all requests of a tenant. found: response times of the misses. See `behind_cache`."""
    left = {one.name: response for one, response in zip(needs.tenants, found.tenants, strict=True)}
    served = hits * tenant.read_share
    if tenant.name not in left:
        return TenantFigures(tenant.name, time, time)
    missed = left[tenant.name]
    mean = served * time + (1 - served) * missed.mean
    return TenantFigures(tenant.name, mean, _quantile(0.99, missed, served, time))


def _quantile(share: float, missed: Loaded, served: float, time: float) -> float:
    """Return a quantile of all response times. missed: response times of misses. served: share of hits, which take `time`."""
    # hits are shorter than misses, so that the slowest requests are misses
    left = 1 - (1 - share) / (1 - served)
    return max(time, missed.quantile(left)) if left > 0 else time


def priced_drives(label: str, value: Any) -> dict[str, tuple[Drive | SSD, float]]:
    """Validate drives by name, each with its price."""
    give = 'give drives with their prices by name, such as {"fast": (drive, 400)}'
    if not isinstance(value, Mapping):
        raise InputError(f"{label}: given a {type(value).__name__}; {give}")
    found = {}
    for name, pair in value.items():
        text(f"name of {label}", name)
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise InputError(f"{label} {name[:60]!r}: given a {type(pair).__name__}; {give}")
        drive = instance_of(Drive | SSD, "a disk, as load_drive(name), or an SSD, as load_ssd(file)")(
            f"drive {name[:60]!r}", pair[0]
        )
        found[name] = drive, POSITIVE(f"price of {name[:60]!r}", pair[1])
    return found


def different_caches(label: str, value: Any) -> tuple[ReadCache, ...]:
    """Validate caches whose names differ."""
    found = several(instance_of(ReadCache, "one such as ReadCache(2000, hits=0.5)"), of="caches")(label, value)
    names = [one.name for one in found]
    if len({*names}) < len(names):
        raise InputError(f"{label}: two caches of the same size or share of hits; give each once")
    return found
