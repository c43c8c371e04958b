"""The command line. Imports stay light: a command imports what it runs.

The commands about traces are in `cli_trace` and `cli_compare`, about drives in `cli_drive`, those of a planner in `cli_plan`
and `cli_schemes`, sweeps in `cli_sweep`, of the lab in `cli_lab` and `cli_export`; a file of further commands joins with
`app.add_typer` or `app.command()` at the end of this one.
"""

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

from storagekit.errors import InputError, SimulationError
from storagekit.extras import require_extra
from storagekit.reproduce import (
    cli_compare,
    cli_drive,
    cli_export,
    cli_lab,
    cli_plan,
    cli_schemes,
    cli_sweep,
    cli_trace,
    completing,
)

app = typer.Typer(
    name="storagekit",
    help="Storage systems of many drives: simulated, computed, and held against their papers.",
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

Out = Annotated[Path, typer.Option(help="Folder of the results.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for a program.")]
OUT = Path("build/reproductions")
_INTERRUPTED = 130


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
        typer.Argument(metavar="[PAPER]...", help="Papers; all if none is given.", autocompletion=completing.papers),
    ] = None,
    profile: Annotated[str, typer.Option(help="quick or full (tighter intervals).")] = "quick",
    jobs: Annotated[
        int | None, typer.Option(help="Notebooks to run side by side; one for each core if not given.")
    ] = None,
    out: Out = OUT,
    seed: Annotated[int, typer.Option(help="Seed of every random draw.")] = 0,
    parameter: Annotated[
        list[str] | None,
        typer.Option("-p", metavar="NAME=VALUE", help="A parameter, for the notebooks that have it; repeatable."),
    ] = None,
    traces: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder of real traces, run in place of their stand-ins."),
    ] = None,
) -> None:
    """Run the papers' notebooks: charts, tables, the scorecard and a book of it all, into OUT.

    Open OUT/index.html. A second run redoes only what changed. Exit status: 0 all ran, 1 a notebook or the book failed, 2 bad
    input.
    """
    require_extra("reproduce", "papermill", "ipykernel", "nbconvert", "sphinx", "myst_nb", "furo", "latex2mathml")
    from storagekit.reproduce import parameters, runner

    given = parameters.split(parameter or ())
    if traces is not None:
        given = {"traces": str(traces)} | given
    report = runner.reproduce(papers or (), out=out, profile=profile, seed=seed, given=given, jobs=jobs)
    for name, took in report.took.items():
        print(f"{name}: taken by {', '.join(took)}")
    for outcome in report.outcomes:
        print(_outcome_line(report.out, outcome))
    _print_scorecard(report.out)
    for made in (report.lab, report.book):
        if made.state == "failed":
            print(f"storagekit: {made.message}", file=sys.stderr)
    if report.book.state != "failed":
        print(report.out / "index.html")
    if report.failed:
        raise typer.Exit(1)


def _outcome_line(out: Path, outcome) -> str:
    if outcome.state == "failed":
        print(f"storagekit: {outcome.message}", file=sys.stderr)
        return f"{outcome.paper}: failed after {outcome.seconds:.0f} s"
    page = out / outcome.paper / f"{outcome.paper}.html"
    state = "nothing changed" if outcome.state == "cached" else f"ran in {outcome.seconds:.0f} s"
    return f"{outcome.paper}: {state}: {page}"


@app.command()
def scorecard(out: Out = OUT, as_json: Json = False) -> None:
    """Print the scorecard of the last run again."""
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
    from storagekit.reproduce.catalogue import catalogue

    sections = catalogue()
    if as_json:
        plain = {name: [asdict(entry) for entry in part] for name, part in sections.items()}
        print(json.dumps(plain, indent=1))
        return
    for name, entries in sections.items():
        width = max((len(entry.name) for entry in entries), default=0)
        lines = [f"  {entry.name:<{width}}  {entry.what}".rstrip() for entry in entries]
        print("\n".join([f"{name}:", *lines, ""]))


cli_trace.join(app)
cli_compare.join(app)
cli_drive.join(app)
cli_plan.join(app)
cli_sweep.join(app)
cli_schemes.join(app)
cli_lab.join(app)
cli_export.join(app)


def main() -> None:
    """Run the command line; bad input is one line on stderr and exit status 2, a warning one line on stderr."""
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _warn
            status = app(sys.argv[1:] or ["--help"], standalone_mode=False, prog_name="storagekit")
        if status == _INTERRUPTED:  # what typer makes of Ctrl-C
            _stop()
        sys.exit(status)
    except (KeyboardInterrupt, typer.Abort):
        _stop()
    except InputError as fault:
        _fail(str(fault))
    except SimulationError as fault:
        print(f"storagekit: {' '.join(str(fault).split())}", file=sys.stderr)
        sys.exit(1)
    except TyperException as fault:
        message = getattr(fault, "format_message", lambda: str(fault))()
        if message:
            _fail(f"{message.rstrip('.')}; see `storagekit --help`")
        sys.exit(2)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)


def _stop() -> None:
    """Leave at once: a notebook's thread would be waited for; its kernel ends with this process."""
    print("storagekit: stopped; what was running is not finished", file=sys.stderr, flush=True)
    os._exit(_INTERRUPTED)


def _warn(message: Warning | str, *_: object) -> None:
    print(f"storagekit: warning: {' '.join(str(message).split())}", file=sys.stderr)


def _fail(message: str) -> None:
    print(f"storagekit: {' '.join(message.split())}", file=sys.stderr)
    sys.exit(2)
