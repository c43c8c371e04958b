"""Test the charts of D-SPTF as data: their text, and completeness of the measurements."""

import itertools

import numpy as np
import pytest
import xarray as xr
from helpers import heading, parts, rows

from storagekit.papers.dsptf import draw
from storagekit.papers.dsptf.draw.palette import COLOUR, colours_of
from storagekit.papers.dsptf.draw.replays import INTERPRETATIONS
from storagekit.reproduce.claims import numbers
from storagekit.simulation import interval

SEEDS = 3
FIVE = ["Central SPTF", "D-SPTF", "Hashing", "LARD", "Weighted hash"]
TRACES = ["sap", "cello2002", "websearch", "financial"]
STAND_INS = xr.DataArray(["stand-in"] * 4, dims="trace", coords={"trace": TRACES})
WINDOWS = ["LARD, 0.025 of the run", "LARD, 0.1 of the run"]


@pytest.fixture(scope="module")
def paper():
    return numbers("dsptf")


def made(least: float, most: float, **axes) -> xr.DataArray:
    """Return rising numbers over the axes, with their interval over slightly different seeds."""
    shape = [len(values) for values in axes.values()]
    means = np.linspace(least, most, int(np.prod(shape))).reshape(shape)
    seeds = 1 + 0.01 * np.arange(SEEDS)
    whole = xr.DataArray(means[..., None] * seeds, dims=[*axes, "seed"], coords=axes)
    return interval(whole.to_dataset(name="made")).made


def mean(values: xr.DataArray, **where) -> float:
    return float(values.sel(statistic="mean", **where))


def panel(spec: dict, number: int) -> list[dict]:
    """Return the rows of one panel."""
    names = set(parts(spec["hconcat"][number], "name"))
    return list(itertools.chain.from_iterable(data for name, data in spec["datasets"].items() if name in names))


def titles(spec: dict) -> set[str]:
    return {text for text in parts(spec, "title") if isinstance(text, str)}


def headings(spec: dict) -> list[str]:
    """Return the headings of the panels, in order."""
    return [node["title"]["text"] for found in parts(spec, "hconcat") for node in found if "title" in node]


def runs(**systems: list[str]) -> dict:
    """Return coordinates of runs, as the replays have them."""
    pairs = [(system.replace("_", ", "), scheme) for system, schemes in systems.items() for scheme in schemes]
    return {
        "run": [f"{system}: {scheme}" for system, scheme in pairs],
        "system": ("run", [system for system, _ in pairs]),
        "scheme": ("run", [scheme for _, scheme in pairs]),
    }


@pytest.fixture
def response() -> xr.DataArray:
    coords = runs(equal=FIVE, slow=FIVE, changing=[*FIVE, *WINDOWS])
    return made(5e-3, 40e-3, trace=TRACES, run=coords["run"]).assign_coords(coords)


def test_table_2_shows_our_values_and_the_papers_in_its_units(paper):
    data = xr.Dataset(
        {
            "reads": ("trace", [0.5, 0.68, 0.9, 0.85]),
            "size": ("trace", [10240.0, 11776.0, 8397.0, 9216.0]),
            "requests": ("trace", [4512361, 2, 3, 4]),
            "duration": ("trace", [3600.0, 86400.0, 14400.0, 43200.0]),
            "basis": ("trace", ["stand-in", "stand-in", "trace", "stand-in"]),
        },
        coords={"trace": TRACES},
    )
    figures = ["requests", "rate", "read_share", "mean_size", "read_hit_rate"]
    value = xr.DataArray(np.ones((4, 5, 2)), dims=["trace", "figure", "kind"])
    value = value.assign_coords(trace=TRACES, figure=figures, kind=["target", "measured"])
    value.loc[{"trace": "sap", "figure": "rate", "kind": "measured"}] = 1.02
    spec = draw.table2(data, value.to_dataset(name="value"), paper).to_dict()
    cells = {(row["trace"], row["figure"]): (row["ours"], row["paper"]) for row in rows(spec) if "ours" in row}
    assert len(cells) == 16
    assert cells["SAP", "Reads (%)"] == ("50.0", "62.0")
    assert cells["SAP", "Requests"] == ("4,512,361", "4,512,361")
    assert cells["SAP", "Duration (h)"] == ("1.00", "15.00")
    assert cells["Cello2002", "Mean size (KB)"] == ("11.50", "11.50")
    assert ("WebSearch, real", "Reads (%)") in cells
    errors = {(row["trace"], row["words"]): row["error"] for row in rows(spec) if "words" in row}
    assert errors["SAP", "rate"] == pytest.approx(2)
    assert len(errors) == 16 and sum(abs(error) > 1e-9 for error in errors.values()) == 1
    assert "traces are synthetic, except the traces marked real." in heading(spec) and "real" in heading(spec)


