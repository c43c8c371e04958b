"""Charts that answer: redrawn in place by controls, or alive in a page on their own."""

import numpy as np
import pytest
import xarray as xr
from helpers import figures, heading

from storagekit.charts import live, offline
from storagekit.papers.srarray import draw
from storagekit.plan import DriveFigures, Latency, Throughput
from storagekit.plan.sr_array import best_sr_array


@pytest.fixture
def drive() -> DriveFigures:
    return DriveFigures(full_seek=10e-3, revolution=6e-3, overhead=2.7e-3)


@pytest.fixture
def grid() -> xr.Dataset:
    ones = np.ones((2, 2, 2), int)
    axes = ("disks", "read_share", "each")
    variables = {"striping": ones, "replicas": 2 * ones, "mirrors": ones, "throughput": 100.0 * ones}
    return xr.Dataset(
        {name: (axes, values) for name, values in variables.items()},
        coords={"disks": [2, 4], "read_share": [0.5, 1.0], "each": [1.0, 8.0]},
    )


def named(chart) -> list[dict]:
    return next(iter(chart.to_dict()["datasets"].values()))


def test_the_ranking_is_the_answers_with_the_recommended_one_first(drive):
    answer = best_sr_array(drive, 6, read_share=1.0, queue=1.0, locality=4.14, objective=Latency())
    chart = draw.ranking(answer)
    rows = named(chart)
    assert [row["layout"] for row in rows] == [str(one.layout) for one in answer.ranking]
    assert rows[0]["role"] == "recommended"
    assert rows[0]["latency"] == pytest.approx(1e3 * answer.ranking[0].latency)
    spec = chart.to_dict()
    title = spec["title"]["text"]
    assert figures(title) == {6} and "latency" in title
    titles = [panel["layer"][0]["encoding"]["x"]["title"] for panel in spec["hconcat"]]
    assert titles == ["Latency of a request alone (ms)", "Throughput at that queue (IO/s)"]


def test_a_question_without_an_answer_says_why(drive):
    chart = draw.ranking(best_sr_array(drive, 2, read_share=1.0, queue=1.0, data=3.0))
    assert "capacity" in heading(chart.to_dict())


def test_a_control_redraws_the_chart_in_place(drive):
    widgets = pytest.importorskip("ipywidgets")
    controls = {
        "disks": widgets.IntSlider(6, 1, 48),
        "objective": widgets.Dropdown(options={"throughput": Throughput(), "latency": Latency()}),
    }
    asked = []

    def answer(disks: int, objective):
        asked.append((disks, objective.name))
        return best_sr_array(drive, disks, read_share=1.0, queue=1.0, objective=objective)

    box = live(answer, draw.ranking, controls)
    said, view = box.children[1].children
    assert box.children[0].children[:-1] == tuple(controls.values())
    controls["disks"].value = 12
    controls["objective"].value = controls["objective"].options["latency"]
    assert asked == [(6, "throughput"), (12, "throughput"), (12, "latency")]
    title = view.spec["title"]["text"]
    assert figures(title) == {12} and "latency" in title
    assert "12 disks" in said.value


def test_the_map_names_layouts_and_answers_a_click_and_a_choice(grid):
    spec = draw.best_layouts(grid).to_dict()
    rows = next(iter(spec["datasets"].values()))
    assert {row["layout"] for row in rows} == {"1x2x1"}
    assert {row["reads"] for row in rows} == {50, 100}
    names = {param["name"]: param for param in spec["params"]}
    assert names["each"]["bind"]["options"] == [1.0, 8.0]
    assert names["cell"]["select"]["fields"] == ["disks", "reads"]


def test_a_page_that_is_sent_on_has_its_scripts_inside(grid):
    page = str(offline(draw.best_layouts(grid)).data)
    assert page.startswith("<div><iframe srcdoc=")
    assert "src=&quot;http" not in page
    assert len(page) > 500_000
