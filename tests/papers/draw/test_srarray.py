"""Test the charts of SR-Array as data: their text, and completeness of the measurements."""

import numpy as np
import pytest
import xarray as xr
from helpers import heading, parts, rows

from storagekit.papers.srarray import draw
from storagekit.reproduce.claims import numbers
from storagekit.simulation import interval

SEEDS = 3
SCHEMES = ["SR-Array", "D-way mirror", "RAID-10", "Striping", "Rule", "Model"]


@pytest.fixture(scope="module")
def paper():
    return numbers("srarray")


def made(least: float, most: float, **axes) -> xr.DataArray:
    """Return rising numbers over the axes, slightly different by seed."""
    shape = [len(values) for values in axes.values()]
    means = np.linspace(least, most, int(np.prod(shape))).reshape(shape)
    seeds = 1 + 0.01 * np.arange(SEEDS)
    return xr.DataArray(means[..., None] * seeds, dims=[*axes, "seed"], coords=axes)


def summary(**arrays: xr.DataArray) -> xr.Dataset:
    return interval(xr.Dataset({name.replace("_", " "): array for name, array in arrays.items()}))


def values(spec: dict, field: str) -> set:
    return {row[field] for row in rows(spec) if row.get(field) is not None}


def titles(spec: dict) -> set[str]:
    return {text for text in parts(spec, "title") if isinstance(text, str)}


def headings(spec: dict) -> list[str]:
    """Return the headings of the panels, in order."""
    own = [node["title"]["text"] for node in parts(spec, "hconcat") for node in node if "title" in node]
    return own or [node["title"]["text"] for node in spec.get("vconcat", [])]


def schemes(*disks: int) -> xr.DataArray:
    return made(4e-3, 9e-3, scheme=SCHEMES, disks=list(disks))


def aspects(*disks: int) -> xr.DataArray:
    found = made(3e-3, 8e-3, disks=list(disks), replicas=range(1, 7))
    return found.where(found.disks % found.replicas == 0)


def test_figure_5_draws_throughput_differences_in_percent_and_the_papers_bound(paper):
    """All our values are 101, the mean of three seeds; where another program has half of this, the difference is 100%."""
    array = made(100, 100, read_share=[1.0, 0.5], queue=[1, 4])
    disk = made(100, 100, policy=["FCFS", "SPTF"], depth=[1, 4])
    data = interval(xr.Dataset({"array": array, "disk": disk})).assign(
        array_witness=(("read_share", "queue"), [[101.0, 101.0], [101.0, 50.5]]),
        disk_witness=(("policy", "depth"), [[100.0, 101.0], [np.nan, 50.5]]),
    )
    spec = draw.fig5(data, paper).to_dict()
    assert {
        "Throughput (IO/s)",
        "This simulator minus the program's (%)",
        "This simulator minus DiskSim's (%)",
    } <= titles(spec)
    lines = [row for row in rows(spec) if "queue" in row and "basis" in row]
    of_array = {(row["read_share"], row["queue"], row["basis"], row["mean"]) for row in lines}
    points = [("100%", 1), ("100%", 4), ("50%", 1), ("50%", 4)]
    theirs, apart = (101.0, 101.0, 101.0, 50.5), (0.0, 0.0, 0.0, 100.0)
    assert of_array == {
        *((*point, "this simulator", 101.0) for point in points),
        *((*point, "scalar program", rate) for point, rate in zip(points, theirs, strict=True)),
        *((*point, "this simulator", error) for point, error in zip(points, apart, strict=True)),
    }
    of_disk = {(row["policy"], row["depth"]): row["mean"] for row in rows(spec) if "policy" in row}
    assert of_disk == pytest.approx({("FCFS", 1): 1.0, ("FCFS", 4): 0.0, ("SPTF", 4): 100.0})
    assert {"low": -3.0, "high": 3.0} in rows(spec)


def test_table_2_has_the_papers_share_at_two_minutes(paper):
    data = xr.Dataset(
        {
            "within": ("interval", [0.99, 0.97, 0.9]),
            "misses": ("slack", [0.02, 0.001]),
            **{name: ("slack", [1e-6, 4e-5]) for name in ("mean_error", "sd_error", "demerit", "demerit_share")},
            "kept_slack": 0.8,
            "access": 3.5e-3,
        },
        coords={"interval": [60.0, 120.0, 240.0], "slack": [0.0, 1.0]},
    )
    spec = draw.table2(data, paper).to_dict()
    assert {"Time between reads of the reference sector (s)", "Slack (sectors)"} <= titles(spec)
    assert {"interval": 120, "paper": 98.0, "series": "paper"} in rows(spec)
    assert [row["value"] for row in rows(spec) if "slack" in row] == pytest.approx([2.0, 0.1])
    # at the stored slack, the nearest whole one
    cells = {row["figure"]: (row["ours"], row["paper"]) for row in rows(spec) if "ours" in row}
    assert cells["Misses (%)"] == ("0.10", "0.22") and cells["Standard deviation of errors (µs)"] == ("40", "31")
    assert cells["Access (µs)"] == ("3,500", "2,746")


