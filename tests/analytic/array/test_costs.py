"""Numbers of requests that a mirror's disks choose among, by hand. One mirror is the whole array, and its queue does
not vary.
"""

import numpy as np
import pytest

from storagekit.analytic.array.aspect import Layouts
from storagekit.analytic.array.costs import costs, single_load
from storagekit.analytic.array.elevator import RLOOK
from storagekit.analytic.array.positioning import Linear
from storagekit.analytic.array.shapes import Columns, Shape
from storagekit.core.units import MS

S, R, OVERHEAD = 12 * MS, 6 * MS, 2 * MS
SPINDLE = Linear(S, R, OVERHEAD)


def disk_time(mirrors: int, outstanding: int, read_share: float) -> float:
    """Disk seconds per one-block request on each of `mirrors` full disks, with writes in the foreground."""
    layout = Layouts(*(np.array([number]) for number in (1, 1, mirrors)))
    load = single_load(read_share, 0.0, outstanding / mirrors, 1.0, 1.0)
    return float(costs(SPINDLE, load, layout, mirrors, np.ones(1), RLOOK()).disk_time[0])


@pytest.mark.parametrize(
    ("mirrors", "outstanding", "among"),
    [
        (1, 9, 8),  # a disk that becomes free finds all requests except its last read
        (2, 9, 7),  # and except the other disk's current read
        (3, 9, 6),
        (2, 24, 22),
        (4, 24, 20),
    ],
)
def test_a_disk_chooses_among_the_reads_that_the_others_have_left(mirrors, outstanding, among):
    """Each read takes half a revolution and 1/(c (n - 1) + 3) of the stroke.

    Requests are c = 3/2 times as dense before an elevator as elsewhere. They are 6/5 times as dense before one of two
    elevators that share their requests, and (h + 1)(h + 2)/h(h + 3) times before one of h.
    """
    crowding = {1: 3 / 2, 2: 6 / 5, 3: 10 / 9, 4: 15 / 14}[mirrors]
    expected = OVERHEAD + S / (crowding * (among - 1) + 3) + R / 2
    assert disk_time(mirrors, outstanding, 1.0) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize(("mirrors", "outstanding", "among"), [(1, 10, 9), (2, 10, 6), (2, 25, 16), (3, 12, 6)])
def test_a_disk_chooses_among_the_writes_that_it_has_not_written(mirrors, outstanding, among):
    """A write waits at every disk until the last of D_m has written it, after H = 1 + 1/2 + ... + 1/D_m service times
    of one disk. So a disk has (Q - 1)/H other writes to choose among."""
    expected = mirrors * (OVERHEAD + S * 2 / (3 * (among + 1)) + R / 2)
    assert disk_time(mirrors, outstanding, 0.0) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize(("reads", "count"), [(1.0, 10), (0.0, 12)])
def test_the_disks_that_divide_a_request_serve_it_together(reads, count):
    """With one request outstanding, the next one follows the longest of `count` rotations, k / (k + 1) revolutions.

    The arms of all disks move together, by a third of the stroke.
    """
    layout = Columns.of([Shape(written=12, room=1.2, group=12, ways=10)])
    found = costs(SPINDLE, single_load(reads, 0.0, 1 / 12, 1.0, 1.0), layout, 12, np.ones(1), RLOOK())
    longest = OVERHEAD + S / 3 + count / (count + 1) * R
    assert float(found.throughput(12)[0]) == pytest.approx(1 / longest, rel=0.03)
    assert float(found.latency[0]) == pytest.approx(longest)
