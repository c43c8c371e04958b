"""Test the planner for SSDs: rates and lifetimes by hand, response times against a simulation, laws, and refusals."""

import json
from dataclasses import replace

import numpy as np
import pytest
from helpers import assert_refused
from hypothesis import given, settings
from hypothesis import strategies as st
from ssd_simulation import Kind, simulated

import storagekit as sk
from storagekit.core.units import KB, YEAR
from storagekit.drive import SSD, SSDFigures, load_ssd
from storagekit.faults import Failures
from storagekit.plan import (
    Code,
    Network,
    ParityRAID,
    ReadCache,
    ReplicatedBricks,
    SequentialStream,
    SRArrays,
    Tenant,
    schemes,
)

LINE = "iops=1000000/180000,latency=80/20us,rate=6.8/4GB/s,size=3.84TB,endurance=7PB"
NVME = load_ssd(LINE)
# seconds of a drive for a small read, and for a small write
READ, WRITE = 1 / 1e6, 1 / 180e3
# few units, so that a simulation has few of them too
SMALL = SSD("small", 1e12, (SSDFigures(4096, 100e-6, 80e3),), (SSDFigures(4096, 30e-6, 20e3),))
UNBUFFERED = replace(SMALL, writes=(SSDFigures(4096, 400e-6, 20e3),))


def planned(drive=NVME, disks=8, **given):
    return schemes(drive, disks, **({"data": 6e12, "read_share": 0.7, "rate": 200e3} | given))


def by_name(answer) -> dict:
    return {one.name: one for one in answer.ranking}


def test_the_largest_rates_are_those_of_the_accesses_of_each_scheme():
    found = by_name(planned())
    # seconds of all drives for each request: reads, then reads and writes of a write
    by_hand = {
        "RAID 0": 0.7 * READ + 0.3 * WRITE,
        "RAID 10": 0.7 * READ + 0.3 * 2 * WRITE,
        "RAID 5, 7+1": 0.7 * READ + 0.3 * 2 * (READ + WRITE),
        "RAID 6, 6+2": 0.7 * READ + 0.3 * 3 * (READ + WRITE),
        # reconstruct-write: the other data unit is read
        "RAID 60, 2 x 2+2": 0.7 * READ + 0.3 * (READ + 3 * WRITE),
    }
    for name, seconds in by_hand.items():
        assert found[name].throughput == pytest.approx(8 / seconds), name
        assert found[name].utilization == pytest.approx(200e3 * seconds / 8), name


def test_writes_of_copies_and_parity_wear_the_drives():
    found = by_name(planned())
    for name, written in {"RAID 0": 1, "RAID 10": 2, "RAID 5, 7+1": 2, "RAID 6, 6+2": 3}.items():
        assert found[name].lifetime == pytest.approx(7e15 * 8 / (200e3 * 0.3 * written * 4 * KB)), name
    assert f"SSDs worn out after {found['RAID 0'].lifetime / YEAR:.1f} years" in str(
        planned(families=SRArrays(), tolerate=0)
    )
    assert np.isnan(by_name(planned(replace(NVME, endurance=None)))["RAID 10"].lifetime)
    assert by_name(planned(read_share=1.0))["RAID 10"].lifetime == np.inf
    # a page is written as a whole
    assert by_name(planned(size=512))["RAID 10"].lifetime == pytest.approx(found["RAID 10"].lifetime)


def test_an_idle_array_has_the_latencies_of_the_data_sheet():
    found = by_name(planned(rate=10.0))
    assert found["RAID 10"].mean == pytest.approx(0.7 * 80e-6 + 0.3 * 20e-6, rel=0.001)
    assert found["RAID 5, 7+1"].mean == pytest.approx(0.7 * 80e-6 + 0.3 * (80e-6 + 20e-6), rel=0.001)
    assert found["RAID 10"].parts == pytest.approx({"latency of the drive": 0.7 * 80e-6 + 0.3 * 20e-6})


