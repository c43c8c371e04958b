"""Test common properties of the charts of SR-Array and D-SPTF, drawn from small made-up data.

Each chart has a finding, intervals, and the paper's numbers.
"""

import functools
import itertools
import json
from collections.abc import Callable

import numpy as np
import pytest
import xarray as xr
from altair.utils import schemapi
from altair.utils.schemapi import debug_mode
from helpers import parts, rows
from quick_charts import altairs_copy

from storagekit.charts.theme import PAPER
from storagekit.papers.dsptf import draw as dsptf
from storagekit.papers.srarray import draw as srarray
from storagekit.reproduce.claims import numbers
from storagekit.simulation import interval

PAPER_NUMBERS = {paper: numbers(paper) for paper in ("srarray", "dsptf")}
FOUR = ["Central SPTF", "D-SPTF", "Hashing", "LARD"]
FIVE = [*FOUR, "Weighted hash"]
TRACES = ["sap", "cello2002", "websearch", "financial"]
BASIS = xr.DataArray(["stand-in"] * 4, dims="trace", coords={"trace": TRACES})
# the width of a reader's page in pixels; names and legends take some of it
WIDE = 1010


class Made:
    """Small data: numbers from `least` to `most`, different for each `key`, with an interval over three seeds."""

    def __init__(self, key: int):
        self.random = np.random.default_rng(key)

    def __call__(self, least: float, most: float, **axes) -> xr.DataArray:
        shape = [len(values) for values in axes.values()]
        means = self.random.uniform(least, most, shape)[..., None] * (1 + 0.01 * np.arange(3))
        whole = xr.DataArray(means, dims=[*axes, "seed"], coords={name: list(values) for name, values in axes.items()})
        return interval(whole.to_dataset(name="made")).made

    def plain(self, least: float, most: float, **axes) -> xr.DataArray:
        return self(least, most, **axes).sel(statistic="mean", drop=True)

    def rising(self, least: float, most: float, axis: str, **axes) -> xr.DataArray:
        """Return numbers that rise along the first axis, from near `least` to beyond `most`."""
        values = axes[axis]
        slope = xr.DataArray(np.geomspace(least, most, len(values)), dims=axis, coords={axis: list(values)})
        return self(0.9, 1.1, **axes) * slope

    def schemes(self, *disks: int) -> xr.DataArray:
        names = ["SR-Array", "D-way mirror", "RAID-10", "Striping", "Rule", "Model"]
        return self(4e-3, 9e-3, scheme=names, disks=disks)

    def shapes(self, *disks: int) -> xr.DataArray:
        found = self(3e-3, 8e-3, disks=disks, replicas=range(1, 7))
        return found.where(found.disks % found.replicas == 0)

    def rates(self) -> xr.Dataset:
        layouts = {
            "Cello base": ["2x3x1", "3x2x1", "6x1x1", "3x1x2"],
            "TPC-C": ["9x4x1", "18x2x1", "36x1x1", "18x1x2"],
        }
        found = {
            name: self.rising(5e-3, 40e-3, "scale", layout=these, scheduler=["SATF", "LOOK"], scale=[1.0, 8.0, 64.0])
            for name, these in layouts.items()
        }
        pairs = [
            array.where((array.scheduler == "SATF") | array.layout.isin(array.layout[[0, 2]]))
            for array in found.values()
        ]
        return xr.merge([one.rename(name) for name, one in zip(found, pairs, strict=True)], join="outer")

    def memory(self, workload: str, disks: list[int]) -> xr.Dataset:
        more, scale = [0.0, 1e8, 4e8], [1.0, 3.0]
        pair = {
            "with_disks": self(5e-3, 9e-3, disks=disks, scale=scale),
            "with_memory": self(3e-3, 9e-3, memory=more, scale=scale),
        }
        return xr.Dataset(pair, attrs={"workload": workload})

    def runs(self, *systems: str, **axes) -> xr.DataArray:
        pairs = list(itertools.product(systems, FIVE))
        coords = {"system": ("run", [name for name, _ in pairs]), "scheme": ("run", [name for _, name in pairs])}
        return self(5e-3, 30e-3, run=[f"{one}: {two}" for one, two in pairs], **axes).assign_coords(coords)

    def loop(self, *names: str, **axes) -> xr.Dataset:
        return xr.Dataset({name: self(0.01, 1, **axes) for name in names})


