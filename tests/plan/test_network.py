"""Test the limits of a network: bytes by hand, the rates that links allow, and remedies that work."""

import json
import re
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import storagekit as sk
from storagekit.core.errors import InputError
from storagekit.core.units import KB
from storagekit.plan import Code, Network, SequentialStream, Tenant, schemes
from storagekit.plan.finding import meets
from storagekit.plan.networking import bytes_of_request, bytes_of_streams, with_network

DRIVE = sk.load_drive("toshiba_mg10_20tb")
# links that nothing fills
WIDE = Network(4, 1e12)
# sent and received bytes, in requests of 64 KB, for 70% reads
BY_HAND = {
    "RAID 0": (0.7, 0.3),
    "RAID 10": (0.7, 0.3 * 2),
    # read-modify-write: old data and old parity are read, data and parity written
    "RAID 5, 11+1": (0.7 + 0.3 * 2, 0.3 * 2),
    "RAID 6, 10+2": (0.7 + 0.3 * 3, 0.3 * 3),
    # reconstruct-write: the other data unit is read
    "RAID 50, 4 x 2+1": (0.7 + 0.3 * 1, 0.3 * 2),
    "RAID 60, 3 x 2+2": (0.7 + 0.3 * 1, 0.3 * 3),
}


def planned(**given):
    return schemes(DRIVE, 12, **({"data": 60e12, "size": 64 * KB, "read_share": 0.7, "rate": 300.0} | given))


def by_name(answer) -> dict:
    return {one.name: one for one in answer.ranking}


def test_each_scheme_sends_and_receives_the_bytes_of_its_accesses():
    answer = planned()
    found = {name: bytes_of_request(answer.needs, one.scheme) / (64 * KB) for name, one in by_name(answer).items()}
    for name, expected in BY_HAND.items():
        assert found[name] == pytest.approx(expected), name


def test_full_stripes_are_written_without_reads_and_their_parts_add_up():
    answer = planned(size=2048 * KB, rate=20.0, families=Code(8, 3))
    (scheme,) = (one.scheme for one in answer.ranking if one.scheme.shape.ways > 1)
    assert bytes_of_request(answer.needs, scheme) / (2048 * KB) == pytest.approx([0.7, 0.3 * 11 / 8])
    needs = replace(answer.needs, streams=(SequentialStream("ingest", 10e6, writes=True),), chunk=2.0**21)
    assert bytes_of_streams(needs, scheme) == pytest.approx([0, 10e6 * 11 / 8])


def test_streams_add_their_bytes_and_writes_their_copies():
    streams = [SequentialStream("backup", 100e6), SequentialStream("ingest", 10e6, writes=True)]
    answer = planned(streams=streams)
    expected = {"RAID 0": 10e6, "RAID 10": 20e6, "RAID 5, 11+1": 10e6 * 12 / 11}
    for name, received in expected.items():
        assert bytes_of_streams(answer.needs, by_name(answer)[name].scheme) == pytest.approx([100e6, received])
    one = by_name(planned(streams=streams, network=Network(4, 100e6)))["RAID 10"]
    assert one.network == pytest.approx((100e6 + 300 * 0.7 * 65536) / 400e6)


@cache
def plain(rate: float, reads: float, backup: bool):
    """Return an answer without a network."""
    return planned(rate=rate, read_share=reads, streams=[SequentialStream("backup", 5e7)] if backup else [])


@given(
    st.floats(1e5, 2e8),
    st.integers(1, 12),
    st.sampled_from([(1.0, 0.0, True), (300.0, 0.7, False), (300.0, 0.7, True), (700.0, 1.0, False)]),
)
def test_the_busier_direction_limits_the_rate(link, nodes, load):
    """The rate that the links allow leaves them 100% used, and links with room for the rate change no response time."""
    needs = replace(plain(*load).needs, network=Network(nodes, link))
    for one in plain(*load).ranking:
        found, traffic = with_network(needs, one), bytes_of_request(needs, one.scheme)
        streams = bytes_of_streams(needs, one.scheme)
        total = (needs.rate * traffic + streams).max()
        # the busiest node has this share of the disks
        capacity = link / (np.ceil(one.scheme.disks / nodes) / one.scheme.disks)
        assert found.network == pytest.approx(total / capacity)
        assert (found.mean, found.p99, found.utilization) == (one.mean, one.p99, one.utilization)
        assert found.disk_limit == one.throughput and meets(needs, found) == (total <= capacity)
        if streams.max() > capacity:
            assert found.throughput == 0
        elif found.throughput < one.throughput:
            assert (found.throughput * traffic + streams).max() == pytest.approx(capacity)
        else:
            assert (one.throughput * traffic + streams).max() <= capacity * (1 + 1e-9)


