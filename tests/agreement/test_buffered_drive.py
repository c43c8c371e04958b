"""The scalar program of a buffered drive: timelines worked by hand, and measured drives beside DiskSim 4.0."""

import numpy as np
import pytest
from agreement.buffered_drive import BufferedDrive
from helpers import shared

from storagekit.metrics.demerit import demerit
from storagekit.units import MS
from storagekit.workload.trace import read

# DiskSim 4.0's own mean service time and demerit, ms, on the streams measured on these drives (their provenance.md)
STREAMS = {
    "atlas10k": ("atlas10k", 3.971, 0.268),
    "cheetah9lp": ("cheetah9LP", 4.231, 0.107),
    "hp_c2247a": ("hp_c2247a", 15.315, 0.090),
}


@pytest.mark.parametrize("name", STREAMS)
def test_measured_streams_come_out_as_in_disksim(name):
    """From published parameters alone: the mean within 0.5% of DiskSim's, the demerit no more than 1.5 times its."""
    file, mean, theirs = STREAMS[name]
    trace = read(shared("traces", "disksim-valid", f"{file}.trace.xz"))
    taken = BufferedDrive(name).through(trace)
    assert taken.mean() / MS == pytest.approx(mean, rel=0.005)
    assert demerit(taken, trace.measured_response) / MS < 1.5 * theirs


def test_random_reads_as_shipped_come_out_as_in_disksim():
    """4 KB at uniform, aligned places of an Atlas 10K, one after the other, bus and buffer on: DiskSim 4.0 serves 106.595 a
    second; within 0.5%, which is more than five standard errors."""
    drive, random, count = BufferedDrive("atlas10k"), np.random.default_rng(0), 30_000
    now = 0.0
    for place in random.integers(0, drive.platters.edges[-1] // 8 - 1, count).tolist():
        now = drive.serve(now, True, place * 8, 8)
    assert count / now == pytest.approx(106.595, rel=0.005)


# the Atlas 10K: 0.184 ms of a hit, 0.099 ms a sector on the bus, 334 sectors a track, of which the outermost has sector 0
REVOLUTION = 60_000 / 10_025
SECTOR = REVOLUTION / 334
BUS, HIT = 0.099, 0.184


def served(drive: BufferedDrive, at: float, read: bool, sector: int, count: int) -> float:
    """Milliseconds that a request arriving at `at` ms takes."""
    return drive.serve(at * MS, read, sector, count) / MS - at


def test_reads_from_the_segment_that_is_read_ahead():
    """At angle 0 and time 0 sector 0 is under the head: it is in the buffer a sector later, and crosses the bus. The drive
    reads on. 1 ms later it has read 55 sectors: the next 20 are a hit. Sectors 50 to 149 are there at 150 sectors' time, and
    then the last of them crosses: as the bus takes five times as long as the platter, all hundred do one after another."""
    drive = BufferedDrive("atlas10k")
    assert served(drive, 0, True, 0, 1) == pytest.approx(SECTOR + BUS)
    assert served(drive, 1, True, 1, 20) == pytest.approx(HIT + 20 * BUS)
    assert served(drive, 1.1, True, 50, 100) == pytest.approx(HIT + 100 * BUS)
    # the drive has read ahead to the end of the track, no further: a hit leaves arm and platter alone
    assert served(drive, 50, True, 200, 134) == pytest.approx(HIT + 134 * BUS)
    assert served(drive, 70, True, 330, 4) == pytest.approx(HIT + 4 * BUS)
    assert drive.ahead is None and drive.platters.track == (0, 0)


def test_a_read_from_the_next_track_misses_and_stops_reading_ahead():
    """On the track below sector 381 stands at the angle of 63 sectors of skew and 47. Sector 100 passes as its request
    arrives: from the end of that the arm switches, for 0.176 ms, 9.8 sectors, and comes too late by one."""
    drive = BufferedDrive("atlas10k")
    served(drive, 0, True, 0, 1)
    arrives, moved = 100.1 * SECTOR, 101 * SECTOR + 0.176
    begins = REVOLUTION + (63 + 47) * SECTOR
    assert moved - 0.9 * SECTOR < begins - REVOLUTION < moved
    assert served(drive, arrives, True, 334 + 47, 1) == pytest.approx(begins - arrives + SECTOR + BUS)


def test_a_write_is_answered_from_the_buffer_and_holds_the_arm():
    """Overhead 0.186 ms after a read, then the bus. The 8 sectors of the track below go to the platter as their angle comes
    by, the arm having switched and settled, 0.176 + 0.487 ms; a read that arrives meanwhile waits for that."""
    drive = BufferedDrive("atlas10k")
    served(drive, 0, True, 0, 1)
    at = 30 * REVOLUTION
    assert served(drive, at, False, 334, 8) == pytest.approx(0.186 + 8 * BUS)
    landed = 0.186 + 0.176 + 0.487
    written = landed + (63 * SECTOR - landed) % REVOLUTION + 8 * SECTOR
    assert drive.settled / MS == pytest.approx(at + written)
    # back to the track above, from when the arm is free: sector 75 has just passed
    drive.segments[0].holds = False
    assert written < 75 * SECTOR < written + 0.176
    assert served(drive, at + 1, True, 75, 1) == pytest.approx(REVOLUTION + 76 * SECTOR + BUS - 1)


def test_a_write_takes_what_it_covers_out_of_the_buffer():
    drive = BufferedDrive("atlas10k")
    served(drive, 0, True, 0, 1)
    kept = drive.segments[0]
    assert kept.holds
    served(drive, 50, True, 5_000_000, 8)
    served(drive, 100, False, 100, 8)
    # the segment that held them holds what was written, the rest is gone
    held = [(one.start, one.end) for one in drive.segments if one.holds or one.writing]
    assert (100, 108) in held and not any(start <= 50 < end for start, end in held)
