"""Run many scenarios simultaneously: scenarios of the same structure, each with all seeds, form one batch."""

from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Any, NamedTuple

import jax
import numpy as np
from jax.typing import ArrayLike

from storagekit.core.batching import MOST_WHOLE
from storagekit.core.errors import InputError, SimulationError
from storagekit.core.validation import (
    AMOUNT,
    BYTES,
    NUMBER,
    POSITIVE,
    Count,
    instance_of,
    require_takes,
    several,
    validate,
)
from storagekit.engine.record import CORE, Record, Tally
from storagekit.engine.run import SEEDS, Runner, keys, run_key, state_bytes
from storagekit.engine.system import Scenario

# larger arrays are equal only if they are the same object, because comparing traces takes too long
LARGE = 2**17
# Number of runs of a batch on each CPU device. An event of 16 runs takes 0.7 to 1.8 of the time of an event of 32 runs,
# because LLVM unrolls loops over 16 runs instead of using vector registers (benchmarks/README.md).
FEW_RUNS = 32
# Number of runs of a wide batch on each CPU device. A run then takes 0.75 to 0.97 of the time (benchmarks/README.md), but a
# second program is compiled. A sweep has wide batches if its runs fill at least `LEAST_FULL` of them.
MANY_RUNS, LEAST_FULL = 64, 16
# Largest number of bytes of the states of a batch on each CPU device. With larger states, a run takes about the same
# time in batches of all widths (benchmarks/README.md), and a narrow batch has less padding.
MOST_BYTES = 2**22
# Bytes of the state of a run for each slot, approximately and without tables.
SLOT_BYTES = 128
# number of chunks of events between two reports of progress
STRIDE = 8
# limits of the number of requests
ENOUGH, SOME = POSITIVE.up_to(MOST_WHOLE), AMOUNT.up_to(MOST_WHOLE)
SCENARIO = instance_of(Scenario, "a Scenario(system, arrivals)")


def _called(label: str, value: Any) -> Any:
    """Return the value. Raise InputError unless the value is a function of one argument, the sum reached so far."""
    require_takes(label, value, ("done",))
    return value


def _members(label: str, value: Any) -> np.ndarray:
    """Return a list of run numbers as an array. Raise InputError for any other value."""
    given = np.asarray(NUMBER.each(label, value))
    if given.ndim != 1:
        raise InputError(f"{label} of shape {list(given.shape)}: give a one-dimensional list of run numbers")
    return given.astype(int)


class Outcome(NamedTuple):
    """Result of a batch, as NumPy arrays.

    Parameters
    ----------
    tally : mapping of str to array, shape `[chunk, row, run]`
        Sums of each chunk of events, by name.
    log : pytree of arrays, shape `[event, run]`, or None
        The log; None if no log is stored.
    """

    tally: Tally
    log: Any


@validate
def structure(scenario: Annotated[Scenario, SCENARIO]) -> tuple:
    """Return the properties that two scenarios must have in common to share a batch.

    Parameters
    ----------
    scenario : Scenario
        The scenario.

    Returns
    -------
    tuple
        Types, shapes, and the values of all fields that are not single numbers.
    """
    leaves, tree = jax.tree.flatten(scenario)
    return tree, tuple(_identity(leaf) for leaf in leaves)


def signature(scenario: Scenario) -> tuple:
    """Return the properties that the compiled program of a scenario depends on: types and shapes, but no values of numbers.

    Scenarios with the same signature share the program if they run with the same number of seeds and the same record.

    Parameters
    ----------
    scenario : Scenario
        The scenario.

    Returns
    -------
    tuple
        The properties.
    """
    leaves, tree = jax.tree.flatten(scenario)
    return tree, tuple((np.shape(leaf), np.asarray(leaf).dtype.str) for leaf in leaves)


