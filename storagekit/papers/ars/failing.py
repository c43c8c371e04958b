"""Number of nodes that have a write on disk, and nodes that a read is sent to in an outage (sections 4.3 to 4.5).

Times are in seconds.
"""

import itertools
import math
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jaxtyping import Float, Int

from storagekit.core.provenance import made_by
from storagekit.dispatch import ARS
from storagekit.engine import NO_REQUEST, AbstractLog, Record, Report, Runner, Scenario, State, stack
from storagekit.engine.run import CHUNK
from storagekit.faults import FaultSchedule, outage
from storagekit.papers.ars.cluster import CLIENTS, NODES, RATE, cluster, effort, synthetic
from storagekit.papers.ars.watching import Answers, WatchedAccesses, watched
from storagekit.papers.effort import Effort
from storagekit.papers.measurement import Measurement
from storagekit.simulation import by_event, described, interval
from storagekit.write import AllCopies

QUICK = effort("quick")
# Multiple of the published load. It is above 1 so that requests arrive while a node is down. 35 requests arrive a
# second, and each request is for two nodes. Two nodes can serve about 90 requests a second. With writes only, the RAID
# 5 is busy 70% of the time.
LOAD = 4.0
TIMEOUT = 1.0
# The node that fails, and the numbers of the first and of the last request of its outage.
LARGEST, AWAY = len(NODES) - 1, (1000, 2500)
# The largest number of additional nodes that a read is sent to.
EXTRA = 2
# BATCH: number of consecutive requests in one mean. SETTLES: number of requests that are not counted after a node
# stops or returns. These are the requests of a client's patience (until the client detects the change), of a time-out
# (until interrupted requests are sent again), and of one mean.
BATCH = 50
SETTLES = int(2 * TIMEOUT * LOAD * RATE) + BATCH
# A patience in seconds that is longer than any run. It is the longest patience that a dispatcher accepts.
ENDLESS = 600.0


def reads(effort: Effort = QUICK, *, chunks: int = 40) -> xr.Dataset:
    """Count the reads of erasure-coded data by the number of nodes that served them, while two of four nodes are down.

    Parameters
    ----------
    effort : Effort
        Only its `first_seed` is used.
    chunks : int
        Number of chunks of events in each run, by default 40.

    Returns
    -------
    Dataset
        `reads`, over `stopped` (the two nodes that were down) and `nodes`: number of reads that `nodes` nodes served.
        `dead`, over `stopped`: whether a node that was down served a read.
    """
    began = time.perf_counter()
    pairs = list(itertools.combinations(range(len(NODES)), 2))
    counts, where, ran = [], [], []
    for pair in pairs:
        faults = FaultSchedule(*(outage(node) for node in pair), timeout=TIMEOUT, detection=math.inf)
        scenario = cluster(
            ARS(clients=CLIENTS),
            synthetic("erasure-coded", load=LOAD),
            faults=faults,
            write=AllCopies(),
        )
        ran.append(scenario)
        [(accesses, answers)] = watched([scenario], [effort.first_seed], chunks)
        # The last completions are left out, because they may precede the recorded end of their access.
        counts.append(np.bincount(_nodes(accesses, _early(answers)), minlength=len(NODES) + 1))
        where.append(bool(np.isin(accesses.node, pair).any()))
    data = xr.Dataset(
        {"reads": (("stopped", "nodes"), np.array(counts)), "dead": ("stopped", where)},
        coords={"stopped": [f"{a}, {b}" for a, b in pairs], "nodes": np.arange(len(NODES) + 1)},
    )
    made = made_by("simulated", [effort.first_seed], time.perf_counter() - began) | _facts(ran, chunks)
    return data.assign_attrs(made, paper="ars", exhibit="ars.algorithm")


def writes(effort: Effort = QUICK, *, chunks: int = 80, load: float = LOAD) -> xr.Dataset:
    """Count the writes by the number of nodes that have the write on disk.

    The count is made at the completion of each write and at the end of the run.

    Parameters
    ----------
    effort : Effort
        Only its `first_seed` is used.
    chunks : int
        Number of chunks of events in each run, by default 80.
    load : float
        Multiple of the published load, by default 4.

    Returns
    -------
    Dataset
        Numbers of writes over `volume` and `nodes`, where `nodes` is the number of nodes that have the write on disk.
        `completed`: at the completion of the write. `later`: at the end of the run.
    """
    began = time.perf_counter()
    at_completion, later, ran = [], [], []
    volumes = ("replicated", "erasure-coded")
    for volume in volumes:
        scenario = cluster(ARS(clients=CLIENTS), synthetic(volume, 0.0, load))
        ran.append(scenario)
        [(accesses, answers)] = watched([scenario], [effort.first_seed], chunks)
        # The last writes of a run are left out, because they have not yet reached all disks.
        early = _early(answers)
        at_completion.append(np.bincount(_nodes(accesses, early), minlength=len(NODES) + 1))
        later.append(np.bincount(_nodes(accesses, early._replace(at=early.at + np.inf)), minlength=len(NODES) + 1))
    data = xr.Dataset(
        {"completed": (("volume", "nodes"), np.array(at_completion)), "later": (("volume", "nodes"), np.array(later))},
        coords={"volume": list(volumes), "nodes": np.arange(len(NODES) + 1)},
    )
    made = made_by("simulated", [effort.first_seed], time.perf_counter() - began) | _facts(ran, chunks)
    return data.assign_attrs(made, paper="ars", exhibit="ars.algorithm")


