"""Traces on two bricks with memory: figures 6 to 8, and the findings on their claims. Times are in seconds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import xarray as xr

from storagekit.cache import BrickLRU, blocks_held
from storagekit.core.units import MS
from storagekit.engine import State
from storagekit.papers.dsptf.bricks import (
    LARD_WINDOWS,
    NAMES,
    SLOTS,
    SYSTEMS,
    Setting,
    Source,
    TraceSystem,
    settings,
    source,
)
from storagekit.papers.dsptf.claims import FIG8, FIG8_MISSED, FIG8_RATIOS
from storagekit.papers.dsptf.samples import GAPS, bunched
from storagekit.papers.effort import Effort, of_profile
from storagekit.papers.measurement import Measurement, with_interval
from storagekit.papers.rows import Row, chosen
from storagekit.simulation import History, history, ratio

PIECES = 40
PAIR = TraceSystem()
LOCAL, REST = ("sap", "financial"), ("websearch", "cello2002")
STAND_IN = (
    "The trace is synthetic. It matches table 2 (but Financial has 23% reads) and the hit rate of Central SPTF in "
    "table 3. It has Poisson arrivals (but Financial has the gaps between arrivals of a public sample), and popular "
    "data are scattered over the LUNs. The interval is over runs of one synthetic trace with different phases of the "
    "spindles. A write completes when the receiving brick has it on disk. We chose this interpretation by comparison "
    "with table 1."
)
BALANCED = ("LARD", "Weighted hash")
WINDOWED = f"LARD, {LARD_WINDOWS[-1]:.3g} of the run"
MEAN_GAIN = "the mean response time of hashing and LARD, divided by the response time of D-SPTF,"
WAIT = "An idle brick waits for claims at most for its rotational latency, so some reads are served twice."
# Quarters of the run without a slow brick, and with one, as fractions of the run.
SPANS = {"normal": [(0.0, 0.25), (0.5, 0.75)], "degraded": [(0.25, 0.5), (0.75, 1.0)]}
# Largest relative differences that count as "close" and as "near".
CLOSE, NEAR = 0.05, 0.15


@dataclass(frozen=True, kw_only=True)
class TraceEffort(Effort):
    """Number and length of the runs of traces.

    Parameters
    ----------
    seeds : int
        Number of runs of each setting, by default 4. The runs differ in the phases of the spindles. All spindles have
        the same speed, so the phase difference of two spindles is constant during a run. This difference decides how
        often each of the two disks is nearer to the data.
    requests : int
        Number of requests of each synthetic trace, by default 2^14; 0 for its full length.
    requests_on_32_bricks : int
        Number of requests of each synthetic trace on the 32 bricks of table 3, by default 2^14. The full profile has fewer
        of them than of `requests`, because a request on 32 bricks takes more time to simulate.
    first_seed : int
        The first of the seeds, by default 0. It is also the seed of the synthetic traces.
    """

    seeds: int = 4
    requests: int = 2**14
    requests_on_32_bricks: int = 2**14


QUICK = TraceEffort()


def trace_effort(profile: str, first_seed: int = 0) -> TraceEffort:
    """Return the number and length of the runs of traces for a profile, "quick" or "full".

    Parameters
    ----------
    profile : str
        "quick" or "full".
    first_seed : int
        The first of the seeds, by default 0.

    Returns
    -------
    TraceEffort
        Number and length of the runs for the profile, with `first_seed`.

    Raises
    ------
    InputError
        If the profile is unknown.
    """
    return of_profile(
        profile, {"quick": QUICK, "full": TraceEffort(requests=2**19, requests_on_32_bricks=2**17)}, first_seed
    )


def replays(
    effort: TraceEffort = QUICK,
    *,
    trace: str = "sap",
    folder: str | Path = "",
    system: TraceSystem = PAIR,
    pieces: int = PIECES,
    together: bool = False,
    gaps: str | None = None,
    systems: Sequence[str] = SYSTEMS,
    scheme: Sequence[Row] = NAMES,
) -> History:
    """Run a trace on two bricks under every scheme, with equal, unequal and changing bricks (figures 6, 7 and 8).

    The runs have no warm-up: as in the paper, memories are empty at first.

    Parameters
    ----------
    effort : TraceEffort
        Number and length of the runs.
    trace : str
        A name of `bricks.MODELS`.
    folder : path
        Folder of real traces.
    system : TraceSystem
        The bricks.
    pieces : int
        Number of equal pieces of the run, which are measured separately; by default 40.
    together : bool
        Whether the popular data of a synthetic trace is contiguous, by default false.
    gaps : str, optional
        The public sample that supplies the gaps between arrivals of a synthetic trace, "" for Poisson arrivals. The
        default is the sample of the same name as the trace, if it exists (`GAPS`).
    systems : sequence of str
        Names of `SYSTEMS`, or beginnings of the names of runs.
    scheme : sequence
        Names of schemes, and pairs of a name and a dispatcher of your own.

    Returns
    -------
    History
        Measures over `run`, with coordinates `system` and `scheme`. An access of the slow brick takes twice as long in
        the systems "slow" and "changing, service". It takes 1.5 times as long in "changing" and "slow, degraded". In
        "changing, rotation" and "changing, seek" only the rotation or only the seek takes twice as long. In "equal, at
        once", "slow, at once" and "changing, at once" a write completes as soon as it is in every NVRAM. Attribute
        `duplicates`: the number of blocks that are in the memories of two bricks at the end.

    Raises
    ------
    InputError
        If the trace or a scheme is unknown, or there are no runs for `systems`.
    """
    given = source(trace, effort.requests, effort.first_seed, folder, together)
    sample = GAPS.get(trace, "") if gaps is None else gaps
    if sample and given.basis == "stand-in":
        given = bunched(given, sample, effort.first_seed)
    names, own = chosen(scheme, NAMES)
    runs = settings(len(given.trace), seconds(given), systems, names)
    return through(given, system._replace(own=own), runs, trace, effort.seed_list, pieces)


def through(
    given: Source, system: TraceSystem, runs: dict[str, Setting], name: str, seeds: Sequence[int], pieces: int = PIECES
) -> History:
    """Run a trace on a system under each of the settings; see `replays`.

    Parameters
    ----------
    given : Source
        The trace.
    system : TraceSystem
        The system.
    runs : dict of str to Setting
        The settings by name.
    name : str
        Name of the trace.
    seeds : sequence of int
        Seeds of the runs of each setting.
    pieces : int
        Number of equal pieces of the run, which are measured separately; by default 40.

    Returns
    -------
    History
        As for `replays`.
    """
    arrivals = system.arrivals(given)
    twice: list[int] = []

    def look(state: State, elements: np.ndarray) -> None:
        schemes = [run.scheme for run in runs.values()]
        for index, element in enumerate(elements):
            twice.append(duplicates(system.cache(schemes[element // len(seeds)], given), state, index))

    found = history(
        lambda run: system.scenario(runs[run], given, arrivals),
        {"run": list(runs)},
        requests=len(given.trace),
        seeds=seeds,
        pieces=pieces,
        at_end=look,
        title=name,
        slots=SLOTS,
    )
    coords = {
        "system": ("run", [run.split(": ", 1)[0] for run in runs]),
        "scheme": ("run", [run.split(": ", 1)[-1] for run in runs]),
    }
    attrs = {"paper": "dsptf", "trace": name, "basis": given.basis, "scale": given.scale, "duplicates": sum(twice)}
    return History(*(data.assign_coords(coords).assign_attrs(attrs) for data in found))


def missed(data: xr.Dataset) -> xr.DataArray:
    """Return the mean response time of the reads that miss in memory, if hits complete in no time.

    Parameters
    ----------
    data : Dataset
        Measures with `read_response`, seconds, and `hit_rate`.

    Returns
    -------
    DataArray
        The response time, seconds.

    Notes
    -----
    The response time of the paper may be the mean over all requests, or the mean over reads that miss. This function
    returns the mean over reads that miss. This mean does not depend on writes, on hits, or on the hit rate of a scheme:

        read_response / (1 - hit_rate)
    """
    return (data.read_response / (1 - data.hit_rate)).assign_attrs(units="s", long_name="response time of missed reads")


def duplicates(cache: BrickLRU, state: State, run: int) -> int:
    """Return the number of blocks that are in the memories of more than one brick, in one run of a batch.

    Parameters
    ----------
    cache : BrickLRU
        The memory of the bricks.
    state : State
        State of a batch of runs.
    run : int
        Number of the run in the batch.
    """
    held = np.concatenate(blocks_held(cache, state.cache, run))
    return len(held) - len(np.unique(held))


def seconds(given: Source) -> float:
    """Return the time in seconds between the first and the last arrival of a trace."""
    return float(given.trace.time[-1] - given.trace.time[0])


def time_over(time: xr.DataArray, one: str, other: str) -> float:
    """Return the mean over the seeds of the response time of one scheme divided by the response time of another."""
    return float((time.sel(scheme=one) / time.sel(scheme=other)).mean("seed"))


def replay_findings(
    histories: Mapping[str, History],
    local: Mapping[str, History] | None = None,
    printed: History | None = None,
) -> list[Measurement]:
    """Return the findings on the claims of figures 6, 7 and 8.

    Parameters
    ----------
    histories : mapping of str to History
        Results of `replays` by trace, for all traces.
    local : mapping of str to History, optional
        Results of `replays` for SAP and Financial with contiguous popular data, for the claims of figure 8 on missed
        reads, and for the notes.
    printed : History, optional
        Result of `replays` for Financial with the read share of table 2, for the notes.

    Returns
    -------
    list of Measurement
        One finding for each claim of the three figures. Without `local`, the findings on `dsptf.fig8.missed` are
        missing.

    Notes
    -----
    The verdicts use the mean response time of all requests. Only the verdicts of the claims on missed reads use the
    response time of missed reads (`missed`). The notes give both times.
    """
    local = local or {}
    equal = {name: _by_scheme(found.whole, "equal") for name, found in histories.items()}
    slow, degraded = (
        {name: _by_scheme(found.whole, system) for name, found in histories.items()}
        for system in ("slow", "slow, degraded")
    )
    real = all(found.whole.attrs["basis"] == "trace" for found in histories.values())
    basis, said = ("trace", "") if real else ("stand-in", f" {STAND_IN}")
    if local:
        said += f" With contiguous popular data, {MEAN_GAIN} is: {_gains(local, 'equal')}."
    at_once = {
        system: f" If writes complete immediately, {MEAN_GAIN} is: {_gains(histories, f'{system}, at once')}."
        for system in ("equal", "slow")
    }
    return [
        *_fig6(equal, basis, at_once["equal"] + said + _printed(printed, "equal")),
        *_fig7(slow, degraded, basis, at_once["slow"] + said + _printed(printed, "slow")),
        *_fig8(histories["sap"], local.get("sap"), basis, said),
        *(_fig8_missed(local["sap"], basis) if "sap" in local else []),
    ]


def _gains(histories: Mapping[str, History], system: str) -> str:
    """Return a phrase with the mean time of hashing and LARD divided by the time of D-SPTF, for each trace."""
    times = {name: _by_scheme(found.whole, system).response for name, found in histories.items()}
    return _listed({name: _mean(_gain(time)) for name, time in times.items()})


def _printed(found: History | None, system: str) -> str:
    """Return a sentence with the time of each scheme divided by the time of D-SPTF, on Financial with 85% reads."""
    if found is None:
        return ""
    time = _by_scheme(found.whole, system).response
    over = {scheme: time_over(time, scheme, "D-SPTF") for scheme in ("Hashing", *BALANCED)}
    return (
        " With the 85% reads that table 2 prints for Financial, the response times of the schemes divided by the "
        f"response time of D-SPTF are: {_listed(over)}."
    )


def _fig6(times: Mapping[str, xr.Dataset], basis: str, said: str) -> list[Measurement]:
    over = {name: time_over(time.response, "D-SPTF", "Central SPTF") for name, time in times.items()}
    alone = {name: time_over(time.missed, "D-SPTF", "Central SPTF") for name, time in times.items()}
    gains = {name: _gain(time.response) for name, time in times.items()}
    each = _listed({name: _mean(gain) for name, gain in gains.items()})
    each += ". For reads that miss in memory, the ratio is: "
    each += _listed({name: _mean(_gain(time.missed)) for name, time in times.items()})
    sap = times["sap"]
    both = ratio(sap.response.sel(scheme="D-SPTF"), sap.response.sel(scheme="Hashing"))
    missed_only = time_over(sap.missed, "D-SPTF", "Hashing")
    # The verdict of a claim on several traces follows from the trace that is farthest from the claim.
    local = min(LOCAL, key=lambda name: _mean(gains[name]))
    rest = max(REST, key=lambda name: abs(_mean(gains[name]) - 1.2))
    return [
        Measurement(
            "dsptf.fig6.match",
            all(value <= 1.02 for value in over.values()),
            basis=basis,
            note="The claim holds if the response time of D-SPTF divided by the response time of Central SPTF is at "
            f"most 1.02 on every trace. The ratio is: {_listed(over, 3)}. For reads that miss in memory, the ratio is: "
            f"{_listed(alone, 3)}. D-SPTF can be slower for three reasons. {WAIT} A read that hits in the memory of "
            "another brick needs a message. If several bricks have read different parts of the data, no brick has all "
            "of the data in memory.",
        ),
        with_interval(
            "dsptf.fig6.sap",
            both,
            "The value is the response time of D-SPTF divided by the response time of hashing on SAP. For reads that "
            f"miss in memory, the ratio is {missed_only:.2f}. The paper also gives a gain of 35 to 50% for this trace; "
            f"see the claim dsptf.fig6.local.{said}",
            basis,
        ),
        with_interval(
            "dsptf.fig6.local",
            _interval(gains[local]),
            "The value is the mean response time of hashing and LARD, divided by the response time of D-SPTF. The "
            f"claim is on {' and '.join(LOCAL)}, and the value is for {local}, which has the smaller gain. On all "
            f"traces the ratio is: {each}.{said}",
            basis,
        ),
        with_interval(
            "dsptf.fig6.rest",
            _interval(gains[rest]),
            "The value is the mean response time of hashing and LARD, divided by the response time of D-SPTF. The "
            f"claim is on {' and '.join(REST)}, and the value is for {rest}, which is farther from the claim. On all "
            f"traces the ratio is: {each}.{said}",
            basis,
        ),
    ]


def _fig7(
    times: Mapping[str, xr.Dataset], degraded: Mapping[str, xr.Dataset], basis: str, said: str
) -> list[Measurement]:
    """Return the findings on figure 7.

    degraded: response times if an access of the slow brick takes 1.5 times as long, instead of twice as long.
    """
    others = [name for name in NAMES if name not in ("Central SPTF", "D-SPTF")]
    close, worst, shown = [], [], []
    for name, time in times.items():
        mean = time.response.mean("seed")
        best_other = float(mean.sel(scheme=others).min())
        near = time_over(time.response, "D-SPTF", "Central SPTF") <= 1 + CLOSE
        close.append(near and float(mean.sel(scheme="D-SPTF")) < best_other)
        worst.append(str(mean.idxmax("scheme").item()) == "Hashing")
        shown.append(f"{name} " + " ".join(f"{float(mean.sel(scheme=scheme)) / MS:.2f}" for scheme in NAMES))
    note = f"The mean response times in ms, in the order {', '.join(NAMES)}, are: {', '.join(shown)}."
    behind, behind_less = (
        {name: max(time_over(time.response, scheme, "D-SPTF") for scheme in BALANCED) for name, time in of.items()}
        for of in (times, degraded)
    )
    return [
        Measurement(
            "dsptf.fig7.close",
            all(close),
            basis=basis,
            note=f"The claim holds if on every trace the response time of D-SPTF is at most {CLOSE:.0%} longer than "
            f"the response time of Central SPTF, and shorter than the response times of all other schemes. {note}",
        ),
        Measurement(
            "dsptf.fig7.hash_worst",
            all(worst),
            basis=basis,
            note=f"The claim holds if hashing has the longest response time on every trace. {note}",
        ),
        Measurement(
            "dsptf.fig7.financial",
            behind["financial"] <= 1 + NEAR and behind["financial"] == min(behind.values()),
            basis=basis,
            note=f"The claim is on a ratio: the longer of the response times of {' and '.join(BALANCED)}, divided by "
            f"the response time of D-SPTF. The claim holds if the ratio on Financial is at most {1 + NEAR:g}, and "
            f"smaller than on the other traces. The ratios are: {_listed(behind)}. If accesses of the slow brick take "
            f"1.5 times as long, the ratios are: {_listed(behind_less)}.{said}",
        ),
    ]


def _fig8(found: History, local: History | None, basis: str, said: str) -> list[Measurement]:
    times, sooner = _changing(found, "changing"), _changing(found, "changing, at once")
    rows = []
    for claim, (state, scheme) in FIG8:
        quarters = _quarters(times, state).sel(scheme=scheme)
        alone = float(quarters.missed.mean()) / MS
        at_once = float(_quarters(sooner, state).response.sel(scheme=scheme).mean()) / MS
        beside = "" if local is None else _both(_changing(local, "changing"), state)
        near = f" With contiguous popular data, the mean over reads that miss in memory is: {beside}." if beside else ""
        text = (
            "The value is the mean response time of all requests. If writes complete immediately, it is "
            f"{at_once:.1f} ms. The mean over reads that miss in memory is {alone:.1f} ms.{near}{said}"
        )
        rows.append(with_interval(claim, _interval(quarters.response / MS), text, basis))
    for claim, (state,) in FIG8_RATIOS:
        note = f" {_meanings(found)}" if state == "degraded" else ""
        quarters, at_once = _quarters(times, state), _quarters(sooner, state).response
        text = (
            "The value is the response time of hashing divided by the response time of D-SPTF. "
            f"If writes complete immediately, the ratio is {time_over(at_once, 'Hashing', 'D-SPTF'):.2f}. For reads that "
            f"miss in memory, the ratio is {time_over(quarters.missed, 'Hashing', 'D-SPTF'):.2f}.{note}{said}"
        )
        gain = ratio(quarters.response.sel(scheme="Hashing"), quarters.response.sel(scheme="D-SPTF"))
        rows.append(with_interval(claim, gain, text, basis))
    return [*rows, _lard_window(times, _changing(found, "changing, service"), basis)]


def _fig8_missed(local: History, basis: str) -> list[Measurement]:
    """Return the findings on figure 8 for missed reads only, with contiguous popular data."""
    times = _changing(local, "changing")
    note = (
        "The value is the mean response time of reads that miss in memory, with contiguous popular data. The paper "
        "does not state which requests its response time covers, nor whether the popular data of its traces are "
        "contiguous."
    )
    return [
        with_interval(claim, _interval(_quarters(times, state).missed.sel(scheme=scheme) / MS), note, basis)
        for claim, (state, scheme) in FIG8_MISSED
    ]


def _meanings(found: History) -> str:
    """Return sentences with the response times in the quarters with a slow brick, for other meanings of "slow"."""
    half = _changing(found, "changing, service")
    late = _quarters(half, "degraded").response
    ours, hashed = (float(late.sel(scheme=scheme).mean()) / MS for scheme in ("D-SPTF", "Hashing"))
    all_of_it = f"D-SPTF {ours:.1f} ms, hashing {hashed:.1f} ms (ratio {hashed / ours:.2f})"
    shown = [
        f"If only the {name} takes twice as long, reads that miss in memory take: "
        f"{_both(_changing(found, f'changing, {name}'), 'degraded')}."
        for name in ("rotation", "seek")
    ]
    return (
        "Section 5.2.2 has a degradation by 50%, so every access of the slow brick takes 1.5 times as long in this "
        "simulation. The caption of the figure says that performance is halved. If a whole access takes twice as "
        f"long, the mean response time of all requests is: {all_of_it}. LARD then takes "
        f"{time_over(late, 'LARD', 'D-SPTF'):.2f} times as long as D-SPTF. {' '.join(shown)}"
    )


def _both(times: xr.Dataset, state: str) -> str:
    """Return a phrase: the mean response times of missed reads under D-SPTF and hashing in the quarters of a state."""
    mean = times.missed.sel(piece=_within(times, SPANS[state])).mean(["piece", "seed"]) / MS
    ours, hashed = (float(mean.sel(scheme=scheme)) for scheme in ("D-SPTF", "Hashing"))
    return f"D-SPTF {ours:.1f} ms, hashing {hashed:.1f} ms (ratio {hashed / ours:.2f})"


def _quarters(times: xr.Dataset, state: str) -> xr.Dataset:
    """Return the mean times over the quarters of a state, with or without a slow brick, by scheme and seed."""
    return times.sel(piece=_within(times, SPANS[state])).mean("piece")


def _changing(found: History, system: str) -> xr.Dataset:
    """Return the response times on a system by scheme, seed and piece of the run."""
    return _by_scheme(found.pieces, system)


def _lard_window(times: xr.Dataset, twice: xr.Dataset, basis: str) -> Measurement:
    """Return the finding whether LARD with a window reacts one window late to the start and the end of a degradation.

    twice: response times if accesses of a slow brick take twice as long, for the note.
    """
    never, late, then, after = _reaction(times)
    hits = times.hit_rate.mean(["seed", "piece"])
    others = ", ".join(f"{time:.2f}" for time in _reaction(twice)[1:])
    return Measurement(
        "dsptf.fig8.lard_window",
        abs(never - 1) < CLOSE and then < 1 - CLOSE and then < late and after > 1 + CLOSE,
        basis=basis,
        note="The claim holds under three conditions. During a degradation, LARD with the default thresholds performs "
        f"as hashing does, within {CLOSE:.0%}. Another version of LARD has the thresholds T_low 0.75 and T_high 1, "
        "which we chose, and uses the mean load over windows of a tenth of the run. After the first window of the "
        f"degradation, this version is more than {CLOSE:.0%} faster than LARD, and gains more than in the first "
        f"window. In the first window after the degradation, this version is more than {CLOSE:.0%} slower than LARD. "
        f"The response time of this version divided by the response time of LARD is {late:.2f} in the first window of "
        f"the degradation, {then:.2f} in the rest of the degradation, and {after:.2f} in the first window after the "
        f"degradation. The hit rate of this version is {float(hits.sel(scheme=WINDOWED)):.3f}, and the hit rate of "
        f"LARD is {float(hits.sel(scheme='LARD')):.3f}. If accesses of a slow brick take twice as long, the three "
        f"ratios are {others}, respectively.",
    )


def _reaction(times: xr.Dataset) -> tuple[float, float, float, float]:
    """Return four ratios of mean response times around the time when the first brick is slow.

    The first ratio is the time of LARD divided by the time of hashing, while the brick is slow. The other ratios are
    the time of LARD with the longer window divided by the time of LARD: in the first window of the slowdown, in the
    rest of the slowdown, and in the first window after the slowdown.
    """
    window, mean = LARD_WINDOWS[-1], times.response.mean("seed")

    def over(one: str, other: str, begin: float, end: float) -> float:
        pieces = _within(times, [(begin, end)])
        return float(mean.sel(scheme=one, piece=pieces).mean() / mean.sel(scheme=other, piece=pieces).mean())

    return (
        over("LARD", "Hashing", 0.25, 0.5),
        over(WINDOWED, "LARD", 0.25, 0.25 + window),
        over(WINDOWED, "LARD", 0.25 + window, 0.5),
        over(WINDOWED, "LARD", 0.5, 0.5 + window),
    )


def _by_scheme(data: xr.Dataset, system: str) -> xr.Dataset:
    """Return `response`, `missed` and `hit_rate` of the runs on one system, over `scheme` instead of `run`."""
    runs = data.isel(run=(data.system == system).values)
    times = xr.Dataset({"response": runs.response, "missed": missed(runs), "hit_rate": runs.hit_rate})
    return times.swap_dims(run="scheme").drop_vars("run")


def _gain(time: xr.DataArray) -> xr.DataArray:
    """Return the mean time of hashing and LARD divided by the time of D-SPTF, for each seed."""
    return time.sel(scheme=["Hashing", "LARD"]).mean("scheme") / time.sel(scheme="D-SPTF", drop=True)


def _interval(row: xr.DataArray) -> xr.DataArray:
    return ratio(row, xr.ones_like(row))


def _mean(row: xr.DataArray) -> float:
    return float(row.mean())


def _listed(values: Mapping[str, float], digits: int = 2) -> str:
    return ", ".join(f"{name} {value:.{digits}f}" for name, value in values.items())


def _within(times: xr.Dataset, spans: list[tuple[float, float]]) -> list[float]:
    """Return the pieces of the run whose middle is in one of the spans."""
    return [piece for piece in times.piece.values.tolist() if any(low < piece < high for low, high in spans)]
