"""The system of section 4: bricks of four disks, and streams whose threads each have a logical volume.

The caches of the disks, which the paper leaves on, are not modelled.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from jax.typing import ArrayLike

from storagekit.core.errors import InputError
from storagekit.core.units import KB, MB, SECTOR
from storagekit.dispatch import Hashing
from storagekit.drive import RateServer, load_drive
from storagekit.engine import Scenario, System
from storagekit.faults import FaultSchedule, Slowdown
from storagekit.papers.effort import Effort, of_profile
from storagekit.placement import Bricks, Volumes
from storagekit.queue import AbstractCoordinators, AbstractDelay, AbstractQueue, FairQueue
from storagekit.schedule import FCFS, AbstractSchedule
from storagekit.workload import AbstractCount, AbstractSize, Group, RandomRequests, Threads, UniformSize

# Section 4: four striped disks of 18 GB and 15,000 rpm. The paper does not name the model; this drive has the same size
# and speed.
DRIVE, DISKS = "cheetah15k3", 4
# Length of a stripe unit in sectors. The paper does not give it.
UNIT = 128
# Sectors of a volume on each of its four disks. A volume has slightly more than 256 MB, so that its stripe units also
# divide evenly among three bricks.
PART = 342 * 3 * UNIT
# Number of volumes that fit on a brick. The paper does not give the positions of volumes; here they are spread over the
# whole brick.
ROWS = 270
# Depth D. The paper does not give it. The value is calibrated with figure 8, where a stream with at least 13 threads
# receives its share of two thirds of a brick.
DEPTH = 16
# Ranges of the sizes of requests in section 4 and in figure 9(b), bytes; and share of reads, which the paper does not
# give.
SMALL, LARGE = (KB, 16 * KB), (KB, MB)
READ_SHARE = 0.5
NAMES = ("f", "g", "h")


@dataclass(frozen=True, kw_only=True)
class ShareEffort(Effort):
    """Number and length of the simulated runs of an exhibit.

    Parameters
    ----------
    seeds : int
        Number of independent runs of each setting, by default 4.
    requests : int
        Without effect, because `seconds` sets the length of a run.
    first_seed : int
        The first of the runs' seeds, by default 0.
    seconds : float
        Length of a run, by default 20 s.
    """

    seeds: int = 4
    seconds: float = 20.0


QUICK = ShareEffort()


def effort(profile: str, first_seed: int = 0) -> ShareEffort:
    """Return the number and length of the runs for a profile, "quick" or "full".

    Parameters
    ----------
    profile : str
        "quick" or "full".
    first_seed : int
        The first of the runs' seeds, by default 0.

    Returns
    -------
    ShareEffort
        Number and length of the runs for the profile, with `first_seed`.

    Raises
    ------
    InputError
        If there is no profile of that name.
    """
    full = ShareEffort(seeds=64, seconds=120.0)
    return of_profile(profile, {"quick": QUICK, "full": full}, first_seed)


@dataclass(frozen=True)
class StreamThreads:
    """Threads of one stream whose volumes are on the same bricks.

    Parameters
    ----------
    stream : int
        Number of the stream, from 0.
    bricks : tuple of int
        One brick, or several bricks over which each volume is striped.
    threads : int or AbstractCount
        Number of threads. It may be a function of time.
    most : int
        Number of threads for which memory is reserved. Settings with different numbers of threads but the same `most`
        share a compiled program.
    """

    stream: int
    bricks: tuple[int, ...]
    threads: ArrayLike | AbstractCount
    most: int


def postmark(size: AbstractSize | None = None, read_share: float = READ_SHARE) -> RandomRequests:
    """Return the requests of a thread: small files at random addresses of its volume.

    Parameters
    ----------
    size : AbstractSize, optional
        Sizes of requests, by default uniform from 1 KB to 16 KB.
    read_share : float
        Fraction of reads, by default 0.5.
    """
    return RandomRequests(UniformSize(*SMALL) if size is None else size, read_share)


def shared_bricks(
    groups: Sequence[StreamThreads],
    *,
    weights: Sequence[ArrayLike],
    delay: AbstractDelay | None = None,
    depth: ArrayLike = DEPTH,
    coordinators: AbstractCoordinators | None = None,
    queue: AbstractQueue | None = None,
    inside: AbstractSchedule | None = None,
    requests: RandomRequests | None = None,
) -> Scenario:
    """Return a scenario of streams that share bricks of disks.

    Parameters
    ----------
    groups : sequence of StreamThreads
        The threads and their bricks.
    weights : sequence of float
        Weight of each stream in the fair queue.
    delay : AbstractDelay, optional
        Delay of a request that accounts for the service at other bricks; see `FairQueue`.
    depth : int
        Depth D of the fair queue of each brick, by default `DEPTH`.
    coordinators : AbstractCoordinators, optional
        Assignment of requests to coordinators; see `FairQueue`.
    queue : AbstractQueue, optional
        A queue that replaces the fair queue. The four parameters before it then have no effect.
    inside : AbstractSchedule, optional
        Order in which a disk serves the requests that its brick has issued, by default the order of arrival. With this
        default a brick serves 5.4 MB/s, near the 6 MB/s of the paper (section 4.3).
    requests : RandomRequests, optional
        Requests of the threads, by default `postmark()`.

    Returns
    -------
    Scenario
        The system and its threads. A brick has `DISKS` disks with a stripe unit of `UNIT` sectors.

    Raises
    ------
    InputError
        If the volumes do not fit, or are striped over different sets of bricks.
    """
    fair = FairQueue(depth, weights, delay, coordinators=coordinators) if queue is None else queue
    bricks, volumes = _spread(groups)
    # Add one volume that no thread uses, because the last row of a brick stays free.
    placement = Bricks(Volumes(PART, [*bricks, (0,)], UNIT), DISKS, UNIT)
    system = System(
        load_drive(DRIVE), placement, Hashing(), FCFS() if inside is None else inside, queue=fair, slots=_slots(groups)
    )
    return Scenario(system, _threads(groups, volumes, requests))


def shared_servers(
    groups: Sequence[StreamThreads],
    rates: Sequence[float],
    *,
    weights: Sequence[ArrayLike],
    delay: AbstractDelay | None = None,
    depth: ArrayLike = DEPTH,
    coordinators: AbstractCoordinators | None = None,
    requests: RandomRequests | None = None,
) -> Scenario:
    """Return a scenario of streams that share bricks of constant throughput.

    A brick serves one request after the other.

    Parameters
    ----------
    groups : sequence of StreamThreads
        The threads and their bricks.
    rates : sequence of float
        Throughput of each brick, bytes a second. The first brick is the fastest.
    weights : sequence of float
        Weight of each stream in the fair queue.
    delay : AbstractDelay, optional
        Delay of a request that accounts for the service at other bricks; see `FairQueue`.
    depth : int
        Depth D of the fair queue of each brick, by default `DEPTH`.
    coordinators : AbstractCoordinators, optional
        Assignment of requests to coordinators; see `FairQueue`.
    requests : RandomRequests, optional
        Requests of the threads, by default `postmark()`.

    Returns
    -------
    Scenario
        The system and its threads.

    Raises
    ------
    InputError
        If the first brick is not the fastest, and in the cases of `shared_bricks`.
    """
    if max(rates) > rates[0]:
        raise InputError(
            f"The first brick has {rates[0]:g} bytes/s, but another brick is faster, with {max(rates):g} bytes/s. "
            "Give the fastest brick first."
        )
    bricks, volumes = _spread(groups)
    slower = [Slowdown(brick, rate / rates[0]) for brick, rate in enumerate(rates) if rate < rates[0]]
    system = System(
        RateServer(rates[0] / SECTOR, capacity=2**28),
        Volumes(PART * DISKS, bricks, UNIT),
        Hashing(),
        FCFS(),
        queue=FairQueue(depth, weights, delay, coordinators=coordinators),
        faults=FaultSchedule(*slower),
        slots=_slots(groups),
    )
    return Scenario(system, _threads(groups, volumes, requests))


def _slots(groups: Sequence[StreamThreads]) -> int:
    return 8 * math.ceil(sum(group.most for group in groups) / 8)


def _threads(groups: Sequence[StreamThreads], volumes: Sequence[list[int]], requests: RandomRequests | None) -> Threads:
    drawn = postmark() if requests is None else requests
    threads = [
        Group(drawn, group.threads, stream=group.stream, volumes=numbers, most=group.most)
        for group, numbers in zip(groups, volumes, strict=True)
    ]
    return Threads(threads, volume=PART * DISKS)


def _spread(groups: Sequence[StreamThreads]) -> tuple[list[tuple[int, ...]], list[list[int]]]:
    """Return the bricks of each volume, and the numbers of the volumes of the threads of each group.

    Volumes fill all bricks, and threads use volumes that are spread evenly over the capacity of each brick. Volumes are
    laid out in rows, and a row takes the same capacity of each brick. A row has one volume on each brick. If volumes
    are striped over k bricks, some rows have k striped volumes on these bricks, instead of one volume on each of them.
    """
    count = 1 + max(max(group.bricks) for group in groups)
    striped = {group.bricks for group in groups if len(group.bricks) > 1}
    if len(striped) > 1:
        raise InputError(
            f"Volumes are striped over different sets of bricks: {' and '.join(map(str, sorted(striped)))}. Give "
            "only one set."
        )
    over = next(iter(striped), ())
    whole = {brick: sum(group.most for group in groups if group.bricks == (brick,)) for brick in range(count)}
    rows_over = math.ceil(sum(group.most for group in groups if group.bricks == over) / len(over)) if over else 0
    taken = {row * ROWS // rows_over for row in range(rows_over)}
    rows, numbers = [], {}
    for row in range(ROWS):
        for bricks in [over] * len(over) if row in taken else [(brick,) for brick in range(count)]:
            numbers.setdefault(bricks, []).append(len(rows))
            rows.append(bricks)
        if row in taken:
            rows.extend((brick,) for brick in range(count) if brick not in over)
    rows_of: dict[tuple[int, ...], list[int]] = {
        (brick,): _evenly(numbers.get((brick,), []), wanted) for brick, wanted in whole.items()
    }
    rows_of[over] = numbers.get(over, [])
    volumes = []
    for group in groups:
        volumes.append(rows_of[group.bricks][: group.most])
        rows_of[group.bricks] = rows_of[group.bricks][group.most :]
    return rows, volumes


def _evenly(numbers: list[int], wanted: int) -> list[int]:
    """Return `wanted` of the numbers at even distances. Their order makes each prefix about evenly spaced too."""
    if wanted > len(numbers):
        raise InputError(f"A brick has {wanted} threads, but volumes for only {len(numbers)}. Give fewer threads.")
    chosen = [numbers[index * len(numbers) // wanted] for index in range(wanted)]
    # A stride that has no common factor with the count reaches all numbers.
    stride = next(step for step in range(round(0.382 * wanted) or 1, 2 * wanted + 2) if math.gcd(step, wanted) == 1)
    return [chosen[index * stride % wanted] for index in range(wanted)]
