"""Test a cache of SSDs in front of disks: against questions without it, the read cache of purchases, laws, and refusals."""

import json

import numpy as np
import pytest
from helpers import assert_refused
from hypothesis import given, settings
from hypothesis import strategies as st

import storagekit as sk
from storagekit.core.units import KB
from storagekit.drive import load_ssd
from storagekit.faults import Failures
from storagekit.plan import Network, Protocols, ReadCache, SSDCache, Tenant, schemes

DISK = sk.load_drive("wd_hc570")
SSD = load_ssd("iops=1000000/180000,latency=80/20us,rate=6.8/4GB/s,size=3.84TB,endurance=7PB")


def planned(cache=None, **given):
    return schemes(
        DISK, 12, cache=cache, **({"data": 60e12, "size": 16 * KB, "read_share": 0.8, "rate": 900.0} | given)
    )


def by_name(answer) -> dict:
    return {one.name: one for one in answer.ranking}


@pytest.mark.parametrize("reads", [0.0, 0.8, 1.0])
def test_without_hits_the_disks_answer_alone(reads):
    plain, cached = (
        by_name(planned(read_share=reads, rate=400.0)),
        by_name(planned(SSDCache(SSD, hits=0.0), read_share=reads, rate=400.0)),
    )
    assert plain.keys() == cached.keys()
    for name, one in plain.items():
        assert cached[name].mean == pytest.approx(one.mean, rel=0.002), name
        assert cached[name].p99 == pytest.approx(one.p99, rel=0.005), name
        assert cached[name].throughput == pytest.approx(one.throughput), name
        assert cached[name].degraded == pytest.approx(one.degraded, nan_ok=True), name


def test_hits_relieve_the_disks_as_the_read_cache_of_a_purchase_does():
    """The read cache of `next_purchase` has a constant time; the SSDs are nearly idle."""
    answer = planned()
    bought = answer.next_purchase(400.0, caches=[ReadCache(1000.0, hits=0.6, time=82e-6)], scheme="RAID 10")
    (change,) = (one for one in bought.ranking if one.name.startswith("cache"))
    one = by_name(planned(SSDCache(SSD, 2, hits=0.6)))[change.scheme]
    assert one.mean == pytest.approx(change.mean, rel=0.002)
    assert one.p99 == pytest.approx(change.p99, rel=0.005)
    assert one.throughput == pytest.approx(change.throughput, rel=0.001)


def test_writes_complete_in_a_write_back_cache():
    through, back = (by_name(planned(SSDCache(SSD, 2, hits=0.6, write_back=both)))["RAID 10"] for both in (False, True))
    # the disks have the same work; reads that miss take as long as before, and writes 20 us
    assert back.utilization == through.utilization and back.degraded == through.degraded
    read = by_name(planned(SSDCache(SSD, 2, hits=0.6), read_share=1.0, rate=1.0))["RAID 10"].mean
    idle = by_name(planned(SSDCache(SSD, 2, hits=0.6, write_back=True), rate=1.0))["RAID 10"].mean
    assert idle == pytest.approx(0.8 * read + 0.2 * 20e-6, rel=0.005)
    assert back.mean < through.mean


def test_fills_and_writes_wear_the_cache():
    one = by_name(planned(SSDCache(SSD, 2, hits=0.6)))["RAID 10"]
    each = 900 * 16 * KB * (0.8 * 0.4 + 0.2)
    assert one.lifetime == pytest.approx(2 * 7e15 / each)
    both = by_name(planned(SSDCache(SSD, 2, hits=0.6, write_back=True)))["RAID 10"]
    assert both.lifetime == pytest.approx(2 * 7e15 / (900 * 16 * KB * (0.8 * 0.4 + 2 * 0.2)))


@settings(max_examples=10)
@given(st.floats(0.0, 0.9), st.floats(0.0, 0.09), st.floats(0.1, 0.9), st.booleans())
def test_more_hits_are_never_worse(hits, more, reads, write_back):
    few, many = (
        planned(SSDCache(SSD, 2, hits=share, write_back=write_back), read_share=reads, rate=300.0).recommended
        for share in (hits, hits + more)
    )
    assert many.mean <= few.mean * 1.001 and many.utilization <= few.utilization * (1 + 1e-9)


def test_by_default_the_hits_are_the_share_of_the_data_in_the_cache():
    assert SSDCache(SSD, 2).hit_share(76.8e12) == pytest.approx(0.1)
    assert SSDCache(SSD, 2).hit_share(1e12) == 1.0
    assert "serves 13% of the reads" in "".join(planned(SSDCache(SSD, 2)).assumptions)


