"""The answer about schemes: predicted values of each scheme, assumptions, and a check by simulation."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from html import escape
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from storagekit.analytic.array.elevator import Scheduler
from storagekit.core.binding import Binding
from storagekit.core.errors import InputError
from storagekit.core.units import HOUR, KB, YEAR
from storagekit.core.validation import AMOUNT, COUNT, Count, Positive, Share, Span, instance_of, optional, validate
from storagekit.drive import SSD, Drive
from storagekit.faults import Failures
from storagekit.plan.answer import RankedAnswer, headline, html_table, milliseconds, require_feasible, text_table
from storagekit.plan.cached import needs_behind
from storagekit.plan.check import Check
from storagekit.plan.devices import predict_again
from storagekit.plan.families import Family
from storagekit.plan.network import Network
from storagekit.plan.networking import network_is_full
from storagekit.plan.objective import MinP95, Objective
from storagekit.plan.prediction import COLUMNS, Prediction
from storagekit.plan.purchases import MOST_MORE, Lifetimes, Purchases, different_caches, priced_drives
from storagekit.plan.requirements import Requirements
from storagekit.plan.scheme import SpreadParity
from storagekit.plan.schemes_after_failure import (
    FailureRanking,
    RebuildRate,
    after_failure_of,
    rebuilt_at,
)
from storagekit.plan.schemes_durability import DurabilityRanking, durability_of
from storagekit.plan.schemes_growth import GrowthRanking, growth_of
from storagekit.plan.schemes_next import MEASURES, MeasureName, NextPurchase, ReadCache
from storagekit.plan.ssd_cache import SSDCache
from storagekit.plan.ssd_schemes import ssd_assumptions, ssd_limits
from storagekit.plan.tenants import CHUNK, Chunk
from storagekit.plan.warnings import warnings_of

if TYPE_CHECKING:
    import xarray as xr

_SHOWN = 10
_TB = 1e12
_TENANT_COLUMNS = {"mean": "mean response time", "p99": "99th percentile of the response time"}
# heading of the table of the tenants
_OF_TENANTS = "tenants of {}"
Growth = Annotated[float, AMOUNT.up_to(10)]
_FAILURES = instance_of(Failures, "the failures, such as sk.faults.Failures(0.01)")
_DomainFailures = Annotated[Failures | None, optional(_FAILURES)]


@dataclass(frozen=True)
class SchemesAnswer(RankedAnswer[Prediction]):
    """The ranking of all schemes that meet the requirements.

    Parameters
    ----------
    needs : Requirements
        The requirements.
    objective : Objective
        The objective of the ranking.
    scheduler : Scheduler
        The scheduler of the disks, used with outstanding requests.
    families : tuple of Family
        The families of schemes.
    ranking : tuple of Prediction
        The schemes, the best first; empty if no scheme is feasible.
    refused : tuple of Prediction
        Schemes that hold the data and tolerate the failures, but are too slow, or busier than the objective allows.
    small : tuple of str
        Schemes that tolerate the failures, but are too small for the data.
    long : tuple of str
        Schemes with enough capacity whose rotational replicas are too close: the transfer of the largest request does not
        end before the next replica reaches the head.
    binding : Binding
        The reason why no scheme is feasible; the constraint "none" if a scheme is feasible.
    """

    KIND = "scheme"
    COLUMNS = COLUMNS

    needs: Requirements
    objective: Objective
    scheduler: Scheduler
    families: tuple[Family, ...]
    ranking: tuple[Prediction, ...]
    refused: tuple[Prediction, ...]
    small: tuple[str, ...]
    long: tuple[str, ...]
    binding: Binding

    @property
    def table(self) -> "xr.Dataset":
        bases = dict.fromkeys(one.basis for one in self.ranking)
        found = super().table.assign_attrs(basis=" and ".join(bases), objective=self.objective.name)
        for name, meaning in _TENANT_COLUMNS.items() if self.needs.tenants else ():
            shape = len(self.ranking), len(self.needs.tenants)
            values = np.reshape([getattr(each, name) for one in self.ranking for each in one.tenants], shape)
            attrs = {"units": "s", "long_name": f"{meaning} of a tenant"}
            found[f"tenant_{name}"] = (("scheme", "tenant"), values, attrs)
        return found.assign_coords(tenant=[one.name for one in self.needs.tenants]) if self.needs.tenants else found

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Return the assumptions of the answer as sentences, beginning with the assumptions about the data."""
        return tuple(line for group in self.assumption_groups.values() for line in group)

    @property
    def assumption_groups(self) -> dict[str, tuple[str, ...]]:
        """Return the assumptions of the answer as sentences, by topic."""
        needs, every = self.needs, (*self.ranking, *self.refused)
        if isinstance(needs.drive, SSD):
            network = [] if needs.network is None else [_network(needs.network, at_rate=True)]
            return ssd_assumptions(needs, [*_requests(needs), *network, *_failed_domains(needs)])
        data = [
            f"{needs.data / _TB:g} TB of data, the capacity of {needs.data / needs.capacity:.3g} of the {needs.disks} drives,"
            " is distributed evenly over all disks, from the outer edge",
            f"{needs.drive.name}: {needs.drive.heads} heads, sectors of {512 * needs.drive.grain} bytes",
        ]
        if needs.drive.grain > 1 and all(one.scheme.shape.replicas == 1 for one in every):
            data.append(
                "SR-Arrays are left out by default, because a host cannot choose the angle of a block on drives with sectors "
                "of 4 KB; families=SRArrays() shows what such drives could do"
            )
        requests = [
            *_requests(needs),
            "a stripe unit holds the largest request, and parity covers whole units; requests are split only by schemes "
            "whose names say so",
            self._order(),
        ]
        if any(one.scheme.shape.ways > 1 for one in every):
            requests.append(
                "with full stripes, each request begins at a row of stripe units and is divided over its data units, "
                "in whole pages of 4 KB"
            )
        if needs.streams:
            requests.append(
                f"streams pass over all disks in turn, {needs.chunk / 2**20:g} MB of a disk in one access, among requests "
                "and without priority; their accesses arrive as a Poisson process. An access that follows another access of "
                "the same stream needs no seek. Writes of a stream read nothing first. With full stripes, the data disks of "
                "a group divide each of these parts"
            )
        if needs.cache is not None:
            requests += _cache(needs, needs.cache)
        if needs.network is not None:
            requests += [_network(needs.network, needs.rate is not None), *_failed_domains(needs)]
        if self.objective.most_busy < 1 and needs.rate is not None:
            what = "the disk utilization" if needs.queue_depth == 1 else "the share of the maximum rate"
            requests.append(f"{what} is limited to {self.objective.most_busy:.0%}")
        simulated = [one.name for one in every if one.basis == "simulated"]
        if simulated:
            requests.append(
                f"simulated, because there is no formula: {'; '.join(simulated)}; their maximum throughput assumes disks "
                "that are always busy"
            )
        groups = {"data and drives": data, "requests": requests, "writes": _writes(needs), "failures": _failures(every)}
        return {name: tuple(lines) for name, lines in groups.items() if name != "writes" or needs.read_share < 1}

    def _order(self) -> str:
        """Return the assumption about the order in which disks serve requests."""
        needs = self.needs
        if needs.rate is None:
            return (
                f"{needs.outstanding} requests are outstanding at random disks under {self.scheduler.name}; no formula gives "
                "their 99% response time, but `check` measures it"
            )
        if needs.queue_depth > 1:
            return (
                f"arrivals are Poisson, and each disk selects the nearest of up to {needs.queue_depth} requests (shortest "
                "access time first); further requests wait in order of arrival"
            )
        return (
            "arrivals are Poisson, and each disk serves its requests in order of arrival; queue_depth=32 is for disks with "
            "command queueing"
        )

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """Return the limits of the recommended scheme as sentences: overload after a failure, high utilization, sizes."""
        return warnings_of(self.needs, self.recommended) if self.recommended else ()

    def check(self, *, schemes: int = 3, seeds: int = 16, requests: int | None = None) -> Check:
        """Simulate the first schemes of the ranking.

        The simulation has no network and no cache. It is compared with the predictions for the disks, without the requests
        that hit in the cache.

        Parameters
        ----------
        schemes : int
            Number of schemes.
        seeds : int
            Number of independent runs, at least 2. On a CPU, 2 runs take as much time as 16.
        requests : int, optional
            Number of requests in each run, of which a third is warm-up; by default six transients of the queue. Runs four
            times as long confirm a difference of more than 5%.

        Returns
        -------
        Check
            Predicted and simulated values, 95% intervals, and differences.

        Raises
        ------
        InputError
            If no scheme is feasible, or if a simulation is too large.
        """
        from storagekit.plan.checking import check_schemes

        require_feasible(self.feasible, self.binding)
        self._require_disks("check", "only disks can be simulated")
        chosen = self.ranking[: COUNT("schemes", schemes)]
        needs, at_rate = self.needs, self.needs.rate is not None
        if needs.network is not None or needs.cache is not None:
            needs = replace(needs if needs.cache is None else needs_behind(needs), network=None)
            chosen = [predict_again(needs, one, self.scheduler) for one in chosen]
        measures = [] if at_rate else ["throughput"]
        measures += ["mean", "p95", "p99"] if isinstance(self.objective, MinP95) else ["mean", "p99"]
        scheduler = None if at_rate else self.scheduler
        return check_schemes(needs, chosen, measures, scheduler, seeds=seeds, requests=requests)

    @validate
    def chart(self, check: Annotated[Check | None, instance_of(Check, "the result of check()")] = None) -> Any:
        """Return the chart of the ranking.

        Parameters
        ----------
        check : Check, optional
            Result of `check()`, whose simulated values are drawn next to the predictions.

        Returns
        -------
        Chart
            The chart (Altair).

        Raises
        ------
        InputError
            If no scheme is feasible.
        """
        from storagekit.plan.drawing import draw

        require_feasible(self.feasible, self.binding, "draw")
        return draw(self.needs, self.ranking, self.objective, check)

    @validate
    def durability(
        self,
        failures: Annotated[
            Failures, instance_of(Failures, "the failures of a disk, such as sk.faults.Failures(0.014)")
        ],
        *,
        detection: Span = 0.0,
        at_once: Count | None = None,
        bit_error_rate: Share = 0.0,
        years: Positive = 1.0,
        rebuild_rate: RebuildRate | None = None,
        node_failures: _DomainFailures = None,
        rack_failures: _DomainFailures = None,
    ) -> DurabilityRanking:
        """Return the probability of a data loss of each scheme of the ranking.

        Parameters
        ----------
        failures : Failures
            Annual failure rate of a disk, with its convention. Lifetimes are exponential.
        detection : float
            Mean time in seconds from a failure to the start of the rebuild: until it is detected and a spare disk is
            available. By default 0.
        at_once : int, optional
            Largest number of disks of a group that are rebuilt at the same time; by default all.
        bit_error_rate : float
            Probability that a bit cannot be read, by default 0; 1e-15 is usual.
        years : float
            Duration, by default 1 year.
        rebuild_rate : float, optional
            Rate of the rebuild, bytes restored a second. By default a rebuild uses the idle time of the disks, as in the
            ranking.
        node_failures, rack_failures : Failures, optional
            Failures of a node, and of a rack, of the network of the question, which destroy all its disks; by default none.
            Groups are spread over nodes and racks as for `tolerate_nodes`. A network without racks counts as one rack.

        Returns
        -------
        DurabilityRanking
            The schemes, the most durable first.

        Raises
        ------
        InputError
            If nothing is feasible, the load is a number of outstanding requests, an argument is out of range, or nodes fail
            in a question without a network.

        Examples
        --------
        >>> import storagekit as sk
        >>> drive = sk.load_drive("toshiba_mg10_20tb")
        >>> answer = sk.plan.schemes(drive, 12, data=60e12, read_share=0.7, rate=300, tolerate=2)
        >>> answer.durability(sk.faults.Failures(0.014)).recommended.name
        'RAID 10, 4 copies'
        """
        require_feasible(self.feasible, self.binding, "assess")
        if rebuild_rate is not None:
            self._require_disks("a rebuild rate", "there is no formula; leave it out, for a rebuild in idle time")
            self._require_no_cache("a rebuild rate")
        if self.needs.rate is None:
            raise InputError(
                "durability with outstanding: the time of a rebuild depends on the load of the disks; give rate instead of "
                "outstanding"
            )
        domains: dict[str, Any] = {"node_failures": node_failures, "rack_failures": rack_failures}
        for name, failures_of in domains.items():
            if failures_of is not None and self.needs.network is None:
                raise InputError(f"{name} without network: give the nodes, as in network=sk.plan.Network(4, 1.25e9)")
        given = {"detection": detection, "at_once": at_once, "bit_error_rate": bit_error_rate, "years": years} | domains
        if rebuild_rate is None:
            return durability_of(self.needs, self.ranking, failures, **given)
        rebuilt = rebuilt_at(self.ranking, self.after_failure(rebuild_rate))
        return durability_of(self.needs, rebuilt, failures, rebuild_rate=rebuild_rate, **given)

    @validate
    def after_failure(self, rebuild_rate: RebuildRate | None = None, *, chunk: Chunk = CHUNK) -> FailureRanking:
        """Return the response times of each scheme of the ranking while a disk is lost, and while it is rebuilt.

        Parameters
        ----------
        rebuild_rate : float, optional
            Rate of the rebuild, bytes restored a second, at most 1e12. By default nothing is rebuilt.
        chunk : float
            Bytes that the rebuild reads from a disk in one access, 512 bytes to 16 MB; by default 1 MB.

        Returns
        -------
        FailureRanking
            The schemes, from the shortest mean response time during the rebuild.

        Raises
        ------
        InputError
            If nothing is feasible, the load is a number of outstanding requests, or an argument is out of range.

        Examples
        --------
        >>> import storagekit as sk
        >>> drive = sk.load_drive("toshiba_mg10_20tb")
        >>> answer = sk.plan.schemes(drive, 12, data=60e12, read_share=0.7, rate=300, tolerate=2)
        >>> answer.after_failure(50e6).recommended.name
        'RAID 10, 3 copies'
        """
        require_feasible(self.feasible, self.binding, "assess")
        self._require_disks("response times after a failure", "there is no formula; the column `one lost` has the load")
        self._require_no_cache("response times after a failure")
        if self.needs.rate is None:
            raise InputError(
                "after_failure with outstanding: the formulas need the load of the disks; give rate instead of outstanding"
            )
        return after_failure_of(self.needs, self.ranking, rebuild_rate, chunk)

    @validate
    def growth(self, data: Growth = 0.0, load: Growth = 0.0) -> GrowthRanking:
        """Return the time for which each scheme meets the requirements while the data and the load grow.

        Parameters
        ----------
        data : float
            Growth of the data in a year: 0.3 is 30%. By default 0.
        load : float
            Growth of the rate of requests, or of the outstanding requests, in a year; by default 0.

        Returns
        -------
        GrowthRanking
            The schemes, sorted by this time, each with the first requirement that it no longer meets.

        Raises
        ------
        InputError
            If nothing is feasible, both values are 0, or a value is not between 0 and 10.

        Examples
        --------
        >>> import storagekit as sk
        >>> drive = sk.load_drive("toshiba_mg10_20tb")
        >>> answer = sk.plan.schemes(drive, 12, data=60e12, read_share=0.7, rate=300, tolerate=2)
        >>> found = answer.growth(data=0.25, load=0.2).recommended
        >>> found.name, round(found.years, 1), found.limit
        ('RAID 60, 3 x 2+2', 3.1, 'load of 528 requests/s')
        """
        require_feasible(self.feasible, self.binding, "grow")
        if not data and not load:
            raise InputError(
                "growth of 0 for data and load: give data or load above 0, such as data=0.3 for 30% a year"
            )
        return growth_of(self.needs, self.objective, self.scheduler, self.ranking, data, load)

    @validate
    def next_purchase(
        self,
        price: Positive | None = None,
        *,
        scheme: str | None = None,
        more: Annotated[int, COUNT.up_to(MOST_MORE)] = 4,
        drives: Annotated[Mapping[str, tuple[Drive | SSD, float]], priced_drives] = MappingProxyType({}),
        caches: Annotated[Sequence[ReadCache], different_caches] = (),
        budget: Positive | None = None,
        by: MeasureName | None = None,
        failures: Annotated[
            Failures | None, instance_of(Failures, "the failures of a disk, such as sk.faults.Failures(0.014)")
        ] = None,
        detection: Span = 0.0,
        bit_error_rate: Share = 0.0,
        refill: Span = 0.0,
        years: Positive = 1.0,
    ) -> NextPurchase:
        """Return the effect of each possible change of an array, ranked by gain per cost.

        The changes are: more disks, another drive for all disks, a cache, another scheme, and with `refill` a spare disk.

        Parameters
        ----------
        price : float, optional
            Price of a disk, above 0; by default the price of the question.
        scheme : str, optional
            Name of the present scheme; by default the recommended one.
        more : int
            Largest number of additional disks to try, by default 4; all numbers from 1 are tried. The smallest number with
            which the present scheme gets a further group is tried too, if it is at most 24.
        drives : mapping of str to (Drive or SSD, float)
            Other drives by name, each with its price. One replaces all disks.
        caches : sequence of ReadCache
            Caches in front of the disks, for questions with a rate.
        budget : float, optional
            Limit of the cost of a change.
        by : {"mean", "p95", "p99", "throughput", "capacity", "durability"}, optional
            Measure by which changes are ranked. By default it is the measure of the objective, or "mean" for the objective
            `MinCost()`.
        failures : Failures, optional
            Annual failure rate of a disk, for questions with a rate. With it, each change also has a probability of a data
            loss.
        detection : float
            Mean time in seconds from a failure to the start of the rebuild, by default 0; see `durability`.
        bit_error_rate : float
            Probability that a bit cannot be read, by default 0.
        refill : float
            Mean time in seconds until an ordered disk arrives, with `failures`. By default 0: a spare disk is always
            available, and further spares do not change the durability. Less than a second counts as 0.
        years : float
            Duration for the probability of a data loss, by default 1 year.

        Returns
        -------
        NextPurchase
            The changes. `recommended` is the first one if it is an improvement, and `purchase` the best one with a cost.

        Raises
        ------
        InputError
            If nothing is feasible, no price is given, the scheme is unknown, or an argument is out of range.

        Examples
        --------
        >>> import storagekit as sk
        >>> drive = sk.load_drive("toshiba_mg10_20tb")
        >>> answer = sk.plan.schemes(drive, 12, data=60e12, read_share=0.7, rate=600, tolerate=1)
        >>> answer.next_purchase(300).purchase.name
        '2 more disks'
        """
        require_feasible(self.feasible, self.binding, "improve")
        price = self.needs.price if price is None else price
        if not price:
            raise InputError("price: none; give the price of a disk, above 0: price=300, or --price 300")
        if caches:
            self._require_disks("caches", "there is no formula; leave them out")
            self._require_no_cache("caches")
        given = {"failures": failures, "caches": caches, "detection": detection, "refill": refill}
        self._require_purchasable({name for name, value in given.items() if value} | {by}, bit_error_rate)
        if by is None:
            by = self.objective.name if self.objective.name in MEASURES else "mean"
        if self.needs.rate is None and by in ("p95", "p99"):
            by = "mean"
        # rates of events within microseconds would overflow
        refill = refill if refill >= 1 else 0.0
        lifetimes = None if failures is None else Lifetimes(failures, detection, bit_error_rate, refill, years)
        given = price, scheme, more, drives, caches, lifetimes, budget, by
        return Purchases(self.needs, self.objective, self.families, self.scheduler, self.ranking, *given).answer()

    def _require_disks(self, what: str, reason: str) -> None:
        """Raise InputError if the drives are SSDs. what: name of a method or argument."""
        if isinstance(self.needs.drive, SSD):
            raise InputError(f"{what} with {self.needs.drive.name}, an SSD: {reason}")

    def _require_no_cache(self, what: str) -> None:
        """Raise InputError if the disks are behind a cache. what: name of a method or argument."""
        if self.needs.cache is not None:
            raise InputError(f"{what} with a cache: there is no formula; plan the disks without the cache")

    def _require_purchasable(self, given: set[str | None], bit_error_rate: float) -> None:
        """Raise InputError if arguments of `next_purchase` do not fit together. given: names of arguments with values."""
        for name in ("failures", "caches"):
            if name in given and self.needs.rate is None:
                raise InputError(
                    f"{name} with outstanding: the effect depends on the load of the disks; give rate instead of outstanding"
                )
        if "failures" not in given and (given & {"detection", "refill", "durability"} or bit_error_rate):
            raise InputError(
                "detection, bit_error_rate, refill or by='durability' without failures: give the failures of a disk "
                "too, such as failures=sk.faults.Failures(0.014)"
            )

    def _content(self):
        listed: dict[str, Any] = {
            name: [one.to_dict() for one in getattr(self.needs, name)] for name in ("tenants", "streams")
        }
        listed["network"] = self.needs.network and self.needs.network.to_dict()
        listed["cache"] = self.needs.cache and self.needs.cache.to_dict()
        names = [one.name for one in fields(self.needs) if one.name not in ("drive", "sizes", *listed)]
        settings = {name: getattr(self.needs, name) for name in names} | listed
        return super()._content() | {
            "recommended": self.recommended.name if self.recommended else None,
            "objective": self.objective.name,
            "refused": [one.to_dict() for one in self.refused],
            "small": list(self.small),
            "long": list(self.long),
            "warnings": list(self.warnings),
            "question": {"drive": self.needs.drive.name, "sizes": [list(one) for one in self.needs.sizes], **settings},
        }

    def _lines(self):
        needs = self.needs
        load = f"{needs.rate:g} requests/s" if needs.rate is not None else f"{needs.outstanding} outstanding"
        if needs.tenants:
            load += f" of {len(needs.tenants)} tenant{'s' * (len(needs.tenants) > 1)}"
        load += "".join(f", {one.name} {one.rate / 1e6:g} MB/s" for one in needs.streams)
        load += f", queue depth {needs.queue_depth}" if needs.queue_depth > 1 else ""
        heading = (
            f"{needs.data / _TB:g} TB on {needs.disks} x {needs.drive.name}, {load}, {needs.read_share:.0%} reads, "
            f"tolerates {needs.tolerate} failure{'s' if needs.tolerate != 1 else ''}"
            f"{needs.failed_domains and f' and the loss of {needs.failed_domains}'}; ranked by {self.objective.meaning}"
        )
        best = self.recommended
        if best is None:
            nearest = ["", *_listed(self.refused)] if self.refused else []
            return [heading, f"not feasible: {self.binding}", *nearest, *self._others()]
        tail = f", 99% within {milliseconds(best.p99)} ms" if math.isfinite(best.p99) else ""
        years = f", SSDs worn out after {best.lifetime / YEAR:.2g} years" if math.isfinite(best.lifetime) else ""
        links = "" if math.isnan(best.network) else f", network {best.network:.0%} used"
        recommended = (
            f"recommended: {best.name} ({_disks(best.scheme.disks)}): mean {milliseconds(best.mean)} ms{tail}, at most "
            f"{best.throughput:.0f} requests/s, {best.usable / _TB:.4g} TB usable, tolerates {best.tolerates}{links}{years}"
        )
        warnings = [f"warning: {warning}" for warning in self.warnings]
        runner_up = [_compared(best, self.ranking[1])] if len(self.ranking) > 1 else []
        table = [*_listed(self.ranking), *self._others(), *_tenants(needs, best)]
        return [heading, recommended, *warnings, *runner_up, "", *table]

    def _repr_html_(self) -> str:
        above = self._lines()
        # the table and the names of other schemes follow an empty line
        head = above[: above.index("")] if "" in above else above
        parts = [headline(head[1]), *(f"<p>{escape(line)}</p>" for line in (head[0], *head[2:]))]
        if self.ranking or self.refused:
            parts.append(html_table(*_rows(self.ranking or self.refused)))
        parts += [f"<p>{escape(line.strip())}</p>" for line in self._others()]
        if self.recommended is not None and self.recommended.tenants:
            parts += [f"<p>{escape(_OF_TENANTS.format(self.recommended.name))}</p>"]
            parts.append(html_table(*_tenant_rows(self.needs, self.recommended)))
        groups = [
            f"<p>{escape(name)}</p><ul>{''.join(f'<li>{escape(line)}</li>' for line in lines)}</ul>"
            for name, lines in self.assumption_groups.items()
        ]
        return "".join([*parts, "<details><summary>assumptions</summary>", *groups, "</details>"])

    def _others(self) -> list[str]:
        """Return lines with the names of schemes that are not in the table, because they are too slow or too small."""
        slow = [one.name for one in self.refused[:_SHOWN]] if self.ranking else []
        others = {
            "too slow": slow,
            "too small": self.small[:_SHOWN],
            "largest transfer longer than the rotation to the next replica": self.long[:_SHOWN],
        }
        return [f"  {what}: {'; '.join(names)}" for what, names in others.items() if names]


