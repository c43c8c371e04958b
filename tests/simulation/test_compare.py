"""Test the comparison of schemes: equal requests for all, paired differences, and reports of overload."""

import json

import numpy as np
import pytest
import xarray as xr
from helpers import assert_refused, assert_states_result, heading, rows
from scipy import stats

from storagekit.core.resources import data_path
from storagekit.dispatch import DSPTF, Hashing
from storagekit.drive import RateServer, load_drive
from storagekit.engine import System
from storagekit.placement import Replicas
from storagekit.schedule import FCFS, SATF
from storagekit.simulation import replay
from storagekit.simulation.compare import Comparison, compare
from storagekit.workload import ClosedLoop, FixedSize, RandomRequests
from storagekit.workload.trace import read, request_trace

TRACE = read(data_path("samples", "small.spc"))
# one server, 2 ms for a request of one sector
SLOW = RateServer(500.0)


def bricks(dispatch) -> System:
    return System(load_drive("atlas10k"), Replicas(2), dispatch, SATF(), slots=256)


def server(slots) -> System:
    return System(SLOW, Replicas(1), Hashing(), FCFS(), slots=slots)


def reads_every(seconds, count=600):
    """Return one-sector reads at this interval in seconds."""
    return request_trace(
        np.arange(count) * seconds, np.zeros(count), np.arange(count) * 512, np.full(count, 512), np.ones(count)
    )


@pytest.fixture(scope="module")
def found() -> Comparison:
    schemes = {"hashing": bricks(Hashing()), "D-SPTF": bricks(DSPTF()), "again": bricks(Hashing())}
    return compare(TRACE, schemes, seeds=3)


def test_a_scheme_with_a_seed_equals_a_replay(found):
    for name, dispatch in (("hashing", Hashing()), ("D-SPTF", DSPTF())):
        alone = replay(TRACE, bricks(dispatch), seed=2)
        one = found.data.sel(scheme=name, seed=2)
        for measure in ("response", "utilization", "claims_per_read", "request_rate"):
            np.testing.assert_allclose(one[measure], alone[measure], rtol=1e-4)
        np.testing.assert_allclose(one.response_quantile, alone.response_quantile, rtol=0.02)


def test_no_quantiles_are_pooled_over_a_part_of_the_seeds(found):
    """The seeds are simulated in parts, so that only the quantiles of each seed are right."""
    assert "response_quantile" in found.data and not [name for name in found.data if str(name).startswith("pooled")]


def test_the_same_scheme_twice_has_no_difference(found):
    again = found.summary.sel(scheme="again")
    for name in ("response_difference", "quantile_difference", "rate_difference"):
        assert (again[name] == 0).all()
    assert found.against == "hashing" and not found.overloaded


def test_differences_are_of_pairs(found):
    ours, theirs = (found.data.response.sel(scheme=name).values for name in ("D-SPTF", "hashing"))
    pairs = ours / theirs - 1
    expected = [pairs.mean(), *stats.t.interval(0.95, 2, pairs.mean(), stats.sem(pairs))]
    result = found.summary.response_difference.sel(scheme="D-SPTF", statistic=["mean", "low", "high"])
    np.testing.assert_allclose(result, expected, rtol=1e-6)
    row = found.to_pandas().loc["D-SPTF"]
    assert [row.difference, row.low, row.high] == pytest.approx(expected)
    assert f"{expected[0]:+.1%} ({expected[1]:+.1%} to {expected[2]:+.1%})" in str(found)


def test_the_baseline_can_be_chosen(found):
    other = compare(TRACE, {"hashing": bricks(Hashing()), "D-SPTF": bricks(DSPTF())}, seeds=[0], against="D-SPTF")
    seed = found.data.response.sel(seed=0)
    expected = float(seed.sel(scheme="hashing") / seed.sel(scheme="D-SPTF") - 1)
    mean, low, _ = other.summary.response_difference.sel(scheme="hashing").values
    assert mean == pytest.approx(expected, rel=1e-5) and np.isnan(low)
    assert "one seed: no interval" in str(other) and other.to_dict()["schemes"][0]["low"] is None


