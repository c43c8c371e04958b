"""Results of a notebook's calls are stored until it has ended.

They are complete, belong to the same inputs, and are found by the same call.
"""

import os
import time
from types import ModuleType

import numpy as np
import pytest
import xarray as xr

from storagekit.reproduce import keeping


@pytest.fixture
def paper(monkeypatch):
    """Return a module whose function counts its calls."""
    module = ModuleType("paper")
    module.calls = []

    def figure(value):
        module.calls.append(value)
        return xr.Dataset({"response": ("seed", np.array([value, np.nan]))}, attrs={"seeds": [0, 1]})

    module.figure, module.number, module.DEPTH = figure, lambda: 4, 4
    monkeypatch.setattr(keeping, "WORTH", 0.0)
    return module


def test_the_same_call_of_a_later_run_finds_the_result(paper, tmp_path):
    first = keeping.KeptModule(paper, tmp_path)
    one, other = first.figure(1.5), first.figure(2.5)
    again = keeping.KeptModule(paper, tmp_path)
    xr.testing.assert_identical(again.figure(1.5), one)
    xr.testing.assert_identical(again.figure(2.5), other)
    assert paper.calls == [1.5, 2.5] and again.DEPTH == 4
    again.figure(3.5)
    assert paper.calls == [1.5, 2.5, 3.5]


def test_damaged_results_are_computed_again_and_only_datasets_are_kept(paper, tmp_path):
    keeping.KeptModule(paper, tmp_path).figure(1.5)
    (path,) = tmp_path.iterdir()
    whole = path.read_bytes()
    for damaged in (b"", whole[:20], whole[:-1], whole[:-1] + bytes([whole[-1] ^ 1])):
        path.write_bytes(damaged)
        assert keeping.KeptModule(paper, tmp_path).figure(1.5).response[0] == 1.5
    assert paper.calls == [1.5] * 5
    assert keeping.KeptModule(paper, tmp_path).number() == 4
    assert list(tmp_path.iterdir()) == [path]


def test_a_quick_call_is_not_kept(paper, tmp_path, monkeypatch):
    monkeypatch.setattr(keeping, "WORTH", 60.0)
    keeping.KeptModule(paper, tmp_path).figure(1.5)
    assert not list(tmp_path.iterdir())


def test_without_a_runner_nothing_is_kept(paper, tmp_path, monkeypatch):
    monkeypatch.delenv(keeping.VARIABLE, raising=False)
    assert keeping.kept(paper) is paper
    monkeypatch.setenv(keeping.VARIABLE, str(tmp_path))
    assert isinstance(keeping.kept(paper), keeping.KeptModule)


def test_an_input_written_since_the_start_of_the_run_empties_the_folder(tmp_path, monkeypatch):
    """A kernel may have imported the input before the change was reverted."""
    monkeypatch.setattr(keeping, "room", lambda: tmp_path / "kept")
    source = tmp_path / "source.py"
    source.write_text("one")
    os.utime(source, (1, 1))
    folder = keeping.prepare("abc", [source])
    (folder / "figure.1").write_text("a result")
    assert keeping.prepare("abc", [source]) == folder and (folder / "figure.1").exists()
    os.utime(source, (time.time() + 5,) * 2)
    keeping.prepare("abc", [source])
    assert [path.name for path in folder.iterdir()] == ["begun"]
    old = keeping.prepare("of-long-ago", [])
    os.utime(old, (1, 1))
    keeping.prepare("abc", [])
    assert not old.exists()