def kinds(name: str, reads: float, buffered: bool, pages: int = 1) -> list[Kind]:
    """The requests of a scheme on drives like `SMALL`: 8 units of 100 us, and 400 us a written page."""
    read, write = 100e-6, 400e-6
    first, written = {"RAID 0": (0, 1), "RAID 10": (0, 2), "RAID 5, 3+1": (2, 2)}[name]
    phases = ([(first, pages, read)] if first else []) + ([] if buffered else [(written, pages, write)])
    # further pages cross the link
    more = 4096 * (pages - 1) / (4096 * 80e3), 4096 * (pages - 1) / (4096 * 20e3)
    latency = (read + more[0] if first else 0.0) + (30e-6 if buffered else write) + more[1]
    background = (written, pages, write) if buffered else (0, 0, 0.0)
    return [Kind(reads, read + more[0], [(1, pages, read)]), Kind(1 - reads, latency, phases, background)]


@pytest.mark.parametrize(
    ("name", "busy", "buffered", "pages"),
    [
        ("RAID 0", 0.8, True, 1),
        ("RAID 10", 0.5, False, 1),
        ("RAID 5, 3+1", 0.65, True, 1),
        ("RAID 5, 3+1", 0.65, False, 1),
        ("RAID 10", 0.5, True, 4),
        ("RAID 5, 3+1", 0.5, True, 4),
    ],
)
def test_response_times_agree_with_the_simulation_of_units(name, busy, buffered, pages):
    """Mean and 99th percentile: four standard errors of the four runs, and 5%, or 12% for requests of several pages."""
    drive = replace(SMALL if buffered else UNBUFFERED, buffered=buffered)
    load = {"data": 1e12, "size": pages * 4 * KB, "families": [SRArrays(1), ParityRAID(full_stripes=False)]}
    one = by_name(planned(drive, 4, rate=1.0, **load))[name]
    rate = busy * one.throughput
    found = by_name(planned(drive, 4, rate=rate, **load))[name]
    runs = [simulated(kinds(name, 0.7, buffered, pages), rate, 4, 8, 8000, seed) for seed in range(4)]
    every = [np.concatenate(run) for run in runs]
    for value, measure in ((found.mean, np.mean), (found.p99, lambda times: np.quantile(times, 0.99))):
        each = np.array([measure(times) for times in every])
        near = (0.05 if pages == 1 else 0.12) * each.mean()
        assert value == pytest.approx(each.mean(), abs=2 * each.std(ddof=1) + near)


def test_a_read_of_one_drive_takes_as_long_under_every_scheme():
    """Each read of 1 MB goes to one drive at random."""
    found = planned(rate=35e3, size=1024 * KB, read_share=1.0, families=[SRArrays(1), ParityRAID(full_stripes=False)])
    assert len({one.name for one in found.ranking}) > 5
    full = [one for one in found.ranking if one.spare == 0]
    assert np.ptp([one.mean for one in full]) < 1e-9


@settings(max_examples=8)
@given(
    st.integers(4, 12),
    st.floats(0.0, 1.0),
    st.floats(0.05, 0.9),
    st.sampled_from([4 * KB, 16 * KB, 128 * KB, 1024 * KB]),
)
def test_more_drives_fewer_requests_and_faster_drives_are_never_worse(disks, reads, load, size):
    question = {"data": 1e12, "read_share": reads, "size": size, "families": [SRArrays(1), ParityRAID()]}
    most = max(one.throughput for one in schemes(NVME, disks, rate=1.0, **question).ranking)
    best = schemes(NVME, disks, rate=load * most, **question).recommended
    fewer = schemes(NVME, disks, rate=load * most / 1.2, **question).recommended
    more = schemes(NVME, 2 * disks, rate=load * most, **question).recommended
    quick = load_ssd("iops=1200000/220000,latency=70/18us,rate=7.5/4.5GB/s,size=3.84TB")
    faster = schemes(quick, disks, rate=load * most, **question).recommended
    for other in (fewer, more, faster):
        assert other.mean <= best.mean * 1.002