def _requests(needs: Requirements) -> list[str]:
    """Return the description of the requests, a sentence for each tenant."""
    every = [("", needs.sizes, needs.read_share)]
    if needs.tenants:
        every = [(f"{one.name}: {one.rate:g} requests/s, ", one.sizes, one.read_share) for one in needs.tenants]
    found = []
    for name, sizes, reads in every:
        mix = ", ".join(f"{size / KB:g} KB" + (f" ({share:.0%})" if share < 1 else "") for size, share in sizes)
        found.append(f"{name}{mix} requests, {reads:.0%} reads, random addresses over all of the data")
    return found


def _cache(needs: Requirements, cache: SSDCache) -> list[str]:
    """Return the assumptions about a cache of SSDs."""
    ends = "complete on two SSDs and reach the disks afterwards" if cache.write_back else "complete on the disks"
    return [
        f"a cache of {cache.drives} x {cache.ssd.name} serves {cache.hit_share(needs.data):.0%} of the reads, at random. The "
        f"data of other reads is then written to it. Writes go to both, and {ends}; the disks still write each of them. The "
        "columns from busy to rebuild are for the disks",
        *ssd_limits(cache.ssd),
    ]


def _writes(needs: Requirements) -> list[str]:
    """Return the assumptions about writes to disks."""
    writes = [
        "a write completes when all copies, or data and parity, are on disk; NVRAM would hide the time, but not the work",
        "a write under parity first reads: its old data and old parity or, if that is less, the other data of its "
        "stripe; when all reads have ended, it writes data and parity",
    ]
    if needs.again.any():
        writes.append("a write of a part of a physical sector takes one more revolution")
    return writes


