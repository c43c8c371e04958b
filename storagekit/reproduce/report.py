"""Format the scorecard as a file, as tables of a page and as text."""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from types import MappingProxyType
from typing import Any

from storagekit.core.atomic_files import write_text
from storagekit.core.errors import InputError
from storagekit.reproduce.claims import EVIDENCE
from storagekit.reproduce.digits import beside, fixed, printed
from storagekit.reproduce.scorecard import COLUMNS, ClaimsMet, ScorecardRow, count, shares

SCORECARD = "scorecard.csv"
# Significant digits of the numbers in scorecard.csv.
_DIGITS = 10
NOTHING: Mapping[str, str] = MappingProxyType({})
_COLOURS = {
    "match": "#d9f0d3",
    "holds": "#d9f0d3",
    "near": "#fff3c4",
    "miss": "#fbd0c8",
    "broken": "#fbd0c8",
    "not-run": "#eeeeee",
}
# The class stands twice, so that these rules override the rules of a notebook page.
_TABLE_STYLE = """
table.scorecard.scorecard { border-collapse: collapse; font-size: 13px; width: 100%;
  table-layout: auto }
.scorecard.scorecard th, .scorecard.scorecard td { padding: .25rem .5rem; text-align: left;
  vertical-align: top; border-bottom: 1px solid #ddd; color: #222; white-space: normal }
.scorecard.scorecard th { position: sticky; top: 0; background: #fff }
.scorecard.scorecard td.number { text-align: right; white-space: nowrap }
.scorecard.scorecard td.verdict { white-space: nowrap }
.scorecard.scorecard td.note { min-width: 14rem }
.scorecard.scorecard small { color: #444; display: block; max-width: 24rem; font-size: 12px }
"""
RULES = (
    "A match is within 5% of the paper's number, and near is within 15%. If the paper's number is 0, a match is within "
    "0.01, and near is within 0.03, in the unit of the claim. An order or a bound holds or is broken. A claim is met "
    "if it matches or holds. The 95% confidence interval is below the measured value. Evidence: paper, the claim is "
    "judged only by the paper; input, a synthetic trace was generated to have this value; calibrated, a constant that "
    "affects the value was fitted to the paper; printed, the value is arithmetic on printed numbers; hardware, the claim "
    "is about hardware "
    "that the model does not include; at-odds, the paper contradicts itself or does not define the value; ours, the "
    "paper does not state the claim. Alternatives: other attempts to meet the claim, and their results."
)


def write_scorecard(rows: Sequence[ScorecardRow], out: Path) -> None:
    """Write OUT/scorecard.csv, sorted by paper. An interrupt leaves the old file or the new file, never a part."""
    write_text(out / SCORECARD, csv_text(sorted(rows, key=lambda row: row.paper)))


