"""Charts of the gain and the traffic of D-SPTF on a network, by load, replicas and share of reads (section 5.3)."""

from collections.abc import Mapping

import altair as alt
import pandas as pd
import xarray as xr

from storagekit.charts.bars import grouped
from storagekit.charts.marks import LYING, AxisStyle, Layered, level, lines, table
from storagekit.charts.panels import headed, side_by_side
from storagekit.charts.theme import COLOURS, HEIGHT, PAPER, finished
from storagekit.charts.words import listed
from storagekit.core.axes import title
from storagekit.papers.dsptf.claims import OVERHEAD
from storagekit.papers.dsptf.draw.palette import COLOUR, PERCENT, TO_MS, room_for

BYTES = "Bytes of messages (% of the data)"
LATENCY = f"{title('latency')} (ms)"
KINDS = {"request": "#6baed6", "claim": "#fd8d3c", "write": "#a1d99b", "acknowledgement": "#bdbdbd"}
# The first choice of the interactive chart: the loop of table 1.
FIRST = {"replicas": 8, "depth": 16, "read_share": 0.9}


def network(gain: xr.DataArray, read_share: float = 0.9) -> alt.TopLevelMixin:
    """Draw the gain of D-SPTF over hashing against the one-way latency, in a panel for each number of replicas.

    Each number of requests outstanding has a line.

    Parameters
    ----------
    gain : DataArray
        Throughput of D-SPTF divided by the throughput of hashing, over `latency`, `depth`, `replicas`, `read_share` and
        `statistic`.
    read_share : float
        Share of reads, by default 0.9.

    Returns
    -------
    altair.TopLevelMixin
        The gain is in %, and the latency in ms on a square-root scale.
    """
    depths = [str(depth) for depth in gain.depth.values.tolist()]
    more = (gain.sel(read_share=read_share) - 1).assign_coords(depth=depths)
    means = PERCENT * more.sel(statistic="mean")
    height = alt.Scale(domain=[min(0.0, float(means.min())) - 5, float(means.max()) + 5], nice=False)
    ticks = alt.Axis(values=(TO_MS * gain.latency).values.tolist(), format="~g")
    panels = []
    for number, replicas in enumerate(gain.replicas.values.tolist()):
        up = AxisStyle("Gain of D-SPTF over hashing (%)" if number == 0 else "", PERCENT, height)
        across = AxisStyle(LATENCY, TO_MS, _square_root(), ticks)
        palette = dict(zip(depths, COLOURS, strict=False))
        drawn = lines(more.sel(replicas=replicas), "latency", "depth", palette, (across, up), title("depth"))
        panels.append(headed(alt.layer(level(0, ""), drawn), f"{replicas} replicas", 270))
    return finished(
        side_by_side(panels, legends="shared"),
        "Gain of D-SPTF by network latency",
        f"Of {means.sizes['replicas'] * means.sizes['depth']} loads, D-SPTF has a higher throughput than hashing at "
        f"{listed(_ahead(means))}.",
        "A load is a number of replicas and a number of requests outstanding. The chart shows the gain in throughput "
        f"with {read_share:.0%} reads. The axis of latency has a square-root scale. Whiskers are 95% "
        f"intervals{_of(gain)}.",
        legends="bottom",
    )


def _ahead(means: xr.DataArray) -> list[str]:
    """Return phrases with the number of loads at which D-SPTF has a gain, for each of the two longest latencies."""
    loads = means.sizes["replicas"] * means.sizes["depth"]
    counts = {TO_MS * float(one.latency): int((one > 0).sum()) for one in means.transpose("latency", ...)[-2:]}
    return [f"{'all' if count == loads else count} loads with {ms:g} ms of latency" for ms, count in counts.items()]


def _of(summary: xr.DataArray | xr.Dataset) -> str:
    """Return the words for the number of runs that an interval covers; empty text if the number is unknown."""
    runs = summary.attrs.get("replications")
    return f" over {runs} runs" if runs else ""


