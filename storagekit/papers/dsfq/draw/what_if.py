"""What two streams get of two bricks, drawn: rates, latencies, and how far apart their service may be."""

import math

import altair as alt
import pandas as pd
import xarray as xr

from storagekit.charts.theme import COLOURS, HEIGHT, finished

WORDS = {"total": "both bricks together", "single": "each brick by itself"}
OF_BRICK = {"A": COLOURS[0], "B": COLOURS[4]}


def what_if(data: xr.Dataset) -> alt.TopLevelMixin:
    """Rates by brick and mean latency of each stream, shared over both bricks together and each by itself.

    data: of `storagekit.papers.dsfq.what_if`.
    """
    rate = _table(data.rate, 1e-6).dropna()
    latency = _table(data.latency, 1e3)
    # bars of one height scale, so that streams and policies compare
    bars = _panels(rate, "rate", "Rate (MB/s)", 1.1 * float(data.rate.sum("brick").max()) / 1e6)
    colour = alt.Color("brick:N", title="Brick", scale=alt.Scale(domain=list(OF_BRICK), range=list(OF_BRICK.values())))
    waits = _panels(latency, "latency", "Mean latency (ms)", 1.1 * float(data.latency.max()) * 1e3)
    total = _facets(
        bars.mark_bar().encode(color=colour, order="brick:N"), _table(data.rate.sum("brick"), 1e-6), "rate", ".2f"
    )
    second = _facets(waits.mark_bar(color="#9ecae1"), latency, "latency", ".0f")
    held = "; ".join(f"{name} is held back by {data.attrs[f'held_back_{name}']}" for name in ("f", "g"))
    return finished(
        alt.hconcat(total, second, spacing=50),
        "f on brick A, g on A and B: what does each get?",
        _promise(float(data.bound)),
        f"Together: {held}.",
    )


def _promise(bound: float) -> str:
    if math.isinf(bound):
        return "No bound on unfairness at A: g has nothing of it, or only its minimum."
    most = f"{bound / 1e6:.2f} MB at most"
    return f"While both wait at A their service over weight differs by {most}, for batches of the mean make-up."


def _table(values: xr.DataArray, factor: float) -> pd.DataFrame:
    rows = (values * factor).to_dataframe(name=str(values.name)).reset_index()
    return rows.assign(policy=[WORDS[name] for name in rows["policy"]])


def _panels(rows: pd.DataFrame, field: str, words: str, top: float) -> alt.Chart:
    scale = alt.Scale(domain=[0, top])
    return alt.Chart(rows).encode(
        x=alt.X("stream:N", title="Stream", axis=alt.Axis(labelAngle=0)),
        y=alt.Y(field, type="quantitative", title=words, scale=scale),
    )


def _facets(bars: alt.Chart, totals: pd.DataFrame, field: str, form: str) -> alt.HConcatChart:
    """A panel for each policy, with numbers on the bars."""
    panels = []
    for words in WORDS.values():
        mine = alt.datum.policy == words
        text = (
            alt.Chart(totals)
            .mark_text(dy=-7, fontSize=11)
            .encode(
                x="stream:N",
                y=alt.Y(field, type="quantitative"),
                text=alt.Text(field, type="quantitative", format=form),
            )
        )
        layers = alt.layer(bars.transform_filter(mine), text.transform_filter(mine))
        panels.append(layers.properties(width=130, height=HEIGHT, title=alt.TitleParams(words, fontSize=12)))
    return alt.hconcat(*panels).resolve_scale(y="shared")
