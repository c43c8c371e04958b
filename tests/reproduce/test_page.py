"""Test the files of a page: each is complete or absent."""

import re

import altair as alt
import numpy as np
import pandas as pd
import pytest
import vl_convert
import xarray as xr

from storagekit.core.atomic_files import replacing
from storagekit.core.errors import InputError
from storagekit.reproduce.files import as_svg
from storagekit.reproduce.page import MOST_CSV, Page, load_measurements, score_paper
from storagekit.reproduce.scorecard import Measurement


@pytest.fixture
def dataset():
    return xr.Dataset(
        {"throughput": (("scheme", "replicas"), np.arange(4.0).reshape(2, 2), {"units": "IO/s"})},
        coords={"scheme": ["dsptf", "hashing"], "replicas": [2, 8]},
        attrs={"drive": "atlas10k", "tuned": False, "parameters": {"reads": 0.9}, "source": None},
    )


@pytest.fixture
def chart(dataset):
    frame = dataset.to_dataframe().reset_index()
    return alt.Chart(frame).mark_point().encode(x="replicas:Q", y="throughput:Q", color="scheme:N")


@pytest.fixture
def page(tmp_path):
    return Page(tmp_path, "dsptf", "quick", 3)


def test_an_exhibit_has_four_files_with_the_same_content(page, tmp_path, dataset, chart):
    page.show("fig5", dataset, chart)
    folder = tmp_path / "dsptf"
    names = sorted(path.name for path in folder.iterdir())
    assert names == ["fig5.csv", "fig5.nc", "fig5.summary.csv", "fig5.svg"]
    with xr.open_dataset(folder / "fig5.nc", engine="h5netcdf") as stored:
        xr.testing.assert_equal(stored, dataset)
        assert stored["throughput"].attrs["units"] == "IO/s"
        assert stored.attrs["drive"] == "atlas10k"
        assert stored.attrs["tuned"] == "false"
        assert stored.attrs["parameters"] == '{"reads": 0.9}'
        assert (stored.attrs["exhibit"], stored.attrs["seed"]) == ("dsptf.fig5", 3)
    table = pd.read_csv(folder / "fig5.csv", comment="#")
    assert list(table.columns) == ["scheme", "replicas", "throughput"]
    assert len(table) == 4
    assert (folder / "fig5.svg").read_text().startswith("<svg")


def test_variables_of_different_axes_have_separate_rows(page, tmp_path, chart):
    """There is not one row for each combination of their axes, of which there are 10^6 here."""
    apart = xr.Dataset({name: (f"of_{name}", np.arange(100.0)) for name in ("one", "other", "third")} | {"alone": 4.0})
    page.show("fig5", apart, chart)
    table = pd.read_csv(tmp_path / "dsptf" / "fig5.csv", comment="#")
    assert len(table) == 301 and table["alone"].dropna().tolist() == [4.0]
    for name in ("one", "other", "third"):
        np.testing.assert_array_equal(table.dropna(subset=name)[name], np.arange(100.0))
        np.testing.assert_array_equal(table.dropna(subset=name)[f"of_{name}"], np.arange(100))


def test_a_large_table_is_only_written_as_packed_netcdf(page, tmp_path, chart):
    """The limit is in bytes: a table of few rows with long numbers may exceed it."""
    values = np.random.default_rng(1).normal(size=(40, 2500)).round(2)
    large = xr.Dataset({"response": (("seed", "point"), values)}, coords={"seed": range(40), "point": range(2500)})
    folder = tmp_path / "dsptf"
    page.show("fig5", large.isel(point=slice(0, 100)), chart)
    assert {path.name for path in folder.iterdir()} == {"fig5.csv", "fig5.nc", "fig5.summary.csv", "fig5.svg"}
    page.show("fig5", large, chart)
    assert {path.name for path in folder.iterdir()} == {"fig5.nc", "fig5.summary.csv", "fig5.svg"}
    assert all(path.stat().st_size < MOST_CSV for path in folder.glob("*.csv"))
    assert (folder / "fig5.nc").stat().st_size < 0.8 * values.nbytes
    with xr.open_dataset(folder / "fig5.nc", engine="h5netcdf") as stored:
        xr.testing.assert_identical(stored.response.drop_attrs(), large.response)