@pytest.mark.parametrize("objective", [sk.plan.MinMean(), sk.plan.MaxThroughput()])
def test_outstanding_requests_wait_for_the_network(objective):
    given = {"rate": None, "outstanding": 64, "objective": objective}
    alone, limited = planned(**given), planned(**given, network=Network(4, 5e6))
    for name, one in by_name(limited).items():
        assert one.throughput * one.mean == pytest.approx(64)
        assert one.network <= 1 + 1e-9 and one.throughput <= by_name(alone)[name].throughput
    assert by_name(limited)["RAID 0"].network == 1 and by_name(limited)["RAID 0"].binds.startswith("network")
    assert not limited.warnings and "Outstanding requests wait for a link" in "\n".join(limited.assumptions)
    assert by_name(limited)["RAID 0"].utilization < by_name(alone)["RAID 0"].utilization


@pytest.mark.parametrize(
    "network",
    [
        Network(4, 3e6),
        Network(12, 1e6),
        Network(12, 1e9, racks=3, rack_rate=4e6),
        Network(4, 3e6, racks=2, rack_rate=6.5e6),
        Network(5, 2e6),
    ],
)
def test_the_remedy_of_an_overloaded_network_works(network):
    answer = planned(network=network)
    assert not answer.feasible and "the network of" in answer.binding.constraint
    remedy = answer.binding.remedy
    rates = {f"{kind}_rate": float(rate) * 1e6 for rate, kind in re.findall(r"(\d+) MB/s for each (node|rack)", remedy)}
    assert rates and planned(network=replace(network, **rates)).feasible
    # links that are 2 MB/s slower are not enough
    slower = {name: max(rate - 2e6, 1.0) for name, rate in rates.items()}
    assert not planned(network=replace(network, **slower)).feasible


def test_disks_that_are_too_slow_come_first_and_the_network_is_named_too():
    """The limits of the disks are those without a network, and both remedies together work."""
    alone, answer = (planned(rate=3000.0, network=network) for network in (None, Network(4, 1e6)))
    assert (answer.binding.constraint, answer.binding.limit) == (alone.binding.constraint, alone.binding.limit)
    assert answer.binding.remedy.startswith(alone.binding.remedy)
    disks = int(answer.binding.remedy.split("use about ")[1].split()[0])
    rate = float(re.findall(r"(\d+) MB/s for each node", answer.binding.remedy)[0]) * 1e6
    assert schemes(
        DRIVE, disks, data=60e12, size=64 * KB, read_share=0.7, rate=3000.0, network=Network(4, rate)
    ).feasible


def test_a_limit_of_the_response_time_is_named_where_no_link_helps():
    answer = planned(mean=0.005, network=Network(4, 3e6))
    assert answer.binding.constraint.startswith("mean response") and "overloaded too" in answer.binding.remedy


def test_nodes_without_disks_do_not_count_and_the_fullest_node_limits():
    cheapest = planned(data=20e12, rate=30.0, objective=sk.plan.MinCost(), network=Network(12, 1e7)).recommended
    assert cheapest.scheme.disks == 1
    assert cheapest.network == pytest.approx(30 * 0.7 * 65536 / 1e7)
    # one of 11 nodes has 2 of 12 disks
    one = by_name(planned(read_share=1.0, rate=250.0, network=Network(11, 1e8)))["RAID 0"]
    assert one.network == pytest.approx(250 * 65536 * 2 / 12 / 1e8)


@pytest.mark.parametrize("queue_depth", [1, 32])
def test_the_network_is_no_load_of_the_disks(queue_depth):
    given = {"queue_depth": queue_depth, "objective": sk.plan.MinCost(), "data": 60e12}
    with_it, without = planned(**given, network=Network(1, 2e7)), planned(**given)
    assert with_it.recommended.name == without.recommended.name and with_it.recommended.network > 0.6
    best = planned(queue_depth=queue_depth, network=Network(4, 3.7e6), families=sk.plan.SRArrays())
    assert len(best.warnings) == 1 and "busiest link" in best.warnings[0]


