"""A drive's buffer: the sectors that pass under the head, timelines worked by hand, and rejected settings."""

from typing import cast

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import assert_refused, slow_but
from hypothesis import given, settings
from hypothesis import strategies as st
from jaxtyping import Array

from storagekit.core.units import MS
from storagekit.drive import Drive, drive_names, load_controller, load_drive
from storagekit.drive.buffer import BufferRequest, BufferSegments, serve
from storagekit.drive.buffer.fill import buffer_fill

NARROW = [name for name in drive_names() if load_drive(name).capacity < 2**31]


@pytest.mark.parametrize("name", slow_but({"atlas10k", "hp_c2247a"}, NARROW))
@settings(max_examples=20, derandomize=True)
@given(data=st.data())
def test_passed_sectors_agree_with_transfer_times(name, data):
    """At the ends of tracks, cylinders and groups of cylinders: all sectors have passed after the transfer time that
    the drive needs for them, and one less a tenth of a sector time earlier."""
    drive = load_drive(name)
    shape = drive.geometry
    zone = data.draw(st.integers(0, shape.first_sector.size - 1))
    group = int(shape.group_sectors[zone]) * data.draw(st.integers(0, 3))
    near = data.draw(st.lists(st.integers(-2000, 2000), min_size=16, max_size=16))
    sector = np.clip(int(shape.first_sector[zone]) + group + np.array(near), 0, drive.capacity - 1)
    count = np.array(data.draw(st.lists(st.integers(1, 3000), min_size=16, max_size=16)))
    piece = buffer_fill(shape, jnp.asarray(sector, jnp.int32))
    count = jnp.minimum(jnp.asarray(count, jnp.int32), piece.room)
    turns = piece.turns(count)
    takes = np.asarray(drive.locate(piece.sector, count).transfer) / float(drive.revolution)
    np.testing.assert_allclose(turns, takes, rtol=1e-6)
    assert piece.reached(turns).tolist() == count.tolist()
    assert piece.reached(turns - 0.1 / piece.length).tolist() == (count - 1).tolist()
    assert piece.turns(jnp.zeros_like(count)).tolist() == [0.0] * 16 == piece.reached(-turns).tolist()


class Served:
    """A drive that serves requests at times of a clock, ms."""

    def __init__(self, name: str, **buffer):
        """buffer: settings of its buffer that differ."""
        known = load_controller(name)
        self.segments = BufferSegments(load_drive(name), known._replace(buffer=known.buffer._replace(**buffer)))
        self.memory, self.now = self.segments.init(()), 0.0
        self.step = eqx.filter_jit(serve)

    def __call__(self, at: float, read: bool, sector: int, count: int) -> float:
        """Milliseconds that a request takes if it arrives at `at`."""
        self.pass_until(at)
        angle = jnp.asarray([at * MS / float(self.segments.drive.revolution) % 1], jnp.float32)
        ends = jnp.array([sector], jnp.int32), jnp.array([count], jnp.int32)
        request = BufferRequest(jnp.array([read]), *ends, self.segments.drive.locate(*ends))
        taken, self.memory = self.step(self.segments, self.memory, angle, request)
        return float(taken[0]) / MS

    def pass_until(self, at: float) -> None:
        self.memory = self.memory.elapse(jnp.array([(at - self.now) * MS], jnp.float32))
        self.now = at


# The Atlas 10K: 0.184 ms for a hit, 0.099 ms per sector on the bus, 334 sectors per track; sector 0 is on the outermost
# track.
REVOLUTION = 60_000 / 10_025
SECTOR = REVOLUTION / 334
BUS, HIT = 0.099, 0.184


def test_reads_from_the_segment_that_is_read_ahead():
    """At time 0 the head is at angle 0, where sector 0 begins. Sector 0 is in the buffer one sector time later and
    crosses the bus. The drive reads on. 1 ms later it has read 55 sectors, so the next 20 are a hit. 100 sectors from
    sector 50 on are in the buffer after 150 sector times. They cross one after another, because the bus takes five
    times as long as the platter."""
    drive = Served("atlas10k")
    assert drive(0, True, 0, 1) == pytest.approx(SECTOR + BUS, rel=1e-4)
    assert drive(1, True, 1, 20) == pytest.approx(HIT + 20 * BUS, rel=1e-4)
    assert drive(1.1, True, 50, 100) == pytest.approx(HIT + 100 * BUS, rel=1e-4)
    # the drive has read to the end of the track and no further: hits leave arm and platter alone
    assert drive(50, True, 200, 134) == pytest.approx(HIT + 134 * BUS, rel=1e-4)
    assert drive(70, True, 330, 4) == pytest.approx(HIT + 4 * BUS, rel=1e-4)
    assert not bool(drive.memory.reads_on()[0])


