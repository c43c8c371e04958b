"""Read a trace file as a stream of bytes, decompressed during reading. Every fault raises InputError."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import zlib
from collections import Counter
from collections.abc import Callable, Mapping
from io import BufferedIOBase
from typing import Any, cast

from tqdm import tqdm

from storagekit.core.errors import InputError
from storagekit.core.validation import shown

__all__ = ["HEAD", "ByteStream"]

HEAD = 65_536
"""Bytes at the start of a file that a format may look at to recognise itself."""

REST = 8 * 1024 * 1024
"""Bytes after a fault, or after the last record, within which a damaged compression is looked for."""
FREE = 16 * 1024 * 1024
"""Bytes that a compressed file may hold however short it is."""
EXPANSION = 300
"""Times its length that a compressed file may hold beyond that; traces hold 5 to 50 times theirs."""


def _zstd(file: io.BufferedReader) -> Any:
    import pyarrow

    return pyarrow.CompressedInputStream(pyarrow.PythonFile(file, "r"), "zstd")


_OPENERS: dict[bytes, tuple[str, Callable]] = {  # magic bytes: (name, opener); a file's extension may be wrong
    b"\x1f\x8b": ("gzip", gzip.open),
    b"BZh": ("bzip2", bz2.open),
    b"\xfd7zXZ\x00": ("xz", lzma.open),
    b"\x28\xb5\x2f\xfd": ("zstd", _zstd),
}
_UNPACK = {
    b"PK\x03\x04": "a zip archive; extract it first (unzip)",
    b"7z\xbc\xaf\x27\x1c": "a 7z archive; extract it first (7z x)",
}


class ByteStream:
    """Context manager that reads the decompressed bytes of a file once, from the beginning to the end.

    gzip, bzip2, xz and zstd are recognised by their first bytes, and decompressed as they are read. `head` is the first
    64 KiB, which `read` returns again. `unfinished` is the number of the last line if this line lacks its line end,
    None otherwise. It is set when text has been read to its end. `skipped` counts the records that are left out, by
    kind. `notes` has the interpretations of the reader where the file is ambiguous. `warnings` has possible faults.
    `timed` is false if the file has no arrival times.

    Parameters
    ----------
    path : str or path
        The file.
    skip_bad : int
        Number of damaged lines that are left out, and counted in `skipped`, before one raises InputError; by default 0.

    Raises
    ------
    InputError
        If the file is missing, a directory, unreadable or empty, or has an unknown compression; or if the compressed
        stream is damaged or cut short, or expands more than any trace does. `read` raises the second kind of error too.
    """

    def __init__(self, path: str | os.PathLike[str], skip_bad: int = 0):
        # open() would take a number as the descriptor of an open file
        if not isinstance(path, str | os.PathLike):
            raise InputError(f"a trace file: given {shown(path)}; give its path")
        self.name = str(os.fspath(path))
        self.unfinished: int | None = None
        self.skipped: Counter[str] = Counter()
        self.notes: list[str] = []
        self.warnings: list[str] = []
        self.timed = True
        self._may_skip = skip_bad
        self._compression, self._expanded = "", 0
        self._raw = self._open(self.name)
        self._bar = tqdm(
            total=os.fstat(self._raw.fileno()).st_size or None,
            desc="reading", unit="B", unit_scale=True, delay=2, leave=False,
        )  # fmt: skip
        try:
            self._plain = self._decompressor()
            self.head = self._fetch(HEAD)
            if not self.head:
                raise InputError(f"{self.name} is empty; a trace has at least one request")
            if self.head[257:262] == b"ustar":
                raise InputError(f"{self.name} is a tar archive; extract it first (tar -xf), and give a file in it")
        except BaseException:
            self._bar.close()
            self._raw.close()
            raise
        self._ahead = self.head

    def __enter__(self) -> ByteStream:
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.close()
        self._plain.close()
        self._raw.close()

    def read(self, size: int) -> bytes:
        """Return the next bytes.

        Parameters
        ----------
        size : int
            Number of bytes.

        Returns
        -------
        bytes
            Exactly `size` bytes; fewer bytes only at the end of the file, and no bytes after the end.

        Raises
        ------
        InputError
            If the file cannot be read, or the compressed stream is damaged, is cut short or expands too much.
        """
        taken, self._ahead = self._ahead[:size], self._ahead[size:]
        if len(taken) == size:
            return taken
        return taken + self._fetch(size - len(taken))

    def skip(self, counts: Mapping[str, int]) -> None:
        """Count records that are left out, by kind."""
        self.skipped.update(counts)

    def damaged(self, complaint: str) -> None:
        """Count a damaged line, or raise InputError with the complaint if no further damaged line may be left out."""
        if self._may_skip <= 0:
            raise InputError(complaint)
        self._may_skip -= 1
        self.skip({"damaged": 1})

    def without_lines(self) -> None:
        """Raise InputError if damaged lines may be left out, for a binary format, which has no lines."""
        if self._may_skip > 0:
            raise InputError(
                f"{self.name} is a binary file without lines, so that skip_bad {self._may_skip} has no effect; leave it out, "
                "and correct or remove damaged records"
            )

    def check_rest(self) -> None:
        """Raise InputError if the compression of the next `REST` bytes is damaged.

        bzip2 and gzip return bytes before they have verified them.
        """
        left = REST
        while self._compression and left > 0 and (part := self._fetch(HEAD)):
            left -= len(part)

    @staticmethod
    def _open(name: str) -> io.BufferedReader:
        try:
            return open(name, "rb")
        except IsADirectoryError as error:
            raise InputError(f"{name} is a directory; give a trace file in it") from error
        except FileNotFoundError as error:
            raise InputError(f"{name} does not exist; check the path") from error
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise InputError(f"{name!r} cannot be read: {reason}; check the path") from error

    def _decompressor(self) -> BufferedIOBase:
        magic = self._raw.peek(6)[:6]
        for known, remedy in _UNPACK.items():
            if magic.startswith(known):
                raise InputError(f"{self.name} is {remedy}; gzip, bzip2, xz and zstd are read directly")
        for known, (name, opener) in _OPENERS.items():
            if magic.startswith(known):
                self._compression = name
                return cast(BufferedIOBase, opener(self._raw))
        return self._raw

    def _fetch(self, size: int) -> bytes:
        """Read `size` bytes, or all up to the end of the file. Decompressors may return fewer bytes in one call."""
        parts: list[bytes] = []
        while size > 0:
            part = self._read_once(size)
            if not part:
                break
            parts.append(part)
            size -= len(part)
            if self._raw.seekable():  # a pipe has no position
                self._bar.update(self._raw.tell() - self._bar.n)
            self._expanded += len(part)
            if self._compression and self._expanded > max(FREE, EXPANSION * self._raw.tell()):
                raise InputError(
                    f"{self.name} expands to more than {EXPANSION} times its length, which is unusual for a trace; if "
                    f"it is a trace, decompress it first ({self._compression})"
                )
        return b"".join(parts)

    def _read_once(self, size: int) -> bytes:
        try:
            return self._plain.read(size)
        except EOFError as error:
            raise InputError(
                f"{self.name} is truncated: its {self._compression} stream ends early; fetch the whole file again"
            ) from error
        except (OSError, zlib.error, lzma.LZMAError, ValueError) as error:
            where = f"its {self._compression} stream is damaged" if self._compression else "error"
            raise InputError(f"{self.name} cannot be read: {where} ({error}); fetch the file again") from error
