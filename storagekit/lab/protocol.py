"""Choice of a protocol by simulation: the load, network latency, number of replicas and speed of a brick are given."""

from dataclasses import dataclass
from functools import lru_cache

import pandas as pd
import xarray as xr

from storagekit.charts import AnswerText, ChoiceControl, Dashboard, Slider, StepsControl
from storagekit.charts.live import FilledDashboard
from storagekit.core.units import KB, MS
from storagekit.dispatch import DSPTF, LARD, DispatchSwitch, Hashing, ShortestQueue
from storagekit.engine import Scenario, System
from storagekit.faults import FaultSchedule, Slowdown
from storagekit.lab.draw.protocols import PROTOCOLS, curves
from storagekit.lab.drives import drive_of
from storagekit.lab.page import LabPage
from storagekit.placement import Replicas
from storagekit.schedule import SATF
from storagekit.simulation import interval, sweep
from storagekit.workload import ClosedLoop, ExponentialSize, RandomRequests
from storagekit.write import AllCopies

_DRIVES = ("7,200 rpm, 18 TB (data sheet)", "Quantum Atlas 10K, 9 GB (1999)")
# Four protocols, five loads and six seeds are 120 runs, which are two nearly full batches of two CPU devices.
LOADS = (1, 2, 4, 8, 16)
SEEDS, REQUESTS = 6, 1000
# numbers of bricks and slots of the compiled programs, which also serve smaller systems
MOST_BRICKS, _SLOTS = 8, max(LOADS)


@dataclass(frozen=True)
class ComparedProtocols:
    """The measures of each protocol (`scheme`) at each load, as means with confidence intervals, and the inputs."""

    data: xr.Dataset
    load: int
    replicas: int
    speed: float


def scenario(
    scheme: str, load: int, *, drive: str, replicas: int, reads: float, latency: float, speed: float
) -> Scenario:
    """Return a closed loop of small requests to replicated bricks with equal drives; the first brick has the given speed.

    The structure of the scenario does not depend on the arguments. One compiled program therefore serves all values.
    """
    dispatchers = {
        "D-SPTF": DSPTF(latency),
        "shortest queue": ShortestQueue(MOST_BRICKS),
        "LARD": LARD(allocated=1.0),
        "hashing": Hashing(),
    }
    dispatch = DispatchSwitch(tuple(dispatchers.values()), list(dispatchers).index(scheme))
    system = System(
        drive_of(drive),
        Replicas(replicas),
        dispatch,
        SATF(),
        AllCopies(),
        faults=FaultSchedule(Slowdown(0, speed)),
        drives=MOST_BRICKS,
        slots=_SLOTS,
    )
    return Scenario(system, ClosedLoop(RandomRequests(ExponentialSize(4 * KB), reads), load))


@lru_cache(maxsize=256)
def over_load(drive: str, replicas: int, reads: float, latency: float, speed: float) -> xr.Dataset:
    """Simulate the four protocols at all loads. The result is cached."""

    def one(scheme: str, load: int) -> Scenario:
        return scenario(scheme, load, drive=drive, replicas=replicas, reads=reads, latency=latency, speed=speed)

    axes = {"scheme": list(PROTOCOLS), "load": list(LOADS)}
    found = sweep(one, axes, seeds=SEEDS, requests=REQUESTS, warm_up=REQUESTS // 4, allow_blocked=True)
    tail = found.response_quantile.sel(quantile=0.99, drop=True)
    return interval(found[["request_rate", "response"]].assign(tail=tail))


def answer(drive: str, replicas: int, load: int, reads: float, latency: float, speed: float) -> ComparedProtocols:
    """Return the comparison of the four protocols. reads, speed: percent. latency: milliseconds for one way."""
    found = over_load(drive, int(replicas), reads / 100, latency * MS, speed / 100)
    return ComparedProtocols(found, int(load), int(replicas), speed / 100)


def words(found: ComparedProtocols) -> AnswerText:
    """Return a text: the protocol with the highest throughput, and whether its lead over the second is significant."""
    here = found.data.sel(load=found.load)
    rate, response, tail = (here[name] for name in ("request_rate", "response", "tail"))
    mean = rate.sel(statistic="mean").to_series().sort_values(ascending=False)
    best, second = mean.index[:2]
    apart = float(rate.sel(scheme=best, statistic="low")) > float(rate.sel(scheme=second, statistic="high"))
    ahead = f"{mean.iloc[0] / mean.iloc[1] - 1:.0%} more than {second}"
    headline = (
        f"{best}: {mean.iloc[0]:,.0f} requests/s, {ahead}"
        if apart
        else f"{best} and {second}: no significant difference"
    )
    slow = f", one of them at {found.speed:.0%} of full speed" if found.speed < 1 else ""
    lines = [f"{found.load} requests outstanding on {found.replicas} bricks{slow}; 95% intervals over {SEEDS} runs."]
    table = pd.DataFrame(
        {
            "requests/s": mean.to_numpy(),
            "+-": [_half(rate.sel(scheme=name)) for name in mean.index],
            "mean response (ms)": [float(response.sel(scheme=name, statistic="mean")) / MS for name in mean.index],
            "99th percentile (ms)": [float(tail.sel(scheme=name, statistic="mean")) / MS for name in mean.index],
        },
        index=pd.Index(mean.index, name="protocol"),
    )
    return AnswerText(headline, lines, table)


def _half(summary: xr.DataArray) -> float:
    return float(summary.sel(statistic="high") - summary.sel(statistic="low")) / 2


def draw(found: ComparedProtocols) -> FilledDashboard:
    """Return the chart of throughput and the 99% response time against the load."""
    return curves(found.data, found.load)


def dashboard() -> Dashboard:
    """Return the interactive page with its controls, as a `Dashboard`."""
    controls = {
        "drive": ChoiceControl("Drive", {name: name for name in _DRIVES}, few=_DRIVES[:1]),
        "replicas": Slider("Replicas (one brick each)", 4, 2, MOST_BRICKS, few=[2, 4, 8]),
        "load": StepsControl("Requests outstanding", 8, LOADS),
        "reads": Slider("Reads (%)", 90, 0, 100, 5, few=[50, 90]),
        "latency": Slider("One-way latency (ms)", 0.05, 0, 3, 0.05, few=[0.05, 3]),
        "speed": Slider("Speed of one brick (%)", 100, 20, 100, 5, few=[50, 100]),
    }
    waiting = "Compiling the simulation: several seconds the first time, about a second after that."
    return Dashboard(answer, draw, controls, words, waiting)


PAGE = LabPage(
    "Choose a protocol",
    "Every brick has a copy of all data. The protocol selects the brick of a read by its address (hashing), by a "
    "table that follows the load (LARD), by the queue lengths, or by the positions of the heads (D-SPTF). Each point "
    "is the mean of six simulated runs.",
    dashboard,
)
