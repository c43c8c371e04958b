"""A chart with all that it needs to answer clicks, in a page of its own."""

from html import escape
from typing import TYPE_CHECKING

import altair as alt

from storagekit.core.kinds import COUNT, a, takes

if TYPE_CHECKING:
    from IPython.display import HTML


@takes(chart=a(alt.TopLevelMixin, "a chart"), height=COUNT)
def offline(chart: alt.TopLevelMixin, height: int = 460) -> "HTML":
    """A chart with all that it needs to answer clicks, in JupyterLab and in a page that is sent on; about 1 MB."""
    from IPython.display import HTML

    page = escape(chart.to_html(inline=True), quote=True)
    frame = f'<iframe srcdoc="{page}" style="border: none; width: 100%; height: {height}px"></iframe>'
    return HTML(f"<div>{frame}</div>")
