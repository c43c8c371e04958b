"""Provenance of a result: the attributes that every Dataset has."""

import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from importlib import metadata
from typing import Annotated, Any

import jax
import numpy as np

from storagekit.core.validation import ADDRESS, Span, several, validate

# Value of the attribute `drive` or `scenario` for a trace that is analysed but not simulated.
ALONE = "none: a trace without a simulation"
# Largest number of entries of a list that is described in full.
LISTED = 16


@validate
def made_by(
    basis: str,
    seeds: Annotated[Sequence[int] | None, several(ADDRESS, of="seeds")] = None,
    wall: Span | None = None,
) -> dict:
    """Return the attributes that every result has.

    Parameters
    ----------
    basis : str
        Basis of the result, one of `papers.measurement.BASES`.
    seeds : sequence of int, optional
        Seeds of the random part of the result.
    wall : float, optional
        Wall time of the computation, seconds.

    Returns
    -------
    dict
        The basis, the versions of the packages that made the result, the seeds, and the wall time.

    Raises
    ------
    InputError
        If an argument is invalid.
    """
    facts: dict[str, Any] = {
        "basis": basis,
        "storagekit": version(),
        "jax": jax.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
    }
    if seeds is not None:
        facts["seeds"] = [int(seed) for seed in seeds]
    return facts if wall is None else facts | {"wall_seconds": round(float(wall), 3)}


def made_jointly(made: Sequence[Mapping[str, Any]], context: Any = None) -> dict[str, Any]:
    """Return the attributes of a result that combines several results.

    This function can be used as `combine_attrs` of `xarray.concat`.

    Parameters
    ----------
    made : sequence of mapping
        Attributes of the results.
    context : Any
        Not used; xarray passes it.

    Returns
    -------
    dict
        An attribute is kept if all results that have the attribute agree on its value. If they disagree, wall times are
        added, seeds are merged, the first scenario is kept, and names of components and lengths of runs are listed. All
        other attributes on which the results disagree are left out.

    Examples
    --------
    >>> made_jointly([{"drive": "a", "seeds": [0, 1], "loop": 8}, {"drive": "b", "seeds": [1, 2], "loop": 9}])
    {'drive': 'a, b', 'seeds': [0, 1, 2]}
    """
    joint: dict[str, Any] = {}
    for name in dict.fromkeys(name for one in made for name in one):
        values = [one[name] for one in made if name in one]
        if all(value is values[0] or storable(value) == storable(values[0]) for value in values):
            joint[name] = values[0]
        elif name in _JOINED:
            joint[name] = _JOINED[name](values)
    return joint


def _listed(values: Sequence[Any]) -> str:
    words = (word for value in values for word in str(value).split(", "))
    return ", ".join(dict.fromkeys(words))


def _seeds(values: Sequence[Any]) -> list[int]:
    lists = (json.loads(value) if isinstance(value, str) else value for value in values)
    return sorted({int(seed) for one in lists for seed in one})


_JOINED = {
    "wall_seconds": lambda values: round(sum(float(value) for value in values), 3),
    "seeds": _seeds,
    "scenario": lambda values: values[0],
    **dict.fromkeys(
        [
            "basis", "backend", "drive", "dispatch", "arbitration", "queue", "schedule", "write", "requests_per_run",
            "seconds_per_run", "events_per_run", "warm_up_requests", "warm_up_seconds",
        ],
        _listed,
    ),
}  # fmt: skip


def describe(part: Any) -> Any:
    """Return a part of a scenario as nested names and numbers; tables and long lists are left out.

    Parameters
    ----------
    part : Any
        The part.

    Returns
    -------
    dict, list, str, number or None
        The description; None for an object that is left out.
    """
    if is_dataclass(part):
        named = {field.name: describe(getattr(part, field.name)) for field in fields(part)}
        return {"type": type(part).__name__} | {name: value for name, value in named.items() if value is not None}
    if isinstance(part, str | bool | int | float):
        return part
    if isinstance(part, tuple):
        return [describe(one) for one in part] if len(part) <= LISTED else None
    return np.asarray(part).item() if np.size(part) == 1 else None


def as_text(part: Any) -> str:
    """Return `describe(part)` as JSON, for the attribute `scenario` of a result."""
    return json.dumps(describe(part))


def storable(value: Any) -> str | int | float:
    """Return an attribute in a form that NetCDF can store: numbers and text unchanged, other values as JSON.

    Parameters
    ----------
    value : Any
        The attribute.

    Returns
    -------
    str, int or float
        The stored form.
    """
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        return value
    return json.dumps(value, default=str)


def version() -> str:
    """Return the version of this package."""
    try:
        return metadata.version("storagekit")
    except metadata.PackageNotFoundError:
        return "not installed"
