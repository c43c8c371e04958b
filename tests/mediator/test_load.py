"""Sessions that arrive and leave, and the cost of redundancy."""

import json
import math
from functools import partial

import numpy as np
import pytest
from helpers import assert_refused

from storagekit.analytic.forkjoin.parts import Disk, Host, Network
from storagekit.core.errors import InputError
from storagekit.core.units import KB
from storagekit.mediator import (
    Cluster,
    Economical,
    Mediator,
    Request,
    Reservations,
    SessionClass,
    StripeLayout,
    Widest,
    redundancy_cost,
    simulate,
    variable_load,
)


def erlang_b(load, servers):
    blocked = 1.0
    for n in range(1, servers + 1):
        blocked = load * blocked / (n + load * blocked)
    return blocked


def test_one_class_with_constant_times_is_a_loss_system():
    """Exactly 10 sessions fit a disk, and holding times are constant: Erlang's B, which depends only on their mean."""
    unit, period = 64 * KB, 0.1
    cluster = Cluster((Disk(0, 0, unit / 10e-3),), Host(1e12), Host(1e12), Network(1e12))
    rate, size = unit / period, 100 * unit
    only = SessionClass(rate, size, buffer=unit)
    holding = (100 + 2) * period
    load = 8.0
    found = variable_load(cluster, None, [only], offered=load / holding * size, sessions=4400, seed=3, batches=10)
    share = found.refused_share()
    assert abs(share.mean - erlang_b(load, 10)) < 1.5 * share.half_width
    assert share.half_width < 0.03
    busy = found.disks.mean()
    assert busy == pytest.approx(load * (1 - share.mean) / 10, rel=0.05)
    carried = found.arrived.sum() - found.refused.sum()
    assert (found.carried * found.seconds).sum() == pytest.approx(carried * size)
    assert (found.offered * found.seconds).sum() == pytest.approx(found.arrived.sum() * size)


def test_refusals_grow_with_the_load_and_hit_the_high_rates_first(oracle):
    cluster = oracle.cluster_of(8)
    classes = [SessionClass(0.2e6, 4_000_000, 3, name="low"), SessionClass(2e6, 40_000_000, 1, write=True, group=4)]
    found = [variable_load(cluster, Economical(), classes, offered, 400, seed=1) for offered in (0.5e6, 4e6, 12e6)]
    shares = [one.refused_share().mean for one in found]
    assert shares[0] < 0.01 < shares[1] < shares[2]
    assert found[2].refused_share(1).mean > found[2].refused_share(0).mean
    assert found[0].arrived.shape == (2, 10)
    # the same sessions arrive under every policy
    wide = variable_load(cluster, Widest(), classes, 4e6, 400, seed=1)
    np.testing.assert_array_equal(wide.arrived, found[1].arrived)
    assert np.all(wide.network <= 1) and np.all(wide.disks <= 1)
    assert json.loads(json.dumps(found[1].to_dict()))["classes"][0]["name"] == "low"
    assert "low: " in str(found[1])


def test_thousands_of_sessions_leave_no_reservations_behind(oracle):
    """Run 2,000 sessions on 32 agents in seconds."""
    classes = [SessionClass(0.2e6, 12_000_000, 0.6), SessionClass(1.2e6, 72_000_000, 0.4, group=4)]
    found = variable_load(oracle.cluster_of(32), None, classes, 90e6, 2000)
    assert found.arrived.sum() == 2000 * 10 // 11
    assert 0 < found.refused.sum() < found.arrived.sum()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"classes": []}, "no classes: give"),
        ({"offered": 0}, "offered 0 bytes/s"),
        ({"sessions": 5}, "sessions 5: give a whole number, at least 22"),
        ({"batches": 0}, "batches 0"),
        ({"seed": -1}, "seed -1: give a whole number, between 0 and 18446744073709551615"),
        ({"seed": 2**64}, "seed 18446744073709551616: give a whole number, between 0 and 18446744073709551615"),
        (
            {"classes": [SessionClass(1e5, 10**6), SessionClass(1e9, 10**9, name="huge")]},
            "class 1 'huge': even the empty cluster rejects a session: disk of agent 0",
        ),
        ({"policy": Economical(), "classes": [SessionClass(1.0, 1, buffer=7)]}, "buffer 7 bytes: the smallest unit"),
    ],
)
def test_impossible_loads_raise(oracle, change, message):
    given = {"policy": None, "classes": [SessionClass(1e5, 10**6)], "offered": 1e6, "sessions": 100} | change
    # not with `assert_refused`: the message for a class that cannot be served contains the whole rejection and is
    # longer
    with pytest.raises(InputError, match=message) as found:
        variable_load(oracle.cluster_of(2), **given)
    assert "\n" not in str(found.value)


