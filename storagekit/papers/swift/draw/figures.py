"""Charts of figures 3 to 6: the completion time against the load, and the largest sustainable data-rate."""

from collections.abc import Mapping

import altair as alt
import xarray as xr

from storagekit.charts.marks import AxisStyle, Layered, from_zero, lines, paper_points, table, upright
from storagekit.charts.panels import headed, side_by_side
from storagekit.charts.theme import COLOURS, HEIGHT, finished
from storagekit.core.axes import title
from storagekit.papers.swift.draw.palette import DISK_COLOURS, MEGA, UNIT_COLOURS, in_kb

BAND = "A shaded band is the range between a lower and an upper bound, by formulas that consider only the disks."
SUSTAINED = (
    "The data-rate is simulated at the load at which the mean completion time of a request equals the mean time "
    "between requests. Whiskers are 95% intervals."
)


def fig3(summary: xr.DataArray, data: xr.Dataset, paper: Mapping[str, float] | None = None) -> alt.TopLevelMixin:
    """Draw the completion time against the load, with a line for each number of disks and a panel for each unit.

    Parameters
    ----------
    summary : DataArray
        Completion time over `unit`, `disks`, `load` and `statistic`, seconds.
    data : Dataset
        The data of the summary. Only `rate`, the bounds `low` and `high`, and `utilization` are used.
    paper : mapping of str to float, optional
        Numbers of the paper by identifier of the claim. The paper's largest load on 32 disks is drawn in the panel of
        the largest unit.

    Returns
    -------
    altair.TopLevelMixin
        The completion time is in s, and the load in requests/s.
    """
    units = summary.unit.values.tolist()
    panels: list[Layered] = [
        headed(_against_load(summary.sel(unit=unit), data.sel(unit=unit)), f"Units of {in_kb(unit)}", width=268)
        for unit in units
    ]
    most = data.isel(disks=-1, load=-1)
    carried = " and ".join(
        f"{float(most.rate.sel(unit=unit)):.3g} requests/s in units of {in_kb(unit)}" for unit in (units[0], units[-1])
    )
    finding = f"With {int(most.disks)} disks, a load of {float(most['load']):.0%} of saturation is {carried}."
    if paper:
        said = paper["swift.fig3.knee_32"]
        rule = upright(said, f"paper: {said:g}/s")
        panels[-1] = alt.layer(panels[-1], rule).properties(title=panels[-1].title)
        # Utilization is proportional to load.
        last = data.sel(unit=units[-1], disks=32).isel(load=-1)
        busy = said * float(last.utilization.sel(resource="disk") / last.rate)
        half = paper["swift.fig3.utilization_at_knee"]
        finding += f" At the paper's largest load, {said:g} requests/s, disks are {busy:.0%} busy (paper: {half:.0%})."
    return finished(
        side_by_side(panels, legends="shared").resolve_scale(y="shared"),
        "Figure 3: completion time of requests of 1 MB, by disks and striping unit",
        f"{finding}",
        "The mean seek time is 16 ms, the mean rotational latency 8.3 ms, and the transfer rate 2.5 MB/s. "
        f"{BAND} Whiskers are 95% intervals.",
        legends="bottom",
    )


def fig4(summary: xr.DataArray, data: xr.Dataset) -> alt.TopLevelMixin:
    """Draw the completion time of small requests on the slower disk against the load.

    Parameters
    ----------
    summary : DataArray
        Completion time over `disks`, `load` and `statistic`, seconds.
    data : Dataset
        The data of the summary; see `fig3`.

    Returns
    -------
    altair.TopLevelMixin
        The completion time is in s, and the load in requests/s.
    """
    most = data.rate.isel(load=-1)
    carried = " and ".join(
        f"{float(most.sel(disks=count)):.3g} requests/s with {count} disks" for count in most.disks.values[[0, -1]]
    )
    return finished(
        _against_load(summary, data).properties(width=420, height=HEIGHT),
        "Figure 4: completion time of requests of 128 KB in units of 4 KB, with a slower disk",
        f"A load of {float(most['load']):.0%} of saturation is {carried}.",
        "The mean seek time is 16 ms, the mean rotational latency 8.3 ms, and the transfer rate 1.5 MB/s. "
        f"{BAND} Whiskers are 95% intervals.",
    )


