"""`storagekit compare`: simulate one trace under several schemes, and print their differences with intervals."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from storagekit.cli.arrays import NAMES, array_of, is_array
from storagekit.cli.charts import CHARTS, require_suffix, save_chart
from storagekit.cli.trace import Drive, Json, Latency, Scale, Schedule, Write, chosen, dispatcher_of
from storagekit.cli.trace_options import (
    Depth,
    File,
    MergedTraceOptions,
    PlacedSelection,
    opened,
    reader_report,
    say_if_wrapped,
    trace_options,
)
from storagekit.core.errors import InputError

if TYPE_CHECKING:
    from storagekit.simulation.compare import Comparison

WRITTEN = (".nc", ".csv", ".json", *CHARTS)
SHORTEST_OF = re.compile(r"jsq(\d+)")


def join(app: typer.Typer) -> None:
    """Add this command to the command line."""
    app.command()(compare)


@trace_options
def compare(
    file: File,
    *,
    schemes: Annotated[
        str,
        typer.Option(
            metavar="NAME,NAME,...",
            help=(
                "Schemes to compare: dispatchers (see `storagekit list`), jsqD for the shortest of D queues, or arrays: "
                f"{NAMES}. NAME:SCHEDULE sets the scheduler of one scheme."
            ),
        ),
    ] = "hashing,dsptf,jsq2",
    drive: Drive = "atlas10k",
    drives: Annotated[int, typer.Option(help="Number of drives. The name of an array determines this number.")] = 2,
    copies: Annotated[
        int | None, typer.Option(help="Copies of each block, on neighbouring drives; by default on all drives.")
    ] = None,
    schedule: Schedule = "satf",
    write: Write = "all-copies",
    latency: Latency = 0.05,
    seeds: Annotated[int, typer.Option(help="Number of runs of each scheme; intervals need at least 2.")] = 8,
    against: Annotated[
        str | None, typer.Option(help="Baseline of the differences; by default the first scheme.")
    ] = None,
    scale: Scale = 1.0,
    depth: Depth = None,
    out: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help=(f"File for the result, in the format of its suffix ({', '.join(WRITTEN)}); repeatable."),
        ),
    ] = None,
    options: MergedTraceOptions,
    selection: PlacedSelection,
    as_json: Json = False,
) -> None:
    """Compare schemes on a trace: response times with quantiles, disk utilization, and differences with intervals.

    All schemes serve the same requests, on drives with the same initial spindle angles. Each seed has different angles.
    """
    from storagekit.drive import load_drive
    from storagekit.simulation.compare import compare as run
    from storagekit.workload.trace.stored import outline_of

    require_suffix(out, WRITTEN)
    names, arm = _names(schemes), load_drive(drive)
    trace = opened(file, options, selection)
    outline = outline_of(trace)

    def bricks(name: str, discipline):
        routing = _routing(name, arm, drives, latency, outline.mean_size)
        return _bricks(arm, routing, discipline, write, drives, copies)

    systems = {name: _system(name, schedule, arm, outline.largest, bricks) for name in names}
    if systems:
        say_if_wrapped(outline, min(systems.values(), key=lambda one: int(one.placement.capacity(one.drive))))
    found = run(trace, systems, seeds=seeds, against=against, scale=scale, depth=depth)
    for path in out or []:
        _write(found, path)
    print(json.dumps(found.to_dict() | reader_report(trace.source), indent=1) if as_json else found)


def _names(schemes: str) -> list[str]:
    """Return the names in the option `--schemes`."""
    names = [name.strip() for name in schemes.split(",") if name.strip()]
    if len(set(names)) < len(names):
        raise InputError(f"--schemes {schemes!r}: give each scheme once")
    return names


def _system(name: str, schedule: str, arm, largest: int, bricks: Callable):
    """Return the system of a scheme, NAME or NAME:SCHEDULE.

    largest: size of the largest request in bytes. bricks: function that returns the system of bricks with a dispatcher.
    """
    kind, _, its_own = name.partition(":")
    discipline = _schedule(its_own or schedule)
    return array_of(arm, kind, discipline, largest) if is_array(kind) else bricks(kind, discipline)


def _routing(name: str, arm, drives: int, latency: float, mean_size: float):
    """Return the dispatcher with the name `name` for requests of `mean_size` bytes on average."""
    from storagekit.cli.trace import service_of
    from storagekit.dispatch import ShortestQueue

    several = SHORTEST_OF.fullmatch(name)
    if several:
        return ShortestQueue(int(several[1]))
    speeds = [1.0] * max(drives, 1)
    return dispatcher_of(name, latency * 1e-3, speeds, lambda: service_of(arm, mean_size, speeds))


def _schedule(name: str):
    from storagekit.cli.catalogue import schedulers

    return chosen("schedule", name, schedulers())()


def _bricks(arm, dispatch, schedule, write: str, drives: int, copies: int | None):
    """Return a system of bricks with one drive each. A block has `copies` copies, by default one on every brick."""
    from storagekit.cli.catalogue import writes
    from storagekit.engine import System
    from storagekit.placement import Declustered, Replicas

    placement = Replicas(drives) if copies in (None, drives) else Declustered(drives, copies)
    return System(arm, placement, dispatch, schedule, chosen("write", write, writes())())


def _write(found: "Comparison", path: Path) -> None:
    from storagekit.core.atomic_files import write_text

    if path.suffix == ".nc":
        path.parent.mkdir(parents=True, exist_ok=True)
        found.to_netcdf(path)
    elif path.suffix == ".csv":
        write_text(path, found.to_pandas().to_csv(lineterminator="\n"))
    elif path.suffix == ".json":
        write_text(path, json.dumps(found.to_dict(), indent=1) + "\n")
    else:
        save_chart(found.chart(), path)
