"""Tenants and sequential streams in the planner: identities with one class of requests, laws, and simulated values."""

from dataclasses import replace

import numpy as np
import pytest
from helpers import slow_but
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

import storagekit as sk
from storagekit.analytic.array.positioning import spindle
from storagekit.core.errors import InputError
from storagekit.plan import SequentialStream, Tenant, schemes, tenants_of
from storagekit.plan.predicting import responses_of
from storagekit.plan.streaming import background_of
from storagekit.workload.trace import request_trace

DRIVE = sk.load_drive("toshiba_mg10_20tb")
WEB = Tenant("web", 250.0, 8192, 0.7)
IMAGES = Tenant("images", 20.0, 2.0**20, 0.9)
BACKUP = SequentialStream("backup", 150e6)


def ranked(disks=12, **others):
    return schemes(DRIVE, disks, data=60e12, **others)


def by_name(answer):
    return {one.name: one for one in answer.ranking}


def test_equal_tenants_are_one_class_of_requests():
    """Three tenants with the same requests give the response times of one class, and so does each tenant."""
    one = by_name(ranked(size=8192, read_share=0.7, rate=300.0, tolerate=1))
    several = by_name(ranked(tenants=[Tenant(f"t{n}", rate, 8192, 0.7) for n, rate in enumerate((50.0, 100.0, 150.0))]))
    assert len(one) > 5
    for name, expected in one.items():
        found = several[name]
        for measure in ("mean", "p95", "p99", "utilization", "throughput", "degraded"):
            assert getattr(found, measure) == pytest.approx(getattr(expected, measure), rel=1e-4), (name, measure)
        for tenant in found.tenants:
            assert (tenant.mean, tenant.p99) == pytest.approx((expected.mean, expected.p99), rel=1e-4)


def test_reads_and_writes_as_two_tenants_are_one_class_of_requests():
    """The array is the same, and the mean of all requests is the weighted mean of reads and writes."""
    one = by_name(ranked(size=8192, read_share=0.7, rate=300.0))
    two = by_name(ranked(tenants=[Tenant("reads", 210.0, 8192, 1.0), Tenant("writes", 90.0, 8192, 0.0)]))
    for name, expected in one.items():
        found = two[name]
        assert found.mean == pytest.approx(expected.mean, rel=1e-4)
        assert found.p99 == pytest.approx(expected.p99, rel=1e-4)
        reads, writes = found.tenants
        assert 0.7 * reads.mean + 0.3 * writes.mean == pytest.approx(expected.mean, rel=1e-4)


@pytest.mark.parametrize("queue_depth", [1, 32])
def test_sizes_of_one_operation_matter_for_this_operation_only(queue_depth):
    """Large writes slow the reads only by waiting; large reads make parity cheaper than large writes."""
    small = [Tenant("reads", 200.0, 4096, 1.0), Tenant("writes", 40.0, 4096, 0.0)]
    large = [small[0], replace(small[1], size=2.0**20)]
    before, after = (by_name(ranked(tenants=each, queue_depth=queue_depth)) for each in (small, large))
    for name in ("RAID 0", "RAID 10", "RAID 5, 11+1", "RAID 60, 2 x 4+2"):
        reads, writes = (after[name].tenants[tenant].mean - before[name].tenants[tenant].mean for tenant in (0, 1))
        assert 0 < reads < writes, name


def test_at_light_load_a_tenant_takes_its_own_transfer_time():
    """Without waiting, tenants differ by the transfer of their sizes; a read of a mirror is the nearer of two."""
    light = [replace(WEB, rate=0.02, read_share=1.0), replace(IMAGES, rate=0.02, read_share=1.0)]
    needs = ranked(tenants=light).needs
    for name, one in by_name(ranked(tenants=light)).items():
        web, images = one.tenants
        used = np.array(min(1.0, needs.data / one.usable))
        transfer = needs.transfers(used).mean(axis=-1)
        tolerance = 1e-5 if one.scheme.shape.heads == 1 else 2e-3
        assert images.mean - web.mean == pytest.approx(transfer[1] - transfer[0], rel=tolerance, abs=2e-5), name


