"""The systems of sections 5.1.2 and 5.2: bricks with memory, some of them slower, and a trace that is run through them."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from storagekit.cache import BrickLRU
from storagekit.core.errors import InputError
from storagekit.core.resources import real_traces
from storagekit.core.units import KB, MB, SECTOR
from storagekit.dispatch import DSPTF, LARD, DispatchSwitch, Hashing, WeightedHashing, central
from storagekit.drive import load_drive
from storagekit.engine import Scenario, System
from storagekit.faults import FaultSchedule, Slowdown
from storagekit.papers.dsptf.brick_group import JUDGED, KEYS, LATENCY, READINGS
from storagekit.papers.rows import NONE_OWN, Own
from storagekit.placement import Declustered
from storagekit.schedule import SATF
from storagekit.workload import RecordedArrivals, recorded
from storagekit.workload.synthetic import CELLO2002, FINANCIAL, SAP, WEBSEARCH, PopularTraceModel, generate
from storagekit.workload.trace import RequestTrace, read
from storagekit.write import WriteSwitch

# Table 2 prints a read share of 85% for Financial. Its number of requests and its 12 hours are those of the public
# Financial1, of which 23% are reads. Section 5.2.1 speaks of its long queues, and 85% leaves queues short. So the share of
# the public trace is judged. WebSearch has the number of requests of the public WebSearch2 (99.98% reads, 90% in table 2);
# nothing in the paper contradicts its 90%.
FINANCIAL1_READS = 0.23
TRACES: dict[str, PopularTraceModel] = {
    "sap": SAP,
    "cello2002": CELLO2002,
    "websearch": WEBSEARCH,
    "financial": replace(FINANCIAL, read_share=FINANCIAL1_READS),
}
# Financial with the read share of table 2, shown beside it
AS_PRINTED = "financial, 85% reads"
MODELS = TRACES | {AS_PRINTED: FINANCIAL}
# whole files of the UMass Trace Repository with the request counts of table 2; others of the four are not public
NAMES = tuple(KEYS.values())
BRICK_MEMORY = 512 * MB
# requests are addressed, hashed and kept together by stretches that none of them crosses
UNIT = 64 * KB // SECTOR
# a slot for each write on its way to disk and each read that waits: mostly few do, and beyond the most more only wait outside
SLOTS = (32, 128)
# of LARD's table: few enough that a warm-up of the quick profile asks for nearly all of them
TARGETS = 1024
SLOW = 1
HALF = 0.5
# What half the speed may mean: the parts of an access that take twice as long. Section 5.2.1 sends two of three requests to
# the fast brick, so all of an access takes twice as long in table 4 and figure 7 (`TWICE`). Section 5.2.2 has a degradation
# by 50%, so an access takes half as long again in figure 8 (`DEGRADATION`), although its caption halves the performance.
TWICE, DEGRADATION = "service", "degraded"
SLOWNESS: Mapping[str, dict[str, float]] = {
    TWICE: {"seeking": 1.0, "turning": 1.0},
    "rotation": {"seeking": 0.0, "turning": 1.0},
    "seek": {"seeking": 1.0, "turning": 0.0},
    DEGRADATION: {"seeking": 1.0, "turning": 1.0},
}

# the other meanings for the bricks of figure 8
MEANINGS = (TWICE, "rotation", "seek")
SYSTEMS = ("equal", "slow", "changing")
# The paper has one simulator: a write completes in the traces when it completes in the loops. The other reading, by which a
# write completes as soon as it is in every NVRAM (section 3), is shown beside it.
COMPLETIONS = (JUDGED, "at once")
# of the run: LARD's windows beside that of its paper, and thresholds that the load of these traces can reach
LARD_WINDOWS = (1 / 40, 1 / 10)
LARD_LOW, LARD_HIGH = 0.75, 1.0


def pace(slowness: str, speed: float) -> float:
    """What speed those parts have that are slow in a brick said to have `speed` of another's, by one meaning of that
    (`SLOWNESS`): a degradation by 1 - speed makes an access take 2 - speed times as long."""
    return 1 / (2 - speed) if slowness == DEGRADATION else speed


class Source(NamedTuple):
    """A trace to run: its requests, what it was scaled by, and whether they are real."""

    trace: RequestTrace
    scale: float
    basis: str


class Setting(NamedTuple):
    """One run: the scheme, when which brick is slow, and LARD's state before the run, window (s) and thresholds.

    allocated: the share of LARD's targets that are allocated at random before the run; 0, and each goes to the least loaded
    brick when first asked for, as section 5.2.1 has it; 1 in section 5.2.2 (footnote 3). slowness: what slow means, one of
    `SLOWNESS`; the speed of slowdowns is its `pace`. completion: when a write completes, one of `COMPLETIONS`.
    """

    scheme: str
    slowdowns: tuple[Slowdown, Slowdown] = (Slowdown(0, 1.0), Slowdown(1, 1.0))
    allocated: float = 0.0
    window: float = 0.0
    low: float = 25.0
    high: float = 65.0
    slowness: str = DEGRADATION
    completion: str = JUDGED


def settings(
    requests: int, duration: float, systems: Sequence[str] = SYSTEMS, schemes: Sequence[str] = NAMES
) -> dict[str, Setting]:
    """The runs of one trace, by name: equal bricks, one slow, and changing ones, these with LARD's windows too.

    systems: those of `SYSTEMS` to run, or beginnings of the runs' names. schemes: those to run. Raises InputError where
    there are no such.
    """
    quarter = requests // 4

    def slowdowns(system: str, slowness: str) -> tuple[Slowdown, Slowdown]:
        speed = pace(slowness, HALF)
        if system == "changing":
            return Slowdown(0, speed, quarter, 2 * quarter), Slowdown(1, speed, 3 * quarter)
        return Slowdown(0, 1.0), Slowdown(SLOW, speed if system == "slow" else 1.0)

    # section 5.2.2 has warmed LARD up before the brick changes, section 5.2.1 has not
    runs = {}
    for system in SYSTEMS:
        slowness = TWICE if system == "slow" else DEGRADATION
        for scheme in schemes:
            before = float(system != "slow")
            runs[f"{system}: {scheme}"] = Setting(scheme, slowdowns(system, slowness), before, slowness=slowness)
    for scheme in schemes:
        runs[f"slow, degraded: {scheme}"] = Setting(scheme, slowdowns("slow", DEGRADATION))
    for slowness in MEANINGS:
        for scheme in ("D-SPTF", "Hashing", "LARD") if slowness == TWICE else ("D-SPTF", "Hashing"):
            changing = slowdowns("changing", slowness)
            runs[f"changing, {slowness}: {scheme}"] = Setting(scheme, changing, 1.0, slowness=slowness)
    for system in SYSTEMS:
        for scheme in schemes:
            if scheme in ("D-SPTF", "Hashing", "LARD"):
                judged = runs[f"{system}: {scheme}"]
                runs[f"{system}, at once: {scheme}"] = judged._replace(completion="at once")
    for ending, slowness in (("", DEGRADATION), (f", {TWICE}", TWICE)):
        for window in LARD_WINDOWS:
            runs[f"changing{ending}: LARD, {window:.3g} of the run"] = Setting(
                "LARD", slowdowns("changing", slowness), 1.0, window * duration, LARD_LOW, LARD_HIGH, slowness
            )
    chosen = {name: run for name, run in runs.items() if name.startswith(tuple(systems)) and run.scheme in schemes}
    if not chosen:
        raise InputError(f"systems {', '.join(systems) or 'none'}: no runs; some of {', '.join(SYSTEMS)}")
    return chosen


def source(name: str, requests: int, seed: int = 0, folder: str | Path = "", together: bool = False) -> Source:
    """A trace of section 5.1.1: the whole real file where the folder of real traces has it, else its stand-in, scaled to so
    many requests (0 for its full length).

    together: a stand-in whose popular data lies side by side, instead of all over the LUNs. Raises InputError where there is
    no trace of that name.
    """
    if name not in MODELS:
        raise InputError(f"trace {name!r}: unknown; it is one of {', '.join(MODELS)}")
    lying = real_traces("dsptf", folder)
    if name in lying:
        return Source(read(lying[name]).concatenated(), 1.0, "trace")
    return Source(*stand_in(name, requests, seed, together), "stand-in")


def model_of(name: str, requests: int, together: bool = False) -> PopularTraceModel:
    """The stand-in of a trace, scaled to so many requests (0 for its full length)."""
    whole = replace(MODELS[name], together=together)
    return whole.scaled(requests / whole.requests) if requests else whole


@lru_cache(maxsize=4)
def stand_in(name: str, requests: int, seed: int, together: bool) -> tuple[RequestTrace, float]:
    """A stand-in of so many requests (0 for its full length), its LUNs end to end, and its scale."""
    model = model_of(name, requests, together)
    return generate(model, seed=seed).concatenated(model.capacity), model.scale


def dispatcher(setting: Setting, bricks: int, speed: float = HALF, own: Own = NONE_OWN) -> DispatchSwitch:
    """The schemes as one dispatcher that is a number. own: further ones by name.

    speed: what the slow one of two bricks is said to have of the other's. Weighted hashing sends to the two in proportion to
    the speed that slow parts have (`pace`; section 5.2.1: two thirds and one third at half the speed); of more bricks each
    gets as much. Raises InputError for a scheme that is none of `NAMES` and of one's own.
    """
    names = (*NAMES, *own)
    if setting.scheme not in names:
        raise InputError(f"scheme {setting.scheme!r}: unknown; it is one of {', '.join(names)}")
    weighted = WeightedHashing([1 / pace(setting.slowness, speed), 1.0] if bricks == 2 else [1.0] * bricks)
    lard = LARD(setting.low, setting.high, setting.allocated, setting.window, targets=TARGETS)
    papers = (central(), DSPTF(LATENCY), Hashing(), lard, weighted)
    return DispatchSwitch((*papers, *own.values()), names.index(setting.scheme))


class TraceSystem(NamedTuple):
    """A system for a trace. memory: bytes of each brick at full scale. own: schemes beside the paper's, by name."""

    bricks: int = 2
    replicas: int = 2
    memory: float = BRICK_MEMORY
    own: Own = NONE_OWN

    def arrivals(self, given: Source) -> RecordedArrivals:
        """The trace as this system sees it."""
        return recorded(given.trace, self._sectors(given), unit=UNIT)

    def cache(self, scheme: str, given: Source) -> BrickLRU:
        """Memory as large for this trace as `memory` is for the published one."""
        memory = self.memory * given.scale
        # rounded up, so that traces of one length share a compilation although they were scaled by different factors
        sets = 2 ** math.ceil(math.log2(BrickLRU.sized(memory, bricks=self.bricks).sets))
        return BrickLRU(memory, bricks=self.bricks, sets=sets, central=int(scheme == "Central SPTF"))

    def scenario(self, setting: Setting, given: Source, arrivals: RecordedArrivals) -> Scenario:
        """One run. Those of a trace share their `arrivals`, and those of traces as long as one another a compilation."""
        system = System(
            load_drive("atlas10k"),
            Declustered(self.bricks, self.replicas, data=self._sectors(given)),
            dispatcher(setting, self.bricks, own=self.own),
            SATF(),
            WriteSwitch([READINGS[one] for one in COMPLETIONS], COMPLETIONS.index(setting.completion)),
            cache=self.cache(setting.scheme, given),
            condition=FaultSchedule(*setting.slowdowns, **SLOWNESS[setting.slowness]),
            drives=self.bricks,
        )
        return Scenario(system, arrivals)

    def _sectors(self, given: Source) -> int:
        return (int(given.trace.ends()[0]) // SECTOR // UNIT + 2) * UNIT
