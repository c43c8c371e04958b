"""Test Swift's prototype: the printed tables checked row by row, and the model calibrated with table 1."""

import itertools

import numpy as np
import pytest
import xarray as xr

from storagekit.analytic.queueing import closed_network
from storagekit.core.errors import InputError
from storagekit.papers.swift import ethernet, predictions, sensitivity
from storagekit.papers.swift.ethernet import CAPACITY, Prototype, calibrate, read_completions, write_rate
from storagekit.papers.swift.measured import (
    STUDENT,
    checked_tables,
    deviation_bounds,
    limits,
    measured_tables,
    possible_deviations,
)
from storagekit.papers.swift.prototype import prototype_findings
from storagekit.papers.swift.reads import RANDOM, reads
from storagekit.reproduce.claims import load_claims
from storagekit.reproduce.scorecard import score

pytestmark = pytest.mark.optimized

EXHIBITS = tuple(f"swift.table{number}." for number in (1, 2, 3, 4))


def simple(agents: tuple[int, ...], service: float, wire: float) -> Prototype:
    """Return a prototype: agents take `service` seconds for a packet, and segments take `wire` seconds."""
    packet = wire * CAPACITY
    return Prototype(agents, packet, agent_speed=(1500 + 1024 * packet) / service)


@pytest.fixture(scope="module")
def checked() -> xr.Dataset:
    return checked_tables()


@pytest.fixture(scope="module")
def predicted() -> xr.Dataset:
    return predictions()


def test_a_loop_of_two_agents_by_hand():
    """With service 1, wire 3 and client 2, the wire is always busy.

    agent A: serves 0-1, wire 1-4, client 4-6, serves 6-7, wire 7-10, client 10-12
    agent B: serves 0-1, wire 4-7, client 7-9, serves 9-10, wire 10-13, client 13-15
    """
    done = read_completions(simple((2,), 1.0, 3.0), 2.0, 4)
    assert done == pytest.approx([6.0, 9.0, 12.0, 15.0])


def test_two_agents_on_two_segments_share_only_the_client_by_hand():
    """Both packets cross at once, 1-4; the client takes A 4-6 and B 6-8.

    A is back 6-7-10, client 10-12, B 8-9-12, client 12-14.
    """
    done = read_completions(simple((1, 1), 1.0, 3.0), 2.0, 4)
    assert done == pytest.approx([6.0, 8.0, 12.0, 14.0])


def test_times_that_vary_by_hand():
    """Use two agents as above, with wire 3 and client 2.

    The first packet takes the wire twice as long, and the client takes half its time for the second.

    agent A: serves 0-1, wire 1-7, client 7-9, serves 9-10, wire 10-13, client 13-15
    agent B: serves 0-1, wire 7-10, client 10-11, serves 11-12, wire 13-16, client 16-18
    """
    wire, client = np.array([2.0, 1, 1, 1]), np.array([1.0, 0.5, 1, 1])
    done = read_completions(simple((2,), 1.0, 3.0), 2.0, 4, wire, client)
    assert done == pytest.approx([9.0, 11.0, 15.0, 18.0])


def test_reads_by_the_random_parts(predicted):
    """Without random parts the model has fixed times.

    With both parts random, it equals mean value analysis, except at both ends of a transfer.
    """
    found = reads(transfers=8)
    rate = {name: float(found.rate.sel(random=name, ethernets=2)) for name in RANDOM}
    two = predicted.rate.sel(operation="read", ethernets=2, statistic="mean")
    assert rate["nothing"] == pytest.approx(float(two.sel(interpretation="other")), rel=1e-4)
    assert rate["both"] == pytest.approx(float(two.sel(interpretation="judged")), rel=0.03)
    assert float(found.unknown.sel(random="both")) == pytest.approx(
        float(predicted.unknown.sel(operation="read", interpretation="judged")), rel=0.03
    )
    # with variation, client and wire wait for each other, so that a second wire gains more
    for one in ("client", "wire"):
        assert rate["nothing"] * 1.1 < rate[one] < rate["both"] * 0.95
        assert float(found.client.sel(random="both")) < float(found.client.sel(random=one)) < 1