def test_limits_of_a_tenant_decide():
    """A scheme is rejected if a tenant misses its limit, and the reason names the tenant with a true value."""
    best = ranked(tenants=[WEB, IMAGES]).recommended
    limit = best.tenants[1].mean
    assert ranked(tenants=[WEB, replace(IMAGES, mean=1.001 * limit)]).feasible
    strict = ranked(tenants=[WEB, replace(IMAGES, mean=0.5 * limit)])
    assert not strict.feasible and "mean response of images" in strict.binding.constraint
    fastest = min(one.tenants[1].mean for one in strict.refused)
    assert strict.binding.value == pytest.approx(1e3 * fastest)
    tail = ranked(tenants=[replace(WEB, p99=1.001 * best.tenants[0].p99), IMAGES])
    assert (
        tail.feasible
        and {one.name for one in tail.refused}
        and all(one.tenants[0].p99 > 1.001 * best.tenants[0].p99 for one in tail.refused if np.isfinite(one.mean))
    )


@given(
    rates=st.lists(st.floats(1.0, 200.0), min_size=1, max_size=3),
    sizes=st.lists(st.sampled_from([4096.0, 65536.0, 2.0**20]), min_size=3, max_size=3),
    reads=st.lists(st.floats(0.0, 1.0), min_size=3, max_size=3),
    backup=st.floats(1e6, 3e8),
    writes=st.booleans(),
)
@hypothesis_settings(max_examples=8)
def test_more_of_anything_is_never_faster(rates, sizes, reads, backup, writes):
    """A further tenant, a stream, and a faster stream lengthen every mean, and lower the rate that is possible.

    A stream that writes full stripes leaves the arms of a group at the same place. On nearly idle disks, the slowest of
    several accesses that begin together is then shorter, by at most 1.4% of the mean in 240 questions with rates from 0.01/s.
    """
    slack = 2e-2 if writes else 2e-3
    every = [Tenant(f"t{n}", rate, sizes[n], reads[n]) for n, rate in enumerate(rates)]
    stream = SequentialStream("backup", backup, writes)
    more = [*every, Tenant("more", 5.0, 4096, 0.5)]
    none, slow, fast = ([], [stream], [replace(stream, rate=1.5 * backup)])
    plain, with_slow, with_fast, with_more = (
        by_name(schemes(DRIVE, 12, data=60e12, tenants=tenants, streams=streams))
        for tenants, streams in ((every, none), (every, slow), (every, fast), (more, none))
    )
    for one, other in ((plain, with_slow), (with_slow, with_fast), (plain, with_more)):
        # what is fast enough with the larger load is so with the smaller one
        assert other.keys() <= one.keys()
        for name, found in other.items():
            assert found.utilization >= one[name].utilization * (1 - 1e-9), name
            if other is not with_more:
                assert found.throughput <= one[name].throughput * (1 + 1e-9), name
                assert found.mean >= one[name].mean * (1 - slack), name


def test_the_work_of_a_stream_is_its_bytes_divided_by_the_disks():
    """Reads take each byte once, writes take copies and parity too, and a lost disk leaves its reads to the others."""
    timing = spindle(DRIVE)
    for writes in (False, True):
        needs = ranked(rate=100.0, streams=[SequentialStream("s", 240e6, writes)]).needs
        for name, one in by_name(ranked(rate=100.0)).items():
            factor = {
                "RAID 0": 1,
                "RAID 10": 2,
                "RAID 5, 11+1": 12 / 11,
                "RAID 6, 10+2": 12 / 10,
                "RAID 60, 2 x 4+2": 6 / 4,
            }
            if name not in factor:
                continue
            found = background_of(needs, timing, one.scheme)
            expected = 240e6 / 2**20 / 12 * (factor[name] if writes else 1)
            assert found.rate == pytest.approx(expected)
            after = one.scheme.after_loss(1.0)
            if after is not None:
                lost = background_of(needs, timing, one.scheme, after=after).rate
                assert lost == pytest.approx(expected * (1 if writes else 1 + 1 / after.disks))


def test_a_stream_alone_needs_no_seek():
    """Without other accesses, a stream costs the transfer and half a revolution; among many, it seeks each time."""
    timing = spindle(DRIVE)
    scheme = by_name(ranked(rate=100.0))["RAID 0"].scheme
    near = {}
    for rate in (0.001, 100.0, 2000.0):
        needs = ranked(rate=rate, streams=[BACKUP]).needs
        (near[rate],) = (one.near for one in background_of(needs, timing, scheme).kinds)
    assert near[0.001] > 0.999 > near[100.0] > near[2000.0] and near[2000.0] < 0.01


