"""Test the charts of ARS as data: every measurement is included, and so are the statements on top."""

import itertools

import numpy as np
import pytest
import xarray as xr
from helpers import assert_states_result, heading, parts, rows, said_by_the_paper

from storagekit.core.units import MB
from storagekit.papers import ars
from storagekit.papers.ars import draw
from storagekit.papers.ars.cluster import COMPARED, UNLIMITED
from storagekit.papers.ars.draw.palette import NAMES, NODES, PROTOCOLS
from storagekit.papers.ars.what_if import LOOKS
from storagekit.reproduce.claims import load_claims
from storagekit.simulation import interval


def drawn(spec: dict, *names: str) -> dict:
    """Return the last of `names` by the other names, from rows that have them all."""
    found = [row for row in rows(spec) if all(row.get(name) is not None for name in names)]
    return {tuple(row[name] for name in names[:-1]): row[names[-1]] for row in found}


def titles(spec: dict) -> set[str]:
    return {text for text in parts(spec, "title") if isinstance(text, str)}


def headings(spec: dict) -> list[str]:
    """Return the headings of the panels, in order."""
    return [node["title"]["text"] for found in parts(spec, "hconcat") for node in found if "title" in node]


def test_figure_4_has_every_bar_in_milliseconds(reads):
    spec = draw.fig4(interval(reads)).to_dict()
    bars = drawn(spec, "label", "protocol", "mean")
    assert set(bars) == set(itertools.product(reads.volume.values, COMPARED))
    mean = 1e3 * float(reads.response.sel(protocol="ARS", volume="both").mean())
    assert bars["both", "ARS"] == pytest.approx(mean)
    assert "Mean response time (ms)" in titles(spec) and "0.3%" in heading(spec)


def test_a_user_defined_protocol_has_a_separate_bar_and_colour(reads):
    names = [*reads.protocol.values[:-1], "mine"]
    own = interval(reads.assign_coords(protocol=names))
    figure6 = own[["response"]].rename(response="request_rate", volume="mix")
    for spec in (draw.fig4(own).to_dict(), draw.fig6(figure6).to_dict()):
        assert {name for _, name, _ in drawn(spec, "label", "protocol", "mean", "mean")} == set(names)
        scale = next(one for one in parts(spec, "scale") if "mine" in one.get("domain", []))
        assert len(set(scale["range"])) == len(scale["domain"]) == len(names)


def test_interpretations_leave_out_protocols_that_were_not_run(reads):
    some = reads.sel(volume=["erasure-coded"])
    data = xr.concat([reads, some], dim=xr.Variable("interpretation", ["scaled", "whole blocks"]), join="outer")
    spec = draw.interpretations(interval(data)).to_dict()
    assert headings(spec) == ["Scaled", "Whole blocks"]
    widths = [panel["width"] for panel in spec["hconcat"]]
    assert widths[0] == 3 * widths[1]
    assert not any(row["mean"] is None for row in rows(spec) if "mean" in row)
    assert spec["hconcat"][0]["layer"][0]["encoding"]["x"]["sort"] == reads.volume.values.tolist()


def test_a_line_ends_where_requests_overload_a_node(busy):
    spec = draw.loads(interval(busy)).to_dict()
    assert headings(spec) == ["Replicated", "Erasure-coded", "Both"]
    points = {(row["protocol"], row["load"]) for row in rows(spec) if "load" in row}
    assert points == set(itertools.product(ars.FOUR, [1.0, 10.0])) - {("Randomized", 10.0)}
    assert all(scale.get("type") == "log" for scale in parts(spec["hconcat"][0]["layer"][0]["encoding"], "scale") if
               "type" in scale)  # fmt: skip


def test_bars_of_overloaded_protocols_are_left_out_with_a_note(both):
    response = both.response.copy(deep=True)
    response.loc["Randomized", "Financial"] = np.nan
    spec = draw.fig5(interval(both.assign(response=response))).to_dict()
    assert ("Financial", "Randomized") not in drawn(spec, "label", "protocol", "mean")
    assert "overloaded" in list(parts(spec, "value")) and "a stand-in" in heading(spec)


def test_figure_6_has_requests_a_second(throughput):
    bars = drawn(draw.fig6(interval(throughput)).to_dict(), "label", "protocol", "mean")
    assert bars["Reads only", "Central"] == pytest.approx(
        float(throughput.request_rate.sel(protocol="Central", mix="reads").mean())
    )
    assert len(bars) == 2 * len(COMPARED)