def test_an_overload_is_reported():
    """There are 2 ms of work every millisecond: responses rise to the end. With few slots, arrivals wait outside."""
    reasons = compare(reads_every(1e-3), {"few": server(64), "many": server(1024)}, seeds=1).overloaded
    assert "of the arrivals waited for a slot" in reasons["few"] and "slot" not in reasons["many"]
    for reason in reasons.values():
        assert "busy 100% of the time" in reason and "response times rose from" in reason
    assert not compare(reads_every(4e-3), {"many": server(1024)}, seeds=1).overloaded


def test_a_loop_keeps_its_drives_busy_and_overloads_nothing():
    loop = ClosedLoop(RandomRequests(FixedSize(512), read_share=1.0), 8)
    result = compare(loop, {"one": server(64)}, seeds=2, requests=1000)
    assert float(result.data.utilization.min()) > 0.99 and not result.overloaded
    assert result.data.attrs["warm_up_requests"] == 200


def test_a_comparison_is_written_to_a_file_and_as_json(found, tmp_path):
    path = tmp_path / "found.nc"
    found.to_netcdf(path)
    xr.testing.assert_allclose(xr.load_dataset(path)[["response"]], found.data[["response"]])
    summary = xr.load_dataset(path, group="summary")
    xr.testing.assert_allclose(summary[["response_difference"]], found.summary[["response_difference"]])
    assert [one.name for one in tmp_path.iterdir()] == ["found.nc"]
    result = json.loads(json.dumps(found.to_dict()))
    assert [row["scheme"] for row in result["schemes"]] == ["hashing", "D-SPTF", "again"]
    assert result["attrs"]["trace"] == str(data_path("samples", "small.spc"))


def test_a_failed_write_keeps_the_earlier_file(found, tmp_path):
    path = tmp_path / "found.nc"
    path.write_text("old")
    broken = Comparison(found.data.assign(bad=("scheme", [object()] * 3)), found.summary, {})
    with pytest.raises(Exception, match="bad"):
        broken.to_netcdf(path)
    assert path.read_text() == "old" and len(list(tmp_path.iterdir())) == 1


def test_the_chart_has_every_scheme_and_marks_overloaded_ones(found):
    marked = Comparison(found.data, found.summary, {"D-SPTF": "it is slow"}).chart().to_dict()
    drawn = [row for row in rows(marked) if "scheme" in row]
    assert {row["scheme"] for row in drawn} == {"hashing", "D-SPTF (overloaded)", "again"}
    means = {row["scheme"]: row["mean"] for row in drawn if row.get("figure") == "mean" and row["mean"] > 1}
    assert means["hashing"] == pytest.approx(1e3 * float(found.data.response.sel(scheme="hashing").mean()))
    assert "3 seeds" in heading(marked) and "small.spc" in heading(marked)
    # the text gives figures of the schemes that are not overloaded; "again" equals "hashing"
    said = "Response time of again compared with hashing: +0.0% (+0.0 to +0.0) in the mean, and +0.0% at the 99th"
    assert f"{said} percentile." in heading(marked)
    assert_states_result(marked)


def test_the_chart_gives_the_gain_of_the_fastest_scheme(found):
    result = 100 * found.summary.response_difference.sel(scheme="D-SPTF")
    mean, low, high = (float(result.sel(statistic=name)) for name in ("mean", "low", "high"))
    assert mean < 0, "D-SPTF must be the fastest scheme of this trace"
    chart = found.chart().to_dict()
    assert f"D-SPTF compared with hashing: {mean:+.1f}% ({low:+.1f} to {high:+.1f}) in the mean" in heading(chart)
    alone = Comparison(found.data, found.summary.where(found.summary.statistic == "mean"), {}).chart().to_dict()
    assert f"D-SPTF compared with hashing: {mean:+.1f}% in the mean" in heading(alone)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: compare(TRACE, {}), "no schemes to compare"),
        (lambda: compare(TRACE, {"hashing": Hashing()}), "scheme 'hashing' is a Hashing: give a System"),
        (lambda: compare(TRACE, {"one": server(64)}, against="two"), "against 'two': give one of one"),
        (
            lambda: compare(RandomRequests(FixedSize(512), 1.0), {"one": server(64)}),
            "given a RandomRequests",
        ),
        (lambda: compare(TRACE, {"one": server(64)}, seeds=[1, 1]), "give each seed once"),
        (lambda: compare(TRACE, {"one": server(64)}, requests=0), "requests 0: give a whole number"),
    ],
)
def test_impossible_comparisons_raise(call, message, unchecked):
    assert_refused(call, message)
