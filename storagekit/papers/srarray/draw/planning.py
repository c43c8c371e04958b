"""Chart of the planner's layouts compared with the best simulated layouts."""

import altair as alt
import pandas as pd
import xarray as xr

from storagekit.charts.theme import HEIGHT, WIDTH, finished
from storagekit.core.axes import title
from storagekit.papers.srarray.draw.palette import BLUE, GREEN, ORANGE, PERCENT

# Least range of the axis, and the largest shortfall that counts as near; both in percent.
LEAST_SHOWN, NEAR = 10.0, 5.0


def plan_grid(data: xr.Dataset) -> alt.TopLevelMixin:
    """Return a chart of the percentage of the questions whose shortfall is at most a given value.

    The shortfall is the relative loss of the chosen layout compared with the best simulated layout.

    Parameters
    ----------
    data : Dataset
        `shortfall` over `case`, `rule` ("plan" or "paper") and `question`; NaN if no layout is feasible. The lines of
        the paper's rule are dashed.

    Returns
    -------
    altair.TopLevelMixin
        Questions and shortfall are in %.
    """
    rows = (PERCENT * data.shortfall).rename("shortfall").reset_coords(drop=True).to_dataframe().reset_index()
    rows = rows.dropna(subset="shortfall").sort_values("shortfall")
    rows["share"] = PERCENT * rows.groupby(["case", "rule"])["shortfall"].rank(method="max", pct=True)
    near = (rows["shortfall"] <= NEAR).groupby([rows["case"], rows["rule"]]).mean() * PERCENT
    most = max(LEAST_SHOWN, float(rows["shortfall"].max()))
    # Every curve continues to the edge, also if no layout has a shortfall.
    rows = pd.concat([rows, rows.drop_duplicates(["case", "rule"]).assign(shortfall=most, share=PERCENT)])
    cases, rules = data["case"].values.tolist(), ["plan", "paper"]
    shades = alt.Scale(domain=cases, range=[BLUE, ORANGE, GREEN][: len(cases)])
    dashes = alt.Scale(domain=rules, range=[[1, 0], [5, 4]])
    drawn = alt.Chart(rows).mark_line(interpolate="step-after", strokeWidth=2, clip=True)
    chart = drawn.encode(
        x=alt.X("shortfall", title=f"{title('shortfall')} (%)", scale=alt.Scale(domain=[0, most], nice=False)),
        y=alt.Y(
            "share",
            title="Questions with at most this shortfall (%)",
            scale=alt.Scale(domain=[0, 101], nice=False),
        ),
        color=alt.Color("case:N", title=title("objective"), scale=shades),
        strokeDash=alt.StrokeDash("rule:N", title="Chosen by", scale=dashes),
    )
    return finished(
        chart.properties(width=WIDTH, height=HEIGHT),
        "Cumulative distribution of the shortfall of the planner's layout below the best simulated layout",
        " ".join(_share(near, case) for case in cases),
        f"The chart has {data.sizes['question']} random questions to the planner; each question is one step of a line. "
        "Every feasible layout of each question is simulated.",
    )


def _share(near: pd.Series, case: str) -> str:
    """Return a sentence with the share of questions for which the plan's, or the paper's, layout is near the best."""
    return (
        f"For {case}, the recommended layout is within {NEAR:g}% of the best layout for {near[case, 'plan']:.0f}% of "
        f"the questions, and the layout by the paper's rule for {near[case, 'paper']:.0f}%."
    )
