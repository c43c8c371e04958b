"""Test drives with a buffer in a system.

The tests compare with the scalar program and with timelines worked by hand, and check rejected systems.
"""

import numpy as np
import pytest
from agreement.buffered_drive import BufferedDrive
from helpers import assert_refused, responses, slow_but

import storagekit as sk
from storagekit.core.units import MS
from storagekit.drive import drive_names, known_controller, load_buffered, load_drive
from storagekit.drive.buffer import Faster
from storagekit.engine import Scenario, System
from storagekit.faults import FaultSchedule
from storagekit.faults.schedule import Slowdown
from storagekit.placement import Replicas
from storagekit.schedule import FCFS, SATF

KNOWN = [name for name in drive_names() if known_controller(name)]
# Limits in sectors for drives that read the tail of a request first. Longer requests mostly span two tracks, where the
# drive does not read in this order.
ONE_TRACK = {"dec_rz26": 8, "atlas10k": 16}


def drawn_requests(name: str, seed: int, count: int = 60):
    """Return arrival times, first sectors, lengths and read flags of random requests.

    The requests are sequential, near an earlier one, or far away. Some arrive before the request before them completes.
    """
    random, capacity = np.random.default_rng(seed), load_drive(name).capacity
    sectors = random.integers(1, ONE_TRACK.get(name, 64) + 1, count)
    first, kind = random.integers(0, capacity - 1000, count), random.random(count)
    for at in range(1, count):
        if kind[at] < 0.4:
            first[at] = first[at - 1] + sectors[at - 1]
        elif kind[at] < 0.6:
            first[at] = first[random.integers(max(at - 6, 0), at)] + random.integers(0, 5)
    first = np.clip(first, 0, capacity - 500)
    gaps = random.exponential(15 * MS, count).astype(np.float32).astype(float)
    return np.cumsum(gaps) - gaps[0], first, sectors, random.random(count) < 0.7


# by default a drive that is faster than its bus, a slower one, and one more; with -m slow the others
@pytest.mark.parametrize("name", slow_but({"cheetah9lp"}, KNOWN))
def test_first_come_first_served_agrees_with_the_scalar_program(unfold, recorded, name):
    """Each response time agrees with the scalar program to 20 us; a request starts when the one before it completes."""
    times, first, sectors, read = drawn_requests(name, 0)
    alone, free, expected = BufferedDrive(name), 0.0, {}
    for number, at in enumerate(times):
        begins = max(at, free)
        free = alone.serve(begins, bool(read[number]), int(first[number]), int(sectors[number]))
        expected[number] = (free - at) / MS
    arrivals = recorded(times, sector=first, sectors=sectors, read=read)
    system = System(load_buffered(name), Replicas(1), sk.dispatch.Hashing(), FCFS(), drives=1, slots=64)
    _, reports = unfold(Scenario(system, arrivals), phase=[0.0])
    assert responses(reports) == pytest.approx(expected, abs=0.02)


def test_a_scheduler_sees_the_content_of_the_buffer(unfold, recorded):
    """Test an Atlas 10K with its platter at 0 and its arm on cylinder 0.

    At 0 the drive reads sector 0 and reads on. From 30 ms on it serves a read that is far away. Meanwhile two requests
    arrive. One lies on the track next to the far read. The other has been in the buffer since the first read.

    SATF serves the buffered one first, FCFS second. It takes 0.184 ms and 8 sectors of 0.099 ms on the bus.
    """
    far = 9_000_000
    arrivals = recorded([0, 30 * MS, 31 * MS, 31.5 * MS], sector=[0, far, far + 2000, 8], sectors=[8, 8, 8, 8])
    found = {}
    for schedule in (FCFS(), SATF()):
        system = System(load_buffered("atlas10k"), Replicas(1), sk.dispatch.Hashing(), schedule, drives=1, slots=8)
        _, reports = unfold(Scenario(system, arrivals), phase=[0.0])
        ended = responses(reports)
        found[type(schedule)] = {
            number: at + ended[number] for number, at in zip(range(4), (0, 30, 31, 31.5), strict=True)
        }
    hit = 0.184 + 8 * 0.099
    assert found[SATF][3] - found[SATF][1] == pytest.approx(hit, abs=2e-3)
    assert found[FCFS][3] - found[FCFS][2] == pytest.approx(hit, abs=2e-3)
    assert found[SATF][2] > found[SATF][3]