def test_a_miss_stops_reading_ahead_and_its_arm_may_arrive_too_late():
    """On the track below, sector 381 stands at the angle of 63 sectors of skew plus 47. Sector 100 passes as its
    request arrives. After the end of sector 100 the arm switches for 0.176 ms, 9.8 sector times, and is late by one
    sector."""
    drive = Served("atlas10k")
    drive(0, True, 0, 1)
    arrives = 100.1 * SECTOR
    assert drive(arrives, True, 334 + 47, 1) == pytest.approx(
        REVOLUTION + (63 + 47) * SECTOR - arrives + SECTOR + BUS, rel=1e-4
    )


def test_a_write_completes_from_the_buffer_and_occupies_the_arm():
    """The overhead is 0.186 ms after a read, then comes the bus transfer. The arm switches and settles, 0.176 + 0.487
    ms. The 8 sectors of the track below go to the platter when their angle passes. A sequential write joins this one,
    and the next read waits for both."""
    drive = Served("atlas10k")
    drive(0, True, 0, 1)
    at = 30 * REVOLUTION
    assert drive(at, False, 334, 8) == pytest.approx(0.186 + 8 * BUS, rel=1e-4)
    landed = 0.186 + 0.176 + 0.487
    written = landed + (63 * SECTOR - landed) % REVOLUTION + 8 * SECTOR
    assert float(drive.memory.settled[0]) / MS == pytest.approx(written, rel=1e-4)
    before = drive.memory
    # A write after a write takes 0.187 ms. If its 4 sectors have crossed in time, they are written in the same pass.
    for late, turns in ((0.5, 0), (1.0, 1)):
        drive.memory, drive.now = before, at
        assert drive(at + late, False, 342, 4) == pytest.approx(0.187 + 4 * BUS, abs=2e-3)
        after = written + 4 * SECTOR + turns * REVOLUTION - late
        assert float(drive.memory.settled[0]) / MS == pytest.approx(after, rel=1e-3)
    # The arm returns to the track above, whose sectors are no longer in the buffer. Sector 75 has just passed when it
    # arrives.
    drive.memory, drive.now = before._replace(end=before.end.at[0].set(before.start[0])), at
    assert written < 75 * SECTOR < written + 0.176
    assert drive(at + 1, True, 75, 1) == pytest.approx(REVOLUTION + 76 * SECTOR + BUS - 1, rel=1e-4)


def test_a_write_removes_the_sectors_it_covers_from_the_buffer():
    drive = Served("atlas10k")
    drive(0, True, 0, 1)
    drive(50, True, 5_000_000, 8)
    drive(100, False, 100, 8)
    held = [(int(a), int(b)) for a, b in zip(drive.memory.start, drive.memory.end, strict=True) if a < b]
    assert (100, 108) in held and not any(start <= 50 < end for start, end in held)
    # written sectors count as read ones in the buffer
    assert drive(150, True, 100, 8) == pytest.approx(0.184 + 8 * BUS, abs=5e-3)


def test_a_read_of_sectors_being_written_waits_only_for_the_platter():
    """Atlas 10K: the arm is busy until the write is on the platter. Then the drive has the bus, and the data crosses
    it."""
    drive = Served("atlas10k")
    drive(0, False, 8_000_000, 8)
    settled = float(drive.memory.settled[0]) / MS
    assert settled > 5
    assert drive(1, True, 8_000_000, 8) == pytest.approx(settled - 1 + 8 * BUS, abs=0.05)


def test_neither_of_two_writes_is_a_hit_where_reads_may_not_hit_writes():
    drive = Served("atlas10k", hits_written=False)
    for number, sector in enumerate((8_000_000, 4_000_000)):
        drive(number, False, sector, 8)
    taken = [drive(at, True, sector, 8) for at, sector in ((100, 8_000_000), (200, 4_000_000))]
    assert min(taken) > HIT + 8 * BUS + 0.5