@validate
def stack(
    scenarios: Annotated[Sequence[Scenario], several(SCENARIO, 1, "scenarios")], seeds: Annotated[Sequence[int], SEEDS]
) -> tuple[Scenario, np.ndarray]:
    """Combine several scenarios and seeds. Return one stacked scenario, and the keys of its runs.

    In the stacked scenario, every number is an array with one value for each run. The runs are ordered by scenario, and
    within a scenario by seed. All scenarios receive the same requests. Numbers that are equal in all runs are repeated,
    so that the compiled program does not depend on the parameters that vary.

    Parameters
    ----------
    scenarios : sequence of Scenario
        Scenarios of the same structure (`structure`).
    seeds : sequence of int
        The seeds.

    Returns
    -------
    scenario : Scenario
        The stacked scenario, numbers of shape `[1, run]`.
    keys : array of uint32, shape `[2, run]`
        Keys of the runs.

    Raises
    ------
    InputError
        If the scenarios differ in structure.
    """
    if len({structure(scenario) for scenario in scenarios}) != 1:
        raise InputError("scenarios with different structures cannot run in one batch; use sweep, which groups them")

    def merge(*leaves: ArrayLike) -> ArrayLike:
        return leaves[0] if np.ndim(leaves[0]) else np.repeat(np.asarray(leaves), len(seeds))[None, :]

    return jax.tree.map(merge, *scenarios), np.tile(keys(seeds), (1, len(scenarios)))


@validate
def width(runs: Count, *, state_size: Annotated[int, BYTES] = 64 * SLOT_BYTES) -> int:
    """Return the number of runs of a batch, padding included.

    There are only a few widths, so that sweeps of different sizes share a compilation. A compilation takes longer than
    the simulation of the padding.

    Parameters
    ----------
    runs : int
        Number of runs without padding.
    state_size : int
        Size of the state of each run in bytes, at least 1; by default the size with 64 slots.

    Returns
    -------
    int
        The number is 1 for a single run. On a CPU it is 32 for each device, or a smaller power of two if the states of 32
        runs have more than 4 MiB. On an accelerator it is 4,096.
    """
    return 1 if runs == 1 else _width(FEW_RUNS, state_size)


