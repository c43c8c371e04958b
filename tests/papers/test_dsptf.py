"""Test the computations of the D-SPTF exhibits, on data made by hand and in small simulations."""

import numpy as np
import pytest
import xarray as xr
from helpers import assert_refused
from helpers import rows as drawn_rows
from own_scheme import RandomOfTwo

from storagekit.core.units import KB, MS
from storagekit.dispatch import DSPTF, DispatchSwitch
from storagekit.drive import load_drive
from storagekit.engine import Scenario, System
from storagekit.papers import dsptf
from storagekit.papers.dsptf import draw
from storagekit.papers.dsptf.brick_group import JUDGED, once_each
from storagekit.papers.dsptf.bricks import (
    AS_PRINTED,
    DEGRADATION,
    LARD_WINDOWS,
    MEANINGS,
    NAMES,
    Setting,
    TraceSystem,
    dispatcher,
    pace,
    settings,
    source,
)
from storagekit.papers.dsptf.replays import PIECES, WINDOWED, TraceEffort, missed, replay_findings, through
from storagekit.placement import Declustered
from storagekit.reproduce.claims import load_claims
from storagekit.reproduce.scorecard import score
from storagekit.schedule import SATF
from storagekit.simulation import History, interval, simulate
from storagekit.workload import ClosedLoop, FixedSize, RandomRequests
from storagekit.workload.reuse import hit_rates
from storagekit.write import ReceivingBrick

pytestmark = pytest.mark.optimized

TINY = TraceEffort(seeds=2, requests=2**12, requests_on_32_bricks=2**12)
TRACES = ("sap", "cello2002", "websearch", "financial")


def verdicts(findings) -> dict[str, str]:
    ids = {found.id for found in findings}
    return {row.id: row.verdict for row in score([c for c in load_claims("dsptf") if c.id in ids], findings)}


def paper_numbers() -> dict[str, float]:
    """Return the paper's numbers."""
    return {c.id: float(c.expected) for c in load_claims("dsptf") if isinstance(c.expected, int | float)}


def whole(times: dict[str, dict[str, float]], hit_rate: float = 0.5) -> History:
    """Return a history of two runs with given times of missed reads in ms, by system and scheme.

    Times are equal in all pieces, except where a list gives them.
    """
    runs = [(system, scheme) for system, schemes in times.items() for scheme in schemes]
    values = np.array([np.broadcast_to(times[system][scheme], PIECES) for system, scheme in runs]) * MS
    piece = (np.arange(PIECES) + 0.5) / PIECES
    by_piece = np.stack([values, values], axis=1)
    coords = {
        "run": [f"{system}: {scheme}" for system, scheme in runs],
        "system": ("run", [system for system, _ in runs]),
        "scheme": ("run", [scheme for _, scheme in runs]),
        "seed": [0, 1],
    }
    pieces = xr.Dataset(
        {
            "response": (("run", "seed", "piece"), by_piece),
            "read_response": (("run", "seed", "piece"), by_piece * (1 - hit_rate)),
            "hit_rate": (("run", "seed", "piece"), 0 * by_piece + hit_rate),
        },
        coords=coords | {"piece": piece},
    )
    return History(pieces.mean("piece").assign_attrs(basis="stand-in"), pieces.assign_attrs(basis="stand-in"))