def _failures(every: Sequence[Prediction]) -> list[str]:
    """Return the assumptions about the loss of a disk. every: the predictions of the answer."""
    failures = [
        "one lost: utilization of the busiest disk while another disk is lost; at 100% or more this disk is "
        "overloaded. A rebuild uses the idle time of the disks, at the sequential rate of the drive"
    ]
    if any(isinstance(one.scheme, SpreadParity) for one in every):
        failures.append(
            "a declustered code places each row on other disks, so that all share the work of a lost disk (some of "
            "them up to a tenth more); its rebuild reads and writes scattered stripe units at the sequential rate, which "
            "needs stripe units of some MB"
        )
    return failures


def _network(network: Network, at_rate: bool) -> str:
    """Return the assumption about a network. at_rate: whether requests arrive at a rate."""
    racks = "" if network.rack_rate is None else f", {network.racks} racks of {network.rack_rate / 1e6:g} MB/s"
    times = (
        "Response times exclude the network" if at_rate else "Outstanding requests wait for a link only if it is full"
    )
    return (
        f"network of {network.nodes} nodes of {network.node_rate / 1e6:g} MB/s in each direction{racks}: the disks are "
        "spread as evenly as possible over the nodes and racks, and have equal shares of the requests; clients, and what "
        "calculates parity, are beyond these links. They limit the rate, the streams and a rebuild; degraded reads are not "
        f"counted. {times}"
    )


