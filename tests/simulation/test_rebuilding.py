"""Test scenarios of users' requests at an array that has lost a drive, with and without a rebuild.

The accesses of each drive are compared with counts of sets of drives, and the requests of the rebuild with their rate,
order and space.
"""

import numpy as np
import pytest
from helpers import assert_refused, slow_but

from storagekit.core.units import SECTOR
from storagekit.dispatch import Broadcast
from storagekit.drive import ideal_drive
from storagekit.engine import Scenario, System
from storagekit.placement import AfterLoss, DeclusteredParity, ParityGroups, Replicas
from storagekit.placement.declustered_parity import orders
from storagekit.schedule import FCFS, SATF
from storagekit.simulation import by_stream, provisioning, rebuild_scenario, simulate
from storagekit.workload import FixedSize, PoissonArrivals, RandomRequests

DRIVE = ideal_drive(full_seek=8e-3, revolution=6e-3, cylinders=400, sectors_per_track=500)
LARGE = ideal_drive(full_seek=8e-3, revolution=6e-3, cylinders=40_000, sectors_per_track=100_000)
UNIT = 16
USERS = RandomRequests(FixedSize(4096), read_share=0.6)
LAYOUTS = [
    (ParityGroups(5, 1, 1, UNIT), 0),
    (ParityGroups(4, 2, 2, UNIT), 6),
    (ParityGroups(10, 2, 1, UNIT), 3),
    (DeclusteredParity(7, 5, 2, UNIT, slice_sectors=UNIT), 4),
    (DeclusteredParity(8, 4, 1, UNIT, slice_sectors=UNIT), 0),
]


def system(layout, lost=0, drive=DRIVE, schedule=None) -> System:
    return System(drive, AfterLoss(layout, lost), Broadcast(), schedule or FCFS())


def measured(scenario, **settings):
    """Simulate all requests of a scenario, without a warm-up."""
    settings = {"requests": scenario.arrivals.total, "warm_up": 0, "measures": by_stream(2), **settings}
    return simulate(scenario, **settings)


