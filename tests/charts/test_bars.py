"""Grouped bars: the paper's dashes, numbers at the end or at the foot, and what is overloaded."""

import numpy as np
import xarray as xr
from helpers import parts, rows

from storagekit.charts.bars import grouped
from storagekit.charts.marks import AxisStyle, positions
from storagekit.charts.theme import PAPER

AXES = {"size": ["4 KB", "64 KB"], "replicas": [2, 8]}
COLOURS = {"4 KB": "red", "64 KB": "blue"}


def bars(values, **how) -> dict:
    means = xr.DataArray(values, coords=AXES)
    whole = xr.concat([means, means - 1, means + 1], xr.Variable("statistic", ["mean", "low", "high"]))
    side = AxisStyle("Overhead (%)", 100.0)
    return grouped(whole, "replicas", "size", COLOURS, side, None, **how).to_dict()


def test_the_papers_dash_is_at_its_bar_and_the_number_above_both():
    said = xr.DataArray([[np.nan, 30.0], [np.nan, 3.0]], coords=AXES)
    spec = bars([[10.0, 20.0], [10.0, 5.0]], paper=said)
    drawn = {(row["replicas"], row["size"]): row for row in rows(spec)}
    assert {at: row["paper"] for at, row in drawn.items() if row["paper"] is not None} == {
        (8, "4 KB"): 3000,
        (8, "64 KB"): 300,
    }
    assert drawn[8, "4 KB"]["end"] == 3000 and drawn[8, "64 KB"]["end"] == 600 and drawn[2, "4 KB"]["end"] == 1100
    assert [PAPER] in [scale["range"] for scale in parts(spec, "scale") if "range" in scale]
    assert max(max(domain) for domain in parts(spec, "domain") if len(domain) == 2 and 0 in domain) > 3000


def test_numbers_are_at_the_foot_and_a_bar_without_a_value_is_overloaded():
    spec = bars([[10.0, np.nan], [10.0, 5.0]], foot=True, height=200)
    heights = [y["value"] for y in parts(spec, "y") if "value" in y]
    assert 190 in heights and "overloaded" in [text.get("value") for text in parts(spec, "text")]
    assert not any("paper" in row for row in rows(spec))


def test_positions_of_a_row_leave_out_unknown_numbers():
    row = xr.DataArray([1.0, np.nan, 3.0], coords={"depth": [1, 2, 4]})
    assert positions(row) == [(1, 1.0), (4, 3.0)]