def test_the_notes_of_table_4s_reads_give_every_interpretation(predicted, checked):
    simulated_reads = reads(transfers=1)
    found = {one.id: one.note for one in prototype_findings(predicted, checked, simulated_reads)}
    client_text = f"client {float(simulated_reads.rate.sel(random='client', ethernets=2)):.0f} KB/s"
    with_client_text = {name for name, note in found.items() if client_text in note}
    assert with_client_text == {
        "swift.table4.read[3]",
        "swift.table4.read[6]",
        "swift.table4.read[9]",
        "swift.table4.read_gain",
    }


def test_an_agent_with_fewer_packets_stops_requesting():
    assert len(read_completions(simple((3,), 1.0, 3.0), 2.0, 7)) == 7
    assert len(read_completions(simple((3,), 1.0, 3.0), 2.0, 2)) == 2


@pytest.mark.parametrize(("wire", "client"), [(3.0, 2.0), (2.0, 3.0)])
def test_one_agent_takes_the_sum_of_times_and_many_the_largest(wire, client):
    """With one agent, a packet takes the sum of the times; with many agents, it takes the largest time."""
    alone = read_completions(simple((1,), 1.0, wire), client, 50)
    assert np.diff(alone) == pytest.approx(1.0 + wire + client)
    many = read_completions(simple((8,), 1.0, wire), client, 200)
    assert np.diff(many[20:180]) == pytest.approx(max(wire, client))


def test_the_rate_covers_a_whole_transfer():
    """Read 3, 6 and 9 MB in 1 MB packets.

    These are 3, 6 and 9 packets of 893 ms each, after the service and transfer of the first.
    """
    one = Prototype((3,), packet=1000.0, agent_speed=1e12)
    first = one.answer + one.wires[0]
    expected = np.mean([1000 * count / (first + 2.0 * count) for count in (3, 6, 9)])
    assert ethernet.read_rate(one, 2.0) == pytest.approx(expected)


@pytest.mark.parametrize(("agents", "client"), list(itertools.product((1, 2, 3, 6), (1e-3, 6e-3, 9e-3))))
def test_exponential_times_on_one_segment_agree_with_the_closed_network(agents, client):
    prototype = Prototype((agents,))
    expected = closed_network([client, prototype.wires[0]], agents, prototype.answer)[0] * prototype.packet
    assert ethernet.read_rate_exponential(prototype, client) == pytest.approx(expected, rel=1e-12)


def test_exponential_times_on_two_segments_by_hand():
    """Put one agent on each segment, without service time.

    Each finds the other at the client for a share C / (C + E) of the time.
    """
    client, prototype = 0.006, Prototype((1, 1), agent_speed=1e15)
    wire = prototype.wires[0]
    each = 1 / (client * (1 + client / (client + wire)) + wire)
    assert ethernet.read_rate_exponential(prototype, client) == pytest.approx(2 * each * prototype.packet, rel=1e-6)


def test_uneven_segments_end_with_the_larger_one():
    """Without client and service times, a segment always has a packet.

    One agent's share of three takes E, and two agents' share takes 2 E.
    """
    prototype = Prototype((1, 2), agent_speed=1e15)
    three = prototype.packet * 3 / (2 * prototype.wires[0])
    assert ethernet.read_rate_exponential(prototype, 1e-12) == pytest.approx(three, rel=1e-6)


@pytest.mark.parametrize("client", [2e-3, 6e-3, 9e-3])
@pytest.mark.parametrize("agents", [(1,), (2,), (4,), (3, 3), (2, 4)])
def test_exponential_times_never_beat_fixed_ones(agents, client):
    """Compare from the first packet on, because mean value analysis has no start of a transfer."""
    prototype = Prototype(agents)
    done = read_completions(prototype, client, 1200)
    fixed = prototype.packet * 1200 / (done[-1] - done[0])
    assert ethernet.read_rate_exponential(prototype, client) <= fixed


