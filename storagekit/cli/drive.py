"""The commands about drives: list, show, check against measured times, and fit."""

import json
import math
import os
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Annotated, Any

import typer

from storagekit.cli import completion
from storagekit.core.errors import InputError

if TYPE_CHECKING:
    from storagekit.calibrate.drive_figures import DatasheetFigures
    from storagekit.drive import Drive, DriveController

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Charts = Annotated[Path | None, typer.Option(metavar="DIR", help="Folder for charts, as PNG and SVG.")]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        help="Format of the trace; by default recognized from the content.",
        autocompletion=completion.formats,
    ),
]

drive_app = typer.Typer(help="Show, check and fit models of drives.", rich_markup_mode=None, no_args_is_help=True)
_MS, _MB, _GB = 1e3, 1e-6, 1e-9
# a line of `show`: label, figure, factor, format, unit
_LINES = (
    ("capacity", "capacity", _GB, ",.3f", "GB"),
    ("physical sector", "sector_bytes", 1, ",d", "bytes"),
    ("cylinders", "cylinders", 1, ",d", ""),
    ("heads", "heads", 1, ",d", ""),
    ("zones", "zones", 1, ",d", ""),
    ("spindle", "rpm", 1, ",.0f", "rpm"),
    ("revolution", "revolution", _MS, ",.3f", "ms"),
    ("track-to-track seek", "track_seek", _MS, ",.3f", "ms"),
    ("average seek", "average_seek", _MS, ",.3f", "ms (mean over all pairs of cylinders)"),
    ("full-stroke seek", "full_seek", _MS, ",.3f", "ms"),
    ("head switch", "head_switch", _MS, ",.3f", "ms"),
    ("write settle", "write_settle", _MS, ",.3f", "ms, added to the seek of a read"),
    ("overhead", "overhead", _MS, ",.3f", "ms per access"),
    ("rate, outermost zone", "outer_media_rate", _MB, ",.2f", "MB/s within a track"),
    ("", "outer_sustained_rate", _MB, ",.2f", "MB/s over whole cylinders"),
    ("rate, innermost zone", "inner_media_rate", _MB, ",.2f", "MB/s within a track"),
    ("", "inner_sustained_rate", _MB, ",.2f", "MB/s over whole cylinders"),
)


def join(app: typer.Typer) -> None:
    """Add these commands to the command line."""
    app.add_typer(drive_app, name="drive")


@drive_app.command("list")
def list_(as_json: Json = False) -> None:
    """List the drives of the package: capacity, geometry, seek, rates, and whether the controller is known."""
    from storagekit.calibrate import figures
    from storagekit.drive import drive_names

    found = []
    for name in drive_names():
        drive, controller, words = _known(name)
        facts = _plain(figures(drive))
        found.append({"drive": name, "name": drive.name, "controller": controller is not None} | facts | words)
    if as_json:
        print(json.dumps(found, indent=1))
        return
    heads = (
        "drive",
        "GB",
        "rpm",
        "cylinders",
        "heads",
        "seek (ms)",
        "outer rate (MB/s)",
        "inner rate (MB/s)",
        "controller",
        "name",
    )
    rows: list[tuple[str, ...]] = [
        (
            one["drive"],
            f"{one['capacity_bytes'] * _GB:.2f}",
            f"{one['rpm']:.0f}",
            f"{one['cylinders']:,}",
            f"{one['heads']}",
            f"{one['average_seek_ms']:.2f}",
            f"{one['outer_media_rate_bytes_per_s'] * _MB:.1f}",
            f"{one['inner_media_rate_bytes_per_s'] * _MB:.1f}",
            "known" if one["controller"] else "-",
            one["name"],
        )
        for one in found
    ]
    print("\n".join(_aligned([heads, *rows], left={0, 8, 9})))
    print(
        "\nA GB is 10^9 bytes, a MB 10^6 bytes. seek: mean of a read over all pairs of cylinders. Rates are within a "
        "track.\ncontroller: whether controller, bus and buffer are known. `storagekit drive show DRIVE` prints all "
        "values of a drive."
    )


