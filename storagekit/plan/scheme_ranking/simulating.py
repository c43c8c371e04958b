"""Schemes as scenarios of the simulation engine."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from storagekit.analytic.array.elevator import Scheduler
from storagekit.core.errors import InputError
from storagekit.core.units import SECTOR
from storagekit.engine import Scenario, System
from storagekit.plan.scheme_ranking.requirements import Requirements
from storagekit.plan.scheme_ranking.scheme import Scheme, SchemeFigures
from storagekit.plan.scheme_ranking.simulated_only import SimulatedOnly
from storagekit.plan.simulating import discipline
from storagekit.simulation import replicate
from storagekit.workload import ClosedLoop, MixedSizes, PoissonArrivals, RandomRequests
from storagekit.write import AllCopies

if TYPE_CHECKING:
    import xarray as xr

# arrays of up to these numbers of disks share a compiled program, and so do arrays of up to these numbers of slots
_DISKS = (16, 64, 256, 1024, 4096)
_SLOTS = (32, 128, 512, 2048, 8192)
# number of slots for each request that is in the array on average
_ROOM = 3
_PAGE = 4096 // SECTOR
# requests of a run: minimum, maximum, and multiples of the outstanding requests and of the transient
_ENOUGH, _LONGEST, _TIMES, _FORGOTTEN = 6000, 400_000, 12, 6
_BUSIEST = 0.95
# if a smaller share of the requests is served, the scheme is overloaded
OVERLOAD = 0.97
# the choice of the nearer copy can at most halve the service time
_HOPELESS = 2.0
# seeds of a scheme that is ranked by its simulation
_SEEDS = range(4)


def scenario(needs: Requirements, scheme: Scheme, scheduler: Scheduler | None, mean: float) -> Scenario:
    """Return the scenario of a scheme. scheduler: None for FCFS. mean: expected response time in seconds."""
    unit = max(_PAGE, -(-needs.largest // _PAGE) * _PAGE)
    layout = scheme.placement(needs.drive, needs.data, unit)
    room = float(layout.capacity(needs.drive)) * SECTOR
    sizes = MixedSizes(tuple(size for size, _ in needs.sizes), tuple(share for _, share in needs.sizes))
    # requests are aligned to whole units, so that no request crosses a boundary
    requests = RandomRequests(sizes, needs.read_share, max(1.0, room / needs.data), alignment=unit)
    wanted = needs.outstanding if needs.rate is None else int(_ROOM * needs.rate * mean) + _SLOTS[0]
    assert wanted is not None
    system = System(
        needs.drive,
        layout,
        scheme.dispatch(),
        discipline(scheduler),
        AllCopies(),
        drives=_step(scheme.disks, _DISKS, "disks"),
        slots=_step(wanted, _SLOTS, "requests at once"),
    )
    if needs.rate is not None:
        return Scenario(system, PoissonArrivals(requests, needs.rate))
    return Scenario(system, ClosedLoop(requests, wanted))


def simulate_scheme(
    needs: Requirements, scheme: Scheme, scheduler: Scheduler | None, mean: float, seeds: Sequence[int], requests: int
) -> "xr.Dataset":
    """Return the measures of `sk.simulate` for each seed. A third of the requests is warm-up."""
    asked = scenario(needs, scheme, scheduler, mean)
    return replicate(asked, seeds=seeds, requests=requests, warm_up=requests // 3, allow_held_up=True)


def seen(needs: Requirements, scheme: SimulatedOnly, access: float, scheduler: Scheduler | None) -> SchemeFigures:
    """Return the simulated values of a scheme without a formula. access: approximate time of an access, seconds.

    For arrivals at a rate, the throughput is the rate at which the disks would always be busy with the same service time. A
    scheme that does not serve the load is overloaded. A scheme with an estimated utilization of at least `_HOPELESS` counts
    as overloaded without a simulation.
    """
    busy = 0.0
    if needs.rate is not None:
        read, write = scheme.accesses
        busy = needs.rate * (needs.read_share * read + (1 - needs.read_share) * write) * access / scheme.disks
        if busy >= _HOPELESS:
            return SchemeFigures(needs.rate / busy, np.inf, np.inf, np.inf, busy)
        busy = min(busy, _BUSIEST)
    found = simulate_scheme(
        needs, scheme, scheduler, access * scheme.accesses[1] / (1 - busy), _SEEDS, enough(needs, busy)
    ).mean("seed")
    works = float(found.utilization.isel(brick=slice(0, scheme.disks)).mean())
    served, mean = float(found.request_rate), float(found.response)
    if needs.rate is None:
        # formulas give no quantile with outstanding requests, and all ranked schemes need the same measures
        return SchemeFigures(served, mean, np.nan, np.nan, min(works, 1 - 1e-9))
    if served < OVERLOAD * needs.rate:
        return SchemeFigures(served, np.inf, np.inf, np.inf, 1.0)
    p95, p99 = (float(found.response_quantile.sel(quantile=share)) for share in (0.95, 0.99))
    return SchemeFigures(needs.rate / works, mean, p95, p99, min(works, 1 - 1e-9))


def enough(needs: Requirements, busy: float) -> int:
    """Return the number of requests of a run that determines the mean to some percent at utilization `busy`.

    The transient of a queue lasts about 1/(1 - sqrt(busy))^2 service times.
    """
    if needs.rate is None:
        assert needs.outstanding is not None
        return max(_ENOUGH, _TIMES * needs.outstanding)
    forgets = busy / (1 - min(busy, _BUSIEST) ** 0.5) ** 2
    return min(_LONGEST, max(_ENOUGH, int(_FORGOTTEN * forgets * needs.disks)))


def _step(wanted: int, steps: tuple[int, ...], what: str) -> int:
    if wanted > steps[-1]:
        raise InputError(f"{wanted} {what}: at most {steps[-1]} are simulated; check a part of the array")
    return next(size for size in steps if size >= wanted)