def test_figure_6_has_equal_bricks_only_and_the_papers_ratios_to_our_d_sptf(response, paper):
    spec = draw.fig6(response, STAND_INS, paper).to_dict()
    assert headings(spec) == ["SAP", "Cello2002", "WebSearch", "Financial"]
    assert "traces are synthetic." in heading(spec) and "real" not in heading(spec)
    assert "Response time (ms)" in titles(spec)
    for number, trace in enumerate(TRACES):
        drawn = {row["scheme"]: row["mean"] for row in panel(spec, number) if "mean" in row}
        ours = {name: 1e3 * mean(response, trace=trace, run=f"equal: {name}") for name in FIVE[:4]}
        assert drawn == pytest.approx(ours)
        marks = [(row["scheme"], row["from"], row["to"]) for row in panel(spec, number) if "from" in row]
        from_paper = {(scheme, *(round(end / ours["D-SPTF"], 4) for end in ends)) for scheme, *ends in marks}
        local, rest = ({(scheme, *ends) for scheme in ("Hashing", "LARD")} for ends in ((1.35, 1.5), (1.2, 1.2)))
        sap = local | {("Hashing", 1.1236, 1.1236)}
        assert from_paper == {"sap": sap, "financial": local}.get(trace, rest)


def test_a_user_defined_scheme_is_drawn_with_the_papers(paper):
    """In figures 1 to 8 and tables 1, 3 and 4. Without D-SPTF, the paper's ratios to it are not drawn."""
    four = [*FIVE[:2], "LARD", "mine"]
    coords = runs(equal=four, slow=four, changing=[*four, *WINDOWS])
    response = made(5e-3, 40e-3, trace=TRACES, run=coords["run"]).assign_coords(coords)
    figures = [draw.fig6(response, STAND_INS, paper), draw.fig7(response, STAND_INS)]
    for chart in figures:
        for number in range(len(TRACES)):
            assert {row["scheme"] for row in panel(chart.to_dict(), number) if "mean" in row} == set(four)
    own = response.isel(run=[name.split(": ")[1] in ("LARD", "mine") for name in coords["run"]])
    assert not any("from" in row for row in rows(draw.fig6(own, STAND_INS, paper).to_dict()))
    piece = xr.DataArray([0.1, 0.9], dims="piece", coords={"piece": [0.1, 0.9]})
    lines = draw.fig8(response.sel(trace="sap") * (1 + 0 * piece), paper).to_dict()
    assert "mine" in {row["scheme"] for row in panel(lines, 0) if "scheme" in row}
    rate = made(60, 80, trace=TRACES, scheme=four).sel(statistic="mean", drop=True).to_dataset(name="hit_rate")
    table3 = draw.table3(rate.assign_coords(basis=STAND_INS), paper).to_dict()
    assert {(row["scheme"], row["paper"] is None) for row in rows(table3) if "ours" in row} == {
        (name, name == "mine") for name in four
    }
    pairs = made(20, 200, scheme=four, slowness=["service"], brick=[0, 1])
    assert {row["scheme"] for row in panel(draw.table4(pairs, paper).to_dict(), 0) if "mean" in row} == set(four)
    shades = colours_of([*FIVE, "mine", "yours", "theirs"])
    assert [shades[name] for name in FIVE] == list(COLOUR.values()) and len(shades) == 8
    assert shades["mine"] not in COLOUR.values()