@pytest.mark.parametrize("key", list(ethernet.MODELS))
@pytest.mark.parametrize("packet", [1.4, 8.0])
def test_calibration_reproduces_table_1(key, packet):
    one = Prototype(packet=packet)
    rate = float(measured_tables()["mean"].sel(table=1, operation=key[0]).mean())
    assert ethernet.MODELS[key](one, calibrate(*key, rate, one)) == pytest.approx(rate, rel=1e-6)


def test_a_rate_above_the_ethernets_raises():
    with pytest.raises(InputError, match=r"1300\.0 KB/s cannot be reached: modelled reads reach at most 1"):
        calibrate("read", "judged", 1300.0)


def test_writes_end_with_the_segment_with_most_agents():
    """Three of four agents are on the first segment, which has three quarters of the data, at 8 KB for a gap of 10 ms."""
    assert write_rate(Prototype((3,)), 0.01) == pytest.approx(800)
    assert write_rate(Prototype((3, 3)), 0.01) == pytest.approx(1600)
    assert write_rate(Prototype((3, 1)), 0.01) == pytest.approx(800 / 0.75)
    # other traffic uses half of the second segment: a packet takes twice the time there, and the gap grows by the
    # difference
    slower = 0.01 + 8 / CAPACITY
    assert write_rate(Prototype((1, 1), other_load=0.5), 0.01) == pytest.approx(2 * 8 / slower)


@pytest.mark.parametrize("wrong", [{"agents": ()}, {"agents": (3, 0)}, {"packet": 0.0}, {"other_load": 1.0}])
def test_an_impossible_prototype_raises(wrong):
    with pytest.raises(InputError, match=r"agents|packet|load"):
        Prototype(**wrong)


def test_the_printed_figures_are_read():
    data = measured_tables()
    assert data.sizes == {"table": 4, "operation": 2, "size": 3}
    nfs = data.sel(table=3, operation="write", size=6)
    assert [float(nfs[name]) for name in ("mean", "deviation", "min", "max", "low", "high")] == [
        109,
        5.2,
        98,
        114,
        105,
        112,
    ]
    assert str(nfs.system.item()) == "NFS"
    # half of the last digit of 5.00, of 3.4, and of a mean printed in tens
    assert float(data.deviation_rounding.sel(table=1, operation="write", size=6)) == pytest.approx(0.005)
    assert float(data.deviation_rounding.sel(table=1, operation="read", size=6)) == pytest.approx(0.05)
    assert data.figure_rounding.sel(operation="read", size=3).values.tolist() == [0.5, 0.5, 0.5, 5.0]


def test_an_interval_by_hand():
    """All tables of t give t_{0.95,7} = 1.895: NFS reads of 9 MB, 488 +- 1.895 x 22.1 / 2.828 = 14.81."""
    assert pytest.approx(1.895 / 8**0.5, abs=0.0005 / 8**0.5) == STUDENT
    again = limits(measured_tables()).sel(table=3, operation="read", size=9)
    assert float(again.low) == pytest.approx(473.19, abs=0.02) and float(again.high) == pytest.approx(502.81, abs=0.02)
    assert float(again.beyond) == 0


def row(mean: float, deviation: float, low: float, high: float, rounding: float = 0.5) -> xr.Dataset:
    figures = {"mean": mean, "deviation": deviation, "low": low, "high": high}
    return xr.Dataset(figures | {"figure_rounding": rounding, "deviation_rounding": 0.05})


