"""Test the number of sessions of one kind that fit."""

import math

import pytest

from storagekit.analytic.forkjoin import Disk, Host, Network
from storagekit.core.errors import InputError
from storagekit.core.units import KB, MB, MS
from storagekit.mediator import (
    Admitted,
    Cluster,
    Economical,
    Mediator,
    Request,
    Reservations,
    SmallUnits,
    fill,
    filling,
)

# without seek and rotation the service time is constant: a megabyte takes 0.1 s
CONSTANT = Disk(0.0, 0.0, MB / 0.1)
FAST = Network(1e15, switched=True)


def cluster(disk: Disk, agents: int) -> Cluster:
    return Cluster((disk,) * agents, Host(1e15), Host(1e15), FAST)


@pytest.mark.parametrize("agents", [1, 3])
def test_disks_with_constant_times_are_filled_to_the_last_block(agents):
    """A session of 1 MB/s reads a megabyte a second, a tenth of a disk's time, so ten sessions fit each disk."""
    full = fill(cluster(CONSTANT, agents), Request("client", MB, 60 * MB, buffer=MB))
    assert full.sessions == 10 * agents and full.rate == 10 * agents * MB
    assert full.binding.value > full.binding.limit
    assert full.check().met.all()
    assert full.to_dict()["sessions"] == 10 * agents


def test_random_times_admit_fewer_sessions_and_all_are_met():
    disk = Disk(8 * MS, 4 * MS, 20e6)
    request = Request("client", 1e6, 60_000_000)
    full = fill(cluster(disk, 4), request)
    # at best, a block of a megabyte takes its mean time
    upper_bound = 4 * (MB / 1e6) / float(disk.mean(MB))
    assert 0.7 * upper_bound < full.sessions < upper_bound
    assert full.check(seed=1).met.mean() >= 0.99


def test_more_agents_and_smaller_rates_serve_more():
    disk = Disk(8 * MS, 4 * MS, 20e6)
    by_agents = [fill(cluster(disk, agents), Request("client", 1e6, 60_000_000)).sessions for agents in (1, 2, 4, 8)]
    assert by_agents == sorted(by_agents) and by_agents[-1] >= 8 * by_agents[0]
    by_rate = [fill(cluster(disk, 4), Request("client", rate, 60_000_000)).sessions for rate in (4e6, 2e6, 1e6)]
    assert by_rate == sorted(by_rate) and by_rate[0] < by_rate[-1]


def test_where_nothing_fits_the_result_names_the_reason():
    full = fill(cluster(CONSTANT, 2), Request("client", 1e9, 10**9))
    assert not full.feasible and full.sessions == 0 and math.isfinite(full.binding.value)
    assert str(full).startswith("not feasible: disk of agent")
    with pytest.raises(InputError, match="the check needs an admitted session"):
        full.check()


def test_more_sessions_than_the_limit_raise(monkeypatch):
    monkeypatch.setattr(filling, "MOST", 50)
    with pytest.raises(InputError, match="more than 50 sessions"):
        fill(cluster(Disk(0.0, 0.0, 1e15), 1), Request("client", 1.0, 4 * KB))


@pytest.mark.parametrize("network", [FAST, Network(125e6), Network(2e6, rings=3)])
@pytest.mark.parametrize("group", [None, 2])
def test_sessions_rejected_before_counting_would_fit(monkeypatch, network, group):
    disks = (Disk(8 * MS, 4 * MS, 20e6), Disk(16 * MS, 8.3 * MS, 2.5e6))
    cluster, request = Cluster(disks * 4, Host(), Host(), network), Request("client", 0.2e6, 12_000_000, group=group)
    sessions = fill(cluster, request).sessions
    mediator = Mediator(Reservations(cluster))
    first = mediator.request(request)
    assert isinstance(first, Admitted)
    proved = [n for n in range(1, 3 * sessions) if filling._fit_balanced(cluster, first, n)]
    assert proved == list(range(1, len(proved) + 1))
    assert 0.1 * sessions < len(proved) <= sessions
    # up to this number, the function raises without a second session
    monkeypatch.setattr(filling, "MOST", len(proved) - 1)
    received = []
    unpatched = Mediator.request
    monkeypatch.setattr(Mediator, "request", lambda self, one: (received.append(one), unpatched(self, one))[1])
    with pytest.raises(InputError, match=f"more than {len(proved) - 1} sessions of 200000 bytes/s fit: give a hi"):
        fill(cluster, request)
    assert len(received) == 1


def test_a_low_rate_uses_the_least_check_data():
    """The layout is a group of four data blocks and one parity block.

    A mirror of one and one would need fewer agents and more check data.
    """
    full = fill(cluster(CONSTANT, 10), Request("client", MB, 60 * MB, buffer=4 * MB, group=4))
    assert len(full.admitted[0].layout.agents) == 5 and full.admitted[0].layout.data == 4
    # each of ten agents serves one block of every session each 4 s, and each session has 5 blocks of 0.1 s
    assert full.sessions == 10 * 4 / (5 * 0.1)


def test_small_units_leave_time_for_short_periods():
    """Twenty sessions of 0.2 MB/s that send a megabyte at a time may occupy the ring for 0.17 s.

    One session of 20 MB/s needs the ring for 0.03 s in each of its periods of 0.2 s, and its processor for 0.04 s. With
    units of a quarter of a megabyte, the wait is 0.04 s instead of 0.17 s.
    """
    disks = Cluster((Disk(16 * MS, 8.3 * MS, 2.5e6),) * 32, Host(), Host(), Network(125e6))
    quick = Request("quick", 20e6, 1_200_000_000)

    def quick_fits(policy) -> bool:
        mediator = Mediator(Reservations(disks), policy)
        for number in range(20):
            assert isinstance(mediator.request(Request(f"slow {number}", 0.2e6, 12_000_000)), Admitted)
        return isinstance(mediator.request(quick), Admitted)

    assert quick_fits(SmallUnits(256 * KB)) and not quick_fits(Economical())