def fig5(summary: xr.DataArray, paper: Mapping[str, float]) -> alt.TopLevelMixin:
    """Draw the largest sustainable data-rate against the number of disks, by device.

    Parameters
    ----------
    summary : DataArray
        Data-rate over `device`, `disks` and `statistic`, bytes a second.
    paper : mapping of str to float
        Numbers of the paper by identifier of the claim.

    Returns
    -------
    altair.TopLevelMixin
        Data-rates are in MB/s of 10^6 bytes.
    """
    palette = dict(zip(summary.device.values.tolist(), COLOURS, strict=False))
    said = paper["swift.fig5.rate_32"]
    found = [f"{float(one) / MEGA:.2f}" for one in summary.sel(statistic="mean", disks=32)]
    return _sustained(
        summary,
        "device",
        palette,
        "Disk",
        said,
        "Figure 5: sustainable data-rate of a client with requests of 128 KB in units of 4 KB",
        f"32 disks sustain {' or '.join(found)} MB/s (paper: about {said:g}).",
    )


def fig6(summary: xr.DataArray, paper: Mapping[str, float]) -> alt.TopLevelMixin:
    """Draw the largest sustainable data-rate with requests of 1 MB against the number of disks, by unit.

    Parameters
    ----------
    summary : DataArray
        Data-rate over `unit`, `disks` and `statistic`, bytes a second.
    paper : mapping of str to float
        Numbers of the paper by identifier of the claim.

    Returns
    -------
    altair.TopLevelMixin
        Data-rates are in MB/s of 10^6 bytes.
    """
    named = summary.assign_coords(unit=[in_kb(unit) for unit in summary.unit.values])
    said = paper["swift.fig6.rate_32"]
    most = named.sel(statistic="mean", disks=32).isel(unit=[0, -1])
    least, largest = most.unit.values.tolist()
    return _sustained(
        named,
        "unit",
        dict(reversed(UNIT_COLOURS.items())),
        title("unit"),
        said,
        "Figure 6: sustainable data-rate of a client with requests of 1 MB",
        f"32 disks sustain {float(most[1]) / MEGA:.3g} MB/s in units of {largest} (paper: nearly {said:g}). This is "
        f"{float(most[1] / most[0]):.2g} times the data-rate in units of {least}.",
    )


def _sustained(
    summary: xr.DataArray, colour: str, palette: dict[str, str], legend: str, said: float, heading: str, finding: str
) -> alt.TopLevelMixin:
    """Return a chart of the data-rate against the number of disks, with the paper's number for 32 disks."""
    top = max(float(summary.max()) / MEGA, said)
    sides = (AxisStyle(title("disks")), AxisStyle("Data-rate (MB/s)", 1 / MEGA, scale=from_zero(top)))
    drawn = lines(summary, "disks", colour, palette, sides, legend)
    mark = paper_points([(32, said)], "disks", (sides[0].title, sides[1].title))
    return finished(alt.layer(drawn, mark), heading, finding, SUSTAINED)


def _against_load(summary: xr.DataArray, data: xr.Dataset) -> Layered:
    """Return a chart of the completion time and its bounds against the load, with a line for each number of disks."""
    rows = table(summary)
    for name, column in (("rate", "rate"), ("low", "least"), ("high", "most")):
        rows = rows.merge(data[name].rename(column).reset_coords(drop=True).to_dataframe().reset_index())
    rows["disks"] = rows["disks"].astype(str)
    present = [name for name in DISK_COLOURS if name in set(rows["disks"])] or list(rows["disks"].unique())
    shades = alt.Scale(domain=present, range=[DISK_COLOURS.get(name, COLOURS[0]) for name in present])
    base = alt.Chart(rows).encode(
        x=alt.X("rate:Q", title="Load (requests/s)"),
        color=alt.Color("disks:N", title=title("disks"), scale=shades, legend=alt.Legend(symbolOpacity=1)),
    )
    scale = alt.Scale(type="log", nice=False, padding=6)
    y = alt.Y("mean:Q", title="Time to complete a request (s)", scale=scale)
    return alt.layer(
        base.mark_area(opacity=0.15).encode(y=alt.Y("least:Q", scale=scale), y2="most"),
        base.mark_line(strokeWidth=2).encode(y=y),
        base.mark_rule(strokeWidth=1.2).encode(y=alt.Y("low:Q", scale=scale), y2="high"),
        base.mark_point(size=22, filled=True).encode(y=y),
    )
