"""Atomic writes: a file is either complete or absent."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path that replaces `path` when the block ends without an error.

    The temporary file is in the same folder, has the same suffix and a unique name. If the block fails, the temporary
    file is removed and `path` is unchanged.

    Parameters
    ----------
    path : Path
        The file to replace. Its folder is created if necessary.

    Yields
    ------
    Path
        The temporary path.

    Raises
    ------
    OSError
        If the temporary file cannot be written. The error names `path`.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{uuid4().hex}.part{path.suffix}")
    try:
        yield temporary
        os.replace(temporary, path)
    except OSError as fault:
        if fault.errno is None or fault.filename not in (None, str(temporary)):
            raise
        raise OSError(fault.errno, os.strerror(fault.errno), str(path)) from fault
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically, in UTF-8 with Unix newlines.

    Parameters
    ----------
    path : Path
        The file.
    text : str
        Its text.
    """
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")
