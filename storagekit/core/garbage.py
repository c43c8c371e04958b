"""Control of Python's garbage collector while many permanent objects are created.

Importing packages and tracing programs create hundreds of thousands of objects that stay in memory. The collector
visits all these objects again and again, which takes a fifth of the processor time of an import.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """Switch the cyclic garbage collector off within the block, and on again afterwards if it was on."""
    on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if on:
            gc.enable()


def collect_rarely() -> None:
    """Let the collector run less often, for a process of this package that imports much and ends soon."""
    gc.set_threshold(50_000, 20, 20)


def leave_to_the_system() -> None:
    """Exclude all present objects from garbage collection, for a process that is about to end.

    The last collection of the interpreter, which visits every object of every package, would take a fifth of a second.
    """
    gc.freeze()
