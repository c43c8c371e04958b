"""What is on disk when a write is answered, and who is asked when nodes fail (sections 4.3 to 4.5).

Times in seconds.
"""

import itertools
import time

import numpy as np
import xarray as xr
from jaxtyping import Int

from storagekit.dispatch import ARS
from storagekit.engine import Condition, stopped
from storagekit.metrics import Measurement, made_by
from storagekit.papers.ars.cluster import CLIENTS, NODES, cluster, effort, synthetic
from storagekit.papers.ars.watching import Accesses, Answers, watched
from storagekit.papers.effort import Effort
from storagekit.write import AllCopies

QUICK = effort("quick")
# how many times the published load, so that something happens while a node is away
LOAD = 10.0
TIMEOUT = 1.0
# of those that fail, and for so many requests
LARGEST, AWAY = len(NODES) - 1, (1000, 2500)


def reads(effort: Effort = QUICK, *, chunks: int = 40) -> xr.Dataset:
    """Reads of coded data while any two of its four nodes have stopped: how many nodes each was read from before its answer
    (`stopped`: which two; `nodes`: requests by that number)."""
    began = time.perf_counter()
    pairs = list(itertools.combinations(range(len(NODES)), 2))
    counts, where = [], []
    for pair in pairs:
        condition = Condition(*(stopped(node) for node in pair), timeout=TIMEOUT)
        scenario = cluster(
            ARS(clients=CLIENTS),
            synthetic("erasure-coded", load=LOAD),
            condition=condition,
            write=AllCopies(),
        )
        [(accesses, answers)] = watched(scenario, [effort.first_seed], chunks)
        # the last answer may leave before the end of its access is noted
        counts.append(np.bincount(_nodes(accesses, _early(answers)), minlength=len(NODES) + 1))
        where.append(bool(np.isin(accesses.node, pair).any()))
    data = xr.Dataset(
        {"reads": (("stopped", "nodes"), np.array(counts)), "dead": ("stopped", where)},
        coords={"stopped": [f"{a}, {b}" for a, b in pairs], "nodes": np.arange(len(NODES) + 1)},
    )
    made = made_by("simulated", [effort.first_seed], time.perf_counter() - began)
    return data.assign_attrs(made, paper="ars", exhibit="ars.algorithm")


def writes(effort: Effort = QUICK, *, chunks: int = 80, load: float = LOAD) -> xr.Dataset:
    """Writes of either volume: on how many nodes' disks each was when it was answered, and on how many a while later
    (`volume`, `nodes`: writes by that number)."""
    began = time.perf_counter()
    at_answer, later = [], []
    volumes = ("replicated", "erasure-coded")
    for volume in volumes:
        scenario = cluster(ARS(clients=CLIENTS), synthetic(volume, 0.0, load))
        [(accesses, answers)] = watched(scenario, [effort.first_seed], chunks)
        # the last of a run have not had the time to reach all disks
        early = _early(answers)
        at_answer.append(np.bincount(_nodes(accesses, early), minlength=len(NODES) + 1))
        later.append(np.bincount(_nodes(accesses, early._replace(at=early.at + np.inf)), minlength=len(NODES) + 1))
    data = xr.Dataset(
        {"answered": (("volume", "nodes"), np.array(at_answer)), "later": (("volume", "nodes"), np.array(later))},
        coords={"volume": list(volumes), "nodes": np.arange(len(NODES) + 1)},
    )
    made = made_by("simulated", [effort.first_seed], time.perf_counter() - began)
    return data.assign_attrs(made, paper="ars", exhibit="ars.algorithm")


