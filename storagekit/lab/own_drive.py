"""Your own drive: what it amounts to beside another one, and how a drive is fitted to times that were measured on it."""

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
from storagekit.charts import Board, Said
from storagekit.charts.live import Control
from storagekit.core.batching import real
from storagekit.core.checks import require_whole
from storagekit.core.units import HOUR, MS, SECTOR
from storagekit.drive import Drive
from storagekit.drive.seek import ScaledSeek
from storagekit.lab.draw import own_drive as draw
from storagekit.lab.drives import KNOWN, NEARLINE, drive_choice, mechanical
from storagekit.lab.page import LabPage
from storagekit.lab.progress import plain
from storagekit.plan import RLOOK, RSATF, Throughput, array
from storagekit.workload.trace import RequestTrace, read, request_trace

if TYPE_CHECKING:
    from ipywidgets import ValueWidget

DEPTHS = (1, 2, 4, 8, 16, 32, 64)
# of the drive that a sample is made of: what differs from its data sheet, which the fit is not told
SLOWER_ARM, SLOWER_TURN, OVERHEAD, SETTLE = 1.08, 1.001, 0.3 * MS, 0.4 * MS
# of the instrument that measures
NOISE = 0.02 * MS


@dataclass(frozen=True)
class Line(Control):
    """A drive by name, file or data-sheet line, typed."""

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
    """What a drive amounts to. figures: as a data sheet has them; curve, zones: `calibrate.seek_curve`, `zone_map`; reads: by
    scheduler, random reads of 4 KB a second at each of `DEPTHS`, by the planner's formulas."""

    figures: DatasheetFigures
    curve: xr.Dataset
    zones: xr.Dataset
    reads: dict[str, list[float]]


@dataclass(frozen=True)
class Beside:
    """Two drives by the names that a chart has for them: yours first."""

    drives: dict[str, Amounts]

    def drawn(self) -> dict[str, draw.Drawn]:
        """What a chart has of them."""
        return {name: draw.Drawn(one.curve, one.zones, one.reads) for name, one in self.drives.items()}


def beside(yours: str, other: str) -> Beside:
    """A drive of your own and another, each by name, file or data-sheet line. Raises InputError for what is none."""
    names = {given: name for name, given in KNOWN.items()}
    return Beside({"yours": amounts(yours), f"beside it: {names.get(other, other)}": amounts(other)})


def amounts(drive: str) -> Amounts:
    """What a drive amounts to, by name, file or data-sheet line."""
    file = Path(drive)
    return _amounts(drive, file.stat().st_mtime_ns if file.is_file() else 0)


@lru_cache(32)
def _amounts(drive: str, _written: int) -> Amounts:
    """The same of a file as it was at that time."""
    found = mechanical(drive)

    def reads(scheduler: RLOOK | RSATF) -> list[float]:
        asked = (
            array(found, 1, read_share=1.0, queue=depth, objective=Throughput(), scheduler=scheduler)
            for depth in DEPTHS
        )
        return [one.ranking[0].throughput for one in asked]

    schedulers = {"LOOK": RLOOK(), "SATF": RSATF()}
    return Amounts(
        figures(found), seek_curve(found), zone_map(found), {name: reads(one) for name, one in schedulers.items()}
    )


def told(answer: Beside) -> Said:
    """What yours does at random and in a row, and the figures of both."""
    yours, other = answer.drives.values()
    mine, its = yours.figures, other.figures
    alone, many = (yours.reads["SATF"][DEPTHS.index(depth)] for depth in (1, 32))
    its_alone = other.reads["SATF"][0]
    lines = [
        f"Beside {list(answer.drives)[1].partition(': ')[2]}: {alone / its_alone:.2f} times its random reads, "
        f"{mine.outer_sustained_rate / its.outer_sustained_rate:.2f} times its rate in a row, "
        f"{_times(mine.capacity / its.capacity)} times its room.",
        f"A read of 4 KB at random is {1 / alone / MS:.1f} ms, of which half a turn is {mine.revolution / 2 / MS:.1f} ms; "
        f"to read it all in a row takes about {_in_a_row(yours.zones) / HOUR:,.1f} hours.",
    ]
    row = f"{mine.outer_sustained_rate / 1e6:,.0f} MB/s in a row"
    return Said(f"{alone:,.0f} random reads a second, {many:,.0f} with 32 waiting; {row}", lines, _table(answer))


