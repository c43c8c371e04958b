"""Test the charts of Swift as data: panels, completeness of the measurements, and the paper's points; and their images."""

import itertools

import altair as alt
import numpy as np
import pytest
import vl_convert
import xarray as xr
from helpers import assert_states_result, figures, heading, parts, rows, said_by_the_paper

from storagekit.papers import swift
from storagekit.papers.swift.draw import figures as draw
from storagekit.papers.swift.draw import prototype as draw_prototype
from storagekit.papers.swift.draw import sessions as draw_sessions
from storagekit.papers.swift.draw import studies as draw_studies
from storagekit.reproduce.claims import load_claims
from storagekit.simulation import interval

KB, SEEDS = 1024, 3
DISKS, UNITS, LOADS = [4, 8, 16, 32], [4 * KB, 16 * KB, 32 * KB], [0.02, 0.5, 0.9]
DOWN = ["none", "one", "one a group"]


@pytest.fixture(scope="module")
def paper() -> dict[str, float]:
    claims = load_claims("swift")
    return {claim.id: float(claim.expected) for claim in claims if isinstance(claim.expected, int | float)}


def made(least: float, most: float, **axes) -> xr.DataArray:
    """Return rising numbers over the axes, slightly different by seed."""
    shape = [len(values) for values in axes.values()]
    means = np.linspace(least, most, int(np.prod(shape))).reshape(shape)
    return xr.DataArray(means[..., None] * (1 + 0.01 * np.arange(SEEDS)), dims=[*axes, "seed"], coords=axes)


def against_load(**axes) -> tuple[xr.DataArray, xr.Dataset]:
    """Return completion times (s) over `statistic`, and requests a second with bounds that contain the times."""
    completion = made(0.05, 2.0, **axes, load=LOADS)
    mean = completion.mean("seed")
    data = xr.Dataset({"completion": completion, "rate": 5 * mean, "low": 0.9 * mean, "high": 1.5 * mean})
    return interval(data).completion, data


def rate(least: float, most: float, **axes) -> xr.DataArray:
    """Return data rates in bytes a second over `statistic`."""
    return interval(made(least, most, **axes).to_dataset(name="data_rate")).data_rate


def titles(spec: dict) -> set[str]:
    return {text for text in parts(spec, "title") if isinstance(text, str)}


def headings(spec: dict) -> list[str]:
    """Return the headings of the panels, in order."""
    return [panel["title"]["text"] for row in parts(spec, "hconcat") for panel in row]


def colours(spec: dict) -> list[dict[str, str]]:
    """Return the colour of each name, for every colour scale."""
    scales = [shade["scale"] for shade in parts(spec, "color") if isinstance(shade, dict) and "scale" in shade]
    return [dict(zip(scale["domain"], scale["range"], strict=True)) for scale in scales]


def redundancy_rates() -> xr.DataArray:
    found = rate(10e6, 12e6, write_share=[0.0, 0.2, 1.0], groups=[0, 1, 8], down=DOWN)
    return found.where((found.groups > 0) | (found.down == "none"))


def check_rates() -> xr.DataArray:
    return rate(4e6, 12e6, parts=["1990", "today"], instructions=[0.0, 1.0, 8.0])


def modern_rates() -> xr.DataArray:
    return rate(1e9, 6e9, device=["SATA", "NVMe"], link=["25 Gb/s", "100 Gb/s"], unit=UNITS, disks=DISKS)


def devices() -> xr.DataArray:
    return rate(0.1e6, 2.1e6, device=["Fujitsu M2372K", "slower"], disks=[1, 2, *DISKS])


def test_figure_3_has_a_panel_for_each_unit_and_every_completion_time():
    summary, data = against_load(unit=UNITS, disks=DISKS)
    spec = draw.fig3(summary, data).to_dict()
    assert headings(spec) == ["Units of 4 KB", "Units of 16 KB", "Units of 32 KB"]
    assert {"Load (requests/s)", "Time to complete a request (s)", "Disks"} <= titles(spec)
    drawn = rows(spec)
    assert len(drawn) == 3 * 4 * 3
    assert sorted(one["mean"] for one in drawn) == pytest.approx(sorted(summary.sel(statistic="mean").values.ravel()))
    for one in drawn:
        # as in the made-up data: bounds and rate belong to their point
        assert [one["rate"], one["least"], one["most"]] == pytest.approx(
            [5 * one["mean"], 0.9 * one["mean"], 1.5 * one["mean"]]
        )
        assert one["low"] < one["mean"] < one["high"]
    assert all(list(scale) == ["4", "8", "16", "32"] for scale in colours(spec))
    assert {scale["type"] for scale in parts(spec, "scale") if "type" in scale} == {"log"}