def _failed_domains(needs: Requirements) -> list[str]:
    """Return the assumption about nodes and racks that fail; none if no scheme must tolerate their failure."""
    if not needs.failed_domains:
        return []
    return [
        f"all data remain after the loss of {needs.failed_domains}: disks of a group are assigned to the nodes in turn, "
        "and the nodes to the racks in turn; response times and rebuilds after such a failure are not predicted"
    ]


def _tenants(needs: Requirements, best: Prediction) -> list[str]:
    """Return the table of the tenants of a scheme, after an empty line; nothing without tenants."""
    if not best.tenants:
        return []
    titles, rows = _tenant_rows(needs, best)
    return ["", f"  {_OF_TENANTS.format(best.name)}", *text_table(titles, rows, (0, 12, 10, 12, 10, 12))]


def _tenant_rows(needs: Requirements, best: Prediction) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return the titles and the rows of the table of the tenants of a scheme."""
    titles, rows = ("tenant", "requests/s", "mean ms", "mean limit", "p99 ms", "p99 limit"), []
    for tenant, found in zip(needs.tenants, best.tenants, strict=True):
        times = found.mean, tenant.mean, found.p99, tenant.p99
        cells = ["-" if time is None or not math.isfinite(time) else milliseconds(time) for time in times]
        rows.append((tenant.name, f"{tenant.rate:g}", *cells))
    return titles, rows


def _compared(best: Prediction, other: Prediction) -> str:
    """Return a sentence that compares the second scheme of a ranking with the first."""
    differences = []
    room = (other.usable - best.usable) / _TB
    if abs(room) >= 0.001 * best.usable / _TB:
        differences.append(f"{abs(room):.4g} TB {'more' if room > 0 else 'less'}")
    differences.append(f"{other.mean / best.mean:.2f} times the mean response time")
    differences.append(f"{other.throughput / best.throughput:.2f} times the maximum rate")
    if other.tolerates != best.tolerates:
        differences.append(f"tolerates {other.tolerates} failure{'s' if other.tolerates != 1 else ''}")
    *most, last = differences
    has = f"has {', '.join(most)}, and {last}" if last.startswith("tolerates") else f"has {', '.join(most)} and {last}"
    return f"second: {other.name} {has}"


def _rows(ranking: Sequence[Prediction]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return the titles and the rows of the table of the first schemes of a ranking."""
    shown = ranking[:_SHOWN]
    titles = ("scheme", "requests/s", "mean ms", "p99 ms", "busy", "TB", "tolerates", "one lost", "rebuild h")
    return (*titles, "cost" if math.isfinite(shown[0].cost) else "", "   binds"), [_cells(one) for one in shown]


