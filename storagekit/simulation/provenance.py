"""The attributes of a simulated result: the drives, the components, and the first scenario."""

from collections.abc import Iterable, Mapping, Sequence

import jax

from storagekit.core.kinds import several, takes
from storagekit.core.provenance import as_text, made_by
from storagekit.drive import AbstractDrive, Mixed
from storagekit.engine import Scenario
from storagekit.engine.batch import SCENARIO


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
        | {"precision": "float32", "backend": jax.default_backend()}
        | described(scenarios)
        | {"varied": list(axes)}
        | dict(extent)
    )


@takes(scenarios=several(SCENARIO, 1, "scenarios"))
def described(scenarios: Sequence[Scenario]) -> dict[str, str]:
    """Of a result's attributes those that tell what was simulated: names of drives, types of members, the first scenario."""
    return {
        "drive": ", ".join(dict.fromkeys(name for scenario in scenarios for name in _names(scenario.system.drive))),
        **{part: _types(scenarios, part) for part in ("dispatch", "claims", "queue", "schedule", "write")},
        "scenario": as_text(scenarios[0]),
    }


def _names(drive: AbstractDrive) -> list[str]:
    """What a drive is called, or each kind of several."""
    if isinstance(drive, Mixed):
        return [name for member in drive.members for name in _names(member)]
    return [getattr(drive, "name", type(drive).__name__)]


def _types(scenarios: Sequence[Scenario], part: str) -> str:
    """The types of one part of the systems, each named once."""
    return ", ".join(sorted({type(getattr(scenario.system, part)).__name__ for scenario in scenarios}))
