"""The traces themselves and what they show: tables 2 and 3, and real traces of their kind."""

import time
from collections.abc import Sequence
from pathlib import Path

import xarray as xr

from storagekit.core.provenance import ALONE, made_by
from storagekit.core.resources import real_traces
from storagekit.core.units import HOUR, KB, MS
from storagekit.papers.dsptf.brick_group import KEYS
from storagekit.papers.dsptf.bricks import NAMES, TRACES, Setting, Source, TraceSystem, model_of, source
from storagekit.papers.dsptf.replays import (
    PAIR,
    QUICK,
    STAND_IN,
    TraceEffort,
    seconds,
    through,
    time_over,
)
from storagekit.papers.measurement import Measurement
from storagekit.papers.rows import Row, chosen
from storagekit.workload.synthetic import compare, generate
from storagekit.workload.trace import read

TWO_READINGS = {
    "financial": "the paper prints 85% reads; its 5,334,987 requests are those of the public Financial1, of which 23% are "
    "reads, while 85% would be near Financial2 (82%, 3,699,194 requests); 23% is run, as section 5.2.1 has long queues",
    "websearch": "4,579,809 requests are those of the public WebSearch2, of which 99.98% are reads; the table is followed",
}
# the schemes that divide memory by address
DIVIDED = ("Hashing", "LARD")
NEVER_FULL = (
    "cannot be judged: if writes miss no more often than reads, the published hit rates leave 11 to 14 GB that the traces "
    "request for the first time, so that 16 GB of memory never fill and schemes differ by nothing that memory decides"
)
# points by which a difference of two printed hit rates may be off: both are whole
ROUNDED = 1.0
# in the folder of real traces
SAMPLES = ("financial1", "websearch1", "hplajw", "cello2003")


def table2(
    effort: TraceEffort = QUICK, *, traces: Sequence[str] = tuple(TRACES), folder: str | Path = ""
) -> xr.Dataset:
    """Characteristics of the traces that the other exhibits run, at full length (dimension `trace`; table 2)."""
    began, rows = time.perf_counter(), []
    for name in traces:
        given = source(name, 0, effort.first_seed, folder)
        rows.append(
            {
                "reads": float(given.trace.read.mean()),
                "size": float(given.trace.size.mean()),
                "requests": len(given.trace),
                "duration": seconds(given),
                "basis": given.basis,
            }
        )
    units = {"reads": "1", "size": "B", "requests": "1", "duration": "s", "basis": ""}
    variables = {key: ("trace", [row[key] for row in rows], {"units": unit}) for key, unit in units.items()}
    data = xr.Dataset(variables, coords={"trace": list(traces)})
    made = made_by("stand-in", [effort.first_seed], time.perf_counter() - began)
    told = {"drive": ALONE, "scenario": ALONE, "requests": f"{int(data.requests.sum())}, counted"}
    return data.assign_attrs(made | told, paper="dsptf", exhibit="dsptf.table2")


def table3(
    effort: TraceEffort = QUICK,
    *,
    traces: Sequence[str] = tuple(TRACES),
    folder: str | Path = "",
    bricks: int = 32,
    schemes: Sequence[Row] = NAMES[:4],
) -> xr.Dataset:
    """Hit rates of reads by scheme and trace: eight replicas, 50 LUNs over 32 bricks of 512 MB (table 3).

    Memories are empty at first, as in the paper's runs. schemes and the attribute `duplicates` as in `replays`.
    """
    names, own = chosen(schemes, NAMES)
    system = TraceSystem(bricks, 8, own=own)
    runs = {scheme: Setting(scheme, allocated=1.0) for scheme in names}
    found, twice, basis = [], 0, []
    for name in traces:
        given = source(name, effort.wide, effort.first_seed, folder)
        data = through(given, system, runs, name, effort.seed_list[:1], 1).whole.isel(seed=0, drop=True)
        twice += data.attrs["duplicates"]
        basis.append(given.basis)
        found.append(data[["hit_rate", "hit_elsewhere", "held_up"]].drop_vars(["system", "scheme"]))
    joined = xr.concat(found, dim="trace", combine_attrs="override").assign_coords(trace=list(traces))
    joined = joined.rename(run="scheme").assign_coords(basis=("trace", basis))
    return joined.assign_attrs(exhibit="dsptf.table3", duplicates=twice)


