"""Divide a sweep into shards, and run each shard. A shard has some points of one structure, with all their seeds.

The division of points into shards does not change results, not even in the last bit: the result of a run does not
depend on the other runs of its batch, or on the number of these runs. Points that are stored already can therefore be left
out, and workers may have any number of devices. A batch has one run only for a structure that has a single run in the
whole sweep.
"""

import time
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
import xarray as xr
from tqdm import tqdm

from storagekit.core.validation import validate
from storagekit.engine import Outcome, Record, Scenario, execute, width
from storagekit.engine.batch import ENOUGH
from storagekit.simulation.measures import Measure
from storagekit.simulation.provisioning import Attempt, groups, provided, slot_steps
from storagekit.simulation.run_length import RunLength
from storagekit.simulation.standard_measures import beside
from storagekit.simulation.time_series import measured_runs, of_points

# The smallest number of runs of a shard. These runs take seconds, so that a few runs of padding matter little.
LEAST = 512


@dataclass(frozen=True)
class SweepSettings:
    """The settings of a sweep that all points share.

    Parameters
    ----------
    seeds : tuple of int
        One seed for each independent run.
    run_length : RunLength
        Length of a run.
    own : tuple of Measure
        The user's measures, by default none.
    slots : tuple of int
        Numbers of slots to try; empty for the default numbers.
    """

    seeds: tuple[int, ...]
    run_length: RunLength
    own: tuple[Measure, ...] = ()
    slots: tuple[int, ...] = ()

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The standard measures and the user's measures. Raises InputError if two measures have the same name."""
        return beside(self.own)


@dataclass(frozen=True)
class ShardGroup:
    """Points of a sweep that can share a batch: all points of a structure, or the points of one shard.

    Parameters
    ----------
    structure : int
        Number of the structure in the sweep.
    members : tuple of int
        Numbers of the points.
    scenarios : tuple of Scenario
        The scenarios of the points, all with the same number of drives.
    slot_steps : tuple of int
        Numbers of slots to try.
    runs : int
        Number of runs of all points of the structure.
    """

    structure: int
    members: tuple[int, ...]
    scenarios: tuple[Scenario, ...]
    slot_steps: tuple[int, ...]
    runs: int


@dataclass(frozen=True)
class Done:
    """Result of a shard.

    Parameters
    ----------
    data : Dataset
        Measures over `point` and `seed`, where `seed` is the index of the seed.
    slots : array of int, shape `[point]`
        Number of slots of each point.
    waited : array of float, shape `[point]`
        Number of arrivals of each point that waited for a slot, including arrivals during the warm-up.
    seconds : float
        Duration of the simulation, seconds of wall time, by default 0.
    """

    data: xr.Dataset
    slots: np.ndarray
    waited: np.ndarray
    seconds: float = 0.0


def grouped(scenarios: Sequence[Scenario], seeds: int, slots: Sequence[int] = ()) -> list[ShardGroup]:
    """Return the points of a sweep grouped by structure.

    Parameters
    ----------
    scenarios : sequence of Scenario
        The scenarios of the points.
    seeds : int
        Number of seeds.
    slots : sequence of int
        Numbers of slots to try; empty for the default numbers.

    Returns
    -------
    list of ShardGroup
        The groups.
    """
    return [
        ShardGroup(structure, tuple(members), tuple(alike), slot_steps(alike, slots), len(members) * seeds)
        for structure, (members, alike) in enumerate(groups(scenarios))
    ]


def pieces(group: ShardGroup, wanted: Set[int], seeds: int) -> Iterator[ShardGroup]:
    """Yield the shards of a group.

    Parameters
    ----------
    group : ShardGroup
        The group.
    wanted : set of int
        Numbers of the points to simulate; other points are left out.
    seeds : int
        Number of seeds.

    Yields
    ------
    ShardGroup
        The next shard.
    """
    each = max(1, max(LEAST, width(group.runs)) // seeds)
    indices = [index for index, member in enumerate(group.members) if member in wanted]
    for first in range(0, len(indices), each):
        some = indices[first : first + each]
        members, scenarios = (tuple(of[index] for index in some) for of in (group.members, group.scenarios))
        yield replace(group, members=members, scenarios=scenarios)


@validate
def run(
    scenario: Scenario,
    key: np.ndarray,
    amount: Annotated[float, ENOUGH],
    record: Record | None = None,
    title: str = "simulating",
    by: str = "completed",
) -> Outcome:
    """Run one scenario with a progress bar that appears after two seconds.

    Parameters
    ----------
    scenario : Scenario
        The scenario, or a stacked scenario.
    key : array of uint32, shape `[2, run]`, or `[2]` for a single run
        Keys of the runs.
    amount : float
        Value that the sum `by` must reach in every run, in the unit of the sum.
    record : Record, optional
        Sums and log to store, by default only the sums `CORE`.
    title : str
        Title of the progress bar, by default "simulating".
    by : str
        Name of the sum, by default "completed", the number of completed requests.

    Returns
    -------
    Outcome
        The result of `engine.execute`.
    """
    unit = "req" if by == "completed" else "s"
    with tqdm(total=amount, desc=title, unit=unit, delay=2, leave=False) as bar:
        return execute(
            scenario,
            key,
            amount,
            Record() if record is None else record,
            lambda done: bar.update(min(done, amount) - bar.n),
            by,
        )


def finished(piece: ShardGroup, settings: SweepSettings, quiet: bool = False) -> Done:
    """Run the points of a shard with increasing numbers of slots until no arrival waits for a slot.

    Parameters
    ----------
    piece : ShardGroup
        The shard.
    settings : SweepSettings
        The settings of the sweep.
    quiet : bool
        Whether the progress bar is left out, by default False.

    Returns
    -------
    Done
        The result, in the order of the points.
    """
    began, left, found = time.perf_counter(), np.arange(len(piece.members)), []
    for slots in piece.slot_steps:
        some = provided([piece.scenarios[index] for index in left], slots)
        data, waited = _batch(some, piece.runs, settings, quiet)
        over = np.flatnonzero((np.asarray(waited) == 0) | (slots == piece.slot_steps[-1]))
        found.append((left[over], data.isel(point=over), np.asarray(waited)[over], np.full(over.size, slots)))
        left = np.delete(left, over)
        if not left.size:
            break
    indices, parts, waits, held = zip(*found, strict=True)
    order = np.argsort(np.concatenate(indices))
    whole = xr.concat(parts, dim="point", data_vars="all") if len(parts) > 1 else parts[0]
    slots, waits = np.concatenate(held)[order], np.concatenate(waits)[order]
    return Done(whole.isel(point=order), slots, waits, time.perf_counter() - began)


def _batch(scenarios: list[Scenario], runs: int, settings: SweepSettings, quiet: bool) -> Attempt:
    seeds, points = settings.seeds, len(scenarios)
    data, waited = measured_runs(scenarios, seeds, settings.run_length, settings.measures, among=runs, quiet=quiet)
    folded = data.assign_coords(
        point=("run", np.repeat(np.arange(points), len(seeds))),
        seed=("run", np.tile(np.arange(len(seeds)), points)),
    )
    unfolded = folded.set_index(run=["point", "seed"]).unstack("run").drop_vars("point")
    # variables without a dimension for seeds
    common = {
        name: unfolded[name].isel(seed=0, drop=True) for name in unfolded if name in of_points(settings.run_length)
    }
    return Attempt(unfolded.assign(common), waited.reshape(points, -1).sum(axis=1))
