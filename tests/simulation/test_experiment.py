"""Test the steps from sums to measures and intervals, and the order of points in sweeps."""

from dataclasses import replace

import numpy as np
import pytest
import xarray as xr
from helpers import assert_refused
from scipy import stats

from storagekit.core.errors import InputError
from storagekit.dispatch import Hashing, central
from storagekit.drive import RateServer, ideal_drive
from storagekit.engine import Scenario, System, Tally
from storagekit.papers.measurement import with_interval
from storagekit.placement import Replicas
from storagekit.schedule import FCFS
from storagekit.simulation import STANDARD, history, interval, ratio, replicate, simulate, sweep
from storagekit.simulation.measures import counted, measured, sums_of
from storagekit.workload import ClosedLoop, ExponentialSize, FixedSize, RandomRequests
from storagekit.write import AllCopies, Immediate

SERVER = RateServer(1000.0)


def scenario(outstanding=2, copies=2, sectors=4, dispatch=None, completion=None) -> Scenario:
    system = System(SERVER, Replicas(copies), dispatch or Hashing(), FCFS(), completion, drives=3, slots=64)
    return Scenario(system, ClosedLoop(RandomRequests(ExponentialSize(512 * sectors), 0.8), outstanding))


def test_an_interval_has_its_nominal_coverage():
    """Draw 2000 samples of 6 normal numbers.

    The share of intervals that cover 0 is within four standard deviations of 90%.
    """
    samples = np.random.default_rng(0).normal(size=(2000, 6))
    found = interval(xr.Dataset({"x": (("trial", "seed"), samples)}), level=0.9).x
    covers = float(((found.sel(statistic="low") <= 0) & (found.sel(statistic="high") >= 0)).mean())
    assert covers == pytest.approx(0.9, abs=4 * np.sqrt(0.09 / 2000))


def test_an_interval_equals_students_t_interval():
    data = xr.Dataset({"x": ("seed", [1.0, 2.0, 3.0, 6.0])}, attrs={"paper": "none"})
    found = interval(data)
    low, high = stats.t.interval(0.95, 3, 3.0, stats.sem([1.0, 2.0, 3.0, 6.0]))
    np.testing.assert_allclose(found.x.sel(statistic=["mean", "low", "high"]), [3.0, low, high])
    assert found.attrs == {"paper": "none", "confidence": 0.95, "replications": 4}


def test_a_single_replication_has_no_interval():
    found = interval(xr.Dataset({"x": ("seed", [2.0])})).x
    assert float(found.sel(statistic="mean")) == 2 and np.isnan(found.sel(statistic="low"))


def test_a_measurement_has_the_interval_of_its_row_if_it_exists():
    row = interval(xr.Dataset({"x": ("seed", [1.0, 2.0, 6.0])})).x
    found = with_interval("a.b.c", row, "why", "stand-in", holds=False)
    assert [found.measured, found.low, found.high] == row.sel(statistic=["mean", "low", "high"]).values.tolist()
    assert (found.id, found.note, found.basis, found.holds) == ("a.b.c", "why", "stand-in", False)
    alone = with_interval("a.b.c", interval(xr.Dataset({"x": ("seed", [2.0])})).x)
    assert (alone.measured, alone.low, alone.high) == (2.0, None, None)
    with pytest.raises(InputError, match=r"a\.b\.c: measured is nan"):
        with_interval("a.b.c", 0 * row / 0)


def test_a_paired_ratio_has_a_narrower_interval():
    noise = np.random.default_rng(1).normal(1, 0.2, 12)
    found = ratio(xr.DataArray(3 * noise, dims="seed"), xr.DataArray(2 * noise, dims="seed"))
    np.testing.assert_allclose(found, 1.5)


def tally(**sums) -> Tally:
    """Return sums of two chunks of one run with two drives."""
    empty = {one.name: np.zeros((2, one.rows(drives=2), 1)) for one in sums_of(STANDARD)}
    return {**empty, **{name: np.asarray(values, float).reshape(2, -1, 1) for name, values in sums.items()}}


def test_measures_worked_by_hand():
    """Measure two chunks of 2 s each.

    They have 6 reads and 2 writes completed, and 10 accesses of 0.1 s, 7 on drive 0 and 3 on drive 1.
    """
    sums = tally(
        elapsed=[2, 2],
        completed=[8, 8],
        reads=[6, 6],
        writes=[2, 2],
        read_response=[3, 3],
        write_response=[2, 2],
        served=[[7, 3], [7, 3]],
        busy=[[0.7, 0.3], [0.7, 0.3]],
        seek=[0.5, 0.5],
        rotation=[0.3, 0.3],
        transfer=[0.2, 0.2],
        choices=[10, 10],
        candidates=[25, 25],
        contested=[3, 3],
    )
    data = measured(counted(sums, 0), np.array([2]), STANDARD).isel(run=0)
    assert float(data.elapsed) == 4 and float(data.requests) == 16 and float(data.accesses) == 20
    assert float(data.throughput) == pytest.approx(20 / 4 / 2)
    assert data.brick_throughput.values == pytest.approx([3.5, 1.5])
    assert data.utilization.values == pytest.approx([0.35, 0.15]) and float(data.idle) == pytest.approx(0.75)
    assert [float(data[name]) for name in ("seek", "rotation", "transfer")] == pytest.approx([0.05, 0.03, 0.02])
    assert float(data.service_time) == pytest.approx(0.1)
    assert float(data.response) == pytest.approx(10 / 16) and float(data.write_response) == pytest.approx(1)
    assert float(data.outstanding) == pytest.approx(2.5)
    assert float(data.candidates) == 2.5 and float(data.contested) == 0.5
    assert float(data.contested_requests) == pytest.approx(6 / 16)
    attributes = {name: (one.attrs["units"], one.attrs["long_name"]) for name, one in data.data_vars.items()}
    assert attributes == {one.name: (one.unit, one.meaning) for one in STANDARD}


