"""Test the exhibits of later protocols, on data made by hand and in small simulations."""

import numpy as np
import pytest
import xarray as xr
from helpers import assert_refused

from storagekit.papers import since
from storagekit.papers.effort import Effort
from storagekit.papers.since import draw
from storagekit.papers.since.claims import BRICK_STREAMS, TENANTS
from storagekit.papers.since.selection import BURSTS, CONDITIONS, OBJECTS, ON_DISKS, ON_SERVERS, stream
from storagekit.papers.since.sharing import ACCESS, CASES, COORDINATED, TENANTS_CAPACITY
from storagekit.reproduce.claims import load_claims, numbers
from storagekit.reproduce.scorecard import score
from storagekit.simulation import interval

PAPER = numbers("since")
CAPACITY = 17_966_953


def verdicts(findings) -> dict[str, str]:
    ids = {found.id for found in findings}
    return {
        row.id: row.verdict for row in score([claim for claim in load_claims("since") if claim.id in ids], findings)
    }


def over(name: str, value, **axes) -> xr.Dataset:
    """Return a variable whose values for two seeds differ by 0.1%."""
    shape = [len(values) for values in axes.values()]
    values = np.broadcast_to(value, shape)[..., None] * np.array([0.9995, 1.0005])
    return xr.Dataset({name: ([*axes, "seed"], values)}, {key: list(labels) for key, labels in axes.items()})


def test_every_claim_has_a_finding():
    """The exact values themselves meet the claims, and other values do not."""
    policies, loads = list(ON_SERVERS), (0.5, 0.7)
    exact = np.array([[1.2657, 1.6145], [1.5841, 2.0429], [1.1507, 1.3742], [1.09, 1.2], [1.01, 1.05]])
    fields = over("normalized", exact, policy=policies, load=loads)
    floors = over("normalized", [[1.3572, 2.9694], [1.0739, 1.6687]], servers=(4, 10), load=(0.7, 0.9))
    found = since.mean_fields_findings(fields) + since.floors_findings(floors) + since.codes_findings(since.codes())
    assert set(verdicts(found).values()) <= {"match", "holds"}
    worse = since.mean_fields_findings(fields.isel(policy=[1, 0, 2, 4, 3]).assign_coords(policy=policies))
    assert verdicts(worse)["since.mean_fields.two_choices[0.5]"] == "miss"
    assert verdicts(worse)["since.mean_fields.shorter_idle_queue"] == "broken"
    assert verdicts(worse)["since.mean_fields.memory_alone"] == "broken"
    times = np.array([10, 20, 25, 30, 40, 20, 25, 30, 50.0])
    tails = over("p99", times[:, None, None], policy=list(ON_DISKS), condition=list(CONDITIONS), load=(0.3, 0.7))
    assert set(verdicts(since.tails_findings(tails)).values()) == {"holds"}
    for claim, policy, where in (
        ("since.tails.dsptf", "D-SPTF", {"condition": "bursts", "load": 0.7}),
        ("since.tails.tied", "Tied", {"condition": "equal bricks", "load": 0.3}),
        ("since.tails.slow_brick", "ARS", {"condition": "a slow brick", "load": 0.7}),
    ):
        slower = tails.copy(deep=True)
        slower.p99.loc[{"policy": policy, **where}] = 51
        broken = {name for name, verdict in verdicts(since.tails_findings(slower)).items() if verdict == "broken"}
        assert broken == {claim}
    simulated = {"since.shares", "since.tenants", "since.bricks", "since.declustering"}
    ids = {row.id for row in [*found, *since.tails_findings(tails)]}
    assert ids == {claim.id for claim in load_claims("since") if claim.exhibit not in simulated}


def test_small_runs_keep_the_rates_of_mclock():
    data = since.shares(Effort(seeds=2, requests=600), capacity=(875, 1200, 1800, 3000))
    found = since.shares_findings(data)
    assert set(verdicts(found).values()) <= {"match", "holds"} and len(found) == 13
    # streams that always wait use the whole server
    np.testing.assert_allclose(
        data.stream_rate.sum("stream"), data.capacity.broadcast_like(data.stream_rate.sum("stream")), rtol=0.01
    )
    swapped = data.assign_coords(queue=data["queue"].values[::-1])
    assert verdicts(since.shares_findings(swapped))["since.shares.reservation"] == "broken"


