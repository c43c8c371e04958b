"""What made a result: carried by every Dataset."""

import json
import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from importlib import metadata
from typing import Any

import jax
import numpy as np

from storagekit.drive import AbstractDrive
from storagekit.engine import Scenario

# entries up to which a list is told in full
LISTED = 16


def made_by(basis: str, seeds: Sequence[int] | None = None, wall: float | None = None) -> dict:
    """Attributes that every result carries: what it rests on (`BASES`), the versions that made it, the seeds of its
    random part, and the seconds that it took."""
    told: dict[str, Any] = {
        "basis": basis,
        "storagekit": version(),
        "jax": jax.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
    }
    if seeds is not None:
        told["seeds"] = [int(seed) for seed in seeds]
    return told if wall is None else told | {"wall_seconds": round(float(wall), 3)}


def provenance(
    scenarios: Sequence[Scenario],
    axes: Iterable[str],
    seeds: Sequence[int],
    extent: Mapping[str, float | str],
    wall: float,
) -> dict:
    """Attributes of a simulated result. extent: how long each run was, by name. wall: the seconds it took.

    `scenario` describes the first of the scenarios, types and numbers, as JSON; `varied` names what a sweep changes in it.
    """
    return (
        made_by("simulated", seeds, wall)
        | {
            "precision": "float32",
            "backend": jax.default_backend(),
            "drive": ", ".join(dict.fromkeys(_name(scenario.system.drive) for scenario in scenarios)),
            **{part: _types(scenarios, part) for part in ("dispatch", "claims", "queue", "schedule", "write")},
            "scenario": json.dumps(describe(scenarios[0])),
            "varied": list(axes),
        }
        | dict(extent)
    )


def _name(drive: AbstractDrive) -> str:
    return getattr(drive, "name", type(drive).__name__)


def _types(scenarios: Sequence[Scenario], part: str) -> str:
    """The types of one part of the systems, each named once."""
    return ", ".join(sorted({type(getattr(scenario.system, part)).__name__ for scenario in scenarios}))


def describe(part: Any) -> Any:
    """A part of a scenario as nested names and numbers; tables and long lists are left out."""
    if is_dataclass(part):
        named = {field.name: describe(getattr(part, field.name)) for field in fields(part)}
        return {"type": type(part).__name__} | {name: value for name, value in named.items() if value is not None}
    if isinstance(part, str | bool | int | float):
        return part
    if isinstance(part, tuple):
        return [describe(one) for one in part] if len(part) <= LISTED else None
    return np.asarray(part).item() if np.size(part) == 1 else None


def version() -> str:
    """The version of this package."""
    try:
        return metadata.version("storagekit")
    except metadata.PackageNotFoundError:
        return "not installed"