def test_table_3_leaves_out_figures_published_as_zero():
    data = xr.Dataset(
        {
            "target": (("workload", "quantity"), [[2.0, 0.5], [4.0, 0.0]]),
            "measured": (("workload", "quantity"), [[2.2, 0.5], [3.0, 0.0]]),
        },
        coords={"workload": ["Cello base", "TPC-C"], "quantity": ["rate", "read_share"]},
    )
    spec = draw.table3(data).to_dict()
    errors = {
        (row["workload"], row["words"]): row["error"]
        for row in rows(spec)
        if row.get("error") is not None and "words" in row
    }
    assert errors == pytest.approx(
        {("Cello base", "Rate (IO/s)"): 10, ("Cello base", "Reads (%)"): 0, ("TPC-C", "Rate (IO/s)"): -25}
    )
    cells = {(row["workload"], row["words"]): (row["ours"], row["paper"]) for row in rows(spec) if "ours" in row}
    assert cells["Cello base", "Rate (IO/s)"] == ("2.20", "2.00") and cells["TPC-C", "Reads (%)"] == ("0.0", "0.0")
    assert "25.0%" in heading(spec)


@pytest.mark.parametrize(("off", "most"), [(1.001, 5), (1.2, 22)])
def test_small_errors_of_table_3_look_small(off, most):
    """The axis extends equally to both sides, and at least to 5%."""
    target = xr.DataArray([[2.0]], coords={"workload": ["TPC-C"], "quantity": ["rate"]}, dims=["workload", "quantity"])
    spec = draw.table3(xr.Dataset({"target": target, "measured": off * target})).to_dict()
    axis = next(x for x in parts(spec, "x") if isinstance(x, dict) and x.get("field") == "error")
    assert axis["scale"]["domain"] == pytest.approx([-most, most])


def test_figure_6_marks_the_papers_ratios_and_dashes_the_model(paper):
    response = summary(Cello_base=schemes(1, 6, 12), Cello_disk_6=schemes(1, 6, 12))
    spec = draw.fig6(response, paper).to_dict()
    assert headings(spec) == ["Cello base", "Cello disk 6"]
    assert "Response time (ms)" in titles(spec)
    assert values(spec, "scheme") == {"SR-Array", "D-way mirror", "RAID-10", "Striping"}
    assert {row["scheme"] for row in rows(spec) if row.get("basis") == "equation 4, layout of equation 5"} == {
        "SR-Array"
    }
    ours = 1e3 * float(response["Cello base"].sel(scheme="SR-Array", disks=6, statistic="mean"))
    marked = {(row["words"], row["disks"]): row["paper"] / ours for row in rows(spec) if "words" in row}
    assert marked == pytest.approx({("RAID-10", 6): 1.23, ("Striping", 6): 1.42, ("one disk", 1): 1.94})


def test_a_scheme_that_cannot_use_this_number_of_disks_has_no_point(paper):
    response = schemes(1, 6, 12)
    response.loc[{"scheme": "RAID-10", "disks": 1}] = np.nan
    spec = draw.fig6(summary(Cello_base=response), paper).to_dict()
    raid = {row["disks"] for row in rows(spec) if row.get("scheme") == "RAID-10"}
    assert raid == {6, 12}


def test_figure_7_has_a_point_for_every_shape_and_a_line_for_the_rules(paper):
    response = summary(Cello_base=schemes(6, 9))
    shown = summary(Cello_base=aspects(6, 9))
    spec = draw.fig7(shown, response, paper).to_dict()
    shapes = {(row["disks"], row["replicas"]) for row in rows(spec) if "replicas" in row}
    assert shapes == {(6, "1"), (6, "2"), (6, "3"), (6, "6"), (9, "1"), (9, "3")}
    assert "Replicas per disk" in titles(spec)
    # the line shows the result of equation 5, not the best layout
    line = {row["disks"]: row["mean"] for row in rows(spec) if "replicas" not in row and "mean" in row}
    given = response["Cello base"].sel(scheme="Rule", statistic="mean")
    assert line == {disks: pytest.approx(1e3 * float(given.sel(disks=disks))) for disks in (6, 9)}
    # a ring marks our point with the paper's three replicas
    rings = {row["disks"]: row["paper"] for row in rows(spec) if "paper" in row}
    three = shown["Cello base"].sel(replicas=3, statistic="mean")
    assert rings == {disks: pytest.approx(1e3 * float(three.sel(disks=disks))) for disks in (6, 9)}