def test_figure_7_has_five_schemes_of_the_slow_pair_and_names_real_traces(response):
    basis = STAND_INS.copy(data=["stand-in", "stand-in", "stand-in", "trace"])
    spec = draw.fig7(response, basis).to_dict()
    assert headings(spec) == ["SAP", "Cello2002", "WebSearch", "Financial, real"]
    drawn = {row["scheme"]: row["mean"] for row in panel(spec, 3) if "mean" in row}
    slow = {name: 1e3 * mean(response, trace="financial", run=f"slow: {name}") for name in FIVE}
    assert drawn == pytest.approx(slow)
    assert "traces are synthetic, except the traces marked real." in heading(spec) and "real" in heading(spec)


@pytest.fixture
def history() -> xr.DataArray:
    pair = ["D-SPTF", "Hashing"]
    coords = runs(
        equal=FIVE,
        changing=[*FIVE, *WINDOWS],
        changing_service=[*pair, "LARD"],
        changing_rotation=pair,
        changing_seek=pair,
        **{"changing_at once": pair},
    )
    return made(5e-3, 30e-3, run=coords["run"], piece=[0.125, 0.375, 0.625, 0.875]).assign_coords(coords)


def test_figure_8_draws_the_changing_system_over_the_run(history, paper):
    spec = draw.fig8(history, paper).to_dict()
    assert headings(spec) == ["Schemes", "LARD with shorter windows", "Other interpretations"]
    assert "Share of the run (%)" in titles(spec)
    drawn = [{row["scheme"] for row in panel(spec, number) if "scheme" in row} for number in range(3)]
    others = {
        f"{name}, {interpretation}" for name in ("D-SPTF", "Hashing") for interpretation in INTERPRETATIONS.values()
    }
    assert drawn == [set(FIVE), {"D-SPTF", "LARD", *WINDOWS}, others]
    lard = {row["piece"]: row["mean"] for row in panel(spec, 1) if row.get("scheme") == WINDOWS[1]}
    ours = history.sel(run=f"changing: {WINDOWS[1]}", statistic="mean")
    assert lard == pytest.approx(dict(zip([12.5, 37.5, 62.5, 87.5], 1e3 * ours.values, strict=True)))


def test_figure_8_shades_the_quarters_and_marks_the_papers_levels(history, paper):
    spec = draw.fig8(history, paper).to_dict()
    for number in range(3):
        shaded = {(row["from"], row["to"]) for row in panel(spec, number) if "words" in row and "from" in row}
        assert shaded == {(25, 50), (75, 100)}
        levels = sorted((row["from"], row["paper"]) for row in panel(spec, number) if "from" in row and "paper" in row)
        assert levels == [(0, 7.8), (0, 9), (25, 8.6), (25, 11.2), (50, 7.8), (50, 9), (75, 8.6), (75, 11.2)]


def test_figure_8_leaves_out_the_panel_that_has_no_runs(history, paper):
    changing = history.isel(run=(history.system == "changing").values)
    assert headings(draw.fig8(changing, paper).to_dict()) == ["Schemes", "LARD with shorter windows"]


def test_table_3_has_the_papers_rate_with_each_of_ours(paper):
    rate = xr.DataArray(np.linspace(0.5, 0.8, 16).reshape(4, 4), dims=["trace", "scheme"])
    data = rate.assign_coords(trace=TRACES, scheme=FIVE[:4]).to_dataset(name="hit_rate")
    spec = draw.table3(data.assign(basis=STAND_INS), paper).to_dict()
    cello = {row["scheme"]: (row["ours"], row["paper"]) for row in panel(spec, 1)}
    assert {name: from_paper for name, (_, from_paper) in cello.items()} == pytest.approx(
        {"Central SPTF": 76, "D-SPTF": 72, "Hashing": 71, "LARD": 71}
    )
    assert cello["LARD"][0] == pytest.approx(100 * float(rate[1, 3]))
    assert all(low <= 50 and high >= 80 for low, high in (d for d in parts(spec, "domain") if d != ["paper"]))


@pytest.fixture
def pairs() -> xr.DataArray:
    slowness = ["service", "rotation", "seek", "degraded"]
    return made(20, 200, scheme=FIVE, speed=[1.0, 0.5], slowness=slowness, brick=[0, 1])


