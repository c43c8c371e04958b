"""Charts of the traces on two bricks (figures 6 to 8): mean response times of all requests."""

from collections.abc import Mapping

import altair as alt
import pandas as pd
import xarray as xr

from storagekit.charts.marks import DASH, AxisStyle, Layered, ribbons, shaded
from storagekit.charts.panels import headed, side_by_side
from storagekit.charts.theme import COLOURS, PAPER, finished
from storagekit.charts.words import listed, span
from storagekit.papers.dsptf.claims import FIG8, FIG8_RATIOS
from storagekit.papers.dsptf.draw.palette import (
    COLOUR,
    FIVE,
    PANEL,
    PERCENT,
    RESPONSE,
    TO_MS,
    caption,
    colours_of,
    origin,
    over,
    scheme_rows,
    schemes_in,
    trace_names,
)

TRIPLE = 255
# Ranges of the run with a slow brick in figure 8, percent.
SLOW = ((25.0, 50.0, "brick 0 slow"), (75.0, 100.0, "brick 1 slow"))
QUARTERS = alt.Axis(values=[0, 25, 50, 75, 100])
# Other interpretations of figure 8, by the ends of the names of their runs.
INTERPRETATIONS = {
    "service": "whole access twice as long",
    "rotation": "rotation twice as long",
    "seek": "seek twice as long",
    "at once": "writes complete at once",
}


def fig6(response: xr.DataArray, basis: xr.DataArray, paper: Mapping[str, float]) -> alt.TopLevelMixin:
    """Draw the response times by scheme on two equal bricks, in a panel for each trace.

    A grey mark is the paper's ratio of the scheme to D-SPTF, multiplied by our mean response time under D-SPTF.

    Parameters
    ----------
    response : DataArray
        Response times over `trace`, `run` and `statistic`, seconds. Only the runs of the system "equal" are drawn.
    basis : DataArray
        Origin of each trace, over `trace`.
    paper : mapping of str to float
        Numbers of the paper by identifier of the claim.

    Returns
    -------
    altair.TopLevelMixin
        Response times are in ms.
    """
    rows = _on(response, "equal")
    panels = []
    for number, (key, name) in enumerate(trace_names(basis).items()):
        said = _beside(rows.sel(trace=key, statistic="mean"), _ratios(key, paper))
        drawn = scheme_rows(
            rows.sel(trace=key), schemes_in(rows), AxisStyle(RESPONSE, TO_MS), said=said, named=number == 0
        )
        panels.append(headed(drawn, name, PANEL))
    means = rows.sel(statistic="mean")
    return finished(
        side_by_side(panels, legends="shared"),
        "Figure 6: response times of four traces on two equal bricks",
        caption(_found(means, f" (paper: {_theirs(basis, paper)})"), schemes_in(rows)),
        f"The traces are {origin(basis)}. The bars are the mean response times of all requests. A grey mark is "
        "the response time that follows from the paper: the paper's ratio of the scheme to D-SPTF, multiplied by our "
        "mean response time under D-SPTF. Each panel has a separate scale. Whiskers are 95% intervals.",
        legends="bottom",
    )


def _found(means: xr.DataArray, paper: str) -> list[str]:
    """Return the findings of figure 6 in words: hashing compared with D-SPTF, and D-SPTF compared with Central SPTF.

    A comparison is left out if one of its two schemes did not run.
    """
    hashing, central = over(means, "Hashing"), over(means, "Central SPTF")
    found = [f"Hashing takes {span(hashing, '.2f')} times as long as D-SPTF{paper}"] if hashing.size else []
    near = PERCENT * abs(central - 1)
    return found + ([f"D-SPTF is within {near.max():.1f}% of Central SPTF"] if central.size else [])


def _theirs(basis: xr.DataArray, paper: Mapping[str, float]) -> str:
    """Return, in words, the range over the traces of the paper's ratio of the times of hashing and D-SPTF."""
    ratios = [
        ratio
        for trace in basis.trace.values
        for name, *ends in _ratios(trace, paper)
        for ratio in ends
        if name == "Hashing"
    ]
    return span(ratios, ".2f")


def _beside(times: xr.DataArray, ratios: list[tuple[str, float, float]]) -> list[tuple[str, float, float]]:
    """Return, for each scheme that ran, our time of D-SPTF multiplied by the paper's ratio of the scheme to D-SPTF."""
    there = times.scheme.values.tolist()
    if "D-SPTF" not in there:
        return []
    ours = float(times.sel(scheme="D-SPTF")) * TO_MS
    return [(scheme, ours * low, ours * high) for scheme, low, high in ratios if scheme in there]


