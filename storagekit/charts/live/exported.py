"""A dashboard as one HTML file that works without a kernel and without a network."""

import base64
import gzip
import itertools
import json
import os
from functools import cache
from html import escape
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import vl_convert
from tqdm import tqdm

from storagekit.charts.live.controls import ChoiceControl, Control
from storagekit.charts.live.dashboard import Dashboard, DashboardContent
from storagekit.core.atomic_files import write_text
from storagekit.core.errors import InputError
from storagekit.core.validation import instance_of, optional, validate

# the largest number of answers; to compute them takes a minute or two, and the file has some megabytes
MOST = 5000
_DIGITS = 5
_PAGE, _SCRIPT, _STYLE = (Path(__file__).with_name(f"exported.{kind}") for kind in ("html", "js", "css"))


@validate
def export(
    dashboard: Dashboard,
    path: Annotated[str | Path, instance_of(str | Path, "the path of a file")],
    *,
    title: str,
    lead: str = "",
    script: Annotated[str | Path | None, optional(instance_of(str | Path, "the path of a file"))] = None,
) -> Path:
    """Write one HTML file with the answers of the dashboard at every combination of the `stops` of its controls.

    The function computes all answers, and shows a progress bar. The file works without a kernel and without a network.

    Parameters
    ----------
    dashboard : Dashboard
        The dashboard. Its controls are `Slider`, `StepsControl` and `ChoiceControl` objects.
    path : str or path
        The file. An existing file is replaced.
    title : str
        Plain text at the top of the page.
    lead : str
        Plain text below the title, by default none.
    script : str or path, optional
        File for the script that draws the charts, 0.9 MB, which several pages can share. An existing file is replaced.
        The pages load it by its relative path. By default the script is in the page.

    Returns
    -------
    path
        The path of the file.

    Raises
    ------
    InputError
        If there are more than `MOST` answers, or if the class of a control is not from `storagekit.charts`.
    """
    path, kept = Path(path), _controls(dashboard)
    answers = _answers(dashboard, kept)
    facts = json.dumps({"controls": [_facts(one) for one in kept.values()]} | answers, separators=(",", ":"))
    packed = base64.b64encode(gzip.compress(facts.encode(), 6, mtime=0)).decode()
    parts = {
        "title": escape(title),
        "lead": escape(lead),
        "style": _STYLE.read_text(encoding="utf-8"),
        "answers": packed,
        "script": _script_element(path, script),
        "made": escape(
            f"storagekit {_version()}; {len(answers['points']):,} results, computed when this file was made"
        ),
    }
    page = _PAGE.read_text(encoding="utf-8")
    for name, part in parts.items():
        page = page.replace(f"<!--{name}-->", part)
    write_text(path, page)
    return path


@cache
def _script() -> str:
    """Return the script of a page with Vega in it. Bundling takes a second."""
    return vl_convert.javascript_bundle(_SCRIPT.read_text(encoding="utf-8"))


def _script_element(page: Path, script: str | Path | None) -> str:
    """Return the script element of a page, and write the file that it loads."""
    if script is None:
        return f'<script type="module">{_script()}</script>'
    # A browser loads no module from a file, so that this is an ordinary script. `defer` runs it after the page is read.
    write_text(Path(script), f'"use strict";(()=>{{{_script()}}})();')
    where = Path(os.path.relpath(script, page.parent)).as_posix()
    return f'<script defer src="{escape(quote(where))}"></script>'


def _controls(dashboard: Dashboard) -> dict[str, Control]:
    kept = {name: one for name, one in dashboard.controls.items() if isinstance(one, Control)}
    if len(kept) < len(dashboard.controls):
        raise InputError(
            f"controls {', '.join(dashboard.controls.keys() - kept)}: give a Slider, StepsControl or ChoiceControl"
        )
    return kept


def _answers(dashboard: Dashboard, controls: dict[str, Control]) -> dict[str, Any]:
    """Return the answers in order; the last control varies fastest.

    An answer consists of its text, the index of its chart among the different charts (-1 without a chart), and its rows.
    """
    stops = [[value for _, value in one.stops()] for one in controls.values()]
    points = list(itertools.product(*stops))
    if len(points) > MOST:
        raise InputError(
            f"{len(points)} combinations of values to export: at most {MOST}; give fewer values with `few` of the "
            "controls"
        )
    specs: list[dict[str, Any]] = []
    found = []
    for values in tqdm(points, desc="computing", unit="answer", delay=2, leave=False):
        found.append(_point(dashboard.shown(dict(zip(controls, values, strict=True))), specs))
    return {"specs": specs, "points": found}


def _point(shown: DashboardContent, specs: list[dict[str, Any]]) -> list[Any]:
    if shown.spec is None:
        return [shown.said, -1, {}]
    if shown.spec not in specs:
        specs.append(shown.spec)
    return [shown.said, specs.index(shown.spec), {name: _columns(rows) for name, rows in shown.data.items()}]


def _columns(rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """Return the rows column by column, with five-digit numbers. This form takes a third of the space."""
    names = list(rows[0]) if rows else []
    return {name: [_rounded(row.get(name)) for row in rows] for name in names}


def _rounded(value: Any) -> Any:
    return float(f"{value:.{_DIGITS}g}") if isinstance(value, float) else value


def _facts(control: Control) -> dict[str, Any]:
    words = [words for words, _ in control.stops()]
    return {
        "label": control.label,
        "stops": words,
        "first": control.first(),
        "named": isinstance(control, ChoiceControl),
    }


def _version() -> str:
    try:
        return version("storagekit")
    except PackageNotFoundError:
        return "from a checkout"
