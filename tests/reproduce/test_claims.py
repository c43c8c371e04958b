"""Test claims files: their content, the rows made from lists and mappings, and rejected files."""

import pytest
import yaml
from helpers import assert_refused

from storagekit.core.errors import InputError
from storagekit.core.resources import data_path
from storagekit.reproduce.claims import KINDS, load_claims, load_exhibits, papers, read_exhibits


def by_id(paper: str):
    return {claim.id: claim for claim in load_claims(paper)}


def test_five_papers_are_included():
    assert papers() == ["ars", "dsfq", "dsptf", "since", "srarray", "swift"]


def test_mapping_becomes_a_row_per_key():
    claims = by_id("dsptf")
    assert claims["dsptf.table6.conflicts[8]"].expected == 0.0244
    assert claims["dsptf.table6.conflicts[8]"].caveat
    assert claims["dsptf.table2.sap[size_kb]"].expected == 10
    assert claims["dsptf.table2.sap[size_kb]"].needs == "trace:SAP"
    assert "dsptf.table6.conflicts" not in claims


def test_list_takes_its_labels_from_the_setup_axis_it_runs_over():
    claims = by_id("dsptf")
    ways = {bricks: claims[f"dsptf.table5.way2[{bricks}]"].expected for bricks in (16, 32, 64, 128)}
    assert ways == {16: 4.003, 32: 4.005, 64: 4.007, 128: 4.001}


def test_list_takes_labels_given_by_name():
    claims = by_id("dsfq")
    assert claims["dsfq.fig9.b_end[g_A]"].expected == 125
    nested = {name: c.expected for name, c in claims.items() if "example_delays.two" in name}
    assert nested == {
        "dsfq.example_delays.two[first,0]": 0,
        "dsfq.example_delays.two[first,1]": 1,
        "dsfq.example_delays.two[second,0]": 1,
    }


def test_range_stays_one_claim():
    assert by_id("dsptf")["dsptf.fig5.gain_3"].expected == (1.12, 1.27)
    assert by_id("swift")["swift.table1.utilization"].expected == (0.77, 0.80)


@pytest.mark.parametrize("paper", ["ars", "dsfq", "dsptf", "since", "srarray", "swift"])
def test_every_claim_of_the_file_is_loaded_and_every_list_has_its_kind(paper):
    page = yaml.safe_load(data_path("claims", f"{paper}.yaml").read_text())
    entries = [c for exhibit in page["exhibits"] for c in exhibit.get("claims", ())]
    claims = load_claims(paper)
    assert [e["id"] for e in entries] == list(dict.fromkeys(c.id.split("[")[0] for c in claims))
    assert all(c.kind in KINDS and c.paper == paper for c in claims)
    # A text with a comma that is not quoted ends there, and the rest becomes a key without a value.
    assert [(e["id"], key) for e in entries for key, value in e.items() if value is None] == []
    assert len({c.id for c in claims}) == len(claims)
    for entry in entries:
        if isinstance(entry.get("value"), list):
            assert ("range" in entry) != ("over" in entry), entry["id"]


def test_a_claim_has_its_evidence():
    claims = by_id("dsfq")
    assert claims["dsfq.fig9.b_start[f]"].evidence == "calibrated" and claims["dsfq.fig9.b_ratio"].evidence == "paper"


def test_exhibits_keep_the_papers_order():
    names = [exhibit.id for exhibit in load_exhibits("dsptf")]
    assert names[:3] == ["dsptf.fig1", "dsptf.table1", "dsptf.fig5"]


def test_an_unknown_paper_raises_with_the_known_papers():
    assert_refused(lambda: load_exhibits("nope"), r"'nope'.*ars, dsfq, dsptf, since, srarray, swift")


@pytest.mark.parametrize(
    ("claim", "message"),
    [
        ("{id: x.a.b, kind: value, value: many}", "x.a.b: value 'many' is not a number"),
        ("{id: x.a.b, kind: value, value: true}", "x.a.b: value True is not a number"),
        ("{id: x.a.b, kind: guess, value: 1}", "kind 'guess': give one of value"),
        ("{id: x.a.b, kind: value, value: [2, 1], range: true}", "low end above its high end"),
        ("{id: x.a.b, kind: value, value: 2, range: true}", "give [low, high]"),
        ("{id: x.a.b, kind: value, value: [1, 2], over: [one]}", "one element for each"),
        ("{id: x.a.b, kind: value, value: [1, 2], over: nothing}", "nothing"),
        ("{id: x.a.b, kind: order}, {id: x.a.b, kind: order}", "two claims have the id x.a.b"),
        ("{id: x.a.b, kind: value, value: {a: 1}, among: {b: [1, 2]}}", "one range for each value of the claim"),
        ("{id: x.a.b, kind: value, value: 1, among: [2, 1]}", "low end above its high end"),
        ("{id: x.a.b, kind: order, among: [1, 2]}", "only possible for printed numbers"),
        ("{id: x.a.b, kind: value, value: [1, 2], range: true, among: [1, 2]}", "only possible for printed numbers"),
        ("{kind: order}", "id"),
        ("{id: x.a.b, kind: order", "README"),
        ("!!python/object/apply:os.getcwd []", "README"),
    ],
)
def test_damage_is_an_input_error_that_names_the_file(tmp_path, claim, message):
    path = tmp_path / "x.yaml"
    path.write_text(f"paper: x\nexhibits:\n- id: x.a\n  claims: [{claim}]\n")
    # not with `assert_refused`: the message of YAML makes a longer line
    with pytest.raises(InputError) as caught:
        read_exhibits(path)
    assert str(path) in str(caught.value)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["", "paper: x", "- 1", "exhibits: 3", "{paper: x, exhibits: [1]}"])
def test_a_file_of_another_form_is_an_input_error(tmp_path, text):
    path = tmp_path / "x.yaml"
    path.write_text(text)
    assert_refused(lambda: read_exhibits(path), r"x\.yaml")
