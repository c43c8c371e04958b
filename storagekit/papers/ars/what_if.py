"""Simulation of four nodes of any speed under ARS, random selection, and a centralized distributor."""

import xarray as xr

from storagekit.core.validation import COUNT, require
from storagekit.dispatch import ARS, AbstractDispatch, Central, Randomized
from storagekit.drive import load_drive
from storagekit.engine import Scenario, System
from storagekit.faults import FaultSchedule, Slowdown
from storagekit.papers.ars.cluster import ADAPTIVE, CENTRAL, CLIENTS, RANDOMIZED, SIZE, mean_service
from storagekit.placement import Coded
from storagekit.schedule import FCFS
from storagekit.simulation.windows import windows
from storagekit.workload import ExponentialSize, PoissonArrivals, VolumeRequests

DRIVE, NODES = "atlas10k", 4
PROTOCOLS = (RANDOMIZED, ADAPTIVE, CENTRAL)
# Number of requests of a run, and number of intervals of its time series. Both are fixed, so that a call takes equally
# long at every arrival rate.
REQUESTS, LOOKS = 2000, 30
SEEDS = (0, 1, 2, 3)
SLOTS = 64


def what_if(
    speed_0: float, speed_1: float, speed_2: float, speed_3: float, needed: int, rate: float, window: float
) -> xr.Dataset:
    """Return response times and throughput of four nodes with one disk each, and the fraction of bytes of each node.

    The system is empty at the start of the run. All requests are reads. The data is as large as one disk.

    Parameters
    ----------
    speed_0, speed_1, speed_2, speed_3 : float
        Speed of each node relative to its disk, above 0 and at most 1.
    needed : int
        Number of the four fragments that a read needs; 1 for copies.
    rate : float
        Arrival rate, reads a second, above 0.
    window : float
        Window of ARS: time between two computations of the nodes' performance, seconds.

    Returns
    -------
    Dataset
        The run is divided into equal intervals of time; the coordinate `window` is the middle of each interval,
        seconds. Over `protocol` and `window`: `response`, the mean response time, seconds; `rate`, the throughput,
        reads a second. Over `protocol`, `window` and `brick`: `share`, the fraction of the bytes that the node
        transferred. Over `protocol`, from the last two thirds of the run: `mean_response`, the mean response time,
        seconds; `throughput`, reads a second.

    Raises
    ------
    InputError
        If a number is out of range.
    """
    speeds = (speed_0, speed_1, speed_2, speed_3)
    for node, speed in enumerate(speeds):
        require(0 < speed <= 1, "speed", speed, "above 0 and at most 1", f"of node {node}")
    require(rate > 0, "rate", rate, "above 0", "1/s")
    COUNT("fragments needed to read", needed)
    seconds = REQUESTS / rate
    found = windows(
        lambda protocol: _scenario(protocol, speeds, needed, rate, window),
        {"protocol": list(PROTOCOLS)},
        seconds=seconds,
        window=seconds / LOOKS,
        seeds=SEEDS,
    )
    service = found.service.sum(["stream", "seed"])
    # Sum over runs and streams, so that each run and stream is weighted by the number of its completions.
    completed, waits = (one.sum(["stream", "seed"]) for one in (found.rate, found.response * found.rate))
    late = {"window": slice(LOOKS // 3, None)}
    data = xr.Dataset({
        "share": (service / service.sum("brick")).assign_attrs(units="1", long_name="share of the transferred bytes"),
        "response": (waits / completed).assign_attrs(found.response.attrs),
        "rate": (completed / len(SEEDS)).assign_attrs(found.rate.attrs),
        "mean_response": (waits[late].sum("window") / completed[late].sum("window")).assign_attrs(found.response.attrs),
        "throughput": (completed[late].mean("window") / len(SEEDS)).assign_attrs(found.rate.attrs),
    })  # fmt: skip
    return data.assign_attrs(found.attrs, exhibit="ars.what_if", arrival_rate=rate)


def _scenario(protocol: str, speeds: tuple[float, ...], needed: int, rate: float, window: float) -> Scenario:
    drive = load_drive(DRIVE)
    system = System(
        drive,
        Coded(needed, NODES),
        _dispatch(protocol, speeds, drive.capacity // needed, window),
        FCFS(),
        faults=FaultSchedule(*(Slowdown(node, speed) for node, speed in enumerate(speeds))),
        slots=SLOTS,
    )
    requests = VolumeRequests(ExponentialSize(SIZE), 1.0, volumes=[drive.capacity], shares=[1.0], clients=CLIENTS)
    return Scenario(system, PoissonArrivals(requests, rate))


def _dispatch(protocol: str, speeds: tuple[float, ...], reach: int, window: float) -> AbstractDispatch:
    if protocol == RANDOMIZED:
        return Randomized()
    if protocol == ADAPTIVE:
        return ARS(clients=CLIENTS, window=window)
    alone = mean_service(DRIVE, reach)
    return Central(tuple(alone / speed for speed in speeds))
