"""Every public face takes one impossible argument after the other, and refuses each in a line (tests/nonsense)."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from nonsense.faces import rooms

ATTACK = Path(__file__).parents[1] / "nonsense" / "attack.py"


@pytest.mark.parametrize("room", rooms(), ids=lambda room: room or "front door")
def test_nonsense_is_refused_in_a_line(room):
    """In a process of its own, whose memory is limited: what asks for more than that is a violation too."""
    # what is accepted is run for a moment, and mostly compiled
    environment = os.environ | {"JAX_DISABLE_MOST_OPTIMIZATIONS": "1"}
    ran = subprocess.run([sys.executable, ATTACK, room], env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr[-2000:]
    found = json.loads(ran.stdout)
    assert found["violations"] == []
