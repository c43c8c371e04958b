"""Progress report of long compilations: one line on stderr with the elapsed seconds, instead of the warning of XLA.

`devices.environment` suppresses that warning.
"""

import sys
from functools import cache
from threading import Event, Thread, get_ident
from typing import Any

from tqdm import tqdm

# Seconds before the report begins, and between two updates.
PATIENCE, TICK = 10.0, 1.0
# Name of the JAX event that is recorded with a number at the start of a compilation, and with its duration at the end.
_COMPILATION = "/jax/core/compile/backend_compile_duration"
_SAID = "storagekit: compiling a program; later runs reuse the compiled program"


@cache
def announce_compilations() -> None:
    """Report every compilation of this process that takes longer than `PATIENCE` on stderr."""
    from jax import monitoring

    monitoring.register_scalar_listener(_begins)
    monitoring.register_event_duration_secs_listener(_ends)


# Event for each thread that is set when its compilation ends, so that its report ends.
_under_way: dict[int, Event] = {}


def _begins(event: str, value: float, **about: Any) -> None:
    if event == _COMPILATION:
        over = _under_way[get_ident()] = Event()
        Thread(target=_show, args=(over,), daemon=True).start()


def _ends(event: str, duration_secs: float, **about: Any) -> None:
    if event == _COMPILATION and get_ident() in _under_way:
        _under_way.pop(get_ident()).set()


def _show(over: Event) -> None:
    """Show a progress bar after `PATIENCE` seconds, until the compilation is over."""
    if over.wait(PATIENCE):
        return
    # In a file each update adds a line, so that updates are rarer.
    tick = TICK if sys.stderr.isatty() else max(PATIENCE, TICK)
    form = "{desc} ({n_fmt} s so far)"
    with tqdm(desc=_SAID, unit="s", initial=round(PATIENCE), bar_format=form, leave=False) as bar:
        while not over.wait(tick):
            bar.update(tick)
