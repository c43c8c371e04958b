"""Every public function and class raises one line for each impossible argument (tests/nonsense)."""

import itertools
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from nonsense.public_callables import packages

ATTACK = Path(__file__).parents[1] / "nonsense" / "attack.py"


# Packages that one process attacks; the last process attacks the others. A process takes 5 s to start.
PARTS = (("plan", "lab"), ("", "charts", "simulation", "calibrate"))
PROCESSES = [*PARTS, tuple(package for package in packages() if all(package not in part for part in PARTS))]


def assert_rejected(packages: Sequence[str], *options: str):
    """The attack runs in a separate process with limited memory. Exceeding that memory is a violation too."""
    # accepted arguments are run for a short time, which is mostly compilation (conftest.py)
    quick = {"JAX_DISABLE_MOST_OPTIMIZATIONS": "1", "JAX_USE_SHARDY_PARTITIONER": "0"}
    environment = os.environ | quick | {"JAX_TRACEBACK_IN_LOCATIONS_LIMIT": "0"}
    ran = subprocess.run(
        [sys.executable, ATTACK, *options, *packages], env=environment, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    found = json.loads(ran.stdout)
    assert list(found) == list(packages)
    assert [line for of_package in found.values() for line in of_package["violations"]] == []


def test_nonsense_is_rejected_in_one_line():
    """One process attacks all packages. Functions that simulate receive only values that are certainly impossible."""
    assert_rejected(list(itertools.chain(*PROCESSES)))


@pytest.mark.slow
@pytest.mark.parametrize("together", PROCESSES, ids=lambda together: together[0] or "top")
def test_nonsense_is_rejected_in_one_line_by_what_simulates(together):
    assert_rejected(together, "--whole")