def rows_of(layout, turn: int) -> list[list[int]]:
    """Return the drives of each row at an address, parity first, and as a further entry the drives with spare space."""
    drives, size = int(layout.drives), int(layout.group_size)
    if isinstance(layout, DeclusteredParity):
        order = orders(drives)[0].reshape(-1, drives)[turn // drives % 64]
        order = ((order + turn % drives) % drives).tolist()
    else:
        parity = size - 1 - turn % size
        order = [first + (parity + one) % size for first in range(0, drives, size) for one in range(size)]
    rows = drives // size
    return [*(order[row * size :][:size] for row in range(rows)), order[rows * size :]]


def accessed(layout, lost: int, sector: int, read: bool) -> list[int]:
    """Return the drive of each access of a user's request, by the rules of a degraded array."""
    number = sector // UNIT
    data, parities = int(layout.data), int(layout.parities)
    number, group = divmod(number, int(layout.rows))
    turn, column = divmod(number, data)
    row = rows_of(layout, turn)[group]
    own, parity = row[parities + column], row[:parities]
    others = [drive for drive in row[parities:] if drive != own]
    if read:
        return [own] if own != lost else [*others, parity[0]]
    written = [drive for drive in (own, *parity) if drive != lost]
    if own == lost:
        return [*others, *written]
    if lost in parity and parities == 1:
        return written
    rebuilt = [drive for drive in (own, *others, parity[0]) if drive != lost] if lost in others else others
    return [*written, *(rebuilt if len(rebuilt) < len(written) else written)]


def restored(layout, lost: int, address: int) -> list[int]:
    """Return the drives that a request of the rebuild accesses; the last one writes."""
    *rows, spare = rows_of(layout, address // UNIT)
    row = next(row for row in rows if lost in row)
    parities = int(layout.parities)
    survivors = [drive for drive in row[parities:] if drive != lost]
    return [*survivors, *(row[:1] if lost in row[parities:] else []), spare[0] if spare else int(layout.drives)]


# one parity, several parities in two groups, and a declustered layout with spare space
@pytest.mark.parametrize(("layout", "lost"), slow_but([LAYOUTS[0], LAYOUTS[1], LAYOUTS[3]], LAYOUTS))
def test_each_drive_serves_the_accesses_that_the_rules_count(layout, lost):
    """All requests of users and of the rebuild complete, so that the counts are exact."""
    array = system(layout, lost)
    scenario = rebuild_scenario(array, USERS, rate=40.0, rebuild_rate=12 * UNIT * SECTOR, requests=1500, seed=3)
    seen, requests = measured(scenario), scenario.arrivals.requests
    capacity = int(layout.capacity(DRIVE))
    count = np.zeros(int(array.placement.drives), int)
    for sector, read, stream in zip(
        requests.sector.tolist(), requests.read.tolist(), requests.stream.tolist(), strict=True
    ):
        assert (sector >= capacity) == (stream == 1)
        drives = restored(layout, lost, sector - capacity) if stream else accessed(layout, lost, sector, read)
        np.add.at(count, drives, 1)
    served = np.round((seen.brick_throughput * seen.elapsed).values).astype(int)
    np.testing.assert_array_equal(served, count)
    assert served[lost] == 0
    if int(array.placement.drives) > int(layout.drives):
        assert served[-1] == np.count_nonzero(requests.stream)


def test_at_light_load_a_degraded_read_is_the_slowest_of_m_accesses():
    """Waits of up to a revolution are uniform and independent: the largest of 8 is 8/9 of a revolution on average.

    A seek takes 1 us at most. One of ten requests is for the data of the lost drive.
    """
    still = ideal_drive(full_seek=1e-6, revolution=6e-3, cylinders=2, sectors_per_track=500_000)
    users = RandomRequests(FixedSize(4096), read_share=1.0)
    array = System(still, AfterLoss(ParityGroups(10, 2, 1, 8)), Broadcast(), FCFS())
    seen = measured(rebuild_scenario(array, users, rate=2.0, requests=20_000), measures=())
    lost = 1 / 10
    mean = (1 - lost) * 0.5 + lost * 8 / 9
    # deviations of single responses: 1/sqrt(12) of a revolution, and less among the reads of lost data
    error = 6e-3 * 0.31 / np.sqrt(20_000)
    assert float(seen.response) == pytest.approx(6e-3 * mean + 8 / 500_000 * 6e-3, abs=4 * error)


@pytest.mark.parametrize("chunk", slow_but([None, UNIT // 2 * SECTOR], [None, 2 * UNIT * SECTOR, UNIT // 2 * SECTOR]))
def test_the_rebuild_keeps_its_rate_and_the_order_of_addresses(chunk):
    array = system(ParityGroups(6, 2, 1, UNIT))
    scenario = rebuild_scenario(array, USERS, rate=30.0, rebuild_rate=1e5, chunk=chunk, requests=2000, seed=1)
    requests = scenario.arrivals.requests
    time = np.concatenate([[0.0], np.cumsum(np.asarray(scenario.arrivals.gap, float)[:-1])])
    mine = np.asarray(requests.stream) == 1
    sectors = UNIT if chunk is None else int(chunk / SECTOR)
    assert (
        np.all(requests.sectors[mine] == sectors)
        and not np.any(requests.read[mine])
        and np.all(requests.asynchronous[mine])
    )
    np.testing.assert_allclose(np.diff(time[mine]), sectors * SECTOR / 1e5, rtol=1e-3)
    used = int(array.placement.used(DRIVE)) // sectors * sectors
    address = requests.sector[mine] - int(array.placement.capacity(DRIVE))
    assert np.all(np.diff(address) % used == sectors) and address.min() >= 0 and address.max() + sectors <= used
    seen = measured(scenario)
    assert float(seen.stream_throughput[1]) == pytest.approx(1e5, rel=0.02)
    assert float(seen.stream_rate[0]) == pytest.approx(30.0, rel=0.1)
    other = rebuild_scenario(array, USERS, rate=30.0, rebuild_rate=1e5, chunk=chunk, requests=2000, seed=2)
    theirs = other.arrivals.requests
    assert theirs.sector[theirs.stream == 1][0] != requests.sector[mine][0]


def test_the_rebuild_passes_over_the_spare_space_of_the_lost_drive_and_returns_to_the_first_address():
    layout, small = (
        DeclusteredParity(7, 5, 2, UNIT, slice_sectors=UNIT),
        ideal_drive(full_seek=1e-3, revolution=6e-3, cylinders=10, sectors_per_track=500),
    )
    array = system(layout, 4, small)
    scenario = rebuild_scenario(array, USERS, rate=30.0, rebuild_rate=1e5, requests=2000)
    mine = np.asarray(scenario.arrivals.requests.stream) == 1
    turns = (scenario.arrivals.requests.sector[mine] - int(layout.capacity(small))) // UNIT
    last = int(layout.capacity(small)) // (3 * UNIT)
    held = [turn for turn in range(last) if any(4 in row for row in rows_of(layout, turn)[:-1])]
    begin = held.index(turns[0])
    assert len(turns) > len(held) - begin
    np.testing.assert_array_equal(turns, np.resize(np.roll(held, -begin), len(turns)))


def test_response_times_are_those_of_users_only():
    array = system(ParityGroups(6, 2, 1, UNIT))
    scenario = rebuild_scenario(array, USERS, rate=40.0, rebuild_rate=1e5, requests=3000)
    seen = measured(scenario)
    assert float(seen.response) == pytest.approx(float(seen.stream_response[0]), rel=1e-4)
    assert float(seen.stream_response[1]) > 1.1 * float(seen.response)
    reads, writes = float(seen.read_response), float(seen.write_response)
    assert reads < float(seen.response) < writes
    slow = float(seen.response_quantile.sel(quantile=0.99))
    assert reads < slow < float(seen.write_response_quantile.sel(quantile=0.99)) * 1.02


def test_without_a_rebuild_the_requests_are_those_of_a_poisson_stream():
    array = system(ParityGroups(5, 1, 1, UNIT), schedule=SATF())
    ours = simulate(rebuild_scenario(array, USERS, rate=50.0, requests=3000, seed=7), requests=2000, seed=7)
    theirs = simulate(Scenario(array, PoissonArrivals(USERS, 50.0)), requests=2000, seed=7)
    assert float(ours.response) == pytest.approx(float(theirs.response), rel=1e-3)
    assert float(ours.utilization[1]) == pytest.approx(float(theirs.utilization[1]), rel=1e-3)


def test_a_rebuild_slows_users_and_too_fast_a_rebuild_does_not_keep_its_rate(monkeypatch):
    """The additional drive writes 43 MB/s at most, without positioning."""
    # requests also wait with more slots
    monkeypatch.setattr(provisioning, "MOST", provisioning.FEWEST)
    array = system(ParityGroups(6, 2, 1, UNIT))
    given = {"rate": 40.0, "requests": 2000, "seed": 5}
    alone, slow = (measured(rebuild_scenario(array, USERS, rebuild_rate=rate, **given)) for rate in (None, 2e5))
    assert float(alone.stream_throughput[1]) == 0
    assert float(slow.response) > 1.05 * float(alone.response)
    fast = rebuild_scenario(array, USERS, rate=40.0, rebuild_rate=1e8, chunk=8 * UNIT * SECTOR, requests=200)
    seen = simulate(fast, requests=fast.arrivals.total // 4, warm_up=0, allow_blocked=True, measures=by_stream(2))
    assert 1e6 < float(seen.stream_throughput[1]) < 43e6
    assert float(seen.blocked) > 0


def test_a_rebuild_of_large_drives_has_long_addresses():
    """The array has 8 TB, so that its addresses need 64 bits."""
    array = system(ParityGroups(6, 2, 1, UNIT), drive=LARGE)
    assert array.long_addresses
    scenario = rebuild_scenario(array, USERS, rate=40.0, rebuild_rate=1e5, requests=1500)
    assert scenario.arrivals.requests.sector.dtype == np.int64
    seen = measured(scenario)
    assert float(seen.stream_throughput[1]) == pytest.approx(1e5, rel=0.02)
    assert float(seen.utilization[0]) == 0 and float(seen.utilization[6]) > 0


def test_impossible_rebuilds_raise():
    groups = system(ParityGroups(6, 2, 1, UNIT))
    middle = ideal_drive(full_seek=8e-3, revolution=6e-3, cylinders=4_500, sectors_per_track=100_000)
    for build, message in (
        (lambda: rebuild_scenario(System(DRIVE, Replicas(2), Broadcast(), FCFS()), USERS, rate=1.0), "Replicas"),
        (lambda: rebuild_scenario(groups, USERS, rate=1.0, rebuild_rate=1e4, chunk=1000), "chunk 1000"),
        (
            lambda: rebuild_scenario(
                system(DeclusteredParity(7, 5, 2, UNIT, slice_sectors=UNIT)),
                USERS,
                rate=1.0,
                rebuild_rate=1e4,
                chunk=2 * UNIT * SECTOR,
            ),
            "the 8192 bytes of a slice, or a divisor",
        ),
        (lambda: rebuild_scenario(groups, USERS, rate=1.0, rebuild_rate=1e4, chunk=1e9), "chunk 1953125 sectors"),
        (
            lambda: rebuild_scenario(
                system(ParityGroups(6, 2, 1, UNIT), drive=middle), USERS, rate=1.0, rebuild_rate=1e4
            ),
            "more than 32 bits",
        ),
        (
            lambda: rebuild_scenario(system(ParityGroups(6, 2, 1, UNIT), np.array([0, 1])), USERS, rate=1.0),
            "several settings",
        ),
    ):
        assert_refused(build, message)
