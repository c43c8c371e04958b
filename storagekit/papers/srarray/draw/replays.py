"""The replayed traces of section 4.1, drawn: response times against disks, figures 6 to 8."""

from collections.abc import Mapping, Sequence
from typing import Literal

import altair as alt
import numpy as np
import xarray as xr

from storagekit.axes import title
from storagekit.charts.marks import Layered, Side, lines, named_points, points
from storagekit.charts.panels import headed, side_by_side
from storagekit.charts.theme import finished
from storagekit.papers.srarray.draw.palette import REPLICAS, RESPONSE, SCHEMES, TO_MS

Said = Sequence[tuple[float, float, str]]


def fig6(response: xr.Dataset, paper: Mapping[str, float]) -> alt.TopLevelMixin:
    """Response time against disks by scheme; a panel for each workload, which are the variables.

    The scheme "Model" is drawn as the SR-Array's, dashed. The paper's three ratios are of six disks on Cello base.
    """
    ours = at_disks(response["Cello base"], scheme="SR-Array", disks=6)
    said = [
        (6, ours * paper["srarray.fig6.six_vs_raid10"], "RAID-10"),
        (6, ours * paper["srarray.fig6.six_vs_striping"], "Striping"),
        (1, ours * paper["srarray.fig6.six_vs_one"], "one disk"),
    ]
    panels = [
        headed(_by_scheme(rows, said if name == "Cello base" else (), "equation 4"), str(name))
        for name, rows in response.data_vars.items()
    ]
    return finished(
        side_by_side(panels, legends="shared"),
        "Figure 6: one request at a time, more disks",
        "stand-ins at their own rate; diamonds: the paper's ratios to the SR-Array of six disks",
    )


def fig7(aspects: xr.Dataset, response: xr.Dataset) -> alt.TopLevelMixin:
    """SR-Arrays with each number of replicas, and a line through those that the rule gives; a panel for each workload.

    aspects: by disks and replicas. response: by scheme and disks, as in `fig6`; the line is that of the scheme "Rule".
    """
    panels = [headed(_by_aspect(aspects[name], response[name]), str(name)) for name in aspects.data_vars]
    return finished(
        side_by_side(panels, legends="shared"),
        "Figure 7: other shapes of the same disks",
        "stand-ins at their own rate; the line goes through the shapes that equation 5 gives",
    )


def fig8(response: xr.DataArray, aspects: xr.DataArray, paper: Mapping[str, float]) -> alt.TopLevelMixin:
    """TPC-C: schemes on the left, shapes of the SR-Array on the right."""
    most = int(response.disks.max())
    ours = at_disks(response, scheme="SR-Array", disks=most)
    said = [
        (most, ours * paper["srarray.fig8.vs_raid10"], "RAID-10"),
        (most, ours * paper["srarray.fig8.vs_striping"], "Striping"),
    ]
    shown = response.drop_sel(scheme=["Rule", "Model", "D-way mirror"], errors="ignore")
    panels = [
        headed(_by_scheme(shown, said, None), "Schemes"),
        headed(_by_aspect(aspects, response), "Shapes of the SR-Array"),
    ]
    return finished(
        side_by_side(panels, legends="independent"),
        "Figure 8: TPC-C at its own rate",
        f"stand-in; diamonds: the paper's ratios to the SR-Array of {most} disks; grey: the shapes that equation 5 gives",
    )


def _by_scheme(response: xr.DataArray, said: Said, formula: str | None) -> Layered:
    """Lines by scheme; the paper's points `said`; the scheme "Model" as what `formula` gives the SR-Array."""
    model = None
    if formula is not None:
        model = response.sel(scheme="Model", statistic="mean", drop=True).expand_dims(scheme=["SR-Array"])
    sides = (Side(title("disks")), _around(response, [height for _, height, _ in said]))
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
    side = "left" if said and said[0][0] == float(response.disks.max()) else "right"
    return marked(drawn, said, "disks", side) if said else drawn


def _by_aspect(aspects: xr.DataArray, response: xr.DataArray) -> Layered:
    """Points for every number of replicas, and the line of the scheme "Rule"."""
    sides = (Side(title("disks")), _around(aspects))
    shapes = points(aspects, "disks", "replicas", REPLICAS, sides, f"{title('replicas')} on a disk")
    rule = response.sel(scheme="Rule", statistic="mean", drop=True).rename("mean").reset_coords(drop=True)
    line = (
        alt.Chart((rule * TO_MS).to_dataframe().reset_index())
        .mark_line(color="#999999", strokeWidth=2)
        .encode(x=alt.X("disks", title=title("disks")), y=alt.Y("mean", title=RESPONSE, scale=sides[1].scale))
    )
    return alt.layer(line, shapes)


def _around(response: xr.DataArray, more: Sequence[float] = ()) -> Side:
    """Response times over the range of the means and of `more` values in ms, with a little room."""
    means = response.sel(statistic="mean") * TO_MS
    low, high = min(float(means.min()), *more, np.inf), max(float(means.max()), *more, -np.inf)
    room = 0.1 * (high - low)
    return Side(RESPONSE, TO_MS, alt.Scale(domain=[low - room, high + room], nice=False))


def at_disks(response: xr.DataArray, **where) -> float:
    """A mean in ms."""
    return float(response.sel(statistic="mean", **where)) * TO_MS


def marked(chart: Layered, said: Said, x: str, side: Literal["left", "right"] = "right") -> Layered:
    return alt.layer(chart, named_points(said, x, (title(x), RESPONSE), side))
