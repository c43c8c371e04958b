"""Measures of a run: each has a name, a unit, a meaning, the sums that it needs, and a function of its sums."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import xarray as xr
from jaxtyping import Float

from storagekit.core.errors import InputError
from storagekit.core.validation import Validator, instance_of, require_takes, several, validate_fields
from storagekit.engine import Sum, Tally
from storagekit.engine.histogram import MOST_STREAMS
from storagekit.simulation.batches import kept

# Names that no measure may have: dimensions of results and of intermediate datasets, and other variables of results.
DIMENSIONS = ("brick", "run", "piece", "point", "quantile", "request", "seed", "statistic")
QUANTILES = ("response_quantile", "read_response_quantile", "write_response_quantile")
OF_STREAMS = "stream_response_quantile"
TAKEN = (*DIMENSIONS, *QUANTILES, OF_STREAMS, "read", "response_time", "warm_up", "wrapped")


@dataclass(frozen=True, eq=False)
class Measure:
    """A measure of a run: one value, or one value for each entry along the dimensions of its sums.

    Parameters
    ----------
    name : str
        Name of the variable in a result.
    unit : str
        The unit; "1" for a measure without a unit.
    meaning : str
        The `long_name` of the variable.
    needs : tuple of Sum
        The sums from which the measure is computed.
    of : callable
        Function that computes the measure from the sums in `needs`. Each sum is a DataArray over `run` (the runs) and
        the dimensions of the sum. A sum for each drive has the dimension `brick`, and is NaN for bricks that a run does
        not use.
    streams : int
        Number of streams whose quantiles of response times the result also has; 0 by default.

    Raises
    ------
    InputError
        If results use the name for another purpose, or if `of` does not accept the sums in `needs`.

    Examples
    --------
    >>> import storagekit as sk
    >>> from storagekit.engine import COMPLETED, Sum, completed
    >>> from storagekit.simulation import Measure
    >>> late = Sum("late", lambda report: completed(report) & (report.completed.response > 20 * sk.units.MS), int)
    >>> meaning = "share of requests that took more than 20 ms"
    >>> missed = Measure("missed", "1", meaning, (late, COMPLETED), lambda late, completed: late / completed)
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
    needs: Annotated[tuple[Sum, ...], several(instance_of(Sum), of="sums")]
    of: Callable[..., xr.DataArray]
    streams: Annotated[int, Validator(least=0, most=MOST_STREAMS, whole=True)] = 0

    def __post_init__(self):
        validate_fields(self)
        if self.name in TAKEN:
            raise InputError(f"a measure named {self.name!r}: the result already has this name; give another name")
        require_takes(f"measure {self.name!r}", self.of, [one.name for one in self.needs])

    def value(self, sums: Mapping[str, xr.DataArray]) -> xr.DataArray:
        """Compute the measure from sums.

        Parameters
        ----------
        sums : mapping of str to DataArray
            The sums, keyed by name.

        Returns
        -------
        DataArray
            The measure, with `run` as its last dimension, and its unit and meaning as attributes.

        Raises
        ------
        InputError
            If the measure does not have a number for each run.
        """
        found = self.of(*(sums[one.name] for one in self.needs))
        if not isinstance(found, xr.DataArray) or "run" not in found.dims:
            raise InputError(
                f"measure {self.name!r} does not return one number for each run: compute it from the sums, and keep "
                "the dimension `run`"
            )
        found = found.reset_coords(drop=True).transpose(..., "run")
        found.attrs = {"units": self.unit, "long_name": self.meaning}
        return found


def several_measures(label: str, value: object) -> tuple[Measure, ...]:
    """Validate the value of an argument, and return it as a tuple of measures.

    Parameters
    ----------
    label : str
        Name of the argument, for the message.
    value : object
        The value.

    Returns
    -------
    tuple of Measure
        The measures.

    Raises
    ------
    InputError
        If the value is not a sequence of measures.
    """
    given = several(lambda _, one: one, of="measures")(label, value)
    return tuple(
        instance_of(Measure, "a measure, such as sk.simulation.Measure(...)")("a measure of a run", one)
        for one in given
    )


