"""The lab: interactive pages that update their answers when a slider moves.

    import storagekit as sk

    sk.lab.open("array")                  # in JupyterLab: controls, the answer in words, the chart
    sk.lab.export("array", "array.html")  # one HTML file that needs no kernel and no network

`notebooks/` has a notebook with explanations for each page; `storagekit export PAGE` writes the file from the command line.
"""

from collections.abc import Callable
from contextlib import redirect_stderr
from importlib import import_module
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from warnings import catch_warnings, simplefilter

from storagekit.core.errors import InputError
from storagekit.core.validation import called as _called
from storagekit.core.validation import shown as _shown
from storagekit.lab.page import LabPage as LabPage

if TYPE_CHECKING:
    from ipywidgets import Box

T = TypeVar("T")

# names of pages and their questions; each page is the object `PAGE` in the module with its name in this package
PAGES: dict[str, str] = {
    "tour": "the parts of the service time of one request, shown on a picture of the disk",
    "striping": "when to stripe a large request over several agents",
    "sessions": "the number of sessions that can be guaranteed, by striping width and unit",
    "array": "a ranking of all schemes for given drives and data",
    "failure": "response times, rebuild and data loss after the failure of a disk",
    "sr_array": "spare capacity used for speed: striping, rotational replicas, mirrors",
    "protocol": "throughput of four protocols that select a replica, by load",
    "adaptive": "distribution of the load over nodes of different speeds under ARS",
    "trace": "the characteristics of your own trace, and a scheme for it",
    "own_drive": "your own drive from its data sheet, compared with another drive",
    "fair": "rates of weighted streams on shared bricks",
    "bound": "a bound on the unfairness over any interval",
}


def page(name: str) -> LabPage:
    """Return the page with this name in `PAGES`. Raises InputError for other names."""
    if not isinstance(name, str) or name not in PAGES:
        raise InputError(f"page {_shown(name)}: no such page; give one of {', '.join(PAGES)}")
    return import_module(f"storagekit.lab.{name}").PAGE


def open(name: str, **begin: Any) -> "Box":
    """Return the interactive page with this name for JupyterLab. `begin` gives initial values of its controls."""
    return page(name).live(**begin)


def quietly(call: Callable[..., T], *given: Any, **named: Any) -> T:
    """Return the result of `call` without its progress bars and warnings, which would appear in the output of a page."""
    _called("call", call)
    with catch_warnings(), redirect_stderr(StringIO()):
        simplefilter("ignore")
        return call(*given, **named)


def export(name: str, path: str | Path, *, script: str | Path | None = None) -> Path:
    """Write a page as one HTML file, with the answers for all combinations of a few values of each control.

    The file needs no kernel and no network. The function computes all answers, which takes up to two minutes, and shows
    a progress bar. It returns the path. `script` is a file for the script that draws the charts, which several pages can
    share; by default the script is in the page.
    """
    from storagekit.charts import export as written

    chosen = page(name)
    return written(chosen.dashboard(), path, title=chosen.title, lead=chosen.lead, script=script)
