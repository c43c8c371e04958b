"""How many numbers the compiled loop computes for an event and lane: a figure that does not depend on the day.

Read off the program that XLA compiles, so that what it computes twice counts twice. A loop within the event counts as one
of its turns.
"""

import re
from collections.abc import Iterator
from math import prod

# what computes nothing
MOVES = set(["parameter", "constant", "get-tuple-element", "tuple", "bitcast", "broadcast", "reshape", "iota", "copy"])
# what computes what it calls
CALLS = set(["fusion", "call", "while"])
HEAD = re.compile(r"^(?:ENTRY )?%?([\w.\-]+) .*\{$")
LINE = re.compile(r"^\s+(?:ROOT )?%?[\w.\-]+ = (.*?) ([a-z][\w\-]*)\((.*)$")
CALLED = re.compile(r"(?:calls|to_apply|body)=%?([\w.\-]+)")
SHAPE = re.compile(r"\w+\[([\d,]*)\]")


def computations(program: str) -> dict[str, list[str]]:
    """The lines of each computation of a compiled program, by name."""
    found: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in program.splitlines():
        head = HEAD.match(line)
        if head:
            lines = found.setdefault(head[1], [])
        elif line.startswith(" "):
            lines.append(line)
    return found


def elements(shape: str) -> int:
    """How many numbers the first array of a shape has."""
    return prod(int(size) for size in SHAPE.search(shape)[1].split(",") if size)


def loops(program: str, turns: int) -> Iterator[str]:
    """The bodies of the loops that are known to make so many turns."""
    for line in program.splitlines():
        if " while(" in line and f'"known_trip_count":{{"n":"{turns}"}}' in line:
            yield CALLED.findall(line)[-1]


def operations(program: str, turns: int) -> int:
    """Numbers that one turn of the event loop computes, which makes so many `turns`."""
    parts = computations(program)

    def of(name: str) -> int:
        total = 0
        for line in parts[name]:
            shape, verb, _ = LINE.match(line).groups()
            total += sum(of(called) for called in CALLED.findall(line)) if verb in CALLS else 0
            total += elements(shape) if verb not in CALLS | MOVES else 0
        return total

    return max(of(body) for body in loops(program, turns))
