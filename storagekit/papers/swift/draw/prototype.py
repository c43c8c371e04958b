"""Charts of the tables of the prototype: the printed figures, and the rates of a model calibrated on table 1."""

from collections.abc import Mapping

import altair as alt
import numpy as np
import pandas as pd
import xarray as xr

from storagekit.charts.marks import DASH, Layered, from_zero
from storagekit.charts.panels import headed, in_rows, side_by_side
from storagekit.charts.theme import COLOURS, HEIGHT, PAPER, finished

BLUE, VERMILION = COLOURS[:2]
GREY = "#bbbbbb"
MEASURED, JUDGED, OTHER = "paper, measured", "model, judged interpretation", "model, other interpretation"
MODELS = {JUDGED: BLUE, OTHER: VERMILION}
NAMES = {1: "Swift, one Ethernet", 4: "Swift, two Ethernets", 2: "Local SCSI disk", 3: "NFS"}
SHORT = {1: "Swift, 1 Ethernet", 4: "Swift, 2 Ethernets", 2: "SCSI disk", 3: "NFS"}
WHY = {
    ("read", "judged"): "times are exponential",
    ("read", "other"): "times are fixed",
    ("write", "judged"): "each segment has its own gap",
    ("write", "other"): "all segments share one gap",
}
ROW = 22


def tables(checked: xr.Dataset, predicted: xr.Dataset, paper: Mapping[str, float]) -> alt.TopLevelMixin:
    """Draw the rates of tables 1 to 4 in a panel for reads and a panel for writes, with a dot for each transfer size.

    Parameters
    ----------
    checked : Dataset
        `mean`, `low`, `high`, `again_low` and `again_high` over `table`, `operation` and `size` (MB), KB/s.
    predicted : Dataset
        `rate` over `operation`, `interpretation` ("judged" or "other"), `ethernets` and `statistic`, KB/s.
    paper : mapping of str to float
        Numbers of the paper by identifier of the claim.

    Returns
    -------
    altair.TopLevelMixin
        Rates are in KB/s.
    """
    top = 1.05 * max(float(checked.high.max()), float(predicted.rate.max()))
    panels = [
        headed(_rates(checked.sel(operation=operation), predicted.rate.sel(operation=operation), top), f"{word}s", 360)
        for operation, word in (("read", "Read"), ("write", "Write"))
    ]
    drawn = side_by_side(panels, legends="shared").resolve_scale(y="shared", fill="shared")
    return finished(
        drawn,
        "Tables 1 to 4: rates of the prototype, and predictions for a second Ethernet",
        f"With a second Ethernet {_gains(checked, predicted, paper)}.",
        "The three dots of a system are for transfers of 3, 6 and 9 MB. Wide bars are the printed 90% intervals. Thin "
        "lines are the intervals recomputed from mean and deviation. The model is calibrated only on one Ethernet. The "
        "verdicts depend on the judged interpretation. A gap is the time between two packets.",
    )


def _gains(checked: xr.Dataset, predicted: xr.Dataset, paper: Mapping[str, float]) -> str:
    """Return a phrase with the rate on two Ethernets divided by the rate on one, for reads and for writes.

    The phrase has each ratio three times: from the tables, from the paper's text, and from the judged interpretation of
    the model.
    """
    printed = checked["mean"].mean("size")
    said = predicted.rate.sel(statistic="mean", interpretation="judged")
    claims = {"read": "swift.table4.read_gain", "write": "swift.table4.write_doubles"}
    return " and ".join(
        f"{word}s are {float(printed.sel(table=4, operation=word) / printed.sel(table=1, operation=word)):.2f} times "
        f"as fast (paper's text: {paper[claims[word]]:g}, model: "
        f"{float(said.sel(ethernets=2, operation=word) / said.sel(ethernets=1, operation=word)):.2f})"
        for word in checked.operation.values.tolist()
    )


