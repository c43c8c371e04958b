"""The chart of the what-if page of DSFQ as data."""

import pytest
from helpers import parts, rows

from storagekit.papers.dsfq import draw
from storagekit.papers.dsfq.what_if import what_if


def spec(minimum=0.0, rate_b=4e6) -> dict:
    return draw.what_if(what_if(1, 1, minimum, 30, 15, 1, 6e6, rate_b)).to_dict()


def test_every_rate_and_latency_is_drawn():
    drawn = rows(spec())
    by_brick = {(row["policy"], row["stream"], row["brick"]): row["rate"] for row in drawn if "brick" in row}
    together, alone = "both bricks together", "each brick by itself"
    assert by_brick == pytest.approx({
        (together, "f", "A"): 5, (together, "g", "A"): 1, (together, "g", "B"): 4,
        (alone, "f", "A"): 3, (alone, "g", "A"): 3, (alone, "g", "B"): 4,
    })  # fmt: skip
    totals = {(row["policy"], row["stream"]): row["rate"] for row in drawn if "rate" in row and "brick" not in row}
    assert totals == pytest.approx({(together, "f"): 5, (together, "g"): 5, (alone, "f"): 3, (alone, "g"): 7})
    latency = {(row["policy"], row["stream"]): row["latency"] for row in drawn if "latency" in row}
    assert latency[together, "f"] == pytest.approx(30 * 8.5 * 1024 / 5e3)
    assert {"Rate (MB/s)", "Mean latency (ms)"} <= {one for one in parts(spec(), "title") if isinstance(one, str)}


def test_the_subtitle_says_the_bound_and_what_holds_back():
    said = " ".join(spec()["title"]["subtitle"])
    assert "differs by 5.34 MB at most" in said and "g is held back by bricks A, B" in said
    said = " ".join(spec(1 / 12, 6e6)["title"]["subtitle"])
    assert said.startswith("No bound") and "its minimum share of brick A" in said
