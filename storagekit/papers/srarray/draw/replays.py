"""Charts of response times of replayed traces against the number of disks: figures 6 to 8 (section 4.1)."""

import math
from collections.abc import Mapping, Sequence
from typing import Literal

import altair as alt
import pandas as pd
import xarray as xr

from storagekit.charts.marks import AxisStyle, Layered, cut, lines, named_points, paper_scale, points
from storagekit.charts.panels import headed, side_by_side
from storagekit.charts.theme import finished
from storagekit.charts.words import counted, listed
from storagekit.core.axes import title
from storagekit.papers.srarray.draw.palette import REPLICAS, RESPONSE, SCHEMES, TO_MS

PaperPoints = Sequence[tuple[float, float, str]]
# Largest relative excess over the best layout that counts as near.
NEAR = 0.05


def fig6(response: xr.Dataset, paper: Mapping[str, float]) -> alt.TopLevelMixin:
    """Return a chart of the response time against the number of disks, with a panel for each workload (figure 6).

    Parameters
    ----------
    response : Dataset
        A variable for each workload: response time in seconds over `scheme`, `disks` and `statistic`. The scheme
        "Model" is drawn dashed, in the colour of the SR-Array.
    paper : mapping of str to float
        The paper's number of each claim, by the identifier of the claim. The three ratios of figure 6 are for six disks
        on Cello base.

    Returns
    -------
    altair.TopLevelMixin
        Response times are in ms.
    """
    base = response["Cello base"]
    ours = at_disks(base, scheme="SR-Array", disks=6)
    others = {"RAID-10": (6, "vs_raid10"), "Striping": (6, "vs_striping"), "one disk": (1, "vs_one")}
    ratios = {name: (disks, paper[f"srarray.fig6.six_{claim}"]) for name, (disks, claim) in others.items()}
    paper_points = [(disks, ours * ratio, name) for name, (disks, ratio) in ratios.items()]
    panels = [
        headed(
            _by_scheme(rows, paper_points if name == "Cello base" else (), "equation 4, layout of equation 5"),
            str(name),
        )
        for name, rows in response.data_vars.items()
    ]
    times = {
        "RAID-10": at_disks(base, scheme="RAID-10", disks=6),
        "Striping": at_disks(base, scheme="Striping", disks=6),
    }
    times["one disk"] = at_disks(base, scheme="SR-Array", disks=1)
    return finished(
        side_by_side(panels, legends="shared"),
        "Figure 6: response times of Cello by number of disks",
        "On Cello base with six disks, the response times divided by the response time of the SR-Array are: "
        f"{_ratios({name: time / ours for name, time in times.items()}, ratios)}.",
        "The synthetic traces have the rate of the real traces. The SR-Array has the best of its simulated layouts. "
        "A diamond marks the response time that the paper implies for the scheme with this name: our response time of "
        "the SR-Array with six disks, multiplied by the paper's ratio of the two response times. Whiskers are 95% "
        "intervals.",
    )


def _ratios(ours: Mapping[str, float], paper: Mapping[str, tuple[int, float]]) -> str:
    """Return text with our ratios, each followed by the paper's ratio."""
    return listed([f"{name} {ratio:.2f} (paper: {paper[name][1]:.2f})" for name, ratio in ours.items()])


def fig7(aspects: xr.Dataset, response: xr.Dataset, paper: Mapping[str, float]) -> alt.TopLevelMixin:
    """Return a chart of the response times of SR-Arrays by disks and replicas, a panel for each workload (figure 7).

    Parameters
    ----------
    aspects : Dataset
        A variable for each workload: response time in seconds over `disks`, `replicas` and `statistic`.
    response : Dataset
        As in `fig6`. A line connects the response times of the scheme "Rule".
    paper : mapping of str to float
        The paper's number of each claim, by the identifier of the claim.

    Returns
    -------
    altair.TopLevelMixin
        Response times are in ms.
    """
    nine = {9: paper["srarray.fig7.nine_practical"]}
    advised = {"Cello base": nine | {6: paper["srarray.fig7.six[D_r]"]}, "Cello disk 6": nine}
    panels, behind = [], []
    for name, rows in aspects.data_vars.items():
        drawn = alt.layer(_by_aspect(rows, response[name]), _advised(rows, advised.get(str(name), {})))
        panels.append(headed(drawn, str(name)))
        behind += [(late, count, name) for count, late in _behind(rows, response[name]).items()]
    near, (late, count, name) = sum(late <= NEAR for late, _, _ in behind), max(behind)
    return finished(
        side_by_side(panels, legends="shared"),
        "Figure 7: response times of SR-Array layouts by number of disks",
        f"The layout of equation 5 is within {NEAR:.0%} of the best layout at {near} of {len(behind)} points. The "
        f"largest gap is {late:.0%}, with {counted(count, 'disk')} on {name}.",
        "The synthetic traces have the rate of the real traces. The line connects the layouts of equation 5. Rings "
        "mark the paper's layouts for six and nine disks. Whiskers are 95% intervals.",
    )


