"""Charts of the closed loops of section 4.2: figures 12 and 13."""

import math
from collections.abc import Mapping

import altair as alt
import numpy as np
import xarray as xr

from storagekit.charts.marks import AxisStyle, Layered, lines, upright
from storagekit.charts.panels import headed, side_by_side
from storagekit.charts.theme import finished
from storagekit.charts.words import change, listed, span
from storagekit.core.axes import title
from storagekit.papers.srarray.draw.palette import CELLO, LOOPS

BASIS = ("simulated", "equation 16")


def fig12(summary: xr.Dataset, model: xr.DataArray) -> alt.TopLevelMixin:
    """Return a chart of the throughput against the number of disks, with a panel for each queue (figure 12).

    Parameters
    ----------
    summary : Dataset
        `request_rate`, in requests a second, over `scheme`, `disks`, `queue` and `statistic`.
    model : DataArray
        Requests a second by equation 16, over `disks` and `queue`.

    Returns
    -------
    altair.TopLevelMixin
        The throughput is in IO/s.
    """
    said = model.expand_dims(scheme=["SR-Array, RLOOK"])
    sides = (AxisStyle(title("disks")), _rate(summary, model))
    panels = []
    for queue in summary.queue.values.tolist():
        rate, formula = summary.request_rate.sel(queue=queue), said.sel(queue=queue)
        drawn = lines(rate, "disks", "scheme", LOOPS, sides, title("scheme"), model=formula, basis=BASIS)
        panels.append(headed(drawn, f"{queue} outstanding"))
    return finished(
        side_by_side(panels, legends="shared"),
        "Figure 12: throughput of random reads by number of disks",
        f"{_ahead(summary)} The mean error of equation 16 over all numbers of disks is "
        f"{span(_apart(summary, model))}% for RLOOK.",
        "Requests have 512 B and a seek locality of 3. SR-Arrays use RSATF and other schemes use SATF, unless the "
        "legend names RLOOK. The dashed line is equation 16, the formula for RLOOK. Whiskers are 95% intervals.",
    )


def _ahead(summary: xr.Dataset) -> str:
    """Return a sentence that compares the throughputs of the SR-Array and of the best other scheme, for each queue.

    The comparison is for the largest number of disks.
    """
    rate = summary.request_rate.sel(statistic="mean").isel(disks=-1)
    others = rate.sel(scheme=["RAID-10", "Striping"]).max("scheme")
    words = [
        f"{change(float(rate.sel(scheme='SR-Array', queue=queue) / others.sel(queue=queue)))} with {queue} outstanding"
        for queue in summary.queue.values.tolist()
    ]
    return f"With {rate.disks.item()} disks, compared with the best other scheme, the SR-Array serves {listed(words)}."


def _apart(summary: xr.Dataset, model: xr.DataArray) -> list[float]:
    """Return, for each queue, the mean over disks of the absolute relative error of equation 16, percent."""
    rate = summary.request_rate.sel(scheme="SR-Array, RLOOK", statistic="mean")
    return (100 * abs(model / rate - 1).mean("disks")).values.tolist()


def fig13(summary: xr.Dataset, model: xr.DataArray, paper: Mapping[str, float]) -> alt.TopLevelMixin:
    """Return a chart of the throughput against the fraction of writes, with a line for each layout (figure 13).

    Each scheduler has a row of panels, and each queue has a column.

    Parameters
    ----------
    summary : Dataset
        `request_rate`, in requests a second, over `layout`, `queue`, `write_share`, `scheduler` and `statistic`.
    model : DataArray
        Requests a second by equation 16, over `layout`, `queue` and `write_share`.
    paper : mapping of str to float
        The paper's number of each claim, by the identifier of the claim.

    Returns
    -------
    altair.TopLevelMixin
        The throughput is in IO/s, and the fraction of writes in %.

    Notes
    -----
    Equation 16 applies to RLOOK and is drawn only in the panels of RLOOK. It is not drawn for layouts with mirrors.
    """
    mirrored = [name for name in model.layout.values.tolist() if not name.endswith("x1")]
    said = model.drop_sel(layout=mirrored)
    sides = (AxisStyle(f"{title('write_share')} (%)", 100), _rate(summary, model))
    bound = 100 * paper["srarray.fig13.crossover_rlook"]

    def panel(scheduler: str, queue: int) -> Layered:
        rate = summary.request_rate.sel(scheduler=scheduler, queue=queue)
        formula = said.sel(queue=queue) if scheduler == "RLOOK" else None
        drawn = lines(rate, "write_share", "layout", CELLO, sides, title("layout"), model=formula, basis=BASIS)
        drawn = (
            alt.layer(drawn, upright(bound, f"paper: crossing below {bound:.0f}%", "right"))
            if scheduler == "RLOOK"
            else drawn
        )
        return headed(drawn.properties(height=200), f"{scheduler}, {queue} outstanding", 380)

    rows = [
        side_by_side([panel(scheduler, queue) for queue in summary.queue.values.tolist()], legends="shared")
        for scheduler in summary.scheduler.values.tolist()
    ]
    return finished(
        alt.vconcat(*rows).resolve_scale(color="shared", shape="shared", strokeDash="independent"),
        "Figure 13: throughput of six disks by fraction of foreground writes",
        f"Striping overtakes 3x2x1 at a write fraction of {_crossings(summary)}. In the paper this fraction is below "
        f"{bound:.0f}% under RLOOK, and smaller under RSATF.",
        "The requests have 512 B and a seek locality of 3. A write completes when every copy is written. Dashed "
        f"lines are equation 16, which is not drawn for {', '.join(mirrored)}. Whiskers are 95% intervals.",
    )


def _crossings(summary: xr.Dataset) -> str:
    """Return, as text, the write fraction at which striping overtakes 3x2x1, for each scheduler.

    A range of fractions covers the queues.
    """
    gain = summary.request_rate.sel(statistic="mean")
    lead = gain.sel(layout="3x2x1", drop=True) - gain.sel(layout="6x1x1", drop=True)
    words = []
    for scheduler in summary.scheduler.values.tolist():
        found = [_zero(lead.sel(scheduler=scheduler, queue=queue)) for queue in summary.queue.values]
        words.append(f"{span(found)}% ({scheduler})")
    return listed(words)


def _zero(lead: xr.DataArray) -> float:
    """Return the fraction of writes, in percent, at which a falling lead becomes zero; NaN if it stays above zero."""
    behind = np.flatnonzero(lead.values <= 0)
    if not behind.size:
        return math.nan
    ends = lead.isel(write_share=[max(int(behind[0]) - 1, 0), int(behind[0])])
    return 100 * float(np.interp(0, -ends.values, ends.write_share.values))


def _rate(summary: xr.Dataset, model: xr.DataArray) -> AxisStyle:
    """Return an axis of throughput, from zero to the highest mean of all panels."""
    most = max(float(summary.request_rate.sel(statistic="mean").max()), float(model.max()))
    return AxisStyle("Throughput (IO/s)", scale=alt.Scale(domain=[0, 1.05 * most]))
