"""Your own drive: comparison with another drive, and fit of a drive to measured times."""

from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import equinox as eqx
import numpy as np
import pandas as pd
import xarray as xr

from storagekit.calibrate import figures, seek_curve, zone_map
from storagekit.calibrate.drive_check import demerit_by_class
from storagekit.calibrate.drive_figures import DatasheetFigures
from storagekit.calibrate.drive_fit import FittedDrive, fit_drive
from storagekit.calibrate.measured_drive import measured_stream
from storagekit.charts import AnswerText, Dashboard
from storagekit.charts.live import Control
from storagekit.core.batching import real
from storagekit.core.units import HOUR, MS, SECTOR
from storagekit.core.validation import Validator
from storagekit.drive import Drive
from storagekit.drive.seek import ScaledSeek
from storagekit.lab.draw import own_drive as draw
from storagekit.lab.drives import KNOWN, NEARLINE, drive_choice, mechanical
from storagekit.lab.page import LabPage
from storagekit.lab.progress import plain
from storagekit.plan import RLOOK, RSATF, MaxThroughput, array
from storagekit.workload.trace import RequestTrace, read, request_trace

if TYPE_CHECKING:
    from ipywidgets import ValueWidget

DEPTHS = (1, 2, 4, 8, 16, 32, 64)
# differences of the sampled drive from its data sheet; the fit does not receive them
SLOWER_ARM, SLOWER_TURN, OVERHEAD, SETTLE = 1.08, 1.001, 0.3 * MS, 0.4 * MS
# measurement noise
NOISE = 0.02 * MS


@dataclass(frozen=True)
class Line(Control):
    """A text field in which the user gives a drive: its name, a file, or a line of a data sheet."""

    label: str
    value: str

    def widget(self) -> "ValueWidget":
        from ipywidgets import Text

        return Text(self.value, description=self.label, continuous_update=False)

    def meaning(self, value: str) -> str:
        return value.strip()

    def stops(self) -> list[tuple[str, Any]]:
        return [(self.value, self.value)]

    def first(self) -> int:
        return 0


@dataclass(frozen=True)
class Amounts:
    """The performance of a drive.

    figures: data-sheet values. curve: result of `calibrate.seek_curve`. zones: result of `calibrate.zone_map`. reads:
    random 4 KB reads per second, for each scheduler a list over the queue depths in `DEPTHS`, from the planner's
    formulas.
    """

    figures: DatasheetFigures
    curve: xr.Dataset
    zones: xr.Dataset
    reads: dict[str, list[float]]


@dataclass(frozen=True)
class Beside:
    """The performance of two drives, keyed by the name of the drive in the chart. Your drive comes first."""

    drives: dict[str, Amounts]

    def drawn(self) -> dict[str, draw.Drawn]:
        """Return the data of the chart."""
        return {name: draw.Drawn(one.curve, one.zones, one.reads) for name, one in self.drives.items()}


def beside(yours: str, other: str) -> Beside:
    """Return the performance of two drives, each given by name, file or data-sheet line.

    Raises InputError for an unknown drive.
    """
    names = {given: name for name, given in KNOWN.items()}
    return Beside({"yours": amounts(yours), f"other: {names.get(other, other)}": amounts(other)})


def amounts(drive: str) -> Amounts:
    """Return the performance of a drive that is given by name, file or data-sheet line."""
    file = Path(drive)
    return _amounts(drive, file.stat().st_mtime_ns if file.is_file() else 0)


@lru_cache(32)
def _amounts(drive: str, _written: int) -> Amounts:
    """Return the performance of a drive; the modification time of its file is part of the cache key."""
    found = mechanical(drive)

    def reads(scheduler: RLOOK | RSATF) -> list[float]:
        answers = (
            array(found, 1, read_share=1.0, queue=depth, objective=MaxThroughput(), scheduler=scheduler)
            for depth in DEPTHS
        )
        return [one.ranking[0].throughput for one in answers]

    schedulers = {"LOOK": RLOOK(), "SATF": RSATF()}
    return Amounts(
        figures(found), seek_curve(found), zone_map(found), {name: reads(one) for name, one in schedulers.items()}
    )


def summary(answer: Beside) -> AnswerText:
    """Return a text: the random and sequential performance of your drive, and a table of both drives."""
    yours, other = answer.drives.values()
    mine, its = yours.figures, other.figures
    alone, many = (yours.reads["SATF"][DEPTHS.index(depth)] for depth in (1, 32))
    its_alone = other.reads["SATF"][0]
    lines = [
        f"Relative to {list(answer.drives)[1].partition(': ')[2]}: {alone / its_alone:.2f} times the random reads, "
        f"{mine.outer_sustained_rate / its.outer_sustained_rate:.2f} times the sequential rate, "
        f"{_times(mine.capacity / its.capacity)} times the capacity.",
        f"A random read of 4 KB takes {1 / alone / MS:.1f} ms, and half a revolution "
        f"{mine.revolution / 2 / MS:.1f} ms of this. A sequential read of the whole drive takes about "
        f"{_in_a_row(yours.zones) / HOUR:,.1f} hours.",
    ]
    row = f"{mine.outer_sustained_rate / 1e6:,.0f} MB/s sequentially"
    return AnswerText(f"{alone:,.0f} random reads/s, {many:,.0f}/s with 32 outstanding; {row}", lines, _table(answer))


def _times(ratio: float) -> str:
    return f"{ratio:,.0f}" if ratio >= 10 else f"{ratio:.2g}"