def test_every_drive_has_a_separate_buffer(unfold, recorded):
    """With two bricks, data that the first one has read ahead is a hit there.

    The other is idle until 60 ms and reads from the platter.
    """
    system = System(load_buffered("atlas10k"), Replicas(2), sk.dispatch.Hashing(), FCFS(), drives=2, slots=8)
    arrivals = recorded([0, 30 * MS, 60 * MS], sector=[0, 8, 200], sectors=8, address_hash=[0, 0, 1])
    _, reports = unfold(Scenario(system, arrivals), phase=[0.0, 0.0])
    ended = responses(reports)
    hit = 0.184 + 8 * 0.099
    assert ended[1] == pytest.approx(hit, abs=2e-3)
    assert ended[2] == pytest.approx(BufferedDrive("atlas10k").serve(60 * MS, True, 200, 8) / MS - 60, abs=5e-3)
    assert abs(ended[2] - hit) > 0.05


def test_the_parts_of_an_access_add_up_to_its_response(unfold, recorded):
    """No part is negative. With one request at a time, the parts add up to the response time."""
    times, first, sectors, read = drawn_requests("cheetah9lp", 3)
    apart = np.arange(len(times)) * 0.1
    system = System(load_buffered("cheetah9lp"), Replicas(1), sk.dispatch.Hashing(), FCFS(), drives=1, slots=8)
    _, reports = unfold(Scenario(system, recorded(apart, sector=first, sectors=sectors, read=read)))
    served = np.asarray(reports.served).ravel()
    parts = [np.asarray(one).ravel()[served] for one in (reports.seek, reports.rotation, reports.transfer)]
    assert all(np.min(part) >= 0 for part in parts)
    assert (sum(parts) / MS).tolist() == pytest.approx(list(responses(reports).values()), abs=1e-3)


@pytest.mark.parametrize("depth", [1, 4])
def test_random_reads_match_disksim(depth):
    """Compare with DiskSim 4.0, with its bus and buffer: 4 KB reads of an Atlas 10K complete 106.595 times a second.

    In DiskSim this holds under FCFS at any depth. A closed loop of the package agrees within 0.5%.
    """
    requests = sk.workload.RandomRequests(sk.workload.FixedSize(4096), read_share=1.0)
    system = System(load_buffered("atlas10k"), Replicas(1), sk.dispatch.Hashing(), FCFS())
    seen = sk.simulate(Scenario(system, sk.workload.ClosedLoop(requests, outstanding=depth)), requests=40_000)
    assert float(seen.throughput) == pytest.approx(106.595, rel=0.005)


def test_settings_that_are_not_modelled_with_buffers_raise():
    drive, satf = load_buffered("atlas10k"), SATF()
    hashing, pair = sk.dispatch.Hashing(), Replicas(2)
    node_with_parity = sk.placement.Segments([sk.placement.Node(4, True)], [sk.placement.Volume(2**14, 2**12, 1)])
    refused = {
        "DSPTF": lambda: System(drive, pair, sk.dispatch.DSPTF(50e-6), satf),
        "slower": lambda: System(drive, pair, hashing, satf, faults=FaultSchedule(Slowdown(0, 0.5))),
        "replicas": lambda: System(drive, sk.placement.SRMirror(1, 2), hashing, satf),
        "parity": lambda: System(drive, node_with_parity, hashing, satf),
        "delayed": lambda: System(drive, pair, hashing, satf, sk.write.Background(64)),
    }
    for what, build in refused.items():
        assert_refused(build, f"drives with a buffer cannot be combined with .*{what}.*; give drives without")
    assert_refused(
        lambda: sk.drive.Mixed([drive, load_drive("atlas10k")], [0, 1]), "with a buffer in a system with several kinds"
    )
    assert_refused(lambda: load_buffered("wd_hc570"), "its controller, bus and buffer are unknown")


@pytest.mark.parametrize(
    ("name", "is_faster"),
    [
        # a sector takes 99 us on the bus; 229 to 334 of them pass in a turn of 5,985 us
        ("atlas10k", Faster.PLATTER),
        # a sector takes 70.7 us on the bus; 58 of them pass in a turn of 11,194 us
        ("dec_rz26", Faster.BUS),
        # a sector takes 170.1 us on the bus; 56 to 96 of them pass in a turn of 11,111 us
        ("hp_c2247a", Faster.EITHER),
    ],
)
def test_the_faster_of_bus_and_platter_is_determined_before_compilation(name, is_faster):
    drive = sk.drive.load_buffered(name)
    assert drive.faster is is_faster and drive.buffer.segments.faster is is_faster