def test_a_dataset_of_single_numbers_is_one_line_of_csv(page, tmp_path, chart):
    page.show("table1", xr.Dataset({"gain": 1.4, "depth": 9}), chart)
    lines = (tmp_path / "dsptf" / "table1.csv").read_text().splitlines(keepends=True)
    assert "".join(line for line in lines if not line.startswith("#")) == "gain,depth\n1.4,9.0\n"


def test_the_same_exhibit_twice_has_the_same_bytes(page, tmp_path, dataset, chart):
    page.show("fig5", dataset, chart)
    before = {path.name: path.read_bytes() for path in (tmp_path / "dsptf").iterdir()}
    page.show("fig5", dataset, chart)
    assert before == {path.name: path.read_bytes() for path in (tmp_path / "dsptf").iterdir()}


@pytest.mark.parametrize("name", ["../fig5", "", "a/b", ".hidden"])
def test_an_exhibits_name_is_a_file_name(page, dataset, chart, name):
    with pytest.raises(InputError, match="exhibit name"):
        page.show(name, dataset, chart)


def test_claims_add_up_over_calls_and_the_last_value_counts(page, tmp_path):
    page.claim([Measurement("dsptf.table1.gain", 1.6)])
    table = page.claim([Measurement("dsptf.fig5.growing", True), Measurement("dsptf.table1.gain", 1.4)])
    assert "dsptf.fig5.growing" in table.data
    assert "dsptf.fig9.falls" not in table.data
    assert [m.id for m in load_measurements(tmp_path, "dsptf")] == [
        "dsptf.table1.gain",
        "dsptf.fig5.growing",
    ]
    rows = {row.id: row.verdict for row in score_paper(tmp_path, "dsptf")}
    assert rows["dsptf.table1.gain"] == "match"
    assert rows["dsptf.fig5.growing"] == "holds"
    assert rows["dsptf.fig9.falls"] == "not-run"


def test_unknown_paper_profile_or_claim_is_an_input_error(page, tmp_path):
    with pytest.raises(InputError, match="'nope'"):
        Page(tmp_path, "nope", "quick", 0)
    with pytest.raises(InputError, match="'slow'"):
        Page(tmp_path, "dsptf", "slow", 0)
    with pytest.raises(InputError, match="no such claim"):
        page.claim([Measurement("dsptf.table6.conflicts[7]", 0.1)])
    assert not (tmp_path / "dsptf").exists()


def test_damaged_measurements_are_an_input_error(page, tmp_path):
    (tmp_path / "dsptf").mkdir()
    (tmp_path / "dsptf" / "measurements.json").write_text('[{"id": 1')
    with pytest.raises(InputError, match=r"measurements\.json.*storagekit reproduce"):
        load_measurements(tmp_path, "dsptf")


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path):
    path = tmp_path / "deep" / "a.txt"
    with replacing(path) as temporary:
        temporary.write_text("one")
        assert not path.exists()
    with pytest.raises(ZeroDivisionError), replacing(path) as temporary:
        temporary.write_text("half of tw")
        raise ZeroDivisionError
    assert path.read_text() == "one"
    assert list(path.parent.iterdir()) == [path]


def test_a_chart_has_space_at_its_right_edge_for_wider_fonts():
    chart = alt.Chart(pd.DataFrame({"x": [1, 2]})).mark_line().encode(x="x:Q", y="x:Q")
    drawn = vl_convert.vegalite_to_svg(chart.to_dict())
    svg = as_svg(chart)
    width, wider = (float(re.search(r'width="([\d.]+)"', text)[1]) for text in (drawn, svg))
    assert wider == width + 48
    assert f'viewBox="0 0 {wider:g} ' in svg and f'<rect width="{wider:g}" ' in svg
