"""How runs and what is made of them are asked for."""

from collections.abc import Callable
from functools import cache, wraps
from typing import Any

import numpy as np
import xarray as xr
from nonsense.attack import Face
from nonsense.rooms.engine import late, scenario, system
from nonsense.rooms.workload import small_trace

import storagekit as sk
from storagekit import engine, metrics


def built(depth: int) -> engine.Scenario:
    requests = sk.workload.RandomRequests(sk.workload.FixedSize(4096.0), 0.7)
    return engine.Scenario(system(), sk.workload.ClosedLoop(requests, depth))


def streams(depth: int) -> engine.Scenario:
    requests = sk.workload.RandomRequests(sk.workload.FixedSize(4096.0), 0.7)
    return engine.Scenario(system(), sk.workload.Threads(requests, depth))


@cache
def measured() -> xr.DataArray:
    return xr.DataArray([4.0, 5.0, 6.0], dims="seed")


@cache
def stream() -> xr.Dataset:
    times = np.array([0.004, 0.005, 0.006])
    return xr.Dataset(
        {
            "measured": ("request", times),
            "service": ("request", times * 1.1),
            "read": ("request", np.array([True, False, True])),
        }
    )


def read_off(function: Callable, name: str = "") -> Callable:
    """A face that answers a Dataset, with what of it is never NaN: others say by NaN that there was nothing to measure."""

    @wraps(function)
    def asked(**given: Any) -> Any:
        found = function(**given)
        return found[name].values if name else None

    return asked


SUM = engine.Sum("late", late, int, along={"limit": [0.005, 0.01]})


def at_end(state: engine.State, lanes: np.ndarray) -> None:
    """Nobody looks."""


RUN = {"requests": 200, "warm_up": 0.0, "allow_held_up": False, "measures": [], "precision": 0.5, "budget": 400}
FACES = {
    "metrics.Measure": Face(
        lambda: {"name": "missed", "unit": "1", "meaning": "late", "needs": [SUM], "of": lambda late: late}
    ),
    "metrics.Measurement": Face(
        lambda: {
            "id": "claim",
            "measured": 1.0,
            "low": 0.5,
            "high": 1.5,
            "basis": "simulated",
            "note": "",
            "holds": True,
        },
        signed=("measured", "low", "high"),
        optional=("measured",),
    ),
    "metrics.by_stream": Face(lambda: {"streams": 2}),
    "metrics.demerit": Face(
        lambda: {"predicted": np.array([1.0, 2.0]), "measured": np.array([1.0, 3.0])}, signed=("predicted", "measured")
    ),
    "metrics.demerit_by_class": Face(lambda: {"stream": stream()}, read_off(metrics.demerit_by_class)),
    "metrics.described": Face(lambda: {"scenarios": [scenario()]}),
    "metrics.figures": Face(lambda: {"drive": system().drive}),
    "metrics.history": Face(
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
        read_off(metrics.history),
    ),
    "metrics.interval": Face(
        lambda: {"data": measured().to_dataset(name="x"), "dim": "seed", "level": 0.95}, read_off(metrics.interval)
    ),
    "metrics.local_workers": Face(lambda: {"count": 1}, through=lambda count: metrics.local_workers(count)),
    "metrics.logs": Face(
        lambda: {"scenarios": [streams(2)], "seeds": [0], "seconds": 0.5, "backlog": False},
        through=lambda **given: list(metrics.logs(**given)),
    ),
    "metrics.made_by": Face(lambda: {"basis": "simulated", "seeds": [0, 1], "wall": 1.0}, optional=("seeds",)),
    "metrics.ratio": Face(
        lambda: {"numerator": measured(), "denominator": measured() * 2, "dim": "seed", "level": 0.95},
        read_off(metrics.ratio),
    ),
    "metrics.replay": Face(
        lambda: {"trace": small_trace(), "system": system(), "scale": 1.0, "seed": 0, "measures": []},
        read_off(metrics.replay, "throughput"),
    ),
    "metrics.replicate": Face(
        lambda: {"scenario": scenario(), "seeds": 2, **RUN}, read_off(metrics.replicate, "throughput")
    ),
    "metrics.run": Face(
        lambda: {
            "scenario": scenario(),
            "key": engine.keys([0])[:, 0],
            "amount": 100.0,
            "record": engine.Record(),
            "title": "",
            "by": "answered",
        }
    ),
    "metrics.seek_curve": Face(lambda: {"drive": system().drive}, read_off(metrics.seek_curve, "read")),
    "metrics.simulate": Face(
        lambda: {"scenario": scenario(), "seed": 0, **RUN}, read_off(metrics.simulate, "throughput")
    ),
    "metrics.sweep": Face(
        lambda: {"build": built, "axes": {"depth": [2, 4]}, "seeds": 2, "slots": [16], **RUN},
        read_off(metrics.sweep, "throughput"),
    ),
    "metrics.windows": Face(
        lambda: {
            "build": streams,
            "axes": {"depth": [2]},
            "seconds": 0.5,
            "window": 0.25,
            "seeds": [0],
            "backlog": False,
            "title": "",
        },
        read_off(metrics.windows),
    ),
    "metrics.with_interval": Face(
        lambda: {
            "id": "claim",
            "row": metrics.interval(measured().to_dataset(name="x")).x,
            "note": "",
            "basis": "simulated",
            "holds": True,
        }
    ),
    "metrics.zone_map": Face(lambda: {"drive": system().drive}, read_off(metrics.zone_map, "size")),
}
ANSWER = "an answer: what a run yields"
LOG = "the log of a run, which only logs makes"
NOT_ASKED = {
    "metrics.History": ANSWER,
    "metrics.Timed": LOG,
    "metrics.by_event": LOG,
    "metrics.joint_backlog": LOG,
    "metrics.lasting": LOG,
    "metrics.made_jointly": "attributes of results, which may hold anything, as xarray gives them",
    "metrics.together": LOG,
}
