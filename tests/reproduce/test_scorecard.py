"""Test verdicts worked by hand, laws for arbitrary numbers, and the files written."""

import dataclasses
import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from storagekit.core.errors import InputError
from storagekit.reproduce.claims import EVIDENCE, Claim, load_claims
from storagekit.reproduce.report import (
    csv_text,
    html_table,
    read_scorecard,
    share_table,
    summary,
    text_table,
    write_scorecard,
)
from storagekit.reproduce.scorecard import COLUMNS, VERDICTS, Measurement, judge, score, shares

numbers = st.floats(1e-3, 1e6)


def claim(expected=None, kind="value", name="x.a.b", needs="", caveat=""):
    return Claim(name, "x", "x.a", "", kind, expected, "ms", needs, caveat)


def verdict(expected, measured, kind="value"):
    return judge(claim(expected, kind), Measurement("x.a.b", measured))


@pytest.mark.parametrize(
    ("expected", "measured", "error", "wanted"),
    [
        (100, 105.0, 0.05, "match"),
        (100, 95.0, -0.05, "match"),
        (100, 105.1, 0.051, "near"),
        (100, 115.0, 0.15, "near"),
        (100, 84.9, -0.151, "miss"),
        (0.0244, 0.0244, 0.0, "match"),
        (-2.0, -2.2, -0.1, "near"),
        (0.0, 0.01, 0.01, "match"),
        (0.0, 0.02, 0.02, "near"),
        (0.0, 0.04, 0.04, "miss"),
        ((1.12, 1.27), 1.2, 0.0, "match"),
        ((1.12, 1.27), 1.27, 0.0, "match"),
        ((1.12, 1.27), 1.27 * 1.04, 0.04, "match"),
        ((1.12, 1.27), 1.12 * 0.9, -0.1, "near"),
        ((1.12, 1.27), 2.0, 0.73 / 1.27, "miss"),
    ],
)
def test_numbers_are_judged_by_their_error(expected, measured, error, wanted):
    got, verdict_ = verdict(expected, measured)
    assert got == pytest.approx(error, abs=1e-12)
    assert verdict_ == wanted


@pytest.mark.parametrize(
    ("expected", "measured", "wanted"),
    [
        (5.8, 5.84, "match"),
        (5.8, 5.86, "miss"),
        (2, 2.0, "match"),
        (10, 11, "miss"),
        (0, 0, "match"),
    ],
)
def test_exact_means_the_digits_given(expected, measured, wanted):
    assert verdict(expected, measured, "exact")[1] == wanted


@pytest.mark.parametrize("kind", ["order", "bound", "exact", "value"])
def test_statements_hold_or_fail(kind):
    assert verdict(None, True, kind) == (None, "holds")
    assert verdict(None, False, kind) == (None, "broken")


def test_a_bound_shows_its_number_and_its_verdict():
    found = Measurement("x.a.b", 0.97, 0.96, 0.98, holds=True)
    (row,) = score([claim(0.95, "bound")], [found])
    assert (row.expected, row.measured, row.error, row.verdict) == (0.95, 0.97, None, "holds")


def test_a_claim_without_measurement_has_a_reason():
    claims = [claim(1.0, name="x.a.b", needs="trace:SAP"), claim(1.0, name="x.a.c", caveat="odd")]
    trace, later = score(claims, [])
    assert (trace.verdict, later.verdict) == ("not-run", "not-run")
    assert trace.note == "The paper reports: 1 ms. The claim needs a trace that is not public: SAP."
    assert later.note == "The paper reports: 1 ms. This release does not measure the claim. Note: odd."
    (row,) = score(claims[:1], [Measurement("x.a.b", None, note="the drive is too small")])
    assert (row.verdict, row.note, row.basis) == ("not-run", "The paper reports: 1 ms. The drive is too small.", "")


def test_scalars_of_numpy_are_numbers():
    found = Measurement("x.a.b", np.float32(2.0), np.float64(1.0), np.array(3.0))
    assert (found.measured, found.low, found.high) == (2.0, 1.0, 3.0)
    assert Measurement("x.a.b", np.True_).measured is True


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Measurement("x.a.b", math.nan), "measured is nan"),
        (lambda: Measurement("x.a.b", 1.0, 0.5, math.inf), "high is inf"),
        (lambda: Measurement("x.a.b", 1.0, 1.2, 1.4), "outside its interval"),
        (lambda: Measurement("x.a.b", 1.0, basis="guess"), "'guess': give one of analytic"),
        (lambda: score([claim(1)], [Measurement("x.a.c", 1)]), "no such claim; give one of x.a.b"),
        (lambda: score([claim(1)], [Measurement("x.a.b", 1)] * 2), "given twice"),
        (lambda: verdict(None, 3.0, "order"), "give True or False, whether"),
        (lambda: verdict(1.0, True), "give a number to compare with"),
    ],
)
def test_an_impossible_measurement_is_an_input_error(make, message):
    with pytest.raises(InputError, match=message):
        make()


