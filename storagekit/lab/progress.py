"""Progress bars in the standard output of a notebook. In the error stream, they would look like a failure."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr


@contextmanager
def plain() -> Iterator[None]:
    """Send progress bars to standard output inside the `with` block."""
    with redirect_stderr(sys.stdout):
        yield
