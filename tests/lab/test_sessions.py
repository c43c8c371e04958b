"""Test the pages on striping and on admissible sessions: closed forms in text and charts."""

import numpy as np
import pytest

from storagekit.analytic.forkjoin import Disk
from storagekit.analytic.queueing import response_mg1
from storagekit.core.errors import InputError
from storagekit.core.units import KB, MB, MS
from storagekit.lab import sessions, striping

DISK = Disk(8.5 * MS, 4.17 * MS, 200e6)


def test_a_promise_is_kept_when_all_its_sessions_run_together():
    answer = sessions.promised(DISK, agents=4, rate=2e6)
    assert answer.checked(minutes=0.5).met.all()
    text = str(sessions.summary(answer))
    count = int(answer.even.sessions[answer.best])
    assert text.startswith(f"{count} sessions of 2 MB/s, {2 * count} MB/s in total")
    assert "The binding constraint is the disks" in text


def test_rows_have_every_shape_and_mark_the_best():
    answer = sessions.promised(DISK, agents=8, rate=5e6, group=4)
    rows = answer.rows()
    assert max(rows, key=lambda row: row["sessions"])["sessions"] == next(
        row["sessions"] for row in rows if row["best"]
    )
    assert {row["unit"] for row in rows} == {4 * KB << power for power in range(9)}
    assert min(row["agents"] for row in rows) == 2


def test_a_rate_that_cannot_be_promised_is_reported_with_the_excess():
    text = str(sessions.summary(sessions.promised(DISK, agents=2, rate=500e6, buffer=MB)))
    assert text.startswith("Not even one session of 500 MB/s") and "times as fast" in text
    with pytest.raises(InputError, match="buffer 1024 bytes"):
        sessions.promised(DISK, buffer=KB)


def test_a_request_without_striping_waits_as_in_m_g_1():
    """With 12 agents and 60 requests/s, each agent gets 5 a second, with a mean service of 12.67 ms plus a transfer."""
    found = striping.striped(DISK, agents=12, size=8 * MB, rate=60)
    alone, mean = found.widths[0], float(DISK.mean(8 * MB))
    expected = float(response_mg1(np.float64(5.0), mean, DISK.variance() + mean**2))
    assert alone.low == pytest.approx(expected, rel=1e-3) and alone.high == pytest.approx(expected, rel=1e-3)
    assert alone.limit == pytest.approx(12 / mean)
    assert [one.agents for one in found.widths] == [1, 2, 4, 8, 12]


def test_striping_is_for_large_requests_and_low_loads():
    large, small = striping.striped(DISK, 16, 32 * MB, 5), striping.striped(DISK, 16, 64 * KB, 400)
    assert large.best.agents > 4 and small.best.agents == 1
    assert "stripe over" in str(striping.summary(large)) and "do not stripe" in str(striping.summary(small))
    busier = striping.striped(DISK, 16, 32 * MB, 60)
    assert busier.best.agents < large.best.agents
    limits = [one.limit for one in large.widths]
    assert limits == sorted(limits, reverse=True)
    with pytest.raises(InputError, match="these disks sustain"):
        striping.striped(DISK, 2, 32 * MB, 100)