def test_growth_scales_tenants_and_streams():
    """An array is full of requests when the load has grown to its maximum, with streams that grow alike."""
    answer = ranked(tenants=[WEB, IMAGES], streams=[BACKUP], tolerate=1)
    found = answer.growth(load=0.25)
    for one in found.ranking[:1]:
        then = answer.needs.grown(answer.needs.data, 1.25**one.years)
        again = schemes(
            DRIVE,
            12,
            data=60e12,
            tenants=[replace(each, rate=each.rate * 1.25**one.years) for each in (WEB, IMAGES)],
            streams=then.streams,
            tolerate=1,
        )
        assert by_name(again)[one.name].mean > 5 * one.mean


def test_after_a_failure_tenants_and_streams_remain():
    """Without rebuild, the response times while a disk is lost exceed those before, by more with a stream."""
    with_stream = ranked(tenants=[WEB, IMAGES], streams=[BACKUP], tolerate=1).after_failure()
    without = {one.name: one for one in ranked(tenants=[WEB, IMAGES], tolerate=1).after_failure().ranking}
    assert len(with_stream.ranking) > 3
    for one in with_stream.ranking:
        assert one.lost.mean > one.mean > without[one.name].mean
        assert one.lost.mean > without[one.name].lost.mean
        assert one.lost.utilization > without[one.name].lost.utilization + 0.02


def test_a_cache_serves_each_tenant_by_its_share_of_reads():
    answer = ranked(tenants=[replace(WEB, read_share=1.0), replace(IMAGES, read_share=0.0)], tolerate=1, price=300)
    (found,) = (
        one for one in answer.next_purchase(caches=[sk.plan.ReadCache(2000, hits=0.5)]).ranking if "cache" in one.name
    )
    web, images = found.prediction.tenants
    before = answer.recommended.tenants
    # half of the reads take no time, so that the mean of web falls by more than half; images only waits less
    assert web.mean < 0.5 * before[0].mean
    assert 0.5 * before[1].mean < images.mean < before[1].mean
    assert found.needs.rate == pytest.approx(answer.needs.rate - 0.5 * WEB.rate)


def test_a_trace_becomes_its_reads_and_writes():
    """The tenants have the rate, the sizes and the bytes of the trace."""
    draw = np.random.default_rng(3)
    sizes, reads = draw.integers(1, 200, 600) * 512, draw.random(600) < 0.6
    times = np.sort(draw.uniform(0, 60.0, 600))
    trace = request_trace(times, np.zeros(600, int), np.arange(600) * 2**20, sizes, reads)
    found = {one.name: one for one in tenants_of(trace)}
    assert set(found) == {"reads", "writes"}
    lasts = times[-1] - times[0]
    for name, which in (("reads", reads), ("writes", ~reads)):
        one = found[name]
        assert one.rate == pytest.approx(np.count_nonzero(which) / lasts)
        assert one.rate * sum(size * share for size, share in one.sizes) == pytest.approx(sizes[which].sum() / lasts)
        assert len(one.sizes) <= 20 and one.read_share == (name == "reads")
    assert sum(one.rate for one in tenants_of(trace, rate=50.0)) == pytest.approx(50.0)
    few = request_trace(np.arange(4.0), np.zeros(4, int), np.arange(4) * 8192, [4096, 4096, 8192, 4096], [True] * 4)
    (only,) = tenants_of(few)
    assert only.sizes == ((4096.0, 0.75), (8192.0, 0.25)) and only.name == "reads"


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"tenants": [WEB], "rate": 5.0}, "rate with tenants"),
        ({"tenants": [WEB], "size": 4096}, "size with tenants"),
        ({"tenants": [WEB, WEB]}, "'web' twice"),
        ({"streams": [BACKUP], "outstanding": 8}, "streams with outstanding"),
        ({"streams": [BACKUP], "rate": 5.0, "size": 4 * 2**20}, "give a chunk of at least 4194304 bytes"),
        ({"tenants": [WEB], "families": sk.plan.Protocols()}, "leave this family out"),
    ],
)
def test_impossible_questions_are_refused(changed, message):
    with pytest.raises(InputError, match=message):
        ranked(**changed)


