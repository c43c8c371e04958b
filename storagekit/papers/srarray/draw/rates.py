"""Response times against the traces' rate, drawn: figures 9 and 10."""

from collections.abc import Mapping

import altair as alt
import numpy as np
import xarray as xr

from storagekit.axes import title
from storagekit.charts.marks import Layered, Side, level, lines
from storagekit.charts.panels import headed, side_by_side
from storagekit.charts.theme import finished
from storagekit.papers.srarray.draw.palette import CELLO, RATES, RESPONSE, SCHEDULERS, TO_MS, TPCC
from storagekit.papers.srarray.draw.replays import marked

LIMIT = 15e-3
SHOWN = 30.0
# the layout that the paper's ratios of sustainable rates are to, and which other each of them is of
RATIOS = {
    "Cello base": ("2x3x1", {"cello_vs_raid10": "3x1x2", "cello_vs_striping": "6x1x1"}),
    "TPC-C": ("36x1x1", {"tpcc_vs_18x2": "18x2x1", "tpcc_vs_raid10": "18x1x2"}),
}


def fig9(response: xr.Dataset) -> alt.TopLevelMixin:
    """Response time against rate by layout and scheduler; a panel for each workload, which are the variables.

    Schedulers are "LOOK" and "SATF", which on an SR-Array are RLOOK and RSATF; layouts without LOOK are left out.
    """
    panels = []
    for name, rows in response.data_vars.items():
        rows = rows.sel(layout=rows.sel(scheduler="LOOK", drop=True).notnull().any(["scale", "statistic"]))
        pairs = [(layout, way) for layout in rows.layout.values.tolist() for way in rows.scheduler.values.tolist()]
        named = {_scheduled(layout, way): rows.sel(layout=layout, scheduler=way, drop=True) for layout, way in pairs}
        joined = xr.concat(list(named.values()), dim="series").assign_coords(series=list(named))
        palette = {one: colour for kind, colour in SCHEDULERS.items() for one in named if one.endswith(f" {kind}")}
        panels.append(headed(_against_rate(joined, "series", "Layout and scheduler", palette), str(name)))
    return finished(
        side_by_side(panels, legends="independent"),
        "Figure 9: schedulers as the rate rises",
        f"stand-ins; what lies above {SHOWN:.0f} ms is cut off",
    )


def fig10(response: xr.Dataset, paper: Mapping[str, float]) -> alt.TopLevelMixin:
    """Response time against rate by layout under SATF and RSATF; a panel for each workload, "Cello base" and "TPC-C"."""
    panels = []
    for name, rows in response.sel(scheduler="SATF").data_vars.items():
        best, ratios = RATIOS[str(name)]
        ours = _reached(rows.sel(layout=best, statistic="mean"))
        said = [(ours / paper[f"srarray.fig10.{key}"], LIMIT * TO_MS, words) for key, words in ratios.items()]
        drawn = _against_rate(rows, "layout", title("layout"), TPCC if name == "TPC-C" else CELLO)
        panels.append(headed(marked(drawn, said, "scale"), str(name)))
    return finished(
        side_by_side(panels, legends="independent"),
        "Figure 10: layouts as the rate rises",
        "stand-ins; diamonds: the rates at 15 ms that the paper's ratios to our "
        f"{' and '.join(best for best, _ in RATIOS.values())} give; cut off at {SHOWN:.0f} ms",
    )


def _against_rate(rows: xr.DataArray, colour: str, legend: str, palette: Mapping[str, str]) -> Layered:
    """Lines over the scale of the rate, cut off at `SHOWN`, with a level at `LIMIT`."""
    ticks = alt.Axis(values=[1, 2, 5, 10, 20, 50, 100, 200], format="d")
    sides = (
        Side(title("scale"), scale=alt.Scale(type="log", nice=False, padding=8), axis=ticks),
        Side(RESPONSE, TO_MS, alt.Scale(domain=[0, SHOWN])),
    )
    return alt.layer(
        level(LIMIT, f"{LIMIT * TO_MS:.0f} ms", TO_MS), lines(rows, "scale", colour, palette, sides, legend)
    )


def by_rate(rows: xr.DataArray, x: str, across: Side, height: Side) -> Layered:
    """Lines for each scale of the rate."""
    names = [f"{scale:g}" for scale in rows.scale.values]
    palette = dict(zip(names, RATES, strict=False))
    return lines(rows.assign_coords(scale=names), x, "scale", palette, (across, height), title("scale"))


def _scheduled(layout: str, way: str) -> str:
    """A layout and its scheduler, whose name begins with R where a disk holds several copies."""
    return f"{layout}, {way}" if layout.split("x")[1] == "1" else f"{layout}, R{way}"


def _reached(response: xr.DataArray, limit: float = LIMIT) -> float:
    """The scale at which a rising curve of means reaches `limit`, both logarithmic; its last where it does not."""
    known = response.dropna("scale")
    return float(np.exp(np.interp(np.log(limit), np.log(known.values), np.log(known.scale.values))))
