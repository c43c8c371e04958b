"""Traces through two bricks with memory and what they show: figures 6 to 8. Times in seconds."""

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
from storagekit.papers.dsptf.samples import GAPS, bunched
from storagekit.papers.effort import Effort, of_profile
from storagekit.papers.measurement import Measurement, with_interval
from storagekit.papers.rows import Row, chosen
from storagekit.simulation import History, history, ratio

PIECES = 40
PAIR = TraceSystem()
LOCAL, REST = ("sap", "financial"), ("websearch", "cello2002")
STAND_IN = (
    "synthetic trace: matched to table 2 (Financial: 23% reads) and to the Central column of table 3, Poisson arrivals "
    "(Financial: the gaps of a public sample), no locality in space; one draw of it, the interval is over the leads of "
    "spindles; writes complete as in table 1, by which that reading was chosen"
)
BALANCED = ("LARD", "Weighted hash")
WINDOWED = f"LARD, {LARD_WINDOWS[-1]:.3g} of the run"
WAIT = "an idle brick waits for claims no longer than its platter turns anyway, so that some reads are served twice"
# quarters of the run in which no brick is slow, and one is
NORMAL, DEGRADED = [(0.0, 0.25), (0.5, 0.75)], [(0.25, 0.5), (0.75, 1.0)]
# what "close" and "near" are taken to be
CLOSE, NEAR = 0.05, 0.15


@dataclass(frozen=True, kw_only=True)
class TraceEffort(Effort):
    """How much of the traces to run: requests of each (0 for all of it), and how often.

    seeds: runs of each setting, which differ in the phases of the spindles. Spindles turn at one speed, so that the lead of
    one over the other, which decides how often one of two is nearer, stays as it is throughout a run. wide: requests of each
    trace on the 32 bricks of table 3, where a request is more work. The stand-ins are drawn with the first seed.
    """

    seeds: int = 4
    requests: int = 2**15
    wide: int = 2**14


QUICK = TraceEffort()


def trace_effort(profile: str, first_seed: int = 0) -> TraceEffort:
    """The effort of a profile for traces."""
    return of_profile(profile, {"quick": QUICK, "full": TraceEffort(requests=2**19, wide=2**17)}, first_seed)


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
    schemes: Sequence[Row] = NAMES,
) -> History:
    """Run a trace through two bricks under every scheme and condition, all side by side (figures 6, 7 and 8).

    The whole run counts, as in the paper: memories are empty at first.

    Parameters
    ----------
    effort : TraceEffort
        How much of the trace to run, and how often.
    trace : str
        One of `bricks.MODELS`.
    folder : path
        The folder of real traces.
    system : Bricks
        The bricks.
    pieces : int
        Parts of the run that are measured apart.
    together : bool
        Whether the popular data of a synthetic trace lies side by side.
    gaps : str, optional
        The public sample whose gaps between arrivals a synthetic trace has, "" for Poisson arrivals. The default is that of
        the trace's own name, where there is one (`GAPS`).
    systems : sequence of str
        Those of `SYSTEMS` to run, or beginnings of the runs' names.
    schemes : sequence
        The schemes to run, and your own beside them, each a pair of a name and a dispatcher.

    Returns
    -------
    History
        Dimension `run`, with coordinates `system` and `scheme`. An access of the slow brick takes twice as long in the system
        "slow", and one of a changing brick 1.5 times in "changing"; "slow, degraded" and "changing, service" are the other
        way round. In "changing, rotation" and "changing, seek" only that part takes twice as long. In "equal, at once" and
        "changing, at once" writes complete at once. Attribute `duplicates`: blocks found in the memories of two bricks at the
        end.
    """
    given = source(trace, effort.requests, effort.first_seed, folder, together)
    sample = GAPS.get(trace, "") if gaps is None else gaps
    if sample and given.basis == "stand-in":
        given = bunched(given, sample, effort.first_seed)
    names, own = chosen(schemes, NAMES)
    runs = settings(len(given.trace), seconds(given), systems, names)
    return through(given, system._replace(own=own), runs, trace, effort.seed_list, pieces)


