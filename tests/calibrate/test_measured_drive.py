"""Measured service times against the drive model: a stream worked by hand, and three real drives where their traces are
available.
"""

import numpy as np
import pytest
from helpers import shared

from storagekit.calibrate.demerit import demerit
from storagekit.calibrate.measured_drive import REACH, Controller, measured_stream, thinks
from storagekit.core.errors import InputError
from storagekit.core.resources import data_path
from storagekit.drive import ideal_drive, load_drive
from storagekit.workload.trace import read, request_trace

SECTOR = 512
MS = 1e-3
# 1 ms a cylinder, 10 ms a turn, 0.01 ms a sector
DRIVE = ideal_drive(full_seek=9 * MS, revolution=10 * MS, cylinders=10, sectors_per_track=1000)
# sector, sectors, read, think time in ms: cylinders 0, 3, 1, 1 at 0.2, 0.5, 0 and 0.4 turns
STREAM = ((200, 100, True, 1.0), (3500, 100, True, 24.0), (1000, 50, False, 0.5), (1400, 100, True, 7.0))
MEASURED = np.array([1.0, 10.0, 1.0, 1.0]) * MS


def stream(rows=STREAM, **more):
    sector, sectors, reads, think = (np.array(column) for column in zip(*rows, strict=True))
    count = len(rows)
    return request_trace(
        np.arange(count, dtype=float),
        np.zeros(count, int),
        sector * SECTOR,
        sectors * SECTOR,
        reads,
        **{"measured_response": MEASURED[:count], "think": think * MS, **more},
    )


def test_mechanics_alone_by_hand():
    """From phase 0 at cylinder 0; each line: phase, seek, wait, transfer.

    0:   0.0, no seek, 0.2 turns, 1 ms           phase 0.3, think 1 ms
    1:   0.4, 3 ms to 0.7, 0.8 turns, 1 ms       phase 0.6, think 24 ms
    2:   0.0, 2 ms to 0.2, 0.8 turns, 0.5 ms     phase 0.05, think 0.5 ms
    3:   0.1, no seek, 0.3 turns, 1 ms
    """
    data = measured_stream(stream(), DRIVE)
    np.testing.assert_allclose(data.seek, np.array([0, 3, 2, 0]) * MS, atol=1e-8)
    np.testing.assert_allclose(data.rotation, np.array([2, 8, 8, 3]) * MS, atol=1e-7)
    np.testing.assert_allclose(data.transfer, np.array([1, 1, 0.5, 1]) * MS, atol=1e-8)
    np.testing.assert_allclose(data.service, np.array([3, 12, 10.5, 4]) * MS, atol=1e-7)
    np.testing.assert_array_equal(data.measured, MEASURED)


def test_controller_and_slow_bus_by_hand():
    """A read of 100 sectors: 0.01 ms until the first is off the platter, 3 ms on the bus.

    0:   0.0, 1 ms to 0.1, 0.1 turns, 3.01 ms             phase 0.501, think 1 ms
    1:   0.601, 1+3 ms to 0.001, 0.499 turns, 3.01 ms     phase 0.801, think 24 ms
    2:   0.201, 0.25+2 ms to 0.426, 0.574 turns, 0.5 ms   phase 0.05, think 0.5 ms
    3:   0.1, after a write 0.5 ms to 0.15, 0.25 turns, 3.01 ms
    """
    controller = Controller(sector=0.03 * MS, read_after_read=1 * MS, read_after_write=0.5 * MS, write=0.25 * MS)
    data = measured_stream(stream(), DRIVE, controller)
    np.testing.assert_allclose(data.seek, np.array([1, 4, 2.25, 0.5]) * MS, atol=1e-8)
    np.testing.assert_allclose(data.rotation, np.array([1, 4.99, 5.74, 2.5]) * MS, atol=1e-7)
    np.testing.assert_allclose(data.transfer, np.array([3.01, 3.01, 0.5, 3.01]) * MS, atol=1e-8)


def test_a_fast_bus_ends_one_sector_after_the_platter():
    data = measured_stream(stream(), DRIVE, Controller(sector=0.002 * MS))
    np.testing.assert_allclose(data.transfer, np.array([1.002, 1.002, 0.5, 1.002]) * MS, atol=1e-8)


def test_only_isolated_reads_are_compared():
    """Only the second request is a read more than REACH sectors from those before it. It took 10 ms, and takes 12 in
    the model."""
    data = measured_stream(stream(), DRIVE)
    np.testing.assert_array_equal(data.apart, [False, True, False, False])
    assert int(data.compared) == 1
    assert float(data.demerit) == pytest.approx(2 * MS, abs=1e-7)


