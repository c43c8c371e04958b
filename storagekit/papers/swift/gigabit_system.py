"""The simulated system of section 5, and the same model with present-day devices and networks."""

from dataclasses import dataclass, replace

from storagekit.analytic.forkjoin import Disk, Host, Network, StripedSystem, Striping
from storagekit.core.units import KB, MB, MS, US
from storagekit.papers.effort import Effort, of_profile

M2372K = Disk(16 * MS, 8.3 * MS, 2.5e6, "Fujitsu M2372K")
SLOWER = replace(M2372K, rate=1.5e6, name="the same at 1.5 MB/s")
# The paper gives no time for the acquisition of the token. With ten hosts that each delay the token by about one bit,
# the time would be shorter than the value here.
RING = Network(rate=125e6, acquisition=10 * US)
REQUEST, SMALL_REQUEST = MB, 128 * KB
UNITS, SMALL_UNIT, LARGE_UNIT = (4 * KB, 16 * KB, 32 * KB), 4 * KB, 32 * KB
DISKS = (4, 8, 16, 32)
# Number of agents in the cluster of the mediator, and in the studies of redundancy.
AGENTS = 32
# Section 5.1: the ratio of reads to writes is 4 to 1.
WRITE_SHARE = 0.2
# Rounded values of datasheets: a drive of 7,200 rpm, and flash memory with a read latency of 80 us and four lanes of
# PCIe 3.
SATA = Disk(8.5 * MS, 4.17 * MS, 200e6, "7,200 rpm SATA")
NVME = Disk(80 * US, 0.0, 3e9, "NVMe")
LINKS = {"25 Gb/s": Network(3.125e9, switched=True), "100 Gb/s": Network(12.5e9, switched=True)}
# A hundred times the instruction rate of the paper. At one instruction a byte, the host copies 10 GB/s. It has enough
# cores to send and receive at the same time.
HOST = Host(10e9, duplex=True)


@dataclass(frozen=True, kw_only=True)
class StreamEffort(Effort):
    """Number and length of the simulated runs.

    Parameters
    ----------
    seeds : int
        Number of independent streams of requests, by default 16.
    requests : int
        Number of requests in each stream, by default 4000.
    first_seed : int
        The first of the seeds, by default 0.
    sessions : int
        Number of sessions that are requested from a mediator, by default 500.
    """

    sessions: int = 500


QUICK = StreamEffort()


def effort(profile: str, first_seed: int = 0) -> StreamEffort:
    """Return the number and length of the runs for a profile, "quick" or "full".

    Parameters
    ----------
    profile : str
        "quick" or "full".
    first_seed : int
        The first of the seeds, by default 0.

    Returns
    -------
    StreamEffort
        Number and length of the runs for the profile, with `first_seed`.

    Raises
    ------
    InputError
        If the profile is unknown.
    """
    full = StreamEffort(seeds=32, requests=30_000, sessions=10_000)
    return of_profile(profile, {"quick": QUICK, "full": full}, first_seed)


def gigabit(
    unit: float, disks: int, request: float = REQUEST, disk: Disk = M2372K, write_share: float = WRITE_SHARE
) -> StripedSystem:
    """Return the system of sections 5 and 5.1: hosts of 100 million instructions a second on a token ring of 1 Gb/s.

    Parameters
    ----------
    unit : float
        Striping unit, bytes.
    disks : int
        Number of disks.
    request : float
        Size of a request, bytes, by default 1 MB.
    disk : Disk
        The disks, by default Fujitsu M2372K.
    write_share : float
        Share of writes, by default 0.2.

    Returns
    -------
    StripedSystem
        The system, for the formulas and the recursion of `analytic.forkjoin`.
    """
    return StripedSystem(disk, Striping(request, unit, disks), RING, write_share=write_share)
