"""The commands about traces: their characteristics, and their replay through a system."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from storagekit.cli import completion
from storagekit.cli.arrays import NAMES, array_of
from storagekit.cli.charts import CHARTS, require_suffix, save_chart
from storagekit.cli.trace_options import (
    Depth,
    File,
    MergedTraceOptions,
    PlacedSelection,
    Selection,
    TraceOptions,
    reader_report,
    remarks,
    say_if_wrapped,
    stored,
    streamed,
    trace_options,
)
from storagekit.core.errors import InputError
from storagekit.reproduce.printing import say

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Drive = Annotated[str, typer.Option(help=completion.A_DRIVE, autocompletion=completion.drives)]
Dispatch = Annotated[
    str, typer.Option(help="Dispatcher (see `storagekit list`).", autocompletion=completion.dispatchers)
]
Schedule = Annotated[str, typer.Option(help="Scheduler of each drive.", autocompletion=completion.schedulers)]
Write = Annotated[
    str,
    typer.Option(help="Write policy (see `storagekit list`).", autocompletion=completion.writes),
]
Latency = Annotated[float, typer.Option(help="One-way network latency for dsptf, ms.")]
Scale = Annotated[float, typer.Option(help="Speed-up of the recorded arrivals.")]
Slow = Annotated[
    list[str] | None,
    typer.Option(metavar="BRICK=SPEED", help="Run a brick at a fraction of its speed; repeatable."),
]
Stop = Annotated[
    list[str] | None,
    typer.Option(metavar="BRICK=FIRST-LAST", help="Stop a brick from one request to another; repeatable."),
]

# number of devices that `trace info` prints
LISTED = 10

trace_app = typer.Typer(help="Characteristics of traces.", rich_markup_mode=None, no_args_is_help=True)


def join(app: typer.Typer) -> None:
    """Add these commands to the command line."""
    app.add_typer(trace_app, name="trace")
    app.command()(replay)


@trace_app.command()
@trace_options
def info(
    file: File,
    options: MergedTraceOptions,
    selection: Selection,
    out: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help=f"File for a picture of arrivals, addresses and sizes ({', '.join(CHARTS)}); repeatable.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Print the characteristics of a trace: reads, sizes, rate, burstiness, locality, read-after-write, sequential share.

    A trace of several devices also has the requests, reads and sizes of each device; without --json of the ten devices
    with the most requests.
    """
    from storagekit.workload.trace import Summary
    from storagekit.workload.trace.overview import Overview

    require_suffix(out, CHARTS)
    summary, overview = Summary(), Overview()
    last = None
    for last in streamed(file, options, selection):
        summary.add(last)
        overview.add(last)
    assert last is not None
    found, devices, origin = summary.result(str(file)).as_dict(), overview.devices(), last.source
    for line in remarks(origin):
        say(line)
    for path in out or []:
        from storagekit.charts.traces import overview as chart

        save_chart(chart(overview.rows()), path)
    if as_json:
        source = {"trace": origin.name, "format": origin.format}
        print(json.dumps(source | found | reader_report(origin) | {"by_device": devices}, indent=1))
        return
    print(f"{origin.name} ({origin.format})")
    _print_characteristics(found, devices)


def _print_characteristics(found: dict, devices: dict[str, dict[str, float]]) -> None:
    from storagekit.workload.trace import UNITS

    for name, value in found.items():
        print(
            f"  {name.replace('_', ' '):<26}{_number(value):>16}  {UNITS[name] if UNITS[name] != '1' else ''}".rstrip()
        )
    if len(devices) > 1:
        width = max(6, *(len(name) for name in list(devices)[:LISTED]))
        print(f"\n  {'device':<{width}}{'requests':>14}{'reads':>8}{'mean size, B':>14}{'data size, GB':>15}")
        for name, of in list(devices.items())[:LISTED]:
            numbers = f"{of['requests']:>14,}{of['read_share']:>8.0%}{of['mean_size']:>14,.0f}"
            print(f"  {name:<{width}}{numbers}{of['data_size'] / 1e9:>15,.3f}")
        if len(devices) > LISTED:
            print(f"  and {len(devices) - LISTED:,} devices with fewer requests (--json lists all)")


@trace_app.command()
@trace_options
def convert(
    file: File,
    target: Annotated[Path, typer.Argument(metavar="OUT.parquet", help="Parquet file to write.")],
    options: TraceOptions,
) -> None:
    """Convert a trace to a Parquet file, which every command reads many times faster."""
    from storagekit.workload.trace import convert as run

    source = run(file, target, **options.arguments())
    for line in remarks(source):
        say(line)
    print(target)


