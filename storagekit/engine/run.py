"""The loop over chunks of events, for a batch of runs, on all devices.

The requests of a chunk are generated before the chunk, and its sums are stored after the chunk. The body of the loop is
therefore a single event, and each float32 sum has only the terms of one chunk.
"""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Annotated, Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec
from jax.typing import ArrayLike
from jaxtyping import Array, Float, Int, PyTree, Shaped, UInt32

from storagekit.core.arrays import AnyArray
from storagekit.core.batching import MOST_WHOLE, addresses
from storagekit.core.compilation import announce_compilations
from storagekit.core.devices import compiler_options, memory, say_if_late
from storagekit.core.errors import InputError
from storagekit.core.garbage import uncollected
from storagekit.core.packed import packed
from storagekit.core.validation import Validator, instance_of, several, shown, traced, validate
from storagekit.engine.arrival import Incoming
from storagekit.engine.event import event
from storagekit.engine.record import NoLog, Record, Tally
from storagekit.engine.state import State, phases, random_phases, start
from storagekit.engine.system import AUTO, Scenario, System
from storagekit.workload import AbstractArrivals, words

CHUNK = 128
# number of the block of random bits for dispatchers; workloads use the first blocks, three for each thread
OF_DISPATCH = 2**31 - 1
# range of a seed of JAX's generator
SEEDS = several(Validator(least=0, most=2**32 - 1, whole=True), 1, "seeds")
# number of states in memory while a chunk is computed: the state before the chunk, the state after the chunk, and an
# intermediate state
COPIES = 3
BY_RUN = PartitionSpec(None, "run")


class Run(NamedTuple):
    """State of a run, or of every run of a batch.

    Parameters
    ----------
    state : State
        The state.
    first : array of int32, shape `[1, *batch]`
        Number of the next request.
    key : array of uint32, shape `[2, *batch]`
        Key of the random numbers.
    counted : array of int32, shape `[2, *batch]`, optional
        Two numbers of admitted requests: the sums count an event if the number of requests admitted so far, including
        this event, is above the first number and not above the second. By default the sums count all events.
    """

    state: State
    first: Int[Array, "1 *batch"]
    key: UInt32[Array, "2 *batch"]
    counted: Int[Array, "2 *batch"] | None = None


def begin(
    scenario: Scenario, key: UInt32[AnyArray, "2 *batch"], drawn: Float[AnyArray, "drive *batch"] | None = None
) -> Run:
    """Return the state of a run before its first event.

    Parameters
    ----------
    scenario : Scenario
        The scenario.
    key : array of uint32, shape `[2, *batch]`
        Keys of the runs, see `keys`.
    drawn : array of float32, shape `[drive, *batch]`, optional
        Angles of the platters at the start, revolutions; by default random.

    Returns
    -------
    Run
        The run.
    """
    drawn = random_phases(key, scenario.system.drives) if drawn is None else drawn
    state = start(scenario, phases(drawn, scenario.system), jnp.asarray(key))
    return Run(state, jnp.zeros((1, *key.shape[1:]), jnp.int32), key)


def incoming(scenario: Scenario, run: Run) -> Incoming:
    """Return the requests that a chunk may admit, their locations, and 32 random bits for each request.

    If the dispatcher does not use the random bits, XLA removes the code that generates them.

    Parameters
    ----------
    scenario : Scenario
        The scenario.
    run : Run
        The run before the chunk.

    Returns
    -------
    Incoming
        The requests, arrays of shape `[CHUNK, *batch]`.
    """
    system = scenario.system
    window = scenario.arrivals.window(system.placement.capacity(system.drive), run.key, run.first, CHUNK)
    location = system.placement.locate(system.drive, window.requests)
    word, _ = words(run.key, run.first, CHUNK, OF_DISPATCH)
    return Incoming(window.requests, location, window.gap, word)


