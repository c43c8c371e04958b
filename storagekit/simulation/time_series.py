"""Simulate the runs of a batch until each run is long enough, and compute the measures of the runs."""

from collections.abc import Callable, Sequence
from difflib import get_close_matches
from typing import NamedTuple

import numpy as np
import xarray as xr
from jaxtyping import Bool, Float, UInt16
from tqdm import tqdm

from storagekit.core.errors import InputError
from storagekit.core.student_t import half_width
from storagekit.engine import Record, ResponseBins, Runner, Scenario, Tally, batches, binned, stack, steps
from storagekit.engine.batch import STRIDE
from storagekit.simulation.batches import batch_sums, kept
from storagekit.simulation.measures import Measure, counted, measured, sums_of
from storagekit.simulation.quantiles import OF_ALL_SEEDS, from_bins
from storagekit.simulation.run_length import Precision, RunLength
from storagekit.simulation.standard_measures import (
    ASYNCHRONOUS_READS,
    ASYNCHRONOUS_WRITES,
    BLOCKED,
    READ_RESPONSE,
    READS,
    WRITE_RESPONSE,
    WRITES,
)
from storagekit.simulation.warm_up import BATCHES, share_to_leave_out

# number of parts into which a single run is divided; its confidence interval is over the means of the parts
PARTS = 20
# names of the sums that give the mean response time, from which the warm-up is determined
_COUNTED = READ_RESPONSE, WRITE_RESPONSE, READS, WRITES, ASYNCHRONOUS_READS, ASYNCHRONOUS_WRITES
_WAITED_FOR = tuple(one.name for one in _COUNTED)


class Measured(NamedTuple):
    """Measures of the runs of a batch.

    Parameters
    ----------
    data : Dataset
        The measures, with a dimension `run` for the runs.
    waited : array of float64, shape `[run]`
        Number of arrivals of each run that waited for a slot, including arrivals during the warm-up.
    """

    data: xr.Dataset
    waited: Float[np.ndarray, "run"]


def measured_runs(
    scenarios: Sequence[Scenario],
    seeds: Sequence[int],
    run_length: RunLength,
    measures: Sequence[Measure],
    *,
    padded: bool = True,
    among: int | None = None,
    quiet: bool = False,
) -> Measured:
    """Simulate scenarios of one structure, each with every seed, and compute the measures of all runs.

    The runs are ordered by scenario, and within a scenario by seed.

    Parameters
    ----------
    scenarios : sequence of Scenario
        The scenarios.
    seeds : sequence of int
        The seeds.
    run_length : RunLength
        Length, warm-up and precision of a run.
    measures : sequence of Measure
        The measures.
    padded, among
        See `engine.batches`; by default True and None.
    quiet : bool
        Whether the progress bar is left out, by default False.

    Returns
    -------
    Measured
        The measures, the quantiles of the response time, and `warm_up`, the part of each run that is not measured. If a
        precision is given for a measure, there is also the half-width of its interval (see `half_width_of`).

    Raises
    ------
    InputError
        If a precision is given for a measure that does not exist.
    """
    run_length = _possible(run_length, scenarios, measures)
    merged, key = stack(scenarios, seeds)
    record = _recorded(measures)
    bricks = np.repeat([int(scenario.system.placement.drives) for scenario in scenarios], len(seeds))
    found: list[Measured] = []
    all_series: list[TimeSeries] = []
    first = 0
    for part, keys, used in batches(merged, key, padded, len(seeds), among):
        all_series.append(TimeSeries(part, keys, used, record, run_length))
        runs = sum(series.used for series in all_series)
        if runs % len(seeds) == 0:
            points = _Points(all_series, len(seeds), bricks[first : first + runs], run_length, measures)
            found.append(points.measured(quiet))
            all_series, first = [], first + runs
    return Measured(xr.concat([one.data for one in found], dim="run"), np.concatenate([one.waited for one in found]))


def compile_runs(
    scenarios: Sequence[Scenario],
    seeds: Sequence[int],
    measures: Sequence[Measure],
    *,
    padded: bool = True,
    among: int | None = None,
) -> None:
    """Compile the program that `measured_runs` runs for the same arguments, without running it.

    Parameters
    ----------
    scenarios : sequence of Scenario
        The scenarios.
    seeds : sequence of int
        The seeds.
    measures : sequence of Measure
        The measures.
    padded, among
        See `engine.batches`; by default True and None.
    """
    merged, key = stack(scenarios, seeds)
    part, keys, _ = next(batches(merged, key, padded, len(seeds), among))
    Runner(part, keys, _recorded(measures)).compile(STRIDE)


def _recorded(measures: Sequence[Measure]) -> Record:
    """Return the record of a run from which the measures are computed."""
    return Record(sums_of(measures), ResponseBins(_streams(measures)))


def _streams(measures: Sequence[Measure]) -> int:
    """Return the number of streams that have separate quantiles."""
    return max((one.streams for one in measures), default=0)


