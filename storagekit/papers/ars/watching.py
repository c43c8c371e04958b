"""Accesses and completions of the requests of a run, with their times."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Int

from storagekit.core.batching import first_true
from storagekit.engine import NO_REQUEST, AbstractLog, Record, Report, Runner, Scenario, State, stack
from storagekit.simulation import by_event


class WatchedLog(NamedTuple):
    """The access that ends with an event, and the request that completes with the event.

    elapsed: seconds since the previous event. number: number of the request whose access ends, NO_REQUEST if no access
    ends. node: the node of this access. completed: number of the request that completes, NO_REQUEST if no request
    completes. at: time of this completion, seconds after the previous event. response: response time of the request
    that completes, seconds. read: whether this request is a read.
    """

    elapsed: Any
    number: Any
    node: Any
    completed: Any
    at: Any
    response: Any
    read: Any


class Watch(AbstractLog):
    """Log of all accesses and completions with their times."""

    def keep(self, scenario: Scenario, state: State, report: Report) -> WatchedLog:
        drive, certain = first_true(report.served)
        return WatchedLog(
            report.elapsed,
            jnp.where(certain, report.number, NO_REQUEST),
            scenario.system.brick_of(drive),
            report.completed.number,
            report.completed.at,
            report.completed.response,
            report.completed.read,
        )


class WatchedAccesses(NamedTuple):
    """Accesses of one run.

    number: number of the request. node: node of the access. end: end of the access, seconds from the start of the run.
    """

    number: Int[np.ndarray, " access"]
    node: Int[np.ndarray, " access"]
    end: Float[np.ndarray, " access"]


class Answers(NamedTuple):
    """Completions of one run.

    number: number of the request. at: time of the completion, seconds from the start of the run. response: response
    time of the request, seconds. read: whether the request is a read.
    """

    number: Int[np.ndarray, " answer"]
    at: Float[np.ndarray, " answer"]
    response: Float[np.ndarray, " answer"]
    read: Bool[np.ndarray, " answer"]


def watched(scenarios: Sequence[Scenario], seeds: Sequence[int], chunks: int) -> list[tuple[WatchedAccesses, Answers]]:
    """Return the accesses and completions of each run.

    Parameters
    ----------
    scenarios : sequence of Scenario
        Scenarios of the same structure, so that they share a compiled program.
    seeds : sequence of int
        Seeds. Each scenario runs once with each seed.
    chunks : int
        Number of chunks of events in each run.

    Returns
    -------
    list of (WatchedAccesses, Answers)
        One pair for each run: first all seeds of the first scenario, then all seeds of the next.
    """
    merged, key = stack(scenarios, seeds)
    kept = jax.tree.map(by_event, Runner(merged, key, Record(log=Watch())).advance(chunks)[1])
    end = np.cumsum(kept.elapsed, axis=0, dtype=np.float64)
    begin = end - kept.elapsed
    runs = []
    for run in range(key.shape[1]):
        served, completed = kept.number[:, run] != NO_REQUEST, kept.completed[:, run] != NO_REQUEST
        accesses = WatchedAccesses(*(column[:, run][served] for column in (kept.number, kept.node, end)))
        when = (begin + kept.at)[:, run][completed]
        answers = Answers(
            kept.completed[:, run][completed], when, kept.response[:, run][completed], kept.read[:, run][completed]
        )
        runs.append((accesses, answers))
    return runs
