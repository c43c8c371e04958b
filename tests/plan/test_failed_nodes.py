"""Test which schemes keep all data if nodes or racks fail: against an enumeration of the failures, and by hand."""

import math
from itertools import combinations

import numpy as np
import pytest
from helpers import assert_refused
from hypothesis import given
from hypothesis import strategies as st

import storagekit as sk
from storagekit.analytic.durability import durability
from storagekit.core.errors import InputError
from storagekit.core.units import KB
from storagekit.faults import Domain, Failures, Redundancy, ReliabilityModel, Repair
from storagekit.plan import Code, Network, ParityRAID, SRArrays, schemes
from storagekit.plan.failing_domains import durability_in_domains

DRIVE = sk.load_drive("toshiba_mg10_20tb")


def planned(**given):
    return schemes(DRIVE, 12, **({"data": 60e12, "size": 64 * KB, "read_share": 0.7, "rate": 200.0} | given))


def names(answer) -> set[str]:
    return {one.name for one in answer.ranking}


@given(st.integers(1, 14), st.integers(1, 7), st.integers(1, 4), st.integers(1, 3), st.booleans())
def test_the_most_lost_disks_are_those_of_the_worst_failure(group, nodes, racks, failed, of_racks):
    racks = min(racks, nodes)
    domains = racks if of_racks else nodes
    failed = min(failed, domains)
    worst = 0
    for begin in range(nodes):
        # each disk goes to the next node, and each node to the next rack
        dealt = [(begin + disk) % nodes for disk in range(group)]
        where = [node % racks for node in dealt] if of_racks else dealt
        for lost in combinations(range(domains), failed):
            worst = max(worst, sum(domain in lost for domain in where))
    network = Network(nodes, 1e9, racks, 1e9 if racks > 1 else None)
    assert network.most_lost(group, **{"racks" if of_racks else "nodes": failed}) == worst


@given(st.integers(1, 14), st.integers(1, 7), st.integers(1, 4))
def test_groups_are_spread_evenly_if_every_used_place_has_as_many_disks(group, nodes, racks):
    racks = min(racks, nodes)
    found = []
    for domains in (nodes, racks):
        used = set()
        for begin in range(nodes):
            where = [(begin + disk) % nodes % domains for disk in range(group)]
            used.add(tuple(sorted(where.count(domain) for domain in set(where))))
        # all begins have the same numbers of disks in each domain that they use
        (counts,) = used if len(used) == 1 else [(1, 2)]
        found.append(len(counts) if len(set(counts)) == 1 else None)
    assert Network(nodes, 1e9, racks, 1e9 if racks > 1 else None).spread(group) == tuple(found)


def durable(network: Network, **failures):
    found = planned(tolerate=1, network=network).durability(Failures(0.014), rebuild_rate=20e6, **failures)
    return found, {one.name: one for one in found.ranking}


def test_failures_of_nodes_and_racks_are_those_of_a_model_with_domains():
    network, often, seldom = Network(4, 1.25e9, 2, 4e9), Failures(0.05), Failures(0.02)
    plain, with_both = durable(network)[1], durable(network, node_failures=often, rack_failures=seldom)[1]
    # a mirror is on two of four nodes, one in each rack, and a group of twelve has three disks on each node
    name, domains = "RAID 6, 10+2", (Domain("rack", 2, seldom), Domain("node", 4, often))
    model = ReliabilityModel(Redundancy(10, 2), Failures(0.014), Repair(plain[name].rebuild), domains)
    assert with_both[name].loss_probability == pytest.approx(durability(model).loss_probability, rel=1e-9)
    mirror = ReliabilityModel(
        Redundancy(1, 1), Failures(0.014), Repair(plain["RAID 10"].rebuild), (domains[0], Domain("node", 2, often))
    )
    one = durability(mirror).loss_probability
    assert one < with_both["RAID 10"].loss_probability < 6 * one
    assert all(with_both[each].loss_probability > plain[each].loss_probability for each in with_both)


@pytest.mark.parametrize("name", ["RAID 5, 11+1", "RAID 50, 2 x 5+1", "RAID 50, 3 x 3+1", "RAID 60, 2 x 4+2"])
def test_groups_on_the_same_nodes_lose_data_at_once(name):
    """Each group has at least two disks on each of two nodes, and three if it tolerates two lost disks."""
    found = durable(Network(2, 1.25e9), node_failures=Failures(0.05))[1][name]
    assert found.loss_probability == pytest.approx(1 - 0.95**2, rel=3e-3)
    assert found.durability.mttdl_years == pytest.approx(-1 / (2 * math.log(0.95)), rel=3e-3)
    assert found.durability.causes["node fails"] == pytest.approx(1, abs=3e-3)


