"""Long runs of a few scenarios: sums over equal pieces of each run. Memory does not grow with the length of a run."""

import itertools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any, NamedTuple

import jax
import numpy as np
import pandas as pd
import xarray as xr
from tqdm import tqdm

from storagekit.core.errors import InputError
from storagekit.core.validation import instance_of, require, require_takes, validate
from storagekit.engine import AUTO, Record, Runner, Scenario, State, Tally, select_runs, stack, steps
from storagekit.simulation.experiment import built, check_axes, grid, listed
from storagekit.simulation.measures import Measure, measured, sums_of
from storagekit.simulation.provenance import provenance
from storagekit.simulation.provisioning import TRIED, fewest, groups, provided
from storagekit.simulation.run_length import NUMERIC, REQUESTS, run_length
from storagekit.simulation.standard_measures import BLOCKED, beside

# number of chunks of events that are simulated before the sums are read
STRIDE = 64
# numbers of slots to try if System.slots is not given; a long run does not begin with few slots
SLOTS = (256,)
# total number of slots of the runs on one CPU core that fit into the caches of the core; smallest number of runs on
# each device, which padding fills up
ROOM, FEW = 1024, 2


class History(NamedTuple):
    """Measures of the runs of `history`.

    Parameters
    ----------
    whole : Dataset
        Measures over the axes and `seed`, for the whole run after its warm-up.
    pieces : Dataset
        The same measures for each piece of the run (dimension `piece`), including the warm-up. The coordinate of a
        piece is the position of its middle in the run, from 0 to 1.
    """

    whole: xr.Dataset
    pieces: xr.Dataset


@validate
def history(
    build: Callable[..., Scenario],
    axes: Mapping[str, Sequence[Any]],
    *,
    requests: Annotated[int, REQUESTS],
    seeds: Sequence[int] = (0,),
    pieces: Annotated[int, REQUESTS] = 40,
    warm_up: Annotated[float, NUMERIC] = 0.0,
    at_end: Callable[[State, np.ndarray], None] = lambda state, runs: None,
    title: str = "replaying",
    measures: Sequence[Measure] = (),
    slots: Annotated[Sequence[int], TRIED] = SLOTS,
) -> History:
    """Simulate `build(**point)` at every point of the grid that `axes` spans until `requests` requests have completed.

    Each point is simulated once for every seed (dimension `seed`). The seed determines the phases of the spindles. The
    scenarios may differ only in numbers (including the number of drives), because they share one compilation. They must
    share their arrays, such as the requests of a trace. Requests may wait for a slot. Such requests are counted in
    `blocked`.

    Parameters
    ----------
    build : callable
        Returns the scenario of a point.
    axes : mapping of str to sequence
        The values of each parameter of `build`.
    requests : int
        Number of requests to complete in each run.
    seeds : sequence of int
        The seeds, by default 0 only.
    pieces : int
        Number of pieces of a run, by default 40.
    warm_up : float
        Share of the run that `whole` leaves out, rounded up to whole pieces, by default 0.
    at_end : callable
        Function that is called with the last state of some runs, and the numbers of these runs. The number of a run is
        point * (number of seeds) + (index of the seed). By default, the function does nothing.
    title : str
        Title of the progress bar, by default "replaying".
    measures : sequence of Measure
        Measures in addition to the standard measures, by default none.
    slots : sequence of int
        Numbers of slots to try for systems without `slots`, by default 256. Runs in which requests wait for a slot are
        repeated with the next number.

    Returns
    -------
    History
        The measures of the whole run and of its pieces.

    Raises
    ------
    InputError
        If the scenarios differ in structure, or if a setting is impossible.
    """
    instance_of(Mapping, "a mapping from parameters of build to values, such as {'replicas': [2, 4]}")("axes", axes)
    require_takes("at_end", at_end, ("state", "runs"))
    seeds, all_measures = listed(seeds), beside(measures)
    check_axes(axes, all_measures)
    require(0 <= warm_up < 1, "warm-up of", warm_up, "at least 0 and below 1", "of the run")
    if pieces >= 1 and np.ceil(warm_up * pieces) >= pieces:
        raise InputError(f"warm-up of {warm_up:g} of the run leaves none of the {pieces} pieces; raise pieces")
    if not 1 <= pieces <= requests:
        raise InputError(
            f"{pieces} pieces of {requests} requests: give at least 1 piece, and at most one for each request"
        )
    points = [dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())]
    if not points:
        raise InputError("an axis has no values; give at least one for each axis")
    scenarios = [built(build, point) for point in points]
    alike = [some for _, some in groups(scenarios)]
    scenarios = alike[0] if len(alike) == 1 else scenarios
    began = time.perf_counter()
    with tqdm(total=requests * len(points) * len(seeds), desc=title, unit="req", delay=2, leave=False) as bar:
        sums = _Sums(requests, pieces, Record(sums_of(all_measures)), at_end, bar).of(
            scenarios, seeds, _slot_steps(scenarios, slots)
        )
    length = run_length(requests, None, int(warm_up * requests))
    facts = provenance(scenarios, axes, seeds, length.facts, time.perf_counter() - began)
    bricks = np.repeat([int(scenario.system.placement.drives) for scenario in scenarios], len(seeds))
    whole = {name: part[int(np.ceil(warm_up * pieces)) :].sum(axis=0) for name, part in sums.items()}
    split = {name: np.moveaxis(part, 0, 2).reshape(part.shape[1], -1) for name, part in sums.items()}
    of_run = {"point": np.arange(len(points)), "seed": list(seeds)}
    of_piece = {**of_run, "piece": (np.arange(pieces) + 0.5) / pieces}
    parted = (
        (measured(whole, bricks, all_measures), of_run),
        (measured(split, np.repeat(bricks, pieces), all_measures), of_piece),
    )
    found = (grid(_along(data, dims), axes) for data, dims in parted)
    return History(*(data.assign_attrs(facts) for data in found))