def chunk(scenario: Scenario, run: Run, record: Record) -> tuple[Run, tuple[Tally, Any]]:
    """Simulate `CHUNK` events in every run.

    Parameters
    ----------
    scenario : Scenario
        The scenario.
    run : Run
        The run before the chunk.
    record : Record
        Sums and log to store.

    Returns
    -------
    run : Run
        The run after the chunk.
    results : tuple
        The sums, and the log.
    """
    coming = incoming(scenario, run)

    def body(carry: tuple[State, Tally], _: None) -> tuple[tuple[State, Tally], Any]:
        state, tally = carry
        state, report = event(scenario, coming, state)
        added = record.add(tally, report)
        if run.counted is not None:
            admitted = run.first + state.taken
            within = (admitted > run.counted[:1]) & (admitted <= run.counted[1:])
            added = jax.tree.map(partial(jnp.where, within), added, tally)
        return (state, added), packed(_checked(record.log.keep(scenario, state, report), record, batch))

    batch = run.key.shape[1:]
    fresh = run.state._replace(taken=jnp.zeros_like(run.first))
    nothing = record.init(scenario.system.drives, batch)
    (state, tally), kept = jax.lax.scan(body, (fresh, nothing), None, length=CHUNK)
    return run._replace(state=state, first=run.first + state.taken), (tally, kept.tree(axis=1))


def _checked(kept: Any, record: Record, batch: tuple[int, ...]) -> Any:
    """Return the arrays that a log stores for an event. Raise InputError if a shape is not `[row, *batch]`."""
    for leaf in jax.tree.leaves(kept):
        given = np.asarray(leaf) if np.isscalar(leaf) else leaf
        if given.ndim != 1 + len(batch) or given.shape[1:] != batch or given.dtype.kind == "c":
            raise InputError(
                f"{type(record.log).__name__}.keep returned an array of {given.dtype} of shape {list(given.shape)}: "
                "return real numbers or bool in the shape [row, *batch], for example [1, *batch] as report.elapsed"
            )
    return kept


def chunks(scenario: Scenario, run: Run, record: Record, count: int) -> tuple[Run, tuple[Tally, Any]]:
    """Simulate several chunks of events in every run.

    Parameters
    ----------
    scenario : Scenario
        The scenario.
    run : Run
        The run before the chunks.
    record : Record
        Sums and log to store.
    count : int
        Number of chunks.

    Returns
    -------
    run : Run
        The run after the chunks.
    results : tuple
        The sums and the log. In both, the first axis is the chunk.
    """
    return jax.lax.scan(lambda run, _: chunk(scenario, run, record), run, None, length=count)


@partial(jax.jit, static_argnums=(1,))
def _begin(
    arrays: PyTree, static: "Static", key: UInt32[Array, "2 *batch"], drawn: Float[Array, "drive *batch"]
) -> Run:
    return begin(eqx.combine(arrays, static.value), key, drawn)


# decorator of the event loop: all arguments are static except the numbers of the scenario and the state of the run
compiled = partial(jax.jit, static_argnums=(1, 2, 3, 4), donate_argnums=(5,))


@partial(compiled, compiler_options=compiler_options())
def _advance(
    arrays: PyTree, static: "Static", record: Record, count: int, devices: int, run: Run
) -> tuple[Run, tuple[Tally, Any]]:
    def one_device(arrays: PyTree, run: Run) -> tuple[Run, tuple[Tally, Any]]:
        return chunks(eqx.combine(arrays, static.value), run, record, count)

    if devices == 1:
        return one_device(arrays, run)
    by_chunk = PartitionSpec(None, None, "run")
    kept = None if isinstance(record.log, NoLog) else PartitionSpec(None, None, None, "run")
    by_run = jax.tree.map(last_spec, run)
    return jax.shard_map(
        one_device,
        mesh=run_mesh(devices),
        in_specs=(jax.tree.map(run_spec, arrays), by_run),
        out_specs=(by_run, (by_chunk, kept)),
        check_vma=False,
    )(arrays, run)


def run_spec(leaf: ArrayLike) -> PartitionSpec:
    """Return the division of a leaf of a batched scenario among devices.

    The runs of an array `[1, run]` are divided among the devices. Every other leaf is copied to all devices.
    """
    return BY_RUN if np.ndim(leaf) == 2 else PartitionSpec()


