"""What a trace format is: it recognises a file's first bytes and yields chunks of records."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from storagekit.workload.trace.streams import ByteStream

__all__ = ["CHUNK", "Records", "TraceFormat", "dense"]

CHUNK = 65_536
"""Records a chunk of a binary trace; text comes in blocks of about as many lines."""


@dataclass(frozen=True)
class Records:
    """One chunk of a file, in file order; arrays of shape [record], units as in RequestTrace.

    clock: readings of the file's clock in its own ticks, int64 where it counts (so that a clock
    of 1.3e17 ticks loses nothing) or float64. device: index into this chunk's own `names`.
    position: int64, the line or record number (from 1) of each, for messages.
    """

    clock: np.ndarray
    device: np.ndarray
    names: tuple[str, ...]
    offset: np.ndarray
    size: np.ndarray
    read: np.ndarray
    position: np.ndarray
    asynchronous: np.ndarray | None = None
    measured_response: np.ndarray | None = None
    think: np.ndarray | None = None


class TraceFormat(ABC):
    """A trace format.

    name: what a user calls it. unit: what a position counts ("line" or "record").
    ticks_per_second: of its clock.
    """

    name: str
    unit: str
    ticks_per_second: float

    @abstractmethod
    def recognises(self, head: bytes) -> bool:
        """Whether a file that begins with `head` (up to 64 KiB, decompressed) has this format."""

    @abstractmethod
    def records(self, stream: ByteStream) -> Iterator[Records]:
        """Chunks in file order; raises InputError with the line or record number of a fault."""


def dense(
    keys: np.ndarray, name: Callable[..., str]
) -> tuple[np.ndarray, tuple[str, ...]]:  # fmt: skip
    """Indices [record] int32 into the distinct keys, and the name of each."""
    distinct, index = np.unique(keys, return_inverse=True)
    return index.astype(np.int32), tuple(name(key) for key in distinct.tolist())
