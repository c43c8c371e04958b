"""The answer about the next purchase: response times, throughput, capacity, durability and cost of each change."""

import math
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Annotated, Any, NamedTuple

from storagekit.core.binding import Binding
from storagekit.core.errors import InputError
from storagekit.core.validation import Positive, Share, Size, Span, one_of, validate, validate_fields
from storagekit.plan.answer import RankedAnswer, finite, milliseconds, text_table
from storagekit.plan.prediction import Prediction
from storagekit.plan.requirements import Requirements

# Relative change from which a change counts as an improvement. Smaller changes are within the errors of the formulas.
LEAST_GAIN = 1e-3
# number of changes in the text of an answer
_SHOWN = 12
_TB = 1e12
_TITLES = "change", "cost", "mean ms", "p99 ms", "requests/s", "TB", "loss", "gain per 100", "   scheme"
_WIDTHS = 0, 9, 15, 15, 16, 15, 10, 15, 0


@dataclass(frozen=True)
class ReadCache:
    """A cache in front of the disks that serves a share of the reads.

    Parameters
    ----------
    price : float
        Price of the cache, above 0.
    hits : float, optional
        Share of the reads that the cache serves, 0 to 1.
    size : float, optional
        Size in bytes, instead of `hits`. The share of hits is then the size divided by the size of the data, because
        requests have random addresses.
    time : float
        Response time of a hit, seconds; by default 0.1 ms.

    Raises
    ------
    InputError
        If a value is out of range, or not exactly one of `hits` and `size` is given.

    Examples
    --------
    >>> ReadCache(2000, hits=0.5).hit_share(60e12), ReadCache(2000, size=6e12).hit_share(60e12)
    (0.5, 0.1)
    """

    price: Positive
    hits: Share | None = None
    size: Size | None = None
    time: Span = 1e-4

    def __post_init__(self):
        validate_fields(self)
        if (self.hits is None) == (self.size is None):
            raise InputError("cache: give hits, a share of the reads, or size in bytes, but not both")

    @validate
    def hit_share(self, data: Size) -> float:
        """Return the share of reads that are hits.

        Parameters
        ----------
        data : float
            Size of the data, bytes.

        Returns
        -------
        float
            The share, 0 to 1.

        Raises
        ------
        InputError
            If the size is out of range.
        """
        if self.hits is not None:
            return self.hits
        assert self.size is not None
        return min(1.0, self.size / data)

    @property
    def name(self) -> str:
        """Return the name of the change."""
        if self.hits is not None:
            return f"cache, {100 * self.hits:.3g}% of reads"
        assert self.size is not None
        return f"cache of {self.size / _TB:g} TB"


class Measures(NamedTuple):
    """The measures of an array: times in seconds, requests a second, bytes, and a probability.

    `p95` and `p99` are NaN if there is no formula, and `loss_probability` is NaN if no failures are given, or if there is
    no formula for the scheme.
    """

    mean: float
    p95: float
    p99: float
    throughput: float
    usable: float
    loss_probability: float

    @classmethod
    def of(cls, one: Prediction, loss_probability: float) -> "Measures":
        """Return the measures of a prediction."""
        return cls(one.mean, one.p95, one.p99, one.throughput, one.usable, loss_probability)


# the measures by which changes are ranked: the name of the field of `Measures`, and the meaning
MEASURES = MappingProxyType(
    {
        "mean": ("mean", "mean response time"),
        "p95": ("p95", "95% response time"),
        "p99": ("p99", "99% response time"),
        "throughput": ("throughput", "throughput"),
        "capacity": ("usable", "capacity"),
        "durability": ("loss_probability", "probability of a data loss"),
    }
)

MeasureName = Annotated[str, one_of(*MEASURES)]


