"""Many runs at once: scenarios of one structure, times seeds, become the lanes of one batch."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.typing import ArrayLike

from storagekit.checks import require_takes
from storagekit.engine.record import CORE, Record, Tally
from storagekit.engine.run import SEEDS, Runner, keys, run_key
from storagekit.engine.system import Scenario
from storagekit.errors import InputError, SimulationError
from storagekit.kinds import AMOUNT, COUNT, NUMBER, POSITIVE, a, flag, optional, several, takes
from storagekit.lanes import MOST_WHOLE

# an array of more entries is the same as another only if it is that one, because comparing traces takes too long
LARGE = 2**17
# The most lanes that go through the loop together on a CPU device, and the most slots of all of them. Twice as many lanes
# take 1 to 8% less time each; but many sweeps have fewer, and the rest of their batch is padding, which takes as long.
LANES, TOGETHER = 16, 4096
# chunks of events between two looks at the clock
STRIDE = 8
# as many requests as have numbers
ENOUGH, SOME = POSITIVE.up_to(MOST_WHOLE), AMOUNT.up_to(MOST_WHOLE)
SCENARIO = a(Scenario, "a Scenario(system, arrivals)")


def _called(label: str, value: Any) -> Any:
    """The value. Raises InputError unless it can be called with how much is done."""
    require_takes(label, value, ("done",))
    return value


def _members(label: str, value: Any) -> np.ndarray:
    """Numbers of lanes, in a row. Raises InputError for anything else."""
    given = np.asarray(NUMBER.each(label, value))
    if given.ndim != 1:
        raise InputError(f"{label} of shape {list(given.shape)}: give numbers of lanes, in a row")
    return given.astype(int)


class Outcome(NamedTuple):
    """What a batch did: sums `[chunk, row, lane]` and the log `[event, lane]` (None without one), NumPy arrays."""

    tally: Tally
    log: Any


@takes(scenario=SCENARIO)
def structure(scenario: Scenario) -> tuple:
    """What two scenarios must share to be lanes of one batch: types, shapes, and every field that is not one number."""
    leaves, tree = jax.tree.flatten(scenario)
    return tree, tuple(_identity(leaf) for leaf in leaves)


def signature(scenario: Scenario) -> tuple:
    """What a scenario's compiled program depends on: types and shapes, and no number. Scenarios of one signature share it
    where they run with as many seeds and the same record."""
    leaves, tree = jax.tree.flatten(scenario)
    return tree, tuple((np.shape(leaf), np.asarray(leaf).dtype.str) for leaf in leaves)


@takes(scenarios=several(SCENARIO, 1, "scenarios"), seeds=SEEDS)
def stack(scenarios: Sequence[Scenario], seeds: Sequence[int]) -> tuple[Scenario, np.ndarray]:
    """One scenario whose numbers hold a value for each lane, `[1, lane]`, and the keys of the lanes, `[2, lane]`.

    Lanes run over the scenarios, and within each over the seeds, so that scenarios meet the same requests. Numbers that are
    the same in all lanes are repeated too, so that whatever is varied, the compiled program is the same. Raises InputError
    where the scenarios differ in structure.
    """
    if len({structure(scenario) for scenario in scenarios}) != 1:
        raise InputError("scenarios of different structure cannot share a batch; sweep groups them for you")

    def merge(*leaves: ArrayLike) -> ArrayLike:
        return leaves[0] if np.ndim(leaves[0]) else np.repeat(np.asarray(leaves), len(seeds))[None, :]

    return jax.tree.map(merge, *scenarios), np.tile(keys(seeds), (1, len(scenarios)))


@takes(lanes=COUNT, slots=COUNT)
def width(lanes: int, slots: int = 64) -> int:
    """Lanes of so many slots that go through the loop at once, of which some may be padding.

    Fixed widths, so that sweeps of any size share a compilation, which takes longer than the padding: one, or what fills the
    machine without leaving its caches (16 for each CPU device, or as many as have 4,096 slots together; 4,096 on an
    accelerator).
    """
    if lanes == 1:
        return 1
    each = max(1, min(LANES, TOGETHER // slots))
    return each * len(jax.devices()) if jax.default_backend() == "cpu" else 4096


@takes(scenario=SCENARIO, key=run_key, padded=flag, together=COUNT, among=optional(COUNT))
def batches(
    scenario: Scenario, key: np.ndarray, padded: bool = True, together: int = 1, among: int | None = None
) -> Iterator[tuple[Scenario, np.ndarray, int]]:
    """A stacked scenario in batches of one width, the last filled up by repetition; and how many of its lanes count.

    padded: few lanes too are filled up, to `width`; else only so far that devices have equally many, for long runs, in which
    that costs more than compiling for as many as there are. together: so many lanes, such as the seeds of a point, begin and
    end with a batch, or with several where they are more than one holds. among: lanes of the whole, where these are a part of
    it, so that one that is left goes through the same program as it would have with the others.
    """
    lanes, devices = key.shape[1], len(jax.devices())
    most = width(among or lanes, scenario.system.slots)
    wide = most if padded else min(most, -(-lanes // devices) * devices)
    each = max(1, wide // together) * together
    for start in range(0, lanes, each):
        stop = min(start + each, lanes)
        for first in range(start, stop, wide):
            members = np.minimum(np.arange(first, first + wide), stop - 1)
            yield lanes_of(scenario, members), key[:, members], min(wide, stop - first)


@takes(amount=ENOUGH)
def execute(
    scenario: Scenario,
    key: np.ndarray,
    amount: float,
    record: Record | None = None,
    progress: Callable[[float], object] = lambda done: None,
    by: str = "answered",
) -> Outcome:
    """Run until every lane has so much of the sum `by`: requests answered. key: `[2, lane]`, or `[2]` for a single run.

    progress is called with what the slowest lane has of it so far. Raises SimulationError where
    nothing can happen any more or a sum is not finite.
    """
    runner = Runner(scenario, key, Record() if record is None else record)
    told = list(steps(runner, amount, progress, by=by))
    return Outcome(_join([tally for tally, _ in told]), _flat(_join([kept for _, kept in told])))


@takes(runner=a(Runner), amount=SOME, progress=_called, stride=COUNT)
def steps(
    runner: Runner,
    amount: float,
    progress: Callable[[float], object] = lambda done: None,
    stride: int = STRIDE,
    by: str = "answered",
) -> Iterator[tuple[Tally, Any]]:
    """The same, piece by piece: sums of `stride` chunks `[chunk, row, lane]`, and their log, as soon as they are known."""
    if by not in (known := [one.name for one in runner.record.sums]):
        raise InputError(f"a run until so much of {by!r}: its sums are {', '.join(known)}")
    done: Any = 0
    while np.min(done) < amount:
        tally, kept = runner.advance(stride)
        _check(tally, done < amount)
        done = done + tally[by].sum(axis=0, dtype=np.float64)
        yield tally, kept
        progress(float(np.min(done)))


@takes(scenario=SCENARIO, members=_members)
def lanes_of(scenario: Scenario, members: np.ndarray) -> Scenario:
    """A stacked scenario with only some of its lanes, in the order given."""
    return jax.tree.map(lambda leaf: leaf[:, members] if np.ndim(leaf) == 2 else leaf, scenario)


def _identity(leaf: ArrayLike) -> Any:
    if np.size(leaf) > LARGE:
        return id(leaf)
    array = np.asarray(leaf)
    return array.shape if array.ndim == 0 else (array.shape, array.dtype.str, array.tobytes())


def _check(tally: Tally, unfinished: Any) -> None:
    moved = np.sum([tally[one.name].sum(axis=0) for one in CORE], axis=0)
    stuck = (moved == 0) & unfinished
    if np.any(stuck):
        raise SimulationError(f"{int(np.sum(stuck))} of {moved.size} runs stand still with requests outstanding")
    for name, sums in tally.items():
        if not np.all(np.isfinite(sums)):
            raise SimulationError(f"the sum {name!r} is not finite; check the scenario's numbers")


def _join(parts: list) -> Any:
    return jax.tree.map(lambda *arrays: np.concatenate(arrays), *parts)


def _flat(log: Any) -> Any:
    """The log with chunks laid end to end and the axis of length one gone: `[event, *lanes]`."""
    return jax.tree.map(lambda array: array.reshape(-1, *array.shape[3:]), log)
