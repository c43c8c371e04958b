"""Options of the commands that read a trace, and the reading with them.

The fields of `TraceOptions`, `Selection` and their subclasses are options. A command with a parameter of one of these classes
and the decorator `trace_options` has them all.
"""

import inspect
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from storagekit.cli import completion
from storagekit.core.errors import InputError
from storagekit.reproduce.printing import say

if TYPE_CHECKING:
    from storagekit.workload.trace import RequestTrace, TraceFile
    from storagekit.workload.trace.stored import Outline

File = Annotated[Path, typer.Argument(metavar="FILE", help="Trace file, plain or compressed (gzip, bzip2, xz, zstd).")]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        help="Format of the trace (see `storagekit trace formats`); by default recognized from the content.",
        autocompletion=completion.formats,
    ),
]
More = Annotated[
    list[Path] | None,
    typer.Option(
        "--with",
        metavar="FILE",
        help="A further file of the same trace, merged by its clock; repeatable.",
    ),
]
Columns = Annotated[
    str | None,
    typer.Option(
        metavar="NAME=COLUMN:UNIT,...",
        help=(
            "Columns of a table: time, offset, size, operation, and optionally device and response, each by its name "
            "or number, with its unit, such as time=ts:us,offset=lba:sectors,size=bytes,operation=op."
        ),
    ),
]
Requests = Annotated[int | None, typer.Option(help="Number of requests to read, from the start of the trace.")]
SkipBad = Annotated[
    int, typer.Option(metavar="N", help="Skip and count up to N damaged lines. One more damaged line is an error.")
]
Devices = Annotated[
    str | None, typer.Option(metavar="NAME,NAME,...", help="Use only the requests to these devices of the trace.")
]
From = Annotated[float, typer.Option("--from", metavar="SECONDS", help="Start of the window to use, in trace time.")]
Until = Annotated[
    float | None, typer.Option("--until", metavar="SECONDS", help="End of the window to use, in trace time.")
]
Sample = Annotated[
    float | None,
    typer.Option(metavar="SHARE", help="Use only this share of the devices, such as 0.1, with all requests to them."),
]


Compact = Annotated[
    bool,
    typer.Option(
        "--compact",
        help="Place only the parts of 1 MiB that the trace accesses on the modelled drives, one after the other.",
    ),
]
Depth = Annotated[
    int | None,
    typer.Option(
        help="Replay in a closed loop with this number of outstanding requests. Recorded times are not used, or are missing."
    ),
]


