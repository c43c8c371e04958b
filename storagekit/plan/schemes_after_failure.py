"""Response times of schemes while a disk is lost, and while it is rebuilt at a chosen rate."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Annotated, Any, NamedTuple

import numpy as np

from storagekit.analytic.array.disk_load import Background, BackgroundAccesses, Operation
from storagekit.analytic.array.loaded import Loaded, all_of, disk_demand
from storagekit.analytic.array.positioning import Curve, Linear, spindle
from storagekit.analytic.array.shapes import Shape
from storagekit.core.binding import Binding
from storagekit.core.units import HOUR, MS
from storagekit.core.validation import POSITIVE
from storagekit.plan.predicting import (
    classes_of,
    loaded_by_class,
    sizes_on,
)
from storagekit.plan.prediction import Prediction
from storagekit.plan.ranked_schemes import RankedScheme, SchemesRanking
from storagekit.plan.requirements import Requirements
from storagekit.plan.scheme import DegradedWork, Scheme
from storagekit.plan.streaming import background_of, used_share

RebuildRate = Annotated[float, POSITIVE.up_to(1e12)]
# number of steps of the search for the largest rate of a rebuild
_HALVINGS = 20
_TITLES = "scheme", "mean ms", "p99 ms", "lost: mean", "p99", "busiest", "max MB/s"
_REBUILT = "rebuilding: mean", "p99", "busiest", "hours"
_WIDTHS = (0, 10, 9, 12, 8, 9, 10, 18, 8, 9, 8)


class Served(NamedTuple):
    """Response times in seconds, and the utilization of the busiest disks."""

    mean: float
    p99: float
    utilization: float


_UNKNOWN = Served(math.nan, math.nan, math.nan)


@dataclass(frozen=True)
class SchemeAfterFailure(RankedScheme):
    """The response times of a scheme before and after the loss of a disk.

    Parameters
    ----------
    prediction : Prediction
        The scheme with its predicted values without a failure.
    lost : Served
        Values while a disk is lost and nothing is rebuilt.
    rebuilding : Served
        Values at the beginning of the rebuild, while everything is still to be restored; NaN without a rebuild rate.
    rebuild : float
        Time in seconds to restore a disk at the rate of the rebuild. It is infinite if the rate is above `fastest`, and NaN
        without a rebuild rate.
    fastest : float
        Largest rate of the rebuild, bytes restored a second, that the disks can keep under the load, and that a spare disk
        can write; 0 if the disks are overloaded without a rebuild.
    """

    COLUMNS = MappingProxyType(
        {
            "mean": ("s", "mean response time without a failure"),
            "p99": ("s", "99th percentile of the response time without a failure"),
            "lost_mean": ("s", "mean response time while a disk is lost"),
            "lost_p99": ("s", "99th percentile of the response time while a disk is lost"),
            "lost_utilization": ("1", "utilization of the busiest disks while a disk is lost"),
            "rebuilding_mean": ("s", "mean response time during the rebuild"),
            "rebuilding_p99": ("s", "99th percentile of the response time during the rebuild"),
            "rebuilding_utilization": ("1", "utilization of the busiest disks during the rebuild"),
            "rebuild": ("s", "time to restore a lost disk at the rate of the rebuild"),
            "fastest": ("bytes/s", "largest rate of a rebuild that the disks can keep"),
        }
    )

    lost: Served
    rebuilding: Served
    rebuild: float
    fastest: float

    @property
    def mean(self) -> float:
        """Return the mean response time without a failure, seconds."""
        return self.prediction.mean

    @property
    def p99(self) -> float:
        """Return the 99th percentile of the response time without a failure, seconds."""
        return self.prediction.p99

    @property
    def lost_mean(self) -> float:
        """Return the mean response time while a disk is lost, seconds."""
        return self.lost.mean

    @property
    def lost_p99(self) -> float:
        """Return the 99th percentile of the response time while a disk is lost, seconds."""
        return self.lost.p99

    @property
    def lost_utilization(self) -> float:
        """Return the utilization of the busiest disks while a disk is lost."""
        return self.lost.utilization

    @property
    def rebuilding_mean(self) -> float:
        """Return the mean response time during the rebuild, seconds."""
        return self.rebuilding.mean

    @property
    def rebuilding_p99(self) -> float:
        """Return the 99th percentile of the response time during the rebuild, seconds."""
        return self.rebuilding.p99

    @property
    def rebuilding_utilization(self) -> float:
        """Return the utilization of the busiest disks during the rebuild."""
        return self.rebuilding.utilization


@dataclass(frozen=True)
class FailureRanking(SchemesRanking[SchemeAfterFailure]):
    """The schemes of an answer while a disk is lost, from the shortest mean response time during the rebuild.

    Parameters
    ----------
    rebuild_rate : float or None
        Rate of the rebuild, bytes restored a second.
    ranking : tuple of SchemeAfterFailure
        The schemes. Overloaded schemes are last.
    unknown : tuple of str
        Schemes without a formula for these values.
    assumptions : tuple of str
        Conventions and assumptions.
    """

    COLUMNS = SchemeAfterFailure.COLUMNS
    rebuild_rate: float | None
    ranking: tuple[SchemeAfterFailure, ...]
    unknown: tuple[str, ...]
    assumptions: tuple[str, ...]

    @property
    def binding(self) -> Binding:
        """Return the reason why no scheme has values after a failure; the constraint "none" if at least one has."""
        if self.ranking:
            return Binding("none")
        if self.unknown:
            return Binding("no formula for these schemes", remedy="leave out families, to include RAID 1 to 60")
        return Binding("no scheme of the ranking has redundancy", remedy="give tolerate=1, and at least two disks")

    def _first(self):
        first = "while a disk is lost"
        if self.rebuild_rate is not None:
            first += f", and while it is rebuilt at {self.rebuild_rate / 1e6:g} MB/s"
        best = self.ranking[0]
        mean = best.lost.mean if self.rebuild_rate is None else best.rebuilding.mean
        if math.isfinite(mean):
            return f"{first}: {best.name} has the shortest mean response time, {mean / MS:.1f} ms"
        fastest = max(self.ranking, key=lambda one: one.fastest)
        return f"{first}: no scheme can do this; {fastest.name} allows at most {fastest.fastest / 1e6:.1f} MB/s"

    def _titles(self):
        titles = _TITLES if self.rebuild_rate is None else _TITLES + _REBUILT
        return titles, _WIDTHS[: len(titles)]

    def _cells(self, one):
        lost, rebuilding = (
            (_milliseconds(state.mean), _milliseconds(state.p99), f"{state.utilization:.0%}")
            for state in (one.lost, one.rebuilding)
        )
        shown = one.name, _milliseconds(one.mean), _milliseconds(one.p99), *lost, f"{one.fastest / 1e6:.1f}"
        if self.rebuild_rate is None:
            return shown
        return *shown, *rebuilding, "too fast" if math.isinf(one.rebuild) else f"{one.rebuild / HOUR:.1f}"

    def _content(self):
        return super()._content() | {"rebuild_rate": self.rebuild_rate}


def _milliseconds(time: float) -> str:
    return f"{time / MS:.1f}" if math.isfinite(time) else "-"


def after_failure_of(
    needs: Requirements, predictions: Sequence[Prediction], rebuild_rate: float | None, chunk: float
) -> FailureRanking:
    """Return the response times of schemes after a failure; see `SchemesAnswer.after_failure`."""
    timing, found, unknown = spindle(needs.disk), [], []
    for one in predictions:
        after = one.scheme.after_loss(needs.read_share)
        if after is not None:
            found.append(_AfterFailure(needs, timing, one, after, chunk).figures(rebuild_rate))
        elif one.tolerates:
            unknown.append(one.name)
    if rebuild_rate is None:
        ranking = tuple(sorted(found, key=lambda one: one.lost.mean))
    else:
        ranking = tuple(sorted(found, key=lambda one: (one.rebuilding.mean, one.lost.mean)))
    spread = any(_is_declustered(one.prediction.scheme) for one in ranking)
    return FailureRanking(rebuild_rate, ranking, tuple(unknown), _assumptions(needs, rebuild_rate, chunk, spread))


def _is_declustered(scheme: Scheme) -> bool:
    groups = scheme.redundancy(1.0)
    return groups is not None and groups.declustered


def rebuilt_at(predictions: Sequence[Prediction], after: FailureRanking) -> list[Prediction]:
    """Return predictions with the time of a rebuild at a chosen rate. Predictions without a formula for it do not change."""
    times = {one.name: one.rebuild for one in after.ranking}
    return [replace(one, rebuild=times.get(one.name, one.rebuild)) for one in predictions]


def _assumptions(needs: Requirements, rebuild_rate: float | None, chunk: float, spread: bool) -> tuple[str, ...]:
    """Return the assumptions. spread: whether a scheme is a declustered code."""
    common = (
        *(["The network is not included."] if needs.network is not None else []),
        "One disk is lost. The response times are averages over all requests. Groups without a loss are as fast as before.",
        "A read of lost data reads as many other disks as there are data disks. A write calculates the new parity with the "
        "fewest accesses.",
        "'one lost' of the ranking counts accesses of equal length. Here, a write that returns to a disk which has just read "
        "takes less or more time than another access, so that the utilization differs by some percent.",
        f"max MB/s: the largest rate of a rebuild that these disks keep, and that a spare disk can write. The rebuild reads "
        f"{chunk / 2**20:g} MB of a disk in one access, among requests. 'rebuild h' of the ranking is shorter, because it "
        "assumes long transfers in all the idle time.",
    )
    if rebuild_rate is None:
        return common
    return (
        *common,
        "Nothing is restored yet, as at the beginning of the rebuild; later, response times are shorter.",
        "The rebuild has no priority. Its accesses arrive as a Poisson process. An access that follows another access of the "
        "rebuild on a disk needs no seek.",
        *(
            ["A declustered code is rebuilt in many slices simultaneously, so that all disks share the work."]
            if spread
            else []
        ),
    )


class _AfterFailure(NamedTuple):
    """A scheme that has lost a disk. chunk: bytes of an access of the rebuild."""

    needs: Requirements
    timing: Curve | Linear
    prediction: Prediction
    after: DegradedWork
    chunk: float

    def figures(self, rebuild_rate: float | None) -> SchemeAfterFailure:
        """Return the values of the scheme. rebuild_rate: bytes restored a second."""
        lost, fastest = self._served(self._streams()), self._fastest()
        if rebuild_rate is None:
            return SchemeAfterFailure(self.prediction, lost, _UNKNOWN, math.nan, fastest)
        rebuilding = self._served(self._background(rebuild_rate))
        if rebuild_rate > fastest:
            # the rebuild does not keep this rate, because the disks or the spare disk are too slow
            slow = Served(math.inf, math.inf, rebuilding.utilization)
            return SchemeAfterFailure(self.prediction, lost, slow, math.inf, fastest)
        time = self._used * self.needs.capacity * self.after.content / rebuild_rate
        return SchemeAfterFailure(self.prediction, lost, rebuilding, time, fastest)

    def _fastest(self) -> float:
        """Return the largest rate of a rebuild that the disks can keep, bytes restored a second."""
        after = self.after
        if disk_demand(**self._question(after.shape, after.disks, after.share, self._streams())).overloaded:
            return 0.0
        least, most = 0.0, float(self.needs.sequential_rate(self._used)) * (1 if after.replaced else after.disks)
        for _ in range(_HALVINGS):
            middle = (least + most) / 2
            question = self._question(after.shape, after.disks, after.share, self._background(middle))
            least, most = (least, middle) if disk_demand(**question).overloaded else (middle, most)
        return least

    @property
    def _used(self) -> float:
        return used_share(self.needs, self.scheme)

    @property
    def scheme(self) -> Scheme:
        return self.prediction.scheme

    def _streams(self, rebuild: float = 0.0) -> Background:
        """Return the accesses of sequential streams on each of the disks with additional work.

        rebuild: accesses of a rebuild a second on such a disk.
        """
        return background_of(self.needs, self.timing, self.scheme, after=self.after, others=self._requests + rebuild)

    @property
    def _requests(self) -> float:
        """Return the number of accesses of requests a second on each of the disks with additional work."""
        assert self.needs.rate is not None
        return self._accesses * self.needs.rate * self.after.share / self.after.disks

    def _background(self, rebuild_rate: float) -> Background:
        """Return the accesses of streams and of the rebuild on each of the disks with additional work."""
        needs, after = self.needs, self.after
        seconds = float(needs.disk.overhead) + self.chunk / float(needs.sequential_rate(self._used))
        rate = rebuild_rate * after.moved / self.chunk
        streams = self._streams(rate)
        # the other accesses between two accesses of the rebuild on a disk, if these follow one another
        between = (self._requests + streams.rate) * self.chunk / rebuild_rate
        near = after.again * math.exp(-between)
        rebuild = BackgroundAccesses(rate, seconds, near, after.together)
        return Background((*streams.kinds, rebuild))

    @property
    def _accesses(self) -> float:
        """Return the mean number of accesses of a request to the disks with additional work."""
        shape, reads = self.after.shape, self.needs.read_share
        if self.after.operations is None:
            return reads + (1 - reads) * shape.written
        return sum(one.share * (one.reads + one.writes) for one in self.after.operations)

    def _served(self, background: Background) -> Served:
        """Return the values for all requests. background: accesses of streams and of the rebuild."""
        after, scheme = self.after, self.scheme
        affected = self._loaded(after.shape, after.disks, after.share, background)
        if not affected.time.size:
            return Served(math.inf, math.inf, affected.utilization)
        if after.share == 1:
            return Served(affected.mean, affected.quantile(0.99), affected.utilization)
        others = self._loaded(scheme.shape, scheme.disks, 1.0, background_of(self.needs, self.timing, scheme))
        time = np.union1d(affected.time, others.time)
        within = after.share * np.interp(time, affected.time, affected.within, 0.0, 1.0)
        within += (1 - after.share) * np.interp(time, others.time, others.within, 0.0, 1.0)
        mean = after.share * affected.mean + (1 - after.share) * others.mean
        return Served(mean, float(np.interp(0.99, within, time)), affected.utilization)

    def _loaded(self, shape: Shape, disks: int, share: float, background: Background) -> Loaded:
        """Return the response times of requests to some disks. share: share of the requests that go to these disks."""
        question = self._question(shape, disks, share, background)
        return all_of(question["classes"], loaded_by_class(**question))

    def _question(self, shape: Shape, disks: int, share: float, background: Background) -> dict[str, Any]:
        """Return the arguments of `loaded_by_class` for requests to some disks.

        share: share of the requests that go to these disks.
        """
        needs, scheme = self.needs, self.scheme
        assert needs.rate is not None
        used = np.array([self._used])
        (sizes,) = sizes_on(needs, [scheme], used)
        return {
            "spindle": self.timing,
            "shape": shape,
            "reach": float(np.asarray(self.timing.reach(used))[0]),
            "sizes": sizes,
            "classes": classes_of(needs, self._operations if shape is self.after.shape else ()),
            "disks": disks,
            "rate": needs.rate * share,
            "depth": needs.queue_depth,
            "background": background,
        }

    @property
    def _operations(self) -> list[tuple[Operation, ...]]:
        """Return the kinds of the requests of each tenant after the loss; empty if the layout alone determines them."""
        after = [self.scheme.after_loss(one.read_share) for one in self.needs.mixes]
        return [one.operations for one in after if one is not None and one.operations is not None]
