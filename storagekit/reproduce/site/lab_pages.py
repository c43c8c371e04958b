"""The lab's pages in the site: HTML files in OUT/lab with a common script, which work without a kernel or a network."""

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
# The script that draws the charts. In each of the ten pages it would take 0.9 MB.
SCRIPT = "dashboard.js"
# Pages of the lab that need no input from a reader, with their subjects. `adaptive` is left out because its simulations
# take minutes, and `trace` because it shows a file of the reader.
LAB_PAGES = {
    "array": "which scheme suits given drives and data",
    "failure": "response times, rebuild and data loss after the failure of a disk",
    "protocol": "which protocol selects the copy of a read best",
    "fair": "rates of streams that share bricks",
    "sessions": "number of clients with a guaranteed data rate",
    "striping": "when to stripe a large request over several agents",
    "own_drive": "a drive from its data sheet, compared with another drive",
    "tour": "parts of the service time of one request",
    "sr_array": "spare capacity used for speed: striping, rotational replicas, mirrors",
    "bound": "a bound on the unfairness over any interval",
}


def are_current(out: Path) -> bool:
    """Return whether OUT/lab contains every lab page, each written by this version of the package."""
    return cache.is_current(out / FOLDER, _fingerprint(), _files())


def there(out: Path) -> dict[str, str]:
    """Return the lab pages in OUT/lab: a dict from the name of a page to a one-line description of it.

    The result is empty if a page is missing, or was written by another version of the package.
    """
    return dict(LAB_PAGES) if are_current(out) else {}


def export(out: Path, environment: Mapping[str, str], on_page: Callable[[], None]) -> str:
    """Write the lab's pages to OUT/lab, all in one separate process.

    Parameters
    ----------
    out : Path
        Folder of the results.
    environment : mapping of str to str
        Environment variables of the separate process.
    on_page : callable
        Function that is called after each page.

    Returns
    -------
    str
        The reason if a page could not be written; "" if all pages were written.
    """
    wanted = _fingerprint()
    with private(out) as room, tempfile.TemporaryFile("w+") as errors:
        folder = room / FOLDER
        folder.mkdir()
        left, status = _exported(folder, environment, errors, on_page)
        if left or status:
            cache.clear(out / FOLDER, _files())
            errors.seek(0)
            said = errors.read().strip().splitlines() or [f"exit status {status}"]
            return f"the lab's page {left[0]} was not written: {said[-1]}" if left else f"the lab's pages: {said[-1]}"
        unchanged = _fingerprint() == wanted
        cache.move_into(folder, out / FOLDER, wanted if unchanged else cache.CHANGED, _files())
    return ""


def _exported(
    folder: Path, environment: Mapping[str, str], errors: IO[str], on_page: Callable[[], None]
) -> tuple[list[str], int]:
    """Write the lab's pages to a folder in another process. Return the names of missing pages, and the exit status."""
    left = list(LAB_PAGES)
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
                    on_page()
        except BaseException:
            process.kill()
            raise
    return left, process.returncode


def _files() -> list[str]:
    return [SCRIPT, *(f"{name}.html" for name in LAB_PAGES)]


def _fingerprint() -> str:
    """Return a digest of the inputs of the lab's pages: the whole package, because some pages use a paper's code."""
    return cache.fingerprint("", PACKAGE / "lab" / "__init__.py", {"pages": sorted(LAB_PAGES)})


def main() -> None:
    """Write every lab page to the folder in the program's argument, and print the name of each written page."""
    from storagekit import lab

    folder = Path(sys.argv[1])
    for name in LAB_PAGES:
        lab.export(name, folder / f"{name}.html", script=folder / SCRIPT)
        print(name, flush=True)