@drive_app.command()
def show(
    drive: Annotated[
        str,
        typer.Argument(metavar="DRIVE", help="Name of a drive, or a drive file.", autocompletion=completion.drives),
    ],
    charts: Charts = None,
    as_json: Json = False,
) -> None:
    """Print the data of a drive with its zones, or of an SSD; with --charts DIR, also draw seek curve and zones."""
    from storagekit.calibrate import figures, seek_curve, zone_map
    from storagekit.drive.controller import controller_facts
    from storagekit.drive.ssd_sheet import is_ssd

    if is_ssd(drive):
        _show_ssd(drive, charts, as_json)
        return
    model, controller, words = _known(drive)
    found, zones = figures(model), zone_map(model)
    written: list[str] = []
    if charts is not None:
        from storagekit.charts import drives as draw

        key = Path(drive).stem
        pictures = {f"{key}_seek_curve": draw.seek_curve(seek_curve(model)), f"{key}_zone_map": draw.zone_map(zones)}
        written = _written(charts, pictures)
    if as_json:
        listed = {name: zones[name].values.tolist() for name in zones}
        per_zone = [dict(zip(listed, row, strict=True)) for row in zip(*listed.values(), strict=True)]
        facts: dict[str, Any] = {"name": model.name} | words | _plain(found) | {"zones": per_zone}
        facts["controller"] = None if controller is None else controller_facts(controller)
        print(json.dumps(facts | {"charts": written}, indent=1))
        return
    print("\n".join([model.name, *_lines(found), "", *_controller_lines(controller), "", *_zone_lines(zones)]))
    for label, text in words.items():
        print("", fill(f"{label}: {text}", 110, subsequent_indent="  "), sep="\n")
    _say_written(written)


@drive_app.command()
def check(
    trace: Annotated[Path, typer.Argument(metavar="TRACE", help="Trace with measured service times.")],
    drive: Annotated[
        str,
        typer.Option(help="The measured drive: name or drive file.", autocompletion=completion.drives),
    ],
    charts: Charts = None,
    form: Format = None,
    as_json: Json = False,
) -> None:
    """Compare the model of a drive with measured service times: the demerit of reads and writes.

    TRACE is a disksim-validate file, or a fio log with offsets and issue times. It was measured with one outstanding
    request at a time, and contains the service time of each request. The demerit is the root mean square distance
    between the distributions of the measured and the modelled times.
    """
    from storagekit.calibrate.drive_check import demerit_by_class, distributions, modelled
    from storagekit.calibrate.measured_drive import buffered_stream, measured_stream
    from storagekit.workload.trace import read

    model, controller, _ = _known(drive)
    requests = read(trace, form)
    stream = buffered_stream(requests, model, controller) if controller else measured_stream(requests, model)
    found = demerit_by_class(stream)
    written: list[str] = []
    if charts is not None:
        from storagekit.charts import drives as draw

        key = f"{trace.name.partition('.')[0]}_service_times"
        written = _written(charts, {key: draw.service_times(distributions(stream))})
    if as_json:
        facts = {"trace": stream.attrs["trace"], "drive": stream.attrs["drive"], "model": modelled(stream)}
        print(json.dumps(facts | {"classes": _classes(found), "charts": written}, indent=1))
        return
    print(f"{stream.attrs['trace']}, simulated with the model of {stream.attrs['drive']}")
    print(fill(f"model: {modelled(stream)}", 110, subsequent_indent="  "), end="\n\n")
    print("\n".join(_check_lines(found)))
    if "read apart" in found.kind:
        recent, reach = stream.attrs["recent_requests"], stream.attrs["reach_sectors"]
        print(
            f"\nread apart: reads more than {reach:,} sectors from each of the previous {recent} requests, so that the "
            "buffer does not have their data"
        )
    _say_written(written)


@drive_app.command()
def fit(
    trace: Annotated[Path, typer.Argument(metavar="TRACE", help="Trace with measured service times.")],
    start: Annotated[
        str,
        typer.Option(
            help="Initial model with the geometry of the drive: name or drive file.", autocompletion=completion.drives
        ),
    ],
    out: Annotated[Path, typer.Option(metavar="FILE", help="Drive file to write (JSON), for use with --drive.")],
    keep_arm: Annotated[bool, typer.Option("--keep-arm", help="Fit only controller, bus and buffer.")] = False,
    judge: Annotated[
        bool,
        typer.Option("--judge", help=("Fit to the first half of the trace, and check the model on the second half.")),
    ] = False,
    form: Format = None,
) -> None:
    """Fit the timing of a drive with known geometry to measured service times, and write a drive file.

    TRACE has the same form as for `check`, with some thousand requests over the whole drive. The fit determines
    revolution, seek curve, head switch, settling and overhead. If the initial model has a controller, a bus and a
    buffer, the fit also determines the times of controller and bus, and the settings of the buffer. The output has the
    standard error of each value, or the reason why it was not fitted.
    """
    from storagekit.calibrate.own_drive import fit_log, judged
    from storagekit.workload.trace import read

    _require_writable(out)
    model, controller, _ = _known(start)
    if keep_arm and controller is None:
        raise InputError(
            f"--keep-arm: the controller of {start!r} is unknown; omit --keep-arm, or give another --start"
        )
    requests = read(trace, form)
    half = len(requests) // 2
    fitted = fit_log(requests.take(slice(0, half)) if judge else requests, model, controller, keep_arm)
    print(fitted)
    _write_facts(out, fitted.facts())
    if judge:
        found = judged(requests.take(slice(half, None)), (model, controller), (fitted.drive, fitted.controller))
        print(
            "\nsecond half of the trace, with the initial and the fitted model:",
            *_check_lines(found[0]),
            *_check_lines(found[1])[1:],
            sep="\n",
        )
    print(f"\ndrive file: {out}")