def test_small_runs_keep_reservations_limits_and_credits():
    data = since.tenants(Effort(seeds=2, requests=1200))
    assert set(verdicts(since.tenants_findings(data)).values()) <= {"match", "holds"}
    # tenants that are not active have no requests, and the active ones use the whole server
    assert (data.stream_rate.sel(case="2 active", stream=TENANTS[2:]) == 0).all()
    np.testing.assert_allclose(data.stream_rate.sum("stream"), TENANTS_CAPACITY, rtol=0.01)
    # exact shares of weight 2 with five active tenants: a third of what the reservations leave
    shares = data.stream_rate.sel(queue="mClock", case="5 active", stream=TENANTS[2:])
    np.testing.assert_allclose(shares, (TENANTS_CAPACITY - 550) / 3, rtol=0.02)
    for axis, swapped, broken in (
        ("queue", ["mClock", "fair queue"], {"reservations", "limit", "limit_response", "credit"}),
        ("stream", [TENANTS[0], TENANTS[2]], {"reservations", "limit", "limit_response"}),
        ("case", ["3 active", "3 active, limit"], {"limit", "limit_response"}),
        ("case", ["bursty", "bursty, credit"], {"credit"}),
    ):
        other = dict(zip(swapped, swapped[::-1], strict=True))
        labels = [other.get(label, label) for label in data[axis].values.tolist()]
        found = verdicts(since.tenants_findings(data.assign_coords({axis: labels})))
        failed = {claim for claim, verdict in found.items() if verdict in ("broken", "miss")}
        assert {f"since.tenants.{name}" for name in broken} <= failed


def test_small_runs_keep_the_rates_of_dmclock_over_bricks():
    data = since.bricks(Effort(seeds=2, requests=1200))
    found = verdicts(since.bricks_findings(data))
    assert set(found.values()) <= {"match", "holds"} and len(found) == 7
    swapped = data.assign_coords(queue=data["queue"].values[::-1])
    assert verdicts(since.bricks_findings(swapped))["since.bricks.each_brick"] == "broken"
    assert verdicts(since.bricks_findings(swapped))["since.bricks.first[skewed]"] == "miss"


def test_small_runs_of_declustered_parity():
    """The accesses after a loss are counted by hand: the data, its parity, or neither of a request is lost."""
    data = since.declustering(Effort(seeds=4, requests=600))
    group, disks = data["group"], 21
    read = (disks - 1 + group - 1) / disks
    write = ((group - 1) + 1 + (disks - 2) * 4) / disks
    found = interval(data).accesses
    error = (found.sel(statistic="high") - found.sel(statistic="mean")).clip(0.02)
    assert (abs(found.sel(statistic="mean") - (read + write) / 2) < 2 * error).all()
    assert set(verdicts(since.declustering_findings(data)).values()) <= {"match", "holds"}
    swapped = data.assign_coords(group=group.values[::-1])
    assert verdicts(since.declustering_findings(swapped))["since.declustering.accesses[4]"] == "miss"
    turned = verdicts(since.declustering_findings(data.isel(group=slice(None, None, -1))))
    broken = {f"since.declustering.{name}" for name in ("after_loss", "rebuild", "rebuild_time")}
    assert {claim for claim, verdict in turned.items() if verdict == "broken"} == broken
    # A request of 1 MB of the rebuild needs one access of every disk of a group, of about 58 ms: a positioning time, and a
    # transfer at 20 MB/s. The disks are idle for 73, 70 and 63% of the time, and 20/21 of the lost disk had data.
    requests = CAPACITY * 512 * 20 / 21 / 2**20
    expected = requests * group * 0.058 / (disks - 1) / np.array([0.73, 0.70, 0.63])
    np.testing.assert_allclose(data.rebuild_time.mean("seed"), expected, rtol=0.2)
    assert_refused(lambda: since.declustering(group=(7,)), "group 7")
    assert "Declustered parity on 21 disks" in str(draw.declustering(interval(data)).to_dict()["title"])
    slow = data.copy(deep=True)
    slow.response.loc[{"state": "no loss", "group": 10}] *= 1.2
    assert verdicts(since.declustering_findings(slow))["since.declustering.no_loss"] == "broken"


