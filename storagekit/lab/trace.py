"""Your own trace: its characteristics, a layout of drives for it, and its response times under several schemes."""

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pandas as pd

from storagekit.charts import AnswerText, Dashboard, Slider, StepsControl
from storagekit.charts.live import Control, FilledDashboard
from storagekit.charts.traces import character
from storagekit.core.errors import InputError
from storagekit.core.resources import data_path
from storagekit.core.units import KB, MS, SECTOR, US
from storagekit.core.validation import COUNT, SHARE
from storagekit.dispatch import DSPTF, Hashing, ShortestQueue
from storagekit.drive import Drive
from storagekit.engine import System
from storagekit.lab.drives import NEARLINE, drive_choice, mechanical
from storagekit.lab.page import LabPage
from storagekit.lab.progress import plain
from storagekit.placement import Declustered, Replicas
from storagekit.plan import SchemesAnswer, schemes, tenants_of
from storagekit.schedule import SATF
from storagekit.simulation.compare import Comparison, compare
from storagekit.workload.trace import UNITS, RequestTrace, TraceCharacteristics, characteristics, read
from storagekit.workload.trace.overview import Overview
from storagekit.write import AllCopies

if TYPE_CHECKING:
    from ipywidgets import Box, ValueWidget

SAMPLE = "small.spc"
SCALES = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100)
# maximum number of schemes shown
_LISTED = 5


@dataclass(frozen=True)
class File:
    """The name and the bytes of a trace."""

    name: str
    content: bytes

    @property
    def key(self) -> str:
        return hashlib.sha256(self.content).hexdigest()


@dataclass(frozen=True)
class Upload(Control):
    """A field for an uploaded file; before the upload it holds the file at `path`."""

    label: str
    path: Path

    def widget(self) -> "ValueWidget":
        from ipywidgets import FileUpload

        return FileUpload(description=self.label, multiple=False)

    def meaning(self, value: Any) -> Path | File:
        return File(value[-1]["name"], bytes(value[-1]["content"])) if value else self.path

    def stops(self) -> list[tuple[str, Any]]:
        return [(self.path.name, self.path)]

    def first(self) -> int:
        return 0


@dataclass(frozen=True)
class Advised:
    """A trace, its characteristics, and the answer of `plan.schemes` for its requests.

    scale: factor by which the rate of the trace was multiplied.
    """

    trace: RequestTrace
    found: TraceCharacteristics
    scale: float
    plan: SchemesAnswer


def path_of(trace: str = "") -> Path:
    """Return the path of the trace; by default the path of the sample in the package."""
    return Path(trace).expanduser() if trace else data_path("samples", SAMPLE)


def dropped(page: "Box", trace: str = "") -> Path | File:
    """Return the file that the user uploaded on a lab page, or `path_of(trace)` if there is no upload.

    page: a page that `lab.open` returned.
    """
    from ipywidgets import FileUpload

    waiting: list[Any] = [page]
    while waiting:
        widget = waiting.pop()
        if isinstance(widget, FileUpload) and widget.value:
            return Upload("", path_of(trace)).meaning(widget.value)
        waiting += getattr(widget, "children", ())
    return path_of(trace)


def figures(source: Path | File) -> pd.DataFrame:
    """Return every characteristic of a trace with its unit; "-" if the trace does not determine it."""
    _, found = _known(source)
    shown = {name: ["-" if value is None else f"{value:,.4g}", UNITS[name]] for name, value in found.as_dict().items()}
    return pd.DataFrame.from_dict(shown, orient="index", columns=["value", "unit"]).rename(
        lambda name: name.replace("_", " ")
    )


def advised(
    source: Path | File, drive: Drive, disks: int = 12, data: float = 0.25, scale: float = 1.0, tolerate: int = 1
) -> Advised:
    """Return the characteristics of a trace, and schemes that serve its requests.

    data: a fraction of the raw capacity. scale: factor by which the rate of the trace is multiplied. Shares of reads
    and sizes are taken from the trace. Addresses are random, as in the planner. Raises InputError for a missing trace
    and for numbers out of range.
    """
    COUNT("disks", disks)
    SHARE("data", data)
    trace, found = _known(source)
    answer = schemes(
        drive,
        disks,
        data=data * disks * drive.capacity * SECTOR,
        tenants=tenants_of(trace, scale * (found.rate or 1.0)),
        tolerate=tolerate,
    )
    return Advised(trace, found, scale, answer)


def _known(source: Path | File) -> tuple[RequestTrace, TraceCharacteristics]:
    if isinstance(source, File):
        return _uploaded(source.key, source)
    stamp = source.stat().st_mtime_ns if source.is_file() else 0
    return _on_disk(source, stamp)


@lru_cache(4)
def _on_disk(path: Path, _changed: int) -> tuple[RequestTrace, TraceCharacteristics]:
    trace = read(path)
    return trace, characteristics(trace)


@lru_cache(4)
def _uploaded(_key: str, file: File) -> tuple[RequestTrace, TraceCharacteristics]:
    with TemporaryDirectory() as folder:
        path = Path(folder) / Path(file.name).name
        path.write_bytes(file.content)
        try:
            return _on_disk.__wrapped__(path, 0)
        except InputError as fault:
            raise InputError(str(fault).replace(str(path), path.name)) from None