def test_a_rebuild_takes_as_long_as_its_bytes_on_the_links():
    """RAID 5 of 12 disks reads 11 bytes for each byte that it restores, with the rate that the requests leave."""
    one = by_name(planned(tolerate=1, network=Network(4, 20e6)))["RAID 5, 11+1"]
    plain_one = by_name(planned(tolerate=1))["RAID 5, 11+1"]
    used = 60e12 / 11
    sent = 80e6 - 300 * 65536 * (0.7 + 0.3 * 2)
    assert one.rebuild == pytest.approx(11 * used / sent) and one.rebuild > 10 * plain_one.rebuild
    fast = by_name(planned(tolerate=1, network=WIDE))["RAID 5, 11+1"]
    assert fast.rebuild == plain_one.rebuild


def test_a_check_compares_with_the_disks_alone():
    answer = planned(rate=None, outstanding=16, network=Network(4, 2e6), families=sk.plan.SRArrays(1))
    row = answer.check(schemes=1, seeds=2, requests=1500).rows[0]
    assert row.measure == "throughput" and row.predicted == pytest.approx(answer.recommended.disk_limit)
    assert row.predicted > 1.5 * answer.recommended.throughput and abs(row.difference) < 0.2


def test_other_answers_say_what_they_leave_out():
    answer = planned(tolerate=1, network=Network(4, 2e7), families=sk.plan.SRArrays(1))
    assert "The network is not included." in answer.after_failure().assumptions
    bought = answer.next_purchase(300, caches=[sk.plan.ReadCache(2000, hits=0.5)])
    assert any("its hits do not use the links" in line for line in bought.assumptions)
    rated = answer.durability(sk.faults.Failures(0.014), rebuild_rate=5e7)
    assert "The network does not limit this rate." in rated.assumptions


def test_a_network_that_grows_full_is_the_end_of_the_growth():
    answer = planned(network=Network(4, 10e6), tolerate=1)
    found = {one.name: one for one in answer.growth(load=0.25).ranking}["RAID 50, 4 x 2+1"]
    most = by_name(answer)["RAID 50, 4 x 2+1"].throughput
    assert most == pytest.approx(40e6 / 65536) and found.limit == f"load of {most:.0f} requests/s"
    assert 300 * 1.25**found.years == pytest.approx(most, rel=1e-3)


def test_a_full_network_is_a_warning_and_the_answer_names_it():
    answer = planned(network=Network(4, 3.7e6), families=sk.plan.SRArrays())
    best = answer.recommended
    assert 0.9 < best.network < 1
    assert any(f"the busiest link of the network is {best.network:.0%} used" in one for one in answer.warnings)
    text = str(answer)
    assert f"network {best.network:.0%} used" in text and "network of 4 nodes of 3.7 MB/s" in "\n".join(
        answer.assumptions
    )
    stored = json.loads(json.dumps(answer.to_dict()))
    assert stored["question"]["network"]["nodes"] == 4
    assert stored["ranking"][0]["network"] == pytest.approx(best.network)
    assert float(answer.table.network[0]) == pytest.approx(best.network)
    assert np.isnan(planned().recommended.network) and "network" not in str(planned())


def test_tenants_share_the_network():
    tenants = [Tenant("web", 200.0, 8 * KB, 0.5), Tenant("images", 20.0, 1024 * KB, 1.0)]
    given = {"rate": None, "size": None, "read_share": None, "tenants": tenants}
    one = by_name(planned(**given, network=WIDE))["RAID 10"]
    sent, received = 100 * 8 * KB + 20 * 1024 * KB, 100 * 8 * KB * 2
    assert one.network == pytest.approx(max(sent, received) / 4e12)
    narrow = planned(**given, network=Network(1, 1e6))
    assert not narrow.feasible and "the network of" in narrow.binding.constraint


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"nodes": 0, "node_rate": 1e9}, "nodes"),
        ({"nodes": 2, "node_rate": 0.5}, "node rate"),
        ({"nodes": 2, "node_rate": 1e9, "racks": 3}, "racks 3: at most 2"),
        ({"nodes": 2, "node_rate": 1e9, "rack_rate": np.nan}, "rack rate"),
        ({"nodes": 2, "node_rate": 1e9, "racks": 2}, "racks 2 without rack_rate"),
    ],
)
def test_impossible_networks_are_refused(given, message):
    with pytest.raises(InputError, match=message):
        Network(**given)


def test_a_node_has_a_disk():
    with pytest.raises(InputError, match="13 nodes with 12 disks"):
        planned(network=Network(13, 1e9))
