"""Dashboards: controls, a result in words and a chart. A kernel redraws them in place, or a page looks them up."""

import asyncio
import base64
import gzip
import json
import re
import sys
import warnings

import altair as alt
import numpy as np
import pandas as pd
import pytest

from storagekit.charts import (
    AnswerText,
    ChoiceControl,
    Dashboard,
    Slider,
    StepsControl,
    Template,
    export,
    live,
    offline,
)
from storagekit.charts.live.dashboard import taken_apart
from storagekit.core.errors import InputError


def bars(number: int) -> alt.Chart:
    return (
        alt.Chart(pd.DataFrame({"at": range(number), "value": [float(number)] * number}))
        .mark_bar()
        .encode(x="at:O", y="value:Q")
    )


def counted(calls: list) -> Dashboard:
    """A dashboard that stores its calls, and raises for number 3."""

    def answer(number: int, sign: int):
        calls.append((number, sign))
        if number == 3:
            raise InputError("number 3: any number except this one")
        return number * sign

    controls = {"number": Slider("Number", 2, 1, 5), "sign": ChoiceControl("Sign", {"plus": 1, "minus": -1})}
    return Dashboard(answer, lambda found: bars(abs(found)), controls, lambda found: AnswerText(f"it is {found}"))


def parts(box):
    """The controls, words, chart and state of a dashboard."""
    left, right = box.children
    *controls, state = left.children
    return controls, *right.children, state


def test_a_control_changes_words_and_chart_in_place():
    pytest.importorskip("ipywidgets")
    calls = []
    controls, said, view, _ = parts(live(counted(calls)))
    spec = view.spec
    assert "it is 2" in said.value and len(view.data["rows_0"]) == 2
    controls[0].value = 4
    controls[1].value = "minus"
    assert calls == [(2, 1), (4, 1), (4, -1)]
    assert "it is -4" in said.value and len(view.data["rows_0"]) == 4
    # only rows are sent; the rest is the same chart
    assert view.spec == spec


def test_while_a_result_is_pending_only_the_last_value_counts():
    pytest.importorskip("ipywidgets")
    calls = []

    async def drag():
        controls, said, _, _ = parts(live(counted(calls)))
        for number in (1, 2, 4, 5, 1, 5):
            controls[0].value = number
        assert calls == [(2, 1)]
        await asyncio.sleep(0.1)
        return said.value

    assert "it is 5" in asyncio.run(drag())
    assert calls == [(2, 1), (5, 1)]


def test_a_slow_dashboard_is_shown_before_it_is_computed():
    pytest.importorskip("ipywidgets")
    calls = []
    one = counted(calls)
    slow = Dashboard(one.answer, one.draw, one.controls, one.words, "this takes a while")

    async def shown():
        _, said, view, _ = parts(live(slow))
        before = said.value, view.spec
        await asyncio.sleep(0.1)
        return before, said.value

    (words, spec), after = asyncio.run(shown())
    assert "this takes a while" in words and spec == {}
    assert "it is 2" in after


def test_an_impossible_value_is_shown_in_place_and_the_chart_fades():
    pytest.importorskip("ipywidgets")
    controls, said, view, _ = parts(live(counted([])))
    controls[0].value = 3
    assert "Not possible" in said.value and "except this one" in said.value
    assert view.faded and len(view.data["rows_0"]) == 2
    controls[0].value = 4
    assert "it is 4" in said.value and not view.faded


def test_nothing_is_printed_and_a_warning_is_a_note(capfd):
    def answer(number: int):
        print("bar", file=sys.stderr)
        warnings.warn("too <few>", stacklevel=1)
        return number

    dashboard = Dashboard(answer, bars, {"number": Slider("Number", 2, 1, 5)})
    shown = dashboard.shown({"number": 2})
    assert "Note: too &lt;few&gt;" in shown.said
    assert capfd.readouterr().err == ""


def test_an_error_of_the_dashboard_itself_is_shown():
    shown = Dashboard(lambda number: 1 / 0, bars, {}).shown({"number": 1})
    assert "ZeroDivisionError" in shown.said and not shown.possible


def test_names_of_rows_do_not_depend_on_their_values():
    one, other = (taken_apart(alt.hconcat(bars(number), bars(number + 1))) for number in (2, 4))
    assert one.spec == other.spec
    assert [len(rows) for rows in one.data.values()] == [2, 3]
    assert [len(rows) for rows in other.data.values()] == [4, 5]


