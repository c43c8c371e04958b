"""Charts of policies that select a replica."""

from collections.abc import Mapping

import altair as alt
import xarray as xr

from storagekit.charts.bars import grouped
from storagekit.charts.marks import AxisStyle, curves
from storagekit.charts.panels import headed, in_rows
from storagekit.charts.theme import COLOURS, finished
from storagekit.papers.since.claims import FIELDS, FLOORS, LATER

_TO_MS = 1e3
_NORMALIZED = AxisStyle("Mean response time (mean service times)")


def mean_fields(summary: xr.Dataset, paper: Mapping[str, float]) -> alt.TopLevelMixin:
    """Draw the mean response time of 32 servers by policy and load, with the exact limits for many servers.

    Parameters
    ----------
    summary : Dataset
        `normalized` over `policy`, `load` and `statistic`.
    paper : mapping of str to float
        Exact values by identifier of the claim.

    Returns
    -------
    altair.TopLevelMixin
        The response time in mean service times.
    """
    policies = summary.policy.values.tolist()
    palette = dict(zip(policies, COLOURS, strict=False))
    exact = FIELDS.numbers(paper).reindex(policy=policies, load=summary["load"])
    chart = grouped(
        summary.normalized, "load", "policy", palette, _NORMALIZED, "Policy", paper=exact, heading="Load", form=".2f"
    )
    error = abs(summary.normalized.sel(statistic="mean") / exact - 1).max()
    return finished(
        chart,
        "32 servers under later policies",
        f"Simulated values differ by at most {float(error):.1%} from the exact limits for many servers.",
        "Dashes are exact values. Service times are exponential. Tied requests are withdrawn when the other copy starts.",
    )


def floors(summary: xr.Dataset, paper: Mapping[str, float]) -> alt.TopLevelMixin:
    """Draw the mean response time of servers with one common queue, with the exact values.

    Parameters
    ----------
    summary : Dataset
        `normalized` over `servers`, `load` and `statistic`.
    paper : mapping of str to float
        Exact values by identifier of the claim.

    Returns
    -------
    altair.TopLevelMixin
        The response time in mean service times.
    """
    data = summary.normalized.assign_coords(servers=[f"{number} servers" for number in summary.servers.values])
    exact = FLOORS.numbers(paper).assign_coords(
        servers=[f"{number} servers" for number in FLOORS.axes["servers"].values()]
    )
    palette = dict(zip(data.servers.values.tolist(), COLOURS, strict=False))
    chart = grouped(data, "load", "servers", palette, _NORMALIZED, None, paper=exact, heading="Load", form=".2f")
    error = abs(data.sel(statistic="mean") / exact - 1).max()
    return finished(
        chart,
        "One common queue: the minimum for every policy",
        f"D-SPTF without message delay has the response time of one common queue (M/M/c) within {float(error):.1%}.",
        "Dashes are exact values (Erlang C). Whiskers are 95% intervals.",
    )


def tails(summary: xr.Dataset) -> alt.TopLevelMixin:
    """Draw the 99% quantile of the response time against the load, one panel for each condition.

    Parameters
    ----------
    summary : Dataset
        `p99` over `policy`, `condition`, `load` and `statistic`.

    Returns
    -------
    altair.TopLevelMixin
        The quantile is in ms, on a logarithmic scale.
    """
    policies = summary.policy.values.tolist()
    scale = alt.Scale(type="log", domain=[8, 2000], nice=False, clamp=True)
    titles = ("Load", "99% of reads within (ms)", "Policy")
    panels = [
        headed(
            curves(
                summary.p99.sel(condition=name),
                "load",
                "policy",
                titles=titles,
                factor=_TO_MS,
                y_scale=scale,
                order=policies,
            ),
            name.capitalize(),
            230,
        )
        for name in summary.condition.values.tolist()
    ]
    means = summary.p99.sel(statistic="mean")
    gain = float((means.sel(policy=list(LATER)).min("policy") / means.sel(policy="D-SPTF")).min())
    return finished(
        in_rows(panels, 3),
        "Tail of the response time of eight disks",
        f"The 99% quantile of the best later policy is at least {gain:.1f} times the quantile of D-SPTF.",
        "Eight Atlas 10K have copies of all data, and requests are reads of 4 KB. The load is a share of the rate at which "
        "all bricks are always busy if they serve in order of arrival. Values above 2 s are drawn at the upper edge, because "
        "a brick is overloaded. Whiskers are 95% intervals.",
    )
