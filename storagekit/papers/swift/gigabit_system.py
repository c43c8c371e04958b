"""The simulated system of section 5, and today's parts in the same model."""

from dataclasses import dataclass, replace

from storagekit.analytic.forkjoin import Disk, Host, Network, StripedSystem, Striping
from storagekit.core.units import KB, MB, MS, US
from storagekit.papers.effort import Effort, of_profile

M2372K = Disk(16 * MS, 8.3 * MS, 2.5e6, "Fujitsu M2372K")
SLOWER = replace(M2372K, rate=1.5e6, name="the same at 1.5 MB/s")
# the paper gives no time to acquire the token: ten hosts' worth of a bit of delay each would be less than this
RING = Network(rate=125e6, acquisition=10 * US)
REQUEST, SMALL_REQUEST = MB, 128 * KB
UNITS, SMALL_UNIT, LARGE_UNIT = (4 * KB, 16 * KB, 32 * KB), 4 * KB, 32 * KB
DISKS = (4, 8, 16, 32)
# of a mediator's cluster, and of the studies of redundancy
AGENTS = 32
# section 5.1: reads to writes as 4 to 1
WRITE_SHARE = 0.2
# of datasheets, rounded: a drive of 7,200 rpm, and flash with a read latency of 80 us and four lanes of PCIe 3
SATA = Disk(8.5 * MS, 4.17 * MS, 200e6, "7,200 rpm SATA")
NVME = Disk(80 * US, 0.0, 3e9, "NVMe")
LINKS = {"25 Gb/s": Network(3.125e9, switched=True), "100 Gb/s": Network(12.5e9, switched=True)}
# a hundred times the paper's, a copy of 10 GB/s at an instruction a byte; cores enough to send and receive at once
HOST = Host(10e9, duplex=True)


@dataclass(frozen=True, kw_only=True)
class StreamEffort(Effort):
    """How much to simulate: independent streams, requests in each, and sessions that come to a mediator."""

    sessions: int = 500


QUICK = StreamEffort()


def effort(profile: str, first_seed: int = 0) -> StreamEffort:
    """The effort of a profile."""
    full = StreamEffort(seeds=32, requests=30_000, sessions=10_000)
    return of_profile(profile, {"quick": QUICK, "full": full}, first_seed)


def gigabit(
    unit: float, disks: int, request: float = REQUEST, disk: Disk = M2372K, write_share: float = WRITE_SHARE
) -> StripedSystem:
    """The paper's system: hosts of 100 million instructions a second on a token ring of 1 Gb/s (sections 5 and 5.1)."""
    return StripedSystem(disk, Striping(request, unit, disks), RING, write_share=write_share)
