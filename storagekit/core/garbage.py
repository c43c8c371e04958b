"""Python's garbage collector, held off while much is made that stays.

Importing packages and tracing programs make hundreds of thousands of objects that live on, and the collector walks
through all of them again and again: a fifth of an import's processor time.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """Switch the cyclic garbage collector off within the block, and back on after it if it was on."""
    on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if on:
            gc.enable()


def collect_rarely() -> None:
    """Let the collector run less often: for a process of our own, which imports much and ends soon."""
    gc.set_threshold(50_000, 20, 20)


def leave_to_the_system() -> None:
    """Take all objects out of the collector's view, for a process that is about to end: the last collection of the
    interpreter, which has to find every object of every package, would take a fifth of a second."""
    gc.freeze()
