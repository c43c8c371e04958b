"""README's examples, exactly as typed."""

import re
from pathlib import Path

import pytest

# long runs, compiled as users compile them
pytestmark = pytest.mark.optimized
README = Path(__file__).parents[1] / "README.md"


@pytest.mark.skipif(not README.exists(), reason="needs a checkout, this is an installed package")
def test_the_python_examples_run_one_after_the_other(tmp_path, monkeypatch, capsys):
    """The examples need no file of the checkout. A fresh process is in test_first_answer.py."""
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```$", README.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    assert blocks
    exec(compile("\n".join(blocks), README.name, "exec"), {"__name__": "example"})
    printed = capsys.readouterr().out
    assert "recommended: RAID 10" in printed and "simulated, 16 runs" in printed