def _ratios(trace: str, paper: Mapping[str, float]) -> list[tuple[str, float, float]]:
    """Return the schemes with the paper's ratio of their response times to the response time of D-SPTF.

    A ratio is a range. For SAP, hashing has two ranges.
    """
    if trace not in ("sap", "financial"):
        rest = paper["dsptf.fig6.rest"]
        return [("Hashing", rest, rest), ("LARD", rest, rest)]
    local = (paper["dsptf.fig6.local[low]"], paper["dsptf.fig6.local[high]"])
    hashing = [("Hashing", 1 / paper["dsptf.fig6.sap"], 1 / paper["dsptf.fig6.sap"])] if trace == "sap" else []
    return [*hashing, ("Hashing", *local), ("LARD", *local)]


def fig7(response: xr.DataArray, basis: xr.DataArray) -> alt.TopLevelMixin:
    """Draw the response times by scheme on a fast and a slow brick, in a panel for each trace.

    Parameters
    ----------
    response : DataArray
        Response times over `trace`, `run` and `statistic`, seconds. Only the runs of the system "slow" are drawn.
    basis : DataArray
        Origin of each trace, over `trace`.

    Returns
    -------
    altair.TopLevelMixin
        Response times are in ms.
    """
    rows = _on(response, "slow")
    order = schemes_in(rows, FIVE)
    panels = [
        headed(scheme_rows(rows.sel(trace=key), order, AxisStyle(RESPONSE, TO_MS), named=number == 0), name, PANEL)
        for number, (key, name) in enumerate(trace_names(basis).items())
    ]
    means = rows.sel(statistic="mean")
    taken = {scheme: over(means, scheme) for scheme in order if scheme != "D-SPTF"}
    others = [f"{scheme} {span(ratios, '.2f')}" for scheme, ratios in taken.items() if ratios.size]
    return finished(
        side_by_side(panels, legends="shared"),
        "Figure 7: response times of four traces on a fast and a slow brick",
        caption(
            [f"The response times divided by the response time of D-SPTF are: {listed(others)}"] if others else [],
            order,
        ),
        f"The traces are {origin(basis)}. The bars are the mean response times of all requests. An access of the "
        "slow brick takes twice as long. Each panel has a separate scale. Whiskers are 95% intervals. The paper gives "
        "no numbers for this figure.",
    )


def fig8(response: xr.DataArray, paper: Mapping[str, float]) -> alt.TopLevelMixin:
    """Draw the response times over the run while bricks slow down and recover, for several interpretations.

    Parameters
    ----------
    response : DataArray
        Response times over `run`, `piece` (fraction of the run) and `statistic`, seconds. The system "changing" also
        has runs of LARD with windows above 0. The systems of the other interpretations, such as "changing, rotation",
        may be missing.
    paper : mapping of str to float
        Numbers of the paper by identifier of the claim.

    Returns
    -------
    altair.TopLevelMixin
        The three panels are for the schemes, for LARD with shorter windows, and for other interpretations. Response times
        are in ms.
    """
    rows = _on(response, "changing")
    windows = [name for name in rows.scheme.values.tolist() if name.startswith("LARD,")]
    left = colours_of(schemes_in(rows, FIVE))
    middle = {name: COLOUR[name] for name in ("D-SPTF", "LARD") if name in rows.scheme}
    middle |= dict(zip(windows, COLOURS[5:], strict=False))
    right = xr.concat([rows.isel(scheme=[]), *_by_interpretation(response)], dim="scheme")
    chosen = xr.concat([rows, right], dim="scheme").sel(statistic="mean")
    most = 1.05 * float(chosen.max()) * TO_MS
    drawn = {
        "Schemes": (rows, left),
        "LARD with shorter windows": (rows, middle),
        "Other interpretations": (right, _shades_of(right.scheme.values.tolist())),
    }
    panels = [
        headed(alt.layer(_over_run(lines, palette, most), _said(paper)), heading, TRIPLE)
        for heading, (lines, palette) in drawn.items()
        if palette
    ]
    return finished(
        side_by_side(panels, legends="independent"),
        "Figure 8: response times of SAP on bricks that slow down and recover",
        caption(_by_state(rows, paper), list(left)),
        "The trace is synthetic. The lines are mean response times of all requests. In the left and middle panels an "
        "access of the slow brick takes 1.5 times as long. In the right panel the whole access, its rotation or its "
        "seek takes twice as long, or writes complete immediately. Bands are 95% intervals. Dashed lines are the paper's "
        "values.",
    )