@dataclass(frozen=True)
class Change:
    """One change of an array.

    Parameters
    ----------
    name : str
        The change.
    cost : float
        Cost of the change, in the currency of the prices; 0 for another scheme on the same disks.
    before, after : Measures
        The measures without and with the change.
    by : str
        Name of the measure by which changes are ranked, from `MEASURES`.
    prediction : Prediction
        The scheme after the change, with its predicted values for all requests.
    needs : Requirements
        The requirements of the disks after the change. With a cache, their rate and share of reads are the values of the
        misses.
    worse : bool
        Whether the change adds an overload after the loss of a disk, by default false. Such a change is not recommended.
    """

    name: str
    cost: float
    before: Measures
    after: Measures
    by: str
    prediction: Prediction
    needs: Requirements
    worse: bool = False

    @property
    def scheme(self) -> str:
        """Return the name of the scheme after the change, with its number of spare disks."""
        return self.prediction.name

    @property
    def mean(self) -> float:
        """Return the mean response time after the change, seconds."""
        return self.after.mean

    @property
    def p99(self) -> float:
        """Return the 99th percentile of the response time after the change, seconds."""
        return self.after.p99

    @property
    def throughput(self) -> float:
        """Return the throughput after the change, requests a second."""
        return self.after.throughput

    @property
    def usable(self) -> float:
        """Return the capacity for data after the change, bytes."""
        return self.after.usable

    @property
    def loss_probability(self) -> float:
        """Return the probability of a data loss after the change; NaN if it is unknown."""
        return self.after.loss_probability

    @property
    def mean_change(self) -> float:
        """Return the relative change of the mean response time; -0.1 is 10% shorter."""
        return _change_in(self, "mean")

    @property
    def p99_change(self) -> float:
        """Return the relative change of the 99th percentile of the response time."""
        return _change_in(self, "p99")

    @property
    def throughput_change(self) -> float:
        """Return the relative change of the throughput."""
        return _change_in(self, "throughput")

    @property
    def usable_change(self) -> float:
        """Return the relative change of the capacity."""
        return _change_in(self, "usable")

    @property
    def loss_change(self) -> float:
        """Return the relative change of the probability of a data loss."""
        return _change_in(self, "loss_probability")

    @validate
    def gain_in(self, by: MeasureName) -> float:
        """Return the gain in one measure, above 0 for an improvement; NaN if it is unknown.

        Parameters
        ----------
        by : {"mean", "p95", "p99", "throughput", "capacity", "durability"}
            The measure. The gain in a response time is the share by which it becomes shorter. The gain in
            throughput or capacity is the relative increase. The gain in durability is the number of nines that are added,
            the logarithm to base 10 of the ratio of the two loss probabilities.

        Returns
        -------
        float
            The gain.

        Raises
        ------
        InputError
            If the measure is unknown.
        """
        field = MEASURES[by][0]
        if by != "durability":
            # adding 0 turns -0 into 0
            return _change_in(self, field) * (1 if by in ("throughput", "capacity") else -1) + 0.0
        before, after = self.before.loss_probability, self.after.loss_probability
        return math.log10(before / after) if before > 0 and after > 0 else math.nan

    @property
    def gain(self) -> float:
        """Return the gain in the measure of the ranking; see `gain_in`."""
        return self.gain_in(self.by)

    @property
    def gain_per_cost(self) -> float:
        """Return the gain divided by the cost; infinite for an improvement without cost, NaN for any other free change."""
        if self.cost:
            return self.gain / self.cost
        return math.inf if self.helps_in(self.by) else math.nan

    @validate
    def helps_in(self, by: MeasureName) -> bool:
        """Return whether the change improves a measure by more than 0.1%, without an overload after a loss.

        Parameters
        ----------
        by : {"mean", "p95", "p99", "throughput", "capacity", "durability"}
            The measure.

        Returns
        -------
        bool
            True for an improvement.

        Raises
        ------
        InputError
            If the measure is unknown.
        """
        return not self.worse and self.gain_in(by) > LEAST_GAIN

    @property
    def helps(self) -> bool:
        """Return whether the change improves the measure of the ranking."""
        return self.helps_in(self.by)

    def to_dict(self) -> dict[str, Any]:
        """Return the values as a dictionary for JSON."""
        values = {name: getattr(self, name) for name in NextPurchase.COLUMNS}
        return {"change": self.name, "helps": self.helps, **finite(values)}