def test_tenants_have_their_hits():
    tenants = [Tenant("web", 500, size=8 * KB, read_share=0.9), Tenant("logs", 100, size=64 * KB, read_share=0.0)]
    given = {"rate": None, "size": None, "read_share": None, "tenants": tenants}
    cached = planned(SSDCache(SSD, 2, hits=0.7), **given).recommended
    plain = by_name(planned(**given))[cached.name]
    web, logs = cached.tenants
    assert web.mean < plain.tenants[0].mean / 2 and logs.mean < plain.tenants[1].mean
    assert cached.mean == pytest.approx((500 * web.mean + 100 * logs.mean) / 600, rel=0.002)


def test_hits_do_not_use_the_links_of_the_nodes():
    """The links carry the bytes of the misses and of the writes only."""
    links = Network(4, 2e6)
    cached = by_name(planned(SSDCache(SSD, 2, hits=0.6), network=links))["RAID 10"]
    behind = by_name(planned(network=links, rate=900 * 0.52, read_share=0.32 / 0.52))["RAID 10"]
    assert cached.network == pytest.approx(behind.network) and cached.network < 1
    assert cached.throughput == pytest.approx(behind.throughput / 0.52)
    assert cached.disk_limit == pytest.approx(behind.disk_limit / 0.52)
    assert by_name(planned(network=Network(4, 1e12)))["RAID 10"].network > 0


def test_a_slow_cache_is_the_limit():
    slow = load_ssd("iops=1000/300,latency=1/3ms,rate=20/5MB/s,size=1TB")
    answer = planned(SSDCache(slow, 1, hits=0.6), rate=1500.0)
    assert not answer.feasible and np.isinf(answer.refused[0].mean)
    assert answer.refused[0].throughput < 1500


def test_other_answers_know_the_cache():
    answer = planned(SSDCache(SSD, 2, hits=0.6), tolerate=1, rate=500.0)
    assert (
        answer.growth(load=0.3).recommended.years > planned(tolerate=1, rate=500.0).growth(load=0.3).recommended.years
    )
    assert 0 < answer.durability(Failures(0.014)).recommended.loss_probability < 1
    assert answer.next_purchase(400.0, drives={"nvme": (SSD, 600.0)}).ranking
    cache = json.loads(json.dumps(answer.to_dict()))["question"]["cache"]
    assert cache == {"ssd": "given as text", "drives": 2, "hits": 0.6, "write_back": False}


def test_a_check_simulates_the_disks_with_the_requests_that_reach_them(monkeypatch):
    given = []
    monkeypatch.setattr("storagekit.plan.checking.check_schemes", lambda *some, **others: given.append(some))
    planned(SSDCache(SSD, 2, hits=0.6), rate=500.0).check(schemes=1)
    needs, (one,) = given[0][:2]
    # 60% of the reads, which are 80%, do not reach the disks
    assert (
        needs.cache is None
        and needs.rate == pytest.approx(500 * 0.52)
        and needs.read_share == pytest.approx(0.32 / 0.52)
    )
    alone = by_name(planned(rate=500 * 0.52, read_share=0.32 / 0.52))[one.name]
    assert one.mean == pytest.approx(alone.mean)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"rate": None, "outstanding": 32}, "cache with outstanding"),
        ({"read_share": 1.0, "cache": SSDCache(SSD, hits=1.0)}, "no request reaches the disks"),
        ({"families": Protocols()}, r"Protocols\(\) with tenants, streams or a cache"),
    ],
)
def test_questions_without_a_formula_are_rejected(given, message):
    assert_refused(lambda: planned(**({"cache": SSDCache(SSD, hits=0.5)} | given)), message)


def test_impossible_caches_are_rejected():
    assert_refused(lambda: SSDCache(SSD, 1, write_back=True), "drives 1: it must be at least 2 for write_back")
    assert_refused(lambda: SSDCache(SSD, hits=1.2), "hits 1.2: it must be between 0 and 1")
    assert_refused(lambda: schemes(SSD, 4, data=1e12, rate=1e3, cache=SSDCache(SSD)), "a cache is for disks")
    answer = planned(SSDCache(SSD, hits=0.5), tolerate=1)
    assert_refused(lambda: answer.after_failure(), "response times after a failure with a cache")
    assert_refused(lambda: answer.next_purchase(400.0, caches=[ReadCache(9.0, hits=0.5)]), "caches with a cache")
