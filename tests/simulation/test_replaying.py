"""Test traces in a closed loop: the laws of a loop, and the same services as one request after the other."""

import numpy as np
import pytest

import storagekit as sk
from storagekit.core.errors import InputError
from storagekit.core.resources import data_path
from storagekit.simulation.overload import overload_reasons
from storagekit.workload.trace import read, request_trace

DRIVE = "rpm=7200,seek=1/8.5/18ms,rate=250MB/s,size=18TB"


@pytest.fixture(scope="module")
def trace():
    return read(data_path("samples", "small.spc"), requests=600)


def system(schedule=None, bricks=1):
    drive = sk.load_drive(DRIVE)
    return sk.System(drive, sk.placement.Replicas(bricks), sk.dispatch.Hashing(), schedule or sk.schedule.FCFS())


def test_with_one_outstanding_the_run_takes_the_sum_of_the_responses(trace):
    data = sk.replay(trace, system(), depth=1)
    assert float(data.elapsed) == pytest.approx(float(data.response_time.sum()), rel=1e-5)
    assert float(data.outstanding) == pytest.approx(1) and float(data.utilization[0]) == pytest.approx(1)
    assert np.isfinite(data.response_time).all() and data.attrs["depth"] == 1


@pytest.mark.parametrize("depth", [4, 32])
def test_a_loop_obeys_littles_law_and_serves_every_request_once(trace, depth):
    data = sk.replay(trace, system(sk.schedule.SATF()), depth=depth)
    assert np.isfinite(data.response_time).all() and int(data.requests) == len(trace)
    outstanding = float(data.request_rate * data.response)
    # only the last `depth` requests have fewer beside them, and a shorter queue is served more slowly
    assert depth * (1 - 2 * depth / len(trace)) <= outstanding <= depth * (1 + 1e-6)


def test_a_deeper_loop_of_shortest_access_is_faster(trace):
    rates = [float(sk.replay(trace, system(sk.schedule.SATF()), depth=depth).request_rate) for depth in (1, 8)]
    assert rates[1] > 1.3 * rates[0]


def test_a_loop_serves_the_requests_in_the_order_of_the_trace(trace):
    """FCFS with one outstanding gives the services that the same requests have when they arrive far apart."""
    apart = request_trace(
        10.0 * np.arange(len(trace)), np.zeros(len(trace)), trace.concatenated().offset, trace.size, trace.read
    )
    alone = sk.replay(apart, system()).response_time.values
    loop = sk.replay(trace, system(), depth=1).response_time.values
    # seek and transfer are equal, and each rotation is uniform over a revolution
    assert abs(loop.mean() - alone.mean()) < 4 * (1 / 120) * np.sqrt(2 / 12 / len(trace))


def test_a_trace_without_times_needs_a_depth(tmp_path):
    path = tmp_path / "v2.iolog"
    path.write_text(
        "fio version 2 iolog\n/dev/sda add\n" + "".join(f"/dev/sda read {4096 * i} 4096\n" for i in range(9))
    )
    untimed = read(path)
    assert not untimed.source.timed
    with pytest.raises(InputError, match="has no arrival times; give the number of outstanding requests"):
        sk.replay(untimed, system())
    assert np.isfinite(sk.replay(untimed, system(), depth=3).response_time).all()
    with pytest.raises(InputError, match="depth"):
        sk.replay(untimed, system(), depth=0)
    with pytest.raises(InputError, match="give either scale or depth"):
        sk.replay(untimed, system(), depth=2, scale=2.0)


def test_compare_takes_a_depth_for_traces_alone(trace):
    found = sk.compare(trace, {"one": system(), "two": system(bricks=2)}, seeds=2, depth=8)
    assert found.data.attrs["closed_loop"] == 1
    loop = sk.workload.ClosedLoop(sk.workload.RandomRequests(sk.workload.FixedSize(4096), 1.0), 4)
    with pytest.raises(InputError, match="depth is for a trace"):
        sk.compare(loop, {"one": system()}, seeds=2, depth=8)


def test_an_overloaded_replay_says_why(trace):
    """Four requests a second are served at once; four hundred fill the disk, and the last requests wait the longest."""
    columns = np.zeros(len(trace)), trace.concatenated().offset, trace.size, trace.read
    paced = {rate: request_trace(np.arange(len(trace)) / rate, *columns) for rate in (4, 400)}
    assert sk.replay(paced[4], system()).attrs["overloaded"] == ""
    data = sk.replay(paced[400], system())
    busy, rise = data.attrs["overloaded"].split("; ")
    assert busy == f"its busiest brick is busy {float(data.utilization[0]):.0%} of the time"
    first, *_, last = (part.mean() * 1e3 for part in np.split(data.response_time.values, 5))
    assert rise == f"response times rose from {first:.3g} to {last:.3g} ms over the run"
    # two bricks that are nearly always busy, and a closed loop, which is never overloaded
    assert "and 2 of 2 bricks more than 95%" in sk.replay(paced[400], system(bricks=2)).attrs["overloaded"]
    assert sk.replay(trace, system(), depth=32).attrs["overloaded"] == ""


@pytest.mark.parametrize(
    ("outside", "utilization", "responses", "closed", "reasons"),
    [
        (0.001, [0.95, 0.2], [1, 2, 3, 4, 2], False, ""),
        (0.0011, [0.5], [1, 1, 1, 1, 1], True, "0.1% of the arrivals waited for a slot"),
        (0.0, [0.5, 0.96], [1, 2, 3, 4, 1], False, "its busiest brick is busy 96% of the time"),
        (0.0, [0.96, 0.97], [1, 2, 3, 4, 5], True, ""),
        (0.0, [0.5], [1e-3, 1.1e-3, 1.2e-3, 1.3e-3, 1.9e-3], False, ""),
        (
            0.0,
            [0.5],
            [1e-3, 1.1e-3, 1.2e-3, 1.3e-3, 2.1e-3],
            False,
            "response times rose from 1 to 2.1 ms over the run",
        ),
    ],
)
def test_the_limits_of_an_overload(outside, utilization, responses, closed, reasons):
    assert overload_reasons(100, outside, utilization, responses, closed) == reasons


def test_few_requests_and_parts_without_responses_show_no_overload():
    assert overload_reasons(99, 0.0, [1.0], [1.0, 2.0, 3.0, 4.0, 5.0], False) == ""
    assert overload_reasons(100, 0.0, [], [np.nan, 2.0, 3.0, 4.0, 5.0], False) == ""
    assert "1.0% of the arrivals" in overload_reasons(99, 0.01, [1.0], [1.0] * 5, False)


def test_asynchronous_requests_have_no_part_in_an_overload():
    """The first fifth has only asynchronous requests, and the others become longer and longer."""
    count = 500
    columns = np.arange(count, dtype=float), np.zeros(count), np.zeros(count, int), 512 * (1 + np.arange(count))
    asynchronous = np.arange(count) < 100
    longer = request_trace(*columns, np.zeros(count, bool), asynchronous=asynchronous)
    assert sk.replay(longer, system()).attrs["overloaded"] == ""