def _listed(ranking: Sequence[Prediction]) -> list[str]:
    """Return the first schemes of a ranking as lines of a table."""
    titles, rows = _rows(ranking)
    price = 9 if "cost" in titles else 0
    table = text_table(titles, rows, (0, 10, 9, 8, 6, 7, 10, 9, 10, price, 0))
    more = len(ranking) - len(rows)
    return table + ([f"  and {more} more"] if more > 0 else [])


def _cells(one: Prediction) -> tuple[str, ...]:
    mean, tail = (
        milliseconds(time) if math.isfinite(time) and not network_is_full(one) else "-" for time in (one.mean, one.p99)
    )
    rebuild = {math.inf: "never"}.get(one.rebuild, f"{one.rebuild / HOUR:.1f}" if one.rebuild >= 0 else "-")
    return (
        one.name,
        f"{one.throughput:.0f}",
        mean,
        tail,
        f"{one.utilization:.0%}",
        f"{one.usable / _TB:.4g}",
        f"{one.tolerates}",
        f"{one.degraded:.0%}" if math.isfinite(one.degraded) else "-",
        rebuild,
        f"{one.cost:g}" if math.isfinite(one.cost) else "",
        f"   {one.binds}",
    )


def _disks(count: int) -> str:
    return f"{count} disk{'s' if count > 1 else ''}"