def test_the_answer_shows_each_tenant():
    answer = ranked(tenants=[WEB, replace(IMAGES, mean=0.1)], streams=[BACKUP], tolerate=1)
    text = str(answer)
    assert "of 2 tenants, backup 150 MB/s" in text and f"tenants of {answer.recommended.name}" in text
    assert "tenants of" in answer._repr_html_()
    found = answer.table.tenant_mean.sel(tenant="images").values
    assert found == pytest.approx([one.tenants[1].mean for one in answer.ranking])
    stored = answer.to_dict()
    assert stored["question"]["tenants"][1]["mean"] == 0.1 and stored["question"]["streams"][0]["rate"] == 150e6
    assert stored["ranking"][0]["tenants"][0]["name"] == "web"


def test_simulated_tenants_agree():
    answer = ranked(tenants=[replace(WEB, rate=350.0), IMAGES])
    chosen = tuple(one for one in answer.ranking if one.name == "RAID 10")
    check = replace(answer, ranking=chosen).check(schemes=1, seeds=8, requests=3000)
    rows = {row.measure: row for row in check.rows}
    assert [*rows] == ["mean", "p99", "mean of web", "p99 of web", "mean of images", "p99 of images"]
    for measure, row in rows.items():
        assert abs(row.difference) < (0.04 if measure.startswith("mean") else 0.1), (measure, row.difference)
    # the intervals contain the simulated values
    assert all(row.low < row.simulated < row.high for row in rows.values())
    assert rows["mean of images"].low > rows["mean of web"].high
    assert rows["p99 of images"].simulated > rows["p99 of web"].simulated


@pytest.mark.parametrize("streams", slow_but([[]], [[], [BACKUP]]))
def test_many_tenants_are_checked_by_their_means(streams):
    """The simulation has quantiles of up to 12 streams."""
    answer = ranked(tenants=[Tenant(f"t{n}", 10.0) for n in range(13)], streams=streams, families=sk.plan.SRArrays())
    check = answer.check(schemes=1, seeds=2, requests=600)
    assert [row.measure for row in check.rows] == ["mean", "p99", *(f"mean of t{n}" for n in range(13))]


def test_a_simulated_stream_delays_the_requests_as_predicted():
    """Within 8%, because a stream arrives at regular times; without the stream, the prediction is too short by far more."""
    answer = ranked(tenants=[WEB, IMAGES], streams=[BACKUP])
    chosen = tuple(one for one in answer.ranking if one.name == "RAID 0")
    check = replace(answer, ranking=chosen).check(schemes=1, seeds=4, requests=2000)
    rows = [row for row in check.rows if row.measure.startswith("mean")]
    assert len(rows) == 3
    assert all(abs(row.difference) < 0.08 for row in rows), [(row.measure, row.difference) for row in rows]
    assert by_name(ranked(tenants=[WEB, IMAGES]))["RAID 0"].mean < 0.93 * rows[0].simulated


def test_responses_of_all_requests_are_the_mixture_of_tenants():
    answer = ranked(tenants=[WEB, IMAGES])
    timing = spindle(DRIVE)
    for one in answer.ranking[:6]:
        found = responses_of(answer.needs, timing, one.scheme)
        shares = np.array([250.0, 20.0]) / 270.0
        within = shares @ np.array([each.within for each in found.tenants])
        np.testing.assert_allclose(found.all.within, within, atol=1e-12)
        assert found.all.mean == pytest.approx(one.mean, rel=1e-4)


@pytest.mark.parametrize("queue_depth", [1, 32])
def test_the_largest_rate_beside_a_stream_is_just_served(queue_depth):
    """It does not depend on the rate of the question: 1% less is served, and 1% more is not."""
    families = sk.plan.SRArrays(mirrors=2), sk.plan.ParityRAID(parities=1, group=12)
    others = {"streams": [SequentialStream("backup", 600e6)], "queue_depth": queue_depth, "families": families}
    slow, fast = (by_name(ranked(rate=rate, **others)) for rate in (10.0, 300.0))
    for name in ("RAID 0", "RAID 10", "RAID 5, 11+1") if queue_depth == 1 else ("RAID 5, 11+1",):
        most = fast[name].throughput
        assert slow[name].throughput == pytest.approx(most, rel=1e-3)
        below, above = (ranked(rate=factor * most, **others) for factor in (0.99, 1.01))
        assert np.isfinite(by_name(below)[name].mean)
        (one,) = (each for each in above.refused if each.name == name)
        assert not np.isfinite(one.mean) or one.utilization > 0.99


