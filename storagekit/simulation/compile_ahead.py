"""Programs compiled in threads of their own, while the first of them run."""

from collections.abc import Callable, Hashable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from storagekit.core.devices import cores


@contextmanager
def compiled_ahead(compiling: Mapping[Hashable, Callable[[], None]]) -> Iterator[Callable[[Hashable], None]]:
    """Compile programs side by side, one on each core.

    XLA compiles without holding Python's lock, on little more than one core a program. What runs stays in the thread of the
    caller, so that Ctrl-C stops it; programs that are not begun by the end of the block are left out.

    Parameters
    ----------
    compiling : mapping
        Programs by name, each a function that compiles it. They begin in this order.

    Yields
    ------
    ready : callable
        `ready(name)` returns once that program is compiled, and raises what compiling it raised.
    """
    pool = ThreadPoolExecutor(cores(), "compiling")
    try:
        begun = {name: pool.submit(compile_it) for name, compile_it in compiling.items()}
        yield lambda name: begun[name].result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
