"""The DSFQ paper: its worked examples, and its figures at reduced size."""

import numpy as np
import pytest
from helpers import assert_refused
from hypothesis import given
from hypothesis import strategies as st

from storagekit.papers import dsfq
from storagekit.papers.dsfq.bricks import DISKS, PART, ROWS, StreamThreads, _spread, shared_bricks, shared_servers
from storagekit.papers.dsfq.sharing import B, _first_below, _last_below
from storagekit.papers.effort import Effort
from storagekit.reproduce.claims import load_claims

pytestmark = pytest.mark.optimized

SMALL = dsfq.ShareEffort(seeds=3, seconds=8.0)
CLAIMS = {claim.id: claim for claim in load_claims("dsfq")}


def by_claim(rows) -> dict:
    """Return rows by claim; the paper has each of these claims."""
    found = {row.id.removeprefix("dsfq."): row for row in rows}
    assert {row.id for row in rows} <= set(CLAIMS) and len(found) == len(rows)
    return found


def test_the_examples_are_exact():
    rows = by_claim(dsfq.example_findings(dsfq.example_delays()))
    assert len(rows) == 8
    for name, row in rows.items():
        expected = CLAIMS[f"dsfq.{name}"].expected
        assert row.measured == (True if expected is None else expected), name


def test_delays_of_other_streams_add_up():
    """Requests to other bricks count once at each brick, for any number of coordinators, up to the last request to it."""
    stream = [0, 1, 1, 0, 1, 0, 0, 0, 1, 1, 1, 0, 0]
    data = dsfq.example_delays(stream)
    to_a = data.delay.isel(request=np.flatnonzero(np.array(stream) == 0))
    assert float(to_a.sel(setting="one coordinator").sum()) == stream.count(1)
    assert float(to_a.sel(setting="two in turn").sum()) == stream.count(1)


groups = st.lists(
    st.tuples(st.sampled_from([(0,), (1,), (2,), (0, 1, 2)]), st.integers(1, 40)), min_size=1, max_size=4, unique=True
)


@given(groups)
def test_every_thread_has_a_separate_volume_on_its_bricks(wanted):
    wanted_groups = [StreamThreads(0, bricks, count, count) for bricks, count in wanted]
    volumes, numbers = _spread(wanted_groups)
    every = [number for of_group in numbers for number in of_group]
    assert len(set(every)) == len(every)
    for group, of_group in zip(wanted_groups, numbers, strict=True):
        assert len(of_group) == group.most and all(volumes[number] == group.bricks for number in of_group)
    # every brick is filled completely
    taken = np.zeros(1 + max(max(bricks) for bricks, _ in wanted))
    for bricks in volumes:
        taken[list(bricks)] += 1 / len(bricks)
    np.testing.assert_allclose(taken, ROWS)


def test_the_volumes_of_a_brick_are_spread_over_it():
    _, (numbers,) = _spread([StreamThreads(0, (0,), 30, 30)])
    for count in (10, 20, 30):
        some = np.sort(numbers[:count]) / ROWS
        assert some[0] < 0.15 and some[-1] > 0.8 and np.max(np.diff(some)) < 0.25
    scenario = shared_bricks([StreamThreads(0, (0,), 30, 30)], weights=(1,))
    assert scenario.arrivals.volume == PART * DISKS and scenario.system.drives == DISKS


@pytest.mark.slow
def test_g_gets_exactly_its_share_of_one_brick():
    data = dsfq.fig8(SMALL, threads=[0, 4, 8, 12, 15, 18, 20], depths=[dsfq.DEPTH])
    rows = by_claim(dsfq.fig8_findings(data))
    assert 8 <= rows["fig8.share_at"].measured <= 18 and rows["fig8.then_level"].measured
    share = data.throughput.sel(threads=20, stream="g") / data.throughput.sel(threads=20).sum("stream")
    assert float(share.mean()) == pytest.approx(2 / 3, abs=0.01)


def test_a_smaller_depth_gives_g_its_share_sooner():
    data = dsfq.fig8(SMALL, threads=[6, 20], depths=[4, dsfq.DEPTH])
    rate = data.throughput.sel(threads=6, stream="g") / data.throughput.sel(threads=20, stream="g")
    assert float(rate.sel(depth=4).mean()) > 0.95 > 0.7 > float(rate.sel(depth=dsfq.DEPTH).mean())