def test_interpretations_of_figure_6_are_panels_without_mixes_that_were_not_run(throughput):
    names = xr.Variable("interpretation", ["in order, scaled", "each disk has its own queue"])
    interpretations = xr.concat([throughput, throughput.sel(mix=["reads"])], names, join="outer")
    spec = draw.fig6_interpretations(interval(interpretations)).to_dict()
    assert headings(spec) == ["In order, scaled", "Each disk has its own queue"]
    assert not any(row["mean"] is None for row in rows(spec) if "mean" in row)


def test_sizes_of_buffers_are_in_megabytes():
    axes = {"protocol": ["ARS", "D-SPTF", "Central"], "buffer": [2.0 * MB, UNLIMITED]}
    rate = xr.DataArray(np.arange(1, 19.0).reshape(3, 2, 3), dims=[*axes, "seed"], coords=axes)
    bars = drawn(
        draw.buffers(interval(rate.to_dataset(name="request_rate")).assign_attrs(unlimited=UNLIMITED)).to_dict(),
        "label",
        "protocol",
        "mean",
    )
    assert set(bars) == set(itertools.product(["2 MB", "unlimited"], axes["protocol"]))
    assert bars["unlimited", "D-SPTF"] == 11.0


def test_figure_7_is_in_milliseconds_on_both_axes(latency):
    spec = draw.fig7(interval(latency), interval(latency), 20.0).to_dict()
    assert headings(spec) == ["The published load", "20 times the published load"]
    points = drawn(spec, "protocol", "latency", "mean")
    assert points["D-SPTF", 10.0] == pytest.approx(
        1e3 * float(latency.response.sel(protocol="D-SPTF", latency=1e-2).mean())
    )


def rates() -> xr.DataArray:
    """Return data in the form of `windows`."""
    axes = {"volume": ["replicated", "both"], "window": [0.1, 1.0], "views": ["own", "shared"]}
    return xr.DataArray(np.arange(1, 25.0).reshape(2, 2, 2, 3), dims=[*axes, "seed"], coords=axes)


def test_windows_are_shown_by_the_kind_of_views():
    rate = rates()
    axes = rate.coords
    spec = draw.windows(interval(rate.to_dataset(name="request_rate"))).to_dict()
    points = {(row["views"], row["window"], row["mean"]) for row in rows(spec) if "views" in row}
    own = {("by each client", window, float(rate.sel(volume=volume, window=window, views="own").mean()))
           for volume, window in itertools.product(axes["volume"].values, axes["window"].values)}  # fmt: skip
    assert own < points and {views for views, *_ in points - own} == {"shared by all clients"}
    assert headings(spec) == ["Replicated", "Both"] and "Throughput (requests/s)" in titles(spec)


@pytest.fixture
def resting() -> xr.Dataset:
    """Data in the form of `equal`: node 2 serves the least."""
    axes = {"views": ["own", "shared"], "window": [0.1, 1.0], "node": [1, 2, 3]}
    values = xr.DataArray(np.arange(1, 37.0).reshape(2, 2, 3, 3), dims=[*axes, "seed"], coords=axes)
    rate = values.where(values.node != 2, 0.5)
    held = values.isel(seed=0).expand_dims(time=[6.0, 6.5, 60.0])
    return xr.Dataset({"outstanding": values, "rate": rate, "swing": values / 100, "held": held})


def test_equal_names_the_nodes(resting):
    spec = draw.equal(interval(resting)).to_dict()
    bars = drawn(spec, "label", "node", "mean")
    assert set(bars) == set(itertools.product(["0.1 s", "1 s"], [NAMES[node] for node in (1, 2, 3)]))
    # the kinds of views of the windows
    means = [row["mean"] for row in rows(spec) if row.get("node") == NAMES[1] and row["label"] == "1 s"]
    assert float(resting.outstanding.sel(views="own", window=1.0, node=1).mean()) in means


def test_swings_show_the_node_that_serves_the_least(resting):
    spec = draw.swings(interval(resting), resting.held, compared=[0.1, 1.0]).to_dict()
    points = drawn(spec, "views", "window", "mean")
    its = resting.sel(node=2)
    assert points["shared by all clients", 0.1] == pytest.approx(
        100 * float(its.swing.sel(views="shared", window=0.1).mean())
    )
    assert len(points) == 4 and NAMES[2] in heading(spec)
    # a few seconds of one run
    series = drawn(spec, "of", "time", "requests")
    assert series == {
        (of, time): float(its.held.sel(views="own", window=window, time=time))
        for (of, window), time in itertools.product({"0.1 s": 0.1, "1 s": 1.0}.items(), [6.0, 6.5])
    }


