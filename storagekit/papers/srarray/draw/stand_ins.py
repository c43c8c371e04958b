"""Chart of the statistics of the synthetic traces and the published statistics: table 3."""

import altair as alt
import pandas as pd
import xarray as xr

from storagekit.charts.marks import Layered
from storagekit.charts.panels import headed
from storagekit.charts.paper import differences, figures
from storagekit.charts.theme import finished
from storagekit.core.axes import title
from storagekit.core.units import HOUR
from storagekit.papers.srarray.draw.palette import BLUE, GREEN, ORANGE, PERCENT

WORKLOADS = {"Cello base": BLUE, "Cello disk 6": ORANGE, "TPC-C": GREEN}
# Name of each quantity, the factor from SI to the shown unit, and the format.
QUANTITIES = {
    "requests": ("Requests", 1.0, ",.0f"),
    "duration": ("Duration (h)", 1 / HOUR, ".1f"),
    "rate": ("Rate (IO/s)", 1.0, ".2f"),
    "data_size": ("Data (GB)", 1e-9, ".2f"),
    "read_share": ("Reads (%)", PERCENT, ".1f"),
    "asynchronous_write_share": ("Asynchronous writes (%)", PERCENT, ".1f"),
    "seek_locality": ("Seek locality", 1.0, ".2f"),
    "read_after_write_share": ("Reads after a write (%)", PERCENT, ".2f"),
}
ROW = 38


def table3(data: xr.Dataset) -> alt.TopLevelMixin:
    """Return a table of our values above the published values, and a chart of the relative differences (table 3).

    Parameters
    ----------
    data : Dataset
        Over `workload` and `quantity`, in SI units: `measured`, the values of the synthetic traces, and `target`, the
        published values.

    Returns
    -------
    altair.TopLevelMixin
        The differences are in % of the published values.
    """
    error = (data.measured / data.target.where(data.target != 0) - 1) * PERCENT
    frame = error.rename("error").reset_coords(drop=True).to_dataframe().reset_index()
    frame["words"] = [_of(name)[0] for name in frame["quantity"]]
    height = ROW * data.sizes["quantity"]
    apart = differences(
        frame, "words", "workload", WORKLOADS, "Difference from the published value (%)", title("workload")
    )
    worst = frame.loc[frame["error"].abs().idxmax()]
    panels = [
        headed(_table(data).properties(height=height), "Measured value, with the published value below it", 330),
        headed(apart.properties(height=height), "Relative difference", 300, offset=26),
    ]
    return finished(
        # The rows of both panels must align, independent of the size of axes and headings.
        alt.hconcat(*panels, spacing=40, bounds="flush"),
        "Table 3: properties of the synthetic traces, and the published values",
        f"Every value is within {abs(worst['error']):.1f}% of the published value. The largest difference is in the "
        f"row {worst['words']}, for {worst['workload']}.",
        "If only a part of a trace is generated, counts and durations are scaled to the whole trace. Published "
        "values of 0 have no relative difference.",
    )


def _of(quantity: str) -> tuple[str, float, str]:
    """Return the name of a quantity, the factor from SI to its shown unit, and its format."""
    return QUANTITIES.get(quantity, (title(quantity), 1.0, ".4g"))


def _table(data: xr.Dataset) -> Layered:
    """Return the table of our values and the published values."""
    rows = []
    for quantity in data.quantity.values.tolist():
        words, factor, form = _of(quantity)
        for workload in data.workload.values.tolist():
            cell = data.sel(quantity=quantity, workload=workload)
            ours, paper = (format(float(one) * factor, form) for one in (cell.measured, cell.target))
            rows.append((words, workload, ours, paper))
    return figures(pd.DataFrame(rows, columns=["words", "workload", "ours", "paper"]), "words", "workload")
