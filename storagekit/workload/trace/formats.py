"""Base class of trace formats: a format recognises the first bytes of a file, and yields chunks of records."""

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
    """One chunk of a file, in file order.

    Arrays have the shape [record] and the units of `RequestTrace`.

    Parameters
    ----------
    clock : ndarray of int64 or float64
        Times of the file's clock, in ticks of this clock. Whole numbers stay int64, so that a time of 1.3e17 ticks is
        exact.
    device : ndarray of int32
        Index into `names`.
    names : tuple of str
        Names of the devices of this chunk.
    offset, size : ndarray of int64
        Byte address and length, bytes.
    read : ndarray of bool
        Whether each record is a read.
    position : ndarray of int64
        Line or record number in the file, from 1, for messages.
    asynchronous : ndarray of bool, optional
        Whether no process waits for the request.
    measured_response : ndarray of float64, optional
        Measured response time, s.
    think : ndarray of float64, optional
        Time from the completion of the request to the next arrival, s.
    origin : float
        Time of the epoch of the trace at tick 0, s; by default 0.
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
    origin: float = 0.0


class TraceFormat(ABC):
    """Base class of trace formats.

    name: name of the format for users. unit: the unit of a position in the file, "line" or "record". ticks_per_second:
    ticks of the file's clock per second. layout: the fields of a record in a line, for lists of formats.
    """

    name: str
    unit: str
    ticks_per_second: float
    layout: str = ""

    @abstractmethod
    def recognises(self, head: bytes) -> bool:
        """Return whether a file with these first bytes has this format. `head` has up to 64 KiB, decompressed."""

    def variant(self, head: bytes, name: str) -> TraceFormat:
        """Return the format with the details, such as the number of fields, that the first bytes of a file show.

        name: name of the file, for messages.
        """
        return self

    @abstractmethod
    def records(self, stream: ByteStream) -> Iterator[Records]:
        """Yield the chunks in file order. Raises InputError with the line or record number of a fault."""


def dense(
    keys: np.ndarray, name: Callable[..., str]
) -> tuple[np.ndarray, tuple[str, ...]]:  # fmt: skip
    """Return an index into the distinct keys for each record, and the name of each distinct key.

    Parameters
    ----------
    keys : ndarray of int, shape (record,)
        Keys, at least one.
    name : callable
        Function that returns the name of a key.

    Returns
    -------
    index : ndarray of int32, shape (record,)
        Index into the distinct keys, in ascending order.
    names : tuple of str
        Name of each distinct key.
    """
    low, span = int(keys.min()), int(keys.max()) - int(keys.min()) + 1
    if span <= CHUNK:
        # a table of the keys is faster than a sort
        there = np.zeros(span, bool)
        there[keys - low] = True
        index, distinct = (np.cumsum(there) - 1)[keys - low], np.flatnonzero(there) + low
    else:
        distinct, index = np.unique(keys, return_inverse=True)
    return index.astype(np.int32), tuple(name(key) for key in distinct.tolist())