def last_spec(leaf: ArrayLike) -> PartitionSpec:
    """Return the division among devices of an array whose last axis is the batch."""
    return PartitionSpec(*(None,) * (np.ndim(leaf) - 1), "run")


def run_mesh(devices: int) -> Mesh:
    """Return a mesh of the first `devices` devices."""
    return jax.make_mesh((devices,), ("run",), axis_types=(AxisType.Auto,), devices=jax.devices()[:devices])


class Static:
    """The static part of a scenario: everything except its numbers. Static parts are compared by value.

    A program is compiled for each static part.

    Parameters
    ----------
    value : Scenario
        The scenario without its numbers.
    """

    def __init__(self, value: Scenario):
        self.value = value
        self._key = jax.tree.structure(value)

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Static) and self._key == other._key


def run_key(label: str, value: Any) -> Any:
    """Return the value. Raise InputError unless it is the key of one run, or the keys of several runs."""
    if traced(value):
        return value
    is_key = isinstance(value, np.ndarray | jax.Array) and value.dtype == np.uint32
    if not is_key or value.ndim not in (1, 2) or value.shape[0] != 2:
        raise InputError(
            f"{label} {shown(value)}: give the result of sk.engine.keys(seeds), or one column of this array"
        )
    return value


def require_room(state: PyTree, system: System, runs: int) -> None:
    """Raise InputError if a state does not fit into memory.

    Parameters
    ----------
    state : pytree
        The state, or its shapes and types.
    system : System
        The system, for the message.
    runs : int
        Number of runs, for the message.

    Raises
    ------
    InputError
        If three copies of the state exceed the memory.
    """
    size = _bytes(state)
    if COPIES * size > (most := memory()):
        raise InputError(
            f"a batch of {runs} runs with {system.slots} slots and {system.drives} drives needs {COPIES * size} "
            f"bytes, {COPIES} times its state, but {most:.0f} bytes are available: lower System.slots, the "
            "outstanding requests, the cache size, or the number of seeds"
        )


def state_bytes(scenario: Scenario, key: UInt32[np.ndarray, "2 1"]) -> int:
    """Return the size of the state of a run in a batch, in bytes.

    Parameters
    ----------
    scenario : Scenario
        The stacked scenario of one run.
    key : array of uint32, shape `[2, 1]`
        Key of the run.

    Returns
    -------
    int
        The size.

    Raises
    ------
    InputError
        If System.slots is not given.
    """
    arrays, static = _numbers_and_static(scenario)
    drawn = np.zeros((scenario.system.drives, 1), np.float32)
    with int64_enabled(scenario.system.long_addresses), uncollected():
        return _bytes(_begin.eval_shape(arrays, static, key, drawn))


def _numbers_and_static(scenario: Scenario) -> tuple[PyTree, Static]:
    """Return the numbers of a scenario, as NumPy arrays of the types that the engine uses, and the static part."""
    system = scenario.system
    if system.slots == AUTO:
        raise InputError(
            "System.slots is not given: give a number of slots, or call `simulate`, `sweep` or `replay`, which "
            "determine this number"
        )
    placement = system.placement.tabulated(system.drive)
    scenario = eqx.tree_at(lambda one: one.system.placement, scenario, placement)
    arrays, static = eqx.partition(scenario, eqx.is_array_like)
    return jax.tree.map(_narrow, arrays), Static(static)


def _bytes(state: PyTree) -> int:
    return sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(state))


