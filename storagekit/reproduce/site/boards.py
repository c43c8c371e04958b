"""The lab's boards that the book contains: one HTML file each in OUT/lab, which answers without a kernel or a network."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO

from storagekit.core.resources import PACKAGE
from storagekit.reproduce import cache
from storagekit.reproduce.folders import private

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
    """Write the boards to OUT/lab, all in one process; returns why one could not be made, "" where all were.

    on_board is called after each.
    """
    wanted = _fingerprint()
    with private(out) as room, tempfile.TemporaryFile("w+") as errors:
        folder = room / FOLDER
        folder.mkdir()
        left, status = _exported(folder, environment, errors, on_board)
        if left or status:
            cache.clear(out / FOLDER, _files())
            errors.seek(0)
            said = errors.read().strip().splitlines() or [f"exit status {status}"]
            return f"the lab's board {left[0]} was not made: {said[-1]}" if left else f"the lab's boards: {said[-1]}"
        unchanged = _fingerprint() == wanted
        cache.place(folder, out / FOLDER, wanted if unchanged else cache.CHANGED, _files())
    return ""


def _exported(
    folder: Path, environment: Mapping[str, str], errors: IO[str], on_board: Callable[[], None]
) -> tuple[list[str], int]:
    """Write the boards to a folder in another process; returns those that it did not make, and its exit status."""
    left = list(BOARDS)
    with subprocess.Popen(
        [sys.executable, "-c", f"from {__name__} import main; main()", str(folder)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=errors,
        text=True,
        env=os.environ | dict(environment),
    ) as process:
        try:
            for line in process.stdout or ():
                if line.strip() in left:
                    left.remove(line.strip())
                    on_board()
        except BaseException:
            process.kill()
            raise
    return left, process.returncode


def _files() -> list[str]:
    return [f"{name}.html" for name in BOARDS]


def _fingerprint() -> str:
    """What the boards are made from: some ask a paper's code, so that all of the package counts."""
    return cache.fingerprint("", PACKAGE / "lab" / "__init__.py", {"boards": sorted(BOARDS)})


def main() -> None:
    """Write every board to the folder that is the program's argument, and its name to standard output once it is there."""
    from storagekit import lab

    for name in BOARDS:
        lab.export(name, Path(sys.argv[1]) / f"{name}.html")
        print(name, flush=True)
