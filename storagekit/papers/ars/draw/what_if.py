"""Charts of four nodes under three protocols: shares and response times over time, and their means."""

from collections.abc import Mapping

import altair as alt
import pandas as pd
import xarray as xr

from storagekit.charts.marks import Layered
from storagekit.charts.panels import headed
from storagekit.charts.theme import HEIGHT, PAPER, finished
from storagekit.papers.ars.draw.palette import NODES, PERCENT, PROTOCOLS, RATE, RESPONSE, TO_MS

ADAPTIVE = "ARS"
BELOW = 180
UNDER = alt.Legend(orient="bottom")


def what_if(data: xr.Dataset) -> alt.TopLevelMixin:
    """Return charts of the share of each node under ARS, and of response times and throughput by protocol.

    Parameters
    ----------
    data : Dataset
        Result of `what_if`.

    Returns
    -------
    altair.TopLevelMixin
        Shares are in % over the time in s, response times in ms, and throughput in requests/s.
    """
    rate = float(data.attrs["arrival_rate"])
    above = alt.hconcat(
        headed(_shares(data.share.sel(protocol=ADAPTIVE)), "ARS: share of each node in the bytes served", 300),
        headed(_over_time(data.response), "Response time of reads", 300),
        spacing=30,
    ).resolve_scale(color="independent")
    below = alt.hconcat(
        headed(_responses(data.mean_response), "Response time after the shares have settled", 300),
        headed(alt.layer(_rates(data.throughput), _arrival_rate(rate)), "Throughput (dotted: arrivals)", 300),
        spacing=30,
    )
    late = data.share.sel(protocol=ADAPTIVE).isel(window=slice(data.sizes["window"] // 3, None)).mean("window")
    words = ", ".join(f"{PERCENT * float(one):.0f}%" for one in late.values)
    return finished(
        alt.vconcat(above, below, spacing=24).resolve_scale(color="independent"),
        "Four nodes: share of the load and response time",
        f"Under ARS, nodes 0 to 3 serve {words} of the bytes, respectively. The arrival rate is {rate:g} reads/s.",
    )


def _shares(share: xr.DataArray) -> Layered:
    rows = _rows(share, PERCENT).assign(node=lambda row: row["brick"].astype(str))
    colours = {str(node): colour for node, colour in NODES.items()}
    area = (
        alt.Chart(rows)
        .mark_area(interpolate="step")
        .encode(
            x=_time(),
            y=alt.Y("value:Q", title="Share of the bytes served (%)", scale=alt.Scale(domain=[0, 100]), stack=True),
            color=alt.Color("node:N", title="Node", scale=_scale(colours), legend=UNDER),
            order=alt.Order("brick:O"),
        )
    )
    return alt.layer(area).properties(height=HEIGHT)


def _over_time(response: xr.DataArray) -> Layered:
    rows = _rows(response, TO_MS).dropna()
    colours = {name: PROTOCOLS[name] for name in response.protocol.values.tolist()}
    line = (
        alt.Chart(rows)
        .mark_line(strokeWidth=2)
        .encode(
            x=_time(),
            y=alt.Y("value:Q", title=RESPONSE, scale=alt.Scale(type="log", nice=False)),
            color=alt.Color("protocol:N", title="Protocol", scale=_scale(colours), legend=UNDER),
        )
    )
    return alt.layer(line).properties(height=HEIGHT)


def _responses(values: xr.DataArray) -> Layered:
    """Return points on a logarithmic axis. On a linear axis the largest response time would hide the others."""
    base = _by_protocol(values, TO_MS).encode(
        y=alt.Y("value:Q", title=RESPONSE, scale=alt.Scale(type="log", nice=False, padding=20))
    )
    point = base.mark_point(size=90, filled=True, opacity=1)
    text = base.mark_text(dx=10, align="left", fontSize=11).encode(
        text=alt.Text("value:Q", format=",.1f"), color=alt.value("black")
    )
    return alt.layer(point, text).properties(height=BELOW)


def _rates(values: xr.DataArray) -> Layered:
    base = _by_protocol(values, 1.0).encode(y=alt.Y("value:Q", title=RATE, scale=alt.Scale(zero=True)))
    text = base.mark_text(dy=-7, fontSize=11).encode(text=alt.Text("value:Q", format=".0f"), color=alt.value("black"))
    return alt.layer(base.mark_bar(width={"band": 0.6}), text).properties(height=BELOW)


def _by_protocol(values: xr.DataArray, factor: float) -> alt.Chart:
    names = values.protocol.values.tolist()
    scale = _scale({name: PROTOCOLS[name] for name in names})
    return alt.Chart(_rows(values, factor)).encode(
        x=alt.X("protocol:N", title=None, sort=names, axis=alt.Axis(labelAngle=0)),
        color=alt.Color("protocol:N", scale=scale, legend=None),
    )


def _arrival_rate(rate: float) -> Layered:
    """Return a line at the rate of arrivals."""
    rows = pd.DataFrame({"arrival_rate": [rate]})
    return alt.layer(alt.Chart(rows).mark_rule(color=PAPER, strokeDash=[2, 3]).encode(y="arrival_rate:Q"))


def _time() -> alt.X:
    return alt.X("window:Q", title="Time (s)", scale=alt.Scale(nice=False, zero=True))


def _scale(colours: Mapping[str, str]) -> alt.Scale:
    return alt.Scale(domain=list(colours), range=list(colours.values()))


def _rows(values: xr.DataArray, factor: float) -> pd.DataFrame:
    return (values * factor).rename("value").reset_coords(drop=True).to_dataframe().reset_index()
