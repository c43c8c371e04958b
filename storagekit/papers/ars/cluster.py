"""The paper's cluster: four nodes of unequal disks (table I), two volumes (table II), and who distributes requests."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from storagekit.dispatch import ARS, AbstractDispatch, Central, Preselection, Randomized
from storagekit.drive import Arm, Drive, Mixed, load_drive
from storagekit.engine import Condition, Scenario, System
from storagekit.errors import InputError
from storagekit.papers.effort import Effort, of_profile
from storagekit.papers.rows import Row, chosen
from storagekit.placement import Node, Segments, Volume, laid_out
from storagekit.schedule import FCFS, SATF, AbstractSchedule
from storagekit.schedule import ByNumber as ScheduleByNumber
from storagekit.units import GB, KB, MB, MS, SECTOR
from storagekit.workload import AbstractArrivals, ClosedOrOpen, ExponentialSize, VolumeRequests
from storagekit.write import AbstractWrite, Claimed, Committed

# table I: the drive of each node, how many it has, and the one that is a RAID 5
DRIVES = ("atlas10k", "ibm18es", "deskstar7k400", "cheetah4lp")
NODES = (Node(2), Node(9, raid5=True), Node(1), Node(18))
# table II: segments of so many bytes, redundancy
SEGMENTS = (128 * MB, 512 * MB)
BLOCK = 64 * KB // SECTOR
# sectors of the volumes as published, and scaled so that they fit: fragments of the second then fill node 0
PUBLISHED = tuple(size * GB // SECTOR for size in (100, 200))
SCALED = tuple(count * segment // SECTOR for count, segment in zip((136, 68), SEGMENTS, strict=True))
# how volumes that do not fit are put on the nodes (table II asks for 700 GB of 572)
LAYOUTS = ("scaled", "wrapped")
CLIENTS = 5
# requests of the synthetic traces, a second: 10,604 in 20 minutes
REQUESTS = 10_604
RATE = REQUESTS / 1200
SIZE = 8 * KB
# one way between nodes (section 5)
LATENCY = 0.1 * MS
# which share of the requests each volume gets
SETTINGS: dict[str, tuple[float, float]] = {
    "replicated": (1.0, 0.0),
    "erasure-coded": (0.0, 1.0),
    "both": (0.5, 0.5),
}
OUTSTANDING = 50
# The order in which disks serve waiting requests. The order and the kind of arrivals are numbers, so that all exhibits of a
# protocol share a program. Serving in order costs 5% more this way.
ORDERS = {
    name: ScheduleByNumber((FCFS(), SATF()), number) for number, name in enumerate(("in order", "shortest first"))
}
# requests held at once, everywhere alike, so that exhibits share compilations
SLOTS = 64


def layout(name: str = "scaled", whole_blocks: bool = False) -> Segments:
    """The volumes on the nodes. name: "scaled", both to 18% of their size, in proportion, so that they fit; "wrapped", as
    large as published, addresses beyond a node's room beginning again from its first. Raises InputError for any other."""
    if name not in LAYOUTS:
        raise InputError(f"layout {name!r}: unknown; it is one of {', '.join(LAYOUTS)}")
    sizes = SCALED if name == "scaled" else PUBLISHED
    replicated = Volume(sizes[0], SEGMENTS[0] // SECTOR, parts=3, block=BLOCK)
    coded = Volume(sizes[1], SEGMENTS[1] // SECTOR, parts=4, needed=2, block=BLOCK)
    return Segments(NODES, (replicated, coded), wraps=name == "wrapped", whole_blocks=whole_blocks)


def drives() -> Mixed:
    """The disks of table I, node after node."""
    kinds = [kind for kind, node in enumerate(NODES) for _ in range(node.disks)]
    return Mixed([load_drive(name) for name in DRIVES], kinds)


@cache
def mean_service(name: str, reach: int, read: bool = True, sectors: int = SIZE // SECTOR) -> float:
    """Seconds that a drive takes on average for a small request in its first `reach` sectors, after another one there: over
    random pairs."""
    drive: Drive = load_drive(name)
    draw = np.random.default_rng(14)
    one, other, angle, length, reads = _drawn(draw, reach, sectors, read)
    first, second = drive.locate(one, length), drive.locate(other, length)
    found = drive.positioning(Arm(first.cylinder, first.head), angle, second, reads)
    return float(np.mean(found.total + second.transfer))


def _drawn(draw: np.random.Generator, reach: int, sectors: int, read: bool) -> Any:
    """Two addresses, an angle, a length and whether it is read, many times."""
    one, other = draw.integers(0, reach - sectors, (2, 4096))
    return one, other, draw.random(4096), np.int64(sectors), np.asarray(read)


def services(on: Segments | None = None, read: bool = True) -> tuple[float, ...]:
    """Seconds that a disk of each node takes on average for what it holds of the volumes: what a distributor knows of it that
    has not looked."""
    found = []
    for name, node, reach in zip(DRIVES, NODES, _reaches(layout() if on is None else on), strict=True):
        again = float(load_drive(name).revolution) if node.raid5 and not read else 0.0
        found.append(mean_service(name, reach, read) + again)
    return tuple(found)


@cache
def _reaches(on: Segments) -> tuple[int, ...]:
    """Up to which sector the disks of each node hold anything."""
    bound = on.on(drives())
    table = laid_out(bound.nodes, bound.volumes, bound.wraps)
    sizes = np.repeat([volume.part for volume in on.volumes], [volume.segments for volume in on.volumes])
    drive: Any = np.minimum(table[::3], int(bound.drives) - 1)
    node = bound.brick_of(drive)
    # of a RAID 5 the addresses are those of its data
    end = (table[1::3] + sizes) // np.maximum(table[2::3] - 1, 1)
    there = table[::3] < int(bound.drives)
    return tuple(int(np.max(end[there & (node == number)])) for number in range(len(NODES)))


# ---- who distributes requests (section 5) ----

RANDOMIZED, ADAPTIVE, DSPTF, CENTRAL, CENTRAL_MEAN = "Randomized", "ARS", "D-SPTF", "Central", "Central, mean service"
PROTOCOLS: dict[str, Callable[..., AbstractDispatch]] = {
    RANDOMIZED: lambda on=None: Randomized(),
    ADAPTIVE: lambda on=None: ARS(clients=CLIENTS),
    DSPTF: lambda on=None: Preselection(LATENCY),
    CENTRAL: lambda on=None: Central(services(on), services(on, read=False), exact=True),
    CENTRAL_MEAN: lambda on=None: Central(services(on), services(on, read=False)),
}
# the four of figures 4 to 6; Central knows where the heads are
FOUR = (RANDOMIZED, ADAPTIVE, DSPTF, CENTRAL)


def protocols_on(on: Segments, asked: Sequence[Row]) -> dict[str, AbstractDispatch]:
    """The dispatchers of the protocols that are asked for on these volumes, by name, a reader's own among them."""
    names, own = chosen(asked, PROTOCOLS, "protocol")
    return {name: own[name] if name in own else PROTOCOLS[name](on) for name in names}


def writes(dispatch: AbstractDispatch) -> AbstractWrite:
    """What becomes of writes: claimed as reads are under D-SPTF, else committed where the dispatcher says."""
    return Claimed() if dispatch.claims.certain is not True else Committed()


def cluster(
    dispatch: AbstractDispatch,
    arrivals: AbstractArrivals,
    *,
    on: Segments | None = None,
    schedule: AbstractSchedule | None = None,
    write: AbstractWrite | None = None,
    condition: Condition | None = None,
    slots: int = SLOTS,
) -> Scenario:
    """The cluster with somebody asking. schedule: what a disk takes next, by default in order of arrival: the paper's nodes
    have a queue, and no order is named."""
    placement = layout() if on is None else on
    order = ORDERS["in order"] if schedule is None else schedule
    policy = writes(dispatch) if write is None else write
    system = System(drives(), placement, dispatch, order, policy, condition=condition, slots=slots)
    return Scenario(system, arrivals)


def requests(
    setting: str = "both", read_share: float = 1.0, size: float = SIZE, on: Segments | None = None
) -> VolumeRequests:
    """The synthetic traces' requests: exponential sizes, uniform addresses, five clients. setting: one of `SETTINGS`."""
    if setting not in SETTINGS:
        raise InputError(f"volumes {setting!r}: unknown; it is one of {', '.join(SETTINGS)}")
    volumes = (layout() if on is None else on).volumes
    sizes = [volume.sectors for volume in volumes]
    return VolumeRequests(ExponentialSize(size), read_share, volumes=sizes, shares=SETTINGS[setting], clients=CLIENTS)


def synthetic(
    setting: str = "both", read_share: float = 1.0, load: float = 1.0, on: Segments | None = None
) -> ClosedOrOpen:
    """The synthetic traces, independent arrivals; `load` times as many a second."""
    return ClosedOrOpen(requests(setting, read_share, on=on), rate=load * RATE)


def saturating(setting: str = "both", read_share: float = 1.0, on: Segments | None = None) -> ClosedOrOpen:
    """The throughput test of figure 6: fifty requests outstanding."""
    return ClosedOrOpen(requests(setting, read_share, on=on), OUTSTANDING)


def effort(profile: str, first_seed: int = 0, requests: int = 500, seeds: int = 8) -> Effort:
    """Return the effort of a profile; "full" runs traces at their length.

    Parameters
    ----------
    profile : str
        "quick" or "full".
    first_seed : int
        The first of the runs' seeds.
    requests, seeds : int
        Requests of each run of the quick profile, and the number of its runs. "Close" is a tenth here, and 500 requests in
        8 runs leave intervals of about 2% on either side of the ratios of figures 4 and 5. The order of ARS and
        Randomized in figure 4, which are 1% apart, needs 2,000 requests in 32 runs; the order of D-SPTF and Central in
        figure 5 needs 500 requests in 32 runs.

    Returns
    -------
    Effort

    Raises
    ------
    InputError
        If there is no profile of that name.
    """
    known = {"quick": Effort(seeds=seeds, requests=requests), "full": Effort(seeds=64, requests=REQUESTS)}
    return of_profile(profile, known, first_seed)