class Runner:
    """Simulation of a scenario or of a batch of scenarios, in steps of several chunks of events.

    Parameters
    ----------
    scenario : Scenario
        The scenario, or a stacked scenario.
    key : array of uint32, shape `[2, run]`, or `[2]` for a single run
        Keys of the runs.
    record : Record
        Sums and log to store.

    Raises
    ------
    InputError
        If System.slots is not given, or if the state does not fit into memory.
    """

    def __init__(self, scenario: Scenario, key: np.ndarray, record: Record):
        instance_of(Scenario, "a Scenario(system, arrivals)")("scenario of a run", scenario)
        instance_of(Record, "a record, such as sk.engine.Record()")("record of a run", record)
        run_key("key", key)
        arrays, self.static = _numbers_and_static(scenario)
        say_if_late()
        announce_compilations()
        self.long_addresses = scenario.system.long_addresses
        self.record = record
        self.devices = _divisor(key.shape[1], len(jax.devices())) if key.ndim > 1 else 1
        # the numbers are copied to the devices once, because a trace is large
        mesh = run_mesh(self.devices)
        drawn = random_phases(key, scenario.system.drives)
        with int64_enabled(self.long_addresses), uncollected():
            self.arrays = jax.tree.map(lambda leaf: jax.device_put(leaf, NamedSharding(mesh, run_spec(leaf))), arrays)
            state = _begin.eval_shape(self.arrays, self.static, key, drawn)
            require_room(state, scenario.system, math.prod(key.shape[1:]))
        self._key = key
        self.run = self._begun(drawn)

    def _begun(self, drawn: np.ndarray, **more: np.ndarray) -> Run:
        """Return the runs before their first event. `more`: fields of `Run` that differ from the result of `begin`."""
        with int64_enabled(self.long_addresses), uncollected():
            run = _begin(self.arrays, self.static, self._key, drawn)
            run = run._replace(**{name: jnp.asarray(column) for name, column in more.items()})
            return jax.tree.map(partial(_spread, run_mesh(self.devices)), run) if self.devices > 1 else run

    def begin_at(self, first: np.ndarray, counted: np.ndarray, phase: np.ndarray) -> None:
        """Begin the runs of a batch again with empty systems, each at another request of a trace.

        Parameters
        ----------
        first : array of int, shape `[run]`
            Number of the first request of each run.
        counted : array of int, shape `[2, run]`
            Numbers of the requests with which the counting of events begins and ends, see `Run`.
        phase : array of float, shape `[drive, run]`
            Angles of the platters at the arrival of the first request, revolutions.
        """
        self.run = self._begun(
            np.asarray(phase, np.float32),
            first=np.asarray(first, np.int32)[None],
            counted=np.asarray(counted, np.int32),
        )

    def compile(self, count: int) -> None:
        """Compile `advance(count)` without running it. If several threads call this method, XLA compiles in parallel.

        Parameters
        ----------
        count : int
            Number of chunks of events.
        """
        with int64_enabled(self.long_addresses), uncollected():
            _advance.lower(self.arrays, self.static, self.record, count, self.devices, self.run).compile()

    @property
    def admitted(self) -> int:
        """Return the largest number of requests that have entered the system in any run."""
        return int(np.max(np.asarray(self.run.first)))

    def feed(self, arrivals: AbstractArrivals) -> None:
        """Continue with other arrivals of the same structure, such as the next block of a long trace.

        Parameters
        ----------
        arrivals : AbstractArrivals
            The arrivals. They must contain the requests that the next chunks of events admit.

        Raises
        ------
        InputError
            If the arrivals differ in more than their numbers, so that the program would have to be compiled again.
        """
        instance_of(AbstractArrivals, "arrivals of the same kind")("arrivals", arrivals)
        numbers, static = eqx.partition(arrivals, eqx.is_array_like)
        before = self.arrays.arrivals
        if jax.tree.structure(static) != jax.tree.structure(self.static.value.arrivals) or [
            np.shape(leaf) for leaf in jax.tree.leaves(numbers)
        ] != [np.shape(leaf) for leaf in jax.tree.leaves(before)]:
            raise InputError("arrivals of another structure: give the same kind, with arrays of the same lengths")
        with int64_enabled(self.long_addresses):
            on_devices = jax.tree.map(_like, numbers, before)
            self.arrays = eqx.tree_at(lambda one: one.arrivals, self.arrays, on_devices)

    def state(self) -> list[np.ndarray]:
        """Return the state of the runs as arrays, from which `resume` continues."""
        return [np.asarray(leaf) for leaf in jax.tree.leaves(self.run)]

    def resume(self, state: Sequence[np.ndarray]) -> None:
        """Continue from a state.

        Parameters
        ----------
        state : sequence of array
            The result of `state` of the same simulation.

        Raises
        ------
        InputError
            If the state belongs to another simulation.
        """
        now, structure = jax.tree.flatten(self.run)
        alike = len(now) == len(state) and all(
            leaf.shape == given.shape and leaf.dtype == given.dtype for leaf, given in zip(now, state, strict=True)
        )
        if not alike:
            raise InputError("the state belongs to another simulation: its arrays have other shapes")
        with int64_enabled(self.long_addresses):
            on_devices = [jax.device_put(given, leaf.sharding) for leaf, given in zip(now, state, strict=True)]
        self.run = jax.tree.unflatten(structure, on_devices)

    def advance(self, count: int) -> tuple[Tally, Any]:
        """Simulate more chunks of events in every run.

        Parameters
        ----------
        count : int
            Number of chunks.

        Returns
        -------
        tally : mapping of str to array, shape `[chunk, row, *batch]`
            Sums of each chunk by name, as NumPy arrays.
        log : pytree of arrays
            The log, as NumPy arrays.

        Raises
        ------
        InputError
            If the number of a request could exceed 32 bits.
        """
        so_far = self.admitted
        if so_far > MOST_WHOLE - count * CHUNK:
            raise InputError(f"{so_far} requests in one run: at most {MOST_WHOLE} are possible; use several seeds")
        with int64_enabled(self.long_addresses), uncollected():
            self.run, sums = _advance(self.arrays, self.static, self.record, count, self.devices, self.run)
        return jax.tree.map(np.asarray, sums)


