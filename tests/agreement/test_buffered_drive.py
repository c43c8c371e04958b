"""The scalar program of a buffered drive, checked by hand-worked timelines and by measured drives in DiskSim 4.0. The
package's buffer is compared with that program, request by request.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from agreement.buffered_drive import BufferedDrive
from helpers import shared, slow_but

from storagekit.calibrate.demerit import demerit
from storagekit.calibrate.drive_check import demerit_by_class
from storagekit.calibrate.measured_drive import buffered_stream
from storagekit.core.units import MS, US
from storagekit.drive import drive_names, known_controller, load_controller, load_drive
from storagekit.drive.buffer import BufferRequest, BufferSegments, serve
from storagekit.workload.trace import RequestTrace, read, request_trace

pytestmark = pytest.mark.optimized

# Mean service time and demerit of DiskSim 4.0 itself, ms, on the streams measured on these drives (their
# provenance.md).
STREAMS = {
    "atlas10k": ("atlas10k", 3.971, 0.268),
    "cheetah9lp": ("cheetah9LP", 4.231, 0.107),
    "hp_c2247a": ("hp_c2247a", 15.315, 0.090),
}


@pytest.mark.parametrize("name", STREAMS)
def test_measured_streams_agree_with_disksim(name):
    """The model uses published parameters alone. The mean is within 0.5% of DiskSim's, and the demerit is at most 1.5
    times DiskSim's. For each of the ten thousand requests the package agrees with the scalar program to 2 us."""
    file, mean, theirs = STREAMS[name]
    trace = read(shared("traces", "disksim-valid", f"{file}.trace.xz"))
    ours = buffered_stream(trace, load_drive(name), load_controller(name)).service.values
    assert ours.mean() / MS == pytest.approx(mean, rel=0.005)
    assert demerit(ours, trace.measured_response) / MS < 1.5 * theirs
    np.testing.assert_allclose(ours, BufferedDrive(name).through(trace), atol=2 * US, rtol=0)


def random_stream(capacity: int, most: int, seed: int) -> RequestTrace:
    """Requests of up to `most` sectors: sequential runs, near misses, returns to recent locations, and far ones, with
    and without pauses."""
    random, count = np.random.default_rng(seed), 600
    sectors, kind, first = (
        random.integers(1, most + 1, count),
        random.random(count),
        random.integers(0, capacity, count),
    )
    for at in range(8, count):
        end = first[at - 1] + sectors[at - 1]
        if kind[at] < 0.35:
            first[at] = end
        elif kind[at] < 0.5:
            first[at] = end + random.integers(-60, 200)
        elif kind[at] < 0.65:
            first[at] = first[at - random.integers(1, 8)] + random.integers(-5, 10)
    first = np.clip(first, 0, capacity - 500)
    pause = np.where(random.random(count) < 0.3, 0.0, random.exponential(10 * MS, count)).astype(np.float32)
    reads = random.random(count) < 0.65
    return stream_of(first, sectors, reads, pause)


def stream_of(first: np.ndarray, sectors: np.ndarray, reads: np.ndarray, pause: np.ndarray) -> RequestTrace:
    count = len(first)
    columns = (np.arange(float(count)), np.zeros(count), first * 512, sectors * 512, reads)
    return request_trace(*columns, measured_response=np.ones(count), think=np.asarray(pause, float))


# Longest request, for drives that read a request's tail first: longer requests mostly cross two tracks, which are not
# read that way.
ONE_TRACK = {"dec_rz26": 8, "atlas10k": 16}


@pytest.mark.parametrize(
    "name",
    slow_but(
        {"atlas10k", "dec_rz26", "hp_c2247a", "cheetah9lp"}, [name for name in drive_names() if known_controller(name)]
    ),
)
def test_random_streams_take_as_long_as_in_the_scalar_program(name):
    """Each of 1,800 requests agrees to 20 us."""
    drive = load_drive(name)
    for seed in range(3):
        trace = random_stream(drive.capacity, ONE_TRACK.get(name, 100), seed)
        ours = buffered_stream(trace, drive, load_controller(name)).service.values
        np.testing.assert_allclose(ours, BufferedDrive(name).through(trace), atol=20 * US, rtol=0)


@pytest.mark.parametrize("name", ["atlas_iii", "cheetah9lp", "hp_c2247a", "hp_c3323a"])
def test_requests_over_a_zones_end_take_as_long_as_in_the_scalar_program(name):
    """Requests cover the last sectors of every zone and the first of the next, read and written, far apart from one
    another. They agree to 0.3 ms, because sectors of the next zone are timed with the track length of the first."""
    drive = load_drive(name)
    random, edges = np.random.default_rng(3), drive.geometry.first_sector[1:]
    before, behind = random.integers(1, 150, (2, edges.size)), random.integers(1, 30, (2, edges.size))
    first, sectors = (edges - before).ravel(), (before + behind).ravel()
    reads = np.repeat([True, False], edges.size)
    trace = stream_of(first, sectors, reads, random.exponential(20 * MS, first.size).astype(np.float32))
    ours = buffered_stream(trace, drive, load_controller(name)).service.values
    np.testing.assert_allclose(ours, BufferedDrive(name).through(trace), atol=0.3 * MS, rtol=0)


def test_a_stream_of_writes_alone_has_a_demerit():
    """The stream has no isolated read; a model with a buffer does not need one."""
    count = 40
    trace = stream_of(np.arange(count) * 5000, np.full(count, 8), np.zeros(count, bool), np.full(count, 0.01))
    stream = buffered_stream(trace, load_drive("cheetah9lp"), load_controller("cheetah9lp"))
    assert int(stream.compared) == 0 and np.isnan(stream.demerit)
    assert float(demerit_by_class(stream).demerit.sel(kind="write")) > 0


