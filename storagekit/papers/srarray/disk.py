"""The disk of the paper, the Seagate ST39133LWV, as figures for the formulas and as models for the simulator."""

from dataclasses import dataclass

import equinox as eqx
import numpy as np

from storagekit.core.batching import real
from storagekit.core.units import KB, MS, SECTOR, revolution
from storagekit.drive import Drive, SeekFit
from storagekit.papers.effort import Effort, of_profile
from storagekit.plan import DriveFigures

RPM = 10_000
# The full seek S follows from the worked values of section 4.1 for nine disks: 5.8 replicas at L = 4.14, and 11.6
# replicas at L = 16.67. The reported times include an overhead of 2.7 ms.
FORMULAS_DRIVE = DriveFigures(
    full_seek=10 * MS, revolution=revolution(RPM), overhead=2.7 * MS, name="the formulas' ST39133LWV"
)
AVERAGE_SEEK = 5.2 * MS
# Size of a request of Cello, bytes. Requests of the synthetic trace of TPC-C have 2 KB.
FILE_SYSTEM_BLOCK = 8 * KB
HEADS = 12
MEDIA_RATE = 18.2e6


# Number of delayed writes at which the paper forces propagation (section 3.4).
PAPERS_TABLE = 10_000


@dataclass(frozen=True, kw_only=True)
class ArrayEffort(Effort):
    """Number and length of the simulated runs of an exhibit.

    Parameters
    ----------
    seeds : int
        Number of runs of a closed loop, by default 8.
    requests : int
        Number of requests in each window of a trace, at most the whole trace, by default 1500.
    first_seed : int
        The first of the runs' seeds, by default 0.
    windows : int
        Number of windows of a trace, by default 3.
    rate_requests : int
        Number of requests in each window in the exhibits where requests arrive at many times the rate of the trace, by
        default 3000.
    table : int
        Number of entries in the table of delayed writes, by default 64. If the table is full, delayed copies move to
        the foreground queues. For TPC-C the table has twice this number, but at most `PAPERS_TABLE`.
    loop_requests : int
        Number of requests in each run of a closed loop, by default 1500.
    questions : int
        Number of questions to the planner, by default 16.

    Notes
    -----
    The table of the paper has `PAPERS_TABLE` entries. A window of a few thousand requests would end before this table
    is full, and most of the delayed copies would not be written. With a smaller table they are written within the
    window.
    """

    seeds: int = 8
    requests: int = 1_500
    windows: int = 3
    rate_requests: int = 3_000
    table: int = 64
    loop_requests: int = 1_500
    questions: int = 16


QUICK = ArrayEffort()
# Whole traces at their original rate. At higher rates, one day of the week that the trace of Cello covers.
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
    """Return the number and length of the runs and windows for a profile, "quick" or "full".

    Parameters
    ----------
    profile : str
        "quick" or "full".
    first_seed : int
        The first of the runs' seeds, by default 0.

    Returns
    -------
    ArrayEffort
        Number and length of the runs and windows.

    Raises
    ------
    InputError
        If the profile is unknown.
    """
    return of_profile(profile, {"quick": QUICK, "full": FULL}, first_seed)


def loop_overhead() -> float:
    """Return the overhead of a request of 512 bytes in section 4.2, seconds.

    Notes
    -----
    The paper gives an overhead of 2.7 ms for the traces of section 4.1, and says that the transfer is included. The
    paper gives no overhead for requests of one sector. The function therefore subtracts from 2.7 ms the transfer time
    of all sectors except one of a block of Cello.

    References
    ----------
    srarray, sections 4.1 and 4.2.
    """
    return FORMULAS_DRIVE.overhead - (FILE_SYSTEM_BLOCK - SECTOR) / MEDIA_RATE


def paper_drive(request_size: int = FILE_SYSTEM_BLOCK) -> Drive:
    """Return a model of the Seagate ST39133LWV from the figures of the paper.

    Parameters
    ----------
    request_size : int
        Size of a request of the trace, bytes, by default 8 KB, a block of Cello's file systems.

    Returns
    -------
    Drive
        The drive.

    Notes
    -----
    The paper gives 9.1 GB, 10,000 rpm, an average seek of 5.2 ms (reads) and 6.0 ms (writes), and a track switch of
    0.9 ms. The other figures are inferred:

    A full seek takes S = 10 ms plus the settling time. The settling time is 5.2 ms - S/3, so a full seek takes 11.9 ms.
    A seek over one cylinder takes as long as a track switch. A cylinder has twelve tracks. The number and the length of
    the tracks are taken from the Cheetah 9LP, the most similar drive with known geometry.

    A head switch takes as long as a track switch, also for a write (section 4.1).

    The overhead of 2.7 ms consists of settling, transfer of a request, and processing. The processing precedes every
    access. The overhead is 2.7 ms for every trace, as the paper says of the response times that it reports. Section 4.2
    gives no overhead; see `loop_overhead`, which has the same processing and a shorter transfer.

    References
    ----------
    srarray, table 1, sections 3.5 and 4.1.
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
        name="Seagate ST39133LWV, from the paper's values",
    )
    processing = FORMULAS_DRIVE.overhead - settling - request_size / MEDIA_RATE
    return eqx.tree_at(lambda d: d.overhead, drive, np.float32(processing))


def formula_drive() -> Drive:
    """Return the drive that the formulas assume: its seek time is linear in the distance.

    The revolution time is the same as in `paper_drive`. The overhead is `loop_overhead`, which includes the transfer of a
    sector. Head switches and the settling of writes take no time. The geometry and the name are also the same as in
    `paper_drive`, so that both drives share a compiled program.

    Returns
    -------
    Drive
        The drive; its times are in seconds.
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
