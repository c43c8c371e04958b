"""The planner's layouts beside the best simulated ones, drawn."""

import altair as alt
import pandas as pd
import xarray as xr

from storagekit.charts.theme import HEIGHT, WIDTH, finished
from storagekit.charts.words import listed
from storagekit.core.axes import title
from storagekit.papers.srarray.draw.palette import BLUE, GREEN, ORANGE, PERCENT

# percent: the axis goes as far at least, and what counts as near
LEAST_SHOWN, NEAR = 10.0, 5.0


def plan_grid(data: xr.Dataset) -> alt.TopLevelMixin:
    """Share of questions on which a layout is at most so far behind the best simulated one; dashed: the paper's rule.

    data: `shortfall` over `case`, `rule` ("plan", "paper") and `question`; NaN where no layout is feasible.
    """
    rows = (PERCENT * data.shortfall).rename("shortfall").reset_coords(drop=True).to_dataframe().reset_index()
    rows = rows.dropna(subset="shortfall").sort_values("shortfall")
    rows["share"] = PERCENT * rows.groupby(["case", "rule"])["shortfall"].rank(method="max", pct=True)
    near = (rows["shortfall"] <= NEAR).groupby([rows["case"], rows["rule"]]).mean() * PERCENT
    most = max(LEAST_SHOWN, float(rows["shortfall"].max()))
    # every curve goes on to the edge, also where no layout is behind
    rows = pd.concat([rows, rows.drop_duplicates(["case", "rule"]).assign(shortfall=most, share=PERCENT)])
    cases, rules = data["case"].values.tolist(), ["plan", "paper"]
    shades = alt.Scale(domain=cases, range=[BLUE, ORANGE, GREEN][: len(cases)])
    dashes = alt.Scale(domain=rules, range=[[1, 0], [5, 4]])
    drawn = alt.Chart(rows).mark_line(interpolate="step-after", strokeWidth=2, clip=True)
    chart = drawn.encode(
        x=alt.X("shortfall", title=f"{title('shortfall')} (%)", scale=alt.Scale(domain=[0, most], nice=False)),
        y=alt.Y(
            "share",
            title="Questions with no more than that (%)",
            scale=alt.Scale(domain=[0, 101], nice=False),
        ),
        color=alt.Color("case:N", title=title("objective"), scale=shades),
        strokeDash=alt.StrokeDash("rule:N", title="Chosen by", scale=dashes),
    )
    return finished(
        chart.properties(width=WIDTH, height=HEIGHT),
        "Does the plan find the best layout?",
        f"The best simulated layout or within {NEAR:g}% of it: {listed([_share(near, case) for case in cases])}.",
        f"{data.sizes['question']} questions at random, every layout of each simulated; a step is a question.",
    )


def _share(near: pd.Series, case: str) -> str:
    """On how many questions of a case the plan and the paper's rule are near the best."""
    return (
        f"the plan on {near[case, 'plan']:.0f}% of questions of {case}, the paper's rule on {near[case, 'paper']:.0f}%"
    )
