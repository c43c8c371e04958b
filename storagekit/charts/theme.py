"""One theme for all charts: colours for the colour-blind, quiet axes, readable type."""

from textwrap import wrap
from typing import Annotated, Literal

import altair as alt

from storagekit.core.validation import instance_of, validate

COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"]
# colour of our result if a chart has only one; its tint (40% on white) for areas behind other marks; colour of the paper
OURS, TINT, PAPER = COLOURS[0], "#99c7e0", "#444444"
WIDTH, HEIGHT = 420, 260
# maximum length of a line below the title of one panel, and of several panels
LINE, LONG_LINE = 95, 155

THEME = {
    "config": {
        "view": {"stroke": None},
        "font": "sans-serif",
        "title": {"anchor": "start", "fontSize": 14, "subtitleFontSize": 12, "subtitleColor": "#555555", "offset": 12},
        "axis": {
            "labelFontSize": 11,
            "titleFontSize": 12,
            "titleFontWeight": "normal",
            "gridColor": "#e6e6e6",
            # the first and the last label are centred at their ticks
            "labelFlush": False,
        },
        "legend": {"labelFontSize": 11, "titleFontSize": 12, "titleFontWeight": "normal"},
        "range": {"category": COLOURS},
        "background": "white",
    }
}


@validate
def finished(
    chart: Annotated[alt.TopLevelMixin, instance_of(alt.TopLevelMixin, "a chart")],
    title: str,
    *says: str,
    legends: Literal["right", "bottom"] = "right",
) -> alt.TopLevelMixin:
    """Give the chart its title and the common theme, and return it.

    Parameters
    ----------
    chart : TopLevelMixin
        The chart (Altair). It is changed, not copied.
    title : str
        Title of the chart.
    *says : str
        The lines below the title: first the finding, then the content of the chart. Long lines are wrapped.
    legends : str
        Position of the legends: "right", the default, or "bottom". If they are below a row of panels, the row keeps the
        full width.

    Returns
    -------
    altair.TopLevelMixin
        The same chart.
    """
    length = LINE if isinstance(chart, alt.Chart | alt.LayerChart) else LONG_LINE
    found, *drawn = says or ("",)
    said = (found[:1].upper() + found[1:], *drawn)
    lines = [line for words in said for line in wrap(words, length, break_on_hyphens=False)]
    heading = alt.TitleParams(title, subtitle=lines)
    look = THEME["config"]
    look = look | {"legend": look["legend"] | {"orient": legends}}
    # methods of Altair copy a chart with all its panels, layers and data, several times for each level
    chart.title, chart.config = heading, alt.Config(**look)
    return chart
