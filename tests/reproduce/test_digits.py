"""Numbers appear with the digits that a reader can use."""

import pytest

from storagekit.reproduce.digits import beside, decimals_of, fixed, printed, significant, sure
from storagekit.reproduce.report import html_table, text_table
from storagekit.reproduce.scorecard import COLUMNS, ScorecardRow


@pytest.mark.parametrize(
    ("expected", "measured", "shown"),
    [
        ("1717483", 1717483.0, "1717483"),
        ("3598422", 3601200.0, "3601200"),
        ("0", -2.021e-05, "0.000"),
        ("0.0", 0.0363, "0.036"),
        ("0", 0.0, "0"),
        ("188", 183.848, "183.8"),
        ("2.0", 2.0471, "2.05"),
        ("188", 188.02, "188"),
        ("0.0015", 0.0015927, "0.00159"),
        ("1.4", 1.3711, "1.37"),
        ("10", 9.9999996, "10"),
        ("4.003", 4.003412, "4.0034"),
        ("1.12 to 1.27", 1.102062, "1.102"),
        ("", 1716812.4, "1716812"),
        ("", 0.000123456, "0.0001235"),
    ],
)
def test_a_measurement_has_the_papers_digits(expected, measured, shown):
    assert fixed(measured, beside(expected, measured)) == shown


def test_the_papers_number_is_printed_as_in_its_claim():
    assert [printed(value) for value in (188, 2.0, 0.89, (1.12, 1.3), 1717483, 0.0, None)] == [
        "188", "2.0", "0.89", "1.12 to 1.3", "1717483", "0.0", ""
    ]  # fmt: skip


def test_decimals_are_those_printed():
    assert [decimals_of(text) for text in ("188", "5.28", "1.12 to 1.3", "", "true")] == [0, 2, 2, None, None]


def test_a_mean_has_the_digits_that_its_interval_supports():
    assert sure(183.84778, 183.18658, 184.50898) == 2
    assert sure(183.84778, 170.1, 197.6) == 0
    assert sure(183.84778, float("nan"), float("nan")) == 1
    # an interval of the size of rounding errors adds no digits
    assert sure(75.1, 75.1 - 1e-9, 75.1 + 1e-9) == 4


def test_whole_numbers_and_numbers_that_round_to_zero():
    assert significant(1716812.0) == 0 and significant(0.0) == 0
    assert fixed(-0.0004, 2) == "0.00" and fixed(0.02, 1, "+") == "+0.0"


def test_the_scorecard_has_no_powers_of_ten():
    """Neither in HTML nor as text; numbers in scorecard.csv are not rounded."""
    rows = [
        _row("one", 1717483, 1716812.0, -0.0004),
        _row("two", 0.0, -2.021e-05, -2.021e-05),
        _row("three", 5.28, 5.4396312, 0.0302),
    ]
    cells = [dict(zip(COLUMNS, [_cell(value) for value in row], strict=True)) for row in rows]
    for page in (html_table(rows, {}), text_table(cells)):
        assert "e+" not in page and "e-0" not in page
        assert "1716812" in page and "5.440" in page and "+3.0%" in page
        assert "-0.000" not in page


def _row(name, expected, measured, error) -> ScorecardRow:
    return ScorecardRow(
        name, "p", "p.e", "value", expected, measured, measured, measured, "", error, "match", "simulated", "paper", "", ""
    )  # fmt: skip


def _cell(value) -> str:
    return "" if value is None else f"{value:.10g}" if isinstance(value, float) else str(value)
