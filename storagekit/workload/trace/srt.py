"""Read HP Labs SRT binary traces, versions 1.3 and 1.7.

A text header begins with `$$TR_IOREC-1.3` and ends at a form feed. Big-endian records of fixed size follow, made of
32-bit words. The words are: record size, bytes; record type; arrival (one word for seconds, one for microseconds);
start and end of service (microseconds after arrival); and request size, bytes. `_LAYOUTS` gives the words that contain
the address, the device and the flags.

The unit of a 1.3 address is assumed to be the `sectorsize` in the header. With this unit, the largest address of the
hplajw trace lies just within its disk. DiskSim itself assumes 512 B.

Sources: DiskSim (src/disksim_iotrace.c) for 1.3 and HP's DataSeries for 1.7.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from reprlib import repr as shortened

import numpy as np

from storagekit.core.errors import InputError
from storagekit.workload.trace.formats import CHUNK, Records, TraceFormat, dense
from storagekit.workload.trace.records import MAX_OFFSET
from storagekit.workload.trace.streams import HEAD, ByteStream

__all__ = ["SRT", "Srt"]

MAGIC = b"$$TR_IOREC-"
READ, ASYNC = 0x1, 0x100  # flags
DEFAULT_SECTOR = 256  # bytes, as in the only available 1.3 trace


@dataclass(frozen=True)
class RecordLayout:
    """Layout of the records of one version of the format.

    words: length of a record in 32-bit words. kind: value of the word with the record type. address: function of
    (words, sector size) that returns the byte address of each record. device: function of the words that returns the
    key of each record's device. name: function of a key that returns the name of the device.
    """

    words: int
    kind: int
    address: Callable[[np.ndarray, int], np.ndarray]
    device: Callable[[np.ndarray], np.ndarray]
    name: Callable[[int], str]


_LAYOUTS = {
    b"1.3": RecordLayout(  # shortIO_v4: block in word 7, disk in the second byte of word 8
        words=14,
        kind=0x0004_0001,
        address=lambda word, sector: word[:, 7] * sector,
        device=lambda word: (word[:, 8] >> 8) & 0xFF,
        name=str,
    ),
    b"1.7": RecordLayout(  # shortIO_v7: byte address in words 16 and 17, device number in word 8
        words=22,
        kind=0x0007_0001,
        address=lambda word, sector: (word[:, 16] << 32) | word[:, 17],
        device=lambda word: word[:, 8],
        name=lambda key: f"0x{key:08x}",
    ),
}


class Srt(TraceFormat):
    """SRT 1.3 and 1.7. The measured response is the time from arrival at the driver to return from the driver."""

    name = "srt"
    layout = "binary: a header that begins with $$TR_IOREC-1.3 or 1.7, then records"
    unit = "record"
    ticks_per_second = 1e6

    def recognises(self, head: bytes) -> bool:
        return head.startswith(MAGIC)

    def records(self, stream: ByteStream) -> Iterator[Records]:
        stream.without_lines()
        layout, sector, start = _header(stream)
        stream.read(start)
        first, step = 1, 4 * layout.words
        while data := stream.read(CHUNK * step):
            if len(data) % step:
                raise InputError(
                    f"{stream.name} record {first + len(data) // step} is truncated after {len(data) % step} of "
                    f"{step} bytes; fetch the file again"
                )
            word = np.frombuffer(data, ">u4").reshape(-1, layout.words).astype(np.int64)
            position = np.arange(first, first + len(word), dtype=np.int64)
            address = layout.address(word, sector)
            _check(stream.name, layout, word, address, position)
            yield _convert(layout, word, address, position)
            first += len(word)


def _convert(layout: RecordLayout, word: np.ndarray, address: np.ndarray, position: np.ndarray) -> Records:
    device, names = dense(layout.device(word), layout.name)
    return Records(
        clock=word[:, 2] * 1_000_000 + word[:, 3],
        device=device,
        names=names,
        offset=address,
        size=word[:, 6],
        read=(word[:, 11] & READ) != 0,
        position=position,
        asynchronous=(word[:, 11] & ASYNC) != 0,
        measured_response=word[:, 5] / 1e6,
    )


def _header(stream: ByteStream) -> tuple[RecordLayout, int, int]:
    """Return the record layout, the sector size in bytes, and the byte of the file at which the records begin."""
    head = stream.head
    if not head.startswith(MAGIC):
        raise InputError(
            f"{stream.name} begins with {head[:16]!r}, an SRT trace begins with {MAGIC.decode()!r}; give its actual format"
        )
    version = head[len(MAGIC) : len(MAGIC) + 3]
    if version not in _LAYOUTS:
        raise InputError(
            f"{stream.name} is SRT version {version.decode('latin-1')!r}; only versions 1.3 and 1.7 can be read; "
            "convert the file"
        )
    end = head.find(b"\f")
    if end < 0:
        raise InputError(
            f"{stream.name} has no form feed, which ends an SRT header, in its first {HEAD} bytes; the file is "
            "damaged or truncated; fetch it again"
        )
    return _LAYOUTS[version], _sector(stream.name, head[:end]), end + 1


def _sector(name: str, header: bytes) -> int:
    sizes = {int(size) for size in re.findall(rb"sectorsize\s*=\s*([0-9]{1,9})\b", header)}
    if len(sizes) > 1 or any(not 0 < size <= 65_536 for size in sizes):
        raise InputError(
            f"{name} has sector sizes {shortened(sorted(sizes))} B in its header; only one size from 1 to 65536 B is "
            "possible; split the trace by disk"
        )
    return sizes.pop() if sizes else DEFAULT_SECTOR


def _check(name: str, layout: RecordLayout, word: np.ndarray, address: np.ndarray, position: np.ndarray) -> None:
    """Raise InputError at the first record with a 32-bit word that has an impossible value."""
    rules = (
        ("length", word[:, 0], word[:, 0] == 4 * layout.words, f"{4 * layout.words} bytes"),
        ("type", word[:, 1], word[:, 1] == layout.kind, f"{layout.kind} (a request)"),
        ("arrival", word[:, 3], word[:, 3] < 1_000_000, "less than 1000000 us"),
        ("size", word[:, 6], word[:, 6] > 0, "at least 1 byte"),
        ("offset", address, (address >= 0) & (address <= MAX_OFFSET), "0 to 2**62 bytes"),
        ("end", word[:, 5], word[:, 5] >= word[:, 4], "at or after the start of service (us)"),
    )
    faults = [(int(np.argmin(good)), rule) for rule in rules if not (good := rule[2]).all()]
    if faults:
        at, (what, values, _, allowed) = min(faults, key=lambda fault: fault[0])
        raise InputError(
            f"{name} record {position[at]} has {what} {values[at]}, must be {allowed}; the file is damaged; fetch it "
            "again, or truncate it before this record"
        )


SRT = Srt()
