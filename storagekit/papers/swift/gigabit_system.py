"""The simulated system of section 5, and today's parts in the same model."""

import platform
from typing import NamedTuple

import jax
import numpy as np

from storagekit.analytic.forkjoin import Disk, Host, Network, StripedSystem, Striping
from storagekit.errors import InputError
from storagekit.metrics.provenance import version
from storagekit.units import KB, MB, MS, US

M2372K = Disk(16 * MS, 8.3 * MS, 2.5e6, "Fujitsu M2372K")
SLOWER = Disk(16 * MS, 8.3 * MS, 1.5e6, "the same at 1.5 MB/s")
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


class Effort(NamedTuple):
    """How much to simulate: independent streams, requests in each, and sessions that come to a mediator."""

    seeds: int = 16
    requests: int = 4_000
    sessions: int = 1_000
    first_seed: int = 0

    @property
    def streams(self) -> list[int]:
        return list(range(self.first_seed, self.first_seed + self.seeds))


QUICK = Effort()


def effort(profile: str, first_seed: int = 0) -> Effort:
    """The effort of a profile: "quick" for a look, "full" for the record."""
    known = {"quick": QUICK, "full": Effort(32, 30_000, 10_000)}
    if profile not in known:
        raise InputError(f"profile {profile!r}: unknown; it is one of {', '.join(known)}")
    return known[profile]._replace(first_seed=first_seed)


def gigabit(
    unit: float, disks: int, request: float = REQUEST, disk: Disk = M2372K, write_share: float = WRITE_SHARE
) -> StripedSystem:
    """The paper's system: hosts of 100 million instructions a second on a token ring of 1 Gb/s (sections 5 and 5.1)."""
    return StripedSystem(disk, Striping(request, unit, disks), RING, write_share=write_share)


def made_by(basis: str, effort: Effort, wall: float) -> dict:
    """What every Dataset carries; wall: the seconds it took."""
    return {
        "paper": "swift",
        "basis": basis,
        "storagekit": version(),
        "jax": jax.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "seeds": effort.streams,
        "wall_seconds": round(wall, 3),
    }
