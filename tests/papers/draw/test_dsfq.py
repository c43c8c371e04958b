"""Test the charts of DSFQ as data: the finding is above them, and the paper's numbers are marked in them."""

import numpy as np
import pytest
import xarray as xr
from helpers import assert_states_result, heading, parts, rows, said_by_the_paper

from storagekit.papers import dsfq
from storagekit.papers.dsfq import draw
from storagekit.reproduce.claims import load_claims
from storagekit.simulation import interval

SEEDS, STREAMS, BRICKS = 3, ["f", "g"], 2
ON_B = [0, 10, 30]
PRINTED, REPAIRED = "theorem 4 as printed", "theorem 4 as corrected"


@pytest.fixture(scope="module")
def paper() -> dict[str, float]:
    claims = load_claims("dsfq")
    return {claim.id: float(claim.expected) for claim in claims if isinstance(claim.expected, int | float)}


def made(least: float, most: float, **axes) -> xr.DataArray:
    """Return rising numbers over the axes, slightly different by seed; an axis without labels is a number."""
    sizes = {name: len(values) if isinstance(values, list) else values for name, values in axes.items()}
    means = np.linspace(least, most, int(np.prod(list(sizes.values())))).reshape(*sizes.values())
    labels = {name: values for name, values in axes.items() if isinstance(values, list)}
    return xr.DataArray(means[..., None] * (1 + 0.01 * np.arange(SEEDS)), dims=[*axes, "seed"], coords=labels)


def shared(**axes) -> xr.Dataset:
    """Return data of figures 9 to 12: each stream's service on each brick, and on both."""
    service = made(1e6, 4e6, **axes, stream=STREAMS, brick=BRICKS)
    return interval(xr.Dataset({"service": service, "total": service.sum("brick")}))


def one_brick() -> xr.Dataset:
    rates = made(1e6, 3e6, threads=[0, 10, 20], depth=[dsfq.DEPTH], stream=STREAMS)
    return interval(xr.Dataset({"throughput": rates, "response": rates * 1e-8}))


def turns() -> xr.Dataset:
    total = made(1e6, 5e6, threads=[20, 30], time=(np.arange(80) / 4).tolist(), stream=["f", "g", "h"])
    return total.to_dataset(name="total")


def waves() -> xr.Dataset:
    """Streams f and g get equal service of the one brick; without scheduling f gets half as much again."""
    policies, window = ["none", "total"], np.arange(20.0).tolist()
    service = xr.ones_like(made(1, 1, policy=policies, window=window, stream=STREAMS, brick=1)) * 4e6
    service.loc[{"policy": "none", "stream": "f"}] = 6e6
    threads = made(15, 35, window=window, stream=STREAMS, brick=1).isel(seed=0, drop=True)
    return xr.Dataset({"service": service, "threads": threads})


def attacked() -> xr.Dataset:
    """The bound of theorem 4 as printed is exceeded by a third; the corrected bound holds."""
    names = ["theorem1", "theorem2.printed", "theorem2.repaired", "theorem4.printed", "theorem4.repaired"]
    every = [*names, "theorem1.unscheduled", "theorem2.single"]
    tightest = np.array([0.8, 0.7, 0.6, 1.33, 0.5, 9.0, 5.0])
    return xr.Dataset(
        {
            "share": (("bound", "setting"), tightest[:, None] * [0.001, 0.1, 1.0]),
            "tightest": ("bound", tightest),
            "climbed": (("target", "round"), tightest[:5, None] * [0.5, 1.0]),
        },
        coords={"bound": every, "target": names, "round": [0, 1]},
        attrs={"settings": 3},
    )


def broken() -> xr.Dataset:
    served = np.zeros((3, 2, 2))
    served[1:, 0, 1], served[2, 1, 0] = (100, 300), 2
    return xr.Dataset(
        {"served": (("time", "stream", "brick"), served), "unfairness": ("time", [0, 100, 298])},
        coords={"time": [0.001, 0.002, 0.003], "stream": STREAMS, "brick": ["A", "B"]},
        attrs={"bound": 200, "repaired": 900, "unfair": 298, "requests": 5, "coordinators": 3, "depth": 1},
    )


