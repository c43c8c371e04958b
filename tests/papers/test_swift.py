"""Test the figures and studies of Swift: laws that hold in small runs."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
import xarray as xr

from storagekit.analytic.forkjoin import Host, Network, Striping
from storagekit.core.errors import InputError
from storagekit.core.units import KB, MB
from storagekit.papers.swift import figures, studies
from storagekit.papers.swift.gigabit_system import (
    DISKS,
    HOST,
    LARGE_UNIT,
    M2372K,
    QUICK,
    REQUEST,
    SATA,
    SLOWER,
    SMALL_REQUEST,
    SMALL_UNIT,
    UNITS,
    StreamEffort,
    effort,
    gigabit,
)
from storagekit.reproduce.claims import load_claims
from storagekit.reproduce.scorecard import score

pytestmark = pytest.mark.optimized

TINY = StreamEffort(seeds=3, requests=400)
LOADS = (0.02, 0.3, 0.5, 0.8)


@pytest.fixture(scope="module")
def fig3() -> xr.Dataset:
    return figures.fig3(TINY, loads=LOADS)


@pytest.fixture(scope="module")
def fig4() -> xr.Dataset:
    return figures.fig4(TINY, loads=LOADS)


@pytest.fixture(scope="module")
def fig5() -> xr.Dataset:
    return figures.fig5(TINY)


@pytest.fixture(scope="module")
def fig6() -> xr.Dataset:
    return figures.fig6(TINY)


@pytest.fixture(scope="module")
def redundancy() -> xr.Dataset:
    return studies.redundancy(TINY)


@pytest.fixture(scope="module")
def check_data() -> xr.Dataset:
    return studies.check_data(TINY)


@pytest.fixture(scope="module")
def modern() -> xr.Dataset:
    return studies.modern(TINY)


def test_the_system_agrees_with_the_paper():
    """A block of 32 KB takes 37 ms.

    A request of 1 MB has a block of 32 KB on each of 32 disks, so the disks can serve 1 / 37.4 ms.
    """
    system = gigabit(LARGE_UNIT, 32)
    assert float(M2372K.mean(LARGE_UNIT)) == pytest.approx(0.016 + 0.0083 + 32768 / 2.5e6)
    assert system.saturation() == (pytest.approx(1 / 0.0374072), "disk")
    assert float(SLOWER.mean(SMALL_UNIT) - M2372K.mean(SMALL_UNIT)) == pytest.approx(4096 / 1.5e6 - 4096 / 2.5e6)
    # section 5.1: four reads for a write; 1500 instructions and one per byte, at 100 million a second
    assert system.write_share == 1 / (4 + 1)
    assert system.client == system.agent == Host()
    assert float(system.client.seconds(4096)) == pytest.approx((1500 + 4096) / 100e6)
    assert not system.network.switched and system.network.rate * 8 == 1e9


def test_an_effort_follows_from_its_profile():
    assert effort("quick") == QUICK
    quick, full = effort("quick", 7), effort("full", 7)
    assert quick.seed_list[0] == full.seed_list[0] == 7
    assert quick.seed_list == list(range(7, 7 + quick.seeds))
    assert full.seeds > quick.seeds and full.requests > quick.requests and full.sessions > quick.sessions
    with pytest.raises(InputError, match="profile 'slow': give one of quick, full"):
        effort("slow")


def test_points_and_values_are_placed_on_their_axes():
    """Use two drives and three depths, with one number for a point and with two seeds for a point."""
    axes = {"drive": ["old", "new"], "depth": [1, 2, 4]}
    points = figures.points(axes)
    assert points[:4] == [
        {"drive": "old", "depth": 1}, {"drive": "old", "depth": 2}, {"drive": "old", "depth": 4},
        {"drive": "new", "depth": 1},
    ]  # fmt: skip
    worth = [{"old": 10, "new": 20}[point["drive"]] + point["depth"] for point in points]
    flat = {
        "one": ((), worth, "s", "a number"),
        "two": (("seed",), [[each, -each] for each in worth], "", "by seed"),
    }
    data = figures.on_grid(flat, axes)
    assert data.one.dims == ("drive", "depth") and data.two.dims == ("drive", "depth", "seed")
    for point, each in zip(points, worth, strict=True):
        assert float(data.one.sel(point)) == each
        assert data.two.sel(point).values.tolist() == [each, -each]
    assert data.one.attrs == {"units": "s", "long_name": "a number"} and "units" not in data.two.attrs


def test_a_grid_has_the_results_of_its_single_points():
    """Every point of a grid equals the run of this point alone: seeds determine the streams."""
    loads, axes = (0.3, 0.6), {"unit": (16 * KB, 32 * KB), "disks": (4, 8)}
    together = figures.against_load(gigabit, axes, loads, TINY)
    for unit, disks in itertools.product(*axes.values()):
        alone = figures.against_load(gigabit, {"unit": (unit,), "disks": (disks,)}, loads, TINY)
        for name in ("completion", "rate", "low", "high", "utilization"):
            expected = alone[name].sel(unit=unit, disks=disks)
            assert together[name].sel(unit=unit, disks=disks).values == pytest.approx(expected.values, rel=1e-4)


def test_seeds_determine_the_streams(fig4):
    later = figures.fig4(replace(TINY, first_seed=1), loads=LOADS)
    shared = [1, 2]
    assert later.seed.values.tolist() == [1, 2, 3]
    assert np.array_equal(later.completion.sel(seed=shared), fig4.completion.sel(seed=shared))
    assert not np.array_equal(later.completion.sel(seed=3), fig4.completion.sel(seed=0))


@pytest.mark.parametrize("name", ["fig3", "fig4"])
def test_completion_grows_with_the_load_and_falls_with_more_disks(name, request):
    """This holds for every seed, because all loads and layouts get the same requests."""
    completion = request.getfixturevalue(name).completion
    assert float(completion.diff("load").min()) > 0
    assert float(completion.diff("disks").max()) < 0


def test_larger_units_complete_sooner_at_the_same_share_of_saturation(fig3):
    assert float(fig3.completion.diff("unit").max()) < 0


@pytest.mark.parametrize("name", ["fig3", "fig4"])
def test_the_utilization_of_a_disk_equals_the_load(name, request):
    """Loads are shares of saturation, and the disks saturate first."""
    data = request.getfixturevalue(name)
    disk = data.utilization.sel(resource="disk")
    np.testing.assert_allclose(disk, disk["load"].broadcast_like(disk), rtol=1e-12)
    assert bool((data.utilization <= disk).all())
    # the rate that the disks' time allows: 32 blocks on 32 disks
    if name == "fig3":
        rates = data.rate.sel(unit=LARGE_UNIT, disks=32)
        assert rates.values == pytest.approx(np.array(LOADS) / float(M2372K.mean(LARGE_UNIT)))


@pytest.mark.parametrize("name", ["fig3", "fig4"])
def test_the_simulated_times_lie_between_the_bounds(name, request):
    """The bounds are formulas for the disks alone; processors and ring add little.

    The noise of such a short run is 1% without queues. Beyond half of saturation it would be larger.
    """
    data = request.getfixturevalue(name)
    mean = data.completion.mean("seed").sel(load=slice(0, 0.5))
    assert bool((data.low < data.high).all())
    assert bool((mean > 0.99 * data.low).all()) and bool((mean < data.high).all())
    # at low load the lower bound equals the time, except for the transfers on the network
    assert float(abs(mean / data.low - 1).sel(load=0.02).max()) < 0.05


def test_figures_record_how_they_were_made(fig3, fig4, fig5):
    assert fig3.attrs["exhibit"] == "swift.fig3" and fig4.attrs["exhibit"] == "swift.fig4"
    assert (fig3.attrs["request"], fig4.attrs["request"]) == (MB, 128 * KB)
    assert (fig3.attrs["drive"], fig4.attrs["drive"]) == (M2372K.name, SLOWER.name)
    assert fig5.attrs["drive"] == f"{M2372K.name}, {SLOWER.name}"
    for data in (fig3, fig4, fig5):
        attributes = {"seeds": [0, 1, 2], "requests_per_run": 400, "write_share": 0.2, "basis": "simulated"}
        assert {name: data.attrs[name] for name in attributes} == attributes
    assert (fig3.unit.values.tolist(), fig3.disks.values.tolist()) == (list(UNITS), list(DISKS))


@pytest.mark.parametrize(
    ("unit", "disks", "request_size", "disk"),
    [(LARGE_UNIT, 32, REQUEST, M2372K), (SMALL_UNIT, 4, REQUEST, M2372K), (SMALL_UNIT, 32, SMALL_REQUEST, SLOWER)],
)
def test_a_sustained_request_takes_the_time_between_requests(unit, disks, request_size, disk):
    """Evaluate the definition in section 5.2 with the other function.

    It runs at this share of saturation, on the same stream.
    """

    def build(disks: int):
        return gigabit(unit, disks, request_size, disk)

    one = replace(TINY, seeds=1, first_seed=2)
    found = figures.sustained(build, {"disks": (disks,)}, one).squeeze()
    share = float(found.rate / found.saturation)
    again = figures.against_load(build, {"disks": (disks,)}, (share,), one).squeeze()
    assert float(again.completion * found.rate) == pytest.approx(1, rel=0.001)
    assert float(again.rate) == pytest.approx(float(found.rate))
    assert float(found.data_rate) == pytest.approx(float(found.rate) * request_size)
    # the disks are the bottleneck, so their utilization equals the share
    assert found.bottleneck.item() == "disk" and float(found.utilization) == pytest.approx(share)


def test_more_disks_and_faster_ones_sustain_more(fig5):
    rate = fig5.data_rate
    growth = rate / rate.shift(disks=1)
    assert float(growth.min()) > 1 and float(growth.max()) < 2.1
    assert float((rate.sel(device=M2372K.name) / rate.sel(device=SLOWER.name)).min()) > 1
    assert bool((fig5.rate < fig5.saturation).all()) and set(fig5.bottleneck.values.ravel()) == {"disk"}


def test_more_disks_and_larger_units_sustain_more(fig6):
    """Twice the unit gives less than twice the rate, because its transfer takes longer."""
    assert fig6.attrs["exhibit"] == "swift.fig6"
    assert float(fig6.data_rate.diff("disks").min()) > 0 and float(fig6.data_rate.diff("unit").min()) > 0
    growth = fig6.data_rate.sel(unit=32 * KB) / fig6.data_rate.sel(unit=16 * KB)
    # blocks of 37.4 and 30.9 ms
    assert float(growth.max()) < 2 * 30.9 / 37.4 * 1.05


def test_small_runs_give_every_claim_once(fig3, fig4, fig5, fig6):
    found = [
        *figures.shared_findings(),
        *figures.fig3_findings(fig3, fig6),
        *figures.fig4_findings(fig4),
        *figures.fig5_findings(fig5),
        *figures.fig6_findings(fig6, fig5),
    ]
    prefixes = tuple(f"swift.{name}." for name in ("sim", "fig3", "fig4", "fig5", "fig6"))
    claims = [claim for claim in load_claims("swift") if claim.id.startswith(prefixes)]
    assert sorted(one.id for one in found) == sorted(claim.id for claim in claims)
    rows = {row.id: row for row in score(claims, found)}
    assert "not-run" not in {row.verdict for row in rows.values()} and all(row.note for row in rows.values())
    # depends on the parameters only, for any run
    assert rows["swift.sim.block_32k"].verdict == "match"
    knee = figures.largest_loads(fig3, fig6).rate.sel(load_meant="knee")
    assert rows["swift.fig3.knee_32"].measured == float(knee)
    assert rows["swift.fig3.utilization_at_knee"].measured == pytest.approx(float(knee) * 0.0374072)
    assert rows["swift.sim.ring_use"].verdict == rows["swift.fig3.four_disks"].verdict == "holds"


def test_the_papers_largest_load():
    """With completion times 1 / (c - rate), the power, rate times (c - rate), is largest at c / 2, half of saturation."""
    limit = 1 / 0.0374072
    rates = np.linspace(0.02, 0.9, 40) * limit
    axes = {"unit": [32 * KB], "disks": [32], "load": rates / limit}
    data = xr.Dataset(
        {
            "rate": (tuple(axes), rates[None, None]),
            "completion": ((*axes, "seed"), (1 / (limit - rates))[None, None, :, None]),
        },
        coords=axes | {"seed": [0]},
    )
    apart = xr.Dataset(
        {"rate": (("unit", "disks", "seed"), [[[12.0]]])}, {"unit": [32 * KB], "disks": [32], "seed": [0]}
    )
    found = figures.largest_loads(data, apart)
    assert found.rate.values == pytest.approx([12.0, limit / 2, 22.0, limit], rel=2e-3)
    assert found.utilization.values == pytest.approx([12 / limit, 0.5, 22 / limit, 1.0], rel=2e-3)
    assert found.completion.values[:3] == pytest.approx([1 / (limit - 12), 2 / limit, 1 / (limit - 22)], rel=2e-3)
    assert np.isnan(found.completion.values[3])
    assert float(found.times_alone[2]) == pytest.approx(0.98 * limit / (limit - 22), rel=2e-3)


def test_failures_without_groups_are_missing_and_all_else_is_measured(redundancy):
    blank = redundancy.data_rate.isnull().any("seed")
    expected = (redundancy.groups == 0) & (redundancy.down != "none")
    assert bool((blank == expected.broadcast_like(blank)).all())


def test_check_data_costs_at_most_the_disks_that_hold_it(redundancy, check_data):
    """Check data are on g of 32 disks, and a read leaves them out: at most 32 / (32 - g) times the time.

    A write also writes them, and waits for the client to compute them.
    """
    none = redundancy.sel(down="none")
    taken = 1 / none.rate.mean("seed")
    for share, groups in itertools.product((0.0, 0.2, 1.0), (1, 2, 4, 8)):
        plain, checked = (float(taken.sel(write_share=share, groups=each)) for each in (0, groups))
        made = share * float(Host().check_seconds(REQUEST))
        assert plain < checked < plain * 32 / (32 - groups) + made
    free = check_data.data_rate.isel(parts=0).sel(instructions=0.0).mean("seed")
    whole = none.data_rate.sel(write_share=1.0, groups=0).mean("seed")
    assert 28 / 32 < float(free / whole) < 1


def test_reads_suffer_from_agents_down_and_one_group_tolerates_only_one(redundancy):
    reads = redundancy.data_rate.sel(write_share=0.0, groups=[1, 2, 4, 8])
    assert bool((reads.sel(down="one") < reads.sel(down="none")).all())
    several = reads.sel(groups=[2, 4, 8])
    assert bool((several.sel(down="one a group") < several.sel(down="one")).all())
    one = redundancy.sel(groups=1)
    assert np.array_equal(one.rate.sel(down="one"), one.rate.sel(down="one a group"))


def test_writes_cost_more_than_reads_where_there_is_check_data(redundancy):
    rate = redundancy.data_rate.sel(down="none", groups=[1, 2, 4, 8])
    assert float(rate.diff("write_share").max()) < 0


def test_more_expensive_check_data_sustains_less(check_data):
    assert float(check_data.data_rate.diff("instructions").max()) < 0
    # a slow disk hides a cost that a fast one shows
    share = check_data.data_rate / check_data.data_rate.sel(instructions=0.0)
    assert bool(
        (share.isel(parts=1, instructions=slice(1, None)) < share.isel(parts=0, instructions=slice(1, None))).all()
    )


def test_two_studies_agree_at_common_points(redundancy, check_data):
    """The common point has four groups, writes only, one instruction a byte, and no agent down."""
    one = redundancy.rate.sel(groups=4, down="none", write_share=1.0)
    other = check_data.rate.isel(parts=0).sel(instructions=1.0)
    assert other.values == pytest.approx(one.values, rel=1e-4)


def test_present_day_parts_have_the_expected_bottleneck(modern):
    """A link of 25 Gb/s carries 3.1 GB/s, like one NVMe; a host copies 10 GB/s and sends at the same time."""
    limit = modern.bottleneck
    assert set(limit.sel(device="7,200 rpm SATA").values.ravel()) == {"disk"}
    most = limit.sel(device="NVMe", unit=MB, disks=32)
    assert most.sel(link="25 Gb/s").item() == "client link"
    assert most.sel(link="100 Gb/s").item() == "client processor"
    # a request of 32 units at the link's rate, for any disks: four of five requests are reads
    saturated = float(modern.saturation.sel(device="NVMe", link="25 Gb/s", unit=MB, disks=32)) * 32 * MB
    assert saturated == pytest.approx(3.125e9 / 0.8, rel=0.01)
    assert bool((modern.rate < modern.saturation).all())
    # the capacity of the client's wire
    assert float(modern.data_rate.sel(link="25 Gb/s").max()) < 3.125e9


def test_present_day_requests_have_32_units(modern):
    assert np.allclose((modern.data_rate / modern.rate) / modern.unit, 32)


def test_faster_parts_never_sustain_less(modern):
    assert bool((modern.data_rate.sel(device="NVMe") > modern.data_rate.sel(device="7,200 rpm SATA")).all())
    assert bool((modern.data_rate.sel(link="100 Gb/s") > modern.data_rate.sel(link="25 Gb/s")).all())
    assert float(modern.data_rate.diff("disks").min()) > 0


def test_a_user_defined_system_is_reported_like_figure_3():
    """Use 12 drives of the paper and requests of one row of 32 KB.

    The disks saturate at 1 / 37.4 ms, and all else is fast.
    """
    data = studies.what_if(M2372K, disks=12, unit=32 * KB, request=12 * 32 * KB)
    assert data.attrs["bottleneck"] == "disk" and data.attrs["saturation"] == pytest.approx(1 / 0.0374072)
    assert data.disks.values.tolist() == [12] and data.attrs["request"] == 12 * 32 * KB
    assert float(data.completion.diff("load").min()) > 0
    assert data.rate.squeeze().values == pytest.approx(data["load"].values / 0.0374072)


def test_a_datasheets_host_sends_and_receives_at_once():
    """It runs ten thousand million instructions a second, and its links are switched."""
    assert HOST.duplex and HOST.speed == 100 * Host().speed
    assert studies.LINKS["25 Gb/s"] == Network(25e9 / 8, switched=True)
    assert Striping(REQUEST, REQUEST / 28, 32, 4).rows == 1


@pytest.mark.parametrize("disks, unit, request_size", [(32, 256 * KB, MB), (24, 32 * KB, MB), (16, MB, MB)])
def test_bounds_are_left_out_where_disks_have_different_numbers_of_blocks(disks, unit, request_size):
    data = studies.what_if(SATA, disks, unit, request_size)
    assert np.isnan(data.low).all() and np.isnan(data.high).all() and np.isfinite(data.completion).all()


@pytest.mark.parametrize("disks, unit, request_size", [(4, 256 * KB, 8 * MB), (32, 32 * KB, MB), (8, MB, 8 * MB)])
def test_bounds_hold_where_disks_have_equal_numbers_of_blocks(disks, unit, request_size):
    data = studies.what_if(SATA, disks, unit, request_size, write_share=0.0)
    mean, error = data.completion.mean("seed"), data.completion.std("seed", ddof=1) / 2
    assert (data.low < mean + 4 * error).all() and (mean - 4 * error < data.high * 1.05).all()
