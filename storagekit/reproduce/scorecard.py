"""The scorecard: one row per claim, which compares the measured value with the paper's value."""

from collections import Counter
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import NamedTuple

from storagekit.core.errors import InputError
from storagekit.core.resources import trace_names
from storagekit.papers.measurement import Measurement
from storagekit.reproduce.claims import EVIDENCE, Claim

MATCH, NEAR = 0.05, 0.15
"""Largest relative errors of the verdicts match and near."""
MATCH_ZERO, NEAR_ZERO = 0.01, 0.03
"""Largest absolute errors of the verdicts match and near if the paper's number is 0, in the claim's unit."""

VERDICTS = ("match", "near", "miss", "holds", "broken", "not-run")
MET = ("match", "holds")
"""Verdicts of claims that are met."""


class ScorecardRow(NamedTuple):
    """One row of the scorecard.

    error: signed relative error; the measured value if the paper's number is 0. evidence: see `Claim`. alternatives:
    other attempts to meet the claim, with their results; empty if the claim is met or not run. For the other fields see
    `Claim` and `Measurement`.
    """

    id: str
    paper: str
    exhibit: str
    kind: str
    expected: float | tuple[float, float] | None
    measured: float | bool | None
    low: float | None
    high: float | None
    unit: str
    error: float | None
    verdict: str
    basis: str
    evidence: str
    note: str
    alternatives: str


COLUMNS = ScorecardRow._fields


class ClaimsMet(NamedTuple):
    """The number of claims that are met, and the number of judged claims, whose verdict is not "not-run"."""

    met: int
    judged: int

    @property
    def part(self) -> float:
        """Return the number of met claims divided by the number of claims that were run; 0 if no claim was run."""
        return self.met / self.judged if self.judged else 0.0


def score(claims: Sequence[Claim], measurements: Iterable[Measurement], unmeasured: str = "") -> list[ScorecardRow]:
    """Return one row per claim, in the order of `claims`.

    Parameters
    ----------
    claims : sequence of Claim
        The claims.
    measurements : iterable of Measurement
        The measurements.
    unmeasured : str
        Note of a claim that has no measurement and needs no trace. By default the note says that this release does not
        measure the claim.

    Raises
    ------
    InputError
        If a measurement belongs to no claim, if a claim has two measurements, or if a value has the wrong kind for its
        claim (a number for an ordering, True for a value).
    """
    found: dict[str, Measurement] = {}
    known = {claim.id for claim in claims}
    for measurement in measurements:
        if measurement.id not in known:
            near = _closest(measurement.id, known)
            raise InputError(f"measurement {measurement.id!r}: no such claim; {near}")
        if measurement.id in found:
            raise InputError(f"measurement {measurement.id!r} is given twice; give one measurement per claim")
        found[measurement.id] = measurement
    return [_row(claim, found.get(claim.id), unmeasured) for claim in claims]


def count(verdicts: Iterable[str]) -> dict[str, int]:
    """Return the number of rows with each verdict, in the order of `VERDICTS`. Verdicts without rows are left out."""
    counts = Counter(verdicts)
    return {verdict: counts[verdict] for verdict in VERDICTS if counts[verdict]}


def shares(rows: Iterable[tuple[str, str]]) -> dict[str, ClaimsMet]:
    """Return the numbers of met and of judged claims for each kind of evidence that occurs, in the order of `EVIDENCE`.

    rows: the evidence and the verdict of each claim. Only claims with the evidence "paper" measure the reproduction of
    a paper.
    """
    claims = list(rows)
    found = {}
    for evidence in EVIDENCE:
        verdicts = [verdict for its, verdict in claims if its == evidence]
        if verdicts:
            found[evidence] = ClaimsMet(sum(one in MET for one in verdicts), sum(one != "not-run" for one in verdicts))
    return found


def _closest(name: str, known: set[str]) -> str:
    stem = name.split("[")[0]
    near = sorted(k for k in known if k.split("[")[0] == stem) or sorted(
        k for k in known if k.rsplit(".", 1)[0] == stem.rsplit(".", 1)[0]
    )
    return f"give one of {', '.join(near)}" if near else "see data/claims"


def _row(claim: Claim, found: Measurement | None, unmeasured: str) -> ScorecardRow:
    if found is None or found.measured is None:
        cause = found.note if found else _missing(claim, unmeasured)
        return _fill(claim, None, None, "not-run", _sentences(_reported(claim), cause, _doubt(claim)))
    error, verdict = judge(claim, found)
    note = _sentences(_reported(claim), _found(claim, found, verdict), _judged(claim), found.note, _doubt(claim))
    return _fill(claim, found, error, verdict, note)


def _fill(claim: Claim, found: Measurement | None, error: float | None, verdict: str, note: str) -> ScorecardRow:
    return ScorecardRow(
        id=claim.id,
        paper=claim.paper,
        exhibit=claim.exhibit,
        kind=claim.kind,
        expected=claim.expected,
        measured=found.measured if found else None,
        low=found.low if found else None,
        high=found.high if found else None,
        unit=claim.unit,
        error=error,
        verdict=verdict,
        basis=found.basis if found else "",
        evidence=claim.evidence,
        note=note,
        alternatives="" if verdict in (*MET, "not-run") else claim.alternatives,
    )