def _behind(aspects: xr.DataArray, response: xr.DataArray) -> dict[int, float]:
    """Return the response time of the rule's layout divided by the shortest response time, minus 1, by disks."""
    best = aspects.sel(statistic="mean", drop=True).min("replicas")
    late = response.sel(scheme="Rule", statistic="mean", drop=True) / best - 1
    return {int(count): float(late.sel(disks=count)) for count in aspects.disks.values}


def _advised(aspects: xr.DataArray, replicas: Mapping[int, float]) -> alt.Chart:
    """Return rings around the points of the paper's layouts.

    replicas: number of replicas of the paper's layout, by number of disks.
    """
    there = {disks: count for disks, count in replicas.items() if disks in aspects.disks}
    paper_points = [(disks, at_disks(aspects, disks=disks, replicas=count)) for disks, count in there.items()]
    rows = pd.DataFrame(paper_points, columns=["disks", "paper"]).assign(series="paper")
    return (
        alt.Chart(rows)
        .mark_point(shape="circle", size=220, strokeWidth=2)
        .encode(
            x=alt.X("disks", title=title("disks")),
            y=alt.Y("paper", title=cut(RESPONSE, _around(aspects).scale)),
            stroke=alt.Stroke("series:N", title=None, scale=paper_scale(), legend=alt.Legend(symbolType="circle")),
        )
    )


def fig8(response: xr.DataArray, aspects: xr.DataArray, paper: Mapping[str, float]) -> alt.TopLevelMixin:
    """Return a chart of the response times of TPC-C: schemes (left), and layouts of the SR-Array (right) (figure 8).

    Parameters
    ----------
    response : DataArray
        Response time in seconds over `scheme`, `disks` and `statistic`.
    aspects : DataArray
        Response time in seconds over `disks`, `replicas` and `statistic`.
    paper : mapping of str to float
        The paper's number of each claim, by the identifier of the claim.

    Returns
    -------
    altair.TopLevelMixin
        Response times are in ms.
    """
    most = int(response.disks.max())
    ours = at_disks(response, scheme="SR-Array", disks=most)
    ratios = {"RAID-10": (most, paper["srarray.fig8.vs_raid10"]), "Striping": (most, paper["srarray.fig8.vs_striping"])}
    paper_points = [(disks, ours * ratio, name) for name, (disks, ratio) in ratios.items()]
    shown = response.drop_sel(scheme=["Rule", "Model", "D-way mirror"], errors="ignore")
    panels = [
        headed(_by_scheme(shown, paper_points, None), "Schemes"),
        headed(_by_aspect(aspects, response), "Layouts of the SR-Array"),
    ]
    found = {name: at_disks(response, scheme=name, disks=most) / ours for name in ratios}
    return finished(
        side_by_side(panels, legends="independent"),
        "Figure 8: response times of TPC-C by number of disks",
        f"With {most} disks, the response times divided by the response time of the SR-Array are: "
        f"{_ratios(found, ratios)}. The layout of equation 5 is at most "
        f"{max(_behind(aspects, response).values()):.0%} slower than the best layout.",
        "The trace is synthetic and has the rate of the real trace. A diamond marks the response time that the paper "
        "implies for the scheme with this name: our response time of the SR-Array with the most disks, multiplied by "
        "the paper's ratio of the two response times. The grey line connects the layouts of equation 5. Whiskers are "
        "95% intervals.",
        legends="bottom",
    )