def of_points(run_length: RunLength) -> list[str]:
    """Return the names of the variables that have one value for all seeds of a point.

    Parameters
    ----------
    run_length : RunLength
        Length, warm-up and precision of a run.

    Returns
    -------
    list of str
        `warm_up`, the quantiles of all seeds together with their intervals, and the names of the half-widths.
    """
    wanted = run_length.precision.wanted if run_length.precision else ()
    return ["warm_up", *OF_ALL_SEEDS, *map(half_width_of, wanted)]


def stopped_by(run_length: RunLength, data: xr.Dataset) -> dict[str, str]:
    """Return the attribute that states whether the runs of a result ended at the precision or at the budget.

    Parameters
    ----------
    run_length : RunLength
        Length, warm-up and precision of a run.
    data : Dataset
        The result, with the half-widths of its intervals.

    Returns
    -------
    dict
        `stopped_by`: "precision" if all intervals are as narrow as requested, else "budget". Empty without a precision.
    """
    if run_length.precision is None:
        return {}
    reached = [bool((data[half_width_of(name)] <= share).all()) for name, share in run_length.precision.wanted.items()]
    return {"stopped_by": "precision" if all(reached) else "budget"}


def half_width_of(measure: str) -> str:
    """Return the name of the variable that contains the half-width of a measure's interval, divided by the mean."""
    return f"{measure}_half_width"


class TimeSeries:
    """Simulation of the first `used` runs of a batch; the other runs are padding."""

    def __init__(self, scenario: Scenario, key: np.ndarray, used: int, record: Record, run_length: RunLength):
        self.used, self.by = used, run_length.by
        self._steps = steps(Runner(scenario, key, record), run_length.most, by=run_length.by)
        self._collected: list[tuple[Tally, np.ndarray]] = []
        self._done = np.zeros(1)

    def until(self, amount: float, progress: Callable[[float], object]) -> None:
        """Simulate until every run has reached a given length.

        Parameters
        ----------
        amount : float
            Required length of each run, in the unit of `run_length.by` (for example, completed requests or simulated
            seconds).
        progress : callable
            Function that is called after each step with the length of the shortest run.
        """
        while self._done.min() < amount:
            tally, codes = next(self._steps)
            self._done = self._done + tally[self.by].sum(axis=(0, 1), dtype=np.float64)
            # without the runs that are padding
            mine = {name: part[..., : self.used].copy() for name, part in tally.items()}
            self._collected.append((mine, codes[:, :, 0, : self.used].copy()))
            progress(float(self._done.min()))

    def collected(self) -> tuple[Tally, UInt16[np.ndarray, "chunk event run"]]:
        """Return the sums `[chunk, row, run]` and the codes of the completions `[chunk, event, run]` so far."""
        if len(self._collected) > 1:
            tallies, codes = zip(*self._collected, strict=True)
            joined = {name: np.concatenate([tally[name] for tally in tallies]) for name in tallies[0]}
            self._collected = [(joined, np.concatenate(codes))]
        return self._collected[0]