def test_figure_4_is_one_panel_with_colours_as_in_figure_3():
    spec = draw.fig4(*against_load(disks=[8, 32])).to_dict()
    assert "hconcat" not in spec and len(rows(spec)) == 2 * 3
    assert "128 KB" in heading(spec) and "1.5 MB/s" in heading(spec)
    others = colours(draw.fig3(*against_load(unit=UNITS, disks=DISKS)).to_dict())[0]
    assert colours(spec)[0] == {name: others[name] for name in ("8", "32")}


def test_figure_5_has_the_papers_2_at_32_disks(paper):
    summary = devices()
    spec = draw.fig5(summary, paper).to_dict()
    assert {"disks": 32, "paper": 2.0, "series": "paper"} in rows(spec)
    assert {"Disks", "Data-rate (MB/s)", "Disk"} <= titles(spec)
    drawn_means = {(one["device"], one["disks"]): one["mean"] for one in rows(spec) if "device" in one}
    assert len(drawn_means) == 2 * 6
    assert drawn_means["slower", 32] == pytest.approx(1e-6 * float(summary.sel(device="slower", disks=32)[0]))


def test_figure_6_has_the_papers_12_and_names_units(paper):
    spec = draw.fig6(rate(1e6, 12e6, unit=UNITS, disks=DISKS), paper).to_dict()
    assert {"disks": 32, "paper": 12.0, "series": "paper"} in rows(spec)
    assert {one["unit"] for one in rows(spec) if "unit" in one} == {"4 KB", "16 KB", "32 KB"}
    # the largest unit, with the uppermost line, is first in the legend
    assert next(list(scale) for scale in colours(spec) if len(scale) == 3) == ["32 KB", "16 KB", "4 KB"]
    assert "Striping unit" in titles(spec)


def test_redundancy_has_a_panel_for_each_share_and_no_point_without_redundancy():
    spec = draw_studies.redundancy(redundancy_rates()).to_dict()
    assert headings(spec) == ["0% writes", "20% writes", "100% writes"]
    drawn = {(one["groups"], one["down"]) for one in rows(spec)}
    assert drawn == {(0, "none"), *itertools.product((1, 8), DOWN)}
    values = redundancy_rates().sel(statistic="mean").values.ravel()
    assert {one["mean"] for one in rows(spec)} == {1e-6 * value for value in values if not np.isnan(value)}
    least = 1e-6 * float(redundancy_rates().min())
    ends = {tuple(scale["domain"]) for scale in parts(spec, "scale") if isinstance(scale.get("domain", [""])[0], float)}
    # one scale for all panels, which does not start at 0 and is labelled accordingly
    ((begin, _),) = ends
    assert 0 < begin < least and f"Data-rate (MB/s), axis starts at {begin:g}" in titles(spec)
    # the cost of 8 groups for reads and writes, with all agents up and with one agent of each group down
    rates = redundancy_rates().sel(statistic="mean")
    lost = [float(1 - rates.sel(write_share=share, groups=8, down=down) / rates.sel(write_share=share, groups=0, down="none"))
            for share in (0.0, 1.0) for down in ("none", "one a group")]  # fmt: skip
    assert {abs(round(100 * one, 1)) for one in lost} <= figures(heading(spec))


def test_check_data_is_drawn_as_a_share_of_the_rate_with_free_check_data():
    summary = check_rates()
    spec = draw_studies.check_data(summary).to_dict()
    means = {(one["parts"], one["instructions"]): one["mean"] for one in rows(spec)}
    assert len(means) == 2 * 3
    assert means["1990", 0] == pytest.approx(100) and means["today", 0] == pytest.approx(100)
    own = summary.sel(parts="today", statistic="mean")
    assert means["today", 8] == pytest.approx(100 * float(own.sel(instructions=8.0) / own.sel(instructions=0.0)))


def test_todays_parts_have_a_panel_for_each_device_and_link():
    spec = draw_studies.modern(modern_rates()).to_dict()
    assert headings(spec) == ["SATA, 25 Gb/s", "SATA, 100 Gb/s", "NVMe, 25 Gb/s", "NVMe, 100 Gb/s"]
    drawn = {one["mean"] for one in rows(spec)}
    assert sorted(drawn) == pytest.approx(sorted(1e-9 * modern_rates().sel(statistic="mean").values.ravel()))
    assert {"Data-rate (GB/s)", "Striping unit"} <= titles(spec)


