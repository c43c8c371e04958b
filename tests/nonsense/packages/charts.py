"""Valid calls of charts, with arrays over `statistic` as `storagekit.simulation.interval` returns them."""

import tempfile
from functools import cache
from pathlib import Path

import altair as alt
import numpy as np
import xarray as xr
from nonsense.attack import ValidCall

from storagekit.charts import AnswerText, AxisStyle, Dashboard, Slider


@cache
def summary() -> xr.DataArray:
    means = np.array([[1.0, 2.0], [3.0, 4.0]])
    coords = {"statistic": ["mean", "low", "high"], "load": [1, 2], "scheme": ["a", "b"]}
    return xr.DataArray(np.stack([means, 0.9 * means, 1.1 * means]), coords, name="response")


@cache
def drawn() -> alt.Chart:
    return alt.Chart().mark_point()


@cache
def dashboard() -> Dashboard:
    return Dashboard(
        lambda count: count, lambda _: drawn(), {"count": Slider("Count", 1, 1, 2)}, lambda _: AnswerText("one")
    )


def _export(**given):
    with tempfile.TemporaryDirectory() as folder:
        files = {
            key: Path(folder) / one if isinstance(one := given.pop(key), str) else one for key in ("path", "script")
        }
        from storagekit.charts import export

        return export(**files, **given)


@cache
def sensitivities() -> xr.Dataset:
    mean = xr.DataArray(
        [[[2.0, 1.9, 2.1]]], {"measure": ["response"], "parameter": ["rate"], "statistic": ["mean", "low", "high"]}
    )
    return xr.Dataset({"elasticity": mean}, attrs={"confidence": 0.95, "replications": 4})


VALID_CALLS = {
    "charts.tornado": ValidCall(lambda: {"data": sensitivities(), "measure": "response"}),
    "charts.Dashboard": ValidCall(
        lambda: {
            "answer": lambda count: count,
            "draw": lambda _: drawn(),
            "controls": {"count": Slider("Count", 1, 1, 2)},
            "words": lambda _: AnswerText("one"),
        }
    ),
    "charts.ChoiceControl": ValidCall(lambda: {"label": "Which", "options": {"a": 1}, "value": "a", "few": ("a",)}),
    "charts.AnswerText": ValidCall(lambda: {"headline": "one", "lines": ("two",)}),
    "charts.AxisStyle": ValidCall(
        lambda: {"title": "Time (s)", "factor": 1.0},
        through=lambda **side: _lines(AxisStyle(**side)),
        optional=("title",),
    ),
    "charts.Slider": ValidCall(
        lambda: {"label": "Load", "value": 1.5, "low": 1.0, "high": 2.0, "step": 0.5, "few": (1.0, 2.0)},
        signed=("value", "low", "high", "few"),
    ),
    "charts.StepsControl": ValidCall(
        lambda: {"label": "Load", "value": 1.0, "values": (1.0, 2.0), "few": (1.0,)},
        signed=("value", "values", "few"),
    ),
    "charts.Template": ValidCall(lambda: {"make": drawn}),
    "charts.bars": ValidCall(
        lambda: {
            "summary": summary().sel(load=1),
            "x": "scheme",
            "titles": ("Scheme", "Time (s)"),
            "factor": 1.0,
            "order": ("a", "b"),
            "paper": {"a": 1.0},
        }
    ),
    "charts.curves": ValidCall(
        lambda: {
            "summary": summary(),
            "x": "load",
            "colour": "scheme",
            "titles": ("Load", "Time (s)", "Scheme"),
            "factor": 1.0,
            "x_factor": 1.0,
            "order": ("a", "b"),
        }
    ),
    "charts.export": ValidCall(
        lambda: {
            "dashboard": dashboard(),
            "path": "dashboard.html",
            "title": "A dashboard",
            "lead": "one",
            "script": "a.js",
        },
        through=_export,
        optional=("script",),
    ),
    "charts.finished": ValidCall(lambda: {"chart": drawn(), "title": "A chart", "legends": "right"}),
    "charts.level": ValidCall(
        lambda: {"value": 1.0, "words": "limit", "factor": 1.0, "position": "above left"}, signed=("value", "factor")
    ),
    "charts.lines": ValidCall(
        lambda: {
            "summary": summary(),
            "x": "load",
            "colour": "scheme",
            "palette": {"a": "blue", "b": "red"},
            "sides": (AxisStyle("Load"), AxisStyle("Time (s)")),
            "legend": "Scheme",
        },
        optional=("legend",),
    ),
    "charts.live": ValidCall(lambda: {"dashboard": dashboard()}),
    "charts.offline": ValidCall(lambda: {"chart": drawn(), "height": 100}),
    "charts.paper_points": ValidCall(
        lambda: {"points": ((1.0, 2.0),), "x": "load", "titles": ("Load", "Time (s)")}, signed=("points",)
    ),
    "charts.table": ValidCall(lambda: {"summary": summary(), "factor": 1.0}, signed=("factor",)),
}
NOT_ATTACKED: dict[str, str] = {
    "charts.live.FilledDashboard": "returned by a template",
    "charts.live.DashboardContent": "returned by a dashboard",
}


def _lines(side: AxisStyle):
    from storagekit.charts import lines

    return lines(summary(), "load", "scheme", {"a": "blue"}, (AxisStyle("Load"), side), None)
