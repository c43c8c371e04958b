"""Files that are whole or not there."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary path beside `path`, with its suffix and a name of its own, that becomes `path` when the block ends well.

    When it does not, the temporary file is removed and whatever `path` was stays. Raises OSError of `path` where the system
    does not write the temporary file.
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
    """Write `text` to `path` as UTF-8 with plain newlines, all or nothing."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")