def test_the_warm_up_is_cut():
    sums = tally(elapsed=[2, 3], completed=[8, 8])
    assert counted(sums, 0)["elapsed"].item() == 5
    assert counted(sums, 8)["elapsed"].item() == 3
    assert counted(sums, 1)["elapsed"].item() == 3


def test_events_after_the_last_request_are_left_out():
    """The runs of a batch continue until the slowest has finished."""
    sums = tally(elapsed=[2, 3], completed=[8, 8])
    assert counted(sums, 0, 8)["elapsed"].item() == 2
    assert counted(sums, 0, 9)["elapsed"].item() == 5


def test_a_sweep_puts_every_point_at_its_coordinates():
    """Numbers, components and structure vary. Each point agrees approximately with the result of `replicate`.

    A batch runs until its slowest run has finished, so that a point of a batch may be simulated longer.
    """

    def build(dispatch, depth, completion):
        return scenario(depth, dispatch=dispatch, completion=completion)

    axes = {"dispatch": [Hashing(), central()], "depth": [1, 4], "completion": [AllCopies(), Immediate()]}
    effort = {"seeds": 2, "requests": 300, "allow_blocked": True}
    data = sweep(build, axes, **effort)
    assert data.response.dims == ("dispatch", "depth", "completion", "seed")
    # each value of each axis once; no other order of the axes has these coordinates
    for index in ((0, 1, 1), (1, 0, 0)):
        at = dict(zip(axes, index, strict=True))
        alone = replicate(build(**{name: axes[name][i] for name, i in at.items()}), **effort)
        ours = data.isel(at)
        np.testing.assert_allclose(ours.response, alone.response, rtol=0.1)
        np.testing.assert_allclose(ours.write_response, alone.write_response, rtol=0.1, atol=1e-9)


def test_an_axis_may_have_the_name_of_a_measure():
    """The dimension gets another name, also in a history, and all points are at their coordinates."""
    axes = {"outstanding": [1, 4], "sectors": [4]}
    data = sweep(scenario, axes, seeds=2, requests=300)
    assert data.outstanding.dims == ("axis_outstanding", "sectors", "seed")
    assert data.axis_outstanding.values.tolist() == [1, 4]
    np.testing.assert_allclose(data.outstanding.mean(["seed", "sectors"]), [1, 4], rtol=0.02)
    pieces = history(scenario, axes, requests=300, pieces=2).pieces
    assert pieces.outstanding.dims == ("axis_outstanding", "sectors", "seed", "piece")


def test_bricks_that_a_point_does_not_use_are_nan():
    data = sweep(lambda copies: scenario(copies=copies), {"copies": [1, 3]}, seeds=2, requests=300)
    assert np.isnan(data.utilization.sel(copies=1)).sum() == 2 * 2
    assert not np.isnan(data.utilization.sel(copies=3)).any()


def test_a_single_run_has_no_seed_dimension_and_has_provenance():
    data = simulate(scenario(), requests=300, seed=7)
    assert "seed" not in data.dims
    for attribute in ("basis", "storagekit", "jax", "drive", "dispatch", "seeds", "wall_seconds", "warm_up_requests"):
        assert attribute in data.attrs
    assert data.attrs["basis"] == "simulated" and data.attrs["dispatch"] == "Hashing"


def test_a_sweep_names_every_drive():
    drives = [replace(ideal_drive(full_seek=0.01, revolution=0.006), name=name) for name in ("one", "other")]

    def build(drive):
        return Scenario(System(drives[drive], Replicas(1), Hashing(), FCFS(), drives=1, slots=4), scenario().arrivals)

    data = sweep(build, {"drive": [0, 1]}, seeds=1, requests=200)
    assert data.attrs["drive"] == "one, other" and data.attrs["write"] == "AllCopies"


def test_utilization_law():
    """On average, throughput times service time equals utilization on each brick."""
    data = replicate(
        Scenario(
            System(SERVER, Replicas(3), Hashing(), FCFS(), drives=3, slots=8),
            ClosedLoop(RandomRequests(FixedSize(2048), 1.0), 5),
        ),
        seeds=4,
        requests=2000,
    )
    np.testing.assert_allclose(data.throughput * data.service_time, data.utilization.mean("brick"), rtol=1e-5)
    np.testing.assert_allclose(data.service_time, 4e-3, rtol=1e-5)


@pytest.mark.usefixtures("unchecked")
def test_a_sweep_names_an_argument_in_the_wrong_position():
    assert_refused(lambda: sweep({"copies": [1]}, scenario), "build: given")
    assert_refused(lambda: sweep(scenario, scenario), "axes: given the function scenario")
