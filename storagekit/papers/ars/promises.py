"""Properties of the unit interval (sections 4.1 to 4.3), checked over random histories of performance metrics.

The metrics that a client measures follow random walks. Some nodes have no metric, some have equal metrics, and some
fail for a while.
"""

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from jaxtyping import Float

from storagekit.core.provenance import made_by
from storagekit.dispatch import unit_interval as unit
from storagekit.dispatch.unit_interval import HALF, ONE, UnitInterval
from storagekit.papers.effort import Effort
from storagekit.papers.measurement import Measurement

QUICK = Effort()
NODES = (2, 3, 4, 8, 16)
# Number of independent histories, number of changes of the metrics in each history, and number of keys that are looked
# up before and after a change.
HISTORIES, STEPS, KEYS = 1000, 30, 2**12
# Number of nodes that a request needs.
CHOSEN = 2
# Threshold of a "high probability"; the paper gives no number.
HIGH = 0.95


def histories(effort: Effort = QUICK, *, nodes: Sequence[int] = NODES, count: int = HISTORIES) -> xr.Dataset:
    """Return the number of violations of the unit interval's properties, and the number of hashes needed for a search.

    The performance metrics of the nodes change at random.

    Parameters
    ----------
    effort : Effort
        Only its `first_seed` is used.
    nodes : sequence of int
        Numbers of nodes.
    count : int
        Number of independent histories for each number of nodes, by default 1000.

    Returns
    -------
    Dataset
        Variables over `nodes`. `tunes`: number of tuned intervals. `half`: number of intervals that are not half full.
        `partial`: number of nodes with more than one partly filled subregion, summed over the intervals.
        `distinct`: number of selections that contain the same node twice. `probes`: mean number of hashes needed to
        find one node. `probes_m`: mean number of hashes needed to find two nodes. `half` and `partial` also cover the
        copy of each interval after the first round of a selection.
    """
    began = time.perf_counter()
    rows = [_history(np.random.default_rng([effort.first_seed, number]), number, count) for number in nodes]
    variables = {name: ("nodes", [row[name] for row in rows]) for name in rows[0]}
    data = xr.Dataset(variables, coords={"nodes": list(nodes)})
    made = made_by("analytic", [effort.first_seed], time.perf_counter() - began)
    return data.assign_attrs(made, paper="ars", exhibit="ars.algorithm")


def moves(effort: Effort = QUICK, *, nodes: Sequence[int] = NODES, count: int = 30) -> xr.Dataset:
    """Return the fraction of the keys that move to another node after a change of the metrics.

    Parameters
    ----------
    effort : Effort
        Only its `first_seed` is used.
    nodes : sequence of int
        Numbers of nodes.
    count : int
        Number of changes for each number of nodes, by default 30.

    Returns
    -------
    Dataset
        Fractions of all keys, over `nodes` and `change`. `least`: the smallest fraction that must move to give each
        node its new length. `tuned`: the fraction that moves if the interval is tuned. `afresh`: the fraction that
        moves if the interval is built again from nothing. `covered`: the fraction whose offset still belongs to the
        same node after the change. `strayed`: the fraction that moves although its offset still belongs to the same
        node. A key is hashed repeatedly until its offset belongs to a node. It strays if the offset of an earlier hash,
        which had no node before the change, belongs to another node after the change.
    """
    began = time.perf_counter()
    rows = []
    for number in nodes:
        draw = np.random.default_rng([effort.first_seed, number, 1])
        rows.append([_moved(draw, number) for _ in range(count)])
    names = rows[0][0]
    variables = {name: (("nodes", "change"), [[one[name] for one in row] for row in rows]) for name in names}
    data = xr.Dataset(variables, coords={"nodes": list(nodes)})
    made = made_by("analytic", [effort.first_seed], time.perf_counter() - began)
    return data.assign_attrs(made, paper="ars", exhibit="ars.algorithm")


def _history(draw: np.random.Generator, nodes: int, count: int) -> dict[str, float]:
    weights: Any = draw.lognormal(0, 1, (nodes, count)).astype(np.float32)
    nothing: Any = np.zeros((nodes, count), np.int32)
    interval = unit.empty(nothing)
    found = dict.fromkeys(("tunes", "half", "partial", "distinct"), 0)
    probes, probes_m = [], []
    for _ in range(STEPS):
        weights, seen, usable = _wandered(draw, weights)
        interval = unit.tune(interval, unit.lengths_for(seen, usable))
        key: Any = draw.integers(0, 2**32, (1, count), dtype=np.uint32)
        probes.append(unit.probe(interval, key)[1].mean())
        several: Any = np.minimum(CHOSEN, usable.sum(axis=0, keepdims=True)).astype(np.int32)
        chosen, tried = unit.select(interval, key, several, usable, CHOSEN)
        probes_m.append((tried[several == CHOSEN]).mean())
        rounds = [interval, _without(interval, chosen[:1], usable)]
        found["tunes"] += count
        found["half"] += sum(int(np.sum(one.filled.sum(axis=0) != HALF)) for one in rounds)
        found["partial"] += sum(int(np.sum(_parts(one, nodes) > 1)) for one in rounds)
        found["distinct"] += int(np.sum((chosen[0] == chosen[1]) & (several[0] == CHOSEN)))
    return found | {"probes": float(np.mean(probes)), "probes_m": float(np.mean(probes_m))}


