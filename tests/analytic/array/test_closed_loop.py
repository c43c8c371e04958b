"""Queues at the disks against distributions summed term by term, and elevators against a simulated one."""

import numpy as np
import pytest

from storagekit.analytic.array.closed_loop import busy_share, idle_station, shape_of, waiting_at_choice
from storagekit.analytic.array.nearest_of_several import least_linear
from storagekit.analytic.array.positioning import Linear


def queue_at_a_station(stations, outstanding, shape):
    """The product form: P(n) at one of `stations` with service times 1 + (shape - 1)/n, by convolution."""
    weight = np.cumprod([1.0, *((n + shape - 1) / n for n in range(1, outstanding + 1))])
    others = np.eye(1, outstanding + 1)[0]
    for _ in range(stations - 1):
        others = np.convolve(others, weight)[: outstanding + 1]
    chance = weight * others[::-1]
    return chance / chance.sum()


@pytest.mark.parametrize("shape", [1.0, 1.7, 6.0])
@pytest.mark.parametrize(("stations", "outstanding"), [(1, 5), (2, 2), (3, 9), (8, 64), (5, 1)])
def test_the_queue_that_a_choice_sees(stations, outstanding, shape):
    chance = queue_at_a_station(stations, outstanding - 1, shape)
    mean = (chance / np.maximum(np.arange(outstanding) + 1, 2)).sum()
    assert waiting_at_choice(stations, outstanding, shape) == pytest.approx(1 / mean - 1, rel=1e-4)
    assert idle_station(stations, outstanding, shape) == pytest.approx(
        queue_at_a_station(stations, outstanding, shape)[0], abs=1e-6
    )


def test_exponential_services_are_exact():
    """The exact busy share is Q / (Q + D - 1); Schweitzer's estimate is close to it."""
    disks, queue = np.array([2, 8, 48]), np.array([4, 1, 8])
    exact = disks * queue / (disks * queue + disks - 1)
    np.testing.assert_allclose(busy_share(disks, queue, 1.0), exact, rtol=0.02)
    assert busy_share(1, 3, 0.1) == pytest.approx(1)
    assert np.all(busy_share(disks, queue, 0.1) > exact)


def test_the_shape_is_recovered():
    waiting, share = np.array([2.0, 9.0]), 1e-4
    assert shape_of(waiting, 1 + 3 / waiting, 1 + 3 / (waiting * (1 + share)), share) == pytest.approx(4, rel=1e-3)


@pytest.mark.parametrize("waiting", [1, 2, 4, 16])
def test_an_elevator_moves_two_thirds_of_an_even_share(waiting):
    """The mean distance between `waiting` targets, each replaced at random after it is served."""
    generator = np.random.default_rng(5)
    rows = np.arange(200)
    targets, at, way = generator.random((200, waiting)), generator.random(200), np.ones(200)
    distances = []
    for _ in range(600):
        ahead = way[:, None] * (targets - at[:, None])
        chosen = np.where(ahead >= 0, ahead, 2 - ahead).argmin(axis=1)
        target = targets[rows, chosen]
        distances.append(np.abs(target - at))
        way, at = np.sign(target - at), target
        targets[rows, chosen] = generator.random(200)
    mean = float(np.mean(distances[100:]))
    expected = float(Linear(1.0, 1.0, 0.0).stroke(1.0, waiting))
    assert expected == pytest.approx(2 / (3 * (waiting + 1)))
    assert -0.01 < mean / expected - 1 < 0.08


def test_a_number_of_heads_between_whole_ones():
    full, arc = np.array([7.0, 1.0, 5.0]), np.array([3.0, 8.0, 5.0])
    for copies in (1, 3, 20):
        some = least_linear(full, arc, np.full(3, copies + 1e-9))
        np.testing.assert_allclose(some, least_linear(full, arc, np.full(3, copies)), rtol=5e-3)
    between = least_linear(full, arc, np.full(3, 2.5))
    assert np.all(
        (between < least_linear(full, arc, np.full(3, 2))) & (between > least_linear(full, arc, np.full(3, 3)))
    )
