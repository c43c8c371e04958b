"""Every member in systems that are drawn: time goes forward, nothing stands still or is lost, company changes nothing."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import random_systems
from random_systems import (
    LANES,
    MAKERS,
    Ran,
    broken,
    differs,
    digests,
    faults,
    run,
    scenario,
    settings,
    without_a_maker,
)

from storagekit.core.errors import InputError
from storagekit.engine import stack
from storagekit.workload import ClosedLoop

# accepted structures that have, together, most members; `test_these_are_of_many_members` holds it
FEW = [2, 3, 7, 15, 20, 22, 23, 26]
MANY = 60
# threads due in the instant of a choice, with bricks that stop: each waited for the other
ONE_INSTANT = 157


def test_every_member_is_drawn():
    assert without_a_maker() == set()


def test_these_are_of_many_members():
    """At least half of what there is, without compiling more than that takes."""
    drawn = set()
    for structure in FEW:
        system, arrivals = (one := scenario(structure, 0)).system, one.arrivals
        members = system.drive, system.placement, system.dispatch, system.schedule, system.write
        drawn |= {type(member).__name__ for member in (*members, system.queue, system.cache, arrivals)}
    assert len(drawn) > 0.5 * len(set().union(*MAKERS.values()))


@pytest.mark.parametrize("structure", [*FEW, ONE_INSTANT])
def test_what_is_drawn_holds(structure):
    assert faults(structure, alone=structure == FEW[0]) == []


@pytest.mark.slow
@pytest.mark.parametrize("structure", range(MANY))
def test_whatever_is_drawn_holds(structure):
    found = faults(structure, alone=structure % 5 == 0)
    if found is None:
        pytest.skip("its members refuse one another")
    assert found == []


def test_members_that_refuse_one_another_say_so_in_a_line():
    refused = 0
    for structure in range(300):
        try:
            scenario(structure, 0)
        except InputError as fault:
            refused += 1
            assert "\n" not in str(fault) and len(str(fault)) < 250
    assert 30 < refused < 250


def spoilt(ran: Ran, **changes) -> Ran:
    return ran._replace(told=ran.told._replace(**changes))


def test_what_does_not_hold_is_found():
    """A run that is spoilt by hand, in every way that is looked for."""
    structure = next(one for one in FEW if isinstance(scenario(one, 0).arrivals, ClosedLoop))
    scenarios = settings(structure)
    ran = run(*stack(scenarios, [structure]))
    assert list(broken(scenarios, ran)) == []
    told = ran.told
    rows = np.flatnonzero(told.number[:, 1] >= 0)
    number, response, elapsed, admitted = (
        column.copy() for column in (told.number, told.response, told.elapsed, told.admitted)
    )
    number[rows[3], 1] = number[rows[7], 1]
    assert {"twice", "lost"} <= set(" ".join(broken(scenarios, spoilt(ran, number=number))).split())
    response[rows[5], 1] = -0.1
    assert any("a response of" in one for one in broken(scenarios, spoilt(ran, response=response)))
    elapsed[100, 1] = -1e-3
    assert any("time moves by" in one for one in broken(scenarios, spoilt(ran, elapsed=elapsed)))
    assert any("places for" in one for one in broken(scenarios, spoilt(ran, elapsed=1.001 * told.elapsed)))
    admitted[np.flatnonzero(~admitted[:, 1])[0], 1] = True
    assert any("lost" in one for one in broken(scenarios, spoilt(ran, admitted=admitted)))
    other = spoilt(ran, response=np.nextafter(told.response, np.float32(np.inf)))
    assert differs(ran, other, 0, 0) and not differs(ran, ran, 1, 1) and differs(ran, ran, 0, 1)


@pytest.mark.parametrize("devices", [pytest.param(3, marks=pytest.mark.slow), 4])
def test_a_lane_is_the_same_on_any_number_of_devices(devices):
    structures = FEW[:1]
    code = f"import json, random_systems; print(json.dumps(random_systems.digests({structures})))"
    here = Path(random_systems.__file__).parent
    root = here.parent
    paths = os.pathsep.join(filter(None, [str(here), str(root), os.environ.get("PYTHONPATH")]))
    environment = os.environ | {
        "JAX_NUM_CPU_DEVICES": str(devices),
        "PYTHONPATH": paths,
        "JAX_DISABLE_MOST_OPTIMIZATIONS": "1",
    }
    told = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True, cwd=root
    )
    theirs = json.loads(told.stdout.splitlines()[-1])
    ours = digests(structures)
    assert len(ours) == LANES * len(structures) and [lane for lane in ours if ours[lane] != theirs[lane]] == []