def test_table_4_has_a_bar_for_each_meaning_and_a_dash_for_the_paper(pairs, paper):
    spec = draw.table4(pairs.sel(speed=0.5), paper).to_dict()
    assert headings(spec) == ["The fast brick", "The slow brick"]
    for brick, from_paper in enumerate(([195, 194, 137, 182, 180], [138, 137, 137, 134, 135])):
        drawn = {(row["scheme"], row["slowness"]): row["mean"] for row in panel(spec, brick) if "slowness" in row}
        assert len(drawn) == 20
        assert drawn["LARD", "the seek, twice"] == pytest.approx(
            mean(pairs, scheme="LARD", slowness="seek", speed=0.5, brick=brick)
        )
        dashes = {row["scheme"]: row["paper"] for row in panel(spec, brick) if "paper" in row}
        assert dashes == dict(zip(FIVE, from_paper, strict=True))


def test_the_sweep_has_a_row_for_each_brick_and_runs_from_fast_to_slow(pairs, paper):
    spec = draw.speeds(pairs, paper).to_dict()
    names = [node["title"]["text"] for row in spec["vconcat"] for node in row["hconcat"]]
    assert names[0] == "Fast brick, the whole access is slower" and names[6:] == [
        "Slow brick, the seek is slower",
        "Slow brick, the whole access is degraded",
    ]
    drawn = panel(spec["vconcat"][1] | {"datasets": spec["datasets"]}, 2)
    last = [row for row in drawn if "scheme" in row]
    # for the slow brick in table 4
    assert sorted(row["paper"] for row in drawn if "paper" in row) == [134, 135, 137, 137, 138]
    assert all(row["speed"] == 50 for row in drawn if "paper" in row)
    assert {(row["scheme"], row["speed"]) for row in last} == set(itertools.product(FIVE, [100, 50]))
    hashing = next(row["mean"] for row in last if row["scheme"] == "Hashing" and row["speed"] == 50)
    assert hashing == pytest.approx(mean(pairs, scheme="Hashing", speed=0.5, slowness="seek", brick=1))
    assert any(scale.get("reverse") for scale in parts(spec, "scale"))
    assert "Speed of the slow brick (%)" in titles(spec)


def test_failing_bricks_are_drawn_with_the_loop_that_must_continue(paper):
    axes = {"loss": [0.0, 0.05], "timeout": [0.1, 1.0]}
    names = ("outstanding", "resent", "extra_services", "response")
    data = xr.Dataset({name: made(0.01, 0.04, **axes) for name in names}, attrs={"loop": 32})
    spec = draw.failing(data).to_dict()
    assert {row["level"] for row in rows(spec) if "level" in row} == {32}
    twice = {(row["loss"], row["timeout"]): row["mean"] for row in panel(spec, 2)}
    assert set(twice) == set(itertools.product(["0%", "5%"], ["0.1 s", "1 s"]))
    assert twice["5%", "1 s"] == pytest.approx(100 * mean(data.extra_services, loss=0.05, timeout=1.0))
    assert [row["mean"] for row in panel(spec, 3)][-1] == pytest.approx(40.4)


def test_real_traces_have_their_times_above_their_hit_rates():
    axes = {"trace": ["hplajw", "cello2003"], "scheme": FIVE[:4]}
    data = xr.Dataset({"response": made(5e-3, 9e-3, **axes), "hit_rate": made(0.2, 0.8, **axes)})
    spec = draw.traces(data).to_dict()
    columns = [column["vconcat"] for column in spec["hconcat"]]
    assert [above["title"]["text"] for above, _ in columns] == ["hplajw", "cello2003"]
    above, below = (panel({"hconcat": columns[1], "datasets": spec["datasets"]}, number) for number in (0, 1))
    assert {row["scheme"] for row in above} == set(FIVE[:4])
    assert above[-1]["mean"] == pytest.approx(9.09)
    assert below[-1]["mean"] == pytest.approx(80.8)


@pytest.fixture
def net() -> xr.Dataset:
    axes = {"latency": [0.0, 1e-3], "replicas": [2, 8], "depth": [4, 16], "read_share": [0.67, 0.9]}
    throughput = made(100, 200, scheme=["D-SPTF", "Hashing"], **axes)
    return xr.Dataset({"throughput": throughput, "gain": made(0.9, 1.5, **axes)})