def heads(made: Made) -> xr.Dataset:
    slack, every = [0.0, 1.0, 2.0], [60.0, 120.0, 480.0]
    by_slack = ("misses", "mean_error", "sd_error", "demerit", "demerit_share")
    values = {name: made.plain(1e-4, 0.1, slack=slack) for name in by_slack}
    return xr.Dataset({**values, "within": made.plain(0.6, 1, interval=every), "kept_slack": 1.2, "access": 3e-3})


def fig5(made: Made) -> xr.Dataset:
    array, disk = (
        made(100, 200, read_share=[1.0, 0.5], queue=[1, 4]),
        made(100, 200, policy=["FCFS", "SPTF"], depth=[1, 4]),
    )
    witness = {
        f"{name}_witness": one.sel(statistic="mean", drop=True) * made.random.uniform(0.9, 1)
        for name, one in (("array", array), ("disk", disk))
    }
    return xr.Dataset({"array": array, "disk": disk, **witness})


def table3(made: Made) -> xr.Dataset:
    axes = {"workload": ["Cello base", "TPC-C"], "quantity": ["requests", "read_share"]}
    return xr.Dataset({name: made.plain(0.5, 1, **axes) for name in ("target", "measured")})


def plans(made: Made) -> xr.Dataset:
    values = made.random.uniform(0, 0.1, (1, 2, 8))
    return xr.Dataset(
        {"shortfall": (("case", "rule", "question"), values)}, coords={"case": ["latency"], "rule": ["plan", "paper"]}
    )


def table2(made: Made):
    data = xr.Dataset(
        {name: made.plain(0.5, 1, trace=TRACES) for name in ("reads", "size", "requests", "duration")}
        | {"basis": BASIS}
    )
    figures = ["rate", "read_share", "mean_size", "read_hit_rate"]
    return data, made.plain(0.9, 1.1, trace=TRACES, figure=figures, kind=["target", "measured"]).to_dataset(
        name="value"
    )


def network(made: Made) -> xr.Dataset:
    axes = {"latency": [0.0, 1e-3], "replicas": [2, 8], "depth": [4, 16], "read_share": [0.67, 0.9]}
    return xr.Dataset({"throughput": made(100, 200, scheme=FOUR[1:3], **axes), "gain": made(0.9, 1.5, **axes)})


def messages(made: Made) -> xr.Dataset:
    size, kinds, few = [4096, 65536], ["request", "claim", "write", "acknowledgement"], {"replicas": [2, 8]}
    each = {name: made(1, 8, size=size, kind=kinds, **few) for name in ("number", "bytes")}
    return xr.Dataset(each | {"overhead": made(0.01, 0.2, size=size, **few)})


def write_shares(made: Made):
    axes = {"layout": ["3x2x1", "6x1x1", "3x1x2"], "queue": [8, 32], "write_share": [0.0, 0.5, 1.0]}
    rate = made(500, 2000, **axes, scheduler=["RSATF", "RLOOK"])
    lead = rate.layout.copy(data=[2.0, 1.0, 1.0]) ** (1 - 2 * rate.write_share)
    return (rate * lead).to_dataset(name="request_rate"), made.plain(500, 2000, **axes)


def reads(made: Made):
    axes = {"disks": [2, 6], "queue": [8, 32]}
    rate = made(300, 4000, scheme=["SR-Array", "SR-Array, RLOOK", "RAID-10", "Striping"], **axes)
    return rate.to_dataset(name="request_rate"), made.plain(250, 2000, **axes)


def gain(made: Made):
    data = made.loop("throughput", scheme=FOUR, replicas=[2, 3, 8])
    return data, made(1.05, 1.3, replicas=[2, 3, 8])


def explored(made: Made, paper_numbers):
    return dsptf.explored(network(made))


