"""Valid calls of the bare engine: systems, scenarios, records of a run, and runs."""

from functools import cache

import numpy as np
from nonsense.attack import ValidCall
from nonsense.public_callables import method_of

import storagekit as sk
from storagekit import engine, faults


@cache
def system() -> engine.System:
    return sk.System(
        sk.load_drive("atlas10k"), sk.placement.Replicas(1), sk.dispatch.Hashing(), sk.schedule.FCFS(), slots=8
    )


@cache
def scenario() -> engine.Scenario:
    requests = sk.workload.RandomRequests(sk.workload.FixedSize(4096.0), 0.7)
    return engine.Scenario(system(), sk.workload.ClosedLoop(requests, 4))


@cache
def stacked() -> tuple[engine.Scenario, np.ndarray]:
    return engine.stack([scenario()], [0, 1])


def late(report: engine.Report, limit: float) -> object:
    return engine.completed(report) & (report.completed.response > limit)


def parts() -> dict[str, object]:
    return {
        "drive": system().drive,
        "placement": sk.placement.Replicas(1),
        "dispatch": sk.dispatch.Hashing(),
        "schedule": sk.schedule.FCFS(),
        "write": sk.write.AllCopies(),
        "arbitration": sk.arbitration.NoArbitration(),
        "queue": sk.queue.Unlimited(),
        "cache": sk.cache.NoCache(),
        "faults": faults.FaultSchedule(),
        "drives": 2,
        "slots": 8,
        "synchronized": 0,
    }


def progress(done: float) -> None:
    """Accept the progress and do nothing."""


RUN = {"amount": 100.0, "record": engine.Record(), "progress": progress, "by": "completed"}
VALID_CALLS = {
    "engine.AccessLog": ValidCall(),
    "engine.NoLog": ValidCall(),
    "engine.Record": ValidCall(lambda: {"sums": [engine.COMPLETED], "log": engine.NoLog()}),
    "engine.ResponseBins": ValidCall(),
    "engine.ResponseLog": ValidCall(),
    "engine.Runner": ValidCall(lambda: {"scenario": stacked()[0], "key": stacked()[1], "record": engine.Record()}),
    "engine.Runner.feed": ValidCall(
        lambda: {"arrivals": stacked()[0].arrivals}, through=method_of(lambda: runner(), "feed")
    ),
    "engine.Scenario": ValidCall(lambda: {"system": system(), "arrivals": scenario().arrivals}),
    "engine.ServiceLog": ValidCall(lambda: {"backlog": False}),
    "engine.Sum": ValidCall(
        lambda: {"name": "late", "of": late, "kind": int, "by_drive": False, "along": {"limit": [0.005, 0.01]}}
    ),
    # -1 is AUTO
    "engine.System": ValidCall(parts, signed=("slots",)),
    "engine.batches": ValidCall(
        lambda: {"scenario": stacked()[0], "key": stacked()[1], "padded": True, "together": 1, "among": 2},
        through=lambda **given: list(engine.batches(**given)),
        optional=("among",),
    ),
    "engine.execute": ValidCall(
        lambda: {"scenario": scenario(), "key": engine.keys([0])[:, 0], **RUN}, optional=("record",)
    ),
    "engine.keys": ValidCall(lambda: {"seeds": [0, 1]}),
    "engine.select_runs": ValidCall(lambda: {"scenario": stacked()[0], "members": np.array([0, 1])}),
    "engine.stack": ValidCall(lambda: {"scenarios": [scenario()], "seeds": [0, 1]}),
    "engine.steps": ValidCall(
        lambda: {"runner": runner(), "amount": 100.0, "progress": progress, "stride": 1, "by": "completed"},
        through=lambda **given: list(engine.steps(**given)),
    ),
    "engine.structure": ValidCall(lambda: {"scenario": scenario()}),
    "engine.width": ValidCall(lambda: {"runs": 2}),
}


def runner() -> engine.Runner:
    """Return a new runner each time, because a runner continues."""
    return engine.Runner(*stacked(), engine.Record())


STATE = "the engine's state or report, which only the engine creates"
NOT_ATTACKED = {
    "engine.AbstractLog": "an abstract base class that records nothing",
    "engine.Outcome": STATE,
    "engine.Report": STATE,
    "engine.Runner.begin_at": STATE,
    "engine.Runner.resume": STATE,
    "engine.Services": STATE,
    "engine.State": STATE,
    "engine.completed": STATE,
    "engine.binned": "counts the codes of ResponseBins",
    "engine.quantiles": "reads the counts of binned; NaN means that there were none",
}