@dataclass(frozen=True)
class TraceOptions:
    """Options for reading a trace."""

    format: Format = None
    columns: Columns = None
    requests: Requests = None
    skip_bad: SkipBad = 0

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of `workload.trace.read` and `convert`."""
        return {field.name: getattr(self, field.name) for field in fields(TraceOptions)}


@dataclass(frozen=True)
class MergedTraceOptions(TraceOptions):
    """Options for reading a trace of one or several files."""

    more: More = None

    def paths(self, file: Path) -> Path | list[Path]:
        """Return the file, or all files if there are several."""
        return [file, *self.more] if self.more else file


@dataclass(frozen=True)
class Selection:
    """Options that select requests of a trace."""

    devices: Devices = None
    start: From = 0.0
    until: Until = None
    sample: Sample = None

    def __post_init__(self):
        from storagekit.core.validation import SHARE, Validator

        seconds = Validator(least=0, unit="s")
        seconds("--from", self.start)
        for option, validator, value in (("--until", seconds, self.until), ("--sample", SHARE, self.sample)):
            if value is not None:
                validator(option, value)
        if self.sample == 0:
            raise InputError("--sample 0: give a share above 0")
        if self.until is not None and not self.start < self.until:
            raise InputError(f"--until {self.until:g}: must be later than --from {self.start:g}")

    def of(self, trace: "RequestTrace") -> "RequestTrace":
        """Return the selected requests of a trace. Raises InputError if there is none."""
        (selected,) = self.parts(iter([trace]))
        return selected

    def parts(self, parts: "Iterator[RequestTrace]") -> "Iterator[RequestTrace]":
        """Yield the selected requests of the parts of a trace. Raises InputError at the end if there is none."""
        name, seen, count, first = "the trace", set(), 0, True
        for part in parts:
            name, fresh = part.source.name, [one for one in part.devices if one not in seen]
            seen.update(fresh)
            kept = self._kept(part.devices)
            chosen = self._window(part.select(kept)) if kept else replace(part.take(slice(0)), devices=())
            count += len(chosen)
            if len(chosen) or part.source.skipped or part.source.notes or first:
                yield chosen
            first = False
        missing = [one for one in self._named(seen) if one not in seen]
        if missing:
            known = ", ".join(map(repr, sorted(seen)[:20]))
            raise InputError(f"no device {missing[0]!r} in {name}; give one of {known}")
        if not count:
            raise InputError(
                f"{name} has no request in the selection (devices, window, sample); give a wider selection"
            )

    def _named(self, devices: Collection[str]) -> list[str]:
        """Return the names in the option --devices. Names of block devices contain commas, such as 8,0."""
        parts = [] if self.devices is None else self.devices.split(",")
        names = []
        while parts:
            length = next((n for n in range(len(parts), 0, -1) if ",".join(parts[:n]) in devices), 1)
            names.append(",".join(parts[:length]))
            parts = parts[length:]
        return [name for name in names if name]

    def _kept(self, devices: tuple[str, ...]) -> list[str]:
        from storagekit.workload.trace.records import in_sample

        named = self._named(devices)
        return [
            one
            for one in devices
            if (self.devices is None or one in named) and (self.sample is None or in_sample(one, self.sample))
        ]

    def _window(self, trace: "RequestTrace") -> "RequestTrace":
        if not self.start and self.until is None:
            return trace
        return trace.window(self.start, float("inf") if self.until is None else self.until)


@dataclass(frozen=True)
class PlacedSelection(Selection):
    """Options that select requests of a trace, and place them on the modelled drives."""

    compact: Compact = False


def trace_options(command: Callable) -> Callable:
    """Give a command one option for each field of its parameters of the classes above.

    Parameters
    ----------
    command : callable
        A command, some of whose parameters have a dataclass of options as their type.

    Returns
    -------
    callable
        The command with the options in place of these parameters. It creates the objects and calls `command`.
    """
    signature = inspect.signature(command)
    groups = {name: one.annotation for name, one in signature.parameters.items() if is_dataclass(one.annotation)}
    parameters = []
    for name, one in signature.parameters.items():
        if name not in groups:
            parameters.append(one.replace(kind=inspect.Parameter.KEYWORD_ONLY))
            continue
        hints = get_type_hints(groups[name], include_extras=True)
        parameters += [
            inspect.Parameter(
                field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=hints[field.name]
            )
            for field in fields(groups[name])
        ]

    @wraps(command)
    def run(**given):
        objects = {
            name: group(**{field.name: given.pop(field.name) for field in fields(group)})
            for name, group in groups.items()
        }
        return command(**given, **objects)

    # typer reads the options from these
    del run.__wrapped__
    run.__signature__ = signature.replace(parameters=parameters)
    run.__annotations__ = {one.name: one.annotation for one in parameters}
    return run


def opened(file: Path, options: MergedTraceOptions, selection: PlacedSelection) -> "RequestTrace":
    """Read a trace, select its requests, and print the remarks of the reader on standard error."""
    from storagekit.workload.trace import read

    trace = selection.of(read(options.paths(file), **options.arguments()))
    trace = trace.compacted() if selection.compact else trace
    for line in remarks(trace.source):
        say(line)
    return trace


def stored(file: Path, options: MergedTraceOptions, selection: PlacedSelection) -> "RequestTrace | TraceFile":
    """Return a trace that stays in its file. Several files, and a pipe, are read into memory as by `opened`."""
    from storagekit.workload.trace import TraceFile

    if options.more or (file.exists() and not file.is_file()):
        return opened(file, options, selection)
    trace = TraceFile(file, **options.arguments(), select=selection.parts, compact=selection.compact)
    for line in remarks(trace.outline.source):
        say(line)
    return trace


def streamed(file: Path, options: MergedTraceOptions, selection: Selection) -> "Iterator[RequestTrace]":
    """Yield the selected requests of a trace in order of time. A trace of one file is read in parts, to save memory."""
    from storagekit.workload.trace import chunks, read
    from storagekit.workload.trace.reading import in_order

    if options.more:
        yield selection.of(read(options.paths(file), **options.arguments()))
        return
    yield from selection.parts(in_order(chunks(file, **options.arguments())))


def say_if_wrapped(outline: "Outline", system: Any) -> None:
    """Say on standard error if the addresses of a trace exceed the capacity of a system, and what to do."""
    from storagekit.core.units import SECTOR

    capacity = int(system.placement.capacity(system.drive)) * SECTOR
    if outline.end > capacity:
        say(
            f"warning: the trace needs {outline.end / 1e9:,.0f} GB and the modelled system has {capacity / 1e9:,.0f} GB, so "
            "that addresses wrap around; give larger or more drives, fewer devices, or --compact"
        )


def remarks(source) -> list[str]:
    """Return remarks of the reader of a trace: the records that it left out, and its interpretation of the file."""
    left_out = ", ".join(f"{count:,} {kind}" for kind, count in source.skipped.items())
    early = f"sorted: {source.disorder:,} requests are earlier than one before them in the file"
    return [
        *([f"left out: {left_out}"] if left_out else []),
        *([early] if source.disorder else []),
        *(f"note: {note}" for note in source.notes),
    ]


def reader_report(source) -> dict:
    """Return the report of the reader of a trace, for JSON."""
    return {"left_out": dict(source.skipped), "notes": list(source.notes), "disorder": source.disorder}