@pytest.mark.parametrize(
    ("low", "high", "beyond", "off_centre", "needed"),
    [
        (90, 110, 0.0, 0.0, (9.5, 10.5)),
        # a mean of 100.5 gives 90.5 to 110.5, which may be printed as these limits
        (91, 111, 0.0, 0.5, (10.0, 10.0)),
        (92, 112, 1.0, 1.5, (np.nan, np.nan)),
        # half-width 12 for 10, up to 0.05
        (88, 112, 1.45, 0.0, (11.5, 12.5)),
        (90, 120, 4.5 + 4.95 - 0.5, 4.5, (np.nan, np.nan)),
    ],
)
def test_intervals_that_no_rounding_explains(low, high, beyond, off_centre, needed):
    """Mean 100, deviation 10 and factor 1; limits, mean and deviation are printed to 1, 1 and 0.1."""
    found = limits(row(100.0, 10.0, low, high), factor=1.0)
    assert float(found.beyond) == pytest.approx(beyond)
    assert float(found.off_centre) == pytest.approx(off_centre)
    assert (float(found.needed_low), float(found.needed_high)) == pytest.approx(needed, nan_ok=True)


def test_the_disagreement_equals_a_search_over_rounded_figures(checked):
    """Compare the closed form with every mean and deviation on a fine grid that round to the printed ones."""
    for table, operation, size in itertools.product((1, 2, 3, 4), ("read", "write"), (3, 6, 9)):
        one = checked.sel(table=table, operation=operation, size=size)
        across = np.linspace(-1, 1, 201)
        mean = float(one["mean"]) + float(one.figure_rounding) * across[:, None]
        half = STUDENT * (float(one.deviation) + float(one.deviation_rounding) * across[None, :])
        worst = np.maximum(abs(mean - half - float(one.low)), abs(mean + half - float(one.high)))
        assert max(worst.min() - 0.5, 0) == pytest.approx(float(one.beyond), abs=0.03)


def test_three_printed_intervals_do_not_follow(checked):
    wrong = checked.beyond > 0
    names = [
        (table, operation, size)
        for table, operation, size in itertools.product((1, 2, 3, 4), ("read", "write"), (3, 6, 9))
        if bool(wrong.sel(table=table, operation=operation, size=size))
    ]
    assert names == [(1, "write", 9), (2, "read", 6), (3, "read", 3)]
    # the printed deviation is 1.01, although ten times this value would fit, and values below 9.5 are impossible
    slip = checked.sel(table=1, operation="write", size=9)
    assert float(slip.needed_low) < 10.1 < float(slip.needed_high)
    assert bool(slip.impossible) and int(checked.impossible.sum()) == 1
    # 491 is printed and 499.5 computed: 499 would follow
    mended = measured_tables().sel(table=3, operation="read", size=3)
    assert float(limits(mended.assign(high=499.0)).beyond) == 0
    assert int((checked.beyond_normal > 0).sum()) == 14
    # 666.7 and 675.3, from 670.5: truncated they are 666 and 674
    assert bool((checked.beyond_cut.sel(table=2) == 0).all()) and int((checked.beyond_cut > 0).sum()) == 2


def test_sharp_bounds_of_a_deviation_by_hand():
    """Take four samples 0, x, y, 4. With mean 2, x + y = 4: 2, 2 is closest and 0, 4 farthest.

    With mean 1.5, x + y = 2: 1, 1 and 0, 2.
    """
    close, far = deviation_bounds(2.0, 0.0, 4.0, samples=4)
    assert (close, far) == (pytest.approx(np.std([0, 2, 2, 4], ddof=1)), pytest.approx(np.std([0, 0, 4, 4], ddof=1)))
    close, far = deviation_bounds(1.5, 0.0, 4.0, samples=4)
    assert (close, far) == (pytest.approx(np.std([0, 1, 1, 4], ddof=1)), pytest.approx(np.std([0, 0, 2, 4], ddof=1)))
    assert deviation_bounds(5.0, 5.0, 5.0) == (0.0, 0.0)
    assert np.isnan(deviation_bounds(4.0, 0.0, 4.0)).all()


