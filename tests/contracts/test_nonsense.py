"""Every public face takes one impossible argument after the other, and refuses each in a line (tests/nonsense)."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from nonsense.faces import rooms

ATTACK = Path(__file__).parents[1] / "nonsense" / "attack.py"


# rooms whose calls take longer than it takes to start a process; the others share one
ALONE = ("", "charts", "lab", "metrics", "plan")
PROCESSES = [*((room,) for room in ALONE), tuple(room for room in rooms() if room not in ALONE)]


@pytest.mark.parametrize("together", PROCESSES, ids=lambda together: together[0] or "front door")
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
    assert [line for of_room in found.values() for line in of_room["violations"]] == []
