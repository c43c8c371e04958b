"""Response times against the latency between nodes, drawn: figure 7."""

import altair as alt
import xarray as xr

from storagekit.axes import title
from storagekit.charts.marks import Side, lines
from storagekit.charts.panels import headed, side_by_side
from storagekit.charts.theme import finished
from storagekit.papers.ars.draw.palette import GREEN, PURPLE, RESPONSE, TO_MS, VERMILION, with_own

# what a legend has room for
NAMED = {
    "D-SPTF, idle nodes begin at once": "D-SPTF, begins at once",
    "D-SPTF, idle nodes wait for claims": "D-SPTF, waits for claims",
}
SERIES = {"ARS": GREEN, "D-SPTF, begins at once": VERMILION, "D-SPTF, waits for claims": PURPLE}


def fig7(summary: xr.Dataset, busy: xr.Dataset, load: float) -> alt.TopLevelMixin:
    """Mean response against latency at the published load and at `load` times it. summary, busy: over `statistic`."""
    at = Side(f"{title('latency')} (ms)", TO_MS)
    panels = [
        headed(
            lines(
                _named(one.response),
                "latency",
                "protocol",
                with_own(SERIES, _named(one.response)),
                (at, Side(RESPONSE, TO_MS)),
                "Protocol",
            ),
            heading,
        )
        for one, heading in ((summary, "The published load"), (busy, f"{load:g} times the published load"))
    ]
    return finished(
        side_by_side(panels, legends="shared"),
        "Figure 7: sensitivity to the network between nodes",
        "half of them writes; D-SPTF by what an idle node does; latency of clients is left out; each panel has its own scale",
    )


def _named(response: xr.DataArray) -> xr.DataArray:
    return response.assign_coords(protocol=[NAMED.get(name, name) for name in response.protocol.values.tolist()])
