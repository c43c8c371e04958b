"""Test the time for which schemes meet the requirements: capacity, saturation, limits of the response time, and order."""

import json
import math

import pytest
from helpers import assert_refused
from hypothesis import given, settings
from hypothesis import strategies as st

from storagekit.drive import load_drive
from storagekit.plan import MinCost, ParityRAID, SRArrays, schemes

DRIVE = load_drive("rpm=7200,seek=1/8.5/18ms,rate=250MB/s,size=18TB")
TB, KIB, MS = 1e12, 2**10, 1e-3


def planned(disks: int = 12, **changed):
    return schemes(DRIVE, disks, **({"data": 60 * TB, "size": 64 * KIB, "read_share": 0.7, "rate": 300} | changed))


def rows(answer, **growth) -> dict:
    return {one.name: one for one in answer.growth(**growth).ranking}


def test_without_more_load_the_capacity_ends_a_scheme():
    """60 TB grow by 20% a year: RAID 5 of 12 disks with 198 TB is full after ln(3.3) / ln(1.2) years."""
    found = rows(planned(rate=50), data=0.2)["RAID 5, 11+1"]
    assert found.years == pytest.approx(math.log(198 / 60) / math.log(1.2), abs=1e-4)
    assert found.limit == "capacity of 198 TB"


def test_without_more_data_the_load_ends_a_scheme():
    """The rate grows by 50% a year until it is the throughput."""
    answer = planned()
    (one,) = [one for one in answer.ranking if one.name == "RAID 6, 10+2"]
    found = rows(answer, load=0.5)["RAID 6, 10+2"]
    assert found.years == pytest.approx(math.log(one.throughput / 300) / math.log(1.5), abs=1e-3)
    assert found.limit == f"load of {one.throughput:.0f} requests/s"


def test_a_limit_of_the_response_time_is_met_until_the_end():
    answer = planned(mean=20 * MS)
    for name, found in rows(answer, data=0.1, load=0.1).items():
        grown = {"data": 60 * TB * 1.1**found.years, "rate": 300 * 1.1**found.years}
        (last,) = [one for one in planned(**grown).ranking if one.name == name]
        if found.limit.startswith("mean"):
            assert last.mean == pytest.approx(20 * MS, rel=1e-4) and found.limit == "mean response time of 20 ms"
        else:
            assert last.mean <= 20 * MS
    tail = rows(planned(p99=60 * MS, families=[SRArrays(1)]), load=0.1)["RAID 10"]
    assert tail.limit == "99th percentile response time of 60 ms"


def test_an_objective_with_a_largest_utilization_ends_earlier():
    without, within = (rows(planned(objective=objective, disks=12), load=0.2) for objective in (None, MinCost(0.8)))
    for name in within:
        assert within[name].limit == "utilization of 80%"
    assert within and "RAID 10" in without


@settings(max_examples=8, deadline=None)
@given(st.floats(0.0, 1.0), st.floats(0.01, 1.0), st.floats(1.0, 2.0))
def test_faster_growth_is_never_enough_for_longer(data, load, factor):
    answer = planned(families=[ParityRAID()])
    slow, fast = rows(answer, data=data, load=load), rows(answer, data=data * factor, load=load * factor)
    for name in slow:
        assert fast[name].years <= slow[name].years + 1e-4


def test_enough_for_more_than_thirty_years_and_outstanding_requests():
    assert math.isinf(rows(planned(rate=50), load=0.001)["RAID 10"].years)
    found = planned(rate=None, outstanding=24).growth(load=10.0)
    assert all(one.limit == "load of 1000000 outstanding requests" for one in found.ranking)


def test_the_answer_is_sorted_printed_and_converted():
    answer = planned(tolerate=1).growth(data=0.25, load=0.2)
    years = [one.years for one in answer.ranking]
    assert years == sorted(years, reverse=True)
    assert (
        f"meets the requirements for {years[0]:.1f} years, with 25% more data and 20% more requests each year; then: "
        in str(answer)
    )
    content = json.loads(json.dumps(answer.to_dict(), allow_nan=False))
    assert content["ranking"][0]["years"] == years[0] and content["data"] == 0.25
    assert float(answer.table.years[0]) == years[0]


def test_wrong_growth_is_refused():
    assert_refused(lambda: planned().growth(), "growth of 0 for data and load: give data or load above 0")
    assert_refused(lambda: planned().growth(data=-0.1), "data -0.1")
    assert_refused(lambda: planned().growth(load=11.0), "load 11")
