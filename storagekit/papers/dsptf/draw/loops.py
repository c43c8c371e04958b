"""Charts of the closed loops of sections 2 and 5: figures 1, 5 and 9, and table 1."""

from collections.abc import Mapping

import altair as alt
import pandas as pd
import xarray as xr

from storagekit.charts.marks import LYING, AxisStyle, Layered, curves, paper_fill, paper_points, positions
from storagekit.charts.panels import headed, side_by_side
from storagekit.charts.theme import PAPER, finished
from storagekit.charts.words import change, listed
from storagekit.core.axes import title
from storagekit.papers.dsptf.claims import FIG1, GAINS, TABLE1
from storagekit.papers.dsptf.draw.palette import PERCENT, TO_MS, caption, dashes, over, scheme_rows, schemes_in

THROUGHPUT = "Throughput (IO/s per brick)"
COMPLETIONS = ["at once", "first copy", "receiving brick", "all copies"]
GAIN = "Gain of D-SPTF over hashing (%)"
# Latency of the claim of figure 9, seconds.
AT = 1.75e-3


def fig1(summary: xr.Dataset, paper: Mapping[str, float]) -> alt.TopLevelMixin:
    """Draw the throughput with SPTF and FIFO against the number of requests outstanding.

    The paper's points are our throughput with FIFO, multiplied by the paper's gains with 2 and 16 requests outstanding.

    Parameters
    ----------
    summary : Dataset
        `throughput` over `scheduler`, `depth` and `statistic`.
    paper : mapping of str to float
        Numbers of the paper by identifier of the claim.

    Returns
    -------
    altair.TopLevelMixin
        The throughput is in IO/s.
    """
    titles = (title("depth"), "Throughput (IO/s)", title("scheduler"))
    ticks = alt.Scale(type="log", base=2, nice=False, padding=8)
    drawn = curves(summary.throughput, "depth", "scheduler", titles=titles, x_scale=ticks)
    rate = summary.throughput.sel(statistic="mean")
    said = FIG1.numbers(paper)
    fifo, sptf = (rate.sel(scheduler=name, depth=said.depth) for name in ("FIFO", "SPTF"))
    (few, many), theirs = (sptf / fifo).values.tolist(), float(said[-1])
    return finished(
        alt.layer(drawn, paper_points(positions(said * fifo), "depth", titles[:2])),
        "Figure 1: throughput of SPTF and FIFO by queue depth",
        f"Compared with FIFO, SPTF serves {change(many)} with 16 requests outstanding (paper: {change(theirs)}), and "
        f"{change(few)} with 2 requests outstanding.",
        "The drive is one Atlas 10K with random reads of 4 KB. Diamonds show SPTF by the gains of the paper: our "
        "throughput with FIFO, multiplied by the paper's gains of SPTF over FIFO. Whiskers are 95% intervals.",
    )


def table1(summary: xr.Dataset, paper: Mapping[str, float], read_share: float = 0.9) -> alt.TopLevelMixin:
    """Draw throughput, idle time and service time of the schemes, with the paper's numbers.

    Parameters
    ----------
    summary : Dataset
        `throughput`, `idle` and `service_time` over `scheme` and `statistic`.
    paper : mapping of str to float
        Numbers of the paper by identifier of the claim.
    read_share : float
        Share of reads of the data, by default 0.9.

    Returns
    -------
    altair.TopLevelMixin
        The three panels have the throughput in IO/s per brick, the idle time in %, and the service time in ms.
    """
    schemes = schemes_in(summary)

    said = TABLE1.numbers(paper).reindex(scheme=schemes)

    def panel(quantity: str, side: AxisStyle, factor: float, form: str) -> Layered:
        theirs = dashes(factor * said.sel(quantity=quantity))
        return scheme_rows(summary[quantity], schemes, side, said=theirs, named=quantity == "throughput", form=form)

    panels = [
        headed(panel("throughput", AxisStyle(THROUGHPUT), 1.0, ".0f"), "Throughput", 260),
        headed(panel("idle", AxisStyle("Idle time (%)", PERCENT), PERCENT, ".1f"), "Idle time", 260),
        headed(panel("service_time", AxisStyle("Service time (ms)", TO_MS), 1.0, ".2f"), "Service time", 260),
    ]
    means = summary.throughput.sel(statistic="mean")
    found = [
        f"Compared with hashing, D-SPTF serves {change(ratio)} (paper, at 90% reads: "
        f"{change(paper['dsptf.table1.gain'])})"
        for ratio in over(means, "D-SPTF", "Hashing")
    ]
    found += [
        f"D-SPTF has {ratio:.1%} of the throughput of Central SPTF" for ratio in over(means, "D-SPTF", "Central SPTF")
    ]
    return finished(
        side_by_side(panels, legends="shared"),
        "Table 1: four schemes on eight replicas",
        caption(found, schemes),
        f"The loop has {read_share:.0%} reads, 16 requests outstanding, and exponential sizes with a mean of 4 KB. "
        "Dashes are the paper's values at 90% reads. Whiskers are 95% intervals.",
    )