CHARTS = {
    "example_delays": lambda paper: draw.example_delays(dsfq.example_delays(), paper),
    "fig8": lambda paper: draw.fig8(one_brick(), dsfq.DEPTH, paper),
    "fig9": lambda paper: draw.fig9(shared(panel=["a", "b"], threads=ON_B), paper),
    "fig10": lambda paper: draw.fig10(shared(threads=[3, 9, 30]), paper),
    "fig11": lambda paper: draw.fig11(shared(threads=ON_B, coordinators=[1, 2, 4])),
    "fig12": lambda paper: draw.fig12(shared(threads=ON_B, coordinators=[1, 2]), dsfq.MINIMUM, paper),
    "fig13": lambda paper: draw.fig13(interval(dsfq.by_second(turns())), paper),
    "fig14": lambda paper: draw.fig14(waves(), interval(dsfq.smoothed(waves()))),
    "search": lambda paper: draw.search(attacked()),
    "counterexample": lambda paper: draw.counterexample(broken()),
}


@pytest.mark.parametrize("name", CHARTS)
def test_a_chart_states_its_finding(name, paper):
    assert_states_result(CHARTS[name](paper).to_dict())


def test_every_number_of_the_paper_is_in_its_chart(paper):
    found = {f"dsfq.{name}": said_by_the_paper(chart(paper).to_dict()) for name, chart in CHARTS.items()}
    wanted = [claim for claim in load_claims("dsfq") if claim.id in paper and claim.exhibit in found]
    assert len(wanted) >= 16 and not [claim.id for claim in wanted if float(claim.expected) not in found[claim.exhibit]]


def test_the_text_gives_the_distance_of_totals_in_the_data():
    """With half as much again, each stream is 2 of 10 from the mean: a distance of two fifths."""
    text = heading(draw.fig14(waves(), interval(dsfq.smoothed(waves()))).to_dict())
    assert "40% with no scheduling, 0% with total" in text


def test_bands_hold_the_means_second_by_second():
    spec = draw.fig13(interval(dsfq.by_second(turns())), {"dsfq.fig13.follows": 1.0}).to_dict()
    drawn = [row for row in rows(spec) if "mean" in row]
    assert len(drawn) == 2 * 80 * 3 and all(row["low"] < row["mean"] < row["high"] for row in drawn)
    assert {"type": "area", "opacity": 0.2, "clip": True} in list(parts(spec, "mark"))


def test_our_delays_that_differ_from_the_papers_are_counted(paper):
    data = dsfq.example_delays()
    data.delay[1, 4] += 1
    assert heading(draw.example_delays(data, paper).to_dict()).count("5 of 6 simulated delays") == 1


def test_the_mark_of_figure_12_is_at_the_given_service_of_g_on_b(paper):
    data = shared(threads=ON_B, coordinators=[1])
    on_b = data.service.sel(statistic="mean", stream="g", coordinators=1).isel(brick=1) / 1e6
    (at,) = {row["at"] for row in rows(draw.fig12(data, dsfq.MINIMUM, paper).to_dict()) if "at" in row}
    assert float(np.interp(at, on_b.threads, on_b)) == pytest.approx(min(4.0, float(on_b[-1])))


def test_exceeded_bounds_are_named_and_both_bounds_are_drawn():
    assert f"The search breaks these bounds: {PRINTED}. The search uses 3 random settings" in heading(
        draw.search(attacked()).to_dict()
    )
    assert REPAIRED not in heading(draw.search(attacked()).to_dict())
    spec = draw.counterexample(broken()).to_dict()
    assert [row["level"] for row in rows(spec) if "level" in row] == [200]
    assert "differs by 298 sectors. The printed bound is 200, and our corrected bound is 900." in heading(spec)
    assert {row["where"] for row in rows(spec) if "where" in row} == {"f on B", "g on A"}
