"""The folded table below a chart: means with intervals by the axes, in readable units, with the paper's numbers.

A second table lists the claims of the exhibit that are not in a row of the first table.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

from storagekit.core.axes import title
from storagekit.core.units import HOUR, KB, MS, US
from storagekit.papers.measurement import Measurement
from storagekit.reproduce.claims import Claim
from storagekit.reproduce.digits import beside, fixed, printed, significant, spread, sure
from storagekit.reproduce.summaries import axes, expected, is_of

if TYPE_CHECKING:
    import pandas as pd

MOST_ROWS, MOST_MEASURES = 40, 4
"""Largest number of rows, and of measures, of a table that is shown. The files have all rows and measures."""
# Standard measures that are shown if an exhibit does not name its measures.
_FIRST = ("throughput", "request_rate", "response", "service_time")
# Least number of values of an axis that a long table keeps.
_FEWEST = 3
# Units of axes without a unit in the data; all numbers are SI.
_UNITS = {
    "interval": "s", "latency": "s", "memory": "B", "offered": "B/s", "time": "s", "timeout": "s", "unit": "B",
    "window": "s",
}  # fmt: skip
# The class stands twice, so that these rules override the rules of a notebook page.
_STYLE = """
details.storagekit-table.storagekit-table { font-size: 13px; margin: .25rem 0 1rem; overflow-x: auto }
details.storagekit-table.storagekit-table > summary { color: #555; cursor: pointer }
details.storagekit-table.storagekit-table table { border-collapse: collapse; margin: .5rem 0; table-layout: auto }
details.storagekit-table.storagekit-table th, details.storagekit-table.storagekit-table td { padding: .15rem .6rem;
  text-align: left; color: #222; white-space: nowrap; border-bottom: 1px solid #ddd }
details.storagekit-table.storagekit-table td.number, details.storagekit-table.storagekit-table th.number { text-align: right }
details.storagekit-table.storagekit-table td.says { white-space: normal; max-width: 36rem }
details.storagekit-table.storagekit-table p { color: #555; margin: .25rem 0 }
"""


class Unit(NamedTuple):
    """A unit in which numbers are shown: its name, and its size in the unit in which the numbers are stored."""

    name: str
    size: float = 1.0


def folded(
    rows: "pd.DataFrame",
    about: Sequence[str],
    claims: Iterable[Claim],
    found: Mapping[str, Measurement],
    exhibit: str,
    file: str,
) -> str:
    """Return the HTML of a folded section: a table for each group of measures with the same axes, and further claims.

    Parameters
    ----------
    rows : DataFrame
        Result of `summaries.summary` or of `summaries.with_paper`.
    about : sequence of str
        The measures to show. If it is empty, the measures of the exhibit are shown first, and then the first standard
        measures.
    claims : iterable of Claim
        The paper's claims.
    found : mapping of str to Measurement
        Measurements, keyed by claim id.
    exhibit : str
        Id of the exhibit.
    file : str
        Name of the file with all rows.
    """
    shown = measures(rows, about)
    left = len(dict.fromkeys(rows["measure"])) - len(shown)
    parts = [table for group in _alike(rows, shown) for table in _table(rows, group)]
    more = f"{left} more measure{'s' * (left > 1)} and all rows" if left > 0 else "All rows"
    parts.append(f"<p>{more}, in SI units: {escape(file)}. The 95% interval is next to each mean.</p>")
    parts.extend(_said(rows, claims, found, exhibit))
    heading = f"Table: {', '.join(_words(name) for name in shown)}"
    return (
        f'<style>{_STYLE}</style><details class="storagekit-table"><summary>{escape(heading)}</summary>\n'
        + "\n".join(parts)
        + "\n</details>"
    )


def measures(rows: "pd.DataFrame", about: Sequence[str] = ()) -> list[str]:
    """Return the names of the measures that a table shows: `about`, or else at most `MOST_MEASURES` measures.

    Without `about`, measures with numbers of the paper come first, then other measures of the exhibit, then standard
    measures.
    """
    from storagekit.simulation.standard_measures import STANDARD

    there = list(dict.fromkeys(rows["measure"]))
    if about:
        return [name for name in about if name in there]
    usual = (
        {measure.name for measure in STANDARD} | {name for name in there if name.endswith("_quantile")} | {"warm_up"}
    )
    repeated = set(rows.loc[rows["low"].notna(), "measure"]) if "low" in rows else set()
    own = sorted((name for name in there if name not in usual), key=lambda name: name not in repeated)
    first = [name for name in _FIRST if name in there]
    carrying = list(dict.fromkeys(rows.loc[rows["paper"].notna(), "measure"])) if "paper" in rows else []
    measured = [name for name in own if name in repeated]
    chosen = [*carrying, *measured, *(first or own), *own, *there]
    chosen = list(dict.fromkeys(chosen))[:MOST_MEASURES]
    return [name for name in there if name in chosen]


def _alike(rows: "pd.DataFrame", shown: Sequence[str]) -> list[list[str]]:
    """Return groups of measures with the same axes."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for name in shown:
        mine = rows.loc[rows["measure"] == name, :]
        groups.setdefault(tuple(axis for axis in axes(rows) if _has(mine, axis)), []).append(name)
    return list(groups.values())


def _table(rows: "pd.DataFrame", group: Sequence[str]) -> Iterator[str]:
    """Yield a table of the measures in `group`, which have the same axes, and a note on the rows that are left out."""
    mine = rows.loc[rows["measure"].isin(group), :]
    mine = mine.loc[mine[[name for name in ("mean", "text") if name in mine]].notna().any(axis=1), :]
    along = [axis for axis in axes(rows) if _has(mine, axis)]
    kept, cut = _thinned(mine, along)
    columns = [_column(part, name) for name in group if len(part := kept.loc[kept["measure"] == name, :])]
    heads = [_axis(kept, axis) for axis in along]
    head = "".join(f"<th>{escape(name)}</th>" for name, _ in heads)
    head += "".join(f'<th class="number">{escape(one)}</th>' for names, _ in columns for one in names)
    body = []
    for point in dict.fromkeys(_points(kept, along)):
        cells = [f"<td>{escape(show(value))}</td>" for (_, show), value in zip(heads, point, strict=True)]
        for names, texts in columns:
            shown = texts.get(point, [""] * len(names))
            cells += [f'<td class="number">{escape(text)}</td>' for text in shown]
        body.append(f"<tr>{''.join(cells)}</tr>")
    yield f"<table><thead><tr>{head}</tr></thead>\n<tbody>{''.join(body)}</tbody></table>"
    if cut:
        yield f"<p>{escape(cut)}</p>"


def _points(rows: "pd.DataFrame", along: Sequence[str]) -> list[tuple]:
    return list(rows[list(along)].itertuples(index=False, name=None)) if along else [()] * len(rows)


def _thinned(rows: "pd.DataFrame", along: Sequence[str]) -> tuple["pd.DataFrame", str]:
    """Return about `MOST_ROWS` rows or fewer, and a note on the values that are left out.

    The function repeatedly drops every second value of the axis with the most values. Rows with a number of the paper
    stay.
    """
    values = {axis: list(dict.fromkeys(rows[axis].dropna())) for axis in along}
    kept = dict(values)
    while math.prod(map(len, kept.values())) > MOST_ROWS:
        longest = max(kept, key=lambda axis: len(kept[axis]))
        if len(kept[longest]) <= _FEWEST:
            break
        kept[longest] = kept[longest][::2]
    mask = rows["measure"].notna()
    for axis in along:
        mask &= rows[axis].isin(kept[axis])
    if "paper" in rows:
        mask |= rows["paper"].notna()
    cut = [
        f"{len(kept[axis])} of {len(values[axis])} values of {title(axis).lower()}"
        for axis in along
        if kept[axis] != values[axis]
    ]
    return rows.loc[mask, :], f"Shown: {', '.join(cut)}." if cut else ""


def _column(rows: "pd.DataFrame", name: str) -> tuple[list[str], dict[tuple, list[str]]]:
    """Return the headings of a measure (name, interval, the paper's number) and, for each point, its texts."""
    along = [axis for axis in axes(rows) if _has(rows, axis)]
    unit = readable(str(rows["units"].iloc[0]), rows["mean"]) if "mean" in rows else Unit("")
    interval, paper = (name in rows.columns and _has(rows, name) for name in ("low", "paper"))
    names = [f"{_words(name)}{f', {unit.name}' if unit.name else ''}"]
    names += ["95% interval"] * interval + ["paper"] * paper
    texts = {}
    for point, row in zip(_points(rows, along), rows.to_dict("records"), strict=True):
        mean, low, high = (float(row.get(figure, math.nan)) / unit.size for figure in ("mean", "low", "high"))
        digits = sure(mean, low, high)
        numbers = [_text(row.get("text")) if not math.isfinite(mean) else fixed(mean, digits)]
        numbers += [spread((low, high), digits) if math.isfinite(low) else ""] * interval
        texts[point] = numbers + [_text(row.get("paper"))] * paper
    return names, texts


def _axis(rows: "pd.DataFrame", axis: str) -> tuple[str, Any]:
    """Return the heading of an axis, and the function that formats one of its values."""
    values = [value for value in rows[axis].dropna() if not isinstance(value, str | bool)]
    unit = readable(_UNITS.get(axis, "") if values else "", values)

    def show(value: Any) -> str:
        if isinstance(value, str | bool):
            return str(value)
        number = float(value) / unit.size
        text = fixed(number, significant(round(number, 9)))
        return text.rstrip("0").rstrip(".") if "." in text else text

    return f"{title(axis)}{f', {unit.name}' if unit.name else ''}", show


def readable(unit: str, values: Iterable[float]) -> Unit:
    """Return the unit in which numbers in the SI unit `unit` are shown. The median of the numbers determines it.

    Numbers of bytes that are all multiples of 2^10 are shown in units of powers of 2^10, other numbers in powers of 10.

    >>> readable("s", [0.0072]), readable("B", [4096, 32768])
    (Unit(name='ms', size=0.001), Unit(name='KB', size=1024.0))
    """
    sizes = sorted(abs(float(value)) for value in values if math.isfinite(value) and value)
    middle = sizes[len(sizes) // 2] if sizes else 0.0
    if unit == "s" and middle >= 2 * HOUR:
        return Unit("hours", HOUR)
    if unit == "s" and 0 < middle < 1:
        return Unit("us", US) if middle < MS else Unit("ms", MS)
    if unit in ("B", "B/s"):
        base = float(KB) if unit == "B" and all(size % KB == 0 for size in sizes) else 1e3
        power = next((power for power in (4, 3, 2, 1) if middle >= base**power), 0)
        return Unit(unit.replace("B", ("B", "KB", "MB", "GB", "TB")[power], 1), base**power)
    return Unit(unit)


def _said(
    rows: "pd.DataFrame", claims: Iterable[Claim], found: Mapping[str, Measurement], exhibit: str
) -> Iterator[str]:
    """Yield a table of the numbers of the paper that are in no row, next to the measured values."""
    carried = {one for ids in rows["claim"].dropna() for one in ids.split(", ")} if "claim" in rows else set()
    lines = []
    for claim in claims:
        if claim.expected is None or claim.id in carried or not is_of(claim, exhibit):
            continue
        one = found.get(claim.id)
        measured, low, high = (one.measured, one.low, one.high) if one else (None, None, None)
        words = f"{claim.id}: {claim.says}" if claim.says else claim.id
        digits = 0 if measured is None else beside(printed(claim.expected), float(measured))
        text = "" if measured is None else fixed(float(measured), digits)
        sure_of = spread((low, high), digits) if low is not None and high is not None else ""
        lines.append(
            f'<tr><td class="says">{escape(words)}</td><td class="number">{escape(expected(claim))}</td>'
            f'<td class="number">{text}</td><td class="number">{sure_of}</td></tr>'
        )
    if lines:
        head = "".join(
            f"<th>{name}</th>" for name in ("further numbers of the paper", "paper", "measured", "95% interval")
        )
        yield f"<table><thead><tr>{head}</tr></thead>\n<tbody>{''.join(lines)}</tbody></table>"


def _has(rows: "pd.DataFrame", name: str) -> bool:
    """Return whether any row has a value in this column."""
    return bool(rows[name].notna().to_numpy().any())


def _words(name: str) -> str:
    return name.replace("_", " ")


def _text(value: Any) -> str:
    return "" if value is None or (isinstance(value, float) and math.isnan(value)) else str(value)
