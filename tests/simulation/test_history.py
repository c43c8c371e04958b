"""Test long runs: the pieces of a run add up to the whole, and only sums are stored."""

import numpy as np
import pytest
from helpers import assert_refused

from storagekit.dispatch import Hashing
from storagekit.drive import RateServer
from storagekit.engine import Scenario, System
from storagekit.faults import FaultSchedule, Slowdown
from storagekit.placement import Replicas
from storagekit.schedule import FCFS
from storagekit.simulation import history, simulate
from storagekit.workload import FixedSize, PoissonArrivals, RandomRequests
from storagekit.write import AllCopies

REQUESTS = RandomRequests(FixedSize(4096), 0.5)
COUNTS = ("requests", "accesses", "elapsed", "blocked")


def pair(rate=50.0, faults=None, slots: int | None = 64) -> Scenario:
    system = System(RateServer(2000), Replicas(2), Hashing(), FCFS(), AllCopies(), faults=faults, drives=2, slots=slots)
    return Scenario(system, PoissonArrivals(REQUESTS, rate))


@pytest.fixture(scope="module")
def found():
    return history(pair, {"rate": [20.0, 50.0, 80.0]}, requests=6000, seeds=[0, 3], pieces=12)


def test_the_whole_agrees_with_simulate(found):
    alone = simulate(pair(50.0), requests=6000, seed=3, warm_up=0)
    whole = found.whole.sel(rate=50.0, seed=3)
    # Both continue until the slowest run of the batch has finished, so that rates and means agree, but not counts.
    for name in ("response", "service_time", "idle", "request_rate"):
        assert float(whole[name]) == pytest.approx(float(alone[name]), rel=0.05), name


@pytest.mark.parametrize("name", COUNTS)
def test_pieces_add_up_to_the_whole(found, name):
    np.testing.assert_allclose(found.pieces[name].sum("piece"), found.whole[name], rtol=1e-6)


def test_pieces_are_equal_shares_of_the_run(found):
    """A chunk of events belongs to one piece. A piece therefore differs by one chunk at most, except for the last."""
    completed = found.pieces.requests.isel(piece=slice(0, -1))
    assert np.all(np.abs(completed - 500) <= 128)
    np.testing.assert_allclose(found.pieces.piece, (np.arange(12) + 0.5) / 12)


def test_means_of_pieces_are_the_means_of_their_requests(found):
    weighted = (found.pieces.response * found.pieces.requests).sum("piece") / found.whole.requests
    np.testing.assert_allclose(weighted, found.whole.response, rtol=1e-5)


def test_a_warm_up_is_left_out_of_the_whole():
    cut = history(pair, {"rate": [50.0]}, requests=3000, pieces=10, warm_up=0.3)
    np.testing.assert_allclose(
        cut.pieces.requests.isel(piece=slice(3, None)).sum("piece"), cut.whole.requests, rtol=1e-6
    )


def test_a_change_shows_in_its_pieces_alone():
    """Brick 0 has a fifth of its speed in the middle third: it is busy longer there and unchanged elsewhere."""
    third = 2000

    def changing(rate: float) -> Scenario:
        return pair(rate, FaultSchedule(Slowdown(0, 0.2, third, 2 * third)))

    found = history(changing, {"rate": [20.0]}, requests=3 * third, pieces=6)
    busy = found.pieces.utilization.sel(brick=0).squeeze().values
    assert busy[2:4].min() > 3 * busy[[0, 1, 5]].max()


def test_the_last_state_is_passed_to_the_callback():
    seen = []
    history(
        pair, {"rate": [20.0, 50.0, 80.0]}, requests=500, pieces=2, at_end=lambda *arguments: seen.append(arguments)
    )
    assert all(state.slots.number.shape[1] == len(rows) for state, rows in seen)
    assert sorted(set(np.concatenate([rows for _, rows in seen]).tolist())) == [0, 1, 2]


def test_only_runs_that_wait_for_a_slot_are_repeated():
    """At 1 request a second none waits for the second slot, and at 80 many wait.

    The last states come from the runs that count.
    """
    seen = []

    def run_with_slots(slots):
        look = lambda state, rows: seen.extend((state.slots.number.shape[0], row) for row in rows.tolist())  # noqa: E731
        axes = {"rate": [1.0, 80.0]}
        return history(
            lambda rate: pair(rate, slots=None), axes, requests=500, pieces=1, slots=slots, at_end=look
        ).whole

    found = run_with_slots([2, 64])
    assert seen == [(2, 0), (64, 1)]
    few, many = run_with_slots([2]), run_with_slots([64])
    assert few.blocked.values.ravel()[1] > 0 == found.blocked.max()
    for name in ("response", "read_response", "service_time"):
        np.testing.assert_array_equal(found[name].sel(rate=80.0), many[name].sel(rate=80.0))
        np.testing.assert_array_equal(found[name].sel(rate=1.0), few[name].sel(rate=1.0))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"warm_up": 1.0}, "warm-up of 1 of the run"),
        ({"pieces": 10, "warm_up": 0.95}, "leaves none of the 10 pieces"),
        ({"pieces": 0}, "0 pieces of 100 requests"),
    ],
)
def test_impossible_settings_raise(settings, message):
    assert_refused(lambda: history(pair, {"rate": [20.0]}, requests=100, **settings), message)
