"""Sessions of the mediator: what it chooses, and what it refuses as they come and go."""

import altair as alt
import xarray as xr

from storagekit.charts.marks import Side, lines
from storagekit.charts.panels import headed, side_by_side
from storagekit.charts.theme import COLOURS, finished
from storagekit.papers.swift.draw.palette import MEGA
from storagekit.units import KB


def choices(data: xr.Dataset) -> alt.TopLevelMixin:
    """Agents and unit that an idle cluster's mediator gives, against the data-rate asked for."""
    x = alt.X("rate:Q", title="Data-rate asked for (MB/s)", scale=alt.Scale(type="log", nice=False))
    rows = data.dropna("rate").to_dataframe().reset_index()
    rows = rows.assign(rate=rows.rate / MEGA, unit=rows.unit / KB)
    base = alt.Chart(rows).mark_line(point=True, interpolate="step-after", strokeWidth=2)
    panels = [
        headed(alt.layer(base.encode(x=x, y=alt.Y("agents:Q", title="Agents"))), "agents"),
        headed(alt.layer(base.encode(x=x, y=alt.Y("unit:Q", title="Striping unit (KB)"))), "striping unit"),
    ]
    return finished(
        side_by_side(panels, legends="independent"),
        "What the mediator chooses for one session",
        "32 idle agents with the paper's disk; the fewest agents, then the largest unit; a stripe of 4 MB at most",
    )


def allocation(summary: xr.Dataset) -> alt.TopLevelMixin:
    """Sessions refused and data-rate carried against the data-rate offered, by `policy`; over `statistic` too."""
    palette = dict(zip(summary.policy.values.tolist(), COLOURS, strict=False))
    x = Side("Data-rate offered (MB/s)", 1 / MEGA)
    share = Side("Sessions refused (%)", 100, scale=alt.Scale(domain=[0, 100], clamp=True))
    kinds = [
        headed(
            lines(summary.refused_kind.sel(kind=kind), "offered", "policy", palette, (x, share), "Policy"), kind, 230
        )
        for kind in summary.kind.values.tolist()
    ]
    rate = Side("Data-rate carried (MB/s)", 1 / MEGA)
    carried = headed(lines(summary.carried, "offered", "policy", palette, (x, rate), "Policy"), "all", 230)
    return finished(
        side_by_side([*kinds, carried], legends="shared"),
        "Who is refused as sessions come and go",
        "32 agents; a minute each: 60% audio (0.2 MB/s), 37% DVI video (1.2 MB/s), 3% full-frame video (20 MB/s)",
    )
