"""Return the results of all points of a sweep, from the store, from this process or from workers."""

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from reprlib import repr as shortened
from typing import Any

from tqdm import tqdm

from storagekit.engine import Scenario
from storagekit.simulation.provenance import provenance
from storagekit.simulation.shards import Done, ShardGroup, SweepSettings, finished, grouped, pieces
from storagekit.simulation.store import NoStore, Store
from storagekit.simulation.workers import spread


def simulated(
    scenarios: Sequence[Scenario],
    points: Sequence[Mapping[str, Any]],
    settings: SweepSettings,
    store: Store | NoStore,
    client: Any = None,
) -> Iterator[tuple[Sequence[int], Done]]:
    """Yield the results of all points, each point once and in any order.

    A shard that was run is stored before its result is yielded.

    Parameters
    ----------
    scenarios : sequence of Scenario
        The scenarios of the points.
    points : sequence of mapping
        The parameters of each point, keyed by name. The label of the point in the store is made from its parameters.
    settings : SweepSettings
        The settings of the sweep.
    store : Store or NoStore
        The store.
    client : distributed.Client, optional
        A client of a Dask cluster, whose workers run the shards. By default this process runs the shards.

    Yields
    ------
    members : sequence of int
        Numbers of the points.
    done : Done
        The result of these points.

    Raises
    ------
    InputError
        If the store or the client cannot be used.
    SimulationError
        If the cluster is lost.
    """
    groups = grouped(scenarios, len(settings.seeds), settings.slots)
    keys = {member: key for group in groups for member, key in store.keys(group, scenarios, settings).items()}
    most = {member: group.slot_steps[-1] for group in groups for member in group.members}
    missing = set(range(len(scenarios)))
    for members, done in store.find(keys, most):
        missing.difference_update(members)
        yield members, done
    store.notify(len(scenarios) - len(missing), len(scenarios))
    todo = [piece for group in groups for piece in pieces(group, missing, len(settings.seeds))]
    through = _here if client is None else partial(spread, client)
    with tqdm(total=len(missing), desc="sweeping", unit="point", delay=2, leave=False, disable=len(todo) < 2) as bar:
        for piece, done in through(todo, settings):
            facts = provenance(piece.scenarios, points[0], settings.seeds, settings.run_length.facts, done.seconds)
            names = [_name(points[member]) for member in piece.members]
            store.keep(done, [keys.get(member, "") for member in piece.members], names, facts)
            bar.update(len(piece.members))
            yield piece.members, done


def _here(todo: Sequence[ShardGroup], settings: SweepSettings) -> Iterator[tuple[ShardGroup, Done]]:
    return ((piece, finished(piece, settings)) for piece in todo)


def _name(point: Mapping[str, Any]) -> str:
    """Return the label of a point in a file of the store, as JSON."""
    plain = {name: one if isinstance(one, str | bool | int | float) else shortened(one) for name, one in point.items()}
    return json.dumps(plain)