# For each exhibit: a function that draws it from made-up data with the paper's numbers, and the numeric claims that are
# not part of the chart but only of the table of claims after it.
DRAWN = {
    "srarray.fig5": (lambda made, paper_numbers: srarray.fig5(fig5(made), paper_numbers), ()),
    "srarray.table2": (lambda made, paper_numbers: srarray.table2(heads(made), paper_numbers), ()),
    # the published figures are part of the data, made up here
    "srarray.table3": (lambda made, paper_numbers: srarray.table3(table3(made)), ("cello_base", "cello_disk6", "tpcc")),
    "srarray.fig6": (
        lambda made, paper_numbers: srarray.fig6(xr.Dataset({"Cello base": made.schemes(1, 6, 12)}), paper_numbers),
        (),
    ),
    "srarray.fig7": (
        lambda made, paper_numbers: srarray.fig7(
            xr.Dataset({"Cello base": made.shapes(6, 9)}), xr.Dataset({"Cello base": made.schemes(6, 9)}), paper_numbers
        ),
        # the optimum that is not a whole number, and the stripes for this number of replicas
        ("nine", "six[D_s]"),
    ),
    "srarray.fig8": (
        lambda made, paper_numbers: srarray.fig8(made.schemes(12, 36), made.shapes(12, 36), paper_numbers),
        (),
    ),
    "srarray.fig9": (lambda made, paper_numbers: srarray.fig9(made.rates(), paper_numbers), ()),
    "srarray.fig10": (lambda made, paper_numbers: srarray.fig10(made.rates(), paper_numbers), ()),
    "srarray.fig11": (
        lambda made, paper_numbers: srarray.fig11(made.memory("Cello base", [1, 2, 4]), paper_numbers),
        ("tpcc", "tpcc_disks"),
    ),
    "srarray.fig11_tpcc": (
        lambda made, paper_numbers: srarray.fig11(made.memory("TPC-C", [12, 18, 36]), paper_numbers),
        (),
    ),
    "srarray.fig12": (lambda made, paper_numbers: srarray.fig12(*reads(made)), ()),
    "srarray.fig13": (lambda made, paper_numbers: srarray.fig13(*write_shares(made), paper_numbers), ()),
    "srarray.equation16": (
        lambda made, paper_numbers: srarray.equation16(
            made(-0.4, 0.3, disks=[2, 4], each=[0.5, 2.0], write_share=[0.0, 0.4]), "a drive"
        ),
        (),
    ),
    "srarray.plan": (lambda made, paper_numbers: srarray.plan_grid(plans(made)), ()),
    "srarray.traces": (
        lambda made, paper_numbers: srarray.traces(
            made(5e-3, 9e-3, trace=["a", "b"], layout=["2x3x1", "6x1x1"], scale=[1.0, 8.0])
        ),
        (),
    ),
    "dsptf.fig1": (
        lambda made, paper_numbers: dsptf.fig1(
            made.loop("throughput", scheduler=["FIFO", "SPTF"], depth=[2, 16]), paper_numbers
        ),
        (),
    ),
    "dsptf.table1": (
        lambda made, paper_numbers: dsptf.table1(
            made.loop("throughput", "idle", "service_time", scheme=FOUR), paper_numbers
        ),
        # the gain is in the subtitle; queues and other shares of reads are in the notes
        ("gain", "depth_dsptf", "depth_hashing", "idle_read_only", "idle_60_reads"),
    ),
    "dsptf.table1_interpretations": (
        lambda made, paper_numbers: dsptf.interpretations(
            made.loop("throughput", scheme=FOUR[1:3], completion=["at once", "all copies"]), paper_numbers
        ),
        (),
    ),
    "dsptf.fig5": (lambda made, paper_numbers: dsptf.fig5(*gain(made), paper_numbers), ()),
    "dsptf.table2": (lambda made, paper_numbers: dsptf.table2(*table2(made), paper_numbers), ()),
    "dsptf.fig6": (lambda made, paper_numbers: dsptf.fig6(made.runs("equal", trace=TRACES), BASIS, paper_numbers), ()),
    "dsptf.table3": (
        lambda made, paper_numbers: dsptf.table3(
            made.plain(0.6, 0.8, trace=TRACES, scheme=FOUR).to_dataset(name="hit_rate").assign_coords(basis=BASIS),
            paper_numbers,
        ),
        (),
    ),
    "dsptf.table4": (
        lambda made, paper_numbers: dsptf.table4(
            made(20, 200, scheme=FIVE, slowness=["service", "degraded"], brick=[0, 1]), paper_numbers
        ),
        (),
    ),
    "dsptf.table4_speeds": (
        lambda made, paper_numbers: dsptf.speeds(
            made(20, 200, scheme=FIVE, speed=[1.0, 0.5], slowness=["service", "seek"], brick=[0, 1]), paper_numbers
        ),
        (),
    ),
    "dsptf.fig7": (lambda made, paper_numbers: dsptf.fig7(made.runs("slow", trace=TRACES), BASIS), ()),
    "dsptf.fig8": (
        lambda made, paper_numbers: dsptf.fig8(
            made.runs("changing", "changing, seek", piece=[0.125, 0.375, 0.625, 0.875]), paper_numbers
        ),
        # ratios are in the subtitle; the other interpretation of times and locality has a separate row
        ("ratio_normal", "ratio_degraded", "missed"),
    ),
    "dsptf.table5": (
        lambda made, paper_numbers: dsptf.table5(
            made(4, 17, bricks=[16, 32, 64, 128], replicas=[2, 4, 6, 8]), paper_numbers
        ),
        # in another chart, and a rate
        ("rate_8way", "overhead_4kb", "overhead_64kb"),
    ),
    "dsptf.table6": (
        lambda made, paper_numbers: dsptf.table6(
            made.loop(
                "contested_requests",
                replicas=[2, 4, 6, 8],
                read_share=[0.9, 1.0],
                latency=[5e-5, 1e-4],
                spindles=["random", "in step"],
            ),
            paper_numbers,
        ),
        (),
    ),
    "dsptf.fig9": (
        lambda made, paper_numbers: dsptf.fig9(
            made.loop("throughput", latency=[0.0, 1.75e-3], read_share=[0.67, 0.9]), paper_numbers
        ),
        # the same bound again
        ("at_1_75_67_reads",),
    ),
    "dsptf.network": (lambda made, paper_numbers: dsptf.network(network(made).gain), ()),
    "dsptf.explored": (explored, ()),
    "dsptf.messages": (lambda made, paper_numbers: dsptf.messages(messages(made), paper_numbers), ()),
    "dsptf.failing": (
        lambda made, paper_numbers: dsptf.failing(
            made.loop(
                "outstanding", "resent", "extra_services", "response", loss=[0.0, 0.05], timeout=[0.1, 1.0]
            ).assign_attrs(loop=32)
        ),
        (),
    ),
    "dsptf.traces": (
        lambda made, paper_numbers: dsptf.traces(made.loop("response", "hit_rate", trace=["a", "b"], scheme=FOUR)),
        (),
    ),
}
# for an exhibit that the paper does not have: the claims with the numbers that it draws
ELSEWHERE = {
    "srarray.fig9": ["srarray.fig10.cello_vs_striping"],
    "srarray.fig11_tpcc": ["srarray.fig11.tpcc[rate_1]", "srarray.fig11.tpcc[rate_3]", "srarray.fig11.tpcc_disks"],
    "dsptf.table1_interpretations": ["dsptf.table1.dsptf.throughput", "dsptf.table1.hashing.throughput"],
    "dsptf.table4_speeds": ["dsptf.table4.fast[lard]", "dsptf.table4.slow[hashing]"],
    "dsptf.messages": ["dsptf.table5.overhead_4kb", "dsptf.table5.overhead_64kb"],
}
# exhibits without several runs
ALONE = {"srarray.table2", "srarray.table3", "srarray.plan", "dsptf.table2", "dsptf.table3"}
# a coloured cell has no whisker; its subtitle has the widest interval
CELLS = {"srarray.equation16"}