def test_nodes_that_nearly_always_fail():
    """Eight groups have two disks on each of two nodes, which fail with a probability of 99.99% in a year."""
    model = ReliabilityModel(Redundancy(3, 1, 8), Failures(0.01), Repair(1e5), (Domain("node", 2, Failures(0.9999)),))
    found = durability_in_domains(Network(2, 1e9), model, 1.0)
    assert found.loss_probability == pytest.approx(1 - 1e-8, abs=1e-10)
    assert found.mttdl_years == pytest.approx(-1 / (2 * math.log(1e-4)), rel=1e-3)


def test_two_mirrors_on_two_nodes_agree_with_a_simulation_of_all_disks():
    """Disks and nodes fail often, so that losses by nodes only, by disks only, and by both have similar shares."""
    disk, node, repair, trials = 2.0, 1.5, 40.0, 4000
    generator = np.random.default_rng(5)

    def lost() -> bool:
        # mirror m has its disks on the nodes 0 and 1
        failed, time = np.zeros((2, 2), bool), 0.0
        while True:
            rates = np.concatenate([np.where(failed, repair, disk).ravel(), [node, node]])
            time += generator.exponential(1 / rates.sum())
            if time > 1:
                return False
            event = generator.choice(6, p=rates / rates.sum())
            if event < 4:
                failed[divmod(event, 2)] ^= True
            else:
                failed[:, event - 4] = True
            if failed.all(axis=1).any():
                return True

    share = np.mean([lost() for _ in range(trials)])
    year = Failures(disk, "rate")
    model = ReliabilityModel(
        Redundancy(1, 1, 2), year, Repair(year.year / repair), (Domain("node", 2, Failures(node, "rate")),)
    )
    found = durability_in_domains(Network(2, 1e9), model, 1.0).loss_probability
    error = 4 * math.sqrt(share * (1 - share) / trials)
    assert share - error < found < share * 1.05 + error
    assert durability(model).loss_probability > share + error


def test_a_node_with_more_disks_of_a_group_than_parities_loses_data_when_it_fails():
    found, each = durable(Network(4, 1.25e9), node_failures=Failures(0.01))
    # any of four nodes fails within a year with this probability, and two of eleven disks seldom fail
    assert each["RAID 5, 11+1"].loss_probability == pytest.approx(1 - 0.99**4, rel=0.01)
    assert each["RAID 5, 11+1"].durability.dominant.events == ("node fails",)
    # a group of six has two disks on some nodes, and one on the others
    assert "RAID 50, 2 x 5+1" in found.uneven and "not spread evenly over nodes or racks" in str(found)
    assert "RAID 50, 2 x 5+1" in found.to_dict()["uneven"]
    answer = planned(tolerate=1, network=Network(5, 1.25e9), families=Code(5, 1)).durability(
        Failures(0.01), node_failures=Failures(0.01)
    )
    assert not answer.feasible and "are not spread evenly over nodes and racks" in str(answer)
    spread = planned(tolerate=2, network=Network(4, 1.25e9), families=Code(4, 2, declustered=True))
    assert "no formula: declustered" in str(spread.durability(Failures(0.01), node_failures=Failures(0.01)))


def test_nodes_fail_only_in_a_network():
    answer = planned(tolerate=1)
    assert_refused(
        lambda: answer.durability(Failures(0.01), node_failures=Failures(0.01)), "node_failures without network"
    )
    assert_refused(lambda: answer.durability(Failures(0.01), rack_failures=0.01), "rack failures")


def test_schemes_that_keep_the_data_by_hand():
    # 12 disks on four nodes: at most one disk of a group of four is on a node, and two disks of a group of six
    four = names(planned(tolerate_nodes=1, network=Network(4, 1.25e9)))
    assert {"RAID 10", "RAID 50, 3 x 3+1", "RAID 60, 2 x 4+2"} <= four
    assert not {"RAID 0", "RAID 50, 2 x 5+1", "RAID 5, 11+1", "RAID 6, 10+2"} & four
    # two of four nodes hold two disks of a group of four, and three or four disks of a group of six
    two = names(planned(tolerate_nodes=2, network=Network(4, 1.25e9)))
    assert {"RAID 60, 3 x 2+2", "RAID 10, 3 copies"} <= two
    assert not {"RAID 10", "RAID 50, 3 x 3+1", "RAID 60, 2 x 4+2"} & two
    # on twelve nodes each disk has its own
    assert names(planned(tolerate_nodes=1, network=Network(12, 1.25e9))) == names(planned(tolerate=1))


