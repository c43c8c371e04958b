"""Compare admissions and rejections with every possible allocation, tested in plain Python."""

from dataclasses import replace
from functools import partial

import pytest
from helpers import assert_refused
from hypothesis import example, given, settings
from hypothesis import strategies as st

from storagekit.analytic.forkjoin import Disk, Host, Network
from storagekit.core.binding import Binding
from storagekit.core.units import KB, MS
from storagekit.mediator import (
    UNITS,
    Admitted,
    Cluster,
    Economical,
    FirstFit,
    Mediator,
    Proposal,
    Rejected,
    Request,
    Reservations,
    StripeLayout,
    Widest,
)

SLOW, QUICK = Disk(16 * MS, 8.3 * MS, 2.5e6), Disk(8 * MS, 4 * MS, 6e6)
FLASH = Disk(0.1 * MS, 0, 20e6, "flash")
FAST = Network(125e6)
SOME_UNITS = (4 * KB, 16 * KB, 64 * KB, 256 * KB, 1024 * KB)
POLICIES = (Economical(), Widest(), FirstFit())

clusters = st.builds(
    Cluster,
    st.lists(st.sampled_from([SLOW, QUICK, FLASH]), min_size=1, max_size=4).map(tuple),
    st.sampled_from([Host(), Host(), Host(5e6)]),
    st.sampled_from([Host(), Host(), Host(20e6)]),
    st.sampled_from(
        [Network(125e6), Network(3e6), Network(2e6, 1 * MS, rings=2), Network(2e6, rings=3, switched=True)]
    ),
)
requests = st.builds(
    Request,
    st.sampled_from("abc"),
    st.floats(4.5, 6.8).map(lambda power: float(f"{10**power:.3g}")),
    st.integers(10_000, 50_000_000),
    st.booleans(),
    buffer=st.sampled_from([64 * KB, 1024 * KB, 4096 * KB]),
    group=st.sampled_from([None, None, 1, 2]),
    confidence=st.sampled_from([0.9, 0.99, 0.9999]),
)


@given(clusters, st.lists(requests, min_size=1, max_size=9), st.sampled_from(POLICIES))
@settings(max_examples=50)
def test_admitted_if_and_only_if_some_allocation_fits(oracle, cluster, wanted, policy):
    mediator = Mediator(Reservations(cluster), policy, SOME_UNITS)
    for one in wanted:
        held = oracle.sessions_of(mediator.reservations)
        if one.group and cluster.agents < 2:
            assert_refused(partial(mediator.request, one), "agents 1: a group with parity needs 2")
            continue
        least_ratio = oracle.least_ratio(cluster, held, one, SOME_UNITS)
        answer = mediator.request(one)
        if isinstance(answer, Admitted):
            assert oracle.highest_ratio(cluster, [*held, (one, answer.layout)]) <= 1 + 1e-6
            assert answer.utilization.most <= 1 + 1e-6
        else:
            assert least_ratio > 1 - 1e-6
            value, limit = answer.binding.value, answer.binding.limit
            assert value is not None and limit is not None and value > limit
            # The constraint belongs to the allocation with the least ratio. On the network it belongs to the session
            # with the least slack, in seconds. With several periods this session need not have the largest ratio.
            assert value / limit <= least_ratio * (1 + 1e-6)
            if cluster.network == FAST and cluster.agent == cluster.client == Host():
                assert value / limit == pytest.approx(least_ratio, rel=1e-6)
            assert answer.binding.remedy and "\n" not in str(answer.binding)


