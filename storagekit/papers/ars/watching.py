"""What a run did, request by request: which node served it when, and when it was answered."""

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
    """Of each event: seconds since the one before, the access that ended (number NOBODY if none did) and its node, the answer
    that left (NOBODY if none did), when, after how long, and whether it was a read's."""

    elapsed: Any
    number: Any
    node: Any
    answered: Any
    at: Any
    response: Any
    read: Any


class Watch(AbstractLog):
    """Keeps every access and answer with its time."""

    def keep(self, scenario: Scenario, state: State, report: Report) -> WatchedLog:
        drive, certain = first_true(report.served)
        return WatchedLog(
            report.elapsed,
            jnp.where(certain, report.number, NO_REQUEST),
            scenario.system.brick_of(drive),
            report.answered.number,
            report.answered.at,
            report.answered.response,
            report.answered.read,
        )


class WatchedAccesses(NamedTuple):
    """Accesses of one run: of which request, at which node, and when they ended, seconds from the start."""

    number: Int[np.ndarray, " access"]
    node: Int[np.ndarray, " access"]
    end: Float[np.ndarray, " access"]


class Answers(NamedTuple):
    """Answers of one run: to which request, when, seconds from the start, after how long, and whether it is a read."""

    number: Int[np.ndarray, " answer"]
    at: Float[np.ndarray, " answer"]
    response: Float[np.ndarray, " answer"]
    read: Bool[np.ndarray, " answer"]


def watched(scenarios: Sequence[Scenario], seeds: Sequence[int], chunks: int) -> list[tuple[WatchedAccesses, Answers]]:
    """So many chunks of events of scenarios of one structure, run by run: the seeds of one after those of another."""
    merged, key = stack(scenarios, seeds)
    kept = jax.tree.map(by_event, Runner(merged, key, Record(log=Watch())).advance(chunks)[1])
    end = np.cumsum(kept.elapsed, axis=0, dtype=np.float64)
    begin = end - kept.elapsed
    runs = []
    for lane in range(key.shape[1]):
        served, answered = kept.number[:, lane] != NO_REQUEST, kept.answered[:, lane] != NO_REQUEST
        accesses = WatchedAccesses(*(column[:, lane][served] for column in (kept.number, kept.node, end)))
        when = (begin + kept.at)[:, lane][answered]
        answers = Answers(
            kept.answered[:, lane][answered], when, kept.response[:, lane][answered], kept.read[:, lane][answered]
        )
        runs.append((accesses, answers))
    return runs