def _early(answers: Answers) -> Answers:
    return Answers(*(column[: len(answers.at) * 9 // 10] for column in answers))


def _nodes(accesses: Accesses, answers: Answers) -> Int[np.ndarray, " answer"]:
    """At how many nodes each request had been served by the time of its answer."""
    last = np.full(max(accesses.number.max(), answers.number.max()) + 1, -np.inf)
    last[answers.number] = answers.at
    within = accesses.end <= last[accesses.number] + 1e-6
    pairs = np.unique(np.stack([accesses.number[within], accesses.node[within]]), axis=1)
    return np.bincount(pairs[0], minlength=len(last))[answers.number]


def extra(effort: Effort = QUICK, *, extras: tuple[int, ...] = (0, 2), chunks: int = 96, seeds: int = 4) -> xr.Dataset:
    """Reads of coded data while the largest node is away for a while: from how many nodes each is read, and after how long.

    By the order in which they were sent (`number`: the middle of fifty), and the most nodes that a client asks besides
    (`extra`).
    """
    began, each = time.perf_counter(), 50
    asked, response = [], []
    for most in extras:
        away = Condition(stopped(LARGEST, *AWAY), timeout=TIMEOUT)
        dispatch = ARS(clients=CLIENTS, extra=most)
        arrivals = synthetic("erasure-coded", load=LOAD)
        scenario = cluster(dispatch, arrivals, condition=away, write=AllCopies())
        runs = watched(scenario, effort.successive(seeds), chunks)
        count = min(int(answers.number.max()) for _, answers in runs) // each * each
        asked.append(np.mean([_by_number(accesses.number, None, count, each) for accesses, _ in runs], axis=0))
        response.append(
            np.mean([_by_number(answers.number, answers.response, count, each) for _, answers in runs], axis=0)
        )
    length = min(map(len, asked))
    number = (np.arange(length) + 0.5) * each
    data = xr.Dataset(
        {
            "asked": (("extra", "number"), np.array([one[:length] for one in asked])),
            "response": (("extra", "number"), np.array([one[:length] for one in response])),
        },
        coords={"extra": list(extras), "number": number},
    )
    made = made_by("simulated", effort.successive(seeds), time.perf_counter() - began)
    return data.assign_attrs(made, paper="ars", exhibit="ars.extra", away=list(AWAY))


def _by_number(number: np.ndarray, values: np.ndarray | None, count: int, each: int) -> np.ndarray:
    """Sums over stretches of `each` requests, over `each`: of values, or of ones."""
    within = number < count
    weights = None if values is None else values[within]
    return np.bincount(number[within] // each, weights=weights, minlength=count // each) / each


def failing_findings(read: xr.Dataset, written: xr.Dataset, asked: xr.Dataset) -> list[Measurement]:
    """Any m of n answer a read, m commit a write, and the rest is written in the end; more are asked as nodes fail."""
    needed = {"replicated": 1, "erasure-coded": 2}
    exact = read.reads.sel(nodes=needed["erasure-coded"]).sum() == read.reads.sum()
    least = {volume: int(np.flatnonzero(written.answered.sel(volume=volume).values)[0]) for volume in needed}
    parts = {"replicated": 3, "erasure-coded": 4}
    all_written = all(
        int(written.later.sel(volume=volume, nodes=count)) == int(written.later.sel(volume=volume).sum())
        for volume, count in parts.items()
    )
    begins, ends = asked.attrs["away"]
    most = asked.asked.sel(extra=asked.extra.values[-1])
    before, during, after = (
        float(most.sel(number=slice(*part)).mean()) for part in ((0, begins), (begins + 200, ends), (ends + 500, None))
    )
    slow = asked.response.sel(number=slice(begins + 200, ends)).mean("number")
    return [
        Measurement(
            "ars.algorithm.read_any_m",
            bool(exact) and not bool(read.dead.any()),
            note=f"{int(read.reads.sum())} reads with any two of four nodes stopped, each from the other two",
        ),
        Measurement(
            "ars.algorithm.write_commit",
            least == needed and all_written,
            note=f"{int(written.answered.sum())} writes, on at least {least['replicated']} and {least['erasure-coded']} "
            "disks when answered, on all in the end; some buffers are written before the answer",
        ),
        Measurement(
            "ars.algorithm.extra_e",
            before < during and after < during and after < before + 0.02,
            note=f"nodes that a read goes to, m being 2: {before:.2f} before a node fails, {during:.2f} while it is away, "
            f"{after:.2f} after; meanwhile answered in {float(slow.isel(extra=0)):.2f} s without, "
            f"{float(slow.isel(extra=-1)):.3f} s with them",
        ),
    ]
