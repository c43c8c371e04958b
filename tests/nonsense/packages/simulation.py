"""Valid calls of runs and of functions of their results."""

from collections.abc import Callable
from functools import cache, wraps
from typing import Any

import jax
import numpy as np
import xarray as xr
from nonsense.attack import ValidCall
from nonsense.packages.engine import late, scenario, system
from nonsense.packages.workload import small_trace

import storagekit as sk
from storagekit import engine, simulation
from storagekit.faults import Failures, Redundancy, ReliabilityModel, Repair


def built(depth: int) -> engine.Scenario:
    requests = sk.workload.RandomRequests(sk.workload.FixedSize(4096.0), 0.7)
    return engine.Scenario(system(), sk.workload.ClosedLoop(requests, depth))


@cache
def degraded() -> engine.System:
    layout = sk.placement.AfterLoss(sk.placement.ParityGroups(6, 2), 0)
    return sk.System(sk.load_drive("atlas10k"), layout, sk.dispatch.Broadcast(), sk.schedule.FCFS(), slots=8)


def streams(depth: int) -> engine.Scenario:
    requests = sk.workload.RandomRequests(sk.workload.FixedSize(4096.0), 0.7)
    return engine.Scenario(system(), sk.workload.Threads(requests, depth))


@cache
def measured() -> xr.DataArray:
    return xr.DataArray([4.0, 5.0, 6.0], dims="seed")


def read_off(function: Callable, name: str = "") -> Callable:
    """Return a function with one variable of the Dataset, or None.

    Other variables are NaN if there is nothing to measure.
    """

    @wraps(function)
    def read_off_result(**given: Any) -> Any:
        found = function(**given)
        return found[name].values if name else None

    return read_off_result


def first(key: jax.Array) -> int:
    return 1


def stepped(key: jax.Array, wealth: jax.Array) -> jax.Array:
    return wealth + 2 * jax.random.bernoulli(key, 0.4).astype(int) - 1


def level(wealth: jax.Array) -> jax.Array:
    return wealth


def ruined(wealth: jax.Array) -> jax.Array:
    return wealth <= 0


SUM = engine.Sum("late", late, int, along={"limit": [0.005, 0.01]})


def at_end(state: engine.State, runs: np.ndarray) -> None:
    """Accept the state and do nothing."""


@cache
def schemes() -> dict:
    drive = sk.drive.ideal_drive(full_seek=8e-3, revolution=6e-3)
    ways = sk.dispatch.Hashing(), sk.dispatch.Randomized()
    two = sk.placement.Replicas(2)
    return {type(way).__name__: sk.System(drive, two, way, sk.schedule.FCFS()) for way in ways}


@cache
def arrivals() -> sk.workload.ClosedLoop:
    return sk.workload.ClosedLoop(sk.workload.RandomRequests(sk.workload.FixedSize(4096.0), 1.0), 2)


RUN = {"requests": 200, "warm_up": 0.0, "allow_blocked": False, "measures": [], "precision": 0.5, "budget": 400}