# grouped by exhibit, so that a worker draws each only once
every_exhibit = pytest.mark.parametrize("exhibit", DRAWN, scope="module")


@functools.cache
def spec(exhibit: str, key: int = 1, change: Callable[[float], float] = float) -> dict:
    """Return the chart as data. change: function applied to each of the paper's numbers."""
    paper = {claim: change(value) for claim, value in PAPER_NUMBERS[exhibit.split(".")[0]].items()}
    # The tests of single figures validate charts against Vega-Lite's schema, which takes most of the time.
    with debug_mode(False):
        return DRAWN[exhibit][0](Made(key), paper).to_dict(validate=False)


def test_a_chart_copied_faster_is_altairs_chart(monkeypatch):
    """See quick_charts.py."""
    ours = spec("srarray.fig10")
    monkeypatch.setattr(schemapi, "_deep_copy", altairs_copy)
    assert json.dumps(spec.__wrapped__("srarray.fig10")) == json.dumps(ours)


@every_exhibit
def test_a_subtitle_starts_with_the_finding_in_these_data(exhibit):
    found = [spec(exhibit, key)["title"]["subtitle"][0] for key in (1, 2)]
    assert found[0] != found[1]
    assert all(any(sign.isdigit() for sign in words) and "nan" not in words for words in found)


