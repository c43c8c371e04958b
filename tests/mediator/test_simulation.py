"""Simulate admitted sessions: they are met as promised.

The simulation agrees with single events and with a hand calculation.
"""

import heapq
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from storagekit.analytic.forkjoin.parts import Disk, Host, Network
from storagekit.core.errors import InputError
from storagekit.core.units import MS
from storagekit.mediator import Cluster, Economical, FirstFit, StripeLayout, TransferPlan, Widest, simulate
from storagekit.mediator.simulation import Stations, flow

KINDS = (Disk(16 * MS, 8.3 * MS, 2.5e6), Disk(8 * MS, 4 * MS, 6e6), Disk(0.1 * MS, 0, 20e6))


def one_by_one(stations, write, disk, sent):
    """Process one event at a time: the earliest arrival is served next, by the server that is free first."""
    last = len(stations) - 1
    free = {}
    done = np.zeros(write.size)
    events = [((sent if write[n] else disk)[n], n, last if write[n] else 0) for n in range(write.size)]
    heapq.heapify(events)
    while events:
        time, block, step = heapq.heappop(events)
        at = stations[step]
        servers = free.setdefault((step, int(at.resource[block])), [-np.inf] * at.servers)
        finish = max(time, heapq.heappop(servers)) + at.service[block]
        heapq.heappush(servers, finish)
        step += -1 if write[block] else 1
        if not 0 <= step <= last:
            done[block] = finish
        elif write[block]:
            heapq.heappush(events, (max(finish, disk[block]) if step == 0 else finish, block, step))
        else:
            heapq.heappush(events, (max(finish, sent[block]) if step == 1 else finish, block, step))
    return done


@given(st.integers(0, 10**6), st.integers(1, 60), st.floats(0.01, 2), st.integers(1, 3))
@settings(max_examples=150)
def test_blocks_flow_as_in_single_events(seed, count, crowd, servers):
    draw = np.random.default_rng(seed)
    resources = [3, 3, 1, 2]
    stations = [
        Stations(draw.integers(0, resource, count), draw.random(count) * crowd, servers if resource == 1 else 1)
        for resource in resources
    ]
    write = draw.random(count) < draw.random()
    disk = draw.random(count) * count / 10
    sent = np.where(write, disk - draw.random(count), disk + draw.random(count))
    np.testing.assert_allclose(flow(stations, write, disk, sent), one_by_one(stations, write, disk, sent), rtol=1e-12)


def test_a_simulation_worked_by_hand():
    """Work the times of two sessions by hand.

    Disks have 1,000 bytes/s and no seek; an agent needs 10 ms for a block of 100 bytes, the ring 20 ms, a client 30 ms.

    Two sessions read 300 bytes at 200 bytes/s each. A stripe is 200 bytes in 1 s on both agents. Each block takes 100
    ms at its disk; the second session's blocks follow the first's.

    Blocks enter the network from 1 s on. Both agents finish the first session's block at 1.01 s and the second's at
    1.02 s. The ring finishes at 1.03, 1.05, 1.07 and 1.09 s, and the shared client at 1.06, 1.09, 1.12 and 1.15 s. The
    first stripe of the first session arrives at 1.09 s and that stripe of the second at 1.15 s; both are due at 2 s.

    The second stripes have one block each, on agent 0. The agent finishes at 2.01 and 2.02 s, the ring at 2.03 and 2.05
    s, and the client at 2.06 and 2.09 s; both are due at 3 s.
    """
    host = Host(10_000.0, 0.0, 1.0)  # 10 ms for 100 bytes
    cluster = Cluster((Disk(0, 0, 1000.0),) * 2, host, replace(host, per_byte=3.0), Network(5000.0))
    layout = StripeLayout.over(300, 100, (0, 1))
    plans = [TransferPlan(layout, "shared", 200.0, False) for _ in range(2)]
    found = simulate(cluster, plans)
    np.testing.assert_allclose(found.stripes[0], [1.09 - 2, 2.06 - 3])
    np.testing.assert_allclose(found.stripes[1], [1.15 - 2, 2.09 - 3])
    np.testing.assert_allclose(found.lateness, [1.09 - 2, 1.15 - 2])
    assert found.met.all() and found.in_time.tolist() == [1, 1]
    assert "2 of 2 sessions met" in str(found)
    # a write alone: client at 0.03 and 0.06 s, ring 0.05 and 0.08 s, agent 0.06 and 0.09 s, disk from 1 s to 1.1 s
    (written,) = simulate(cluster, [replace(plans[0], write=True)]).stripes
    np.testing.assert_allclose(written, [1.1 - 2, 2.1 - 3])
    # Eleven sessions at once: the last two blocks leave their disks late, at 1.1 s. They wait for 20 packets and are
    # taken one after the other.
    crowd = simulate(cluster, [replace(plans[0], client=f"{n}") for n in range(11)])
    assert crowd.stripes[10][0] == pytest.approx(1.01 + 21 * 0.02 + 2 * 0.03 - 2)


def test_a_late_disk_makes_a_late_stripe():
    """Two blocks of 1 s each on one disk are due at 1.5 s: the second reaches the network half a second late."""
    cluster = Cluster((Disk(0, 0, 100.0),), Host(1e12), Host(1e12), Network(1e12))
    plans = [TransferPlan(StripeLayout(100, 100, ((0,),)), name, 100 / 1.5, False) for name in "ab"]
    found = simulate(cluster, plans)
    np.testing.assert_allclose(found.lateness, [1.5 - 3, 2.0 - 3], atol=1e-6)
    quick = [replace(plan, rate=125.0) for plan in plans]
    np.testing.assert_allclose(simulate(cluster, quick).lateness, [1.0 - 1.6, 2.0 - 1.6], atol=1e-6)
    assert simulate(cluster, quick).met.tolist() == [True, False]