@given(clusters, st.lists(requests, min_size=2, max_size=8))
@settings(max_examples=60)
def test_an_existing_object_is_read_at_its_agents(oracle, cluster, wanted):
    mediator = Mediator(Reservations(cluster), Widest(), SOME_UNITS)
    wanted = [replace(one, group=None) for one in wanted]
    first = mediator.request(wanted[0])
    if isinstance(first, Rejected):
        return
    for one in wanted[1:]:
        held = oracle.sessions_of(mediator.reservations)
        given = replace(one, size=wanted[0].size, layout=first.layout, buffer=4096 * KB)
        answer = mediator.request(given)
        full = oracle.highest_ratio(cluster, [*held, (given, first.layout)])
        if isinstance(answer, Admitted):
            assert answer.layout == first.layout
            assert full <= 1 + 1e-6
        else:
            assert full > 1 - 1e-6
            assert 1 < answer.binding.value / answer.binding.limit <= full * (1 + 1e-6)


def test_a_failed_commit_to_unchanged_reservations_is_a_rejection(monkeypatch):
    """This happens if the sums of the reservations and of the proposal differ by an ulp.

    If another mediator was faster, the mediator tries again.
    """
    reservations = Reservations(Cluster((SLOW,), Host(), Host(), FAST))
    binding = Binding("disk of agent 0", 1.0, 1.0, "wait")
    monkeypatch.setattr(reservations, "commit", lambda proposal: binding)
    wanted = Request("a", 1e5, 10**6)
    assert Mediator(reservations).request(wanted) == Rejected(wanted, binding)
    tries = []

    def changed(proposal):
        tries.append(proposal)
        reservations._held = replace(reservations._held, version=reservations.version + (len(tries) < 3))
        return binding

    monkeypatch.setattr(reservations, "commit", changed)
    assert Mediator(reservations).request(wanted) == Rejected(wanted, binding) and len(tries) == 3


def test_disks_with_constant_times_are_filled_completely():
    """Blocks take 10 ms without a seek, and a period is 100 ms: 10 sessions fit a disk, an eleventh does not."""
    unit = 64 * KB
    cluster = Cluster((Disk(0, 0, unit / 10e-3),), Host(1e12), Host(1e12), Network(1e12))
    mediator = Mediator(Reservations(cluster), units=(unit,))
    answers = [mediator.request(Request(f"{n}", unit / 100e-3, 10**7)) for n in range(11)]
    assert [isinstance(answer, Admitted) for answer in answers] == [True] * 10 + [False]
    assert answers[-1].binding.value == pytest.approx(0.11)
    assert answers[-1].binding.limit == pytest.approx(0.1)
    assert "disk of agent 0" in answers[-1].binding.constraint
    assert mediator.reservations.disk_shares[0] == pytest.approx(1)


@pytest.mark.parametrize(
    ("network", "client", "agent", "clients", "resource"),
    [
        (Network(1e6), Host(1e12), Host(1e12), "ab", "mostly at the ring"),
        (Network(1e6, switched=True), Host(1e12), Host(1e12), "aa", "mostly at the link of client a"),
        (Network(1e12), Host(1e6), Host(1e12), "aa", "mostly at the processor of client a"),
        (Network(1e12), Host(1e12), Host(1e6), "ab", "mostly at the processor of agent 0"),
    ],
)
def test_a_rejection_names_the_limiting_resource(network, client, agent, clients, resource):
    """Run two sessions of 0.6 MB/s each over a resource of 1 MB/s or of a million instructions a second."""
    cluster = Cluster((Disk(0, 0, 1e12),) * (1 if "agent" in resource else 3), agent, client, network)
    mediator = Mediator(Reservations(cluster))
    assert isinstance(mediator.request(Request(clients[0], 0.6e6, 10**7)), Admitted)
    refused = mediator.request(Request(clients[1], 0.6e6, 10**7))
    assert isinstance(refused, Rejected)
    assert resource in refused.binding.constraint


