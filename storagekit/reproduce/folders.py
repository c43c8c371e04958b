"""Protect the folder of results during a run: only one run writes to it.

Unfinished files are in a hidden folder of that run.
"""

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
# Prefix of a short folder, and name of the link to it in a private folder.
_SHORT, _LINK = "storagekit-", "short"
# Largest length of the folder's path in bytes: the limit for the path of a socket minus the longest name in the folder.
_LONGEST = 103 - len(f"/{_SHORT}12345678/sk12345678/k-12345")
# Seconds between two attempts to lock the folder.
_PATIENCE = 0.2


@contextmanager
def alone_in(out: Path) -> Iterator[None]:
    """Lock the folder `out` while the block runs; if another run holds the lock, report it on stderr and wait.

    Raises
    ------
    InputError
        If `out` is not writable.

    Notes
    -----
    The operating system holds the lock and releases it when the process ends for any reason. Remains of killed runs in
    `out` are removed. Windows and some network disks have no such locks, and runs there do not wait for each other.
    Each run then still has a private folder, and a folder whose files do not match its record is not accepted.
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
    """Yield a hidden folder in `out` with a unique name, which is removed at the end of the block.

    Raises InputError if `out` is not writable.
    """
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
    """Yield a folder with a short path for sockets, which is removed at the end of the block.

    The new folder is in the folder of temporary files, or in /tmp if the path of the folder of temporary files is too
    long.

    Parameters
    ----------
    room : Path
        The private folder of the run. A link to the new folder is written there. With this link, the next run removes
        the new folder if this run is killed.

    Raises
    ------
    InputError
        If the new folder cannot be created.
    """
    usual = tempfile.gettempdir()
    parent = usual if len(os.fsencode(usual)) <= _LONGEST or os.name == "nt" else "/tmp"
    try:
        folder = Path(tempfile.mkdtemp(prefix=_SHORT, dir=parent))
    except OSError as fault:
        reason = (
            "" if parent == usual else f", and TMPDIR {usual[:60]!r}... exceeds the {_LONGEST} bytes that sockets allow"
        )
        raise InputError(
            f"folder {parent!r}: {fault.strerror}{reason}; set TMPDIR to a folder with a short path"
        ) from fault
    try:
        with suppress(OSError):
            (room / _LINK).symlink_to(folder)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def not_writable(out: Path, fault: OSError) -> InputError:
    """Return the error for a folder `out` that is not writable."""
    return InputError(f"out {str(out)!r}: {fault.strerror or fault}; give a writable folder, --out DIR")


def _locked(lock: int, out: Path) -> bool:
    """Wait for the lock, and return True; return False if the system has no locks."""
    if fcntl is None:
        return False
    announced = False
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except BlockingIOError:
            if not announced:
                say(_holder(lock, out))
            announced = True
            time.sleep(_PATIENCE)
        except OSError:
            return False
    with suppress(OSError):  # on a full disk, the later writes of the run report the error
        os.ftruncate(lock, 0)
        os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)
    return True


def _holder(lock: int, out: Path) -> str:
    number = os.pread(lock, 20, 0).strip()
    who = f"process {number.decode()}" if number.isdigit() else "another run"
    return f"storagekit: {who} uses {out}; waiting until it ends; stop with Ctrl-C, or give another --out DIR"


def _sweep(out: Path) -> None:
    for folder in out.glob(f"{PRIVATE}*"):
        with suppress(OSError):
            left = Path(os.readlink(folder / _LINK))
            if left.name.startswith(_SHORT) and left.stat().st_uid == os.getuid():
                shutil.rmtree(left, ignore_errors=True)
        shutil.rmtree(folder, ignore_errors=True)
