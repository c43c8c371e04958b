"""How near one thing is to another, drawn: witnesses, predictions, stand-ins and plans."""

from collections.abc import Mapping

import altair as alt
import pandas as pd
import xarray as xr

from storagekit.axes import title
from storagekit.charts.marks import Side, level, lines, paper_points
from storagekit.charts.panels import headed, side_by_side
from storagekit.charts.srarray.look import BLUE, GREEN, ORANGE
from storagekit.charts.theme import HEIGHT, PAPER, WIDTH, finished

POLICIES = {"FCFS": GREEN, "LOOK": ORANGE, "SPTF": BLUE}
WORKLOADS = {"Cello base": BLUE, "Cello disk 6": ORANGE, "TPC-C": GREEN}
PERCENT = 100.0
LEAST_SHOWN = 10.0


def fig5(witness: xr.Dataset, paper: Mapping[str, float]) -> alt.TopLevelMixin:
    """Our throughput (`ours`) less DiskSim's (`reference`), relative, by depth and policy; band: the paper's bound."""
    bound = PERCENT * paper["srarray.fig5.discrepancy"]
    band = pd.DataFrame({"low": [-bound], "high": [bound]})
    height = Side("Ours less DiskSim's throughput (%)", PERCENT, alt.Scale(domain=[-1.5 * bound, 1.5 * bound]))
    ticks = alt.Axis(values=witness.depth.values.tolist(), format="d")
    across = Side(title("depth"), scale=alt.Scale(type="log", base=2, nice=False, padding=8), axis=ticks)
    error = witness.ours / witness.reference - 1
    drawn = lines(error, "depth", "policy", POLICIES, (across, height), title("policy"))
    shade = alt.Chart(band).mark_rect(color=PAPER, opacity=0.1).encode(y=alt.Y("low", title=height.title), y2="high")
    return finished(
        alt.layer(shade, drawn),
        "Figure 5: our simulator beside an independent one",
        f"one Atlas 10K, 4 KB random reads; band: the {bound:.0f}% within which the paper's simulator met its prototype",
    )


def table2(data: xr.Dataset, paper: Mapping[str, float]) -> alt.TopLevelMixin:
    """Head tracking: `within` against `interval` (s), and `misses` against `slack` (sectors)."""
    titles = (f"{title('interval')} (s)", "Predictions within 1% of a turn (%)")
    goal = PERCENT * (1 - paper["srarray.head.slack"])
    left = _curve(data.within, "interval", *titles, 100.0)
    most = max(1.1 * goal, PERCENT * float(data.misses.max()))
    right = _curve(data.misses, "slack", f"{title('slack')} (sectors)", "Requests that miss their target (%)", most)
    said = paper_points([(120, PERCENT * paper["srarray.head.recalibration"])], "interval", titles)
    allowed = level(goal, "as many may miss")
    panels = [
        headed(alt.layer(left, said), "How often it must look"),
        headed(alt.layer(right, allowed), "What aiming late saves"),
    ]
    return finished(
        side_by_side(panels, legends="independent"),
        "Table 2: where the head is, told by software",
        "Monte Carlo with assumed noise; diamond: the paper at two minutes",
    )


def _curve(values: xr.DataArray, x: str, x_title: str, y_title: str, top: float) -> alt.Chart:
    frame = (values * PERCENT).rename("value").reset_coords(drop=True).to_dataframe().reset_index()
    return (
        alt.Chart(frame)
        .mark_line(point={"size": 45}, color=BLUE)
        .encode(
            x=alt.X(x, title=x_title, scale=alt.Scale(zero=False, nice=False, padding=8)),
            y=alt.Y("value", title=y_title, scale=alt.Scale(domain=[0, top])),
        )
    )


def table3(data: xr.Dataset) -> alt.TopLevelMixin:
    """Relative error of each stand-in's figures (`measured`) against the published ones (`target`)."""
    error = (data.measured / data.target.where(data.target != 0) - 1) * PERCENT
    frame = error.rename("error").reset_coords(drop=True).to_dataframe().reset_index().dropna()
    frame["words"] = [str(name).replace("_", " ") for name in frame["quantity"]]
    titles = "Stand-in less published (%)"
    names = [name for name in WORKLOADS if name in set(frame["workload"])]
    scale = alt.Scale(domain=names, range=[WORKLOADS[name] for name in names])
    point = (
        alt.Chart(frame)
        .mark_point(size=80, filled=True, opacity=0.9)
        .encode(
            y=alt.Y("words:N", title=title("quantity"), sort=None),
            yOffset=alt.YOffset("workload:N", sort=names),
            x=alt.X("error", title=titles),
            color=alt.Color("workload:N", title=title("workload"), scale=scale),
            shape=alt.Shape("workload:N", title=title("workload"), scale=alt.Scale(domain=names)),
        )
    )
    zero = alt.Chart(pd.DataFrame({"error": [0.0]})).mark_rule(color=PAPER, strokeDash=[2, 3]).encode(x="error")
    return finished(
        alt.layer(zero, point).properties(width=WIDTH, height=HEIGHT + 40),
        "Table 3: the stand-ins against the published figures",
        "counts and duration of a part are scaled to the whole; a published 0 is left out",
    )


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