@given(numbers, numbers)
def test_scaling_both_changes_neither_error_nor_verdict(expected, measured):
    assert verdict(expected, measured)[0] == pytest.approx(verdict(8 * expected, 8 * measured)[0])
    assert verdict(expected, measured)[1] == verdict(8 * expected, 8 * measured)[1]


@given(numbers, st.floats(0, 1), st.floats(0, 1))
def test_a_smaller_error_is_never_worse(expected, a, b):
    rank = ("match", "near", "miss").index
    near, far = sorted((a, b))
    verdicts = [verdict(expected, expected * (1 + d))[1] for d in (near, far)]
    assert rank(verdicts[0]) <= rank(verdicts[1])


@given(numbers, numbers, st.floats(0, 1))
def test_a_number_inside_a_range_matches_and_a_degenerate_range_is_a_number(a, b, part):
    low, high = sorted((a, b))
    inside = min(max(low + part * (high - low), low), high)
    assert verdict((low, high), inside) == (0.0, "match")
    assert verdict((a, a), b) == verdict(a, b)


@given(st.sets(st.integers(0, 9)))
def test_every_claim_has_a_row_for_any_measurements(measured):
    claims = [claim(1.0, name=f"x.a.c{i}") for i in range(10)]
    rows = score(claims, [Measurement(f"x.a.c{i}", 1.0) for i in measured])
    assert [row.id for row in rows] == [c.id for c in claims]
    assert all((row.verdict == "match") == (i in measured) for i, row in enumerate(rows))
    assert all(row.verdict in VERDICTS for row in rows)


def test_the_excess_is_judged_when_most_of_a_number_is_certain():
    """The paper prints 16.15, of which 16 are certain: an excess of 0.145 to 0.155."""
    mostly = claim(16.15)
    assert judge(mostly, Measurement("x.a.b", 16.08))[1] == "match"
    of_excess = dataclasses.replace(mostly, beyond=16.0, within=0.005)
    assert judge(of_excess, Measurement("x.a.b", 16.08)) == (pytest.approx(0.08 / 0.145 - 1), "miss")
    assert judge(of_excess, Measurement("x.a.b", 16.153)) == (0.0, "match")
    assert judge(of_excess, Measurement("x.a.b", 16.170)) == (pytest.approx(0.17 / 0.155 - 1), "near")
    assert "excess over 16" in score([of_excess], [Measurement("x.a.b", 16.0)])[0].note
    assert next(one for one in load_claims("dsptf") if one.id == "dsptf.table5.way8[16]").beyond == 16


def test_a_setting_with_several_printed_rows_is_judged_by_their_range():
    """The paper prints 4.001 to 4.007, of which 4 are certain: an excess of 0.0005 to 0.0075 with rounding."""
    one = dataclasses.replace(claim(4.003), beyond=4.0, within=0.0005, among=(4.001, 4.007))
    assert judge(one, Measurement("x.a.b", 4.0072)) == (0.0, "match")
    assert judge(one, Measurement("x.a.b", 4.0003)) == (pytest.approx(0.0003 / 0.0005 - 1), "miss")
    assert judge(one, Measurement("x.a.b", 4.0084)) == (pytest.approx(0.0084 / 0.0075 - 1), "near")
    share = dataclasses.replace(claim(0.0015), among=(0.0005, 0.0035))
    assert judge(share, Measurement("x.a.b", 0.0034)) == (0.0, "match")
    assert "range of the paper's rows, 0.0005 to 0.0035" in score([share], [Measurement("x.a.b", 0.001)])[0].note


def test_only_claims_with_evidence_from_the_paper_count_as_reproduced():
    verdicts = [("input", "match"), ("paper", "match"), ("paper", "near"), ("paper", "holds"), ("paper", "not-run")]
    verdicts += [("input", "miss"), ("hardware", "not-run"), ("ours", "broken")]
    assert shares(verdicts) == {"paper": (2, 3), "input": (1, 2), "hardware": (0, 0), "ours": (0, 1)}
    assert list(shares(verdicts)) == ["paper", "input", "hardware", "ours"]
    assert shares(verdicts)["paper"].part == pytest.approx(2 / 3) and shares(verdicts)["hardware"].part == 0
    assert summary(verdicts).endswith(
        "judged only by the papers: 2 of 3 met (67%); by other evidence: input 1 of 2, hardware 0 of 0, ours 0 of 1"
    )
    assert summary([]) == "no claims"


