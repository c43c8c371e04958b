"""A measure in one place: its name, unit and meaning, the sums that it needs, and what it makes of them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr
from jaxtyping import Float

from storagekit.core.checks import require_kind, require_takes
from storagekit.core.errors import InputError
from storagekit.core.kinds import a, hold, several, text
from storagekit.engine import Sum, Tally
from storagekit.simulation.batches import kept

# names that results have beside measures: dimensions, theirs and those on the way to them, and what a replay tells
DIMENSIONS = ("brick", "lane", "piece", "point", "quantile", "request", "seed", "statistic")
QUANTILES = ("response_quantile", "read_response_quantile", "write_response_quantile")
TAKEN = (*DIMENSIONS, *QUANTILES, "read", "response_time", "warm_up", "wrapped")


@dataclass(frozen=True, eq=False)
class Measure:
    """A number that a run yields, for each lane or along dimensions of its sums.

    name: of the variable in a result. unit: "1" for none. meaning: its `long_name`. needs: the `Sum`s that it is made of.
    of: what it makes of them, each an array over `lane` and the sum's own dimensions: over `brick` where it is by drive, NaN
    for bricks that a lane does not use. Raises InputError for a name that results need, and where `of` does not take `needs`.

    >>> import storagekit as sk
    >>> from storagekit.engine import ANSWERED, Sum, answered
    >>> from storagekit.simulation import Measure
    >>> late = Sum("late", lambda report: answered(report) & (report.answered.response > 20 * sk.units.MS), int)
    >>> meaning = "share of requests that took more than 20 ms"
    >>> missed = Measure("missed", "1", meaning, (late, ANSWERED), lambda late, answered: late / answered)
    >>> requests = sk.workload.RandomRequests(sk.workload.FixedSize(4096), read_share=1.0)
    >>> system = sk.System(sk.load_drive("atlas10k"), sk.placement.Replicas(2), sk.dispatch.Hashing(), sk.schedule.SATF())
    >>> loop = sk.Scenario(system, sk.workload.ClosedLoop(requests, outstanding=8))
    >>> seen = sk.simulate(loop, requests=2000, measures=[missed])
    >>> f"{seen.missed.long_name}: {float(seen.missed):.2f}"
    'share of requests that took more than 20 ms: 0.54'
    """

    name: str
    unit: str
    meaning: str
    needs: tuple[Sum, ...]
    of: Callable[..., xr.DataArray]

    def __post_init__(self):
        hold(self, name=text, unit=text, meaning=text, needs=several(a(Sum), of="sums"))
        if self.name in TAKEN:
            raise InputError(f"a measure named {self.name!r}: results have that already; choose another name")
        require_takes(f"measure {self.name!r}", self.of, [one.name for one in self.needs])

    def value(self, sums: Mapping[str, xr.DataArray]) -> xr.DataArray:
        """Its value from sums by name, `lane` the last dimension, with unit and meaning as attributes."""
        found = self.of(*(sums[one.name] for one in self.needs))
        if not isinstance(found, xr.DataArray) or "lane" not in found.dims:
            raise InputError(
                f"measure {self.name!r} gives no number for each lane: make it of its sums, and keep `lane`"
            )
        found = found.reset_coords(drop=True).transpose(..., "lane")
        found.attrs = {"units": self.unit, "long_name": self.meaning}
        return found


def several_measures(label: str, value: object) -> tuple[Measure, ...]:
    """The value as several measures. Raises InputError for anything else."""
    given = several(lambda _, one: one, of="measures")(label, value)
    return tuple(
        require_kind("a measure of a run", one, Measure, "one, as sk.simulation.Measure(...)") for one in given
    )


def sums_of(measures: Iterable[Measure]) -> tuple[Sum, ...]:
    """The sums that measures need, each once."""
    return tuple(dict.fromkeys(one for measure in measures for one in measure.needs))


def together(measures: Sequence[Measure]) -> tuple[Measure, ...]:
    """The measures, for one result. Raises InputError where two share a name, or a dimension has two sets of labels."""
    measures = several_measures("measures", measures)
    names = [measure.name for measure in measures]
    labels: dict[str, list[float]] = {}
    for one in sums_of(measures):
        for word, at in one.along.items():
            if word in (*TAKEN, *names):
                raise InputError(f"sum {one.name!r} along {word!r}: results have that already; choose another word")
            if labels.setdefault(word, list(at)) != list(at):
                raise InputError(f"sums along {word!r} with different labels: choose another word for one of them")
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"two measures are called {name!r}: rename one")
    return measures


def counted(
    tally: Tally,
    warm_up: float | Float[np.ndarray, "*batch"],
    amount: float | Float[np.ndarray, "*batch"] = np.inf,
    by: str = "answered",
) -> Tally:
    """Sums `[row, lane]` over the chunks that begin once a lane has the `warm_up` of the sum `by` and before it has the
    `amount`: what lanes beside it do does not matter, although it runs until the slowest is done.

    A lane whose run is so short that no chunk is left is measured whole.
    """
    mask = kept(tally, warm_up, amount, by)[:, None]
    return {name: np.where(mask, sums, 0).sum(axis=0, dtype=np.float64) for name, sums in tally.items()}


def measured(tally: Tally, bricks: np.ndarray, measures: Sequence[Measure]) -> xr.Dataset:
    """Measures of each lane from its sums `[row, lane]`; bricks `[lane]`: how many of the drives it uses."""
    sums = {one.name: _labelled(one, tally[one.name], bricks) for one in sums_of(measures)}
    with np.errstate(invalid="ignore", divide="ignore"):
        return xr.Dataset({measure.name: measure.value(sums) for measure in measures})


def _labelled(one: Sum, values: np.ndarray, bricks: np.ndarray) -> xr.DataArray:
    if one.by_drive:
        brick = np.arange(len(values))
        used = np.where(brick[:, None] < bricks, values, np.nan)
        return xr.DataArray(used, {"brick": brick}, ("brick", "lane"))
    labels = {word: list(at) for word, at in one.along.items()}
    return xr.DataArray(values.reshape(*map(len, labels.values()), -1), labels, (*labels, "lane"))
