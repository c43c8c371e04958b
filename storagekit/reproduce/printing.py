"""What the command line prints: names may hold anything, and a terminal does what it is told."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from typing import Any, TextIO

from storagekit.core.errors import harmless

_LAYOUT = "\n\t"


class Harmless:
    """A stream of text that passes lines and tabs on, and writes other characters that are not seen as `harmless` does."""

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
    """Within the block standard output is `Harmless`, and what its encoding does not have is written as Python does."""
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
    """A line on stderr."""
    print(f"storagekit: {harmless(' '.join(message.split()))}", file=sys.stderr, flush=True)
