"""Run the shards of a sweep on the workers of a Dask cluster (extra `distributed`)."""

import logging
import pickle
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from storagekit.core.devices import cores
from storagekit.core.errors import InputError, SimulationError
from storagekit.core.validation import COUNT, MOST_COUNTED, validate
from storagekit.engine import Record
from storagekit.simulation.content_hash import ContentHash, made_with
from storagekit.simulation.measures import Measure, sums_of
from storagekit.simulation.shards import Done, ShardGroup, SweepSettings, finished
from storagekit.simulation.standard_measures import beside
from storagekit.simulation.store import say

if TYPE_CHECKING:
    from distributed import Client

# Number of shards for each thread of a worker: one that runs and one that waits. With more shards, scenarios with large
# traces would accumulate at the scheduler.
AHEAD = 2
LOST = "the cluster was closed, or its scheduler is lost; a store keeps the completed points"
# on a worker: the settings of sweeps by their digest, so that a user's measure is compiled once
_settings_of: dict[str, SweepSettings] = {}


def spread(client: Any, todo: Sequence[ShardGroup], settings: SweepSettings) -> Iterator[tuple[ShardGroup, Done]]:
    """Run shards on the workers of a client, and yield the results in the order in which shards end.

    The first shard of a structure ends before the other shards of the structure begin, so that workers on the same
    machine find the compiled program. The shards of a lost worker run again on another worker.

    Parameters
    ----------
    client : distributed.Client
        The client.
    todo : sequence of ShardGroup
        The shards.
    settings : SweepSettings
        The settings of the sweep.

    Yields
    ------
    piece : ShardGroup
        The shard.
    done : Done
        The result of the shard.

    Raises
    ------
    InputError
        If `client` is not a synchronous client, or if workers have other versions.
    SimulationError
        If the cluster is lost.
    """
    completed = _completed(client)
    Record(sums_of(settings.measures))  # raises here if two sums share a name, because workers identify sums by name
    called, made = ContentHash().of(settings), made_with()
    behind: dict[int, deque[ShardGroup]] = {}
    for piece in todo:
        behind.setdefault(piece.structure, deque()).append(piece)
    ready = deque(others.popleft() for others in behind.values())
    running: dict[Any, ShardGroup] = {}
    try:
        while ready or running:
            while ready and len(running) < _room(client):
                piece = ready.popleft()
                future = client.submit(_on_a_worker, _packed((piece, settings, called)), made, pure=False)
                running[future] = piece
                completed.add(future)
            future = next(completed)
            piece = running.pop(future)
            done = _result(future)
            ready.extend(behind.pop(piece.structure, ()))
            yield piece, done
    finally:
        with suppress(OSError):
            client.cancel(list(running))


def _packed(work: tuple[ShardGroup, SweepSettings, str]) -> bytes:
    """Return the pickled form in which work is sent to a worker.

    Dask would send only the names of a user's classes, and a worker that cannot import a name would wait forever.
    Therefore classes that are defined in `__main__`, or in a file that the command line names, are pickled by value
    here.
    """
    import cloudpickle

    return cloudpickle.dumps(work)


def _on_a_worker(packed: bytes, made: dict[str, str]) -> Done:
    """Run a shard on a worker. made: the versions and settings of the process that started the sweep."""
    differs = [
        (f"{name} {own} instead of {made.get(name)}") for name, own in made_with().items() if own != made.get(name)
    ]
    if differs:
        raise InputError(f"a worker has {', '.join(differs)}: start the workers in the same environment as the sweep")
    piece, settings, called = pickle.loads(packed)
    if called not in _settings_of:
        _settings_of[called] = replace(settings, own=_linked(settings.own))
    return finished(piece, _settings_of[called], quiet=True)


def _linked(own: Sequence[Measure]) -> tuple[Measure, ...]:
    """Return measures from another process, in which copies of sums are replaced by the sums of this process.

    The replacement is needed because sums are compared by identity.
    """
    ours = {one.name: one for one in Record(sums_of(beside(()))).sums}
    return tuple(replace(one, needs=tuple(ours.get(need.name, need) for need in one.needs)) for one in own)


