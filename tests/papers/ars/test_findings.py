"""Test the findings from exhibits: every claim occurs once, and each one fails when its numbers change."""

import numpy as np
import pytest

from storagekit.papers import ars
from storagekit.papers.ars.cluster import DSPTF
from storagekit.reproduce.claims import load_claims
from storagekit.reproduce.scorecard import score


@pytest.fixture(scope="module")
def promised():
    """Return a few intervals of four nodes, and changes of them."""
    effort = ars.effort("quick")
    return ars.histories(effort, nodes=[4], count=20), ars.moves(effort, nodes=[4], count=3)


@pytest.fixture
def findings(promised, reads, busy, both, throughput, latency, degraded_reads, written, extra_nodes):
    """Return a function that computes all findings by claim; `changed` replaces exhibits."""
    seen, moved = promised

    def findings(**changed):
        of = {"reads": reads, "both": both, "throughput": throughput, "latency": latency} | changed
        of = {"degraded_reads": degraded_reads, "written": written, "extra_nodes": extra_nodes, "seen": seen} | of
        rows = [
            *ars.fig4_findings(of["reads"], busy),
            *ars.fig5_findings(of["both"]),
            *ars.fig6_findings(of["throughput"]),
            *ars.fig7_findings(of["latency"], of["latency"]),
            *ars.algorithm_findings(of["seen"], moved),
            *ars.failing_findings(of["degraded_reads"], of["written"], of["extra_nodes"]),
        ]
        assert len({row.id for row in rows}) == len(rows)
        return {row.id.removeprefix("ars."): row for row in rows}

    return findings


def test_every_claim_has_one_finding(findings):
    rows, claims = findings(), load_claims("ars")
    assert {f"ars.{name}" for name in rows} == {claim.id for claim in claims}
    verdicts = {row.id: row.verdict for row in score(claims, list(rows.values()))}
    assert all(verdict in ("holds", "match") for name, verdict in verdicts.items() if name != "ars.algorithm.sticky")


def test_notes_give_the_setting_of_the_order_and_the_runs(findings, extra_nodes):
    rows = findings()
    assert rows["fig4.near_central"].note.count("at 10") == 3 and "0.3%" in rows["fig4.near_central"].note
    assert rows["fig5.near_central"].basis == "stand-in" and "a stand-in" in rows["fig5.same_pattern"].note
    note = rows["algorithm.extra_e"].note
    assert "0.52 s without" in note and "2.03 nodes before" in note and f"{extra_nodes.sizes['seed']} runs" in note


def scaled(data, name, factor, **where):
    """Return the exhibit with some of a variable's numbers multiplied."""
    values = data[name].copy(deep=True)
    values.loc[where] = values.loc[where] * factor
    return data.assign({name: values})


@pytest.mark.parametrize(
    ("exhibit", "name", "where", "factor", "broken"),
    [
        ("reads", "response", {"protocol": "ARS"}, 1.1, {"fig4.near_central", "fig4.dsptf_coded"}),
        ("reads", "response", {"protocol": "Randomized"}, 0.7, {"fig4.random_worst"}),
        ("reads", "response", {"protocol": "D-SPTF", "volume": "replicated"}, 1.05, {"fig4.dsptf_replicated"}),
        ("reads", "response", {"protocol": "D-SPTF", "volume": "erasure-coded"}, 0.9, {"fig4.dsptf_coded"}),
        ("both", "response", {"protocol": "ARS", "trace": "Financial"}, 1.06, {"fig5.near_central"}),
        ("both", "response", {"protocol": "D-SPTF", "trace": "Financial"}, 2.0, {"fig5.same_pattern"}),
        ("both", "response", {"protocol": "Randomized", "trace": "Financial"}, np.nan, {"fig5.same_pattern"}),
        ("throughput", "request_rate", {"protocol": "ARS", "mix": "reads"}, 0.9, {"fig6.near_central", "fig6.dsptf_ahead"}),
        ("throughput", "request_rate", {"protocol": "D-SPTF", "mix": "mixed"}, 0.96, {"fig6.dsptf_ahead"}),
        ("throughput", "request_rate", {"protocol": "D-SPTF"}, 1.2, {"fig6.near_central", "fig6.dsptf_ahead"}),
        ("latency", "response", {"protocol": "ARS", "latency": 1e-2}, 1.001, {"fig7.ars_flat"}),
        ("latency", "response", {"protocol": DSPTF, "latency": 1e-2}, 0.3, {"fig7.dsptf_rises"}),
        ("extra_nodes", "targets", {"extra": 2}, 0, {"algorithm.extra_e"}),
    ],
)  # fmt: skip
def test_a_claim_breaks_with_its_numbers(findings, request, exhibit, name, where, factor, broken):
    before, data = findings(), request.getfixturevalue(exhibit)
    after = findings(**{exhibit: scaled(data, name, factor, **where)})
    turned = {claim for claim, row in after.items() if row.measured != before[claim].measured}
    assert turned == broken and not any(after[claim].measured for claim in broken)


def test_a_read_of_a_third_node_or_of_a_dead_one_is_reported(findings, degraded_reads):
    third = degraded_reads.copy(deep=True)
    third.reads.loc["0, 1", 3] = 1
    assert not findings(degraded_reads=third)["algorithm.read_any_m"].measured
    dead = degraded_reads.assign(dead=("stopped", np.arange(6) == 2))
    assert not findings(degraded_reads=dead)["algorithm.read_any_m"].measured


def test_a_write_completed_too_soon_is_reported(findings, written):
    early = written.copy(deep=True)
    early.completed.loc["erasure-coded", 1] = 1
    assert not findings(written=early)["algorithm.write_commit"].measured
    never = written.copy(deep=True)
    never.later.loc["replicated", 2] = 1
    assert not findings(written=never)["algorithm.write_commit"].measured


@pytest.mark.parametrize("before", [True, False])
def test_extra_nodes_count_only_where_they_are_certain(findings, extra_nodes, before):
    """In every second run, reads go to as many nodes before, or after, as during the absence of the node."""
    number, odd = extra_nodes.number, extra_nodes.seed % 2 == 1
    nodes = extra_nodes.targets.where(~(odd & ((number < 1000) if before else (number > 2500))), 3.1)
    mean = nodes.sel(extra=2).mean("seed")
    assert float(mean.sel(number=1525)) > float(mean.sel(number=525 if before else 3025)) + 0.4
    assert not findings(extra_nodes=extra_nodes.assign(targets=nodes))["algorithm.extra_e"].measured


@pytest.mark.parametrize("promise", ["half", "partial", "distinct"])
def test_a_wrong_interval_is_reported(findings, promised, promise):
    seen = promised[0].assign({promise: promised[0][promise] + 1})
    assert [
        name for name in ("half", "partial", "distinct") if not findings(seen=seen)[f"algorithm.{name}"].measured
    ] == [promise]