def test_data_read_into_the_only_segment_during_a_write_stays():
    """With one segment a read takes it from the write in progress; the following read is a hit."""
    drive = Served("atlas10k", hits_written=False, segments=1)
    drive(0, False, 8_000_000, 8)
    drive(1, True, 100, 8)
    assert drive(100, True, 108, 8) == pytest.approx(HIT + 8 * BUS, abs=5e-3)


def test_written_data_is_no_hit_where_reads_may_not_hit_writes():
    drive = Served("atlas10k", hits_written=False)
    drive(0, False, 8_000_000, 8)
    assert drive(60, True, 8_000_000, 8) > 2 * (HIT + 8 * BUS)


def test_a_segment_that_waits_for_the_platter_is_not_given_to_a_read():
    """While written data waits for the platter, a miss takes another segment, and the data stays a hit."""
    drive = Served("atlas10k")
    drive(0, False, 8_000_000, 8)
    assert float(drive.memory.settled[0]) > 1 * MS
    dirty = int(drive.memory.dirty[0])
    drive(0.9, True, 3_000_000, 8)
    assert int(drive.memory.last[0]) != dirty
    assert drive(60, True, 8_000_000, 8) == pytest.approx(HIT + 8 * BUS, abs=5e-3)


def test_data_that_is_not_kept_is_no_hit():
    """Atlas 10K: the same 8 sectors are read twice, the second time half a turn before they pass."""
    for kept, takes in ((True, HIT + 8 * BUS), (False, REVOLUTION / 2 + SECTOR + 8 * BUS)):
        drive = Served("atlas10k", keeps=kept, read_ahead=0)
        assert drive(0, True, 0, 8) == pytest.approx(SECTOR + 8 * BUS, rel=1e-3)
        assert drive(20.5 * REVOLUTION, True, 0, 8) == pytest.approx(takes, rel=1e-3)


def test_data_that_was_read_may_be_discarded():
    """Atlas 10K: sectors that were read ahead are in the buffer; sectors that were sent to the host are not."""
    drive = Served("atlas10k", discards_read=True)
    drive(0, True, 0, 8)
    assert drive(50, True, 8, 20) == pytest.approx(HIT + 20 * BUS, rel=1e-3)
    assert drive(100, True, 28, 20) == pytest.approx(HIT + 20 * BUS, rel=1e-3)
    assert drive(150, True, 8, 20) > HIT + 20 * BUS + 0.5


def test_a_batch_equals_the_single_runs():
    """Three streams in a batch take the same times as each alone."""
    segments = BufferSegments(load_drive("cheetah9lp"), load_controller("cheetah9lp"))
    random = np.random.default_rng(5)
    reads = random.random((40, 1, 3)) < 0.6
    sectors, counts = random.integers(0, 3000, (40, 1, 3)), random.integers(1, 40, (40, 1, 3))
    pauses = random.exponential(3 * MS, (40, 1, 3)).astype(np.float32)

    def through(batch: tuple[int, ...], columns: list[Array]) -> Array:
        def step(state, columns):
            (memory, angle), (*request, pause) = state, columns
            target = segments.drive.locate(*request[1:])
            taken, memory = serve(segments, memory, angle, BufferRequest(*request, target))
            angle = angle + segments.drive.drift(taken) + segments.drive.drift(pause)
            return (memory.elapse(taken).elapse(pause), angle - jnp.floor(angle)), taken

        start = segments.init(batch), jnp.zeros((1, *batch), jnp.float32)
        return jax.lax.scan(step, start, tuple(columns))[1]

    columns = [
        cast(Array, jnp.asarray(one)) for one in (reads, sectors.astype(np.int32), counts.astype(np.int32), pauses)
    ]
    together = np.asarray(through((3,), columns))
    for run in range(3):
        np.testing.assert_allclose(together[..., run], through((), [one[..., run] for one in columns]), rtol=1e-6)


def test_drives_that_are_not_modelled_are_rejected():
    controller = load_controller("atlas10k")
    assert_refused(
        lambda: BufferSegments(load_drive("wd_hc570"), controller), "at most 2147483647 sectors are possible"
    )
    small = Drive.from_datasheet(
        rpm=7200,
        track_seek=1e-3,
        average_seek=8.5e-3,
        full_seek=17e-3,
        capacity=1e11,
        media_rate=2e8,
        sector_bytes=4096,
    )
    assert_refused(
        lambda: BufferSegments(small, controller), "sectors of 4096 bytes: only sectors of 512 bytes are possible"
    )