def _missing(claim: Claim, unmeasured: str) -> str:
    trace = claim.needs.removeprefix("trace:")
    if trace in trace_names(claim.paper):
        return f"The claim needs the real trace {trace}. Give its folder with `--traces DIR`"
    if claim.needs.startswith("trace:"):
        return f"The claim needs a trace that is not public: {trace}"
    return unmeasured or "This release does not measure the claim"


def _sentences(*parts: str) -> str:
    """Return the parts that are not empty, each as a sentence."""
    sentences = []
    for part in filter(None, parts):
        word = part.split(maxsplit=1)[0]
        # Names of streams, units and numbers keep their first letter.
        first = part[0].upper() if word.isalpha() and word.islower() and len(word) > 2 else part[0]
        sentences.append(first + part[1:] + ("" if part.endswith(".") else "."))
    return " ".join(sentences)


def _reported(claim: Claim) -> str:
    """Return the number or the statement of the paper as a sentence."""
    who = "This project checks" if claim.evidence == "ours" else "The paper reports"
    expected = claim.expected
    if expected is None:
        return f"{who}: {claim.says or claim.id}"
    ends = expected if isinstance(expected, tuple) else (expected,)
    value = f"{' to '.join(f'{one:g}' for one in ends)} {claim.unit}".strip()
    return f"{who}: {claim.says}, {value}" if claim.says else f"{who}: {value}"


def _found(claim: Claim, found: Measurement, verdict: str) -> str:
    """Return the measured value as a sentence."""
    if isinstance(found.measured, bool) or found.measured is None:
        return "Measured: it holds" if verdict == "holds" else "Measured: it does not hold"
    limits = "" if found.low is None or found.high is None else f" ({found.low:.4g} to {found.high:.4g})"
    return f"Measured: {found.measured:.4g} {claim.unit}".strip() + limits


def _judged(claim: Claim) -> str:
    """Return the reference with which a number is compared, as text; "" if the reference is the paper's number."""
    excess = f"The verdict compares only the excess over {claim.beyond:g}" if claim.beyond else ""
    among = claim.among
    rows = "" if among is None else f"The verdict uses the range of the paper's rows, {among[0]:g} to {among[1]:g}"
    return "; ".join(filter(None, (excess, rows)))


def _doubt(claim: Claim) -> str:
    return f"Note: {claim.caveat}" if claim.caveat else ""


def judge(claim: Claim, found: Measurement) -> tuple[float | None, str]:
    """Return the error and the verdict of a measurement.

    For a statement the error is None, and the verdict is "holds" or "broken".
    """
    measured, holds = found.measured, found.holds
    if holds is None and isinstance(measured, bool):
        holds = measured
    if claim.kind in ("order", "bound") or claim.expected is None:
        if holds is None:
            raise InputError(f"{claim.id}: measured {measured}; give True or False, whether the claim holds")
        return None, "holds" if holds else "broken"
    if measured is None or isinstance(measured, bool):
        raise InputError(f"{claim.id}: measured {measured}; give a number to compare with {claim.expected}")
    if not isinstance(claim.expected, tuple) and (claim.beyond or claim.among):
        low, high = (claim.expected, claim.expected) if claim.among is None else claim.among
        likely = (low - claim.beyond - claim.within, high - claim.beyond + claim.within)
        return relative_error(measured - claim.beyond, likely), _verdict(measured - claim.beyond, likely)
    if claim.kind == "exact" and not isinstance(claim.expected, tuple):
        same = round(measured, _digits(claim.expected)) == claim.expected
        return relative_error(measured, claim.expected), "match" if same else "miss"
    return relative_error(measured, claim.expected), _verdict(measured, claim.expected)


def relative_error(measured: float, expected: float | tuple[float, float]) -> float:
    """Return (measured - expected)/|expected|.

    For an interval, `expected` is the point of the interval that is nearest to the measured value. If `expected` is 0,
    return `measured`, without division.
    """
    target = _target(measured, expected)
    return (measured - target) / abs(target) if target else float(measured)


def _target(measured: float, expected: float | tuple[float, float]) -> float:
    """Return the number with which `measured` is compared. For an interval, it is the nearest point of the interval."""
    if isinstance(expected, tuple):
        return min(max(measured, expected[0]), expected[1])
    return expected


def _verdict(measured: float, expected: float | tuple[float, float]) -> str:
    zero = _target(measured, expected) == 0
    match, near = (MATCH_ZERO, NEAR_ZERO) if zero else (MATCH, NEAR)
    size = abs(relative_error(measured, expected)) - 1e-12  # tolerance for rounding: 5% of 100 is 5
    return "match" if size <= match else "near" if size <= near else "miss"


def _digits(expected: float) -> int:
    """Return the number of decimals of the paper's number."""
    exponent = Decimal(repr(expected)).as_tuple().exponent
    return max(0, -int(exponent))
