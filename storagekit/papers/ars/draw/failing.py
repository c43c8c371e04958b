"""Charts of the number of nodes that have a write on disk, and of the number of nodes that a read is sent to."""

import altair as alt
import pandas as pd
import xarray as xr

from storagekit.charts.marks import AxisStyle, Layered, from_zero, ribbons, shaded
from storagekit.charts.panels import headed, side_by_side
from storagekit.charts.theme import finished
from storagekit.papers.ars.draw.palette import BLUE, GREEN, ORANGE, PERCENT, RESPONSE, TO_MS, VERMILION

TARGETS = "Nodes that a read is sent to"
LOGARITHMIC = alt.Scale(type="log", nice=False, padding=10)
WHEN = {"completed": "at completion", "later": "at the end of the run"}


def writes(data: xr.Dataset) -> alt.TopLevelMixin:
    """Return bars of the percentage of writes by the number of nodes that have the write on disk.

    Each volume has a panel.

    Parameters
    ----------
    data : Dataset
        Result of `writes`.

    Returns
    -------
    altair.TopLevelMixin
        The bars are in % of the writes, at completion and at the end of the run.
    """
    panels = []
    shade = alt.Scale(domain=list(WHEN.values()), range=[GREEN, BLUE])
    for volume in data.volume.values.tolist():
        its = data.sel(volume=volume)
        rows = pd.concat([_shares(its[name]).assign(when=words) for name, words in WHEN.items()])
        bar = (
            alt.Chart(rows[rows["nodes"] > 0])
            .mark_bar()
            .encode(
                x=alt.X("nodes:O", title="Nodes that have the write on disk", axis=alt.Axis(labelAngle=0)),
                xOffset=alt.XOffset("when:N", sort=list(WHEN.values())),
                y=alt.Y("share:Q", title="Writes (%)", scale=alt.Scale(domain=[0, 100])),
                color=alt.Color("when:N", title=None, scale=shade, sort=list(WHEN.values())),
            )
        )
        panels.append(headed(alt.layer(bar).properties(height=200), volume.capitalize(), 240))
    return finished(
        side_by_side(panels, legends="shared"),
        "Number of nodes that have a write on disk, at its completion and at the end of the run",
        " ".join(_least(data.sel(volume=volume)) for volume in data.volume.values),
    )


def _least(its: xr.Dataset) -> str:
    """Return a sentence with the smallest number of nodes that have a write on disk.

    The sentence gives the number at the completion of a write and the number at the end of the run.
    """
    now, later = (int(its.nodes.values[its[name].values > 0].min()) for name in WHEN)
    many = "s" if now > 1 else ""
    return (
        f"A write of {its.volume.item()} data is on the disks of at least {now} node{many} at completion, and of at "
        f"least {later} nodes at the end of the run."
    )


def _shares(counts: xr.DataArray) -> pd.DataFrame:
    """Return counts as percentages of their sum."""
    share = (PERCENT * counts / counts.sum()).rename("share")
    return share.reset_coords(drop=True).to_dataframe().reset_index()


def extra(summary: xr.Dataset) -> alt.TopLevelMixin:
    """Return curves of the number of nodes that a read is sent to, and of the response time, around an outage.

    Parameters
    ----------
    summary : Dataset
        Result of `extra` after `interval`. The dimension `statistic` holds the mean and the ends of the 95%
        interval (`mean`, `low`, `high`).

    Returns
    -------
    altair.TopLevelMixin
        The chart has two panels over the number of the request. The response time is in ms, on a logarithmic axis.
    """
    names = [_allowed(one) for one in summary.extra.values.tolist()]
    named = summary.assign_coords(extra=names)
    most = float(summary.targets.max())
    panels = [
        headed(_over_requests(named.targets, summary.attrs, AxisStyle(TARGETS, scale=from_zero(most))), "Nodes"),
        headed(
            _over_requests(_positive(named.response), summary.attrs, AxisStyle(RESPONSE, TO_MS, LOGARITHMIC)),
            "Response time",
        ),
    ]
    begins, ends = summary.attrs["away"]
    # Use the second half of the outage, after the clients have detected it.
    away = summary.response.sel(statistic="mean", number=slice((begins + ends) / 2, ends)).mean("number") * TO_MS
    takes = ", ".join(
        f"{float(one):.3g} ms with {name} additional nodes" for one, name in zip(away, names, strict=True)
    )
    return finished(
        side_by_side(panels, legends="shared"),
        "Number of nodes that a read is sent to, and response time, before, during and after an outage",
        f"While the largest node is down, a read takes {takes}.",
        "A read needs 2 of 4 fragments. The largest node is down in the grey period. A client sends a read again if it "
        f"does not complete within one second. Bands are 95% intervals over {summary.attrs['replications']} runs.",
    )


def _positive(response: xr.DataArray) -> xr.DataArray:
    """Return the response times with values near 0 raised, so that a logarithmic axis shows all intervals."""
    return response.clip(min=float(response.sel(statistic="mean").min()) / 2)


def _over_requests(values: xr.DataArray, said: dict, side: AxisStyle) -> Layered:
    palette = dict(zip(values.extra.values.tolist(), (ORANGE, GREEN, VERMILION), strict=False))
    begins, ends = said["away"]
    at = AxisStyle("Request", scale=alt.Scale(nice=False, zero=False))
    return alt.layer(
        shaded([(begins, ends, "")]), ribbons(values, "number", "extra", palette, (at, side), "Additional nodes")
    )


def _allowed(most: int) -> str:
    return f"up to {most}" if most else "no"
