"""The traces: tables 2 and 3, and runs of real traces that are similar to the paper's, with the findings."""

import time
from collections.abc import Sequence
from pathlib import Path

import xarray as xr

from storagekit.core.provenance import ALONE, made_by
from storagekit.core.resources import real_traces
from storagekit.core.units import HOUR, KB, MS
from storagekit.papers.dsptf.bricks import NAMES, TRACES, Setting, Source, TraceSystem, model_of, source
from storagekit.papers.dsptf.claims import TABLE2, TABLE3
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

TWO_INTERPRETATIONS = {
    "financial": "The paper prints 85% reads and 5,334,987 requests. The public trace Financial1 has the same number "
    "of requests, but 23% reads. The public trace Financial2 has 82% reads, but 3,699,194 requests. The runs have 23% "
    "reads, because section 5.2.1 mentions long queues, which do not occur with 85% reads.",
    "websearch": "The paper prints 90% reads and 4,579,809 requests. The public trace WebSearch2 has the same number "
    "of requests, but 99.98% reads. The runs have 90% reads.",
}
# Schemes that divide memory by address.
DIVIDED = ("Hashing", "LARD")
NEVER_FULL = (
    "There is no verdict. If writes miss at most as often as reads, the published hit rates imply that a trace "
    "requests 11 to 14 GB of different data. A memory of 16 GB then never fills, so the schemes cannot differ in the "
    "use of their memory."
)
FITTED = "The synthetic trace was fitted to this hit rate."
# Error of a difference of two printed hit rates, percentage points: both are rounded to whole numbers.
ROUNDED = 1.0
# Names of traces in the folder of real traces.
SAMPLES = ("financial1", "websearch1", "hplajw", "cello2003")


def table2(
    effort: TraceEffort = QUICK, *, traces: Sequence[str] = tuple(TRACES), folder: str | Path = ""
) -> xr.Dataset:
    """Return the characteristics of the full-length traces (table 2).

    Parameters
    ----------
    effort : TraceEffort
        Only its `first_seed` is used.
    traces : sequence of str
        Names of `bricks.MODELS`.
    folder : path
        Folder of real traces.

    Returns
    -------
    Dataset
        Over `trace`: `reads` (fraction), `size` (mean size, bytes), `requests`, `duration` (seconds) and `basis`.
    """
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
    facts = {"drive": ALONE, "scenario": ALONE, "requests": f"{int(data.requests.sum())}, counted"}
    return data.assign_attrs(made | facts, paper="dsptf", exhibit="dsptf.table2")


def table3(
    effort: TraceEffort = QUICK,
    *,
    traces: Sequence[str] = tuple(TRACES),
    folder: str | Path = "",
    bricks: int = 32,
    scheme: Sequence[Row] = NAMES[:4],
) -> xr.Dataset:
    """Return the hit rates of reads by scheme and trace, with eight replicas and 50 LUNs (table 3).

    Each of the 32 bricks has 512 MB of memory.

    Parameters
    ----------
    effort : TraceEffort
        Length of the runs (`requests_on_32_bricks`), and seed (`first_seed`). There is one run for each trace and scheme.
    traces : sequence of str
        Names of `bricks.MODELS`.
    folder : path
        Folder of real traces.
    bricks : int
        Number of bricks, by default 32.
    scheme : sequence
        As for `replays`.

    Returns
    -------
    Dataset
        Over `trace` and `scheme`: `hit_rate`, the hit rate of reads; `hit_elsewhere`, the fraction of reads that hit in
        the memory of another brick; `blocked`, the number of requests that waited for a slot. The attribute
        `duplicates` is as in `replays`.

    Notes
    -----
    Memories are empty at first, as in the paper's runs.
    """
    names, own = chosen(scheme, NAMES)
    system = TraceSystem(bricks, 8, own=own)
    runs = {scheme: Setting(scheme, allocated=1.0) for scheme in names}
    found, twice, basis = [], 0, []
    for name in traces:
        given = source(name, effort.requests_on_32_bricks, effort.first_seed, folder)
        data = through(given, system, runs, name, effort.seed_list[:1], 1).whole.isel(seed=0, drop=True)
        twice += data.attrs["duplicates"]
        basis.append(given.basis)
        found.append(data[["hit_rate", "hit_elsewhere", "blocked"]].drop_vars(["system", "scheme"]))
    joined = xr.concat(found, dim="trace", combine_attrs="override").assign_coords(trace=list(traces))
    joined = joined.rename(run="scheme").assign_coords(basis=("trace", basis))
    return joined.assign_attrs(exhibit="dsptf.table3", duplicates=twice)