def test_the_distance_apart_counts_from_both_ends():
    """Requests of 100 sectors lie REACH sectors, and one more, behind or before the previous one."""
    far = 100 + REACH
    rows = [(5000 + offset, 100, True, 1.0) for offset in (0, far, 0, far + 1)]
    np.testing.assert_array_equal(measured_stream(stream(rows[2:]), DRIVE).apart, [False, True])
    for near in (rows[:2], rows[1::-1]):
        with pytest.raises(
            InputError,
            match="no read lies more than 1024 sectors from the 32 requests before it",
        ):
            measured_stream(stream(near), DRIVE)
    np.testing.assert_array_equal(measured_stream(stream(rows[:1:-1]), DRIVE).apart, [False, True])


def test_pauses_are_the_time_between_a_completion_and_the_next_arrival():
    """Requests arrive a second apart and complete after 1, 10, 1 and 1 ms. In the second stream one arrives 50 ns
    early."""
    trace = stream(think=None)
    np.testing.assert_allclose(thinks(trace), [0.999, 0.99, 0.999, 0.0], rtol=1e-12)
    early = stream(think=None, measured_response=np.array([1 + 50e-9, 0.5, 0.5, 0.5]))
    np.testing.assert_allclose(thinks(early), [0.0, 0.5, 0.5, 0.0], rtol=1e-12)
    np.testing.assert_array_equal(thinks(stream()), stream().think)


@pytest.mark.parametrize(
    "change, message",
    [
        (
            lambda: measured_stream(stream(measured_response=None), DRIVE),
            "no service times .measured_response.; give a disksim-validate",
        ),
        (
            lambda: measured_stream(stream(think=None, measured_response=np.full(4, 1.5)), DRIVE),
            "100% of the requests arrive before the previous request completes, at most 10% are allowed; measure",
        ),
        (lambda: measured_stream(stream([(9950, 51, True, 1.0)]), DRIVE), "but the drive has 5120000"),
    ],
)
def test_streams_that_cannot_be_compared_are_rejected(change, message):
    with pytest.raises(InputError, match=message):
        change()


def test_two_devices_are_rejected():
    both = request_trace(
        [0, 1], [0, 1], [0, 0], [512, 512], [True, True], measured_response=[0.01, 0.01], think=[0.0, 0.0]
    )
    with pytest.raises(InputError, match="2 devices; select one"):
        measured_stream(both, DRIVE)


# Controllers: shared/drives, from DiskSim 4.0. Two samples of 3,200 such times from one drive have a demerit of 0.07
# ms, and a mean's standard error is 0.045 ms. DiskSim's own demerits, for all requests and with caches, are 0.268 and
# 0.107 ms.
DRIVES = {
    "atlas10k": ("atlas10k", Controller(0.099 * MS), 3235, 9.158),
    "cheetah9lp": ("cheetah9LP", Controller(0.105 * MS, 0.28362 * MS, 0.08673 * MS), 3257, 9.308),
}


@pytest.mark.parametrize("name", DRIVES)
def test_random_reads_take_the_measured_times(name):
    trace, controller, compared, mean = DRIVES[name]
    data = measured_stream(read(shared("traces", "disksim-valid", f"{trace}.trace.xz")), load_drive(name), controller)
    apart = (data.apart & data.read).values
    assert int(data.compared) == compared
    assert float(data.measured[apart].mean()) / MS == pytest.approx(mean, abs=1e-3)
    assert float(data.service[apart].mean()) / MS == pytest.approx(mean, abs=0.15)
    assert float(data.demerit) < 0.15 * MS


def test_writes_of_a_drive_that_does_not_write_behind():
    """HP C2247A: 3,171 writes took 18.34 ms, including settling and DiskSim's overhead of a write miss.

    One more write covers two zones with 78 spare tracks between them, which `Drive.locate` does not time. Reads are
    left out: the drive holds the bus, and the bus rate is not in the facts.
    """
    drive = load_drive("hp_c2247a")
    trace = read(shared("traces", "disksim-valid", "hp_c2247a.trace.xz"))
    data = measured_stream(trace, drive, Controller(write=0.82391 * MS))
    begin, end = trace.offset // SECTOR, (trace.offset + trace.size) // SECTOR - 1
    within = drive.geometry.zone_of(begin) == drive.geometry.zone_of(end)
    writes = data.apart.values & ~trace.read & np.asarray(within)
    measured, service = data.measured.values[writes], data.service.values[writes]
    assert writes.sum() == 3171
    assert service.mean() == pytest.approx(measured.mean(), rel=0.03)
    assert demerit(measured, service) < 0.6 * MS


def test_the_hp_has_exactly_the_sectors_it_reports():
    """Field block_count of shared/drives: its slipped sectors are among the spares."""
    assert load_drive("hp_c2247a").capacity == 2_054_864


def test_the_reference_in_the_package_is_disksims():
    ours = data_path("reference", "disksim_atlas10k.csv").read_text()
    assert ours == shared("reference", "disksim_atlas10k.csv").read_text()
