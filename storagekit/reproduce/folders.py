"""The folder of results while a run is at work: nobody else writes into it, and what is not finished lies in a hidden folder
of the run's own."""

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from storagekit.core.errors import InputError
from storagekit.reproduce.printing import say

if os.name == "nt":
    fcntl = None
else:
    import fcntl

LOCK = ".storagekit.lock"
PRIVATE = ".storagekit-run-"
# a short folder, and in a private one the link that leads to it
_SHORT, _LINK = "storagekit-", "short"
# of the path of a socket the system takes so many bytes, less what the longest name of one needs below a short folder
_LONGEST = 103 - len(f"/{_SHORT}12345678/sk12345678/k-12345")
# seconds between two looks whether the folder has become free
_PATIENCE = 0.2


@contextmanager
def alone_in(out: Path) -> Iterator[None]:
    """Hold the folder `out`; where another run holds it, say so in a line on stderr and wait until that is done.

    The lock is the system's: it ends with its process, however that ends. What killed runs left in `out` is removed. Where a
    system has no such locks, Windows and some network disks, nobody waits: then each run has its private folder still, and a
    folder whose files are not those of its record is not accepted. Raises InputError where `out` cannot be written.
    """
    try:
        lock = os.open(out / LOCK, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as fault:
        raise not_writable(out, fault) from fault
    try:
        if _locked(lock, out):
            _sweep(out)
        yield
    finally:
        os.close(lock)


@contextmanager
def private(out: Path) -> Iterator[Path]:
    """A hidden folder in `out` under a name that no other run has, gone when the block ends. Raises InputError where `out`
    cannot be written."""
    try:
        folder = Path(tempfile.mkdtemp(prefix=PRIVATE, dir=out))
    except OSError as fault:
        raise not_writable(out, fault) from fault
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def short(room: Path) -> Iterator[Path]:
    """A folder for sockets, whose paths have to be short, gone when the block ends: where temporary files go, or in /tmp if
    that is too deep.

    room: the private folder of the run, by which the next one finds what a killed one left. Raises InputError where there is
    no such place.
    """
    usual = tempfile.gettempdir()
    place = usual if len(os.fsencode(usual)) <= _LONGEST or os.name == "nt" else "/tmp"
    try:
        folder = Path(tempfile.mkdtemp(prefix=_SHORT, dir=place))
    except OSError as fault:
        told = (
            ""
            if place == usual
            else f" and TMPDIR {usual[:60]!r}... longer than the {_LONGEST} bytes that sockets allow"
        )
        raise InputError(f"folder {place!r}: {fault.strerror}{told}; name a short folder in TMPDIR") from fault
    try:
        with suppress(OSError):
            (room / _LINK).symlink_to(folder)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def not_writable(out: Path, fault: OSError) -> InputError:
    """What to say where nothing can be written into the folder `out`."""
    return InputError(f"out {str(out)!r}: {fault.strerror or fault}; name a folder you can write, --out DIR")


def _locked(lock: int, out: Path) -> bool:
    """Wait for the lock; whether the system has any."""
    if fcntl is None:
        return False
    told = False
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except BlockingIOError:
            if not told:
                say(_holder(lock, out))
            told = True
            time.sleep(_PATIENCE)
        except OSError:
            return False
    with suppress(OSError):  # a full disk is met by what has to be written
        os.ftruncate(lock, 0)
        os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)
    return True


def _holder(lock: int, out: Path) -> str:
    number = os.pread(lock, 20, 0).strip()
    who = f"process {number.decode()}" if number.isdigit() else "another run"
    return (
        f"storagekit: {who} is at work in {out}: waiting until it is done; stop with Ctrl-C, or give another --out DIR"
    )


def _sweep(out: Path) -> None:
    for folder in out.glob(f"{PRIVATE}*"):
        with suppress(OSError):
            left = Path(os.readlink(folder / _LINK))
            if left.name.startswith(_SHORT) and left.stat().st_uid == os.getuid():
                shutil.rmtree(left, ignore_errors=True)
        shutil.rmtree(folder, ignore_errors=True)
