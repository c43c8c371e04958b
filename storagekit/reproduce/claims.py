"""Read the claims of a paper from the files in data/claims. Measurements of a reproduction are compared with them."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from storagekit.core.errors import InputError
from storagekit.core.resources import data_path

# The C loader, where PyYAML has it, reads a file in a tenth of the time.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
KINDS = ("value", "ratio", "order", "bound", "exact")
# Kinds of evidence for a match; only "paper" counts as a reproduction.
EVIDENCE = ("paper", "input", "calibrated", "printed", "hardware", "at-odds", "ours")


@dataclass(frozen=True)
class Claim:
    """One checkable statement of a paper. A list or mapping of numbers gives one Claim for each element.

    Parameters
    ----------
    id : str
        `<exhibit>.<claim>`, followed by `[element]` for an element of a list or mapping.
    paper : str
        Key of the paper.
    exhibit : str
        Id of the exhibit.
    says : str
        The statement in plain words.
    kind : str
        Kind of the claim, one of `KINDS`.
    expected : float or (float, float) or None
        The paper's number, an interval (low, high), or None if the paper gives no number.
    unit : str
        Unit of `expected`.
    needs : str
        Input that a measurement needs, such as "trace:SAP" for the trace SAP; may be empty.
    caveat : str
        A point at which the paper contradicts itself or is silent; may be empty.
    evidence : str
        One of `EVIDENCE`, see data/README.md.
    beyond : float
        The part of the number that is certain without a measurement; 0 by default. Only the excess over this part is
        compared.
    within : float
        Largest rounding error of the printed number, which makes the excess uncertain; 0 by default.
    among : (float, float), optional
        The smallest and the largest number for a setting that the paper prints several times. The measured number is
        compared with this range.
    alternatives : str
        Other attempts to meet the claim and their results; empty by default.
    """

    id: str
    paper: str
    exhibit: str
    says: str
    kind: str
    expected: float | tuple[float, float] | None
    unit: str
    needs: str
    caveat: str
    evidence: str = "paper"
    beyond: float = 0.0
    within: float = 0.0
    among: tuple[float, float] | None = None
    alternatives: str = ""


@dataclass(frozen=True)
class Exhibit:
    """A table, figure, theorem or worked example.

    Parameters
    ----------
    id : str
        Id of the exhibit.
    shows : str
        The content of the exhibit in words.
    claims : tuple of Claim
        The claims of the exhibit.
    """

    id: str
    shows: str
    claims: tuple[Claim, ...]


def papers() -> list[str]:
    """Return the keys of the papers that have a claims file."""
    return sorted(path.stem for path in data_path("claims").glob("*.yaml"))


def load_exhibits(paper: str) -> tuple[Exhibit, ...]:
    """Return the exhibits of a paper, in order. Raises InputError if the paper has no claims file."""
    path = data_path("claims", f"{paper}.yaml")
    if paper not in papers():
        raise InputError(f"paper {paper!r}: no claims for this paper; give one of {', '.join(papers())}")
    return read_exhibits(path)


def load_claims(paper: str) -> tuple[Claim, ...]:
    """Return all claims of a paper in order, one `Claim` for each element of a list or mapping of numbers."""
    return tuple(claim for exhibit in load_exhibits(paper) for claim in exhibit.claims)


def numbers(paper: str) -> dict[str, float]:
    """Return the numbers of a paper, keyed by claim id, for marks in a chart.

    The ends of a range have the keys `<id>[low]` and `<id>[high]`.
    """
    found: dict[str, float] = {}
    for claim in load_claims(paper):
        if isinstance(claim.expected, tuple):
            found |= {
                f"{claim.id}[{end}]": float(value) for end, value in zip(("low", "high"), claim.expected, strict=True)
            }
        elif claim.expected is not None:
            found[claim.id] = float(claim.expected)
    return found


def read_exhibits(path: Path) -> tuple[Exhibit, ...]:
    """Return the exhibits of a claims file. Raises InputError, with file and claim, if the file is invalid."""
    try:
        page = yaml.load(path.read_text(encoding="utf-8"), _LOADER)
        paper, entries = page["paper"], page["exhibits"]
        exhibits = tuple(
            Exhibit(entry["id"], entry.get("shows", ""), tuple(_claims(paper, entry))) for entry in entries
        )
    except (OSError, UnicodeDecodeError, yaml.YAMLError, KeyError, TypeError, AttributeError) as e:
        reason = " ".join(str(e).split())
        raise InputError(f"claims file {path}: {reason}; see data/README.md for the format") from e
    except InputError as fault:
        raise InputError(f"claims file {path}: {fault}") from None
    _refuse_repeated([c.id for exhibit in exhibits for c in exhibit.claims], path)
    return exhibits


def _refuse_repeated(ids: list[str], path: Path) -> None:
    repeated = sorted({name for name in ids if ids.count(name) > 1})
    if repeated:
        raise InputError(f"claims file {path}: two claims have the id {repeated[0]}; give each claim a separate id")


def _claims(paper: str, exhibit: dict[str, Any]) -> Iterator[Claim]:
    for entry in exhibit.get("claims", ()):
        kind, evidence = entry.get("kind"), entry.get("evidence", "paper")
        if kind not in KINDS or evidence not in EVIDENCE:
            # The import is here, because it also imports NumPy, which valid claims do not need.
            from storagekit.core.validation import one_of

            one_of(*KINDS)(f"{entry['id']}: kind", kind)
            one_of(*EVIDENCE)(f"{entry['id']}: evidence", evidence)
        for element, expected in _elements(entry, exhibit.get("setup", {})):
            yield Claim(
                id=f"{entry['id']}[{','.join(element)}]" if element else entry["id"],
                paper=paper,
                exhibit=exhibit["id"],
                says=entry.get("says", ""),
                kind=entry["kind"],
                expected=expected,
                unit=entry.get("unit", ""),
                needs=entry.get("needs", ""),
                caveat=entry.get("caveat", ""),
                evidence=entry.get("evidence", "paper"),
                beyond=_number(entry["id"], entry.get("beyond", 0.0)),
                within=_number(entry["id"], entry.get("within", 0.0)),
                among=_among(entry, element),
                alternatives=entry.get("alternatives", ""),
            )


def _elements(entry: dict[str, Any], setup: dict[str, Any]) -> Iterator[tuple[tuple[str, ...], Any]]:
    value = entry.get("value")
    if entry.get("range"):
        low, high = _interval(entry["id"], value)
        yield (), (low, high)
    elif "over" in entry:
        over = entry["over"]
        names = setup[over] if isinstance(over, str) else over
        if not isinstance(value, list) or len(value) != len(names):
            raise InputError(f"{entry['id']}: {value!r} must have one element for each of {names!r}")
        for name, part in zip(names, value, strict=True):
            yield from _leaves(entry["id"], part, (str(name),))
    elif value is None:
        yield (), None
    else:
        yield from _leaves(entry["id"], value, ())


def _among(entry: dict[str, Any], element: tuple[str, ...]) -> tuple[float, float] | None:
    """Return the range for an element of a claim: the only range, or the range under the name of the element."""
    ranges = entry.get("among")
    if ranges is not None and (entry["kind"] not in ("value", "ratio") or entry.get("range") or "value" not in entry):
        raise InputError(f"{entry['id']}: among {ranges!r} is only possible for printed numbers; remove `among`")
    if isinstance(ranges, dict):
        named = {str(name): value for name, value in ranges.items()}
        if named.keys() != {str(name) for name in entry["value"]}:
            raise InputError(f"{entry['id']}: among {ranges!r} must have one range for each value of the claim")
        ranges = named[element[-1]]
    return None if ranges is None else _interval(entry["id"], ranges)


def _interval(name: str, value: Any) -> tuple[float, float]:
    if not isinstance(value, list) or len(value) != 2:
        raise InputError(f"{name}: range {value!r}; give [low, high]")
    low, high = (_number(name, end) for end in value)
    if low > high:
        raise InputError(f"{name}: range {value!r} has its low end above its high end; swap the two ends")
    return low, high


def _leaves(name: str, value: Any, at: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], float]]:
    """Yield the numbers of a nested list or mapping, each with the names that lead to it."""
    if isinstance(value, dict):
        parts = list(value.items())
    elif isinstance(value, list):
        parts = list(enumerate(value))
    else:
        yield at, _number(name, value)
        return
    for key, part in parts:
        yield from _leaves(name, part, (*at, str(key)))


def _number(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(f"{name}: value {value!r} is not a number; give a number")
    return value