@trace_app.command("formats")
def formats_() -> None:
    """List the formats of traces that can be read, with the fields of a record."""
    from storagekit.workload.trace import FORMATS

    width = max(len(form.name) for form in FORMATS)
    for form in FORMATS:
        print(f"{form.name:<{width}}  {form.layout}")


@dataclass(frozen=True)
class Bricks:
    """Options of replicated bricks: their number, dispatcher, write policy, caches and faults."""

    replicas: Annotated[int, typer.Option(help="Number of bricks; each has a copy of every block.")] = 2
    dispatch: Dispatch = "dsptf"
    write: Write = "all-copies"
    latency: Latency = 0.05
    cache_mb: Annotated[
        float,
        typer.Option(
            help=("LRU cache of each brick, MB. With the dispatcher central, one cache with the sum of the sizes.")
        ),
    ] = 0.0
    slow: Slow = None
    stop: Stop = None
    detection: Annotated[
        float | None,
        typer.Option(
            help="With --stop: time in seconds after which clients detect that a brick has stopped, by default 1. Until "
            "then, a request for this brick waits for a time-out of 1 s. Later requests are sent directly to another brick."
        ),
    ] = None

    def require_valid(self) -> None:
        """Raise InputError for impossible values, before a long trace is read."""
        from storagekit.core.validation import COUNT, SPAN

        COUNT("replicas", self.replicas)
        if self.detection is not None:
            SPAN("detection", self.detection)
            if not self.stop:
                raise InputError("--detection without --stop: give the brick that stops too, as in --stop 0=1000-2000")
        self._faults()

    def system(self, drive, schedule, slots: int, service: Callable):
        """Return the system. service: function of the speeds of the bricks that returns their mean service times."""
        from storagekit.cli.catalogue import writes
        from storagekit.engine import System
        from storagekit.placement import Replicas

        faults, speeds = self._faults()
        return System(
            drive,
            Replicas(self.replicas),
            dispatcher_of(self.dispatch, self.latency * 1e-3, speeds, lambda: service(speeds)),
            schedule,
            chosen("write", self.write, writes())(),
            cache=_memory(self.cache_mb, self.replicas, self.dispatch) if self.cache_mb else None,
            faults=faults,
            drives=self.replicas,
            slots=slots,
        )

    def _faults(self):
        return _faults(self.slow or [], self.stop or [], self.detection, self.replicas)


@trace_options
def replay(
    file: File,
    *,
    drive: Drive = "atlas10k",
    buffered: Annotated[
        bool, typer.Option("--buffered", help=("Include the controller, bus and buffer of the drive."))
    ] = False,
    layout: Annotated[str | None, typer.Option(help=f"Use an array instead of replicated bricks: {NAMES}.")] = None,
    schedule: Schedule = "satf",
    bricks: Bricks,
    scale: Scale = 1.0,
    depth: Depth = None,
    slots: Annotated[int, typer.Option(help="Limit of requests in the system; further requests wait outside.")] = 256,
    seed: Annotated[int, typer.Option(help="Seed of the initial spindle angles.")] = 0,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Save the state to this file every 30 s, and continue from it if a replay was interrupted.",
        ),
    ] = None,
    sequential: Annotated[
        bool,
        typer.Option(
            "--sequential", help="Simulate one request after the other, even if the trace is long (sk.replay)."
        ),
    ] = False,
    options: MergedTraceOptions,
    selection: PlacedSelection,
    as_json: Json = False,
) -> None:
    """Simulate a trace on a system, and print utilization, response times, queue depth and bottleneck.

    On an SR-Mirror (--layout), reads and the first copies of writes go to the nearest idle head. The other copies are written
    in idle time. On a RAID level or a code, a write completes when its copies, or its data and parity, are on disk. With
    --layout, --replicas, --dispatch, --write, --latency, --cache-mb, --slow, --stop and --detection have no effect.
    """
    from storagekit.cli.catalogue import schedulers
    from storagekit.drive import load_buffered, load_drive
    from storagekit.simulation import replay as run
    from storagekit.workload.trace.stored import outline_of

    arm = load_drive(drive)
    model = load_buffered(drive) if buffered else arm
    discipline = chosen("schedule", schedule, schedulers())()
    bricks.require_valid()
    trace = stored(file, options, selection)
    outline = outline_of(trace)
    if layout is not None:
        system = array_of(model, layout, discipline, outline.largest, slots)
    else:
        system = bricks.system(model, discipline, slots, partial(service_of, arm, outline.mean_size))
    say_if_wrapped(outline, system)
    data = run(trace, system, scale=scale, seed=seed, depth=depth, checkpoint=checkpoint, parallel=not sequential)
    _print_replay(data, outline.source, as_json)