def test_low_rates_use_large_units_on_few_agents_and_high_rates_small_units_on_many(oracle):
    cluster = oracle.cluster_of(32)
    found = [Mediator(Reservations(cluster)).propose(Request("a", rate, 10**8)) for rate in (0.2e6, 1.2e6, 5e6, 20e6)]
    shapes = [(len(one.layout.agents), one.layout.unit) for one in found if isinstance(one, Proposal)]
    assert len(shapes) == 4
    agents, units = zip(*shapes, strict=True)
    assert list(agents) == sorted(agents) and agents[0] == 1 and agents[-1] > 8
    assert list(units) == sorted(units, reverse=True) and units[0] == UNITS[-1] and units[-1] < UNITS[-1]


def test_policies_choose_as_documented(oracle):
    cluster = oracle.cluster_of(8)
    wanted = Request("a", 2e5, 10**7)

    def first_two(policy):
        mediator = Mediator(Reservations(cluster), policy)
        return [mediator.request(wanted).layout for _ in range(2)]

    assert [layout.agents for layout in first_two(Economical())] == [(0,), (1,)]
    assert [layout.agents for layout in first_two(FirstFit())] == [(0,), (0,)]
    assert [len(layout.agents) for layout in first_two(Widest())] == [8, 8]


def test_the_highest_rate_is_the_limit_of_admission(oracle):
    mediator = Mediator(Reservations(oracle.cluster_of(6)))
    wanted = Request("a", 1.0, 10**7, group=2)
    rate = mediator.highest_rate(wanted)
    assert isinstance(mediator.propose(replace(wanted, rate=rate)), Proposal)
    assert isinstance(mediator.propose(replace(wanted, rate=rate * (1 + 1e-5))), Rejected)
    assert 1e6 < rate < 6 * 2.5e6


@given(st.floats(1e-9, 1e9), st.integers(1, 10**12))
@example(1e-9, 10**12)
@example(1e9, 1)
@settings(max_examples=40)
def test_any_rate_and_size_gets_a_decision(rate, size):
    cluster = Cluster((SLOW, FLASH), Host(), Host(), Network(125e6))
    answer = Mediator(Reservations(cluster)).request(Request("a", rate, size))
    assert isinstance(answer, Admitted | Rejected) and str(answer) and answer.to_dict()


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rate": 0}, "rate 0 bytes/s: it must be above 0"),
        ({"rate": float("nan")}, "rate nan"),
        ({"size": 1.5}, "size 1.5: give a whole number"),
        ({"buffer": 0}, "buffer 0: give a whole number"),
        ({"buffer": 1000}, "buffer 1000 bytes: the smallest unit has 4096 bytes; give at least this buffer"),
        ({"group": 0}, "group 0: give a whole number"),
        ({"confidence": 1.0}, "confidence 1: it must be above 0 and below 1"),
        ({"start": float("inf")}, "start inf"),
        ({"layout": StripeLayout.over(9, 4, (0, 1))}, "size 100000: the object of this layout has 9 bytes"),
        ({"layout": StripeLayout.over(10**5, 4096, (0, 1)), "buffer": 8000}, "a stripe of this layout has 8192"),
        (
            {"layout": StripeLayout.over(10**5, 4096, (0, 5))},
            "agent 5: the cluster has agents 0 to 3; give one of these",
        ),
        (
            {"layout": StripeLayout.over(10**5, 4096, (0, 1)), "group": 2},
            "group 2: the layout already defines the redundancy",
        ),
    ],
)
def test_bad_input_raises_in_one_line(oracle, change, message):
    mediator = Mediator(Reservations(oracle.cluster_of(4)))
    wanted = {"client": "a", "rate": 1e5, "size": 10**5} | change
    assert_refused(lambda: mediator.propose(Request(**wanted)), message)


@pytest.mark.usefixtures("unchecked")
def test_a_mediator_needs_units_and_a_cluster_disks(oracle):
    for units, message in (((), "units: given 0 block sizes; give at least 1"), ((1.5,), "units 1.5")):
        assert_refused(partial(Mediator, Reservations(oracle.cluster_of(1)), units=units), message)
    assert_refused(lambda: Cluster((), Host(), Host(), Network(1e6)), "0 disks: give at least one")
