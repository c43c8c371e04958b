"""End the processes that this process started, and handle the signals that stop this process."""

import os
import signal
import sys
from typing import NoReturn

# Signals that end the process: a request to end (SIGTERM), and a terminal that closes (SIGHUP).
_ENDING = ("SIGTERM", "SIGHUP")
# Seconds that a killed process may take to end.
_GRACE = 2.0


# The signal that requested the end of this process, once it has arrived.
_signals: list[int] = []


def stop_in_order() -> None:
    """Let the signals that end this process act like Ctrl-C in the main thread. Ignored signals stay ignored."""

    def stop(number: int, _frame: object) -> NoReturn:
        _signals.append(number)
        raise KeyboardInterrupt

    for name in _ENDING:
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, stop)


def end_children() -> None:
    """Kill all processes that this process started, and all their descendants."""
    import psutil

    children = psutil.Process().children(recursive=True)
    for child in children:
        try:
            child.kill()
        except psutil.NoSuchProcess:
            continue
    psutil.wait_procs(children, _GRACE)


def leave_at_once() -> NoReturn:
    """Print that this process was stopped, and end it without waiting for threads.

    A normal exit would wait for a notebook's thread, whose kernel has ended.
    """
    print("storagekit: stopped; the current runs are incomplete", file=sys.stderr, flush=True)
    os._exit(128 + (_signals or [signal.SIGINT])[0])
