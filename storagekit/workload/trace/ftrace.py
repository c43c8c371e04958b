"""Read the events block_rq_issue and block_rq_complete that ftrace, `perf script` and `trace-cmd report` print.

    fio-697   [003] ....   12.000110: block_rq_issue: 8,0 R 4096 () 1234 + 8 [fio]
    fio  697  [003]        12.000110: block:block_rq_issue: 8,0 R 4096 () 1234 + 8 none,0,0 [fio]

The time is in seconds, with six or nine digits after the point. After the name of the event come device, RWBS, bytes (of
block_rq_issue only), command, sector + sectors, priority (of recent kernels) and command or error. A request arrives when
it is sent to the drive (block_rq_issue), or, in a file without this event, when it completes (block_rq_complete).
`storagekit.workload.trace.block_events` states the rules of arrivals and completions. Other events and lines that begin
with # are skipped. Lost events give a warning.

Source: include/trace/events/block.h and Documentation/trace/ftrace.rst of Linux; perf-script(1).
"""

from __future__ import annotations

import re

from storagekit.workload.trace.block_events import COMPLETED, ISSUED, BlockEvents, Event
from storagekit.workload.trace.streams import ByteStream
from storagekit.workload.trace.text import clip, first_lines

__all__ = ["FTRACE", "Ftrace"]

# A run of digits begins after a blank, so that a search takes time linear in the line.
STAMP = re.compile(r"(?:^| )(?P<seconds>\d+)\.(?P<fraction>\d{9}|\d{6}): +(?P<rest>.*)", re.ASCII)
NAME = re.compile(r"(?:\d+ +)?(?:block:)?block_rq_(?P<name>issue|complete): *(?P<rest>.*)", re.ASCII)
SECTORS = re.compile(
    r"(?P<device>\d{1,10},\d{1,10}) +(?P<rwbs>[A-Z]+) +(?:\d+ +)?\([^)]*\) +(?P<sector>\d+) \+ (?P<sectors>\d+)( .*)?",
    re.ASCII,
)
# lines of ftrace and trace-cmd that are no events
OTHER = re.compile(r"#.*|cpus=\d+|CPU \d+ is empty|CPU:\d+ \[LOST \d+ EVENTS\]", re.ASCII)
LOST = re.compile(r"CPU:\d+ \[LOST \d+ EVENTS\]", re.ASCII)
ACTIONS = {"issue": ISSUED, "complete": COMPLETED}


class Ftrace(BlockEvents):
    """The lines of block_rq_issue and block_rq_complete of ftrace and perf. Devices are named by numbers, as `8,0`."""

    name = "ftrace"
    layout = "... time: block_rq_issue: device RWBS bytes () sector + sectors [command]"
    called = {ISSUED: "block_rq_issue", COMPLETED: "block_rq_complete"}  # noqa: RUF012

    def recognises(self, head: bytes) -> bool:
        return any(_named(line) for line in first_lines(head))

    def event(self, text: str) -> Event | None:
        if OTHER.fullmatch(text):
            return None
        stamp = STAMP.search(text)
        if stamp is None:
            raise ValueError(
                f"is not an event with its time ({clip(text)}); remove the line, record without call graphs, allow "
                "damaged lines (skip_bad)"
            )
        named = NAME.fullmatch(stamp["rest"])
        if named is None:
            return None
        sectors = SECTORS.fullmatch(named["rest"])
        if sectors is None:
            raise ValueError(
                f"has {clip(named['rest'])} after block_rq_{named['name']}, must be device RWBS (command) sector + "
                "sectors; remove the line, allow damaged lines (skip_bad)"
            )
        time = stamp["seconds"], stamp["fraction"]
        return Event(
            ACTIONS[named["name"]], sectors["device"], *time, sectors["rwbs"], sectors["sector"], sectors["sectors"]
        )  # fmt: skip

    def passed(self, text: str, stream: ByteStream) -> None:
        warning = f"{stream.name} says that events were lost; enlarge the buffer of the tracer (buffer_size_kb)"
        if LOST.fullmatch(text) and warning not in stream.warnings:
            stream.warnings.append(warning)


def _named(line: str) -> bool:
    stamp = STAMP.search(line)
    return stamp is not None and NAME.fullmatch(stamp["rest"]) is not None


FTRACE = Ftrace()
