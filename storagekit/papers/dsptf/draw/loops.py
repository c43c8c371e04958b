"""The closed loops of sections 2 and 5, drawn: figures 1, 5 and 9, table 1."""

from collections.abc import Mapping

import altair as alt
import xarray as xr

from storagekit.axes import title
from storagekit.charts.marks import bars, curves, paper_points
from storagekit.charts.theme import finished
from storagekit.papers.dsptf.draw.palette import KEYS, TO_MS, schemes_in


def fig1(summary: xr.Dataset, paper: Mapping[str, float]) -> alt.TopLevelMixin:
    """Throughput against depth; the paper's point is its gain at 16 times our FIFO."""
    titles = (title("depth"), "Throughput (IO/s)", title("scheduler"))
    drawn = curves(summary.throughput, "depth", "scheduler", titles=titles, x_scale=alt.Scale(type="log", base=2))
    fifo = float(summary.throughput.sel(scheduler="FIFO", depth=16, statistic="mean"))
    said = paper_points([(16, fifo * paper["dsptf.fig1.gain_at_16"])], "depth", titles[:2])
    chart = alt.layer(drawn, said).resolve_scale(color="independent")
    return finished(
        chart,
        "Figure 1: what SPTF gains with depth",
        "one Atlas 10K, 4 KB random reads; diamond: the paper's gain at 16",
    )


def table1(summary: xr.Dataset, paper: Mapping[str, float], read_share: float = 0.9) -> alt.TopLevelMixin:
    """Throughput, idle time and service time of the schemes; of a reader's own the paper says nothing."""
    schemes = schemes_in(summary)

    def said(quantity: str, factor: float = 1.0) -> dict[str, float]:
        papers = [scheme for scheme in schemes if scheme in KEYS]
        return {scheme: paper[f"dsptf.table1.{KEYS[scheme]}.{quantity}"] * factor for scheme in papers}

    panels = [
        bars(
            summary.throughput,
            "scheme",
            titles=("", "Throughput (IO/s per brick)"),
            order=schemes,
            paper=said("throughput"),
            form=".0f",
        ),
        bars(summary.idle, "scheme", titles=("", "Idle time (%)"), factor=100, order=schemes, paper=said("idle", 100)),
        bars(
            summary.service_time,
            "scheme",
            titles=("", "Service time (ms)"),
            factor=TO_MS,
            order=schemes,
            paper=said("service"),
            form=".2f",
        ),
    ]
    return finished(
        alt.hconcat(*panels),
        "Table 1: four schemes on eight replicas",
        f"{read_share:.0%} reads, 16 outstanding, exponential sizes of mean 4 KB; dash: the paper at 90%",
    )


def readings(summary: xr.Dataset) -> alt.TopLevelMixin:
    """Throughput under each reading of when a write is answered."""
    order = ["at once", "first copy", "receiving brick", "all copies"]
    rows = [
        bars(
            summary.throughput.sel(scheme=scheme),
            "completion",
            titles=(title("completion"), f"{scheme} (IO/s per brick)"),
            order=order,
            form=".0f",
        ).properties(width=330)
        for scheme in schemes_in(summary)
    ]
    return finished(
        alt.hconcat(*rows).resolve_scale(y="shared"),
        "What the paper leaves open: when is a write answered?",
        "the loop of table 1; the paper has 187 and 133",
    )


def fig5(summary: xr.Dataset, gain: xr.DataArray, paper: Mapping[str, float]) -> alt.TopLevelMixin:
    """Throughput, and D-SPTF's gain over hashing, against the number of replicas."""
    left = curves(
        summary.throughput,
        "replicas",
        "scheme",
        titles=(title("replicas"), "Throughput (IO/s per brick)", title("scheme")),
        order=schemes_in(summary),
        y_scale=alt.Scale(zero=False),
    )
    ours = gain.assign_coords(scheme="ours").expand_dims("scheme")
    titles = (title("replicas"), "D-SPTF over hashing", "Gain")
    said = [(2, paper["dsptf.fig5.gain_2"]), (8, paper["dsptf.fig5.gain_8"])]
    right = alt.layer(
        curves(ours, "replicas", "scheme", titles=titles, y_scale=alt.Scale(zero=False)),
        paper_points(said, "replicas", titles[:2]),
    ).resolve_scale(color="independent")
    chart = alt.hconcat(left, right).resolve_scale(color="independent", strokeDash="independent")
    return finished(
        chart,
        "Figure 5: throughput against replication",
        "67% reads, 16 outstanding per replica group; diamonds: the paper",
    )


def fig9(summary: xr.Dataset) -> alt.TopLevelMixin:
    """Throughput against network latency."""
    titles = (f"{title('latency')} (ms)", "Throughput (IO/s per replica)", "Reads")
    rows = summary.throughput.assign_coords(read_share=[f"{share:.0%}" for share in summary.read_share.values])
    drawn = curves(rows, "latency", "read_share", titles=titles, x_factor=TO_MS)
    return finished(drawn, "Figure 9: sensitivity to network latency", "D-SPTF, eight replicas, 16 outstanding")