def test_figure_8_has_two_panels_with_separate_legends(paper):
    response, shapes = (interval(one.to_dataset(name="x")).x for one in (schemes(12, 36), aspects(12, 36)))
    spec = draw.fig8(response, shapes, paper).to_dict()
    assert headings(spec) == ["Schemes", "Layouts of the SR-Array"]
    assert spec["resolve"]["scale"]["color"] == "independent"
    assert values(spec, "scheme") == {"SR-Array", "RAID-10", "Striping"}
    assert {row["disks"] for row in rows(spec) if "words" in row} == {36}
    # their names are to the right of the last disks, where no line ends
    disks = next(x for x in parts(spec["hconcat"][0], "x") if isinstance(x, dict) and x.get("field") == "disks")
    assert disks["scale"]["domain"][-1] > 40


@pytest.fixture
def rates() -> xr.Dataset:
    cello = made(5e-3, 40e-3, scale=[1.0, 8.0, 64.0], layout=["2x3x1", "3x1x2", "6x1x1"], scheduler=["SATF", "LOOK"])
    tpcc = made(
        5e-3, 40e-3, scale=[1.0, 4.0], layout=["9x4x1", "18x2x1", "36x1x1", "18x1x2"], scheduler=["SATF", "LOOK"]
    )
    cello = cello.where((cello.layout != "3x1x2") | (cello.scheduler == "SATF"))
    tpcc = tpcc.where(tpcc.layout.isin(["9x4x1", "36x1x1"]) | (tpcc.scheduler == "SATF"))
    return interval(xr.merge([cello.rename("Cello base"), tpcc.rename("TPC-C")], join="outer"))


def test_figure_9_names_the_scheduler_by_the_layout_and_draws_the_level(rates, paper):
    spec = draw.fig9(rates, paper).to_dict()
    assert values(spec, "series") - {"paper"} == {
        "2x3x1, RSATF", "2x3x1, RLOOK", "6x1x1, SATF", "6x1x1, LOOK",
        "9x4x1, RSATF", "9x4x1, RLOOK", "36x1x1, SATF", "36x1x1, LOOK",
    }  # fmt: skip
    assert "Rate (multiple of the trace's rate)" in titles(spec)
    assert {"level": 15.0, "words": "15 ms"} in rows(spec)
    assert [0, 30] in list(parts(spec, "domain"))
    # of the ratios in figure 10, only the ratio of the present layouts
    assert [row["words"] for row in rows(spec) if "paper" in row and "words" in row] == ["6x1x1"]


def test_figure_10_puts_the_papers_rates_on_the_level(rates, paper):
    spec = draw.fig10(rates, paper).to_dict()
    assert headings(spec) == ["Cello base", "TPC-C"]
    marked = {row["words"]: row for row in rows(spec) if "scale" in row and "words" in row}
    assert set(marked) == {"3x1x2", "6x1x1", "18x2x1", "18x1x2"}
    assert {row["paper"] for row in marked.values()} == {15.0}
    assert marked["3x1x2"]["scale"] / marked["6x1x1"]["scale"] == pytest.approx(2.6 / 1.3)


def test_figure_11_has_memory_in_megabytes_and_the_papers_sizes(paper):
    data = xr.Dataset(
        {
            "with_disks": made(5e-3, 9e-3, disks=[1, 2, 4], scale=[1.0, 3.0]),
            "with_memory": made(5e-3, 9e-3, memory=[0, 126e6, 336e6], scale=[1.0, 3.0]),
        },
        attrs={"workload": "Cello base"},
    )
    spec = draw.fig11(interval(data), paper).to_dict()
    assert {"Disks", "Memory added (MB)", "Response time (ms)"} <= titles(spec)
    assert {row["memory"] for row in rows(spec) if "scale" in row and "memory" in row} == {0, 126, 336}
    marked = {row["words"]: row["memory"] for row in rows(spec) if "words" in row}
    assert marked == pytest.approx({"2 disks, rate 1": 125.4, "4 disks, rate 1": 336, "2 disks, rate 3": 420}, abs=0.1)


