"""Print to a terminal with control characters escaped, because a terminal would execute control characters in names."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from typing import Any, TextIO

from storagekit.core.errors import harmless

_LAYOUT = "\n\t"


class Harmless:
    """A text stream that escapes invisible characters with the function `harmless`, except newlines and tabs."""

    def __init__(self, stream: TextIO):
        self._stream = stream

    def write(self, text: str) -> int:
        self._stream.write(harmless(text, _LAYOUT))
        return len(text)

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def harmlessly() -> Iterator[None]:
    """Replace standard output by a `Harmless` stream within the block.

    Characters that the encoding of standard output lacks are written as Python escapes.
    """
    before = sys.stdout
    if before is not None:
        if isinstance(before, TextIOWrapper):
            before.reconfigure(errors="backslashreplace")
        sys.stdout = Harmless(before)
    try:
        yield
    finally:
        if isinstance(sys.stdout, Harmless):
            sys.stdout = before


def say(message: str) -> None:
    """Print a line on stderr."""
    print(f"storagekit: {harmless(' '.join(message.split()))}", file=sys.stderr, flush=True)
