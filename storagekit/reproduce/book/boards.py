"""The lab's boards that the book contains: one HTML file each in OUT/lab, which answers without a kernel or a network."""

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from storagekit.reproduce import cache
from storagekit.reproduce.folders import private
from storagekit.resources import PACKAGE

FOLDER = "lab"
# those that ask nothing of a reader first, with what each is about; without `adaptive`, whose simulations take minutes, and
# `trace`, which is about a reader's own file
BOARDS = {
    "array": "which way to keep data on some drives",
    "protocol": "which copy is read, and who decides",
    "fair": "what streams get of the bricks they share",
    "sessions": "how many clients can be promised a rate",
    "striping": "one agent for a large request, or several",
    "own_drive": "a drive by its data sheet, beside another",
    "tour": "where the time of one request goes",
    "sr_array": "space spent on speed: striping, rotational replicas, mirrors",
    "bound": "how unfair sharing may be over any interval",
}


def are_current(out: Path) -> bool:
    """Whether OUT/lab holds every board as this code makes it."""
    return cache.is_current(out / FOLDER, _fingerprint(), _files())


def there(out: Path) -> dict[str, str]:
    """The boards of OUT/lab as this code makes them, and what each is about; none where one is missing or of other code."""
    return dict(BOARDS) if are_current(out) else {}


def export(out: Path, environment: Mapping[str, str], on_board: Callable[[], None]) -> str:
    """Write the boards to OUT/lab, each in a process of its own; returns why one could not be made, "" where all were.

    on_board is called after each.
    """
    wanted = _fingerprint()
    with private(out) as room:
        for name in BOARDS:
            path = room / FOLDER / f"{name}.html"
            path.parent.mkdir(exist_ok=True)
            command = [sys.executable, "-m", "storagekit.reproduce", "export", name, "--out", str(path)]
            told = subprocess.run(
                command, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=os.environ | dict(environment)
            )
            if told.returncode:
                cache.clear(out / FOLDER, _files())
                said = told.stderr.strip().splitlines() or [f"exit status {told.returncode}"]
                return f"the lab's board {name} was not made: {said[-1]}"
            on_board()
        unchanged = _fingerprint() == wanted
        cache.place(room / FOLDER, out / FOLDER, wanted if unchanged else cache.CHANGED, _files())
    return ""


def _files() -> list[str]:
    return [f"{name}.html" for name in BOARDS]


def _fingerprint() -> str:
    """What the boards are made from: some ask a paper's code, so that all of the package counts."""
    return cache.fingerprint("", PACKAGE / "lab" / "__init__.py", {"boards": sorted(BOARDS)})
