"""A sweep in pieces, each what is run, kept or lost as one: some points of one structure, with all their seeds.

Which points stand beside one another in a piece changes no number of any, to the last bit: a batch always has `width` lanes,
at most 32 on each CPU device, and each goes through the same program. So whatever is there already is left out, and workers
may have any number of devices. Only a sweep's structure with a single lane in all runs alone, at width 1.
"""

import time
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, replace

import numpy as np
import xarray as xr
from tqdm import tqdm

from storagekit.engine import Outcome, Record, Scenario, execute, width
from storagekit.engine.batch import ENOUGH
from storagekit.kinds import takes, text
from storagekit.metrics.course import measured_lanes, of_points
from storagekit.metrics.extent import Extent
from storagekit.metrics.measures import Measure
from storagekit.metrics.provisioning import Roomed, groups, provided, rungs
from storagekit.metrics.standard import beside

# lanes of a piece, or as many as fill the machine that asks: seconds of work, in which a few lanes of padding do not count
LEAST = 512


@dataclass(frozen=True)
class Asked:
    """What is asked of every point: independent runs, how long each is, measures of one's own, and the numbers of slots to
    try, none for those that are tried by default."""

    seeds: tuple[int, ...]
    extent: Extent
    own: tuple[Measure, ...] = ()
    slots: tuple[int, ...] = ()

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The standard ones and those. Raises InputError where they clash."""
        return beside(self.own)


@dataclass(frozen=True)
class Group:
    """Points of a sweep that can share a batch: all of them, or a piece.

    structure: which of the sweep's. members: which points of the sweep. scenarios: theirs, all with as many drives. rungs:
    numbers of slots to try. lanes: how many the structure has in all.
    """

    structure: int
    members: tuple[int, ...]
    scenarios: tuple[Scenario, ...]
    rungs: tuple[int, ...]
    lanes: int


@dataclass(frozen=True)
class Done:
    """What a piece measured: `data` over `point` and the seeds' numbers, by point the slots it was measured with and how many
    arrivals waited outside for one, the warm-up's included, and the seconds that it took."""

    data: xr.Dataset
    slots: np.ndarray
    waited: np.ndarray
    seconds: float = 0.0


def grouped(scenarios: Sequence[Scenario], seeds: int, slots: Sequence[int] = ()) -> list[Group]:
    """A sweep's points by structure. slots: to try, as `Asked` has them."""
    return [
        Group(structure, tuple(members), tuple(alike), rungs(alike, slots), len(members) * seeds)
        for structure, (members, alike) in enumerate(groups(scenarios))
    ]


def pieces(group: Group, wanted: Set[int], seeds: int) -> Iterator[Group]:
    """Those of a group's points that are wanted, in pieces."""
    each = max(1, max(LEAST, width(group.lanes)) // seeds)
    places = [place for place, member in enumerate(group.members) if member in wanted]
    for first in range(0, len(places), each):
        some = places[first : first + each]
        members, scenarios = (tuple(of[place] for place in some) for of in (group.members, group.scenarios))
        yield replace(group, members=members, scenarios=scenarios)


@takes(amount=ENOUGH, title=text, by=text)
def run(
    scenario: Scenario,
    key: np.ndarray,
    amount: float,
    record: Record | None = None,
    title: str = "simulating",
    by: str = "answered",
) -> Outcome:
    """`execute` with a progress bar on whatever takes longer than two seconds."""
    unit = "req" if by == "answered" else "s"
    with tqdm(total=amount, desc=title, unit=unit, delay=2, leave=False) as bar:
        return execute(
            scenario,
            key,
            amount,
            Record() if record is None else record,
            lambda done: bar.update(min(done, amount) - bar.n),
            by,
        )


def finished(piece: Group, asked: Asked, quiet: bool = False) -> Done:
    """A piece's points, run, each with each number of slots in its turn until no arrival waits outside; quiet: without a
    progress bar."""
    began, left, found = time.perf_counter(), np.arange(len(piece.members)), []
    for slots in piece.rungs:
        some = provided([piece.scenarios[place] for place in left], slots)
        data, waited = _batch(some, piece.lanes, asked, quiet)
        over = np.flatnonzero((np.asarray(waited) == 0) | (slots == piece.rungs[-1]))
        found.append((left[over], data.isel(point=over), np.asarray(waited)[over], np.full(over.size, slots)))
        left = np.delete(left, over)
        if not left.size:
            break
    places, parts, waits, held = zip(*found, strict=True)
    order = np.argsort(np.concatenate(places))
    whole = xr.concat(parts, dim="point", data_vars="all") if len(parts) > 1 else parts[0]
    slots, waits = np.concatenate(held)[order], np.concatenate(waits)[order]
    return Done(whole.isel(point=order), slots, waits, time.perf_counter() - began)


def _batch(scenarios: list[Scenario], lanes: int, asked: Asked, quiet: bool) -> Roomed:
    seeds, points = asked.seeds, len(scenarios)
    data, waited = measured_lanes(scenarios, seeds, asked.extent, asked.measures, among=lanes, quiet=quiet)
    folded = data.assign_coords(
        point=("lane", np.repeat(np.arange(points), len(seeds))),
        seed=("lane", np.tile(np.arange(len(seeds)), points)),
    )
    unfolded = folded.set_index(lane=["point", "seed"]).unstack("lane").drop_vars("point")
    # what all seeds of a point have in common
    common = {name: unfolded[name].isel(seed=0, drop=True) for name in unfolded if name in of_points(asked.extent)}
    return Roomed(unfolded.assign(common), waited.reshape(points, -1).sum(axis=1))
