"""The cost of redundancy, today's parts, and sessions that come and go."""

import altair as alt
import xarray as xr

from storagekit.axes import title
from storagekit.charts.marks import Side, lines
from storagekit.charts.panels import headed, side_by_side
from storagekit.charts.theme import COLOURS, finished
from storagekit.papers.swift.draw.palette import GIGA, MEGA, in_kb


def redundancy(summary: xr.DataArray) -> alt.TopLevelMixin:
    """Sustained data-rate against groups by `down`, a panel for each share of writes; over `statistic` too."""
    palette = dict(zip(summary.down.values.tolist(), COLOURS, strict=False))
    least = float(summary.min())
    sides = (
        Side("Groups, each with one agent's worth of check data"),
        Side("Data-rate (MB/s)", 1 / MEGA, scale=alt.Scale(zero=False, domainMin=0.95 * least / MEGA)),
    )
    panels = [
        headed(
            lines(summary.sel(write_share=share), "groups", "down", palette, sides, "Agents down"),
            f"{share:.0%} writes",
            260,
        )
        for share in summary.write_share.values.tolist()
    ]
    return finished(
        side_by_side(panels, legends="shared"),
        "What redundancy costs: 32 agents, requests of 1 MB, the paper's parts",
        "the largest sustainable load; the axis does not begin at 0",
    )


def check_data(summary: xr.DataArray) -> alt.TopLevelMixin:
    """Sustained data-rate of writes, as a share of that with free check data, against instructions a byte, by `parts`."""
    share = summary / summary.sel(instructions=0.0, statistic="mean", drop=True)
    palette = dict(zip(summary.parts.values.tolist(), COLOURS, strict=False))
    sides = (
        Side("Instructions for a byte of check data"),
        Side("Data-rate, of that with free check data (%)", 100),
    )
    drawn = lines(share, "instructions", "parts", palette, sides, "Parts").resolve_legend(color="shared")
    return finished(
        drawn,
        "What computing check data costs a client that only writes",
        "32 agents in four groups; at the largest sustainable load",
    )


def modern(summary: xr.DataArray) -> alt.TopLevelMixin:
    """Sustained data-rate against disks by `unit`, a panel for each device and link."""
    named = summary.assign_coords(unit=[in_kb(unit) for unit in summary.unit.values])
    palette = dict(zip(reversed(named.unit.values.tolist()), COLOURS, strict=False))
    sides = (Side(title("disks")), Side("Data-rate (GB/s)", 1 / GIGA))
    panels = [
        headed(
            lines(named.sel(device=device, link=link), "disks", "unit", palette, sides, title("unit")),
            f"{device}, {link}",
            240,
        )
        for device in named.device.values.tolist()
        for link in named.link.values.tolist()
    ]
    return finished(
        side_by_side(panels, legends="shared"),
        "Today's parts in the same model",
        "requests of 32 units; largest sustainable load; NVMe in large units meets the client's link or processor",
    )
