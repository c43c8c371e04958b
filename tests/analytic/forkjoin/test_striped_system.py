"""Locations of blocks, utilization of the components, and rejected settings."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from storagekit.analytic.forkjoin import Disk, Host, Network, Simulation, StripedSystem, Striping
from storagekit.analytic.forkjoin.random_requests import draw, work
from storagekit.core.errors import InputError
from storagekit.core.units import KB, MB, MS
from storagekit.drive import ideal_drive, load_drive

M2372K = Disk(16 * MS, 8.3 * MS, 2.5e6)
RING = Network(125e6)
FLASH = Disk(0.0, 0.0, 1e15)
PLAIN = StripedSystem(M2372K, Striping(MB, 32 * KB, 32), RING)


@given(
    disks=st.integers(1, 40), blocks=st.integers(1, 80), selector=st.floats(0, 1, exclude_max=True), read=st.booleans()
)
def test_without_check_data_every_block_is_on_one_disk(disks, blocks, selector, read):
    striping = Striping(blocks * KB, KB, disks)
    accessed = striping.accessed_disks(np.array(read), np.array(selector))
    assert accessed.shape == (striping.rows, disks) and accessed.sum() == blocks
    each = accessed.sum(axis=0)
    assert each.max() - each.min() <= 1


@given(
    groups=st.integers(1, 5),
    members=st.integers(2, 8),
    rows=st.integers(1, 6),
    selector=st.floats(0, 1, exclude_max=True),
    data=st.data(),
)
def test_every_group_of_a_row_has_one_block_of_check_data(groups, members, rows, selector, data):
    failed = data.draw(st.integers(0, groups))
    striping = Striping(groups * (members - 1) * rows * KB, KB, groups * members, groups, failed)
    assert striping.rows == rows and striping.members == members
    read, write = (striping.accessed_disks(np.array(is_read), np.array(selector)) for is_read in (True, False))
    by_group = read.reshape(rows, groups, members).sum(-1)
    # with all disks: the data; without one: all remaining blocks, the same number
    assert np.all(by_group == members - 1)
    assert not read[:, striping.down].any() and not write[:, striping.down].any()
    assert write.sum() == rows * (groups * members - failed)
    assert striping.accesses(0.0) == read.sum() and striping.accesses(1.0) == write.sum()


def test_a_request_by_hand():
    """Requests of 1 MB in 32 KB units on 32 disks, 22 per second, one in five a write. A disk is busy for 22 x 37.4 ms
    per second.

    The ring carries 32 blocks and the control packets. The client processes 32 blocks at 34,268 instructions each, and
    each agent a 32nd of that.
    """
    busy = PLAIN.utilization(22.0)
    assert busy["disk"] == pytest.approx(22 * (0.0243 + 32768 / 2.5e6))
    assert busy["network"] == pytest.approx(22 * (32 * 32768 + 0.8 * 64 + 0.2 * 32 * 64) / 125e6)
    packets = 32 * (1500 + 32768) + 0.8 * (1500 + 64) + 0.2 * 32 * (1500 + 64)
    assert busy["client processor"] == pytest.approx(22 * packets / 100e6)
    assert busy["agent processor"] == pytest.approx(22 * (32 * 34268 + 32 * 1564) / 100e6 / 32)
    assert PLAIN.saturation() == (pytest.approx(1 / (0.0243 + 32768 / 2.5e6)), "disk")


def test_more_rings_are_less_busy_and_the_bottleneck_moves():
    two = StripedSystem(M2372K, PLAIN.striping, Network(125e6, rings=2))
    assert two.utilization(10.0)["network"] == pytest.approx(PLAIN.utilization(10.0)["network"] / 2)
    thin = StripedSystem(M2372K, PLAIN.striping, Network(10e6))
    assert thin.saturation()[1] == "network"
    flash = Disk(0.0, 0.0, 1e12)
    assert StripedSystem(flash, PLAIN.striping, Network(1e12)).saturation()[1] == "client processor"
    switch = StripedSystem(flash, PLAIN.striping, Network(1e6, switched=True), write_share=0.0)
    assert switch.saturation()[1] == "client link" and switch.utilization(1.0)["agent link"] == pytest.approx(
        MB / 32 / 1e6
    )


def test_with_a_processor_for_each_direction_the_busier_one_counts():
    """For a read, the client receives 32 packets and sends one."""
    both = StripedSystem(M2372K, PLAIN.striping, RING, client=Host(duplex=True), write_share=0.0)
    assert both.demands()["client processor"] == pytest.approx(32 * 34268 / 100e6)


def test_a_read_alone_agrees_with_the_formula():
    taken = Simulation([StripedSystem(M2372K, PLAIN.striping, RING, write_share=0.0)], list(range(8)), 4_000)
    alone = taken.completion(np.array([[1e-3]]))[0, 0]
    assert abs(alone.mean() - PLAIN.idle_time()) < 4 * alone.std(ddof=1) / np.sqrt(8) + 1e-4


def test_check_data_costs_the_disks_and_the_client():
    with_check = StripedSystem(M2372K, Striping(MB, MB / 28, 32, groups=4), RING, write_share=1.0)
    without = StripedSystem(M2372K, Striping(MB, MB / 32, 32), RING, write_share=1.0)
    more, less = with_check.demands(), without.demands()
    # equally many, larger blocks, and one instruction for each byte of data
    assert more["disk"] == pytest.approx(float(M2372K.mean(MB / 28))) and less["disk"] == pytest.approx(
        float(M2372K.mean(MB / 32))
    )
    copies = (32 * 1500 + 32 / 28 * MB) / 100e6 + 32 * 1564 / 100e6
    assert more["client processor"] == pytest.approx(copies + MB / 100e6)
    free = StripedSystem(M2372K, with_check.striping, RING, client=Host(per_check_byte=0.0), write_share=1.0)
    assert more["client processor"] - free.demands()["client processor"] == pytest.approx(MB / 100e6)


def test_without_a_disk_reads_use_the_others():
    whole = StripedSystem(M2372K, Striping(MB, MB / 28, 32, groups=4), RING, write_share=0.0)
    degraded = StripedSystem(M2372K, Striping(MB, MB / 28, 32, groups=4, failed=4), RING, write_share=0.0)
    assert degraded.demands()["disk"] == pytest.approx(whole.demands()["disk"] * 32 / 28)
    assert degraded.demands()["client processor"] > whole.demands()["client processor"]


def test_a_disk_like_a_drive():
    """A linear seek S has the mean S/3. The track has 100 sectors in 6 ms, and track switches cost nothing."""
    drive = ideal_drive(full_seek=9 * MS, revolution=6 * MS, cylinders=3_000, sectors_per_track=100)
    like = Disk.like(drive)
    assert like.seek == pytest.approx(3 * MS, rel=1e-3) and like.rotation == pytest.approx(3 * MS)
    assert like.rate == pytest.approx(100 * 512 / (6 * MS), rel=0.01)
    atlas = Disk.like(load_drive("atlas10k"))
    assert 4 * MS < atlas.seek < 7 * MS and 15e6 < atlas.rate < 25e6
    # addresses need more than 32 bits
    nearline = Disk.like(load_drive("rpm=7200,seek=1/8.5/18ms,rate=250MB/s,size=18TB"))
    assert nearline.seek == pytest.approx(8.5 * MS, rel=1e-3) and 150e6 < nearline.rate < 250e6


@pytest.mark.parametrize(
    "build, message",
    [
        (
            lambda: Striping(MB, 3000, 4),
            "unit of 3000 bytes: it must be the request of 1048576 bytes divided by",
        ),
        (lambda: Striping(MB, 32 * KB, 0), "disks 0: give a whole number, between 1 and 1000000"),
        (lambda: Striping(MB, 32 * KB, 32, groups=3), "a divisor"),
        (lambda: Striping(MB, 32 * KB, 32, groups=32), "at least 2 disks in each group"),
        (lambda: Striping(MB, 32 * KB, 32, groups=4), "a divisor of the 32 blocks"),
        (lambda: Striping(MB, 32 * KB, 32, failed=1), "failed disks 1"),
        (lambda: Striping(float("inf"), 1, 1), "above 0"),
        (lambda: Striping(32, 1, 2.5), "disks 2.5: give a whole number"),
        (lambda: StripedSystem(M2372K, PLAIN.striping, RING, control=float("inf")), "control packet"),
        (lambda: Simulation([], [1], 10), "systems 0"),
        (lambda: Disk(-1.0, 0.0, 1.0), "seek -1 s: it must be 0 or more"),
        (lambda: Disk(1.0, 0.0, 0.0), "rate 0 bytes a second: it must be above 0"),
        (lambda: Host(0.0), "host speed"),
        (lambda: Network(0.0), "network rate"),
        (lambda: Network(1.0, rings=0), "rings 0"),
        (lambda: StripedSystem(M2372K, PLAIN.striping, RING, write_share=1.5), "write share 1.5"),
        (lambda: Simulation([PLAIN], [1, 1], 10), "seeds"),
        (lambda: Simulation([PLAIN], [1], 0), "requests 0"),
    ],
)
def test_impossible_systems_are_rejected(build, message):
    with pytest.raises(InputError, match=message):
        build()


@pytest.mark.parametrize("failed, write_share", [(0, 0.2), (1, 0.0), (1, 0.2), (4, 1.0)])
def test_the_busiest_disk_decides(failed, write_share):
    """The disk's demand is that of the busiest disk, checked with random requests."""
    striping = Striping(MB, MB / 28, 32, groups=4, failed=failed)
    system = StripedSystem(M2372K, striping, RING, write_share=write_share)
    seconds = work(M2372K, striping, draw([3], 20_000, 32), write_share).seconds[:, 0]
    busiest = seconds.mean(axis=0).max()
    assert system.demands()["disk"] == pytest.approx(busiest, rel=0.015)