def _by_state(rows: xr.DataArray, paper: Mapping[str, float]) -> list[str]:
    """Return, in words, the time of hashing divided by the time of D-SPTF, without and with a slow brick."""
    share, means = PERCENT * rows.piece, rows.sel(statistic="mean")
    slow = xr.zeros_like(share, bool)
    for begin, end, _ in SLOW:
        slow = slow | ((share > begin) & (share <= end))
    found = []
    for state, words, pieces in (("normal", "without a slow brick", ~slow), ("degraded", "with a slow brick", slow)):
        ratios = over(means.where(pieces).mean("piece"), "Hashing")
        said = float(FIG8_RATIOS.numbers(paper).sel(state=state))
        found += [f"{ratio:.2f} times as long as D-SPTF {words} (paper: {said:.2f})" for ratio in ratios]
    return [f"Hashing takes {listed(found)}"] if found else []


def _by_interpretation(response: xr.DataArray) -> list[xr.DataArray]:
    """Return the runs of D-SPTF and hashing under other interpretations. Names of schemes end in the interpretation."""
    systems = [name for name in dict.fromkeys(response.system.values.tolist()) if name.startswith("changing, ")]
    parts = {name.removeprefix("changing, "): _on(response, name) for name in systems}
    parts = {
        meaning: part.isel(scheme=part.scheme.isin(["D-SPTF", "Hashing"]).values) for meaning, part in parts.items()
    }
    return [
        part.assign_coords(scheme=[f"{scheme}, {INTERPRETATIONS[meaning]}" for scheme in part.scheme.values])
        for meaning, part in parts.items()
    ]


def _shades_of(names: list[str]) -> dict[str, str]:
    """Return a colour for each line: a shade of the colour of its scheme."""
    shades = {
        "D-SPTF": iter((COLOUR["D-SPTF"], "#f5a77b", "#7a3200", "#f0027f")),
        "Hashing": iter((COLOUR["Hashing"], "#8fd3bd", "#00543b", "#386cb0")),
    }
    return {name: next(shades[name.split(", ")[0]]) for name in names}


def _over_run(rows: xr.DataArray, palette: Mapping[str, str], most: float) -> Layered:
    """Return a line with a band (the interval) for each scheme over the run, on shaded quarters with a slow brick."""
    at = AxisStyle("Share of the run (%)", PERCENT, alt.Scale(domain=[0, 100], nice=False), QUARTERS)
    up = AxisStyle(RESPONSE, TO_MS, alt.Scale(domain=[0, most], nice=False))
    key = alt.Legend(title=None, symbolOpacity=1, symbolType=DASH, orient="bottom", columns=2, labelLimit=TRIPLE)
    return alt.layer(shaded(SLOW), ribbons(rows, "piece", "scheme", palette, (at, up), key))


def _said(paper: Mapping[str, float]) -> Layered:
    """Return lines at the paper's times of D-SPTF and hashing in each quarter, with the names of the two schemes."""
    said = FIG8.numbers(paper)
    quarters = (("normal", 0, 25), ("degraded", 25, 50), ("normal", 50, 75), ("degraded", 75, 100))
    rows = [
        (float(level.sel(state=state)), begin, end)
        for level in said.transpose("scheme", "state")
        for state, begin, end in quarters
    ]
    base = alt.Chart(pd.DataFrame(rows, columns=["paper", "from", "to"]))
    rule = base.mark_rule(strokeWidth=2, strokeDash=[4, 3], color=PAPER).encode(x="from:Q", x2="to:Q", y="paper:Q")
    last = said.sel(state="degraded")
    names = pd.DataFrame({"paper": last.values, "words": ["D-SPTF", "hashing"], "at": PERCENT})
    # The names are below the dashed lines, because in the last quarter our lines are above them.
    word = alt.Chart(names).mark_text(align="right", baseline="top", dx=-2, dy=4, fontSize=10, color=PAPER)
    return alt.layer(rule, word.encode(x="at:Q", y="paper:Q", text="words"))


def _on(response: xr.DataArray, system: str) -> xr.DataArray:
    """Return the runs on one system. The dimension `scheme` replaces the dimension `run`."""
    return response.isel(run=(response.system == system).values).swap_dims(run="scheme").drop_vars(["run", "system"])