class _Points:
    """Points with all their seeds: the runs of all `all_series`, in their order."""

    def __init__(
        self,
        all_series: list[TimeSeries],
        seeds: int,
        bricks: np.ndarray,
        run_length: RunLength,
        measures: Sequence[Measure],
    ):
        self.all_series, self.seeds, self.bricks, self.run_length, self.measures = (
            all_series,
            seeds,
            bricks,
            run_length,
            measures,
        )
        ends = np.cumsum([series.used for series in all_series])
        self.runs = [slice(end - series.used, end) for series, end in zip(all_series, ends, strict=True)]
        # for each run: the end and the beginning of its measured part, and the half-widths of its intervals
        self.amount = np.full(len(bricks), float(run_length.amount))
        self.warm_up = np.zeros(len(bricks))
        self.narrow: dict[str, np.ndarray] = {}

    def measured(self, quiet: bool) -> Measured:
        """Return the measures of all runs. Each run has the length that the requested precision requires.

        The measures of a run do not depend on the length of the other runs.
        """
        going = np.ones(len(self.bricks), bool)
        unit = "req" if self.run_length.by == "completed" else "s"
        with tqdm(desc="simulating", unit=unit, delay=2, leave=False, disable=quiet) as bar:
            for amount in self.run_length.stages:
                bar.total = amount
                for series in self.all_series:
                    series.until(amount, lambda done: bar.update(max(0, min(done, bar.total) - bar.n)))
                self.amount[going], self.warm_up[going] = amount, self._to_leave_out(amount)[going]
                if self.run_length.precision is None:
                    continue
                going &= ~self._precise(self.run_length.precision, going)
                if not going.any() or (self._sums()[BLOCKED.name].any() and not self.run_length.precision.patient):
                    break
        return Measured(self._data(), self._sums(0.0)[BLOCKED.name].sum(axis=0))

    def _data(self) -> xr.Dataset:
        by = self.run_length.by
        bins = []
        for series, mine in zip(self.all_series, self.runs, strict=True):
            tally, codes = series.collected()
            measured_part = kept(tally, self.warm_up[mine], self.amount[mine], by)
            bins.append(binned(codes, measured_part, _streams(self.measures)))
        data = measured(self._sums(), self.bricks, self.measures).merge(
            from_bins(np.concatenate(bins, axis=2), self.seeds)
        )
        attributes = {"units": "1" if by == "completed" else "s", "long_name": "length of the warm-up"}
        data["warm_up"] = ("run", self.warm_up, attributes)
        for name, width in self.narrow.items():
            attributes = {
                "units": "1",
                "long_name": f"half-width of the 95% interval of {name}, as a fraction of its mean",
            }
            data[half_width_of(name)] = ("run", width, attributes)
        return data

    def _sums(self, warm_up: float | None = None) -> Tally:
        """Return the sums of every run after its warm-up, or after `warm_up` if it is given."""
        parts = []
        for series, mine in zip(self.all_series, self.runs, strict=True):
            begin = self.warm_up[mine] if warm_up is None else warm_up
            parts.append(counted(series.collected()[0], begin, self.amount[mine], self.run_length.by))
        return {name: np.concatenate([part[name] for part in parts], axis=1) for name in parts[0]}

    def _batches(
        self, names: Sequence[str], count: int, low: Float[np.ndarray, "run"], high: Float[np.ndarray, "run"]
    ) -> dict[str, Float[np.ndarray, "count row run"]]:
        parts = [
            batch_sums(series.collected()[0], names, count, low[mine], high[mine], self.run_length.by)
            for series, mine in zip(self.all_series, self.runs, strict=True)
        ]
        return {name: np.concatenate([part[name] for part in parts], axis=2) for name in names}

    def _to_leave_out(self, amount: float) -> Float[np.ndarray, "run"]:
        """Return the warm-up of each run. It is given, or it is determined from all seeds of the run's point."""
        if self.run_length.warm_up is not None:
            return np.full(len(self.bricks), float(self.run_length.warm_up))
        nothing, all_of_it = np.zeros(len(self.bricks)), np.full(len(self.bricks), float(amount))
        sums = self._batches(_WAITED_FOR, BATCHES, nothing, all_of_it)
        read, write, reads, writes, *asynchronous = (
            sums[name].reshape(BATCHES, -1, self.seeds).sum(axis=2) for name in _WAITED_FOR
        )
        response, waited_for = read + write, reads + writes - sum(asynchronous)
        shares = [share_to_leave_out(*point) for point in zip(response.T, waited_for.T, strict=True)]
        cut = np.repeat(shares, self.seeds) * amount
        return np.ceil(cut) if self.run_length.by == "completed" else cut

    def _precise(self, precision: Precision, going: Bool[np.ndarray, "run"]) -> Bool[np.ndarray, "run"]:
        """Return a mask of the runs whose point has intervals that are as narrow as requested.

        The half-widths are stored for the runs marked in `going`.
        """
        if self.seeds > 1:
            samples, data = self.seeds, measured(self._sums(), self.bricks, self.measures)
        else:
            samples, names = PARTS, [one.name for one in sums_of(self.measures)]
            parts = self._batches(names, PARTS, self.warm_up, self.amount)
            sums = {name: np.moveaxis(part, 0, 2).reshape(part.shape[1], -1) for name, part in parts.items()}
            data = measured(sums, np.repeat(self.bricks, PARTS), self.measures)
        reached = np.ones(len(self.bricks), bool)
        for name, wanted in precision.wanted.items():
            width = np.repeat(_half_width(data[name].values, samples), self.seeds)
            noted = self.narrow.setdefault(name, np.full(len(self.bricks), np.nan))
            noted[going] = width[going]
            reached &= width <= wanted
        return reached


def _half_width(values: Float[np.ndarray, "*more run"], samples: int) -> Float[np.ndarray, "point"]:
    """Return the half-width of the 95% interval of the mean over `samples` samples, divided by the mean.

    The samples vary fastest along the last axis. If a point has several values, such as one for each brick, the result
    is the half-width of the widest interval. The result is NaN if the point has no value.
    """
    of = values.reshape(*values.shape[:-1], -1, samples)
    mean = of.mean(axis=-1)
    half = half_width(samples) * of.std(axis=-1, ddof=1) / np.sqrt(samples)
    share = np.divide(half, np.abs(mean), out=np.where(half == 0, 0.0, np.inf), where=mean != 0)
    share = np.where(np.isnan(half), np.nan, share).reshape(-1, mean.shape[-1])
    widest = np.where(np.isnan(share), 0.0, share).max(axis=0)
    return np.where(np.isnan(share).all(axis=0), np.nan, widest)


def _possible(run_length: RunLength, scenarios: Sequence[Scenario], measures: Sequence[Measure]) -> RunLength:
    """Return the length with its budget limited to the number of requests of the scenarios.

    Raises InputError if a precision is given for a measure that does not exist.
    """
    if run_length.precision is None:
        return run_length
    known = [one.name for one in measures]
    for name in run_length.precision.wanted:
        if name not in known:
            near = ", ".join(get_close_matches(name, known)) or ", ".join(known[:3]) + " ..."
            raise InputError(f"precision of {name!r}: no such measure; give for example {near}")
    return run_length.within(min((one.arrivals.total or run_length.most) for one in scenarios))