def test_seeks_and_rotations_have_the_papers_distributions():
    """All blocks queue at one disk at once, and the network takes no time.

    The gaps between blocks are therefore the service times.
    """
    disk = KINDS[0]
    cluster = Cluster((disk,), Host(1e15), Host(1e15), Network(1e15))
    count, unit = 4000, 4096
    plan = TransferPlan(StripeLayout(count * unit, unit, ((0,),)), "a", 1e15, False)
    times = np.diff(simulate(cluster, [plan], seed=5).stripes[0])
    error = np.sqrt(disk.variance() / count)
    assert abs(times.mean() - disk.mean(unit)) < 4 * error
    assert times.var() == pytest.approx(disk.variance(), rel=0.1)
    assert disk.transfer(unit) <= times.min() and times.max() <= disk.slowest(unit) + 1e-9


def shares(oracle, cluster, rates, policies=None, fillings=3, seeds=8, **more):
    """Return the share of sessions met, over fillings and seeds, and the utilization of the busiest disk."""
    met, busy = [], []
    for filling in range(fillings):
        reservations, admitted = oracle.fill(cluster, filling, rates, policies, **more)
        busy.append(reservations.disk_shares.max())
        met += [simulate(cluster, [one.plan for one in admitted], seed).met for seed in range(seeds)]
    return np.concatenate(met), float(np.mean(busy))


@pytest.mark.parametrize(
    ("kinds", "rates", "policies"),
    [
        (KINDS[0], [0.2e6], None),
        (KINDS[0], [1.2e6], None),
        (KINDS[0], [0.1e6, 0.4e6, 1.2e6, 3e6], (Economical(), FirstFit())),
        (KINDS, [0.1e6, 0.4e6, 1.2e6, 3e6], (Economical(), Widest(), FirstFit())),
    ],
    ids=["low", "video", "mixed, two mediators", "mixed on three kinds of disks, three mediators"],
)
def test_sessions_that_are_admitted_are_met(oracle, kinds, rates, policies):
    cluster = oracle.cluster_of(12, kinds)
    met, busy = shares(oracle, cluster, rates, policies)
    assert busy > 0.4, "the cluster is not near full, so that the simulation shows nothing"
    assert met.size > 200
    assert met.mean() >= 0.99, f"{met.mean():.3%} of {met.size} sessions met, fullest disk {busy:.0%} reserved"


def test_a_simulation_shows_too_many_admissions(oracle):
    """As a control, add two thirds more sessions of the same kinds: many are late."""
    cluster = oracle.cluster_of(12)
    plans = [one.plan for one in oracle.fill(cluster, 0, [0.2e6, 1.2e6])[1]]
    crowd = plans + [replace(plan, client=f"more {n}") for n, plan in enumerate(plans) if n % 3]
    assert simulate(cluster, plans).met.mean() >= 0.99
    assert simulate(cluster, crowd).met.mean() < 0.8


def test_a_degraded_read_keeps_its_rate(oracle):
    """One agent of each group of every session fails before the read.

    Parity uses the time that was reserved for the agent.
    """
    cluster = oracle.cluster_of(12)
    met = []
    for filling in range(3):
        _, admitted = oracle.fill(cluster, filling, [0.2e6, 1.2e6], group=1.0, write=0.0)
        plans = [one.plan.degraded([group[filling % 2] for group in one.layout.groups]) for one in admitted]
        met += [simulate(cluster, plans, seed).met for seed in range(5)]
    assert np.concatenate(met).size > 100 and np.mean(np.concatenate(met)) >= 0.99


def test_a_failure_during_a_session_delays_only_the_stripe_at_the_disks(oracle):
    cluster, late = oracle.cluster_of(12), 0
    for filling in range(3):
        reservations, admitted = oracle.fill(cluster, filling, [0.2e6, 1.2e6], group=1.0, write=0.0)
        assert reservations.disk_shares.max() > 0.4
        agent, at = 3 * filling, 31.7
        plans = [one.plan.degraded(agent, at) if agent in one.layout.agents else one.plan for one in admitted]
        assert sum(bool(plan.failures) for plan in plans) >= 4
        for seed in range(5):
            for plan, lateness in zip(plans, simulate(cluster, plans, seed).stripes, strict=True):
                hit = np.arange(lateness.size) == (int((at - plan.start) / plan.period) if plan.failures else -1)
                assert np.all(lateness[~hit] <= 1e-9)
                assert np.all(lateness[hit] <= plan.period)
                late += int(np.sum(lateness[hit] > 1e-9))
    assert late > 0


def test_equal_seeds_give_equal_runs(oracle):
    cluster = oracle.cluster_of(4)
    plans = [one.plan for one in oracle.fill(cluster, 0, [0.5e6])[1]]
    first, again, other = (simulate(cluster, plans, seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.lateness, again.lateness)
    assert np.any(first.lateness != other.lateness)


@pytest.mark.usefixtures("unchecked")
def test_a_seed_is_a_whole_number_from_0(oracle):
    plan = TransferPlan(StripeLayout.over(100, 4, (0,)), "a", 1.0, False)
    for seed in (-1, 1.5, np.nan):
        with pytest.raises(InputError, match=f"seed {seed}: give a whole number, between 0 and 18446744073709551615"):
            simulate(oracle.cluster_of(4), [plan], seed)


def test_impossible_simulations_raise(oracle):
    plan = TransferPlan(StripeLayout.over(100, 4, (0, 9)), "a", 1.0, False)
    for plans, message in (
        ([], "no plans: give at least one plan"),
        ([plan], "agent 9: the cluster has agents 0 to 3"),
    ):
        with pytest.raises(InputError, match=message):
            simulate(oracle.cluster_of(4), plans)
