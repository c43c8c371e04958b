"""Replay a trace on a system, to measure the response times of the requests and the load of the disks."""

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

from storagekit.core.validation import instance_of
from storagekit.engine import NO_REQUEST, Record, ResponseLog, Scenario, System, keys
from storagekit.simulation.measures import Measure, counted, measured, sums_of
from storagekit.simulation.provenance import provenance
from storagekit.simulation.provisioning import Roomed, rungs, with_room
from storagekit.simulation.quantiles import from_times
from storagekit.simulation.run_length import extent
from storagekit.simulation.shards import run
from storagekit.simulation.standard_measures import beside
from storagekit.workload import recorded, wrapped
from storagekit.workload.trace import RequestTrace

PARTS = ("seek", "rotation", "transfer")


def replay(
    trace: RequestTrace, system: System, *, scale: float = 1.0, seed: int = 0, measures: Sequence[Measure] = (),
    depth: int | None = None,
) -> xr.Dataset:  # fmt: skip
    """Simulate the requests of a trace on a system, at the trace's times divided by `scale`, or in a closed loop.

    Requests may wait for a slot. Such requests are counted in `held_up`. A system without `slots` is simulated with 64,
    then 256, then 1,024 slots until no request waits.

    Parameters
    ----------
    trace : RequestTrace
        The trace.
    system : System
        The system.
    scale : float
        Factor by which the trace runs faster than it was recorded, by default 1.
    seed : int
        Seed of the phases of the spindles, by default 0.
    measures : sequence of Measure
        Measures in addition to the standard measures.
    depth : int, optional
        Number of outstanding requests of a closed loop: the next request of the trace arrives when a request completes.
        By default the requests arrive at the times of the trace.

    Returns
    -------
    Dataset
        The measures of `simulate` over the whole trace. For each request (dimension `request`) there are also its
        `response_time`, and `read`, which is true for a read. The quantiles of the response time (dimension
        `quantile`) are exact and include the first request. `wrapped` is the share of the requests whose addresses wrap
        around at the end of the system. The attributes `busiest_brick` and `bottleneck` name the busiest brick and the
        largest part of the access time.

    Raises
    ------
    InputError
        If the arguments are not a trace and a system.

    Examples
    --------
    >>> import storagekit as sk
    >>> trace = sk.read_trace(sk.resources.data_path("samples", "small.spc"))
    >>> drives = sk.System(sk.load_drive("atlas10k"), sk.placement.Replicas(2), sk.dispatch.Hashing(), sk.schedule.SATF())
    >>> seen = sk.replay(trace, drives)
    >>> slow = seen.response_quantile.sel(quantile=0.99)
    >>> f"{float(seen.response) / sk.units.MS:.0f} ms on average, 99% within {float(slow) / sk.units.MS:.0f} ms"
    '11 ms on average, 99% within 29 ms'
    """
    order = "; the arguments of replay are a trace and a system, in this order"
    instance_of(RequestTrace, f'a trace, such as sk.read_trace("trace.spc"){order}')("the trace of a replay", trace)
    instance_of(System, f"a System(...){order}")("the system of a replay", system)
    capacity = int(system.placement.capacity(system.drive))
    scenario = Scenario(system, recorded(trace, capacity, scale, depth=depth))
    asked = beside(measures)
    began = time.perf_counter()
    (data, _), _ = with_room(lambda some: _once(some[0], trace, seed, asked), [scenario], rungs([scenario]))
    data["wrapped"] = ((), wrapped(trace, capacity), {"units": "1"})
    data.attrs = provenance([scenario], {}, [seed], extent(len(trace), None, 0).told, time.perf_counter() - began) | {
        "basis": "trace",
        "trace": trace.source.name,
        "scale": float(scale),
        "depth": depth or 0,
        "busiest_brick": int(np.argmax(data.utilization.values)),
        "bottleneck": max(PARTS, key=lambda part: float(data[part])),
    }
    return data


def _once(
    scenario: Scenario, trace: RequestTrace, seed: int, measures: Sequence[Measure]
) -> Roomed:  # fmt: skip
    record = Record(sums_of(measures), ResponseLog())
    outcome = run(scenario, keys([seed])[:, 0], len(trace), record, "replaying")
    bricks = int(scenario.system.placement.drives)
    one_lane = {name: total[:, None] for name, total in counted(outcome.tally, 0).items()}
    data = measured(one_lane, np.asarray([bricks]), measures)
    data = data.isel(lane=0).isel(brick=slice(0, bricks))
    response, waited_for = _by_request(outcome.log, len(trace))
    data["response_time"] = ("request", response, {"units": "s", "long_name": "response time of each request"})
    data["read"] = ("request", trace.read, {"long_name": "whether a request is a read"})
    return Roomed(data.merge(from_times(response[waited_for], trace.read[waited_for])), float(data.held_up))


def _by_request(log: Any, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the response times in the order of the requests, and a mask of the requests for which a client waits."""
    answered = log.number != NO_REQUEST
    response, waited_for = np.full(count, np.nan), np.zeros(count, bool)
    response[log.number[answered]] = log.response[answered]
    waited_for[log.number[answered]] = ~log.asynchronous[answered]
    return response, waited_for
