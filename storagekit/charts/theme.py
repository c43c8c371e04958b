"""One look for every chart: colours that the colour-blind can tell apart, quiet axes, readable type."""

import altair as alt

COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"]
PAPER = "#444444"
WIDTH, HEIGHT = 420, 260

THEME = {
    "config": {
        "view": {"stroke": None},
        "font": "sans-serif",
        "title": {"anchor": "start", "fontSize": 14, "subtitleFontSize": 12, "subtitleColor": "#555555", "offset": 12},
        "axis": {"labelFontSize": 11, "titleFontSize": 12, "titleFontWeight": "normal", "gridColor": "#e6e6e6"},
        "legend": {"labelFontSize": 11, "titleFontSize": 12, "titleFontWeight": "normal"},
        "range": {"category": COLOURS},
        "background": "white",
    }
}


def finished(chart: alt.TopLevelMixin, title: str, *says: str) -> alt.TopLevelMixin:
    """The chart with its title and the common look.

    says: what stands below the title, each on a line of its own: first what the chart finds, then what is drawn and how.
    """
    heading = alt.TitleParams(title, subtitle=[words for words in says if words])
    return chart.properties(title=heading).configure(**THEME["config"])
