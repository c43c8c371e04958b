"""The attributes of a simulated result: the drives, the components, and the first scenario."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated

import jax

from storagekit.core.provenance import as_text, made_by
from storagekit.core.validation import several, validate
from storagekit.drive import AbstractDrive, Mixed
from storagekit.engine import Scenario
from storagekit.engine.batch import SCENARIO


def provenance(
    scenarios: Sequence[Scenario],
    axes: Iterable[str],
    seeds: Sequence[int],
    run_length: Mapping[str, float | str],
    wall: float,
) -> dict:
    """Return the attributes of a simulated result.

    Parameters
    ----------
    scenarios : sequence of Scenario
        The scenarios.
    axes : iterable of str
        Names of the parameters that a sweep changes.
    seeds : sequence of int
        The seeds.
    run_length : mapping of str to float or str
        Attributes that describe the length of each run.
    wall : float
        Duration of the simulation, seconds of wall time.

    Returns
    -------
    dict
        The attributes. `scenario` has the types and numbers of the first scenario, as JSON. `varied` has the names in
        `axes`.
    """
    return (
        made_by("simulated", seeds, wall)
        | {"precision": "float32", "backend": jax.default_backend()}
        | described(scenarios)
        | {"varied": list(axes)}
        | dict(run_length)
    )


@validate
def described(scenarios: Annotated[Sequence[Scenario], several(SCENARIO, 1, "scenarios")]) -> dict[str, str]:
    """Return the attributes of a result that describe the simulated scenarios.

    Parameters
    ----------
    scenarios : sequence of Scenario
        The scenarios, at least one.

    Returns
    -------
    dict of str to str
        Names of the drives, types of the components, and the first scenario as JSON.
    """
    return {
        "drive": ", ".join(dict.fromkeys(name for scenario in scenarios for name in _names(scenario.system.drive))),
        **{part: _types(scenarios, part) for part in ("dispatch", "arbitration", "queue", "schedule", "write")},
        "scenario": as_text(scenarios[0]),
    }


def _names(drive: AbstractDrive) -> list[str]:
    """Return the name of a drive, or the names of its kinds if it is a mixture."""
    if isinstance(drive, Mixed):
        return [name for one in drive.drives for name in _names(one)]
    return [getattr(drive, "name", type(drive).__name__)]


def _types(scenarios: Sequence[Scenario], part: str) -> str:
    """Return the names of the types that one component has in the systems, each name once."""
    return ", ".join(sorted({type(getattr(scenario.system, part)).__name__ for scenario in scenarios}))