def test_all_samples_are_within_the_bounds():
    generator = np.random.default_rng(7)
    for samples in generator.choice([0.0, 0.1, 0.5, 0.9, 1.0], (400, 8)) + generator.normal(0, 0.01, (400, 8)):
        low, high = deviation_bounds(samples.mean(), samples.min(), samples.max())
        assert low - 1e-9 <= samples.std(ddof=1) <= high + 1e-9


def test_all_samples_that_round_to_a_row_are_within_its_bounds():
    """Draw eight samples and round their figures as printed: the deviation before rounding is always possible."""
    generator = np.random.default_rng(3)
    for samples in 880 + 12 * generator.choice([-1.0, -0.2, 0.0, 1.0], (150, 8)) + generator.uniform(-1, 1, (150, 8)):
        figures = {"mean": samples.mean(), "min": samples.min(), "max": samples.max()}
        data = xr.Dataset({name: np.round(value) for name, value in figures.items()} | {"figure_rounding": 0.5})
        possible = possible_deviations(data)
        assert float(possible.least) - 1e-9 <= samples.std(ddof=1) <= float(possible.greatest) + 1e-9


def test_every_claim_of_the_four_tables_has_a_row(predicted, checked):
    claims = [claim for claim in load_claims("swift") if claim.id.startswith(EXHIBITS)]
    found = prototype_findings(predicted, checked)
    assert {one.id for one in found} == {claim.id for claim in claims}
    rows = {one.id: one for one in score(claims, found)}
    unmodelled = {name for name, one in rows.items() if one.verdict == "not-run"}
    assert unmodelled == {
        f"swift.table{table}.{operation}[{size}]"
        for table, operation, size in itertools.product((2, 3), ("read", "write"), (3, 6, 9))
    }
    assert rows["swift.table1.ci"].verdict == rows["swift.table1.fourth_agent"].verdict == "broken"
    assert all(one.note for one in found)
    assert {one.basis for one in found} == {"analytic"}


def test_the_judged_interpretation_of_reads_agrees_with_the_papers_text(predicted):
    """One outstanding request costs performance (3.1), and the Ethernet limits (4): only for the judged interpretation."""
    one, rate = (
        Prototype(),
        float(predicted.rate.sel(operation="read", interpretation="judged", ethernets=1, statistic="mean")),
    )
    busy = {
        name: float(predicted.unknown.sel(operation="read", interpretation=name)) * rate / 8
        for name in ethernet.INTERPRETATIONS
    }
    assert busy == pytest.approx({"judged": 0.69, "other": 1.0}, abs=0.005)
    assert rate / 8 * one.wires[0] == pytest.approx(0.79, abs=0.005)
    by_agents = predicted.by_agents.sel(operation="read")
    # in a judged interpretation the second and third agent gain, as would more requests to each agent
    assert float(by_agents.sel(interpretation="judged").diff("agents").min()) > 0.02 * rate
    others = by_agents.sel(interpretation="other", agents=slice(2, 6))
    assert others.values == pytest.approx(rate)


def test_the_measurements_lie_between_the_interpretations(predicted, checked):
    """The module and the notes of the rows both state this, with both numbers."""
    rates = predicted.rate.sel(operation="read", ethernets=2, statistic="mean")
    low, high = float(rates.sel(interpretation="other")), float(rates.sel(interpretation="judged"))
    assert (round(low), round(high)) == (889, 1245)
    measured = checked["mean"].sel(table=4, operation="read")
    assert low < float(measured.min()) and float(measured.max()) < high
    notes = [one.note for one in prototype_findings(predicted, checked) if one.id.startswith("swift.table4.read")]
    assert len(notes) == 4
    for note in notes:
        assert "from table 1 if times are exponential" in note and "after both results were known" in note
        assert (
            "If instead times are fixed" in note
            and "the rate is 889 KB/s, 1.00 times the rate on one Ethernet." in note
        )
        assert "the measured rates lie between" in note and "sampling error" in note