def mediator() -> tuple[xr.Dataset, xr.Dataset]:
    """Return data of `choices` and of `allocation`, over `statistic`."""
    chosen = xr.Dataset({"agents": ("rate", [1.0, 3.0]), "unit": ("rate", [2.0**20, 2.0**18])}, {"rate": [1e5, 2e7]})
    axes = {"policy": ["few", "most"], "offered": [5e6, 2e7], "kind": ["audio", "video"]}
    refused = made(0.0, 1.0, **axes)
    shares = xr.Dataset({"refused_kind": refused, "carried": 1e7 * (1 - refused.mean("kind"))})
    return chosen, interval(shares)


CHARTS = {
    "fig3": lambda paper: draw.fig3(*with_busy_disks(), paper),
    "fig4": lambda paper: draw.fig4(*against_load(disks=DISKS)),
    "fig5": lambda paper: draw.fig5(devices(), paper),
    "fig6": lambda paper: draw.fig6(rate(1e6, 12e6, unit=UNITS, disks=DISKS), paper),
    "tables": lambda paper: draw_prototype.tables(swift.checked_tables(), swift.predictions(), paper),
    "reads": lambda paper: draw_prototype.reads(simulated_reads(), swift.checked_tables()),
    "intervals": lambda paper: draw_prototype.intervals(swift.checked_tables()),
    "choices": lambda paper: draw_sessions.choices(mediator()[0]),
    "allocation": lambda paper: draw_sessions.allocation(mediator()[1]),
    "redundancy": lambda paper: draw_studies.redundancy(redundancy_rates()),
    "check_data": lambda paper: draw_studies.check_data(check_rates()),
    "modern": lambda paper: draw_studies.modern(modern_rates()),
}
# exhibits of claims that a chart has under another name
DRAWN_IN = {f"swift.table{number}": "tables" for number in (1, 2, 3, 4)}
# the ratio of two rates in figures 5 and 6
OF_TWO = {"swift.fig6.linear"}


@pytest.mark.parametrize("name", CHARTS)
def test_a_chart_becomes_an_image_without_a_warning(name, paper, capfd):
    spec = CHARTS[name](paper).to_dict()
    # the version as Altair writes it: v6.4.1 is 6.4
    version = ".".join(alt.SCHEMA_VERSION.split(".")[:2])
    vl_convert.vegalite_to_svg(spec, vl_version=version, show_warnings=True)
    assert capfd.readouterr().err == ""
    assert_states_result(spec)


def test_every_number_of_the_paper_is_in_its_chart(paper):
    charts = {name: said_by_the_paper(CHARTS[name](paper).to_dict()) for name in CHARTS}
    wanted = [claim for claim in load_claims("swift") if claim.id in paper and claim.id not in OF_TWO]
    missing = [
        claim.id
        for claim in wanted
        if (found := charts.get(DRAWN_IN.get(claim.exhibit, claim.exhibit.removeprefix("swift.")))) is not None
        and float(claim.expected) not in found
    ]
    assert len(wanted) > 25 and missing == []


def test_the_subtitle_of_figure_3_agrees_with_its_data(paper):
    """At half of the last load the disks are half busy: in proportion at the paper's 22/s."""
    summary, data = with_busy_disks()
    last = data.sel(unit=UNITS[-1], disks=32).isel(load=-1)
    text = heading(draw.fig3(summary, data, paper).to_dict())
    assert f"{22 * 0.9 / float(last.rate):.0%} busy (paper: 50%)" in text
    assert f"{float(last.rate):.3g} requests/s in units of 32 KB" in text


def with_busy_disks() -> tuple[xr.DataArray, xr.Dataset]:
    """Return data as for figure 3, with the utilization of the disks equal to the load."""
    summary, data = against_load(unit=UNITS, disks=DISKS)
    busy = xr.DataArray(LOADS, dims="load") * xr.ones_like(data.rate)
    return summary, data.assign(utilization=busy.expand_dims(resource=["disk"]))


def simulated_reads() -> xr.Dataset:
    rates = [[888.0, 889.0], [888.0, 1065.0], [888.0, 1052.0], [888.0, 1243.0]]
    coords = {"random": ["nothing", "client", "wire", "both"], "ethernets": [1, 2]}
    return xr.Dataset({"rate": (("random", "ethernets"), rates)}, coords)
