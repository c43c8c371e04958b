"""Write the provenance of an exhibit into each of its files.

The provenance is in attributes of NetCDF, in lines of CSV that begin with #, and in <metadata> of SVG.

>>> import pandas as pd
>>> pd.read_csv("build/reproductions/dsptf/table1.csv", comment="#")  # doctest: +SKIP
"""

import json
import subprocess
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.metadata import version
from typing import Any
from xml.sax.saxutils import escape

from storagekit.core.errors import harmless
from storagekit.core.resources import PACKAGE

KEYS = ("paper", "exhibit", "drive", "scenario", "seeds", "requests", "profile", "basis", "version", "commit")
"""Attributes of each file; `commit` only if the package is in a checkout."""
NONE, UNKNOWN = "none", "unknown"
"""Values of an attribute that a formula does not have (`NONE`), and that is missing from a simulation (`UNKNOWN`)."""
# Attributes that a formula may lack.
_OF_RUNS = ("drive", "scenario", "seeds", "requests")


def whole(own: Mapping[str, Any], exhibit: str, page: Mapping[str, Any]) -> dict[str, str | int | float]:
    """Return the attributes of an exhibit: the attributes named in `KEYS`, and further attributes of its data.

    Parameters
    ----------
    own : mapping of str to any
        Attributes of the exhibit's data, which have priority.
    exhibit : str
        Id of the exhibit, which is used if the attributes contain no id.
    page : mapping of str to any
        Attributes of the run: paper, profile, seed.
    """
    from storagekit.core.provenance import storable

    facts = {"exhibit": exhibit, "version": version("storagekit")} | dict(page) | dict(own)
    facts["requests"] = _requests(own)
    if commit():
        facts["commit"] = commit()
    absent = NONE if own.get("basis") == "analytic" else UNKNOWN
    first = {key: facts.pop(key, None) for key in KEYS}
    kept = {key: absent if value is None and key in _OF_RUNS else value for key, value in first.items()}
    kept["basis"] = kept["basis"] or UNKNOWN
    return {key: storable(value) for key, value in (kept | facts).items() if key != "commit" or value is not None}


def _requests(own: Mapping[str, Any]) -> Any:
    """Return the length of the runs in words; an attribute `requests` of the data has priority."""
    if "requests" in own:
        return own["requests"]
    by = {
        "requests_per_run": "{} per run",
        "seconds_per_run": "as many as arrive in {} s per run",
        "events_per_run": "as many as {} events per run",
    }
    lengths = [words.format(own[name]) for name, words in by.items() if name in own]
    warm = own.get("warm_up_requests", own.get("warm_up_seconds", 0))
    unit = " s" if "warm_up_seconds" in own else ""
    before = "the warm-up determined by MSER-5" if warm == "MSER-5" else f"the first {warm}{unit}"
    return ", ".join([*lengths, *([f"without {before}"] if warm else [])]) or None


@cache
def commit() -> str:
    """Return the commit of the checkout that contains the package. The suffix "-dirty" says that files were changed.

    The result is "" without a checkout or without git.
    """
    root = PACKAGE.parent
    if not (root / ".git").exists():  # an installed package may be inside the checkout of another project
        return ""
    command = ["git", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=30).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""


def of_file(attributes: Mapping[str, Any]) -> dict[str, str]:
    """Return the attributes named in `KEYS` as lines of text."""
    return {key: " ".join(str(attributes[key]).split()) for key in KEYS if key in attributes}


def csv_head(attributes: Mapping[str, Any], words: Sequence[str] = ()) -> str:
    """Return lines that begin with #: a description of a table, and the attributes named in `KEYS`."""
    lines = [*words, *(f"{key}: {value}" for key, value in of_file(attributes).items())]
    return "".join(f"# {line}\n" for line in lines)


def in_svg(picture: str, attributes: Mapping[str, Any], words: str) -> str:
    """Return an SVG with the attributes named in `KEYS` as JSON in <metadata>, and a description in <desc>."""
    opening = picture.index(">", picture.index("<svg")) + 1
    about = f"<desc>{escape(harmless(words))}</desc><metadata>{escape(json.dumps(of_file(attributes)))}</metadata>"
    return picture[:opening] + about + picture[opening:]
