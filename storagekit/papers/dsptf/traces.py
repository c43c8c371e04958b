"""The exhibits that run traces through bricks with memory: tables 2 and 3, figures 6 to 8. Times in seconds."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import xarray as xr

from storagekit.cache import BrickLRU, blocks_held
from storagekit.engine import Spell, State
from storagekit.errors import InputError
from storagekit.metrics import History, history
from storagekit.papers.dsptf.bricks import HALF, NAMES, SLOW, TRACES, Bricks, Setting, Source, model_of, source
from storagekit.resources import real_traces
from storagekit.workload.standin import compare_popular
from storagekit.workload.trace import read

# in the folder of real traces
SAMPLES = {
    "financial1": "spc-financial1-10k/Financial1.first10000.spc.xz",
    "websearch1": "spc-websearch1-60s/WebSearch1.first60s.spc.xz",
    "hplajw": "hplajw-1992/ajw.1week.srt.xz",
    "cello2003": "cello-hpl-2003/hourly.03126.srt.bz2",
}
PIECES = 40
PAIR = Bricks()
# of "half the speed", beside the one that is judged
MEANINGS = ("rotation", "seek")
SYSTEMS = ("equal", "slow", "changing")
# of the run: LARD's windows beside that of its paper, and thresholds that the load of these traces can reach
LARD_WINDOWS = (1 / 40, 1 / 10)
LARD_LOW, LARD_HIGH = 0.75, 1.0


class Length(NamedTuple):
    """How much of the traces to run: requests of each (0 for all of it), how often, and which random ones.

    runs: of each setting, which differ in the phases of the spindles. Spindles turn at one speed, so that the lead of one
    over the other, which decides how often one of two is nearer, stays as it is throughout a run. wide: requests of each
    trace on the 32 bricks of table 3, where a request is more work.
    """

    requests: int = 2**15
    runs: int = 4
    seed: int = 0
    wide: int = 2**15

    @property
    def seeds(self) -> list[int]:
        """One for each run."""
        return list(range(self.seed, self.seed + self.runs))


QUICK = Length()


def length(profile: str, seed: int = 0) -> Length:
    """The length of a profile: "quick" for a look, "full" for the record."""
    known = {"quick": QUICK, "full": Length(2**19, 4, wide=2**17)}
    if profile not in known:
        raise InputError(f"profile {profile!r}: unknown; it is one of {', '.join(known)}")
    return known[profile]._replace(seed=seed)


def table2(effort: Length = QUICK, *, traces: Sequence[str] = tuple(TRACES), folder: str | Path = "") -> xr.Dataset:
    """Characteristics of the traces that the other exhibits run, at full length (dimension `trace`; table 2)."""
    rows = []
    for name in traces:
        given = source(name, 0, effort.seed, folder)
        rows.append(
            {
                "reads": float(given.trace.read.mean()),
                "size": float(given.trace.size.mean()),
                "requests": len(given.trace),
                "duration": _seconds(given),
                "basis": given.basis,
            }
        )
    variables = {key: ("trace", [row[key] for row in rows]) for key in rows[0]}
    data = xr.Dataset(variables, coords={"trace": list(traces)})
    return data.assign_attrs(paper="dsptf", exhibit="dsptf.table2", basis="stand-in")


def settings(requests: int, duration: float) -> dict[str, Setting]:
    """The runs of one trace, by name: equal bricks, one slow, and changing ones, these with LARD's windows too."""
    quarter = requests // 4
    spells = {
        "equal": (Spell(0, 1.0), Spell(1, 1.0)),
        "slow": (Spell(0, 1.0), Spell(SLOW, HALF)),
        "changing": (Spell(0, HALF, quarter, 2 * quarter), Spell(1, HALF, 3 * quarter)),
    }
    # section 5.2.2 has warmed LARD up before the brick changes, section 5.2.1 has not
    runs = {
        f"{system}: {scheme}": Setting(scheme, spells[system], allocated=float(system != "slow"))
        for system in SYSTEMS
        for scheme in NAMES
    }
    for slowness in MEANINGS:
        for scheme in ("D-SPTF", "Hashing"):
            runs[f"changing, {slowness}: {scheme}"] = Setting(scheme, spells["changing"], 1.0, slowness=slowness)
    for window in LARD_WINDOWS:
        share = f"{window:.3g} of the run"
        runs[f"changing: LARD, {share}"] = Setting(
            "LARD", spells["changing"], 1.0, window * duration, LARD_LOW, LARD_HIGH
        )
    return runs