def quarters(*levels: float) -> np.ndarray:
    return np.repeat(levels, PIECES // 4)


def ideal() -> dict[str, History]:
    """Return times as in the paper."""
    window = int(LARD_WINDOWS[-1] * PIECES)
    lag = quarters(9.0, 9.0, 9.0, 9.0)
    lag[PIECES // 4 : PIECES // 4 + window] = 11.2
    lag[PIECES // 2 : PIECES // 2 + window] = 10.0
    default = quarters(9.0, 11.2, 9.0, 11.2)
    changing = {
        "Central SPTF": quarters(7.8, 8.6, 7.8, 8.6),
        "D-SPTF": quarters(7.8, 8.6, 7.8, 8.6),
        "Hashing": default,
        "LARD": default,
        "Weighted hash": default,
        WINDOWED: lag,
    }
    parts = {
        f"changing, {part}": {name: changing[name] for name in ("D-SPTF", "Hashing", "LARD", WINDOWED)}
        for part in MEANINGS
    }
    sooner = {"D-SPTF": quarters(2, 3, 2, 3), "Hashing": quarters(5, 6, 5, 6)}
    slow = dict(zip(NAMES, (10.0, 10.2, 15.0, 12.0, 12.0), strict=True))
    near = slow | {"LARD": 11.0, "Weighted hash": 11.0}

    def equal(hashing: float) -> dict[str, float]:
        return {"Central SPTF": 8.0, "D-SPTF": 8.08, "Hashing": hashing, "LARD": hashing}

    def pair(hashing: float, unequal: dict[str, float]) -> dict[str, dict[str, float]]:
        even = equal(hashing)
        return {
            "equal": even,
            "equal, at once": even | {"D-SPTF": 4.0},
            "slow": unequal,
            "slow, at once": unequal | {"D-SPTF": 5.0},
            "slow, degraded": unequal | {"D-SPTF": 6.0},
        }

    return {
        "sap": whole(pair(8.08 / 0.89, slow) | {"changing": changing, "changing, at once": sooner, **parts}),
        "cello2002": whole(pair(9.7, slow)),
        "websearch": whole(pair(9.7, slow)),
        "financial": whole(pair(8.08 * 1.62, near)),
    }


def test_the_papers_times_match_or_hold():
    found = verdicts(replay_findings(ideal()))
    # the paper gives both 11% less and 35 to 50% more for SAP: a match with one is a miss with the other
    assert found.pop("dsptf.fig6.local") == "miss"
    assert set(found.values()) == {"match", "holds"}, found
    assert len(found) == 13


def test_the_second_interpretations_have_separate_rows_and_notes():
    """Missed reads of SAP with contiguous popular data are compared with the paper's times, and gains are reported."""
    histories = ideal()
    # the mean over all requests is a different number
    sap = History(*(data.assign(response=data.response / 3) for data in histories["sap"]))
    local = {"sap": sap, "financial": histories["financial"]}
    pace = dict(zip(NAMES, (10.0, 10.0, 15.0, 11.0, 12.0), strict=True))
    found = replay_findings(histories, local, whole({"equal": pace, "slow": pace}))
    shown = {row: verdict for row, verdict in verdicts(found).items() if row.startswith("dsptf.fig8.missed")}
    assert len(shown) == 4 and set(shown.values()) == {"match"}
    notes = {one.id: one.note for one in found}
    assert (
        "popular data, the mean response time of hashing and LARD, divided by the response time of D-SPTF, is: "
        "sap 1.12, financial 1.62" in notes["dsptf.fig6.local"]
    )
    assert (
        "divided by the response time of D-SPTF are: Hashing 1.50, LARD 1.10, Weighted hash 1.20"
        in notes["dsptf.fig7.financial"]
    )
    # 9.7 over 4; 13.5, the mean of hashing and LARD, over 5; 12 over 6
    assert (
        "immediately, the mean response time of hashing and LARD, divided by the response time of D-SPTF, is: "
        "sap 2.27, cello2002 2.42" in notes["dsptf.fig6.rest"]
    )
    assert (
        "immediately, the mean response time of hashing and LARD, divided by the response time of D-SPTF, is: sap 2.70"
        in notes["dsptf.fig7.financial"]
    )
    assert "1.5 times as long, the ratios are: sap 2.00" in notes["dsptf.fig7.financial"]
    assert "If writes complete immediately, it is 5.0 ms." in notes["dsptf.fig8.normal_hash"]
    assert "If writes complete immediately, the ratio is 2.00." in notes["dsptf.fig8.ratio_degraded"]


def test_writes_complete_in_the_traces_as_in_the_loops_and_financial_has_the_public_read_share():
    runs = settings(4000, 100.0)
    at_once = {name for name, run in runs.items() if run.completion == "at once"}
    assert {name.split(": ")[0] for name in at_once} == {"equal, at once", "slow, at once", "changing, at once"}
    assert {run.completion for name, run in runs.items() if name not in at_once} == {JUDGED}
    given = source("sap", 2048)
    written = TraceSystem().scenario(runs["equal: D-SPTF"], given, TraceSystem().arrivals(given)).system.write
    assert isinstance(written.components[int(written.index)], ReceivingBrick)
    shares = [float(source(name, 2**14).trace.read.mean()) for name in ("financial", AS_PRINTED)]
    assert shares == pytest.approx([0.23, 0.85], abs=0.02)


def test_the_largest_gain_is_the_maximum_over_all_settings():
    """D-SPTF over hashing gives 1.2, 1.5, 1.4 and 1.3: the second, at 4 outstanding and 90% reads, counts."""
    axes = {"depth": [2, 4], "read_share": [0.67, 0.9]}
    gain = xr.DataArray([[1.2, 1.4], [1.3, 1.5]], coords=axes) * xr.DataArray([0.99, 1.01], dims="seed")
    rates = xr.concat([100 * gain, 100 * xr.ones_like(gain)], xr.Variable("scheme", ["D-SPTF", "Hashing"]))
    (found,) = dsptf.gain_findings(xr.Dataset({"throughput": rates}))
    assert (
        found.measured == pytest.approx(1.5) and "4 requests outstanding and 90% reads. With 4 requests" in found.note
    )


@pytest.mark.parametrize(
    ("trace", "system", "scheme", "time", "broken"),
    [
        ("websearch", "equal", "Central SPTF", 7.5, "dsptf.fig6.match"),
        ("cello2002", "slow", "D-SPTF", 10.8, "dsptf.fig7.close"),
        ("cello2002", "slow", "LARD", 10.1, "dsptf.fig7.close"),
        ("sap", "slow", "LARD", 15.5, "dsptf.fig7.hash_worst"),
        ("financial", "slow", "LARD", 13.0, "dsptf.fig7.financial"),
        ("sap", "changing", "LARD", 9.0, "dsptf.fig8.lard_window"),
    ],
)
def test_changed_times_break_a_claim(trace, system, scheme, time, broken):
    histories = ideal()
    found = histories[trace]

    def changed(data: xr.Dataset) -> xr.Dataset:
        where = (data.system == system) & (data.scheme == scheme)
        return data.assign(response=xr.where(where, time * MS, data.response)).assign_attrs(data.attrs)

    histories[trace] = History(changed(found.whole), changed(found.pieces))
    assert verdicts(replay_findings(histories))[broken] == "broken"


def test_the_time_of_missed_reads_excludes_hits():
    """The mean is 4 ms over all reads; three in four take no time."""
    data = xr.Dataset({"read_response": 4 * MS, "hit_rate": 0.75})
    assert float(missed(data)) == pytest.approx(16 * MS)


def test_messages_by_kind_by_hand():
    """Count messages for four replicas, 80% reads, 1.05 claims a read, and requests of 4 KB.

    A quarter of the reads hit, a tenth at other bricks. The other 15% of the reads hit at home with 1 message. All
    further reads go to 4 bricks. Claims are 1.05 and 0.1 a read, to 4 bricks each. Writes go to 4 bricks, with 4
    acknowledgements.
    """
    row = {"read_fraction": 0.8, "hit_rate": 0.25, "hit_elsewhere": 0.1, "claims_per_read": 1.05}
    found = dsptf.messages(xr.Dataset(row).assign_coords(replicas=4))
    number = dict(zip(found.kind.values.tolist(), found.number.values.tolist(), strict=True))
    expected = {"request": 0.8 * (0.15 + 0.85 * 4), "claim": 0.8 * 1.15 * 4, "write": 0.8, "acknowledgement": 0.8}
    assert number == pytest.approx(expected)
    carried = dict(zip(found.kind.values.tolist(), found.bytes.values.tolist(), strict=True))
    assert carried["write"] == pytest.approx(0.8 * (50 + 4 * KB)) and carried["claim"] == pytest.approx(
        50 * number["claim"]
    )
    assert float(found.overhead) == pytest.approx(50 * sum(number.values()) / (4 * KB))


def test_without_memory_a_request_needs_two_n_messages():
    row = {"read_fraction": 0.9, "hit_rate": 0.0, "hit_elsewhere": 0.0, "claims_per_read": 1.0}
    found = dsptf.messages(xr.Dataset(row).assign_coords(replicas=8))
    assert float(found.number.sum("kind")) == pytest.approx(16)


def test_a_read_that_two_bricks_serve_counts_once():
    """At 50 requests/s to 4 bricks with 80% reads, a tenth of the reads are served twice: 4 accesses a second."""
    row = {"throughput": 20.0, "extra_services": 0.1, "read_fraction": 0.8, "request_rate": 50.0}
    assert float(once_each(xr.Dataset(row), 4).throughput) == pytest.approx(20 - 4 / 4)


def test_few_reads_are_served_twice_at_a_short_latency_and_none_where_bricks_wait():
    data = dsptf.served_twice(dsptf.Effort(seeds=2, requests=1000), latency=(50e-6, 1 * MS), depth=(1, 16))
    assert float(data.extra_services.sel(waits=1).max()) == 0
    rate = data.extra_services.sel(waits=0).mean("seed")
    assert np.all(rate.sel(depth=1).diff("latency") > 0) and np.all(rate.diff("depth") < 0)
    # with many requests outstanding, disks are rarely idle when they choose
    assert float(rate.sel(depth=16).max()) < 1e-3


def repeats(short: float, waited: float = 0.0) -> xr.Dataset:
    rates = [[[short, waited], [0.0, 0.0]], [[0.6, waited], [0.004, 0.0]]]
    coords = {"latency": [50e-6, 1 * MS], "depth": [1, 16], "waits": [0, 1], "seed": [0, 1]}
    values = np.stack([rates, rates], axis=-1)
    return xr.Dataset({"extra_services": (tuple(coords), values)}, coords=coords)


@pytest.mark.parametrize(
    ("found", "verdict"), [(repeats(0.025), "holds"), (repeats(0.06), "broken"), (repeats(0.025, 1e-6), "broken")]
)
def test_the_protocols_promise_for_reads_served_twice(found, verdict):
    axes = {"loss": [0.0, 0.05], "seed": [0, 1]}
    lost = xr.Dataset({"extra_services": (("loss", "seed"), [[0.0, 0.0], [0.3, 0.3]])}, coords=axes)
    lost["outstanding"] = 16 + 0 * lost.extra_services
    findings = dsptf.protocol_findings(lost, found)
    assert verdicts(findings) == {"dsptf.protocol.once": verdict, "dsptf.protocol.lost_claim": "holds"}
    assert findings[0].measured == pytest.approx(float(found.extra_services[0, 0, 0, 0]))


def test_figure_9_reports_the_loss_from_a_slow_network():
    """Throughput is 200 without delay.

    At 1.75 ms it is 190, accesses are 4% longer, disks 1 point more idle, 2% of reads double.
    """
    latency = [ms * MS for ms in (0, 0.25, 0.5, 0.75, 1, 1.75, 2, 2.5, 3)]
    throughput = [200, 199, 198, 197, 196.5, 191, 188, 185, 180]
    slow = (np.array(latency) == 1.75 * MS)[:, None, None] * np.ones((1, 1, 2))
    dims = ("latency", "read_share", "seed")
    data = xr.Dataset(
        {
            "throughput": (dims, np.array(throughput)[:, None, None] * np.ones((1, 1, 2))),
            "idle": (dims, 0.01 * slow),
            "service_time": (dims, 5 * MS * (1 + 0.04 * slow)),
            "extra_services": (dims, 0.02 * slow),
        },
        coords={"latency": latency, "read_share": [0.9], "seed": [0, 1]},
    )
    found = dsptf.fig9_findings(data)
    assert set(verdicts(found).values()) == {"holds"}
    assert (
        "takes 4.0% longer, the idle time of disks is 1.0 percentage points higher, and two bricks serve 2.0% of the "
        "reads" in found[0].note
    )
    later = data.assign(throughput=data.throughput - 5 * (data.latency > 0.9 * MS))
    assert verdicts(dsptf.fig9_findings(later))["dsptf.fig9.flat_to_1ms"] == "broken"


@pytest.fixture(scope="module")
def sap() -> History:
    return dsptf.replays(TINY, trace="sap", pieces=8)


def test_a_small_replay_has_every_run_and_no_block_twice(sap):
    assert {"equal", "slow", "changing"} <= set(sap.whole.system.values.tolist())
    assert sap.whole.attrs["duplicates"] == 0 and sap.whole.attrs["basis"] == "stand-in"
    assert float(sap.whole.requests.min()) >= TINY.requests
    mean = missed(sap.whole).mean("seed")
    assert (
        float(mean.sel(run="equal: D-SPTF"))
        < float(mean.sel(run="equal: Hashing"))
        < float(mean.sel(run="slow: Hashing"))
    )


def test_hashed_memories_hit_as_exact_caches_would(sap):
    """Hash on two bricks: an exact LRU for each brick's reads and writes agrees within half a point (section 5.1.2)."""
    given = source("sap", TINY.requests)
    arrivals = TraceSystem().arrivals(given)
    brick = np.asarray(arrivals.requests.address_hash) % 2
    rates, reads = [], []
    for number in range(2):
        part = given.trace.take(np.flatnonzero(brick == number))
        blocks = int(512 * 1024 * KB * given.scale) // (8 * KB)
        rates.append(hit_rates(part, [blocks])[0])
        reads.append(part.read.sum())
    exact = np.average(rates, weights=reads)
    assert float(sap.whole.hit_rate.sel(run="equal: Hashing").mean()) == pytest.approx(exact, abs=0.005)


@pytest.mark.slow
def test_a_system_of_many_bricks_keeps_blocks_apart():
    data = dsptf.table3(TINY, traces=["financial"], bricks=8)
    assert data.attrs["duplicates"] == 0
    rates = data.hit_rate.sel(trace="financial")
    assert float(rates.min()) > 0.5 and float(rates.sel(scheme="Central SPTF") - rates.min()) < 0.04


def test_figure_9_has_rows_for_each_share_of_reads():
    """Throughput at 1.75 ms falls to 0.97 with 67% reads and to 0.93 with 90%; with 90%, disks are 5 points more idle."""
    latencies = np.array([0, 0.25, 0.5, 0.75, 1, 1.75, 2, 2.5, 3]) * MS
    lost = xr.DataArray([0, 0, 0, 0, 0, 0.3, 0.4, 0.5, 0.6], coords={"latency": latencies})
    share = xr.DataArray([0.1, 0.7 / 3], coords={"read_share": [0.67, 0.9]})
    seeds = xr.DataArray([1.0, 1.0], coords={"seed": [0, 1]})
    idle = 0.01 + lost / 6 * seeds * (share > 0)
    data = xr.Dataset({"throughput": 100 * (1 - lost * share) * seeds, "idle": idle, "service_time": 5 * MS + 0 * idle})
    data["extra_services"] = 0 * idle
    found = {one.id: one for one in dsptf.fig9_findings(data)}
    assert set(found) == {claim.id for claim in load_claims("dsptf") if claim.id.startswith("dsptf.fig9.")}
    assert found["dsptf.fig9.at_1_75_67_reads"].measured == pytest.approx(0.97)
    assert found["dsptf.fig9.at_1_75"].measured == pytest.approx(0.93)
    assert [found[f"dsptf.fig9.at_1_75{ending}"].holds for ending in ("", "_67_reads")] == [False, True]
    assert "idle time of disks is 5.0 percentage points higher" in found["dsptf.fig9.at_1_75"].note
    # another share of reads is drawn, and has no row
    assert not dsptf.fig9_findings(data.assign_coords(read_share=[0.5, 0.6]))


def test_many_bricks_share_a_load_evenly():
    """Use 128 bricks in overlapping pairs (table 5).

    The loop stays complete, every brick works, and reads rarely collide.
    """
    system = System(
        load_drive("atlas10k"), Declustered(128, 2), DSPTF(50e-6), SATF(), ReceivingBrick(), drives=128, slots=1024
    )
    loop = ClosedLoop(RandomRequests(FixedSize(4 * KB), 0.9), 512)
    data = simulate(Scenario(system, loop), requests=1500, warm_up=500)
    assert float(data.utilization.min()) > 0.7
    assert float(data.claims_per_read) == pytest.approx(1, abs=0.02) and float(data.further_claims) < 0.01
    assert float(data.extra_services) == 0


def test_table4_at_full_and_half_speed():
    """Equal bricks share equally under every scheme. With one at half speed, hashing slows both, and D-SPTF does not."""
    data = dsptf.table4(
        dsptf.Effort(seeds=2, requests=600), speed=(1.0, 0.5), slowness=("service",)
    ).brick_throughput.mean("seed")
    even = data.sel(speed=1.0, slowness="service")
    np.testing.assert_allclose(
        even.sel(brick=0, scheme=["Central SPTF", "D-SPTF", "Hashing"]),
        even.sel(brick=1, scheme=["Central SPTF", "D-SPTF", "Hashing"]),
        rtol=0.1,
    )
    half = data.sel(speed=0.5, slowness="service")
    assert float(half.sel(scheme="Hashing", brick=0) / half.sel(scheme="Hashing", brick=1)) == pytest.approx(
        1, abs=0.05
    )
    assert float(half.sel(scheme="D-SPTF", brick=0)) > 1.6 * float(half.sel(scheme="D-SPTF", brick=1))


@pytest.mark.slow
def test_a_loop_with_a_failing_brick_loses_nothing():
    data = dsptf.failing(dsptf.Effort(seeds=2, requests=4000), timeout=(0.1,))
    assert float(data.outstanding.min()) > data.attrs["loop"] - 0.25
    assert float(data.resent.min()) > 0
    assert verdicts(dsptf.failing_findings(data)) == {"dsptf.protocol.brick_failure": "holds"}


def test_a_network_without_delay_is_the_best_and_hashing_has_none():
    data = dsptf.network(
        dsptf.Effort(seeds=2, requests=1200), latency=(0.0, 3 * MS), replicas=(4,), depth=(16,), read_share=(0.9,)
    ).squeeze()
    assert float(data.gain.sel(latency=0.0, statistic="mean")) > float(data.gain.sel(latency=3 * MS, statistic="mean"))
    hashed = data.throughput.sel(scheme="Hashing")
    np.testing.assert_allclose(hashed.sel(latency=0.0), hashed.sel(latency=3 * MS), rtol=1e-5)


def test_an_exhibit_takes_a_user_defined_row():
    """The row is added to the paper's rows, which do not change, and is drawn."""
    rows = ["Hashing", ("mine", RandomOfTwo())]
    few = dsptf.Effort(seeds=2, requests=600)
    data = dsptf.table1(few, scheme=rows, read_share=[0.9])
    assert data.scheme.values.tolist() == ["Hashing", "mine"]
    alone = dsptf.table1(few, scheme=["Hashing"], read_share=[0.9])
    np.testing.assert_allclose(data.throughput.sel(scheme=["Hashing"]), alone.throughput, rtol=1e-6)
    assert float(data.throughput.sel(scheme="mine").mean()) > 0.8 * float(alone.throughput.mean())
    spec = draw.table1(interval(data).sel(read_share=0.9), paper_numbers()).to_dict()
    assert {row["scheme"] for row in drawn_rows(spec) if "mean" in row} == {"Hashing", "mine"}
    # claims about the paper's rows cannot be judged without these rows
    assert_refused(lambda: dsptf.table1_findings(data), "'Central SPTF', 'D-SPTF', 'LARD' did not run")
    # the paper's marks belong to its rows only
    assert {row["scheme"] for row in drawn_rows(spec) if row.get("series") == "paper"} <= {"Hashing"}


@pytest.mark.slow
def test_traces_run_under_a_user_defined_scheme():
    """The scheme is one more component of the switch between dispatchers, and runs on every system.

    The paper's schemes therefore keep their numbers.
    """
    own = {"mine": RandomOfTwo()}
    every = settings(4000, 100.0, schemes=["D-SPTF", "mine"])
    assert {run.scheme for run in every.values()} == {"D-SPTF", "mine"}
    assert {"equal: mine", "slow: mine", "slow, degraded: mine", "changing: mine"} <= set(every)
    switch = dispatcher(every["slow: mine"], 2, own=own)
    assert int(switch.index) == len(NAMES) and switch.components[:-1] == dispatcher(Setting("LARD"), 2).components
    tiny = TraceEffort(seeds=1, requests=2**10)
    found = dsptf.replays(
        tiny, trace="financial", pieces=1, systems=("equal:",), scheme=["Hashing", *own.items()]
    ).whole
    assert found.run.values.tolist() == ["equal: Hashing", "equal: mine"]
    assert found.scheme.values.tolist() == ["Hashing", "mine"]
    assert float(found.response.sel(run="equal: mine").mean()) > 0 and bool((found.requests == 2**10).all())


@pytest.mark.slow
def test_systems_run_separately_and_gaps_come_from_the_sample():
    runs = settings(4000, 100.0, ("equal:", f"changing, {MEANINGS[-1]}"))
    assert {name.split(": ")[0] for name in runs} == {"equal", f"changing, {MEANINGS[-1]}"} and len(runs) == 7
    few = TraceEffort(seeds=1, requests=2**11)
    by = [dsptf.replays(few, trace="financial", pieces=1, gaps=gaps, systems=("equal:",)) for gaps in (None, "")]
    bunched, poisson = (missed(one.whole).sel(run="equal: Hashing") for one in by)
    assert list(by[0].whole.run.values) == [f"equal: {scheme}" for scheme in NAMES]
    # requests that arrive together wait for one another
    assert float(bunched.mean()) > 1.1 * float(poisson.mean())


@pytest.mark.parametrize(("slowness", "speed"), [("service", 0.5), ("rotation", 0.5), (DEGRADATION, 2 / 3)])
def test_half_the_speed_has_one_meaning_in_every_run_and_for_weighted_hashing(slowness, speed):
    """A degradation by 50% takes half as long again.

    With the other meanings, a part or all of an access takes twice as long.

    Weighted hashing uses the same speed.
    """
    assert pace(slowness, 0.5) == pytest.approx(speed) and pace(slowness, 1.0) == 1
    setting = Setting("Weighted hash", slowness=slowness)
    fast, slow = dispatcher(setting, 2).components[NAMES.index("Weighted hash")].weights
    assert float(slow) / float(fast) == pytest.approx(speed)
    judged = {"changing": DEGRADATION, "slow": "service"}
    every = settings(4000, 100.0).items()
    systems = (of if means == slowness else f"{of}, {slowness}" for of, means in judged.items())
    changing, slow = ([run for name, run in every if name.startswith(f"{system}: ")] for system in systems)
    assert {run.slowness for run in [*changing, *slow]} == {slowness} and bool(slow) == (slowness != "rotation")
    assert [float(slowdown.speed) for run in changing for slowdown in run.slowdowns] == pytest.approx(
        [speed] * 2 * len(changing)
    )
    assert [float(run.slowdowns[1].speed) for run in slow] == pytest.approx([speed] * len(slow))


def test_settings_share_a_structure_and_have_their_schemes():
    runs = settings(4000, 100.0)
    assert len({type(run) for run in runs.values()}) == 1
    system, given = TraceSystem(), source("websearch", 2048)
    arrivals = system.arrivals(given)
    dispatchers = [system.scenario(run, given, arrivals).system.dispatch for run in runs.values()]
    assert all(isinstance(one, DispatchSwitch) for one in dispatchers)
    assert [NAMES[int(one.index)] for one in dispatchers] == [run.scheme for run in runs.values()]


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: source("oltp", 100), "trace 'oltp': give one of"),
        (
            lambda: through(source("sap", 512), TraceSystem(), {"a": Setting("SPTF")}, "sap", [0], 1),
            "scheme 'SPTF': give one of",
        ),
        (lambda: dsptf.table1(scheme=["SPTF"]), "scheme 'SPTF': unknown; give one of Central SPTF"),
        (lambda: dsptf.table1(scheme=[("D-SPTF", RandomOfTwo())]), "scheme 'D-SPTF': the paper has this row"),
        (
            lambda: dsptf.fig5(scheme=[("mine", RandomOfTwo)]),
            "scheme 'mine': given the class RandomOfTwo; give its result",
        ),
        (lambda: dsptf.replays(scheme=[("mine", SATF())]), "scheme 'mine': given SATF of storagekit.schedule; give a"),
        (lambda: dsptf.table4(scheme=[RandomOfTwo()]), "scheme RandomOfTwo of own_scheme: give a name, or a pair"),
        (
            lambda: dsptf.table4(scheme=["LARD", "LARD"]),
            "scheme 'LARD' is given twice: give each row a different name",
        ),
        (lambda: dsptf.trace_effort("huge"), "profile 'huge': give one of"),
        (
            lambda: settings(4000, 100.0, ("broken",)),
            "There are no runs for the systems broken. Give one or more of equal",
        ),
    ],
)
def test_impossible_requests_raise(build, message):
    assert_refused(build, message)