def test_a_template_is_drawn_once_and_missing_values_are_null():
    made = []

    def make():
        made.append(1)
        return alt.Chart(alt.NamedData("rows")).mark_bar().encode(x="at:O")

    template = Template(make)
    first, second = (template.filled(rows=pd.DataFrame({"at": at})) for at in ([1.0, np.nan], [2.0]))
    assert first.spec is second.spec and len(made) == 1
    assert first.data == {"rows": [{"at": 1.0}, {"at": None}]}


def test_words_are_escaped_and_a_table_has_its_figures():
    table = pd.DataFrame({"ms": [1234.5, 0.01234, np.nan, np.inf]}, index=pd.Index(["a<b", "b", "c", "d"], name="what"))
    page = AnswerText("x < y", ["& more"], table)._repr_html_()
    assert "x &lt; y" in page and "&amp; more" in page and "a&lt;b" in page
    assert [cell for cell in re.findall(r"<td>(.*?)</td>", page)] == ["1,234", "0.0123", "-", "never"]


@pytest.mark.parametrize(
    "control, stops, first",
    [
        (Slider("n", 3, 1, 9), [1, 3, 5, 7, 9], 1),
        (Slider("x", 0.5, 0, 1, 0.25, few=[0, 1]), [0, 0.5, 1], 1),
        (StepsControl("n", 4, [1, 2, 4]), [1, 2, 4], 2),
        (StepsControl("n", 4, [1, 2, 4], few=[1]), [1, 4], 1),
        (ChoiceControl("c", {"a": 1, "b": 2, "c": 3}, "b", few=["c"]), [2, 3], 0),
    ],
)  # fmt: skip
def test_an_exported_page_has_some_values_and_its_start(control, stops, first):
    assert [value for _, value in control.stops()] == stops
    assert control.first() == first


def test_a_slider_of_whole_numbers_gives_whole_numbers():
    assert all(isinstance(value, int) for _, value in Slider("n", 3, 1, 9).stops())


@pytest.mark.parametrize(
    "made",
    [
        lambda: Slider("n", 10, 1, 9),
        lambda: StepsControl("n", 3, [1, 2]),
        lambda: ChoiceControl("c", {}),
        lambda: ChoiceControl("c", {"a": 1}, "b"),
    ],
)
def test_a_control_without_a_valid_start_is_rejected(made):
    with pytest.raises(InputError):
        made()


def content_of(page: str) -> dict:
    packed = re.search(r'<script id="answers"[^>]*>(.*?)</script>', page, re.DOTALL)
    assert packed
    return json.loads(gzip.decompress(base64.b64decode(packed.group(1))))


def test_an_exported_page_has_every_result_and_uses_no_network(tmp_path):
    calls = []
    page = export(counted(calls), tmp_path / "page.html", title="Numbers <1>", lead="Which?").read_text()
    assert list(tmp_path.iterdir()) == [tmp_path / "page.html"]
    held = content_of(page)
    assert [one["stops"] for one in held["controls"]] == [["1", "2", "3", "4", "5"], ["plus", "minus"]]
    assert [one["first"] for one in held["controls"]] == [1, 0]
    assert len(held["points"]) == len(calls) == 10 and len(held["specs"]) == 1
    said, chart, rows = held["points"][2 * 4 + 2 * 0 - 1]
    assert "it is -4" in said and chart == 0 and rows["rows_0"]["value"] == [4.0] * 4
    said, chart, _ = held["points"][2 * 2]
    assert "except this one" in said and chart == -1
    assert "<h1>Numbers &lt;1&gt;</h1>" in page and "<!--" not in page.split("<script")[0].replace("<!DOCTYPE", "")
    assert not re.search(r'(src|href)="http', page)


def test_a_page_of_too_many_results_is_rejected(tmp_path):
    controls = {f"n{index}": Slider("n", 1, 1, 9) for index in range(6)}
    with pytest.raises(InputError, match="15625 combinations"):
        export(Dashboard(lambda **given: 1, bars, controls), tmp_path / "page.html", title="too many")


def test_a_dashboard_begins_at_the_given_values():
    dashboard = counted([]).beginning(number=4, sign="minus")
    assert [one.widget().value for one in dashboard.controls.values()] == [4, "minus"]
    assert (dashboard.controls["number"].low, dashboard.controls["number"].high) == (1, 5)
    for values, message in (
        ({"numer": 4}, "control 'numer': the dashboard has no such control"),
        ({"number": 9}, "initial value 9"),
        ({"sign": "x"}, "'x'"),
    ):
        with pytest.raises(InputError, match=message):
            counted([]).beginning(**values)


def test_a_page_for_offline_use_contains_its_scripts():
    page = str(offline(bars(3)).data)
    assert page.startswith("<div><iframe srcdoc=")
    assert "src=&quot;http" not in page
    assert len(page) > 500_000
