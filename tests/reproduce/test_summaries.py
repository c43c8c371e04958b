"""Test an exhibit's numbers: means with intervals, the paper's numbers where they are certain, and the table of both."""

import re
from html import unescape

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from storagekit.reproduce.claims import Claim
from storagekit.reproduce.scorecard import Measurement
from storagekit.reproduce.summaries import axes, summary, with_paper
from storagekit.reproduce.tables import MOST_ROWS, folded, measures, readable
from storagekit.simulation import interval

EXHIBIT = "dsptf.table1"


@pytest.fixture
def data():
    draw = np.random.default_rng(0)
    axes = ("scheme", "read_share", "seed")
    return xr.Dataset(
        {
            "throughput": (axes, 180 + draw.random((2, 2, 8)), {"units": "1/s"}),
            "service_time": (axes, 0.005 + 1e-4 * draw.random((2, 2, 8)), {"units": "s"}),
            "brick_throughput": ((*axes, "brick"), draw.random((2, 2, 8, 3)), {"units": "1/s"}),
            "share": (("scheme",), [0.25, 0.5], {"units": "1"}),
            "bottleneck": (("scheme",), ["disk", "network"]),
        },
        coords={"scheme": ["D-SPTF", "Hashing"], "read_share": [0.6, 0.9], "seed": np.arange(8), "brick": np.arange(3)},
    )


def claim(id: str, expected, unit="", kind="value", exhibit=EXHIBIT) -> Claim:
    return Claim(id, "dsptf", exhibit, "in words", kind, expected, unit, "", "")


def measured(id: str, data: xr.DataArray, factor=1.0, **point) -> Measurement:
    mean, low, high = (float(value) / factor for value in interval(data.to_dataset(name="a")).a.sel(**point))
    return Measurement(id, mean, low, high)


def row(rows: pd.DataFrame, measure: str, **point) -> pd.Series:
    found = rows[rows["measure"] == measure]
    for axis, value in point.items():
        found = found[found[axis] == value]
    assert len(found) == 1
    return found.iloc[0]


def text(page: str) -> str:
    """Return the text of a page, with cells separated."""
    page = re.sub(r"<style>.*?</style>", "", page, flags=re.DOTALL)
    return unescape(re.sub(r"<[^>]+>", "", re.sub(r"</t[dhr]>", "|", page)))


def test_means_and_intervals_equal_the_metrics(data):
    rows = summary(data)
    assert axes(rows) == ["scheme", "read_share"]
    assert list(rows.columns) == ["measure", "units", "scheme", "read_share", "mean", "low", "high", "text"]
    found = row(rows, "throughput", scheme="Hashing", read_share=0.9)
    wanted = interval(data[["throughput"]]).throughput.sel(scheme="Hashing", read_share=0.9)
    np.testing.assert_allclose(found[["mean", "low", "high"]].astype(float), wanted, rtol=1e-12)
    assert found["units"] == "1/s"
    once = row(rows, "share", scheme="D-SPTF")
    assert once["mean"] == 0.25 and np.isnan(once["low"])
    assert row(rows, "bottleneck", scheme="Hashing")["text"] == "network"


def test_bricks_are_averaged_unless_the_exhibit_is_about_them(data):
    assert len(summary(data).query("measure == 'brick_throughput'")) == 4
    rows = summary(data, ["brick_throughput"])
    assert len(rows.query("measure == 'brick_throughput'")) == 12
    found = row(rows, "brick_throughput", scheme="D-SPTF", read_share=0.6, brick=2)
    assert found["mean"] == pytest.approx(
        float(data.brick_throughput.sel(scheme="D-SPTF", read_share=0.6, brick=2).mean())
    )


def test_intervals_of_the_data_are_used_and_single_numbers_form_one_row():
    data = interval(xr.Dataset({"rate": (("disks", "seed"), [[1.0, 3.0], [2.0, 6.0]])}, coords={"disks": [1, 2]}))
    rows = summary(data)
    assert rows[["disks", "mean"]].to_numpy().tolist() == [[1, 2.0], [2, 4.0]]
    assert rows["low"].notna().all()
    alone = summary(xr.Dataset({"gain": 1.4, "best": "2x3x1"}))
    assert alone["mean"].tolist()[0] == 1.4 and alone["text"].tolist()[1] == "2x3x1"


def test_the_papers_number_is_at_the_point_of_its_measurement(data):
    """The point is found by mean and interval, in any unit of the claim."""
    claims = [claim(f"{EXHIBIT}.rate", 188, "IO/s"), claim(f"{EXHIBIT}.service", 5.28, "ms")]
    found = [
        measured(claims[0].id, data.throughput, scheme="Hashing", read_share=0.9),
        measured(claims[1].id, data.service_time, 1e-3, scheme="D-SPTF", read_share=0.6),
    ]
    rows = with_paper(summary(data), claims, {one.id: one for one in found}, EXHIBIT)
    assert rows["paper"].notna().sum() == 2
    assert row(rows, "throughput", scheme="Hashing", read_share=0.9)["paper"] == "188 IO/s"
    assert row(rows, "service_time", scheme="D-SPTF", read_share=0.6)["paper"] == "5.28 ms"


