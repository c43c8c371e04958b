"""Keep results of a paper's functions while its notebook runs, so that a stopped run continues from them.

The runner passes a folder for these results in the environment of a notebook's kernel. The folder belongs to one
fingerprint (`cache`). Code, data, notebook and parameters are therefore the same in every run with this folder, and,
for example, the third call of a function returns the same result. The folder is in the user's cache, next to the
compiled programs. Only Datasets are kept. They are stored as NetCDF, because a file of that format contains no code.
"""

import hashlib
import os
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import wraps
from io import BytesIO
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from xarray import Dataset, load_dataset

from storagekit.core import devices
from storagekit.core.atomic_files import replacing

VARIABLE = "STORAGEKIT_KEPT"
# Least duration of a call whose result is kept, seconds.
WORTH = 1.0
# Age of a folder, in seconds, after which it is removed.
_OLD = 30 * 86_400
_BEGUN = "begun"
_DIGEST = hashlib.sha256().digest_size


def room() -> Path:
    """Return the folder of all results that are kept for this user."""
    return devices.cache_folder().parent / "kept"


def prepare(fingerprint: str, inputs: Iterable[Path]) -> Path:
    """Return the folder for the kept results of a run. The folder is emptied if an input changed after the run began.

    A kept result may come from the old version of this input. If the folder cannot be created, no result is kept.
    """
    _forget_old()
    folder = room() / fingerprint
    newest = max((path.stat().st_mtime for path in inputs), default=0.0)
    with suppress(OSError):
        if not (folder / _BEGUN).exists() or (folder / _BEGUN).stat().st_mtime <= newest:
            forget(folder)
            folder.mkdir(parents=True, mode=0o700)
            (folder / _BEGUN).touch()
    return folder


def forget(folder: Path) -> None:
    """Remove the kept results of a run."""
    shutil.rmtree(folder, ignore_errors=True)


def _forget_old() -> None:
    for folder in room().glob("*"):
        with suppress(OSError):
            if time.time() - folder.stat().st_mtime > _OLD:
                forget(folder)


class KeptModule:
    """A proxy of a module that keeps Datasets for later runs.

    A Dataset is kept if the call that returned it took at least `WORTH` seconds. The same call in a later run returns
    the kept Dataset.
    """

    def __init__(self, module: ModuleType, folder: Path):
        self._module, self._folder = module, folder
        self._calls: Counter[str] = Counter()

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._module, name)
        return self._keeping(name, found) if isinstance(found, FunctionType) else found

    def __dir__(self) -> list[str]:
        return dir(self._module)

    def _keeping(self, name: str, function: Callable) -> Callable:
        @wraps(function)
        def call(*given: Any, **named: Any) -> Any:
            self._calls[name] += 1
            path = self._folder / f"{name}.{self._calls[name]}"
            there = _read(path)
            if there is not None:
                return there
            began = time.monotonic()
            result = function(*given, **named)
            if not isinstance(result, Dataset) or time.monotonic() - began < WORTH:
                return result
            _write(path, result)
            # The result is read back, so that this run and a later one show the same values.
            there = _read(path)
            return result if there is None else there

        return call


def kept(module: ModuleType) -> Any:
    """Return `module`, wrapped in a `KeptModule` if the runner started this kernel."""
    folder = os.environ.get(VARIABLE)
    return KeptModule(module, Path(folder)) if folder else module


def _write(path: Path, result: Dataset) -> None:
    """Keep a result in a file, which is complete or missing.

    The result is not kept if NetCDF cannot store it or the disk cannot write it.
    """
    with suppress(OSError, TypeError, ValueError):
        body = bytes(result.to_netcdf(engine="h5netcdf"))
        with replacing(path) as temporary:
            temporary.write_bytes(hashlib.sha256(body).digest() + body)


def _read(path: Path) -> Dataset | None:
    """Return the result kept under `path`; None if it is missing or damaged."""
    with suppress(OSError, ValueError):
        whole = path.read_bytes()
        if hashlib.sha256(whole[_DIGEST:]).digest() == whole[:_DIGEST]:
            return load_dataset(BytesIO(whole[_DIGEST:]), engine="h5netcdf")
    return None