@contextmanager
def int64_enabled(long_addresses: bool) -> Iterator[None]:
    """If `long_addresses` is true, enable numbers of 64 bits during the simulation of a system.

    Only values that are computed with `.astype(int)` then have 64 bits. All other code specifies the types of its
    values.
    """
    if not long_addresses:
        yield
        return
    with jax.enable_x64(True), jax.numpy_dtype_promotion("standard"):
        yield


def _spread(mesh: Mesh, leaf: Shaped[Array, "..."]) -> Shaped[Array, "..."]:
    """Return an array of a run, divided among the devices.

    The array is copied through the host. Otherwise JAX would compile programs that slice it.
    """
    return jax.device_put(np.asarray(leaf), NamedSharding(mesh, last_spec(leaf)))


def _narrow(leaf: ArrayLike) -> np.ndarray:
    """Return a leaf in the type that the engine uses: float32, or int32 unless it contains addresses that need more bits."""
    array = np.asarray(leaf)
    if array.dtype.kind == "f":
        return array.astype(np.float32, copy=False)
    if array.dtype.kind not in "iu" or array.dtype == np.uint32:
        return array
    return np.asarray(addresses(array))


def _like(leaf: ArrayLike, before: Shaped[Array, "..."]) -> Shaped[Array, "..."]:
    """Return a leaf that replaces another one. It has the same type, or 64 bits if its addresses need them."""
    narrow = _narrow(leaf)
    return jax.device_put(narrow.astype(np.result_type(narrow, before.dtype), copy=False), before.sharding)


def _divisor(runs: int, devices: int) -> int:
    """Return the largest number of devices among which the runs can be divided equally."""
    return max(count for count in range(1, devices + 1) if runs % count == 0)


@validate
def keys(seeds: Annotated[Sequence[int], SEEDS]) -> np.ndarray:
    """Return the keys of the random numbers of independent runs.

    Parameters
    ----------
    seeds : sequence of int
        A seed for each run, from 0 to 2**32 - 1.

    Returns
    -------
    array of uint32, shape `[2, seed]`
        The keys.
    """
    # the same data as in `jax.random.key` for a seed of 32 bits
    return np.stack([np.zeros(len(seeds), np.uint32), np.asarray(seeds, np.uint32)])