def test_the_gain_is_drawn_in_percent_with_a_panel_for_each_number_of_replicas(net):
    spec = draw.network(net.gain).to_dict()
    assert headings(spec) == ["2 replicas", "8 replicas"]
    drawn = {(row["depth"], row["latency"]): row["mean"] for row in panel(spec, 1) if "depth" in row}
    assert set(drawn) == set(itertools.product(["4", "16"], [0.0, 1.0]))
    here = mean(net.gain, latency=1e-3, replicas=8, depth=16, read_share=0.9)
    assert drawn["16", 1.0] == pytest.approx(100 * (here - 1))


def test_the_live_chart_has_every_load_and_buttons_to_choose_one(net):
    spec = draw.explored(net).to_dict()
    chosen = {param["name"]: param for param in spec["params"]}
    assert {name: param["value"] for name, param in chosen.items()} == {
        "chosen_replicas": 8, "chosen_depth": 16, "chosen_read_share": 0.9,
    }  # fmt: skip
    assert chosen["chosen_read_share"]["bind"]["labels"] == ["67%", "90%"]
    lines = [row for row in rows(spec) if row["scheme"] == "D-SPTF"]
    levels = [row for row in rows(spec) if row["scheme"] == "Hashing"]
    assert (len(lines), len(levels)) == (16, 8)
    at = {"replicas": 2, "depth": 16, "read_share": 0.67}
    point = next(row for row in lines if at.items() <= row.items() and row["ms"] == 1)
    assert point["mean"] == pytest.approx(mean(net.throughput, scheme="D-SPTF", latency=1e-3, **at))
    assert point["gain"] == pytest.approx(100 * (mean(net.gain, latency=1e-3, **at) - 1))
    level = next(row["hashing"] for row in levels if at.items() <= row.items())
    hashing = net.throughput.sel(scheme="Hashing", statistic="mean", **at)
    assert level == pytest.approx(float(hashing.mean("latency")))
    # every mark belongs to the chosen load
    assert all(len(layer["transform"]) >= 3 for layer in spec["layer"])


def test_messages_are_stacked_by_kind_and_the_papers_shares_stand_at_eight_replicas(paper):
    kinds = ["request", "claim", "write", "acknowledgement"]
    axes = {"size": [4096, 65536], "kind": kinds, "replicas": [2, 8]}
    data = xr.Dataset(
        {
            "number": made(1, 8, **axes),
            "bytes": made(50, 4096, **axes),
            "overhead": made(0.01, 0.2, size=[4096, 65536], replicas=[2, 8]),
        }
    )
    spec = draw.messages(data, paper).to_dict()
    stacked, added = spec["hconcat"]
    number, size = (panel(stacked | {"datasets": spec["datasets"]}, one) for one in (0, 1))
    assert {(row["kind"], row["replicas"]) for row in number} == set(itertools.product(kinds, [2, 8]))
    claim = next(row for row in size if (row["kind"], row["replicas"]) == ("claim", 8))
    assert claim["mean"] == pytest.approx(100 * mean(data.bytes, size=4096, kind="claim", replicas=8) / 4096)
    right = panel({"hconcat": [added], "datasets": spec["datasets"]}, 0)
    from_paper = {(row["replicas"], row["size"]): row["paper"] for row in right if row["paper"] is not None}
    assert from_paper == pytest.approx({(8, "4 KB requests"): 20, (8, "64 KB requests"): 1.2})
    ours = {(row["replicas"], row["size"]): row["mean"] for row in right}
    assert ours[2, "64 KB requests"] == pytest.approx(100 * mean(data.overhead, size=65536, replicas=2))


def test_a_scheme_has_one_colour_in_every_chart(history, pairs, paper):
    assert len(set(COLOUR.values())) == len(FIVE)
    spec = draw.fig8(history, paper).to_dict()
    scales = [s for s in parts(spec, "scale") if "D-SPTF" in s.get("domain", []) and "range" in s]
    assert len(scales) >= 2
    assert {s["range"][s["domain"].index("D-SPTF")] for s in scales} == {COLOUR["D-SPTF"]}
    sweep = [
        s for s in parts(draw.speeds(pairs, paper).to_dict(), "scale") if "LARD" in s.get("domain", []) and "range" in s
    ]
    assert sweep and all(dict(zip(s["domain"], s["range"], strict=True)) == COLOUR for s in sweep)