def test_figure_12_dashes_the_formula_in_the_colour_of_its_scheme():
    rate = made(300, 4000, scheme=["SR-Array", "SR-Array, RLOOK", "RAID-10", "Striping"], disks=[2, 6], queue=[8, 32])
    model = made(250, 2000, disks=[2, 6], queue=[8, 32]).isel(seed=0)
    spec = draw.fig12(interval(rate.to_dataset(name="request_rate")), model).to_dict()
    assert headings(spec) == ["8 outstanding", "32 outstanding"]
    assert "Throughput (IO/s)" in titles(spec)
    assert {row["scheme"] for row in rows(spec) if row.get("basis") == "equation 16"} == {"SR-Array, RLOOK"}
    dashes = [scale for scale in parts(spec, "scale") if scale.get("domain") == ["simulated", "equation 16"]]
    assert all(scale["range"] == [[1, 0], [5, 4]] for scale in dashes)
    assert dashes


def test_figure_13_draws_the_formula_for_rlook_and_once_for_equal_layouts(paper):
    axes = {"layout": ["3x2x1", "6x1x1", "3x1x2"], "queue": [8, 32], "write_share": [0.0, 0.5, 1.0]}
    rate = made(500, 2000, **axes, scheduler=["RSATF", "RLOOK"])
    model = made(500, 2000, **axes).isel(seed=0)
    spec = draw.fig13(interval(rate.to_dataset(name="request_rate")), model, paper).to_dict()
    assert headings(spec) == [f"{name}, {queue} outstanding" for name in ("RSATF", "RLOOK") for queue in (8, 32)]
    assert "Fraction of writes (%)" in titles(spec)
    assert values(spec, "write_share") == {0, 50, 100}
    equation_rows = [row for row in rows(spec) if row.get("basis") == "equation 16"]
    assert {row["layout"] for row in equation_rows} == {"3x2x1", "6x1x1"}
    assert len(equation_rows) == 2 * 3 * 2
    assert {"at": 50.0, "words": "paper: crossing below 50%"} in rows(
        spec["vconcat"][1] | {"datasets": spec["datasets"]}
    )


def test_equation_16_has_a_panel_for_each_share_of_writes_and_a_symmetric_scale():
    error = made(-0.4, 0.1, disks=[2, 4], each=[0.5, 2.0], write_share=[0.0, 0.4])
    spec = draw.equation16(interval(error.to_dataset(name="error")).error, "a drive").to_dict()
    assert headings(spec) == ["0% writes", "40% writes"]
    low, high = next(scale["domain"] for scale in parts(spec, "scale") if scale.get("scheme") == "blueorange")
    assert low == -high == pytest.approx(-40.4)
    assert len(rows(spec)) == 8


def test_the_plans_curve_ends_at_every_question_that_has_a_layout():
    data = xr.Dataset(
        {"shortfall": (("case", "rule", "question"), [[[0.0, 0.02, np.nan], [0.0, 0.04, np.nan]]])},
        coords={"case": ["latency"], "rule": ["plan", "paper"]},
    )
    spec = draw.plan_grid(data).to_dict()
    curve = {(row["rule"], row["shortfall"]): row["share"] for row in rows(spec)}
    assert curve == {("plan", 0): 50, ("plan", 2): 100, ("plan", 10): 100} | {
        ("paper", 0): 50, ("paper", 4): 100, ("paper", 10): 100,
    }  # fmt: skip
    assert {"Shortfall against the best simulated layout (%)", "Questions with at most this shortfall (%)"} <= titles(
        spec
    )


def test_real_traces_have_a_panel_each_and_no_lines_between_layouts():
    response = made(5e-3, 9e-3, trace=["hplajw", "cello2003"], layout=["2x3x1", "6x1x1"], scale=[1.0, 8.0])
    spec = draw.traces(interval(response.to_dataset(name="response")).response).to_dict()
    assert headings(spec) == ["hplajw", "cello2003"]
    assert "line" not in {mark.get("type") for mark in parts(spec, "mark")}
    assert values(spec, "scale") == {"1", "8"}


def test_every_series_has_a_separate_colour(paper):
    spec = draw.fig6(summary(Cello_base=schemes(1, 6)), paper).to_dict()
    scales = [
        scale for scale in parts(spec, "scale") if scale.get("domain", [None])[0] == "SR-Array" and "range" in scale
    ]
    assert scales
    assert all(len(set(scale["range"])) == len(scale["domain"]) == 4 for scale in scales)