def csv_text(rows: Iterable[ScorecardRow]) -> str:
    """Return the rows as CSV with a header line."""
    sheet = io.StringIO()
    writer = csv.writer(sheet, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(_cells(row).values() for row in rows)
    return sheet.getvalue()


def read_scorecard(out: Path) -> list[dict[str, str]]:
    """Return the rows of OUT/scorecard.csv as text. Raises InputError if the file is missing or damaged."""
    path = out / SCORECARD
    try:
        with path.open(encoding="utf-8", newline="") as file:
            reader = csv.DictReader(file)
            rows = list(reader)
    except FileNotFoundError:
        raise InputError(f"{path}: no such scorecard; run `storagekit reproduce` first") from None
    except (OSError, UnicodeDecodeError, csv.Error) as fault:
        raise InputError(f"{path}: {fault}; run `storagekit reproduce` again") from fault
    if tuple(reader.fieldnames or ()) != COLUMNS or any(None in row.values() for row in rows):
        raise InputError(f"{path}: not a scorecard; run `storagekit reproduce` again")
    return rows


def text_table(rows: Sequence[dict[str, str]]) -> str:
    """Return the rows as an aligned table for a terminal, without the notes, followed by the counts of the claims."""
    columns = ("id", "expected", "measured", "low", "high", "unit", "error", "verdict", "basis", "evidence")
    cells = [columns] + [tuple(_in_words(row, name) for name in columns) for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = ["  ".join(map(str.ljust, line, widths)).rstrip() for line in cells]
    return "\n".join([*lines, "", summary((row["evidence"], row["verdict"]) for row in rows)])


def summary(rows: Iterable[tuple[str, str]]) -> str:
    """Return one line with the counts of the claims.

    For example: "41 claims: 20 match, 3 near; judged only by the papers: 20 of 30 met (67%); by other evidence:
    input 2 of 3", and so on.

    Parameters
    ----------
    rows : iterable of (str, str)
        Evidence and verdict of each claim.
    """
    claims = list(rows)
    if not claims:
        return "no claims"
    verdicts = ", ".join(f"{number} {verdict}" for verdict, number in count(one for _, one in claims).items())
    parts = [f"{len(claims)} claims: {verdicts}"]
    evidence_shares = shares(claims)
    alone = evidence_shares.pop("paper", None)
    if alone is not None:
        parts.append(f"judged only by the papers: {alone.met} of {alone.judged} met ({alone.part:.0%})")
    if evidence_shares:
        others = ", ".join(f"{evidence} {its.met} of {its.judged}" for evidence, its in evidence_shares.items())
        parts.append(f"by other evidence: {others}")
    return "; ".join(parts)


def share_table(rows: Sequence[ScorecardRow], shown: Mapping[str, str] = NOTHING) -> str:
    """Return an HTML table with the number of claims of each paper that are met, by kind of evidence.

    Parameters
    ----------
    rows : sequence of ScorecardRow
        Rows of the scorecard.
    shown : mapping of str to str
        For each key of a paper, the HTML that the table shows instead; by default the key itself.
    """
    head = "".join(f"<th>{escape(name)}</th>" for name in ("paper", "only the paper", "all", *EVIDENCE[1:]))
    lines = []
    for paper in [*dict.fromkeys(row.paper for row in rows), ""]:
        its = [(row.evidence, row.verdict) for row in rows if paper in ("", row.paper)]
        by_evidence = shares(its)
        every = shares(("paper", verdict) for _, verdict in its)
        # A percentage of few claims with other evidence would be misleading.
        cells = [
            _part(by_evidence.get("paper")),
            _part(every.get("paper")),
            *(_of(by_evidence.get(evidence)) for evidence in EVIDENCE[1:]),
        ]
        numbers = "".join(f'<td class="number">{cell}</td>' for cell in cells)
        lines.append(f"<tr><td>{shown.get(paper) or escape(paper or 'all papers')}</td>{numbers}</tr>")
    return f'<table class="scorecard"><thead><tr>{head}</tr></thead>\n<tbody>{"".join(lines)}</tbody></table>'


def _of(share: ClaimsMet | None) -> str:
    return "" if share is None else f"{share.met} of {share.judged}"


def _part(share: ClaimsMet | None) -> str:
    return _of(share) + (f", {share.part:.0%}" if share is not None and share.judged else "")


def html_table(rows: Sequence[ScorecardRow], says: Mapping[str, str], links: Mapping[str, str] = NOTHING) -> str:
    """Return the rows as an HTML table, coloured by verdict, with each claim's statement below its id.

    The HTML id of a row is the id of its claim. Paper, exhibit, verdict and evidence are data attributes of the row,
    for a script that filters rows.

    Parameters
    ----------
    rows : sequence of ScorecardRow
        Rows of the scorecard.
    says : mapping of str to str
        Statement of each claim, keyed by id.
    links : mapping of str to str
        For each id of a claim, the HTML below its statement; nothing by default.
    """
    head = "".join(f"<th>{name}</th>" for name in ("claim", "paper", "measured", "error", "verdict", "note"))
    body = "\n".join(_html_row(row, says.get(row.id, ""), links.get(row.id, "")) for row in rows)
    return (
        f"<style>{_TABLE_STYLE}</style>\n"
        f'<table class="scorecard"><thead><tr>{head}</tr></thead>\n'
        f"<tbody>\n{body}\n</tbody></table>"
    )


def _html_row(row: ScorecardRow, says: str, links: str) -> str:
    note = f"{row.note} Alternatives: {row.alternatives}" if row.alternatives else row.note
    cells_of = _cells(row) | {"note": note}
    html = {name: escape(_in_words(cells_of, name)) for name in cells_of}
    # For a statement, the verdict already shows the measured truth value.
    measured = "" if isinstance(row.measured, bool) else html["measured"]
    interval = f"{html['low']} to {html['high']}" if html["low"] and html["high"] else html["low"] or html["high"]
    cells = (
        ("", html["id"], escape(says), links),
        ("number", html["expected"], html["unit"]),
        ("number", measured, interval),
        ("number", html["error"]),
        ("verdict", html["verdict"], html["basis"], f"evidence: {html['evidence']}"),
        ("note", html["note"]),
    )
    data = " ".join(f'data-{name}="{html[name]}"' for name in ("paper", "exhibit", "verdict", "evidence"))
    cells = "".join(_html_cell(*cell) for cell in cells)
    return f'<tr id="{html["id"]}" {data} style="background:{_COLOURS[row.verdict]}">{cells}</tr>'


def _html_cell(kind: str, text: str, *below: str) -> str:
    """Return a cell with `text` and, below it in small letters, the further lines. All texts are HTML."""
    small = "".join(f"<small>{line}</small>" for line in below if line)
    mark = f' class="{kind}"' if kind else ""
    return f"<td{mark}>{text}{small}</td>"


def _in_words(row: Mapping[str, str], name: str) -> str:
    """Return the text of a scorecard cell for a reader.

    A measured number has about as many decimals as the paper's number. An error is in percent, or in the claim's unit
    if the paper says 0. row: the row in the form of scorecard.csv.
    """
    text, expected = row[name], row["expected"]
    measured = _number(row["measured"])
    if name not in ("measured", "low", "high", "error") or measured is None or _number(text) is None:
        return text
    decimals, value = beside(expected, measured), float(text)
    if name != "error":
        return fixed(value, decimals)
    return fixed(value, decimals, "+") if _number(expected) == 0 else f"{fixed(100 * value, 1, '+')}%"


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _cells(row: ScorecardRow) -> dict[str, str]:
    """Return a row in the form of scorecard.csv, keyed by column."""
    return {name: _plain(value, _DIGITS) for name, value in row._asdict().items()} | {"expected": printed(row.expected)}


def _plain(value: Any, digits: int) -> str:
    if value is None:
        return ""
    if isinstance(value, tuple):
        return " to ".join(_plain(end, digits) for end in value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:.{digits}g}"
    return str(value)
