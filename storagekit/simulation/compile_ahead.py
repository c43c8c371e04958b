"""Compile programs in threads, while the first programs already run."""

from collections.abc import Callable, Hashable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from storagekit.core.devices import cores


@contextmanager
def compiled_ahead(compiling: Mapping[Hashable, Callable[[], None]]) -> Iterator[Callable[[Hashable], None]]:
    """Compile programs in parallel, one on each core.

    XLA compiles without Python's global interpreter lock, and uses little more than one core for each program. The
    compiled programs run in the thread of the caller, so that Ctrl-C stops them. At the end of the block, programs
    whose compilation has not begun are skipped.

    Parameters
    ----------
    compiling : mapping
        Functions that each compile one program, keyed by name. The compilations begin in this order.

    Yields
    ------
    ready : callable
        `ready(name)` returns when the program `name` is compiled. It raises the error of a failed compilation.
    """
    pool = ThreadPoolExecutor(cores(), "compiling")
    try:
        begun = {name: pool.submit(compile_it) for name, compile_it in compiling.items()}
        yield lambda name: begun[name].result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