def real(
    effort: TraceEffort = QUICK, folder: str | Path = "", *, requests: int = 10_000, schemes: Sequence[Row] = NAMES[:4]
) -> xr.Dataset | None:
    """The head of each real trace that lies in a folder, through two equal bricks (dimensions `trace`, `scheme`, `seed`).

    folder: see `resources.real_traces`; None is returned where none of `SAMPLES` is there. Devices lie end to end;
    memories are of full size, and empty at first. schemes: as in `replays`.
    """
    names, own = chosen(schemes, NAMES)
    lying = real_traces("dsptf", folder)
    found = []
    for name in SAMPLES:
        if name not in lying:
            continue
        given = Source(read(lying[name]).take(slice(0, requests)).concatenated(), 1.0, "trace")
        runs = {scheme: Setting(scheme, allocated=1.0) for scheme in names}
        data = through(given, PAIR._replace(own=own), runs, name, effort.seed_list, 1).whole.drop_vars(
            ["system", "scheme"]
        )
        found.append(data.rename(run="scheme").assign_coords(trace=name))
    if not found:
        return None
    return xr.concat(found, dim="trace", combine_attrs="override").assign_attrs(exhibit="dsptf.traces", basis="trace")


def compared(effort: TraceEffort = QUICK, *, traces: Sequence[str] = tuple(TRACES)) -> xr.Dataset:
    """The stand-ins of the other exhibits' length against what is published of the traces, figure by figure."""
    began = time.perf_counter()
    models = {name: model_of(name, effort.requests) for name in traces}
    rows = {name: compare(model, generate(model, seed=effort.first_seed)) for name, model in models.items()}
    figures = list(next(iter(rows.values())))
    kinds = ("target", "measured")
    values = [[[getattr(rows[name][figure], kind) for kind in kinds] for figure in figures] for name in traces]
    return xr.Dataset(
        {"value": (("trace", "figure", "kind"), values)},
        coords={"trace": list(traces), "figure": figures, "kind": list(kinds)},
        attrs=made_by("stand-in", [effort.first_seed], time.perf_counter() - began) | {"paper": "dsptf"},
    )


def table2_findings(data: xr.Dataset) -> list[Measurement]:
    """Table 2: what the runs are fed with. For a stand-in a match says that it is what it was made to be."""
    found = []
    for name in data.trace.values.tolist():
        row = data.sel(trace=name)
        basis = str(row.basis.item())
        note = "" if basis == "trace" else "stand-in: made to match"
        figures = {
            "reads": row.reads,
            "size_kb": row["size"] / KB,
            "requests": row.requests,
            "hours": row.duration / HOUR,
        }
        for figure, value in figures.items():
            said = TWO_READINGS.get(name, note) if figure == "reads" else note
            found.append(Measurement(f"dsptf.table2.{name}[{figure}]", float(value), basis=basis, note=said))
    return found