@pytest.mark.slow
def test_service_of_g_on_b_returns_to_f_on_a():
    data = dsfq.fig9(SMALL, threads=[0, 2, 10, 30])
    rows = by_claim([*dsfq.fig9_findings(data), *dsfq.theorem3_findings(data)])
    assert rows["fig9.total_equal"].measured and rows["theorem3.levels"].holds
    assert rows["fig9.b_ratio"].measured == pytest.approx(0.25, rel=0.01)
    for name, expected in {"f_A": 75, "g_A": 125, "g_B": 175}.items():
        assert rows[f"fig9.b_end[{name}]"].measured == pytest.approx(expected, rel=0.01)
    for name, expected in {"f": 40, "g_A": 160}.items():
        assert rows[f"fig9.b_start[{name}]"].measured == pytest.approx(expected, rel=0.01)
    on_b = data.service.sel(panel="a", stream="g", brick=B).mean("seed").values
    assert np.all(np.diff(on_b) > 0)


def test_striped_requests_delay_one_another():
    data = dsfq.fig10(SMALL, threads=[3, 9, 15])
    assert by_claim(dsfq.fig10_findings(data))["fig10.balanced_from"].measured in (3, 5)
    of_g = data.service.sel(stream="g", threads=9).mean("seed")
    np.testing.assert_allclose(of_g / of_g.mean(), 1, atol=0.06)


@pytest.mark.slow
def test_the_hybrid_gives_g_its_minimum():
    data = dsfq.fig12(SMALL, threads=[0, 2, 30])
    rows = by_claim(dsfq.fig12_findings(data))
    assert rows["fig12.floor"].holds and rows["fig12.floor"].measured > dsfq.MINIMUM
    totals = data.total.sel(threads=30, coordinators=1).mean("seed")
    assert float(totals.sel(stream="g") / totals.sel(stream="f")) > 1.15


def test_f_follows_g_when_h_starts_and_stops():
    data = dsfq.fig13(dsfq.ShareEffort(seeds=3, seconds=40.0))
    rows = by_claim(dsfq.fig13_findings(data))
    assert rows["fig13.equal"].measured and 0 < rows["fig13.follows"].measured < 4
    h = data.total.sel(stream="h").mean("seed")
    assert float(h.sel(time=slice(11, 19)).max()) == 0 and float(h.sel(time=slice(1, 9)).min()) > 1e6


@pytest.mark.slow
def test_sinusoids_under_every_policy():
    data = dsfq.fig14(dsfq.ShareEffort(seeds=4))
    rows = by_claim(dsfq.fig14_findings(data))
    # The fourth claim says that totals differ only where a stream gets no service or has no backlog; it fails in a
    # quarter of the windows.
    assert all(rows[f"fig14.{name}"].measured for name in ("none", "single", "hybrid")) and len(rows) == 4
    apart = abs(data.service.sum("brick").mean(["seed", "window"]).diff("stream")).isel(stream=0)
    assert float(apart.sel(policy="total")) < float(apart.sel(policy="single brick")) / 3


@pytest.mark.slow
def test_more_coordinators_do_not_change_the_totals():
    data = dsfq.fig11(SMALL, threads=[0, 5, 30], coordinators=[1, 4])
    assert set(by_claim(dsfq.fig11_findings(data))) == {"fig11.tighter"}
    totals = data.total.mean("seed")
    np.testing.assert_allclose(totals.sel(coordinators=4), totals.sel(coordinators=1), rtol=0.03)


def test_where_curves_cross():
    assert _first_below(np.array([0.5, 0.2, 0.04, 0.01]), 0.05) == 2 and _first_below(np.array([0.0, 0.0]), 0.05) == 0
    assert _first_below(np.array([0.0, 0.2, 0.01]), 0.05) == 2
    assert _last_below(np.array([1.0, 2.0, 4.0]), np.array([0.0, 0.0, 0.1]), 0.05) == 3.0
    assert _last_below(np.array([1.0, 2.0]), np.array([0.0, 0.01]), 0.05) is None


def test_efforts():
    assert isinstance(dsfq.effort("full", 5), Effort) and dsfq.effort("full", 5).first_seed == 5
    assert dsfq.effort("full").seconds > dsfq.effort("quick").seconds


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (
            lambda: shared_servers([StreamThreads(0, (0,), 1, 1)], [1e6, 2e6], weights=(1,)),
            "Give the fastest brick first",
        ),
        (
            lambda: shared_bricks([StreamThreads(0, (0,), 300, 300)], weights=(1,)),
            "A brick has 300 threads, but volumes for only 270",
        ),
        (
            lambda: shared_bricks([StreamThreads(0, (0, 1), 1, 1), StreamThreads(0, (1, 2), 1, 1)], weights=(1,)),
            r"sets of bricks: \(0, 1\) and \(1, 2\)\. Give only one set",
        ),
        (lambda: dsfq.effort("slow"), "profile 'slow': give one of"),
    ],
)
def test_impossible_settings_raise(build, message):
    assert_refused(build, message)
