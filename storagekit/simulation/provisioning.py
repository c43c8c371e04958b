"""How many drives and slots a batch provides for: shared by what can share a compilation, found where none are given."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import xarray as xr

from storagekit.core.kinds import COUNT, MOST_EXACT, several
from storagekit.engine import AUTO, Scenario, structure

# slots where none are given, at first and in the last attempt; closed loops of hundreds of requests begin with more
FEWEST, MOST = 64, 1024
# from one attempt to the next: each compiles anew
GROWTH = 4
# numbers of slots to try in place of these
TRIED = several(COUNT.up_to(MOST_EXACT), of="numbers of slots")


class Roomed(NamedTuple):
    """What a run measured, and how many arrivals waited outside, the warm-up's included: one number or one a point."""

    data: xr.Dataset
    waited: float | np.ndarray


def groups(scenarios: Sequence[Scenario]) -> Iterator[tuple[list[int], list[Scenario]]]:
    """Scenarios that can share a batch: which they are, and they themselves, all with as many drives as the largest.

    Drives beyond those that a placement uses stand idle and change no result.
    """
    most = max(scenario.system.drives for scenario in scenarios)
    alike: dict[tuple, list[int]] = {}
    for index, scenario in enumerate(scenarios):
        alike.setdefault(structure(_with(scenario, drives=most)), []).append(index)
    for members in alike.values():
        drives = max(scenarios[member].system.drives for member in members)
        yield members, [_with(scenarios[member], drives=drives) for member in members]


def with_room(
    run: Callable[[list[Scenario]], Roomed], scenarios: Sequence[Scenario], rungs: Sequence[int]
) -> tuple[Roomed, int]:
    """`run` of scenarios of one structure; where System.slots is not given, with each of these `rungs` in its turn until no
    arrival waits outside, before measuring begins or after. And how many slots there were.

    What comes of it does not depend on that, once they are enough. Where they never are, because more arrives than can be
    served, it is that of the last attempt.
    """
    for slots in rungs:
        roomed = run(provided(scenarios, slots))
        if not np.any(roomed.waited):
            break
    return roomed, slots


def rungs(scenarios: Sequence[Scenario], wanted: Sequence[int] = ()) -> tuple[int, ...]:
    """How many slots to try: what System.slots gives, or those that are `wanted`, or from the `fewest` to the most."""
    given = scenarios[0].system.slots
    if given == AUTO and wanted:
        return tuple(wanted)
    tried = [fewest(scenarios) if given == AUTO else given]
    while given == AUTO and tried[-1] < MOST:
        tried.append(tried[-1] * GROWTH)
    return tuple(tried)


def fewest(scenarios: Sequence[Scenario]) -> int:
    """Slots to begin with: a power of two, four times what a closed loop has outstanding, because writes may keep theirs
    after they are answered."""
    outstanding = max(scenario.arrivals.most_outstanding or 0 for scenario in scenarios)
    return max(FEWEST, 2 ** (GROWTH * outstanding - 1).bit_length())


def provided(scenarios: Sequence[Scenario], slots: int) -> list[Scenario]:
    """The scenarios, with so many slots where System.slots is not given."""
    return [_with(one, slots=slots) if one.system.slots == AUTO else one for one in scenarios]


def _with(scenario: Scenario, **numbers: int) -> Scenario:
    if all(getattr(scenario.system, name) == number for name, number in numbers.items()):
        return scenario
    return Scenario(replace(scenario.system, **numbers), scenario.arrivals)