def test_complete_real_files_replace_synthetic_traces(tmp_path):
    """A file with the name of a trace, with this number of requests, runs in place of the synthetic trace."""
    (tmp_path / "Financial1.spc").write_text(
        "".join(f"0,{n * 16},8192,{'R' if n % 3 else 'w'},{n * 0.01}\n" for n in range(64))
    )
    given = source("financial", 100, folder=tmp_path)
    assert (given.basis, len(given.trace), given.scale) == ("trace", 64, 1.0)
    assert source("sap", 100, folder=tmp_path).basis == "stand-in"


def table3(basis: str = "trace", **by_scheme: float) -> xr.Dataset:
    """Return a made-up table 3: Central SPTF hits 0.74 of every trace, the others as given."""
    rates = {"Central SPTF": 0.74, "D-SPTF": 0.73} | {"Hashing": 0.71, "LARD": 0.71} | by_scheme
    traces = ["sap", "cello2002", "websearch", "financial"]
    data = xr.DataArray(
        [[rate] * len(traces) for rate in rates.values()], coords={"scheme": list(rates), "trace": traces}
    )
    return xr.Dataset({"hit_rate": data}, coords={"basis": ("trace", [basis] * len(traces))}, attrs={"duplicates": 0})


@pytest.mark.parametrize(
    ("rates", "gap", "order"),
    [
        ({}, True, True),
        ({"Hashing": 0.735}, False, False),
        ({"LARD": 0.68}, False, True),
        ({"D-SPTF": 0.70}, True, False),
    ],
)
def test_divided_memories_without_a_loss_break_table_3(rates, gap, order):
    found = {one.id: one.measured for one in dsptf.table3_findings(table3(**rates))}
    assert (found["dsptf.table3.gap"], found["dsptf.table3.order"]) == (gap, order)
    assert found["dsptf.table3.hashing[sap]"] == pytest.approx(rates.get("Hashing", 0.71))
    wanted = {claim.id for claim in load_claims("dsptf") if claim.id.startswith("dsptf.table3.")}
    assert set(found) == wanted


def test_memory_that_never_fills_is_not_judged():
    """Of synthetic traces only the single memory is judged: the other rates give no evidence on divided memory."""
    found = {one.id: one for one in dsptf.table3_findings(table3("stand-in"))}
    unjudged = {name for name, one in found.items() if one.measured is None}
    schemes = {f"dsptf.table3.{key}[{trace}]" for key in ("dsptf", "hashing", "lard") for trace in TRACES}
    assert unjudged == schemes | {"dsptf.table3.gap", "dsptf.table3.order"}
    assert all("A memory of 16 GB then never fills" in found[name].note for name in unjudged)
    assert "0.710" in found["dsptf.table3.lard[sap]"].note