def table3_findings(data: xr.Dataset, luns: xr.Dataset | None = None) -> list[Measurement]:
    """Table 3: hit rates. The Central column is what the stand-ins are fitted to.

    luns: of `luns.table3_luns`, for the notes.
    """
    rates = data.hit_rate
    found = []
    for key, scheme in list(KEYS.items())[:4]:
        for name in data.trace.values.tolist():
            basis = str(data.basis.sel(trace=name).item())
            note = "" if basis == "trace" else "stand-in: fitted to this column" if key == "central" else STAND_IN
            value: float | None = float(rates.sel(trace=name, scheme=scheme))
            if luns is not None:
                shown = [f"{float(rate):.3f}" for rate in luns.hit_rate.sel(trace=name, scheme=scheme)]
                note += f"; with every LUN on one group, LUNs as unlike as a public trace's devices, {shown[0]}, and "
                note += f"{shown[1]} if the busiest share a group"
            if basis != "trace" and key != "central":
                note, value = f"{value:.3f}; {NEVER_FULL}; {note}", None
            found.append(Measurement(f"dsptf.table3.{key}[{name}]", value, basis=basis, note=note))
    gap = 100 * (rates.sel(scheme="Central SPTF") - rates)
    between = {name: (float(gap.sel(scheme=name).min()), float(gap.sel(scheme=name).max())) for name in NAMES[1:4]}
    divided = gap.sel(scheme=list(DIVIDED))
    real = bool((data.basis == "trace").all())
    ahead = rates.sel(scheme="D-SPTF") - rates.sel(scheme=["Hashing", "LARD"])
    twice = int(data.attrs["duplicates"])
    return [
        *found,
        Measurement(
            "dsptf.table3.gap",
            bool(((divided >= 2 - ROUNDED) & (divided <= 4 + ROUNDED)).all()) if real else None,
            basis="trace" if real else "stand-in",
            note="gap in points: "
            + ", ".join(f"{name} {low:.1f} to {high:.1f}" for name, (low, high) in between.items())
            + ("" if real else f"; {NEVER_FULL}")
            + ("" if luns is None else f"; {_unlike(luns)}"),
        ),
        Measurement(
            "dsptf.table3.order",
            bool((ahead >= 0).all()) if real else None,
            basis="trace" if real else "stand-in",
            note=f"D-SPTF ahead by {100 * float(ahead.min()):.1f} to {100 * float(ahead.max()):.1f} points"
            + ("" if real else f"; {NEVER_FULL}"),
        ),
        Measurement(
            "dsptf.table3.exclusive",
            twice == 0,
            basis="stand-in",
            note=f"{twice} blocks in two memories at the end of the runs; by construction: a brick drops what another reads",
        ),
    ]


def _unlike(luns: xr.Dataset) -> str:
    """What LUNs on groups of bricks lose, and how unlike they would have to be to lose what the paper's do."""
    lost = 100 * (luns.hit_rate.sel(scheme="Central SPTF") - luns.hit_rate.sel(scheme=["Hashing", "LARD"]))
    drawn, first = (
        f"{max(float(gap.min()), 0):.1f} to {float(gap.max()):.1f}" for gap in (lost.isel(order=0), lost.isel(order=1))
    )
    busiest = luns.busiest.mean("layout")
    needed = luns.needed.isel(fall=0)
    return (
        "with every LUN on one of four groups, LUNs as unlike as the devices of public traces, hashing and LARD lose "
        f"{drawn} where LUNs are dealt to groups in a drawn order, {first} where the busiest share a group; in drawn orders "
        f"the busiest group has {float(busiest.min()):.0%} to {float(busiest.max()):.0%} of the requests, and to lose "
        f"{100 * float(needed.fall):.0f} points it would have to have {float(needed.min()):.0%} to {float(needed.max()):.0%}"
    )


def real_findings(data: xr.Dataset) -> list[Measurement]:
    """Real traces of the same kinds (not in the paper). data: of `traces.real`."""
    found = []
    for name in data.trace.values.tolist():
        time = data.response.sel(trace=name)
        shown = ", ".join(f"{scheme} {float(time.sel(scheme=scheme).mean()) / MS:.2f}" for scheme in NAMES[:4])
        waited = float(data.held_up.sel(trace=name).max())
        note = f"ms: {shown}" + (
            f"; more than two bricks can serve: {waited:.0f} requests waited outside" if waited else ""
        )
        match = time_over(time, "D-SPTF", "Central SPTF")
        found.append(
            Measurement(f"dsptf.traces.{name}_match", match <= 1.02, basis="trace", note=f"{match:.3f}; {note}")
        )
        others = [time_over(time, scheme, "D-SPTF") for scheme in ("Hashing", "LARD")]
        found.append(Measurement(f"dsptf.traces.{name}_ahead", min(others) > 1, basis="trace", note=note))
    return found
