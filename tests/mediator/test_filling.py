"""How many sessions of a kind fit."""

import math

import pytest

from storagekit.analytic.forkjoin import Disk, Host, Network
from storagekit.core.errors import InputError
from storagekit.core.units import KB, MB, MS
from storagekit.mediator import Admitted, Cluster, Economical, Ledger, Mediator, Request, SmallUnits, fill, filling

# without seek and rotation everything is certain: a megabyte takes 0.1 s
CERTAIN = Disk(0.0, 0.0, MB / 0.1)
FAST = Network(1e15, switched=True)


def cluster(disk: Disk, agents: int) -> Cluster:
    return Cluster((disk,) * agents, Host(1e15), Host(1e15), FAST)


@pytest.mark.parametrize("agents", [1, 3])
def test_disks_without_chance_are_filled_to_the_last_block(agents):
    """A session of 1 MB/s reads a megabyte a second, a tenth of a disk's time: ten for each disk."""
    full = fill(cluster(CERTAIN, agents), Request("client", MB, 60 * MB, buffer=MB))
    assert full.sessions == 10 * agents and full.rate == 10 * agents * MB
    assert full.binding.value > full.binding.limit
    assert full.check().met.all()
    assert full.to_dict()["sessions"] == 10 * agents


def test_with_chance_there_are_fewer_and_all_are_met():
    disk = Disk(8 * MS, 4 * MS, 20e6)
    request = Request("client", 1e6, 60_000_000)
    full = fill(cluster(disk, 4), request)
    # at best a block of a megabyte takes its mean
    most = 4 * (MB / 1e6) / float(disk.mean(MB))
    assert 0.7 * most < full.sessions < most
    assert full.check(seed=1).met.mean() >= 0.99


def test_more_agents_and_smaller_rates_serve_more():
    disk = Disk(8 * MS, 4 * MS, 20e6)
    by_agents = [fill(cluster(disk, agents), Request("client", 1e6, 60_000_000)).sessions for agents in (1, 2, 4, 8)]
    assert by_agents == sorted(by_agents) and by_agents[-1] >= 8 * by_agents[0]
    by_rate = [fill(cluster(disk, 4), Request("client", rate, 60_000_000)).sessions for rate in (4e6, 2e6, 1e6)]
    assert by_rate == sorted(by_rate) and by_rate[0] < by_rate[-1]


def test_where_nothing_fits_the_answer_says_why():
    full = fill(cluster(CERTAIN, 2), Request("client", 1e9, 10**9))
    assert not full.feasible and full.sessions == 0 and math.isfinite(full.binding.value)
    assert str(full).startswith("not feasible: disk of agent")
    with pytest.raises(InputError, match="nothing to check"):
        full.check()


def test_more_sessions_than_anybody_asks_for_are_not_counted(monkeypatch):
    monkeypatch.setattr(filling, "MOST", 50)
    with pytest.raises(InputError, match="more than 50 sessions"):
        fill(cluster(Disk(0.0, 0.0, 1e15), 1), Request("client", 1.0, 4 * KB))


@pytest.mark.parametrize("network", [FAST, Network(125e6), Network(2e6, rings=3)])
@pytest.mark.parametrize("group", [None, 2])
def test_what_is_refused_before_it_is_counted_would_have_been_counted(monkeypatch, network, group):
    disks = (Disk(8 * MS, 4 * MS, 20e6), Disk(16 * MS, 8.3 * MS, 2.5e6))
    cluster, request = Cluster(disks * 4, Host(), Host(), network), Request("client", 0.2e6, 12_000_000, group=group)
    sessions = fill(cluster, request).sessions
    mediator = Mediator(Ledger(cluster))
    first = mediator.request(request)
    assert isinstance(first, Admitted)
    proved = [n for n in range(1, 3 * sessions) if filling._fit_evenly(mediator.ledger.tail, cluster, first, n)]
    assert proved == list(range(1, len(proved) + 1))
    assert 0.1 * sessions < len(proved) <= sessions
    # up to there it is refused without a second session
    monkeypatch.setattr(filling, "MOST", len(proved) - 1)
    asked = []
    counted = Mediator.request
    monkeypatch.setattr(Mediator, "request", lambda self, one: (asked.append(one), counted(self, one))[1])
    with pytest.raises(InputError, match=f"more than {len(proved) - 1} sessions of 200000 bytes/s fit: ask with a hi"):
        fill(cluster, request)
    assert len(asked) == 1


def test_a_low_rate_does_not_pay_for_more_check_data_than_it_must():
    """A group of four data blocks for one of parity, not a mirror of one and one, which needs fewer agents."""
    full = fill(cluster(CERTAIN, 10), Request("client", MB, 60 * MB, buffer=4 * MB, group=4))
    assert len(full.admitted[0].layout.agents) == 5 and full.admitted[0].layout.data == 4
    # ten agents, each a tenth busy with one session of a block for every 4 s: 5 blocks of 0.1 s
    assert full.sessions == 10 * 4 / (5 * 0.1)


def test_small_units_leave_room_for_short_periods():
    """Twenty sessions of 0.2 MB/s that send a megabyte at a time may keep the ring for 0.17 s; one of 20 MB/s needs 0.03 s of
    it in each of its periods of 0.2 s, and its own processor for 0.04 s. With a quarter of a megabyte it is 0.04 for 0.17."""
    disks = Cluster((Disk(16 * MS, 8.3 * MS, 2.5e6),) * 32, Host(), Host(), Network(125e6))
    quick = Request("quick", 20e6, 1_200_000_000)

    def room_for_quick(policy) -> bool:
        mediator = Mediator(Ledger(disks), policy)
        for number in range(20):
            assert isinstance(mediator.request(Request(f"slow {number}", 0.2e6, 12_000_000)), Admitted)
        return isinstance(mediator.request(quick), Admitted)

    assert room_for_quick(SmallUnits(256 * KB)) and not room_for_quick(Economical())