VALID_CALLS = {
    "simulation.compare": ValidCall(
        lambda: {
            "workload": arrivals(),
            "schemes": schemes(),
            "seeds": 1,
            "against": next(iter(schemes())),
            "requests": 50,
            "scale": 1.0,
            "measures": (),
        },
        simulates=True,
    ),
    "simulation.Measure": ValidCall(
        lambda: {"name": "missed", "unit": "1", "meaning": "late", "needs": [SUM], "of": lambda late: late}
    ),
    "simulation.by_stream": ValidCall(lambda: {"streams": 2}),
    "simulation.described": ValidCall(lambda: {"scenarios": [scenario()]}),
    "simulation.history": ValidCall(
        lambda: {
            "build": built,
            "axes": {"depth": [2, 4]},
            "requests": 200,
            "seeds": [0],
            "pieces": 4,
            "slots": [16],
            "warm_up": 0.0,
            "at_end": at_end,
            "title": "",
            "measures": [],
        },
        read_off(simulation.history),
        simulates=True,
    ),
    "simulation.interval": ValidCall(
        lambda: {"data": measured().to_dataset(name="x"), "dim": "seed", "level": 0.95}, read_off(simulation.interval)
    ),
    "simulation.local_workers": ValidCall(lambda: {"count": 1}, through=lambda count: simulation.local_workers(count)),
    "simulation.logs": ValidCall(
        lambda: {"scenarios": [streams(2)], "seeds": [0], "seconds": 0.5, "backlog": False},
        through=lambda **given: list(simulation.logs(**given)),
        simulates=True,
    ),
    "simulation.ratio": ValidCall(
        lambda: {"numerator": measured(), "denominator": measured() * 2, "dim": "seed", "level": 0.95},
        read_off(simulation.ratio),
    ),
    "simulation.ChunkStream": ValidCall(lambda: {"rate": 1e6, "chunk": 4096.0, "read": True}),
    "simulation.mixed_scenario": ValidCall(
        lambda: {
            "system": system(),
            "users": sk.workload.RandomRequests(sk.workload.FixedSize(4096.0), 0.7),
            "rate": 50.0,
            "streams": [simulation.ChunkStream(1e5, 4096.0)],
            "data": 1e8,
            "requests": 20,
            "seed": 0,
        },
        simulates=True,
    ),
    "simulation.rebuild_scenario": ValidCall(
        lambda: {
            "system": degraded(),
            "users": sk.workload.RandomRequests(sk.workload.FixedSize(4096.0), 0.7),
            "rate": 50.0,
            "rebuild_rate": 1e6,
            "chunk": 65536.0,
            "requests": 20,
            "seed": 0,
        },
        simulates=True,
    ),
    "simulation.replay": ValidCall(
        lambda: {"trace": small_trace(), "system": system(), "scale": 1.0, "seed": 0, "measures": []},
        read_off(simulation.replay, "throughput"),
        simulates=True,
    ),
    "simulation.replicate": ValidCall(
        lambda: {"scenario": scenario(), "seeds": 2, **RUN},
        read_off(simulation.replicate, "throughput"),
        simulates=True,
    ),
    "simulation.run": ValidCall(
        lambda: {
            "scenario": scenario(),
            "key": engine.keys([0])[:, 0],
            "amount": 100.0,
            "record": engine.Record(),
            "title": "",
            "by": "completed",
        },
        simulates=True,
    ),
    "simulation.data_loss": ValidCall(
        lambda: {
            "model": ReliabilityModel(Redundancy(2, 1), Failures(0.1), Repair(1e5)),
            "years": 1.0,
            "trials": 512,
            "seed": 0,
            "bias": 0.5,
            "level": 0.9,
        },
        read_off(simulation.data_loss, "loss_probability"),
        simulates=True,
    ),
    "simulation.splitting": ValidCall(
        lambda: {
            "start": first,
            "step": stepped,
            "level": level,
            "over": ruined,
            "levels": [4.0, 7.0],
            "trials": 64,
            "repetitions": 2,
            "seed": 0,
            "confidence": 0.9,
        },
        read_off(simulation.splitting),
    ),
    "simulation.simulate": ValidCall(
        lambda: {"scenario": scenario(), "seed": 0, **RUN}, read_off(simulation.simulate, "throughput")
    ),
    "simulation.sweep": ValidCall(
        lambda: {"build": built, "axes": {"depth": [2, 4]}, "seeds": 2, "slots": [16], **RUN},
        read_off(simulation.sweep, "throughput"),
        simulates=True,
    ),
    "simulation.windows": ValidCall(
        lambda: {
            "build": streams,
            "axes": {"depth": [2]},
            "seconds": 0.5,
            "window": 0.25,
            "seeds": [0],
            "backlog": False,
            "title": "",
        },
        read_off(simulation.windows),
        simulates=True,
    ),
}
ANSWER = "a result of a run"
LOG = "the log of a run, which only `logs` creates"
NOT_ATTACKED = {
    "simulation.History": ANSWER,
    "simulation.Timed": LOG,
    "simulation.by_event": LOG,
    "simulation.joint_backlog": LOG,
    "simulation.lasting": LOG,
    "simulation.pending": "the engine's state, which only the engine creates",
    "simulation.together": LOG,
}