def test_intervals_are_given_where_they_are_informative(predicted, checked):
    rows = {one.id: one for one in prototype_findings(predicted, checked)}
    # mean value analysis is not proportional: the gain falls slightly with table 1's rate
    gain = rows["swift.table4.read_gain"]
    assert gain.low < 1.40 < gain.measured < gain.high
    ends = [
        float(predicted.rate.sel(operation="read", interpretation="judged", statistic=name)[1])
        for name in ("low", "high")
    ]
    for size in (3, 6, 9):
        row = rows[f"swift.table4.read[{size}]"]
        assert [row.low, row.high] == ends and row.low < row.measured < row.high
    doubles = rows["swift.table4.write_doubles"]
    # The slower Ethernet ends last. A packet of 8 KB takes 1/0.95 of the time on its wire, and the rest of the gap is
    # unchanged.
    gap, wire = 8 / (1748.667 / 2), 8 / ethernet.CAPACITY
    assert doubles.measured == pytest.approx(2 * gap / (gap + wire / 0.95 - wire), rel=1e-4)
    assert doubles.low < doubles.measured < doubles.high
    alone = {one.id: one for one in prototype_findings(predictions(other_load=0.0), checked)}[
        "swift.table4.write_doubles"
    ]
    assert alone.low is alone.high is None and alone.measured == pytest.approx(2)


def test_the_note_on_a_fourth_agent_gives_both_interpretations(predicted, checked):
    row = next(one for one in prototype_findings(predicted, checked) if one.id == "swift.table1.fourth_agent")
    rates = predicted.by_agents.sel(operation="read", interpretation="judged")
    assert row.measured == pytest.approx(float(rates.sel(agents=4) / rates.sel(agents=3)) - 1)
    assert (
        "third agent adds 13.5%" in row.note
        and "For writes the fourth agent adds 0.0%" in row.note
        and "Four agents use 85%" in row.note
    )
    assert (
        "If times are fixed, and the client's processor limits the rate, the fourth agent adds 0.0% to reads"
        in row.note
    )


def test_only_table_1_calibrates(monkeypatch):
    """With doubled tables 2 to 4, every prediction stays."""
    before = predictions()
    data = measured_tables()
    other = data.assign(mean=data["mean"].where(data.table == 1, 2 * data["mean"]))
    monkeypatch.setattr(ethernet, "measured_tables", lambda: other)
    xr.testing.assert_equal(predictions(), before)
    monkeypatch.setattr(ethernet, "measured_tables", lambda: data.assign(mean=data["mean"] - 1))
    assert not predictions().rate.equals(before.rate)


def test_the_interval_equals_the_sampling_error_of_table_1():
    """For three means of eight the half-width is 1.96 sqrt(sum of squared deviations) / (3 sqrt 8).

    The draws give it to 0.3%.
    """
    rates = ethernet.calibration_rates(draws=200_000)
    # for writes of 9 MB, the smallest possible deviation replaces the printed 1.01
    deviations = {"read": (18.6, 3.4, 16.6), "write": (44.6, 5.0, 9.49)}
    for operation, each in deviations.items():
        half = 1.96 * np.sqrt(np.square(each).sum()) / (3 * np.sqrt(8))
        mean, low, high = rates.sel(operation=operation).values
        assert [mean - low, high - mean] == pytest.approx([half, half], rel=0.01)
    # with twice the rate, the interval is twice as wide; the gain of writes has none
    alone = predictions(other_load=0.0)
    rate = alone.rate.sel(operation="write", interpretation="judged").diff("statistic").sum("statistic")
    assert float(rate.sel(ethernets=2)) == pytest.approx(2 * float(rate.sel(ethernets=1)))


def test_the_size_of_a_packet_has_little_effect():
    found = sensitivity(packets=(4.0, 8.0, 16.0), seconds=(3,), loads=(0.0,)).rate
    packets = found.isel(aspect=slice(0, 3))
    assert float((packets.max("aspect") / packets.min("aspect")).max()) < 1.01
    # 8 KB, three agents, no other load: the same model three times
    assert found.isel(aspect=1).values == pytest.approx(found.isel(aspect=3).values)
