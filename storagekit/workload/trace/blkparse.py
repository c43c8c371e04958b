"""Read the output of `blkparse`, events of the Linux block layer, in its default layout (with or without -t).

    device  cpu  sequence  seconds.nanoseconds  process  action  RWBS  sector + sectors [command or error]

A request arrives when it is queued (Q), or, in a file without Q events, when it is sent to the drive (D) or completes
(C). `storagekit.workload.trace.block_events` states the rules of arrivals, completions and remapped devices. The actions
Q, D, C and A (remap) are used. Other actions and the summary at the end are skipped.

A remap `8,0 ... A R 2314336 + 8 <- (253,0) 2312288` says that 253,0 maps a request to 8,0. If both devices have arrivals,
the requests are counted once, at the lowest device. The format `blkparse-all` counts the requests of all devices.

A write is asynchronous if its field RWBS lacks the letter S. Requests with D in RWBS are trims, and requests with Z at its
beginning are zone operations. Requests with F and without sectors are flushes. These are skipped and counted.

Source: blkparse(1), blkparse_fmt.c and blktrace_api.h of blktrace.
"""

from __future__ import annotations

import re

from storagekit.core.errors import InputError
from storagekit.workload.trace.block_events import COMPLETED, ISSUED, QUEUED, REMAPPED, BlockEvents, Event
from storagekit.workload.trace.streams import ByteStream
from storagekit.workload.trace.text import clip, first_lines

__all__ = ["BLKPARSE", "BLKPARSE_ALL", "Blkparse", "BlkparseAll"]

# A device is named by two numbers of 32 bits at most. Neighbouring parts of the expression never match the same
# character, so that a failed match takes time linear in the line.
EVENT = re.compile(
    r"(?P<device>\d{1,10},\d{1,10}) +\d+ +\d+ +(?P<seconds>\d+)\.(?P<nanoseconds>\d{9}) +\d+ +"
    r"(?P<action>[A-Z]{1,2}|m) +(?P<rest>.*)",
    re.ASCII,
)
# flushes, plugging and messages have no location
SECTORS = re.compile(r"(?P<rwbs>[A-Z]+) +(?P<sector>\d+) \+ (?P<sectors>\d+)( .*)?", re.ASCII)
LETTERS = re.compile(r"([A-Z]+)( .*)?", re.ASCII)
REMAP = re.compile(r"[A-Z]+ +\d+ \+ \d+ <- \((?P<upper>\d{1,10},\d{1,10})\) \d+( .*)?", re.ASCII)
# for each CPU and device, after an empty line
SUMMARY = re.compile(r"(CPU\d+|Total) \(.*\):?")
DEVICE, ACTION, KIND = (re.compile(form, re.ASCII) for form in (r"\d{1,10},\d{1,10}", r"[A-Z]{1,2}", r"[RWDFN][A-Z]*"))
MAGIC = b"tae"
"""Bytes of the magic number 0x65617400 of blktrace above its lowest byte, which is the version."""
VERSIONS = 32


class Blkparse(BlockEvents):
    """The lines of events that blkparse prints. Devices are named by their numbers, as `8,0`."""

    name = "blkparse"
    layout = "device cpu sequence time process action RWBS sector + sectors"
    called = {QUEUED: "Q", ISSUED: "D", COMPLETED: "C", REMAPPED: "A"}  # noqa: RUF012

    def recognises(self, head: bytes) -> bool:
        if not self.lowest:
            return False
        return _is_raw(head) or any(EVENT.fullmatch(line) or _is_other_layout(line) for line in first_lines(head))

    def ends(self, text: str) -> bool:
        return SUMMARY.fullmatch(text) is not None

    def check(self, stream: ByteStream) -> None:
        if _is_raw(stream.head):
            raise InputError(
                f"{stream.name} is the binary output of blktrace, not text; convert it: blkparse -i NAME > NAME.txt, "
                "where NAME is the name of the file without .blktrace and the number of the CPU"
            )

    def event(self, text: str) -> Event | None:
        event = EVENT.fullmatch(text)
        if event is None:
            raise ValueError(
                f"is not an event in the default layout of blkparse, device cpu sequence time process action ({clip(text)}); "
                "run blkparse -i FILE without -f"
            )
        action, time = event["action"], (event["device"], event["seconds"], event["nanoseconds"])
        if action not in self.called:
            return None
        if action == REMAPPED:
            remap = REMAP.fullmatch(event["rest"])
            return Event(action, *time, "", upper=remap["upper"]) if remap else None
        sectors = SECTORS.fullmatch(event["rest"])
        if sectors is not None:
            return Event(action, *time, sectors["rwbs"], sectors["sector"], sectors["sectors"])
        letters = LETTERS.fullmatch(event["rest"])
        return Event(action, *time, letters[1] if letters else "")


class BlkparseAll(Blkparse):
    """The lines of events that blkparse prints. Requests are counted at all devices, also at devices that remap them."""

    name = "blkparse-all"
    lowest = False


def _is_other_layout(line: str) -> bool:
    """Return whether a line has a device, an action, RWBS, a sector and sectors, in another layout than the default one."""
    words = line.split()
    if not words or not DEVICE.fullmatch(words[0]):
        return False
    fields = zip(words[1:], words[2:], words[3:], words[4:], words[5:], strict=False)
    return any(
        ACTION.fullmatch(action) and KIND.fullmatch(kind) and sector.isdecimal() and plus == "+" and sectors.isdecimal()
        for action, kind, sector, plus, sectors in fields
    )


def _is_raw(head: bytes) -> bool:
    """Return whether a file begins with the magic number of blktrace, in either order of bytes."""
    return (head[1:4] == MAGIC and head[0] < VERSIONS) or (head[:3] == MAGIC[::-1] and head[3:4] < bytes([VERSIONS]))


BLKPARSE = Blkparse()
BLKPARSE_ALL = BlkparseAll()