def explored(summary: xr.Dataset) -> alt.TopLevelMixin:
    """Draw the throughput of D-SPTF and hashing against the latency, with buttons for the other parameters.

    Parameters
    ----------
    summary : Dataset
        `throughput` and `gain` over `latency`, `replicas`, `depth` and `read_share`.

    Returns
    -------
    altair.TopLevelMixin
        The throughput is in IO/s per brick, and the latency in ms on a square-root scale.

    Notes
    -----
    The buttons work in a web page without a Python kernel.
    """
    rows = table(summary.throughput.sel(scheme="D-SPTF"))
    gain = summary.gain.sel(statistic="mean", drop=True).rename("gain").reset_coords(drop=True).to_dataframe()
    rows = rows.merge(PERCENT * (gain - 1), on=list(gain.index.names)).assign(scheme="D-SPTF")
    rows["ms"] = TO_MS * rows["latency"]
    # Hashing sends nothing over the network, so that its runs at different latencies differ only by chance.
    other = summary.throughput.sel(scheme="Hashing", statistic="mean").mean("latency").rename("hashing")
    rule = other.reset_coords(drop=True).to_dataframe().reset_index().assign(scheme="Hashing")
    choices = {axis: _choice(summary, axis) for axis in FIRST}
    chart = alt.layer(*_beside(_chosen(rows, choices), rows), *_hashing(_chosen(rule, choices)))
    return finished(
        chart.add_params(*choices.values()).properties(width=560, height=HEIGHT),
        "Throughput of D-SPTF and hashing by load and latency",
        f"The gain of D-SPTF over hashing is {rows['gain'].min():+.0f} to {rows['gain'].max():+.0f}%, by load and "
        "latency.",
        "Choose a load below the chart. The numbers at the top are the gains of D-SPTF over hashing in throughput. "
        "Whiskers are 95% intervals.",
    )


def _beside(base: alt.Chart, rows: pd.DataFrame) -> list[alt.Chart]:
    """Return the line of D-SPTF with whiskers, and its gain at the top of the panel."""
    ticks = alt.Axis(values=sorted(rows["ms"].unique()), format="~g")
    words = "Throughput (IO/s per brick)"
    y = alt.Y("mean:Q", title=words, scale=alt.Scale(domain=[0, 1.2 * room_for(rows)]))
    said = [alt.Tooltip("ms", title=LATENCY, format="~g"), alt.Tooltip("mean", title="IO/s per brick", format=".1f")]
    base = base.encode(x=alt.X("ms:Q", title=LATENCY, scale=_square_root(20), axis=ticks), tooltip=said)
    colour = _series()
    return [
        base.mark_rule(clip=True).encode(y=alt.Y("low:Q", title=words), y2="high:Q", color=colour),
        base.mark_line(strokeWidth=2).encode(y=y, color=colour),
        base.mark_point(size=45, filled=True, opacity=1).encode(y=y, color=colour),
        base.mark_text(fontSize=12, color=PAPER)
        .transform_calculate(gained="format(datum.gain, '+.0f') + '%'")
        .encode(y=alt.value(10), text="gained:N"),
    ]


def _hashing(base: alt.Chart) -> list[alt.Chart]:
    return [base.mark_rule(strokeWidth=2, strokeDash=[5, 4]).encode(y="hashing:Q", color=_series())]


def _series() -> alt.Color:
    both = ["D-SPTF", "Hashing"]
    scale = alt.Scale(domain=both, range=[COLOUR[name] for name in both])
    return alt.Color("scheme:N", title=None, scale=scale, legend=alt.Legend(symbolType=LYING, symbolStrokeWidth=3))


def _choice(summary: xr.Dataset, axis: str) -> alt.Parameter:
    """Return radio buttons for the labels of an axis; the label in `FIRST` is selected initially."""
    options = summary[axis].values.tolist()
    first = FIRST[axis] if FIRST[axis] in options else options[-1]
    labels = [f"{value:.0%}" if axis == "read_share" else f"{value:g}" for value in options]
    bind = alt.binding_radio(options=options, labels=labels, name=f"{title(axis)}: ")
    return alt.param(name=f"chosen_{axis}", value=first, bind=bind)


def _chosen(rows: pd.DataFrame, choices: Mapping[str, alt.Parameter]) -> alt.Chart:
    chart = alt.Chart(rows)
    for axis, choice in choices.items():
        chart = chart.transform_filter(alt.datum[axis] == choice)
    return chart


