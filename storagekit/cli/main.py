"""The command line. Imports stay light: a command imports what it runs.

This file holds the commands of reproduction runs. Every other file with commands adds its commands in a function
`join`. If you write such a file, add its name to the loop at the end of this file. The remaining files are helpers of
the commands.
"""

import errno
import json
import os
import sys
import warnings
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer
from typer.exceptions import TyperException

from storagekit.cli import compare, completion, drive, export, lab, plan_schemes, sweep, trace
from storagekit.core.errors import InputError, SimulationError
from storagekit.core.garbage import leave_to_the_system
from storagekit.core.optional_packages import require_extra
from storagekit.reproduce.printing import harmlessly, say
from storagekit.reproduce.processes import leave_at_once, stop_in_order

app = typer.Typer(
    name="storagekit",
    help="Simulate, plan and compare storage systems of many drives.",
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

Out = Annotated[Path, typer.Option(help="Folder for the results.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
OUT = Path("build/reproductions")
_INTERRUPTED, _BROKEN_PIPE = 130, 141


def _version(wanted: bool) -> None:
    if wanted:
        print(f"storagekit {version('storagekit')}")
        raise typer.Exit()


@app.callback()
def _common(
    _wanted: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    pass


@app.command()
def reproduce(
    papers: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[PAPER]...", help="Papers to reproduce; by default all.", autocompletion=completion.papers
        ),
    ] = None,
    profile: Annotated[str, typer.Option(help="quick, or full for narrower confidence intervals.")] = "quick",
    jobs: Annotated[
        int | None, typer.Option(help="Number of notebooks to run in parallel; by default one per core.")
    ] = None,
    out: Out = OUT,
    seed: Annotated[int, typer.Option(help="Seed of all random numbers.")] = 0,
    parameter: Annotated[
        list[str] | None,
        typer.Option(
            "-p", metavar="NAME=VALUE", help=("Value of a parameter, for all notebooks that have it; repeatable.")
        ),
    ] = None,
    traces: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder with real traces, which replace the synthetic traces."),
    ] = None,
) -> None:
    """Run the notebooks of the papers. Write charts, tables, the scorecard and a site to OUT.

    Open OUT/index.html. A second run repeats only the papers whose inputs changed. Exit status: 0 if all notebooks ran,
    1 if a notebook or the site failed, 2 for bad input.
    """
    require_extra("reproduce", "papermill", "ipykernel", "sphinx", "myst_nb", "furo", "latex2mathml")
    from storagekit.reproduce import parameters, runner

    given = parameters.split(parameter or ())
    if traces is not None:
        given = {"traces": str(traces)} | given
    report = runner.reproduce(papers or (), out=out, profile=profile, seed=seed, given=given, jobs=jobs)
    for name, took in report.took.items():
        print(f"{name}: used by {', '.join(took)}")
    for outcome in report.outcomes:
        print(_outcome_line(report.out, outcome))
    _print_scorecard(report.out)
    for made in (report.lab, report.site):
        if made.state == "failed":
            say(made.message)
    if report.site.state != "failed":
        print(report.out / "index.html")
    if report.failed:
        raise typer.Exit(1)


def _outcome_line(out: Path, outcome) -> str:
    if outcome.state == "failed":
        say(outcome.message)
        return f"{outcome.paper}: failed after {outcome.seconds:.0f} s"
    page = out / "papers" / f"{outcome.paper}.html"
    page = page if page.exists() else out / outcome.paper / f"{outcome.paper}.ipynb"
    state = "unchanged" if outcome.state == "cached" else f"ran in {outcome.seconds:.0f} s"
    return f"{outcome.paper}: {state}: {page}"


@app.command()
def scorecard(out: Out = OUT, as_json: Json = False) -> None:
    """Print the scorecard of the last run."""
    from storagekit.reproduce.report import read_scorecard

    if as_json:
        print(json.dumps(read_scorecard(out), indent=1))
    else:
        _print_scorecard(out)


def _print_scorecard(out: Path) -> None:
    from storagekit.reproduce.report import read_scorecard, text_table

    page = out / "scorecard.html"
    print(f"\n{text_table(read_scorecard(out))}\n{page if page.exists() else page.with_suffix('.csv')}")


@app.command("list")
def list_(as_json: Json = False) -> None:
    """List papers and exhibits, drives, dispatchers, schedulers, placements and trace formats."""
    from storagekit.cli.catalogue import catalogue

    sections = catalogue()
    if as_json:
        plain = {name: [asdict(entry) for entry in part] for name, part in sections.items()}
        print(json.dumps(plain, indent=1))
        return
    for name, entries in sections.items():
        width = max((len(entry.name) for entry in entries), default=0)
        lines = [f"  {entry.name:<{width}}  {entry.what}".rstrip() for entry in entries]
        print("\n".join([f"{name}:", *lines, ""]))


for command in (trace, compare, drive, plan_schemes, sweep, lab, export):
    command.join(app)


def main() -> None:
    """Run the command line and exit.

    An error or a warning is one line on stderr. The exit status is 2 for bad input, and 1 for a failed run or a failure
    of the system. If a signal ends the command, the exit status is 128 plus the number of the signal.
    """
    stop_in_order()
    try:
        status = _status()
    except (KeyboardInterrupt, typer.Abort):
        leave_at_once()
    status = _flushed() or status
    leave_to_the_system()
    sys.exit(status)


def _status() -> int:
    """Run the command and return its exit status; print the error if it fails."""
    try:
        with harmlessly(), warnings.catch_warnings():
            warnings.showwarning = _warn
            status = app(sys.argv[1:] or ["--help"], standalone_mode=False, prog_name="storagekit")
        if status == _INTERRUPTED:  # the status that typer returns after Ctrl-C
            raise KeyboardInterrupt
        return status or 0
    except InputError as fault:
        return _say(str(fault), 2)
    except SimulationError as fault:
        return _say(str(fault), 1)
    except TyperException as fault:
        message = getattr(fault, "format_message", lambda: str(fault))()
        return _say(f"{message.rstrip('.')}; see `storagekit --help`", 2) if message else 2
    except BrokenPipeError:
        return _BROKEN_PIPE
    except OSError as fault:
        unwritten = 0 if fault.filename else _flushed()
        return unwritten or _say(f"{fault.filename or 'output'}: {fault.strerror or fault}; {_remedy(fault)}", 1)


def _say(message: str, status: int) -> int:
    say(message)
    return status


def _warn(message: Warning | str, *_: object) -> None:
    say(f"warning: {message}")


def _remedy(fault: OSError) -> str:
    match fault.errno:
        case errno.ENOSPC | errno.EDQUOT:
            return "free space there, or write to another folder, and run again"
        case errno.EACCES | errno.EPERM | errno.EROFS:
            return "give a file or a folder with read and write permission"
    return "correct this and run again"


def _flushed() -> int:
    """Flush standard output. Return 0, or the exit status if it cannot be written.

    Output that cannot be written is discarded, because Python would otherwise fail at exit when it flushes this output.
    """
    if sys.stdout is None:
        return 0
    try:
        sys.stdout.flush()
    except OSError as fault:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(fault, BrokenPipeError):
            return _BROKEN_PIPE
        return _say(f"standard output: {fault.strerror}; the output is incomplete; redirect it to another file", 1)
    return 0
