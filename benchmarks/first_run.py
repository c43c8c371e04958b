"""Measure the cost of the first run of a paper, exhibit by exhibit, with nothing compiled before.

    python -m benchmarks.first_run [PAPER ...] [--profile quick|full]

Each notebook runs in a fresh process with an empty cache of compiled programs. A row is one code cell, named after the
exhibits that it shows. Columns: processor seconds of the cell; wall seconds of tracing, lowering and compilation; the
number of compiled programs, and of event loops (`_advance`) among them; processor seconds of event loops that were
compiled before, their events, and events per second; peak memory of the process so far.
"""

import argparse
import contextlib
import csv
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, fields
from pathlib import Path

PAPERS = ("swift", "srarray", "dsptf", "ars", "dsfq", "since")
_COMPILED = "/jax/core/compile/"


@dataclass
class Cell:
    """Cost of one code cell; the module describes the columns.

    `events` and `running` cover only calls of the event loop that compiled nothing.
    """

    paper: str
    cell: str
    seconds: float = 0.0
    building: float = 0.0
    programs: int = 0
    loops: int = 0
    running: float = 0.0
    events: float = 0.0
    megabytes: float = 0.0

    @property
    def rate(self) -> float:
        """Return the events per processor second of the event loop."""
        return self.events / self.running if self.running else 0.0


class Meter:
    """Counts compilations and the work of the event loop while cells run."""

    def __init__(self):
        import jax

        from storagekit.engine import run

        self.cell = Cell("", "")
        jax.monitoring.register_event_duration_secs_listener(self._compiled)
        advance = run.Runner.advance

        def counted(runner, count: int):
            runs = runner.run.key.shape[1] if runner.run.key.ndim > 1 else 1
            begin, loops = time.process_time(), self.cell.loops
            result = advance(runner, count)
            if self.cell.loops == loops:
                self.cell.running += time.process_time() - begin
                self.cell.events += float(count * run.CHUNK * runs)
            return result

        run.Runner.advance = counted

    def _compiled(self, event: str, seconds: float, **facts) -> None:
        if not event.startswith(_COMPILED):
            return
        self.cell.building += seconds
        if "backend_compile" in event:
            self.cell.programs += 1
            self.cell.loops += "_advance" in str(facts.get("fun_name", ""))

    def measure(self, paper: str, name: str, source: str, names: dict) -> Cell:
        """Run the source of a cell and return its cost."""
        self.cell = Cell(paper, name)
        begin = time.process_time()
        # standard output carries the rows
        with contextlib.redirect_stdout(sys.stderr):
            exec(compile(source, f"<{paper}: {name}>", "exec"), names)
        self.cell.seconds = time.process_time() - begin
        self.cell.megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        return self.cell


def _named(source: str) -> str:
    shown = re.findall(r'page\.show\(\s*"([\w.-]+)"', source)
    first = source.strip().splitlines()[0] if source.strip() else ""
    return ", ".join(shown) or first[:40]


def run_cells(paper: str, profile: str, folder: str) -> None:
    """Run a paper's notebook in this process and write a row for each cell to standard output."""
    from storagekit.core.resources import reproductions_path
    from storagekit.reproduce.parameters import read_notebook

    meter, names = Meter(), {"__name__": "__main__"}
    rows = csv.writer(sys.stdout)
    for cell in read_notebook(reproductions_path() / f"{paper}.ipynb").cells:
        if cell.cell_type != "code" or not cell.source.strip():
            continue
        source = cell.source
        if "parameters" in cell.metadata.get("tags", ()):
            source += f"\nprofile, out = {profile!r}, {folder!r}"
        cost = meter.measure(paper, _named(source), source, names)
        rows.writerow(asdict(cost).values())
        sys.stdout.flush()


def _paper(name: str) -> str:
    if name not in PAPERS:
        raise argparse.ArgumentTypeError(f"{name!r} is unknown: give one of {', '.join(PAPERS)}")
    return name


def main() -> None:
    """Run the selected papers one after the other, and print their rows."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("papers", nargs="*", default=PAPERS, type=_paper, metavar="PAPER")
    parser.add_argument("--profile", default="quick")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside:
        run_cells(options.papers[0], options.profile, os.environ["STORAGEKIT_FIRST_RUN"])
        return
    print(
        f"{'cell':44}{'CPU s':>8}{'build s':>9}{'programs':>9}{'loops':>6}{'run s':>8}{'events':>10}{'M/s':>7}{'MB':>7}"
    )
    for paper in options.papers:
        total = Cell(paper, "in all")
        for row in _rows(paper, options.profile):
            _print(row)
            for name in ("seconds", "building", "programs", "loops", "running", "events"):
                setattr(total, name, getattr(total, name) + getattr(row, name))
            total.megabytes = row.megabytes
        _print(total)


def _rows(paper: str, profile: str):
    from storagekit.core.devices import environment

    with tempfile.TemporaryDirectory() as folder:
        new = {"STORAGEKIT_FIRST_RUN": folder, "JAX_COMPILATION_CACHE_DIR": str(Path(folder) / "cache")}
        command = [sys.executable, "-m", "benchmarks.first_run", paper, "--profile", profile, "--inside"]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, env=os.environ | environment() | new
        ) as process:
            kinds = [field.type for field in fields(Cell)]
            for values in csv.reader(process.stdout):
                yield Cell(*(kind(value) for kind, value in zip(kinds, values, strict=True)))
        if process.returncode:
            sys.exit(f"{paper}: the notebook failed, see above")


def _print(row: Cell) -> None:
    numbers = (
        f"{row.seconds:8.1f}{row.building:9.1f}{row.programs:9d}{row.loops:6d}{row.running:8.1f}{row.events:10.2e}"
    )
    print(f"{f'{row.paper}: {row.cell}':44.44}{numbers}{row.rate / 1e6:7.2f}{row.megabytes:7.0f}", flush=True)


if __name__ == "__main__":
    main()
