"""The paper's system: bricks of four disks, and streams of threads, each with a logical volume of its own (section 4).

The disks' own caches, which the paper leaves on, are not modelled.
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

# section 4: four disks of 18 GB and 15,000 rpm, striped; a drive of that kind, whose maker the paper does not name
DRIVE, DISKS = "cheetah15k3", 4
# sectors of a stripe unit, which the paper does not give
UNIT = 128
# Sectors that a disk has of a volume: 256 MB over four of them, and a little more, so that stripe units come out even over
# three bricks as well.
PART = 342 * 3 * UNIT
# Volumes that a brick has room for. Which parts of it the paper's use is not said: they are spread over the whole.
ROWS = 270
# D, which the paper does not give: that of figure 8, where a stream has its two thirds of a brick from 13 threads on
DEPTH = 16
# sizes of section 4 and of figure 9(b); the paper gives no share of reads
SMALL, LARGE = (KB, 16 * KB), (KB, MB)
READ_SHARE = 0.5
NAMES = ("f", "g", "h")


@dataclass(frozen=True, kw_only=True)
class ShareEffort(Effort):
    """How much to simulate: independent runs of each setting, and seconds of each."""

    seeds: int = 6
    seconds: float = 20.0


QUICK = ShareEffort()


def effort(profile: str, first_seed: int = 0) -> ShareEffort:
    """The effort of a profile."""
    full = ShareEffort(seeds=64, seconds=120.0)
    return of_profile(profile, {"quick": QUICK, "full": full}, first_seed)


@dataclass(frozen=True)
class Asking:
    """Threads of one stream whose volumes are on the same bricks.

    stream: from 0. bricks: one, or several that each volume is striped over. threads: how many, a number or as time passes.
    most: threads provided for, so that settings with different numbers share a compilation.
    """

    stream: int
    bricks: tuple[int, ...]
    threads: ArrayLike | AbstractCount
    most: int


def postmark(size: AbstractSize | None = None, read_share: float = READ_SHARE) -> RandomRequests:
    """What a thread asks for: small files at random places of its volume."""
    return RandomRequests(UniformSize(*SMALL) if size is None else size, read_share)


def shared_bricks(
    asking: Sequence[Asking],
    *,
    weights: Sequence[ArrayLike],
    delay: AbstractDelay | None = None,
    depth: ArrayLike = DEPTH,
    coordinators: AbstractCoordinators | None = None,
    queue: AbstractQueue | None = None,
    inside: AbstractSchedule | None = None,
    requests: RandomRequests | None = None,
) -> Scenario:
    """Bricks of disks that streams share.

    asking: who asks where. weights, delay, depth, coordinators: of the fair queue; queue: another one in its place. inside:
    what a disk takes next of what its brick has handed over. A brick of these disks in order of arrival makes 5.4 MB/s, about
    the 6 that the paper's do (section 4.3), so that is the default.
    """
    fair = FairQueue(depth, weights, delay, coordinators=coordinators) if queue is None else queue
    bricks, volumes = _spread(asking)
    # a volume more than is asked for, because the last row of a brick stays free
    placement = Bricks(Volumes(PART, [*bricks, (0,)], UNIT), DISKS, UNIT)
    system = System(
        load_drive(DRIVE), placement, Hashing(), FCFS() if inside is None else inside, queue=fair, slots=_slots(asking)
    )
    return Scenario(system, _threads(asking, volumes, requests))


def shared_servers(
    asking: Sequence[Asking],
    rates: Sequence[float],
    *,
    weights: Sequence[ArrayLike],
    delay: AbstractDelay | None = None,
    depth: ArrayLike = DEPTH,
    coordinators: AbstractCoordinators | None = None,
    requests: RandomRequests | None = None,
) -> Scenario:
    """The same on bricks that serve so many bytes a second each, one request after the other, the first the fastest.

    Raises InputError where the first is not.
    """
    if max(rates) > rates[0]:
        raise InputError(f"a brick of {max(rates):g} bytes a second after one of {rates[0]:g}: name the fastest first")
    bricks, volumes = _spread(asking)
    slower = [Slowdown(brick, rate / rates[0]) for brick, rate in enumerate(rates) if rate < rates[0]]
    system = System(
        RateServer(rates[0] / SECTOR, capacity=2**28),
        Volumes(PART * DISKS, bricks, UNIT),
        Hashing(),
        FCFS(),
        queue=FairQueue(depth, weights, delay, coordinators=coordinators),
        condition=FaultSchedule(*slower),
        slots=_slots(asking),
    )
    return Scenario(system, _threads(asking, volumes, requests))


def _slots(asking: Sequence[Asking]) -> int:
    return 8 * math.ceil(sum(group.most for group in asking) / 8)


def _threads(asking: Sequence[Asking], volumes: Sequence[list[int]], requests: RandomRequests | None) -> Threads:
    asks = postmark() if requests is None else requests
    groups = [
        Group(asks, group.threads, stream=group.stream, volumes=numbers, most=group.most)
        for group, numbers in zip(asking, volumes, strict=True)
    ]
    return Threads(groups, volume=PART * DISKS)


def _spread(asking: Sequence[Asking]) -> tuple[list[tuple[int, ...]], list[list[int]]]:
    """Volumes that fill all bricks, each given by those it is on, and the numbers of the volumes of each group's threads: on
    every brick spread evenly over its whole capacity.

    A row of volumes takes as much of each brick: one volume on each, or, where volumes are striped, as many over all.
    """
    count = 1 + max(max(group.bricks) for group in asking)
    striped = {group.bricks for group in asking if len(group.bricks) > 1}
    if len(striped) > 1:
        raise InputError(f"volumes striped over {' and over '.join(map(str, sorted(striped)))}: give one such set")
    over = next(iter(striped), ())
    whole = {brick: sum(group.most for group in asking if group.bricks == (brick,)) for brick in range(count)}
    rows_over = math.ceil(sum(group.most for group in asking if group.bricks == over) / len(over)) if over else 0
    taken = {row * ROWS // rows_over for row in range(rows_over)}
    rows, numbers = [], {}
    for row in range(ROWS):
        for bricks in [over] * len(over) if row in taken else [(brick,) for brick in range(count)]:
            numbers.setdefault(bricks, []).append(len(rows))
            rows.append(bricks)
        if row in taken:
            rows.extend((brick,) for brick in range(count) if brick not in over)
    places: dict[tuple[int, ...], list[int]] = {
        (brick,): _evenly(numbers.get((brick,), []), wanted) for brick, wanted in whole.items()
    }
    places[over] = numbers.get(over, [])
    volumes = []
    for group in asking:
        volumes.append(places[group.bricks][: group.most])
        places[group.bricks] = places[group.bricks][group.most :]
    return rows, volumes


def _evenly(numbers: list[int], wanted: int) -> list[int]:
    """So many of the numbers, evenly spaced, in an order in which any first few of them are spread as well."""
    if wanted > len(numbers):
        raise InputError(f"{wanted} threads on a brick with room for {len(numbers)} volumes: give fewer")
    chosen = [numbers[place * len(numbers) // wanted] for place in range(wanted)]
    # strides that share no factor with the count visit all
    stride = next(step for step in range(round(0.382 * wanted) or 1, 2 * wanted + 2) if math.gcd(step, wanted) == 1)
    return [chosen[place * stride % wanted] for place in range(wanted)]
