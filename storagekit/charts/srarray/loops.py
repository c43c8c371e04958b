"""The closed loops of section 4.2, drawn, and equation 16 beside them."""

import altair as alt
import pandas as pd
import xarray as xr

from storagekit.axes import title
from storagekit.charts.marks import Layered, Side, lines
from storagekit.charts.panels import headed, side_by_side
from storagekit.charts.srarray.look import CELLO, LOOPS
from storagekit.charts.theme import finished

# percent, so that maps with small errors look pale beside others
LEAST_RANGE = 30.0
BASIS = ("simulated", "equation 16")


def fig12(summary: xr.Dataset, model: xr.DataArray) -> alt.TopLevelMixin:
    """Throughput against disks by scheme, a panel for each queue. model: equation 16, by disks and queue."""
    said = model.expand_dims(scheme=["SR-Array, RLOOK"])
    sides = (Side(title("disks")), _rate(summary, model))
    panels = []
    for queue in summary.queue.values.tolist():
        rate, formula = summary.request_rate.sel(queue=queue), said.sel(queue=queue)
        drawn = lines(rate, "disks", "scheme", LOOPS, sides, title("scheme"), model=formula, basis=BASIS)
        panels.append(headed(drawn, f"{queue} outstanding"))
    return finished(
        side_by_side(panels, legends="shared"),
        "Figure 12: random reads from more disks",
        "512 B, locality 3; RSATF or SATF where nothing else is said; dashed: what the formula gives for RLOOK",
    )


def fig13(summary: xr.Dataset, model: xr.DataArray) -> alt.TopLevelMixin:
    """Throughput against write share by layout; rows for schedulers, columns for queues. model: by layout too.

    The formula is RLOOK's, and drawn there only; it gives a mirror what it gives copies on one disk, and is drawn once.
    """
    mirrored = [name for name in model.layout.values.tolist() if not name.endswith("x1")]
    said = model.drop_sel(layout=mirrored)
    sides = (Side(f"{title('write_share')} (%)", 100), _rate(summary, model))

    def panel(scheduler: str, queue: int) -> Layered:
        rate = summary.request_rate.sel(scheduler=scheduler, queue=queue)
        formula = said.sel(queue=queue) if scheduler == "RLOOK" else None
        drawn = lines(rate, "write_share", "layout", CELLO, sides, title("layout"), model=formula, basis=BASIS)
        return headed(drawn, f"{scheduler}, {queue} outstanding")

    rows = [
        side_by_side([panel(scheduler, queue) for queue in summary.queue.values.tolist()], legends="shared")
        for scheduler in summary.scheduler.values.tolist()
    ]
    return finished(
        alt.vconcat(*rows).resolve_scale(color="shared", shape="shared", strokeDash="independent"),
        "Figure 13: what foreground writes cost",
        f"six disks, 512 B, locality 3, every copy written before the answer; the formula gives {', '.join(mirrored)} "
        "what it gives 3x2x1",
    )


def equation16(error: xr.DataArray, drive: str) -> alt.TopLevelMixin:
    """Relative error of equation 16 as a heat map over disks and queue for each disk, a panel for each write share.

    drive: what the subtitle calls the simulated one.
    """
    rows = (100 * error.sel(statistic="mean", drop=True)).rename("error").reset_coords(drop=True)
    most = max(LEAST_RANGE, float(abs(rows).max()))
    frame = rows.to_dataframe().reset_index()
    panels = [
        headed(_cells(frame.query("write_share == @share"), most, number == 0), f"{share:.0%} writes", width=220)
        for number, share in enumerate(error.write_share.values.tolist())
    ]
    return finished(
        side_by_side(panels, legends="shared"),
        "Equation 16 against the simulated RLOOK array",
        f"{drive}; percent of the simulated throughput, at the layout that the rule gives",
    )


def _cells(frame: pd.DataFrame, most: float, first: bool) -> Layered:
    """Coloured cells with their numbers; the first panel of a row names the y axis."""
    base = alt.Chart(frame).encode(
        x=alt.X("disks:O", title=title("disks"), axis=alt.Axis(labelAngle=0)),
        y=alt.Y("each:O", title=title("each") if first else None, sort="descending"),
    )
    shade = alt.Color(
        "error:Q",
        title="Formula less simulation (%)",
        scale=alt.Scale(scheme="blueorange", domain=[-most, most], reverse=True),
        legend=alt.Legend(orient="bottom", gradientLength=300, titleLimit=300),
    )
    text = base.mark_text(fontSize=11).encode(
        text=alt.Text("error:Q", format="+.0f"),
        color=alt.when(abs(alt.datum.error) > 0.7 * most).then(alt.value("white")).otherwise(alt.value("black")),
    )
    return alt.layer(base.mark_rect().encode(color=shade), text).properties(height=220)


def _rate(summary: xr.Dataset, model: xr.DataArray) -> Side:
    """Throughput from zero to the highest mean of all panels."""
    most = max(float(summary.request_rate.sel(statistic="mean").max()), float(model.max()))
    return Side("Throughput (IO/s)", scale=alt.Scale(domain=[0, 1.05 * most]))
