"""Chart of the error of equation 16 relative to the simulation."""

import altair as alt
import pandas as pd
import xarray as xr

from storagekit.charts.marks import Layered
from storagekit.charts.panels import headed, side_by_side
from storagekit.charts.theme import finished
from storagekit.charts.words import counted
from storagekit.core.axes import title
from storagekit.papers.srarray.draw.palette import PERCENT

# Least range of the colours, percent, so that maps with small errors look pale.
LEAST_RANGE = 30.0


def equation16(error: xr.DataArray, drive: str) -> alt.TopLevelMixin:
    """Return a heat map of the relative error of equation 16, with a panel for each fraction of writes.

    The axes are the number of disks and the outstanding requests for each disk.

    Parameters
    ----------
    error : DataArray
        The result of equation 16 divided by the simulated throughput, minus 1; over `disks`, `each` (outstanding
        requests for each disk), `write_share` and `statistic`.
    drive : str
        Name of the simulated drive, for the title.

    Returns
    -------
    altair.TopLevelMixin
        The errors are in % of the simulated throughput.
    """
    rows = (PERCENT * error.sel(statistic="mean", drop=True)).rename("error").reset_coords(drop=True)
    most = max(LEAST_RANGE, float(abs(rows).max()))
    frame = rows.to_dataframe().reset_index()
    panels = [
        headed(_cells(frame.query("write_share == @share"), most, number == 0), f"{share:.0%} writes", width=220)
        for number, share in enumerate(error.write_share.values.tolist())
    ]
    worst = frame.loc[frame["error"].abs().idxmax()]
    wide = PERCENT * float((error.sel(statistic="high") - error.sel(statistic="low")).max()) / 2
    return finished(
        side_by_side(panels, legends="shared"),
        f"Error of equation 16 relative to the simulated RLOOK array: {drive}",
        f"The error is between {_signed(float(rows.min()))} and {_signed(float(rows.max()))}%. Its magnitude is "
        f"largest with {worst['write_share']:.0%} writes, {counted(worst['disks'], 'disk')} and {worst['each']:g} "
        "outstanding requests per disk.",
        "Errors are in percent of the simulated throughput, for the layout that the paper's rule gives. The 95% "
        f"intervals are at most ±{wide:.1f} percentage points.",
    )


def _signed(percent: float) -> str:
    """Return a percentage as a whole number with its sign; zero has no sign."""
    return format(round(percent), "+d").replace("-", "\u2212") if round(percent) else "0"


def _cells(frame: pd.DataFrame, most: float, first: bool) -> Layered:
    """Return coloured cells with numbers. Only the first panel of a row has a title on its vertical axis."""
    base = alt.Chart(frame.assign(words=[_signed(error) for error in frame["error"]])).encode(
        x=alt.X("disks:O", title=title("disks"), axis=alt.Axis(labelAngle=0)),
        y=alt.Y("each:O", title=title("each") if first else None, sort="descending"),
    )
    shade = alt.Color(
        "error:Q",
        title="Error of the formula (%)",
        scale=alt.Scale(scheme="blueorange", domain=[-most, most], reverse=True),
        legend=alt.Legend(orient="bottom", gradientLength=300, titleLimit=300),
    )
    text = base.mark_text(fontSize=11).encode(
        text="words:N",
        color=alt.when(abs(alt.datum.error) > 0.7 * most).then(alt.value("white")).otherwise(alt.value("black")),
    )
    return alt.layer(base.mark_rect().encode(color=shade), text).properties(height=220)