def test_streams_of_requests_differ_only_where_the_condition_says():
    plain = [stream(name, 3, 20_000, CAPACITY) for name in ("equal bricks", "two kinds", "a slow brick")]
    for one in plain[1:]:
        assert np.array_equal(one.gap, plain[0].gap) and np.array_equal(one.sector, plain[0].sector)
    bursts, popular = (stream(name, 3, 20_000, CAPACITY) for name in ("bursts", "popular data"))
    for one in (*plain, bursts, popular):
        assert abs(one.gap.mean() - 1) < 4 * one.gap.std() / 20_000**0.5
        assert one.sector.min() >= 0 and one.sector.max() + 8 <= CAPACITY and not (one.sector % 8).any()
    slow, fast = (bursts.gap.reshape(-1, 2, 100)[:, part].mean() for part in (0, 1))
    assert slow / fast == pytest.approx(BURSTS[1] / BURSTS[0], rel=0.05)
    # Zipf's law: the most popular block has 1 / H(n) of the requests
    share = np.unique(popular.sector, return_counts=True)[1].max() / 20_000
    assert share == pytest.approx(1 / np.sum(1 / np.arange(1, OBJECTS + 1)), abs=4 * (share / 20_000) ** 0.5)


def test_a_small_run_on_disks_has_all_measures_and_a_chart():
    data = since.tails(
        Effort(seeds=2, requests=256), policy=("D-SPTF", "Hashing"), condition=("equal bricks",), load=(0.3, 0.7)
    )
    assert dict(data.p99.sizes) == {"policy": 2, "condition": 1, "load": 2, "seed": 2}
    assert (data.p99 >= data.response).all() and data.attrs["seeds"] == [0, 1]
    assert (data.response.sel(policy="D-SPTF") < data.response.sel(policy="Hashing")).all()


def test_charts_show_the_numbers_of_the_claims():
    policies = list(ON_SERVERS)
    fields = interval(over("normalized", 1.3, policy=policies, load=(0.5, 0.7)))
    spec = draw.mean_fields(fields, PAPER).to_dict()
    assert "1.2657" in str(spec) and "exact limits" in str(spec["title"])
    floors = interval(over("normalized", 1.4, servers=(4, 10), load=(0.7, 0.9)))
    assert "2.9694" in str(draw.floors(floors, PAPER).to_dict())
    tails = interval(over("p99", 0.02, policy=list(ON_DISKS), condition=list(CONDITIONS), load=(0.3, 0.7)))
    assert "at least 1.0 times" in str(draw.tails(tails).to_dict()["title"])
    assert "1568" in str(draw.codes(since.codes(), PAPER).to_dict())
    streams = ["weight 1, at least 250", "weight 2, at least 250", "weight 3, at most 1,000"]
    axes = {"queue": ["mClock", "fair queue"], "capacity": (875, 1200, 1800, 3000), "stream": streams}
    assert "1333.3" in str(draw.shares(interval(over("stream_rate", 500.0, **axes)), PAPER).to_dict())
    axes = {"queue": ["mClock", "fair queue"], "case": list(CASES), "stream": TENANTS}
    data = over("stream_rate", 500.0, **axes).merge(over("stream_response", 0.02, **axes))
    assert "500 requests a second with mClock" in str(draw.tenants(interval(data)).to_dict()["title"])
    axes = {"queue": list(COORDINATED), "access": list(ACCESS), "stream": list(BRICK_STREAMS.values())}
    assert "501 requests/s with dmClock" in str(
        draw.bricks(interval(over("stream_rate", 501.0, **axes)), PAPER).to_dict()["title"]
    )