def _by_scheme(response: xr.DataArray, paper_points: PaperPoints, formula: str | None) -> Layered:
    """Return a line for each scheme, with the points `paper_points` that the paper implies.

    formula: legend of the scheme "Model", which is drawn in the colour of the SR-Array. If `formula` is None, this
    scheme is not drawn.
    """
    model = None
    if formula is not None:
        model = response.sel(scheme="Model", statistic="mean", drop=True).expand_dims(scheme=["SR-Array"])
    sides = (
        _disks(response, paper_points),
        AxisStyle(RESPONSE, TO_MS, _from_zero(response, [height for _, height, _ in paper_points])),
    )
    drawn = lines(
        response.drop_sel(scheme=["Rule", "Model"], errors="ignore"),
        "disks",
        "scheme",
        SCHEMES,
        sides,
        title("scheme"),
        model=model,
        basis=("simulated", formula or ""),
    )
    return marked(drawn, paper_points, "disks") if paper_points else drawn


def _disks(response: xr.DataArray, paper_points: PaperPoints) -> AxisStyle:
    """Return an axis of numbers of disks, with space for the names of points at the largest number of disks."""
    values = response.disks.values.tolist()
    least, most = min(values), max(values)
    room = 0.22 if any(disks == most for disks, _, _ in paper_points) else 0.03
    scale = alt.Scale(domain=[least - 0.03 * (most - least), most + room * (most - least)], nice=False)
    return AxisStyle(title("disks"), scale=scale, axis=alt.Axis(values=values, format="d", labelOverlap="greedy"))


def _from_zero(response: xr.DataArray, more: Sequence[float]) -> alt.Scale:
    """Return a scale from zero to a little above the largest of the means and of `more`, ms."""
    return alt.Scale(domain=[0, 1.1 * max(float(response.sel(statistic="mean").max()) * TO_MS, *more, 0.0)], nice=False)


def _by_aspect(aspects: xr.DataArray, response: xr.DataArray) -> Layered:
    """Return points for every number of replicas, and a line through the points of the scheme "Rule"."""
    sides = (_disks(response, ()), _around(aspects))
    shapes = points(aspects, "disks", "replicas", REPLICAS, sides, f"{title('replicas')} per disk")
    rule = response.sel(scheme="Rule", statistic="mean", drop=True).rename("mean").reset_coords(drop=True)
    line = (
        alt.Chart((rule * TO_MS).to_dataframe().reset_index())
        .mark_line(color="#999999", strokeWidth=2)
        .encode(
            x=alt.X("disks", title=title("disks"), scale=sides[0].scale, axis=sides[0].axis),
            y=alt.Y("mean", title=cut(RESPONSE, sides[1].scale), scale=sides[1].scale),
        )
    )
    return alt.layer(line, shapes)


def _around(response: xr.DataArray) -> AxisStyle:
    """Return an axis of response times for the range of the means, with margins. It begins at a whole millisecond."""
    means = response.sel(statistic="mean") * TO_MS
    low, high = float(means.min()), float(means.max())
    room = 0.1 * (high - low)
    return AxisStyle(RESPONSE, TO_MS, alt.Scale(domain=[math.floor(low - room), high + room], nice=False))


def at_disks(response: xr.DataArray, **where) -> float:
    """Return the mean response time at a point, ms.

    Parameters
    ----------
    response : DataArray
        Response time in seconds, with the dimension `statistic`.
    **where
        The coordinates of the point.
    """
    return float(response.sel(statistic="mean", **where)) * TO_MS


def marked(chart: Layered, paper_points: PaperPoints, x: str, side: Literal["left", "right"] = "right") -> Layered:
    """Return a chart with the paper's points on it.

    Parameters
    ----------
    chart : Layered
        The chart.
    paper_points : sequence of (float, float, str)
        Position, response time in ms and name of each point.
    x : str
        Name of the horizontal axis.
    side : "left" or "right"
        Side of the point for its name, by default "right".
    """
    return alt.layer(chart, named_points(paper_points, x, (title(x), RESPONSE), side))