def order_in(by: str, one: Change) -> tuple[float, ...]:
    """Return the key by which changes are sorted.

    Improvements without cost come first, then other improvements from the largest gain per cost, then all others.
    """
    gain = one.gain_in(by)
    if not one.helps_in(by):
        return 3.0 if one.worse or math.isnan(gain) else 2.0, -gain if math.isfinite(gain) else 0.0
    # of purchases whose gains per cost differ by rounding errors only, the cheapest is first
    return (1.0, float(f"{-gain / one.cost:.9g}"), one.cost) if one.cost else (0.0, -gain)


@dataclass(frozen=True)
class NextPurchase(RankedAnswer[Change]):
    """The changes of an array, ranked by gain per cost.

    The ranking begins with improvements that cost nothing.

    Parameters
    ----------
    present : Prediction
        The array without a change.
    before : Measures
        The measures of this array.
    by : str
        Name of the measure of the ranking, from `MEASURES`.
    ranking : tuple of Change
        The changes.
    impossible : dict of str to str
        Changes without a scheme that meets the requirements, with the reason.
    assumptions : tuple of str
        Conventions and assumptions.
    """

    KIND = "change"
    COLUMNS = MappingProxyType(
        {
            "cost": ("", "cost of the change"),
            "scheme": ("", "scheme after the change"),
            "mean": ("s", "mean response time"),
            "mean_change": ("1", "relative change of the mean response time"),
            "p99": ("s", "99th percentile of the response time"),
            "p99_change": ("1", "relative change of the 99th percentile"),
            "throughput": ("1/s", "throughput of the closed loop, or the highest possible rate of arrivals"),
            "throughput_change": ("1", "relative change of the throughput"),
            "usable": ("bytes", "capacity for data"),
            "usable_change": ("1", "relative change of the capacity"),
            "loss_probability": ("1", "probability of a data loss"),
            "loss_change": ("1", "relative change of the probability of a data loss"),
            "gain": ("1", "gain in the measure of the ranking; nines for durability"),
            "gain_per_cost": ("1", "gain divided by the cost"),
        }
    )

    present: Prediction
    before: Measures
    by: str
    ranking: tuple[Change, ...]
    impossible: dict[str, str]
    assumptions: tuple[str, ...]

    @property
    def recommended(self) -> Change | None:
        """Return the first change of the ranking if it is an improvement, otherwise None."""
        return self.ranking[0] if self.ranking and self.ranking[0].helps else None

    @property
    def purchase(self) -> Change | None:
        """Return the purchase with the largest gain per cost; None if no purchase is an improvement."""
        return self.best_for(self.by)

    @validate
    def best_for(self, by: MeasureName) -> Change | None:
        """Return the purchase with the largest gain per cost in one measure; None if no purchase improves the measure.

        Parameters
        ----------
        by : {"mean", "p95", "p99", "throughput", "capacity", "durability"}
            The measure.

        Returns
        -------
        Change or None
            The purchase.

        Raises
        ------
        InputError
            If the measure is unknown.
        """
        bought = [one for one in self.ranking if one.cost and one.helps_in(by)]
        return min(bought, key=partial(order_in, by), default=None)

    @property
    def binding(self) -> Binding:
        """Return the reason why no change is possible; the constraint "none" if a change is possible."""
        if self.ranking:
            return Binding("none")
        reasons = "; ".join(f"{name}: {reason}" for name, reason in self.impossible.items())
        return Binding(f"no change is possible: {reasons}", remedy="allow a larger budget, or another drive")

    def _lines(self):
        if not self.ranking:
            return [f"not feasible: {self.binding}"]
        rows = [_cells(one) for one in self.ranking[:_SHOWN]]
        table = _without_empty((_TITLES, *rows))
        more = len(self.ranking) - len(rows)
        others = [f"  not possible: {name}: {reason}" for name, reason in self.impossible.items()]
        return [*self._advice(), "", *table, *([f"  and {more} more"] if more > 0 else []), *others]

    def _advice(self) -> list[str]:
        """Return the recommendation: a free change, the best purchase, and the best purchase for each other measure."""
        free, bought = self.recommended, self.purchase
        lines = []
        if free is not None and not free.cost:
            lines.append(f"best change, free: {_sentence(free, self.by)}")
        if bought is not None:
            lines.append(f"best next purchase: {_sentence(bought, self.by)}")
        else:
            lines.append(self._nothing())
        for by in MEASURES:
            other = self.best_for(by)
            # the percentiles follow the mean, so that they are named only with such an objective
            if other is not None and other is not bought and by != self.by and by not in ("p95", "p99"):
                lines.append(f"for {MEASURES[by][1]}: {_sentence(other, by)}")
        return lines

    def _nothing(self) -> str:
        """Return the reason why no purchase is recommended."""
        meaning = MEASURES[self.by][1]
        tried = [one for one in self.ranking if one.cost and not math.isnan(one.gain)]
        if not tried:
            return f"no purchase is recommended: none has a known {meaning}"
        best = max(tried, key=lambda one: one.gain)
        reason = f"the most effective is {_sentence(best, self.by)}"
        if best.worse:
            reason += ", but a lost disk would overload the others"
        elif best.prediction.scheme == self.present.scheme:
            reason += f", because {self.present.scheme} on the same disks is still the best scheme"
        if self.by in ("mean", "p95", "p99"):
            reason += f"; the largest part of the mean response time is {self.present.binds}"
        return f"no purchase improves the {meaning} by more than {LEAST_GAIN:.1%}: {reason}"

    def _content(self):
        best, bought = self.recommended, self.purchase
        return super()._content() | {
            "recommended": best.name if best else None,
            "purchase": bought.name if bought else None,
            "by": self.by,
            "present": {"scheme": self.present.name, **finite(self.before._asdict())},
            "impossible": self.impossible,
        }