def test_a_second_ring_carries_other_packets_and_none_faster():
    slow = [StripedSystem(FLASH, PLAIN.striping, Network(1e6, rings=rings), write_share=0.0) for rings in (1, 4)]
    assert slow[0].idle_time() == pytest.approx(slow[1].idle_time())
    assert slow[0].demands()["network"] == pytest.approx(4 * slow[1].demands()["network"])


@pytest.mark.parametrize("switched", [False, True])
@pytest.mark.parametrize("rate", [125e6, 1e6])
def test_a_block_alone_takes_the_time_of_its_path(switched, rate):
    """Without disk time, only both processors and the network count, once for the request and once for the block."""
    one = StripedSystem(FLASH, Striping(32 * KB, 32 * KB, 1), Network(rate, switched=switched), write_share=0.0)
    host, packet = Host(), Network(rate)
    way = sum(2 * host.seconds(size) + packet.seconds(size) for size in (64, 32 * KB))
    assert Simulation([one], [0], 50).completion(np.array([[1e-3]])).mean() == pytest.approx(way, rel=1e-4)


def test_from_saturation_on_the_completion_time_is_infinite():
    limit = PLAIN.saturation()[0]
    taken = Simulation([PLAIN], [0], 200).completion(np.array([[0.9 * limit, limit, 3 * limit]]))[0, :, 0]
    assert np.isfinite(taken[0]) and np.isinf(taken[1:]).all()