@given(st.lists(st.tuples(st.sampled_from(EVIDENCE), st.sampled_from(VERDICTS))))
def test_every_row_counts_once_by_its_evidence(verdicts):
    found = shares(verdicts)
    assert sum(share.met for share in found.values()) == sum(verdict in ("match", "holds") for _, verdict in verdicts)
    assert sum(share.judged for share in found.values()) == sum(verdict != "not-run" for _, verdict in verdicts)


def test_the_page_has_a_separate_share_for_each_paper():
    rows = score([claim(1.0, name="x.a.one"), claim(1.0, name="x.a.two")], [Measurement("x.a.one", 1.0)])
    rows += [row._replace(paper="y", evidence="input", verdict="miss") for row in rows]
    cells = [re.findall(r"<td[^>]*>(.*?)</td>", line) for line in share_table(rows).split("<tr>")[2:]]
    assert [line[:4] for line in cells] == [
        ["x", "1 of 1, 100%", "1 of 1, 100%", ""],
        ["y", "", "0 of 2, 0%", "0 of 2"],
        ["all papers", "1 of 1, 100%", "1 of 3, 33%", "0 of 2"],
    ]


def dsptf_rows():
    measured = [
        Measurement("dsptf.table1.gain", 1.41, 1.39, 1.43, note='a "quoted", noted thing'),
        Measurement("dsptf.fig5.growing", True),
        Measurement("dsptf.fig5.gain_3", 1.4),
        Measurement("dsptf.table1.central.idle", 0.004),
    ]
    return score(load_claims("dsptf"), measured)


def test_files_have_the_content_of_the_rows(tmp_path):
    rows = dsptf_rows()
    write_scorecard(rows, tmp_path)
    read = read_scorecard(tmp_path)
    assert list(read[0]) == list(COLUMNS)
    assert len(read) == len(rows) == len(load_claims("dsptf"))
    gain = next(row for row in read if row["id"] == "dsptf.table1.gain")
    assert gain["note"] == (
        "The paper reports: throughput of D-SPTF over hashing and LARD, 1.4. "
        'Measured: 1.41 (1.39 to 1.43). a "quoted", noted thing.'
    )
    assert next(row["note"] for row in read if row["id"] == "dsptf.fig5.growing") == (
        "The paper reports: the gain grows with the number of replicas. Measured: it holds."
    )
    assert float(gain["error"]) == pytest.approx(0.01 / 1.4)
    assert (gain["measured"], gain["low"], gain["verdict"]) == ("1.41", "1.39", "match")
    assert next(r["expected"] for r in read if r["id"] == "dsptf.fig5.gain_3") == "1.12 to 1.27"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["scorecard.csv"]
    assert (tmp_path / "scorecard.csv").read_text() == csv_text(rows)


@pytest.mark.parametrize(
    ("measured", "shown"), [(10.0, ""), (9.0, "all of <it>"), (5.0, "all of <it>"), (None, "")], ids=str
)
def test_alternatives_are_shown_for_claims_that_are_not_met(measured, shown):
    claim_with_alternatives = dataclasses.replace(claim(10.0), alternatives="all of <it>")
    rows = score([claim_with_alternatives], [Measurement("x.a.b", measured, note="a note")] if measured else [])
    assert rows[0].alternatives == shown
    assert ("a note. Alternatives: all of &lt;it&gt;" in html_table(rows, {})) is bool(shown)


def test_the_table_is_self_contained_and_escapes_its_text_and_labels_its_rows():
    table = html_table(dsptf_rows(), {"dsptf.fig5.growing": "it <grows>"}, {"dsptf.fig5.growing": "<a>there</a>"})
    assert "it &lt;grows&gt;</small><small><a>there</a></small>" in table
    assert "src=" not in table
    assert "http" not in table
    assert '<tr id="dsptf.fig5.growing" data-paper="dsptf" data-exhibit="dsptf.fig5" data-verdict="holds"' in table
    assert '<td class="number">1.41<small>1.39 to 1.43</small></td>' in table


def test_the_table_is_aligned_and_counts(tmp_path):
    write_scorecard(dsptf_rows(), tmp_path)
    lines = text_table(read_scorecard(tmp_path)).splitlines()
    at = lines[0].index("verdict")
    gain = next(line for line in lines if line.startswith("dsptf.table1.gain "))
    assert gain[at:].startswith("match")
    assert lines[-1].startswith(f"{len(dsptf_rows())} claims: 2 match, 1 near, 1 holds, ")


def test_no_or_damaged_scorecard_is_an_input_error(tmp_path):
    with pytest.raises(InputError, match="storagekit reproduce"):
        read_scorecard(tmp_path)
    (tmp_path / "scorecard.csv").write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match="not a scorecard"):
        read_scorecard(tmp_path)