def _times(ratio: float) -> str:
    return f"{ratio:,.0f}" if ratio >= 10 else f"{ratio:.2g}"


def _in_a_row(zones: xr.Dataset) -> float:
    """Seconds to read everything."""
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
        "seek, track to track (ms)",
        "seek, average (ms)",
        "seek, full (ms)",
        "MB/s, outermost",
        "MB/s, innermost",
    ]
    columns = {name.partition(":")[0]: column(one.figures) for name, one in answer.drives.items()}
    return pd.DataFrame(columns, index=pd.Index(names, name="figure"))


def board(drive: str = NEARLINE, other: str = "atlas10k") -> Board:
    """A drive of your own beside another; both by name, file or data-sheet line."""
    choice = drive_choice(other)
    given = {name: KNOWN.get(name, other) for name in choice.options}
    controls = {"yours": Line("Your drive", drive), "other": replace(choice, label="Beside it", options=given)}
    return Board(beside, lambda answer: draw.beside(answer.drawn(), DEPTHS), controls, told)


PAGE = LabPage(
    "Your own drive",
    "A drive by its data sheet, beside another: seek curve, zones, and what it does at random as requests wait.",
    board,
)


def made(drive: str = NEARLINE) -> Drive:
    """The drive that a sample is measured on: that of this data sheet, with an arm and a turn that are slower than it says,
    and a command and a settling that it does not name."""
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
    """`count` requests measured on `made(drive)`, one outstanding, by its own model and an instrument with a little noise:
    reads and writes of 4 to 16 KB, anywhere, a quarter of them near the one before. The seed is the key of all that is drawn.
    """
    require_whole("count", count, 100)
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
    asked = request_trace(np.cumsum(pause), none.astype(int), offset, size, reads, measured_response=none, think=pause)
    service = measured_stream(asked, true).service.values.astype(float)
    begins = np.append(0.0, np.cumsum(service + pause)[:-1])
    told_times = np.maximum(service + draw_of.normal(0, NOISE, count), 0)
    return request_trace(begins, none.astype(int), offset, size, reads, measured_response=told_times, think=pause)


def log_of(log: str = "", drive: str = NEARLINE, seed: int = 0) -> RequestTrace:
    """The log at this path, by default `sample`."""
    return read(Path(log).expanduser()) if log else sample(drive, seed=seed)


def fitted(log: RequestTrace, drive: str = NEARLINE) -> FittedDrive:
    """The drive of this geometry, fitted to measured times; see `calibrate.drive_fit.fit_drive`."""
    with plain():
        return fit_drive(log, mechanical(drive))


def drawn(found: FittedDrive, drive: str, log: str = "") -> Any:
    """The fitted seek curve beside the data sheet's and, where there is no `log`, that of the sample's drive."""
    true = made(drive)
    # a log sees the command's overhead in every seek
    seen = seek_curve(true).assign(read=lambda curve: curve.read + float(true.overhead))
    return draw.fit(found.table, seek_curve(mechanical(drive)), None if log else seen)


def judged(log: RequestTrace, drive: str, found: FittedDrive) -> pd.DataFrame:
    """How far the mean of each kind of request lies from the measured one, and how far its times do (demerit), in ms: through
    the drive of the data sheet, and through the fitted one."""
    through = {"data sheet": (mechanical(drive), None), "fitted": (found.drive, found.controller)}
    rows = {
        name: demerit_by_class(measured_stream(log, one, bus))[["measured", "modelled", "demerit"]].to_dataframe() / MS
        for name, (one, bus) in through.items()
    }
    return pd.concat(rows, names=["drive"]).dropna()