def test_streams_that_overload_the_disks_are_named_with_a_true_remedy():
    """With the number of disks of the remedy, the question is feasible."""
    for stream, rate in ((5e9, 100.0), (1450e6, 300.0), (9e9, 5.0)):
        answer = ranked(rate=rate, streams=[SequentialStream("backup", stream)])
        assert not answer.feasible and len(answer.table.scheme) == 0
        disks = int(answer.binding.remedy.split("use about ")[1].split()[0])
        assert disks < 120
        assert ranked(disks, rate=rate, streams=[SequentialStream("backup", stream)]).feasible
        if stream > 2e9:
            assert "the streams alone overload" in answer.binding.constraint


def test_the_rate_of_a_warning_leaves_the_disks_as_busy_as_it_says():
    for stream in (1e6, 300e6):
        streams = [SequentialStream("backup", stream)]
        most = max(one.throughput for one in ranked(rate=100.0, streams=streams).ranking)
        answer = ranked(rate=0.96 * most, streams=streams)
        (line,) = (warning for warning in answer.warnings if "leave the disks 80% busy" in warning)
        rate = float(line.split("uncertain; ")[1].split(" requests/s")[0])
        then = by_name(ranked(rate=rate, streams=streams))
        assert then[answer.recommended.name].utilization == pytest.approx(0.8, abs=0.03)


@pytest.mark.parametrize(
    ("tenants", "streams"),
    [
        ([Tenant("r", 300.0, 4096, 1.0), Tenant("w", 10.0, 16 * 2.0**20, 0.0)], []),
        ([Tenant("r", 40.0, 16 * 2.0**20, 1.0), Tenant("w", 100.0, 4096, 0.0)], []),
        ([WEB, IMAGES], [BACKUP]),
        ([WEB], [SequentialStream("ingest", 100e6, writes=True)]),
    ],
)
def test_one_lost_agrees_with_the_response_after_a_failure(tenants, streams):
    """The ranking counts accesses of equal length, so that the two differ by some percent."""
    answer = ranked(tenants=tenants, streams=streams, tolerate=1)
    lost = {one.name: one.lost.utilization for one in answer.after_failure().ranking}
    assert len(lost) > 3
    for one in answer.ranking:
        if one.name in lost:
            assert one.degraded == pytest.approx(lost[one.name], rel=0.12), one.name


def test_sizes_of_a_trace_stay_whole_sectors():
    """Requests of whole pages remain whole pages, with the bytes of the trace, and no warning about partial sectors."""
    draw = np.random.default_rng(1)
    sizes, reads = draw.integers(1, 65, 500) * 4096, draw.random(500) < 0.5
    trace = request_trace(np.arange(500.0) / 50, np.zeros(500, int), np.arange(500) * 2**20, sizes, reads)
    found = tenants_of(trace)
    for one, which in zip(found, (reads, ~reads), strict=True):
        assert all(size % 4096 == 0 for size, _ in one.sizes)
        assert sum(share for _, share in one.sizes) == pytest.approx(1)
        assert sum(size * share for size, share in one.sizes) == pytest.approx(sizes[which].mean())
    assert not any("multiple of the sectors" in warning for warning in ranked(tenants=found).warnings)


def test_only_written_sizes_are_warned_about():
    answer = ranked(tenants=[Tenant("images", 30.0, 1e6, 1.0), WEB])
    assert not any("multiple of the sectors" in warning for warning in answer.warnings)


@pytest.mark.slow
def test_a_simulated_stream_of_full_stripes_agrees():
    """The data disks of a group divide each chunk, in the formula and in the simulation."""
    answer = ranked(rate=20.0, size=2.0**20, streams=[SequentialStream("backup", 60e6)])
    chosen = tuple(one for one in answer.ranking if one.name == "RAID 50, 2 x 5+1, full stripes")
    check = replace(answer, ranking=chosen).check(schemes=1, seeds=4, requests=6000)
    (row,) = (row for row in check.rows if row.measure == "mean")
    assert abs(row.difference) < 0.15, row.difference
