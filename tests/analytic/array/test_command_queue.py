"""Disks that select the nearest of several requests: exact cases, laws, and agreement with the engine."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from storagekit.analytic.array.aspect import Layout
from storagekit.analytic.array.command_queue import command_queue
from storagekit.analytic.array.positioning import spindle
from storagekit.dispatch import Hashing
from storagekit.drive import load_drive
from storagekit.engine import Scenario, System
from storagekit.placement import Replicas
from storagekit.plan import RLOOK
from storagekit.plan.devices import predict
from storagekit.plan.requirements import Requirements
from storagekit.plan.scheme import Mirrored, Parity
from storagekit.queue import Depth
from storagekit.schedule import SATF
from storagekit.simulation import replicate
from storagekit.workload import FixedSize, PoissonArrivals, RandomRequests

DRIVE = load_drive("toshiba_mg10_20tb")
TIMING = spindle(DRIVE)


@settings(max_examples=40)
@given(st.floats(0.02, 0.9999), st.floats(0.05, 1.5))
def test_without_a_selection_the_queue_is_that_of_pollaczek_and_khinchine(busy, variation):
    """One request to select from is an M/G/1 queue, whose mean waiting time is exact."""
    mean, square = np.array([0.01]), np.array([0.01**2 * (1 + variation)])
    found = command_queue(busy / 0.01, mean, square)
    assert found.busy == pytest.approx(busy, rel=1e-4)
    waits = busy / 0.01 * square[0] / (2 * (1 - busy))
    # the gamma distribution of services has their mean and their mean square, which determine the mean waiting time
    assert found.busy * found.wait == pytest.approx(waits, rel=0.01)


def test_two_exponential_speeds_have_the_birth_and_death_solution():
    """Services take 10 ms with one request and 5 ms with two or more, exponential, at 100 requests a second.

    A service that starts with one request keeps its speed when a second request arrives. With the probability e_k that k
    requests arrive in it, which is geometric: more than k arrive with the probability (1/2)^(k + 1) in 10 ms, and with
    (1/3)^(k + 1) in 5 ms.
    """
    mean = np.array([0.01, 0.005])
    found = command_queue(100.0, mean, 2 * mean**2)
    # a level is crossed upwards as often as downwards; none arrives with 1/2 and with 2/3
    pi = [1.0, 0.5 / 0.5]
    for level in range(1, 200):
        up = pi[0] * 0.5 ** (level + 1) + pi[1] * 0.5 ** (level + 1)
        up += sum(pi[n] * (1 / 3) ** (level - n + 2) for n in range(2, level + 1))
        pi.append(up / (2 / 3))
    pi = np.array(pi) / np.sum(pi)
    service = 0.01 * (pi[0] + pi[1]) + 0.005 * pi[2:].sum()
    assert found.waited[0] == pytest.approx(pi[1] / (1 - pi[0]), rel=1e-6)
    assert found.chances == pytest.approx([pi[0] + pi[1], pi[2:].sum()], rel=1e-6)
    assert found.busy == pytest.approx(service / (service + pi[0] / 100), rel=1e-6)


def prediction(depth: int, rate: float, disks: int = 1):
    needs = Requirements(
        DRIVE, disks, 18e12 * disks, ((16384.0, 1.0),), 1.0, rate, None, 0, None, None, None, None, queue_depth=depth
    )
    scheme = Mirrored(Layout(disks, 1, 1))
    return predict(needs, TIMING, [scheme], RLOOK(), disks)[0]


@pytest.mark.parametrize("rate", [20.0, 60.0])
def test_a_deeper_queue_is_never_slower(rate):
    found = [prediction(depth, rate) for depth in (1, 2, 4, 8, 32, 128)]
    means, limits = [one.mean for one in found], [one.throughput for one in found]
    assert all(later <= 1.005 * first for first, later in pairwise(means))
    assert limits == sorted(limits)


@pytest.mark.parametrize(
    "load", [0.5, pytest.param(1.0, marks=pytest.mark.slow), pytest.param(1.3, marks=pytest.mark.slow)]
)
def test_the_formula_agrees_with_the_engine(load):
    """The load is a share of the rate at which a disk without a selection is always busy."""
    rate = load * prediction(1, 1.0).throughput
    layout = Replicas(1)
    system = System(DRIVE, layout, Hashing(), SATF(), queue=Depth(32), slots=128)
    locality = float(layout.capacity(DRIVE)) * 512 / 18e12
    arrivals = PoissonArrivals(RandomRequests(FixedSize(16384.0), 1.0, locality, alignment=32), rate)
    found = replicate(Scenario(system, arrivals), seeds=8, requests=4000, warm_up=800, allow_blocked=True)
    said = prediction(32, rate)
    assert said.mean == pytest.approx(float(found.response.mean()), rel=0.1)
    assert said.utilization == pytest.approx(float(found.utilization.mean()), rel=0.03)


SCHEMES = [Mirrored(Layout(12, 1, 1)), Mirrored(Layout(6, 1, 2)), Parity(12), Parity(4, 2, 3)]


@pytest.mark.parametrize("depth", [1, 32])
@pytest.mark.parametrize("scheme", SCHEMES, ids=str)
def test_response_times_rise_smoothly_up_to_the_limit(scheme, depth):
    """From 1% to 99.99% of the maximum rate the mean and the quantile grow, with a tail like that of an exponential time."""

    def at(rate: float):
        needs = Requirements(
            DRIVE, 12, 60e12, ((16384.0, 1.0),), 0.7, rate, None, 0, None, None, None, None, queue_depth=depth
        )
        return predict(needs, TIMING, [scheme], RLOOK(), 12)[0]

    limit = at(1.0).throughput
    found = [at(share * limit) for share in (*np.linspace(0.01, 0.99, 40), 0.999, 0.9999)]
    for one, later in pairwise(found):
        assert later.mean > one.mean and later.p99 > one.p99 and later.utilization >= one.utilization
        assert 1.5 < one.p99 / one.mean < 5.5
    ends = [0.001 * found[-2].mean, 0.0001 * found[-1].mean]
    assert ends[0] == pytest.approx(ends[1], rel=0.1)