def slowing() -> dict:
    """Return the chart of `halved`, and of `settled`: 40% throughout."""
    coords = {"protocol": ["ARS, 1 s", "Central, heads known"], "time": np.arange(0.5, 6)}
    share = xr.DataArray(np.full((2, 3, 6), 0.4), dims=["protocol", "seed", "time"], coords=coords)
    data = share.to_dataset(name="share").assign_attrs(slows=3.0)
    return draw.halved(interval(data), {"ARS, 1 s": 2.0, "Central, heads known": 0.0}).to_dict()


def test_halved_marks_when_the_node_slows():
    spec = slowing()
    assert list(drawn(spec, "protocol", "time", "mean").values()) == pytest.approx([40.0] * 12)
    assert [row["at"] for row in rows(spec) if "at" in row] == [3.0]
    assert "over intervals of 1 s" in heading(spec) and "ARS, 1 s: 2 s / Central, heads known: 0 s" in heading(spec)


@pytest.fixture(scope="module")
def keys_of_two() -> tuple[xr.Dataset, xr.Dataset]:
    effort = ars.effort("quick")
    return ars.histories(effort, nodes=[2, 4], count=5), ars.moves(effort, nodes=[2, 4], count=2)


def test_moves_are_percent_and_probes_are_not(keys_of_two):
    seen, moved = keys_of_two
    spec = draw.moves(seen, interval(moved, "change"), {"ars.algorithm.probes": 3.0}).to_dict()
    keys = drawn(spec, "kind", "nodes", "mean")
    assert keys["tuned", 4] == pytest.approx(100 * float(moved.tuned.sel(nodes=4).mean()))
    assert drawn(spec, "found", "nodes", "value")["two nodes", 2] == pytest.approx(float(seen.probes_m.sel(nodes=2)))
    # each panel has separate colours, and the paper gives numbers for one node and for two
    assert spec["resolve"]["scale"]["color"] == "independent"
    assert [row["said"] for row in rows(spec) if "said" in row] == [3.0, 6.0]


def test_writes_are_percent_of_a_volume(written):
    shares = drawn(draw.writes(written).to_dict(), "when", "nodes", "share")
    assert shares["at the end of the run", 4] == 100 and shares["at completion", 1] in (0, 60)


def test_the_time_without_a_node_is_shaded(extra_nodes):
    spec = draw.extra(interval(extra_nodes)).to_dict()
    assert {(row["from"], row["to"]) for row in rows(spec) if "from" in row} == {(1000, 2500)}
    assert {row["extra"] for row in rows(spec) if "extra" in row} == {"no", "up to 2"}
    mean = extra_nodes.targets.sel(extra=2, number=2025).mean()
    assert float(mean) in {row["mean"] for row in rows(spec) if row.get("number") == 2025}
    assert "Nodes that a read is sent to" in titles(spec) and "4 runs" in heading(spec)


def mapped() -> xr.Dataset:
    """Return data in the form of `adapting`."""
    return xr.Dataset(
        {
            "owner": (("time", "subregion"), [[1, -1, 2, 2], [1, 1, 2, -1]]),
            "filled": (("time", "subregion"), [[0.2, 0, 0.25, 0.05], [0.25, 0.1, 0.15, 0]]),
        },
        coords={"time": [1.0, 2.0], "subregion": np.arange(4)},
        attrs={"slows": 1.0, "recovers": 2.0, "setting": "replicated", "node": 2, "window": 1.0},
    )


def test_an_interval_is_drawn_where_it_is_mapped():
    spec = draw.adapting(mapped()).to_dict()
    pieces = drawn(spec, "time", "node", "begin", "end")
    assert pieces == pytest.approx({
        (1.0, NAMES[1], 0.0): 0.2, (1.0, NAMES[2], 0.5): 0.75, (1.0, NAMES[2], 0.75): 0.8,
        (2.0, NAMES[1], 0.0): 0.25, (2.0, NAMES[1], 0.25): 0.35, (2.0, NAMES[2], 0.5): 0.65,
    })  # fmt: skip


def test_tables_have_our_values_and_the_papers():
    cells = drawn(draw.table1(ars.table1()).to_dict(), "row", "figure", "ours", "paper")
    assert cells[NAMES[0], "rpm", "10,025"] == "10,025" and cells[NAMES[0], "Mean seek (ms)", "5.6"] == "5.0"
    spec = draw.table2(ars.table2(), ars.table1()).to_dict()
    figures = drawn(spec, "row", "figure", "ours")
    assert figures["erasure-coded", "Kept as"] == "2 of 4" and figures["replicated", "Kept as"] == "3 copies"
    assert len(drawn(spec, "name", "volume", "share")) == 8


