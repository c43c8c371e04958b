"""Chart of figure 7: response times against the latency between nodes."""

import altair as alt
import xarray as xr

from storagekit.charts.marks import AxisStyle, from_zero, lines
from storagekit.charts.panels import headed, side_by_side
from storagekit.charts.theme import finished
from storagekit.core.axes import title
from storagekit.papers.ars.draw.palette import PROTOCOLS, RESPONSE, TO_MS, WHISKERS, with_own

SERIES = {
    name: PROTOCOLS[name] for name in ("ARS", "D-SPTF", "D-SPTF, waits for the platter", "D-SPTF, starts immediately")
}


def fig7(summary: xr.Dataset, busy: xr.Dataset, load: float) -> alt.TopLevelMixin:
    """Return curves of the mean response time against the latency, at the published load and at a higher load.

    Parameters
    ----------
    summary, busy : Dataset
        Results of `fig7` after `interval`, at the published load (`summary`) and at the higher load (`busy`). The
        dimension `statistic` holds the mean and the ends of the 95% interval (`mean`, `low`, `high`).
    load : float
        Load of `busy`, as a multiple of the published load.

    Returns
    -------
    altair.TopLevelMixin
        The chart has a panel for `summary` and a panel for `busy`. Response time and latency are in ms.
    """
    at = AxisStyle(f"{title('latency')} (ms)", TO_MS)
    top = from_zero(max(float(one.response.max()) for one in (summary, busy)) * TO_MS)
    panels = [
        headed(
            lines(
                one.response,
                "latency",
                "protocol",
                with_own(SERIES, one.response),
                (at, AxisStyle(RESPONSE, TO_MS, scale=top)),
                "Protocol",
            ),
            heading,
        )
        for one, heading in ((summary, "The published load"), (busy, f"{load:g} times the published load"))
    ]
    return finished(
        side_by_side(panels, legends="shared"),
        "Figure 7: mean response time by latency between nodes",
        f"{_rise(summary.response.sel(statistic='mean'))}",
        "Half of the requests are writes. Under 'D-SPTF' an idle node waits for two latencies before it starts an "
        "access. Under 'D-SPTF, waits for the platter' it waits for two latencies, but at most until the data are "
        "under the head. Under 'D-SPTF, starts immediately' it does not wait. The latency to the clients is not "
        f"included. {WHISKERS}",
    )


def _rise(mean: xr.DataArray) -> str:
    """Return a sentence with the ratio of the response times at the largest and the smallest latency, by protocol."""
    first, last = (mean.isel(latency=index) for index in (0, -1))
    rises = (f"{name} {float(last.sel(protocol=name) / first.sel(protocol=name)):.2f}" for name in mean.protocol.values)
    return (
        f"From {float(first.latency) * TO_MS:g} ms to {float(last.latency) * TO_MS:g} ms of latency, the mean "
        f"response time changes by these factors: {' / '.join(rises)}."
    )