def messages(summary: xr.Dataset, paper: Mapping[str, float]) -> alt.TopLevelMixin:
    """Draw the number of messages of a request, the bytes of these messages, and the overhead of messages without data.

    All three are drawn for each number of replicas. The number and the bytes of messages are drawn by kind of message.

    Parameters
    ----------
    summary : Dataset
        `number`, `bytes` and `overhead` over `replicas`, `kind` and `size` (bytes of a request). The bytes are drawn
        for the first size.
    paper : mapping of str to float
        Numbers of the paper by identifier of the claim.

    Returns
    -------
    altair.TopLevelMixin
        The bytes and the overhead are in % of the bytes of a request.
    """
    sizes = {size: f"{size / 1024:g} KB" for size in summary["size"].values.tolist()}
    first = next(iter(sizes))
    added = summary.overhead.assign_coords(size=[f"{words} requests" for words in sizes.values()])
    said = (
        OVERHEAD.numbers(paper).reindex(size=list(sizes), replicas=summary.replicas).assign_coords(size=added["size"])
    )
    shades = dict(zip(added["size"].values.tolist(), COLOURS[4:6], strict=False))
    bars = grouped(
        added,
        "replicas",
        "size",
        shades,
        AxisStyle(BYTES, PERCENT),
        None,
        heading=title("replicas"),
        paper=said,
        width=80,
    )
    panels = [
        headed(_stacked(summary.number.sel(size=first), 1.0, "Messages per request"), "Number of messages", 200),
        headed(
            _stacked(summary.bytes.sel(size=first), PERCENT / first, BYTES),
            f"Bytes of messages, {sizes[first]} requests",
            200,
        ),
    ]
    most = max(summary.replicas.values.tolist())
    adds = PERCENT * added.sel(statistic="mean", replicas=most)
    theirs = [f"{PERCENT * value:g}%" for value in said.sel(replicas=most).dropna("size").values]
    found = [f"{float(one):.1f}% to {one['size'].item()}" for one in adds]
    return finished(
        alt.hconcat(
            side_by_side(panels, legends="shared"),
            headed(bars, "Overhead of messages without data", 230),
            spacing=30,
        ).resolve_scale(color="independent", fill="independent"),
        "Messages and bytes on the network by number of replicas",
        f"With {most} replicas, messages without data add {listed(found)}"
        + (f" (paper: {listed(theirs)})." if theirs else "."),
        "The network has a latency of 50 µs, and the loop has 16 requests outstanding and 90% reads. A message has 50 "
        "bytes, and a write also sends its data to every replica. Dashes are the paper's values. Whiskers are 95% "
        f"intervals. The 95% interval of each total number of messages is within {_wide(summary.number):.1%} of the "
        "total.",
        legends="bottom",
    )


def _wide(values: xr.DataArray) -> float:
    """Return the largest half-width of the 95% intervals of the total numbers of messages, divided by the total.

    The calculation assumes that the errors of all kinds of messages add up.
    """
    sums = values.sum("kind")
    return float(((sums.sel(statistic="high") - sums.sel(statistic="low")) / 2 / sums.sel(statistic="mean")).max())


def _stacked(values: xr.DataArray, factor: float, words: str) -> Layered:
    """Return a stacked bar of the kinds of messages for each number of replicas, with the sum above the bar."""
    kinds = list(KINDS)
    rows = table(values, factor)
    top = 1.1 * factor * float(values.sel(statistic="mean").sum("kind").max())
    base = alt.Chart(rows.assign(order=rows["kind"].map(kinds.index))).encode(x=_replicas())
    shade = alt.Scale(domain=kinds, range=list(KINDS.values()))
    bar = base.mark_bar(width={"band": 0.6}).encode(
        y=alt.Y("sum(mean)", title=words, scale=alt.Scale(domain=[0, top], nice=False)),
        color=alt.Color("kind:N", title=None, sort=kinds, scale=shade, legend=alt.Legend(orient="bottom")),
        order="order:O",
    )
    total = base.mark_text(dy=-7, fontSize=11).encode(y="sum(mean)", text=alt.Text("sum(mean)", format=".1f"))
    return alt.layer(bar, total).properties(height=HEIGHT)


def _replicas() -> alt.X:
    return alt.X("replicas:O", title=title("replicas"), axis=alt.Axis(labelAngle=0))


def _square_root(padding: int = 8) -> alt.Scale:
    return alt.Scale(type="sqrt", nice=False, padding=padding)
