"""Systems of sections 5.1.2 and 5.2: bricks with memory, of equal or unequal speed, and the traces that run on them."""

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
from storagekit.core.validation import one_of
from storagekit.dispatch import DSPTF, LARD, DispatchSwitch, Hashing, WeightedHashing, central
from storagekit.drive import load_drive
from storagekit.engine import Scenario, System
from storagekit.faults import FaultSchedule, Slowdown
from storagekit.papers.dsptf.brick_group import INTERPRETATIONS, JUDGED, LATENCY
from storagekit.papers.dsptf.claims import KEYS, SLOW
from storagekit.papers.rows import NONE_OWN, Own
from storagekit.placement import Declustered
from storagekit.schedule import SATF
from storagekit.workload import RecordedArrivals, recorded
from storagekit.workload.synthetic import CELLO2002, FINANCIAL, SAP, WEBSEARCH, PopularTraceModel, generate
from storagekit.workload.trace import RequestTrace, read
from storagekit.write import WriteSwitch

# Table 2 prints a read share of 85% for Financial. But its number of requests and its 12 hours equal the values of the public
# trace Financial1, which has 23% reads. Section 5.2.1 mentions the long queues of Financial, and with 85% reads the
# queues are short. The verdicts therefore follow from runs with 23% reads. WebSearch has the number of requests of the
# public trace WebSearch2, which has 99.98% reads. Table 2 prints 90% reads, and nothing in the paper contradicts this.
FINANCIAL1_READS = 0.23
TRACES: dict[str, PopularTraceModel] = {
    "sap": SAP,
    "cello2002": CELLO2002,
    "websearch": WEBSEARCH,
    "financial": replace(FINANCIAL, read_share=FINANCIAL1_READS),
}
# Financial with the read share of table 2, shown for comparison.
AS_PRINTED = "financial, 85% reads"
MODELS = TRACES | {AS_PRINTED: FINANCIAL}
NAMES = tuple(KEYS.values())
BRICK_MEMORY = 512 * MB
# Unit of the address hash, sectors. The data of a system is a whole number of units. No request of a synthetic trace
# crosses the boundary of a unit.
UNIT = 64 * KB // SECTOR
# Numbers of slots. A run is repeated with the second number if requests wait for a slot with the first number. A write
# that is not yet on disk has a slot, and so has a read that waits. Most runs need few slots. If even the second number
# is too small, requests wait outside the system.
SLOTS = (32, 128)
# Entries of LARD's table. They are few enough that the warm-up of the quick profile accesses nearly all of them.
TARGETS = 1024
HALF = 0.5
# Meanings of "half the speed", as the parts of an access that are slower. Section 5.2.1 sends two of three requests to
# the fast brick. In table 4 and figure 7 a whole access of the slow brick therefore takes twice as long (`TWICE`).
# Section 5.2.2 has a degradation by 50%. In figure 8 an access of the slow brick therefore takes 1.5 times as long
# (`DEGRADATION`), although the caption of the figure says that the performance is halved.
TWICE, DEGRADATION = "service", "degraded"
SLOWNESS: Mapping[str, dict[str, float]] = {
    TWICE: {"seeking": 1.0, "turning": 1.0},
    "rotation": {"seeking": 0.0, "turning": 1.0},
    "seek": {"seeking": 1.0, "turning": 0.0},
    DEGRADATION: {"seeking": 1.0, "turning": 1.0},
}

# Other meanings of a slow brick in figure 8.
MEANINGS = (TWICE, "rotation", "seek")
SYSTEMS = ("equal", "slow", "changing")
# Interpretations of the completion of a write. The paper has one simulator, so the first interpretation is the same as
# in the closed loops. The second is shown for comparison: a write completes as soon as it is in every NVRAM (section
# 3).
COMPLETIONS = (JUDGED, "at once")
# Windows of LARD in addition to window 0, as fractions of the run; and thresholds of LARD, in requests, that the load
# of these traces can reach.
LARD_WINDOWS = (1 / 40, 1 / 10)
LARD_LOW, LARD_HIGH = 0.75, 1.0


