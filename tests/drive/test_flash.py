"""Flash memory: the times of its requests by hand, alone and in a system."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import assert_refused, slow_but
from ssd_simulation import closed_loop

import storagekit as sk
from storagekit.drive import Arm, Flash
from storagekit.engine.run import int64_enabled
from storagekit.write import Claimed

# 16 KB pages, two at a time; 1 us per sector to the host; 0.01 + 0.05 ms per read page; a written page 2 x (0.4 + 0.1)
# + 0.05 ms
FLASH = Flash(
    rate=1e6, read_page=50e-6, program_page=400e-6, erase_block=6.4e-3, overhead=10e-6, amplification=2.0,
    page=32, channels=2, block=64,
)  # fmt: skip


def takes(sector: int, count: int, read: bool, drive=FLASH) -> float:
    """The time of an access in microseconds."""
    location, size = jnp.array([sector]), jnp.array([count])
    target, mechanics = drive.locate(location, size), drive.mechanics_of(jnp.array([0]))
    way = mechanics.positioning(Arm(location * 0, location * 0), jnp.zeros(1), target, jnp.array([read]))
    return float((way.total + mechanics.transfer(target))[0]) * 1e6


@pytest.mark.parametrize(
    ("sector", "count", "read", "expected"),
    [
        (0, 8, True, 10 + 50 + 8),
        # two pages in parallel, with one needed sector in each; three or four pages take two steps
        (31, 2, True, 10 + 50 + 2),
        (0, 65, True, 10 + 100 + 65),
        (0, 128, True, 10 + 100 + 128),
        (0, 8, False, 10 + 1050 + 8),
        (0, 128, False, 10 + 2100 + 128),
    ],
)
def test_as_many_pages_at_a_time_as_channels(sector, count, read, expected):
    assert takes(sector, count, read) == pytest.approx(expected, rel=1e-5)


def test_at_half_the_speed_everything_takes_twice_as_long():
    half = FLASH.at_speed(jnp.float32(0.5), jnp.float32(0.5))
    location, size = jnp.array([0]), jnp.array([128])
    target = FLASH.locate(location, size)
    way = half.positioning(Arm(location * 0, location * 0), jnp.zeros(1), target, jnp.array([False]))
    assert float((way.total + half.transfer(target))[0]) * 1e6 == pytest.approx(2 * takes(0, 128, False), rel=1e-5)


def test_it_serves_a_closed_loop_at_its_service_rate():
    """4 KB requests at random, four fifths reads: 68 us and 1,068 us. The mean over 20,000 requests is within four
    standard errors."""
    system = sk.System(FLASH, sk.placement.Replicas(1), sk.dispatch.Hashing(), sk.schedule.FCFS())
    requests = sk.workload.RandomRequests(sk.workload.FixedSize(4096), read_share=0.8)
    found = sk.simulate(sk.Scenario(system, sk.workload.ClosedLoop(requests, outstanding=1)), requests=20_000)
    mean, spread = 0.8 * 68e-6 + 0.2 * 1068e-6, 0.4 * 1000e-6
    assert float(1 / found.throughput) == pytest.approx(mean, abs=4 * spread / np.sqrt(20_000))


def test_flash_of_20_tb_serves_a_closed_loop_at_its_service_rate():
    """Reads of 4 KB take 68 us, wherever they are; the address of the last one has more than 32 bits."""
    large = Flash(FLASH.rate, 50e-6, 400e-6, 6.4e-3, overhead=10e-6, channels=2, capacity=39_062_500_000)
    system = sk.System(large, sk.placement.Replicas(1), sk.dispatch.Hashing(), sk.schedule.FCFS())
    assert system.long_addresses
    requests = sk.workload.RandomRequests(sk.workload.FixedSize(4096), read_share=1.0)
    found = sk.simulate(sk.Scenario(system, sk.workload.ClosedLoop(requests, outstanding=1)), requests=1000)
    assert float(1 / found.throughput) == pytest.approx(68e-6, rel=1e-4)
    with int64_enabled(True):
        # the last 33, 65 and 97 sectors are in the last 2, 3 and 4 of the pages of 32 sectors; two pages take one step
        count = jnp.array([33, 65, 97])
        there = large.locate(large.capacity - count, count)
    assert there.head.tolist() == [1, 2, 2]
    assert {leaf.dtype.itemsize for leaf in jax.tree.leaves(there)} == {4}


# 16 KB pages, eight channels; a read of one page takes 0.02 + 0.05 ms, and 1 us for each sector
SSD = Flash(1e6, 50e-6, 400e-6, 6.4e-3, overhead=20e-6, page=32, channels=8, block=64, capacity=2**24)


def reads_a_second(
    drive: Flash, layout, outstanding: int, sectors: int = 8, requests_of_run: int = 20_000, **more
) -> float:
    """The rate of reads in a closed loop, of all drives together."""
    system = sk.System(drive, layout, sk.dispatch.Hashing(), sk.schedule.FCFS(), slots=32, **more)
    requests = sk.workload.RandomRequests(sk.workload.FixedSize(sectors * 512), 1.0, alignment=sectors)
    loop = sk.workload.ClosedLoop(requests, outstanding=outstanding)
    return float(sk.simulate(sk.Scenario(system, loop), requests=requests_of_run).request_rate)


@pytest.mark.parametrize(("groups", "sectors"), slow_but([(4, 64)], [(8, 8), (4, 64)]))
def test_groups_of_channels_serve_different_requests_at_the_same_time(groups, sectors):
    """A group accesses a request within a stripe unit in one step. An independent program has a queue for each group.

    With 1, 8 and 32 outstanding requests, both have the same rate within four standard errors.
    """
    layout = sk.placement.Bricks(sk.placement.Replicas(1), groups, unit=32 * 8 // groups)
    one, seconds = SSD.channel_group(groups), 70e-6 + sectors * 1e-6
    assert (one.channels, one.capacity) == (8 // groups, 2**24 // groups)
    rates = []
    for outstanding in (1, 8, 32):
        rate = reads_a_second(one, layout, outstanding, sectors)
        ends, _ = closed_loop(seconds, seconds, groups, outstanding, 20_000, 1, constant=True)
        blocks = 1000 / np.diff(np.sort(ends)[::1000])
        error = blocks.std() / np.sqrt(blocks.size)
        assert rate == pytest.approx(blocks.mean(), abs=4 * np.sqrt(2) * error + 2e-4 * rate)
        rates.append(rate * seconds)
    # one outstanding request uses one group; 32 requests keep all groups busy for most of the time
    assert rates[0] == pytest.approx(1, rel=1e-3) and 0.85 * groups < rates[2] < groups


def test_a_long_request_occupies_one_group_of_a_brick_or_is_divided_among_the_groups_of_a_single_ssd():
    """A read of four pages takes four steps on one channel, 20 + 4 x 50 + 128 us, or one step on each of four channels."""
    one = SSD.channel_group(8)
    layouts = sk.placement.Bricks(sk.placement.Replicas(1), 8, unit=32), sk.placement.Striped(8, 32)
    for layout, seconds in zip(layouts, (348e-6, 102e-6), strict=True):
        assert reads_a_second(one, layout, 1, sectors=128, requests_of_run=2000) == pytest.approx(1 / seconds, rel=1e-3)


def test_without_groups_requests_are_served_one_after_the_other():
    layout = sk.placement.Replicas(1)
    for outstanding in (1, 8):
        assert reads_a_second(SSD, layout, outstanding) == pytest.approx(1 / 78e-6, rel=1e-3)


def test_copies_that_a_free_channel_may_serve_are_a_queue_with_several_servers():
    """Eight channels with one queue, from which a free channel takes the next request, serve min(N, 8) requests at a time."""
    layout, one = sk.placement.Replicas(8), SSD.channel_group(8)
    system = [sk.System(one, layout, sk.dispatch.Broadcast(), sk.schedule.FCFS(), Claimed(), slots=16)] * 3
    requests = sk.workload.RandomRequests(sk.workload.FixedSize(4096), 1.0)
    for its, outstanding in zip(system, (1, 6, 12), strict=True):
        loop = sk.workload.ClosedLoop(requests, outstanding=outstanding)
        rate = float(sk.simulate(sk.Scenario(its, loop), requests=5000).request_rate)
        assert rate == pytest.approx(min(outstanding, 8) / 78e-6, rel=2e-3)


@pytest.mark.parametrize("groups", [1, 4])
def test_an_array_of_ssds_with_groups_reads_before_it_writes_parity(groups):
    """A small write on RAID 5 reads the old data and parity at the same time, and then writes both: 78 us and 528 us."""
    layout = sk.placement.Bricks(sk.placement.RAID5(4, 32), groups, unit=32)
    system = sk.System(SSD.channel_group(groups), layout, sk.dispatch.Hashing(), sk.schedule.FCFS(), slots=4)
    writes = sk.workload.RandomRequests(sk.workload.FixedSize(4096), read_share=0.0)
    seen = sk.simulate(sk.Scenario(system, sk.workload.ClosedLoop(writes, outstanding=1)), requests=500)
    written = 20e-6 + (400e-6 + 6.4e-3 / 64) + 8e-6
    assert float(seen.response) == pytest.approx(78e-6 + written, rel=1e-3)
    assert float(seen.utilization.sum()) == pytest.approx(2, rel=1e-2)


@pytest.mark.parametrize(
    ("groups", "message"),
    [(3, "groups 3: it must be a divisor of 8, the number of channels"), (0, "groups 0: give a whole number")],
)
def test_impossible_groups_are_rejected(groups, message):
    assert_refused(lambda: SSD.channel_group(groups), message)


@pytest.mark.parametrize(
    ("figures", "message"),
    [
        ({"rate": 0.0}, "rate 0 sectors a second: it must be above 0"),
        ({"read_page": -1e-6}, "read_page -1e-06 s: it must be 0 or more"),
        ({"channels": 0}, "channels 0: give a whole number"),
        ({"amplification": 0.5}, "amplification above 1 -0.5: it must be 0 or more"),
    ],
)
def test_impossible_figures_are_rejected(figures, message):
    valid = {"rate": 1e6, "read_page": 50e-6, "program_page": 400e-6, "erase_block": 5e-3}
    assert_refused(lambda: Flash(**(valid | figures)), message)