def sums_of(measures: Iterable[Measure]) -> tuple[Sum, ...]:
    """Return the sums that measures need. A sum that several measures need is returned once.

    Parameters
    ----------
    measures : iterable of Measure
        The measures.

    Returns
    -------
    tuple of Sum
        The sums.
    """
    return tuple(dict.fromkeys(one for measure in measures for one in measure.needs))


def together(measures: Sequence[Measure]) -> tuple[Measure, ...]:
    """Check that measures fit into one result, and return them.

    Parameters
    ----------
    measures : sequence of Measure
        The measures.

    Returns
    -------
    tuple of Measure
        The same measures.

    Raises
    ------
    InputError
        If two measures share a name, if a dimension has the name of a measure or of another variable, or if a dimension
        has two different sets of labels.
    """
    measures = several_measures("measures", measures)
    names = [measure.name for measure in measures]
    labels: dict[str, list[float]] = {}
    for one in sums_of(measures):
        for word, at in one.along.items():
            if word in (*TAKEN, *names):
                raise InputError(
                    f"sum {one.name!r} along {word!r}: the result already has this name; give another name"
                )
            if labels.setdefault(word, list(at)) != list(at):
                raise InputError(f"sums along {word!r} have different labels: rename the dimension of one of them")
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"two measures have the name {name!r}: rename one")
    return measures


def counted(
    tally: Tally,
    warm_up: float | Float[np.ndarray, "*batch"],
    amount: float | Float[np.ndarray, "*batch"] = np.inf,
    by: str = "completed",
) -> Tally:
    """Return the sums of each run over its measured chunks of events.

    A chunk is measured if, at its beginning, the cumulative sum `by` of the run is at least `warm_up` and less than
    `amount`. The result therefore does not depend on the other runs of the batch, although all runs continue until the
    slowest run has finished. A run that is too short to contain a measured chunk is measured as a whole.

    Parameters
    ----------
    tally : mapping of str to array, shape `[chunk, row, *batch]`
        The sums of each chunk, keyed by name.
    warm_up : float or array, shape `[*batch]`
        Value of the sum `by` at which measuring begins.
    amount : float or array, shape `[*batch]`
        Value of the sum `by` at which measuring ends, by default inf.
    by : str
        Name of the sum that measures the length of the run, by default the completed requests.

    Returns
    -------
    mapping of str to array of float64, shape `[row, *batch]`
        The sums, keyed by name.
    """
    mask = kept(tally, warm_up, amount, by)[:, None]
    return {name: np.where(mask, sums, 0).sum(axis=0, dtype=np.float64) for name, sums in tally.items()}


def measured(tally: Tally, bricks: np.ndarray, measures: Sequence[Measure]) -> xr.Dataset:
    """Compute measures of each run from its sums.

    Parameters
    ----------
    tally : mapping of str to array, shape `[row, run]`
        The sums, keyed by name.
    bricks : array of int, shape `[run]`
        Number of drives that each run uses.
    measures : sequence of Measure
        The measures.

    Returns
    -------
    Dataset
        The measures, with the dimension `run`.
    """
    sums = {one.name: _labelled(one, tally[one.name], bricks) for one in sums_of(measures)}
    with np.errstate(invalid="ignore", divide="ignore"):
        return xr.Dataset({measure.name: measure.value(sums) for measure in measures})


def _labelled(one: Sum, values: np.ndarray, bricks: np.ndarray) -> xr.DataArray:
    if one.by_drive:
        brick = np.arange(len(values))
        used = np.where(brick[:, None] < bricks, values, np.nan)
        return xr.DataArray(used, {"brick": brick}, ("brick", "run"))
    labels = {word: list(at) for word, at in one.along.items()}
    return xr.DataArray(values.reshape(*map(len, labels.values()), -1), labels, (*labels, "run"))
