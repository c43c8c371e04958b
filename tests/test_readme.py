"""README's examples, exactly as typed."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"


@pytest.mark.skipif(not README.exists(), reason="needs a checkout, this is an installed package")
def test_the_python_examples_run_one_after_the_other():
    """The examples run in one interpreter, from the top of the checkout, where a reader types them."""
    blocks = re.findall(r"^```python\n(.*?)^```$", README.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    assert blocks
    command = [sys.executable, "-c", "\n".join(blocks)]
    ran = subprocess.run(command, capture_output=True, text=True, cwd=README.parent)
    assert ran.returncode == 0, ran.stderr[-2000:]
    assert "recommended: RAID 10" in ran.stdout and "simulated, 16 runs" in ran.stdout
