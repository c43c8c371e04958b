"""Every component in random systems: time goes forward, no request is lost or stuck, and a run does not depend on its
batch.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import random_systems
from helpers import slow_but
from random_systems import (
    MAKERS,
    RUNS,
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

# accepted structures that together use most components, as `test_few_structures_use_many_components` checks
FEW = [0, 14, 23, 24, 35, 110, 119, 339]
# by default: a parity, memories of the bricks, rotational replicas, and fragments with late writes
FEWER = [0, 14, 24, 110]
MANY = 60
# threads due at the instant of a choice, with bricks that stop: each once waited for the other
ONE_INSTANT = 121


def test_every_component_is_drawn():
    assert without_a_maker() == set()


def test_few_structures_use_many_components():
    """At least 70% of all components, with few compilations."""
    drawn = set()
    for structure in FEW:
        system, arrivals = (one := scenario(structure, 0)).system, one.arrivals
        components = system.drive, system.placement, system.dispatch, system.schedule, system.write
        drawn |= {type(component).__name__ for component in (*components, system.queue, system.cache, arrivals)}
    assert len(drawn) > 0.7 * len(set().union(*MAKERS.values()))


@pytest.mark.parametrize("structure", slow_but([*FEWER, ONE_INSTANT], [*FEW, ONE_INSTANT]))
def test_few_random_systems_are_correct(structure):
    assert faults(structure, alone=structure == FEW[0]) == []


@pytest.mark.slow
@pytest.mark.parametrize("structure", range(MANY))
def test_many_random_systems_are_correct(structure):
    found = faults(structure, alone=structure % 5 == 0)
    if found is None:
        pytest.skip("its components do not fit together")
    assert found == []


def test_components_that_do_not_fit_together_are_rejected_in_one_line():
    refused = 0
    for structure in range(100):
        try:
            scenario(structure, 0)
        except InputError as fault:
            refused += 1
            assert "\n" not in str(fault) and len(str(fault)) < 250
    assert 10 < refused < 84


def corrupted(ran: Ran, **changes) -> Ran:
    return ran._replace(events=ran.events._replace(**changes))


def test_every_violation_is_found():
    """A run is corrupted by hand, in every way that is checked."""
    structure = next(one for one in FEW if isinstance(scenario(one, 0).arrivals, ClosedLoop))
    scenarios = settings(structure)
    ran = run(*stack(scenarios, [structure]))
    assert list(broken(scenarios, ran)) == []
    events = ran.events
    rows = np.flatnonzero(events.number[:, 1] >= 0)
    number, response, elapsed, admitted = (
        column.copy() for column in (events.number, events.response, events.elapsed, events.admitted)
    )
    number[rows[3], 1] = number[rows[7], 1]
    assert {"twice", "lost"} <= set(" ".join(broken(scenarios, corrupted(ran, number=number))).split())
    response[rows[5], 1] = -0.1
    assert any("a response of" in one for one in broken(scenarios, corrupted(ran, response=response)))
    elapsed[100, 1] = -1e-3
    assert any("time moves by" in one for one in broken(scenarios, corrupted(ran, elapsed=elapsed)))
    assert any("places for" in one for one in broken(scenarios, corrupted(ran, elapsed=1.001 * events.elapsed)))
    admitted[np.flatnonzero(~admitted[:, 1])[0], 1] = True
    assert any("lost" in one for one in broken(scenarios, corrupted(ran, admitted=admitted)))
    other = corrupted(ran, response=np.nextafter(events.response, np.float32(np.inf)))
    assert differs(ran, other, 0, 0) and not differs(ran, ran, 1, 1) and differs(ran, ran, 0, 1)


@pytest.mark.parametrize("devices", [pytest.param(3, marks=pytest.mark.slow), 4])
def test_a_run_is_the_same_on_any_number_of_devices(devices):
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
    result = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True, cwd=root
    )
    theirs = json.loads(result.stdout.splitlines()[-1])
    ours = digests(structures)
    assert len(ours) == RUNS * len(structures) and [run for run in ours if ours[run] != theirs[run]] == []