def test_racks_hold_whole_nodes():
    network = Network(6, 1.25e9, 3, 4e9)
    found = names(planned(tolerate_racks=1, network=network))
    # groups of three have one disk in each of three racks, groups of four have two disks in one of them
    assert {"RAID 10", "RAID 50, 4 x 2+1", "RAID 60, 3 x 2+2"} <= found
    assert not {"RAID 50, 3 x 3+1", "RAID 5, 11+1"} & found


def test_declustered_codes_are_stripes():
    code = Code(8, 3)
    assert not planned(tolerate_nodes=1, network=Network(3, 1.25e9), families=code).feasible
    assert planned(tolerate_nodes=1, network=Network(4, 1.25e9), families=code).feasible


@pytest.mark.parametrize(
    ("nodes", "more"),
    [(2, {"families": ParityRAID(parities=1)}), (3, {"families": Code(8, 2)}), (2, {"data": 140e12})],
)
def test_the_remedy_works(nodes, more):
    refused = planned(tolerate_nodes=1, network=Network(nodes, 1.25e9), **more)
    assert not refused.feasible
    if "nodes keeps the data" in refused.binding.constraint:
        enough = int(refused.binding.remedy.split()[-2])
    else:
        assert refused.binding.remedy.startswith("add disks or nodes")
        enough = 12
    assert planned(tolerate_nodes=1, network=Network(enough, 1.25e9), **more).feasible
    # fewer additional nodes are not enough
    if enough < 12:
        assert not planned(tolerate_nodes=1, network=Network(enough - 1, 1.25e9), **more).feasible


def test_the_remedy_for_racks_works():
    given = {"tolerate_racks": 1, "families": ParityRAID(parities=1)}
    refused = planned(**given, network=Network(4, 1.25e9, 2, 4e9))
    nodes, racks = (int(word) for word in refused.binding.remedy.split() if word.isdigit())
    assert planned(**given, network=Network(nodes, 1.25e9, racks, 4e9)).feasible


def test_nodes_are_no_remedy_if_each_disk_has_one():
    binding = planned(tolerate_nodes=1, data=230e12, network=Network(12, 1.25e9)).binding
    assert binding.remedy.startswith("add disks, or")


def test_a_hopeless_question_about_many_disks_is_answered_at_once():
    network = Network(300, 1.25e9, 300, 4e9)
    given = {
        "data": 60e12,
        "rate": 200.0,
        "tolerate_racks": 290,
        "network": network,
        "families": ParityRAID(parities=1),
    }
    assert not schemes(DRIVE, 400, **given).feasible


def test_without_a_remedy_by_nodes():
    found = planned(tolerate_nodes=2, network=Network(3, 1.25e9), families=ParityRAID(parities=1))
    assert not found.feasible and "keeps the data after the loss of 2 nodes" in found.binding.constraint
    assert "more parities" in found.binding.remedy


def test_the_answer_names_the_failures():
    found = planned(tolerate_nodes=1, network=Network(4, 1.25e9))
    assert "tolerates 0 failures and the loss of 1 node;" in str(found)
    assert any("all data remain after the loss of 1 node" in one for one in found.assumptions)
    assert found.to_dict()["question"]["tolerate_nodes"] == 1


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"tolerate_nodes": 1}, "without network"),
        (
            {"tolerate_racks": 1, "network": Network(4, 1e9)},
            "tolerate_racks 1: give at most 0, because at least one of the 1 must",
        ),
        (
            {"tolerate_nodes": 4, "network": Network(4, 1e9)},
            "tolerate_nodes 4: give at most 3, because at least one of the 4 must",
        ),
        ({"tolerate_nodes": -1, "network": Network(4, 1e9)}, "between 0 and"),
    ],
)
def test_impossible_failures_are_refused(given, message):
    with pytest.raises(InputError, match=message):
        planned(**given)


def test_nodes_and_racks_fail_separately():
    with pytest.raises(InputError, match="at most 4"):
        Network(4, 1e9, 2, 1e9).most_lost(6, nodes=9)
    with pytest.raises(InputError, match="one kind"):
        Network(4, 1e9, 2, 1e9).most_lost(6, nodes=1, racks=1)


def test_an_sr_array_is_its_mirrors():
    drive = sk.load_drive("atlas10k")
    network = Network(4, 1e9)
    given = {"data": 20e9, "rate": 200.0, "families": SRArrays(3, 2), "network": network, "tolerate_nodes": 1}
    assert all(one.tolerates >= 1 for one in schemes(drive, 12, **given).ranking)
