"""Every public function and class raises one line for each impossible argument (tests/nonsense)."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from nonsense.public_callables import packages

ATTACK = Path(__file__).parents[1] / "nonsense" / "attack.py"


# Packages that one process attacks; the last process attacks the others. A process takes 5 s to start.
PARTS = (("plan", "lab"), ("", "charts", "simulation", "calibrate"))
PROCESSES = [*PARTS, tuple(package for package in packages() if all(package not in part for part in PARTS))]


@pytest.mark.parametrize("together", PROCESSES, ids=lambda together: together[0] or "top")
def test_nonsense_is_refused_in_a_line(together):
    """In a process of its own, whose memory is limited: what asks for more than that is a violation too."""
    # what is accepted is run for a moment, and mostly compiled
    environment = os.environ | {"JAX_DISABLE_MOST_OPTIMIZATIONS": "1"}
    ran = subprocess.run(
        [sys.executable, ATTACK, *together], env=environment, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    found = json.loads(ran.stdout)
    assert list(found) == list(together)
    assert [line for of_package in found.values() for line in of_package["violations"]] == []
