"""An answer in words: a headline, further lines, and optionally a table."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Annotated, Any

import pandas as pd

from storagekit.core.validation import instance_of, several, text, validate_fields


@dataclass(frozen=True)
class AnswerText:
    """An answer in words.

    Parameters
    ----------
    headline : str
        One sentence, which is shown in bold in HTML.
    lines : sequence of str
        Further sentences, by default none.
    table : DataFrame, optional
        A small table, which is shown below the text. Its first column is the index. In HTML its first row is bold.
    """

    headline: str
    lines: Annotated[Sequence[str], several(text)] = ()
    table: Annotated[pd.DataFrame | None, instance_of(pd.DataFrame, "a pandas DataFrame")] = None

    def __post_init__(self):
        validate_fields(self)

    def __str__(self) -> str:
        shown = [] if self.table is None else ["", self.table.to_string()]
        return "\n".join([self.headline, *self.lines, *shown])

    def _repr_html_(self) -> str:
        shown = "" if self.table is None else _table(self.table)
        lines = "".join(f"<p>{escape(line)}</p>" for line in self.lines)
        head = f'<p style="font-size: 115%"><b>{escape(self.headline)}</b></p>'
        return f'<div class="sk-said">{_LOOK}{head}{lines}{shown}</div>'


def html(said: Any) -> str:
    """Return an answer as HTML.

    If the object has an HTML form, the result is this form. Otherwise the first line of its text is the headline.
    """
    own = getattr(said, "_repr_html_", None)
    if own is not None:
        return own()
    first, _, rest = str(said).partition("\n")
    return AnswerText(first)._repr_html_() + (
        f'<pre style="font-size: 85%">{escape(rest)}</pre>' if rest.strip() else ""
    )


def impossible(fault: Exception) -> str:
    """Return an error message as HTML, which gives the reason why there is no answer."""
    return f'<p style="margin: 2px 0; color: #8a3b00"><b>Not possible.</b> {escape(_sentence(str(fault)))}</p>'


def broken(fault: Exception) -> str:
    """Return a message about a failure of the dashboard itself, as HTML."""
    words = f"{type(fault).__name__}: {fault}"
    return f'<p style="margin: 2px 0; color: #8a3b00"><b>This dashboard failed.</b> {escape(words)}</p>'


def noted(warnings: Sequence[str]) -> str:
    """Return warnings as HTML."""
    return "".join(f'<p style="margin: 2px 0; color: #666">Note: {escape(one)}</p>' for one in warnings)


def _sentence(words: str) -> str:
    return words[:1].upper() + words[1:]


# one style for all cells; a style for each cell would be most of the data
_LOOK = (
    "<style>.sk-said{line-height:1.4}.sk-said table{border-collapse:collapse;margin-top:6px;font-size:95%}"
    ".sk-said :is(td,th){padding:1px 12px 1px 0;border:none;white-space:nowrap;font-weight:normal;text-align:right}"
    ".sk-said :is(td,th,p){line-height:1.4}.sk-said p{margin:2px 0}.sk-said .l{text-align:left}.sk-said th{color:#666}"
    ".sk-said tr:nth-child(2) td{font-weight:bold}</style>"
)


def _table(table: pd.DataFrame) -> str:
    """Return a small table as HTML: numbers are right-aligned, text is left-aligned, and the first row is bold."""
    left = [True, *(not pd.api.types.is_numeric_dtype(table[name]) for name in table.columns)]
    lines = [_line("th", [str(table.index.name or ""), *map(str, table.columns)], left)]
    lines += [
        _line("td", [str(name), *map(_figure, row)], left)
        for name, row in zip(table.index, table.itertuples(index=False, name=None), strict=True)
    ]
    return f"<table>{''.join(lines)}</table>"


def _line(tag: str, cells: Sequence[str], left: Sequence[bool]) -> str:
    made = [
        f"<{tag} class=l>{escape(cell)}</{tag}>" if first else f"<{tag}>{escape(cell)}</{tag}>"
        for cell, first in zip(cells, left, strict=True)
    ]
    return f"<tr>{''.join(made)}</tr>"


def _figure(value: Any) -> str:
    """Return a number with three digits, or all digits before the decimal point; other values unchanged."""
    if not isinstance(value, float):
        return str(value)
    if value != value:
        return "-"
    if abs(value) == float("inf"):
        return "never"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
