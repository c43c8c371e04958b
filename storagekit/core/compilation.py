"""What is said while XLA compiles a program for long: a line with the seconds so far, in place of XLA's own alarm.

`devices.environment` keeps the alarm off the terminal.
"""

import sys
from functools import cache
from threading import Event, Thread, get_ident
from typing import Any

from tqdm import tqdm

# seconds before anything is said, and between two counts
PATIENCE, TICK = 10.0, 1.0
# JAX records a number under this name when a compilation begins, and its duration when it ends
_COMPILATION = "/jax/core/compile/backend_compile_duration"
_SAID = "storagekit: compiling a program, once: the next run finds it"


@cache
def announce_compilations() -> None:
    """Have every compilation of this process that takes longer than `PATIENCE` shown on stderr."""
    from jax import monitoring

    monitoring.register_scalar_listener(_begins)
    monitoring.register_event_duration_secs_listener(_ends)


# by thread, what tells its display that the compilation has ended
_under_way: dict[int, Event] = {}


def _begins(event: str, value: float, **about: Any) -> None:
    if event == _COMPILATION:
        over = _under_way[get_ident()] = Event()
        Thread(target=_show, args=(over,), daemon=True).start()


def _ends(event: str, duration_secs: float, **about: Any) -> None:
    if event == _COMPILATION and get_ident() in _under_way:
        _under_way.pop(get_ident()).set()


def _show(over: Event) -> None:
    """Show a bar from `PATIENCE` on until the compilation is over."""
    if over.wait(PATIENCE):
        return
    # in a file every count is a line more
    tick = TICK if sys.stderr.isatty() else max(PATIENCE, TICK)
    form = "{desc} ({n_fmt} s so far)"
    with tqdm(desc=_SAID, unit="s", initial=round(PATIENCE), bar_format=form, leave=False) as bar:
        while not over.wait(tick):
            bar.update(tick)