def test_random_reads_as_shipped_agree_with_disksim():
    """4 KB reads at uniform, aligned locations of an Atlas 10K, one after the other, with bus and buffer on. DiskSim
    4.0 serves 106.595 per second. The tolerance of 0.5% is more than five standard errors."""
    drive, random, count = BufferedDrive("atlas10k"), np.random.default_rng(0), 30_000
    now = 0.0
    for location in random.integers(0, drive.platters.edges[-1] // 8 - 1, count).tolist():
        now = drive.serve(now, True, location * 8, 8)
    assert count / now == pytest.approx(106.595, rel=0.005)


def test_the_packages_buffer_serves_random_reads_as_shipped():
    """The package serves the same reads at the same rate, in a batch of 64."""
    segments, count = BufferSegments(load_drive("atlas10k"), load_controller("atlas10k")), 500
    locations = np.random.default_rng(1).integers(0, segments.drive.capacity // 8 - 1, (count, 1, 64)) * 8

    def step(state, location):
        memory, angle = state
        ends = location, jnp.full_like(location, 8)
        taken, memory = serve(
            segments, memory, angle, BufferRequest(location >= 0, *ends, segments.drive.locate(*ends))
        )
        angle = angle + segments.drive.drift(taken)
        return (memory.elapse(taken), angle - jnp.floor(angle)), taken

    start = segments.init((64,)), jnp.zeros((1, 64), jnp.float32)
    taken = np.asarray(jax.lax.scan(step, start, jnp.asarray(locations, jnp.int32))[1], float)
    assert 1 / taken.mean() == pytest.approx(106.595, rel=0.005)


# The Atlas 10K: 0.184 ms for a hit, 0.099 ms per sector on the bus, 334 sectors per track; sector 0 is on the outermost
# track.
REVOLUTION = 60_000 / 10_025
SECTOR = REVOLUTION / 334
BUS, HIT = 0.099, 0.184


def served(drive: BufferedDrive, at: float, read: bool, sector: int, count: int) -> float:
    """Milliseconds that a request takes if it arrives at `at` ms."""
    return drive.serve(at * MS, read, sector, count) / MS - at


def test_reads_from_the_segment_that_is_read_ahead():
    """At time 0 the head is at angle 0, where sector 0 begins. Sector 0 is in the buffer one sector time later and
    crosses the bus. The drive reads on. 1 ms later it has read 55 sectors, so the next 20 are a hit. Sectors 50 to 149
    are in the buffer after 150 sector times, and then the last of them crosses. The bus takes five times as long as the
    platter, so all hundred cross one after another."""
    drive = BufferedDrive("atlas10k")
    assert served(drive, 0, True, 0, 1) == pytest.approx(SECTOR + BUS)
    assert served(drive, 1, True, 1, 20) == pytest.approx(HIT + 20 * BUS)
    assert served(drive, 1.1, True, 50, 100) == pytest.approx(HIT + 100 * BUS)
    # The drive has read ahead to the end of the track and no further. A hit leaves arm and platter alone.
    assert served(drive, 50, True, 200, 134) == pytest.approx(HIT + 134 * BUS)
    assert served(drive, 70, True, 330, 4) == pytest.approx(HIT + 4 * BUS)
    assert drive.ahead is None and drive.platters.track == (0, 0)


def test_a_read_from_the_next_track_misses_and_stops_reading_ahead():
    """On the track below, sector 381 stands at the angle of 63 sectors of skew plus 47. Sector 100 passes as its
    request arrives. After the end of sector 100 the arm switches for 0.176 ms, 9.8 sector times, and is late by one
    sector."""
    drive = BufferedDrive("atlas10k")
    served(drive, 0, True, 0, 1)
    arrives, moved = 100.1 * SECTOR, 101 * SECTOR + 0.176
    begins = REVOLUTION + (63 + 47) * SECTOR
    assert moved - 0.9 * SECTOR < begins - REVOLUTION < moved
    assert served(drive, arrives, True, 334 + 47, 1) == pytest.approx(begins - arrives + SECTOR + BUS)


def test_a_write_completes_from_the_buffer_and_occupies_the_arm():
    """The overhead is 0.186 ms after a read, then comes the bus transfer. The arm switches and settles, 0.176 + 0.487
    ms. The 8 sectors of the track below go to the platter when their angle passes. A read that arrives meanwhile waits
    for the write."""
    drive = BufferedDrive("atlas10k")
    served(drive, 0, True, 0, 1)
    at = 30 * REVOLUTION
    assert served(drive, at, False, 334, 8) == pytest.approx(0.186 + 8 * BUS)
    landed = 0.186 + 0.176 + 0.487
    written = landed + (63 * SECTOR - landed) % REVOLUTION + 8 * SECTOR
    assert drive.settled / MS == pytest.approx(at + written)
    # The arm returns to the track above as soon as it is free; sector 75 has just passed.
    drive.segments[0].holds = False
    assert written < 75 * SECTOR < written + 0.176
    assert served(drive, at + 1, True, 75, 1) == pytest.approx(REVOLUTION + 76 * SECTOR + BUS - 1)


def test_a_write_removes_the_sectors_it_covers_from_the_buffer():
    drive = BufferedDrive("atlas10k")
    served(drive, 0, True, 0, 1)
    kept = drive.segments[0]
    assert kept.holds
    served(drive, 50, True, 5_000_000, 8)
    served(drive, 100, False, 100, 8)
    # The segment that had these sectors now holds the written ones; its other sectors are gone.
    held = [(one.start, one.end) for one in drive.segments if one.holds or one.writing]
    assert (100, 108) in held and not any(start <= 50 < end for start, end in held)
