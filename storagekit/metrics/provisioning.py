"""How many drives and slots a batch provides for: shared by what can share a compilation, found where none are given."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import xarray as xr

from storagekit.engine import AS_NEEDED, Scenario, structure

# slots where none are given, at first and in the last attempt; closed loops of hundreds of requests begin with more
FEWEST, MOST = 64, 1024
# from one attempt to the next: each compiles anew
GROWTH = 4


class Roomed(NamedTuple):
    """What a run measured, and how many arrivals waited outside, the warm-up's included."""

    data: xr.Dataset
    waited: float


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


def with_room(run: Callable[[list[Scenario]], Roomed], scenarios: Sequence[Scenario]) -> tuple[xr.Dataset, int]:
    """`run` of scenarios of one structure; where System.slots is not given, with more of them until no arrival waits outside,
    before measuring begins or after. And how many slots there were.

    What comes of it does not depend on that, once they are enough. Where they never are, because more arrives than can be
    served, it is that of the last attempt.
    """
    if scenarios[0].system.slots != AS_NEEDED:
        return run(list(scenarios)).data, scenarios[0].system.slots
    slots = fewest(scenarios)
    while True:
        roomed = run(provided(scenarios, slots))
        if slots >= MOST or roomed.waited == 0:
            return roomed.data, slots
        slots *= GROWTH


def fewest(scenarios: Sequence[Scenario]) -> int:
    """Slots to begin with: a power of two, four times what a closed loop has outstanding, because writes may keep theirs
    after they are answered."""
    outstanding = max(scenario.arrivals.most_outstanding or 0 for scenario in scenarios)
    return max(FEWEST, 2 ** (GROWTH * outstanding - 1).bit_length())


def provided(scenarios: Sequence[Scenario], slots: int) -> list[Scenario]:
    """The scenarios, with so many slots where System.slots is not given."""
    return [_with(one, slots=slots) if one.system.slots == AS_NEEDED else one for one in scenarios]


def _with(scenario: Scenario, **numbers: int) -> Scenario:
    if all(getattr(scenario.system, name) == number for name, number in numbers.items()):
        return scenario
    return Scenario(replace(scenario.system, **numbers), scenario.arrivals)
