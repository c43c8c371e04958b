"""Test programs compiled ahead.

A run waits for its program, errors appear at this wait, and unused compilations do not start.
"""

import threading

import pytest

from storagekit.simulation import compile_ahead as ahead
from storagekit.simulation.compile_ahead import compiled_ahead


def test_a_program_is_compiled_when_it_is_reported_ready():
    done, go = [], threading.Event()

    def slow():
        go.wait(10)
        done.append("slow")

    with compiled_ahead({"slow": slow, "other": lambda: None}) as ready:
        ready("other") if ahead.cores() > 1 else None
        assert not done
        go.set()
        ready("slow")
        assert done == ["slow"]


def test_an_error_of_a_compilation_is_raised_at_the_wait_for_it():
    def broken():
        raise ValueError("no such program")

    with compiled_ahead({"sound": lambda: None, "broken": broken}) as ready:
        ready("sound")
        with pytest.raises(ValueError, match="no such program"):
            ready("broken")


def test_compilations_not_started_are_cancelled_at_the_end_of_the_block(monkeypatch):
    monkeypatch.setattr(ahead, "cores", lambda: 1)
    begun, go, finished = [], threading.Event(), threading.Event()

    def first():
        go.wait(10)
        finished.set()

    with pytest.raises(KeyboardInterrupt), compiled_ahead({"first": first, "second": lambda: begun.append(2)}):
        raise KeyboardInterrupt
    go.set()
    assert finished.wait(10)
    for thread in threading.enumerate():
        if thread.name.startswith("compiling"):
            thread.join(10)
    assert not begun
