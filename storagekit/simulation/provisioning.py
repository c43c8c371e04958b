"""Determine the numbers of drives and slots of a batch, so that scenarios share a compilation.

The number of slots is determined by trial if System.slots is not given.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import xarray as xr

from storagekit.core.validation import COUNT, MOST_EXACT, several
from storagekit.engine import AUTO, Scenario, structure

# numbers of slots of the first and of the last attempt; closed loops of hundreds of requests begin with more slots
FEWEST, MOST = 64, 1024
# factor between attempts, large because each attempt needs a compilation
GROWTH = 4
# validator of numbers of slots that a user gives in place of these attempts
TRIED = several(COUNT.up_to(MOST_EXACT), of="numbers of slots")


class Attempt(NamedTuple):
    """Result of an attempt with a given number of slots.

    Parameters
    ----------
    data : Dataset
        The measures.
    waited : float or array of float
        Number of arrivals that waited for a slot, including arrivals during the warm-up, in total or for each point.
    """

    data: xr.Dataset
    waited: float | np.ndarray


def groups(scenarios: Sequence[Scenario]) -> Iterator[tuple[list[int], list[Scenario]]]:
    """Yield groups of scenarios that can share a batch.

    All scenarios of a group get the number of drives of the largest scenario of the group. Drives that a placement does
    not use stay idle, and do not change any result.

    Parameters
    ----------
    scenarios : sequence of Scenario
        The scenarios.

    Yields
    ------
    members : list of int
        Numbers of the scenarios of the group.
    alike : list of Scenario
        The scenarios of the group.
    """
    most = max(scenario.system.drives for scenario in scenarios)
    alike: dict[tuple, list[int]] = {}
    for index, scenario in enumerate(scenarios):
        alike.setdefault(structure(_with(scenario, drives=most)), []).append(index)
    for members in alike.values():
        drives = max(scenarios[member].system.drives for member in members)
        yield members, [_with(scenarios[member], drives=drives) for member in members]


def run_with_enough_slots(
    run: Callable[[list[Scenario]], Attempt], scenarios: Sequence[Scenario], slot_steps: Sequence[int]
) -> tuple[Attempt, int]:
    """Call `run` with increasing numbers of slots until no arrival waits for a slot.

    If there are enough slots, the result does not depend on the number of slots. If requests arrive faster than they
    can be served, no number of slots is sufficient. The result of the last attempt is then returned.

    Parameters
    ----------
    run : callable
        Simulates scenarios and returns an `Attempt`.
    scenarios : sequence of Scenario
        Scenarios of one structure.
    slot_steps : sequence of int
        Numbers of slots to try if System.slots is not given. A number is too small even if arrivals wait only during
        the warm-up.

    Returns
    -------
    attempt : Attempt
        The result of the last attempt.
    slots : int
        The number of slots of the last attempt.
    """
    for slots in slot_steps:
        attempt = run(provided(scenarios, slots))
        if not np.any(attempt.waited):
            break
    return attempt, slots


def slot_steps(scenarios: Sequence[Scenario], wanted: Sequence[int] = ()) -> tuple[int, ...]:
    """Return the numbers of slots to try.

    Parameters
    ----------
    scenarios : sequence of Scenario
        Scenarios of one structure.
    wanted : sequence of int
        Numbers to try if System.slots is not given. If it is empty, the numbers are `fewest`, then four times as many,
        and so on, until a number is at least 1,024.

    Returns
    -------
    tuple of int
        The numbers. If System.slots is given, it is the only number.
    """
    given = scenarios[0].system.slots
    if given == AUTO and wanted:
        return tuple(wanted)
    tried = [fewest(scenarios) if given == AUTO else given]
    while given == AUTO and tried[-1] < MOST:
        tried.append(tried[-1] * GROWTH)
    return tuple(tried)


def fewest(scenarios: Sequence[Scenario]) -> int:
    """Return the number of slots of the first attempt.

    The number is a power of two and at least 64. In a closed loop it is at least four times the number of outstanding
    requests, because a write may occupy its slot after its completion.

    Parameters
    ----------
    scenarios : sequence of Scenario
        The scenarios.

    Returns
    -------
    int
        The number of slots.
    """
    outstanding = max(scenario.arrivals.most_outstanding or 0 for scenario in scenarios)
    return max(FEWEST, 2 ** (GROWTH * outstanding - 1).bit_length())


def provided(scenarios: Sequence[Scenario], slots: int) -> list[Scenario]:
    """Return the scenarios with a given number of slots.

    Parameters
    ----------
    scenarios : sequence of Scenario
        The scenarios.
    slots : int
        Number of slots for scenarios whose System.slots is not given.

    Returns
    -------
    list of Scenario
        The scenarios.
    """
    return [_with(one, slots=slots) if one.system.slots == AUTO else one for one in scenarios]


def _with(scenario: Scenario, **numbers: int) -> Scenario:
    if all(getattr(scenario.system, name) == number for name, number in numbers.items()):
        return scenario
    return Scenario(replace(scenario.system, **numbers), scenario.arrivals)