@drive_app.command("fit-ssd")
def fit_ssd(
    logs: Annotated[
        list[Path],
        typer.Argument(metavar="LOG...", help="Latency logs of fio, each of one operation, size and iodepth."),
    ],
    size_gb: Annotated[float, typer.Option(help="Capacity of the SSD, 10^9 bytes.")],
    out: Annotated[Path, typer.Option(metavar="FILE", help="File to write (JSON), for use with --drive.")],
    name: Annotated[str, typer.Option(help="Name of the SSD.")] = "fitted SSD",
    endurance_tb: Annotated[
        float | None, typer.Option(help="Bytes that can be written before the SSD is worn out, 10^12 bytes.")
    ] = None,
    judge: Annotated[
        bool, typer.Option("--judge", help="Fit to the first half of each log, and check the model on the second half.")
    ] = False,
) -> None:
    """Fit an SSD to latency logs of fio, and write a file for `storagekit plan schemes`.

    A LOG comes from fio with direct=1, write_lat_log and a constant iodepth, and has random reads or writes of one size. For
    each size, one log has iodepth=1; logs with more show how many requests the SSD serves at the same time.
    """
    from storagekit.calibrate.ssd_fit import fit_ssd as fitted_to
    from storagekit.drive.ssd_sheet import facts_of_ssd

    _require_writable(out)
    endurance = None if endurance_tb is None else endurance_tb * 1e12
    fitted = fitted_to(logs, size_gb * 1e9, name=name, endurance=endurance, judge=judge)
    print(fitted)
    _write_facts(out, facts_of_ssd(fitted.ssd, f"fitted to {', '.join(one.name for one in logs)}"))
    print(f"\ndrive file: {out}")


def _require_writable(out: Path) -> None:
    """Raise InputError unless a drive file can be written to this path."""
    if out.suffix != ".json":
        raise InputError(f"--out {str(out)!r}: a drive file is JSON; give a name that ends in .json")
    folder = next(one for one in out.absolute().parents if one.exists())
    if not (folder.is_dir() and os.access(folder, os.W_OK)):
        raise InputError(f"--out {str(out)!r}: cannot write to {str(folder)!r}; give a file in a writable folder")


def _write_facts(out: Path, facts: dict[str, Any]) -> None:
    from storagekit.core.atomic_files import write_text

    try:
        write_text(out, json.dumps(facts, indent=1) + "\n")
    except OSError as fault:
        raise InputError(f"--out {str(out)!r}: {fault.strerror or fault}; give a file in a writable folder") from fault


def _show_ssd(name: str, charts: Path | None, as_json: bool) -> None:
    from storagekit.drive import load_ssd
    from storagekit.drive.ssd_sheet import facts_of_ssd

    if charts is not None:
        raise InputError(f"--charts with {name[:40]!r}: an SSD has no seek curve and no zones; leave --charts out")
    ssd = load_ssd(name)
    if as_json:
        print(json.dumps(facts_of_ssd(ssd), indent=1))
        return
    ends = "complete in a buffer" if ssd.buffered else "wait for their units"
    worn = "" if ssd.endurance is None else f", worn out after {ssd.endurance * _GB / 1e3:,.0f} TB"
    print(f"{ssd.name}\n  {ssd.size * _GB:,.0f} GB, {ssd.parallel} parallel units, writes {ends}{worn}\n")
    rows: list[tuple[str, ...]] = [("", "KB", "latency (us)", "requests/s", "MB/s")]
    for what in ("reads", "writes"):
        rows += [
            (
                what,
                f"{one.size / 1024:g}",
                f"{one.latency * 1e6:,.0f}",
                f"{one.rate:,.0f}",
                f"{one.size * one.rate * _MB:,.0f}",
            )
            for one in getattr(ssd, what)
        ]
    print("\n".join(_aligned(rows, left={0})))


def _known(drive: str) -> "tuple[Drive, DriveController | None, dict[str, str]]":
    """Return a drive, its controller if it is known, and the sources and assumptions of its facts."""
    from storagekit.drive import drive_facts, known_controller, load_drive

    model, facts = load_drive(drive), drive_facts(drive)
    return model, known_controller(drive), {name: str(facts[name]) for name in ("source", "assumed") if name in facts}


