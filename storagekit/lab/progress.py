"""Bars of what takes longer, in a notebook's plain output: what is in its error stream looks as if something had failed."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr


@contextmanager
def plain() -> Iterator[None]:
    """Bars that begin within go to where `print` goes."""
    with redirect_stderr(sys.stdout):
        yield