def _completed(client: Any) -> Any:
    """Return an iterator over the futures of the client as they complete."""
    distributed = _distributed()
    if not isinstance(client, distributed.Client) or client.asynchronous:
        raise InputError(f"client {client!r}: give a synchronous distributed.Client")
    if not client.nthreads():
        say(f"{client.scheduler.address} has no workers yet; waiting for the first worker")
    return distributed.as_completed(loop=client.loop)


def _room(client: Any) -> int:
    """Return the number of shards that the workers can have at present. Workers may join and leave during a sweep."""
    try:
        return AHEAD * max(1, sum(client.nthreads().values()))
    except OSError as fault:
        raise SimulationError(LOST) from fault


def _result(future: Any) -> Done:
    """Return the result of a future, or raise an error that states in one line why there is no result."""
    distributed = _distributed()
    try:
        return future.result()
    except distributed.KilledWorker as fault:
        raise SimulationError(
            "several workers were lost with the same points; check the memory of the workers; a store keeps the "
            "completed points"
        ) from fault
    except (distributed.CancelledError, distributed.comm.CommClosedError) as fault:
        raise SimulationError(LOST) from fault
    except ModuleNotFoundError as fault:
        raise InputError(
            f"the workers have no module {fault.name}: install it there, or add its folder to their path"
        ) from fault
    finally:
        future.release()


@validate
@contextmanager
def local_workers(count: Annotated[int, COUNT.up_to(MOST_COUNTED, " workers")]) -> Iterator["Client"]:
    """Start worker processes that share the cores of this machine, and end them at the end of the block.

    In a script the call must be below `if __name__ == "__main__":`, because each process imports the script.

    Parameters
    ----------
    count : int
        Number of workers.

    Yields
    ------
    distributed.Client
        A client with these workers.

    Raises
    ------
    InputError
        If Dask is not installed.
    """
    distributed = _distributed()
    shared = {"JAX_NUM_CPU_DEVICES": str(max(1, cores() // count)), "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
    cluster = distributed.LocalCluster(
        n_workers=count,
        threads_per_worker=1,
        processes=True,
        host="127.0.0.1",
        dashboard_address=None,
        silence_logs=logging.CRITICAL,
        env=shared,
    )
    with cluster, distributed.Client(cluster) as client:
        yield client


@contextmanager
def client_of(scheduler_file: Path) -> Iterator["Client"]:
    """Connect to the cluster whose scheduler wrote `scheduler_file`. The connection ends at the end of the block.

    Parameters
    ----------
    scheduler_file : Path
        The file in which the scheduler of a Dask cluster wrote its address.

    Yields
    ------
    distributed.Client
        A client of the cluster.

    Raises
    ------
    InputError
        If the file does not exist, if no scheduler is found, or if Dask is not installed.
    """
    distributed = _distributed()
    if not scheduler_file.is_file():
        raise InputError(f"{scheduler_file}: no such file; give the file that `dask scheduler --scheduler-file` writes")
    try:
        client = distributed.Client(scheduler_file=str(scheduler_file))
    except (OSError, ValueError, KeyError) as fault:
        raise InputError(
            f"{scheduler_file}: the scheduler of this file was not found ({fault}); check that it is running"
        ) from fault
    with client:
        yield client


@contextmanager
def sent_whole(module: str) -> Iterator[None]:
    """Pickle the functions and classes of a module by value within the block, because workers cannot import it.

    Parameters
    ----------
    module : str
        Name of the module.

    Raises
    ------
    InputError
        If Dask is not installed.
    """
    _distributed()
    import cloudpickle

    cloudpickle.register_pickle_by_value(sys.modules[module])
    try:
        yield
    finally:
        cloudpickle.unregister_pickle_by_value(sys.modules[module])


def _distributed() -> Any:
    try:
        import distributed
    except ImportError as fault:
        raise InputError("Dask is not installed; run pip install 'storagekit[distributed]'") from fault
    return distributed