def real(
    effort: TraceEffort = QUICK, folder: str | Path = "", *, requests: int = 10_000, scheme: Sequence[Row] = NAMES[:4]
) -> xr.Dataset | None:
    """Run the beginning of each real trace of a folder on two equal bricks.

    Parameters
    ----------
    effort : TraceEffort
        Gives the number of runs and the first seed.
    folder : path
        Folder of real traces, see `resources.real_traces`.
    requests : int
        Number of requests of each trace, by default 10,000.
    scheme : sequence
        As for `replays`.

    Returns
    -------
    Dataset or None
        The measures over `trace`, `scheme` and `seed`. None if the folder has none of `SAMPLES`.

    Notes
    -----
    The addresses of each device follow the addresses of the previous device. Memories have their full size, and are
    empty at first.
    """
    names, own = chosen(scheme, NAMES)
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
    """Return the statistics of the synthetic traces and the published statistics.

    The synthetic traces have the length of the traces in the other exhibits.

    Parameters
    ----------
    effort : TraceEffort
        Gives the number of requests and the first seed.
    traces : sequence of str
        Names of `bricks.MODELS`.

    Returns
    -------
    Dataset
        `value` over `trace`, `figure` and `kind`. `figure` is the name of a statistic. `kind` is "target" for the
        published value, scaled to the length of the trace, and "measured" for the value of the synthetic trace.
    """
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
    """Return the findings on table 2.

    Parameters
    ----------
    data : Dataset
        Result of `table2`.

    Returns
    -------
    list of Measurement
        One finding for each trace in `data` and each of its characteristics in table 2.

    Notes
    -----
    For a synthetic trace a match shows only that the generated trace has the requested statistics.
    """
    printed = data.assign(size=data["size"] / KB, duration=data.duration / HOUR)
    found = []
    for claim, (name, figure) in TABLE2.within(data):
        row = printed.sel(trace=name)
        basis = str(row.basis.item())
        note = "" if basis == "trace" else "The synthetic trace was generated to match this value."
        said = TWO_INTERPRETATIONS.get(name, note) if figure == "reads" else note
        found.append(Measurement(claim, float(row[figure]), basis=basis, note=said))
    return found


def table3_findings(data: xr.Dataset, luns: xr.Dataset | None = None) -> list[Measurement]:
    """Return the findings on table 3.

    Parameters
    ----------
    data : Dataset
        Result of `table3`.
    luns : Dataset, optional
        Result of `luns.table3_luns`, for the notes.

    Returns
    -------
    list of Measurement
        One finding for each claim of `dsptf.table3` on the traces and schemes in `data`. Findings that need a real
        trace have no measured value for synthetic traces.

    Notes
    -----
    The synthetic traces are fitted to the hit rates of Central SPTF.
    """
    rates = data.hit_rate
    found = []
    for claim, (scheme, name) in TABLE3.within(data):
        basis = str(data.basis.sel(trace=name).item())
        central = scheme == "Central SPTF"
        note = "" if basis == "trace" else FITTED if central else STAND_IN
        value: float | None = float(rates.sel(trace=name, scheme=scheme))
        if luns is not None:
            shown = [f"{float(rate):.3f}" for rate in luns.hit_rate.sel(trace=name, scheme=scheme)]
            note += (
                " If each LUN is on one group of bricks, and the loads of LUNs differ like the loads of devices in a "
                "public trace, the hit rate "
            )
            note = f"{note}is {shown[0]}, and {shown[1]} if the busiest LUNs share a group.".strip()
        if basis != "trace" and not central:
            note, value = f"The measured hit rate is {value:.3f}. {NEVER_FULL} {note}", None
        found.append(Measurement(claim, value, basis=basis, note=note))
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
            note="With real traces, the claim holds if the hit rates of hashing and LARD are 1 to 5 percentage points "
            "below the hit rate of Central SPTF: 2 to 4 points, and 1 point for the rounding of the printed rates. The "
            "hit rate of Central SPTF minus the hit rate of each scheme, in percentage points, is: "
            + ", ".join(f"{name} {low:.1f} to {high:.1f}" for name, (low, high) in between.items())
            + "."
            + ("" if real else f" {NEVER_FULL}")
            + ("" if luns is None else f" {_unlike(luns)}"),
        ),
        Measurement(
            "dsptf.table3.order",
            bool((ahead >= 0).all()) if real else None,
            basis="trace" if real else "stand-in",
            note="With real traces, the claim holds if the hit rate of D-SPTF is never below the hit rates of hashing "
            "and LARD. The hit rate of D-SPTF minus the hit rates of hashing and LARD is "
            f"{100 * float(ahead.min()):.1f} to {100 * float(ahead.max()):.1f} percentage points."
            + ("" if real else f" {NEVER_FULL}"),
        ),
        Measurement(
            "dsptf.table3.exclusive",
            twice == 0,
            basis="stand-in",
            note="The claim holds if no block is in the memories of two bricks at the end of the runs. The number of "
            f"these blocks is {twice}. The claim holds by construction: if a brick reads a block into its memory, the "
            "other bricks drop the block.",
        ),
    ]