def test_the_page_has_every_node_and_protocol():
    names, window = ["Randomized", "ARS", "Central"], np.arange(LOOKS) + 0.5
    by_time = (("protocol", "window"), np.full((3, LOOKS), 0.01))
    share = np.broadcast_to([0.3, 0.3, 0.3, 0.1], (3, LOOKS, 4))
    mean = ("protocol", [0.03, 0.02, 0.01])
    data = xr.Dataset(
        {
            "share": (("protocol", "window", "brick"), share),
            "response": by_time,
            "mean_response": mean,
            "throughput": mean,
        },
        coords={"protocol": names, "window": window},
        attrs={"arrival_rate": 150.0},
    )
    spec = draw.what_if(data).to_dict()
    assert {row["node"] for row in rows(spec) if "node" in row} == {str(node) for node in NODES}
    assert "30%, 30%, 30%, 10%" in heading(spec) and "150 reads" in heading(spec)
    assert drawn(spec, "arrival_rate") == {(): 150.0}


def test_a_protocol_and_a_node_have_one_colour_each():
    assert len(set(PROTOCOLS.values())) == len(PROTOCOLS) and len(set(NODES.values())) == len(NODES)


@pytest.fixture
def specs(reads, busy, both, throughput, latency, resting, written, extra_nodes, keys_of_two) -> dict[str, dict]:
    """Return every exhibit's chart, drawn from made-up data."""
    rate = interval(throughput[["request_rate"]])
    several = rate.expand_dims(interpretation=["in order, scaled", "shortest first", "wrapped"])
    scaled = interval(reads[["response"]]).expand_dims(interpretation=["scaled", "wrapped"])
    seen, moved = keys_of_two
    paper = {claim.id: claim.expected for claim in load_claims("ars")}
    charts = {
        "tableI": draw.table1(ars.table1()),
        "tableII": draw.table2(ars.table2(), ars.table1()),
        "fig4": draw.fig4(interval(reads)),
        "fig4_interpretations": draw.interpretations(scaled.sel(protocol=list(ars.FOUR))),
        "loads": draw.loads(interval(busy)),
        "fig5": draw.fig5(interval(both)),
        "fig6": draw.fig6(rate),
        "fig6_interpretations": draw.fig6_interpretations(several),
        "equal": draw.equal(interval(resting)),
        "swings": draw.swings(interval(resting), resting.held, compared=[0.1, 1.0]),
        "windows": draw.windows(interval(rates().to_dataset(name="request_rate"))),
        "fig7": draw.fig7(interval(latency), interval(latency), 10.0),
        "algorithm": draw.moves(seen, interval(moved, "change"), paper),
        "adapting": draw.adapting(mapped()),
        "writes": draw.writes(written),
        "extra": draw.extra(interval(extra_nodes)),
    }
    return {name: chart.to_dict() for name, chart in charts.items()} | {"halved": slowing()}


def test_a_chart_states_its_finding(specs):
    for spec in specs.values():
        assert_states_result(spec)


def test_every_number_of_the_paper_is_in_its_chart(specs):
    found = {f"ars.{name}": said_by_the_paper(spec) for name, spec in specs.items()}
    wanted = [claim for claim in load_claims("ars") if isinstance(claim.expected, int | float)]
    assert wanted and all(claim.expected in found[claim.exhibit] for claim in wanted)


def test_subtitles_agree_with_the_data(specs):
    assert "1.06 (ARS), 1.03 to 1.09 (D-SPTF). The disks are busy 0.3%" in heading(specs["fig4"])
    assert "0.94 (ARS), 0.97 (D-SPTF)" in heading(specs["fig6"])
    # 10 ms and one or two latencies of 10 ms, divided by 10 ms and as many latencies of 0.1 ms
    assert f"D-SPTF {30 / 10.2:.2f} / D-SPTF, waits for the platter {20 / 10.1:.2f}" in heading(specs["fig7"])
    assert "of at least 1 node at completion, and of at least 3 nodes at the end of the run." in heading(
        specs["writes"]
    )
    # half a second and a hundredth, with a deviation of the runs of 1.5% on average
    assert "518 ms with no additional nodes" in heading(specs["extra"])


def test_without_central_no_ratio_to_it_is_shown(reads):
    spec = draw.fig4(interval(reads.sel(protocol=["ARS", "Randomized"]))).to_dict()
    assert "Central" not in heading(spec) and "busy" in heading(spec)