def _rates(checked: xr.Dataset, rate: xr.DataArray, top: float) -> Layered:
    """Return a chart of the rates by system: dots with two intervals for each size, and dashes for the model."""
    rows = checked.reset_coords(drop=True).to_dataframe().reset_index()
    rows["name"], rows["series"] = [SHORT[number] for number in rows["table"]], MEASURED
    order = list(SHORT.values())
    x = alt.X("name:N", title=None, sort=order, axis=alt.Axis(labelAngle=0, labelLimit=120))
    colour = alt.Color(
        "series:N",
        title=None,
        scale=alt.Scale(domain=list(MODELS), range=list(MODELS.values())),
        legend=alt.Legend(symbolType=DASH, symbolOpacity=1),
    )
    shade = alt.Scale(domain=[MEASURED], range=[PAPER])
    fill = alt.Fill("series:N", title=None, scale=shade, legend=alt.Legend(symbolType="circle", symbolStrokeWidth=0))
    scale = alt.Scale(domain=[0, top], nice=False)
    base = alt.Chart(rows).encode(x=x, xOffset=alt.XOffset("size:O", sort=sorted(set(rows["size"]))))
    printed = base.mark_bar(width=13, color=GREY).encode(y=alt.Y("low:Q", title="Rate (KB/s)", scale=scale), y2="high")
    again = base.mark_rule(strokeWidth=2, color=PAPER).encode(y="again_low:Q", y2="again_high")
    dot = base.mark_point(size=16, opacity=1, strokeWidth=0).encode(y=alt.Y("mean:Q", scale=scale), fill=fill)
    said = _said(rate)
    model = alt.Chart(said).encode(x=x)
    dash = model.mark_tick(thickness=3, opacity=1, width={"band": 0.95}).encode(
        y=alt.Y("value:Q", scale=scale), color=colour
    )
    words = model.mark_text(fontSize=11, dy=-9, dx=-44, align="left").encode(y="value:Q", text="words:N", color=colour)
    return alt.layer(printed, again, dash, words, dot).properties(height=HEIGHT)


def _said(rate: xr.DataArray) -> pd.DataFrame:
    """Return a table of the rates of the model. On one Ethernet both interpretations have the calibrated rate."""
    mean, operation = rate.sel(statistic="mean"), str(rate["operation"].item())
    one = float(mean.sel(ethernets=1, interpretation="judged"))
    rows = [(SHORT[1], JUDGED, one, f"{one:,.0f}, calibrated")]
    for interpretation, series in (("judged", JUDGED), ("other", OTHER)):
        two = float(mean.sel(ethernets=2, interpretation=interpretation))
        rows.append((SHORT[4], series, two, f"{two:,.0f} if {WHY[operation, interpretation]}"))
    return pd.DataFrame(rows, columns=["name", "series", "value", "words"])


def reads(simulated_reads: xr.Dataset, checked: xr.Dataset) -> alt.TopLevelMixin:
    """Draw the modelled read rate on two Ethernets, for random times at the client, on the wire, at both or at neither.

    A grey band shows the range of the measured rates.

    Parameters
    ----------
    simulated_reads : Dataset
        `rate` over `random` and `ethernets`, KB/s. The model of each entry of `random` is calibrated on one Ethernet.
    checked : Dataset
        See `tables`.

    Returns
    -------
    altair.TopLevelMixin
        Rates are in KB/s.
    """
    rate = simulated_reads.rate.sel(ethernets=2)
    rows = pd.DataFrame({"random": simulated_reads.random.values, "rate": rate.values})
    printed = checked["mean"].sel(table=4, operation="read")
    band = pd.DataFrame({"low": [float(printed.min())], "high": [float(printed.max())], "series": [MEASURED]})
    scale = from_zero(max(float(rate.max()), float(printed.max())))
    y = alt.Y("rate:Q", title="Reads on two Ethernets (KB/s)", scale=scale)
    base = alt.Chart(rows).encode(x=alt.X("random:N", title="Random times", sort=None, axis=alt.Axis(labelAngle=0)))
    measured = (
        alt.Chart(band)
        .mark_rect(opacity=0.5)
        .encode(
            y=alt.Y("low:Q", scale=scale),
            y2="high",
            color=alt.Color("series:N", title=None, scale=alt.Scale(domain=[MEASURED], range=[GREY])),
        )
    )
    dash = base.mark_tick(thickness=3, opacity=1, width={"band": 0.6}, color=BLUE).encode(y=y)
    words = base.mark_text(fontSize=11, dy=11, color=BLUE).encode(y=y, text=alt.Text("rate:Q", format=",.0f"))
    return finished(
        alt.layer(measured, dash, words).properties(width=400, height=HEIGHT),
        "Table 4: modelled rate of reads on two Ethernets, for random times at the client, on the wire, at both or at "
        "neither",
        f"{_between(rate, float(printed.mean()))}",
        "Dashes are rates of the model, which is calibrated on one Ethernet. The grey band is the range of the "
        "measured rates. Random times are exponential.",
    )