def test_tenants_have_their_own_times():
    tenants = [Tenant("web", 100e3, size=4 * KB, read_share=0.9), Tenant("scan", 2e3, size=1024 * KB)]
    best = schemes(NVME, 8, data=6e12, tenants=tenants).recommended
    web, scan = best.tenants
    assert scan.mean > 80e-6 + 1020 * KB / 6.8e9 > web.mean
    assert best.mean == pytest.approx((100 * web.mean + 2 * scan.mean) / 102, rel=0.001)


def test_growth_failures_purchases_and_networks_work_with_ssds():
    answer = planned(tolerate=1, price=600.0)
    assert answer.growth(load=0.3).recommended.years > 0
    lost = answer.durability(Failures(0.009), bit_error_rate=1e-17)
    assert 0 < lost.recommended.loss_probability < 0.01
    assert answer.next_purchase().recommended is not None
    narrow = planned(tolerate=1, network=Network(4, 1e8))
    assert not narrow.feasible and "network" in str(narrow.binding)
    answered = json.loads(json.dumps(answer.to_dict()))
    assert answered["ranking"][0]["lifetime"] > 0 and answered["question"]["drive"] == "given as text"
    assert answer.table.lifetime.attrs["units"] == "s"
    assert "80 parallel units" in "".join(answer.assumptions) and answer._repr_html_()


def test_ssds_can_replace_disks():
    disk = sk.load_drive("wd_hc570")
    answer = schemes(disk, 12, data=20e12, read_share=0.9, rate=900.0, tolerate=1)
    found = answer.next_purchase(400.0, drives={"nvme": (NVME, 600.0)})
    (change,) = (one for one in found.ranking if "nvme" in one.name)
    assert change.mean < 1e-3 and change.cost == 7200


def test_a_lost_drive_is_restored_at_the_rate_of_writes():
    one = by_name(planned(rate=1.0, read_share=1.0))["RAID 10"]
    # 6 TB on four pairs, written at 4 GB a second
    assert one.rebuild == pytest.approx(1.5e12 / 4e9, rel=0.001)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"rate": None, "outstanding": 64}, "outstanding with given as text, an SSD"),
        ({"queue_depth": 32}, "queue_depth with given as text, an SSD"),
        ({"streams": [SequentialStream("backup", 1e9)]}, "streams with given as text, an SSD"),
        ({"families": ReplicatedBricks()}, r"ReplicatedBricks\(\) with given as text, an SSD"),
    ],
)
def test_questions_without_a_formula_are_rejected(given, message):
    assert_refused(lambda: planned(**given), message)


def test_answers_without_a_formula_are_rejected():
    answer = planned(tolerate=1, price=600.0)
    assert_refused(lambda: answer.check(), "check with given as text, an SSD: only disks can be simulated")
    assert_refused(lambda: answer.after_failure(), "response times after a failure with given as text")
    assert_refused(lambda: answer.durability(Failures(0.01), rebuild_rate=1e8), "a rebuild rate with given as text")
    assert_refused(lambda: answer.next_purchase(caches=[ReadCache(100.0, hits=0.5)]), "caches with given as text")


def test_rotational_replicas_are_left_out():
    answer = planned(families=[SRArrays(), Code(6, 2)])
    assert all(one.scheme.shape.replicas == 1 for one in answer.ranking) and "code" not in answer.ranking[0].name


def test_too_high_a_rate_says_how_many_drives_would_do():
    answer = planned(rate=20e6)
    assert not answer.feasible and "use about" in str(answer.binding)
    count = int(str(answer.binding).split("use about ")[1].split()[0])
    assert planned(disks=count, rate=20e6).feasible
