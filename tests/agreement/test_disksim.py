"""Atlas 10K, mechanics only, against DiskSim 4.0: means of three seeds of 100,000 4 KB reads in DiskSim.

Source: data/reference/disksim_atlas10k.csv.
"""

import csv

import pytest

from storagekit.core.resources import data_path
from storagekit.core.units import MS
from storagekit.dispatch import Hashing
from storagekit.drive import load_drive
from storagekit.engine import Scenario, System
from storagekit.placement import Replicas
from storagekit.schedule import FCFS, LOOK, SATF
from storagekit.simulation import replicate, sweep
from storagekit.workload import ClosedLoop, FixedSize, PoissonArrivals, RandomRequests

pytestmark = pytest.mark.optimized

READS = RandomRequests(FixedSize(4096), 1.0)
POLICIES = {"FCFS": FCFS(), "ELEVATOR_LBN": LOOK(), "SPTF_OPT": SATF()}


def rows(workload: str, policy: str) -> list[dict[str, str]]:
    with data_path("reference", "disksim_atlas10k.csv").open(encoding="utf-8") as file:
        return [row for row in csv.DictReader(file) if (row["workload"], row["policy"]) == (workload, policy)]


def atlas(schedule, slots) -> System:
    return System(load_drive("atlas10k"), Replicas(1), Hashing(), schedule, drives=1, slots=slots)


@pytest.mark.parametrize(("policy", "depths"), [("FCFS", 7), ("ELEVATOR_LBN", 2), ("SPTF_OPT", 5)])
def test_closed_throughput_within_one_percent(policy, depths):
    expected = {int(row["pending_N"]): float(row["throughput_iops"]) for row in rows("closed", policy)}
    assert len(expected) == depths
    system = atlas(POLICIES[policy], slots=max(expected))
    data = sweep(
        lambda pending: Scenario(system, ClosedLoop(READS, pending)),
        {"pending": list(expected)},
        requests=10_000,
        seeds=8,
    )
    for pending, throughput in expected.items():
        found = float(data.throughput.sel(pending=pending).mean())
        assert found == pytest.approx(throughput, rel=0.01), f"{policy}, {pending} pending"


def test_the_components_of_an_access_agree_with_disksim():
    (row,) = (row for row in rows("closed", "FCFS") if row["pending_N"] == "4")
    data = replicate(Scenario(atlas(FCFS(), 64), ClosedLoop(READS, 4)), requests=10_000, seeds=8).mean("seed")
    parts = [float(part) / MS for part in (data.seek, data.rotation, data.transfer)]
    theirs = [float(row[name]) for name in ("mean_seek_ms", "mean_rotlat_ms", "mean_transfer_ms")]
    assert parts == pytest.approx(theirs, rel=0.01)


@pytest.mark.parametrize(("rates", "seeds"), [([50, 80], 8), pytest.param([50, 80, 100], 32, marks=pytest.mark.slow)])
def test_open_response_within_three_percent(rates, seeds):
    """At 100 arrivals per second the disk is 87% busy, and a run's mean varies by several percent. This needs many long
    runs."""
    expected = {float(row["arrival_rate_per_s"]): float(row["mean_response_ms"]) for row in rows("open", "FCFS")}
    assert list(expected) == [50, 80, 100]
    data = sweep(
        lambda rate: Scenario(atlas(FCFS(), 64), PoissonArrivals(READS, rate)),
        {"rate": rates},
        requests=30_000,
        seeds=seeds,
        allow_blocked=True,
    )
    for rate in rates:
        found = float(data.response.sel(rate=rate).mean()) / MS
        assert found == pytest.approx(expected[rate], rel=0.03), f"{rate} a second"