def _between(rate: xr.DataArray, printed: float) -> str:
    """Return a sentence on the mean measured rate, and on the next lower and the next higher rate of the model."""
    found = dict(zip(rate.random.values.tolist(), rate.values.tolist(), strict=True))
    below = [name for name in found if found[name] <= printed]
    above = [name for name in found if found[name] > printed]
    ends = [choose(names, key=found.__getitem__) for choose, names in ((max, below), (min, above)) if names]
    text = " and ".join(f"{found[name]:,.0f} (random: {name})" for name in ends)
    return f"The paper's mean, {printed:,.0f} KB/s, is {'between' if len(ends) > 1 else 'beyond'} the model's {text}."


def intervals(checked: xr.Dataset) -> alt.TopLevelMixin:
    """Draw the printed and the recomputed 90% intervals in a panel for each table.

    A colour marks the rows where the two intervals differ by more than rounding.

    Parameters
    ----------
    checked : Dataset
        The variables of `tables`, and two more. `beyond`: the part of the difference between the printed and the
        recomputed limits that rounding does not explain, KB/s. `impossible`: whether the printed deviation is
        impossible for eight samples.

    Returns
    -------
    altair.TopLevelMixin
        The chart has the distances of the limits from the mean, in KB/s.
    """
    panels = [
        headed(_limits(checked.sel(table=[table])), f"Table {table}: {NAMES[int(table)]}", 190)
        for table in checked["table"].values.tolist()
    ]
    wrong = int(((checked.beyond > 0) | checked.impossible).sum())
    return finished(
        in_rows(panels, 2),
        "Tables 1 to 4: printed 90% intervals, and intervals recomputed from mean and standard deviation",
        f"In {wrong} of {checked.beyond.size} rows the two intervals differ by more than rounding, or the printed "
        "deviation is impossible for eight samples (the means of table 4 are rounded to 10).",
        "Bars are the intervals that the paper prints, and whiskers are the recomputed intervals. Each table has a "
        "separate scale.",
    )


def _limits(checked: xr.Dataset) -> Layered:
    """Return a chart of one table: wide bars for the printed intervals, and thin lines for the recomputed intervals."""
    rows = checked.reset_coords(drop=True).to_dataframe().reset_index()
    rows["row"] = [f"{word.capitalize()} {size} MB" for word, size in zip(rows["operation"], rows["size"], strict=True)]
    for name in ("low", "high", "again_low", "again_high"):
        rows[name] = rows[name] - rows["mean"]
    rows["verdict"] = np.where((rows["beyond"] > 0) | rows["impossible"], "disagrees", "agrees")
    colour = alt.Color(
        "verdict:N", title="Printed interval", scale=alt.Scale(domain=["agrees", "disagrees"], range=[GREY, VERMILION])
    )
    widest = 1.1 * float(np.abs(rows[["low", "high", "again_low", "again_high"]].to_numpy()).max())
    across = alt.Scale(domain=[-widest, widest], nice=False)
    base = alt.Chart(rows).encode(y=alt.Y("row:N", title=None, sort=list(rows["row"])))
    printed = base.mark_bar(height=11).encode(
        x=alt.X("low:Q", title="90% limit minus the mean (KB/s)", scale=across), x2="high", color=colour
    )
    again = base.mark_rule(color=BLUE, strokeWidth=1.5).encode(x="again_low:Q", x2="again_high")
    ends = [
        base.mark_tick(color=BLUE, thickness=1.5, opacity=1, height=9).encode(x=f"{name}:Q")
        for name in ("again_low", "again_high")
    ]
    return alt.layer(printed, again, *ends).properties(height=6 * ROW)