def through(
    given: Source, system: TraceSystem, runs: dict[str, Setting], name: str, seeds: Sequence[int], pieces: int = PIECES
) -> History:
    """A trace through a system under each of the settings, side by side; see `replays`."""
    arrivals = system.arrivals(given)
    twice: list[int] = []

    def look(state: State, lanes: np.ndarray) -> None:
        schemes = [run.scheme for run in runs.values()]
        for place, lane in enumerate(lanes):
            twice.append(duplicates(system.cache(schemes[lane // len(seeds)], given), state, place))

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
    """Return the mean response time of the reads that memory does not answer, as if it answered the others in no time.

    A second reading of the paper's client response time, beside the mean over all requests. It leaves out writes, hits, and
    that a scheme may hit less often.
    """
    return (data.read_response / (1 - data.hit_rate)).assign_attrs(units="s", long_name="response time of missed reads")


def duplicates(cache: BrickLRU, state: State, lane: int) -> int:
    """How many blocks are in the memory of more than one brick, in one lane of a state."""
    held = np.concatenate(blocks_held(cache, state.cache, lane))
    return len(held) - len(np.unique(held))


def seconds(given: Source) -> float:
    return float(given.trace.time[-1] - given.trace.time[0])


def time_over(time: xr.DataArray, one: str, other: str) -> float:
    return float((time.sel(scheme=one) / time.sel(scheme=other)).mean("seed"))


def replay_findings(
    histories: Mapping[str, History],
    local: Mapping[str, History] | None = None,
    printed: History | None = None,
) -> list[Measurement]:
    """Figures 6, 7 and 8 from the `replays` of all traces by name. Judged by the mean response time of all requests; notes
    give that of the reads that memory does not answer (`missed`).

    local: those of SAP and Financial with popular data side by side, for the rows of figure 8 that go by missed reads, and
    the notes. printed: Financial's with the read share of table 2, for the notes.
    """
    local = local or {}
    equal = {name: _by_scheme(found.whole, "equal") for name, found in histories.items()}
    slow, degraded = (
        {name: _by_scheme(found.whole, system) for name, found in histories.items()}
        for system in ("slow", "slow, degraded")
    )
    real = all(found.whole.attrs["basis"] == "trace" for found in histories.values())
    basis, said = ("trace", "") if real else ("stand-in", f"; {STAND_IN}")
    said += _near(local)
    return [
        *_fig6(equal, basis, _at_once(histories, "equal") + said + _printed(printed, "equal")),
        *_fig7(slow, degraded, basis, _at_once(histories, "slow") + said + _printed(printed, "slow")),
        *_fig8(histories["sap"], local.get("sap"), basis, said),
        *(_fig8_missed(local["sap"], basis) if "sap" in local else []),
    ]


def _near(local: Mapping[str, History]) -> str:
    """What hashing and LARD take over D-SPTF where popular data lies side by side."""
    gains = {name: _by_scheme(found.whole, "equal") for name, found in local.items()}
    times = _listed({name: _mean(_gain(time.response)) for name, time in gains.items()})
    return f"; with popular data side by side hashing and LARD over D-SPTF: {times}" if gains else ""


def _at_once(histories: Mapping[str, History], system: str) -> str:
    """Return the gains of D-SPTF if a write completes as soon as it is in NVRAM, in words."""
    times = {name: _by_scheme(found.whole, f"{system}, at once").response for name, found in histories.items()}
    gains = _listed({name: _mean(_gain(time)) for name, time in times.items()})
    return f"; if writes complete at once, hashing and LARD over D-SPTF: {gains}"


def _printed(found: History | None, system: str) -> str:
    """Return the times of the other schemes over D-SPTF on Financial with the read share of table 2, in words."""
    if found is None:
        return ""
    time = _by_scheme(found.whole, system).response
    over = {scheme: time_over(time, scheme, "D-SPTF") for scheme in ("Hashing", *BALANCED)}
    return f"; Financial with the 85% reads that table 2 prints, over D-SPTF: {_listed(over)}"


def _fig6(times: Mapping[str, xr.Dataset], basis: str, said: str) -> list[Measurement]:
    over = {name: time_over(time.response, "D-SPTF", "Central SPTF") for name, time in times.items()}
    alone = {name: time_over(time.missed, "D-SPTF", "Central SPTF") for name, time in times.items()}
    gains = {name: _gain(time.response) for name, time in times.items()}
    each = ", ".join(f"{name} {_mean(gain):.2f}" for name, gain in gains.items())
    each += "; missed reads alone: " + ", ".join(f"{name} {_mean(_gain(t.missed)):.2f}" for name, t in times.items())
    sap = times["sap"]
    both = ratio(sap.response.sel(scheme="D-SPTF"), sap.response.sel(scheme="Hashing"))
    missed_only = time_over(sap.missed, "D-SPTF", "Hashing")
    # a claim of several traces is judged by the one that is farthest from it
    local = min(LOCAL, key=lambda name: _mean(gains[name]))
    rest = max(REST, key=lambda name: abs(_mean(gains[name]) - 1.2))
    return [
        Measurement(
            "dsptf.fig6.match",
            all(value <= 1.02 for value in over.values()),
            basis=basis,
            note=f"D-SPTF over Central: {_listed(over, 3)}; missed reads alone: {_listed(alone, 3)}; {WAIT}; a read "
            "found at another brick takes a message, and what was read in parts by several bricks is found at none",
        ),
        with_interval(
            "dsptf.fig6.sap",
            both,
            f"missed reads alone {missed_only:.2f}; the other reading, a gain of 35 to 50%, is row dsptf.fig6.local{said}",
            basis,
        ),
        with_interval(
            "dsptf.fig6.local",
            _interval(gains[local]),
            f"of {local}, the smaller; hashing and LARD over D-SPTF: {each}{said}",
            basis,
        ),
        with_interval(
            "dsptf.fig6.rest",
            _interval(gains[rest]),
            f"of {rest}, the farther; hashing and LARD over D-SPTF: {each}{said}",
            basis,
        ),
    ]


def _fig7(
    times: Mapping[str, xr.Dataset], degraded: Mapping[str, xr.Dataset], basis: str, said: str
) -> list[Measurement]:
    """Return the rows of figure 7. degraded: where the slow brick takes 1.5 times as long, not twice."""
    others = [name for name in NAMES if name not in ("Central SPTF", "D-SPTF")]
    close, worst, shown = [], [], []
    for name, time in times.items():
        mean = time.response.mean("seed")
        best_other = float(mean.sel(scheme=others).min())
        near = time_over(time.response, "D-SPTF", "Central SPTF") <= 1 + CLOSE
        close.append(near and float(mean.sel(scheme="D-SPTF")) < best_other)
        worst.append(str(mean.idxmax("scheme").item()) == "Hashing")
        shown.append(f"{name} " + " ".join(f"{float(mean.sel(scheme=scheme)) / MS:.2f}" for scheme in NAMES))
    note = f"ms, {', '.join(NAMES)}: {'; '.join(shown)}"
    behind, behind_less = (
        {name: max(time_over(time.response, scheme, "D-SPTF") for scheme in BALANCED) for name, time in of.items()}
        for of in (times, degraded)
    )
    return [
        Measurement(
            "dsptf.fig7.close",
            all(close),
            basis=basis,
            note=f"within {CLOSE:.0%} of Central, ahead of all others; {note}",
        ),
        Measurement("dsptf.fig7.hash_worst", all(worst), basis=basis, note=note),
        Measurement(
            "dsptf.fig7.financial",
            behind["financial"] <= 1 + NEAR and behind["financial"] == min(behind.values()),
            basis=basis,
            note=f"the farther of {' and '.join(BALANCED)} over D-SPTF: {_listed(behind)}; where the slow brick takes 1.5 "
            f"times as long: {_listed(behind_less)}; within {NEAR:.0%} on Financial and nearer than on the others{said}",
        ),
    ]


def _fig8(found: History, local: History | None, basis: str, said: str) -> list[Measurement]:
    rows = []
    for label, spans in (("normal", NORMAL), ("degraded", DEGRADED)):
        times = _changing(found, "changing")
        quarters = times.sel(piece=_within(times, spans)).mean("piece")
        note = "" if label == "normal" else f"; {_meanings(found)}"
        sooner = _changing(found, "changing, at once")
        sooner = sooner.sel(piece=_within(sooner, spans)).mean("piece").response
        beside = "" if local is None else _both(_changing(local, "changing"), spans)
        near = f"; missed reads with popular data side by side {beside}" if beside else ""
        for key, scheme in (("dsptf", "D-SPTF"), ("hash", "Hashing")):
            alone = float(quarters.missed.sel(scheme=scheme).mean()) / MS
            at_once = float(sooner.sel(scheme=scheme).mean()) / MS
            text = f"all requests; if writes complete at once {at_once:.1f}; missed reads alone {alone:.1f}{near}{said}"
            row = _interval(quarters.response.sel(scheme=scheme) / MS)
            rows.append(with_interval(f"dsptf.fig8.{label}_{key}", row, text, basis))
        gain = ratio(quarters.response.sel(scheme="Hashing"), quarters.response.sel(scheme="D-SPTF"))
        alone = time_over(quarters.missed, "Hashing", "D-SPTF")
        rows.append(
            with_interval(
                f"dsptf.fig8.ratio_{label}",
                gain,
                f"if writes complete at once {time_over(sooner, 'Hashing', 'D-SPTF'):.2f}; missed reads alone "
                f"{alone:.2f}{note}{said}",
                basis,
            )
        )
    return [*rows, _lard_window(_changing(found, "changing"), _changing(found, "changing, service"), basis)]


def _fig8_missed(local: History, basis: str) -> list[Measurement]:
    """The times of figure 8 once more, of the reads that memory does not answer and with popular data side by side."""
    times, rows = _changing(local, "changing"), []
    for label, spans in (("normal", NORMAL), ("degraded", DEGRADED)):
        quarters = times.missed.sel(piece=_within(times, spans)).mean("piece") / MS
        for key, scheme in (("dsptf", "D-SPTF"), ("hash", "Hashing")):
            note = "missed reads alone, popular data side by side: whose response time, and how local, the paper leaves open"
            row = _interval(quarters.sel(scheme=scheme))
            rows.append(with_interval(f"dsptf.fig8.missed[{label}_{key}]", row, note, basis))
    return rows


def _meanings(found: History) -> str:
    """The degraded quarters by other meanings of a brick that is slow."""
    half = _changing(found, "changing, service")
    late = half.sel(piece=_within(half, DEGRADED)).mean("piece").response
    ours, hashed = (float(late.sel(scheme=scheme).mean()) / MS for scheme in ("D-SPTF", "Hashing"))
    all_of_it = f"D-SPTF {ours:.1f}, hashing {hashed:.1f} (ratio {hashed / ours:.2f})"
    shown = [f"{name}: {_both(_changing(found, f'changing, {name}'), DEGRADED)}" for name in ("rotation", "seek")]
    return (
        "a degradation by 50% (section 5.2.2): every access takes 1.5 times as long; the figure's caption halves the "
        f"performance: if all of it takes twice as long, all requests {all_of_it}, LARD over D-SPTF "
        f"{time_over(late, 'LARD', 'D-SPTF'):.2f}; missed reads if a part takes twice as long: {'; '.join(shown)}"
    )


def _both(times: xr.Dataset, spans: list[tuple[float, float]]) -> str:
    """Missed reads of D-SPTF and of hashing in some spans of the run."""
    mean = times.missed.sel(piece=_within(times, spans)).mean(["piece", "seed"]) / MS
    ours, hashed = (float(mean.sel(scheme=scheme)) for scheme in ("D-SPTF", "Hashing"))
    return f"D-SPTF {ours:.1f}, hashing {hashed:.1f} (ratio {hashed / ours:.2f})"


def _changing(found: History, system: str) -> xr.Dataset:
    """Response times by scheme, seed and piece of the run."""
    return _by_scheme(found.pieces, system)


def _lard_window(times: xr.Dataset, twice: xr.Dataset, basis: str) -> Measurement:
    """Whether LARD with a window reacts one window late, at the start of the degradation and at its end. twice: of slow
    bricks that take twice as long, for the note."""
    never, late, then, after = _reaction(times)
    hits = times.hit_rate.mean(["seed", "piece"])
    others = ", ".join(f"{time:.2f}" for time in _reaction(twice)[1:])
    return Measurement(
        "dsptf.fig8.lard_window",
        abs(never - 1) < CLOSE and then < 1 - CLOSE and then < late and after > 1 + CLOSE,
        basis=basis,
        note="with LARD's own thresholds it does as hashing; with thresholds of ours (T_low 0.75, T_high 1) and windows of a "
        f"tenth of the run its time over that of LARD as it is: {late:.2f} in the first window of the degradation, "
        f"{then:.2f} after it, {after:.2f} in the first window after its end; hit rate "
        f"{float(hits.sel(scheme=WINDOWED)):.3f} instead of {float(hits.sel(scheme='LARD')):.3f}; where a slow brick takes "
        f"twice as long: {others}",
    )


def _reaction(times: xr.Dataset) -> tuple[float, float, float, float]:
    """Mean time of LARD over hashing while the first brick is slow; and of LARD with the longer window over LARD in the
    first window of that, in the rest of it, and in the first window after it."""
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
    """`response`, `missed` and `hit_rate` on one of `SYSTEMS`, by scheme and seed."""
    runs = data.isel(run=(data.system == system).values)
    times = xr.Dataset({"response": runs.response, "missed": missed(runs), "hit_rate": runs.hit_rate})
    return times.swap_dims(run="scheme").drop_vars("run")


def _gain(time: xr.DataArray) -> xr.DataArray:
    """Hashing and LARD, their mean, over D-SPTF, by seed."""
    return time.sel(scheme=["Hashing", "LARD"]).mean("scheme") / time.sel(scheme="D-SPTF", drop=True)


def _interval(row: xr.DataArray) -> xr.DataArray:
    return ratio(row, xr.ones_like(row))


def _mean(row: xr.DataArray) -> float:
    return float(row.mean())


def _listed(values: Mapping[str, float], digits: int = 2) -> str:
    return ", ".join(f"{name} {value:.{digits}f}" for name, value in values.items())


def _within(times: xr.Dataset, spans: list[tuple[float, float]]) -> list[float]:
    """The pieces whose middles lie in any of the spans of the run."""
    return [piece for piece in times.piece.values.tolist() if any(low < piece < high for low, high in spans)]
