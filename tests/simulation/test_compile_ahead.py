"""Programs that are compiled ahead: waited for by name, their errors told where they are waited for, none begun in vain."""

import threading

import pytest

from storagekit.simulation import compile_ahead as ahead
from storagekit.simulation.compile_ahead import compiled_ahead


def test_a_program_is_compiled_once_it_is_said_to_be_ready():
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


def test_what_a_compilation_raises_is_raised_where_it_is_waited_for():
    def broken():
        raise ValueError("no such program")

    with compiled_ahead({"sound": lambda: None, "broken": broken}) as ready:
        ready("sound")
        with pytest.raises(ValueError, match="no such program"):
            ready("broken")


def test_programs_that_are_not_begun_are_left_out_when_the_block_ends(monkeypatch):
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
