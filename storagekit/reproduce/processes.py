"""The processes that this one started, and the signals that stop it."""

import os
import signal
import sys
from typing import NoReturn

# what a terminal sends as it closes, and whoever asks a process to end
_ENDING = ("SIGTERM", "SIGHUP")
# seconds that a process may take to end that is told so
_GRACE = 2.0


# the signal that asked this process to end, where one did
_asked: list[int] = []


def stop_in_order() -> None:
    """Have signals that ask this process to end do so as Ctrl-C does, in the main thread; what is ignored stays so."""

    def stop(number: int, _frame: object) -> NoReturn:
        _asked.append(number)
        raise KeyboardInterrupt

    for name in _ENDING:
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, stop)


def end_children() -> None:
    """End all processes that this one started, and those that they did."""
    import psutil

    children = psutil.Process().children(recursive=True)
    for child in children:
        try:
            child.kill()
        except psutil.NoSuchProcess:
            continue
    psutil.wait_procs(children, _GRACE)


def leave_at_once() -> NoReturn:
    """Say that this process was stopped and end it: a notebook's thread would be waited for; its kernel has ended."""
    print("storagekit: stopped; what was running is not finished", file=sys.stderr, flush=True)
    os._exit(128 + (_asked or [signal.SIGINT])[0])