def test_impossible_classes_raise():
    for change, message in (({"share": 0}, "share 0"), ({"rate": -1}, "rate -1"), ({"size": 0}, "size 0")):
        assert_refused(partial(SessionClass, **({"rate": 1e5, "size": 10**6} | change)), message)


def test_redundancy_costs_a_parity_block_for_each_group(oracle):
    """Eight data blocks of 32 KB in two groups cost a quarter more bytes, at the rate of 8 of 10 agents, failed or not."""
    cluster = oracle.cluster_of(10)
    layout = StripeLayout.over(8 * 32 * KB * 100, 32 * KB, tuple(range(10)), 4)
    cost = redundancy_cost(cluster, layout)
    assert cost.storage == 0.25
    assert cost.write_bytes == layout.size // 4
    assert cost.check_seconds == pytest.approx(8 * 32 * KB / 100e6)
    # The disk is the limit. Its period per block is the same, except for the budget of a block, which covers more
    # stripes.
    assert cost.rate == pytest.approx(0.8 * cost.plain_rate, rel=0.01)
    assert cost.rate_agent_down == cost.rate
    disk = cluster.disks[0]
    assert disk.mean(32 * KB) < layout.stripe_bytes / cost.rate <= disk.slowest(32 * KB)
    # a session at that rate is met with one agent of each group down
    answer = Mediator(Reservations(cluster)).propose(Request("a", cost.rate * 0.999, layout.size, layout=layout))
    assert simulate(cluster, [answer.plan.degraded([2, 7])]).met.all()


def test_check_data_costs_rate_where_the_client_is_slow(oracle):
    """The disks cost no time, and the client runs a million instructions a second.

    For 8 blocks of 32 KB it processes 8 packets and all their bytes once more.
    """
    host = Host(1e6)
    cluster = oracle.cluster_of(10, Disk(0, 0, 1e12), Network(1e12), client=host)
    layout = StripeLayout.over(8 * 32 * KB * 10, 32 * KB, tuple(range(10)), 4)
    cost = redundancy_cost(cluster, layout)
    stripe = 8 * float(host.seconds(32 * KB)) + float(host.check_seconds(layout.stripe_bytes))
    assert layout.stripe_bytes / cost.rate == pytest.approx(stripe + 32 * KB / 100e6, rel=1e-3)
    write = redundancy_cost(cluster, layout, write=True)
    assert layout.stripe_bytes / write.rate == pytest.approx(
        stripe + 2 * float(host.seconds(32 * KB)) + 33e-5, rel=1e-3
    )
    assert write.rate < cost.rate < cost.plain_rate and math.isfinite(cost.plain_rate)


def test_without_parity_a_lost_agent_loses_all_data(oracle):
    layout = StripeLayout.over(10**6, 32 * KB, (0, 1, 2))
    cost = redundancy_cost(oracle.cluster_of(3), layout)
    assert (cost.storage, cost.write_bytes, cost.check_seconds, cost.rate_agent_down) == (0, 0, 0, 0)
    assert cost.rate == cost.plain_rate > 0
