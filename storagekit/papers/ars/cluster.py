"""The cluster of the paper: four nodes of unequal disks (table I), two volumes (table II), and the protocols."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from storagekit.core.units import GB, KB, MB, MS, SECTOR
from storagekit.core.validation import one_of
from storagekit.dispatch import ARS, AbstractDispatch, Central, Preselection, Randomized
from storagekit.drive import Arm, Drive, Mixed, load_drive
from storagekit.engine import Scenario, System
from storagekit.faults import FaultSchedule
from storagekit.papers.effort import Effort, of_profile
from storagekit.papers.rows import Row, chosen
from storagekit.placement import Node, Segments, Volume, laid_out
from storagekit.schedule import FCFS, SATF, AbstractSchedule
from storagekit.schedule import ScheduleSwitch as ScheduleSwitch
from storagekit.workload import AbstractArrivals, ClosedOrOpen, ExponentialSize, VolumeRequests
from storagekit.write import AbstractWrite, Claimed, Committed

# Table I: the kind and the number of drives of each node; node 1 is a RAID 5. For any number of disks, a node has
# one thread, which takes requests from the queue of the node and serves them one after the other (section 5).
DRIVES = ("atlas10k", "ibm18es", "deskstar7k400", "cheetah4lp")
NODES = (Node(2, serial=True), Node(9, raid5=True, serial=True), Node(1, serial=True), Node(18, serial=True))
# Size in bytes of the buffer for delayed writes of each node. A node flushes its buffer when the disk is idle or the
# buffer is full (section 5). The paper does not give the size. The only sizes of buffers in the paper are the sizes of the
# disk caches in table I. These sizes are used here, although write-back is disabled in the disk caches.
# `throughput.buffers` varies the sizes, up to a buffer that no run fills.
BUFFERS = (2 * MB, 2 * MB, 8 * MB, 512 * KB)
UNLIMITED = 1024.0 * GB
# Number of writes with buffered parts for which memory is reserved.
BUFFERED = 4096
# Table II: bytes of a segment of each volume.
SEGMENTS = (128 * MB, 512 * MB)
BLOCK = 64 * KB // SECTOR
# Sizes of the volumes in sectors: as published, and scaled until the volumes fit on the nodes. With the scaled sizes,
# fragments of the second volume fill node 0.
PUBLISHED = tuple(size * GB // SECTOR for size in (100, 200))
SCALED = tuple(count * segment // SECTOR for count, segment in zip((136, 68), SEGMENTS, strict=True))
# Layouts. The published volumes do not fit: table II needs 700 GB, and the nodes have 572 GB. In the first two layouts
# the segments are spread evenly over the whole disk, so that seeks are as long as in table I. In the last two layouts
# the segments are at the start of the disk, so that seeks of node 2 are short. In the last layout each disk has a
# separate queue.
LAYOUTS = ("scaled", "wrapped", "packed", "disks apart")
CLIENTS = 5
# Number of requests of the synthetic traces in 20 minutes, and their rate in requests a second.
REQUESTS = 10_604
RATE = REQUESTS / 1200
SIZE = 8 * KB
# One-way latency between nodes (section 5).
LATENCY = 0.1 * MS
# Fraction of the requests that go to each of the two volumes.
SETTINGS: dict[str, tuple[float, float]] = {
    "replicated": (1.0, 0.0),
    "erasure-coded": (0.0, 1.0),
    "both": (0.5, 0.5),
}
OUTSTANDING = 50
# Service orders of disks. The service order and the kind of arrivals are values that a compiled program receives, so
# that all exhibits of a protocol share one program. This makes a simulation with service in order of arrival 5% slower.
ORDERS = {name: ScheduleSwitch((FCFS(), SATF()), number) for number, name in enumerate(("in order", "shortest first"))}
# Number of requests in the system for which memory is reserved. It is equal in all exhibits, so that they share
# compiled programs.
SLOTS = 64


def layout(name: str = "scaled", whole_blocks: bool = False) -> Segments:
    """Return the layout of the volumes on the nodes.

    Parameters
    ----------
    name : str
        One of `LAYOUTS`. In "scaled", "packed" and "disks apart" the volumes have 17% of their published size, so that
        they fit on the nodes. In "wrapped" the volumes have their published size, and an address beyond the end of a
        disk continues at the start of the disk. In "scaled" and "wrapped" the segments are spread over each whole disk;
        in the other layouts they are at the start of each disk. In "disks apart" each disk has a separate queue.
    whole_blocks : bool
        Whether a read of erasure-coded data fetches whole fragments; otherwise it fetches only the requested bytes.

    Raises
    ------
    InputError
        If there is no such layout.
    """
    one_of(*LAYOUTS)("layout", name)
    sizes = PUBLISHED if name == "wrapped" else SCALED
    replicated = Volume(sizes[0], SEGMENTS[0] // SECTOR, parts=3, block=BLOCK)
    coded = Volume(sizes[1], SEGMENTS[1] // SECTOR, parts=4, needed=2, block=BLOCK)
    nodes = tuple(replace(node, serial=name != "disks apart") for node in NODES)
    spread = name in ("scaled", "wrapped")
    return Segments(nodes, (replicated, coded), wraps=name == "wrapped", whole_blocks=whole_blocks, spread=spread)


def drives(on: Segments) -> Mixed:
    """Return the drives of table I, in the order of the nodes.

    Parameters
    ----------
    on : Segments
        The layout, which gives the number of drives of each node.
    """
    kinds = [kind for kind, count in enumerate(on.brick_sizes) for _ in range(count)]
    return Mixed([load_drive(name) for name in DRIVES], kinds)


@cache
def mean_service(name: str, reach: int, read: bool = True, sectors: int = SIZE // SECTOR) -> float:
    """Return the mean service time in seconds of a drive for requests to its first `reach` sectors.

    Parameters
    ----------
    name : str
        Name of the drive.
    reach : int
        Sectors from the start of the drive that requests may access.
    read : bool
        Whether the requests are reads, by default true.
    sectors : int
        Length of a request, by default 8 KB.

    Notes
    -----
    The mean is over 4,096 random pairs of addresses. The head moves from the first address of a pair to the second, and
    the platter has a random angle at the start.
    """
    drive: Drive = load_drive(name)
    draw = np.random.default_rng(14)
    one, other, angle, length, reads = _drawn(draw, reach, sectors, read)
    first, second = drive.locate(one, length), drive.locate(other, length)
    found = drive.positioning(Arm(first.cylinder, first.head), angle, second, reads)
    return float(np.mean(found.total + second.transfer))


def _drawn(draw: np.random.Generator, reach: int, sectors: int, read: bool) -> Any:
    """Return random address pairs, random angles, the request length in sectors, and whether requests are reads."""
    one, other = draw.integers(0, reach - sectors, (2, 4096))
    return one, other, draw.random(4096), np.int64(sectors), np.asarray(read)


def services(on: Segments | None = None, read: bool = True) -> tuple[float, ...]:
    """Return, for each node, the mean service time in seconds of one of its disks for requests to the data on the disk.

    A centralized distributor that has no information about the state of the disks uses these times.

    Parameters
    ----------
    on : Segments, optional
        The layout, by default `layout()`.
    read : bool
        Whether the requests are reads, by default true. A write to a RAID 5 takes one revolution more than
        `mean_service`.
    """
    found = []
    for name, node, reach in zip(DRIVES, NODES, _reaches(layout() if on is None else on), strict=True):
        again = float(load_drive(name).revolution) if node.raid5 and not read else 0.0
        found.append(mean_service(name, reach, read) + again)
    return tuple(found)


@cache
def _reaches(on: Segments) -> tuple[int, ...]:
    """Return, for each node, the number of sectors from the start of a disk to the end of the data on that disk."""
    bound = on.for_drive(drives(on))
    table = laid_out(bound.nodes, bound.volumes, bound.wraps, bound.spread)
    sizes = np.repeat([volume.part for volume in on.volumes], [volume.segments for volume in on.volumes])
    drive: Any = np.minimum(table[::3], int(bound.drives) - 1)
    node = bound.brick_of(drive)
    # Addresses of a RAID 5 that is modelled as several drives count its data only, without parity.
    end = (table[1::3] + sizes) // np.maximum(table[2::3] - 1, 1)
    there = table[::3] < int(bound.drives)
    return tuple(int(np.max(end[there & (node == number)])) for number in range(len(NODES)))


# ---- distribution of requests (section 5) ----

RANDOMIZED, ADAPTIVE, DSPTF, CENTRAL = "Randomized", "ARS", "D-SPTF", "Central"
CENTRAL_HEADS = "Central, heads known"
WITHIN, AT_ONCE = "D-SPTF, waits for the platter", "D-SPTF, starts immediately"
# Time in seconds that a node takes to send a message, in the protocol `MESSAGES`, where messages cost time. The time is
# at most the whole latency between nodes, 0.1 ms, because this latency includes the software of both nodes. A node
# sends its claim message to three other nodes one after the other.
MESSAGE, OTHERS = 0.1 * MS, 3
MESSAGES = "D-SPTF, 0.1 ms a message"
# The centralized protocol packs bins to maximize throughput. It uses the queues and service times of the nodes, but not
# the positions of heads. The paper lists the differences between its D-SPTF and the original D-SPTF. An idle brick of
# the original waits for two latencies, and the list does not change this. The last four protocols are other
# interpretations of the paper.
PROTOCOLS: dict[str, Callable[..., AbstractDispatch]] = {
    RANDOMIZED: lambda on=None: Randomized(),
    ADAPTIVE: lambda on=None: ARS(clients=CLIENTS),
    DSPTF: lambda on=None: Preselection(LATENCY, waits=1),
    CENTRAL: lambda on=None: Central(services(on), services(on, read=False)),
    CENTRAL_HEADS: lambda on=None: Central(services(on), services(on, read=False), exact=True),
    WITHIN: lambda on=None: Preselection(LATENCY, waits=2),
    AT_ONCE: lambda on=None: Preselection(LATENCY),
    MESSAGES: lambda on=None: Preselection(LATENCY + OTHERS * MESSAGE, waits=1),
}
# Protocols of figures 4 to 6; and the same protocols with the other interpretation of the centralized protocol.
FOUR = (RANDOMIZED, ADAPTIVE, DSPTF, CENTRAL)
COMPARED = (*FOUR, CENTRAL_HEADS)


def protocols_on(on: Segments, rows: Sequence[Row]) -> dict[str, AbstractDispatch]:
    """Return the dispatchers of the selected protocols by name.

    Parameters
    ----------
    on : Segments
        The layout.
    rows : sequence
        Names of `PROTOCOLS`, and pairs of a name and a dispatcher of your own.

    Raises
    ------
    InputError
        If a name is unknown or given twice.
    """
    names, own = chosen(rows, PROTOCOLS, "protocol")
    return {name: own[name] if name in own else PROTOCOLS[name](on) for name in names}


def writes(dispatch: AbstractDispatch, buffers: Sequence[float] = BUFFERS) -> AbstractWrite:
    """Return the write policy of a protocol.

    D-SPTF treats writes like reads. Under the other protocols, the selected nodes commit a write, and the other nodes
    buffer their copies or fragments.

    Parameters
    ----------
    dispatch : AbstractDispatch
        The protocol.
    buffers : sequence of float
        Size of the buffer of each node, bytes, by default `BUFFERS`.
    """
    return Claimed() if dispatch.arbitration.certain is not True else Committed(tuple(buffers), BUFFERED)


def cluster(
    dispatch: AbstractDispatch,
    arrivals: AbstractArrivals,
    *,
    on: Segments | None = None,
    schedule: AbstractSchedule | None = None,
    write: AbstractWrite | None = None,
    faults: FaultSchedule | None = None,
    slots: int = SLOTS,
) -> Scenario:
    """Return the cluster under a workload.

    Parameters
    ----------
    dispatch : AbstractDispatch
        The protocol.
    arrivals : AbstractArrivals
        The workload.
    on : Segments, optional
        The layout, by default `layout()`.
    schedule : AbstractSchedule, optional
        The service order of the disks, by default the order of arrival. The paper gives each node a queue, and names no
        order other than the order of the queue.
    write : AbstractWrite, optional
        The write policy, by default `writes(dispatch)`.
    faults : FaultSchedule, optional
        Outages and slowdowns of nodes, by default none.
    slots : int
        Number of requests in the system for which memory is reserved, by default 64.
    """
    placement = layout() if on is None else on
    order = ORDERS["in order"] if schedule is None else schedule
    policy = writes(dispatch) if write is None else write
    system = System(drives(placement), placement, dispatch, order, policy, faults=faults, slots=slots)
    return Scenario(system, arrivals)


def requests(
    setting: str = "both", read_share: float = 1.0, size: float = SIZE, on: Segments | None = None
) -> VolumeRequests:
    """Return the requests of the synthetic traces.

    Sizes are exponential, addresses are uniform, and there are five clients.

    Parameters
    ----------
    setting : str
        Which volumes the requests are for, a name of `SETTINGS`; by default "both".
    read_share : float
        Fraction of reads, by default 1.
    size : float
        Mean size, bytes, by default 8 KB.
    on : Segments, optional
        The layout, by default `layout()`.

    Raises
    ------
    InputError
        If the setting is unknown.
    """
    one_of(*SETTINGS)("setting", setting)
    volumes = (layout() if on is None else on).volumes
    sizes = [volume.sectors for volume in volumes]
    return VolumeRequests(ExponentialSize(size), read_share, volumes=sizes, shares=SETTINGS[setting], clients=CLIENTS)


def synthetic(
    setting: str = "both", read_share: float = 1.0, load: float = 1.0, on: Segments | None = None
) -> ClosedOrOpen:
    """Return the synthetic traces with independent arrivals, at `load` times the published rate.

    Parameters
    ----------
    setting, read_share, on
        See `requests`.
    load : float
        Multiple of the published rate, by default 1.
    """
    return ClosedOrOpen(requests(setting, read_share, on=on), rate=load * RATE)


def saturating(setting: str = "both", read_share: float = 1.0, on: Segments | None = None) -> ClosedOrOpen:
    """Return the workload of figure 6: fifty requests are outstanding at all times.

    Parameters
    ----------
    setting, read_share, on
        See `requests`.
    """
    return ClosedOrOpen(requests(setting, read_share, on=on), OUTSTANDING)


def effort(profile: str, first_seed: int = 0, requests: int = 500, seeds: int = 8) -> Effort:
    """Return the number and length of the runs for a profile, "quick" or "full".

    A run of the full profile has the number of requests of the synthetic traces.

    Parameters
    ----------
    profile : str
        "quick" or "full".
    first_seed : int
        The first of the runs' seeds.
    requests, seeds : int
        Number of requests in each run of the quick profile, and number of runs of the quick profile. With 8 runs of 500
        requests, the 95% intervals of the ratios of figures 4 and 5 extend about 2% on either side. This is enough to
        decide whether two response times differ by less than a tenth, our definition of "close". The response times of
        ARS and Randomized in figure 4 differ by only 1%; to decide their order, 32 runs of 2,000 requests are needed.
        To decide the order of D-SPTF and Central in figure 5, 32 runs of 500 requests are needed.

    Returns
    -------
    Effort
        Number and length of the runs for the profile, with `first_seed`.

    Raises
    ------
    InputError
        If there is no profile of that name.
    """
    known = {"quick": Effort(seeds=seeds, requests=requests), "full": Effort(seeds=64, requests=REQUESTS)}
    return of_profile(profile, known, first_seed)