def _plain(found: "DatasheetFigures") -> dict[str, float]:
    """Return the data-sheet values by names that include their units."""
    ms = {"revolution", "track_seek", "average_seek", "full_seek", "head_switch", "write_settle", "overhead"}
    figures = {}
    for name, value in found._asdict().items():
        if name == "capacity":
            figures["capacity_bytes"] = value
        elif name.endswith("_rate"):
            figures[f"{name}_bytes_per_s"] = value
        else:
            figures[f"{name}_ms" if name in ms else name] = value * _MS if name in ms else value
    return figures


def _lines(found: "DatasheetFigures") -> list[str]:
    return [
        f"  {label:<22}{format(getattr(found, name) * factor, form):>14}  {unit}".rstrip()
        for label, name, factor, form, unit in _LINES
    ]


def _controller_lines(controller: "DriveController | None") -> list[str]:
    from storagekit.drive.controller import controller_facts

    if controller is None:
        return ["controller, bus and buffer: unknown"]
    lines = []
    titles = {"overheads": "controller", "extra_disconnect": "extra disconnect of writes"}
    for group, fields in controller_facts(controller).items():
        lines.append(f"{titles.get(group, group)}:")
        for field, value in fields.items():
            unit = "ms" if field.endswith("_ms") else ""
            label = field.removesuffix("_ms").replace("_", " ")
            words = {True: "yes", False: "no"}
            shown = (
                words[value]
                if isinstance(value, bool)
                else f"{value:,.4g}"
                if isinstance(value, float)
                else f"{value:,}"
            )
            lines.append(f"  {label:<30}{shown:>6}  {unit}".rstrip())
    return lines


def _zone_lines(zones) -> list[str]:
    rows = [
        (
            "zone",
            "start (GB)",
            "size (GB)",
            "first cylinder",
            "cylinders",
            "sectors/track",
            "MB/s within a track",
            "MB/s over cylinders",
        )
    ]
    for number in zones.zone.values.tolist():
        one = zones.isel(zone=number)
        rows.append(
            (
                f"{number}",
                f"{float(one.first_byte) * _GB:.3f}",
                f"{float(one['size']) * _GB:.3f}",
                f"{int(one.first_cylinder):,}",
                f"{int(one.cylinders):,}",
                f"{int(one.sectors_per_track):,}",
                f"{float(one.media_rate) * _MB:.2f}",
                f"{float(one.sustained_rate) * _MB:.2f}",
            )
        )
    return _aligned(rows, left=set())


def _classes(found) -> dict[str, dict[str, float | int | None]]:
    """Return the values that `check` prints for each class of requests. Times are in ms."""
    facts = {}
    for kind in found.kind.values.tolist():
        one = found.sel(kind=kind)
        times = {f"{name}_ms": float(one[name]) * _MS for name in ("measured", "modelled", "demerit")}
        numbers = times | {"share_of_mean": float(one.share)}
        facts[kind] = {"requests": int(one.requests)} | {
            name: None if math.isnan(value) else value for name, value in numbers.items()
        }
    return facts


def _check_lines(found) -> list[str]:
    def shown(value: float | int | None, form: str) -> str:
        return "-" if value is None else format(value, form)

    rows: list[tuple[str, ...]] = [
        ("", "requests", "measured (ms)", "modelled (ms)", "demerit (ms)", "demerit / measured mean")
    ]
    for kind, one in _classes(found).items():
        times = [shown(one[f"{name}_ms"], ".3f") for name in ("measured", "modelled", "demerit")]
        rows.append((kind, shown(one["requests"], ",d"), *times, shown(one["share_of_mean"], ".1%")))
    return _aligned(rows, left={0})


def _aligned(rows: list[tuple[str, ...]], left: set[int]) -> list[str]:
    """Return rows as lines with aligned columns: left-aligned for column numbers in `left`, others right-aligned."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            f"{cell:<{width}}" if at in left else f"{cell:>{width}}"
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def _written(folder: Path, pictures: dict[str, Any]) -> list[str]:
    from tqdm import tqdm

    from storagekit.reproduce.files import write_chart

    try:
        shown = tqdm(pictures.items(), desc="charts", unit="chart", delay=2, leave=False)
        return [str(path) for name, chart in shown for path in write_chart(folder, name, chart)]
    except OSError as fault:
        raise InputError(f"charts {str(folder)!r}: {fault.strerror or fault}; give a writable folder") from fault


def _say_written(paths: list[str]) -> None:
    if paths:
        print("\ncharts: " + ", ".join(paths))
