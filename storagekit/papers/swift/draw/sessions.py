"""Charts of the layouts that the mediator chooses, and of the sessions that it rejects as sessions arrive and end."""

import altair as alt
import xarray as xr

from storagekit.charts.marks import AxisStyle, from_zero, lines
from storagekit.charts.panels import headed, in_rows, side_by_side
from storagekit.charts.theme import COLOURS, finished
from storagekit.core.units import KB
from storagekit.papers.swift.draw.palette import MEGA


def choices(data: xr.Dataset) -> alt.TopLevelMixin:
    """Draw the number of agents and the unit that the mediator of an idle cluster chooses for each data-rate.

    Parameters
    ----------
    data : Dataset
        `agents` and `unit` (bytes) over `rate` (bytes a second).

    Returns
    -------
    altair.TopLevelMixin
        The unit is in KB, and the data-rate in MB/s of 10^6 bytes.
    """
    x = alt.X("rate:Q", title="Requested data-rate (MB/s)", scale=alt.Scale(type="log", nice=False))
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
    ends = (
        f"At {one.rate:.2g} MB/s a session gets {_agents(one.agents)} and units of {one.unit:,.0f} KB."
        for one in (least, most)
    )
    return finished(
        side_by_side(panels, legends="independent"),
        "Number of agents and striping unit that the mediator selects for one session",
        f"{' '.join(ends)}",
        "There are 32 idle agents with the disk of the paper. The mediator selects the layout with the fewest agents, "
        "and among several layouts the layout with the largest unit. A stripe has at most 4 MB.",
    )


def _agents(count: float) -> str:
    return f"{count:.0f} agent{'' if count == 1 else 's'}"


def allocation(summary: xr.Dataset) -> alt.TopLevelMixin:
    """Draw the fraction of rejected sessions and the carried data-rate against the offered data-rate, by policy.

    Parameters
    ----------
    summary : Dataset
        `refused_kind` and `carried` over `policy`, `offered`, `kind` and `statistic`.

    Returns
    -------
    altair.TopLevelMixin
        Fractions are in %, and data-rates in MB/s of 10^6 bytes.
    """
    palette = dict(zip(summary.policy.values.tolist(), COLOURS, strict=False))
    x = AxisStyle("Offered data-rate (MB/s)", 1 / MEGA)
    # Whiskers end at 0 and 100%. The scale goes further, so that points at the top are not cut.
    share = AxisStyle("Rejected sessions (%)", 100, scale=alt.Scale(domain=[0, 104], nice=False))
    rate = AxisStyle("Carried data-rate (MB/s)", 1 / MEGA, scale=from_zero(float(summary.carried.max()) / MEGA))
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
        "Rejected sessions and carried data-rate under each policy of the mediator",
        f"At an offered data-rate of {float(most.offered) / MEGA:g} MB/s, the policy {best!r} carries "
        f"{float(most.sel(policy=best)) / MEGA:.3g} MB/s, and {least!r} carries "
        f"{float(most.sel(policy=least)) / MEGA:.3g} MB/s.",
        "There are 32 agents. Sessions last a minute. 60% of them are audio (0.2 MB/s), 37% DVI video (1.2 MB/s), and "
        "3% full-frame video (20 MB/s). Whiskers are 95% intervals.",
    )