def replays(
    effort: Length = QUICK,
    *,
    trace: str = "sap",
    folder: str | Path = "",
    system: Bricks = PAIR,
    pieces: int = PIECES,
    together: bool = False,
) -> History:
    """A trace through two bricks under every scheme and condition, all side by side (figures 6, 7 and 8).

    Dimension `run`, with coordinates `system`, one of `SYSTEMS`, or "changing, rotation" and "changing, seek" where a brick
    is slow in nothing else, and `scheme`. together: a stand-in whose popular data lies side by side. The whole run counts,
    as in the paper: memories are empty at first. Attribute `duplicates`: blocks found in the memories of two bricks at the
    end.
    """
    given = source(trace, effort.requests, effort.seed, folder, together)
    return through(given, system, settings(len(given.trace), _seconds(given)), trace, effort.seeds, pieces)


def through(
    given: Source, system: Bricks, runs: dict[str, Setting], name: str, seeds: Sequence[int], pieces: int = PIECES
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
    )
    coords = {
        "system": ("run", [run.split(": ")[0] for run in runs]),
        "scheme": ("run", [run.split(": ")[-1] for run in runs]),
    }
    attrs = {"paper": "dsptf", "trace": name, "basis": given.basis, "scale": given.scale, "duplicates": sum(twice)}
    return History(*(data.assign_coords(coords).assign_attrs(attrs) for data in found))


def missed(data: xr.Dataset) -> xr.DataArray:
    """Mean response time of the reads that memory does not answer, as if it answered the others in no time.

    A second reading of "client response time", beside the mean over all requests: hits take at most a message here, and a
    write is answered as soon as it is in NVRAM, so that these reads are what the schemes serve differently. It leaves out
    that a scheme may hit less often.
    """
    return (data.read_response / (1 - data.hit_rate)).assign_attrs(units="s", long_name="response time of missed reads")


def duplicates(cache: BrickLRU, state: State, lane: int) -> int:
    """How many blocks are in the memory of more than one brick, in one lane of a state."""
    held = np.concatenate(blocks_held(cache, state.cache, lane))
    return len(held) - len(np.unique(held))


def table3(
    effort: Length = QUICK, *, traces: Sequence[str] = tuple(TRACES), folder: str | Path = "", bricks: int = 32
) -> xr.Dataset:
    """Hit rates of reads by scheme and trace: eight replicas, 50 LUNs over 32 bricks of 512 MB (table 3).

    Memories are empty at first, as in the paper's runs. Attribute `duplicates` as in `replays`.
    """
    system = Bricks(bricks, 8, slots=128)
    runs = {scheme: Setting(scheme, allocated=1.0) for scheme in NAMES[:4]}
    found, twice, basis = [], 0, []
    for name in traces:
        given = source(name, effort.wide, effort.seed, folder)
        data = through(given, system, runs, name, effort.seeds[:1], 1).whole.isel(seed=0, drop=True)
        twice += data.attrs["duplicates"]
        basis.append(given.basis)
        found.append(data[["hit_rate", "hit_elsewhere", "held_up"]].drop_vars(["system", "scheme"]))
    joined = xr.concat(found, dim="trace", combine_attrs="override").assign_coords(trace=list(traces))
    joined = joined.rename(run="scheme").assign_coords(basis=("trace", basis))
    return joined.assign_attrs(exhibit="dsptf.table3", duplicates=twice)


def real(effort: Length = QUICK, folder: str | Path = "", *, requests: int = 10_000) -> xr.Dataset | None:
    """The head of each real trace that lies in a folder, through two equal bricks (dimensions `trace`, `scheme`, `seed`).

    folder: see `resources.real_traces`; None is returned where none of `SAMPLES` is there. Devices lie end to end;
    memories are of full size, and empty at first.
    """
    lying = {name: real_traces(folder) / file for name, file in SAMPLES.items()}
    found = []
    for name, path in lying.items():
        if not path.is_file():
            continue
        given = Source(read(path).take(slice(0, requests)).concatenated(), 1.0, "trace")
        runs = {scheme: Setting(scheme, allocated=1.0) for scheme in NAMES[:4]}
        data = through(given, PAIR, runs, name, effort.seeds, 1).whole.drop_vars(["system", "scheme"])
        found.append(data.rename(run="scheme").assign_coords(trace=name))
    if not found:
        return None
    return xr.concat(found, dim="trace", combine_attrs="override").assign_attrs(exhibit="dsptf.traces", basis="trace")


def compared(effort: Length = QUICK, *, traces: Sequence[str] = tuple(TRACES)) -> xr.Dataset:
    """The stand-ins of the other exhibits' length against what is published of the traces, figure by figure."""
    models = {name: model_of(name, effort.requests) for name in traces}
    rows = {name: compare_popular(model, model.generate(seed=effort.seed)) for name, model in models.items()}
    figures = list(next(iter(rows.values())))
    kinds = ("target", "measured")
    values = [[[getattr(rows[name][figure], kind) for kind in kinds] for figure in figures] for name in traces]
    return xr.Dataset(
        {"value": (("trace", "figure", "kind"), values)},
        coords={"trace": list(traces), "figure": figures, "kind": list(kinds)},
    )


def _seconds(given: Source) -> float:
    return float(given.trace.time[-1] - given.trace.time[0])