def dispatcher_of(name: str, latency: float, speeds: list[float], service: Callable[[], tuple[float, ...]]):
    """Return the dispatcher with the name `name`.

    latency: network latency in seconds. speeds: relative speeds of the bricks. service: function that returns the mean
    service time of each brick.
    """
    from storagekit.cli.catalogue import dispatchers

    arguments = {
        "dsptf": lambda: (latency,),
        "weighted-hashing": lambda: (speeds,),
        "least-completion": lambda: (service(),),
    }
    return chosen("dispatch", name, dispatchers())(*arguments.get(name, tuple)())


def service_of(drive, size: float, speeds: list[float]) -> tuple[float, ...]:
    """Return the mean service time in seconds of an access of `size` bytes on each brick.

    A brick in an outage counts as a brick at full speed, because dispatchers do not detect outages.
    """
    from storagekit.analytic.forkjoin import Disk

    alone = float(Disk.like(drive).mean(size))
    return tuple(alone / (speed or 1.0) for speed in speeds)


def _memory(cache_mb: float, bricks: int, dispatch: str):
    from storagekit.cache import BrickLRU
    from storagekit.core.units import MB

    return BrickLRU.sized(cache_mb * MB, bricks=max(bricks, 1), central=int(dispatch == "central"))


def _faults(slow: list[str], stop: list[str], detection: float | None, bricks: int):
    """Return the faults that --slow, --stop and --detection describe, and the speed of each brick."""
    from storagekit.faults import FaultSchedule, Slowdown, outage

    speeds = [1.0] * max(bricks, 1)
    slowdowns = []
    for given in slow:
        brick, speed = _pair(given, "--slow", "BRICK=SPEED, for example 1=0.5", int, float)
        slowdowns.append(Slowdown(brick, speed))
        if 0 <= brick < len(speeds):
            speeds[brick] = speed
    for given in stop:
        brick, (first, last) = _pair(given, "--stop", "BRICK=FIRST-LAST, for example 0=1000-2000", int, _range)
        slowdowns.append(outage(brick, first, last))
    return FaultSchedule(*slowdowns, detection=detection), speeds


def _range(text: str) -> tuple[int, int]:
    first, last = text.split("-")
    return int(first), int(last)


def _pair(given: str, option: str, form: str, left: Callable, right: Callable):
    name, _, value = given.partition("=")
    try:
        return left(name), right(value)
    except ValueError:
        raise InputError(f"{option} {given!r}: give {form}") from None


def _print_replay(data, source, as_json: bool) -> None:
    from storagekit.simulation.segments import LONG

    found = _report(data)
    if as_json:
        print(json.dumps(found | reader_report(source), indent=1))
        return
    overloaded, not_parallel = found.pop("overloaded"), found.pop("not_parallel")
    for name, value in found.items():
        print(f"{name.replace('_', ' '):<26}{_number(value):>16}")
    if overloaded:
        print(f"overloaded: {overloaded}; the response times depend on the length of the trace")
    if not_parallel and found["requests"] >= LONG:
        print(f"simulated on one core: {not_parallel}")


def _report(data) -> dict:
    """Return the values that `replay` prints, times in ms."""
    median, p95, p99, p999 = (1e3 * float(value) for value in data.response_quantile)
    return {
        "trace": data.attrs["trace"],
        "drive": data.attrs["drive"],
        "requests": int(data.requests),
        "seconds": float(data.elapsed),
        "requests_per_second": float(data.request_rate),
        "utilization": [round(float(value), 4) for value in data.utilization],
        "response_mean_ms": 1e3 * float(data.response),
        "response_p50_ms": median,
        "response_p95_ms": p95,
        "response_p99_ms": p99,
        "response_p999_ms": p999,
        "service_mean_ms": 1e3 * float(data.service_time),
        "queue_depth": float(data.outstanding),
        "candidates": float(data.candidates),
        "waited_outside": int(data.blocked),
        "wrapped_addresses": float(data.wrapped),
        "overloaded": data.attrs["overloaded"],
        "segments": data.attrs["segments"],
        "not_parallel": data.attrs["not_parallel"],
        "bottleneck": f"brick {data.attrs['busiest_brick']}, {data.attrs['bottleneck']}",
    }


def chosen(what: str, name: str, known: dict):
    """Return the value of `name` in `known`. If the name is unknown, raise InputError with all known names."""
    from storagekit.core.validation import one_of

    return known[one_of(*known)(what, name)]


def _number(value) -> str:
    if value is None:
        return "-"
    if isinstance(value, list):
        return ", ".join(_number(item) for item in value)
    return f"{value:,.4g}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)
