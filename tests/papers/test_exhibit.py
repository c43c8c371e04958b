"""Exhibits declared by their axes, and the claims of a table declared once."""

import inspect

import numpy as np
import pytest
from helpers import assert_refused

from storagekit.dispatch import LARD, Hashing
from storagekit.papers.claim_table import ClaimTable
from storagekit.papers.dsptf import claims
from storagekit.papers.effort import Effort
from storagekit.papers.exhibit import over_axes
from storagekit.reproduce.claims import load_claims


def points(name):
    """Instead of a simulation: the name, the effort, and what the scenario of each point is made from."""

    def simulate(scenario, axes, effort):
        (first, ones), (second, others) = axes.items()
        return name, effort.seeds, [scenario(**{first: one, second: other}) for one in ones for other in others]

    return simulate


HASHING, LARD_ITSELF = Hashing(), LARD(2.0, 4.0)


@over_axes(points, {"scheme": {"Hashing": HASHING, "LARD": LARD_ITSELF}, "depth": (1, 2)}, Effort(seeds=3))
def table9(scheme, depth, *, size=4):
    """Return a table."""
    return scheme, depth, size


def test_the_scenario_receives_the_value_of_a_name_and_other_parameters_stay_fixed():
    assert table9(scheme="LARD") == ("table9", 3, [(LARD_ITSELF, 1, 4), (LARD_ITSELF, 2, 4)])
    own = Hashing()
    found = table9(Effort(seeds=2), scheme=["Hashing", ("mine", own)], depth=[8], size=1)
    assert found == ("table9", 2, [(HASHING, 8, 1), (own, 8, 1)])


def test_one_label_stands_for_a_list_of_one():
    own = Hashing()
    _, _, found = table9(scheme=("mine", own), depth=np.int64(8))
    assert found == [(own, 8, 4)]


@over_axes(points, {"spindles": {"random": 0, "in step": 1}, "depth": (1, 2)}, Effort())
def figure9(spindles, depth):
    """Return a figure with an axis whose values are not dispatchers."""
    return spindles, depth


def test_names_of_other_values_are_checked_and_given_once():
    assert figure9(spindles="in step", depth=4)[2] == [(1, 4)]
    assert_refused(lambda: figure9(spindles=["steady"]), "spindles 'steady': give one of random, in step$")
    assert_refused(lambda: figure9(spindles=[("mine", Hashing())]), "spindles .*: give one of random, in step$")
    assert_refused(lambda: figure9(depth=[2, 2]), r"depth \[2, 2\]: give each label once")


def test_an_exhibit_shows_its_arguments_and_refuses_others():
    assert str(inspect.signature(table9)).startswith("(effort: storagekit.papers.effort.Effort = Effort(seeds=3")
    assert list(inspect.signature(table9).parameters) == ["effort", "scheme", "depth", "size"]
    assert table9.__name__ == "table9" and table9.__doc__ == "Return a table."
    assert_refused(lambda: table9(scheme=["SPTF"]), "scheme 'SPTF': unknown; give one of Hashing, LARD")
    with pytest.raises(TypeError, match="depths"):
        table9(depths=[1])


def test_every_table_of_claims_is_of_the_papers_own():
    known = {claim.id for claim in load_claims("dsptf")}
    tables = [table for table in vars(claims).values() if isinstance(table, ClaimTable)]
    assert len(tables) == 12
    assert {claim for table in tables for claim, _ in table} <= known


def test_a_table_leaves_out_what_the_data_lack_and_refuses_a_paper_without_its_claims():
    table = ClaimTable("x.t.{row}", row={"a": 1, "b": 2})
    said = table.numbers({"x.t.a": 5, "x.t.b": 6})
    assert said.sel(row=2) == 6
    assert list(table.within(said.sel(row=[2]).to_dataset(name="said"))) == [("x.t.b", (2,))]
    with pytest.raises(KeyError, match=r"x\.t\.b"):
        table.numbers({"x.t.a": 5})