def _in_a_row(zones: xr.Dataset) -> float:
    """Return the seconds to read the whole drive sequentially."""
    return float((zones["size"] / zones.sustained_rate).sum())


def _table(answer: Beside) -> pd.DataFrame:
    def column(found: DatasheetFigures) -> list[float]:
        return [
            found.capacity / 1e12,
            found.rpm,
            found.track_seek / MS,
            found.average_seek / MS,
            found.full_seek / MS,
            found.outer_sustained_rate / 1e6,
            found.inner_sustained_rate / 1e6,
        ]

    names = [
        "TB",
        "rpm",
        "track-to-track seek (ms)",
        "average seek (ms)",
        "full-stroke seek (ms)",
        "rate, outermost zone (MB/s)",
        "rate, innermost zone (MB/s)",
    ]
    columns = {name.partition(":")[0]: column(one.figures) for name, one in answer.drives.items()}
    return pd.DataFrame(columns, index=pd.Index(names, name="figure"))


def dashboard(drive: str = NEARLINE, other: str = "atlas10k") -> Dashboard:
    """Return the page that compares your drive with another drive, each given by name, file or data-sheet line."""
    choice = drive_choice(other)
    given = {name: KNOWN.get(name, other) for name in choice.options}
    controls = {"yours": Line("Your drive", drive), "other": replace(choice, label="Other drive", options=given)}
    return Dashboard(beside, lambda answer: draw.beside(answer.drawn(), DEPTHS), controls, summary)


PAGE = LabPage(
    "Your own drive",
    "The page compares a drive from its data sheet with another drive: seek curve, zones, and random reads by queue "
    "depth.",
    dashboard,
)


def made(drive: str = NEARLINE) -> Drive:
    """Return the simulated drive on which `sample` measures its requests.

    The simulated drive differs from the data sheet of `drive`: its seeks and its revolution are slower. It has a
    command overhead and a settling time that the data sheet does not name.
    """
    sheet = mechanical(drive)
    return eqx.tree_at(
        lambda one: (one.seek, one.revolution, one.overhead, one.write_settle),
        sheet,
        (
            ScaledSeek(sheet.seek, real(SLOWER_ARM)),
            real(SLOWER_TURN * sheet.revolution),
            real(OVERHEAD),
            real(SETTLE),
        ),
    )


def sample(drive: str = NEARLINE, count: int = 2500, seed: int = 0) -> RequestTrace:
    """Return `count` requests measured on `made(drive)` with one request outstanding and a small measurement noise.

    Reads and writes of 4 to 16 KB have random addresses. A quarter of the addresses are near the previous address. The
    seed determines all random numbers.
    """
    Validator(least=100, whole=True)("count", count)
    true, draw_of = made(drive), np.random.default_rng(seed)
    sectors = 8 * draw_of.integers(1, 5, count)
    last = true.capacity // 8 - 8
    first = draw_of.integers(0, last, count)
    near = np.append(False, draw_of.random(count - 1) < 0.25)
    before = np.append(0, first[:-1])
    span = max(true.capacity // 800, 8)
    first = np.where(near, np.clip(before + draw_of.integers(-span, span, count), 0, last), first)
    reads, pause = draw_of.random(count) < 0.7, draw_of.exponential(5 * MS, count)
    offset, size, none = first * 8 * SECTOR, sectors * SECTOR, np.zeros(count)
    requests = request_trace(
        np.cumsum(pause), none.astype(int), offset, size, reads, measured_response=none, think=pause
    )
    service = measured_stream(requests, true).service.values.astype(float)
    begins = np.append(0.0, np.cumsum(service + pause)[:-1])
    reported_times = np.maximum(service + draw_of.normal(0, NOISE, count), 0)
    return request_trace(begins, none.astype(int), offset, size, reads, measured_response=reported_times, think=pause)


def log_of(log: str = "", drive: str = NEARLINE, seed: int = 0) -> RequestTrace:
    """Return the log in the file `log`. Without a file, return `sample(drive, seed=seed)`."""
    return read(Path(log).expanduser()) if log else sample(drive, seed=seed)


def fitted(log: RequestTrace, drive: str = NEARLINE) -> FittedDrive:
    """Return `drive` with its times fitted to the measured times of a log; see `calibrate.drive_fit.fit_drive`."""
    with plain():
        return fit_drive(log, mechanical(drive))


def drawn(found: FittedDrive, drive: str, log: str = "") -> Any:
    """Return the chart of the fitted seek curve and of the curve from the data sheet.

    Without a `log`, the chart also has the true seek curve of the drive on which the sample was measured.
    """
    true = made(drive)
    # in a log every seek includes the command overhead
    seen = seek_curve(true).assign(read=lambda curve: curve.read + float(true.overhead))
    return draw.fit(found.table, seek_curve(mechanical(drive)), None if log else seen)


def judged(log: RequestTrace, drive: str, found: FittedDrive) -> pd.DataFrame:
    """Return the measured and the modelled mean service time, and the demerit, of each class of requests, in ms.

    The rows are given twice: for the drive of the data sheet, and for the fitted drive.
    """
    through = {"data sheet": (mechanical(drive), None), "fitted": (found.drive, found.controller)}
    rows = {
        name: demerit_by_class(measured_stream(log, one, bus))[["measured", "modelled", "demerit"]].to_dataframe() / MS
        for name, (one, bus) in through.items()
    }
    return pd.concat(rows, names=["drive"]).dropna()