def _facts(scenarios: Sequence[Scenario], chunks: int) -> dict:
    """Return the description of the scenarios and the number of events of a run."""
    return described(scenarios) | {"events_per_run": CHUNK * chunks}


def _early(answers: Answers) -> Answers:
    return Answers(*(column[: len(answers.at) * 9 // 10] for column in answers))


def _nodes(accesses: WatchedAccesses, answers: Answers) -> Int[np.ndarray, " answer"]:
    """Return, for each request, the number of nodes that had served the request when it completed."""
    last = np.full(max(accesses.number.max(), answers.number.max()) + 1, -np.inf)
    last[answers.number] = answers.at
    within = accesses.end <= last[accesses.number] + 1e-6
    pairs = np.unique(np.stack([accesses.number[within], accesses.node[within]]), axis=1)
    return np.bincount(pairs[0], minlength=len(last))[answers.number]


class SentAndCompleted(NamedTuple):
    """The request that one event admits, and the request that the event completes.

    nodes: number of nodes that the admitted request is sent to, NO_REQUEST if the event admits no request. completed:
    number of the completed request, NO_REQUEST if no request completes. response: response time of the completed
    request, seconds.
    """

    nodes: Any
    completed: Any
    response: Any


class SentAndCompletedLog(AbstractLog):
    """Log of the number of nodes that each request is sent to, including nodes that are down, and of completions."""

    def keep(self, scenario: Scenario, state: State, report: Report) -> SentAndCompleted:
        sent = jax.lax.population_count(state.dispatch.silence.sent_to)
        nodes = jnp.where(report.admitted, sent.astype(jnp.int32), NO_REQUEST)
        return SentAndCompleted(nodes, report.completed.number, report.completed.response)


def extra(
    effort: Effort = QUICK, *, extras: Sequence[int] = (0, EXTRA), chunks: int = 96, seeds: int = 32
) -> xr.Dataset:
    """Return the number of nodes that a read of erasure-coded data is sent to, and its response time, over a run.

    The largest node is down for a part of the run.

    Parameters
    ----------
    effort : Effort
        Only its `first_seed` is used.
    extras : sequence of int
        Largest numbers of additional nodes that a client may send a read to. Each number is a separate case.
    chunks : int
        Number of chunks of events in each run, by default 96.
    seeds : int
        Number of runs, by default 32.

    Returns
    -------
    Dataset
        Variables over `extra`, `seed` and `number`. `targets`: number of nodes that a read is sent to. `response`:
        response time, seconds. Each value is a mean over fifty consecutive requests. `number` is the middle of the
        numbers of these requests.
    """
    began, seeds_used = time.perf_counter(), effort.successive(seeds)
    runs = [_batch_means(most, seeds_used, chunks) for most in extras]
    length = min(one.shape[1] for run in runs for one in run)
    nodes, response = (np.stack([one[:, :length] for one in found]) for found in zip(*runs, strict=True))
    dims = ("extra", "seed", "number")
    data = xr.Dataset(
        {
            "targets": (dims, nodes, {"units": "1", "long_name": "number of nodes that a read is sent to initially"}),
            "response": (dims, response, {"units": "s", "long_name": "mean response time"}),
        },
        coords={"extra": list(extras), "seed": seeds_used, "number": (np.arange(length) + 0.5) * BATCH},
    )
    made = made_by("simulated", seeds_used, time.perf_counter() - began) | _facts([_away(extras[-1])], chunks)
    return data.assign_attrs(made, paper="ars", exhibit="ars.extra", away=list(AWAY))


def _away(most: int) -> Scenario:
    """Return the cluster with an outage of the largest node, whose clients send reads to up to `most` additional nodes.

    If `most` is 0, the patience of clients never ends, so that all values of `most` share a compiled program.
    """
    away = FaultSchedule(outage(LARGEST, *AWAY), timeout=TIMEOUT, detection=math.inf)
    dispatch = ARS(clients=CLIENTS, extra=most or EXTRA, patience=TIMEOUT if most else ENDLESS)
    return cluster(dispatch, synthetic("erasure-coded", load=LOAD), faults=away, write=AllCopies())


def _batch_means(
    most: int, seeds: Sequence[int], chunks: int
) -> tuple[Float[np.ndarray, "seed batch"], Float[np.ndarray, "seed batch"]]:
    """Return the number of nodes that a read is sent to, and the response times, with up to `most` additional nodes.

    Each value is a mean over `BATCH` consecutive requests. The values cover the requests before the first request
    that some run does not complete.
    """
    merged, key = stack([_away(most)], seeds)
    kept = jax.tree.map(by_event, Runner(merged, key, Record(log=SentAndCompletedLog())).advance(chunks)[1])
    # Requests enter in the order of their numbers.
    targets = [nodes[nodes != NO_REQUEST] for nodes in kept.nodes.T]
    taken = [np.full(len(nodes), np.nan) for nodes in targets]
    for run, its in enumerate(taken):
        left = kept.completed[:, run] != NO_REQUEST
        its[kept.completed[left, run]] = kept.response[left, run]
    until = min(int(np.argmax(np.isnan([*its, np.nan]))) for its in taken) // BATCH * BATCH
    nodes, response = (np.stack([one[:until] for one in runs]) for runs in (targets, taken))
    return tuple(one.reshape(len(seeds), -1, BATCH).mean(axis=-1) for one in (nodes, response))


def failing_findings(read: xr.Dataset, written: xr.Dataset, extra_nodes: xr.Dataset) -> list[Measurement]:
    """Return the findings on reads from m of n nodes, commits at m nodes, and additional nodes (sections 4.3 to 4.5).

    Parameters
    ----------
    read : Dataset
        Result of `reads`.
    written : Dataset
        Result of `writes`.
    extra_nodes : Dataset
        Result of `extra`.

    Returns
    -------
    list of Measurement
        One finding for each claim: `ars.algorithm.read_any_m`, `ars.algorithm.write_commit` and
        `ars.algorithm.extra_e`.
    """
    needed = {"replicated": 1, "erasure-coded": 2}
    exact = read.reads.sel(nodes=needed["erasure-coded"]).sum() == read.reads.sum()
    least = {volume: int(np.flatnonzero(written.completed.sel(volume=volume).values)[0]) for volume in needed}
    parts = {"replicated": 3, "erasure-coded": 4}
    all_written = all(
        int(written.later.sel(volume=volume, nodes=count)) == int(written.later.sel(volume=volume).sum())
        for volume, count in parts.items()
    )
    return [
        Measurement(
            "ars.algorithm.read_any_m",
            bool(exact) and not bool(read.dead.any()),
            note=(
                "The claim holds if exactly the two nodes that are up serve each read. The check covers "
                f"{int(read.reads.sum())} reads while two of four nodes are down, for each pair of nodes."
            ),
        ),
        Measurement(
            "ars.algorithm.write_commit",
            least == needed and all_written,
            note=(
                "The claim holds under two conditions. The smallest number of nodes that have a write on disk at its "
                "completion is 1 for replicated data and 2 for erasure-coded data. At the end of the run, every write "
                f"is on the disks of all its nodes. In {int(written.completed.sum())} writes, the smallest number is "
                f"{least['replicated']} for replicated data and {least['erasure-coded']} for erasure-coded data. Some "
                "writes are on more nodes at their completion, because some nodes write their buffers to disk before "
                "the write completes."
            ),
        ),
        _extra_finding(extra_nodes),
    ]


def _extra_finding(extra_nodes: xr.Dataset) -> Measurement:
    """Return the finding on additional nodes during an outage.

    The claim holds if reads are sent to more nodes during the outage than before it, and to more nodes than after it.
    Both differences are paired by seed, and must be above 0 with 95% confidence.
    """
    begins, ends = extra_nodes.attrs["away"]
    most = extra_nodes.targets.sel(extra=extra_nodes.extra.values[-1])
    before, during, after = (
        most.sel(number=slice(*part)).mean("number")
        for part in ((0, begins), (begins + SETTLES, ends), (ends + SETTLES, None))
    )
    differ = interval(xr.Dataset({"rise": during - before, "fall": during - after}))
    slow = extra_nodes.response.sel(number=slice(begins + SETTLES, ends)).mean(["number", "seed"])
    return Measurement(
        "ars.algorithm.extra_e",
        bool(differ.rise.sel(statistic="low") > 0) and bool(differ.fall.sel(statistic="low") > 0),
        note=(
            "The claim holds if clients send reads to more nodes during an outage than before and after it, with 95% "
            "confidence. A read needs 2 nodes. On average, a client sends a read initially to "
            f"{float(before.mean()):.2f} nodes before a node fails, to {float(during.mean()):.2f} nodes while the "
            f"node is down, and to {float(after.mean()):.2f} nodes after the node returns. The number of nodes rises "
            f"by {_range(differ.rise)} when the node fails, and falls by {_range(differ.fall)} when it returns (95% "
            f"intervals over {extra_nodes.sizes['seed']} runs). The first {SETTLES} requests after the failure and after "
            f"the return are not counted. During the outage, a read takes {float(slow.isel(extra=0)):.2f} s without "
            f"additional nodes, and {float(slow.isel(extra=-1)):.3f} s with additional nodes."
        ),
    )


def _range(difference: xr.DataArray) -> str:
    low, high = (float(difference.sel(statistic=end)) for end in ("low", "high"))
    return f"{low:.2f} to {high:.2f}"
