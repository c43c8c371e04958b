"""Test systems whose addresses need 64 bits: same response times as with 32 bits, and requests at the right locations."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import slow_but
from hypothesis import given, settings
from hypothesis import strategies as st

from storagekit.cache import LRU, BrickLRU
from storagekit.core.errors import InputError
from storagekit.core.resources import data_path
from storagekit.core.units import KB, MS, SECTOR
from storagekit.dispatch import ARS, DSPTF, Hashing, NearestIdle
from storagekit.drive import Drive, Mixed, load_drive
from storagekit.engine import Scenario, System, system
from storagekit.engine.run import int64_enabled
from storagekit.placement import (
    RAID5,
    Coded,
    Declustered,
    Node,
    ParityGroups,
    Replicas,
    Segments,
    SRMirror,
    Striped,
    Volume,
)
from storagekit.schedule import FCFS, SATF
from storagekit.simulation import replay, simulate
from storagekit.workload import ClosedLoop, FixedSize, RandomRequests, Threads
from storagekit.workload.randomness import anywhere, below
from storagekit.workload.trace import read, request_trace
from storagekit.write import Background, FirstCopy

ATLAS = load_drive("atlas10k")
NEARLINE = Drive.from_datasheet(
    rpm=7200,
    track_seek=1 * MS,
    average_seek=8.5 * MS,
    full_seek=17 * MS,
    capacity=20e12,
    outer_rate=285e6,
    inner_rate=130e6,
    heads=20,
    sector_bytes=4096,
)
REQUESTS = RandomRequests(FixedSize(4 * KB), 0.7)
CACHE = BrickLRU.sized(1e6, bricks=8)


def delayed(drive: Drive) -> System:
    return System(drive, SRMirror(2, 2, 2), NearestIdle(), SATF(), Background(8, most=64), slots=16)


def on_nodes(drive: Drive) -> System:
    """Copies and fragments that are spread over nodes of unequal drives, one of them a RAID 5."""
    segment, nodes = drive.capacity // 2**12 * 128, (Node(2), Node(3, raid5=True), Node(2, serial=True), Node(1))
    copies, coded = Volume(16 * segment, segment, 2), Volume(17 * segment, segment, 3, 2)
    return System(drive, Segments(nodes, [copies, coded], spread=True), ARS(), SATF(), slots=32)


SYSTEMS = {
    "mirrors, delayed writes": delayed,
    "RAID 5": lambda drive: System(drive, RAID5(4), Hashing(), SATF(), slots=16),
    "stripes, one cache": lambda drive: System(drive, Striped(3), Hashing(), SATF(), cache=LRU(1e6, sets=8), slots=16),
    "declustered, caches in bricks": lambda drive: System(
        drive, Declustered(8, 2), Hashing(), SATF(), cache=CACHE, slots=16
    ),
    "segments on nodes": on_nodes,
    "copies, D-SPTF": lambda drive: System(drive, Replicas(3), DSPTF(1e-4), SATF(), FirstCopy(), slots=32),
}


@pytest.mark.parametrize("name", slow_but({"copies, D-SPTF"}, SYSTEMS))
def test_64_bits_give_the_response_times_of_32_bits(name, monkeypatch):
    """Replay the same trace on the same drives, once as if they were too large for 32 bits; response times are equal."""
    trace = read(data_path("samples", "small.spc")).take(np.arange(400))
    narrow = replay(trace, SYSTEMS[name](ATLAS), scale=0.5)
    monkeypatch.setattr(system, "MOST_NARROW", 1)
    assert SYSTEMS[name](ATLAS).long_addresses
    wide = replay(trace, SYSTEMS[name](ATLAS), scale=0.5)
    np.testing.assert_allclose(wide.response_time, narrow.response_time, rtol=1e-5)
    assert float(wide.throughput) == pytest.approx(float(narrow.throughput), rel=1e-6)


@pytest.mark.parametrize("name", slow_but({"mirrors, delayed writes", "declustered, caches in bricks"}, SYSTEMS))
def test_a_system_of_large_drives_runs(name):
    """Every component that stores addresses stores 64 bits.

    Seeks spread over drives with an average seek of 8.5 ms; mirrored and replicated data take about half of it.
    """
    its = SYSTEMS[name](NEARLINE)
    assert its.long_addresses
    seen = simulate(Scenario(its, ClosedLoop(REQUESTS, 4)), requests=1000)
    assert 3.5 * MS < float(seen.seek) < 10 * MS


def test_clients_use_the_whole_of_large_drives():
    its = System(NEARLINE, Replicas(2), ARS(), SATF(), slots=16)
    seen = simulate(Scenario(its, Threads(REQUESTS, threads=4, think=0.01)), requests=1000)
    assert 6 * MS < float(seen.seek) < 9.5 * MS


def test_a_request_at_the_end_of_a_large_drive_seeks_there():
    """Two requests arrive far apart in time.

    The first lies under the arm, the second on the last cylinder: one full stroke for two.
    """
    end = NEARLINE.capacity * SECTOR - 4 * KB
    trace = request_trace([0.0, 9.0], [0, 0], [0, end - 4 * KB], [4 * KB, 4 * KB], [True, True])
    seen = replay(trace, System(NEARLINE, Replicas(1), Hashing(), FCFS()))
    assert float(seen.seek) == pytest.approx(17 * MS / 2, rel=1e-4)


def test_a_thousand_large_drives():
    """One layout of 20 PB has 3.9e13 sectors, and requests reach every drive."""
    its = System(NEARLINE, Declustered(1000, 2), Hashing(), FCFS(), slots=64)
    assert int(its.placement.capacity(its.drive)) > 1.9e13
    seen = simulate(Scenario(its, ClosedLoop(REQUESTS, 64)), requests=3000)
    assert float((seen.utilization > 0).mean()) > 0.8
    assert 7 * MS < float(seen.seek) < 9.5 * MS


def small(data: int) -> Declustered:
    """Return a layout that spreads little data over all of the drives."""
    return Declustered(4, 2, data)


@pytest.mark.parametrize("layout", [small(2**21), SRMirror(2, data=0.001)], ids=lambda layout: type(layout).__name__)
def test_little_data_on_large_drives_lies_at_the_right_locations(layout):
    """A system of less than 1 TB has locations on its drives that need 64 bits.

    Data spread over the whole drives needs seeks over them. Data in their first thousandths needs short seeks.
    """
    its = System(NEARLINE, layout, Hashing(), FCFS(), slots=8)
    assert int(np.asarray(layout.capacity(NEARLINE))) < 2**31 and its.long_addresses
    seen = simulate(Scenario(its, ClosedLoop(REQUESTS, 1)), requests=1000)
    if isinstance(layout, SRMirror):
        assert 1 * MS < float(seen.seek) < 2 * MS
    else:
        assert 7 * MS < float(seen.seek) < 9.5 * MS


def test_large_drives_together_with_small_ones():
    """Put an Atlas 10K and a drive of 20 TB in one system.

    Requests use the smaller drive's capacity on both. On the larger drive it fits into a thousandth of the cylinders.
    """
    both = Mixed((ATLAS, NEARLINE), [0, 1])
    its = System(both, Replicas(2), Hashing(), FCFS(), slots=8)
    assert its.long_addresses
    seen = simulate(Scenario(its, ClosedLoop(REQUESTS, 4)), requests=2000)
    atlas, nearline = np.asarray(seen.utilization) / np.asarray(seen.brick_throughput)
    # A 4 KB access takes an Atlas 8.73 ms on average (DiskSim 4.0), and a write 0.49 ms more; half a turn of the other
    # drive takes 4.17 ms.
    assert 8.5 * MS < atlas < 9.2 * MS and 5 * MS < nearline < 6.5 * MS


def test_a_capacity_beyond_all_addresses_raises():
    with pytest.raises(InputError, match=r"a capacity of \d+ sectors: give 1 to 4503599627370495"):
        System(NEARLINE, Declustered(1_000_000, 2), Hashing(), FCFS())


LAYOUTS = [Replicas(2), SRMirror(4, 2, 1), Striped(5), RAID5(5), ParityGroups(6, 2, 2), Declustered(10, 2), Coded(4, 6)]


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: type(layout).__name__)
def test_capacities_are_the_same_compiled(layout):
    """Capacities agree on the host, where integers always have 64 bits, and inside the compiled engine."""
    host = int(layout.capacity(NEARLINE))
    assert host > 2**32
    with int64_enabled(True):
        assert int(jax.jit(lambda its: its.capacity(NEARLINE))(layout)) == host


WORDS = st.integers(0, 2**32 - 1)


@settings(max_examples=100, derandomize=True)
@given(word=WORDS, finer=WORDS, limit=st.integers(1, 2**52 - 1))
def test_a_random_location_is_below_its_limit_and_in_proportion_to_its_word(word, finer, limit):
    with int64_enabled(True):
        position = int(anywhere(jnp.uint32(word), jnp.uint32(finer), jnp.asarray(limit, int)))
    exact = (word * 2**32 + finer) * limit // 2**64
    assert 0 <= position < limit
    # The function uses 53 bits of the words.
    assert abs(position - exact) <= 1 + limit // 2**50


@settings(max_examples=100, derandomize=True)
@given(word=WORDS, finer=WORDS, limit=st.integers(1, 2**31 - 1))
def test_both_functions_find_the_same_of_few_locations(word, finer, limit):
    """The two may differ by one, because the second word may carry over."""
    narrow = int(below(jnp.uint32(word), jnp.int32(limit)))
    assert int(anywhere(jnp.uint32(word), jnp.uint32(finer), jnp.int32(limit))) == narrow
    with int64_enabled(True):
        assert 0 <= int(anywhere(jnp.uint32(word), jnp.uint32(finer), jnp.asarray(limit, int))) - narrow <= 1


def test_random_addresses_vary_over_the_range_and_in_the_lowest_bits():
    """Check means of 20,000 locations within four standard errors: of the location, and of its remainder modulo 1,000."""
    count, positions = 20_000, NEARLINE.capacity // 8
    key = np.array([[3], [7]], np.uint32)
    with int64_enabled(True):
        drawn = REQUESTS.draw(NEARLINE.capacity, jnp.asarray(key), jnp.zeros((1, 1), jnp.int32), count)
        position = np.asarray(drawn.sector).ravel() // 8
    for value, most in ((position, positions), (position % 1000, 1000)):
        assert abs(value.mean() / most - 0.5) < 4 / np.sqrt(12 * count)
    assert position.max() < positions and len(np.unique(position)) > count - 5