@every_exhibit
def test_repeated_runs_have_an_interval_named_in_the_subtitle(exhibit):
    drawn = spec(exhibit)
    if exhibit not in ALONE:
        assert "95% intervals" in " ".join(drawn["title"]["subtitle"])
    if exhibit not in ALONE | CELLS:
        ends = [encoding for encoding in parts(drawn, "encoding") if {"x2", "y2"} & set(encoding)]
        assert "high" in [field for one in ends for end in ("x2", "y2") if end in one for field in one[end].values()]


def claims_of(exhibit: str) -> set[str]:
    """Return the claims with numbers that belong into a chart."""
    left_out = tuple(f"{exhibit}.{claim}" for claim in DRAWN[exhibit][1])
    own = {claim for claim in PAPER_NUMBERS[exhibit.split(".")[0]] if claim.startswith(f"{exhibit}.")}
    own = {claim for claim in own if claim not in left_out and claim.split("[")[0] not in left_out}
    return {claim.split("[")[0] for claim in own | set(ELSEWHERE.get(exhibit, []))}


def otherwise(value: float) -> float:
    """Return a number that differs from the paper's."""
    return value / 3 if value else 0.5


@every_exhibit
def test_the_papers_numbers_are_in_the_chart(exhibit):
    """If the paper gave other numbers, the chart would draw every claim differently."""
    if claims := claims_of(exhibit):
        ours, other = ({repr(row) for row in rows(spec(exhibit, change=change))} for change in (float, otherwise))
        assert len(other - ours) >= len(claims)


def test_no_exhibit_with_numbers_is_left_out():
    with_numbers = {
        ".".join(claim.split(".")[:2]) for paper_numbers in PAPER_NUMBERS.values() for claim in paper_numbers
    }
    # table 2 includes section 3.2 of SR-Array; the abstract names no setting
    assert with_numbers - {"srarray.head", "dsptf.abstract"} <= {exhibit for exhibit in DRAWN if claims_of(exhibit)} | {
        "srarray.table3"
    }


@every_exhibit
def test_the_papers_numbers_are_grey_and_their_legend_shows_the_mark(exhibit):
    drawn = spec(exhibit)
    for encoding in parts(drawn, "encoding"):
        for channel in ("fill", "color", "stroke"):
            scale = encoding.get(channel, {}).get("scale") or {}
            if str(scale.get("domain", [""])[0]).startswith("paper"):
                assert scale["range"] == [PAPER]
                assert encoding[channel]["legend"]["symbolType"]


@every_exhibit
def test_panels_in_a_row_fit_a_page(exhibit):
    for row in parts(spec(exhibit), "hconcat"):
        assert sum(next(parts(panel, "width"), 0) for panel in row) + 50 * (len(row) - 1) <= WIDE


@every_exhibit
def test_an_axis_starts_at_zero_or_names_its_start(exhibit):
    for encoding in parts(spec(exhibit), "encoding"):
        for channel in ("x", "y"):
            axis = encoding.get(channel, {})
            scale = axis.get("scale") or {}
            low = scale.get("domain", [0])[0]
            if (
                axis.get("field") in ("mean", "ours")
                and scale.get("type") != "log"
                and not isinstance(low, str)
                and low > 0
            ):
                assert f"axis starts at {low:g}" in axis["title"]