def interpretations(summary: xr.Dataset, paper: Mapping[str, float]) -> alt.TopLevelMixin:
    """Draw the throughput under each interpretation of write completion, and the paper's throughput of table 1.

    Parameters
    ----------
    summary : Dataset
        `throughput` over `scheme`, `completion` and `statistic`.
    paper : mapping of str to float
        Numbers of the paper by identifier of the claim.

    Returns
    -------
    altair.TopLevelMixin
        The throughput is in IO/s per brick.
    """
    schemes = schemes_in(summary)
    order = [name for name in COMPLETIONS if name in summary.completion]
    said = TABLE1.numbers(paper).sel(quantity="throughput").reindex(scheme=schemes).dropna("scheme")
    theirs = dict(positions(said))
    rate = summary.throughput.sel(completion=order)
    scale = alt.Scale(domain=[0, 1.05 * max(float(rate.max()), *said.values)])
    panels = [
        headed(
            scheme_rows(
                rate.sel(scheme=scheme),
                order,
                AxisStyle(THROUGHPUT, scale=scale),
                of="completion",
                said=[(name, theirs[scheme], theirs[scheme]) for name in order if scheme in theirs],
                named=number == 0,
                form=".0f",
            ),
            scheme,
        )
        for number, scheme in enumerate(schemes)
    ]
    off = abs(rate.sel(statistic="mean") / said - 1).mean("scheme")
    nearest = order[int(off.argmin("completion"))]
    near = rate.sel(statistic="mean", completion=nearest)
    found = [f"{float(near.sel(scheme=scheme)):.0f} (paper: {value:.0f})" for scheme, value in positions(said)]
    return finished(
        side_by_side(panels, legends="shared"),
        "Throughput by interpretation of write completion",
        f'The interpretation nearest to the paper is "{nearest}". It has a throughput of {listed(found)} IO/s per '
        f"brick for {listed(said.scheme.values.tolist())}, respectively.",
        "The loop is the loop of table 1. Dashes are the paper's throughput, repeated in every row. The paper does not "
        "state which of these rules its simulator uses for the completion of a write. Whiskers are 95% intervals.",
    )


