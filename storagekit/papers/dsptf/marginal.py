"""The replica group of section 5.1.1 as a function of its numbers, for sensitivities."""

from storagekit.core.units import KB
from storagekit.design.fields import with_numbers
from storagekit.engine import Scenario
from storagekit.papers.dsptf.brick_group import LATENCY, dsptf, group
from storagekit.workload import ExponentialSize


def replica_group(
    latency: float = LATENCY,
    outstanding: int = 16,
    read_share: float = 0.9,
    size: float = 4 * KB,
    seek: float = 1.0,
    revolution: float = 1.0,
) -> Scenario:
    """Return eight bricks with D-SPTF in the closed loop of table 1.

    Parameters
    ----------
    latency : float
        One-way network latency, seconds, by default 50 us.
    outstanding : int
        Number of requests outstanding, by default 16.
    read_share : float
        Share of reads, by default 0.9.
    size : float
        Mean size of a request, bytes, by default 4 KB.
    seek, revolution : float
        Factors of the seek times and of the time of a revolution, by default 1.

    Returns
    -------
    Scenario
        The bricks and the loop.

    References
    ----------
    dsptf, section 5.1.1.
    """
    loop = group(dsptf(latency), outstanding=outstanding, read_share=read_share, size=ExponentialSize(size))
    turn = float(loop.system.drive.revolution) * revolution  # pyright: ignore[reportAttributeAccessIssue]
    return with_numbers(loop, {"system.drive.seek.times": seek, "system.drive.revolution": turn})
