"""A chart with all scripts that its interaction needs, as a page."""

from html import escape
from typing import TYPE_CHECKING

import altair as alt

from storagekit.core.kinds import COUNT, a, takes

if TYPE_CHECKING:
    from IPython.display import HTML


@takes(chart=a(alt.TopLevelMixin, "a chart"), height=COUNT)
def offline(chart: alt.TopLevelMixin, height: int = 460) -> "HTML":
    """Return a chart with all scripts that its interaction needs, for JupyterLab and for a static page; about 1 MB."""
    from IPython.display import HTML

    page = escape(chart.to_html(inline=True), quote=True)
    frame = f'<iframe srcdoc="{page}" style="border: none; width: 100%; height: {height}px"></iframe>'
    return HTML(f"<div>{frame}</div>")