def summary(answer: Advised) -> AnswerText:
    """Return a text with the recommendation for a trace, its characteristics, and the ranking."""
    found, plan = answer.found, answer.plan
    source = answer.trace.source
    lines = [
        f"{Path(source.name).name} ({source.format}): {found.requests:,} requests in {found.duration:,.0f} s"
        + (f", {found.rate:,.1f} requests/s" if found.rate else "")
        + f"; {found.read_share:.0%} reads; {found.mean_size / KB:,.1f} KB on average; {found.devices} "
        + f"device{'s' if found.devices > 1 else ''}, {found.footprint / 1e9:,.2f} GB accessed.",
        _burstiness(found),
        _locality(found),
    ]
    if not plan.feasible:
        return AnswerText("No scheme of these drives sustains the trace", [str(plan.binding), *lines])
    best = plan.ranking[0]
    tail = f", 99th percentile {best.p99 / MS:,.0f} ms" if math.isfinite(best.p99) else ""
    times = f" at {answer.scale:g} times the rate" if answer.scale != 1 else ""
    return AnswerText(
        f"For requests like these{times}: {best.name}; mean response time {best.mean / MS:.1f} ms{tail}",
        lines,
        _table(plan),
    )


def _burstiness(found: TraceCharacteristics) -> str:
    if found.interarrival_cov is None:
        return "All requests arrive at the same time."
    apart = found.interarrival_cov - 1
    regular = (
        "burstier than Poisson arrivals: expect longer response times than the formulas give"
        if apart > 0
        else "more regular than Poisson arrivals"
    )
    if abs(apart) < 0.15:
        regular = "like Poisson arrivals"
    return (
        f"The coefficient of variation of interarrival times is {found.interarrival_cov:.2f}, {regular}. The busiest second "
        f"has {found.peak_to_mean:.1f} times the mean rate."
    )


def _locality(found: TraceCharacteristics) -> str:
    onward = f"{found.sequential_share:.0%} of the requests are sequential."
    if found.seek_locality is None:
        return onward
    near = f"{found.seek_locality:.1f} times shorter than" if found.seek_locality > 1.1 else "as long as"
    return f"The distances between successive requests are {near} the distances between random addresses. {onward}"


def _table(plan: SchemesAnswer) -> pd.DataFrame:
    shown = plan.ranking[:_LISTED]
    return pd.DataFrame(
        {
            "mean response (ms)": [one.mean / MS for one in shown],
            "99th percentile (ms)": [one.p99 / MS for one in shown],
            "utilization (%)": [100 * one.utilization for one in shown],
            "maximum requests/s": [one.throughput for one in shown],
            "tolerates": [one.tolerates for one in shown],
        },
        index=pd.Index([one.name for one in shown], name="scheme"),
    )


def dashboard(trace: str = "", drive: str = NEARLINE, disks: int = 12, data: float = 25, scale: float = 1) -> Dashboard:
    """Return the page of a trace, as a `Dashboard`; the arguments are the initial values of its controls.

    trace: a path, by default the sample. drive: by name, file or data-sheet line. data: percent of the raw capacity. scale:
    speed-up of the recorded arrivals.
    """
    controls = {
        "source": Upload("Drop a trace file here", path_of(trace)),
        "drive": drive_choice(drive),
        "disks": Slider("Drives", disks, 2, 60, few=sorted({4, 12, 24, disks})),
        "data": Slider("Data (% of raw capacity)", data, 1, 80, few=sorted({25, 60, data})),
        "scale": StepsControl(
            "Speed-up of the arrivals", scale, sorted({*SCALES, scale}), few=sorted({1, 5, 10, scale})
        ),
        "tolerate": Slider("Failures to tolerate", 1, 0, 3, few=[1, 2]),
    }
    return Dashboard(_answer, _drawn, controls, summary)


def _drawn(answer: Advised) -> FilledDashboard:
    overview = Overview()
    overview.add(answer.trace)
    return character(overview.rows())


def _answer(source: Path | File, drive: Drive, disks: int, data: float, scale: float, tolerate: int) -> Advised:
    return advised(source, drive, disks, data / 100, float(scale), tolerate)


PAGE = LabPage(
    "Your own trace",
    "This page shows the characteristics of a trace, and the schemes that sustain such requests. It uses the sample "
    "trace of the package. In JupyterLab you can upload a file.",
    dashboard,
)


def compared(
    source: Path | File,
    drive: str = NEARLINE,
    bricks: int = 2,
    copies: int = 2,
    requests: int | None = 1000,
    scale: float = 1.0,
    seeds: int | Sequence[int] = 4,
) -> Comparison:
    """Compare three ways to choose the drive for a read, with `copies` copies of each block on `bricks` drives.

    The first `requests` requests of a trace are simulated. The three ways are a fixed choice by address (hashing), the
    shorter queue, and the drive that reaches the block first (D-SPTF).
    """
    disk, whole = mechanical(drive), _known(source)[0]
    placement = Replicas(bricks) if copies == bricks else Declustered(bricks, copies)
    ways = {"hashing": Hashing(), "shorter queue": ShortestQueue(2), "D-SPTF": DSPTF(latency=50 * US)}
    systems = {name: System(disk, placement, way, SATF(), AllCopies()) for name, way in ways.items()}
    count = None if requests is None else min(requests, len(whole))
    with plain():
        return compare(whole, systems, seeds=seeds, requests=count, scale=scale)
