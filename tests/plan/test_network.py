"""Test the limits of a network: bytes by hand, the rates that links allow, and remedies that work."""

import json
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


def asked(**given):
    return schemes(DRIVE, 12, **({"data": 60e12, "size": 64 * KB, "read_share": 0.7, "rate": 300.0} | given))


def by_name(answer) -> dict:
    return {one.name: one for one in answer.ranking}


def test_each_scheme_sends_and_receives_the_bytes_of_its_accesses():
    answer = asked()
    found = {name: bytes_of_request(answer.needs, one.scheme) / (64 * KB) for name, one in by_name(answer).items()}
    for name, expected in BY_HAND.items():
        assert found[name] == pytest.approx(expected), name


def test_full_stripes_are_written_without_reads_and_their_parts_add_up():
    answer = asked(size=2048 * KB, rate=20.0, families=Code(8, 3))
    (scheme,) = (one.scheme for one in answer.ranking if one.scheme.shape.ways > 1)
    assert bytes_of_request(answer.needs, scheme) / (2048 * KB) == pytest.approx([0.7, 0.3 * 11 / 8])


def test_streams_add_their_bytes_and_writes_their_copies():
    streams = [SequentialStream("backup", 100e6), SequentialStream("ingest", 10e6, writes=True)]
    answer = asked(streams=streams)
    expected = {"RAID 0": 10e6, "RAID 10": 20e6, "RAID 5, 11+1": 10e6 * 12 / 11}
    for name, received in expected.items():
        assert bytes_of_streams(answer.needs, by_name(answer)[name].scheme) == pytest.approx([100e6, received])
    one = by_name(asked(streams=streams, network=Network(4, 100e6)))["RAID 10"]
    assert one.network == pytest.approx((100e6 + 300 * 0.7 * 65536) / 400e6)


@cache
def plain(rate: float, reads: float, backup: bool):
    """Return an answer without a network."""
    return asked(rate=rate, read_share=reads, streams=[SequentialStream("backup", 5e7)] if backup else [])


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
        assert found.network == pytest.approx(total / (nodes * link))
        if total <= nodes * link:
            assert (found.mean, found.p99, found.utilization) == (one.mean, one.p99, one.utilization)
        else:
            assert found.mean == found.p99 == np.inf and found.throughput < needs.rate
        if streams.max() > nodes * link:
            assert found.throughput == 0
        elif found.throughput < one.throughput:
            assert (found.throughput * traffic + streams).max() == pytest.approx(nodes * link)
        else:
            assert (one.throughput * traffic + streams).max() <= nodes * link * (1 + 1e-9)


@pytest.mark.parametrize("goal", [sk.plan.MinMean(), sk.plan.MaxThroughput()])
def test_outstanding_requests_wait_for_the_network(goal):
    given = {"rate": None, "outstanding": 64, "goal": goal}
    alone, limited = asked(**given), asked(**given, network=Network(4, 5e6))
    for name, one in by_name(limited).items():
        assert one.throughput * one.mean == pytest.approx(64)
        assert one.network <= 1 + 1e-9 and one.throughput <= by_name(alone)[name].throughput
    assert by_name(limited)["RAID 0"].network == pytest.approx(1)
    assert by_name(limited)["RAID 0"].utilization < by_name(alone)["RAID 0"].utilization


@pytest.mark.parametrize("network", [Network(4, 3e6), Network(12, 1e9, racks=3, rack_rate=4e6)])
def test_both_remedies_of_an_overloaded_network_work(network):
    answer = asked(network=network)
    assert not answer.feasible and "the network of" in answer.binding.constraint
    link = "rack" if network.rack_rate else "node"
    assert f"MB/s of each {link}" in answer.binding.constraint
    rate = float(answer.binding.remedy.split("at least ")[1].split()[0]) * 1e6
    count = int(answer.binding.remedy.split("at least ")[2].split()[0])
    names = ("racks", "rack_rate") if network.rack_rate else ("nodes", "node_rate")
    for name, value in zip(names, (count, rate), strict=True):
        assert asked(network=replace(network, **{name: value})).feasible, name
    assert f"{link}s" in answer.binding.remedy


def test_disks_that_are_overloaded_too_are_named_first():
    answer = asked(rate=3000.0, network=Network(4, 1e6))
    assert "disks of" in answer.binding.constraint


def test_a_network_that_grows_full_is_the_end_of_the_growth():
    answer = asked(network=Network(4, 10e6), tolerate=1)
    found = {one.name: one for one in answer.growth(load=0.25).ranking}["RAID 50, 4 x 2+1"]
    most = by_name(answer)["RAID 50, 4 x 2+1"].throughput
    assert most == pytest.approx(40e6 / 65536) and found.limit == f"load of {most:.0f} requests/s"
    assert 300 * 1.25**found.years == pytest.approx(most, rel=1e-3)


def test_a_full_network_is_a_warning_and_the_answer_names_it():
    answer = asked(network=Network(4, 3.7e6), families=sk.plan.SRArrays())
    best = answer.recommended
    assert 0.9 < best.network < 1
    assert any(f"the busiest links of the network are {best.network:.0%} used" in one for one in answer.warnings)
    text = str(answer)
    assert f"network {best.network:.0%} used" in text and "network of 4 nodes of 3.7 MB/s" in "\n".join(
        answer.assumptions
    )
    stored = json.loads(json.dumps(answer.to_dict()))
    assert stored["question"]["network"]["nodes"] == 4
    assert stored["ranking"][0]["network"] == pytest.approx(best.network)
    assert float(answer.table.network[0]) == pytest.approx(best.network)
    assert np.isnan(asked().recommended.network) and "network" not in str(asked())


def test_tenants_share_the_network():
    tenants = [Tenant("web", 200.0, 8 * KB, 0.5), Tenant("images", 20.0, 1024 * KB, 1.0)]
    given = {"rate": None, "size": None, "read_share": None, "tenants": tenants}
    one = by_name(asked(**given, network=WIDE))["RAID 10"]
    sent, received = 100 * 8 * KB + 20 * 1024 * KB, 100 * 8 * KB * 2
    assert one.network == pytest.approx(max(sent, received) / 4e12)
    narrow = asked(**given, network=Network(1, 1e6))
    assert not narrow.feasible and all(one.tenants[0].mean == np.inf for one in narrow.refused if one.network > 1)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"nodes": 0, "node_rate": 1e9}, "nodes"),
        ({"nodes": 2, "node_rate": 0.5}, "node rate"),
        ({"nodes": 2, "node_rate": 1e9, "racks": 3}, "racks 3: at most 2"),
        ({"nodes": 2, "node_rate": 1e9, "rack_rate": np.nan}, "rack rate"),
    ],
)
def test_impossible_networks_are_refused(given, message):
    with pytest.raises(InputError, match=message):
        Network(**given)


def test_a_node_has_a_disk():
    with pytest.raises(InputError, match="13 nodes with 12 disks"):
        asked(network=Network(13, 1e9))
