"""Save the arrays of a long computation to a file, so that an interrupted computation continues."""

import io
import time
import zipfile
from collections.abc import Mapping
from pathlib import Path
from uuid import uuid4

import numpy as np

from storagekit.core.atomic_files import replacing
from storagekit.core.errors import InputError

EVERY = 30.0
"""Seconds between two times of saving."""
_KEY = "key"


class Checkpoint:
    """File with the arrays of an unfinished computation. The file is written completely or not at all.

    Parameters
    ----------
    path : Path
        The file. It may be absent.
    key : str
        Text that identifies the computation.
    """

    def __init__(self, path: Path, key: str):
        self._path, self._key = path, key
        self._saved = time.monotonic()

    def load(self) -> dict[str, np.ndarray] | None:
        """Return the saved arrays by name, or None if there is no file.

        Raises
        ------
        InputError
            If the file is not a checkpoint, or belongs to another computation.
        """
        if not self._path.exists():
            return None
        with open(self._path, "rb") as file:
            content = io.BytesIO(file.read())
        try:
            with np.load(content, allow_pickle=False) as saved:
                arrays = dict(saved)
            key = str(arrays.pop(_KEY))
        except (OSError, ValueError, TypeError, KeyError, EOFError, zipfile.BadZipFile):
            raise InputError(f"{self._path} is not a checkpoint: give another name, or delete the file") from None
        if key != self._key:
            raise InputError(
                f"{self._path} belongs to another run (another trace, system, setting or version): give another name, or "
                "delete the file"
            )
        return arrays

    def require_writable(self) -> None:
        """Raise OSError if the file cannot be written, before a long computation."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        probe = self._path.with_name(f".{uuid4().hex}.part")
        try:
            probe.touch()
        finally:
            probe.unlink(missing_ok=True)

    @property
    def due(self) -> bool:
        """Whether it is time to save again."""
        return time.monotonic() - self._saved >= EVERY

    def save(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Replace the contents of the file."""
        with replacing(self._path) as temporary, open(temporary, "wb") as file:
            np.savez(file, **{_KEY: np.array(self._key)}, **arrays)
        self._saved = time.monotonic()

    def remove(self) -> None:
        """Delete the file when the computation is complete."""
        self._path.unlink(missing_ok=True)