def _along(data: xr.Dataset, dims: Mapping[str, Sequence[Any] | np.ndarray]) -> xr.Dataset:
    """Split the dimension `run` into the dimensions `dims`. The last dimension in `dims` varies fastest."""
    runs = pd.MultiIndex.from_product(list(dims.values()), names=list(dims))
    data = data.assign_coords(xr.Coordinates.from_pandas_multiindex(runs, "run"))
    return data.unstack("run").drop_vars("point")


def _slot_steps(scenarios: Sequence[Scenario], slots: Sequence[int]) -> list[int]:
    """Return the numbers of slots to try.

    The only number is System.slots if it is given. Otherwise the numbers are `slots`. A number that is too small for a
    closed loop is raised to the number that the loop needs.
    """
    given = scenarios[0].system.slots
    least = max(scenario.arrivals.most_outstanding or 0 for scenario in scenarios)
    return [given] if given != AUTO else [max(count, fewest(scenarios) if least else 0) for count in slots or SLOTS]


def _few_at_a_time(runs: np.ndarray, slots: int) -> Iterator[tuple[np.ndarray, int]]:
    """Yield the runs of each batch, and the number of runs of the batch before padding.

    The last run of a batch is repeated as padding. On a CPU, a batch has all runs that fit into the caches, or all runs
    if there are only a few. On an accelerator, a batch has all runs.
    """
    devices = len(jax.devices())
    wide = devices * max(1, min(ROOM // slots, 64)) if jax.default_backend() == "cpu" else len(runs)
    wide = FEW * devices if len(runs) <= FEW * devices else wide
    for first in range(0, len(runs), wide):
        yield runs[np.minimum(np.arange(first, first + wide), len(runs) - 1)], min(wide, len(runs) - first)


class _Sums(NamedTuple):
    """Settings for sums over `pieces` equal pieces of runs with `requests` requests."""

    requests: int
    pieces: int
    record: Record
    at_end: Callable[[State, np.ndarray], None]
    bar: tqdm

    def of(self, scenarios: Sequence[Scenario], seeds: Sequence[int], slot_steps: Sequence[int]) -> Tally:
        """Return the sums `[piece, row, run]` of scenarios, each with every seed.

        The numbers of slots in `slot_steps` are tried in their order until no request waits for a slot.
        """
        sums: Tally = {}
        left = np.arange(len(scenarios) * len(seeds))
        for slots in slot_steps:
            merged, key = stack(provided(scenarios, slots), seeds)
            waiting = []
            for members, used in _few_at_a_time(left, slots):
                runner = Runner(select_runs(merged, members), key[:, members], self.record)
                part = self._by_piece(runner)
                waited = part[BLOCKED.name][..., :used].any(axis=(0, 1)) & (slots != slot_steps[-1])
                over = np.flatnonzero(~waited)
                for name, values in part.items():
                    whole = sums.setdefault(name, np.zeros((*values.shape[:2], len(scenarios) * len(seeds))))
                    whole[..., members[over]] = values[..., over]
                if over.size:
                    last = jax.tree.map(lambda leaf, over=over: np.asarray(leaf)[..., over], runner.run.state)
                    self.at_end(last, members[over])
                waiting.append(members[:used][waited])
            left = np.concatenate(waiting)
            if not left.size:
                break
            self.bar.total += self.requests * left.size
        return sums

    def _by_piece(self, runner: Runner) -> Tally:
        """Return the sums `[piece, row, run]`. A chunk of events is counted in the piece in which it began."""
        sums: Tally = {}
        requests, pieces = self.requests, self.pieces
        completed = np.zeros(runner.run.first.shape[1], np.int64)
        for tally, _ in steps(runner, requests, stride=STRIDE):
            sums = sums or {name: np.zeros((pieces, *part.shape[1:])) for name, part in tally.items()}
            done = tally["completed"][:, 0].astype(np.int64)
            before = completed + np.cumsum(done, axis=0) - done
            piece = np.minimum(before * pieces // requests, pieces - 1)
            for name, part in tally.items():
                row, run = np.arange(part.shape[1])[:, None], np.arange(part.shape[2])
                np.add.at(sums[name], (piece[:, None, :], row, run), part)
            self.bar.update(int(np.minimum(done.sum(axis=0), requests - np.minimum(completed, requests)).sum()))
            completed += done.sum(axis=0)
        return sums