def _unlike(luns: xr.Dataset) -> str:
    """Return sentences on the loss of hit rate if LUNs are on groups of bricks, and on the skew for a given loss."""
    lost = 100 * (luns.hit_rate.sel(scheme="Central SPTF") - luns.hit_rate.sel(scheme=["Hashing", "LARD"]))
    drawn, first = (
        f"{max(float(gap.min()), 0):.1f} to {float(gap.max()):.1f}" for gap in (lost.isel(order=0), lost.isel(order=1))
    )
    busiest = luns.busiest.mean("layout")
    needed = luns.needed.isel(fall=0)
    return (
        "In further runs each LUN is on one of four groups of bricks, and the loads of LUNs differ like the loads of "
        f"devices in public traces. Compared with Central SPTF, hashing and LARD then lose {drawn} points if LUNs "
        f"are assigned to groups at random, and {first} points if the busiest LUNs share a group. In random "
        f"assignments the busiest group has {float(busiest.min()):.0%} to {float(busiest.max()):.0%} of the "
        f"requests. For a loss of {100 * float(needed.fall):.0f} points, one group must have {float(needed.min()):.0%} "
        f"to {float(needed.max()):.0%} of the requests."
    )


def real_findings(data: xr.Dataset) -> list[Measurement]:
    """Return the findings on real traces that are similar to the traces of the paper. They are not claims of the paper.

    Parameters
    ----------
    data : Dataset
        Result of `real`.

    Returns
    -------
    list of Measurement
        Two findings for each trace in `data`: D-SPTF compared with Central SPTF, and with hashing and LARD.
    """
    found = []
    for name in data.trace.values.tolist():
        time = data.response.sel(trace=name)
        shown = ", ".join(f"{scheme} {float(time.sel(scheme=scheme).mean()) / MS:.2f}" for scheme in NAMES[:4])
        waited = float(data.blocked.sel(trace=name).max())
        note = f"The mean response times in ms are: {shown}." + (
            f" The load exceeds the capacity of two bricks, and {waited:.0f} requests waited for a slot."
            if waited
            else ""
        )
        match = time_over(time, "D-SPTF", "Central SPTF")
        found.append(
            Measurement(
                f"dsptf.traces.{name}_match",
                match <= 1.02,
                basis="trace",
                note="The claim holds if the mean response time of D-SPTF divided by the mean response time of Central "
                f"SPTF is at most 1.02. The ratio is {match:.3f}. {note}",
            )
        )
        others = [time_over(time, scheme, "D-SPTF") for scheme in ("Hashing", "LARD")]
        found.append(
            Measurement(
                f"dsptf.traces.{name}_ahead",
                min(others) > 1,
                basis="trace",
                note=f"The claim holds if hashing and LARD have longer mean response times than D-SPTF. {note}",
            )
        )
    return found
