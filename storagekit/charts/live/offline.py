"""A chart with all scripts that its interaction needs, as a page."""

from html import escape
from typing import TYPE_CHECKING, Annotated

import altair as alt

from storagekit.core.validation import Count, instance_of, validate

if TYPE_CHECKING:
    from IPython.display import HTML


@validate
def offline(
    chart: Annotated[alt.TopLevelMixin, instance_of(alt.TopLevelMixin, "a chart")], height: Count = 460
) -> "HTML":
    """Return a chart with all scripts that its interaction needs, about 1 MB, for JupyterLab and for a static page.

    Parameters
    ----------
    chart : TopLevelMixin
        The chart (Altair).
    height : int
        Height of the frame around the chart, pixels, at least 1; 460 by default.

    Returns
    -------
    HTML
        The chart in a frame of full width, as an object that JupyterLab displays.
    """
    from IPython.display import HTML

    page = escape(chart.to_html(inline=True), quote=True)
    frame = f'<iframe srcdoc="{page}" style="border: none; width: 100%; height: {height}px"></iframe>'
    return HTML(f"<div>{frame}</div>")