def fig5(summary: xr.Dataset, gain: xr.DataArray, paper: Mapping[str, float]) -> alt.TopLevelMixin:
    """Draw two panels against the number of replicas: the throughput, and the gain of D-SPTF over hashing.

    Parameters
    ----------
    summary : Dataset
        `throughput` over `scheme`, `replicas` and `statistic`.
    gain : DataArray
        Throughput of D-SPTF divided by the throughput of hashing, over `replicas` and `statistic`.
    paper : mapping of str to float
        Numbers of the paper by identifier of the claim.

    Returns
    -------
    altair.TopLevelMixin
        The throughput is in IO/s per brick, and the gain in %.
    """
    left = curves(
        summary.throughput,
        "replicas",
        "scheme",
        titles=(title("replicas"), THROUGHPUT, title("scheme")),
        order=schemes_in(summary),
        y_scale=alt.Scale(domain=[0, 1.08 * float(summary.throughput.max())], nice=False),
    )
    more = (gain - 1).assign_coords(scheme="ours").expand_dims("scheme")
    titles = (title("replicas"), GAIN, "Gain")
    gains = GAINS.numbers(paper)
    said = positions(PERCENT * (gains - 1))
    least, most = (PERCENT * (paper[f"dsptf.fig5.gain_3[{end}]"] - 1) for end in ("low", "high"))
    top = max(PERCENT * float(more.max()), most, *(value for _, value in said))
    right = alt.layer(
        curves(
            more,
            "replicas",
            "scheme",
            titles=titles,
            factor=PERCENT,
            y_scale=alt.Scale(domain=[0, 1.08 * top], nice=False),
        ),
        _range(3, least, most),
        paper_points(said, "replicas", titles[:2]),
    )
    means = gain.sel(statistic="mean")
    found = [
        f"{change(float(means.sel(replicas=number)))} with {number} replicas (paper: {change(value)})"
        for number, value in positions(gains)
    ]
    return finished(
        alt.hconcat(headed(left, "Throughput"), headed(right, "Gain of D-SPTF"), spacing=30).resolve_scale(
            color="independent", shape="independent", strokeDash="independent", fill="independent"
        ),
        "Figure 5: throughput by number of replicas",
        f"Compared with hashing, D-SPTF serves {listed(found)}.",
        "The loop has 67% reads and 16 requests outstanding in a replica group. Diamonds are the paper's values, and "
        "the stroke is the paper's range for three replicas. Whiskers are 95% intervals.",
        legends="bottom",
    )


def _range(replicas: int, low: float, high: float) -> alt.Chart:
    """Return a stroke between two numbers that the paper gives."""
    rows = pd.DataFrame({"replicas": [replicas], "low": [low], "high": [high]})
    stroke = alt.Chart(rows).mark_rule(strokeWidth=5, color=PAPER)
    return stroke.encode(x=alt.X("replicas", title=title("replicas")), y=alt.Y("low", title=GAIN), y2="high")


def fig9(summary: xr.Dataset, paper: Mapping[str, float]) -> alt.TopLevelMixin:
    """Draw the throughput against the network latency, with a line for each fraction of reads.

    Dashes mark the paper's lower bounds at 1.75 ms.

    Parameters
    ----------
    summary : Dataset
        `throughput` over `latency`, `read_share` and `statistic`.
    paper : mapping of str to float
        Numbers of the paper by identifier of the claim.

    Returns
    -------
    altair.TopLevelMixin
        The throughput is in IO/s per replica, and the latency in ms.
    """
    titles = (f"{title('latency')} (ms)", "Throughput (IO/s per replica)", "Reads")
    rows = summary.throughput.assign_coords(read_share=[f"{share:.0%}" for share in summary.read_share.values])
    drawn = curves(rows, "latency", "read_share", titles=titles, x_factor=TO_MS)
    means, bound = rows.sel(statistic="mean"), paper["dsptf.fig9.at_1_75"]
    least = pd.DataFrame({"latency": TO_MS * AT, "least": bound * means.sel(latency=0.0).values, "series": "paper"})
    dash = (
        alt.Chart(least)
        .mark_tick(orient="horizontal", thickness=3, size=26, opacity=1)
        .encode(x=alt.X("latency", title=titles[0]), y=alt.Y("least", title=titles[1]), fill=paper_fill(LYING))
    )
    lost = 1 - means.sel(latency=AT, method="nearest") / means.sel(latency=0.0)
    found = [f"{float(value):.1%} with {value.read_share.item()} reads" for value in lost]
    return finished(
        alt.layer(drawn, dash),
        "Figure 9: throughput by network latency",
        f"At {TO_MS * AT:g} ms the loss of throughput of D-SPTF is {listed(found)} (paper: under {1 - bound:.0%}).",
        "The loop has eight replicas and 16 requests outstanding. Dashes are the paper's lower bound: "
        f"{bound:.0%} of the throughput without delay. Whiskers are 95% intervals.",
    )
