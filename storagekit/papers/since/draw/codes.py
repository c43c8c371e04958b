"""Table of local reconstruction codes."""

from collections.abc import Mapping

import altair as alt
import pandas as pd
import xarray as xr

from storagekit.charts.paper import figures
from storagekit.charts.theme import finished
from storagekit.papers.since.claims import CODES

# format and title of each quantity
_COLUMNS = {
    "tolerated": (".0f", "Tolerated losses of four units"),
    "share": (".1%", "Share of these losses"),
    "reads": (".2f", "Mean reads of a repair"),
    "overhead": (".2f", "Stored units for each data unit"),
}


def codes(data: xr.Dataset, paper: Mapping[str, float]) -> alt.TopLevelMixin:
    """Draw a table of the codes, with the exact counts below ours.

    Parameters
    ----------
    data : Dataset
        Result of `codes`.
    paper : mapping of str to float
        Exact values by identifier of the claim.

    Returns
    -------
    altair.TopLevelMixin
        The table.
    """
    exact = CODES.numbers(paper)
    rows = [
        {
            "code": f"({code.replace('-', ', ')})",
            "quantity": title,
            "ours": format(float(data[name].sel(code=code)), form),
            "paper": f"exact: {float(exact.sel(code=code, quantity=name)):g}" if name in exact["quantity"] else "",
        }
        for code in data.code.values.tolist()
        for name, (form, title) in _COLUMNS.items()
    ]
    share, reads = float(data["share"].sel(code="12-2-2")), float(data.reads.sel(code="12-2-2"))
    return finished(
        figures(pd.DataFrame(rows), "code", "quantity").properties(width=900),
        "Local reconstruction codes",
        f"The code with 12 data units, 2 local groups and 2 global parities tolerates {share:.0%} of the losses of four "
        f"units. A repair reads {reads:.2f} units on average, and 12 units without local groups.",
        "A code is given by its numbers of data units, local groups and global parities. A repair of any unit is equally "
        "likely.",
    )