def _width(runs: int, state_size: int) -> int:
    """Return the number of runs of a batch, for a number of runs on each CPU device."""
    if jax.default_backend() != "cpu":
        return 4096
    fitting = 2 ** (max(1, MOST_BYTES // state_size).bit_length() - 1)
    return min(runs, fitting) * len(jax.devices())


@validate
def batches(
    scenario: Annotated[Scenario, SCENARIO],
    key: Annotated[np.ndarray, run_key],
    padded: bool = True,
    together: Count = 1,
    among: Count | None = None,
) -> Iterator[tuple[Scenario, np.ndarray, int]]:
    """Divide a stacked scenario into batches, and yield the batches.

    All batches have the same width. Only if the sweep has enough runs for 16 batches of 64 runs on each CPU device,
    these wider batches come first, as long as they are full. The last batch is padded with copies of its last run.

    Parameters
    ----------
    scenario : Scenario
        The stacked scenario.
    key : array of uint32, shape `[2, run]`
        Keys of the runs.
    padded : bool
        Whether a small batch is padded to `width`, by default True. Otherwise a batch is padded only until all devices
        have the same number of runs. On CPUs this applies only to batches of at most a quarter of `width`, because a
        larger batch takes about as long as a full batch. False is faster for long runs, because simulating the padding
        then takes longer than another compilation.
    together : int
        Number of consecutive runs that stay in one batch, such as the seeds of a point, by default 1. These runs are
        divided among batches only if this number exceeds the width of a batch.
    among : int, optional
        Number of runs of the whole sweep, of which `scenario` may contain only some; by default the number of runs of
        `scenario`. It determines the width of the batches. A single remaining run of a sweep therefore uses the same
        program as the whole sweep.

    Yields
    ------
    scenario : Scenario
        The stacked scenario of the batch.
    key : array of uint32, shape `[2, run]`
        Keys of the runs of the batch.
    used : int
        Number of runs of the batch that are not padding.
    """
    runs, devices = key.shape[1], len(jax.devices())
    on_cpu = jax.default_backend() == "cpu"
    size = state_bytes(select_runs(scenario, np.zeros(1, int)), key[:, :1]) if on_cpu else 1
    most, widest = width(among or runs, state_size=size), _width(MANY_RUNS, size)
    equal = -(-runs // devices) * devices
    usual = most if padded or (on_cpu and runs > most // 4) else min(most, equal)
    large = (among or runs) >= LEAST_FULL * widest
    start = 0
    while start < runs:
        wide = widest if large and runs - start >= widest else usual
        stop = min(start + max(1, wide // together) * together, runs)
        for first in range(start, stop, wide):
            members = np.minimum(np.arange(first, first + wide), stop - 1)
            yield select_runs(scenario, members), key[:, members], min(wide, stop - first)
        start = stop


@validate
def execute(
    scenario: Scenario,
    key: np.ndarray,
    amount: Annotated[float, ENOUGH],
    record: Record | None = None,
    progress: Callable[[float], object] = lambda done: None,
    by: str = "completed",
) -> Outcome:
    """Simulate until the sum `by` has reached `amount` in every run.

    Parameters
    ----------
    scenario : Scenario
        The scenario, or a stacked scenario.
    key : array of uint32, shape `[2, run]`, or `[2]` for a single run
        Keys of the runs.
    amount : float
        Value that the sum must reach in every run, in the unit of the sum.
    record : Record, optional
        Sums and log to store, by default only the sums `CORE`.
    progress : callable
        Function that is called after every few chunks. Its argument is the lowest value that the sum has in any run.
        By default it does nothing.
    by : str
        Name of the sum, by default "completed", the number of completed requests.

    Returns
    -------
    Outcome
        Sums and log.

    Raises
    ------
    SimulationError
        If no event can happen any more, or if a sum is not finite.
    """
    runner = Runner(scenario, key, Record() if record is None else record)
    parts = list(steps(runner, amount, progress, by=by))
    return Outcome(_join([tally for tally, _ in parts]), _flat(_join([kept for _, kept in parts])))


@validate
def steps(
    runner: Runner,
    amount: Annotated[float, SOME],
    progress: Annotated[Callable[[float], object], _called] = lambda done: None,
    stride: Count = STRIDE,
    by: str = "completed",
) -> Iterator[tuple[Tally, Any]]:
    """Simulate as `execute` does, and yield the result in several parts.

    Parameters
    ----------
    runner : Runner
        The simulation.
    amount : float
        Value that the sum `by` must reach in every run, in the unit of the sum.
    progress : callable
        Function that is called after each part. Its argument is the lowest value that the sum has in any run. By
        default it does nothing.
    stride : int
        Number of chunks of events in each part, at least 1; 8 by default.
    by : str
        Name of the sum, by default "completed", the number of completed requests.

    Yields
    ------
    tally : mapping of str to array, shape `[chunk, row, run]`
        Sums of each chunk of events, by name.
    log : pytree of arrays
        Log of these events.

    Raises
    ------
    InputError
        If there is no sum with the name `by`.
    SimulationError
        If no event can happen any more, or if a sum is not finite.
    """
    if by not in (known := [one.name for one in runner.record.sums]):
        raise InputError(f"by={by!r}: no total of this name is recorded; give one of {', '.join(known)}")
    done: Any = 0
    while np.min(done) < amount:
        tally, kept = runner.advance(stride)
        _check(tally, done < amount)
        done = done + tally[by].sum(axis=0, dtype=np.float64)
        yield tally, kept
        progress(float(np.min(done)))


@validate
def select_runs(scenario: Annotated[Scenario, SCENARIO], members: Annotated[np.ndarray, _members]) -> Scenario:
    """Return a stacked scenario that contains only the given runs, in the given order.

    Parameters
    ----------
    scenario : Scenario
        The stacked scenario.
    members : array of int
        Positions of the runs in the stacked scenario, from 0.

    Returns
    -------
    Scenario
        The stacked scenario of these runs.
    """
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
        raise SimulationError(
            f"{int(np.sum(stuck))} of {moved.size} runs have outstanding requests but no further event; check the "
            "components of the system"
        )
    for name, sums in tally.items():
        if not np.all(np.isfinite(sums)):
            raise SimulationError(f"the total {name!r} is not finite; check the numbers of the scenario")


def _join(parts: list) -> Any:
    return jax.tree.map(lambda *arrays: np.concatenate(arrays), *parts)


def _flat(log: Any) -> Any:
    """Return the log with all chunks as one sequence and without the axis of length one: `[event, *batch]`."""
    return jax.tree.map(lambda array: array.reshape(-1, *array.shape[3:]), log)
