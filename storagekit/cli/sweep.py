"""The command that runs a sweep from a file: in this process, or on workers of this machine or of a cluster."""

import importlib.util
import json
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from storagekit.core.errors import InputError, SimulationError

if TYPE_CHECKING:
    import xarray as xr

# the optional and the required definitions of a file
_KNOWN = ("build", "axes", "seeds", "requests", "seconds", "warm_up", "allow_blocked", "measures")
_NEEDED = ("build", "axes")
_NUMBERS = ("requests", "seconds", "warm_up")
_MODULE = "storagekit_sweep_file"
# points that are printed
_SHOWN = 40


def join(app: typer.Typer) -> None:
    """Add this command to the command line."""
    app.command("sweep")(sweep)


def sweep(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A Python file that defines `build` and `axes`.")],
    workers: Annotated[int, typer.Option(help="Number of worker processes on this machine.")] = 1,
    scheduler_file: Annotated[
        Path | None, typer.Option(metavar="JSON", help="Scheduler file of the Dask cluster to use.")
    ] = None,
    store: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder that stores the results; stored points are not simulated again."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="NC", help=("NetCDF file for the results; by default the name of FILE with .nc.")),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Simulate every point of a grid, and print and write the results.

    FILE is a Python file, which is executed. It defines `build`, a function that returns a Scenario, and `axes`, a dictionary
    from names of its parameters to lists of values. It may also define seeds, requests, seconds, warm_up, allow_blocked and
    measures (see `help(storagekit.sweep)`). With --store, a sweep that was stopped continues at the last stored point.
    """
    from storagekit.simulation import sweep as run

    if workers < 1:
        raise InputError(f"--workers {workers}: give at least 1")
    if workers > 1 and scheduler_file is not None:
        raise InputError(
            "--workers starts local processes, --scheduler-file uses a running cluster: give only one of them"
        )
    target = Path(f"{file.stem}.nc") if out is None else out
    _make_room(target)
    with _defined(file) as definition, _client(workers, scheduler_file) as client:
        data = run(**definition, store=store, client=client)
    _write(data, target)
    rows = _rows(data)
    if as_json:
        print(json.dumps({"out": str(target), "points": rows}, indent=1))
        return
    print("\n".join(_table(rows[:_SHOWN])))
    more = len(rows) - _SHOWN
    print(f"\n{f'{more:,} more points, and ' if more > 0 else ''}all measures of each run: {target}")


@contextmanager
def _defined(file: Path) -> Iterator[dict[str, Any]]:
    """Return the definitions of a file by name. An error in the file is one line with its position."""
    spec = importlib.util.spec_from_file_location(_MODULE, file)
    if not file.is_file() or spec is None or spec.loader is None:
        raise InputError(f"{file}: no such Python file; give one that defines `build` and `axes`")
    module = importlib.util.module_from_spec(spec)
    folder = str(file.resolve().parent)
    sys.path.insert(0, folder)
    sys.modules[_MODULE] = module
    try:
        spec.loader.exec_module(module)
        yield _taken(file, module)
    except (InputError, SimulationError):
        raise
    except SyntaxError as fault:
        raise InputError(f"{fault.filename}:{fault.lineno}: {fault.msg}") from fault
    except Exception as fault:
        steps = traceback.extract_tb(fault.__traceback__)
        lines = [step.lineno for step in steps if Path(step.filename).resolve() == file.resolve()]
        if not lines:
            raise
        raise InputError(f"{file}:{lines[-1]}: {type(fault).__name__}: {fault}") from fault
    finally:
        sys.path.remove(folder)
        del sys.modules[_MODULE]


def _taken(file: Path, module: ModuleType) -> dict[str, Any]:
    definition = {name: getattr(module, name) for name in _KNOWN if hasattr(module, name)}
    for name in _NEEDED:
        if name not in definition:
            raise InputError(f"{file}: `{name}` is not defined; define a function `build` and a dictionary `axes`")
    if not callable(definition["build"]) or not isinstance(definition["axes"], dict):
        raise InputError(
            f"{file}: `build` must be a function, and `axes` a dictionary from names of its parameters to lists"
        )
    for name in _NUMBERS:
        if not isinstance(definition.get(name, 0), int | float):
            raise InputError(
                f"{file}: `{name}` is a {type(definition[name]).__name__}, but this name is reserved for a number; use "
                "another name"
            )
    return definition


@contextmanager
def _client(workers: int, scheduler_file: Path | None) -> Iterator[Any]:
    """Yield the client whose workers run the sweep; None to run the sweep in this process."""
    from storagekit.simulation import local_workers
    from storagekit.simulation.workers import client_of, sent_whole

    if workers == 1 and scheduler_file is None:
        yield None
        return
    found = local_workers(workers) if scheduler_file is None else client_of(scheduler_file)
    with sent_whole(_MODULE), found as client:
        yield client


def _make_room(path: Path) -> None:
    """Raise InputError if `path` cannot be written.

    The check comes before the simulation, because the simulation may take hours.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as fault:
        raise InputError(f"--out {path}: {fault.strerror or fault}; give a writable file") from fault
    if path.is_dir():
        raise InputError(f"--out {path}: this is a folder; give a writable file")


def _write(data: "xr.Dataset", path: Path) -> None:
    from storagekit.core.atomic_files import replacing
    from storagekit.core.provenance import storable

    plain = data.assign_attrs({name: storable(value) for name, value in data.attrs.items()})
    named = {name: [_word(one) for one in data[name].values] for name in _axes(data) if data[name].dtype == object}
    try:
        with replacing(path) as temporary:
            plain.assign_coords(named).to_netcdf(temporary, engine="h5netcdf")
    except OSError as fault:
        raise InputError(f"--out {path}: {fault.strerror or fault}; give a writable file") from fault


def _axes(data: "xr.Dataset") -> list[str]:
    return list(data.response.dims[:-1])


def _word(value: Any) -> str | bool | int | float:
    """Return a value of an axis for a table or a file; an object is shown by its type."""
    if hasattr(value, "item"):
        value = value.item()
    return value if isinstance(value, str | bool | int | float) else type(value).__name__


def _rows(data: "xr.Dataset") -> list[dict[str, Any]]:
    """Return one row for each point: its values on the axes, and means with the half width of their 95% interval.

    Times are in ms.
    """
    from storagekit.simulation import interval

    shown = data[["request_rate", "response", "throughput"]]
    points = interval(shown).stack(point=_axes(data)) if _axes(data) else interval(shown).expand_dims("point")
    rows = []
    for number in range(points.sizes["point"]):
        one = points.isel(point=number)
        row = {name: _word(one[name].values[()]) for name in _axes(data)}
        for name, called, factor in (
            ("request_rate", "requests_per_second", 1),
            ("response", "response_ms", 1e3),
            ("throughput", "accesses_per_second_and_brick", 1),
        ):
            mean, low, high = (factor * float(value) for value in one[name].sel(statistic=["mean", "low", "high"]))
            row |= {called: mean, f"{called}_plus_minus": None if high != high else (high - low) / 2}
        rows.append(row)
    return rows


def _table(rows: list[dict[str, Any]]) -> list[str]:
    names = [name for name in rows[0] if not name.endswith("_plus_minus")]
    lines = [[name.replace("_", " ") for name in names]]
    for row in rows:
        lines.append([_cell(row[name], row.get(f"{name}_plus_minus")) for name in names])
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return ["  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in lines]


def _cell(value: Any, half: float | None) -> str:
    if not isinstance(value, float):
        return str(value)
    return f"{value:.4g}" if half is None else f"{value:.4g} ± {half:.2g}"
