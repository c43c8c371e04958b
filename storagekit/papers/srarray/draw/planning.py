"""The planner's layouts beside the best simulated ones, drawn."""

import altair as alt
import pandas as pd
import xarray as xr

from storagekit.axes import title
from storagekit.charts.theme import HEIGHT, WIDTH, finished
from storagekit.papers.srarray.draw.palette import BLUE, GREEN, ORANGE, PERCENT

LEAST_SHOWN = 10.0


def plan_grid(data: xr.Dataset) -> alt.TopLevelMixin:
    """Share of questions on which a layout is at most so far behind the best simulated one; dashed: the paper's rule.

    data: `shortfall` over `case`, `rule` ("plan", "paper") and `question`; NaN where no layout is feasible.
    """
    rows = (PERCENT * data.shortfall).rename("shortfall").reset_coords(drop=True).to_dataframe().reset_index()
    rows = rows.dropna(subset="shortfall").sort_values("shortfall")
    rows["share"] = PERCENT * rows.groupby(["case", "rule"])["shortfall"].rank(method="max", pct=True)
    most, least = max(LEAST_SHOWN, float(rows["shortfall"].max())), float(rows["share"].min())
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
            scale=alt.Scale(domain=[max(0, least - 20), 101], nice=False),
        ),
        color=alt.Color("case:N", title=title("objective"), scale=shades),
        strokeDash=alt.StrokeDash("rule:N", title="Chosen by", scale=dashes),
    )
    return finished(
        chart.properties(width=WIDTH, height=HEIGHT),
        "Does the plan find the best layout?",
        f"{data.sizes['question']} questions at random, every layout of each simulated",
    )