def test_without_certainty_the_papers_number_is_not_shown(data):
    rows, rate = summary(data), data.throughput
    at = {"scheme": "Hashing", "read_share": 0.9}
    right = measured("a", rate, **at)

    def row_count(one: Claim, found: Measurement | None, exhibit=EXHIBIT) -> int:
        table = with_paper(rows, [one], {one.id: found} if found else {}, exhibit)
        return int(table["paper"].notna().sum()) if "paper" in table else 0

    assert row_count(claim("a", 188), right) == 1
    assert row_count(claim("a", 188), right, f"{EXHIBIT}_interpretations") == 1
    # no measurement; another exhibit; a bound; no number; a mean without an interval, as for a maximum; another
    # interval
    assert row_count(claim("a", 188), None) == 0
    assert row_count(claim("a", 188, exhibit="dsptf.fig5"), right) == 0
    assert row_count(claim("a", 188, kind="bound"), right) == 0
    assert row_count(claim("a", None), right) == 0
    assert row_count(claim("a", 188), Measurement("a", right.measured)) == 0
    assert row_count(claim("a", 188), Measurement("a", right.measured, right.low - 0.1, right.high)) == 0
    # a number of a table needs no interval if there is only one such row
    assert row_count(claim("a[x]", 0.26), Measurement("a[x]", 0.25)) == 1
    twice = pd.concat([rows, rows[rows["measure"] == "share"]], ignore_index=True)
    table = with_paper(twice, [claim("a[x]", 0.26)], {"a[x]": Measurement("a[x]", 0.25)}, EXHIBIT)
    assert "paper" not in table


def test_a_table_has_mean_interval_and_paper_in_readable_units(data):
    one = claim(f"{EXHIBIT}.service", 5.28, "ms")
    found = {one.id: measured(one.id, data.service_time, 1e-3, scheme="D-SPTF", read_share=0.6)}
    rows = with_paper(summary(data), [one], found, EXHIBIT)
    page = text(folded(rows, ["service_time"], [one], found, EXHIBIT, "table1.summary.csv"))
    assert "Scheme|Fraction of reads|service time, ms|95% interval|paper|" in page
    mean = float(data.service_time.sel(scheme="D-SPTF", read_share=0.6).mean()) * 1e3
    assert re.search(rf"D-SPTF\|0\.6\|{mean:.3f}\d*\|5\.\d+ to 5\.\d+\|5\.28 ms\|", page)
    assert "4 more measures and all rows, in SI units: table1.summary.csv" in page
    assert "besides" not in page


def test_claims_without_a_row_are_listed_below_with_their_measurements(data):
    claims = [claim(f"{EXHIBIT}.gain", 1.4, kind="ratio"), claim(f"{EXHIBIT}.order", None, kind="order")]
    found = {claims[0].id: Measurement(claims[0].id, 1.3711, 1.3645, 1.3777)}
    page = text(folded(summary(data), (), claims, found, EXHIBIT, "x"))
    assert f"{EXHIBIT}.gain: in words|1.4|1.37|1.36 to 1.38|" in page
    assert "order" not in page
    assert f"{EXHIBIT}.gain: in words|1.4|||" in text(folded(summary(data), (), claims, {}, EXHIBIT, "x"))


def test_a_long_table_is_shortened_with_a_note_and_keeps_the_papers_points():
    times = np.arange(1.0, 501.0)
    values = np.sqrt(times)
    data = xr.Dataset({"held": ("time", values)}, coords={"time": times})
    one = claim(f"{EXHIBIT}.at[2]", 1.5)
    found = {one.id: Measurement(one.id, float(values[1]))}
    page = text(folded(with_paper(summary(data), [one], found, EXHIBIT), (), [one], found, EXHIBIT, "x"))
    lines = [line for line in page.split("||") if line.count("|") == 2]
    assert 20 <= len(lines) <= MOST_ROWS + 2
    assert "Shown: 32 of 500 values of time." in page
    assert "2|1.414|1.5|" in page


def test_a_table_shows_the_exhibits_special_measures_first(data):
    assert measures(summary(data)) == ["throughput", "service_time", "share", "bottleneck"]
    own = data.assign(missed=data.throughput * 2)
    assert measures(summary(own)) == ["throughput", "service_time", "share", "missed"]
    assert measures(summary(own), ["share"]) == ["share"]
    rows = summary(own)
    rows.loc[rows["measure"] == "brick_throughput", "paper"] = "1"
    assert "brick_throughput" in measures(rows)


@pytest.mark.parametrize(
    ("unit", "values", "name"),
    [
        ("s", [2e-5, 3e-5], "us"),
        ("s", [0.0, 0.005, 0.006, 1.2], "ms"),
        ("s", [30.0, 60.0], "s"),
        ("s", [54000.0, 86400.0], "hours"),
        ("B", [4096, 32768], "KB"),
        ("B", [9.1e9, 4.0e11], "GB"),
        ("B/s", [2e6, 1.2e7], "MB/s"),
        ("1/s", [3.0], "1/s"),
        ("sectors", [3.0], "sectors"),
        ("s", [], "s"),
    ],
)
def test_units_make_numbers_short(unit, values, name):
    assert readable(unit, values).name == name
