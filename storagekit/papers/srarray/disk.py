"""The paper's disk, the Seagate ST39133LWV: its figures, and the views of it that formulas, engine and head tracking have."""

from dataclasses import dataclass

import equinox as eqx
import numpy as np

from storagekit.core.batching import real
from storagekit.core.units import KB, MS, SECTOR, revolution
from storagekit.drive import Drive, SeekFit
from storagekit.papers.effort import Effort, of_profile
from storagekit.plan import DriveFigures

RPM = 10_000
# S follows from the worked values of section 4.1: 5.8 and 11.6 replicas for nine disks at L of 4.14 and 16.67; the reported
# times include an overhead of 2.7 ms
FORMULAS_DRIVE = DriveFigures(
    full_seek=10 * MS, revolution=revolution(RPM), overhead=2.7 * MS, name="the formulas' ST39133LWV"
)
AVERAGE_SEEK = 5.2 * MS
# bytes of a request of Cello; those of TPC-C's stand-in have 2 KB
FILE_SYSTEM_BLOCK = 8 * KB
HEADS = 12
MEDIA_RATE = 18.2e6


# delayed writes at which the paper forces propagation (section 3.4)
PAPERS_TABLE = 10_000


@dataclass(frozen=True, kw_only=True)
class ArrayEffort(Effort):
    """How much to simulate: windows of a trace, requests in each (at most all), and where they come many times faster
    (`rate_requests`); delayed writes at which propagation is forced (`table`, of TPC-C twice that); replications of a loop
    (`seeds`), requests in each; questions put to the planner.

    The paper's table is of `PAPERS_TABLE` entries. A window of a few thousand requests would end before these are full, with
    most of the propagation still to do; with a short table it is paid for within the window.
    """

    seeds: int = 8
    requests: int = 1_500
    windows: int = 3
    rate_requests: int = 3_000
    table: int = 64
    loop_requests: int = 1_500
    questions: int = 16


QUICK = ArrayEffort()
# whole traces; of those that come faster a day of Cello's week
FULL = ArrayEffort(
    seeds=16,
    requests=4_000_000,
    windows=1,
    rate_requests=250_000,
    table=PAPERS_TABLE,
    loop_requests=10_000,
    questions=24,
)


def effort(profile: str, first_seed: int = 0) -> ArrayEffort:
    """The effort of a profile."""
    return of_profile(profile, {"quick": QUICK, "full": FULL}, first_seed)


def loop_overhead() -> float:
    """The overhead of a request of 512 bytes in section 4.2, seconds: a choice.

    The paper gives one figure, 2.7 ms, of section 4.1's traces, and says that transfer is in it: of one sector it is that
    much shorter than of Cello's blocks.
    """
    return FORMULAS_DRIVE.overhead - (FILE_SYSTEM_BLOCK - SECTOR) / MEDIA_RATE


def paper_drive(request_size: int = FILE_SYSTEM_BLOCK) -> Drive:
    """The Seagate ST39133LWV as far as the paper describes it (table 1, sections 3.5 and 4.1).

    Given: 9.1 GB, 10,000 rpm, average seek 5.2 ms (reads) and 6.0 ms (writes), track switch 0.9 ms. Inferred: the full
    stroke takes S = 10 ms more than the settling in the average seek, 5.2 ms - S/3, so 11.9 ms; a one-cylinder
    seek is a track switch; twelve tracks a cylinder and their length are the Cheetah 9LP's, its nearest relative with known
    geometry; of the overhead of 2.7 ms, what is not settling nor the transfer of a request precedes every access as
    processing. The track switch is the whole cost of a head switch, of a write too (section 4.1).
    request_size: bytes of a request of the trace in question, a block of Cello's file systems by default: the
    whole is 2.7 ms of any trace, as the paper says of the response times that it reports, while `loop_overhead`, of the
    section that gives none, keeps the processing and lets the whole be less.
    """
    settling = AVERAGE_SEEK - FORMULAS_DRIVE.full_seek / 3
    drive = Drive.from_datasheet(
        rpm=RPM,
        track_seek=0.9 * MS,
        average_seek=AVERAGE_SEEK,
        full_seek=settling + FORMULAS_DRIVE.full_seek,
        capacity=9.1e9,
        media_rate=MEDIA_RATE,
        head_switch=0.9 * MS,
        write_settle=0.8 * MS,
        heads=HEADS,
        settles_on_switch=False,
        name="Seagate ST39133LWV, from the paper's figures",
    )
    processing = FORMULAS_DRIVE.overhead - settling - request_size / MEDIA_RATE
    return eqx.tree_at(lambda d: d.overhead, drive, np.float32(processing))


def formula_drive() -> Drive:
    """The drive that the formulas have in mind: a seek linear in distance, R, `loop_overhead` with a sector's transfer in it.

    On the paper's geometry and under its name, so that the two share a compilation.
    """
    drive = paper_drive()
    return eqx.tree_at(
        lambda d: (d.seek, d.head_switch, d.write_settle, d.overhead),
        drive,
        (
            SeekFit(0.0, 0.0, FORMULAS_DRIVE.full_seek / (drive.cylinders - 1)),
            real(0.0),
            real(0.0),
            real(loop_overhead() - SECTOR / MEDIA_RATE),
        ),
    )