def _sentence(one: Change, by: str) -> str:
    """Return a change with its cost, and a measure before and after it."""
    field = MEASURES[by][0]
    before, after = (_shown(field, getattr(measures, field)) for measures in (one.before, one.after))
    # the unit follows the second number
    after = after.split()[0]
    label = {"usable": "capacity", "loss_probability": "loss probability"}.get(field, field)
    bought = f" for {one.cost:g} ({one.scheme})" if one.cost else ""
    return f"{one.name}{bought}: {label} {after} instead of {before} ({_change_in(one, field):+.1%})"


def _change_in(one: Change, field: str) -> float:
    before, after = getattr(one.before, field), getattr(one.after, field)
    return after / before - 1 if before else math.nan


def _shown(field: str, value: float) -> str:
    if not math.isfinite(value):
        return "-"
    if field == "throughput":
        return f"{value:.0f} requests/s"
    if field == "usable":
        return f"{value / _TB:.4g} TB"
    return f"{value:.2g}" if field == "loss_probability" else f"{milliseconds(value)} ms"


def _cells(one: Change) -> tuple[str, ...]:
    cells = []
    for field in ("mean", "p99", "throughput", "usable"):
        value = getattr(one.after, field)
        text = _shown(field, value).split()[0]
        cells.append(f"{text} ({_change_in(one, field):+.0%})" if math.isfinite(value) else "")
    loss = one.loss_probability
    cells.append(f"{loss:.2g}" if math.isfinite(loss) else "")
    gained = "free" if one.helps and not one.cost else "-"
    if math.isfinite(one.gain_per_cost):
        hundred = 100 * one.gain_per_cost
        gained = f"{hundred:.2g} nines" if one.by == "durability" else f"{hundred:.2%}"
    return one.name, f"{one.cost:g}", *cells, gained, f"   {one.scheme}"


def _without_empty(rows: tuple[tuple[str, ...], ...]) -> list[str]:
    """Return the lines of a table without the columns that are empty below their title."""
    used = [index for index in range(len(_TITLES)) if any(row[index].strip() for row in rows[1:])]
    titles, *body = (tuple(row[index] for index in used) for row in rows)
    return text_table(titles, body, [_WIDTHS[index] for index in used])