def _wandered(draw: np.random.Generator, weights: Float[np.ndarray, "node history"]) -> tuple[Any, Any, Any]:
    """Return the changed metrics, the metrics that the client measures, and which nodes are usable.

    Some of the measured metrics are 0, and some are equal. At least one node is usable.
    """
    weights = weights * draw.lognormal(0, 0.3, weights.shape).astype(np.float32)
    seen = np.where(draw.random(weights.shape) < 0.1, 0, weights)
    seen = np.where(draw.random((1, weights.shape[1])) < 0.1, np.float32(1), seen)
    usable = draw.random(weights.shape) > 0.1
    usable[draw.integers(len(weights)), ~usable.any(axis=0)] = True
    return weights, seen.astype(np.float32), usable


def _without(interval: UnitInterval, chosen: Any, usable: Any) -> UnitInterval:
    """Return the copy of the interval after the first round of a selection (section 4.2)."""
    node = np.arange(len(usable))[:, None]
    left = usable & (node != chosen)
    kept: Any = np.where(left, unit.lengths(interval, len(usable)), 0)
    return unit.tune(interval, unit.apportioned(kept, left))


def _parts(interval: UnitInterval, nodes: int) -> Any:
    """Return, for each node, the number of subregions that the node fills only in part."""
    whole = ONE // len(interval.owner)
    part = (interval.filled > 0) & (interval.filled < whole)
    return np.stack([(part & (interval.owner == node)).sum(axis=0) for node in range(nodes)])


def _moved(draw: np.random.Generator, nodes: int) -> dict[str, float]:
    """Return the fractions of the keys for one change of the metrics; see `moves`."""
    every: Any = np.ones((nodes, 1), bool)
    weights: Any = draw.lognormal(0, 0.7, (nodes, 1)).astype(np.float32)
    nothing: Any = np.zeros((nodes, 1), np.int32)
    interval = before = unit.tune(unit.empty(nothing), unit.lengths_for(weights, every))
    # Tune the interval repeatedly, so that its subregions are arranged as in use.
    for _ in range(10):
        weights = weights * draw.lognormal(0, 0.3, weights.shape).astype(np.float32)
        before = interval
        interval = unit.tune(interval, unit.lengths_for(weights, every))
    old, new = (unit.lengths(one, nodes) for one in (before, interval))
    fresh = unit.tune(unit.empty(nothing), new)
    key: Any = draw.integers(0, 2**32, (1, KEYS), dtype=np.uint32)
    first, after, other = (UnitInterval(*(_repeated(part) for part in one)) for one in (before, interval, fresh))
    node, tried = unit.probe(first, key)
    then, again = unit.probe(after, key)[0], unit.probe(other, key)[0]
    # Find the present owner of the offset that found the node.
    there, more = unit.probe(after, key, start=tried - 1)
    covered = (there == node) & (more == 1)
    return {
        "least": float(np.abs(new - old).sum() / 2 / HALF),
        "tuned": float(np.mean(then != node)),
        "afresh": float(np.mean(again != node)),
        "covered": float(np.mean(covered)),
        "strayed": float(np.mean(covered & (then != node))),
    }


def _repeated(part: Any) -> Any:
    return np.repeat(part, KEYS, 1)


def algorithm_findings(seen: xr.Dataset, moved: xr.Dataset) -> list[Measurement]:
    """Return the findings on the properties of the unit interval.

    Parameters
    ----------
    seen : Dataset
        Result of `histories`.
    moved : Dataset
        Result of `moves`.

    Returns
    -------
    list of Measurement
        One finding for each claim: `ars.algorithm.half`, `ars.algorithm.probes`, `ars.algorithm.distinct`,
        `ars.algorithm.sticky` and `ars.algorithm.partial`.
    """
    tunes = f"The check covers {int(seen.tunes.sum())} intervals of {', '.join(map(str, seen.nodes.values))} nodes"
    four = seen.sel(nodes=4)
    ratio = float(moved.tuned.sum() / moved.least.sum())
    strayed, covered = float(moved.strayed.mean()), float(moved.covered.mean())
    return [
        Measurement(
            "ars.algorithm.half",
            int(seen.half.sum()) == 0,
            basis="analytic",
            note=f"The claim holds if every interval is exactly half full. {tunes}. For each interval, the check also covers "
            "a copy of the interval after the first round of a selection.",
        ),
        Measurement(
            "ars.algorithm.probes",
            float(four.probes),
            basis="analytic",
            note=(
                "The value is the mean number of hashes needed to find one node in an interval of four nodes. The mean "
                f"number of hashes needed to find two nodes is {float(four.probes_m):.3f}."
            ),
        ),
        Measurement(
            "ars.algorithm.distinct",
            int(seen.distinct.sum()) == 0,
            basis="analytic",
            note=f"The claim holds if no selection contains the same node twice. {tunes}.",
        ),
        Measurement(
            "ars.algorithm.sticky",
            1 - strayed / covered,
            basis="analytic",
            holds=1 - strayed / covered >= HIGH,
            note=(
                f"The claim holds if the value is at least {HIGH:.0%}, which we call a high probability. A key is "
                "hashed repeatedly until its offset belongs to a node. After a change, the node at this offset is "
                f"still the same for {covered:.1%} of all keys. The value is the fraction of these keys that stay "
                "with this node. The other keys move, because the offset of an earlier hash, which had no node before "
                "the change, now belongs to another node. In total, the number of keys that move is "
                f"{ratio:.2f} times the smallest number that must move. If the interval is rebuilt, "
                f"{float(moved.afresh.mean()):.0%} of all keys move."
            ),
        ),
        Measurement(
            "ars.algorithm.partial",
            int(seen.partial.sum()) == 0,
            basis="analytic",
            note=f"The claim holds if every node has at most one partly filled subregion. {tunes}. It also covers "
            "one copy of each interval, taken after the first round of a selection.",
        ),
    ]
