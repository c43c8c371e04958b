"""Charts of the cost of redundancy, of the cost of computing check data, and of the system with present-day parts."""

import math

import altair as alt
import xarray as xr

from storagekit.charts.marks import AxisStyle, from_zero, lines
from storagekit.charts.panels import headed, in_rows, side_by_side
from storagekit.charts.theme import COLOURS, finished
from storagekit.core.axes import title
from storagekit.papers.swift.draw.palette import GIGA, MEGA, in_kb


def redundancy(summary: xr.DataArray) -> alt.TopLevelMixin:
    """Draw the largest sustainable data-rate against the number of groups.

    Each number of failed agents has a line, and each fraction of writes has a panel.

    Parameters
    ----------
    summary : DataArray
        Data-rate over `groups`, `down`, `write_share` and `statistic`, bytes a second.

    Returns
    -------
    altair.TopLevelMixin
        Data-rates are in MB/s of 10^6 bytes.
    """
    palette = dict(zip(summary.down.values.tolist(), COLOURS, strict=False))
    # The scale begins at a round number; the title of the axis states it.
    ends = [math.floor(9.8 * float(summary.min()) / MEGA) / 10, 1.01 * float(summary.max()) / MEGA]
    sides = (
        AxisStyle("Groups of agents"),
        AxisStyle("Data-rate (MB/s)", 1 / MEGA, scale=alt.Scale(domain=ends, nice=False)),
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
        "Largest sustainable data-rate by number of groups with check data: 32 agents, requests of 1 MB",
        f"{_cost(summary.sel(statistic='mean'))}",
        "Each group has check data for one agent. The disks are the disks of the paper. At the largest sustainable load "
        "the mean completion time equals the mean time between requests. Whiskers are 95% intervals.",
    )


def _cost(rate: xr.DataArray) -> str:
    """Return a sentence on the loss of data-rate with the largest number of groups, relative to no groups.

    The sentence has the loss at the lowest and at the highest fraction of writes: without a failed agent, and with a
    failed agent in each group.
    """
    most, down = rate.isel(groups=-1), rate.down.values.tolist()
    lost = {
        name: 1 - most.sel(down=name) / rate.isel(groups=0).sel(down=down[0], drop=True) for name in (down[0], down[-1])
    }
    text = " and ".join(
        f"{float(lost[down[0]].sel(write_share=share)):.1%} at {share:.0%} writes "
        f"({float(lost[down[-1]].sel(write_share=share)):.1%} with {down[-1]} down)"
        for share in rate.write_share.values[[0, -1]].tolist()
    )
    return f"With {int(most.groups)} groups instead of none, the data-rate falls by {text}."


def check_data(summary: xr.DataArray) -> alt.TopLevelMixin:
    """Draw the data-rate of writes against the number of instructions for each byte of check data.

    The data-rate is a percentage of the data-rate with 0 instructions. Each set of devices and network has a line.

    Parameters
    ----------
    summary : DataArray
        Data-rate over `parts`, `instructions` and `statistic`, bytes a second.

    Returns
    -------
    altair.TopLevelMixin
        The chart has a line for each label of `parts`.
    """
    share = summary / summary.sel(instructions=0.0, statistic="mean", drop=True)
    palette = dict(zip(summary.parts.values.tolist(), COLOURS, strict=False))
    sides = (
        AxisStyle("Instructions per byte of check data"),
        AxisStyle("Data-rate (% of the rate without the cost of check data)", 100, scale=from_zero(100)),
    )
    drawn = lines(share, "instructions", "parts", palette, sides, "Parts").resolve_legend(color="shared")
    one = share.sel(statistic="mean").isel(instructions=1)
    lost = ", ".join(f"{1 - float(its):.0%} ({name.partition(':')[0]})" for name, its in zip(palette, one, strict=True))
    return finished(
        drawn,
        "Data-rate of a client that only writes, by the cost of check data",
        f"With {float(one.instructions):g} instructions per byte the data-rate falls by {lost}.",
        "There are 32 agents in four groups. At the largest sustainable load the mean completion time equals the mean "
        "time between requests. Whiskers are 95% intervals.",
    )


def modern(summary: xr.DataArray) -> alt.TopLevelMixin:
    """Draw the largest sustainable data-rate against the number of disks, with a line for each striping unit.

    Each device and link has a panel.

    Parameters
    ----------
    summary : DataArray
        Data-rate over `device`, `link`, `unit`, `disks` and `statistic`, bytes a second.

    Returns
    -------
    altair.TopLevelMixin
        Data-rates are in GB/s of 10^9 bytes.
    """
    named = summary.assign_coords(unit=[in_kb(unit) for unit in summary.unit.values])
    palette = dict(zip(reversed(named.unit.values.tolist()), COLOURS, strict=False))
    sides = {
        device: (
            AxisStyle(title("disks")),
            AxisStyle("Data-rate (GB/s)", 1 / GIGA, scale=from_zero(float(named.sel(device=device).max()) / GIGA)),
        )
        for device in named.device.values.tolist()
    }
    panels = [
        headed(
            lines(named.sel(device=device, link=link), "disks", "unit", palette, its, title("unit")),
            f"{device}, {link}",
        ).properties(height=190)
        for device, its in sides.items()
        for link in named.link.values.tolist()
    ]
    mean = named.sel(statistic="mean").max("unit").isel(disks=-1)
    most = ", ".join(
        f"{' or '.join(f'{float(mean.sel(device=device, link=link)) / GIGA:.3g}' for link in mean.link.values)} GB/s "
        f"({device})"
        for device in sides
    )
    return finished(
        in_rows(panels, named.sizes["link"]),
        "Largest sustainable data-rate with present devices",
        f"With {int(mean.disks)} disks on {' or '.join(mean.link.values)} the highest data-rate is, respectively, "
        f"{most}.",
        "Requests have 32 striping units. At the largest sustainable load the mean completion time equals the mean "
        "time between requests. Whiskers are 95% intervals. The panels of a row have the same scale.",
    )