def pace(slowness: str, speed: float) -> float:
    """Return the speed at which a brick of a given nominal speed performs the slow parts of an access.

    Parameters
    ----------
    slowness : str
        What a nominal speed means, a name of `SLOWNESS`.
    speed : float
        Nominal speed of the brick, as a fraction of the normal speed.

    Returns
    -------
    float
        Speed of the slow parts, as a fraction of their normal speed.

    Notes
    -----
    The result is `speed`, unless the speed means a degradation. A degradation by 1 - speed makes an access take
    2 - speed times as long:

        pace = 1 / (2 - speed)
    """
    return 1 / (2 - speed) if slowness == DEGRADATION else speed


class Source(NamedTuple):
    """A trace to run.

    Parameters
    ----------
    trace : RequestTrace
        The requests.
    scale : float
        Size of the trace divided by the size of the published trace.
    basis : str
        "trace" for a real trace, "stand-in" for a synthetic trace.
    """

    trace: RequestTrace
    scale: float
    basis: str


class Setting(NamedTuple):
    """Setting of one run: the scheme, the slowdowns of the bricks, and the parameters of LARD.

    Parameters
    ----------
    scheme : str
        Name of the scheme.
    slowdowns : tuple of (Slowdown, Slowdown)
        Slowdowns of the bricks, by default none. The speed of a slowdown is a result of `pace`.
    allocated : float
        Fraction of LARD's targets that are assigned to a random brick before the run. With 0, the default, each target
        is assigned to the least loaded brick at its first request (section 5.2.1). Section 5.2.2 uses 1 (footnote 3).
    window : float
        Window of LARD, seconds, by default 0.
    low, high : float
        Lower and upper threshold of LARD, in requests, by default 25 and 65, respectively.
    slowness : str
        What "half the speed" of a slow brick means, a name of `SLOWNESS`, by default `DEGRADATION`.
    completion : str
        Interpretation of the completion of a write, one of `COMPLETIONS`, by default `JUDGED`.
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
    """Return the settings of the runs of one trace, by name of the run.

    The bricks are equal, or one brick is slow, or the speeds of the bricks change.

    Parameters
    ----------
    requests : int
        Number of requests of the trace.
    duration : float
        Length of the trace, seconds.
    systems : sequence of str
        Names of `SYSTEMS`, or beginnings of the names of runs.
    schemes : sequence of str
        Names of the schemes to run.

    Returns
    -------
    dict of str to Setting
        The settings. The runs with bricks whose speed changes include LARD with the windows `LARD_WINDOWS`.

    Raises
    ------
    InputError
        If there are no runs for these systems and schemes.
    """
    quarter = requests // 4

    def slowdowns(system: str, slowness: str) -> tuple[Slowdown, Slowdown]:
        speed = pace(slowness, HALF)
        if system == "changing":
            return Slowdown(0, speed, quarter, 2 * quarter), Slowdown(1, speed, 3 * quarter)
        return Slowdown(0, 1.0), Slowdown(SLOW, speed if system == "slow" else 1.0)

    # LARD is warm before the run in section 5.2.2, where the bricks change, but not in section 5.2.1.
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
        given = ", ".join(systems) or "none"
        raise InputError(f"There are no runs for the systems {given}. Give one or more of {', '.join(SYSTEMS)}.")
    return chosen


def source(name: str, requests: int, seed: int = 0, folder: str | Path = "", together: bool = False) -> Source:
    """Return a trace of section 5.1.1: the real file if the folder has it, otherwise a synthetic trace.

    Parameters
    ----------
    name : str
        A name of `MODELS`.
    requests : int
        Number of requests of a synthetic trace, 0 for its full length. A real file is used as a whole.
    seed : int
        Seed of a synthetic trace, by default 0.
    folder : path
        Folder of real traces, see `resources.real_traces`.
    together : bool
        Whether the popular data of a synthetic trace are contiguous. By default they are scattered over all LUNs.

    Returns
    -------
    Source
        The trace. Its addresses are global: the addresses of each device follow the addresses of the previous device.

    Raises
    ------
    InputError
        If the name is unknown.
    """
    one_of(*MODELS)("trace", name)
    lying = real_traces("dsptf", folder)
    if name in lying:
        return Source(read(lying[name]).concatenated(), 1.0, "trace")
    return Source(*stand_in(name, requests, seed, together), "stand-in")


def model_of(name: str, requests: int, together: bool = False) -> PopularTraceModel:
    """Return the model of a synthetic trace, scaled to a number of requests. With 0 it has its full length."""
    whole = replace(MODELS[name], together=together)
    return whole.scaled(requests / whole.requests) if requests else whole


@lru_cache(maxsize=4)
def stand_in(name: str, requests: int, seed: int, together: bool) -> tuple[RequestTrace, float]:
    """Return a synthetic trace and its scale. The addresses of each LUN follow the addresses of the previous LUN.

    Parameters
    ----------
    name, requests, seed, together
        As for `source`.
    """
    model = model_of(name, requests, together)
    return generate(model, seed=seed).concatenated(model.capacity), model.scale


def dispatcher(setting: Setting, bricks: int, speed: float = HALF, own: Own = NONE_OWN) -> DispatchSwitch:
    """Return the dispatcher of a setting: a switch over all schemes, with which all settings share a compiled program.

    Parameters
    ----------
    setting : Setting
        The setting.
    bricks : int
        Number of bricks.
    speed : float
        Nominal speed of the slow brick as a fraction of the speed of the other brick, by default 0.5. It is used only
        if there are two bricks.
    own : mapping of str to AbstractDispatch
        Further schemes by name, by default none.

    Returns
    -------
    DispatchSwitch
        The dispatcher.

    Raises
    ------
    InputError
        If the scheme is unknown.

    Notes
    -----
    With two bricks, weighted hashing distributes the requests in proportion to the speeds of the bricks, as `pace`
    returns them. If accesses of the slow brick take twice as long, the shares are two thirds and one third (section
    5.2.1). With any other number of bricks all weights are equal.
    """
    names = (*NAMES, *own)
    one_of(*names)("scheme", setting.scheme)
    weighted = WeightedHashing([1 / pace(setting.slowness, speed), 1.0] if bricks == 2 else [1.0] * bricks)
    lard = LARD(setting.low, setting.high, setting.allocated, setting.window, targets=TARGETS)
    papers = (central(), DSPTF(LATENCY), Hashing(), lard, weighted)
    return DispatchSwitch((*papers, *own.values()), names.index(setting.scheme))


class TraceSystem(NamedTuple):
    """A system that a trace runs on.

    Parameters
    ----------
    bricks : int
        Number of bricks, by default 2.
    replicas : int
        Number of copies of the data, by default 2.
    memory : float
        Memory of each brick for the published trace, bytes, by default 512 MB.
    own : mapping of str to AbstractDispatch
        Schemes in addition to the paper's, by name, by default none.
    """

    bricks: int = 2
    replicas: int = 2
    memory: float = BRICK_MEMORY
    own: Own = NONE_OWN

    def arrivals(self, given: Source) -> RecordedArrivals:
        """Return the arrivals of the trace on this system."""
        return recorded(given.trace, self._sectors(given), unit=UNIT)

    def cache(self, scheme: str, given: Source) -> BrickLRU:
        """Return the memory of the bricks under a scheme. The size of a memory is `memory`, scaled like the trace."""
        memory = self.memory * given.scale
        # Rounded up, so that traces of equal length share a compilation although their scales differ.
        sets = 2 ** math.ceil(math.log2(BrickLRU.sized(memory, bricks=self.bricks).sets))
        return BrickLRU(memory, bricks=self.bricks, sets=sets, central=int(scheme == "Central SPTF"))

    def scenario(self, setting: Setting, given: Source, arrivals: RecordedArrivals) -> Scenario:
        """Return the scenario of one run.

        The runs of one trace share their `arrivals`. The runs of traces of equal length share a compiled program.
        """
        system = System(
            load_drive("atlas10k"),
            Declustered(self.bricks, self.replicas, data=self._sectors(given)),
            dispatcher(setting, self.bricks, own=self.own),
            SATF(),
            WriteSwitch([INTERPRETATIONS[one] for one in COMPLETIONS], COMPLETIONS.index(setting.completion)),
            cache=self.cache(setting.scheme, given),
            faults=FaultSchedule(*setting.slowdowns, **SLOWNESS[setting.slowness]),
            drives=self.bricks,
        )
        return Scenario(system, arrivals)

    def _sectors(self, given: Source) -> int:
        return (int(given.trace.ends()[0]) // SECTOR // UNIT + 2) * UNIT
