"""Charts of the sessions of the mediator: its choices, and its rejections as sessions arrive and end."""

import altair as alt
import xarray as xr

from storagekit.charts.marks import AxisStyle, from_zero, lines
from storagekit.charts.panels import headed, in_rows, side_by_side
from storagekit.charts.theme import COLOURS, finished
from storagekit.core.units import KB
from storagekit.papers.swift.draw.palette import MEGA


def choices(data: xr.Dataset) -> alt.TopLevelMixin:
    """Draw the agents and the unit that the mediator of an idle cluster chooses, against the requested data-rate.

    Parameters
    ----------
    data : Dataset
        `agents` and `unit` (bytes) over `rate` (bytes a second).
    """
    x = alt.X("rate:Q", title="Data-rate asked for (MB/s)", scale=alt.Scale(type="log", nice=False))
    rows = data.dropna("rate").to_dataframe().reset_index()
    rows = rows.assign(rate=rows.rate / MEGA, unit=rows.unit / KB)
    base = alt.Chart(rows).mark_line(
        point={"color": COLOURS[0]}, color=COLOURS[0], interpolate="step-after", strokeWidth=2
    )
    panels = [
        headed(alt.layer(base.encode(x=x, y=alt.Y("agents:Q", title="Agents"))), "Agents"),
        headed(alt.layer(base.encode(x=x, y=alt.Y("unit:Q", title="Striping unit (KB)"))), "Striping unit"),
    ]
    least, most = rows.iloc[0], rows.iloc[-1]
    ends = (f"{one.rate:.2g} MB/s get {_agents(one.agents)} and units of {one.unit:,.0f} KB" for one in (least, most))
    return finished(
        side_by_side(panels, legends="independent"),
        "What the mediator chooses for one session",
        f"{', '.join(ends)}",
        "32 idle agents with the paper's disk; the fewest agents, then the largest unit; a stripe of 4 MB at most",
    )


def _agents(count: float) -> str:
    return f"{count:.0f} agent{'' if count == 1 else 's'}"


def allocation(summary: xr.Dataset) -> alt.TopLevelMixin:
    """Draw rejected sessions and carried data-rate against the offered data-rate, by policy.

    Parameters
    ----------
    summary : Dataset
        `refused_kind` and `carried` over `policy`, `offered`, `kind` and `statistic`.
    """
    palette = dict(zip(summary.policy.values.tolist(), COLOURS, strict=False))
    x = AxisStyle("Data-rate offered (MB/s)", 1 / MEGA)
    # Whiskers end at 0 and 100%. The scale goes further, so that points at the top are not cut.
    share = AxisStyle("Sessions refused (%)", 100, scale=alt.Scale(domain=[0, 104], nice=False))
    rate = AxisStyle("Data-rate carried (MB/s)", 1 / MEGA, scale=from_zero(float(summary.carried.max()) / MEGA))
    refused = summary.refused_kind.clip(0, 1)
    panels = [
        headed(lines(values, "offered", "policy", palette, (x, side), "Policy"), heading).properties(height=190)
        for values, side, heading in (
            *((refused.sel(kind=kind), share, kind[0].upper() + kind[1:]) for kind in summary.kind.values.tolist()),
            (summary.carried, rate, "All"),
        )
    ]
    most = summary.carried.sel(statistic="mean").isel(offered=-1)
    best, least = str(most.idxmax("policy").item()), str(most.idxmin("policy").item())
    return finished(
        in_rows(panels, 2),
        "Who is refused as sessions come and go",
        f"of {float(most.offered) / MEGA:g} MB/s offered, {best!r} carries {float(most.sel(policy=best)) / MEGA:.3g}, "
        f"{least!r} {float(most.sel(policy=least)) / MEGA:.3g}",
        "32 agents; a minute each: 60% audio (0.2 MB/s), 37% DVI video (1.2 MB/s), 3% full-frame video (20 MB/s); "
        "whiskers: 95%",
    )
