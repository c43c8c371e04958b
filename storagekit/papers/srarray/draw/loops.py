"""The closed loops of section 4.2, drawn: figures 12 and 13."""

import altair as alt
import xarray as xr

from storagekit.axes import title
from storagekit.charts.marks import Layered, Side, lines
from storagekit.charts.panels import headed, side_by_side
from storagekit.charts.theme import finished
from storagekit.papers.srarray.draw.palette import CELLO, LOOPS

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


def _rate(summary: xr.Dataset, model: xr.DataArray) -> Side:
    """Throughput from zero to the highest mean of all panels."""
    most = max(float(summary.request_rate.sel(statistic="mean").max()), float(model.max()))
    return Side("Throughput (IO/s)", scale=alt.Scale(domain=[0, 1.05 * most]))
